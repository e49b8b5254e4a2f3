"""Dafny, if it is here; and answers to the smallest problem there is."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from protosim.adapters.dafny import tool
from protosim.score.proof import ProofResult, score
from tests.cli.conftest import cli as cli

TINY = Path(__file__).parent / "tiny"

Judge = Callable[..., ProofResult]


def required(name: str) -> bool:
    """Whether PROTOSIM_REQUIRE names the tool: then a test fails where it is missing, instead of being skipped."""
    return name in os.environ.get("PROTOSIM_REQUIRE", "").split(",")


@pytest.fixture(scope="session")
def dafny() -> tool.Dafny:
    try:
        found = tool.find()
    except tool.Missing as missing:
        if required("dafny"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))
    if required("z3") and not found.pinned:
        pytest.fail("The Python package z3-solver, which ships the tested z3, is not installed: run `make setup`.")
    return found


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """`judge(text)`: the result of an answer to the tiny problem; `judge(text, name)`: to that one."""

    def run(text: str | bytes, problem: str = str(TINY)) -> ProofResult:
        file = tmp_path / "answer.dfy"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return score(problem, file)

    return run


@pytest.fixture(scope="session")
def reference() -> str:
    return (TINY / "reference.dfy").read_text("utf-8")
