"""Bridge: two halves that hear each other only through one node, which hears everybody.

After Jepsen's `bridge` nemesis. Both halves have a majority with the bridge, so leaders on both
sides court its vote.

>>> from faults._partition import picture
>>> print(picture(shape(5, bits=0)))
n1 reaches n2 n3 n4 n5
n2 reaches n1 n4
n3 reaches n1 n5
n4 reaches n1 n2
n5 reaches n1 n3
"""

from protosim.fault import Fault
from protosim.keys import Draw

from ._partition import Masks, Partition, apart, draw_periods, shuffled


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return draw_periods(draw, pace)


def shape(nodes: int, bits: int) -> Masks:
    """The bridge is the node that is in no half; with two nodes there is no other half, and nothing is cut."""
    _, *others = shuffled(nodes, bits)
    half = len(others) // 2
    return apart(nodes, others[:half], others[half:])


def make(params: dict[str, int]) -> Fault:
    return Partition("partition_bridge", shape, params)
