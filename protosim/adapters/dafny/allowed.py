"""The language of answers: an allow-list over tokens.

It is small on purpose: lemmas, functions, predicates and datatypes over mathematical values, and nothing that Dafny
takes on trust. Whatever else Dafny reserves, in 2.x or in 4.x, is refused by name.
"""

import re
from collections.abc import Iterator, Sequence

import attrs

from protosim.adapters.dafny.tokens import Token

DECLARE = ("lemma", "function", "predicate", "datatype", "type")
ALLOWED = {
    *DECLARE,
    *("module", "import", "opened"),  # where the header has them: see `declarations`
    *("ghost", "returns", "requires", "ensures", "decreases"),
    *("var", "if", "then", "else", "match", "case", "assert", "by", "calc", "forall", "exists", "reveal", "return"),
    *("true", "false", "in", "as", "is", "old"),
    *("bool", "int", "nat", "real", "set", "iset", "seq", "map", "imap", "multiset"),
}
TRUSTED = {  # what Dafny would believe without a proof, or leave out
    "assume": "takes for granted what is to be proved",
    "expect": "takes for granted what is to be proved",
    "free": "claims without a proof",
    "include": "brings in text that is not verified",
}
RESERVED = {
    *("abstract", "allocated", "break", "char", "class", "codatatype", "colemma", "comethod", "const"),
    *("constructor", "copredicate", "export", "extends", "for", "fresh", "inductive", "invariant", "iterator"),
    *("label", "method", "modifies", "modify", "new", "newtype", "null", "object", "print", "protected"),
    *("provides", "reads", "refines", "reveals", "static", "string", "this", "trait", "twostate", "unchanged"),
    *("while", "witness", "yield", "yields"),
    "ORDINAL",
}
NUMBERED = re.compile(r"(?:bv|array)\d*")
ATTRIBUTES = {"trigger", "induction", "opaque", "fuel"}
OPERANDS_END = {")", "]", "}", "|", "true", "false", "bool", "int", "nat", "real"}


@attrs.frozen
class Offence:
    """Where an answer leaves the language, and how."""

    line: int
    sentence: str


def offences(tokens: Sequence[Token]) -> list[Offence]:
    """Everything in the tokens that is not in the language, in order."""
    return [Offence(tokens[place].line, sentence) for place, sentence in _offences(tokens)]


def _offences(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        if token.kind == "word":
            if sentence := _word(token.text):
                yield place, sentence
        elif token.text == ":" and before is not None and before.text == "{":
            name = tokens[place + 1].text if place + 1 < len(tokens) else ""
            if name not in ATTRIBUTES:
                yield place, f"the attribute {{:{name}}} is not among those that are harmless ({_listed()})"
            elif place > 1 and tokens[place - 2].text == "decreases":
                yield place, "an attribute of `decreases` could hide a * behind it"
        elif token.text == ">" and before is not None and before.text == "-":
            yield place, "-> is a type of functions, which is not in the language of proofs"
        elif token.text == "*" and not _ends_operand(before):
            yield place, "a * that multiplies nothing leaves something open (decreases *, for one)"


def _word(text: str) -> str:
    name = text.rstrip("?")
    if name in TRUSTED:
        return f"`{text}` {TRUSTED[name]}"
    if name in RESERVED or NUMBERED.fullmatch(name):
        return f"`{text}` is not in the language of proofs"
    if text.startswith("_") and text != "_":
        return f"{text} begins with _, as only Dafny's own names do"
    return ""


def _listed() -> str:
    return ", ".join(sorted(ATTRIBUTES))


def _ends_operand(token: Token | None) -> bool:
    if token is None:
        return False
    if token.kind == "word":
        return token.text not in ALLOWED or token.text in OPERANDS_END
    return token.kind == "number" or token.text in OPERANDS_END
