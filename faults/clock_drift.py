"""Clock drift: every node's clock runs at a rate of its own, within a stated bound, until the faults end.

`bound_ppm` is the most that a clock gains or loses, in millionths. A node's `now` and its timers
follow its clock, which never steps back. Two clocks drift apart by at most twice the bound; where
a protocol assumes less, that is what a run with more tests. Timers that come whatever their range
(the untimed walks) do not feel it.

>>> rates(3, bound_ppm=1000, bits=1)
[999076, 999000, 999623]
"""

from typing import Any

from protosim.fault import Fault
from protosim.keys import Draw, mix


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"bound_ppm": draw.choice("bound_ppm", (100, 10_000, 200_000))}


MOST = 900_000  # millionths: a clock goes on, if only at a tenth of its pace


def rates(nodes: int, bound_ppm: int, bits: int) -> list[int]:
    """Ticks of each clock in a million microseconds, uniform within the bound."""
    return [1_000_000 - bound_ppm + mix(bits ^ node) % (2 * bound_ppm + 1) for node in range(nodes)]


class ClockDrift(Fault):
    def start(self, world: Any, number: int) -> None:
        world.rates = rates(len(world.ids), self.params["bound_ppm"], self.bits(world, "rates"))
        world.fired["clock_drift"] = sum(rate != 1_000_000 for rate in world.rates)


def make(params: dict[str, int]) -> Fault:
    return ClockDrift({"bound_ppm": min(params.get("bound_ppm", 10_000), MOST)})
