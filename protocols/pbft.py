"""PBFT: state machine replication where up to f of n = 3f + 1 replicas are Byzantine.

Paper    M. Castro and B. Liskov, "Practical Byzantine Fault Tolerance", OSDI 1999. § refers to it.
Also     M. Castro and B. Liskov, "Practical Byzantine Fault Tolerance and Proactive Recovery", ACM TOCS 2002.
Scope    All of §4: three phases, garbage collection, view changes, clients, state transfer. No batching, MACs instead
         of signatures or other optimisations (§5). The service is a key-value store.
Assumes  At most f liars, who cannot sign for others; messages may be lost, duplicated, delayed and reordered. Progress
         needs delays that do not grow for ever. The paper's correct replicas never stop; these crash and restart.

On disk  What a replica has signed must bind it after a restart as well. So this is synced before the message leaves:
         the view (VIEW-CHANGE: nothing of earlier views is accepted any more), the NEW-VIEW that made it mine (with O),
         each pre-prepare accepted (PREPARE: no other digest in that view and number), each prepared certificate
         (COMMIT: the next VIEW-CHANGE shows it), each checkpoint's state (CHECKPOINT: others may need it), and the last
         stable checkpoint's certificate before what it covers is discarded. What is committed is found again by the
         next view change or checkpoint, as the paper has it for a replica that missed messages.

Reading order: messages, state, normal case (§4.2), checkpoints (§4.3), view changes (§4.4, §4.5.2), state transfer,
clients (§4.1); then what must hold. Each keyword of `holds(...)` is one check that the paper demands.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import attrs

from protosim.api import (
    MS,
    Command,
    Disk,
    KeyValueStore,
    Log,
    Node,
    NodeId,
    Observer,
    OpId,
    ProtocolSpec,
    always,
    applied,
    digest_of,
    eventually,
    holds,
    message,
    on,
    on_timeout,
    part_of,
    puts_and_gets,
    replied,
    requested,
    restarted,
    restored,
    sent,
    signed,
    sometimes,
    stored,
    switch,
    value,
    warning,
    wrote,
)

View = int
Number = int  # the sequence number of a request, from 1
Timestamp = OpId  # of a client's request; a later one has a greater
Digest = bytes
Slot = tuple[View, Number, Digest]  # what PREPAREs and COMMITs must agree on to count together

NULL = digest_of(None)  # of the null request, whose execution is a no-op: §4.4

TICK = "tick"
RESEND = "resend"
TICK_INTERVAL = (40 * MS, 50 * MS)
MOST_DOUBLINGS = 2  # of the view-change timeout: delays are bounded here, so it may be
RESEND_INTERVAL = (150 * MS, 200 * MS)
MOST_EARLY = 64  # messages of later views that are kept from each sender


def most_liars(size: int) -> int:
    """f, of so many replicas."""
    return (size - 1) // 3


# -- Messages ----------------------------------------------------------------------------------------


def brief(self: Any) -> str:
    """As the paper writes messages, with the first bytes of digests."""
    shown = [_brief(getattr(self, name)) for name, _ in self.FIELDS if name != "valid"]
    forged = " forged" if self.SIGNED and not self.valid else ""
    return f"{type(self).__name__}({', '.join(shown)}){forged}"


def _brief(x: Any) -> str:
    if isinstance(x, bytes):
        return x.hex()[:6]
    return "[" + ", ".join(map(_brief, x)) + "]" if isinstance(x, tuple) else "none" if x is None else str(x)


@signed
class Request:
    """⟨REQUEST, o, t, c⟩: the client asks for an operation. It has one request at a time, §4.1."""

    command: Command
    timestamp: Timestamp
    signer: NodeId
    __str__ = brief


@signed
class Reply:
    """⟨REPLY, v, t, c, i, r⟩."""

    view: View
    timestamp: Timestamp
    client: NodeId
    result: int | None
    signer: NodeId
    __str__ = brief


@signed
class PrePrepare:
    """⟨PRE-PREPARE, v, n, d⟩: the primary assigns a number to a request. It is small, as proofs are made of it."""

    view: View
    number: Number
    digest: Digest
    signer: NodeId
    __str__ = brief


@message
class Proposal:
    """A PRE-PREPARE with the request piggybacked."""

    pre_prepare: PrePrepare
    request: Request
    __str__ = brief


@signed
class Prepare:
    """⟨PREPARE, v, n, d, i⟩: a backup agrees to the number in this view."""

    view: View
    number: Number
    digest: Digest
    signer: NodeId
    __str__ = brief


@signed
class Commit:
    """⟨COMMIT, v, n, D(m), i⟩: the replica has a prepared certificate, and so shows it in every later view change."""

    view: View
    number: Number
    digest: Digest
    signer: NodeId
    __str__ = brief


@signed
class Checkpoint:
    """⟨CHECKPOINT, n, d, i⟩: the digest of the state that the requests up to n have made."""

    number: Number
    digest: Digest
    signer: NodeId
    __str__ = brief


@value
class Prepared:
    """A prepared certificate: a pre-prepare and 2f matching prepares of different backups."""

    pre_prepare: PrePrepare
    prepares: tuple[Prepare, ...]
    __str__ = brief


@signed
class ViewChange:
    """⟨VIEW-CHANGE, v+1, n, C, P, i⟩."""

    view: View
    number: Number  # of the last stable checkpoint that i knows
    proof: tuple[Checkpoint, ...]  # C: its certificate; nothing for the initial state
    prepared: tuple[Prepared, ...]  # P: for each number above that prepared at i, of the latest view in which it did
    signer: NodeId
    __str__ = brief


@signed
class NewView:
    """⟨NEW-VIEW, v+1, V, O⟩."""

    view: View
    view_changes: tuple[ViewChange, ...]  # V
    pre_prepares: tuple[PrePrepare, ...]  # O
    signer: NodeId
    __str__ = brief


@value
class State:
    """Of the service: what a checkpoint is taken of."""

    registers: tuple[tuple[str, int], ...]
    replies: tuple[tuple[NodeId, Timestamp, int | None], ...]  # the last to each client
    __str__ = brief


@value
class Snapshot:
    """The state that the requests up to `number` have made."""

    number: Number
    state: State
    __str__ = brief


@message
class FetchState:
    """A replica lacks the state of a stable checkpoint."""

    number: Number


@message
class FetchedState:
    """A stable checkpoint that the sender has, and its certificate."""

    snapshot: Snapshot
    proof: tuple[Checkpoint, ...]
    __str__ = brief


@message
class FetchRequest:
    """A replica lacks a request: in NEW-VIEWs there are digests only."""

    digest: Digest
    __str__ = brief


@message
class FetchedRequest:
    request: Request
    __str__ = brief


def slot_of(m: PrePrepare | Prepare | Commit) -> Slot:
    return m.view, m.number, m.digest


# -- The service -------------------------------------------------------------------------------------


class Service(KeyValueStore):
    """The key-value store, and the last reply to each client, which is state that all replicas agree on."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: dict[NodeId, tuple[Timestamp, int | None]] = {}

    def last_timestamp(self, client: NodeId) -> Timestamp:
        return self.replies[client][0] if client in self.replies else 0

    def apply(self, command: Any) -> int | None:
        """Execute a request."""
        result = super().apply(command.command)
        self.replies[command.signer] = command.timestamp, result
        return result

    def snapshot(self) -> Any:
        return State(super().snapshot(), tuple((c, *self.replies[c]) for c in sorted(self.replies)))

    def restore(self, state: Any) -> None:
        super().restore(state.registers)
        self.replies = {client: (timestamp, result) for client, timestamp, result in state.replies}

    def copy(self) -> "Service":
        twin = Service()
        twin.registers, twin.replies = dict(self.registers), dict(self.replies)
        return twin


