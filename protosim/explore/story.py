"""From a path of an exploration to a scenario: a script that a world plays, like any other counterexample's."""

from collections import Counter
from typing import Any
from zlib import crc32

import attrs

from protosim.explore.nodes import Event
from protosim.explore.space import Cut, Space, Twice
from protosim.scenario import Choice, Scenario, Step
from protosim.shrink import record
from protosim.values import to_wire
from protosim.world import DELIVER, REQUEST, TIMEOUT


def scenario(space: Space, events: tuple[int, ...]) -> Scenario:
    """The scenario whose script these events are, from the start of all nodes on."""
    delivered: Counter[tuple[int, int, int]] = Counter()
    steps = [_step(space, space.events.of[event], delivered) for event in events]
    paced = [attrs.evolve(step, at=0 if space.clock_read else 1000 * i) for i, step in enumerate(steps, 1)]
    plain = Scenario(
        protocol=space.program.name,
        seed=0,
        nodes=space.n,
        switches=attrs.asdict(space.nodes.switches, recurse=False),
        scheduler=Choice("replay"),
        events=max(2 * len(steps), 100),
        script=tuple(paced),
    )
    return attrs.evolve(plain, script=record(space.program, plain))


def _step(space: Space, what: Event | Cut | Twice, delivered: Counter[tuple[int, int, int]]) -> Step:
    if isinstance(what, Cut):
        base = space.events.of[what.event]
        return attrs.evolve(_step(space, base, delivered), cut=what.point, kept=what.kept)
    if isinstance(what, Twice):
        step = _step(space, space.events.of[what.event], delivered)
        delivered[_link(space, what.event)] -= 1
        return step
    node = space.ids[what.at]
    if what.kind == DELIVER:
        link = _link(space, space.events[what])
        delivered[link] += 1
        return Step(
            "deliver",
            node,
            src=space.ids[what.src],
            message=type(what.content).__name__,
            fingerprint=link[2],
            repeat=delivered[link],
        )
    if what.kind == TIMEOUT:
        return Step("timeout", node, timer=what.content)
    if what.kind == REQUEST:
        return Step("request", node, op=what.op, command=to_wire(what.content))
    return Step("restart", node) if what.content is None else Step("reboot", node, kept=what.content)


def _link(space: Space, event: int) -> tuple[int, int, int]:
    """A message's sender, destination and fingerprint."""
    what: Any = space.events.of[event]
    return what.src, what.at, crc32(what.content.encode(), what.src << 8 | what.at)


def unhurt(told: Scenario) -> Scenario:
    """The scenario without faults from the start on, so that progress is due at its end."""
    return attrs.evolve(told, heal=0, horizon=0)
