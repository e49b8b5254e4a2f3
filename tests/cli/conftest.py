"""The command line as a function, and edited copies of the protocol to point it at."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from protosim.cli import main
from protosim.program import reference

MUTANT = "raft.vote_once_per_term"  # breaks in the first run of seed 1


@attrs.frozen
class Result:
    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """The one object that is on stdout."""
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded


Cli = Callable[..., Result]
Edited = Callable[..., str]


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Cli:
    """`cli("run", "raft")` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROTOSIM_TRACEBACK", raising=False)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: object) -> Result:
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    """`edited(before, after)`: an edited copy of Raft, by its path."""

    def write(before: str = "", after: str = "", name: str = "edited.py") -> str:
        source = reference("raft").source
        assert before in source
        path = tmp_path / name
        path.write_text(source.replace(before, after, 1) if before else source, "utf-8")
        return str(path)

    return write


@pytest.fixture(scope="session")
def catch(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The counterexample of MUTANT, hunted once."""
    path = tmp_path_factory.mktemp("caught") / "caught.json"
    assert main(["hunt", "raft", "--mutant", MUTANT, "--json", "-o", str(path)]) == 1
    return path.read_bytes()


@pytest.fixture
def caught(cli: Cli, catch: bytes) -> Path:
    """A counterexample file of MUTANT, in the working folder."""
    path = Path("caught.json").absolute()
    path.write_bytes(catch)
    return path
