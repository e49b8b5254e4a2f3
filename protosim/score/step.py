"""The step protocol: how the trusted parent and a worker with candidate code speak.

A frame is a length (4 bytes, little endian) and so many bytes of JSON. The first frame to a worker is the
candidate's source; its answer is "" or a sentence that says why that cannot be run. From then on

    parent    [[slot, clock, kind, ...], ...]          events, each of another scenario
    worker    [[effects, refusals] or sentence, ...]   in the same order

with values in the form of `protosim.values.to_wire`. A worker holds one node of each scenario (its slot), so
what it has in memory is no channel between nodes. A sentence says what the candidate did that no protocol may.

This file is part of a worker's bundle: it imports the vocabulary and nothing else of ours.
"""

import json
import struct
import typing
from typing import Any

from protosim import api
from protosim.api import Disk, Effect
from protosim.values import Value, conforms, from_wire, shown, to_wire

DELIVER, TIMEOUT, REQUEST, START = 0, 1, 2, 4  # kinds of events, as in protosim.world

LENGTH = struct.Struct("<I")
LONGEST_NAME = 64  # characters of a timer's or a check's name
LONGEST_TIMER = 10**12  # microseconds

Refusals = list[tuple[str, ...]]


def pack(content: Any) -> bytes:
    """A frame."""
    body = json.dumps(content, separators=(",", ":")).encode()
    return LENGTH.pack(len(body)) + body


# -- Events: the parent writes them, the worker reads them -------------------------------------------


def event_to_wire(slot: int, clock: int, kind: int, *details: Any) -> list[Any]:
    """DELIVER: sender, message. TIMEOUT: timer. REQUEST: op, command. START: me, all nodes, switches, disk contents: of
    a log its base and its entries."""
    return [slot, clock, kind, *map(to_wire, details)]


def event_from_wire(raw: list[Any], classes: dict[str, Any]) -> tuple[int, int, int, list[Any]]:
    """Slot, clock, kind, details. Raises ValueError where the candidate's classes do not fit what was sent."""
    slot, clock, kind, *details = raw
    return slot, clock, kind, [from_wire(x, classes) for x in details]


def content_to_tell(x: Any) -> Any:
    """A field of the disk as START tells it: of a log its base and its entries."""
    return (x.base, *x) if isinstance(x, api.Log) else x


# -- Effects: the worker writes them, the parent believes nothing ------------------------------------


def effects_to_wire(effects: list[Effect]) -> list[Any]:
    """Raises TypeError for what no effect can hold."""
    return [[kind, *map(to_wire, details)] for kind, *details in effects]


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{text} is no whole number, and there are no others here")


_DECODER = json.JSONDecoder(parse_float=_refuse_number, parse_constant=_refuse_number)


def decode(body: bytes) -> Any:
    """The JSON of a frame. Raises ValueError."""
    try:
        return _DECODER.decode(body.decode("ascii"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


class Reader:
    """Reads a worker's answers against the reference's classes: what it returns, the world can carry out."""

    def __init__(self, classes: dict[str, Any], disk: type[Disk]) -> None:
        self.classes = classes
        self.fields = {name: kind for name, kind in disk.FIELDS.items() if name not in disk.LOGS}
        self.entries = {name: typing.get_args(disk.FIELDS[name])[0] for name in disk.LOGS}

    def read(self, answer: Any, ids: tuple[str, ...]) -> tuple[list[Effect], Refusals]:
        """The effects of one event, and what was refused. Raises ValueError with a sentence."""
        match answer:
            case [list() as effects, list() as refused]:
                return [self._effect(raw, ids) for raw in effects], [_names(raw) for raw in refused]
            case _:
                raise ValueError("an answer is a list of effects and a list of refusals")

    def _effect(self, raw: Any, ids: tuple[str, ...]) -> Effect:
        if type(raw) is not list or not raw or type(raw[0]) is not int:
            raise ValueError("an effect is a list that begins with its kind")
        try:
            effect = (raw[0], *[from_wire(x, self.classes) for x in raw[1:]])
            fits = self._fits(effect, ids)
        except RecursionError:
            raise ValueError("a value is nested too deeply") from None
        if not fits:
            stranger = self._stranger(effect)
            why = f": the disk has no field {shown(stranger)}" if stranger is not None else ""
            raise ValueError(f"{shown(effect)} is no effect{why}")
        return effect

    def _fits(self, effect: Effect, ids: tuple[str, ...]) -> bool:
        """Whether every detail is what the world expects; `from_wire` has made them plain."""
        match effect:
            case (api.SEND, to, m):
                return to in ids and isinstance(m, Value)
            case (api.WRITE, tuple() as pairs):
                return all(self._is_field(pair) for pair in pairs)
            case (api.STORE, str() as field, index, tuple() as entries) if field in self.entries:
                return _is_whole(index) and all(conforms(entry, self.entries[field]) for entry in entries)
            case (api.RESET, str() as field, base, tuple() as entries) if field in self.entries:
                return _is_whole(base) and all(conforms(entry, self.entries[field]) for entry in entries)
            case (api.RESTORE, index, _):
                return _is_whole(index)
            case (api.SYNC,):
                return True
            case (api.SET_TIMER, timer, shortest, longest) if _is_whole(shortest) and _is_whole(longest):
                return is_name(timer) and shortest <= longest <= LONGEST_TIMER
            case (api.CANCEL, timer):
                return is_name(timer)
            case (api.APPLY, index, command, _):
                return _is_whole(index) and (command is None or isinstance(command, Value | int))
            case (api.REPLY, op, _) | (api.REFUSE, op):
                return _is_whole(op)
            case _:
                return False

    def _stranger(self, effect: Effect) -> str | None:
        """The first field written that the disk does not have: a program of a user's own may have names of its own."""
        match effect:
            case (api.WRITE, tuple() as pairs):
                named = [pair[0] for pair in pairs if type(pair) is tuple and pair]
                return next((x for x in named if type(x) is str and x not in self.fields), None)
            case (api.STORE | api.RESET, str() as field, *_) if field not in self.entries:
                return field
            case _:
                return None

    def _is_field(self, pair: Any) -> bool:
        match pair:
            case (str() as name, content) if name in self.fields:
                return conforms(content, self.fields[name])
            case _:
                return False


def _is_whole(x: Any) -> bool:
    return type(x) is int and x >= 0


def is_name(x: Any) -> bool:
    """A short identifier: of a timer, of a check."""
    return type(x) is str and len(x) <= LONGEST_NAME and x.isascii() and x.isidentifier()


def _names(raw: Any) -> tuple[str, ...]:
    if type(raw) is not list or not all(is_name(name) for name in raw):
        raise ValueError("a refusal is a list of the names of checks")
    return tuple(raw)
