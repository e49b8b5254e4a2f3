"""Suites: seeds that nobody guesses, runs that fail if and only if their bug is there."""

from collections import Counter
from pathlib import Path

import attrs
import pytest

from protosim.errors import UserError
from protosim.score import calibrate, suite
from protosim.score.suite import Secret, dump_suite, load_suite, load_task, secret
from tests.score.candidates import BUGS, TASK, drifted, with_bugs

PRIVATE = Secret("private", b"a secret of sixteen bytes or more")


def test_every_hidden_test_holds_every_bug_and_chaos_and_liveness() -> None:
    task = load_task(TASK)
    recipes = task.recipes()
    found = Counter((run.test, recipes[run.recipe].kills or recipes[run.recipe].kind)
                    for run in load_suite(TASK, secret()).runs)
    for test in range(1, task.tests + 1):
        for kind in (*BUGS, "chaos", "live"):
            assert found[test, kind] >= 2


def test_runs_of_chaos_and_liveness_must_reach_goals() -> None:
    task = load_task(TASK)
    recipes = task.recipes()
    for run in load_suite(TASK, secret()).runs:
        recipe = recipes[run.recipe]
        if recipe.kind == "kill":
            assert run.breaks
        else:
            assert {"leader_elected", "command_committed"} <= set(recipe.goals)
            assert run.answers >= 3


def test_no_two_runs_share_a_seed_and_no_secret_gives_anothers() -> None:
    public = secret()
    seeds = {(s, r, c): s.seed(TASK, r, c) for s in (public, PRIVATE) for r in "ab" for c in range(50)}
    assert len(set(seeds.values())) == len(seeds)
    assert public.key != PRIVATE.key
    assert "sixteen" not in repr(PRIVATE)


def test_a_private_secret_needs_a_suite_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret"
    monkeypatch.setenv("PROTOSIM_SECRET", str(file))
    with pytest.raises(UserError, match="cannot be read"):
        secret()
    file.write_bytes(b"short\n")
    with pytest.raises(UserError, match="can be guessed"):
        secret()
    file.write_bytes(PRIVATE.value)
    with pytest.raises(UserError, match=r"protosim\.score\.calibrate fix_raft_safety"):
        load_suite(TASK, secret())
    monkeypatch.delenv("PROTOSIM_SECRET")
    public = dump_suite(load_suite(TASK, secret()))
    (tmp_path / f"{TASK}.suite.json").write_text(public)
    monkeypatch.setenv("PROTOSIM_SECRET", str(file))
    with pytest.raises(UserError, match="another task or secret"):
        load_suite(TASK, secret())


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": "protosim/suite/1"}'])
def test_a_damaged_suite_is_an_error_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    file = tmp_path / "suite.json"
    file.write_text(text)
    monkeypatch.setattr(suite, "suite_path", lambda *_: file)
    with pytest.raises(UserError, match=r"suite\.json"):
        load_suite(TASK, secret())


def test_a_suite_is_stale_once_its_recipes_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = attrs.evolve(load_task(TASK), tests=11)
    monkeypatch.setattr(suite, "load_task", lambda _: changed)
    with pytest.raises(UserError, match="was changed"):
        load_suite(TASK, secret())


def test_the_handed_out_source_has_all_bugs() -> None:
    assert with_bugs(*BUGS) == drifted()


def test_calibration_finds_the_same_runs_whatever_the_jobs() -> None:
    task = load_task(TASK)
    recipes = [attrs.evolve(task.recipes()[name], per_test=1) for name in ("votes_3", "chaos_hunter_3")]
    small = attrs.evolve(task, tests=2, bugs=BUGS[:1], recipe=tuple(recipes))
    made = [calibrate.calibrate(small, PRIVATE, jobs) for jobs in (1, 2)]
    assert made[0] == made[1]
    assert [run.test for run in made[0].runs] == [1, 1, 2, 2]
    assert {run.breaks for run in made[0].runs} == {("election_safety",), ()}
