"""States as values: equal exactly when what they hold is, and back again."""

from enum import Enum
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as some

from protosim.api import Command, KeyValueStore, Log, Observer, always, sent, warning
from protosim.errors import UserError
from protosim.explore.bounds import Bounds
from protosim.explore.freeze import freeze, rename, thaw
from protosim.explore.space import Space
from protosim.explore.watch import _entangled
from protosim.program import reference


class Mood(Enum):
    GOOD = 1


@attrs.define
class Box:
    content: list[int]


ATOMS = some.none() | some.booleans() | some.integers() | some.text(max_size=3) | some.just(Mood.GOOD)
ANYTHING = some.recursive(
    ATOMS,
    lambda inner: some.lists(inner, max_size=3)
    | some.dictionaries(some.integers() | some.text(max_size=2), inner, max_size=3)
    | some.sets(ATOMS, max_size=3)
    | some.tuples(inner, inner),
    max_leaves=8,
)


@given(ANYTHING)
def test_what_is_frozen_can_be_hashed_and_thaws_to_the_same(x: Any) -> None:
    frozen = freeze(x, "x")
    assert {frozen: 1}[freeze(x, "x")] == 1
    assert thaw(frozen) == x


@given(ANYTHING, ANYTHING)
def test_different_things_freeze_to_different_values(a: Any, b: Any) -> None:
    if freeze(a, "x") == freeze(b, "x"):
        assert a == b


def test_objects_are_frozen_by_what_they_hold() -> None:
    store, box = KeyValueStore(), Box([1])
    store.apply(Command("put", "x", 1))
    twin = thaw(freeze([store, box], "x"))
    assert twin[0].registers == {"x": 1}
    assert twin[1] == box
    assert twin[1].content is not box.content


def test_dicts_keep_their_order_but_those_by_node_where_nodes_are_alike() -> None:
    ids = ("n1", "n2")
    assert freeze({2: 0, 1: 0}, "x", ids) != freeze({1: 0, 2: 0}, "x", ids)
    assert freeze({"n2": 0, "n1": 0}, "x", ids) == freeze({"n1": 0, "n2": 0}, "x", ids)
    assert freeze({"n2": 0, "n1": 0}, "x") != freeze({"n1": 0, "n2": 0}, "x")


def test_renaming_reaches_every_corner_and_back() -> None:
    ids, there = ("n1", "n2"), {"n1": "n2", "n2": "n1"}
    held = freeze({"votes": {"n1"}, "next": {"n1": 1, "n2": 2}, "asked": Command("put", "n1", 1)}, "x", ids)
    renamed = thaw(rename(held, there, ids))
    assert renamed == {"votes": {"n2"}, "next": {"n2": 1, "n1": 2}, "asked": Command("put", "n2", 1)}
    assert rename(rename(held, there, ids), there, ids) == held


@pytest.mark.parametrize("x", [iter(()), Log([1]), [{"a": object}, {"b": iter(())}]])
def test_what_cannot_be_compared_is_named(x: Any) -> None:
    with pytest.raises(UserError, match=r"Node\.field"):
        freeze(x, "Node.field")


class Watcher(Observer):
    def begin(self) -> None:
        self.seen, self.votes, self.shared = 0, 0, 0

    @always("Nothing.", "none")
    @sent(Command)
    def safe(self, *_: Any) -> str | None:
        return self._look()

    def _look(self) -> str | None:
        self.seen += self.shared
        return None

    @warning("Nothing.", "none")
    @sent(Command)
    def alone(self, *_: Any) -> None:
        self.votes += 1

    @warning("Nothing.", "none")
    @sent(Command)
    def with_others(self, *_: Any) -> None:
        self.shared += 1


def test_an_early_warning_is_left_out_only_if_it_keeps_its_history_to_itself() -> None:
    told = [Watcher.safe, Watcher.alone, Watcher.with_others]
    assert not _entangled(Watcher, Watcher.alone, told, [Watcher.safe])
    assert _entangled(Watcher, Watcher.with_others, told, [Watcher.safe])


def test_votes_of_the_past_tell_no_states_of_raft_apart_unless_the_warning_is_asked_for() -> None:
    def told(*warnings: str) -> set[str]:
        watch = Space(reference("raft"), Bounds(), {}, warnings=warnings, ordered=False).watch
        return {function.__name__ for subscribers in watch.on.values() for _, function, _ in subscribers}

    assert "one_vote_per_term" not in told()
    assert "one_vote_per_term" in told("one_vote_per_term")
    assert "election_safety" in told()
