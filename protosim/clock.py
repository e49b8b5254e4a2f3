"""The clock: a simpy environment in integer microseconds, with a tuple fast path.

Its heap holds tuples (due, order, kind, ...). The world pushes its own kinds and pops them itself; simpy's events and
processes live in the same heap, so that a fault plan or a workload may be written as a simpy process. A run that has
processes cannot be copied: a generator has no twin.
"""

from heapq import heappop, heappush
from typing import Any

import simpy
from simpy.core import EmptySchedule, Infinity

SIMPY = -1
"""The kind of a heap entry that belongs to simpy."""

_LATER = 1 << 62  # orders simpy's normal priority behind its urgent one at the same instant


class Clock(simpy.Environment):
    """Time is whole microseconds."""

    _now: int

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        self.order = 0
        self.heap: list[tuple[Any, ...]] = []
        self._queue: Any = self.heap  # what simpy calls it

    def call_at(self, due: int, kind: int, *entry: Any) -> None:
        """Put an entry of the world's own kind into the heap."""
        self.order = order = self.order + 1
        heappush(self.heap, (due, order + _LATER, kind, *entry))

    def schedule(self, event: Any, priority: Any = 1, delay: Any = 0) -> None:
        """simpy's way in. Delays are whole microseconds."""
        if delay != int(delay):
            raise ValueError(f"a delay of {delay}: time is in whole microseconds here")
        self.order = order = self.order + 1
        heappush(self.heap, (self._now + int(delay), order + (_LATER if priority else 0), SIMPY, event))

    def peek(self) -> Any:
        return self.heap[0][0] if self.heap else Infinity

    def step(self) -> None:
        """Process the next entry, which must be simpy's."""
        if not self.heap:
            raise EmptySchedule
        self.handle(heappop(self.heap))

    def handle(self, entry: tuple[Any, ...]) -> None:
        """Run the callbacks of a simpy event."""
        self._now = entry[0]
        if entry[2] != SIMPY:
            raise RuntimeError("this entry belongs to a world: advance the world instead")
        event = entry[3]
        callbacks, event.callbacks = event.callbacks, None
        for callback in callbacks:
            callback(event)
        if not event._ok and not hasattr(event, "_defused"):
            raise event._value
