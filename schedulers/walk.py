"""Untimed: a race of exponentials over everything that is enabled.

Deliveries, timeouts, client requests, crashes and restarts (the crash fault) race for the next
place, each with an exponential waiting time of its own rate. Exponentials have no memory, so this
is a random walk over the enabled events, weighted by kind, that needs no scan of what is pending;
timeouts come whatever range a node asked for. Weights: a delivery 1, a timer 1/`timer`, a client
1/`request`.

>>> schedule = make({"timer": 10, "request": 3})
>>> [round(sum(waits) / sum(schedule.delays), 1) for waits in (schedule.timers, schedule.request_gaps)]
[10.0, 3.0]
"""

from protosim.api import MS
from protosim.keys import Draw, exponential
from protosim.schedule import Schedule


def draw(draw: Draw) -> dict[str, int]:
    return {"timer": 10, "request": 3}


def make(params: dict[str, int]) -> Schedule:
    timer = params.get("timer", 10)
    return Schedule(
        delays=exponential(1 * MS),
        request_gaps=exponential(params.get("request", 3) * MS),
        timers=exponential(timer * MS),
        pace=timer * MS,
    )
