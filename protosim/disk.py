"""The trusted side of a disk: what a node has written, and what a crash would leave of it.

The image holds what was written. Each unsynced write carries its undo, so that a sync costs nothing but forgetting
these, and a crash undoes them and writes again the part that its policy keeps.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from protosim.api import RESET, STORE, WRITE, Disk, Log

Kept = tuple[tuple[int, int], ...]
"""Which unsynced writes a crash keeps: (position in the journal, how many entries of a log write; -1 for all)."""


class DiskImage:
    """Fields by name, a log as an `api.Log`. For observers read-only."""

    def __init__(self, schema: type[Disk]) -> None:
        self.__dict__.update(schema.blank())
        self._journal: list[tuple[Any, ...]] = []

    if TYPE_CHECKING:  # at run time it would slow down every field

        def __getattr__(self, name: str) -> Any: ...

    def contents(self) -> dict[str, Any]:
        return {name: content for name, content in self.__dict__.items() if name != "_journal"}

    def write(self, pairs: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
        """One atomic write of fields; returns what they held before."""
        fields = self.__dict__
        before = {name: fields[name] for name, _ in pairs}
        fields.update(pairs)
        self._journal.append((WRITE, pairs, before))
        return before

    def store(self, field: str, index: int, entries: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
        """Replace a log from `index` on, or from its end if that comes first; returns from where, and what was."""
        log = self.__dict__[field]
        index = min(index, len(log))
        removed = tuple(log[index:])
        _put(log, index, entries)
        self._journal.append((STORE, field, index, entries, removed, log.base))
        return index, removed

    def reset(self, field: str, base: int, entries: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]]:
        """Replace a log as a whole: one atomic write. Returns its base and entries before."""
        log = self.__dict__[field]
        before = (log.base, tuple(log))
        self.__dict__[field] = Log(entries, base)
        self._journal.append((RESET, field, base, entries, before))
        return before

    def sync(self) -> None:
        self._journal.clear()

    def unsynced(self) -> int:
        return len(self._journal)

    def journal_sizes(self) -> list[int]:
        """For each unsynced write the entries of a log write, 0 for fields."""
        return [len(write[3]) if write[0] == STORE else 0 for write in self._journal]

    def durable(self) -> "DiskImage":
        """What a crash that keeps nothing unsynced would leave: this image itself if all is synced."""
        if not self._journal:
            return self
        twin = self.copy()
        twin.crash(())
        return twin

    def crash(self, kept: Kept) -> None:
        """Undo the unsynced writes, then write again those that are kept, in order."""
        journal = self._journal
        for write in reversed(journal):
            if write[0] == WRITE:
                self.__dict__.update(write[2])
            elif write[0] == STORE:
                _put(self.__dict__[write[1]], write[2], write[4])
            else:
                base, removed = write[4]
                self.__dict__[write[1]] = Log(removed, base)
        for position, entries in kept:
            if position < len(journal):
                self._redo(journal[position], entries)
        self._journal = []

    def _redo(self, write: tuple[Any, ...], entries: int) -> None:
        if write[0] == WRITE:
            self.__dict__.update(write[1])
        elif write[0] == RESET:
            self.__dict__[write[1]] = Log(write[3], write[2])
        else:
            log, index = self.__dict__[write[1]], write[2]
            if index <= len(log) and log.base == write[5]:  # recovery ends a log at its first gap
                _put(log, index, write[3] if entries < 0 else write[3][:entries])

    def copy(self) -> "DiskImage":
        twin = object.__new__(DiskImage)
        for name, content in self.__dict__.items():
            twin.__dict__[name] = Log(content, content.base) if isinstance(content, Log) else content
        twin._journal = self._journal[:]
        return twin


def _put(log: Log[Any], index: int, entries: Sequence[Any]) -> None:
    """What `Log.store` does, without asking for a write."""
    list.__setitem__(log, slice(index, None), entries)


def choose_kept(journal: int, sizes: Sequence[int], bits: int) -> Kept:
    """Which of the unsynced writes a crash keeps, from random bits: none, a prefix, all, a subset, or a torn last one.

    `sizes` are the entries in each log write (0 for a write of fields, which is atomic).
    """
    if not journal:
        return ()
    kind, bits = bits & 7, bits >> 3
    if kind < 3:
        return ()
    if kind == 3:
        return tuple((i, -1) for i in range(journal))
    if kind == 4:
        return tuple((i, -1) for i in range(bits % (journal + 1)))
    if kind == 5:
        return tuple((i, -1) for i in range(journal) if bits >> i & 1)
    last = bits % journal
    torn = ((last, (bits >> 8) % sizes[last]),) if sizes[last] else ((last, -1),)
    return tuple((i, -1) for i in range(last)) + torn
