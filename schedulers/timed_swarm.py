"""Timed swarm: each run is a network of its own, from one rack to a flood in which messages outlive elections.

After swarm testing (Groce, Zhang, Eide, Chen and Regehr, ISSTA 2012): diversity comes from
configurations drawn at random, more than from variety within a run. Where that paper turns
features on and off, this draws a distribution of delays, its scale, the clients' rate, and in
some runs an adversary that hunts leaders (`leader_hunter`); which faults there are is drawn
beside it (`protosim.swarm`). Timers are uniform within the range that their node asked for, but
delays may be as long as the election timeout and longer, so elections and leaders overlap.

`tail` is the distribution: 0 uniform, 1 exponential, 2 heavy-tailed. `share` is the adversary's,
0 for none.

>>> [sum(delays(tail, scale=100_000)) // 4096 for tail in (0, 1, 2)]
[49999, 49995, 59066]
>>> [max(delays(tail, scale=100_000)) for tail in (0, 1, 2)]
[100000, 450545, 995366]
"""

from protosim.api import MS
from protosim.keys import Draw, Table, exponential, heavy_tail, uniform
from protosim.schedule import Schedule

from .leader_hunter import Hunter


def draw(draw: Draw) -> dict[str, int]:
    return {
        "tail": draw.choice("tail", (0, 1, 2)),
        "scale": draw.choice("scale", (5, 20, 100, 200, 300, 500)) * MS,
        "request_every": draw.choice("request_every", (20, 50, 200)) * MS,
        "season": draw.choice("season", (400, 1000, 2000)) * MS,
        "share": draw.choice("share", (0, 0, 600, 900)),
    }


def delays(tail: int, scale: int) -> Table:
    """With a mean of about half the scale; uniform ones stay below it."""
    if tail == 0:
        return uniform(0, scale)
    if tail == 1:
        return exponential(scale // 2)
    return heavy_tail(0, scale // 2, 10 * scale)


def make(params: dict[str, int]) -> Schedule:
    share = params.get("share", 0)
    return Schedule(
        delays=delays(params.get("tail", 0), params.get("scale", 50 * MS)),
        request_gaps=exponential(params.get("request_every", 50 * MS)),
        pace=200 * MS,
        adversary=Hunter(params.get("season", 1000 * MS), share).delay if share else None,
    )
