"""Byzantine nodes, and what they cannot do.

A liar is a correct node of the protocol; tactics (`faults/byzantine_*.py`) decide what becomes of what it sends. It may
say anything, to each peer something else, but it cannot sign for an honest node: the notary sees to that, for liars and
for everybody. Observers are told nothing of liars; in a script a liar does not run at all, and its messages are steps.
"""

from collections.abc import Iterable, Sequence
from operator import is_not
from typing import Any

import attrs

from protosim.api import SEND, Effect, NodeId, ProtocolSpec
from protosim.errors import UserError
from protosim.fault import Fault
from protosim.keys import derive
from protosim.scenario import Scenario
from protosim.values import Value, altered, encode, signatures
from protosim.words import plural

Sends = list[tuple[NodeId, Any]]
"""(destination, message), in order."""
REMEMBERED = 16  # the latest values of each class


class ForgedSignature(Exception):
    """An honest node sent what only another node can have made. The sentence names both."""


class Notary:
    """Knows which signatures exist, and which of them each node has received."""

    def __init__(self) -> None:
        self.made: set[bytes] = set()  # by honest nodes
        self.received: dict[NodeId, set[bytes]] = {}

    def sends(self, node: NodeId, m: Any) -> None:
        """An honest node sends the message. Raises ForgedSignature."""
        for each in signatures(m):
            if each.signer == node:
                self.made.add(each.encode())
            elif each.valid and each.encode() not in self.received.get(node, ()):
                raise ForgedSignature(f"{node} forged a signature of {each.signer}: {node} never received {each}")

    def receives(self, node: NodeId, m: Any) -> None:
        seen = self.received.setdefault(node, set())
        for each in signatures(m):
            seen.add(each.encode())

    def sealed(self, x: Any, liars: Iterable[NodeId]) -> Any:
        """`x` as liars can make it: signatures that honest nodes never made do not verify."""
        if not signatures(x):
            return x
        if type(x) is tuple:
            items = [self.sealed(item, liars) for item in x]
            return tuple(items) if any(map(is_not, x, items)) else x
        if x.SIGNED and x.encode() in self.made:
            return x
        inner = {}
        for name in x.CARRIES:
            if (content := self.sealed(old := getattr(x, name), liars)) is not old:
                inner[name] = content
        if x.SIGNED and x.valid and x.signer not in liars:
            inner["valid"] = False
        return altered(x, **inner) if inner else x

    def copy(self) -> "Notary":
        twin = Notary()
        twin.made, twin.received = set(self.made), {node: set(seen) for node, seen in self.received.items()}
        return twin


