"""Silence: a liar sends nothing for a while, or for ever.

Its time is cut into spells of `lasts`; in a share of them (`per_mille`) it says nothing to anybody.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("byzantine_silence", {"liars": 1, "unrestricted": 1}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["byzantine_silence"] > 20
(['byzantine_silence'], True)
"""

from typing import Any

from faults._lies import common
from protosim.byzantine import Sends, Tactic
from protosim.keys import Draw

LIES = UNRESTRICTED = True


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {
        "per_mille": draw.choice("per_mille", (300, 1000)),
        "lasts": pace * draw.choice("lasts", (1, 3, 10)),
        **common(draw),
    }


class Silence(Tactic):
    def lie(self, world: Any, at: int, sends: Sends) -> Sends:
        if not sends or self.in_spell(world, world.ids[at]) >= self.params["per_mille"]:
            return sends
        self.count(world, "byzantine_silence")
        return []


def make(params: dict[str, int]) -> Tactic:
    return Silence({"per_mille": 500, "lasts": 200_000, **params})