# -- State -------------------------------------------------------------------------------------------


class PbftDisk(Disk):
    view: View = 0
    new_view: NewView | None = None  # the last that I entered a view by
    proof: tuple[Checkpoint, ...] = ()  # C: of the last stable checkpoint; nothing for the initial state
    snapshots: tuple[Snapshot, ...] = ()  # that checkpoint's, if I have its state, and later ones
    pre_prepares: Log[PrePrepare]  # accepted, but for those in NEW-VIEWs
    prepared: Log[Prepared]  # of each number the last one counts
    requests: Log[Request]


@attrs.frozen
class Switches:
    interval: int = switch(2, (1, 2, 4), "requests from one checkpoint to the next, §4.3; the log holds twice as many")
    patience: int = switch(4, (2, 4), "ticks that a replica waits before its first view change, §4.4")


class Participant(Node[PbftDisk]):
    """What replicas and clients know of the cluster."""

    switches: Switches

    replicas: tuple[NodeId, ...]

    @property
    def f(self) -> int:
        return most_liars(self.cluster_size)

    def primary_of(self, view: View) -> NodeId:
        """p = v mod |R|, §4."""
        return self.replicas[view % self.cluster_size]

    def is_quorum(self, signers: Iterable[NodeId]) -> bool:
        """2f + 1: any two quorums have a correct replica in common."""
        return len(set(signers)) >= 2 * self.f + 1

    def has_a_correct(self, signers: Iterable[NodeId]) -> bool:
        """f + 1: one of them at least is no liar."""
        return len(set(signers)) >= self.f + 1


