"""Every task: its reference solves it, and what falls short is told exactly what is missing."""

from pathlib import Path

import pytest

from protosim import paths
from protosim.program import reference
from protosim.score import handed_out
from protosim.score.calibrate import Subset, subsets
from protosim.score.suite import load_task, tasks
from tests.score.candidates import judge, shorten

SHORT = [
    pytest.param(name, left, source, id=f"{name}-{'+'.join(sorted(left))}")
    for name in tasks()
    for left, source in subsets(load_task(name)).items()
    if left and (load_task(name).kind == "impl" or len(left) < len(load_task(name).bugs))
    and name != "fix_raft_safety"  # tests/score/test_score.py has those
]


@pytest.mark.parametrize("name", tasks())
def test_the_reference_solves_the_task(name: str, tmp_path: Path) -> None:
    task = load_task(name)
    result = judge(reference(task.protocol).source, tmp_path, name)
    assert (result.stage, result.score, result.failures) == ("scored", 1.0, [])
    assert result.bugs == dict.fromkeys(task.bugs, "fixed")


@pytest.mark.parametrize(("name", "left", "source"), SHORT)
def test_a_partial_repair_or_a_wrong_body_scores_nothing_and_is_named(
    name: str, left: Subset, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 2, ("kill",), name)
    result = judge(source, tmp_path, name)
    assert (result.score, result.pass_rate, result.solved) == (0, 0, False)
    besides = {r.kills for r in load_task(name).recipe if not left.isdisjoint(r.despite)}
    assert left <= {bug for bug, state in result.bugs.items() if state == "unfixed"} <= left | besides
    assert left <= {failure["bug"] for failure in result.failures} <= left | besides
    assert all(failure["invariant"] or failure["ending"] == "failure" for failure in result.failures)


@pytest.mark.parametrize("name", tasks())
def test_what_is_handed_out_scores_nothing_even_with_a_cosmetic_edit(name: str, tmp_path: Path) -> None:
    for source in (handed_out(name), "# Repaired.\n" + handed_out(name)):
        result = judge(source, tmp_path, name)
        assert (result.stage, result.score) == ("unmodified", 0)


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
