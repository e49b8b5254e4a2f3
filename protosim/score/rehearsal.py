"""A run as the judge plays it, with all of its nodes in this process: no worker has to start.

The candidate's code never lies. Where its run has liars these run the reference, so what goes to and from them
changes classes on the way.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from protosim.api import APPLY, REPLY, SEND, Effect
from protosim.program import Program, reference
from protosim.run import LocalHost, Run, drive, finish, make_world
from protosim.scenario import Scenario
from protosim.values import Value
from protosim.world import World


def rehearse(program: Program, scenario: Scenario) -> Run:
    """As `simulate`, but for the digest."""
    world = make_world(program, scenario, digest=False)
    return finish(world, drive(world, Rehearsal(program, scenario)))


class Rehearsal(LocalHost):
    """The nodes of one world: correct ones of the program, liars of the reference."""

    def __init__(self, program: Program, scenario: Scenario) -> None:
        super().__init__(program, scenario)
        self.classes, trusted = program.classes, reference(program.name)
        self.trusted_classes = trusted.classes
        self.liars = LocalHost(trusted, scenario)
        self.did: Counter[str] = Counter()  # by correct nodes: `deeds`

    def step(self, world: World) -> tuple[list[Effect], list[tuple[str, ...]]]:
        if world.ids[world.at] not in world.liars:
            effects, refused = super().step(world)
            self.did.update(deeds(effects))
            return effects, refused
        event = world.pending
        world.pending = _of(self.trusted_classes, event)
        effects, refused = self.liars.step(world)
        world.pending = event
        effects[:] = [_of(self.classes, effect) if effect[0] == SEND else effect for effect in effects]
        return effects, refused


def deeds(effects: Sequence[Effect]) -> Iterator[str]:
    """What these effects do for others: "send Vote", "apply", "reply"."""
    for effect in effects:
        if effect[0] == SEND:
            yield f"send {type(effect[2]).__name__}"
        elif effect[0] in (APPLY, REPLY):
            yield "apply" if effect[0] == APPLY else "reply"


def _of(classes: dict[str, Any], x: Any) -> Any:
    """The same, made of the classes of these names."""
    if type(x) is tuple:
        return tuple([_of(classes, item) for item in x])
    if isinstance(x, Value):
        fields = [_of(classes, getattr(x, name)) for name, _ in x.FIELDS]
        return classes.get(type(x).__name__, type(x))(*fields)
    return classes[type(x).__name__][x.name] if isinstance(x, Enum) else x
