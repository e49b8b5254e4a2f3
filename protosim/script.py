"""Scripts: a run as the list of its events. Replays, shortened stories and hand-driven scenarios are scripts.

A script replaces the schedule: what it does not deliver is lost or still on its way. Messages are found by sender, type
and fingerprint; where an edit has changed a message (its term, say), the one of the same type and age on the same link
stands in for it: the newest, the second newest, as it was when the script was recorded. A step that nothing enables is
skipped, and counted.

A Byzantine node does not run in a script: what it sent is there, message by message, as steps of its own.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

import attrs

from protosim.api import SEND, Effect, NodeId, Observer, ProtocolSpec
from protosim.disk import Kept
from protosim.keys import SIZE
from protosim.scenario import Scenario, Step
from protosim.schedule import Schedule
from protosim.values import classes_of, from_wire, to_wire
from protosim.world import CRASH, DELIVER, REQUEST, TIMEOUT, World


class ScriptedWorld(World):
    """A world whose events come from `scenario.script`; `play` takes one more."""

    def __init__(
        self,
        scenario: Scenario,
        spec: ProtocolSpec,
        schedule: Schedule,
        *,
        observers: Sequence[type[Observer]] | None = None,
        digest: bool = True,
    ) -> None:
        self.wire: dict[tuple[int, int], list[list[Any]]] = {}  # link -> [key, message, delivered]
        self.steps: list[Step] = list(scenario.script or ())
        self.position = 0
        self.skipped: list[Step] = []
        self.current: Step | None = None
        self.classes = classes_of(spec.node)
        super().__init__(scenario, spec, schedule, observers=observers, digest=digest)
        self.to_boot = [at for at, name in enumerate(self.ids) if name not in self.liars]
        self.aim = SIZE  # every step may say where it crashes

    def _begin(self) -> None:
        if self.scenario.heal == 0:  # no faults from the start on: progress is due at the script's end
            self.healed_at = 0

    def _enqueue(self, delay: int, dst: int, src: int, m: Any, key: int) -> None:
        self.wire.setdefault((src, dst), []).append([key, m, False])

    def _set_timer(self, at: int, effect: Effect) -> None:
        self.timers[at][effect[1]] = [0, -1]

    def advance(self) -> bool:
        if self.to_boot:
            self.current = None
            return self.start(self.to_boot.pop(0))
        while self.violation is None and self.position < len(self.steps):
            step = self.steps[self.position]
            self.position += 1
            if self.play(step):
                return True
        self._end()
        return False

    def play(self, step: Step) -> bool:
        """Take the step if it is enabled: True when a node must handle an event."""
        node = self.index.get(step.node, -1)
        if node < 0:
            return self._skip(step)
        self._now = max(self._now, step.at)
        self.current = step
        up = self.alive[node]
        if step.do == "deliver" and up:
            return self._deliver(step, node)
        if step.do == "lie" and up:
            return self._lie(step, node)
        if step.do == "timeout" and up:
            slot = self.timers[node].get(step.timer)
            if slot is not None and slot[0] >= 0:
                slot[0] = -1
                return self._happen(TIMEOUT, node, (TIMEOUT, step.timer), step.timer.encode())
        if step.do == "request" and up and (self.retries or step.op not in self.requests):
            return self.ask(node, step.op, from_wire(step.command, self.classes))
        if step.do == "crash" and up:
            self.crash_between(node, step.kept)
            return False
        if step.do == "restart" and not up:
            return self.start(node)
        if step.do == "reboot" and up:
            self.crash(node, step.kept)
            return self.start(node)
        return self._skip(step)

    def _skip(self, step: Step) -> bool:
        self.skipped.append(step)
        return False

    def _deliver(self, step: Step, node: int) -> bool:
        src = self.index.get(step.src, -1)
        found = self.find(src, node, step)
        if found is None:
            return self._skip(step)
        found[2] = True
        if self.notary is not None:
            self.notary.receives(step.node, found[1])
        return self._happen(DELIVER, node, (DELIVER, step.src, found[1], found[0]), found[1].encode())

    def _lie(self, step: Step, node: int) -> bool:
        """A liar's message arrives, if it holds no signature that its signer has not made."""
        try:
            m = from_wire(step.lie, self.classes)
        except ValueError:  # the code has been edited since, and knows no such message
            return self._skip(step)
        if self.notary is None or step.src not in self.liars or self.notary.sealed(m, self.liars) is not m:
            return self._skip(step)
        self.notary.receives(step.node, m)
        key = crc32(m.encode(), self.index[step.src] << 8 | node) | step.repeat << 32
        return self._happen(DELIVER, node, (DELIVER, step.src, m, key), m.encode())

    def find(self, src: int, dst: int, step: Step) -> list[Any] | None:
        """The message that the step means, or the one that stands in for it."""
        sent = self.wire.get((src, dst), ())
        key = step.fingerprint | step.repeat << 32
        for entry in sent:
            if entry[0] == key:
                return entry
        alike = [entry for entry in sent if type(entry[1]).__name__ == step.message]
        if step.age < len(alike) and (step.again or not alike[-1 - step.age][2]):
            return alike[-1 - step.age]
        return next((entry for entry in reversed(alike) if not entry[2]), None)

    def _crash_point(self, effects: Sequence[Effect]) -> tuple[int | None, Kept]:
        step = self.current
        return (None, ()) if step is None else (step.cut, step.kept if step.cut is not None else ())

    def clock_of(self, node: int) -> int:
        step = self.current
        return self._now if step is None or step.clock is None else step.clock

    def copy(self) -> "ScriptedWorld":
        twin = super().copy()
        assert isinstance(twin, ScriptedWorld)
        twin.wire = {link: [list(entry) for entry in sent] for link, sent in self.wire.items()}
        twin.skipped, twin.to_boot = list(self.skipped), list(self.to_boot)
        return twin


