"""Disks: the trusted image against a naive model, and the node's side against both."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protosim.api import RESET, STORE, SYNC, WRITE, Disk, Effect, Log
from protosim.disk import DiskImage, Kept, choose_kept


class Notebook(Disk):
    term: int = 0
    voted_for: str | None = None
    log: Log[str]
    trail: Log[str]


class Naive:
    """A disk as the list of the writes since it was last synced, and what was there before them."""

    def __init__(self) -> None:
        self.synced: dict[str, Any] = {"term": 0, "voted_for": None, "log": (0, ()), "trail": (0, ())}
        self.pending: list[Effect] = []

    def take(self, effect: Effect) -> None:
        if effect[0] in (WRITE, STORE, RESET):
            self.pending.append(effect)
        else:
            self.synced, self.pending = self.written(), []

    def written(self) -> dict[str, Any]:
        return self.after([(i, -1) for i in range(len(self.pending))])

    def after(self, kept: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """What is there once only these of the unsynced writes have happened, in this order."""
        disk = dict(self.synced)
        starts = self._positions()
        for place, count in kept:
            if place >= len(self.pending):
                continue
            effect = self.pending[place]
            if effect[0] == WRITE:
                disk |= dict(effect[1])
                continue
            _, field, index, entries = effect
            if effect[0] == RESET:
                disk[field] = (index, entries)
                continue
            (base, items), (expected, index) = disk[field], starts[place]
            if base == expected and index <= len(items):
                disk[field] = (base, items[:index] + (entries if count < 0 else entries[:count]))
        return disk

    def _positions(self) -> list[tuple[int, int]]:
        """For each unsynced log write the log's base, and where it began: never behind the end of the log."""
        logs = {name: (self.synced[name][0], len(self.synced[name][1])) for name in Notebook.LOGS}
        positions: list[tuple[int, int]] = []
        for effect in self.pending:
            base, index = 0, 0
            if effect[0] == STORE:
                base, length = logs[effect[1]]
                index = min(effect[2], length)
                logs[effect[1]] = (base, index + len(effect[3]))
            elif effect[0] == RESET:
                logs[effect[1]] = (effect[2], len(effect[3]))
            positions.append((base, index))
        return positions


def carry_out(image: DiskImage, effect: Effect) -> None:
    if effect[0] == WRITE:
        image.write(effect[1])
    elif effect[0] == STORE:
        image.store(*effect[1:])
    elif effect[0] == RESET:
        image.reset(*effect[1:])
    else:
        image.sync()


def contents(x: Any) -> dict[str, Any]:
    """The fields of an image or of a node's disk, a log as its base and its entries."""
    fields: dict[str, Any] = {name: getattr(x, name) for name in Notebook.FIELDS}
    return {name: (x.base, tuple(x)) if name in Notebook.LOGS else x for name, x in fields.items()}


words = st.text("abc", min_size=1, max_size=2)
pairs = st.tuples(st.just("term"), st.integers(0, 9)), st.tuples(st.just("voted_for"), st.none() | words)
writes = st.tuples(st.just(WRITE), st.one_of(st.tuples(pairs[0]), st.tuples(*pairs)))
entries = st.lists(words, max_size=3).map(tuple[str, ...])
stores = st.tuples(st.just(STORE), st.sampled_from(["log", "trail"]), st.integers(0, 6), entries)
resets = st.tuples(st.just(RESET), st.sampled_from(["log", "trail"]), st.integers(0, 4), entries)
syncs = st.just((SYNC,))
efforts: st.SearchStrategy[list[Effect]] = st.lists(st.one_of(writes, stores, resets, syncs), max_size=12)
keeps: st.SearchStrategy[list[tuple[int, int]]] = st.lists(
    st.tuples(st.integers(0, 12), st.integers(-1, 2)), max_size=6, unique_by=lambda k: k[0]
).map(sorted)

COMPACTED: list[Effect] = [(STORE, "log", 0, ("a", "b")), (SYNC,), (RESET, "log", 1, ("b",)), (STORE, "log", 1, ("c",))]
GAP: list[Effect] = [(STORE, "log", 0, ("a",)), (STORE, "log", 1, ("b",))]


@given(efforts)
def test_the_image_holds_what_was_written_and_what_is_durable(effects: list[Effect]) -> None:
    image, naive = DiskImage(Notebook), Naive()
    for effect in effects:
        carry_out(image, effect)
        naive.take(effect)
        assert contents(image) == naive.written()
        assert contents(image.durable()) == naive.synced
        assert contents(image) == naive.written(), "looking at what is durable changed the image"
        assert image.unsynced() == len(naive.pending)
        assert image.journal_sizes() == [len(e[3]) if e[0] == STORE else 0 for e in naive.pending]


@given(efforts, keeps, efforts)
@example(COMPACTED, [(1, -1)], [])  # what follows a reset means nothing without it
@example(GAP, [(1, -1)], [])  # the second entry without the first: there is no place for it
@example([(STORE, "log", 5, ("a", "b"))], [(0, 1)], [])
@example([(STORE, "log", 0, ("a", "b")), (SYNC,), (STORE, "log", 1, ("c", "d"))], [(0, 0)], [])
def test_a_crash_leaves_what_was_synced_and_what_it_keeps(
    before: list[Effect], kept: list[tuple[int, int]], after: list[Effect]
) -> None:
    image, naive = DiskImage(Notebook), Naive()
    for effect in before:
        carry_out(image, effect)
        naive.take(effect)
    expected = naive.after(kept)
    image.crash(tuple(kept))
    assert contents(image) == contents(image.durable()) == expected
    assert image.unsynced() == 0
    naive.synced, naive.pending = expected, []
    for effect in after:  # it goes on as any disk
        carry_out(image, effect)
        naive.take(effect)
    assert contents(image) == naive.written()


