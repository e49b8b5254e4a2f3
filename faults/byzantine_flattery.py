"""Flattery: a liar tells each peer what that peer has just told it, in its own name, whatever it has told others.

So everybody hears one more vote for what it has voted for itself. A guided lie: together with a leader that tells two
stories it makes both of them look as good as they can. `per_mille` of the messages are flattered, and of these a share
(`others`) is sent to everybody.

>>> from protosim.program import reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> faults = (Choice("byzantine_flattery", {"liars": 1, "unrestricted": 1}),)
>>> fired = simulate(reference("raft"), Scenario(protocol="raft", seed=1, faults=faults)).faults_fired
>>> list(fired), fired["byzantine_flattery"] > 20
(['byzantine_flattery'], True)
"""

from typing import Any
from zlib import crc32

from faults._lies import common, in_the_name_of
from protosim.byzantine import Sends, Tactic, heard
from protosim.keys import Draw, mix

LIES = UNRESTRICTED = True


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {
        "per_mille": draw.choice("per_mille", (300, 1000)),
        "others": draw.choice("others", (0, 500)),
        **common(draw),
    }


class Flattery(Tactic):
    def lie(self, world: Any, at: int, sends: Sends) -> Sends:
        for src, m in heard(world):
            bits = mix(self.bits(world, world.ids[at]) ^ crc32(m.encode()))
            if src in world.replicas and bits % 1000 < self.params["per_mille"]:
                mine = in_the_name_of(world.ids[at], src, m)
                all_ = (bits >> 10) % 1000 < self.params["others"]
                peers = [peer for peer in world.replicas if peer != world.ids[at]] if all_ else [src]
                self.count(world, "byzantine_flattery")
                return [*sends, *((peer, mine) for peer in peers)]
        return sends


def make(params: dict[str, int]) -> Tactic:
    return Flattery({"per_mille": 700, "others": 0, **params})
