"""Mutants of Go: lines for lines, each exactly once."""

import pytest

from mutations import DriftKind, Mutation, Site, catalogue
from mutations import golang as mutated
from mutations.entry import Lines
from protosim.adapters.go import Go
from protosim.errors import UserError
from protosim.score import golang
from protosim.score.gates import Refusal
from protosim.score.twins import in_go

SOURCE = """package p

type node struct {
	term int
}

func (n *node) handle(m vote) {
	counted := n.Holds(
		step.Check("current", m.term == n.term), // §5.1
		step.Check("granted", m.granted),        // §5.2
	)
	if counted {
		n.votes[m.src] = true // not "// a comment"
	}
}

func (n *node) mayElect() bool {
	return n.Holds(
		step.Check("up_to_date", n.term > 0),
	)
}

func (n *node) accept() {
	accepted := n.Holds(
		step.Check("known", n.term > 0),
	)
	if !accepted {
		return
	}
	n.term++
}

func (n *node) count() {
	elected := n.Holds(
		step.Check("majority", n.term > 0),
	)
	if elected {
		n.term++
	} else {
		n.term--
	}
}

func (n *node) refuse() {
	refused := n.Holds(
		step.Check("refused", n.term > 0),
	)
	if !refused {
		n.term--
	} else {
		n.term++
	}
}
"""


def mutation(*lines: Lines, drops: str = "x") -> Mutation:
    edits = (Site("f", "drop-check", drops),)
    return Mutation(id="p.x", title="It does.", kind=DriftKind.MISSING_CHECK, edits=edits, go=lines)


def changed(*lines: Lines, drops: str = "x") -> list[str]:
    """What has gone, and what has come."""
    after = mutated.apply(SOURCE, mutation(*lines, drops=drops))
    old, new = SOURCE.splitlines(), after.splitlines()
    return [f"-{line.strip()}" for line in old if line not in new] + [
        f"+{line.strip()}" for line in new if line not in old
    ]


def test_a_dropped_check_needs_no_lines_of_go() -> None:
    assert changed(drops="granted") == ['-step.Check("granted", m.granted),        // §5.2']


@pytest.mark.parametrize(
    ("check", "gone", "come"),
    [
        ("up_to_date", "return n.Holds(", ["+return true"]),
        ("known", "if !accepted {", []),
        ("majority", "if elected {", []),
        ("refused", "if !refused {", []),
    ],
)
def test_where_the_only_check_is_dropped_nothing_asks_any_more(check: str, gone: str, come: list[str]) -> None:
    found = changed(drops=check)
    assert f"-{gone}" in found
    assert [line for line in found if line[0] == "+"] == come
    assert mutated.apply(SOURCE, mutation(drops=check)).count("n.term++") == 3


def test_lines_are_found_whatever_their_comments_and_their_layout() -> None:
    edit = Lines("handle", 'if   counted {\nn.votes[m.src]=true // whatever', "if true {\n\tn.votes[m.src] = false")
    assert changed(edit) == [
        "-if counted {", '-n.votes[m.src] = true // not "// a comment"', "+if true {", "+n.votes[m.src] = false",
    ]  # fmt: skip


def test_nothing_takes_the_place_of_what_is_deleted() -> None:
    assert changed(Lines("node", "term int", "")) == ["-term int"]


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (Lines("handle", "n.term++", ""), "is 0 times in handle"),
        (Lines("", "n.term++", ""), "is 3 times in the file"),
        (Lines("steal", "n.term++", ""), "there are 0 functions or types steal"),
    ],
)
def test_an_edit_that_does_not_fit_exactly_once_is_refused(edit: Lines, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        changed(edit)


def test_a_check_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="0 lines begin with"):
        changed(drops="none")


def test_a_mutant_that_is_written_in_python_alone_is_not_known_in_go() -> None:
    known = catalogue.load("raft")["raft.votes_are_a_count"]
    with pytest.raises(UserError, match="not known in Go"):
        mutated.apply(SOURCE, known)


@pytest.mark.parametrize("protocol", in_go())
def test_every_mutant_that_is_known_in_go_applies_and_compiles(tool: Go, protocol: str) -> None:
    source = golang.reference(protocol)
    known = [m for m in catalogue.load(protocol).values() if mutated.has(m)]
    assert known
    with golang.workshop(protocol) as shop:
        for each in known:
            checked = shop.gate(mutated.apply(source, each))  # its types, as the compiler does, in a tenth of the time
            assert not isinstance(checked, Refusal), f"{each.id}: {checked.sentence}"
