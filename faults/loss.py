"""Loss: a share of all messages, chosen by their keys, never arrives.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("loss", {"per_mille": 500}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["loss"] > 300
(['loss'], True)
"""

from typing import Any

from protosim.fault import Fault
from protosim.keys import Draw, share


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"per_mille": draw.choice("loss", (10, 50, 200))}


class Loss(Fault):
    def start(self, world: Any, number: int) -> None:
        world.loss = share(self.params.get("per_mille", 50))


def make(params: dict[str, int]) -> Fault:
    return Loss(params)
