"""A module of Dafny as a list of its declarations: which there are, where they stand, what each names."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import attrs

from protosim.adapters.dafny.allowed import ALLOWED, DECLARE, OPERANDS_END
from protosim.adapters.dafny.tokens import Token, Unreadable, closing, read, without_comments

SPECIFY = {"requires", "ensures", "decreases", "reads", "returns"}


@attrs.frozen
class Declaration:
    """`tokens` are all of it; `body` is the place of its body's brace among them, or None."""

    kind: str  # lemma, function, predicate, datatype, type, import
    name: str
    tokens: Sequence[Token] = attrs.field(repr=False)
    body: int | None

    @property
    def line(self) -> int:
        return self.tokens[0].line

    def spans(self, line: int, column: int) -> bool:
        """Whether this place is in it."""
        first, last = self.tokens[0], self.tokens[-1]
        return (first.line, first.column) <= (line, column) <= (last.line, last.column)

    @property
    def statement(self) -> Sequence[Token]:
        """All but the body."""
        return self.tokens[: self.body]

    def words(self) -> set[str]:
        return {token.text for token in self.tokens if token.kind == "word"}

    def parameters(self) -> str:
        """Type parameters, parameters and results, as text to compare: what a caller must know beside the contract."""
        return spaced(self.tokens[self._named() + 1 : self._specified()])

    def _named(self) -> int:
        return next(place for place, token in enumerate(self.tokens) if token.text == self.name)

    def _specified(self) -> int:
        """Where its contract begins, or its body."""
        places = (n for n, token in enumerate(self.statement) if token.text in SPECIFY - {"returns"})
        return next(places, len(self.statement))

    def arguments(self) -> tuple[list[str], list[str]]:
        """The names of its parameters and of its results."""
        groups: list[list[str]] = []
        place, end = self._named() + 1, self._specified()
        while place < end:
            if self.tokens[place].text == "(":
                last = closing(self.tokens, place)
                groups.append(_names(self.tokens[place : last + 1]))
                place = last
            place += 1
        return groups[0] if groups else [], groups[1] if groups[1:] else []


def _names(group: Sequence[Token]) -> list[str]:
    """`(a: int, ghost b: map<int, int>)`: a, b."""
    return [group[n - 1].text for n, token in enumerate(group) if token.text == ":"]


def spaced(tokens: Sequence[Token]) -> str:
    """The tokens as one line, to compare."""
    return " ".join(token.text for token in tokens)


@attrs.frozen
class Module:
    name: str
    first: int  # the places of its first and its last token
    last: int
    declarations: tuple[Declaration, ...]

    def find(self, name: str) -> Declaration | None:
        return next((d for d in self.declarations if d.name == name), None)


def parse(text: str) -> list[Module]:
    """The modules of a text. Raises Unreadable."""
    return modules(read(without_comments(text)))


def modules(tokens: Sequence[Token]) -> list[Module]:
    """The modules that the tokens are. Raises Unreadable for anything between them."""
    found: list[Module] = []
    at = 0
    while at < len(tokens):
        head = tokens[at : at + 3]
        if [head[0].text, *(token.text for token in head[2:])] != ["module", "{"]:
            raise Unreadable(head[0].line, f"`{head[0].text}` stands where only `module NAME {{` may stand")
        last = closing(tokens, at + 2)
        inside = tokens[at + 3 : last]
        found.append(Module(head[1].text, at, last, tuple(_declarations(inside))))
        at = last + 1
    return found


def _declarations(tokens: Sequence[Token]) -> Iterator[Declaration]:
    starts = [place for place in _outside_brackets(tokens) if _begins(tokens, place)]
    if tokens and starts[:1] != [0]:
        raise Unreadable(tokens[0].line, f"`{tokens[0].text}` begins no declaration")
    for start, end in pairwise([*starts, len(tokens)]):
        yield _declaration(tokens[start:end])


def _outside_brackets(tokens: Sequence[Token]) -> Iterator[int]:
    place = 0
    while place < len(tokens):
        yield place
        place = closing(tokens, place) + 1 if tokens[place].text in ("{", "(", "[") else place + 1


def _begins(tokens: Sequence[Token], place: int) -> bool:
    text, before = tokens[place].text, tokens[place - 1].text if place else ""
    if text == "ghost":
        return place + 1 < len(tokens) and tokens[place + 1].text in DECLARE
    return text in (*DECLARE, "import", "module", "const", "method", "class") and before != "ghost"


def _declaration(tokens: Sequence[Token]) -> Declaration:
    place = 1 if tokens[0].text == "ghost" else 0
    kind = tokens[place].text
    place += 1
    while place < len(tokens) and tokens[place].text in ("{", "opened"):  # attributes
        place = closing(tokens, place) + 1 if tokens[place].text == "{" else place + 1
    if place >= len(tokens) or tokens[place].kind != "word":
        raise Unreadable(tokens[0].line, f"this {kind} has no name")
    body = _body(tokens, place) if kind in ("lemma", "function", "predicate") else None
    return Declaration(kind, tokens[place].text, tokens, body)


def _body(tokens: Sequence[Token], named: int) -> int | None:
    """Where the body begins: a last pair of braces that stands where an expression could not."""
    groups = [place for place in _outside_brackets(tokens) if tokens[place].text == "{" and place > named]
    if not groups or closing(tokens, groups[-1]) != len(tokens) - 1:
        return None
    last, before = groups[-1], tokens[groups[-1] - 1]
    if before.text == ">" or before.kind == "number" or before.text in OPERANDS_END:
        return last
    return last if before.kind == "word" and before.text not in ALLOWED else None
