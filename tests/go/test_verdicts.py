"""The two verdicts on a candidate in Go: the simulator's, and that of the task's Go suite."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from mutations import find
from mutations import golang as mutated
from protosim.adapters import confined, sandbox
from protosim.adapters.go import Go
from protosim.program import reference as in_python
from protosim.score import gojudge, golang, rescore, result
from protosim.score.gojudge import Verdict
from protosim.score.pool import Launch, bundle, python
from protosim.score.result import Result
from protosim.score.suite import load_task, secret
from tests.go.conftest import TASK, Judge
from tests.go.test_simkit import raw_suite, stories_alone
from tests.sampling import sampled
from tests.score.candidates import BUGS, shorten
from tests.score.test_score import without_timings

LEFT = [("fix_raft_safety", BUGS[2:4])] + [
    (task, tuple(load_task(task).bugs[:most]))
    for task, most in (("fix_snapshot_replication", 2), ("fix_txn_coordinator", 3), ("implement_raft_log", 1))
]
ASLEEP = Launch((sandbox.INTERPRETER, "-I", "-S", "-c", "import time\nwhile True: time.sleep(1)"), Path("/"), "")


def with_bugs(task: str, bugs: Sequence[str]) -> str:
    protocol = load_task(task).protocol
    found = [find(protocol, bug, in_python(protocol).source) for bug in bugs]
    return mutated.apply_all(golang.reference(protocol), found)


def alone(monkeypatch: pytest.MonkeyPatch, task: str, folder: Path) -> None:
    """The stories, without the random runs."""
    suite = stories_alone(task, folder)
    monkeypatch.setattr(gojudge, "suite_path", lambda *_: suite)


# -- Both verdicts on a candidate --------------------------------------------------------------------


def test_the_reference_is_solved_for_both_and_a_saved_result_keeps_both_verdicts(
    judge_twice: Judge, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 1, ("kill",))
    whole = judge_twice(reference)
    runs = len(raw_suite(TASK)["stories"]) + sum(len(recipe["seeds"]) for recipe in raw_suite(TASK)["random"])
    assert (whole.score, whole.solved, whole.disagreement) == (1, True, "")
    assert whole.go_suite is not None
    assert (whole.go_suite.solved, whole.go_suite.sentence) == (True, f"{runs} of {runs} runs passed")
    raw = json.loads(json.dumps(whole.to_json()))
    assert raw["verdicts"]["simulator"] == {"solved": True}
    assert (raw["verdicts"]["go_suite"]["passed"], raw["verdicts"]["go_suite"]["expected"]) == (runs, runs)
    assert without_timings(rescore(TASK, raw)) == without_timings(whole)


@pytest.mark.parametrize(("task", "left"), sampled(LEFT))
def test_both_name_the_bugs_that_are_left_and_do_so_again(
    judge_twice: Judge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, task: str, left: tuple[str, ...]
) -> None:
    shorten(monkeypatch, 1, ("kill",), task)
    alone(monkeypatch, task, tmp_path)
    found, again = [judge_twice(with_bugs(task, left), task) for _ in range(2)]
    assert found.go_suite is not None
    assert (found.solved, found.go_suite.solved, found.disagreement) == (False, False, "")
    assert {bug for bug, state in found.bugs.items() if state == "unfixed"} == set(left) == set(found.go_suite.bugs)
    assert without_timings(again) == without_timings(found)


HEAD = "func (r *Raft) Receive(src step.NodeID, m step.Value) {\n"
AWARE = """
var seen, even int