class Pbft(Participant):
    """A replica."""

    active: bool  # in its view; else it waits for the NEW-VIEW
    accepted: dict[Number, PrePrepare]  # in this view
    last: Number  # the highest of these
    prepares: dict[Slot, dict[NodeId, Prepare]]
    prepared: dict[Number, Prepared]  # of the latest view in which the number prepared
    commits: dict[Slot, dict[NodeId, Commit]]
    committed: dict[Number, Digest]  # committed-local, in any view
    executed: Number  # all up to here
    requests: dict[Digest, Request]
    pending: dict[NodeId, Request]  # of each client what is not executed yet
    checkpoints: dict[tuple[Number, Digest], dict[NodeId, Checkpoint]]  # above the last stable one
    view_changes: dict[NodeId, ViewChange]  # the latest of each replica
    early: dict[NodeId, list[Any]]  # by sender, what came before the view that it is of
    ticking: bool  # the timer is set
    ticks: int  # for so long I have waited for what a view change would bring
    failures: int  # view changes since a request was executed

    def start(self) -> None:
        """Restart: what I have signed still binds me."""
        self.replicas = tuple(sorted((*self.peers, self.me)))
        disk = self.disk
        self.active = disk.view == (disk.new_view.view if disk.new_view is not None else 0)
        carried = disk.new_view.pre_prepares if disk.new_view is not None and self.active else ()
        mine = (*carried, *(p for p in disk.pre_prepares if p.view == disk.view))
        self.accepted = {p.number: p for p in mine if p.number > self.low}
        self.last = max(self.accepted, default=self.low)
        self.prepared = {c.pre_prepare.number: c for c in disk.prepared if c.pre_prepare.number > self.low}
        self.requests = {digest_of(m): m for m in disk.requests}
        self.prepares, self.commits, self.committed, self.checkpoints = {}, {}, {}, {}
        self.pending, self.view_changes, self.early = {}, {}, {}
        self.ticking, self.ticks, self.failures = False, 0, 0
        self.executed = 0
        if disk.snapshots:
            self.executed = disk.snapshots[-1].number
            self.restore(self.executed, disk.snapshots[-1].state)
        self.ask_again()

    @property
    def view(self) -> View:
        return self.disk.view

    @property
    def primary(self) -> NodeId:
        return self.primary_of(self.disk.view)

    @property
    def low(self) -> Number:
        """The low water mark h: the number of the last stable checkpoint. §4.2, §4.3"""
        return self.disk.proof[0].number if self.disk.proof else 0

    @property
    def window(self) -> int:
        """L, the size of the log: a small multiple of the checkpoints' interval. §4.3"""
        return 2 * self.switches.interval

    @property
    def high(self) -> Number:
        """The high water mark H = h + L."""
        return self.low + self.window

    def is_current(self, view: View) -> bool:
        """Whether I am in that view; who changes views accepts nothing in the meantime. §4.4"""
        return self.active and view == self.view

    def receive(self, src: NodeId, m: Any) -> None:
        """The network keeps no order, and may deliver what is of a view before the NEW-VIEW that it needs."""
        kind = type(m)
        view = m.view if kind in (Prepare, Commit) else m.pre_prepare.view if kind is Proposal else -1
        if view > self.view or (view == self.view and not self.active):
            self.early[src] = [*self.early.get(src, ()), m][-MOST_EARLY:]
        else:
            super().receive(src, m)

    # -- Requests (§4.1) -----------------------------------------------------------------------------

    @on(Request)
    def handle_request(self, src: NodeId, m: Request) -> None:
        """Answer again what is executed; else have the primary assign a number to it, and wait for that. §4.1"""
        if not self.is_valid_request(m):
            return
        last = self.application.last_timestamp(m.signer)
        if 0 < m.timestamp == last:
            self.reply_to(m.signer)
        elif m.timestamp > last:
            known = self.pending.get(m.signer) == m
            self.await_execution(m)
            if self.me == self.primary:
                self.assign_numbers()
            elif src == m.signer and not known:
                self.send(self.primary, m)

    def is_valid_request(self, m: Request) -> bool:
        return holds(
            request_signature_verifies=self.verify(m),
            request_from_client=m.signer not in self.replicas,
        )

    def await_execution(self, m: Request) -> None:
        """A client has one request at a time: a later one says that it no longer waits for the earlier."""
        known = self.pending.get(m.signer)
        newest = self.application.last_timestamp(m.signer) if known is None else known.timestamp
        if m.timestamp > newest:
            self.pending[m.signer] = m
        self.watch()

    def reply_to(self, client: NodeId) -> None:
        timestamp, result = self.application.replies[client]
        self.send(client, Reply(self.view, timestamp, client, result, self.me))

    # -- Normal case: three phases (§4.2) ------------------------------------------------------------

    def assign_numbers(self) -> None:
        """Pre-prepare, at the primary: a number to each request that has none in this view."""
        if not self.active or self.me != self.primary:
            return
        numbered = {p.digest for p in self.accepted.values()}
        for request in self.pending.values():
            assigned = holds(
                one_number_a_request=digest_of(request) not in numbered,
                number_below_high_water_mark=self.last < self.high,
            )
            if assigned:
                p = PrePrepare(self.view, self.last + 1, digest_of(request), self.me)
                self.accept(p, request)
                self.broadcast(Proposal(p, request))
                self.check_prepared(p)

    @on(Proposal)
    def handle_pre_prepare(self, src: NodeId, m: Proposal) -> None:
        """Pre-prepare, at a backup, and so prepare."""
        p = m.pre_prepare
        accepted = self.is_valid_request(m.request) and holds(
            pre_prepare_signature_verifies=self.verify(p),
            digest_of_the_request=p.digest == digest_of(m.request),
            pre_prepare_in_view=self.is_current(p.view),
            pre_prepare_from_primary=p.signer == self.primary_of(p.view),
            one_digest_a_number=p.number not in self.accepted,
            pre_prepare_within_water_marks=self.low < p.number <= self.high,
        )
        if accepted:
            self.accept(p, m.request)
            self.await_execution(m.request)
            self.prepare(p)

    def accept(self, p: PrePrepare, request: Request) -> None:
        """Into the log: from now on no other digest in this view and number."""
        self.accepted[p.number] = p
        self.last = max(self.last, p.number)
        self.requests[p.digest] = request
        self.disk.requests.append(request)
        self.disk.pre_prepares.append(p)
        self.sync()

    def prepare(self, p: PrePrepare) -> None:
        m = Prepare(p.view, p.number, p.digest, self.me)
        self.broadcast(m)
        self.count_prepare(m)

    @on(Prepare)
    def handle_prepare(self, src: NodeId, m: Prepare) -> None:
        """Prepare."""
        counted = holds(
            prepare_signature_verifies=self.verify(m),
            prepare_in_view=self.is_current(m.view),
            prepare_from_backup=m.signer != self.primary_of(m.view),
            prepare_within_water_marks=self.low < m.number <= self.high,
        )
        if counted:
            self.count_prepare(m)

    def count_prepare(self, m: Prepare) -> None:
        self.prepares.setdefault(slot_of(m), {})[m.signer] = m
        if m.number in self.accepted:
            self.check_prepared(self.accepted[m.number])

    def check_prepared(self, p: PrePrepare) -> None:
        """prepared(m, v, n, i): the pre-prepare, and 2f prepares of different backups that match it. Then commit."""
        if p.number in self.prepared and self.prepared[p.number].pre_prepare.view == p.view:
            return
        prepares = self.prepares.get(slot_of(p), {})
        prepared = holds(
            prepared_by_two_f_backups=len(prepares) >= 2 * self.f,
        )
        if not prepared:
            return
        certificate = Prepared(p, tuple(prepares[signer] for signer in sorted(prepares)))
        self.prepared[p.number] = certificate
        self.disk.prepared.append(certificate)
        self.sync()
        m = Commit(p.view, p.number, p.digest, self.me)
        self.broadcast(m)
        self.count_commit(m)

    @on(Commit)
    def handle_commit(self, src: NodeId, m: Commit) -> None:
        """Commit."""
        counted = holds(
            commit_signature_verifies=self.verify(m),
            commit_in_view=self.is_current(m.view),
            commit_within_water_marks=self.low < m.number <= self.high,
        )
        if counted:
            self.count_commit(m)

    def count_commit(self, m: Commit) -> None:
        """committed-local(m, v, n, i): prepared(m, v, n, i), and 2f + 1 commits that match the pre-prepare."""
        self.commits.setdefault(slot_of(m), {})[m.signer] = m
        if m.number not in self.prepared:
            return
        p = self.prepared[m.number].pre_prepare
        committed = holds(
            committed_by_quorum=self.is_quorum(self.commits.get(slot_of(p), ())),
        )
        if committed:
            self.committed[p.number] = p.digest
            self.execute()

    def execute(self) -> None:
        """In the order of the numbers, as far as all are committed-local."""
        while self.executed + 1 in self.committed:
            digest = self.committed[self.executed + 1]
            if digest not in self.requests and digest != NULL:
                self.broadcast(FetchRequest(digest))
                break
            self.executed += 1
            self.execute_request(self.requests.get(digest))
            if self.executed % self.switches.interval == 0:
                self.take_checkpoint()
        self.watch()

    def execute_request(self, m: Request | None) -> None:
        """Once, whatever a faulty primary assigns to it; None is the null request. §4.1, §4.4"""
        if m is None:
            self.apply(self.executed, None)
            return
        fresh = holds(
            executed_once=m.timestamp > self.application.last_timestamp(m.signer),  # §4.1
        )
        self.apply(self.executed, m if fresh else None)
        if fresh:
            self.ticks = self.failures = 0  # the timer starts anew if I wait for another, §4.4
            self.reply_to(m.signer)
        self.forget_executed()

    def forget_executed(self) -> None:
        last = self.application.last_timestamp
        self.pending = {client: m for client, m in self.pending.items() if m.timestamp > last(client)}

    # -- Checkpoints and garbage collection (§4.3) ---------------------------------------------------

    def take_checkpoint(self) -> None:
        snapshot = Snapshot(self.executed, self.snapshot())
        self.disk.snapshots = (*self.disk.snapshots, snapshot)
        self.sync()
        self.announce(snapshot)

    def announce(self, snapshot: Snapshot) -> None:
        m = Checkpoint(snapshot.number, digest_of(snapshot.state), self.me)
        self.broadcast(m)
        self.count_checkpoint(m)

    @on(Checkpoint)
    def handle_checkpoint(self, src: NodeId, m: Checkpoint) -> None:
        counted = holds(
            checkpoint_signature_verifies=self.verify(m),
        )
        if counted and m.number > self.low:
            self.count_checkpoint(m)

    def count_checkpoint(self, m: Checkpoint) -> None:
        """2f + 1 with the same number and digest are a proof: the checkpoint is stable."""
        proof = self.checkpoints.setdefault((m.number, m.digest), {})
        proof[m.signer] = m
        stable = holds(
            stable_by_quorum=self.is_quorum(proof),
        )
        if stable:
            self.stabilize(tuple(proof[signer] for signer in sorted(proof)))

    def stabilize(self, proof: tuple[Checkpoint, ...]) -> None:
        """Discard what the proven checkpoint covers, and advance the water marks. Who lacks its state asks for it."""
        number = proof[0].number if proof else 0
        if number <= self.low:
            return
        self.disk.write(proof=proof, snapshots=tuple(s for s in self.disk.snapshots if s.number >= number))
        self.sync()
        self.discard(number)
        if self.executed < number:
            self.broadcast(FetchState(self.low))
        self.assign_numbers()

    def discard(self, stable: Number) -> None:
        """All pre-prepare, prepare, commit and checkpoint messages up to the stable checkpoint."""
        self.accepted = {number: p for number, p in self.accepted.items() if number > stable}
        self.last = max(self.last, stable)
        self.prepares = {slot: votes for slot, votes in self.prepares.items() if slot[1] > stable}
        self.prepared = {number: c for number, c in self.prepared.items() if number > stable}
        self.commits = {slot: votes for slot, votes in self.commits.items() if slot[1] > stable}
        self.committed = {number: digest for number, digest in self.committed.items() if number > stable}
        self.checkpoints = {which: proof for which, proof in self.checkpoints.items() if which[0] > stable}
        kept = [p for p in self.disk.pre_prepares if p.number > stable]
        self.disk.pre_prepares.reset(0, kept)
        self.disk.prepared.reset(0, self.prepared.values())
        used = {p.digest for p in chain(kept, self.accepted.values(), (c.pre_prepare for c in self.prepared.values()))}
        self.requests = {digest: m for digest, m in self.requests.items() if digest in used}
        self.disk.requests.reset(0, self.requests.values())

    # -- View changes (§4.4, §4.5.2) -----------------------------------------------------------------

    def watch(self) -> None:
        """Tick as long as I lack something."""
        lacking = self.executed < self.low or self.executed + 1 in self.committed
        if not self.ticking and (self.pending or lacking or not self.active):
            self.ticking = True
            self.set_timer(TICK, TICK_INTERVAL)

    @on_timeout(TICK)
    def tick(self) -> None:
        """The view-change timer runs while a replica waits to execute a request; the primary's too, which may be the
        last to know that others have left its view. Who changes views starts it when 2f + 1 have left the earlier view
        as well, not to start the next view change too soon."""
        self.ticking = False
        left = [signer for signer, m in self.view_changes.items() if m.view >= self.view]
        waits = bool(self.pending) if self.active else self.is_quorum(left)
        self.ticks = self.ticks + 1 if waits else 0
        if self.ticks >= self.switches.patience << min(self.failures, MOST_DOUBLINGS):
            self.start_view_change(self.view + 1)
        else:
            self.ask_again()
        self.watch()

    def ask_again(self) -> None:
        """What I lack, others have; and the network may have lost what I said."""
        if not self.active:
            self.ask_for_view()
        for p in self.accepted.values():
            if self.active and p.number > self.executed:
                self.say_again(p)
        if self.executed < self.low:
            self.broadcast(FetchState(self.low))
        else:
            self.execute()
        for snapshot in self.disk.snapshots:
            if snapshot.number > self.low:  # the log stays full until it is stable
                self.announce(snapshot)

    def say_again(self, p: PrePrepare) -> None:
        if self.me != self.primary:
            self.broadcast(Prepare(p.view, p.number, p.digest, self.me))
        elif p.digest in self.requests:
            self.broadcast(Proposal(p, self.requests[p.digest]))
        if p.number in self.prepared and self.prepared[p.number].pre_prepare == p:
            self.broadcast(Commit(p.view, p.number, p.digest, self.me))

    def start_view_change(self, view: View) -> None:
        """Leave my view, and accept nothing but CHECKPOINT, VIEW-CHANGE and NEW-VIEW until the next begins."""
        self.disk.view = view
        self.sync()
        self.active = False
        self.ticks = 0
        self.failures += 1
        self.ask_for_view()

    def ask_for_view(self) -> None:
        """VIEW-CHANGE, until the view begins."""
        certificates = tuple(self.prepared[number] for number in sorted(self.prepared))
        m = ViewChange(self.view, self.low, self.disk.proof, certificates, self.me)
        self.view_changes[self.me] = m
        self.broadcast(m)
        self.begin_new_view()
        self.watch()

    @on(ViewChange)
    def handle_view_change(self, src: NodeId, m: ViewChange) -> None:
        if not self.is_valid_view_change(m):
            return
        if m.view < self.view or self.is_current(m.view):  # who sends it has missed the NEW-VIEW
            if self.disk.new_view is not None and self.disk.new_view.view >= m.view:
                self.send(src, self.disk.new_view)
            return
        if m.signer not in self.view_changes or self.view_changes[m.signer].view <= m.view:
            self.view_changes[m.signer] = m
        self.join_view_change()
        self.begin_new_view()
        self.watch()

    def is_valid_view_change(self, m: ViewChange) -> bool:
        return holds(
            view_change_signature_verifies=self.verify(m),
            view_change_from_stable=self.is_stable(m.proof, m.number),
            view_change_certificates_valid=all([self.is_certificate(c, m) for c in m.prepared]),
        )

    def is_stable(self, proof: tuple[Checkpoint, ...], number: Number) -> bool:
        """Whether this proves that the checkpoint is stable: 2f + 1 with one digest. The initial one needs no proof."""
        return (not proof and number == 0) or holds(
            proof_signatures_verify=all(self.verify(m) for m in proof),
            proof_of_the_checkpoint=all(m.number == number for m in proof),
            proof_of_one_digest=len({m.digest for m in proof}) == 1,
            proof_by_quorum=self.is_quorum(m.signer for m in proof),
        )

    def is_certificate(self, c: Prepared, m: ViewChange) -> bool:
        """Whether this proves that a request prepared in an earlier view, above the checkpoint of the view change."""
        p = c.pre_prepare
        return holds(
            certificate_pre_prepare_verifies=self.verify(p),
            certificate_prepares_verify=all(self.verify(x) for x in c.prepares),
            certificate_prepares_match=all(slot_of(x) == slot_of(p) for x in c.prepares),
            certificate_from_primary=p.signer == self.primary_of(p.view),
            certificate_by_two_f_backups=len({x.signer for x in c.prepares} - {p.signer}) >= 2 * self.f,
            certificate_of_earlier_view=p.view < m.view,
            certificate_within_water_marks=m.number < p.number <= m.number + self.window,
        )

    def join_view_change(self) -> None:
        """f + 1 others are in later views, so a correct one is: go to the smallest, timer or not. §4.5.2"""
        later = {signer: m.view for signer, m in self.view_changes.items() if m.view > self.view}
        joined = holds(
            joined_by_a_correct_replica=self.has_a_correct(later),
        )
        if later and joined:
            self.start_view_change(min(later.values()))

    def begin_new_view(self) -> None:
        """NEW-VIEW, at the primary of the view that 2f + 1 ask for."""
        if self.active or self.me != self.primary:
            return
        asking = {signer: m for signer, m in self.view_changes.items() if m.view == self.view}
        begun = holds(
            new_view_asked_by_quorum=self.is_quorum(asking),
        )
        if begun:
            view_changes = tuple(asking[signer] for signer in sorted(asking))
            self.enter(NewView(self.view, view_changes, self.carried_over(self.view, view_changes), self.me))

    def latest_stable(self, view_changes: tuple[ViewChange, ...]) -> tuple[Number, tuple[Checkpoint, ...]]:
        """min-s, and what proves it."""
        return max(((m.number, m.proof) for m in view_changes), default=(0, ()))

    def carried_over(self, view: View, view_changes: tuple[ViewChange, ...]) -> tuple[PrePrepare, ...]:
        """O: for each number from the latest stable checkpoint (min-s) to the highest prepared one (max-s), the digest
        that prepared in the latest view, or the null request where none did."""
        stable, _ = self.latest_stable(view_changes)
        latest: dict[Number, PrePrepare] = {}
        for certificate in chain.from_iterable(m.prepared for m in view_changes):
            p = certificate.pre_prepare
            if p.number not in latest or latest[p.number].view < p.view:
                latest[p.number] = p
        numbers = range(stable + 1, max(latest, default=stable) + 1)
        digests = {number: latest[number].digest if number in latest else NULL for number in numbers}
        return tuple(PrePrepare(view, number, digests[number], self.primary_of(view)) for number in numbers)

    @on(NewView)
    def handle_new_view(self, src: NodeId, m: NewView) -> None:
        """Accept O only if it is what V demands."""
        proven = holds(
            new_view_signature_verifies=self.verify(m),
            new_view_from_its_primary=m.signer == self.primary_of(m.view),
            new_view_not_left=m.view > self.view or (m.view == self.view and not self.active),
            new_view_by_quorum=self.is_quorum(x.signer for x in m.view_changes),
            new_view_of_its_view_changes=all(x.view == m.view for x in m.view_changes),
            new_view_changes_valid=all([self.is_valid_view_change(x) for x in m.view_changes]),
        )
        if not proven:
            return
        correct = holds(
            new_view_carries_over=m.pre_prepares == self.carried_over(m.view, m.view_changes),
        )
        if correct:
            self.enter(m)

    def enter(self, m: NewView) -> None:
        """The view begins: with the latest stable checkpoint of V, and the pre-prepares of O as if just received."""
        self.active = False  # until all of O is accepted
        self.stabilize(self.latest_stable(m.view_changes)[1])  # O says nothing of what it covers
        self.disk.write(view=m.view, new_view=m)
        self.sync()
        self.accepted = {p.number: p for p in m.pre_prepares if p.number > self.low}
        self.last = max(self.accepted, default=self.low)
        self.active = True
        if m.signer == self.me:
            self.broadcast(m)
        for p in m.pre_prepares:
            if p.number in self.accepted and m.signer != self.me:
                self.prepare(p)
        self.take_up_early()
        self.assign_numbers()
        self.watch()

    def take_up_early(self) -> None:
        early, self.early = self.early, {}
        for src in sorted(early):
            for m in early[src]:
                self.receive(src, m)

    # -- What a replica has missed (§4.4) ------------------------------------------------------------

    @on(FetchState)
    def handle_fetch_state(self, src: NodeId, m: FetchState) -> None:
        for snapshot in self.disk.snapshots:
            if m.number <= snapshot.number == self.low:
                self.send(src, FetchedState(snapshot, self.disk.proof))

    @on(FetchedState)
    def handle_fetched_state(self, src: NodeId, m: FetchedState) -> None:
        """The certificate says which state it must be, whoever sends it."""
        number = m.snapshot.number
        usable = holds(
            fetched_state_stable=self.is_stable(m.proof, number),
            fetched_state_of_the_proof=digest_of(m.snapshot.state) in {x.digest for x in m.proof},
        )
        if not usable or number <= self.executed or number < self.low:
            return
        self.disk.write(snapshots=(m.snapshot,), proof=m.proof)
        self.sync()
        self.executed = number
        self.restore(number, m.snapshot.state)
        self.discard(number)
        self.forget_executed()
        self.execute()

    @on(FetchRequest)
    def handle_fetch_request(self, src: NodeId, m: FetchRequest) -> None:
        if m.digest in self.requests:
            self.send(src, FetchedRequest(self.requests[m.digest]))

    @on(FetchedRequest)
    def handle_fetched_request(self, src: NodeId, m: FetchedRequest) -> None:
        """The digest says which request it must be, whoever sends it."""
        lacking = self.committed.get(self.executed + 1)
        wanted = holds(
            fetched_request_of_the_digest=digest_of(m.request) == lacking,
        )
        if wanted and lacking is not None:
            self.requests[lacking] = m.request
            self.disk.requests.append(m.request)
            self.sync()
            self.execute()


