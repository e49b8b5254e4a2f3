"""Loss: a share of all messages, chosen by their keys, never arrives."""

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
