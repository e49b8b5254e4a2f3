"""Python and Go, driven by the same events. `make twins` does it for a thousand runs of each protocol."""

import pytest

from protosim.adapters.go import Go
from protosim.plan import Wish
from protosim.program import reference as in_python
from protosim.score.suite import load_task
from protosim.score.twins import Comparison, compare, in_go, main, twins
from tests.go.conftest import TASK, Worker

RUNS = 12
SEQUENCES = 100


@pytest.mark.parametrize("protocol", in_go())
def test_the_references_in_python_and_in_go_do_the_same(tool: Go, protocol: str) -> None:
    found = twins(protocol, runs=SEQUENCES, wish=Wish(events=300))
    assert found.difference is None
    assert found.events > 100 * SEQUENCES


@pytest.mark.parametrize("bug", load_task(TASK).bugs)
def test_a_mutant_drifts_in_go_as_it_does_in_python(tool: Go, bug: str) -> None:
    assert twins("raft", [bug], runs=RUNS).difference is None
    assert twins("raft", runs=RUNS).events != twins("raft", [bug], runs=RUNS).events


def differences(worker: Worker, source: str) -> Comparison:
    return compare(in_python("raft"), worker(source).worker(0), RUNS)


DRIFT = {
    "an effect in another place": (
        "\tr.SetTimer(election, electionTimeout)\n\tr.Broadcast(", "\tr.Broadcast(",
        'effect 3 is [4, "election", 150000, 300000] in Python and [0, ',
    ),
    "a write less": (
        "\t\tr.Write(&r.Disk.VotedFor)\n", "", 'is [1, ["", ["", "voted_for", "n',
    ),
    "a sync less": (
        "\tr.Disk.Log.Append(entry)\n\tr.Sync()\n", "\tr.Disk.Log.Append(entry)\n", "is [3] in Python and [",
    ),
    "a check under another name": (
        '"log_up_to_date"', '"log_is_up_to_date"',
        'refusal 1 is ["log_up_to_date"] in Python and ["log_is_up_to_date"] in Go',
    ),
    "a panic": (
        "\tr.commitIndex = 0\n", '\tpanic("no")\n', "handled its start, and Go says: panic: no, in Start, raft.go:",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DRIFT)
def test_the_comparison_finds(worker: Worker, reference: str, what: str) -> None:
    before, after, sentence = DRIFT[what]
    assert reference.count(before) == 1
    found = differences(worker, reference.replace(before, after))
    assert found.difference is not None
    assert sentence in str(found.difference)


def test_a_worker_that_ends_is_a_difference(worker: Worker, reference: str) -> None:
    endless = reference + "\nfunc (r *Raft) again() { r.again() }\n"
    found = differences(worker, endless.replace("\tr.commitIndex = 0\n", "\tr.again()\n"))
    assert found.difference is not None
    assert "Go's worker has ended" in found.difference.sentence


def test_the_command_says_what_was_compared(tool: Go, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["raft", "--runs", "2"]) == 0
    assert capsys.readouterr().out.startswith("raft: 2 runs, ")
    assert main(["tendermint", "--runs", "2"]) == 3
    assert "no tendermint in Go" in capsys.readouterr().err
