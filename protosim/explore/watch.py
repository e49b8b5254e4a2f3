"""The trusted side of an exploration: what observers and clients have seen so far is part of each state.

It is one record, a small number. What an event adds to it depends on the record, on what the event did (its deed), and
on what observers read of the nodes' disks while they are told. So it is computed once for each such combination: the
disks that were read, and no others, are found by walking a tree of them.
"""

from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

import attrs

from protosim.api import (
    APPLY,
    REFUSE,
    REPLY,
    RESET,
    RESTORE,
    SEND,
    STORE,
    SYNC,
    WRITE,
    Effect,
    Invariant,
    NodeId,
    Observer,
    ProtocolSpec,
    methods,
)
from protosim.disk import DiskImage
from protosim.explore.freeze import Frozen, Names, freeze, rename, thaw
from protosim.history import LINEARIZABILITY
from protosim.linearizability import Operation, check
from protosim.world import ProtocolFailure

ASKED = "asked"  # (ASKED, op, command): a client asks the node
RESTARTED = "restarted"  # (RESTARTED, disk contents): the node is up again

Deed = tuple[int, tuple[Effect, ...]]
"""The node, and what of its effects the trusted side wants to know, writes to the disk included."""


@attrs.frozen
class Broken:
    """An invariant that broke, or (with no invariant) what no protocol may do."""

    invariant: Invariant | None
    sentence: str


@attrs.define(eq=False)
class Read:
    """A place where it matters what lies on a disk."""

    at: int
    slot: int
    found: dict[int, Any] = attrs.field(factory=dict)  # content -> record, Broken, or the next Read


@attrs.frozen
class Asked:
    """One client operation."""

    op: int
    asked: tuple[NodeId, ...]
    command: Any
    refusals: int = 0
    answered: bool = False
    result: Any = None


@attrs.frozen
class Seen:
    """What a record stands for. Observers as they were, the operations, and the order of questions and answers."""

    observers: tuple[Frozen, ...]
    requests: tuple[Asked, ...] = ()
    history: tuple[tuple[str, int], ...] = ()


class Image:
    """A disk, of which is noted what is read."""

    __slots__ = ("_at", "_content", "_first", "_view")

    def __init__(self, view: "View", at: int, first: int, content: Any) -> None:
        self._view, self._at, self._first, self._content = view, at, first, content

    def __getattr__(self, name: str) -> Any:
        self._view.note(self._at, self._first, name)
        return getattr(self._content, name)


class View:
    """What observers may believe (api.Facts), for one event; it is noted what they ask."""

    def __init__(self, watch: "Watch", disks: list[DiskImage], up: list[bool]) -> None:
        self.ids = self.replicas = watch.ids
        self.liars: tuple[NodeId, ...] = ()
        self.switches, self.watch = watch.switches, watch
        self.majority = len(self.ids) // 2 + 1
        self.healed_at = 0 if watch.healed else None
        self.disks, self.alive = disks, up
        self.places = {name: place for place, name in enumerate(watch.fields)}
        self.reads: dict[tuple[int, int], None] = {}

    @property
    def now(self) -> int:
        self.watch.clock_read = True
        return 0

    def note(self, at: int, first: int, name: str) -> None:
        for field in (name,) if name in self.places else self.places:
            self.reads[at, first + self.places[field]] = None
            self.reads[at, self.places[field]] = None  # what is unsynced may become durable in this very event

    def written(self, node: NodeId) -> Any:
        at = self.ids.index(node)
        return Image(self, at, 0, self.disks[at])

    def durable(self, node: NodeId) -> Any:
        at = self.ids.index(node)
        return Image(self, at, len(self.places), self.disks[at].durable())

    def up(self, node: NodeId) -> bool:
        at = self.ids.index(node)
        self.reads[at, 2 * len(self.places)] = None
        return self.alive[at]

    def clock(self, node: NodeId | None = None) -> int:
        return self.now

    def reaches(self, src: NodeId, dst: NodeId) -> bool:
        return True


