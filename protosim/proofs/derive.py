"""New proof problems from a reference proof: some of its pieces are taken out, and have to be found again.

A piece is the body of a lemma (`Agreement`), or one conjunct of a predicate that the proof defines (`Invariant.2`: its
second one). What comes out is certified: the reference proves it, what is handed out does not, and each piece by itself
is missed.
"""

import json
from collections.abc import Iterator, Sequence

import attrs

from protosim.adapters.dafny import tokens
from protosim.adapters.dafny.declarations import Declaration, modules
from protosim.adapters.dafny.tokens import Token, closing
from protosim.adapters.dafny.tool import Dafny
from protosim.errors import UserError
from protosim.program import nearest
from protosim.proofs.certify import Tick
from protosim.proofs.judge import judge
from protosim.proofs.problem import Problem

LOOSER = {"||", "==>", "<==", "<==>", ";"}  # than &&
REACHES_TO_THE_END = {
    *("forall", "exists", "if", "match", "var", "assert", "calc", "reveal", "set", "map", "iset", "imap"),
}


@attrs.frozen
class Piece:
    """A part of the reference's text, and what is left in its place."""

    name: str
    start: int
    end: int
    instead: str = ""


def pieces(reference: str) -> dict[str, Piece]:
    """All that could be taken out, by name, in the text's order."""
    [proof] = modules(tokens.read(tokens.without_comments(reference)))
    found: dict[str, Piece] = {}
    for declaration in proof.declarations:
        if declaration.body is None or declaration.body == len(declaration.tokens) - 2:
            continue  # there is nothing in it
        if declaration.kind == "lemma":
            found[declaration.name] = _body(declaration, declaration.body)
        elif declaration.kind == "predicate":
            found |= {piece.name: piece for piece in _conjuncts(declaration, declaration.body, reference)}
    return found


def _body(lemma: Declaration, body: int) -> Piece:
    first, last = lemma.tokens[body], lemma.tokens[-1]
    return Piece(lemma.name, first.start, last.start + 1, "{ }")


def _conjuncts(predicate: Declaration, body: int, text: str) -> Iterator[Piece]:
    inside = predicate.tokens[body + 1 : -1]
    parts = _split(inside)
    if len(parts) < 2:
        return
    for number, (first, last) in enumerate(parts, 1):
        # With it goes the && before it; of the first, the one after it.
        has_own = first > 0 and inside[first - 1].text == "&&"
        start = inside[first - 1] if has_own else inside[first]
        end = inside[last] if has_own else inside[last + 1]
        yield Piece(f"{predicate.name}.{number}", *_whole_lines(text, start.start, end.start + len(end.text)))


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """Where it stands alone on its lines, with these lines, and with the comment behind it, which would tell it."""
    begins = text.rfind("\n", 0, start) + 1
    rest = text[end:].partition("\n")[0]
    if rest.strip().startswith("//"):
        end += len(rest)
        rest = ""
    if text[begins:start].strip() or rest.strip() or end + len(rest) >= len(text):
        return start, end
    return begins, end + len(rest) + 1


def _split(inside: Sequence[Token]) -> list[tuple[int, int]]:
    """The places of the first and last tokens of each conjunct; none if it is no conjunction."""
    starts, place = [0], 0
    while place < len(inside):
        text = inside[place].text
        if text in LOOSER:
            return []
        if text in REACHES_TO_THE_END:
            break
        if text == "&&":
            starts = [*starts, place + 1] if place else [1]
        place = closing(inside, place) + 1 if text in ("(", "[", "{") else place + 1
    ends = [*(start - 2 for start in starts[1:]), len(inside) - 1]
    return list(zip(starts, ends, strict=True))


def without(text: str, taken: Sequence[Piece]) -> str:
    """The text without these pieces."""
    for piece in sorted(taken, key=lambda piece: -piece.start):
        text = text[: piece.start] + piece.instead + text[piece.end :]
    return text


def chosen(reference: str, drop: Sequence[str]) -> list[Piece]:
    """The pieces of these names. Raises UserError for one that there is not, or for none."""
    known = pieces(reference)
    if not drop:
        raise UserError(f"Say what to take out with --drop: {', '.join(known)}.")
    for name in drop:
        if name not in known:
            raise nearest(name, known, "piece of the proof")
    return [known[name] for name in dict.fromkeys(drop)]


@attrs.frozen
class Derived:
    """A new problem: the files of its folder."""

    required: tuple[str, ...]
    files: dict[str, str]


def derive(parent: Problem, drop: Sequence[str], dafny: Dafny, tick: Tick) -> Derived:
    """Take the pieces out. Raises UserError if what comes out is not worth asking."""
    reference = parent.reference
    taken = chosen(reference, drop)
    tick("the reference")
    if not (whole := judge(parent, reference, dafny)).clean:
        raise UserError(f"The reference of {parent.name} does not prove it here: {whole.sentence}.")
    for piece in taken:
        tick(f"without {piece.name}")
        if judge(parent, without(reference, [piece]), dafny).clean:
            raise UserError(f"Nothing misses {piece.name}: the proof goes through without it.")
    skeleton = without(reference, taken)
    tick("the skeleton")
    left = {lemma.name: lemma.state for lemma in judge(parent, skeleton, dafny).lemmas}
    required = tuple(name for name, state in left.items() if state in ("failed", "timed out"))
    if not required:
        raise UserError("Of what is handed out, every required lemma is still proved: take out something else.")
    kept = tuple(name for name in left if name not in required)
    files = {
        "spec.dfy": parent.spec,
        "skeleton.dfy": skeleton,
        "reference.dfy": reference,
        "problem.toml": _toml(parent, required, kept, [piece.name for piece in taken], dafny),
        "ticket.md": ticket(parent, required),
    }
    return Derived(required, files)


def ticket(parent: Problem, required: Sequence[str]) -> str:
    """What whoever repairs the proof is told: which lemmas are open, and not what was taken out."""
    lemmas = "\n".join(f"- `{name}`: {parent.meanings.get(name, 'see its statement.')}" for name in required)
    return (
        f"# Mend a proof: {parent.title[:1].lower()}{parent.title[1:]}\n\n"
        "The proof in `skeleton.dfy` verified once. Parts of it were lost: proofs of lemmas, or parts of what its\n"
        "invariants say. These lemmas are not proved any more:\n\n"
        f"{lemmas}\n\n"
        "Repair the proof. What the lemmas state must stay as it is, and so must the specification, `spec.dfy`; the\n"
        "lemmas that are still proved must stay so. Lemmas, functions and predicates of your own may be added.\n"
    )


def _toml(parent: Problem, required: Sequence[str], kept: Sequence[str], dropped: list[str], dafny: Dafny) -> str:
    def quoted(value: str | Sequence[str]) -> str:
        return json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)

    lines = [
        f"title = {quoted(f'Mend a proof: {parent.title}')}",
        f"source = {quoted(parent.source)}",
        f"required = {quoted(required)}",
        f"kept = {quoted(kept)}",
        "",
        "[derived]",
        f"from = {quoted(parent.name)}",
        f"drop = {quoted(dropped)}",
        f"certified = {quoted(f'Dafny {dafny.version}: reference proves it, skeleton does not, each piece is missed')}",
        "",
        "[meanings]",
        *(f"{name} = {quoted(meaning)}" for name, meaning in parent.meanings.items()),
    ]
    for mutant in parent.spec_mutants:
        fields = attrs.asdict(mutant).items()
        lines += ["", "[[spec_mutants]]", *(f"{key} = {quoted(value)}" for key, value in fields)]
    return "\n".join([*lines, ""])
