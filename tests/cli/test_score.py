"""The command `score`: its fields and exit codes. What a score is worth is tested in tests/score."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from protosim import counterexample
from protosim.adapters import sandbox
from protosim.program import load, reference
from protosim.score import handed_out
from protosim.score.gojudge import Verdict
from protosim.score.result import Result

from .conftest import Cli, Edited

TASK = "fix_raft_safety"
NUMBERS = ("one", "three", "four")
FIELDS = {
    "schema", "status", "stage", "task", "score", "pass_rate", "solved", "isolation", "progress", "failures",
    "verdicts", "disagreement",
}  # fmt: skip


def test_the_handed_out_source_is_not_solved(cli: Cli) -> None:
    Path("candidate.py").write_text(handed_out(TASK), "utf-8")
    scored = cli("score", TASK, "candidate.py", "--json")
    assert scored.code == 1
    assert set(scored.data) >= FIELDS
    assert scored.data["schema"] == "protosim/score/1"
    assert (scored.data["status"], scored.data["stage"]) == ("violation", "unmodified")
    assert scored.data["score"] == 0
    assert set(scored.data["progress"]) == {"bugs", "invariants"}
    words = cli("score", TASK, "candidate.py").out
    assert "violation: not solved, score 0 (unmodified" in words
    assert ("not isolated" in words) == (sandbox.level() == "not isolated")


def test_a_candidate_that_does_not_parse_has_a_score_of_0(cli: Cli) -> None:
    Path("candidate.py").write_text("def broken(:\n", "utf-8")
    scored = cli("score", TASK, "candidate.py", "--json")
    assert scored.code == 1
    assert scored.data["stage"] == "compile_error"


def test_a_candidate_must_be_there(cli: Cli) -> None:
    refused = cli("score", TASK, "gone.py")
    assert refused.code == 3
    assert "gone.py cannot be read" in refused.err


@pytest.mark.parametrize(
    ("result", "code", "says"),
    [
        (Result(task=TASK, split="public", stage="scored", score=1.0, pass_rate=1.0, solved=True), 0, "ok: solved"),
        (Result(task=TASK, split="public", stage="infra_error", sentence="no memory", score=None), 3, "No score"),
    ],
)
def test_the_exit_code_is_the_status(
    result: Result, code: int, says: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scored(*_: Any, **__: Any) -> Result:
        return result

    monkeypatch.setattr("protosim.commands.score.score", scored)
    judged = cli("score", TASK, "any.py")
    assert judged.code == code
    assert says in judged.out + judged.err
    assert cli("score", TASK, "any.py", "--json").data["score"] == result.score


SOLVED = Verdict(solved=True, sentence="9 of 9 runs passed")
BROKEN = Verdict(solved=False, sentence="7 of 9 runs passed", bugs=("raft.log_up_to_date",))


@pytest.mark.parametrize(
    ("second", "disagreement", "says"),
    [
        (SOLVED, "", "The Go suite: solved (9 of 9 runs passed)."),
        (BROKEN, "", "The Go suite: not solved (7 of 9 runs passed); its stories show raft.log_up_to_date."),
        (Verdict(solved=None, sentence="there is no Go suite"), "", "No second verdict: there is no Go suite."),
        (BROKEN, "Two verdicts disagree: please report it.", "\nTwo verdicts disagree: please report it."),
        (None, "", ""),
    ],
)
def test_both_verdicts_are_told(
    second: Verdict | None, disagreement: str, says: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Result(
        task=TASK, split="public", stage="scored", score=1.0, solved=True, runs={"1/votes_3/4": {}},
        go_suite=second, disagreement=disagreement,
    )  # fmt: skip
    monkeypatch.setattr("protosim.commands.score.score", lambda *_, **__: found)
    told = cli("score", TASK, "any.go").out
    assert says in told
    assert ("verdict" in told or "Go suite" in told) == bool(second)
    data = cli("score", TASK, "any.go", "--json").data
    assert data["verdicts"]["simulator"] == {"solved": True}
    assert ("go_suite" in data["verdicts"]) == bool(second)
    assert data["disagreement"] == disagreement


def test_a_batch_tells_of_a_disagreement_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    says = "Two verdicts disagree."
    found = Result(task=TASK, split="public", stage="scored", score=1.0, solved=True, disagreement=says)
    monkeypatch.setattr("protosim.score.batch.score", lambda *_, **__: found)
    Path("answers").mkdir()
    Path("answers/a.go").touch()
    told = cli("score", TASK, "--batch", "answers")
    assert says in " ".join(told.out.split())
    assert cli("score", TASK, "--batch", "answers", "--json").data["answers"][0]["disagreement"] == says


def test_what_is_known_to_be_wrong_comes_first(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong line may make runs of many bugs fail."""
    bugs = {"a.one": "regressed", "a.two": "fixed", "a.three": "regressed", "a.four": "unfixed"}
    failures = [{"run": f"1/x/{n}", "bug": f"a.{n}", "ending": "goal", "invariant": "", "sentence": n} for n in NUMBERS]
    result = Result(task=TASK, split="public", stage="scored", score=0.0, bugs=bugs, failures=failures)
    monkeypatch.setattr("protosim.commands.score.score", lambda *_, **__: result)
    lines = [line.strip() for line in cli("score", TASK, "any.py").out.splitlines()]
    first = lines.index("a.four  unfixed")
    assert lines[first + 1] == "fixed: a.two"
    assert lines[first + 2] == "regressed (their runs fail, but not as by these bugs): a.one, a.three"
    assert [line.partition(": ")[0] for line in lines[first + 3 : first + 6]] == ["1/x/four", "1/x/one", "1/x/three"]