_FACTS: dict[Any, Callable[[Effect], Sequence[str]]] = {  # what observers may want to know of an effect
    SEND: lambda effect: [f"sent {type(effect[2]).__name__}"],
    WRITE: lambda effect: [f"wrote {name}" for name, _ in effect[1]],
    STORE: lambda effect: [f"stored {effect[1]}"],
    RESET: lambda effect: [f"reset {effect[1]}"],
    APPLY: lambda effect: ["applied"],
    RESTORE: lambda effect: ["restored"],
    RESTARTED: lambda effect: ["restarted"],
}


def _nothing(effect: Effect) -> Sequence[str]:
    return ()


class Watch:
    """Records and what is added to them."""

    def __init__(
        self, spec: ProtocolSpec, ids: tuple[NodeId, ...], switches: Any, *, warnings: Sequence[str], ordered: bool
    ) -> None:
        self.spec, self.ids, self.switches = spec, ids, switches
        self.clock_read = False
        self.healed = False  # whether observers are told that the faults are over, from the start on
        self.order = ids if ordered else ()
        self.fields = tuple(spec.disk.FIELDS)
        self.reached: set[str] = set()
        self.seen: list[Seen] = []
        self._shared: dict[tuple[str, Frozen], tuple[str, Frozen]] = {}  # of the fields of observers, one of each
        self._numbers: dict[Seen, int] = {}
        self._subscribe(warnings)
        observers = [self._observer(kind, ()) for kind in spec.observers]
        blank = View(self, [DiskImage(spec.disk) for _ in ids], [False for _ in ids])
        for observer in observers:
            observer.facts = blank
            observer.begin()
        self.number(Seen(tuple(map(self._freeze, observers))))

    def _subscribe(self, warnings: Sequence[str]) -> None:
        """As a world does it, but with no early warnings other than these. One that is not asked for is told only if
        it has history variables in common with a method that is; the others' history need not be kept apart."""
        self.on: dict[str, list[tuple[int, Any, Invariant | None]]] = {}
        self.eventually: list[tuple[int, Any, Invariant]] = []
        for place, observer in enumerate(self.spec.observers):
            told = [function for function in methods(observer).values() if hasattr(function, "_fact")]
            asked = [function for function in told if not _is_warning(function) or _name(function) in warnings]
            for function in told:
                invariant = getattr(function, "_invariant", None) if function in asked else None
                if function in asked or _entangled(observer, function, told, asked):
                    fact, about = function._fact
                    for name in [f"{fact} {each}" for each in about] or [fact]:
                        self.on.setdefault(name, []).append((place, function, invariant))
            for function in methods(observer).values():
                invariant = getattr(function, "_invariant", None)
                if invariant is not None and invariant.mode == "eventually":
                    self.eventually.append((place, function, invariant))

    def number(self, seen: Seen) -> int:
        number = self._numbers.get(seen)
        if number is None:
            number = self._numbers[seen] = len(self.seen)
            self.seen.append(seen)
        return number

    def _observer(self, kind: type[Observer], content: Frozen) -> Observer:
        made = object.__new__(kind)
        made.__dict__.update((name, thaw(x)) for name, x in content)
        return made

    def _freeze(self, observer: Observer) -> Frozen:
        title = type(observer).__name__
        content = observer.__dict__.items()
        frozen = [(name, freeze(x, f"{title}.{name}", self.order)) for name, x in content if name != "facts"]
        return tuple([self._shared.setdefault(field, field) for field in frozen])

    def renamed(self, record: int, names: Names) -> int:
        """The record in which every node has another name."""
        seen = self.seen[record]
        requests = tuple(attrs.evolve(r, asked=tuple(names[n] for n in r.asked)) for r in seen.requests)
        observers = [
            tuple([self._shared.setdefault(field, field) for field in rename(content, names, self.order)])
            for content in seen.observers
        ]
        return self.number(attrs.evolve(seen, observers=tuple(observers), requests=requests))

    def misses(self, record: int, disks: list[DiskImage], up: list[bool]) -> tuple[str, ...]:
        """For each `eventually` what it would say at the end of a run."""
        telling = Telling(self, self.seen[record], View(self, disks, up), 0)
        return tuple(function(telling.observers[place]) or "" for place, function, _ in self.eventually)

    # -- What an event adds --------------------------------------------------------------------------

    def deed(self, at: int, effects: Sequence[Effect]) -> Deed | None:
        """What must be told of these effects; None if it is nothing."""
        last = max((i for i, effect in enumerate(effects) if self._concerns(effect)), default=-1)
        kept = [e for e in effects[: last + 1] if e[0] in (WRITE, STORE, RESET, SYNC) or self._concerns(e)]
        return (at, tuple(kept)) if kept else None

    def _concerns(self, effect: Effect) -> bool:
        kind = effect[0]
        return kind in (ASKED, REPLY, REFUSE) or any(fact in self.on for fact in _FACTS.get(kind, _nothing)(effect))

    def add(
        self, record: int, deed: Deed, disks: list[DiskImage], up: list[bool]
    ) -> tuple[int | Broken, list[tuple[int, int]]]:
        """The record afterwards, and which (node, field) of the disks it depends on. Raises ProtocolFailure."""
        telling = Telling(self, self.seen[record], View(self, disks, up), deed[0])
        for effect in deed[1]:
            broken = telling.tell(effect)
            if broken is not None:
                return broken, list(telling.view.reads)
        observers = tuple(map(self._freeze, telling.observers))
        seen = Seen(observers, tuple(telling.requests.values()), tuple(telling.history))
        return self.number(seen), list(telling.view.reads)