# -- Clients (§4.1) ----------------------------------------------------------------------------------


class Client(Participant):
    """Between a person and the replicas. It has one request at a time."""

    asking: Request | None
    replies: dict[NodeId, Reply]  # to what it asks now
    view: View  # in which it believes the replicas to be

    def start(self) -> None:
        self.replicas = tuple(sorted(self.peers))
        self.asking = None
        self.replies = {}
        self.view = 0

    def request(self, op: OpId, command: Command) -> None:
        """To the primary that I know."""
        if self.asking is not None:
            self.refuse(op)
            return
        self.asking = Request(command, op, self.me)
        self.replies = {}
        self.send(self.primary_of(self.view), self.asking)
        self.set_timer(RESEND, RESEND_INTERVAL)

    @on_timeout(RESEND)
    def ask_all(self) -> None:
        """Replies do not come soon enough: the primary may be faulty."""
        if self.asking is not None:
            self.broadcast(self.asking)
            self.set_timer(RESEND, RESEND_INTERVAL)

    @on(Reply)
    def handle_reply(self, src: NodeId, m: Reply) -> None:
        counted = holds(
            reply_signature_verifies=self.verify(m),
            reply_to_this_request=self.asking is not None and m.timestamp == self.asking.timestamp,
        )
        if counted:
            self.replies[m.signer] = m
            self.accept_result(m.result)

    def accept_result(self, result: int | None) -> None:
        """f + 1 replicas say the same, so a correct one does."""
        matching = {signer: m for signer, m in self.replies.items() if m.result == result}
        accepted = holds(
            result_by_a_correct_replica=self.has_a_correct(matching),
        )
        if accepted and self.asking is not None:
            self.view = min(m.view for m in matching.values())
            self.reply(self.asking.timestamp, result)
            self.asking = None
            self.cancel(RESEND)


