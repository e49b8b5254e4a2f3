"""Delay spikes: for a while every message that is sent takes `times` as long, then the network is as fast as before.

`every` is the mean time between two spikes, `lasts` the mean time that one lasts. Where a
scheduler ranks messages instead of timing them (pos, pct) a spike changes nothing.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("delay_spike", {"every": 500_000, "lasts": 200_000, "times": 20}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["delay_spike"] > 3
(['delay_spike'], True)
"""

from typing import Any

from protosim.fault import Fault, Periodic
from protosim.keys import Draw


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {
        "every": pace * draw.choice("every", (2, 6, 20)),
        "lasts": pace * draw.choice("lasts", (1, 4)) // 2,
        "times": draw.choice("times", (5, 20, 100)),
    }


class DelaySpike(Periodic):
    name = "delay_spike"

    def begin(self, world: Any, number: int) -> None:
        world.spike = self.params["times"]

    def end(self, world: Any, number: int) -> None:
        world.spike = 1


def make(params: dict[str, int]) -> Fault:
    return DelaySpike({"every": 600_000, "lasts": 200_000, "times": 20, **params})