class Tactic(Fault):
    """A way to lie. Each liar of a run lies in every way that the run's scenario names.

    `liars` says how many there are (0: as many as the protocol tolerates), `first` whether n1 is one of them;
    `unrestricted` lets there be more than the protocol tolerates.
    """

    twins = False  # whether every liar gets a second self

    def lie(self, world: Any, at: int, sends: Sends) -> Sends:
        """What the liar at place `at` sends instead."""
        return sends

    def side_of(self, world: Any, liar: int, peer: NodeId) -> int:
        """With which of a liar's two selves the peer speaks now: 0 or 1."""
        return 0

    def in_spell(self, world: Any, about: str) -> int:
        """0 to 999, for what it is about: another number in each spell, `lasts` microseconds long."""
        return derive(world.seed, type(self).__name__, about, world.now // self.params["lasts"]) % 1000


class Memory:
    """The latest values of each class that liars have sent or received, whole messages and parts."""

    def __init__(self) -> None:
        self.values: dict[str, dict[bytes, Any]] = {}  # by class and encoding

    def add(self, x: Any) -> None:
        if type(x) is tuple:
            for item in x:
                self.add(item)
        elif isinstance(x, Value | bytes):
            kept = self.values.setdefault(type(x).__name__, {})
            encoded = encode(x)
            if encoded not in kept:
                kept[encoded] = x
                if len(kept) > REMEMBERED:
                    del kept[next(iter(kept))]
                for name, _ in getattr(x, "FIELDS", ()):
                    self.add(getattr(x, name))

    def like(self, x: Any, bits: int) -> Any:
        """A value of the same class, perhaps `x` itself."""
        kept = [*self.values.get(type(x).__name__, {}).values()]
        return kept[bits % len(kept)] if kept else x

    def any_of(self, kinds: Iterable[type], bits: int) -> Any:
        """A value of one of these classes, or None."""
        kept = [x for kind in kinds for x in self.values.get(kind.__name__, {}).values()]
        return kept[bits % len(kept)] if kept else None

    def copy(self) -> "Memory":
        twin = Memory()
        twin.values = {name: dict(kept) for name, kept in self.values.items()}
        return twin


@attrs.define
class Liars:
    """The liars of one run."""

    names: tuple[NodeId, ...]
    places: set[int]  # in the world, second selves among them
    tactics: tuple[Tactic, ...]
    twins: dict[int, int] = attrs.field(factory=dict)  # a liar's place -> that of its second self
    memory: Memory = attrs.field(factory=Memory)

    def twist(self, world: Any, at: int, effects: Sequence[Effect]) -> list[Effect]:
        """A liar's effects, with what it sends decided by its tactics."""
        sends: Sends = [(e[1], e[2]) for e in effects if e[0] == SEND]
        for _, m in [*heard(world), *sends]:
            self.memory.add(m)
        for tactic in self.tactics:
            sends = tactic.lie(world, at, sends)
        sealed: list[Effect] = [
            (SEND, to, world.notary.sealed(m, self.names)) for to, m in sends if type(m) in understood(world, to)
        ]
        return [e for e in effects if e[0] != SEND] + sealed

    def self_of(self, world: Any, liar: int, src: int) -> int:
        """The place of the self that hears the sender."""
        side = next(tactic.side_of(world, liar, world.ids[src]) for tactic in self.tactics if tactic.twins)
        return self.twins[liar] if side else liar

    def copy(self) -> "Liars":
        return attrs.evolve(self, memory=self.memory.copy())


def understood(world: Any, node: NodeId) -> Iterable[type]:
    """The messages that the node has handlers for; nobody else's code would get to see others."""
    spec: ProtocolSpec = world.spec
    kind = spec.node if spec.client is None or node in world.replicas else spec.client
    return kind.HANDLERS


def heard(world: Any) -> Sends:
    """What the node that handles an event has just received: [(sender, message)], or nothing."""
    event = world.pending
    return [(event[1], event[2])] if event[0] == 0 else []


def liars_of(scenario: Scenario, spec: ProtocolSpec, faults: Sequence[Any]) -> Liars | None:
    """Who lies in the scenario. Raises UserError where they are more than the protocol tolerates, or no replicas."""
    if scenario.script is not None:
        told = tuple(dict.fromkeys(step.src for step in scenario.script if step.do == "lie"))
        replicas = [f"n{i + 1}" for i in range(scenario.nodes)]
        for name in told:
            if name not in replicas:
                raise UserError(f"{name} is no liar: liars are replicas, and these are {', '.join(replicas)}.")
        return Liars(told, set(map(replicas.index, told)), ()) if told else None
    tactics = tuple(fault for fault in faults if isinstance(fault, Tactic))
    if not tactics:
        return None
    most = spec.liars(scenario.nodes)
    count = max(tactic.params.get("liars", 0) for tactic in tactics) or max(most, 1)
    if count > most and not any(tactic.params.get("unrestricted") for tactic in tactics):
        tolerated = plural(most, "liar") if most else "no liars"
        raise UserError(
            f"{spec.name} with {plural(scenario.nodes, 'node')} tolerates {tolerated}, not {count}: "
            "add the parameter unrestricted=1 to see what more of them do."
        )
    first = any(tactic.params.get("first") for tactic in tactics)
    order = sorted(range(scenario.nodes), key=lambda i: (not (first and i == 0), derive(scenario.seed, "liar", i)))
    chosen = sorted(order[: min(count, scenario.nodes)])
    return Liars(tuple(f"n{i + 1}" for i in chosen), set(chosen), tactics)