def test_tasks_are_listed(cli: Cli) -> None:
    assert TASK in {row["name"] for row in cli("list", "tasks", "--json").data["tasks"]}


# -- To see a failure again --------------------------------------------------------------------------

BUG = "raft.vote_once_per_term"
RUN = "1/votes_3/7"  # of the public suite, which detects the bug


@pytest.fixture
def failed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Result:
    """A candidate with a bug is in candidate.py, and its score is a result in which this run has failed."""
    Path("candidate.py").write_text(load("raft", [BUG]).source, "utf-8")
    outcome = {"test": "test_01", "run": RUN, "ending": "violation", "invariant": "election_safety", "sentence": "x"}
    result = Result(task=TASK, split="public", stage="scored", score=0.0, failures=[outcome])
    monkeypatch.setattr("protosim.commands.score.score", lambda *_, **__: result)
    return result


def _words(line: str) -> list[str]:
    """A command line that was printed, as this process takes it."""
    words = shlex.split(line)
    return words[words.index("score" if "score" in words else "replay") :]


def test_the_command_under_a_failure_shows_it_again_as_a_story_to_replay(cli: Cli, failed: Result) -> None:
    told = cli("score", TASK, "candidate.py").out
    line = re.search(r"see the first again: (.*)", told)
    assert line is not None
    again = cli(*_words(line[1]))
    assert again.code == 1
    assert f"violation: {RUN} fails: election_safety" in again.out
    replay = re.search(r"replay: (.*)", again.out)
    assert replay is not None
    assert len(counterexample.load("run-1-votes-3-7.json").scenario.script or ()) < 20
    assert cli(*_words(replay[1])).code == 1
    Path("repaired.py").write_text(reference("raft").source, "utf-8")
    assert cli(*_words(replay[1]), "--source", "repaired.py").code == 0


def test_each_failure_has_its_command(cli: Cli, failed: Result) -> None:
    data = cli("score", TASK, "candidate.py", "--json").data
    assert _words(data["failures"][0]["again"]) == ["score", TASK, "candidate.py", "--run", RUN]
    again = cli(*_words(data["failures"][0]["again"]), "-o", "story.json", "--json").data
    assert (again["ending"], again["invariant"]) == ("violation", "election_safety")
    assert again["counterexample"] == "story.json"


def test_a_run_that_passes_says_so(cli: Cli) -> None:
    Path("repaired.py").write_text(reference("raft").source, "utf-8")
    again = cli("score", TASK, "repaired.py", "--run", RUN)
    assert (again.code, again.out) == (0, f"ok: {RUN} passes, with 0 answers to clients.\n")


def test_a_run_that_misses_a_goal_can_be_drawn(cli: Cli, edited: Edited) -> None:
    idle = edited("        if self.role is Role.LEADER:\n            return\n", "        return\n")
    again = cli("score", TASK, idle, "--run", "1/chaos_walk_3/0", "-o", "idle.json")
    assert again.code == 1
    assert "fails: leader_elected" in again.out
    assert cli("show", "idle.json").code == 0


def test_a_run_that_there_is_not_is_named(cli: Cli) -> None:
    assert "did you mean 1/votes_3/7" in cli("score", TASK, "any.py", "--run", "1/vots_3/7").err
    assert "--run plays a run with a candidate" in cli("score", TASK, "--run", RUN).err
