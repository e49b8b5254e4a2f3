"""Each task that is known in Go: the reference solves it, and what falls short is told exactly what is missing."""

import pytest

from mutations import catalogue
from mutations import golang as mutated
from protosim.adapters.go import Go
from protosim.program import reference as in_python
from protosim.run import simulate
from protosim.score import Result, golang, handed_out
from protosim.score.candidates import short
from protosim.score.suite import load_suite, load_task, secret, tasks, trials
from protosim.score.twins import twins
from tests.go.conftest import TASK, Judge
from tests.sampling import sampled
from tests.score.candidates import shorten
from tests.score.test_score import without_timings

KNOWN = [name for name in tasks() if golang.is_known(load_task(name).protocol)]
OTHERS = [name for name in KNOWN if name != TASK]  # tests/go/test_scores.py has that one


def reference_of(task: str) -> str:
    return golang.reference(load_task(task).protocol)


def with_bugs(task: str, bugs: tuple[str, ...]) -> str:
    known = catalogue.load(load_task(task).protocol)
    return mutated.apply_all(reference_of(task), [known[bug] for bug in bugs])


def changed(source: str) -> str:
    """The source with an edit that the compiler cannot leave out, and that changes nothing."""
    before, after = "Timeout(t step.Timer) {\n", 'Timeout(t step.Timer) {\n\tif t == "none" {\n\t\tpanic("none")\n\t}\n'
    assert source.count(before) == 1
    return source.replace(before, after)


SHORT = sampled((task, left) for task in OTHERS for left in short(load_task(task)))


def drifts() -> list[tuple[str, str]]:
    """Protocol and mutant: bugs, and wrong repairs that a recipe names as a cause."""
    whats = [load_task(task) for task in OTHERS]
    named = {(what.protocol, name) for what in whats for name in (*what.bugs, *(r.cause for r in what.recipe))}
    known = {m.id for what in whats for m in catalogue.load(what.protocol).values() if mutated.has(m)}
    return sorted((protocol, name) for protocol, name in named if name in known)


def unfixed(result: Result) -> set[str]:
    return {bug for bug, state in result.bugs.items() if state == "unfixed"}


@pytest.mark.parametrize("task", sampled(((task,) for task in OTHERS), every=2))
def test_the_reference_in_go_solves_the_task_and_runs_to_the_byte_as_the_one_in_python(judge: Judge, task: str) -> None:
    what, using = load_task(task), secret()
    result = judge(reference_of(task), task)
    assert (result.status, result.stage, result.score, result.language) == ("ok", "scored", 1.0, "go")
    assert (result.bugs, result.failures) == (dict.fromkeys(what.bugs, "fixed"), [])
    program = in_python(what.protocol)
    for trial in trials(what, load_suite(task, using), using)[::7]:
        assert result.runs[trial.run.name]["digest"] == simulate(program, trial.scenario).digest


@pytest.mark.parametrize(("task", "left"), SHORT)
def test_a_partial_repair_or_a_wrong_body_in_go_scores_nothing_and_what_it_breaks_is_named(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, task: str, left: tuple[str, ...]
) -> None:
    shorten(monkeypatch, 2, ("kill",), task)
    result = judge(with_bugs(task, left), task)
    besides = {recipe.kills for recipe in load_task(task).recipe if not set(left).isdisjoint(recipe.despite)}
    assert (result.stage, result.score, result.pass_rate) == ("below_min_pass_rate", 0, 0)
    assert set(left) <= unfixed(result) <= {*left, *besides}
    assert set(left) <= {failure["bug"] for failure in result.failures} <= {*left, *besides}
    if not left[1:]:
        broken = {failure["invariant"] or failure["ending"] for failure in result.failures}
        assert broken & set(catalogue.load(load_task(task).protocol)[left[0]].breaks)


NOTHING = {
    "paxos": ("\tp.waiting.Set(op, command.(int))\n", "\tp.Refuse(op)\n"),
    "pbft": ("\tif c.asking != nil {\n\t\tc.Refuse(op)\n", "\tif op > 0 {\n\t\tc.Refuse(op)\n"),
    "pbft_store": ("\tif c.asking != nil {\n\t\tc.Refuse(op)\n", "\tif op > 0 {\n\t\tc.Refuse(op)\n"),
    "raft_snapshots": ('step.Check("request_to_leader", r.role == leader),', 'step.Check("request_to_leader", false),'),
    "transactions": ("\tif s.active.Len() < s.Switches.AtOnce {\n", "\tif s.active.Len() < 0 {\n"),
    "two_phase_commit": ("\tif c.voting != 0 {\n\t\tc.Refuse(op)\n", "\tif c.voting >= 0 {\n\t\tc.Refuse(op)\n"),
}
DEAF = ("\tswitch m := m.(type) {\n", "\tm = nil\n\tswitch m := m.(type) {\n")


def edited(task: str, before: str, after: str) -> str:
    source = reference_of(task)
    assert source.count(before) == 1
    return source.replace(before, after)


@pytest.mark.parametrize("task", sampled((task,) for task in OTHERS))
def test_a_repair_in_go_that_does_nothing_has_fixed_nothing(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    shorten(monkeypatch, 1, ("kill", "chaos", "live"), task)
    result = judge(edited(task, *NOTHING[load_task(task).protocol]), task)
    assert (result.score, result.pass_rate) == (0, 0)
    assert set(result.bugs.values()) == {"regressed"}


@pytest.mark.parametrize("task", sampled((task,) for task in OTHERS))
def test_a_repair_in_go_whose_nodes_are_deaf_scores_nothing(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    shorten(monkeypatch, 1, ("chaos", "live"), task)
    result = judge(edited(task, *DEAF), task)
    assert (result.score, result.pass_rate) == (0, 0)


@pytest.mark.parametrize("task", sampled((task,) for task in OTHERS))
def test_what_is_handed_out_in_go_scores_nothing_whatever_is_added_that_repairs_nothing(
    tool: Go, judge: Judge, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    source = handed_out(task, "go")
    assert tool.format(source) == source
    assert "Holds()" not in source
    for same in (source, "// Repaired.\n" + source, source + "\nfunc repaired() bool { return true }\n"):
        result = judge(same, task)
        assert (result.stage, result.score) == ("unmodified", 0)
    shorten(monkeypatch, 1, ("kill", "chaos", "live"), task)
    result = judge(changed(source), task)
    assert (result.stage, result.score) == ("below_min_pass_rate", 0)


@pytest.mark.parametrize("task", sampled((task,) for task in OTHERS))
def test_three_scores_of_a_candidate_in_go_are_the_same(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    shorten(monkeypatch, 1, ("kill",), task)
    first, *others = [without_timings(judge(with_bugs(task, short(load_task(task))[-1]), task)) for _ in range(3)]
    assert others == [first, first]


@pytest.mark.parametrize(("protocol", "drift"), sampled(drifts()))
def test_a_mutant_drifts_in_go_as_it_does_in_python(tool: Go, protocol: str, drift: str) -> None:
    assert twins(protocol, [drift], runs=6).difference is None
