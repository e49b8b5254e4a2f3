"""The second verdict on a candidate in Go: what the task's suite in `go/suites` finds, as `go test` would.

    judge(task, secret(), pool.launch).solved

The suite's test binary is a parent of its own, with schedules and invariants of its own, which shares no code with
ours. It is given the worker that has been compiled already, behind the same sandbox, and writes how each run ended
into a file that no worker can reach. The score is the simulator's; where the two differ, one of them is wrong, and the
result says so (`disagreement`).
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from protosim import paths
from protosim.adapters import confined, go, sandbox
from protosim.errors import UserError
from protosim.score.pool import Launch
from protosim.score.suite import Secret, Task

SCHEMA = "protosim/go-report/1"  # go/simkit/report.go
REPORT, LAUNCH = "report.json", "launch.json"
LIMITS = confined.Limits(seconds=600)  # the references need five
FORMS = 64  # of the command, each with a user of its own: more than there are workers at a time

Run = Mapping[str, Any]
"""name, bug, invariant, sentence, events, digest: as the kit reports it"""


@attrs.frozen(kw_only=True)
class Verdict:
    """What the Go suite found. `solved` is None if there is no verdict; the sentence says why."""

    solved: bool | None
    sentence: str
    passed: int = 0  # runs
    expected: int = 0
    bugs: Sequence[str] = ()  # whose invariants broke in stories that show them
    told: Sequence[str] = ()  # of which there are stories
    failures: Sequence[Run] = ()


def judge(task: Task, using: Secret, launch: Launch) -> Verdict:
    """The suite's verdict on the candidate that this starts. What goes wrong here takes nobody's score."""
    if not (folder(task.name) / "suite_test.go").is_file():
        return _none(f"there is no Go suite of {task.name}")
    suite = suite_path(task.name, using)
    if not suite.is_file():
        how = f"`python -m protosim.score.gosuite {task.name}`"
        return _none(f"there is no Go suite for this secret; make it with {how}")
    try:
        done = _play(program(task.name), suite, launch)
        if done.code is None:
            return Verdict(solved=False, sentence=f"the Go suite did not end within {LIMITS.seconds:g} s")
        return read(task, done)
    except (OSError, UserError, ValueError, KeyError, TypeError) as error:
        return _none(f"the Go suite gave no verdict: {type(error).__name__}: {error}")


def read(task: Task, done: confined.Done) -> Verdict:
    """What the report says. Raises ValueError where there is none, or another one than ours."""
    if REPORT not in done.files:
        raise ValueError(f"it ended with code {done.code} and without a report: {' '.join(done.output.split())[-400:]}")
    raw = json.loads(done.files[REPORT])
    if (raw["schema"], raw["task"]) != (SCHEMA, task.name):
        raise ValueError(f"its report is of {raw['task']}, with the schema {raw['schema']}")
    runs: list[Run] = raw["runs"]
    failures = [run for run in runs if run["sentence"]]
    if not failures and (done.code or not runs):
        raise ValueError(f"it ended with code {done.code} after {len(runs)} runs, of which none has failed")
    passed = len(runs) - len(failures)
    return Verdict(
        solved=not failures,
        sentence=f"{passed} of {len(runs)} runs passed",
        passed=passed,
        expected=len(runs),
        bugs=_named(task, [run for run in failures if run["invariant"]]),
        told=_named(task, runs),
        failures=failures,
    )


def program(task: str) -> Path:
    """The test binary of the task's suite, which is kept from run to run. Raises UserError, OSError."""
    found, root = go.find(), paths.data("go")
    sources = [root / "go.mod", *root.rglob("*.go"), folder(task) / "suite.json"]
    return found.kept(f"suite-{task}", sources, lambda into: found.build_tests(root, f"suites/{task}", into))


def suite_path(task: str, using: Secret) -> Path:
    """Where `protosim.score.gosuite` puts the suite."""
    return folder(task) / "suite.json" if using.folder is None else using.folder / f"{task}.go-suite.json"


def folder(task: str) -> Path:
    return paths.data("go") / "suites" / task


def _play(binary: Path, suite: Path, launch: Launch) -> confined.Done:
    level = sandbox.level()
    forms = [
        sandbox.confine(level, launch.command, launch.folder, launch.reads, launch.limits) for _ in range(FORMS)
    ]
    raw = {"command": forms[0], "commands": forms, "folder": str(launch.folder), "first": launch.first}
    environment = {
        "PATH": os.defpath,
        "PROTOSIM_CANDIDATE": LAUNCH,
        "PROTOSIM_REPORT": REPORT,
        "PROTOSIM_SUITE": str(suite),
    }
    return confined.run([str(binary)], {LAUNCH: json.dumps(raw)}, [REPORT], LIMITS, environment=environment)


def _named(task: Task, runs: Sequence[Run]) -> list[str]:
    """The task's bugs that these are stories of."""
    return [bug for bug in task.bugs if any(run["bug"] == bug for run in runs)]


def _none(why: str) -> Verdict:
    return Verdict(solved=None, sentence=why)
