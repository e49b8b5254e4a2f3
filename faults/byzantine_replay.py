"""Replay: now and then (`per_mille` of its events) a liar sends to everybody an old message: its own, or another's.

What others have signed it passes on as it is; what they have not, it says in its own name.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("byzantine_replay", {"liars": 1, "unrestricted": 1}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["byzantine_replay"] > 20
(['byzantine_replay'], True)
"""

from typing import Any

from faults._lies import common
from protosim.byzantine import Sends, Tactic
from protosim.keys import Draw

LIES = UNRESTRICTED = True


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"per_mille": draw.choice("per_mille", (30, 100, 300)), **common(draw)}


class Replay(Tactic):
    def lie(self, world: Any, at: int, sends: Sends) -> Sends:
        bits = self.bits(world, world.ids[at])
        if bits % 1000 >= self.params["per_mille"]:
            return sends
        old = world.byzantine.memory.any_of(world.spec.node.HANDLERS, bits >> 10)
        if old is None:
            return sends
        self.count(world, "byzantine_replay")
        return [*sends, *((peer, old) for peer in world.replicas if peer != world.ids[at])]


def make(params: dict[str, int]) -> Tactic:
    return Replay({"per_mille": 100, **params})
