"""Forgery: with a share of all messages comes one that nobody sent, and that its receiver must refuse.

What these are the protocol says (`ProtocolSpec.malformed`); one that says nothing has none. They come after what they
came with, and go on when the other faults have ended: checks that keep them out are no matter of luck. Protocols assume
that nodes follow them, so no swarm draws this: name it (`--faults forgery`) to see what a check is for.

>>> from protosim.program import load, reference
>>> from protosim.run import simulate
>>> from protosim.scenario import Choice, Scenario
>>> scenario = Scenario(protocol="two_phase_commit", seed=2, faults=(Choice("forgery", {"per_mille": 300}),))
>>> sound = simulate(reference("two_phase_commit"), scenario)
>>> sound.violation, sound.faults_fired["forgery"] > 50
(None, True)
>>> simulate(load("two_phase_commit", ("voter_is_participant",)), scenario).violation.invariant.name
'ac3_unanimity'
"""

from typing import Any

from protosim.fault import Fault
from protosim.keys import Draw, derive, share
from protosim.values import classes_of, from_wire, to_wire

UNRESTRICTED = True


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"per_mille": draw.choice("forgery", (50, 200))}


class Forgery(Fault):
    def start(self, world: Any, number: int) -> None:
        self.remain(world, number)

    def remain(self, world: Any, number: int) -> None:
        world.forge = self.forge

    def forge(self, world: Any, src: int, dst: int, m: Any, key: int) -> list[tuple[int, int, Any]]:
        bits = derive(world.seed, "forgery", key)
        if bits & 4095 >= share(self.params["per_mille"]):
            return []
        known = world.spec.malformed(world.ids, world.ids[src], world.ids[dst], m)
        if not known:
            return []
        self.count(world, "forgery")
        liar, to, forged = known[(bits >> 12) % len(known)]
        own = from_wire(to_wire(forged), classes_of(world.spec.node))  # an edited source has classes of its own
        return [(world.index[liar], world.index[to], own)]


def make(params: dict[str, int]) -> Fault:
    return Forgery({"per_mille": 50, **params})