@given(efforts, st.integers(0, 12))
def test_a_crash_that_keeps_a_prefix_is_a_moment_of_the_past(effects: list[Effect], count: int) -> None:
    image, seen = DiskImage(Notebook), [contents(DiskImage(Notebook))]
    for effect in effects:
        carry_out(image, effect)
        if effect[0] == SYNC:
            seen = []
        seen.append(contents(image))
    image.crash(tuple((i, -1) for i in range(count)))
    assert contents(image) == seen[min(count, len(seen) - 1)]


@given(efforts, efforts)
def test_a_copy_and_its_original_go_their_own_ways(before: list[Effect], after: list[Effect]) -> None:
    image, naive = DiskImage(Notebook), Naive()
    for effect in before:
        carry_out(image, effect)
        naive.take(effect)
    twin = image.copy()
    for effect in after:
        carry_out(twin, effect)
    assert contents(image) == naive.written()
    image.crash(())
    assert contents(image) == naive.synced


@given(efforts)
def test_the_nodes_disk_and_the_trusted_image_agree_after_any_writes(effects: list[Effect]) -> None:
    told: list[Effect] = []
    disk, image = Notebook(told), DiskImage(Notebook)
    for effect in effects:
        if effect[0] == WRITE:
            disk.write(**dict(effect[1]))
        elif effect[0] == STORE and effect[2] == len(getattr(disk, effect[1])) and len(effect[3]) == 1:
            getattr(disk, effect[1]).append(effect[3][0])
        elif effect[0] == STORE:
            getattr(disk, effect[1]).store(effect[2], effect[3])
        elif effect[0] == RESET:
            getattr(disk, effect[1]).reset(effect[2], effect[3])
        for each in told:
            carry_out(image, each)
        told.clear()
        assert contents(disk) == contents(image)
    assert contents(Notebook([], image.contents())) == contents(image)  # what a restart reads


def test_a_disk_that_was_read_from_an_image_does_not_share_its_logs() -> None:
    image = DiskImage(Notebook)
    image.store("log", 0, ("a",))
    disk = Notebook([], image.contents())
    disk.log.append("b")
    assert image.log == ["a"]


# -- What a crash may keep ---------------------------------------------------------------------------


@given(st.lists(st.integers(0, 4), max_size=6), st.integers(0, 2**64 - 1))
def test_a_crash_keeps_only_writes_and_entries_that_there_are(sizes: list[int], bits: int) -> None:
    kept = choose_kept(len(sizes), sizes, bits)
    assert [place for place, _ in kept] == sorted({place for place, _ in kept})
    for place, entries in kept:
        assert 0 <= place < len(sizes)
        assert entries == -1 or 0 <= entries < sizes[place]


@pytest.mark.parametrize(
    "kept",
    [
        (),
        ((0, -1), (1, -1), (2, -1)),
        ((0, -1),),
        ((0, -1), (1, -1)),
        ((2, -1),),
        ((0, -1), (2, -1)),
        ((0, 0),),
        ((0, 1),),
        ((0, -1), (1, -1), (2, 2)),
    ],
    ids=["none", "all", "a prefix", "a longer prefix", "the last", "a subset", "torn off", "torn", "the last torn"],
)
def test_every_way_to_keep_a_part_of_three_writes_is_drawn(kept: Kept) -> None:
    assert any(choose_kept(3, (2, 0, 3), bits) == kept for bits in range(4096 * 8))


# -- What a protocol may do to its disk --------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("__setitem__", (0, "z")),
        ("__setitem__", (slice(0, 1), ["z"])),
        ("__delitem__", (0,)),
        ("__iadd__", (["z"],)),
        ("__imul__", (2,)),
        ("extend", (["z"],)),
        ("insert", (0, "z")),
        ("pop", ()),
        ("remove", ("a",)),
        ("clear", ()),
        ("sort", ()),
        ("reverse", ()),
    ],
)
def test_a_log_is_written_by_append_and_store_only(method: str, arguments: tuple[Any, ...]) -> None:
    told: list[Effect] = []
    disk = Notebook(told)
    disk.log.append("a")
    with pytest.raises(TypeError, match="append and store"):
        getattr(disk.log, method)(*arguments)
    assert disk.log == ["a"]
    assert told == [(STORE, "log", 0, ("a",))]


def test_a_log_has_no_position_before_its_first() -> None:
    with pytest.raises(IndexError, match="no position -1"):
        Notebook([]).log.store(-1, ("a",))


def test_a_field_that_the_disk_lacks_cannot_be_written() -> None:
    disk = Notebook([])
    for name in ("vote", "log"):
        with pytest.raises(AttributeError, match=f"Notebook has no field '{name}' to write; it has term, voted_for$"):
            setattr(disk, name, 1)


def test_a_field_without_a_default_is_refused_where_the_disk_is_defined() -> None:
    with pytest.raises(TypeError, match=r"Bad\.term needs a default"):
        type("Bad", (Disk,), {"__annotations__": {"term": int}})


def test_an_atomic_write_is_kept_whole_or_not_at_all() -> None:
    image = DiskImage(Notebook)
    image.write((("term", 1), ("voted_for", "n1")))
    image.write((("term", 2), ("voted_for", None)))
    image.crash(((0, -1),))
    assert (image.term, image.voted_for) == (1, "n1")
