"""The world: a sans-I/O, snapshotable kernel. It knows schedule, network, disks and crashes, and not the nodes.

    while world.advance():                      # -> world.at, world.pending: one node must handle one event
        effects, refused = host.step(world)     # in this process, or in another
        world.resume(effects, refused)          # carry the effects out, tell the observers

Local runs, hundreds of interleaved scenarios over pipes, replays and forked searches share it.
"""

import struct
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from itertools import islice, repeat
from typing import Any
from zlib import crc32

import attrs

from protosim.api import RESET, STORE, Effect, Invariant, NodeId, Observer, ProtocolSpec, methods, no_liars
from protosim.byzantine import ForgedSignature, Liars, Notary, liars_of
from protosim.clock import SIMPY, Clock
from protosim.disk import DiskImage, Kept, choose_kept
from protosim.keys import MASK, derive, label, mix
from protosim.scenario import Scenario
from protosim.schedule import Schedule
from protosim.values import ENCODERS, NoCanonicalForm, Value, encode, head

# Kinds of heap entries: (due, order, kind, ...)
DELIVER = 0  # (..., dst, src, message, key)
TIMEOUT = 1  # (..., node, timer)
REQUEST = 2  # (..., op)
FAULT = 3  # (..., fault, payload)
START = 4  # (..., node): a crashed node comes back
HEAL = 5  # (...,)
CRASH = 6  # only an event, never in the heap

ODD = 0x9E3779B97F4A7C15  # spreads the clock's small numbers over 64 bits
LONGEST_TIMER = 10**12  # microseconds
LONGEST_QUIET = 100_000  # heap entries without an event, after which a run is over: everybody is down
STEP_US = 1_000  # what an event takes where the schedule has priorities instead of times
CLIENTS = ("c1", "c2")  # where clients are nodes
PACE_US = 200_000  # a typical election timeout by the nodes' clocks

_HEADER = struct.Struct("<QBB").pack
_APPLIED = b"a" + head(3)


class ProtocolFailure(Exception):
    """The protocol did what no protocol may: it raised, it sent what is no message, it looped."""


@attrs.define
class Broken:
    """An invariant that broke."""

    invariant: Invariant
    sentence: str
    event: int  # the number of the event, from 1
    at: int


@attrs.define
class Request:
    """One client operation of a run."""

    op: int
    asked: tuple[NodeId, ...]  # one for each time
    command: Any
    invoked: int  # event number
    returned: int | None = None
    result: Any = None
    refusals: int = 0

    @property
    def refused(self) -> bool:
        """Whether it certainly took no effect."""
        return self.refusals == len(self.asked)


