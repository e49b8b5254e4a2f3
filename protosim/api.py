"""The vocabulary of a protocol module. A protocol imports this file and nothing else of ours.

A node is a state machine: an event comes in (`start`, a message, a timeout, a client's request), effects go
out (`send`, `sync`, `set_timer`, `apply`, `reply`, ...). It reads no clock, no random number and no network, so
the same events always give the same effects. The simulator carries the effects out in order, after the
handler has returned, and may crash the node between any two of them.

An observer watches runs from outside. It reads messages, durable writes, applied commands and replies, and
never what a node says about itself.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import FunctionType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import attrs

from protosim.linearizability import KEY_VALUE as KEY_VALUE
from protosim.linearizability import Model as Model
from protosim.values import Value as Value
from protosim.values import altered as altered
from protosim.values import conforms as conforms
from protosim.values import digest_of as digest_of
from protosim.values import message as message
from protosim.values import signed as signed
from protosim.values import value as value

NodeId = str
"""A node's name: "n1", "n2", ..."""
Timer = str
OpId = int
"""A client operation's number, unique in a run."""
Range = tuple[int, int]
"""Shortest and longest, in microseconds; the scheduler draws."""

MS = 1_000
"""A millisecond, in the simulator's microseconds."""

D = TypeVar("D", bound="Disk")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# -- Effects: what a handler asks for, in order ------------------------------------------------------
# Plain tuples, (kind, ...): they are made a million times a minute.

SEND = 0  # (SEND, to, message)
WRITE = 1  # (WRITE, ((field, value), ...)): one atomic write of some fields
STORE = 2  # (STORE, field, index, entries): replace a log from `index` on
SYNC = 3  # (SYNC,)
SET_TIMER = 4  # (SET_TIMER, timer, shortest, longest)
CANCEL = 5  # (CANCEL, timer)
APPLY = 6  # (APPLY, index, command, result)
REPLY = 7  # (REPLY, op, result)
REFUSE = 8  # (REFUSE, op)
RESTORE = 9  # (RESTORE, index, state)
RESET = 10  # (RESET, field, base, entries): replace a whole log, and what it has dropped from its front

Effect = tuple[Any, ...]

# -- Checks ------------------------------------------------------------------------------------------

refusals: list[tuple[str, ...]] = []
"""What `holds` refused since the host last looked; for the host, not for protocols."""


def holds(**checks: bool) -> bool:
    """A conjunction of named checks, each mandated by the paper.

    A keyword names its check for the reader, for the trace ("n2 refuses RequestVote: vote_once_per_term"), for
    check coverage (a check that was never the sole reason to refuse is untested) and for the mutation engine
    (dropping one keyword is one mutant). All are evaluated, so each must be pure and defined in every state.
    """
    for checked in checks.values():
        if not checked:
            refusals.append(tuple(name for name, ok in checks.items() if not ok))
            return False
    return True


# -- Disk --------------------------------------------------------------------------------------------


class Log(list[T]):
    """A durable sequence that grows at its end and is cut there. Read as a list, written by `append` and `store`.

    `reset` drops entries from its front as well: `base` is how many, so that log[0] is the entry after these.
    """

    __slots__ = ("_effects", "_field", "base")

    def __init__(self, items: Iterable[T] = (), base: int = 0) -> None:
        super().__init__(items)
        self.base = base
        self._effects: list[Effect] = []
        self._field = ""

    def append(self, entry: T) -> None:
        self.store(len(self), (entry,))

    def store(self, index: int, entries: Sequence[T]) -> None:
        """Replace what stands at position `index` (from 0) and after it by `entries`: one write. A log has no gaps:
        beyond its end means at its end."""
        if index < 0:
            raise IndexError(f"a log has no position {index}")
        entries = tuple(entries)
        self._effects.append((STORE, self._field, index, entries))
        list.__setitem__(self, slice(index, None), entries)

    def reset(self, base: int, entries: Iterable[T] = ()) -> None:
        """Replace everything by these entries, which follow the first `base`: one atomic write, as of a new file that
        takes the old one's place."""
        if base < 0:
            raise IndexError(f"a log cannot begin at {base}")
        entries = tuple(entries)
        self._effects.append((RESET, self._field, base, entries))
        list.__setitem__(self, slice(None), entries)
        self.base = base

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a Log is written by append and store only, so that every write is journalled")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    extend = insert = pop = remove = clear = reverse = _refuse
    sort = _refuse  # pyright: ignore[reportAssignmentType]


