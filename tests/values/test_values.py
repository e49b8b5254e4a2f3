"""Values: one canonical form each, immutable, and a reader of the wire that believes nothing."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protosim.program import from_source, reference
from protosim.run import simulate
from protosim.scenario import Scenario
from protosim.values import DEEPEST, NoCanonicalForm, Value, encode, from_wire, message, to_wire, value

ROOT = Path(__file__).resolve().parents[2]


class Colour(Enum):
    RED = 1
    GREEN = 2


class Fruit(Enum):
    RED = 1  # a member that is called like one of Colour


@value
class Point:
    x: int
    y: int


@value
class Spot:
    x: int
    y: int


@message
class Everything:
    count: int
    ready: bool
    name: str
    raw: bytes
    colour: Colour | Fruit
    where: Point | Spot | None
    path: tuple[Point, ...]
    pair: tuple[int, str | None]


CLASSES: dict[str, Any] = {c.__name__: c for c in (Colour, Fruit, Point, Spot, Everything)}

ints = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)
texts = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=5)
points = st.builds(Point, ints, ints)
spots = st.builds(Spot, ints, ints)
everything = st.builds(
    Everything,
    ints,
    st.booleans(),
    texts,
    st.binary(max_size=4),
    st.sampled_from([*Colour, *Fruit]),
    st.none() | points | spots,
    st.lists(points, max_size=3).map(tuple),
    st.tuples(ints, st.none() | texts),
)
anything = st.recursive(
    ints | st.booleans() | texts | st.binary(max_size=4) | st.none() | st.sampled_from([*Colour, *Fruit]),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | points | everything,
    max_leaves=8,
)


def same(a: Any, b: Any) -> bool:
    """Equal, and of the same types all the way down: 1 is not True."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))  # pyright: ignore
    if isinstance(a, Value):
        return all(same(getattr(a, name), getattr(b, name)) for name, _ in a.FIELDS)
    return bool(a == b)


# -- Canonical bytes ---------------------------------------------------------------------------------


@given(everything, everything)
def test_values_of_a_class_are_equal_exactly_when_their_bytes_are(a: Any, b: Any) -> None:
    assert (a == b) == (a.encode() == b.encode())
    assert a.encode() == attrs.evolve(a).encode()


@given(anything, anything)
@example(1, True)
@example(0, None)
@example((), None)
@example("a", b"a")
@example(("a", "b"), ("ab",))
@example((("a",), "b"), ("a", ("b",)))
@example(Colour.RED, Fruit.RED)
@example(Point(1, 2), Spot(1, 2))
@example(Point(1, 2), (1, 2))
def test_anything_has_the_same_bytes_exactly_when_it_is_the_same(a: Any, b: Any) -> None:
    assert same(a, b) == (encode(a) == encode(b))


@given(st.lists(anything, max_size=3), st.lists(anything, max_size=3))
def test_no_sequence_of_encodings_can_be_read_as_another(a: list[Any], b: list[Any]) -> None:
    """The digest is over encodings in a row."""
    assert same(tuple(a), tuple(b)) == (b"".join(map(encode, a)) == b"".join(map(encode, b)))


def test_the_canonical_bytes_are_these() -> None:
    """A change of these bytes changes every digest, saved counterexamples included."""
    told = Everything(1, True, "é", b"\x00", Colour.RED, Point(-1, 2), (Point(3, 4),), (5, None))
    assert encode(told).hex() == (
        "760a00000045766572797468696e67"  # v, Everything
        "01000000000000000100000000000000"  # count, ready
        "7302000000c3a9" "620100000000"  # name, raw
        "6506000000436f6c6f757203000000524544"  # Colour RED
        "7605000000506f696e74" "ffffffffffffffff" "0200000000000000"
        "2801000000" "7605000000506f696e74" "0300000000000000" "0400000000000000"
        "2802000000" "690500000000000000" "4e"
    )  # fmt: skip


@pytest.mark.parametrize(
    "bad",
    [2**63, -(2**63) - 1, 1 << 20_000, 1.5, [], {}, {1}, object(), bytearray(b"x"), (1, [2])],
    ids=["big", "small", "huge", "float", "list", "dict", "set", "object", "bytearray", "tuple of list"],
)
def test_what_no_value_may_hold_has_no_canonical_form(bad: object) -> None:
    for told in (bad, (bad,), Point(bad, 1), Everything(1, True, bad, b"", Colour.RED, None, (), (1, ""))):  # type: ignore[arg-type]
        with pytest.raises(NoCanonicalForm):
            encode(told)


def test_a_changed_value_differs_from_its_first_encoding() -> None:
    point = Point(1, 2)
    first = encode(point)
    object.__setattr__(point, "x", 3)
    assert isinstance(point, Value)
    assert point.encode() == first
    assert point.fresh_encoding() != first


# -- Immutability ------------------------------------------------------------------------------------


class Plain:
    pass


@attrs.frozen
class Frozen:
    x: int


@pytest.mark.parametrize(
    "kind",
    [
        list, list[int], dict, dict[str, int], set, frozenset, frozenset[int], float, complex, bytearray, object, Any,
        tuple, tuple[list[int], ...], tuple[int, dict[str, int]], int | list[int], Callable[[], int], Plain,
        Frozen, type,
    ],
    ids=str,
)  # fmt: skip
def test_a_field_that_could_change_is_refused_where_the_class_is_defined(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"^Bad\.items is a .*: a value holds only int, bool, str, bytes, None"):
        value(type("Bad", (), {"__annotations__": {"good": int, "items": kind}}))


