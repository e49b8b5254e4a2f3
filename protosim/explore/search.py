"""Breadth first: every state within the bounds, the nearest first, so that what is found broken is found shortest."""

import contextlib
import gc
import time
from array import array
from collections.abc import Callable, Generator
from typing import Any, Literal, Protocol

import attrs

from protosim.explore.bounds import Limits, peak
from protosim.watchdog import watched
from protosim.world import FAULT

Ended = Literal["exhausted", "broken", "failed", "states", "seconds", "memory", "interrupt", "clocks"]
LOOK = 512  # states after which limits and progress are looked at


@attrs.define
class Pulse:
    """For the watchdog: what is being worked on."""

    ids: tuple[str, ...]
    events: int = 0
    at: int = 0
    pending: tuple[Any, ...] = (FAULT,)  # neither a message, a timeout nor a request


class System(Protocol):
    """What can be searched. States are hashable and ordered; events are small numbers."""

    pulse: Pulse

    def initial(self) -> tuple[Any, Any]:
        """The state to begin with, and what is broken in it, or None."""
        ...

    def successors(self, state: Any) -> list[tuple[int, Any, Any]]:
        """(event, state afterwards, what the event breaks or None), in a fixed order."""
        ...

    def judge(self, state: Any) -> Any:
        """What is broken in a state that has just been reached for the first time, or None."""
        ...


@attrs.define
class Explored:
    """How far a search came, and what it found."""

    ended: Ended = "exhausted"
    states: int = 1  # distinct
    steps: int = 0  # from a state to a next one
    depth: int = 0  # events of the longest of the shortest ways to a state
    cpu: float = 0.0  # seconds
    before: int = 0  # bytes: the process's peak when the search began
    peak: int = 0  # bytes: at its end
    broken: Any = None
    path: tuple[int, ...] = ()  # to what is broken: which of the successors, each time

    @property
    def rate(self) -> float:
        """Distinct states a second of CPU time."""
        return self.states / self.cpu if self.cpu else 0.0

    @property
    def bytes_a_state(self) -> float:
        """What the peak grew by; nothing can be said of small searches."""
        return (self.peak - self.before) / self.states


@attrs.define
class Search:
    """One search. Of each state it keeps by which choice in which other one it was reached first."""

    system: System
    limits: Limits = attrs.field(factory=Limits)
    depth: int | None = None
    progress: Callable[[Explored], None] | None = None
    found: Explored = attrs.field(factory=Explored)
    parents: "array[int]" = attrs.field(factory=lambda: array("I", [0]))
    choices: "array[int]" = attrs.field(factory=lambda: array("I", [0]))

    def run(self) -> Explored:
        found, started = self.found, time.process_time()
        found.before = peak()
        with watched(self.system.pulse), without_collector():
            try:
                self._run()
            except KeyboardInterrupt:
                found.ended = "interrupt"
        found.cpu = time.process_time() - started
        found.peak = peak()
        return found

    def _run(self) -> None:
        found, successors, deadline = self.found, self.system.successors, self.limits.deadline()
        parents, choices, pulse = self.parents.append, self.choices.append, self.system.pulse
        judge = self.system.judge
        first, broken = self.system.initial()
        if broken is not None:
            self._end(broken, ())
            return
        seen, frontier, number = {first}, [first], 0
        while frontier and (self.depth is None or found.depth < self.depth):
            following: list[Any] = []
            for state in frontier:
                pulse.events += 1
                nexts = successors(state)
                found.steps += len(nexts)
                for choice, (_, after, broken) in enumerate(nexts):
                    if after not in seen:
                        seen.add(after)
                        following.append(after)
                        parents(number)
                        choices(choice)
                        broken = judge(after)
                    if broken is not None:
                        self._end(broken, (*self.path_to(number), choice))
                        return
                number += 1
                if not number % LOOK and self._over(len(seen), deadline):
                    return
            found.states = len(seen)
            found.depth += bool(following)
            frontier = following

    def _over(self, states: int, deadline: float) -> bool:
        """Whether a limit has been reached."""
        found = self.found
        found.states = states
        if self.progress is not None:
            self.progress(found)
        found.ended = self.limits.reached(states, deadline) or "exhausted"
        return found.ended != "exhausted"

    def _end(self, broken: Any, path: tuple[int, ...]) -> None:
        found = self.found
        found.broken, found.path = broken, path
        found.states = len(self.parents)
        found.depth = max(found.depth, len(path))
        found.ended = "broken" if broken.invariant is not None else "failed"

    def path_to(self, number: int) -> tuple[int, ...]:
        """How the state of this number was reached first: which of the successors, each time."""
        path: list[int] = []
        while number:
            path.append(self.choices[number])
            number = self.parents[number]
        return tuple(reversed(path))


@contextlib.contextmanager
def without_collector() -> Generator[None]:
    """Millions of tuples that refer to nothing but numbers are no work for the collector of cycles."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