def sent_keys(world: World, effects: Sequence[Effect]) -> Iterator[tuple[int, NodeId, Any]]:
    """For each message about to be sent: its key (fingerprint and repeat count), destination, and itself."""
    counts: dict[int, int] = {}
    for effect in effects:
        if effect[0] == SEND and effect[1] in world.index:
            print_ = crc32(effect[2].encode(), world.at << 8 | world.index[effect[1]])
            counts[print_] = counts.get(print_, world.repeats.get(print_, 0)) + 1
            yield print_ | counts[print_] << 32, effect[1], effect[2]


class StepRecorder:
    """Records a run as the steps of a script that repeats it."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._booted: set[NodeId] = set()
        self._event: tuple[Any, ...] = ()
        self._step: Step | None = None
        self._sent: dict[tuple[str, str, str], list[int]] = {}  # sender, destination, type -> keys

    def before(self, world: World, effects: Any, refused: Any, cut: int | None) -> None:
        self._step = self.describe(world)
        if world.ids[world.at] in world.liars:
            return
        for key, dst, m in sent_keys(world, effects if cut is None else effects[:cut]):
            self._sent.setdefault((world.ids[world.at], dst, type(m).__name__), []).append(key)

    def after(self, world: World, cut: int | None, kept: Kept) -> None:
        step = self._step
        if step is not None:
            if cut is not None or step.do == "crash":
                step = attrs.evolve(step, cut=cut, kept=kept)
            self.steps.append(step)

    def describe(self, world: World) -> Step | None:
        event, node, at = world.pending, world.ids[world.at], world.now
        if node in world.liars:
            return None
        clock = world.clock_of(world.at)
        own = clock if clock != at else None
        kind = event[0]
        if kind == DELIVER and event[1] in world.liars:
            message, repeat = type(event[2]).__name__, event[3] >> 32
            return Step("lie", node, at, src=event[1], message=message, repeat=repeat, lie=to_wire(event[2]), clock=own)
        if kind == DELIVER:
            sent = self._sent.get((event[1], node, type(event[2]).__name__), [event[3]])
            return Step(
                "deliver",
                node,
                at,
                src=event[1],
                message=type(event[2]).__name__,
                fingerprint=event[3] & 0xFFFFFFFF,
                repeat=event[3] >> 32,
                age=len(sent) - 1 - sent.index(event[3]) if event[3] in sent else 0,
                clock=own,
            )
        if kind == TIMEOUT:
            return Step("timeout", node, at, timer=event[1], clock=own)
        if kind == REQUEST:
            return Step("request", node, at, op=event[1], command=to_wire(event[2]), clock=own)
        if kind == CRASH:
            return Step("crash", node, at)
        if node not in self._booted:
            self._booted.add(node)
            return None  # the world boots every node by itself
        current = world.current if isinstance(world, ScriptedWorld) else None
        if current is not None and current.do == "reboot":
            return Step("reboot", node, at, kept=current.kept, clock=own)
        return Step("restart", node, at, clock=own)
