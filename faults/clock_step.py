"""Clock step: now and then somebody sets a node's clock, forwards or back.

`every` is the mean time between two steps, `most` the most that a clock is set by, either way, by
the node's own count of microseconds. A node's `now` jumps; its timers go on, since what counts
them is not what is set. A protocol whose safety rests on clocks assumes that nobody does this, so
no swarm draws it: name it (`--faults clock_step`) to see what breaks.

>>> steps = [step(most=100_000, bits=bits) for bits in range(6)]
>>> min(steps) < 0 < max(steps), max(abs(s) for s in steps) <= 100_000
(True, True)
"""

from typing import Any

from protosim.fault import Fault, around
from protosim.keys import Draw, mix

UNRESTRICTED = True


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"every": pace * draw.choice("every", (1, 3, 10)), "most": draw.choice("most", (100_000, 500_000))}


def step(most: int, bits: int) -> int:
    """By how much the clock is set: anything within `most`, either way."""
    return mix(bits) % (2 * most + 1) - most


class ClockStep(Fault):
    def start(self, world: Any, number: int) -> None:
        self._wait(world, number)

    def _wait(self, world: Any, number: int) -> None:
        world.after(around(self.params["every"], self.bits(world, "every")), number)

    def fire(self, world: Any, number: int, payload: Any) -> None:
        bits = self.bits(world, "step")
        world.set_clock(bits % len(world.ids), step(self.params["most"], bits))
        self.count(world, "clock_step")
        self._wait(world, number)


def make(params: dict[str, int]) -> Fault:
    return ClockStep({"every": 500_000, "most": 200_000, **params})
