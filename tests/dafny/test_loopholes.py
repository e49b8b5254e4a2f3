"""Every way around a proof that is known scores nothing, and is named.

A loophole is a file: its first comment says how it is stopped. Most are told by their text alone, and Dafny never sees
them; the others are what Dafny itself, or the wrapper around the answer, finds out.
"""

import re
from pathlib import Path

import pytest

from protosim.adapters.dafny import assembly
from protosim.adapters.dafny.tokens import Unreadable
from protosim.proofs import problem
from protosim.score import proof
from tests.dafny.conftest import TINY, Judge

LOOPHOLES = sorted((Path(__file__).parent / "loopholes").glob("*.dfy"))
AGAINST = problem.load(str(TINY)).interface


def told_by_its_text(file: Path) -> bool:
    try:
        return bool(assembly.read(file.read_text("utf-8"), AGAINST).offences)
    except Unreadable:
        return True


def expected(file: Path) -> tuple[str, str]:
    """The stage and the words that the file announces."""
    found = re.search(r"^// (\w+): (.+)$", file.read_text("utf-8"), re.MULTILINE)
    assert found, f"{file.name} does not say how it is stopped"
    return found[1], found[2]


@pytest.mark.parametrize("file", [f for f in LOOPHOLES if told_by_its_text(f)], ids=lambda f: f.stem)
def test_a_loophole_is_told_by_its_text(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> None:
        raise AssertionError("Dafny was asked")

    monkeypatch.setattr(proof.tool, "find", never)
    _stopped(proof.score(str(TINY), file), file)


@pytest.mark.parametrize("file", [f for f in LOOPHOLES if not told_by_its_text(f)], ids=lambda f: f.stem)
@pytest.mark.usefixtures("dafny")
def test_a_loophole_is_found_by_dafny_or_by_the_wrapper(file: Path) -> None:
    _stopped(proof.score(str(TINY), file), file)


def _stopped(result: proof.ProofResult, file: Path) -> None:
    stage, words = expected(file)
    assert (result.score, result.solved) == (0, False)
    assert result.stage == stage, result.sentence
    assert words in result.sentence
    assert all(lemma.state != "proved" for lemma in result.lemmas)


def test_the_list_is_long() -> None:
    assert len(LOOPHOLES) >= 60


@pytest.mark.usefixtures("dafny")
def test_a_proof_that_uses_the_whole_language_is_not_refused(judge: Judge) -> None:
    harmless = (TINY / "harmless.dfy").read_text("utf-8")
    result = judge(harmless)
    assert (result.score, result.solved) == (1, True), (result.sentence, result.lemmas)
