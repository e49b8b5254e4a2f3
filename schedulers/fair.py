"""A fair adversary, for liveness: it delays what hurts most, but delivers everything within a stated bound.

Timed. What hurts most are the messages from and to whoever acts as the leader, and those from and
to the latest candidate: they take almost the whole bound. All else is quick, so that rivals learn
of each other before they learn of a leader. The bound is well below any election timeout, and
nothing is lost; timers are drawn uniformly from the range that their node asked for, since
nothing elects a leader against an adversary who also sets the timers. Under it, progress is due
once the faults have ended; before that, what a fault delays further comes later than the bound.

>>> from types import SimpleNamespace
>>> world = SimpleNamespace(ids=("n1", "n2", "n3"))
>>> adversary = Adversary(bound=20_000)
>>> [adversary.delay(world, 0, dst, "AppendEntries", 2_000) for dst in (1, 2, 1, 2)]
[2000, 18000, 18000, 18000]
>>> adversary.delay(world, 1, 2, "RequestVote", 2_000)
2000
>>> print(make({"bound": 20_000}).bound)
Without faults every message arrives within 20 ms of being sent; timers are uniform in their range.
"""

from typing import Any

import attrs

from protosim.api import MS
from protosim.keys import Draw, exponential, uniform
from protosim.schedule import Schedule

from ._leader import Lead


def draw(draw: Draw) -> dict[str, int]:
    return {"bound": 20 * MS, "request_every": draw.choice("request_every", (20, 50, 100)) * MS}


@attrs.define
class Adversary:
    bound: int
    lead: Lead | None = None

    def delay(self, world: Any, src: int, dst: int, m: Any, delay: int) -> int:
        lead = self.lead
        if lead is None:
            lead = self.lead = Lead.among(len(world.ids))
        lead.saw(src, dst)
        leader = lead.leader()
        if delay <= self.bound // 4 and (leader in (src, dst) or lead.last in (src, dst)):
            return self.bound - delay  # within the last quarter, in the reverse of their order
        return delay


def make(params: dict[str, int]) -> Schedule:
    longest = params.get("bound", 20 * MS)
    adversary = Adversary(longest)
    promise = f"every message arrives within {longest / MS:g} ms of being sent"
    return Schedule(
        delays=uniform(0, longest // 4),
        request_gaps=exponential(params.get("request_every", 50 * MS)),
        pace=200 * MS,
        adversary=adversary.delay,
        bound=f"Without faults {promise}; timers are uniform in their range.",
    )
