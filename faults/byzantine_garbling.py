"""Garbling: a share (`per_mille`) of what a liar sends is changed in one place.

A wrong digest; a number that is malformed, one off, or far in the future; a foreign name; a certificate with one entry
too few, or the same one twice.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("byzantine_garbling", {"liars": 1, "unrestricted": 1}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["byzantine_garbling"] > 20
(['byzantine_garbling'], True)
"""

from typing import Any
from zlib import crc32

from faults._lies import common, varied
from protosim.byzantine import Sends, Tactic
from protosim.keys import Draw, mix

LIES = UNRESTRICTED = True


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"per_mille": draw.choice("per_mille", (50, 200, 600)), **common(draw)}


class Garbling(Tactic):
    def lie(self, world: Any, at: int, sends: Sends) -> Sends:
        return [(to, self.garbled(world, at, to, m)) for to, m in sends]

    def garbled(self, world: Any, at: int, to: str, m: Any) -> Any:
        bits = mix(self.bits(world, f"{at}/{to}") ^ crc32(m.encode()))
        if bits % 1000 >= self.params["per_mille"]:
            return m
        self.count(world, "byzantine_garbling")
        return varied(m, bits >> 10, world.byzantine.memory, world.replicas)


def make(params: dict[str, int]) -> Tactic:
    return Garbling({"per_mille": 200, **params})