class Disk:
    """Durable state: a subclass annotates its fields, beside those of what it extends, and gives each a default (a Log
    needs none).

    `self.disk.x = value` is one write, `self.disk.write(x=..., y=...)` is one atomic write of several fields. A write
    is durable once a `self.sync()` has covered it; a crash before that keeps any part of the unsynced writes.
    """

    FIELDS: ClassVar[dict[str, Any]] = {}  # name -> annotation, logs among them
    LOGS: ClassVar[frozenset[str]] = frozenset()
    _effects: list[Effect]

    def __init_subclass__(cls) -> None:
        hints = {k: v for k, v in cls.__annotations__.items() if k[0] != "_"}
        logs = frozenset(k for k, v in hints.items() if getattr(v, "__origin__", v) is Log)
        for name in hints:
            if name not in logs and name not in cls.__dict__:
                raise TypeError(f"{cls.__name__}.{name} needs a default: what a new disk holds")
        cls.FIELDS, cls.LOGS = {**cls.FIELDS, **hints}, cls.LOGS | logs

    def __init__(self, effects: list[Effect], image: dict[str, Any] | None = None) -> None:
        """A disk that holds `image` (field -> value; a log as a sequence), or the defaults."""
        contents = self.blank() if image is None else image
        for name in self.FIELDS:
            content = contents[name]
            if name in self.LOGS:
                content = Log(content, getattr(content, "base", 0))
                content._effects, content._field = effects, name
            object.__setattr__(self, name, content)
        object.__setattr__(self, "_effects", effects)

    @classmethod
    def blank(cls) -> dict[str, Any]:
        """What a new disk holds."""
        return {name: Log[Any]() if name in cls.LOGS else getattr(cls, name) for name in cls.FIELDS}

    def write(self, **fields: Any) -> None:
        """One atomic write: after a crash, all of these fields are there or none."""
        for name, content in fields.items():
            if name not in self.FIELDS or name in self.LOGS:
                fields_ = ", ".join(field for field in self.FIELDS if field not in self.LOGS)
                raise AttributeError(f"{type(self).__name__} has no field {name!r} to write; it has {fields_}")
            object.__setattr__(self, name, content)
        self._effects.append((WRITE, tuple(fields.items())))

    def __setattr__(self, name: str, content: Any) -> None:
        self.write(**{name: content})


# -- Applications ------------------------------------------------------------------------------------


@value
class Command(Value):
    """What a client asks of the replicated register map: "put" (answers the previous value) or "get"."""

    op: str
    key: str
    value: int = 0

    def __str__(self) -> str:
        return f"put {self.key} {self.value}" if self.op == "put" else f"get {self.key}"


class KeyValueStore:
    """The application that every replica runs: pure, in-node, volatile."""

    def __init__(self) -> None:
        self.registers: dict[str, int] = {}

    def apply(self, command: Command) -> int | None:
        before = self.registers.get(command.key)
        if command.op == "put":
            self.registers[command.key] = command.value
        return before

    def snapshot(self) -> tuple[tuple[str, int], ...]:
        """The state as a value, in one order."""
        return tuple(sorted(self.registers.items()))

    def restore(self, state: tuple[tuple[str, int], ...]) -> None:
        self.registers = dict(state)

    def copy(self) -> "KeyValueStore":
        twin = KeyValueStore()
        twin.registers = dict(self.registers)
        return twin


# -- Nodes -------------------------------------------------------------------------------------------


def on(*messages: type) -> Callable[[F], F]:
    """This method handles these messages: `handle(self, src, m)`."""
    return _mark("_messages", messages)


def on_timeout(timer: Timer) -> Callable[[F], F]:
    """This method runs when the timer fires: `fired(self)`. A timer fires once each time that it is set."""
    return _mark("_timer", timer)


def _mark(attribute: str, content: Any) -> Callable[[F], F]:
    def marked(function: F) -> F:
        setattr(function, attribute, content)
        return function

    return marked


