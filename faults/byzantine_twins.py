"""Twins: a liar has two selves, both correct, each of which speaks with some of the others only.

Bano, Sonnino, Chursin, Perelman, Li, Ching and Malkhi, "Twins: BFT Systems Made Robust", OPODIS 2021: two copies of a
node under one identity equivocate by messages that are perfect in themselves. Who speaks with which self changes from
time to time (`lasts`).

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("byzantine_twins", {"liars": 1, "unrestricted": 1}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["byzantine_twins"] > 20
(['byzantine_twins'], True)
"""

from typing import Any

from faults._lies import common
from protosim.byzantine import Sends, Tactic
from protosim.keys import Draw

LIES = UNRESTRICTED = True


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"lasts": pace * draw.choice("lasts", (1, 3, 10, 100)), **common(draw)}


class Twins(Tactic):
    twins = True

    def side_of(self, world: Any, liar: int, peer: str) -> int:
        return self.in_spell(world, f"{world.ids[liar]}/{peer}") & 1

    def lie(self, world: Any, at: int, sends: Sends) -> Sends:
        self.count(world, "byzantine_twins")
        twins = world.byzantine.twins
        liar, side = next((liar, int(at == twin)) for liar, twin in twins.items() if at in (liar, twin))
        return [(to, m) for to, m in sends if self.side_of(world, liar, to) == side]


def make(params: dict[str, int]) -> Tactic:
    return Twins({"lasts": 300_000, **params})
