"""Duplication: a share of all messages arrives twice, the second time after up to three further delays.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("duplication", {"per_mille": 500}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["duplication"] > 300
(['duplication'], True)
"""

from typing import Any

from protosim.fault import Fault
from protosim.keys import Draw, share


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"per_mille": draw.choice("duplication", (10, 50, 200))}


class Duplication(Fault):
    def start(self, world: Any, number: int) -> None:
        world.duplication = share(self.params.get("per_mille", 50))


def make(params: dict[str, int]) -> Fault:
    return Duplication(params)
