"""Probabilistic concurrency testing, for messages: chains with random priorities, and a few random points of change.

Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with Probabilistic
Guarantees of Finding Bugs", ASPLOS 2010; Ozkan, Majumdar, Niksic, Befrouei and Weissenbacher,
"Randomized Testing of Distributed Systems with Probabilistic Guarantees", OOPSLA 2018. The first
event of the chain with the highest priority goes next; at depth - 1 random places the chain that
just had its turn falls behind. A bug of depth d, one that needs d - 1 orderings, is hit with a
stated probability.

Departures. Chains are fixed: each link is one, in the order of sending, and so is each timer of
each node; OOPSLA 2018 decomposes into chains as it goes. A timer is pending all the time, so one
with a high priority would starve everything: each fires once at its chain's priority, then stands
in line behind all messages and all other timers. A chain that falls behind would never have its
turn after that, so it falls behind the next few timeouts only, at most `patience`. The bound
therefore speaks of orderings that no later timeout decides. Clients and faults are timed, a step
being a millisecond; there are no delays, so what stretches them (reordering, delay spikes) does
nothing.

Decisions are keyed, but they are about order: where one message is lost, only about three tenths
of Raft's later messages are sent again as they were, where a timed run keeps nearly all.

>>> import textwrap
>>> print(textwrap.fill(make({"depth": 3, "length": 1500}).bound, 90))
A bug of depth 3 within 1500 events, that no timeout in between decides, is hit with a
probability of at least 1/(chains * 1500^2): with 3 nodes of 2 timers each, 12 chains, 1
in 27,000,000.
"""

from heapq import heapify
from typing import Any

import attrs

from protosim.api import MS
from protosim.keys import SIZE, Draw, derive, exponential
from protosim.schedule import Schedule
from protosim.world import DELIVER

Chain = tuple[int, int | str]
"""A link (from, to), or a node's timer (node, timer)."""

_BEHIND = 1 << 32
"""Levels from here on are behind every chain's first level; the lowest goes first."""


def draw(draw: Draw) -> dict[str, int]:
    return {
        "depth": draw.choice("depth", (3, 10, 30, 100)),
        "length": 1500,
        "patience": draw.choice("patience", (2, 6, 20)),
        "request": draw.choice("request", (3, 10, 30)),
    }


@attrs.define
class ChainPriorities:
    """The level of each chain that has had an event, and the events after which one falls behind."""

    depth: int
    length: int
    patience: int
    seed: int = -1
    changes: list[int] = attrs.field(factory=list[int])  # event numbers, the next one last
    levels: dict[Chain, int] = attrs.field(factory=dict[Chain, int])
    last: int = _BEHIND  # the level of the timer that was armed last

    def rank(self, world: Any, kind: int, entry: tuple[Any, ...], due: int) -> int:
        if kind == DELIVER:
            chain = entry[1], entry[0]
        elif entry in self.levels:  # this timer has fired: it stands in line
            self.last += 1
            return self.last
        else:
            chain = entry
        level = self.levels.get(chain)
        if level is None:
            level = self.levels[chain] = derive(world.seed, "chain", *chain) % _BEHIND
        return level

    def after_event(self, world: Any) -> None:
        if self.seed != world.seed:  # at the start, and where another seed takes over
            self.seed = world.seed
            drawn = (derive(world.seed, "change", j) % self.length + 1 for j in range(1, self.depth))
            self.changes = sorted((n for n in drawn if n >= world.events), reverse=True)
        while self.changes and self.changes[-1] <= world.events:
            self._fall_behind(world, self.changes.pop())

    def _fall_behind(self, world: Any, change: int) -> None:
        """The chain of the event that just was stands behind some of the timeouts to come."""
        event, at = world.pending, world.at
        if event[0] != DELIVER:
            return  # a timer stands at the end of the line anyway
        src = world.index[event[1]]
        level = self.last + 1 + derive(world.seed, "patience", change) % self.patience
        self.levels[src, at] = level
        world.ranked[:] = [
            (level, *entry[1:]) if entry[2:5] == (DELIVER, at, src) else entry for entry in world.ranked
        ]
        heapify(world.ranked)


def bound(depth: int, length: int) -> str:
    """The guarantee as a sentence, with numbers for three nodes of two timers each."""
    chains = 3 * 2 + 3 * 2
    runs = chains * length ** (depth - 1)
    return (
        f"A bug of depth {depth} within {length} events, that no timeout in between decides, is hit with a probability "
        f"of at least 1/(chains * {length}^{depth - 1}): with 3 nodes of 2 timers each, {chains} chains, 1 in {runs:,}."
    )


def make(params: dict[str, int]) -> Schedule:
    depth, length = params.get("depth", 3), params.get("length", 1500)
    policy = ChainPriorities(depth, length, params.get("patience", 6))
    return Schedule(
        delays=(0,) * SIZE,
        request_gaps=exponential(params.get("request", 10) * MS),
        pace=20 * MS,
        rank=policy.rank,
        after_event=policy.after_event,
        bound=bound(depth, length),
    )
