"""The Go test kit, and a task's suite as `go test` runs it."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import mutations
from mutations import engine, golang
from protosim import paths
from protosim.adapters import go as adapter
from protosim.program import from_source, reference
from protosim.scenario import Choice, Scenario, Step
from protosim.score import golang as candidates
from protosim.score import gosuite
from protosim.score.calibrate import subsets
from protosim.score.pool import bundle, python
from protosim.score.suite import load_task, secret
from tests.dafny.conftest import required

TASK = load_task("fix_raft_safety")
PACKAGE = f"./suites/{TASK.name}"
SUITE = paths.data("go") / "suites" / TASK.name / "suite.json"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def go() -> Run:
    """`go("vet", ...)`: what it prints. `go("test", ..., candidate=..., suite=...)`: with these in the environment."""
    try:
        found = adapter.find()
    except adapter.Missing as missing:
        if required("go"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))

    def run(*arguments: str, program: str = "go", **named: Path) -> subprocess.CompletedProcess[str]:
        ours = {f"PROTOSIM_{name.upper()}": str(path) for name, path in named.items()}
        environment = found.environment() | {"HOME": os.environ.get("HOME", "/")} | ours
        command = [found.program(program), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=paths.data("go"), env=environment, timeout=600, check=False
        )

    return run


@pytest.fixture
def stories(tmp_path: Path) -> Path:
    """The suite without its random runs."""
    file = tmp_path / "suite.json"
    file.write_text(json.dumps(json.loads(SUITE.read_text("utf-8")) | {"random": []}), "utf-8")
    return file


def bugs_shown(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How many stories of each bug have failed."""
    found = re.findall(r"^    --- FAIL: TestCandidate/(raft\.\w+)/", done.stdout, re.MULTILINE)
    return {bug: found.count(bug) for bug in found}


def in_go(*bugs: str) -> str:
    """The reference with these bugs."""
    found = [mutations.find("raft", bug, reference("raft").source) for bug in bugs]
    return golang.apply_all(candidates.reference("raft"), found)


def stories_of(bug: str) -> int:
    return sum(story["bug"] == bug for story in json.loads(SUITE.read_text("utf-8"))["stories"])


def test_the_kit_passes_its_own_tests_and_go_vet_and_is_laid_out_by_gofmt(go: Run) -> None:
    tested = go("test", "-vet=all", "./simkit/...")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    vetted = go("vet", "./simkit/...", "./suites/...")
    assert vetted.returncode == 0, vetted.stderr
    assert go("-l", "simkit", "suites", program="gofmt").stdout == ""


def test_the_reference_passes_the_whole_suite(go: Run) -> None:
    done = go("test", "-count=1", PACKAGE)
    assert done.returncode == 0, done.stdout


def test_a_repair_with_all_bugs_left_fails_each_of_their_stories_and_random_runs_as_well(
    go: Run, tmp_path: Path
) -> None:
    candidate = tmp_path / "raft.go"
    candidate.write_text(in_go(*TASK.bugs), "utf-8")
    done = go("test", "-count=1", "-v", PACKAGE, candidate=candidate)
    assert bugs_shown(done) == {bug: stories_of(bug) for bug in TASK.bugs}
    assert "--- FAIL: TestCandidate/chaos_walk_3/1" in done.stdout
    assert re.search(r"raft\.vote_once_per_term, election_safety: n\d and n\d both lead term", done.stdout)


@pytest.mark.parametrize("bug", TASK.bugs)
def test_a_repair_that_leaves_one_bug_fails_its_stories_and_no_others(
    go: Run, bug: str, stories: Path, tmp_path: Path
) -> None:
    candidate = tmp_path / "raft.go"
    candidate.write_text(in_go(bug), "utf-8")
    done = go("test", "-count=1", "-v", PACKAGE, candidate=candidate, suite=stories)
    assert bugs_shown(done) == {bug: stories_of(bug)}


@pytest.mark.parametrize(
    ("added", "says"),
    [
        ('import "os"', "is imported; a protocol may import"),
        ("//go:embed suite.json\nvar hidden string", "is a directive to the compiler"),
        ("func (", "compile_error"),
        ("var wrong int = true", "cannot be built"),
    ],
)
def test_a_file_that_may_not_take_the_place_of_the_reference_is_refused(
    go: Run, tmp_path: Path, added: str, says: str
) -> None:
    candidate = tmp_path / "raft.go"
    head, rest = candidates.reference("raft").split("import (", 1)
    candidate.write_text(f"{head}{added}\nimport ({rest}" if "import" in added else f"{head}import ({rest}\n{added}\n")
    done = go("test", "-count=1", PACKAGE, candidate=candidate)
    assert done.returncode == 1
    assert says in done.stdout
    assert "--- FAIL: TestCandidate/" not in done.stdout


@pytest.mark.parametrize("bugs", [(), ("raft.log_up_to_date",)])
def test_a_worker_in_another_language_is_judged_by_the_same_suite(
    go: Run, bugs: tuple[str, ...], stories: Path, tmp_path: Path
) -> None:
    source = reference("raft").source
    for bug in bugs:
        source = engine.apply(source, mutations.find("raft", bug, source))
    with bundle() as root:
        launch = python(root, source)
        raw = {"command": list(launch.command), "folder": str(launch.folder), "first": launch.first}
        file = tmp_path / "launch.json"
        file.write_text(json.dumps(raw), "utf-8")
        done = go("test", "-count=1", "-v", PACKAGE, candidate=file, suite=stories)
    assert bugs_shown(done) == {bug: stories_of(bug) for bug in bugs}, done.stdout


def test_each_story_fails_exactly_where_its_bug_is_over_all_subsets_of_repairs() -> None:
    programs = {bugs: from_source(TASK.protocol, text) for bugs, text in subsets(TASK).items()}
    raw = json.loads(SUITE.read_text("utf-8"))
    assert all(stories_of(bug) >= 3 for bug in TASK.bugs)
    for story in raw["stories"]:
        script = tuple(as_step(step) for step in story["steps"])
        scenario = Scenario(
            protocol=TASK.protocol, seed=0, nodes=story["nodes"], switches=story["switches"],
            scheduler=Choice("replay"), script=script,
        )  # fmt: skip
        assert gosuite.tells(programs, story["bug"], scenario), story["name"]


def as_step(raw: dict[str, object]) -> Step:
    renamed = {"src" if name == "from" else name: value for name, value in raw.items()}
    if "kept" in renamed:
        renamed["kept"] = tuple(map(tuple, renamed["kept"]))  # type: ignore[call-overload]
    return Step(**renamed)  # type: ignore[arg-type]


def test_the_suite_that_is_kept_is_what_the_task_and_its_secret_make_of_it() -> None:
    raw = json.loads(SUITE.read_text("utf-8"))
    assert raw["random"] == json.loads(
        json.dumps(list(gosuite.random_recipes(TASK, secret(), gosuite.recipes_of(raw["stories"]))))
    )
    assert gosuite.dump(raw) == SUITE.read_text("utf-8")
