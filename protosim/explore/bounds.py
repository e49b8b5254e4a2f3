"""Bounds: how much of each kind of event an exploration has, and where it ends at the latest."""

import importlib
import math
import sys
import time
from typing import Any, Literal

import attrs

COUNTED = ("timeouts", "requests", "crashes", "cuts", "duplications")


@attrs.frozen(kw_only=True)
class Bounds:
    """What is explored. Every schedule within these, and no other."""

    nodes: int = 3
    timeouts: int = 2  # of all timers together
    timers: dict[str, int | None] = attrs.field(factory=dict)  # of these timers alone; None: any number, uncounted
    requests: int = 2
    commands: tuple[str, ...] = ()  # in words, that each request chooses from; none: one of the workload
    crashes: int = 1  # each with a restart, between two events
    cuts: int = 0  # crashes between two effects of an event
    duplications: int = 0
    messages: int = 2  # that are in flight at once and will ever arrive
    depth: int | None = None  # events of a schedule
    lossless: bool = False  # a message too many does not happen, instead of one of them being lost

    def __str__(self) -> str:
        """ "3 nodes with at most 2 timeouts, 1 crash and 2 messages on their way; no cuts" """
        said = [_count(getattr(self, name), name) for name in COUNTED if getattr(self, name)]
        said += [f"{number} of the timer {timer}" for timer, number in self.timers.items() if number is not None]
        said += [_count(self.depth, "events")] if self.depth is not None else []
        missing = "".join(f"; no {name}" for name in COUNTED if not getattr(self, name))
        most = ", ".join([*said, _count(self.messages, "messages") + " on their way"])
        missing += "".join(f"; any number of the timer {timer}" for timer, n in self.timers.items() if n is None)
        missing += f"; requests are {' or '.join(self.commands)}" if self.commands and self.requests else ""
        missing += "; no message lost" if self.lossless else ""
        return f"{_count(self.nodes, 'nodes')} with at most {most}{missing}"


def _count(number: int, things: str) -> str:
    """ "2 crashes", "1 crash" """
    one = things.removesuffix("es" if things.endswith("shes") else "s")
    return f"{number} {one if number == 1 else things}"


@attrs.frozen(kw_only=True)
class Limits:
    """Where a search gives up: that is inconclusive."""

    states: int | None = None
    seconds: float | None = None
    megabytes: int | None = None  # of the whole process

    def deadline(self) -> float:
        """Of a search that begins now, on the monotonic clock."""
        return math.inf if self.seconds is None else time.monotonic() + self.seconds

    def reached(self, states: int, deadline: float) -> Literal["states", "seconds", "memory"] | None:
        """Which of them, if any."""
        if self.states is not None and states >= self.states:
            return "states"
        if time.monotonic() >= deadline:
            return "seconds"
        return "memory" if self.megabytes is not None and peak() >= self.megabytes << 20 else None


def peak() -> int:
    """The most memory that this process has had, in bytes; 0 where the system does not say."""
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:
        return 0
    most: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class Spending:
    """Counters of events. What has been spent of them all is one small number; 0 is nothing."""

    def __init__(self, most: dict[str, int]) -> None:
        self.most = most
        self.counts: list[tuple[int, ...]] = [(0,) * len(most)]
        self._numbers = {self.counts[0]: 0}
        self._after: dict[tuple[int, tuple[str, ...]], int] = {}

    def spend(self, spent: int, counters: tuple[str, ...]) -> int:
        """What has been spent after one more event that all of these count; -1 if one of them is used up."""
        after = self._after.get((spent, counters))
        if after is None:
            after = self._after[spent, counters] = self._add(spent, counters)
        return after

    def count(self, spent: int, counter: str) -> int:
        return dict(zip(self.most, self.counts[spent], strict=True))[counter]

    def _add(self, spent: int, counters: tuple[str, ...]) -> int:
        counts = dict(zip(self.most, self.counts[spent], strict=True))
        for counter in counters:
            counts[counter] += 1
            if counts[counter] > self.most[counter]:
                return -1
        total = tuple(counts.values())
        if total not in self._numbers:
            self._numbers[total] = len(self.counts)
            self.counts.append(total)
        return self._numbers[total]


def spending(bounds: Bounds) -> Spending:
    most: dict[str, int] = {name: getattr(bounds, name) for name in COUNTED}
    return Spending(most | {f"timer {name}": number for name, number in bounds.timers.items() if number is not None})
