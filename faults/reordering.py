"""Reordering: a share of all messages takes many times as long as the rest, so that whole exchanges overtake it.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("reordering", {"per_mille": 500, "times": 20}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["reordering"] > 300
(['reordering'], True)
"""

from typing import Any

from protosim.fault import Fault
from protosim.keys import Draw, share


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"per_mille": draw.choice("share", (50, 200, 500)), "times": draw.choice("times", (5, 20, 100))}


class Reordering(Fault):
    def start(self, world: Any, number: int) -> None:
        world.slow = share(self.params.get("per_mille", 200))
        world.slow_factor = self.params.get("times", 20)


def make(params: dict[str, int]) -> Fault:
    return Reordering(params)
