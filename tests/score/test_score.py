"""The score of a repair: all of it, most of it, none of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

import protosim.score
from protosim.adapters import sandbox
from protosim.errors import UserError
from protosim.program import reference
from protosim.run import simulate
from protosim.score import Result, rescore, score, score_many
from protosim.score.judge import Game, Judge, Outcome
from protosim.score.pool import Worker
from protosim.score.result import curve, scored
from protosim.score.suite import load_suite, load_task, secret, trials
from protosim.world import START
from tests.score.candidates import (
    BUGS,
    REFERENCE,
    TASK,
    drifted,
    judge,
    proper_subsets,
    shorten,
    with_bugs,
)


def without_timings(result: Result) -> str:
    return json.dumps({**result.to_json(), "seconds": None})


def test_the_reference_solves_the_task_and_runs_as_it_does_in_one_process(tmp_path: Path) -> None:
    result = judge(REFERENCE, tmp_path)
    assert (result.status, result.stage, result.score, result.pass_rate) == ("ok", "scored", 1.0, 1.0)
    assert result.solved
    assert result.failures == []
    assert result.isolation == sandbox.level()
    assert result.bugs == dict.fromkeys(BUGS, "fixed")
    assert all(kept["passed"] == kept["expected"] > 0 for kept in result.invariants.values())
    task, using = load_task(TASK), secret()
    program = reference("raft")
    for trial in trials(task, load_suite(TASK, using), using):
        assert result.runs[trial.run.name]["digest"] == simulate(program, trial.scenario).digest
    assert without_timings(rescore(TASK, json.loads(json.dumps(result.to_json())))) == without_timings(result)


def test_three_scores_of_one_candidate_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 1, ("kill", "chaos", "live"))
    file = tmp_path / "candidate.py"
    file.write_text(with_bugs(BUGS[1], BUGS[4]))
    first, *others = map(without_timings, score_many(TASK, [file] * 3))
    assert others == [first, first]
    assert '"violation"' in first


def test_what_depends_on_chance_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, 1, ("chaos", "live"))
    peers = "            for peer in self.peers:\n                self.replicate(peer)\n"
    assert REFERENCE.count(peers) == 1
    drawn = peers.replace("self.peers", "random.sample(self.peers, len(self.peers))")
    result = judge("import random\n" + REFERENCE.replace(peers, drawn), tmp_path)
    assert result.score == 0
    assert any("played again, the run went another way" in failure["sentence"] for failure in result.failures)


@pytest.mark.parametrize("left", proper_subsets(), ids="+".join)
def test_a_partial_repair_scores_nothing_and_is_told_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: tuple[str, ...]
) -> None:
    shorten(monkeypatch, 3, ("kill",))  # they alone make every hidden test fail
    result = judge(with_bugs(*left), tmp_path)
    assert (result.score, result.pass_rate, result.solved) == (0, 0, False)
    assert result.stage == "below_min_pass_rate"
    assert {bug for bug, state in result.bugs.items() if state == "unfixed"} == set(left)
    assert {bug for bug, state in result.bugs.items() if state == "fixed"} == set(BUGS) - set(left)
    assert {failure["bug"] for failure in result.failures} == set(left)


def test_one_bug_left_is_named_with_chaos_and_liveness_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 2, ("kill", "chaos", "live"))
    result = judge(with_bugs("raft.vote_response_current"), tmp_path)
    assert (result.score, result.pass_rate) == (0, 0)
    assert [bug for bug, state in result.bugs.items() if state != "fixed"] == ["raft.vote_response_current"]
    assert result.invariants["election_safety"]["passed"] < result.invariants["election_safety"]["expected"]


@pytest.mark.parametrize("cosmetic", ["", "# Repaired.\n", "\n\n\n"])
def test_the_handed_out_source_scores_nothing_whatever_its_comments_say(
    tmp_path: Path, cosmetic: str
) -> None:
    result = judge(cosmetic + drifted(), tmp_path)
    assert (result.stage, result.score, result.status) == ("unmodified", 0, "violation")
    assert result.bugs == dict.fromkeys(BUGS, "unfixed")


def test_an_edit_that_repairs_nothing_leaves_all_bugs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 2, ("kill", "chaos", "live"))
    result = judge(drifted() + "\nREPAIRED = True\n", tmp_path)
    assert (result.stage, result.score) == ("below_min_pass_rate", 0)
    assert result.bugs == dict.fromkeys(BUGS, "unfixed")


NOTHING = {
    "nobody stands for election": '\nRaft.TIMERS["election"] = lambda self: None\n',
    "nobody answers a message": "\nRaft.receive = lambda self, src, m: None\n",
    "no client is answered": "\nRaft.request = lambda self, op, command: self.refuse(op)\n",
    "nothing is committed": "\nRaft.advance_commit_index = lambda self: None\n",
}


@pytest.mark.parametrize("code", NOTHING.values(), ids=list(NOTHING))
def test_a_repair_that_does_nothing_has_fixed_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    shorten(monkeypatch, 1, ("kill", "chaos", "live"))
    result = judge(REFERENCE + code, tmp_path)
    assert (result.score, result.pass_rate) == (0, 0)
    assert result.bugs == dict.fromkeys(BUGS, "regressed")


REFUSED = {
    "no Python": ("def f(:", "compile_error", "SyntaxError"),
    "no protocol": ("x = 1\n", "compile_error", "PROTOCOL"),
    "an import that fails": (f"import protocols.raft\n{REFERENCE}", "compile_error", "No module"),
    "an exit at import": (f"import os\nos._exit(0)\n{REFERENCE}", "compile_error", "ended"),
    "no text": (b"\xff", "tampered", "UTF-8"),
    "too much text": ("#" * 300_000, "tampered", "bytes"),
    "another message": (
        REFERENCE.replace("    granted: bool\n", "    granted: bool\n    why: int = 0\n", 1),
        "tampered",
        "Vote",
    ),
}


@pytest.mark.parametrize(("source", "stage", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_a_gate_decides_about(tmp_path: Path, source: str | bytes, stage: str, sentence: str) -> None:
    result = judge(source, tmp_path)
    assert (result.stage, result.score, result.status) == (stage, 0, "violation")
    assert sentence in result.sentence


def test_a_machine_that_fails_gives_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_pool(*_: Any) -> None:
        raise OSError("no process can be started")

    monkeypatch.setattr(protosim.score, "Pool", no_pool)
    result = judge(REFERENCE, tmp_path)
    assert (result.stage, result.score, result.status) == ("infra_error", None, "error")
    assert "no process" in result.sentence


def test_unknown_tasks_and_missing_candidates_are_errors_with_advice(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean fix_raft_safety"):
        score("fix_raft_safty", tmp_path)
    with pytest.raises(UserError, match="cannot be read"):
        score(TASK, tmp_path / "none.py")
    with pytest.raises(UserError, match="is a folder"):
        score(TASK, tmp_path)


# -- The formula -------------------------------------------------------------------------------------


def test_the_curve_goes_from_nothing_to_one() -> None:
    task = load_task(TASK)
    points = [curve(task, tenths / 10) for tenths in range(11)]
    assert points == sorted(points)
    assert (points[0], points[10]) == (0.0, 1.0)
    assert points[4] < 0.05 < 0.5 < points[8]


def outcome(ending: Any, invariant: str = "", answers: int = 3) -> Outcome:
    return Outcome(ending=ending, invariant=invariant, events=9, answers=answers, digest="")


def score_of(changes: dict[str, Outcome | None]) -> Result:
    """The result where every run passed but these; None: it has no outcome."""
    task = load_task(TASK)
    suite = load_suite(TASK, secret())
    outcomes = {run.name: changes.get(run.name, outcome("passed")) for run in suite.runs}
    found = {name: o for name, o in outcomes.items() if o is not None}
    return scored(task, suite, tuple(reference("raft").spec.invariants()), found, "")


def first_run(recipe: str) -> str:
    return next(run.name for run in load_suite(TASK, secret()).runs if run.recipe == recipe)


def test_a_run_without_an_outcome_fails_its_test() -> None:
    result = score_of({first_run("votes_3"): None})
    assert result.pass_rate == 0.9
    assert result.stage == "scored"
    assert 0.8 < (result.score or 0) < 1
    assert not result.solved


def test_a_bug_is_unfixed_only_if_its_run_breaks_as_the_bug_breaks_it() -> None:
    name, bug = first_run("figure_8_loss"), "raft.commit_current_term"
    assert score_of({name: outcome("violation", "leader_completeness")}).bugs[bug] == "unfixed"
    assert score_of({name: outcome("violation", "durability")}).bugs[bug] == "regressed"
    assert score_of({name: outcome("failure")}).bugs[bug] == "regressed"
    assert score_of({}).bugs[bug] == "fixed"


def test_below_the_least_pass_rate_the_score_is_nothing() -> None:
    runs = {run.test: run.name for run in load_suite(TASK, secret()).runs}
    result = score_of({name: None for test, name in runs.items() if test > 3})
    assert (result.stage, result.score, result.pass_rate) == ("below_min_pass_rate", 0, 0.3)
    result = score_of({name: None for test, name in runs.items() if test > 4})
    assert result.stage == "scored"


def test_a_run_that_a_gate_decided_cannot_be_scored_again(tmp_path: Path) -> None:
    saved = judge("x = 1", tmp_path).to_json()
    with pytest.raises(UserError, match="no saved run"):
        rescore(TASK, saved)
    with pytest.raises(UserError, match="no saved run"):
        rescore(TASK, {})
    with pytest.raises(UserError, match="another suite"):
        rescore(TASK, {**score_of({}).to_json(), "runs": {"1/votes_3/1000000": {}}})


def test_a_result_is_plain_json(tmp_path: Path) -> None:
    data = score_of({first_run("gap_3"): outcome("violation", "log_matching")}).to_json()
    assert json.loads(json.dumps(data)) == data
    assert attrs.has(Result)


def test_no_two_nodes_of_a_run_and_no_two_lives_of_one_ever_share_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 1, ("chaos", "live"))
    homes: dict[Game, list[int]] = {}  # run -> the processes in which its nodes booted
    lives: dict[Game, list[str]] = {}

    class Watched(Judge):
        def _ask(self, games: Sequence[Game]) -> dict[Worker, list[Game]]:
            asked = super()._ask(games)
            for seat, those in asked.items():
                for game in those:
                    if game.world.pending[0] == START:
                        homes.setdefault(game, []).append(seat.process.pid)
                        lives.setdefault(game, []).append(game.world.ids[game.world.at])
            return asked

    monkeypatch.setattr(protosim.score, "Judge", Watched)
    assert judge(REFERENCE, tmp_path).score == 1
    assert homes
    for used in homes.values():
        assert len(used) == len(set(used))
    assert any(len(booted) > len(set(booted)) for booted in lives.values())  # some node restarted
