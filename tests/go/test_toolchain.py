"""Go, found and run: what happens without it, and what of a machine it sees."""

import subprocess
from pathlib import Path

import pytest

from protosim import doctor
from protosim.adapters import go
from protosim.errors import UserError
from protosim.score import golang, handed_out, score
from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli
from tests.go.conftest import TASK, Judge


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where PROTOSIM_GO says that Go is, which it is not yet."""
    named = tmp_path / "go"
    monkeypatch.setenv("PROTOSIM_GO", str(named))
    return named


def stand_in(path: Path, says: str) -> None:
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)


def test_without_go_a_repair_in_go_is_an_error_with_the_advice(absent: Path, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "repair.go"
    file.write_text("package raft\n")
    done = cli("score", TASK, str(file))
    assert done.code == 3
    assert "Go is needed and was not found" in done.err
    handed_out.cache_clear()  # it needs no Go twice
    done = cli("score", TASK, "--handout", str(file))
    assert done.code == 3
    assert file.read_text() == "package raft\n"


def test_the_doctor_says_so_too(absent: Path) -> None:
    tool = next(tool for tool in doctor.report() if tool.name == "go")
    assert not tool.found
    assert str(absent) in tool.advice


def test_a_go_that_is_too_old_will_not_do(absent: Path) -> None:
    stand_in(absent, "go version go1.19.8 linux/amd64")
    with pytest.raises(go.Missing, match=r"Go 1\.19\.8 was found, and 1\.22 is the oldest"):
        go.find()


def test_the_locked_go_is_the_one_that_is_found(tool: go.Go) -> None:
    assert tool.version == "1.27.3"


def test_go_sees_nothing_of_our_environment(tool: go.Go, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=vendor")
    monkeypatch.setenv("GOPROXY", "direct")
    seen = tool.environment()
    assert seen["GOPROXY"] == "off"
    assert seen["GOTOOLCHAIN"] == "local"
    done = subprocess.run([tool.program("go"), "env", "GOFLAGS", "GOPROXY"], env=seen, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == ["-trimpath -buildvcs=false", "off"]


def test_what_was_built_is_kept_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROTOSIM_CACHE", str(tmp_path / "kept"))
    assert go.cache() == tmp_path / "kept"
    monkeypatch.delenv("PROTOSIM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert go.cache() == tmp_path / "protosim"
    (tmp_path / "file").touch()
    monkeypatch.setenv("PROTOSIM_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="PROTOSIM_CACHE names another"):
        go.cache()


def test_a_task_that_is_not_in_go_says_so(tool: go.Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(protocol: str) -> bool:
        return False

    monkeypatch.setattr(golang, "is_known", unknown)
    file = tmp_path / "repair.go"
    file.write_text("package raft\n")
    for asked in (lambda: score(TASK, file), lambda: golang.reference("raft")):
        with pytest.raises(UserError, match="There is no raft in Go yet"):
            asked()


def test_a_reference_that_does_not_compile_is_our_fault_and_no_score(
    judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_out(TASK, "go")

    def broken(protocol: str) -> str:
        return reference + "\nfunc f() { no() }\n"

    monkeypatch.setattr(golang, "reference", broken)
    result = judge(reference + "\nvar x int = 1.5\n")
    assert (result.stage, result.score) == ("infra_error", None)
    assert "the reference cannot be compiled: line" in result.sentence


def test_nothing_is_left_behind(judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    assert judge(handed_out(TASK, "go")).stage == "unmodified"
    assert judge(reference + "\nvar x int = 1.5\n").stage == "compile_error"
    assert judge("package graft\n").stage == "tampered"
    assert list((tmp_path / "tmp").iterdir()) == []
