"""Dafny's text as tokens, for the part of the language in which answers are written.

Comments become blanks, so that what Dafny is given afterwards is nothing but these tokens, in their old places. What
could be read in two ways (strings, characters, escapes, letters that only look like one) is not read at all.
"""

import re
from collections.abc import Sequence

import attrs

SYMBOLS = (
    *("<==>", "==>", "<==", "::", ":=", ":|", "==", "!=", "<=", ">=", "&&", "||", "=>", "..", "!!"),
    *("{", "}", "(", ")", "[", "]", "<", ">", ",", ";", ":", ".", "=", "+", "-", "*", "/", "%", "!", "|"),
)
_TOKEN = re.compile(
    r"(?P<blank>[ \t\n]+)"
    r"|(?P<word>[A-Za-z_][\w'?]*)"
    r"|(?P<number>[0-9]\w*)"
    rf"|(?P<symbol>{'|'.join(map(re.escape, SYMBOLS))})",
    re.ASCII,
)
_COMMENT = re.compile(r"//[^\n]*|/\*|\*/")


class Unreadable(Exception):
    """The text is not of this language: a line, and a sentence. `refused`: by name, so it may be a trick."""

    def __init__(self, line: int, sentence: str, refused: bool = False) -> None:
        super().__init__(line, sentence)
        self.line, self.sentence, self.refused = line, sentence, refused


@attrs.frozen
class Token:
    kind: str  # word, number, symbol
    text: str
    start: int  # offset in the text
    line: int  # from 1
    column: int  # from 0, as Dafny counts


def without_comments(text: str) -> str:
    """The text with a blank for each character of a comment. Raises Unreadable for a comment that does not end."""
    parts: list[str] = []
    at = 0
    while found := _COMMENT.search(text, at):
        end = found.end() if found[0].startswith("//") else _end_of_comment(text, found.start())
        parts += [text[at : found.start()], re.sub(r"[^\n]", " ", text[found.start() : end])]
        at = end
    return "".join([*parts, text[at:]])


def _end_of_comment(text: str, start: int) -> int:
    """Comments nest."""
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if found[0] == "/*" else -1
        if depth <= 0:
            return found.end()
    raise Unreadable(_line(text, start), "a comment begins and does not end")


def read(text: str) -> list[Token]:
    """The tokens of a text without comments. Raises Unreadable for the first thing that is none."""
    found: list[Token] = []
    at, line, begins = 0, 1, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unreadable(line, _why(text[at]))
        kind, word = str(match.lastgroup), match[0]
        if kind == "blank":
            line += word.count("\n")
            begins = at + word.rindex("\n") + 1 if "\n" in word else begins
        else:
            found.append(Token(kind, word, at, line, at - begins))
        at = match.end()
    return found


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _why(character: str) -> str:
    if character in "\"'":
        return f"{character} begins text or a character, of which a proof has none"
    if character == "@":
        return "@ begins an attribute or text, of which a proof has none"
    spelled = character if character.isprintable() and character.isascii() else f"the character U+{ord(character):04X}"
    return f"{spelled} is not in the language of proofs"


def closing(tokens: Sequence[Token], at: int) -> int:
    """The place of the bracket that closes the one at this place. Raises Unreadable if none does."""
    pairs = {"{": "}", "(": ")", "[": "]"}
    open_: list[str] = []
    for place in range(at, len(tokens)):
        text = tokens[place].text
        if text in pairs:
            open_.append(pairs[text])
        elif text in pairs.values() and tokens[place].kind == "symbol":
            if text != open_.pop():
                raise Unreadable(tokens[place].line, f"{text} closes nothing")
            if not open_:
                return place
    raise Unreadable(tokens[at].line, f"{tokens[at].text} is never closed")
