"""What Dafny said, read: the outcome of each method from its log, the messages from its output.

The exit code says neither: Dafny 2.3 ends with 0 when the prover's resources ran out.
"""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import attrs

Name = tuple[str, str]
"""(module, declaration), as the source spells them."""

WORST = ("correct", "outofresource", "timedout")  # whatever else there is, is worse


class Unreadable(Exception):
    """The log is not what this version of Dafny writes."""


@attrs.frozen
class Message:
    file: str
    line: int
    column: int  # from 0
    text: str
    related: tuple["Message", ...] = ()


def from_xml(text: str) -> dict[Name, str]:
    """The log of Dafny 2.x (/xml): the worst outcome of each declaration."""
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise Unreadable(str(error)) from None
    found: dict[Name, str] = {}
    for method in root.iter("method"):
        conclusion = method.find("conclusion")
        outcome = "unfinished" if conclusion is None else conclusion.get("outcome", "unfinished")
        _add(found, method.get("name", ""), outcome)
    return found


def from_json(text: str) -> dict[Name, str]:
    """The log of Dafny 4.x (--log-format json): the same."""
    found: dict[Name, str] = {}
    try:
        for result in json.loads(text)["verificationResults"]:
            _add(found, result["name"], result["outcome"].lower())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(str(error)) from None
    return found


def _add(found: dict[Name, str], mangled: str, outcome: str) -> None:
    name = spelled(mangled)
    found[name] = max(found.get(name, "correct"), outcome, key=_badness)


def _badness(outcome: str) -> int:
    return WORST.index(outcome) if outcome in WORST else len(WORST)


def spelled(mangled: str) -> Name:
    """A method's name as the source has it.

    2.x and 4.x have `Impl$$_2_TinyProof.__default.Is__it_q`, 4.x also `TinyProof.Is_it? (correctness)`. A member of a
    type belongs to the type's declaration.
    """
    if "$$" in mangled:
        path = re.sub(r"^_\d+_", "", mangled.partition("$$")[2]).split(".")
        path = [_unmangled(part) for part in path if part != "__default"]
    else:
        path = mangled.partition(" ")[0].split(".")
    return path[0], path[1] if path[1:] else ""


def _unmangled(word: str) -> str:
    return re.sub(r"_(_|k|q)", lambda found: {"_": "_", "k": "'", "q": "?"}[found[1]], word)


PLACE = re.compile(r"(?m)^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+),(?P<column>\d+)\): (?P<text>.*)$")
SEVERITY = re.compile(r"^(?:Error|Timed out on)(?: BP\d+)?: |^Error:? ")


def messages(output: str) -> tuple[Message, ...]:
    """The errors in Dafny's output, in order; each with the places that belong to it."""
    return tuple(_messages(output))


def _messages(output: str) -> Iterator[Message]:
    last: Message | None = None
    for found in PLACE.finditer(output):
        place = found["file"], int(found["line"]), int(found["column"])
        if found["text"].startswith("Related location"):
            if last is not None:
                last = attrs.evolve(last, related=(*last.related, Message(*place, found["text"])))
            continue
        if last is not None:
            yield last
        last = Message(*place, SEVERITY.sub("", found["text"])) if SEVERITY.match(found["text"]) else None
    if last is not None:
        yield last


def bodyless(output: str) -> bool:
    """Whether Dafny warned of something that claims without a body (2.x says the first, 4.x the second)."""
    return "has no body" in output or "bodyless" in output


def rejects(output: str) -> bool:
    """Whether the program does not parse or resolve."""
    return re.search(r"(?m)^\d+ (?:parse|resolution/type) errors detected in ", output) is not None
