"""twopc_crash: a repair that leaves a part of a bug scores nothing (`tests/score/test_tasks.py` has whole bugs)."""

from pathlib import Path

import pytest

from protosim.program import load, reference
from protosim.score.suite import load_task
from tests.score.candidates import judge, shorten

PARTS = {  # what a repair may leave -> the bug that it is a part of
    "vote_on_this_transaction": "malformed_votes",
    "vote_is_yes_or_no": "malformed_votes",
    "voter_is_participant": "malformed_votes",
    "vote_is_not_changed": "malformed_votes",
    "nobody_voted_no": "commit_on_any_yes",
    "commit_on_a_majority": "commit_on_any_yes",
    "recover_forgets_commits": "recover_forgets_decisions",
    "recover_forgets_aborts": "recover_forgets_decisions",
}


def test_the_task_has_the_three_bugs_of_three_functions() -> None:
    assert [bug.partition(".")[2] for bug in load_task("twopc_crash").bugs] == list(dict.fromkeys(PARTS.values()))


def test_what_the_runs_of_a_bug_name_as_its_cause_is_a_part_of_it() -> None:
    for recipe in load_task("twopc_crash").recipe:
        if recipe.kind == "kill" and recipe.cause:
            assert PARTS[recipe.cause.partition(".")[2]] == recipe.kills.partition(".")[2]


@pytest.mark.parametrize("part", PARTS)
def test_a_repair_that_leaves_a_part_of_a_bug_scores_nothing(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 1, ("kill", "chaos", "live"), "twopc_crash")
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
