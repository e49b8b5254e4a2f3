"""The Go test kit, and a task's suite as `go test` runs it."""

import functools
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mutations
from mutations import engine, golang
from protosim import paths
from protosim.adapters.go import Go
from protosim.api import MS
from protosim.program import Program, from_source, reference
from protosim.scenario import Choice, Scenario, Step
from protosim.score import golang as candidates
from protosim.score import gosuite
from protosim.score.pool import bundle, python
from protosim.score.suite import Task, load_task, secret
from tests.sampling import sampled

TASKS = sorted(file.parent.name for file in (paths.data("go") / "suites").glob("*/suite.json"))
TASK = load_task("fix_raft_safety")
LEFT = [(TASK.name, (bug,)) for bug in TASK.bugs] + [
    (task, bugs)
    for task in TASKS
    for bugs in ([load_task(task).bugs] if load_task(task).kind == "fix" else [(bug,) for bug in load_task(task).bugs])
]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def go(tool: Go) -> Run:
    """`go("vet", ...)`: what it prints. `go("test", ..., candidate=..., suite=...)`: with these in the environment."""

    def run(*arguments: str, program: str = "go", **named: Path) -> subprocess.CompletedProcess[str]:
        ours = {f"PROTOSIM_{name.upper()}": str(path) for name, path in named.items()}
        command = [tool.program(program), *arguments]
        environment = tool.environment() | ours
        return subprocess.run(
            command, capture_output=True, text=True, cwd=paths.data("go"), env=environment, timeout=600, check=False
        )

    return run


def raw_suite(task: str) -> dict[str, Any]:
    raw: dict[str, Any] = json.loads((paths.data("go") / "suites" / task / "suite.json").read_text("utf-8"))
    return raw


def stories_alone(task: str, folder: Path) -> Path:
    """The suite without its random runs."""
    file = folder / "suite.json"
    file.write_text(json.dumps(raw_suite(task) | {"random": []}), "utf-8")
    return file


def stories_of(task: str, *bugs: str) -> dict[str, int]:
    """How many there are for each bug."""
    found = [story["bug"] for story in raw_suite(task)["stories"]]
    return {bug: found.count(bug) for bug in bugs if bug in found}