class Node(Generic[D]):
    """A state machine. Everything outside `self.disk` is volatile: `start` sets it, a crash loses it."""

    HANDLERS: ClassVar[dict[type, Callable[..., None]]] = {}
    TIMERS: ClassVar[dict[Timer, Callable[..., None]]] = {}

    me: NodeId
    peers: tuple[NodeId, ...]  # without me, and without clients
    cluster_size: int  # without clients
    disk: D
    now: int  # this node's own clock, microseconds; drifts if the clock fault says so
    switches: Any

    def __init_subclass__(cls) -> None:
        methods = [getattr(cls, name) for name in dir(cls) if callable(getattr(cls, name))]
        cls.HANDLERS = {m: f for f in methods for m in getattr(f, "_messages", ())}
        cls.TIMERS = {f._timer: f for f in methods if hasattr(f, "_timer")}

    # Events in; a protocol overrides `start`, `request`, and `receive` where all messages share a first step.

    def start(self) -> None:
        """At the beginning, and again after every crash."""

    def receive(self, src: NodeId, m: Any) -> None:
        self.HANDLERS[type(m)](self, src, m)

    def request(self, op: OpId, command: Any) -> None:
        """A client asks for `command`. Answer by `reply`, by `refuse` (certainly not done), or never (perhaps done)."""

    # Effects out.

    def send(self, to: NodeId, m: Any) -> None:
        self._effects.append((SEND, to, m))

    def broadcast(self, m: Any) -> None:
        """To all peers."""
        for peer in self.peers:
            self._effects.append((SEND, peer, m))

    def sync(self) -> None:
        """Make what was written to `self.disk` so far durable, before the effects that follow."""
        self._effects.append((SYNC,))

    def set_timer(self, timer: Timer, within: Range) -> None:
        """(Re)start a timer; the scheduler draws when, within the range, it fires."""
        self._effects.append((SET_TIMER, timer, within[0], within[1]))

    def cancel(self, timer: Timer) -> None:
        self._effects.append((CANCEL, timer))

    def apply(self, index: int, command: Any) -> Any:
        """Hand the command at `index` (from 1) to the application; None is a no-op. The answer comes at once."""
        result = None if command is None else self.application.apply(command)
        self._effects.append((APPLY, index, command, result))
        return result

    def snapshot(self) -> Any:
        """The application's state, as a value."""
        return self.application.snapshot()

    def restore(self, index: int, state: Any) -> None:
        """Replace the application's state by a snapshot of what the commands up to `index` had made."""
        self.application.restore(state)
        self._effects.append((RESTORE, index, state))

    def reply(self, op: OpId, result: Any) -> None:
        self._effects.append((REPLY, op, result))

    def refuse(self, op: OpId) -> None:
        """Tell the client that the operation certainly took no effect."""
        self._effects.append((REFUSE, op))

    def verify(self, m: Any) -> bool:
        """Whether a signed value's signature is its signer's, and not made up."""
        return bool(m.valid)

    def is_majority(self, nodes: Iterable[NodeId]) -> bool:
        """Whether these are more than half of the cluster."""
        return len(set(nodes)) > self.cluster_size // 2

    # For the host.

    _effects: list[Effect]
    application: Any

    def copy(self) -> "Node[D]":
        """An independent twin in the same state."""
        twin = object.__new__(type(self))
        twin._effects = []
        twin.disk = type(self.disk)(twin._effects, self.disk.__dict__)
        known = {id(self._effects): twin._effects, id(self.disk): twin.disk}
        known |= {id(self.disk.__dict__[log]): twin.disk.__dict__[log] for log in self.disk.LOGS}
        for name, content in self.__dict__.items():
            if name not in ("_effects", "disk"):
                twin.__dict__[name] = _copied(content, known)
        return twin


_SHARED = (int, str, bytes, bool, type(None), Value, Enum, type, FunctionType)


def _copied(x: Any, known: dict[int, Any]) -> Any:
    """A copy that shares only what cannot change. `known` maps what is copied already, by identity."""
    kind = type(x)
    if isinstance(x, _SHARED):
        return x
    if kind is dict:
        return {k: _copied(v, known) for k, v in x.items()}
    if kind is list and id(x) not in known:
        return [_copied(item, known) for item in x]
    if kind is set:
        return set(x)
    if kind is tuple:
        return tuple([_copied(item, known) for item in x])
    return copy.deepcopy(x, known)