def _is_warning(function: Any) -> bool:
    return hasattr(function, "_invariant") and function._invariant.mode == "warning"


def _name(function: Any) -> str:
    name: str = function._invariant.name
    return name


def _entangled(observer: type[Observer], function: Any, told: list[Any], asked: list[Any]) -> bool:
    """Whether the function has history variables in common with one of those, perhaps by way of others."""
    variables = {each: _variables(observer, each.__code__, set()) for each in told}
    reached = set[str]().union(*[variables[each] for each in asked])
    growing = True
    while growing:
        more = [names for names in variables.values() if names & reached and not names <= reached]
        growing = bool(more)
        reached.update(*more)
    return bool(variables[function] & reached)


def _variables(observer: type[Observer], code: CodeType, seen: set[CodeType]) -> set[str]:
    """The history variables that the code, and what it calls of the observer's own, may mean by a name."""
    seen.add(code)
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    inner += [defined for name in code.co_names for defined in _definitions(observer, name)]
    found = set(code.co_names) & _history(observer)
    return found.union(*[_variables(observer, each, seen) for each in inner if each not in seen])


def _definitions(observer: type[Observer], method: str) -> list[CodeType]:
    """Of the class and of what it extends."""
    defined = [cls.__dict__[method] for cls in observer.__mro__ if method in cls.__dict__]
    return [function.__code__ for function in defined if isinstance(function, FunctionType)]


def _history(observer: type[Observer]) -> set[str]:
    """What `begin` sets."""
    return {name for begin in _definitions(observer, "begin") for name in begin.co_names}


