"""Timed: every message takes a uniform time, every timer a uniform time within the range that its node asked for.

The gentle baseline: what a network does on a good day. Messages overtake each other, since delays
are independent.

>>> delays = make({"shortest": 1_000, "longest": 10_000}).delays
>>> min(delays), sum(delays) // len(delays), max(delays)
(1000, 5499, 10000)
"""

from protosim.api import MS
from protosim.keys import Draw, exponential, uniform
from protosim.schedule import Schedule


def draw(draw: Draw) -> dict[str, int]:
    return {"shortest": 1 * MS, "longest": 10 * MS, "request_every": draw.choice("request_every", (20, 50, 100)) * MS}


def make(params: dict[str, int]) -> Schedule:
    return Schedule(
        delays=uniform(params.get("shortest", 1 * MS), params.get("longest", 10 * MS)),
        request_gaps=exponential(params.get("request_every", 50 * MS)),
        pace=200 * MS,
    )
