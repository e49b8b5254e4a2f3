"""What the partitions share: links that are cut for a while, again and again.

A partition is a function from the number of nodes and 64 keyed bits to masks: for each node, as a
sender, the set of nodes that it cannot reach, as bits. A message on a cut link is lost, whether
it is sent into the cut or is in flight when the link goes down and would arrive before it is up
again.

`every` is the mean time between two partitions, `lasts` the mean time that one lasts. Where
`stays` is not 0, the faults of a run end with one more that nobody mends.
"""

from collections.abc import Callable, Iterable
from typing import Any

from protosim.fault import Periodic
from protosim.keys import Draw, mix

Masks = list[int]
Shape = Callable[[int, int], Masks]
"""(number of nodes, bits) -> masks."""


def draw_periods(draw: Draw, pace: int) -> dict[str, int]:
    """About as long apart and as long as an election timeout takes, and several times that."""
    return {
        "every": pace * draw.choice("every", (1, 3, 10)),
        "lasts": pace * draw.choice("lasts", (1, 2, 6)) // 2,
    }


class Partition(Periodic):
    """Cuts links in a shape that each time's key decides, and mends them again."""

    def __init__(self, name: str, shape: Shape, params: dict[str, int]) -> None:
        super().__init__({"every": 600_000, "lasts": 300_000, **params})
        self.name, self.shape = name, shape

    def begin(self, world: Any, number: int) -> None:
        world.cut_links(number, self.masks(world))

    def end(self, world: Any, number: int) -> None:
        world.cut_links(number, None)

    def remain(self, world: Any, number: int) -> None:
        if self.params.get("stays"):
            self.begin(world, number)

    def masks(self, world: Any) -> Masks:
        return self.shape(len(world.ids), self.bits(world, "shape"))


def shuffled(nodes: int, bits: int) -> list[int]:
    """The nodes in an order that the bits choose."""
    return sorted(range(nodes), key=lambda node: mix(bits ^ node))


def mask(nodes: Iterable[int]) -> int:
    return sum(1 << node for node in nodes)


def apart(nodes: int, one: Iterable[int], other: Iterable[int]) -> Masks:
    """Cut every link between the two groups, both ways."""
    one, other = list(one), list(other)
    return [mask(other) if n in one else mask(one) if n in other else 0 for n in range(nodes)]


def picture(masks: Masks) -> str:
    """Who reaches whom, a line a sender.

    >>> print(picture(apart(3, [0], [1, 2])))
    n1 reaches nobody
    n2 reaches n3
    n3 reaches n2
    """
    lines: list[str] = []
    for src, cut in enumerate(masks):
        reached = [f"n{dst + 1}" for dst in range(len(masks)) if dst != src and not cut >> dst & 1]
        lines.append(f"n{src + 1} reaches {' '.join(reached) or 'nobody'}")
    return "\n".join(lines)
