"""Crash and restart, of each node on its own clock, and aimed at the steps between two effects of an event.

`every` is the mean time between crashes of one node, `down` how long it stays down on average;
`aim` is the share (1/1000) of events that crash on the way, just before or after a sync or
between two other effects. Of the writes that no sync has covered a crash keeps none, a prefix, a
subset, all, or a torn last one, as its key decides.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("crash", {"every": 500_000, "down": 50_000, "aim": 10}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["crash"] > 10
(['crash'], True)
"""

from typing import Any

from protosim.fault import Fault, around
from protosim.keys import Draw, share


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {
        "every": pace * draw.choice("every", (2, 6, 20)),
        "down": pace * draw.choice("down", (1, 4)) // 2,
        "aim": draw.choice("aim", (0, 0, 5, 20)),
    }


class Crash(Fault):
    restarts = True

    def start(self, world: Any, number: int) -> None:
        world.aim = share(self.params.get("aim", 0))
        for node in range(len(world.ids)):
            self._wait(world, number, node)

    def _wait(self, world: Any, number: int, node: int) -> None:
        if self.params["every"]:
            world.after(around(self.params["every"], self.bits(world, f"crash {node}")), number, node)

    def fire(self, world: Any, number: int, payload: Any) -> None:
        if world.alive[payload]:
            world.strike(payload, self.bits(world, f"keep {payload}"))
            self.crashed(world, number, payload)
        self._wait(world, number, payload)

    def crashed(self, world: Any, number: int, node: int) -> None:
        world.restart_after(node, around(self.params["down"], self.bits(world, f"down {node}")))


def make(params: dict[str, int]) -> Fault:
    return Crash({"every": 0, "down": 50_000, **params})
