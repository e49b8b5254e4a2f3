"""Timed: nine messages in ten are quick, the last tenth takes up to hundreds of times as long.

What a network does on a bad day: a long tail of delays, in which a message can outlive the
election that it belongs to, while most of the traffic goes on as usual. Timers are uniform within
the range that their node asked for.

>>> delays = make({"shortest": 1_000, "typical": 10_000, "longest": 1_000_000}).delays
>>> [delays[4096 * percent // 100] for percent in (0, 50, 89, 95, 99)]
[1000, 6000, 9899, 257500, 811725]
"""

from protosim.api import MS
from protosim.keys import Draw, exponential, heavy_tail
from protosim.schedule import Schedule


def draw(draw: Draw) -> dict[str, int]:
    return {
        "shortest": 1 * MS,
        "typical": draw.choice("typical", (5, 10, 30)) * MS,
        "longest": draw.choice("longest", (100, 300, 1000)) * MS,
        "request_every": draw.choice("request_every", (5, 20, 50, 100)) * MS,
    }


def make(params: dict[str, int]) -> Schedule:
    return Schedule(
        delays=heavy_tail(
            params.get("shortest", 1 * MS), params.get("typical", 10 * MS), params.get("longest", 300 * MS)
        ),
        request_gaps=exponential(params.get("request_every", 50 * MS)),
        pace=200 * MS,
    )