# -- What must hold ----------------------------------------------------------------------------------


class Section4(Observer):
    """What correct replicas and clients do, by what they send, store and execute. That so many correct replicas signed
    something proves a certificate possible if they are a quorum together with all liars, who may sign anything."""

    def begin(self) -> None:
        self.asked: dict[Timestamp, tuple[NodeId, Any]] = {}
        self.executed: dict[NodeId, Number] = {}
        self.executed_at: dict[Number, Request | None] = {}
        self.place: dict[Timestamp, Number] = {}  # where a request was executed
        self.result: dict[Timestamp, Any] = {}  # what that gave
        self.states: dict[Number, Digest] = {}  # of checkpoints
        self.prepared_at: dict[tuple[View, Number], Digest] = {}
        self.agreed: dict[tuple[NodeId, View, Number], Digest] = {}  # by PRE-PREPARE or PREPARE
        self.offers: dict[Slot, None] = {}  # by correct primaries
        self.prepares: dict[Slot, list[NodeId]] = {}  # who agreed so
        self.commits: dict[Slot, list[NodeId]] = {}
        self.view_changes: dict[View, list[NodeId]] = {}
        self.certain: dict[Number, list[Slot]] = {}  # may be committed-local somewhere
        self.proposed: dict[Number, list[Slot]] = {}  # a correct replica agreed to it
        self.shown: dict[NodeId, dict[Number, View]] = {}  # the latest view of each replica's COMMITs
        self.left: dict[NodeId, View] = {}  # the latest view in which a replica was, or for which it has asked
        self.highest: View = 0  # of these
        self.answered: list[NodeId] = []  # clients, since the healing

    @property
    def quorum(self) -> int:
        """2f + 1"""
        return 2 * most_liars(len(self.facts.replicas)) + 1

    def can_be_quorum(self, correct: list[NodeId]) -> bool:
        return len(correct) + len(self.facts.liars) >= self.quorum

    def primary_of(self, view: View) -> NodeId:
        return self.facts.replicas[view % len(self.facts.replicas)]

    # Execution.

    @requested
    def note_request(self, node: NodeId, op: OpId, command: Any) -> None:
        self.asked[op] = node, command

    @restarted
    def forget_executed(self, node: NodeId) -> None:
        self.executed[node] = 0  # the service is volatile

    @always("Correct replicas execute the same request at each sequence number.", "§4: safety; §4.2, committed-local")
    @applied
    def agreement(self, node: NodeId, index: Number, command: Any, result: object) -> str | None:
        first = self.executed_at.setdefault(index, command)
        if first == command:
            return None
        return f"{node} executed {command or 'none'} as number {index}, where {first or 'none'} was executed"

    @always("Replicas execute requests in the order of their sequence numbers.", "§4.2")
    @applied
    def order_of_execution(self, node: NodeId, index: Number, command: Any, result: object) -> str | None:
        before, self.executed[node] = self.executed.get(node, 0), index
        return None if index == before + 1 else f"{node} executed number {index} right after number {before}"

    @part_of(order_of_execution)
    @restored
    def state_goes_forward(self, node: NodeId, index: Number, state: State) -> str | None:
        before, self.executed[node] = self.executed.get(node, 0), index
        return (
            None if index > before else f"{node} took over the state of number {index} after it had executed {before}"
        )

    @always("What is executed was asked for by its client.", "§4.1; Validity")
    @applied
    def validity(self, node: NodeId, index: Number, command: Any, result: object) -> str | None:
        if command is None or self.asked.get(command.timestamp) == (command.signer, command.command):
            return None
        return f"{node} executed {command}, which {command.signer} never asked for"

    @always("No request is executed twice.", "§4.1: exactly-once semantics; Integrity")
    @applied
    def integrity(self, node: NodeId, index: Number, command: Any, result: object) -> str | None:
        if command is None:
            return None
        self.result.setdefault(command.timestamp, result)
        first = self.place.setdefault(command.timestamp, index)
        return None if first == index else f"{node} executed {command} as number {index}, and it is number {first}"

    @always("A client accepts a result that a correct replica got by executing its request.", "§4.1")
    @replied
    def results_are_true(self, node: NodeId, op: OpId, command: Any, result: object) -> str | None:
        if op not in self.result:
            return f"{node} accepted {result} for {command}, which no correct replica has executed"
        if self.result[op] != result:
            return f"{node} accepted {result} for {command}, whose result is {self.result[op]}"
        return None

    # Checkpoints.

    @always("Correct replicas have the same state at the same sequence number.", "§4.3")
    @sent(Checkpoint)
    def checkpoint_agreement(self, node: NodeId, dst: NodeId, m: Checkpoint) -> str | None:
        if m.signer != node or self.states.setdefault(m.number, m.digest) == m.digest:
            return None
        return f"{node} has another state at checkpoint {m.number} than others have"

    @part_of(checkpoint_agreement)
    @restored
    def checkpoint_agreement_of_restored(self, node: NodeId, index: Number, state: State) -> str | None:
        if self.states.setdefault(index, digest_of(state)) == digest_of(state):
            return None
        return f"{node} took over another state for checkpoint {index} than others have"

    # Certificates.

    @always("No two correct replicas prepare different requests in one view and sequence number.", "§4.2: prepared")
    @stored("prepared")
    def prepared_agreement(
        self, node: NodeId, index: int, removed: tuple[Prepared, ...], added: tuple[Prepared, ...]
    ) -> str | None:
        for certificate in added:
            p = certificate.pre_prepare
            if self.prepared_at.setdefault((p.view, p.number), p.digest) != p.digest:
                return f"{node} prepared {p}, and another digest prepared in view {p.view} and number {p.number}"
        return None

    @always(
        "What may be committed-local in a view is what correct replicas agree to in every later one.",
        "§4.4; §4.5.1, across views",
    )
    @sent(Proposal, Prepare, NewView)
    def agreement_across_views(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        for vote in agreed_by(m):
            if vote.signer == node:
                if type(vote).__name__ == "PrePrepare":
                    self.offers[slot_of(vote)] = None
                said = self._agrees(node, vote)
                if said:
                    return said
        return None

    @part_of(agreement_across_views)
    @sent(Commit)
    def agreement_of_later_views(self, node: NodeId, dst: NodeId, m: Commit) -> str | None:
        signers = self.commits.setdefault(slot_of(m), [])
        if m.signer != node or node in signers:
            return None
        signers.append(node)
        self.shown.setdefault(node, {})[m.number] = m.view
        certain = self.certain.setdefault(m.number, [])
        if slot_of(m) in certain or not self.can_be_quorum(signers):
            return None
        certain.append(slot_of(m))
        for view, _, digest in self.proposed.get(m.number, ()):
            if view > m.view and digest != m.digest:
                return f"number {m.number} may be committed in view {m.view}, and had another digest in view {view}"
        return None

    def _agrees(self, node: NodeId, vote: PrePrepare | Prepare) -> str | None:
        slot = slot_of(vote)
        signers = self.prepares.setdefault(slot, [])
        if node in signers:
            return None
        signers.append(node)
        proposed = self.proposed.setdefault(vote.number, [])
        if slot not in proposed:
            proposed.append(slot)
        for view, _, digest in self.certain.get(vote.number, ()):
            if view < vote.view and digest != vote.digest:
                return f"{node} agrees to {vote}, and another digest may be committed in view {view}"
        return None

    # What each replica does.

    @always("A correct replica agrees to one digest in a view and sequence number.", "§4.2; no equivocation")
    @sent(Proposal, Prepare, NewView)
    def one_digest_in_view(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        for vote in agreed_by(m):
            if vote.signer == node:
                chosen = self.agreed.setdefault((node, vote.view, vote.number), vote.digest)
                if chosen != vote.digest:
                    return f"{node} agreed to two digests in view {vote.view} and number {vote.number}"
        return None

    @always("A backup agrees to what the primary has proposed.", "§4.2: pre-prepare")
    @sent(Prepare)
    def proposed_by_the_primary(self, node: NodeId, dst: NodeId, m: Prepare) -> str | None:
        primary = self.primary_of(m.view)
        if primary in self.facts.liars or slot_of(m) in self.offers:
            return None
        return f"{node} agrees to {m}, which {primary} never proposed"

    @always("A prepared certificate has the signatures of 2f + 1 replicas.", "§4.2: prepared")
    @stored("prepared")
    def prepared_by_quorum(
        self, node: NodeId, index: int, removed: tuple[Prepared, ...], added: tuple[Prepared, ...]
    ) -> str | None:
        for certificate in added:
            if not self.proves_prepared(certificate):
                return f"{node} stores {certificate}, which proves nothing"
        return None

    def proves_prepared(self, c: Prepared) -> bool:
        """Whether it has the signatures of the primary and of 2f backups, and nothing else."""
        p, primary = c.pre_prepare, self.primary_of(c.pre_prepare.view)
        matching = is_genuine(p) and all(is_genuine(x) and slot_of(x) == slot_of(p) for x in c.prepares)
        signers = {x.signer for x in c.prepares} | {primary}
        return p.signer == primary and matching and len(signers) >= self.quorum

    @always("What is executed is committed by 2f + 1 replicas.", "§4.2: committed-local")
    @applied
    def committed_by_quorum(self, node: NodeId, index: Number, command: Any, result: object) -> str | None:
        certain = [digest for _, _, digest in self.certain.get(index, ())]
        if digest_of(command) in certain or (command is None and certain):
            return None
        return f"{node} executed {command} as number {index}, and that cannot be committed yet"

    @always("A stable checkpoint has the signatures of 2f + 1 replicas.", "§4.3")
    @wrote("proof")
    def stable_by_quorum(self, node: NodeId, before: dict[str, Any]) -> str | None:
        proof = self.facts.written(node).proof
        if not proof or proof == before["proof"] or self.proves_stable(proof, proof[0].number):
            return None
        return f"{node} takes checkpoint {proof[0].number} for stable, and {_brief(proof)} proves nothing"

    def proves_stable(self, proof: tuple[Checkpoint, ...], number: Number) -> bool:
        """Whether it has the signatures of 2f + 1 replicas for one state, and nothing else; or none is needed."""
        matching = all(is_genuine(m) and (m.number, m.digest) == (number, proof[0].digest) for m in proof)
        return (matching and len({m.signer for m in proof}) >= self.quorum) or (not proof and number == 0)

    @always("A new view begins when 2f + 1 replicas ask for it.", "§4.4")
    @wrote("new_view")
    def new_view_by_quorum(self, node: NodeId, before: dict[str, Any]) -> str | None:
        view = self.facts.written(node).new_view.view
        asking = self.view_changes.get(view, [])
        said = f"{node} enters view {view}, which only {' '.join(asking) or 'nobody'} asked for"
        return None if self.can_be_quorum(asking) else said

    @part_of(new_view_by_quorum)
    @wrote("new_view")
    def new_view_of_its_primary(self, node: NodeId, before: dict[str, Any]) -> str | None:
        m = self.facts.written(node).new_view
        for x in m.view_changes:
            if not self.proves_view_change(x) or x.view != m.view:
                return f"{node} enters view {m.view} by {x}, which proves nothing"
        if is_genuine(m) and m.signer == self.primary_of(m.view):
            return None
        return f"{node} enters view {m.view}, and its primary never began it"

    def proves_view_change(self, x: ViewChange) -> bool:
        shown = [c.pre_prepare for c in x.prepared]
        fitting = all(p.number > x.number and p.view < x.view for p in shown)
        certified = fitting and all(map(self.proves_prepared, x.prepared))
        return is_genuine(x) and certified and self.proves_stable(x.proof, x.number)

    @always("A new view carries over what its view changes show.", "§4.4: O")
    @wrote("new_view")
    def new_view_is_complete(self, node: NodeId, before: dict[str, Any]) -> str | None:
        m = self.facts.written(node).new_view
        certificates = chain.from_iterable(x.prepared for x in m.view_changes)
        shown = sorted((p.number, p.view, p.digest) for p in (c.pre_prepare for c in certificates))
        latest = {number: digest for number, _, digest in shown}
        for p in m.pre_prepares:
            if p.digest != latest.get(p.number, NULL):
                return f"{node} enters view {m.view} with {p}, and its view changes show another digest"
        stable, proof = max((x.number for x in m.view_changes), default=0), self.facts.written(node).proof
        if stable > (proof[0].number if proof else 0):
            return f"{node} enters view {m.view} without checkpoint {stable}, which a view change shows"
        last = max(latest, default=0)
        if last <= stable + len(m.pre_prepares):
            return None
        return f"{node} enters view {m.view} without number {last}, which a view change shows"

    @always("A view change shows all that the replica has committed since its stable checkpoint.", "§4.4: P")
    @sent(ViewChange)
    def view_change_shows_all(self, node: NodeId, dst: NodeId, m: ViewChange) -> str | None:
        if m.signer != node:
            return None
        asking = self.view_changes.setdefault(m.view, [])
        if node not in asking:
            asking.append(node)
        self.left[node] = max(self.left.get(node, 0), m.view)
        shown = {c.pre_prepare.number: c.pre_prepare.view for c in m.prepared}
        for number, view in self.shown.get(node, {}).items():
            if number > m.number and shown.get(number, -1) < view:
                return f"{node} asks for view {m.view} and does not show number {number}, committed in view {view}"
        return None

    @always("Who has asked for a view, or agreed in it, agrees to nothing in earlier ones.", "§4.2, §4.4")
    @sent(Prepare, Commit)
    def left_views_stay_left(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        if m.signer != node:
            return None
        before = self.left.get(node, 0)
        self.left[node] = max(before, m.view)
        return None if m.view >= before else f"{node} says {m}, and was in view {before}, or has asked for it"

    @always("Faulty replicas alone cannot make a correct one change views.", "§4.5.2")
    @sent(ViewChange)
    def views_follow_correct_replicas(self, node: NodeId, dst: NodeId, m: ViewChange) -> str | None:
        highest, self.highest = self.highest, max(self.highest, m.view if m.signer == node else 0)
        return None if self.highest <= highest + 1 else f"{node} asks for view {m.view}, and nobody is beyond {highest}"

    # Early warnings: what a crash may turn into one of the above.

    @warning("A backup has on disk what it prepares.", "§4.2: enters both messages to its log")
    @sent(Prepare)
    def prepare_is_on_disk(self, node: NodeId, dst: NodeId, m: Prepare) -> str | None:
        disk = self.facts.durable(node)
        carried = disk.new_view.pre_prepares if disk.new_view is not None else ()
        if m.signer != node or any(slot_of(p) == slot_of(m) for p in chain(disk.pre_prepares, carried)):
            return None
        return f"{node} agrees to {m}, and a crash would make it forget"

    @warning("A replica has on disk the certificate of what it commits.", "§4.2: prepared")
    @sent(Commit)
    def commit_is_on_disk(self, node: NodeId, dst: NodeId, m: Commit) -> str | None:
        disk = self.facts.durable(node)
        if m.signer != node or any(slot_of(c.pre_prepare) == slot_of(m) for c in disk.prepared):
            return None
        return f"{node} commits {m}, and has no certificate on disk"

    @warning("A checkpoint's state is on disk when it is announced.", "§4.3")
    @sent(Checkpoint)
    def checkpoint_is_on_disk(self, node: NodeId, dst: NodeId, m: Checkpoint) -> str | None:
        if m.signer != node:
            return None
        states = {snapshot.number: snapshot.state for snapshot in self.facts.durable(node).snapshots}
        if m.number in states and digest_of(states[m.number]) == m.digest:
            return None
        return f"{node} announces checkpoint {m.number}, and a crash would make it forget the state"

    @warning("Who asks for a view has on disk that it has left the earlier ones.", "§4.4")
    @sent(ViewChange)
    def view_is_on_disk(self, node: NodeId, dst: NodeId, m: ViewChange) -> str | None:
        if m.signer != node or self.facts.durable(node).view >= m.view:
            return None
        return f"{node} asks for view {m.view}, and a crash would make it forget"

    # Goals: a run in which nothing happened proves nothing.

    @sometimes("A request was executed.")
    @applied
    def request_executed(self, node: NodeId, index: Number, command: Any, result: object) -> bool:
        return command is not None

    @sometimes("A client got its answer.")
    @replied
    def client_answered(self, node: NodeId, op: OpId, command: Any, result: object) -> bool:
        return True

    @sometimes("A view change was completed.")
    @wrote("new_view")
    def view_changed(self, node: NodeId, before: dict[str, Any]) -> bool:
        return True

    @sometimes("A checkpoint became stable.")
    @wrote("proof")
    def checkpoint_stable(self, node: NodeId, before: dict[str, Any]) -> bool:
        return bool(self.facts.written(node).proof)

    @eventually("Once the faults have ended, each client gets answers, whatever the liars do.", "§4.5.2: liveness")
    def progress_after_heal(self) -> str | None:
        for node in self.facts.ids:
            if node not in self.facts.replicas and node not in self.answered:
                return f"{node} got no answer between the healing of the faults and the end of the stated bound"
        return None

    @replied
    def count_progress(self, node: NodeId, op: OpId, command: Any, result: object) -> None:
        if self.facts.healed_at is not None and node not in self.answered:
            self.answered.append(node)


def is_genuine(m: Any) -> bool:
    """Whether who is named has signed it."""
    return bool(m.valid)


def agreed_by(m: Any) -> tuple[PrePrepare | Prepare, ...]:
    """To what the sender agrees: a primary by its pre-prepares, a backup by its prepares."""
    kind = type(m).__name__  # an edited source has classes of its own
    return m.pre_prepares if kind == "NewView" else (m.pre_prepare,) if kind == "Proposal" else (m,)


PROTOCOL = ProtocolSpec(
    name="pbft",
    paper="Castro and Liskov 1999, §4",
    node=Pbft,
    disk=PbftDisk,
    client=Client,
    liars=most_liars,
    switches=Switches,
    application=Service,
    observers=(Section4,),
    workload=puts_and_gets,
    sizes=(4, 7),
    smallest=4,
    largest=7,
    note_sizes="n = 3f + 1, §3: 4 replicas tolerate one liar, 7 tolerate two, and those between are of no use",
)