def bugs_shown(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How many stories of each bug have failed."""
    found = re.findall(r"^    --- FAIL: TestCandidate/(\w+\.\S+)/\w+/\d+ ", done.stdout, re.MULTILINE)
    return {bug: found.count(bug) for bug in sorted(set(found))}


def in_go(task: str, *bugs: str) -> str:
    """The reference with these bugs."""
    protocol = load_task(task).protocol
    found = [mutations.find(protocol, bug, reference(protocol).source) for bug in bugs]
    return golang.apply_all(candidates.reference(protocol), found)


def test_the_kit_passes_its_own_tests_and_go_vet_and_is_laid_out_by_gofmt(go: Run) -> None:
    tested = go("test", "-vet=all", "./simkit/...")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    vetted = go("vet", "./simkit/...", "./suites/...")
    assert vetted.returncode == 0, vetted.stderr
    assert go("-l", "simkit", "suites", program="gofmt").stdout == ""


@pytest.mark.parametrize("task", TASKS)
def test_the_reference_passes_the_whole_suite(go: Run, task: str) -> None:
    done = go("test", "-count=1", f"./suites/{task}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_repair_with_all_bugs_left_fails_their_stories_and_random_runs_too(go: Run, tmp_path: Path) -> None:
    candidate = tmp_path / "raft.go"
    candidate.write_text(in_go(TASK.name, *TASK.bugs), "utf-8")
    done = go("test", "-count=1", "-v", f"./suites/{TASK.name}", candidate=candidate)
    assert bugs_shown(done) == stories_of(TASK.name, *sorted(TASK.bugs))
    assert "--- FAIL: TestCandidate/chaos_walk_3/1" in done.stdout
    assert re.search(r"raft\.vote_once_per_term, election_safety: n\d and n\d both lead term", done.stdout)


def test_a_repair_that_is_safe_by_doing_nothing_fails_every_random_run(go: Run, tmp_path: Path) -> None:
    candidate = tmp_path / "raft.go"
    handler = "func (r *Raft) Receive(src step.NodeID, m step.Value) {\n"
    candidate.write_text(in_go(TASK.name).replace(handler, handler + '\tif src != "" {\n\t\treturn\n\t}\n'), "utf-8")
    done = go("test", "-count=1", "-v", f"./suites/{TASK.name}", candidate=candidate)
    assert bugs_shown(done) == {}
    runs = sum(len(recipe["seeds"]) for recipe in raw_suite(TASK.name)["random"])
    assert done.stdout.count("    --- FAIL: TestCandidate/") == runs
    assert "this goal was never reached" in done.stdout


def test_a_candidate_that_signs_for_another_has_forged_and_fails_by_that_name(go: Run, tmp_path: Path) -> None:
    task, own = "implement_pbft", "m := Prepare{p.Slot, r.Sign()}"
    assert own in in_go(task)
    candidate, suite = tmp_path / "pbft.go", tmp_path / "suite.json"
    candidate.write_text(in_go(task).replace(own, "m := Prepare{p.Slot, step.Signed{r.Peers[0], true}}"), "utf-8")
    chaos = raw_suite(task)["random"][0]
    suite.write_text(json.dumps(raw_suite(task) | {"random": [chaos], "stories": []}), "utf-8")
    done = go("test", "-count=1", "-v", f"./suites/{task}", candidate=candidate, suite=suite)
    named = re.findall(r"no_forgery: n\d forged a signature of n\d: it never received", done.stdout)
    assert len(named) == len(chaos["seeds"]), done.stdout + done.stderr


@pytest.mark.parametrize(("task", "bugs"), sampled(LEFT))
def test_the_stories_that_fail_name_the_bugs_that_are_left(
    go: Run, task: str, bugs: tuple[str, ...], tmp_path: Path
) -> None:
    candidate = tmp_path / "candidate.go"
    candidate.write_text(in_go(task, *bugs), "utf-8")
    suite = stories_alone(task, tmp_path)
    done = go("test", "-count=1", "-v", f"./suites/{task}", candidate=candidate, suite=suite)
    assert "TestCandidate" in done.stdout, done.stdout + done.stderr
    assert bugs_shown(done).items() >= stories_of(task, *bugs).items()
    if load_task(task).kind == "fix":  # some wrong bodies break the runs of others too
        assert bugs_shown(done).keys() == set(bugs)


@pytest.mark.parametrize(
    ("added", "says"),
    [
        ('import "os"', "is imported; a protocol may import"),
        ("//go:embed suite.json\nvar hidden string", "is a directive to the compiler"),
        ("func (", "compile_error"),
        ("var wrong int = true", "cannot use"),
    ],
)
def test_a_file_that_may_not_take_the_place_of_the_reference_is_refused(
    go: Run, tmp_path: Path, added: str, says: str
) -> None:
    candidate = tmp_path / "raft.go"
    head, rest = candidates.reference("raft").split("import (", 1)
    candidate.write_text(f"{head}{added}\nimport ({rest}" if "import" in added else f"{head}import ({rest}\n{added}\n")
    done = go("test", "-count=1", f"./suites/{TASK.name}", candidate=candidate)
    assert done.returncode == 1
    assert says in done.stdout
    assert "--- FAIL: TestCandidate/" not in done.stdout


@pytest.mark.parametrize("bugs", [(), ("raft.log_up_to_date",)])
def test_a_worker_in_another_language_is_judged_by_the_same_suite(
    go: Run, bugs: tuple[str, ...], tmp_path: Path
) -> None:
    source = reference("raft").source
    for bug in bugs:
        source = engine.apply(source, mutations.find("raft", bug, source))
    with bundle() as root:
        launch = python(root, source)
        raw = {"command": list(launch.command), "folder": str(launch.folder), "first": launch.first}
        file = tmp_path / "launch.json"
        file.write_text(json.dumps(raw), "utf-8")
        suite = stories_alone(TASK.name, tmp_path)
        done = go("test", "-count=1", "-v", f"./suites/{TASK.name}", candidate=file, suite=suite)
    assert "--- PASS: TestCandidate/raft.vote_once_per_term/votes_3/1" in done.stdout, done.stdout + done.stderr
    assert bugs_shown(done) == stories_of(TASK.name, *bugs)


@pytest.mark.parametrize("task", TASKS)
def test_the_kit_and_the_simulator_tell_the_stories_alike(task: str) -> None:
    """Each fails where its bug is, and not with the reference nor with all other bugs of a repair."""
    about = load_task(task)
    programs = subset_programs(about)
    for story in raw_suite(task)["stories"]:
        assert gosuite.tells(programs(story["bug"]), story["bug"], as_scenario(about, story)), story["name"]


def subset_programs(task: Task) -> Callable[[str], dict[frozenset[str], Program]]:
    source = reference(task.protocol).source

    @functools.cache
    def program(*bugs: str) -> Program:
        found = [mutations.find(task.protocol, bug, source) for bug in bugs]
        return from_source(task.protocol, functools.reduce(engine.apply, found, source))

    def some(bug: str) -> dict[frozenset[str], Program]:
        others = tuple(other for other in task.bugs if other != bug) if task.kind == "fix" else ()
        return {frozenset(bugs): program(*bugs) for bugs in ((), (bug,), others)}

    return some


def as_scenario(task: Task, story: dict[str, Any]) -> Scenario:
    script = tuple(as_step(step, place * MS) for place, step in enumerate(story["steps"], 1))
    nodes, switches = story["nodes"], story["switches"]
    return Scenario(
        protocol=task.protocol, seed=0, nodes=nodes, switches=switches, scheduler=Choice("replay"), script=script
    )


def as_step(raw: dict[str, Any], at: int) -> Step:
    named: dict[str, Any] = {"src" if name == "from" else name: value for name, value in raw.items()}
    named |= {"at": at, "kept": tuple(map(tuple, raw.get("kept", ())))}
    return Step(**named)


@pytest.mark.parametrize("task", TASKS)
def test_the_suite_that_is_kept_is_what_the_task_and_its_secret_make_of_it(task: str) -> None:
    raw = raw_suite(task)
    random = gosuite.random_recipes(load_task(task), secret(), gosuite.recipes_of(raw["stories"]))
    assert raw["random"] == json.loads(json.dumps(list(random)))
    assert gosuite.dump(raw) == (paths.data("go") / "suites" / task / "suite.json").read_text("utf-8")
    assert stories_of(task, *load_task(task).bugs).keys() == set(load_task(task).bugs)


def test_a_task_that_has_no_suite_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert gosuite.main(["fix_raft_safty"]) == 3
    assert "did you mean fix_raft_safety" in capsys.readouterr().err
