"""The nodes of an exploration: states as values, and what a handler makes of one. Handlers are the protocol's own."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import attrs

from protosim import api
from protosim.api import CANCEL, RESET, SEND, SET_TIMER, STORE, SYNC, WRITE, Disk, Effect, Log, Node, NodeId
from protosim.disk import DiskImage, Kept
from protosim.errors import UserError
from protosim.explore.freeze import Frozen, Names, freeze, rename, thaw
from protosim.program import Program
from protosim.run import failure, make_switches
from protosim.values import NoCanonicalForm, Value, encode
from protosim.world import DELIVER, REQUEST, START, TIMEOUT, ProtocolFailure

HOST_FIELDS = ("_effects", "me", "peers", "cluster_size", "disk", "switches")


@attrs.frozen(cache_hash=True)
class DiskState:
    """What lies on a disk: contents in the schema's order, a log as (base, entries); and the unsynced writes."""

    fields: tuple[Any, ...]
    journal: Frozen = ()

    def image(self, schema: type[Disk]) -> DiskImage:
        image = DiskImage(schema)
        for name, content in zip(schema.FIELDS, self.fields, strict=True):
            image.__dict__[name] = Log(content[1], content[0]) if name in schema.LOGS else content
        image._journal = list(thaw(self.journal))
        return image


def disk_state(schema: type[Disk], image: DiskImage) -> DiskState:
    held = image.__dict__
    fields = [(held[x].base, tuple(held[x])) if x in schema.LOGS else held[x] for x in schema.FIELDS]
    return DiskState(tuple(fields), freeze(tuple(image._journal), "the journal"))


@attrs.frozen(cache_hash=True)
class NodeState:
    at: int
    disk: DiskState
    volatile: Frozen = None  # None: down
    timers: tuple[str, ...] = ()  # that are set


@attrs.frozen
class Event:
    """One event at a node; which fields count depends on `kind`."""

    kind: int  # DELIVER, TIMEOUT, REQUEST, START
    at: int
    src: int = -1
    content: Any = None  # the message, the timer, the command, which unsynced writes the crash before a start kept
    op: int = 0


