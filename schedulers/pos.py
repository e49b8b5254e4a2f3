"""Partial order sampling: every pending event has a random priority, and the highest goes next.

Yuan, Yang and Gu, "Partial Order Aware Concurrency Sampling", CAV 2018. After an event at a node,
the events that race with it are given new priorities: those pending at the same node. So every
partial order of the run's events is sampled more evenly than by a random walk, which prefers
orders with many linear extensions.

Departures. Two deliveries or timeouts race when they are at one node; there is no finer
dependence. Timeouts are always pending, so a fair draw would have as many as deliveries: a
timeout takes the worst of `patience` draws. Clients and faults are timed, a step of the walk
being a millisecond. There are no delays, so what stretches them (reordering, delay spikes) does
nothing here: everything that is pending may overtake everything.

Decisions are keyed, but they are about order: where one message is lost, only about a tenth of
Raft's later messages are sent again as they were, where a timed run keeps nearly all.

>>> [worst_of(draws, seed=3) * 100 >> 64 for draws in (1, 2, 4, 8)]
[56, 86, 86, 93]
"""

from heapq import heapify
from typing import Any

import attrs

from protosim.api import MS
from protosim.keys import MASK, SIZE, Draw, derive, exponential, mix
from protosim.schedule import Schedule
from protosim.world import DELIVER, ODD


def draw(draw: Draw) -> dict[str, int]:
    return {"patience": draw.choice("patience", (1, 2, 2, 3, 4)), "request": draw.choice("request", (3, 10, 30))}


@attrs.define
class PartialOrderSampling:
    """A rank is 64 bits, the lowest first. A new one is mixed from the old one and the event."""

    patience: int
    armed: dict[tuple[int, str], int] = attrs.field(factory=dict[tuple[int, str], int])  # how often each timer was

    def rank(self, world: Any, kind: int, entry: tuple[Any, ...], due: int) -> int:
        if kind == DELIVER:  # the delay tells a duplicate from its original
            return mix(world.seed ^ entry[3] ^ ((due - world.now) * ODD & MASK))
        times = self.armed[entry] = self.armed.get(entry, 0) + 1
        return worst_of(self.patience, derive(world.seed, world.ids[entry[0]], entry[1], times))

    def after_event(self, world: Any) -> None:
        """Draw anew for what races with the event that just was: all that is pending at its node."""
        at, ranked, timers = world.at, world.ranked, world.timers[world.at]
        for place, entry in enumerate(ranked):
            if entry[3] != at:
                continue
            rank = entry[0]
            if entry[2] == DELIVER:
                fresh = mix(rank ^ entry[6])
            else:
                fresh = worst_of(self.patience, rank)
                slot = timers.get(entry[4])
                if slot is not None and slot[1] == rank:
                    slot[1] = fresh
            ranked[place] = (fresh, *entry[1:])
        heapify(ranked)


def worst_of(draws: int, seed: int) -> int:
    """The worst of some draws of 64 bits."""
    worst = 0
    for _ in range(draws):
        seed = mix(seed ^ ODD)
        worst = max(worst, seed)
    return worst


def make(params: dict[str, int]) -> Schedule:
    policy = PartialOrderSampling(params.get("patience", 2))
    return Schedule(
        delays=tuple(range(SIZE)),
        request_gaps=exponential(params.get("request", 10) * MS),
        pace=20 * MS,
        rank=policy.rank,
        after_event=policy.after_event,
    )
