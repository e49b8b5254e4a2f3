"""One-way partition: one group's messages do not reach the other, which still reaches it.

Deaf nodes that go on talking, and mute ones that go on listening: what a full link in one
direction does.

>>> from faults._partition import picture
>>> print(picture(shape(3, bits=1)))
n1 reaches n2 n3
n2 reaches nobody
n3 reaches n1 n2
"""

from protosim.fault import Fault
from protosim.keys import Draw

from ._partition import Masks, Partition, draw_periods, mask, shuffled


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return draw_periods(draw, pace)


def shape(nodes: int, bits: int) -> Masks:
    order = shuffled(nodes, bits)
    size = 1 + (bits >> 32) % max(1, nodes - 1)
    unreached = mask(order[size:])
    return [unreached if node in order[:size] else 0 for node in range(nodes)]


def make(params: dict[str, int]) -> Fault:
    return Partition("partition_one_way", shape, params)
