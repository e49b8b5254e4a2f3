"""Flapping: a link or a partition that comes and goes quickly: some messages of an exchange pass, some do not.

A burst of `flaps` short partitions, all in one shape, each `lasts` long on average, with pauses
as long; a burst starts `every` so often. The shape is symmetric or one way, as the key decides.

>>> from faults._partition import picture
>>> print(picture(shape(3, bits=1)))
n1 reaches n2 n3
n2 reaches nobody
n3 reaches n1 n2
"""

from typing import Any

from protosim.fault import Fault, around
from protosim.keys import Draw

from . import partition_one_way, partition_symmetric
from ._partition import Masks, Partition


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {
        "every": pace * draw.choice("every", (2, 6, 20)),
        "lasts": max(1, pace // draw.choice("lasts", (5, 20))),
        "flaps": draw.choice("flaps", (3, 10, 30)),
    }


def shape(nodes: int, bits: int) -> Masks:
    return partition_symmetric.shape(nodes, bits) if bits >> 63 else partition_one_way.shape(nodes, bits)


class Flapping(Partition):
    """The payload is the burst's masks and how many times they still go up or down; None starts a burst."""

    def _wait(self, world: Any, number: int) -> None:
        world.after(around(self.params["every"], self.bits(world, "every")), number, None)

    def fire(self, world: Any, number: int, payload: Any) -> None:
        masks, left = payload or (self.masks(world), 2 * self.params["flaps"])
        if left == 0:
            self._wait(world, number)
            return
        if left % 2:
            self.end(world, number)
        else:
            world.cut_links(number, masks)
            self.count(world, self.name)
        world.after(around(self.params["lasts"], self.bits(world, "lasts")), number, (masks, left - 1))


def make(params: dict[str, int]) -> Fault:
    return Flapping("flapping", shape, {"lasts": 20_000, "flaps": 10, **params})
