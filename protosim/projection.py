"""A projection: the names and the field order of somebody's own program, and what they are in a protocol of ours.

    [values]                 # ours = [theirs, its fields in the order of the wire]
    RequestVote = ["VoteRequest", "term", "@sender", "last_log_index", "last_log_term"]
    Entry = ["LogEntry", "command", "term"]

    [disk]                   # ours = theirs
    term = "currentTerm"

A field is one of ours; or "@sender" or "@receiver", which no message of ours has; or a constant: a number, a truth, or
"=" and a text. Nothing may be lost: each field of ours stands there once, and what a program sends in the place of a
constant must be that constant. A name that is not in the file stays as it is.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from protosim.errors import UserError
from protosim.program import Program, nearest

SENDER, RECEIVER = "@sender", "@receiver"
Raw = Any
"""JSON as `protosim.values.to_wire` makes it."""


@attrs.frozen
class Shape:
    """One value class on both sides."""

    ours: str
    theirs: str
    fields: tuple[str, ...]  # ours, in our order
    places: tuple[Any, ...]  # theirs: a name of ours, or what stands for something else

    def constant(self, place: Any, sender: str, receiver: str) -> Raw:
        if place == SENDER:
            return sender
        if place == RECEIVER:
            return receiver
        return place[1:] if isinstance(place, str) else place


@attrs.frozen
class Projection:
    text: str = ""  # of the file
    shapes: tuple[Shape, ...] = ()
    disk: Mapping[str, str] = attrs.field(factory=dict)  # ours -> theirs

    def to_theirs(self, raw: Raw, sender: str = "", receiver: str = "") -> Raw:
        """Raw values of ours as the program knows them."""
        if not isinstance(raw, list) or not raw:
            return raw
        items = [self.to_theirs(item, sender, receiver) for item in raw[1:]]
        shape = next((shape for shape in self.shapes if shape.ours == raw[0]), None)
        if shape is None:
            return [raw[0], *items]
        named = dict(zip(shape.fields, items, strict=True))
        return [shape.theirs, *(named.get(x, x) if x in named else shape.constant(x, sender, receiver)
                                for x in shape.places)]  # fmt: skip

    def to_ours(self, raw: Raw, sender: str = "", receiver: str = "") -> Raw:
        """The program's raw values as ours. Raises ValueError with a sentence."""
        if not isinstance(raw, list) or not raw:
            return raw
        items = [self.to_ours(item, sender, receiver) for item in raw[1:]]
        shape = next((shape for shape in self.shapes if shape.theirs == raw[0]), None)
        if shape is None:
            return [raw[0], *items]
        if len(items) != len(shape.places):
            raise ValueError(f"{shape.theirs} has {len(shape.places)} fields, not {len(items)}")
        named: dict[str, Raw] = {}
        for number, (place, item) in enumerate(zip(shape.places, items, strict=True), 1):
            if place in shape.fields:
                named[place] = item
            elif (due := shape.constant(place, sender, receiver)) != item or type(due) is not type(item):
                raise ValueError(f"field {number} of {shape.theirs} is {item!r:.40} where the projection says {due!r}")
        return [shape.ours, *(named[name] for name in shape.fields)]

    def disk_to_theirs(self, name: str) -> str:
        return self.disk.get(name, name)

    def disk_to_ours(self, name: Any) -> Any:
        return next((ours for ours, theirs in self.disk.items() if theirs == name), name)


def load(path: str, program: Program) -> Projection:
    """Raises UserError for a file that cannot be read, or does not fit the protocol."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The projection {path} cannot be read: {getattr(error, 'strerror', error)}.") from None
    return parse(text, program, path)


def parse(text: str, program: Program, origin: str = "the projection") -> Projection:
    """Raises UserError."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{origin} is no TOML: {error}.") from None
    for section in raw:
        if section not in ("values", "disk"):
            raise UserError(f"{origin} has a section {section!r}; there are values and disk.")
    shapes = tuple(_shape(ours, theirs, program, origin) for ours, theirs in raw.get("values", {}).items())
    disk = raw.get("disk", {})
    for ours, theirs in disk.items():
        if ours not in program.spec.disk.FIELDS:
            raise nearest(ours, program.spec.disk.FIELDS, f"durable field of {program.name}")
        if not isinstance(theirs, str):
            raise UserError(f"{origin}: disk.{ours} is the name of the program's field, a text.")
    return Projection(text, shapes, disk)


def _shape(ours: str, theirs: Any, program: Program, origin: str) -> Shape:
    cls = program.classes.get(ours)
    if cls is None or not hasattr(cls, "FIELDS"):
        known = [name for name, one in program.classes.items() if hasattr(one, "FIELDS")]
        raise nearest(ours, known, f"message or value of {program.name}")
    fields = tuple(name for name, _ in cls.FIELDS)
    if not _is_spelled(theirs, fields):
        raise UserError(
            f"{origin}: {ours} is a list, first its name in the program, then its fields there: each of "
            f"{', '.join(fields)} once, and beside them {SENDER}, {RECEIVER}, a number, a truth, or '=' and a text."
        )
    return Shape(ours, theirs[0], fields, tuple(theirs[1:]))


def _is_spelled(theirs: Any, fields: Sequence[str]) -> bool:
    if not isinstance(theirs, list) or not theirs or not isinstance(theirs[0], str):
        return False
    others = [place for place in theirs[1:] if place not in fields]
    own = [place for place in theirs[1:] if place in fields]
    return sorted(own) == sorted(fields) and all(map(_is_constant, others))


def _is_constant(x: Any) -> bool:
    return type(x) in (int, bool) or (isinstance(x, str) and (x in (SENDER, RECEIVER) or x[:1] == "="))