class Telling:
    """One event's facts, told one after the other."""

    def __init__(self, watch: Watch, seen: Seen, view: View, at: int) -> None:
        self.watch, self.view, self.at = watch, view, at
        self.node = watch.ids[at]
        self.observers = [watch._observer(k, x) for k, x in zip(watch.spec.observers, seen.observers, strict=True)]
        for observer in self.observers:
            observer.facts = view
        self.requests = {request.op: request for request in seen.requests}
        self.history = list(seen.history)

    def tell(self, effect: Effect) -> Broken | None:
        broken: Broken | None = _TELL[effect[0]](self, effect)
        return broken

    def told(self, fact: str, *details: Any) -> Broken | None:
        for place, function, invariant in self.watch.on.get(fact, ()):
            broken = function(self.observers[place], *details)
            if broken and invariant is not None:
                if invariant.mode != "sometimes":
                    return Broken(invariant, str(broken))
                self.watch.reached.add(invariant.name)
        return None

    def sent(self, effect: Effect) -> Broken | None:
        return self.told(f"sent {type(effect[2]).__name__}", self.node, effect[1], effect[2])

    def wrote(self, effect: Effect) -> Broken | None:
        before = self.view.disks[self.at].write(effect[1])
        for name in before:
            broken = self.told(f"wrote {name}", self.node, before)
            if broken is not None:
                return broken
        return None

    def stored(self, effect: Effect) -> Broken | None:
        _, field, index, entries = effect
        index, removed = self.view.disks[self.at].store(field, index, entries)
        return self.told(f"stored {field}", self.node, index, removed, entries)

    def reset(self, effect: Effect) -> Broken | None:
        _, field, base, entries = effect
        before = self.view.disks[self.at].reset(field, base, entries)
        return self.told(f"reset {field}", self.node, before, (base, entries))

    def synced(self, effect: Effect) -> None:
        self.view.disks[self.at].sync()

    def applied(self, effect: Effect) -> Broken | None:
        return self.told("applied", self.node, *effect[1:])

    def restored(self, effect: Effect) -> Broken | None:
        return self.told("restored", self.node, *effect[1:])

    def restarted(self, effect: Effect) -> Broken | None:
        self.view.disks[self.at] = effect[1].image(self.watch.spec.disk)
        self.view.alive[self.at] = True
        return self.told("restarted", self.node)

    def asked(self, effect: Effect) -> Broken | None:
        _, op, command = effect
        known = self.requests.get(op)
        if known is not None:
            self.requests[op] = attrs.evolve(known, asked=(*known.asked, self.node))
        else:
            self.requests[op] = Asked(op, (self.node,), command)
            self._note("asked", op)
        return self.told("requested", self.node, op, command)

    def refused(self, effect: Effect) -> None:
        request = self.requests.get(effect[1])
        if request is not None and not request.answered and self.node in request.asked:
            refusals = min(request.refusals + 1, len(request.asked))
            self.requests[request.op] = attrs.evolve(request, refusals=refusals)

    def replied(self, effect: Effect) -> Broken | None:
        _, op, result = effect
        request = self.requests.get(op)
        if request is None or self.node not in request.asked:
            raise ProtocolFailure(f"{self.node} answered operation {op}, which no client asked of it")
        if request.answered or request.refusals == len(request.asked):
            return None
        self.requests[op] = attrs.evolve(request, answered=True, result=result)
        self._note("answered", op)
        return self.told("replied", self.node, op, request.command, result) or self._judge()

    def _note(self, what: str, op: int) -> None:
        if self.watch.spec.history is not None:
            self.history.append((what, op))

    def _judge(self) -> Broken | None:
        """Whether what clients saw so far could have been."""
        model = self.watch.spec.history
        if model is None:
            return None
        when = {happened: 2 * place for place, happened in enumerate(self.history, 1)}
        asked = [r for r in self.requests.values() if r.refusals < len(r.asked)]
        spans = [(when["asked", r.op], when.get(("answered", r.op))) for r in asked]
        operations = [
            Operation(r.op, f"c{r.op}", r.asked[0], r.command, *span, r.result)
            for r, span in zip(asked, spans, strict=True)
        ]
        verdict = check(operations, model, budget=200_000)
        return Broken(LINEARIZABILITY, verdict.sentence) if verdict.outcome == "violation" else None


_TELL: dict[Any, Any] = {
    SEND: Telling.sent,
    WRITE: Telling.wrote,
    STORE: Telling.stored,
    RESET: Telling.reset,
    SYNC: Telling.synced,
    APPLY: Telling.applied,
    RESTORE: Telling.restored,
    REPLY: Telling.replied,
    REFUSE: Telling.refused,
    ASKED: Telling.asked,
    RESTARTED: Telling.restarted,
}
