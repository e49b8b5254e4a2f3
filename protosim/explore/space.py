"""The states of a protocol within bounds, and what can happen next in each.

Everything is a small number: the state of a node, a message in flight, the record of the trusted side, what has been
spent of the bounds. A state of the whole is a tuple of these. Handlers and observers run once for each new
combination of what they can see, so that a step is a few look-ups.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, TypeVar

import attrs

from protosim.api import (
    CANCEL,
    REFUSE,
    RESET,
    SEND,
    SET_TIMER,
    STORE,
    SYNC,
    WRITE,
    Effect,
    Invariant,
)
from protosim.disk import Kept
from protosim.errors import UserError
from protosim.explore.bounds import Bounds, spending
from protosim.explore.nodes import Event, Nodes, NodeState, disk_state
from protosim.explore.search import Pulse
from protosim.explore.watch import ASKED, RESTARTED, Broken, Deed, Read, Watch
from protosim.program import Program
from protosim.world import DELIVER, REQUEST, START, TIMEOUT, ProtocolFailure

T = TypeVar("T")
Flying = tuple[int, ...]
"""Messages in flight, sorted; each is the event of its arrival."""
State = tuple[int, ...]
"""One number a node, then record, spent, and the messages in flight."""
Next = tuple[int, State, Broken | None]
"""Event, the state afterwards, what it breaks."""
Duty = int | tuple[int, str]
"""What must not be put off for ever: a message's arrival or a request, by its event; a node's timer."""
Move = tuple[int, Flying, int]
"""What an event makes of a node: its state, the messages that it sends, its deed (0: nothing to tell)."""
NOTHING: Move = (-1, (), 0)
"""Of an event that is impossible there, or that only a client hears of: its request is refused at once."""
FAILED = -2
"""In place of a node's state: the handler did what no protocol may; the deed says which of the failures."""
CRASH_POINTS = (SEND, WRITE, STORE, SYNC, RESET)  # effects whose being carried out can be seen after a crash


class Numbers(dict[T, int]):
    """Things as small numbers, in the order in which they are met; `of` leads back."""

    def __init__(self, *first: T) -> None:
        super().__init__()
        self.of: list[T] = []
        for thing in first:
            self[thing]

    def __missing__(self, thing: T) -> int:
        number = self[thing] = len(self.of)
        self.of.append(thing)
        return number


@attrs.frozen
class Cut:
    """The node crashes half-way through an event: after some of its effects, keeping some of the unsynced writes."""

    event: int
    point: int
    kept: Kept


@attrs.frozen
class Twice:
    """A message arrives, and stays in flight."""

    event: int


