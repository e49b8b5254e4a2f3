"""False replies: what liars send to clients is changed in one place, by all liars in the same way.

A share (`per_mille`) of the replies is false. Where clients are no nodes there is nobody to lie to.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("byzantine_false_replies", {"liars": 1, "unrestricted": 1}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> fired
{}
"""

from typing import Any
from zlib import crc32

from faults._lies import common, in_the_name_of, varied
from protosim.byzantine import Sends, Tactic
from protosim.keys import Draw, mix

LIES = UNRESTRICTED = True


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"per_mille": draw.choice("per_mille", (300, 1000)), **common(draw)}


class FalseReplies(Tactic):
    def lie(self, world: Any, at: int, sends: Sends) -> Sends:
        return [(to, m if to in world.replicas else self.false(world, world.ids[at], m)) for to, m in sends]

    def false(self, world: Any, me: str, m: Any) -> Any:
        """What all liars say instead, each in its own name."""
        bits = mix(world.seed ^ crc32(in_the_name_of("", me, m).encode()))
        if bits % 1000 >= self.params["per_mille"]:
            return m
        self.count(world, "byzantine_false_replies")
        return varied(m, bits >> 10, world.byzantine.memory, world.replicas)


def make(params: dict[str, int]) -> Tactic:
    return FalseReplies({"per_mille": 500, **params})