class Nodes:
    """Runs handlers."""

    def __init__(self, program: Program, ids: tuple[NodeId, ...], switches: dict[str, Any], *, ordered: bool) -> None:
        self.ids = ids
        self.order = ids if ordered else ()
        self.schema = program.spec.disk
        self.switches = make_switches(program, switches)
        self.clock_read = False
        self._shared: dict[Any, Any] = {}  # parts of states, one of each
        self.spec = attrs.evolve(program.spec, node=self._stopped_clock(program.spec.node))

    def _stopped_clock(self, kind: type[Node[Any]]) -> type[Node[Any]]:
        """The protocol's class with a clock that stands still, and says whether it was looked at."""
        nodes = self

        def now(node: Node[Any]) -> int:
            nodes.clock_read = True
            return 0

        return type(kind.__name__, (kind,), {"now": property(now), "__module__": kind.__module__})

    def blank(self, at: int) -> NodeState:
        """Before its first start."""
        return NodeState(at, disk_state(self.schema, DiskImage(self.schema)))

    def handle(self, state: NodeState, event: Event) -> list[Effect]:
        """Let the node handle the event: its effects; `self.node` is the node afterwards. Raises ProtocolFailure."""
        self.node: Any = self._boot(state) if event.kind == START else self.thaw(state)
        node = self.node
        try:
            if event.kind == DELIVER:
                node.receive(self.ids[event.src], event.content)
            elif event.kind == TIMEOUT:
                node.TIMERS[event.content](node)
            elif event.kind == REQUEST:
                node.request(event.op, event.content)
            else:
                node.start()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise failure(self.ids[event.at], self.spelled(event), error) from error
        finally:
            api.refusals.clear()
        effects: list[Effect] = node._effects
        self._require_values(event.at, effects)
        return effects

    def spelled(self, event: Event) -> tuple[Any, ...]:
        """As a world has it."""
        if event.kind == DELIVER:
            return DELIVER, self.ids[event.src], event.content
        return (REQUEST, event.op, event.content) if event.kind == REQUEST else (event.kind, event.content)

    def _boot(self, state: NodeState) -> Node[Any]:
        return self.spec.boot(
            self.ids[state.at], self.ids, self.switches, state.disk.image(self.schema).contents()
        )

    def thaw(self, state: NodeState) -> Node[Any]:
        node = self._boot(state)
        node.__dict__.update((name, thaw(content)) for name, content in state.volatile)
        return node

    def _require_values(self, at: int, effects: Sequence[Effect]) -> None:
        """What a world would refuse to carry out. Raises ProtocolFailure."""
        try:
            for effect in effects:
                if effect[0] == SEND:
                    if not isinstance(effect[2], Value):
                        says = f"{self.ids[at]} sent a {type(effect[2]).__name__}, which is no message"
                        raise ProtocolFailure(says)
                    if effect[1] not in self.ids:
                        raise ProtocolFailure(f"{self.ids[at]} sent {effect[2]} to {effect[1]!r}, which is no node")
                    effect[2].encode()
                elif effect[0] != SET_TIMER:
                    encode(effect[1:])
        except NoCanonicalForm as error:
            raise ProtocolFailure(f"{self.ids[at]}: {error}") from error

    # -- States --------------------------------------------------------------------------------------

    def after(self, state: NodeState, effects: Sequence[Effect]) -> NodeState:
        """The node's state when all its effects have been carried out; `self.node` has just handled the event."""
        image, timers = self._written(state, effects)
        title = self.spec.node.__name__
        own = [(name, content) for name, content in self.node.__dict__.items() if name not in HOST_FIELDS]
        for (a, one), (b, other) in combinations(own, 2):
            if one is other and isinstance(one, (list, dict, set)):
                raise UserError(f"{title}.{a} and {title}.{b} are one {type(one).__name__}: give each its own.")
        frozen = [(name, freeze(content, f"{title}.{name}", self.order)) for name, content in own]
        volatile = tuple([self._shared.setdefault(field, field) for field in frozen])
        disk = disk_state(self.schema, image)
        return NodeState(state.at, self._shared.setdefault(disk, disk), volatile, tuple(sorted(timers)))

    def crashed(self, state: NodeState, effects: Sequence[Effect], kept: Kept) -> NodeState:
        """Down, after these effects."""
        image, _ = self._written(state, effects)
        image.crash(kept)
        return NodeState(state.at, disk_state(self.schema, image))

    def unsynced(self, state: NodeState, effects: Sequence[Effect]) -> int:
        """How many writes a crash after these effects could lose."""
        return self._written(state, effects)[0].unsynced()

    def _written(self, state: NodeState, effects: Sequence[Effect]) -> tuple[DiskImage, set[str]]:
        image, timers = state.disk.image(self.schema), set(state.timers)
        for effect in effects:
            kind = effect[0]
            if kind == WRITE:
                image.write(effect[1])
            elif kind == STORE:
                image.store(effect[1], effect[2], effect[3])
            elif kind == RESET:
                image.reset(effect[1], effect[2], effect[3])
            elif kind == SYNC:
                image.sync()
            elif kind == SET_TIMER:
                timers.add(effect[1])
            elif kind == CANCEL:
                timers.discard(effect[1])
        return image, timers

    def renamed(self, state: NodeState, names: Names) -> NodeState:
        """The state of the node that has this one's place when every node has another name."""
        at = self.ids.index(names[self.ids[state.at]])
        disk = DiskState(rename(state.disk.fields, names, self.order), rename(state.disk.journal, names, self.order))
        volatile = state.volatile and tuple(
            [self._shared.setdefault(field, field) for field in rename(state.volatile, names, self.order)]
        )
        return NodeState(at, self._shared.setdefault(disk, disk), volatile, state.timers)