# -- Observers ---------------------------------------------------------------------------------------


class Image(Protocol):
    """What lies on a disk: each field by its name, a log as a list with a `base`."""

    def __getattr__(self, name: str) -> Any: ...


class Facts(Protocol):
    """What an observer may believe: it was reconstructed outside of the nodes."""

    ids: tuple[NodeId, ...]  # clients among them, where they are nodes
    replicas: tuple[NodeId, ...]  # without these
    liars: tuple[NodeId, ...]  # Byzantine: an observer is told nothing of what they do
    majority: int
    healed_at: int | None  # when the faults ended for good, if they have

    @property
    def switches(self) -> Any:
        """The protocol's."""
        ...

    @property
    def now(self) -> int:
        """Simulated microseconds."""
        ...

    def written(self, node: NodeId) -> Image:
        """The node's disk with everything that it wrote, synced or not."""
        ...

    def durable(self, node: NodeId) -> Image:
        """The node's disk as a crash that keeps nothing unsynced would leave it."""
        ...

    def up(self, node: NodeId) -> bool: ...

    def clock(self, node: NodeId | None = None) -> int:
        """What a clock says that runs right; or that of the node whose event this is."""
        ...

    def reaches(self, src: NodeId, dst: NodeId) -> bool:
        """Whether the link between them is not cut in this direction."""
        ...


class Observer:
    """History variables, and invariants over them. Methods subscribe to what changed, and run in order of definition.

    A method marked `always` or `warning` returns None, or one sentence that says what is broken. One marked `sometimes`
    returns True when the goal has been reached. One marked `eventually` runs at the end of a healed run and returns
    None or a sentence.
    """

    facts: Facts

    def begin(self) -> None:
        """Set the history variables of an empty run."""

    def copy(self, facts: Facts) -> "Observer":
        twin = object.__new__(type(self))
        known: dict[int, Any] = {}
        for name, content in self.__dict__.items():
            twin.__dict__[name] = content if name == "facts" else _copied(content, known)
        twin.facts = facts
        return twin


def methods(observer: type) -> dict[str, Any]:
    """All that an observer defines, or a model, in order: what it extends first, an override in its old place."""
    return {name: getattr(observer, name) for cls in reversed(observer.__mro__) for name in cls.__dict__}


@attrs.frozen
class Invariant:
    """What a method of an observer promises."""

    name: str  # "election_safety"
    mode: str  # "always", "warning", "sometimes", "eventually"
    title: str  # "Election Safety"
    statement: str
    source: str
    when: Callable[[Any], bool] = bool  # a goal: whether it can be reached under these switches


def always(statement: str, source: str) -> Callable[[F], F]:
    """Safety: never broken, in any run."""
    return _invariant("always", statement, source)


def warning(statement: str, source: str) -> Callable[[F], F]:
    """An inductive strengthening: when it breaks, a violation has become possible."""
    return _invariant("warning", statement, source)


def sometimes(statement: str, source: str = "", *, when: Callable[[Any], bool] = bool) -> Callable[[F], F]:
    """A goal that runs must reach, or they prove nothing; it can be reached only `when(switches)`."""
    return _invariant("sometimes", statement, source, when)


def eventually(statement: str, source: str = "") -> Callable[[F], F]:
    """Liveness: judged at the end of a run whose faults healed, under a fair scheduler."""
    return _invariant("eventually", statement, source)


def _capital(word: str) -> str:
    """As the field writes it: Election, AC1, TC, P2b."""
    return word.upper() if word == "tc" or (word[:2] == "ac" and word[2:].isdigit()) else word.capitalize()


def _invariant(mode: str, statement: str, source: str, when: Callable[[Any], bool] = bool) -> Callable[[F], F]:
    def marked(function: F) -> F:
        title = " ".join(map(_capital, function.__name__.split("_")))
        made = Invariant(function.__name__, mode, title, statement, source, when)
        function._invariant = made  # type: ignore[attr-defined]
        return function

    return marked