@pytest.mark.parametrize(
    "kind",
    [int, bool, str, bytes, None, Colour, Point, tuple[int, ...], tuple[()], int | None, tuple[Point | None, ...],
     tuple[tuple[str, ...], Colour]],
    ids=str,
)  # fmt: skip
def test_a_field_that_cannot_change_is_accepted(kind: Any) -> None:
    value(type("Good", (), {"__annotations__": {"items": kind}}))


def test_values_are_compared_hashed_and_ordered_by_their_fields() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert len(set(map(hash, (Point(1, 2), Point(1, 2), Point(2, 1))))) == 2
    assert sorted([Point(2, 1), Point(1, 9)]) == [Point(1, 9), Point(2, 1)]
    assert Point(1, 2) != Spot(1, 2)


STRICT = """
from protocols.raft import RequestVote
from protosim.program import reference
from protosim.run import simulate
from protosim.scenario import Scenario
m = RequestVote(1, 0, 0)
try:
    m.term = 2
except Exception as error:
    print(type(error).__name__)
else:
    print("changed")
print(simulate(reference("raft"), Scenario(protocol="raft", seed=1, events=300)).digest)
"""


def test_in_strict_mode_an_assignment_fails_where_it_stands_and_digests_stay() -> None:
    told = {
        strict: subprocess.run(
            [sys.executable, "-c", STRICT],
            env={**os.environ, "PROTOSIM_STRICT": strict, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=True, timeout=60,
        ).stdout.split()
        for strict in ("0", "1")
    }  # fmt: skip
    assert told["0"][0] == "changed"
    assert told["1"][0] == "FrozenInstanceError"
    assert told["0"][1] == told["1"][1]


def test_a_protocol_that_changes_what_it_has_sent_is_caught() -> None:
    source = reference("raft").source
    sent = "self.send(peer, AppendEntries(self.disk.term, prev, self.term_at(prev), entries, self.commit_index))"
    assert source.count(sent) == 1
    cheat = source.replace(
        sent,
        "m = AppendEntries(self.disk.term, prev, self.term_at(prev), entries, self.commit_index)\n"
        "        self.send(peer, m)\n"
        "        self.last = getattr(self, 'last', m)\n"
        "        self.last.leader_commit += 1\n"
        "        self.last = m",
    )
    run = simulate(from_source("raft", cheat), Scenario(protocol="raft", seed=1, events=3000), observers=())
    assert run.status == "error"
    assert "and changed it afterwards; messages are values" in run.failure


def test_a_protocol_that_sends_what_is_no_value_is_told_so() -> None:
    source = reference("raft").source
    sent = "self.broadcast(RequestVote(self.disk.term, "
    assert source.count(sent) == 1
    cheat = source.replace(sent, "self.broadcast(RequestVote(self.disk.term / 2, ")
    run = simulate(from_source("raft", cheat), Scenario(protocol="raft", seed=1))
    assert run.status == "error"
    assert "RequestVote(term=0.5, " in run.failure
    assert "has no canonical form" in run.failure


# -- The wire ----------------------------------------------------------------------------------------


@given(anything)
def test_what_goes_over_the_wire_comes_back_the_same(told: Any) -> None:
    assert same(from_wire(json.loads(json.dumps(to_wire(told))), CLASSES), told)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["", "bytes", "enum", *CLASSES, "RED", "Value"]),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=12,
)  # fmt: skip


@given(json_values)
@example(["enum", [], "RED"])
@example(["enum", "Point", "RED"])
@example(["enum", "Colour", ["RED"]])
@example(["Colour", "RED"])
@example(["Point", 1, True])
@example(["Point", 1, 2**63])
@example(["bytes", "zz"])
@example([[]])
@example({})
def test_a_malformed_text_is_a_value_error_or_a_value(raw: Any) -> None:
    with contextlib.suppress(ValueError):
        encode(from_wire(raw, CLASSES))


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A good text in which one place was replaced by something else."""
    raw = to_wire(draw(everything))
    place = raw
    while True:
        at = draw(st.integers(0, len(place) - 1))
        if type(place[at]) is not list or draw(st.booleans()):
            place[at] = draw(json_values)
            return raw
        place = place[at]


@given(damaged())
def test_what_is_read_from_a_damaged_text_is_what_the_class_says(raw: Any) -> None:
    try:
        told = from_wire(raw, CLASSES)
    except ValueError:
        return
    assert same(from_wire(to_wire(told), CLASSES), told)


@pytest.mark.parametrize("depth", [DEEPEST, 100_000])
def test_deep_nesting_is_refused_without_exhausting_the_stack(depth: int) -> None:
    raw: Any = 1
    for _ in range(depth):
        raw = ["", raw]
    assert from_wire(["", 1], CLASSES) == (1,)
    if depth > DEEPEST:
        with pytest.raises(ValueError, match="deep"):
            from_wire(raw, CLASSES)
    else:
        from_wire(raw, CLASSES)
    while not isinstance(raw, int):  # take it apart without recursion
        raw = raw.pop()
