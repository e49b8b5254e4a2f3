"""Isolation of a single node, both ways: a random one, or the apparent leader, whom clients last got an answer from.

`leader` is the share (1/1000) of times that it is the apparent leader, if there is one; clients
know it, so no node is asked. `node`, if it is not 0, says which one it always is, from 1.

>>> from faults._partition import picture
>>> print(picture(shape(3, bits=1)))
n1 reaches n3
n2 reaches nobody
n3 reaches n1
"""

from typing import Any

from protosim.fault import Fault
from protosim.keys import Draw

from ._partition import Masks, Partition, apart, draw_periods, shuffled


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {**draw_periods(draw, pace), "leader": draw.choice("leader", (0, 500, 1000))}


def shape(nodes: int, bits: int) -> Masks:
    return isolated(nodes, shuffled(nodes, bits)[0])


def isolated(nodes: int, one: int) -> Masks:
    return apart(nodes, [one], [node for node in range(nodes) if node != one])


class IsolateOne(Partition):
    def masks(self, world: Any) -> Masks:
        if self.params["node"]:
            return isolated(len(world.ids), (self.params["node"] - 1) % len(world.ids))
        leader = world.believed
        if leader is not None and self.bits(world, "leader") % 1000 < self.params["leader"]:
            return isolated(len(world.ids), leader)
        return super().masks(world)


def make(params: dict[str, int]) -> Fault:
    return IsolateOne("isolate_one", shape, {"leader": 500, "node": 0, **params})
