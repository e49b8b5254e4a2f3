"""twopc_crash: a repair that leaves a part of a bug scores nothing (`tests/score/test_tasks.py` has whole bugs)."""

from pathlib import Path

import pytest

from protosim.program import load, reference
from protosim.run import simulate
from protosim.score.suite import load_suite, load_task, secret, trials
from tests.score.candidates import judge, shorten

PARTS = {  # what a repair may leave -> the bug that it is a part of
    "vote_on_this_transaction": "malformed_votes",
    "vote_is_yes_or_no": "malformed_votes",
    "nobody_voted_no": "commit_on_any_yes",
    "commit_on_a_majority": "commit_on_any_yes",
    "recover_forgets_commits": "recover_forgets_decisions",
    "recover_forgets_aborts": "recover_forgets_decisions",
}


def test_the_task_has_the_three_bugs_of_three_functions() -> None:
    assert [bug.partition(".")[2] for bug in load_task("twopc_crash").bugs] == list(dict.fromkeys(PARTS.values()))


def test_each_run_of_a_recipe_that_names_a_cause_fails_by_that_alone() -> None:
    task, using = load_task("twopc_crash"), secret()
    causes = {name: recipe.cause for name, recipe in task.recipes().items() if recipe.cause}
    assert set(causes.values()) <= {f"two_phase_commit.{part}" for part in PARTS}
    for trial in trials(task, load_suite("twopc_crash", using), using):
        if trial.run.recipe in causes:
            assert simulate(load("two_phase_commit", (causes[trial.run.recipe],)), trial.scenario).violation


@pytest.mark.parametrize("part", PARTS)
def test_a_repair_that_leaves_a_part_of_a_bug_scores_nothing(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 2, ("kill", "chaos", "live"), "twopc_crash")
    result = judge(load("two_phase_commit", (f"two_phase_commit.{part}",)).source, tmp_path, "twopc_crash")
    assert (result.score, result.solved) == (0, False)
    assert result.failures


@pytest.mark.parametrize(
    "code",
    [
        "TwoPhaseCommit.request = lambda self, op, command: self.refuse(op)",
        "TwoPhaseCommit.try_decide = lambda self: self.conclude(ABORT)",
        "TwoPhaseCommit.receive = lambda self, src, m: None",
    ],
)
def test_a_repair_that_commits_nothing_scores_nothing(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 1, ("kill", "chaos", "live"), "twopc_crash")
    result = judge(f"{reference('two_phase_commit').source}\n{code}\n", tmp_path, "twopc_crash")
    assert (result.score, result.pass_rate, result.solved) == (0, 0, False)