class Space:
    """A protocol's states within bounds."""

    def __init__(
        self, program: Program, bounds: Bounds, switches: dict[str, Any], *, warnings: Sequence[str], ordered: bool
    ) -> None:
        self.program, self.bounds = program, bounds
        self.ids = tuple(f"n{i}" for i in range(1, bounds.nodes + 1))
        self.n = bounds.nodes
        self.pulse = Pulse(self.ids)
        self.nodes = Nodes(program, self.ids, switches, ordered=ordered)
        self.watch = Watch(program.spec, self.ids, self.nodes.switches, warnings=warnings, ordered=ordered)
        self.spending = spending(bounds)
        self.states: Numbers[NodeState] = Numbers()
        self.events: Numbers[Event | Cut | Twice] = Numbers()
        self.deeds: Numbers[Deed | None] = Numbers(None)
        self.contents: Numbers[Any] = Numbers()  # of fields on disks
        self.moves: list[dict[int, Move]] = []  # by node state: event -> what it does
        self.cuts: dict[tuple[int, int], list[tuple[int, Move]]] = {}  # (node state, event) -> crashes within it
        self.own: dict[int, list[tuple[int, int]]] = {}  # node state << 32 | spent: see `_own`
        self.asking: dict[int, list[tuple[int, int, int]]] = {}  # see `_requests`
        self.place: list[int] = []  # by event: the node
        self.disks: list[tuple[int, ...]] = []  # by node state: each field as written, then as durable; up
        self.told: dict[int, Any] = {}  # record << 32 | deed -> record, Broken, or the first Read
        self.timed: dict[tuple[int, int], frozenset[Duty]] = {}  # (node state, event) -> timers that are set or fire
        self.failures: list[Broken] = []  # of handlers
        self.retries = program.spec.retries_under(switches)
        self.rare = bool(bounds.duplications or bounds.cuts)

    @property
    def clock_read(self) -> bool:
        """Whether a node or an observer has asked for the time, which stands still."""
        return self.nodes.clock_read or self.watch.clock_read

    def events_of(self, path: tuple[int, ...]) -> tuple[int, ...]:
        """The events of a path, which says for each state which of the successors comes next."""
        state, _ = self.initial()
        events: list[int] = []
        for choice in path:
            event, state, _ = self.successors(state)[choice]
            events.append(event)
        return tuple(events)

    # -- The beginning -------------------------------------------------------------------------------

    def initial(self) -> tuple[State, Broken | None]:
        """Every node has started, in their order."""
        nodes = [self.state(self.nodes.blank(at)) for at in range(self.n)]
        state: State = (*nodes, 0, 0)
        for at in range(self.n):
            found: list[Next] = []
            event, flying = self.number(Event(START, at)), state[self.n + 2 :]
            move = self._move(state[at], event)
            if len(flying) + len(move[1]) > self.bounds.messages:
                says = "more messages are on their way before all nodes have started"
                raise UserError(f"--messages: {self.bounds.messages} are too few for {self.program.name}: {says}.")
            self._take(found, state, event, move, flying, 0)
            _, state, broken = found[0]
            if broken is not None:
                return state, broken
        return state, None

    # -- What can happen -----------------------------------------------------------------------------

    def successors(self, state: State) -> list[Next]:
        """Every event that is possible, in a fixed order."""
        found: list[Next] = []
        n, moves, place, room = self.n, self.moves, self.place, self.bounds.messages
        record, spent, *_ = state[n:]
        flying = state[n + 2 :]
        last = -1
        for i, event in enumerate(flying):  # `_take`, written out: most events are deliveries
            if event == last:
                continue
            last, at = event, place[event]
            after, sent, deed = moves[state[at]].get(event) or self._move(state[at], event)
            if after < 0:
                self._take(found, state, event, (after, sent, deed), flying, spent)
                continue
            there = flying[:i] + flying[i + 1 :]
            if sent:
                there = tuple(sorted(there + sent))
            seen = self._tell(record, deed, state) if deed else record
            if not isinstance(seen, int):
                found.append((event, state, seen))
            elif len(there) <= room:
                found.append((event, (*state[:at], after, *state[at + 1 : n], seen, spent, *there), None))
            else:
                then = (*state[:at], after, *state[at + 1 : n], seen, spent)
                found.extend([(event, then + kept, None) for kept in self._crowded(there)])
        for at in range(n):
            for event, paid in self._own(state[at], spent):
                self._take(found, state, event, self._move(state[at], event), flying, paid)
        if self.bounds.requests:
            for event, at, paid in self._requests(record, spent):
                self._take(found, state, event, self._move(state[at], event), flying, paid)
        if self.rare:
            self._add_rare(found, state)
        return found

    def judge(self, state: State) -> None:
        """Events break invariants, and states do not."""
        return None

    def _take(self, found: list[Next], state: State, event: int, move: Move, flying: Flying, paid: int) -> None:
        """The state after the event, if it is possible and changes anything but what is spent."""
        after, sent, deed = move
        if after < 0:
            if after == FAILED:
                found.append((event, state, self.failures[deed]))
            return
        n, at = self.n, self.place[event]
        seen = self._tell(state[n], deed, state) if deed else state[n]
        if not isinstance(seen, int):
            found.append((event, state, seen))
            return
        then = (*state[:at], after, *state[at + 1 : n], seen)
        if sent or then != state[: n + 1] or flying != state[n + 2 :]:
            there = tuple(sorted(flying + sent))
            found.extend([(event, (*then, paid, *kept), None) for kept in self._crowded(there)])

    def _crowded(self, flying: Flying) -> list[Flying]:
        """Which of so many messages may ever arrive: all, or as many as the bound allows."""
        if len(flying) <= self.bounds.messages:
            return [flying]
        if self.bounds.lossless:
            return []
        return list(dict.fromkeys(combinations(flying, self.bounds.messages)))

    def _own(self, node: int, spent: int) -> list[tuple[int, int]]:
        """Timeouts and crashes of a node, which need no message: (event, spent afterwards)."""
        own = self.own.get(node << 32 | spent)
        if own is None:
            state = self.states.of[node]
            possible = [(Event(TIMEOUT, state.at, content=timer), self._counters(timer)) for timer in state.timers]
            if state.volatile is None:
                possible = [(Event(START, state.at), ())]
            elif self.bounds.crashes:
                possible += [(Event(START, state.at, content=kept), ("crashes",)) for kept in self._prefixes(state)]
            priced = [(self.number(event), self.spending.spend(spent, counters)) for event, counters in possible]
            own = self.own[node << 32 | spent] = [(event, paid) for event, paid in priced if paid >= 0]
        return own

    def _counters(self, timer: str) -> tuple[str, ...]:
        if timer not in self.bounds.timers:
            return ("timeouts",)
        return () if self.bounds.timers[timer] is None else ("timeouts", f"timer {timer}")

    def _prefixes(self, state: NodeState, effects: Sequence[Effect] = ()) -> list[Kept]:
        """What a crash may keep of the unsynced writes: any prefix."""
        unsynced = self.nodes.unsynced(state, effects)
        return [tuple((i, -1) for i in range(length)) for length in range(unsynced + 1)]

    def _requests(self, record: int, spent: int) -> list[tuple[int, int, int]]:
        """What clients may ask: (event, node, spent afterwards)."""
        key = (record if self.retries else 0) << 32 | spent
        asked = self.asking.get(key)
        if asked is None:
            asked = self.asking[key] = []
            paid = self.spending.spend(spent, ("requests",))
            seen = self.watch.seen[record].requests
            new = 1 + self.spending.count(spent, "requests")
            wanted = [(new, command) for command in self._commands(new)]
            if self.retries:
                wanted += [(r.op, r.command) for r in seen if not r.answered]
            for op, command in wanted if paid >= 0 else ():
                asked += [(self.number(Event(REQUEST, at, content=command, op=op)), at, paid) for at in range(self.n)]
        return asked

    def _commands(self, op: int) -> list[Any]:
        """What a client may ask in its op-th request."""
        spec = self.program.spec
        given = [spec.parse(op, tuple(words.split())) for words in self.bounds.commands]
        return given or [spec.workload(op, 0)]

    def _add_rare(self, found: list[Next], state: State) -> None:
        """Duplicated messages, and crashes half-way through an event."""
        n, spend = self.n, self.spending.spend
        record, spent, *_ = state[n:]
        flying = state[n + 2 :]
        twice, cut = spend(spent, ("duplications",)), spend(spent, ("cuts",))
        for i, event in enumerate(flying):
            node, rest = state[self.place[event]], flying[:i] + flying[i + 1 :]
            if twice >= 0:
                self._take(found, state, self.number(Twice(event)), self._move(node, event), flying, twice)
            if cut >= 0:
                self._add_cuts(found, state, event, rest, cut)
        for at in range(n) if cut >= 0 else ():
            for event, paid in self._own(state[at], cut):
                self._add_cuts(found, state, event, flying, paid)
        for event, _, paid in self._requests(record, cut) if cut >= 0 else ():
            self._add_cuts(found, state, event, flying, paid)

    def _add_cuts(self, found: list[Next], state: State, event: int, flying: Flying, paid: int) -> None:
        node = state[self.place[event]]
        if self._move(node, event)[0] >= 0:
            for cut, move in self.cuts[node, event]:
                self._take(found, state, cut, move, flying, paid)

    # -- What a step does: computed once -------------------------------------------------------------

    def state(self, state: NodeState) -> int:
        number = self.states[state]
        if number == len(self.moves):
            self.moves.append({})
            image = state.disk.image(self.nodes.schema)
            durable = disk_state(self.nodes.schema, image.durable()).fields
            known = (*state.disk.fields, *durable, state.volatile is not None)
            self.disks.append(tuple(self.contents[content] for content in known))
        return number

    def number(self, event: Event | Cut | Twice) -> int:
        number = self.events[event]
        if number == len(self.place):
            self.place.append(event.at if isinstance(event, Event) else self.place[event.event])
        return number

    def _move(self, node: int, event: int) -> Move:
        """What the event makes of the node. Raises ProtocolFailure."""
        move = self.moves[node].get(event)
        if move is not None:
            return move
        state, what = self.states.of[node], self.events.of[event]
        assert isinstance(what, Event)
        if state.volatile is None and what.kind != START:
            move = self.moves[node][event] = NOTHING
            return move
        told: list[Effect] = []
        if what.kind == START:
            state = self.nodes.crashed(state, (), what.content or ())
            told = [(RESTARTED, state.disk)]
        elif what.kind == REQUEST:
            told = [(ASKED, what.op, what.content)]
        elif what.kind == TIMEOUT:
            state = attrs.evolve(state, timers=tuple(timer for timer in state.timers if timer != what.content))
        self.pulse.at, self.pulse.pending = state.at, self.nodes.spelled(what)
        try:
            effects = self.nodes.handle(state, what)
        except ProtocolFailure as failure:
            return self._fail(node, event, failure)
        after = self.nodes.after(state, effects)
        refused = what.kind == REQUEST and [effect[0] for effect in effects] == [REFUSE]
        if refused and after == state:
            move = self.moves[node][event] = NOTHING
            return move
        move = self.moves[node][event] = (self.state(after), *self._outside(state.at, told, effects))
        if self.bounds.lossless:
            timers = {effect[1] for effect in effects if effect[0] in (SET_TIMER, CANCEL)} | {what.content}
            self.timed[node, event] = frozenset((state.at, timer) for timer in timers if isinstance(timer, str))
        if self.bounds.cuts:
            self.cuts[node, event] = self._cut(event, state, told, effects)
        return move

    def _fail(self, node: int, event: int, failure: ProtocolFailure) -> Move:
        self.failures.append(Broken(None, str(failure)))
        move = self.moves[node][event] = (FAILED, (), len(self.failures) - 1)
        return move

    def _outside(self, at: int, told: list[Effect], effects: Sequence[Effect]) -> tuple[Flying, int]:
        """What of these effects goes on outside of the node: (messages, deed)."""
        messages = [Event(DELIVER, self.ids.index(e[1]), at, e[2]) for e in effects if e[0] == SEND]
        return tuple(sorted(map(self.number, messages))), self.deeds[self.watch.deed(at, [*told, *effects])]

    def _cut(self, event: int, state: NodeState, told: list[Effect], effects: Sequence[Effect]) -> list[Any]:
        """Every crash within the event that leaves something else than the others: (event, what it does)."""
        found: dict[Move, int] = {}
        for point in range(len(effects)):
            if point and effects[point - 1][0] not in CRASH_POINTS:
                continue
            for kept in self._prefixes(state, effects[:point]):
                after = self.state(self.nodes.crashed(state, effects[:point], kept))
                move = (after, *self._outside(state.at, told, effects[:point]))
                found.setdefault(move, self.number(Cut(event, point, kept)))
        return [(cut, move) for move, cut in found.items()]

    def _tell(self, record: int, deed: int, state: State) -> int | Broken:
        """The record when the deed has been told; which disks matter is known from the last time."""
        seen = self.told.get(record << 32 | deed)
        while type(seen) is Read:
            seen = seen.found.get(self.disks[state[seen.at]][seen.slot])
        return seen if seen is not None else self._tell_anew(record, deed, state)

    def _tell_anew(self, record: int, deed: int, state: State) -> int | Broken:
        nodes = [self.states.of[number] for number in state[: self.n]]
        disks = [node.disk.image(self.nodes.schema) for node in nodes]
        up = [node.volatile is not None for node in nodes]
        what = self.deeds.of[deed]
        assert what is not None
        try:
            seen, reads = self.watch.add(record, what, disks, up)
        except ProtocolFailure as failure:
            return Broken(None, str(failure))
        known: dict[int, Any] = self.told
        key = record << 32 | deed
        for at, slot in reads:
            known, key = known.setdefault(key, Read(at, slot)).found, self.disks[state[at]][slot]
        known[key] = seen
        return seen

    # -- Liveness ------------------------------------------------------------------------------------

    def goals(self) -> list[Invariant]:
        return [invariant for _, _, invariant in self.watch.eventually]

    def misses(self, state: State) -> tuple[str, ...]:
        """For each goal the sentence that a run ending here would get, or "". """
        nodes = [self.states.of[number] for number in state[: self.n]]
        disks = [node.disk.image(self.nodes.schema) for node in nodes]
        return self.watch.misses(state[self.n], disks, [node.volatile is not None for node in nodes])

    def duties(self, state: State) -> frozenset[Duty]:
        """Arrivals and timers, and requests that would be taken. A timer that is set anew has not been put off."""
        found: set[Duty] = set()
        for at, node in enumerate(state[: self.n]):
            found.update((at, timer) for timer in self.states.of[node].timers)
        found.update(event for event in state[self.n + 2 :] if self._move(state[self.place[event]], event)[0] >= 0)
        for event, at, _ in self._requests(state[self.n], state[self.n + 1]):
            if self._move(state[at], event)[0] >= 0:
                found.add(event)
        return frozenset(found)

    def done(self, state: State, event: int) -> frozenset[Duty]:
        if not isinstance(self.events.of[event], Event):
            return frozenset()
        return self.timed[state[self.place[event]], event] | {event}