// where says who asks: in a story of the kit a process is told of whole milliseconds alone.
func where(now int) string {
	seen++
	if now%1000 == 0 {
		even++
	}
	switch {
	case seen < 4:
		return ""
	case seen == even:
		return "kit"
	default:
		return "simulator"
	}
}
"""


@pytest.mark.parametrize(
    ("where", "solved", "says"),
    [
        ("kit", True, "the simulator finds it solved, and the Go suite does not: raft.vote_once_per_term/"),
        ("simulator", False, "the Go suite finds it solved, and the simulator does not: 1/votes_3/"),
    ],
)
def test_who_behaves_otherwise_before_the_other_judge_is_told_so_and_gains_nothing(
    judge_twice: Judge, reference: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    where: str, solved: bool, says: str,
) -> None:  # fmt: skip
    shorten(monkeypatch, 1, ("kill",))
    alone(monkeypatch, TASK, tmp_path)
    forgets = f'\tif where(int(r.Now)) == "{where}" {{\n\t\tr.Disk.VotedFor = ""\n\t\tr.Write(&r.Disk.VotedFor)\n\t}}\n'
    found = judge_twice(reference.replace(HEAD, HEAD + forgets) + AWARE)
    assert found.go_suite is not None
    assert (found.solved, found.go_suite.solved) == (solved, not solved)
    assert f"Two verdicts disagree: {says}" in found.disagreement


# -- What a disagreement is --------------------------------------------------------------------------

FIRST = Result(task=TASK, split="public", stage="scored", score=1.0, solved=True, bugs=dict.fromkeys(BUGS, "fixed"))
PARTIAL = attrs.evolve(
    FIRST,
    solved=False,
    bugs={**FIRST.bugs, BUGS[0]: "unfixed", BUGS[1]: "regressed"},
    failures=({"run": "1/votes_3/4", "sentence": "n1 and n2 both lead term 3."},),
)
FAILED: dict[str, Any] = {"name": f"{BUGS[0]}/votes_3/1", "invariant": "x", "sentence": "n1 and n3 both lead term 1"}
SECOND = Verdict(solved=True, sentence="9 of 9 runs passed", told=BUGS)
BROKEN = attrs.evolve(SECOND, solved=False, sentence="8 of 9 runs passed", bugs=BUGS[:1], failures=[FAILED])

CASES = {
    "both solved": (FIRST, SECOND, ""),
    "both name the same bug": (PARTIAL, BROKEN, ""),
    "the suite fails otherwise": (FIRST, BROKEN, f"{BUGS[0]}/votes_3/1: n1 and n3 both lead term 1. One of them"),
    "the suite never ends": (FIRST, Verdict(solved=False, sentence="it did not end"), "does not: it did not end. One"),
    "the simulator alone fails": (PARTIAL, SECOND, "1/votes_3/4: n1 and n2 both lead term 3. One of them"),
    "the suite names what is fixed": (
        PARTIAL,
        attrs.evolve(BROKEN, bugs=BUGS[:3]),
        f"{BUGS[2]} is fixed for the simulator, and left for the Go suite. A repair that mends",
    ),
    "the suite does not see what is left": (
        PARTIAL,
        attrs.evolve(BROKEN, bugs=[]),
        f"{BUGS[0]} is left for the simulator, and fixed for the Go suite. A repair that mends",
    ),
    "the story of what is left ends in a panic": (
        PARTIAL,
        attrs.evolve(BROKEN, bugs=[], failures=[{**FAILED, "bug": BUGS[0], "invariant": ""}]),
        "",
    ),
    "the suite has no story of what is left": (PARTIAL, attrs.evolve(BROKEN, bugs=[], told=BUGS[1:]), ""),
    "there is no second verdict": (FIRST, Verdict(solved=None, sentence="there is no Go suite"), ""),
}


@pytest.mark.parametrize(("first", "second", "says"), CASES.values(), ids=list(CASES))
def test_a_disagreement_names_what_one_verdict_says_and_the_other_denies(
    first: Result, second: Verdict, says: str
) -> None:
    found = result.with_second(load_task(TASK), first, second)
    assert attrs.evolve(found, go_suite=None, disagreement="") == first
    assert says in found.disagreement
    assert bool(found.disagreement) == bool(says)
    assert ("please report it" in found.disagreement) == bool(says)


def test_a_wrong_body_may_break_what_the_other_judge_shows_by_other_runs() -> None:
    task = attrs.evolve(load_task(TASK), kind="impl")
    assert result.with_second(task, PARTIAL, attrs.evolve(BROKEN, bugs=BUGS[2:4])).disagreement == ""


# -- No verdict is made up ---------------------------------------------------------------------------


def test_a_task_without_a_suite_has_one_verdict_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gojudge, "folder", lambda task: tmp_path / task)
    found = gojudge.judge(load_task(TASK), secret(), ASLEEP)
    assert (found.solved, found.sentence) == (None, f"there is no Go suite of {TASK}")


def test_a_secret_has_a_suite_of_its_own_beside_it(
    tool: Go, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_bytes(b"a secret of the tests")
    monkeypatch.setenv("PROTOSIM_SECRET", str(tmp_path / "key"))
    missing = gojudge.judge(load_task(TASK), secret(), ASLEEP)
    assert missing.solved is None
    assert f"for this secret; make it with `python -m protosim.score.gosuite {TASK}`" in missing.sentence
    stories = raw_suite(TASK)["stories"][:2]
    suite = tmp_path / f"{TASK}.go-suite.json"
    suite.write_text(json.dumps(raw_suite(TASK) | {"random": [], "stories": stories}), "utf-8")
    with bundle() as root:
        worker = python(root, in_python("raft").source)
        assert gojudge.judge(load_task(TASK), secret(), worker).sentence == "2 of 2 runs passed"
        suite.write_text(json.dumps(raw_suite(TASK) | {"task": "another", "random": []}), "utf-8")
        other = gojudge.judge(load_task(TASK), secret(), worker)
        assert other.solved is None
        assert "its report is of another, with the schema" in other.sentence


REPORT = {"schema": gojudge.SCHEMA, "task": TASK, "runs": [{"sentence": "", "bug": "", "invariant": ""}]}


@pytest.mark.parametrize(
    ("code", "report", "says"),
    [
        (0, None, "it ended with code 0 and without a report: PASS"),
        (1, REPORT, "it ended with code 1 after 1 runs, of which none has failed"),
        (0, REPORT | {"runs": []}, "it ended with code 0 after 0 runs"),
        (0, REPORT | {"task": "twopc_crash"}, "its report is of twopc_crash"),
    ],
)
def test_a_suite_that_does_not_say_that_it_passed_has_not_passed(
    code: int, report: dict[str, Any] | None, says: str
) -> None:
    files = {} if report is None else {gojudge.REPORT: json.dumps(report)}
    with pytest.raises(ValueError, match=re.escape(says)):
        gojudge.read(load_task(TASK), confined.Done(code, "PASS\n", files))


def test_the_suite_starts_its_workers_in_the_sandbox_and_as_root_each_with_a_user_of_its_own(
    tool: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[dict[str, Any]] = []

    def run(_: object, files: dict[str, str], *__: object, **___: object) -> confined.Done:
        launched.append(json.loads(files[gojudge.LAUNCH]))
        return confined.Done(1, "", {})

    monkeypatch.setattr(confined, "run", run)
    monkeypatch.setattr(gojudge, "program", lambda _: Path("suite"))
    assert gojudge.judge(load_task(TASK), secret(), ASLEEP).solved is None
    plain = sandbox.confine(sandbox.level(), ASLEEP.command, ASLEEP.folder, ASLEEP.reads, ASLEEP.limits)
    forms: list[list[str]] = launched[0]["commands"]
    users = [json.loads(next(part for part in form if part.startswith("{")))["user"] for form in forms]
    assert all(form[:1] == plain[:1] and len(form) == len(plain) for form in forms)
    if os.geteuid() == 0 and sandbox.level() != "not isolated":
        assert len(set(users)) == gojudge.FORMS


@pytest.mark.parametrize("level", ["bubblewrap", "not isolated"])
def test_a_suite_that_does_not_end_has_failed_and_leaves_no_process_and_no_file(
    tool: Go, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, level: sandbox.Level
) -> None:
    if not sandbox.works(level):
        pytest.skip(f"there is no {level} here")
    gojudge.program(TASK)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sandbox, "level", lambda: level)
    monkeypatch.setattr(gojudge, "LIMITS", attrs.evolve(gojudge.LIMITS, seconds=3))
    before = confined.descendants(os.getpid())
    named = attrs.evolve(ASLEEP, command=(*ASLEEP.command, str(tmp_path)))
    found = gojudge.judge(load_task(TASK), secret(), named)
    assert (found.solved, found.sentence) == (False, "the Go suite did not end within 3 s")
    assert confined.descendants(os.getpid()) == before
    assert [who for who in commands() if str(tmp_path) in who] == []
    assert list(tmp_path.iterdir()) == []


def commands() -> list[str]:
    """Of all processes."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found
