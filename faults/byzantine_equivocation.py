"""Equivocation: what a liar sends to several peers at once, some of them get in another version.

The version is the same for all who get it; which share of the peers these are changes from time to time (`lasts`).
Where the share is all of them, the liar says consistently what it should not: a proposal that nobody may accept.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("byzantine_equivocation", {"liars": 1, "unrestricted": 1}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["byzantine_equivocation"] > 20
(['byzantine_equivocation'], True)
"""

from typing import Any
from zlib import crc32

from faults._lies import common, varied
from protosim.byzantine import Sends, Tactic
from protosim.keys import Draw, mix

LIES = UNRESTRICTED = True


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {
        "per_mille": draw.choice("per_mille", (300, 700, 1000)),
        "share": draw.choice("share", (500, 500, 1000)),
        "lasts": pace * draw.choice("lasts", (1, 3, 10)),
        **common(draw),
    }


class Equivocation(Tactic):
    def lie(self, world: Any, at: int, sends: Sends) -> Sends:
        return [(to, self.version(world, at, to, m)) for to, m in sends]

    def version(self, world: Any, at: int, to: str, m: Any) -> Any:
        """One of two, by whom it is for."""
        bits = mix(world.seed ^ crc32(m.encode()))
        spared = self.in_spell(world, f"{world.ids[at]}/{to}") < 1000 - self.params["share"]
        if spared or bits % 1000 >= self.params["per_mille"]:
            return m
        self.count(world, "byzantine_equivocation")
        return varied(m, bits >> 10, world.byzantine.memory, world.replicas)


def make(params: dict[str, int]) -> Tactic:
    return Equivocation({"per_mille": 700, "share": 500, "lasts": 200_000, **params})
