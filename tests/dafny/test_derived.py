"""New problems out of a reference proof, and the command that makes them."""

from pathlib import Path

import pytest

from protosim.adapters.dafny import tool
from protosim.errors import UserError
from protosim.proofs import derive
from protosim.proofs.problem import load
from protosim.score import score
from tests.cli.conftest import Cli
from tests.dafny.conftest import TINY

PROOF = """module M {
  predicate Inv(s: int) {
    && A(s)  // the first
    && (B(s) ==> C(s))
    && forall x :: x > s ==> A(x) && B(x)
  }
  predicate Flat(s: int) { A(s) && B(s) }
  predicate Either(s: int) { A(s) && B(s) || C(s) }
  predicate One(s: int) { A(s) }
  lemma Empty() { }
  lemma Full() { assert true; }
}
"""


def test_pieces_are_bodies_of_lemmas_and_conjuncts_of_predicates() -> None:
    assert list(derive.pieces(PROOF)) == ["Inv.1", "Inv.2", "Inv.3", "Flat.1", "Flat.2", "Full"]


@pytest.mark.parametrize(
    ("piece", "before", "after"),
    [
        ("Inv.1", "    && A(s)  // the first\n", ""),
        ("Inv.2", "    && (B(s) ==> C(s))\n", ""),
        ("Inv.3", "    && forall x :: x > s ==> A(x) && B(x)\n", ""),
        ("Flat.1", "{ A(s) && B(s) }\n  predicate Either", "{  B(s) }\n  predicate Either"),
        ("Flat.2", "{ A(s) && B(s) }\n  predicate Either", "{ A(s)  }\n  predicate Either"),
        ("Full", "{ assert true; }", "{ }"),
    ],
)
def test_a_piece_is_taken_out_with_what_joins_it(piece: str, before: str, after: str) -> None:
    assert before in PROOF
    assert derive.without(PROOF, [derive.pieces(PROOF)[piece]]) == PROOF.replace(before, after, 1)


def test_a_problem_is_made_from_a_proof_and_certified(dafny: tool.Dafny, tmp_path: Path, cli: Cli) -> None:
    made = cli("task", "new", "--from", TINY, "--drop", "EndsAlike.1", "-o", "made", "--json")
    assert (made.code, made.data["required"]) == (0, ["Composes"])
    problem = load("made")
    assert problem.kept == ("StaysWithin",)
    assert problem.derived["drop"] == ["EndsAlike.1"]
    assert "Composes" in Path("made/ticket.md").read_text("utf-8")
    assert "EndsAlike" not in Path("made/ticket.md").read_text("utf-8")
    assert score("made", Path("made/reference.dfy")).score == 1
    assert score("made", Path("made/skeleton.dfy")).stage == "unmodified"
    lost = Path("made/reference.dfy").read_text("utf-8").replace("lemma StaysWithin", "lemma Stays")
    Path("lost.dfy").write_text(lost, "utf-8")
    assert score("made", Path("lost.dfy")).score == 0.6


@pytest.mark.usefixtures("dafny")
def test_a_piece_that_nothing_misses_makes_no_problem(cli: Cli) -> None:
    refused = cli("task", "new", "--from", TINY, "--drop", "WithinAfter", "-o", "made")
    assert (refused.code, Path("made").exists()) == (3, False)
    assert "Nothing misses WithinAfter" in refused.err


@pytest.mark.usefixtures("dafny")
def test_problems_are_checked(cli: Cli) -> None:
    checked = cli("task", "check", TINY, "--json")
    [certificate] = checked.data["certificates"]
    assert (checked.code, certificate["faults"]) == (0, [])
    assert certificate["caught"] == {"no_limit": "WithinAfter"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("new",), "Name one problem"),
        (("new", "--from", "verify_nothing"), "There is no proof problem 'verify_nothing'"),
        (("new", "--from", TINY, "--drop", "Compose", "-o", "x"), "did you mean Composes?"),
        (("new", "--from", TINY, "--drop", "Composes"), "-o"),
        (("new", "--from", TINY, "--drop", "Composes", "-o", "."), "exists"),
        (("check", "--drop", "Composes"), "are for task new"),
        (("make",), "invalid choice"),
    ],
)
def test_what_cannot_be_made_is_said_in_a_sentence(words: tuple[str, ...], says: str, cli: Cli) -> None:
    refused = cli("task", *words)
    assert refused.code == 3
    assert says in refused.err


def test_pieces_are_listed(cli: Cli) -> None:
    assert cli("task", "new", "--from", TINY).out.split() == [
        *("StaysWithin", "WithinAfter", "EndsAlike.1", "EndsAlike.2", "Composes"),
    ]


def test_no_piece_is_an_error() -> None:
    with pytest.raises(UserError, match=r"--drop: Inv\.1, Inv\.2"):
        derive.chosen(PROOF, [])