def part_of(invariant: Callable[..., Any]) -> Callable[[F], F]:
    """This method watches other facts for the invariant of an earlier method, and reports under its name."""
    return _mark("_invariant", invariant._invariant)  # type: ignore[attr-defined]


def sent(*messages: type) -> Callable[[F], F]:
    """`method(self, node, dst, m)`: the node handed the message to the network."""
    return _mark("_fact", ("sent", tuple(m.__name__ for m in messages)))


def wrote(*fields: str) -> Callable[[F], F]:
    """`method(self, node, before)`: one of these fields was written; `before` has what they held."""
    return _mark("_fact", ("wrote", fields))


def stored(log: str) -> Callable[[F], F]:
    """`method(self, node, index, removed, added)`: a log changed from position `index` (from 0) on."""
    return _mark("_fact", ("stored", (log,)))


def was_reset(log: str) -> Callable[[F], F]:
    """`method(self, node, before, after)`: a log was replaced as a whole; each is (base, entries)."""
    return _mark("_fact", ("reset", (log,)))


def restored(function: F) -> F:
    """`method(self, node, index, state)`: the node's application was set to what the commands up to `index` make."""
    return _mark("_fact", ("restored", ()))(function)


def applied(function: F) -> F:
    """`method(self, node, index, command, result)`: the node's application executed the command."""
    return _mark("_fact", ("applied", ()))(function)


def requested(function: F) -> F:
    """`method(self, node, op, command)`: a client asks."""
    return _mark("_fact", ("requested", ()))(function)


def replied(function: F) -> F:
    """`method(self, node, op, command, result)`: a client got its answer."""
    return _mark("_fact", ("replied", ()))(function)


def restarted(function: F) -> F:
    """`method(self, node)`: the node is up again, with what its disk had kept."""
    return _mark("_fact", ("restarted", ()))(function)


def literal(invariant: str) -> Callable[[F], F]:
    """The paper's own form of an invariant, over all states; slow. Both forms must break at the same event."""
    return _mark("_literal", invariant)


# -- Protocols ---------------------------------------------------------------------------------------


def switch(default: T, choices: tuple[T, ...], says: str) -> T:
    """A protocol's option: its default, the values that swarms draw from, and what it does."""
    return attrs.field(default=default, metadata={"choices": choices, "says": says})


def puts_and_gets(op: OpId, bits: int) -> Command:
    """Two registers; as many reads as writes; each write's value is unique."""
    key = "xy"[bits & 1]
    return Command("get", key) if bits & 2 else Command("put", key, op)


def parse_command(op: OpId, words: tuple[str, ...]) -> Command:
    """`get x`, `put x 3`. Raises ValueError for anything else."""
    kind, key, *number = words
    if kind not in ("get", "put"):
        raise ValueError(f"{kind!r} is no command: there are `get KEY` and `put KEY NUMBER`")
    return Command(kind, key, int(number[0]) if number else 0)


@attrs.frozen
class NoSwitches:
    """A protocol without options."""


@attrs.frozen
class Endurance:
    """Progress is due although nobody mends the partition, as long as a majority stays connected."""

    partitions: tuple[str, ...]  # of `faults/`
    switches: Mapping[str, Any]  # with which it is due


def no_liars(size: int) -> int:
    """A protocol that believes what its nodes say."""
    return 0


def nothing_malformed(ids: tuple[NodeId, ...], src: NodeId, dst: NodeId, m: Any) -> list[tuple[NodeId, NodeId, Any]]:
    """A protocol that says nothing about messages which nobody who follows it sends."""
    return []