class World(Clock):
    """One run of one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        spec: ProtocolSpec,
        schedule: Schedule,
        faults: Sequence[Any] = (),
        *,
        observers: Sequence[type[Observer]] | None = None,
        digest: bool = True,
    ) -> None:
        super().__init__()
        self.scenario, self.spec = scenario, spec
        self.faults: tuple[Any, ...] = tuple(faults)
        self._set_nodes(liars_of(scenario, spec, self.faults))
        self.salts = [label(name) for name in self.ids]
        self.majority = len(self.replicas) // 2 + 1
        self.seed = derive(scenario.seed, "world")
        self.events = 0
        self.max_events, self.horizon = scenario.events, scenario.horizon
        self.look_up = 0  # the number of events at which `advance` asks whether it goes on
        self.fork_at = [(f.at_event, f.seed) for f in reversed(scenario.forks)]
        n = len(self.ids)
        self.disks = [DiskImage(spec.disk) for _ in range(n)]
        self.alive = [False] * n
        self.timers: list[dict[str, list[int]]] = [{} for _ in range(n)]  # see `_set_timer`
        self.ranked: list[tuple[Any, ...]] = []  # deliveries and timeouts, where the schedule ranks them: a heap
        self._set_network(n)
        self._set_schedule(schedule)
        self.repeats: dict[int, int] = {}
        self.requests: dict[int, Request] = {}
        self.retries = spec.retries_under(scenario.switches)
        self.believed: int | None = None  # who last took a client's request
        self.healed_at: int | None = None
        self.ahead: list[int] | None = None  # by how much each node's clock was set, or was ahead at `healed_at`
        self.fired: dict[str, int] = {}
        self.refused: dict[str, list[int]] = {}  # check -> [refusals, as the sole reason]
        self.hash = blake2b(digest_size=16) if digest else None
        self.trail = bytearray()
        self.recorder: Any = None
        self.violation: Broken | None = None
        self.warning: Broken | None = None
        self.stop_on_warning = False
        self.reached: set[str] = set()
        self.at = 0
        self.pending: tuple[Any, ...] = ()  # the event that waits for its node
        self._watch([o() for o in (spec.observers if observers is None else observers)])
        for observer in self.observers:
            observer.begin()
        self._begin()

    def _set_nodes(self, byzantine: Liars | None) -> None:
        """Replicas, clients, and the second selves that a tactic wants liars to have: each has a place."""
        self.replicas = self.scenario.node_ids()
        self.ids = self.replicas if self.spec.client is None else (*self.replicas, *CLIENTS)
        self.notary = None if self.spec.liars is no_liars else Notary()
        self.byzantine = byzantine
        self.liars: tuple[NodeId, ...] = () if byzantine is None else byzantine.names
        self.index = {name: i for i, name in enumerate(self.ids)}
        if byzantine is None:
            return
        self.notary = self.notary or Notary()
        if any(tactic.twins for tactic in byzantine.tactics):
            for name in self.liars:
                byzantine.twins[self.index[name]] = len(self.ids)
                byzantine.places.add(len(self.ids))
                self.ids = (*self.ids, name)

    def _set_network(self, n: int) -> None:
        self.loss = self.duplication = self.slow = 0  # thresholds for 12 bits
        self.slow_factor = 1
        self.spike = 1  # all delays, times this
        self.cuts: dict[int, list[int]] = {}  # by fault: for each source a mask of unreachable destinations
        self.cut = [0] * n
        self.paused = [0] * n  # until when
        self.rates: list[int] | None = None  # clock rates in parts per million
        self.aim = 0  # threshold for 12 bits: a crash between two effects of an event
        self.forge: Any = None  # who is asked, for each message, what others it brings that nobody sent

    def _set_schedule(self, schedule: Schedule) -> None:
        self.schedule_ = schedule
        untimed = schedule.timers is not None or schedule.rank is not None
        self.tick = max(1, PACE_US // schedule.pace) if untimed and self.spec.reads_clock else 1
        self.delays, self.gaps, self.memoryless = schedule.delays, schedule.request_gaps, schedule.timers
        self.rank, self.adversary, self.after_event = schedule.rank, schedule.adversary, schedule.after_event

    def _begin(self) -> None:
        for i in range(len(self.ids)):
            self._push(0, START, i)
        for number, fault in enumerate(self.faults):
            fault.start(self, number)
        if self.gaps:
            self._next_request(1)
        if self.scenario.heal is not None:
            self.call_at(self.scenario.heal, HEAL)

    # -- Observers -----------------------------------------------------------------------------------

    def _watch(self, observers: list[Observer]) -> None:
        """Subscribe every method of every observer to the facts that it names."""
        self.observers = observers
        self.on_sent: dict[type, list[Any]] = {}  # by class, since an edited source has classes of its own
        self.on: dict[str, list[Any]] = {}  # by fact and what it is about: "sent Vote", "stored log", "applied"
        self.at_end: list[Any] = []
        for observer in observers:
            observer.facts = self
            for name, function in methods(type(observer)).items():
                invariant = getattr(function, "_invariant", None)
                if hasattr(function, "_fact") and not (invariant and invariant.name in self.reached):
                    fact, about = function._fact
                    for told in [f"{fact} {each}" for each in about] or [fact]:
                        self.on.setdefault(told, []).append((getattr(observer, name), invariant))
                elif invariant is not None and invariant.mode == "eventually":
                    self.at_end.append((getattr(observer, name), invariant))

    def _tell(self, fact: str, *details: Any) -> None:
        if self.liars and details[0] in self.liars:
            return
        for method, invariant in self.on.get(fact, ()):
            broken = method(*details)
            if broken:
                self._report(invariant, broken)
                if self.violation is not None:
                    return

    def _subscribers(self, kind: type) -> list[Any]:
        """Who wants to know of messages of this class."""
        if not issubclass(kind, Value):
            raise ProtocolFailure(f"{self.ids[self.at]} sent a {kind.__name__}, which is no message")
        found = self.on_sent[kind] = self.on.get(f"sent {kind.__name__}", [])
        return found

    def _report(self, invariant: Invariant | None, broken: Any) -> None:
        if invariant is None:
            return
        if invariant.mode == "sometimes":
            self.reached.add(invariant.name)
            for fact, subscribers in self.on.items():
                self.on[fact] = [s for s in subscribers if s[1] is not invariant]
            self.on_sent = {}
            return
        found = Broken(invariant, str(broken), self.events, self._now)
        if invariant.mode == "warning":
            self.warning = self.warning or found
        else:
            self.violation = found
        self.look_up = 0
        if self.violation is not None:
            self.on, self.on_sent = {}, {}  # later facts of this event have nothing to rest on

    # What observers may believe (api.Facts); `ids`, `majority` and `healed_at` are attributes.

    @property
    def now(self) -> int:
        return self._now

    @cached_property
    def switches(self) -> Any:
        return self.spec.switches(**self.scenario.switches)

    def written(self, node: NodeId) -> DiskImage:
        return self.disks[self.index[node]]

    def durable(self, node: NodeId) -> DiskImage:
        return self.disks[self.index[node]].durable()

    def up(self, node: NodeId) -> bool:
        return self.alive[self.index[node]]

    def clock(self, node: NodeId | None = None) -> int:
        return self._now * self.tick if node is None else self.clock_of(self.index[node])

    def reaches(self, src: NodeId, dst: NodeId) -> bool:
        return not self.cut[self.index[src]] >> self.index[dst] & 1

    # -- The schedule --------------------------------------------------------------------------------

    def bits(self, about: int) -> int:
        """64 keyed bits for something that happens now; `about` is a label."""
        x = self.seed ^ about ^ (self._now * ODD & MASK)
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK  # `mix`, written out here and in `_transmit`
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        return x ^ (x >> 31)

    def _push(self, due: int, kind: int, *entry: Any) -> None:
        self.order = order = self.order + 1
        heappush(self.heap, (due, order, kind, *entry))

    def after(self, gap: int, fault: int, payload: Any = None) -> None:
        """Call the fault's `fire` when the gap has passed."""
        self._push(self._now + gap, FAULT, fault, payload)

    def advance(self) -> bool:
        """Go on to the next event that a node must handle: `at` (its index) and `event`. False when the run is over."""
        heap, ranked = self.heap, self.ranked
        for _ in repeat(None, LONGEST_QUIET):
            if self.events >= self.look_up and not self._goes_on():
                break
            if ranked and (not heap or heap[0][0] > self._now):  # what is timed goes first when its time has come
                entry = heappop(ranked)
                now = self._now + STEP_US
            elif heap:
                entry = heappop(heap)
                now = entry[0]
            else:
                break
            if now > self._now:
                if now > self.horizon:
                    self._now = self.horizon
                    break
                self._now = now
            if self._arrive(entry) if entry[2] == DELIVER else self._take(entry[2], entry):
                return True
        if not self.interrupted:
            self._end()
        return False

    def _goes_on(self) -> bool:
        """What is asked for at `look_up` only: whether the run is over; a fork is due."""
        if self.violation is not None or self.interrupted or self.events >= self.max_events:
            return False
        if self.fork_at and self.events >= self.fork_at[-1][0]:
            self.fork(self.fork_at.pop()[1])
        self.look_up = min(self.max_events, self.fork_at[-1][0]) if self.fork_at else self.max_events
        return True

    @property
    def interrupted(self) -> bool:
        """Whether there was a warning, and the caller wants to know of it at once."""
        return self.stop_on_warning and self.warning is not None

    def _take(self, kind: int, entry: tuple[Any, ...]) -> bool:
        """Whether this entry is an event for a live node; faults and stale entries are dealt with here."""
        if kind == TIMEOUT:
            return self._time_out(entry)
        if kind == REQUEST:
            return self._take_request(entry[3])
        if kind == FAULT:
            self.faults[entry[3]].fire(self, entry[3], entry[4])
        elif kind == START:
            return not self.alive[entry[3]] and self.start(entry[3])
        elif kind == HEAL:
            self._heal()
        elif kind == SIMPY:
            self.handle(entry)
        return False

    def _arrive(self, entry: tuple[Any, ...]) -> bool:
        _, _, _, dst, src, m, key = entry
        if not self.alive[dst]:
            return False
        if self.cut[src] >> dst & 1:
            return self._lost("partition")
        if self.paused[dst] > self._now:
            return self._later(dst, entry)
        if key & 63 == 0 and m.fresh_encoding() != m.encode():
            raise ProtocolFailure(f"{self.ids[src]} sent {m} and changed it afterwards; messages are values")
        self.events += 1  # from here on `_happen`, written out
        self.at, self.pending = dst, (DELIVER, self.ids[src], m, key)
        if self.notary is not None:
            self.notary.receives(self.ids[dst], m)
        if self.hash is not None:
            self.trail += _HEADER(self._now, DELIVER, dst)
            self.trail += m.encode()
        return True

    def _happen(self, kind: int, at: int, event: tuple[Any, ...], payload: bytes) -> bool:
        """One more event: count it, digest it."""
        self.events += 1
        self.at, self.pending = at, event
        if self.hash is not None:
            self.trail += _HEADER(self._now, kind, at) + payload
        return True

    def _lost(self, why: str) -> bool:
        self.fired[why] = self.fired.get(why, 0) + 1
        return False

    def _later(self, node: int, entry: tuple[Any, ...]) -> bool:
        """A paused node handles it when it goes on."""
        self.order = order = self.order + 1
        heappush(self.heap, (self.paused[node], order, *entry[2:]))
        return False

    def _time_out(self, entry: tuple[Any, ...]) -> bool:
        due, _, _, node, timer = entry
        slot = self.timers[node].get(timer)
        if slot is None or slot[1] != due:
            return False
        if slot[0] < 0:
            slot[1] = -1
            return False
        if self.paused[node] > self._now:
            slot[1] = self.paused[node]
            return self._later(node, entry)
        if slot[0] > self._now and self.rank is None:  # it was set again since: this entry was the earlier one
            slot[1] = slot[0]
            self._push(slot[0], TIMEOUT, node, timer)
            return False
        slot[0] = slot[1] = -1
        return self._happen(TIMEOUT, node, (TIMEOUT, timer), timer.encode())

    def clock_of(self, node: int) -> int:
        """The node's own clock, which goes back only by the fault that sets it: what it was ahead by when the faults
        ended stays."""
        now = self._now * self.tick
        if self.rates is not None:
            now = now * self.rates[node] // 1_000_000
        return now if self.ahead is None else now + self.ahead[node]

    def pass_by(self, time: int) -> None:
        """So many microseconds pass."""
        self._now += time

    def set_clock(self, node: int, by: int) -> None:
        """The node's clock is set forwards by so many microseconds, or back."""
        ahead = self.ahead or [0] * len(self.ids)
        self.ahead = [each + by if i == node else each for i, each in enumerate(ahead)]

    def fork(self, seed: int) -> None:
        """From here on another seed decides, messages in flight included."""
        self.seed = derive(seed, "world")
        if self.rank is None:
            self.heap[:] = [
                (self._now + self.delays[mix(self.seed ^ e[6]) & 4095], *e[1:]) if e[2] == DELIVER else e
                for e in self.heap
            ]
            heapify(self.heap)
        else:
            self.ranked[:] = [
                (self.rank(self, DELIVER, e[3:], e[0]), *e[1:]) if e[2] == DELIVER else e for e in self.ranked
            ]
            heapify(self.ranked)

    # -- Clients -------------------------------------------------------------------------------------

    def _next_request(self, op: int) -> None:
        assert self.gaps is not None
        gap = self.gaps[mix(self.seed ^ derive(op, "gap")) & 4095]
        self._push(self._now + gap, REQUEST, op)

    def _take_request(self, op: int) -> bool:
        self._next_request(op + 1)
        z = mix(self.seed ^ derive(op, "request"))
        target = self._whom(z)
        if not self.alive[target] or self.paused[target] > self._now:
            self.believed = None
            return False
        again = self._unanswered(z >> 24 & 255) if self.retries else None
        if again is not None:
            return self.ask(target, again.op, again.command)
        return self.ask(target, op, self.spec.workload(op, z >> 32))

    def _whom(self, bits: int) -> int:
        """The node that a person asks: a client, or most of the time the node that answered last."""
        if self.spec.client is not None:
            return len(self.replicas) + (bits >> 2) % len(CLIENTS)
        if self.believed is not None and bits & 3:
            return self.believed
        target = (bits >> 2) % len(self.replicas)
        twin = self.byzantine.twins.get(target) if self.byzantine is not None else None
        return target if twin is None or bits >> 20 & 1 else twin

    def _unanswered(self, bits: int) -> Request | None:
        """One time in three, one of the last eight operations, if it has no answer: its client asks again."""
        latest = list(islice(reversed(self.requests.values()), 8))
        chosen = latest[bits // 3 % len(latest)] if latest and bits % 3 == 0 else None
        return chosen if chosen is not None and chosen.returned is None else None

    def ask(self, node: int, op: int, command: Any) -> bool:
        """A client asks the node for the command."""
        known = self.requests.get(op)
        if known is None:
            self.requests[op] = Request(op, (self.ids[node],), command, self.events + 1)
        else:
            known.asked += (self.ids[node],)
        self._tell("requested", self.ids[node], op, command)
        payload = encode((op, command)) if self.hash is not None else b""
        return self._happen(REQUEST, node, (REQUEST, op, command), payload)

    # -- Effects -------------------------------------------------------------------------------------

    def resume(self, effects: Sequence[Effect], refused: Sequence[tuple[str, ...]]) -> None:
        """Carry out, in order, what the node asked for; perhaps it crashes on the way."""
        if refused:
            self._count(refused)
        at = self.at
        if self.byzantine is not None and at in self.byzantine.places:
            effects = self.byzantine.twist(self, at, effects)
        cut: int | None = None
        kept: Kept = ()
        if self.aim and len(effects) > 1 and self._now:
            cut, kept = self._crash_point(effects)
        if self.recorder is not None:
            self.recorder.before(self, effects, refused, cut)
        try:
            for effect in effects if cut is None else effects[:cut]:
                _CARRY_OUT[effect[0]](self, at, effect)
        except NoCanonicalForm as error:
            raise ProtocolFailure(f"{self.ids[at]}: {error}") from error
        except ForgedSignature as error:
            raise ProtocolFailure(str(error)) from error
        if cut is not None:
            self.crash(at, kept, aimed=True)
        if len(self.trail) > 4096:
            self._digest()
        if self.after_event is not None:
            self.after_event(self)
        if self.recorder is not None:
            self.recorder.after(self, cut, kept)

    def _count(self, refused: Sequence[tuple[str, ...]]) -> None:
        counts = self.refused
        for names in refused:
            for name in names:
                count = counts.setdefault(name, [0, 0])
                count[0] += 1
                count[1] += len(names) == 1

    def _digest(self) -> None:
        assert self.hash is not None
        self.hash.update(self.trail)
        self.trail.clear()

    def digest(self) -> str:
        """blake2b over the events so far: times, nodes and contents, and what they wrote, applied and answered."""
        if self.hash is None:
            return ""
        self._digest()
        return self.hash.hexdigest()

    def _transmit(self, src: int, effect: Effect) -> None:
        _, to, m = effect
        subscribers = self.on_sent.get(type(m))
        if subscribers is None:
            subscribers = self._subscribers(type(m))
        if self.notary is not None and self._lies(src, m):
            subscribers = []
        for method, invariant in subscribers:
            broken = method(self.ids[src], to, m)
            if broken:
                self._report(invariant, broken)
                if self.violation is not None:
                    break
        dst = self.index.get(to)
        if dst is None:
            raise ProtocolFailure(f"{self.ids[src]} sent {m} to {to!r}, which is no node of {self.ids}")
        if self.byzantine is not None and dst in self.byzantine.twins:
            dst = self.byzantine.self_of(self, dst, src)
        print_ = crc32(m.encode(), src << 8 | dst)
        self.repeats[print_] = repeat = self.repeats.get(print_, 0) + 1
        key = print_ | repeat << 32
        z = self.seed ^ key
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        if z >> 12 & 4095 < self.loss or self.cut[src] >> dst & 1:
            self._lost("loss" if z >> 12 & 4095 < self.loss else "partition")
            return
        delay = self.delays[z & 4095] * self.spike
        if z >> 24 & 4095 < self.slow and self.rank is None:  # where messages are ranked, none takes any time
            delay *= self.slow_factor
            self.fired["reordering"] = self.fired.get("reordering", 0) + 1
        if self.adversary is not None:
            delay = self.adversary(self, src, dst, m, delay)
        self._enqueue(delay, dst, src, m, key)
        if z >> 36 & 4095 < self.duplication:
            self.fired["duplication"] = self.fired.get("duplication", 0) + 1
            self._enqueue(delay + self.delays[z >> 48 & 4095] * 3, dst, src, m, key)
        if self.forge is not None:
            for liar, to, forged in self.forge(self, src, dst, m, key):
                forged_key = crc32(forged.encode(), liar << 8 | to)  # of no sending: these count from 1
                self._enqueue(delay + self.delays[z >> 48 & 4095] * 3, to, liar, forged, forged_key)

    def _lies(self, src: int, m: Any) -> bool:
        """Whether a liar sends this; if not, what it signs is noted. Raises ForgedSignature."""
        assert self.notary is not None
        if self.byzantine is not None and src in self.byzantine.places:
            return True
        self.notary.sends(self.ids[src], m)
        return False

    def _enqueue(self, delay: int, dst: int, src: int, m: Any, key: int) -> None:
        due, heap = self._now + delay, self.heap
        if self.rank is not None:
            due, heap = self.rank(self, DELIVER, (dst, src, m, key), due), self.ranked
        self.order = order = self.order + 1
        heappush(heap, (due, order, DELIVER, dst, src, m, key))

    def _write(self, at: int, effect: Effect) -> None:
        before = self.disks[at].write(effect[1])
        if self.hash is not None:
            self.trail += b"w" + encode(effect[1])
        for name in before:
            self._tell(f"wrote {name}", self.ids[at], before)

    def _store(self, at: int, effect: Effect) -> None:
        _, field, index, entries = effect
        index, removed = self.disks[at].store(field, index, entries)
        if self.hash is not None:
            self.trail += b"l" + encode((field, index, entries))
        self._tell(f"stored {field}", self.ids[at], index, removed, entries)

    def _reset(self, at: int, effect: Effect) -> None:
        _, field, base, entries = effect
        before = self.disks[at].reset(field, base, entries)
        if self.hash is not None:
            self.trail += b"z" + encode((field, base, entries))
        self._tell(f"reset {field}", self.ids[at], before, (base, entries))

    def _restore(self, at: int, effect: Effect) -> None:
        _, index, state = effect
        if self.hash is not None:
            self.trail += b"o" + encode((index, state))
        self._tell("restored", self.ids[at], index, state)

    def _sync(self, at: int, effect: Effect) -> None:
        self.disks[at].sync()

    def _set_timer(self, at: int, effect: Effect) -> None:
        """A timer is [its deadline or -1, when its entry in the heap is due or -1, what keys its draws]."""
        _, timer, shortest, longest = effect
        if not 0 < shortest <= longest <= LONGEST_TIMER:
            raise ProtocolFailure(f"{self.ids[at]} set {timer} to a range of {shortest} to {longest} microseconds")
        slot = self.timers[at].get(timer)
        if slot is None:
            slot = self.timers[at][timer] = [-1, -1, label(f"{self.ids[at]}/{timer}")]
        if self.memoryless is not None:  # any time may be next, whatever the range says
            slot[0] = 0
            if slot[1] < 0:
                slot[1] = self._arm(at, timer, self.memoryless[self.bits(slot[2]) & 4095])
            return
        wait = shortest
        if shortest < longest:
            wait += self.bits(slot[2]) % (longest - shortest + 1)
        if self.rates is not None:
            wait = wait * 1_000_000 // self.rates[at]
        slot[0] = due = self._now + wait
        if slot[1] < 0 or (due < slot[1] and self.rank is None):
            slot[1] = self._arm(at, timer, wait)

    def _arm(self, at: int, timer: str, wait: int) -> int:
        """Enter the timeout. Returns by what it is recognised: when it is due, or its rank."""
        due = self._now + wait
        if self.rank is None:
            self._push(due, TIMEOUT, at, timer)
            return due
        rank = self.rank(self, TIMEOUT, (at, timer), due)
        self.order = order = self.order + 1
        heappush(self.ranked, (rank, order, TIMEOUT, at, timer))
        return rank

    def _cancel(self, at: int, effect: Effect) -> None:
        slot = self.timers[at].get(effect[1])
        if slot is not None:
            slot[0] = -1

    def _apply(self, at: int, effect: Effect) -> None:
        _, index, command, result = effect
        if self.hash is not None:  # `encode((index, command, result))`, written out: there are as many as events
            self.trail += _APPLIED + encode(index) + ENCODERS[type(command)](command) + encode(result)
        self._tell("applied", self.ids[at], index, command, result)

    def _reply(self, at: int, effect: Effect) -> None:
        _, op, result = effect
        request = self.requests.get(op)
        if self.hash is not None:
            self.trail += b"r" + encode(effect[1:])
        if request is None or self.ids[at] not in request.asked:
            raise ProtocolFailure(f"{self.ids[at]} answered operation {op}, which no client asked of it")
        if request.returned is not None or request.refused:
            return
        request.returned, request.result = self.events, result
        self.believed = at
        self._tell("replied", self.ids[at], op, request.command, result)

    def _refuse(self, at: int, effect: Effect) -> None:
        request = self.requests.get(effect[1])
        if self.hash is not None:
            self.trail += b"n" + encode(effect[1])
        if request is not None and request.returned is None and self.ids[at] in request.asked:
            request.refusals = min(request.refusals + 1, len(request.asked))
            if self.believed == at:
                self.believed = None

    # -- Crashes and the end -------------------------------------------------------------------------

    def _crash_point(self, effects: Sequence[Effect]) -> tuple[int | None, Kept]:
        """Whether a crash falls between two effects of this event, where, and what it keeps of the unsynced writes."""
        z = self.bits(self.salts[self.at])
        if z & 4095 >= self.aim:
            return None, ()
        syncs = [i for i, effect in enumerate(effects) if effect[0] == 3]
        if syncs and z >> 12 & 1:
            point = syncs[(z >> 13 & 255) % len(syncs)] + (z >> 21 & 1)  # just before or just after a sync
        else:
            point = (z >> 13 & 255) % (len(effects) + 1)
        sizes = self.disks[self.at].journal_sizes()
        for effect in effects[:point]:
            if effect[0] == 3:
                sizes = []
            elif effect[0] in (1, STORE, RESET):
                sizes.append(len(effect[3]) if effect[0] == STORE else 0)
        return point, choose_kept(len(sizes), sizes, z >> 24)

    def crash(self, node: int, kept: Kept = (), aimed: bool = False) -> None:
        """The node stops; its volatile state and the unsynced writes that are not kept are gone."""
        self.alive[node] = False
        self.disks[node].crash(kept)
        self.timers[node] = {}
        if self.believed == node:
            self.believed = None
        self.fired["crash"] = self.fired.get("crash", 0) + 1
        if self.hash is not None:
            self.trail += b"c" + _HEADER(self._now, 0, node) + encode(kept)
        if aimed:
            for number, fault in enumerate(self.faults):
                if fault.restarts:
                    fault.crashed(self, number, node)

    def strike(self, node: int, bits: int) -> None:
        """A crash between two events; the bits choose what it keeps of the unsynced writes."""
        self.crash_between(node, choose_kept(self.disks[node].unsynced(), self.disks[node].journal_sizes(), bits))

    def crash_between(self, node: int, kept: Kept) -> None:
        """A crash between two events, which is an event itself."""
        self._happen(START, node, (CRASH, kept), b"crash")
        if self.recorder is not None:
            self.recorder.before(self, (), (), None)
        self.crash(node, kept)
        if self.recorder is not None:
            self.recorder.after(self, None, kept)

    def start(self, node: int) -> bool:
        """The node boots with what its disk holds."""
        self.alive[node] = True
        self.paused[node] = 0
        self._tell("restarted", self.ids[node])
        return self._happen(START, node, (START, self.disks[node].contents()), b"")

    def restart_after(self, node: int, gap: int) -> None:
        self._push(self._now + gap, START, node)

    def cut_links(self, fault: int, masks: list[int] | None) -> None:
        """Let the fault cut these links (for each source a mask of destinations), or none."""
        if masks is None:
            self.cuts.pop(fault, None)
        else:
            self.cuts[fault] = masks
        self.cut = [0] * len(self.ids)
        for each in self.cuts.values():
            self.cut = [a | b for a, b in zip(self.cut, each, strict=True)]

    def _heal(self) -> None:
        """The faults end for good: everybody up, no message lost any more, every link open but those of a fault that
        stays."""
        self.healed_at = self._now
        if self.rates is not None:
            self.ahead = [self.clock_of(node) - self._now * self.tick for node in range(len(self.ids))]
        self._release()
        self._set_network(len(self.ids))
        for number, fault in enumerate(self.faults):
            fault.remain(self, number)
        self.faults = ()
        for node, up in enumerate(self.alive):
            if not up:
                self._push(self._now, START, node)

    def _release(self) -> None:
        """Take the faults' entries out of the heap. What they held back comes soon: messages within the schedule's
        longest delay, timeouts of paused nodes at once."""
        now, latest = self._now, self._now + max(self.delays)
        heap: list[tuple[Any, ...]] = []
        for entry in self.heap:
            due, order, kind, *rest = entry
            if kind == DELIVER:
                due = min(due, latest)
            elif kind == TIMEOUT and due == self.paused[rest[0]] and rest[1] in self.timers[rest[0]]:
                due = self.timers[rest[0]][rest[1]][1] = now
            if kind != FAULT:
                heap.append((due, order, kind, *rest))
        heapify(heap)
        self.heap[:] = heap

    def _end(self) -> None:
        """Judge liveness, if the run healed and reached its horizon."""
        if self.healed_at is not None and self.violation is None and self._now >= self.horizon:
            for method, invariant in self.at_end:
                sentence = method()
                if sentence:
                    self._report(invariant, sentence)

    # -- Copies --------------------------------------------------------------------------------------

    def copy(self) -> "World":
        """An independent world in the same state. The host copies its nodes."""
        if any(entry[2] == SIMPY for entry in self.heap):
            raise RuntimeError("a run with simpy processes cannot be copied: write its workload or fault as data")
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        for name in ("heap", "ranked", "alive", "cut", "paused", "fork_at"):
            twin.__dict__[name] = list(self.__dict__[name])
        twin._queue = twin.heap
        twin.look_up = 0
        for name in ("cuts", "repeats", "fired"):
            twin.__dict__[name] = dict(self.__dict__[name])
        twin.reached = set(self.reached)
        twin.disks = [disk.copy() for disk in self.disks]
        twin.timers = [{t: list(slot) for t, slot in timers.items()} for timers in self.timers]
        twin.requests = {op: attrs.evolve(request) for op, request in self.requests.items()}
        twin.refused = {name: list(count) for name, count in self.refused.items()}
        twin.faults = tuple(fault.copy() for fault in self.faults)
        twin.notary = self.notary.copy() if self.notary is not None else None
        twin.byzantine = self.byzantine.copy() if self.byzantine is not None else None
        twin.hash = self.hash.copy() if self.hash is not None else None
        twin.trail = bytearray(self.trail)
        twin._set_schedule(self.schedule_.copy())
        twin._watch([observer.copy(twin) for observer in self.observers])
        return twin


_CARRY_OUT: tuple[Any, ...] = (
    World._transmit,
    World._write,
    World._store,
    World._sync,
    World._set_timer,
    World._cancel,
    World._apply,
    World._reply,
    World._refuse,
    World._restore,
    World._reset,
)
