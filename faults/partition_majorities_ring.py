"""Majorities ring: every node hears a majority, no two the same one.

After Jepsen's `majorities-ring` nemesis: the nodes stand in a ring, in an order that the key
chooses, and each hears the nodes right before and right after it, just enough of them for a
majority with itself. Where these are an odd number (3, 7 nodes), it hears one more before it than
after it, so some links are cut one way only.

>>> from faults._partition import picture
>>> print(picture(shape(5, bits=0)))
n1 reaches n3 n4
n2 reaches n4 n5
n3 reaches n1 n5
n4 reaches n1 n2
n5 reaches n2 n3
"""

from protosim.fault import Fault
from protosim.keys import Draw

from ._partition import Masks, Partition, draw_periods, shuffled


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return draw_periods(draw, pace)


def shape(nodes: int, bits: int) -> Masks:
    ring = shuffled(nodes, bits)
    heard = nodes // 2  # others, of whom each node hears
    before = (heard + 1) // 2
    masks = [0] * nodes
    for place, node in enumerate(ring):
        deaf = range(place + heard - before + 1, place + nodes - before)  # the places that do not reach it
        for far in deaf:
            masks[ring[far % nodes]] |= 1 << node
    return masks


def make(params: dict[str, int]) -> Fault:
    return Partition("partition_majorities_ring", shape, params)