@attrs.frozen(kw_only=True)
class ProtocolSpec:
    """Everything that the simulator needs to know of a protocol; a module names it PROTOCOL."""

    name: str
    paper: str
    node: type[Node[Any]]
    disk: type[Disk]
    observers: tuple[type[Observer], ...]
    workload: Callable[[int, int], Any]  # (operation number, 32 random bits) -> command
    switches: type = NoSwitches
    application: type = KeyValueStore  # has `apply` and `copy`; `snapshot` and `restore` where the protocol uses them
    parse: Callable[[OpId, tuple[str, ...]], Any] = parse_command  # the words of a transcript's request -> command
    history: Model | None = KEY_VALUE  # what clients must have seen; None: the observers judge it
    retries: bool | str = False  # clients ask again, perhaps another node; or a switch that says so
    client: type[Node[Any]] | None = None  # "c1", "c2": what stands between a person's request and the nodes
    liars: Callable[[int], int] = no_liars  # how many nodes of so many may be Byzantine
    # Who sees this message may, if it is faulty, send these, as (sender, receiver, message); all receivers refuse them.
    malformed: Callable[..., list[tuple[NodeId, NodeId, Any]]] = nothing_malformed  # (all nodes, sender, receiver, m)
    endures: Endurance | None = None
    reads_clock: bool = False  # nodes read `now`: in untimed runs their clocks keep pace with their timers
    events: int = 1_500  # of a run in a hunt: later on hardly anything new happens
    symmetric: bool = False  # no node is special, and nothing depends on how their names compare
    sizes: tuple[int, ...] = (3, 5)  # cluster sizes that hunts draw from, the commonest first
    smallest: int = 1  # smaller clusters make no sense
    largest: int | None = None
    note_sizes: str = ""  # why
    only_sizes: bool = False  # no others than `sizes` will do

    def boot(self, me: NodeId, replicas: tuple[NodeId, ...], switches: Any, image: dict[str, Any]) -> Node[Any]:
        """A node that is about to start with what its disk holds: a replica, or a client."""
        node = object.__new__(self.node if self.client is None or me in replicas else self.client)
        node._effects = []
        node.me = me
        node.peers = tuple(name for name in replicas if name != me)
        node.cluster_size = len(replicas)
        node.disk = self.disk(node._effects, image)
        node.application = self.application()
        node.switches = switches
        return node

    def retries_under(self, switches: dict[str, Any]) -> bool:
        """Whether clients ask again; a switch that is not given has its default."""
        if isinstance(self.retries, bool):
            return self.retries
        return bool(switches.get(self.retries, attrs.fields_dict(self.switches)[self.retries].default))

    def invariants(self) -> Iterator[Invariant]:
        """In order of definition."""
        for observer in self.observers:
            for name, method in methods(observer).items():
                if hasattr(method, "_invariant") and method._invariant.name == name:
                    yield method._invariant


# -- Models of shared state --------------------------------------------------------------------------

S = TypeVar("S", bound=Value)


def action(function: F) -> F:
    """A guarded atomic step: `method(self, s)`, or `method(self, s, who)` for each participant (from 0). It returns the
    state afterwards, or None where it is not enabled. While it stays enabled it is not put off for ever."""
    return _mark("_action", "fair")(function)


def choice(function: F) -> F:
    """An action that nobody need ever take."""
    return _mark("_action", "unfair")(function)


def changed(s: S, **fields: Any) -> S:
    """The state, but for these fields."""
    return altered(s, **fields)


class StateModel(Generic[S]):
    """A protocol as one shared state and the actions on it, any enabled one of which may be next."""

    symmetric: ClassVar[tuple[str, ...]] = ()
    """Fields of the state that have a place for each participant, if the participants are interchangeable."""

    def __init__(self, size: int) -> None:
        self.size = size  # participants

    def initial(self) -> S:
        raise NotImplementedError


class Properties:
    """What must hold of a model's states.

    A method marked `always` takes a state, and returns None or one sentence that says what is broken. One marked
    `eventually` returns None where its goal holds, else a sentence; no fair run may go on for ever without it.
    """

    def __init__(self, size: int) -> None:
        self.size = size  # participants


@attrs.frozen(kw_only=True)
class ModelSpec:
    """Everything that an exploration needs to know of a model; its module names it PROTOCOL."""

    name: str
    paper: str
    model: type[StateModel[Any]]
    properties: type[Properties]
    sizes: tuple[int, ...] = (3,)  # participants; the first is what is explored unless another is asked for
    smallest: int = 1
    largest: int | None = None
    note_sizes: str = ""  # why

    def invariants(self) -> Iterator[Invariant]:
        """In order of definition."""
        for method in methods(self.properties).values():
            if hasattr(method, "_invariant"):
                yield method._invariant
