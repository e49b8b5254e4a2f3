"""What two-phase commit's stories prove (`tests/test_stories.py` plays them), and that each invariant can break."""

import inspect
from pathlib import Path
from typing import Any

import pytest

import protocols.two_phase_commit
from protocols.two_phase_commit import NO, PROTOCOL, YES, AtomicCommitment, Transaction, Vote, parse
from protosim import checks
from protosim.api import NodeId, methods
from protosim.plan import Wish, plan
from protosim.program import Program, from_source, load, reference
from protosim.run import simulate
from tests.biting import alone, sole_refusals

NAME = "two_phase_commit"
HERE = Path(__file__).parent
RUNS = 120  # of a hunt, in each of which a method may be the one that breaks

# Method of AtomicCommitment -> a mutant that breaks it where all other methods are silent, or (what, by what) in the
# reference's source; "": the reference reaches this goal.
BREAKS: dict[str, str | tuple[str, str]] = {
    "ac2_irrevocability": "last_decision_wins",
    "log_is_kept": ("self.disk.log.append(Record(END, m.xid))", "self.disk.log.reset(0)"),
    "irrevocable_by_vote": ("self.send(src, Vote(m.xid, YES))  # as before", "self.send(src, Vote(m.xid, NO))"),
    "irrevocable_once_told": "recover_forgets_commits",
    "irrevocable_once_answered": ("self.reply(self.voting, decision)", "self.reply(self.voting, ABORT)"),
    "ac1_agreement": "aborts_alone_in_doubt",
    "agreement_by_vote": "all_have_voted",
    "agreement_once_told": "everybody_presumes",
    "agreement_once_answered": "nobody_voted_no",
    "ac3_unanimity": "all_have_voted",
    "answers_are_unanimous": "all_have_voted",
    "validity": "not_refused_here",
    "durability": "handle_prepare/drop-sync/1",
    "durability_of_answers": "client_first",
    "durability_after_restart": "try_decide/drop-sync/1",
    "isolation": "keys_are_free",
    "yes_is_durable": "handle_prepare/drop-sync/1",
    "transaction_committed": "",
    "transaction_aborted": "",
    "commit_forgotten": "",
    "ac4_no_needless_abort": "first_vote_decides",
    "ac5_termination": "vote_never_ends",
    "commits_end": "commits_are_sent_once",
}

UNREACHABLE = {"voter_is_participant", "vote_is_not_changed"}  # see `mutations/expected/two_phase_commit.toml`


def program(change: str | tuple[str, str]) -> Program:
    if isinstance(change, str):
        return load(NAME, (f"{NAME}.{change}",) if change else ())
    source = reference(NAME).source
    assert source.count(change[0]) == 1
    return from_source(NAME, source.replace(*change))


def test_every_method_that_reports_is_in_the_table() -> None:
    assert list(BREAKS) == [name for name, f in methods(AtomicCommitment).items() if hasattr(f, "_invariant")]


@pytest.mark.parametrize("method", BREAKS)
def test_some_mutant_breaks_each_method_alone(method: str) -> None:
    drifted, observer = program(BREAKS[method]), alone(AtomicCommitment, method)
    invariant = methods(AtomicCommitment)[method]._invariant
    for index in range(RUNS):
        run = simulate(drifted, plan(drifted, Wish(), index), observers=(observer,), digest=False)
        broken = run.violation or run.warning
        if invariant.name in run.reached or (broken is not None and broken.invariant.name == invariant.name):
            return
    pytest.fail(f"{method} reports nothing in {RUNS} runs")


def test_each_check_is_once_the_only_reason_to_refuse_in_some_story() -> None:
    told = "\n".join(path.read_text("utf-8") for path in sorted(HERE.glob("*.txt")))
    assert set(checks.names(inspect.getsource(protocols.two_phase_commit))) - sole_refusals(told) == UNREACHABLE


@pytest.mark.parametrize(
    ("src", "vote"),
    [
        ("n1", Vote(1, YES)),  # no participant
        ("n3", Vote(1, "maybe")),  # no vote
        ("n3", Vote(2, YES)),  # another transaction's
        ("n2", Vote(1, NO)),  # it has voted yes
    ],
)
def test_a_malformed_vote_changes_nothing(src: NodeId, vote: Vote) -> None:
    node: Any = PROTOCOL.boot("n1", ("n1", "n2", "n3"), PROTOCOL.switches(), PROTOCOL.disk.blank())
    node.start()
    node.request(1, Transaction((2, 3), 0))
    node.receive("n2", Vote(1, YES))
    asked = len(node._effects)
    node.receive(src, vote)
    assert (node.voting, node.votes, len(node._effects)) == (1, {"n2": YES}, asked)
    node.receive("n3", Vote(1, YES))
    assert [record.kind for record in node.disk.log] == ["commit"]


def test_what_a_transcript_asks_is_parsed() -> None:
    assert parse(1, ("write", "1", "2")) == Transaction((1, 2), 0)
    assert parse(1, ("write", "1", "2", "refused", "2")) == Transaction((1, 2), 2)
    for words in (("write",), ("put", "1")):
        with pytest.raises(ValueError, match="a client asks to write some keys"):
            parse(1, words)
