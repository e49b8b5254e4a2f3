"""Symmetric partition: the cluster falls into two groups that do not hear each other, of whatever sizes.

>>> from faults._partition import picture
>>> print(picture(shape(5, bits=1 << 32)))
n1 reaches n3 n5
n2 reaches n4
n3 reaches n1 n5
n4 reaches n2
n5 reaches n1 n3
"""

from protosim.fault import Fault
from protosim.keys import Draw

from ._partition import Masks, Partition, apart, draw_periods, shuffled


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return draw_periods(draw, pace)


def shape(nodes: int, bits: int) -> Masks:
    order = shuffled(nodes, bits)
    size = 1 + (bits >> 32) % max(1, nodes - 1)
    return apart(nodes, order[:size], order[size:])


def make(params: dict[str, int]) -> Fault:
    return Partition("partition_symmetric", shape, params)
