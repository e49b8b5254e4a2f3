"""Selective sending: a liar leaves out some of its peers for a while, and speaks to the others.

Its time is cut into spells of `lasts`; in each of them it says nothing to a share (`per_mille`) of the others.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("byzantine_favours", {"liars": 1, "unrestricted": 1}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["byzantine_favours"] > 20
(['byzantine_favours'], True)
"""

from typing import Any

from faults._lies import common
from protosim.byzantine import Sends, Tactic
from protosim.keys import Draw

LIES = UNRESTRICTED = True


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {
        "per_mille": draw.choice("per_mille", (300, 500, 700)),
        "lasts": pace * draw.choice("lasts", (1, 3, 10)),
        **common(draw),
    }


class Favours(Tactic):
    def lie(self, world: Any, at: int, sends: Sends) -> Sends:
        me, least = world.ids[at], self.params["per_mille"]
        told = [(to, m) for to, m in sends if self.in_spell(world, f"{me}/{to}") >= least]
        if len(told) < len(sends):
            self.count(world, "byzantine_favours")
        return told


def make(params: dict[str, int]) -> Tactic:
    return Favours({"per_mille": 500, "lasts": 200_000, **params})
