"""What a fault is: a small state machine that the world calls at times which the fault chose.

A fault is a file in `faults/`: a docstring, `draw(draw, pace)` that picks its parameters (a dict
of integers; times in microseconds, shares in 1/1000) from keyed draws, and `make(params)` that
makes the Fault. If it breaks what protocols may assume, `UNRESTRICTED = True`: no swarm draws it.
"""

import copy
from typing import Any

from protosim.keys import Table, exponential, label

_TABLES: dict[int, Table] = {}


def around(mean: int, bits: int) -> int:
    """An exponentially distributed time with this mean."""
    table = _TABLES.get(mean)
    if table is None:
        table = _TABLES[mean] = exponential(mean)
    return table[bits & 4095]


class Fault:
    """Base of all faults. `number` is its place in the scenario; `params` is what the scenario says."""

    restarts = False  # whether it brings back nodes that crashed between two effects

    def __init__(self, params: dict[str, int]) -> None:
        self.params = params

    def start(self, world: Any, number: int) -> None:
        """Set thresholds, or schedule the first `fire` by `world.after(gap, number, payload)`."""

    def fire(self, world: Any, number: int, payload: Any) -> None:
        """The time has come."""

    def crashed(self, world: Any, number: int, node: int) -> None:
        """A node crashed between two effects of an event."""

    def remain(self, world: Any, number: int) -> None:
        """The faults end for good: leave behind what is to stay, if anything is."""

    def count(self, world: Any, name: str) -> None:
        """The fault named so has fired once more."""
        world.fired[name] = world.fired.get(name, 0) + 1

    def bits(self, world: Any, about: str) -> int:
        """64 keyed bits about something of this fault, now."""
        drawn: int = world.bits(label(f"{type(self).__name__}/{about}"))
        return drawn

    def copy(self) -> "Fault":
        return copy.copy(self)


class Periodic(Fault):
    """A fault that comes and goes, in periods that it counts: one `every` so often, each `lasts` long, on average."""

    name = ""  # the fault's, as in `faults/`

    def start(self, world: Any, number: int) -> None:
        self._wait(world, number)

    def _wait(self, world: Any, number: int) -> None:
        world.after(around(self.params["every"], self.bits(world, "every")), number, True)

    def fire(self, world: Any, number: int, payload: Any) -> None:
        if payload:
            self.begin(world, number)
            self.count(world, self.name)
            world.after(around(self.params["lasts"], self.bits(world, "lasts")), number, False)
        else:
            self.end(world, number)
            self._wait(world, number)

    def begin(self, world: Any, number: int) -> None:
        """A period begins."""

    def end(self, world: Any, number: int) -> None:
        """It ends: leave nothing behind."""

    def bits(self, world: Any, about: str) -> int:
        return super().bits(world, f"{self.name}/{about}")
