"""Pause: a node stops for a while and goes on as if nothing had been: a long garbage collection, a moved machine.

Messages and timeouts that come due in the meantime are handled, in their order, when it goes on;
clients turn elsewhere. `every` is the mean time between two pauses of one node, `lasts` the mean
time that one lasts.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("pause", {"every": 500_000, "lasts": 300_000}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["pause"] > 10
(['pause'], True)
"""

from typing import Any

from protosim.fault import Fault, around
from protosim.keys import Draw


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {
        "every": pace * draw.choice("every", (3, 10, 30)),
        "lasts": pace * draw.choice("lasts", (1, 4, 10)) // 2,
    }


class Pause(Fault):
    def start(self, world: Any, number: int) -> None:
        for node in range(len(world.ids)):
            self._wait(world, number, node)

    def _wait(self, world: Any, number: int, node: int) -> None:
        gap = around(self.params["every"], self.bits(world, f"every {node}"))
        world.after(max(world.paused[node] - world.now, 0) + gap, number, node)

    def fire(self, world: Any, number: int, payload: Any) -> None:
        if world.alive[payload]:
            lasts = around(self.params["lasts"], self.bits(world, f"lasts {payload}"))
            world.paused[payload] = world.now + lasts
            self.count(world, "pause")
        self._wait(world, number, payload)


def make(params: dict[str, int]) -> Fault:
    return Pause({"every": 1_000_000, "lasts": 300_000, **params})
