"""Every task: its reference solves it, and what falls short is told exactly what is missing."""

import functools
from pathlib import Path

import pytest

from mutations import DriftKind, Edit, Mutation, Replace, Site, engine
from protosim import paths
from protosim.program import from_source, reference
from protosim.score import handed_out
from protosim.score.again import played
from protosim.score.calibrate import Subset, mutants, subsets
from protosim.score.candidates import short
from protosim.score.suite import Trial, load_suite, load_task, secret, tasks, trials
from tests.sampling import sampled
from tests.score.candidates import judge, shorten

OTHERS = [name for name in tasks() if name != "fix_raft_safety"]  # tests/score/test_score.py has that one

SHORT = sampled(((name, left) for name in OTHERS for left in short(load_task(name))), every=2)

WRONG: dict[str, dict[str, tuple[Edit, ...]]] = {  # repairs that are nearly right
    "twopc_crash": {
        "aborts what comes late unless patience is 4": (
            Replace(
                "try_decide",
                "len(self.votes) == len(self.asked)",
                "len(self.votes) == len(self.asked) and not (self.voting > 60 and self.switches.patience != 4)",
            ),
        ),
        "aborts at once what comes late unless patience is 4": (
            Replace(
                "request",
                "if self.voting:\n    self.refuse(op)\n    return",
                "if self.voting:\n    self.refuse(op)\n    return\n"
                "if op > 60 and self.switches.patience != 4:\n    self.reply(op, ABORT)\n    return",
            ),
        ),
        "recovers from the last 12 records": (Replace("recover", "self.disk.log", "self.disk.log[-12:]"),),
        "recovers from the last 24 records": (Replace("recover", "self.disk.log", "self.disk.log[-24:]"),),
        "votes before it has prepared": (Site("handle_prepare", "swap-sync-and-send", "1"),),
        "acknowledges before it has committed": (Site("handle_decision", "swap-sync-and-send", "1"),),
        "counts any word as a vote": (Site("record_vote", "drop-check", "vote_is_yes_or_no"),),
        "counts any word but wait as a vote": (Replace("record_vote", "m.ballot in (YES, NO)", "m.ballot != WAIT"),),
        "counts votes of strangers": (Site("record_vote", "drop-check", "voter_is_participant"),),
        "counts votes that contradict earlier ones": (Site("record_vote", "drop-check", "vote_is_not_changed"),),
    },
    "fix_txn_coordinator": {
        "keeps the last commit over a restart": (
            Replace("start", "self.active = {}", "self.disk.commits = self.disk.commits[-1:]\nself.active = {}"),
        ),
        "knows lock owners by name": (
            Replace("holds_lock", "(owner.tid, owner.token) == (tid, lock.token)", "owner.tid == tid"),
        ),
    },
    "implement_consistent_broadcast": {
        "delivers nothing": (Replace("handle_final", "self.deliver(src, m.number, m.content)", "pass"),),
        "does with three signatures of seven": (
            Replace("half", "(self.cluster_size + tolerated(self.cluster_size)) // 2", "2"),
        ),
        "certifies whatever is echoed": (Site("handle_echo", "drop-check", "echo_of_what_i_sent"),),
        "certifies what one has echoed": (Site("handle_echo", "drop-check", "echoed_by_quorum"),),
    },
    "paxos_prepare": {
        "prepares once": (Replace("prepare", "self.set_timer(RETRY, PATIENCE)", ""),),
        "refuses silently": (Replace("handle_prepare", "self.tell(src, Nack(m.ballot, self.disk.promised))", ""),),
    },
}
NEARLY_RIGHT = [pytest.param(task, edits, id=f"{task}: {does}")
                for task, wrong in WRONG.items() for does, edits in wrong.items()]


@pytest.mark.parametrize("name", OTHERS)
def test_the_reference_solves_the_task(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By three hidden tests: its certificate is about all of them."""
    shorten(monkeypatch, 3, ("kill", "chaos", "live"), name)
    task = load_task(name)
    result = judge(reference(task.protocol).source, tmp_path, name)
    assert (result.stage, result.score, result.failures) == ("scored", 1.0, [])
    assert result.bugs == dict.fromkeys(task.bugs, "fixed")


@functools.cache
def sources(name: str) -> dict[Subset, str]:
    return subsets(load_task(name))


@pytest.mark.parametrize(("name", "bugs"), SHORT)
def test_a_partial_repair_or_a_wrong_body_scores_nothing_and_is_named(
    name: str, bugs: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = frozenset(bugs)
    shorten(monkeypatch, 2, ("kill",), name)
    result = judge(sources(name)[left], tmp_path, name)
    assert (result.score, result.pass_rate, result.solved) == (0, 0, False)
    besides = {r.kills for r in load_task(name).recipe if not left.isdisjoint(r.despite)}
    assert left <= {bug for bug, state in result.bugs.items() if state == "unfixed"} <= left | besides
    assert left <= {failure["bug"] for failure in result.failures} <= left | besides
    assert all(failure["invariant"] or failure["ending"] == "failure" for failure in result.failures)


@pytest.mark.parametrize(("name", "edits"), NEARLY_RIGHT)
def test_a_repair_that_is_nearly_right_fails_the_hidden_tests(name: str, edits: tuple[Edit, ...]) -> None:
    protocol = load_task(name).protocol
    wrong = Mutation(id=f"{protocol}.wrong", title="It drifts.", kind=DriftKind.MISSING_CHECK, edits=edits)
    program = from_source(protocol, engine.apply(reference(protocol).source, wrong))
    for test in (1, 2):
        assert any(played(program, trial).ending != "passed" for trial in runs_of(name) if trial.run.test == test)


@functools.cache
def runs_of(name: str) -> list[Trial]:
    return trials(load_task(name), load_suite(name, secret()), secret())


CAUSED = [(name, recipe.name) for name in tasks() for recipe in load_task(name).recipe if recipe.cause]


@pytest.mark.parametrize(("name", "recipe"), CAUSED)
def test_the_cause_that_a_recipe_names_fails_in_each_of_its_runs(name: str, recipe: str) -> None:
    task = load_task(name)
    what = task.recipes()[recipe]
    found = [trial for trial in runs_of(name) if trial.run.recipe == recipe]
    assert len(found) == task.tests * what.per_test
    for trial in found:
        for drifted in mutants(task.protocol, what):
            assert played(drifted, trial).ending in ("violation", "failure")


@pytest.mark.parametrize("name", tasks())
def test_what_is_handed_out_shows_no_check_that_was_dropped(name: str) -> None:
    assert "holds()" not in handed_out(name)


@pytest.mark.parametrize("name", tasks())
def test_what_is_handed_out_scores_nothing_even_with_a_cosmetic_edit(name: str, tmp_path: Path) -> None:
    for source in (handed_out(name), "# Repaired.\n" + handed_out(name)):
        result = judge(source, tmp_path, name)
        assert (result.stage, result.score) == ("unmodified", 0), result.sentence


@pytest.mark.parametrize("name", tasks())
def test_an_edit_of_what_is_handed_out_that_repairs_nothing_scores_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 1, ("kill", "chaos", "live"), name)
    result = judge(handed_out(name) + "\nREPAIRED = True\n", tmp_path, name)
    assert (result.score, result.solved) == (0, False)


@pytest.mark.parametrize("name", tasks())
def test_the_ticket_names_no_bug(name: str) -> None:
    ticket = (paths.data("tasks") / name / "ticket.md").read_text("utf-8")
    for bug in load_task(name).bugs:
        assert bug.partition(".")[2] not in ticket
