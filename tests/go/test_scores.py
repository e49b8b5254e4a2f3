"""A repair in Go is judged as one in Python is: by the same runs, with the same words."""

import itertools
import json

import pytest

from mutations import find
from mutations import golang as mutated
from protosim.adapters.go import Go
from protosim.program import reference as in_python
from protosim.run import simulate
from protosim.score import handed_out
from protosim.score.suite import load_suite, load_task, secret, trials
from tests.go.conftest import TASK, Judge
from tests.sampling import sampled
from tests.score.candidates import BUGS, proper_subsets, shorten
from tests.score.test_score import without_timings


def with_bugs(source: str, bugs: tuple[str, ...]) -> str:
    return mutated.apply_all(source, [find("raft", bug, in_python("raft").source) for bug in bugs])


def test_the_reference_in_go_solves_the_task_and_runs_to_the_byte_as_the_one_in_python(
    judge: Judge, reference: str
) -> None:
    result = judge(reference)
    assert (result.status, result.stage, result.score, result.language) == ("ok", "scored", 1.0, "go")
    assert result.bugs == dict.fromkeys(BUGS, "fixed")
    assert result.failures == []
    task, using = load_task(TASK), secret()
    program = in_python("raft")
    for trial in trials(task, load_suite(TASK, using), using)[::7]:
        assert result.runs[trial.run.name]["digest"] == simulate(program, trial.scenario).digest


@pytest.mark.parametrize("left", sampled((left,) for left in proper_subsets()))
def test_a_partial_repair_in_go_scores_nothing_and_is_told_what_is_left(
    judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch, left: tuple[str, ...]
) -> None:
    shorten(monkeypatch, 1, ("kill",))  # they alone make every hidden test fail
    result = judge(with_bugs(reference, left))
    assert (result.stage, result.score, result.pass_rate) == ("below_min_pass_rate", 0, 0)
    assert {bug for bug, state in result.bugs.items() if state == "unfixed"} == set(left)
    assert {bug for bug, state in result.bugs.items() if state == "fixed"} == set(BUGS) - set(left)


def test_three_scores_of_one_candidate_in_go_are_the_same(
    judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 1, ("kill", "chaos", "live"))
    first, *others = [without_timings(judge(with_bugs(reference, BUGS[1:3]))) for _ in range(3)]
    assert others == [first, first]
    assert json.loads(first)["language"] == "go"


COSMETIC = {
    "as it is": lambda source: source,
    "other comments": lambda source: "// Repaired.\n" + source.replace("// receiver 1", "// mended"),
    "another layout": lambda source: source.replace("{ return m.Term }", "{\n\n\treturn m.Term\n}"),
    "another name of a local": lambda source: source.replace("granted :=", "given :=")
    .replace("if granted {", "if given {")
    .replace("r.Disk.Term, granted}", "r.Disk.Term, given}"),
    "other parentheses": lambda source: source.replace("r.commitIndex = index\n", "r.commitIndex = (index)\n"),
}


@pytest.mark.parametrize("change", COSMETIC.values(), ids=list(COSMETIC))
def test_what_changes_no_behaviour_is_no_repair(judge: Judge, change: object) -> None:
    source = handed_out(TASK, "go")
    changed = change(source)  # type: ignore[operator]
    assert (changed == source) == (change is COSMETIC["as it is"])
    result = judge(changed)
    assert (result.stage, result.score) == ("unmodified", 0)
    assert result.bugs == dict.fromkeys(BUGS, "unfixed")


NOTHING = {
    "nobody stands for election": ("case election:\n\t\tr.startElection()", "case election:"),
    "nobody answers a message": ("\tswitch m := m.(type) {\n", "\tm = nil\n\tswitch m := m.(type) {\n"),
    "no client is answered": (
        'step.Check("request_to_leader", r.role == leader),',
        'step.Check("request_to_leader", false),',
    ),
    "nothing is committed": ("r.commitIndex = index\n", ""),
}


@pytest.mark.parametrize("edit", NOTHING.values(), ids=list(NOTHING))
def test_a_repair_in_go_that_does_nothing_has_fixed_nothing(
    judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch, edit: tuple[str, str]
) -> None:
    assert reference.count(edit[0]) == 1
    shorten(monkeypatch, 1, ("kill", "chaos", "live"))
    result = judge(reference.replace(*edit))
    assert (result.score, result.pass_rate) == (0, 0)
    assert result.bugs == dict.fromkeys(BUGS, "regressed")


def test_what_is_handed_out_is_laid_out_by_gofmt_and_lacks_just_the_five_checks(tool: Go, reference: str) -> None:
    source = handed_out(TASK, "go")
    assert tool.format(source) == source
    gone = itertools.filterfalse(source.count, reference.split('"')[1::2])
    assert set(gone) == {bug.removeprefix("raft.") for bug in BUGS}


def test_an_order_that_depends_on_chance_is_named(
    judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = "\t\tfor _, peer := range r.Peers {\n\t\t\tr.replicate(peer)\n"
    assert reference.count(peers) == 1
    shorten(monkeypatch, 1, ("live", "chaos"))
    result = judge(reference.replace(peers, peers.replace("_, peer := range r.Peers", "peer := range r.nextIndex")))
    assert result.score == 0
    assert any("played again, the run went another way" in failure["sentence"] for failure in result.failures)
