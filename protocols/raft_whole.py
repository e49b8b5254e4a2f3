"""Raft, whole: elections that leave a leader alone, and reads that write nothing to the log.

Paper    D. Ongaro, "Consensus: Bridging Theory and Practice", PhD thesis, Stanford 2014. § refers to it.
Scope    Extends `protocols.raft_membership`, each by a switch: PreVote (§9.6), leader stickiness (§4.2.3), CheckQuorum
         (§6.2), reads by ReadIndex (§6.4), at followers too, and by lease (§6.4.1).
Assumes  What the core assumes. Lease reads need more: no clock is ever set, and none gains or loses more than
         CLOCK_DRIFT; without it they may be stale. ReadIndex needs no clock.

Reading order: messages, state, who hears a leader (§4.2.3), PreVote (§9.6), CheckQuorum (§6.2), reads (§6.4), leases
(§6.4.1), then what must hold.
"""

from collections.abc import Callable
from typing import Any

import attrs

from protocols.raft import (
    ELECTION,
    ELECTION_TIMEOUT,
    HEARTBEAT,
    Appended,
    AppendEntries,
    Entry,
    Index,
    RequestVote,
    Role,
    Term,
    Vote,
)
from protocols.raft_membership import PROTOCOL as EXTENDED
from protocols.raft_membership import SERVERS, Change, Chapter4, MembershipRaft, TimeoutNow, is_quorum
from protocols.raft_membership import Switches as ExtendedSwitches
from protocols.raft_membership import workload as extended_workload
from protocols.raft_snapshots import InstallSnapshot
from protosim.api import (
    Command,
    Endurance,
    NodeId,
    OpId,
    always,
    applied,
    eventually,
    holds,
    message,
    on,
    on_timeout,
    part_of,
    puts_and_gets,
    replied,
    requested,
    restored,
    sent,
    switch,
    value,
    warning,
    wrote,
)

Round = int  # of heartbeats; counted anew in each reign

CLOCK_DRIFT = 200_000  # the most that a clock gains or loses, in millionths
LEASE = ELECTION_TIMEOUT[0] * (1_000_000 - CLOCK_DRIFT) // (1_000_000 + CLOCK_DRIFT)
"""So long on the slowest clock is no longer than the shortest election timeout on the fastest one, §6.4.1."""


# -- Messages ----------------------------------------------------------------------------------------


@message
class PreVote:
    """Would you vote for me, if I began this term? §9.6"""

    term: Term  # the one after the sender's
    last_log_index: Index
    last_log_term: Term


@message
class PreVoted:
    """PreVote's result."""

    term: Term  # the voter's
    asked: Term
    granted: bool


@message
class CalledVote:
    """RequestVote by leave of the leader, who hands over to the sender, §4.2.3."""

    term: Term
    last_log_index: Index
    last_log_term: Term


@message
class Heartbeat:
    """Do I still lead? §6.4. It has a number, so that it is known which one an answer answers."""

    term: Term
    round: Round


@message
class HeartbeatAck:
    """Heartbeat's result."""

    term: Term
    round: Round


@message
class ReadIndex:
    """From a follower: up to where must I have applied, to answer this client? §6.4"""

    term: Term
    read: OpId


@message
class ReadFrom:
    """ReadIndex's result."""

    term: Term
    read: OpId
    index: Index


# -- State -------------------------------------------------------------------------------------------


@attrs.frozen
class Switches(ExtendedSwitches):
    membership: str = switch("fixed", ("fixed",) * 5 + ("single", "joint", "auto"), "how voters change, ch. 4")
    pre_vote: bool = switch(True, (False, True), "ask who would vote before beginning a term, §9.6")
    stickiness: bool = switch(True, (False, True), "who hears a leader ignores candidates, §4.2.3")
    check_quorum: bool = switch(True, (False, True), "a leader that hears from no majority steps down, §6.2")
    reads: str = switch("read_index", ("log", *("read_index", "lease") * 2), "how reads are answered, §6.4")
    follower_reads: bool = switch(False, (False, True), "followers answer reads too, by the leader's read index, §6.4")


@value
class Read:
    """A read that waits for its round of heartbeats."""

    asker: NodeId
    read: OpId
    index: Index
    round: Round


class WholeRaft(MembershipRaft):
    switches: Switches  # pyright: ignore[reportIncompatibleVariableOverride]

    heard_at: int  # when I last heard from a leader of my term
    leader: NodeId | None  # of my term
    pre_votes: set[NodeId]  # who would vote for me; empty when I do not ask
    asking: dict[OpId, Command]  # reads of my clients
    may_read: dict[OpId, Index]  # those that wait for my state machine only: up to where
    # Leaders
    round: Round
    sent_at: dict[Round, int]
    acked: dict[NodeId, Round]  # the last round that a peer has acknowledged
    promised: dict[NodeId, int]  # until when a peer elects nobody else
    contact_at: dict[NodeId, int]  # when a peer last answered
    gave_leave: bool  # to depose me
    asked: list[tuple[NodeId, OpId]]  # reads that wait for an entry of my term to be committed
    reads: list[Read]

    def start(self) -> None:
        self.heard_at = self.now  # before it crashed, it may have promised a leader to elect nobody else
        self.leader = None
        super().start()

    def become_follower(self) -> None:
        super().become_follower()
        self.pre_votes = set()
        self.asking = {}
        self.may_read = {}
        self.asked = []
        self.reads = []

    def receive(self, src: NodeId, m: Any) -> None:
        """What must not disturb a leader raises no term: a pre-vote; a request for a vote, where a leader is heard."""
        if isinstance(m, PreVote):
            self.handle_pre_vote(src, m)
        elif not isinstance(m, RequestVote) or self.admits_candidates():
            super().receive(src, m)
        if isinstance(m, AppendEntries | InstallSnapshot | Heartbeat) and m.term == self.disk.term:
            self.hear_leader(src)

    def update_term(self, term: Term) -> None:
        self.leader = None
        super().update_term(term)

    # -- Who hears a leader (§4.2.3) -----------------------------------------------------------------

    def hear_leader(self, src: NodeId) -> None:
        """From the leader of my term."""
        self.heard_at = self.now
        self.leader = src
        self.pre_votes = set()

    def hears_leader(self) -> bool:
        """Whether there was word from a leader within the shortest election timeout; a leader hears itself."""
        return self.role is Role.LEADER or self.now < self.heard_at + ELECTION_TIMEOUT[0]

    def admits_candidates(self) -> bool:
        """A lease rests on it: while the leader holds one, a majority votes for nobody else, §6.4.1."""
        if not self.switches.stickiness and self.switches.reads != "lease":
            return True
        return holds(
            no_leader_to_disturb=not self.hears_leader(),  # §4.2.3
        )

    # -- PreVote (§9.6) ------------------------------------------------------------------------------

    @on_timeout(ELECTION)
    def start_election(self) -> None:
        """Before a term begins, a majority must be willing to elect me in it."""
        if self.role is Role.LEADER:
            return
        self.set_timer(ELECTION, ELECTION_TIMEOUT)
        if not self.admits_candidates():  # nor am I one: the timer was early
            return
        if not self.switches.pre_vote:
            self.campaign()
            return
        self.pre_votes = {self.me}
        self.broadcast(PreVote(self.disk.term + 1, self.last_index, self.term_at(self.last_index)))
        self.count_pre_votes()

    def campaign(self) -> None:
        self.pre_votes = set()
        self.leader = None
        super().start_election()

    @on(TimeoutNow)
    def handle_timeout_now(self, src: NodeId, m: TimeoutNow) -> None:
        """§3.10. There is a leader, who wants this: no PreVote, and its leave goes to the voters, §4.2.3."""
        if holds(timeout_now_current=m.term == self.disk.term):
            self.campaign()
            if self.role is Role.CANDIDATE:
                self.broadcast(CalledVote(self.disk.term, self.last_index, self.term_at(self.last_index)))

    @on(CalledVote)
    def handle_called_vote(self, src: NodeId, m: CalledVote) -> None:
        self.handle_request_vote(src, RequestVote(m.term, m.last_log_index, m.last_log_term))

    @on(PreVote)
    def handle_pre_vote(self, src: NodeId, m: PreVote) -> None:
        """As a vote, but nothing is given away by it. A refusal tells the candidate of a newer term."""
        granted = holds(
            pre_vote_for_new_term=m.term > self.disk.term,
            pre_vote_without_leader=not self.hears_leader(),
        ) and self.may_elect((m.last_log_term, m.last_log_index))
        self.send(src, PreVoted(self.disk.term, m.term, granted))

    @on(PreVoted)
    def handle_pre_vote_response(self, src: NodeId, m: PreVoted) -> None:
        counted = holds(
            pre_vote_of_this_round=m.asked == self.disk.term + 1,
            still_asking=bool(self.pre_votes),
            pre_vote_granted=m.granted,
        )
        if counted:
            self.pre_votes.add(src)
            self.count_pre_votes()

    def count_pre_votes(self) -> None:
        willing = holds(
            pre_votes_from_majority=self.is_majority(self.pre_votes),
        )
        if willing:
            self.campaign()

    # -- CheckQuorum (§6.2) --------------------------------------------------------------------------

    def count_votes(self) -> None:
        """With what a new leader knows of its peers."""
        self.round = 0
        self.sent_at = {}
        self.acked = {}
        self.promised = {}
        self.contact_at = dict.fromkeys(self.peers, self.now)
        self.gave_leave = False
        super().count_votes()

    @on_timeout(HEARTBEAT)
    def send_heartbeats(self) -> None:
        """A leader that cannot reach a majority gives way, so that its clients and followers look for another."""
        if self.role is not Role.LEADER:
            return
        if self.switches.check_quorum and not self.reaches_quorum():
            self.become_follower()
            self.set_timer(ELECTION, ELECTION_TIMEOUT)
            return
        if self.switches.reads != "log" and self.term_at(self.last_index) != self.disk.term:
            self.append_entry(Entry(self.disk.term, None))  # reads wait for an entry of my term, §6.4
            self.advance_commit_index()  # a cluster of one is its own majority
        super().send_heartbeats()
        if self.reads or self.switches.reads == "lease":
            self.start_round()

    def reaches_quorum(self) -> bool:
        since = self.now - ELECTION_TIMEOUT[1]
        return holds(
            quorum_in_contact=self.is_majority([self.me, *(p for p in self.contact_at if self.contact_at[p] >= since)]),
        )

    @on(Appended)
    def handle_append_response(self, src: NodeId, m: Appended) -> None:
        if m.term == self.disk.term and self.role is Role.LEADER:
            self.contact_at[src] = self.now
        super().handle_append_response(src, m)

    # -- Reads (§6.4) --------------------------------------------------------------------------------

    def request(self, op: OpId, command: Any) -> None:
        if self.switches.reads == "log" or command.op != "get":
            super().request(op, command)
        elif self.role is Role.LEADER:
            self.asking[op] = command
            self.handle_read_index(self.me, ReadIndex(self.disk.term, op))
        elif self.switches.follower_reads and self.leader is not None:
            self.asking[op] = command
            self.send(self.leader, ReadIndex(self.disk.term, op))
        else:
            self.refuse(op)

    @on(ReadIndex)
    def handle_read_index(self, src: NodeId, m: ReadIndex) -> None:
        if holds(read_index_from_leader=self.role is Role.LEADER):
            self.asked.append((src, m.read))
            self.begin_reads()

    def begin_reads(self) -> None:
        """Steps 1 to 3: know what is committed, note it, ask whether I lead."""
        known = self.asked and holds(
            commit_index_known=self.term_at(self.commit_index) == self.disk.term,  # step 1
        )
        if not known:
            return
        if self.switches.reads == "lease" and self.holds_lease():
            begun = [Read(asker, read, self.commit_index, 0) for asker, read in self.asked]  # confirmed already
        else:
            self.start_round()
            begun = [Read(asker, read, self.commit_index, self.round) for asker, read in self.asked]  # step 2
        self.asked = []
        self.reads += begun
        self.confirm_reads()

    def advance_commit_index(self) -> None:
        super().advance_commit_index()
        self.begin_reads()

    def start_round(self) -> None:
        self.round += 1
        self.sent_at = {round: at for round, at in self.sent_at.items() if at + LEASE > self.now}
        self.sent_at[self.round] = self.now
        self.broadcast(Heartbeat(self.disk.term, self.round))

    @on(Heartbeat)
    def handle_heartbeat(self, src: NodeId, m: Heartbeat) -> None:
        """Whoever has gone on to another term answers by it, which deposes the sender, and not by the round: the sender
        may lead again, and have rounds of that term."""
        if not holds(heartbeat_current=m.term == self.disk.term):
            self.send(src, HeartbeatAck(self.disk.term, 0))
            return
        if self.role is Role.CANDIDATE:
            self.become_follower()
        self.set_timer(ELECTION, ELECTION_TIMEOUT)
        self.send(src, HeartbeatAck(self.disk.term, m.round))

    @on(HeartbeatAck)
    def handle_heartbeat_ack(self, src: NodeId, m: HeartbeatAck) -> None:
        relevant = holds(
            heartbeat_ack_current=m.term == self.disk.term,
            heartbeat_ack_to_leader=self.role is Role.LEADER,
        )
        if relevant:
            self.contact_at[src] = self.now
            self.acked[src] = max(self.acked.get(src, 0), m.round)
            self.extend_lease(src, m.round)
            self.confirm_reads()

    def confirm_reads(self) -> None:
        """Step 3: a round that began after the read was asked, and that a majority acknowledged."""
        waiting, self.reads = self.reads, []
        for read in waiting:
            confirmed = holds(
                leadership_confirmed=self.is_majority(self.who_acked(read.round)),
            )
            if not confirmed:
                self.reads.append(read)
            elif read.asker == self.me:
                self.handle_read_from(self.me, ReadFrom(self.disk.term, read.read, read.index))
            else:
                self.send(read.asker, ReadFrom(self.disk.term, read.read, read.index))

    def who_acked(self, round: Round) -> list[NodeId]:
        return [self.me, *(peer for peer in self.peers if self.acked.get(peer, 0) >= round)]

    @on(ReadFrom)
    def handle_read_from(self, src: NodeId, m: ReadFrom) -> None:
        if m.read in self.asking:
            self.may_read[m.read] = m.index
            self.answer_reads()

    def apply_committed(self) -> None:
        super().apply_committed()
        self.answer_reads()

    def answer_reads(self) -> None:
        """Steps 4 and 5: wait for the state machine, ask it."""
        for read, index in list(self.may_read.items()):
            if holds(applied_to_read_index=self.last_applied >= index):
                del self.may_read[read]
                self.reply(read, self.application.apply(self.asking.pop(read)))

    # -- Leases (§6.4.1) -----------------------------------------------------------------------------

    def extend_lease(self, src: NodeId, round: Round) -> None:
        """From when the heartbeat was sent: when it was acknowledged, its receiver may have heard it long ago."""
        if round in self.sent_at:
            self.promised[src] = max(self.promised.get(src, 0), self.sent_at[round] + LEASE)

    def holds_lease(self) -> bool:
        """Whether a majority has promised to elect nobody else by now, and I have not called for an election."""
        return holds(
            lease_from_majority=self.is_majority([self.me, *(p for p in self.promised if self.promised[p] > self.now)]),
            lease_not_given_up=not self.gave_leave,
        )

    def hand_over(self, server: NodeId) -> None:
        """The TimeoutNow may arrive at any time from now on."""
        self.gave_leave = True
        super().hand_over(server)


# -- What must hold ----------------------------------------------------------------------------------

SETTLED = 2 * ELECTION_TIMEOUT[1]  # without a new term for so long, there will be none
KEPT_UP = 2 * ELECTION_TIMEOUT[1]  # so soon has a follower applied what its leader says is committed
ANSWERED = 2 * ELECTION_TIMEOUT[1]  # so soon is a client answered by a leader that can


@value
class Begun:
    """A round of heartbeats: which one of all, and when it began, by its leader's clock and by one that runs right."""

    number: int
    by_its: int
    at: int


def lasts(age: int) -> bool:
    """Whether a lease lasts that began so long ago by the clock of who holds it."""
    return age < LEASE


def may_last(age: int) -> bool:
    """Whether it may last by the slowest clock."""
    return age * (1_000_000 + CLOCK_DRIFT) < ELECTION_TIMEOUT[0] * 1_000_000


class Whole(Chapter4):
    """And what reads and elections promise beyond the core."""

    def begin(self) -> None:
        super().begin()
        self.when_asked: dict[OpId, tuple[Index, int]] = {}  # what was committed, and `begun`
        self.asked_in: dict[tuple[NodeId, OpId], Term] = {}  # the term of who was asked, the last time
        self.begun = 0  # rounds of heartbeats, of all reigns
        self.rounds: dict[tuple[Term, Round], Begun] = {}
        self.acked: dict[tuple[Term, NodeId], Round] = {}  # the last
        self.called: dict[tuple[NodeId, Term], None] = {}  # who was told to campaign, and for which term
        self.index_given: dict[OpId, NodeId] = {}  # reads of followers: by whom
        self.promise_of: dict[NodeId, tuple[Term, int]] = {}  # acknowledged: a leader's term, and when by its own clock
        self.new_term_at = 0
        self.behind: dict[NodeId, tuple[Index, int]] = {}  # up to where the last leader told it to apply, and when
        self.late: str | None = None
        self.newest: tuple[Term, NodeId] = (0, "")  # the last leader
        self.asked_newest_at: int | None = None  # when a client first asked it since it leads and the faults ended
        self.led_at: dict[NodeId, int] = {}  # the last time

    @requested
    def note_question(self, node: NodeId, op: OpId, command: Command) -> None:
        self.when_asked.setdefault(op, (len(self.committed), self.begun))
        self.asked_in[node, op] = self.facts.written(node).term
        if self.facts.healed_at is not None and node == self.newest[1] and hasattr(command, "value"):
            self.asked_newest_at = self.asked_newest_at or self.facts.now

    @warning("A read sees everything that was committed when it was asked.", "§6.4")
    @replied
    def reads_are_fresh(self, node: NodeId, op: OpId, command: Command, result: object) -> str | None:
        wanted, seen = self.when_asked[op][0], self.applied_by.get(node, 0)
        if command.op != "get" or seen >= wanted:
            return None
        return f"{node} answered {command} from {seen} entries, when {wanted} were committed before it was asked"

    @sent(Heartbeat)
    def note_round(self, node: NodeId, dst: NodeId, m: Heartbeat) -> None:
        if (m.term, m.round) not in self.rounds:
            self.begun += 1
            self.rounds[m.term, m.round] = Begun(self.begun, self.facts.clock(node), self.facts.clock())

    @sent(HeartbeatAck)
    def note_promise(self, node: NodeId, dst: NodeId, m: HeartbeatAck) -> None:
        if (m.term, m.round) in self.rounds:
            self.promise_of[node] = m.term, self.facts.clock(node)
            self.acked[m.term, node] = max(self.acked.get((m.term, node), 0), m.round)

    @always("Who answers a read leads: a majority confirmed it since it was asked, or for a lease that lasts.", "§6.4")
    @sent(ReadFrom)
    def reads_are_confirmed(self, node: NodeId, dst: NodeId, m: ReadFrom) -> str | None:
        self.index_given[m.read] = node
        return self._unconfirmed(node, m.read)

    @part_of(reads_are_confirmed)
    @replied
    def own_reads_are_confirmed(self, node: NodeId, op: OpId, command: Command, result: object) -> str | None:
        by_log = command.op != "get" or self.facts.switches.reads == "log"
        if by_log or op in self.index_given:
            return None
        asked, now = self.asked_in[node, op], self.facts.written(node).term
        if asked != now:  # an earlier reign's read index: another leader may have committed more since
            return f"{node} answered operation {op} in term {now}, which it was asked in term {asked}"
        return self._unconfirmed(node, op)

    def _unconfirmed(self, leader: NodeId, op: OpId) -> str | None:
        term, asked = self.facts.written(leader).term, self.when_asked[op][1]
        now, leases = self.facts.clock(leader), self._leases(term)
        backing = self._behind(leader, term, lambda r: r.number > asked or (leases and lasts(now - r.by_its)))
        if is_quorum(self.in_force[leader][1], backing):
            return None
        return f"{leader} answered operation {op} in term {term}, and only {' '.join(backing)} confirmed that it leads"

    def _leases(self, term: Term) -> bool:
        """Whether there are leases, and the term's leader has called nobody to campaign."""
        return bool(self.facts.switches.reads == "lease") and term + 1 not in self.told

    def _behind(self, leader: NodeId, term: Term, counts: Callable[[Begun], bool]) -> list[NodeId]:
        """The leader, and those whose last acknowledgement to it is of a round that counts."""
        last = {node: self.rounds.get((term, self.acked.get((term, node), 0))) for node in self.facts.ids}
        return [leader, *(node for node, round in last.items() if round is not None and counts(round))]

    @always("Only whom the leader told to campaign claims its leave.", "§4.2.3, §3.10")
    @sent(CalledVote)
    def leave_was_given(self, node: NodeId, dst: NodeId, m: CalledVote) -> str | None:
        called = [n for n in self.facts.ids if (n, m.term) in self.called]
        if node in called:
            return None
        return f"{node} claims in term {m.term} that the leader called it, who called {' '.join(called) or 'nobody'}"

    @sent(TimeoutNow)
    def note_call(self, node: NodeId, dst: NodeId, m: TimeoutNow) -> None:
        self.called[dst, m.term + 1] = None

    @always("Nobody begins to lead while an earlier leader holds a lease.", "§6.4.1")
    @sent(AppendEntries)
    def lease_safety(self, node: NodeId, dst: NodeId, m: AppendEntries) -> str | None:
        (term, leader), begins = self.newest, m.term > self.newest[0]
        if not begins:
            return None
        self.newest, self.asked_newest_at, self.behind = (m.term, node), None, {}
        if not term or not self._leases(term) or self.facts.written(leader).term != term:
            return None
        now = self.facts.clock()
        promising = self._behind(leader, term, lambda round: may_last(now - round.at))
        if promising == [leader] or not is_quorum(self.in_force[leader][1], promising):
            return None
        return f"{node} leads term {m.term} while {' '.join(promising)} are behind {leader}'s lease of term {term}"

    @warning("Whoever acknowledged a lease elects nobody else before the shortest election timeout is over.", "§6.4.1")
    @sent(Vote, RequestVote)
    def promises_are_kept(self, node: NodeId, dst: NodeId, m: Vote | RequestVote) -> str | None:
        term, promised_at = self.promise_of.get(node, (m.term, 0))
        elects = getattr(m, "granted", True) and self.facts.switches.reads == "lease" and term < m.term
        since = self.facts.clock(node) - promised_at
        by_leave = any(later in self.told for later in range(term + 1, m.term + 1))  # of that leader, or of a later one
        if not elects or since >= ELECTION_TIMEOUT[0] or by_leave:
            return None
        return f"{node} elects in term {m.term}, {since} us after it acknowledged the lease of term {term}"

    @sent(AppendEntries)
    def note_commitment(self, node: NodeId, dst: NodeId, m: AppendEntries) -> None:
        """Who has not applied what it has in its log, and is told that it is committed."""
        index = m.leader_commit
        if self.facts.healed_at is None or not self.applied_by.get(dst, 0) < index <= len(self.committed):
            return
        held = self.entry(self.facts.written(dst), index) == self.committed[index - 1][0]
        if held and self.facts.reaches(node, dst) and self.facts.reaches(dst, node):
            self.behind.setdefault(dst, (index, self.facts.now))

    @applied
    def note_applied(self, node: NodeId, index: Index, command: object, result: object) -> None:
        self.note_state(node, index, None)

    @restored
    def note_state(self, node: NodeId, index: Index, state: object) -> None:
        if node in self.behind and index >= self.behind[node][0]:
            self.late = self._lateness(node) or self.late
            del self.behind[node]

    def _lateness(self, node: NodeId) -> str | None:
        index, told_at = self.behind[node]
        late = self.facts.now - told_at
        return f"{node} took {late} us to apply entry {index} that it knew to be committed" if late > KEPT_UP else None

    @eventually("Once the faults have ended, who holds an entry soon applies it when it is told to.", "§3.5")
    def followers_keep_up(self) -> str | None:
        if self.facts.switches.membership != "fixed":
            return None
        return self.late or next(filter(None, map(self._lateness, self.behind)), None)

    @part_of(Chapter4.progress_after_heal)
    def progress_after_heal(self) -> str | None:
        """Clients try any server, so it may take them long to find the leader: what counts is that it answers."""
        asked = self.asked_newest_at
        return super().progress_after_heal() if asked and self.facts.now - asked >= ANSWERED else None

    @part_of(Chapter4.entries_after_snapshot)
    def entries_after_snapshot(self) -> str | None:
        """Where a partition stays, this is not due to whom it cuts off."""
        ids, reaches = self.facts.ids, self.facts.reaches
        return super().entries_after_snapshot() if all(reaches(a, b) for a in ids for b in ids) else None

    @sent(AppendEntries)
    def note_leading(self, node: NodeId, dst: NodeId, m: AppendEntries) -> None:
        self.led_at[node] = self.facts.now

    @eventually("Once the faults have ended, a leader that is cut off from all majorities steps down.", "§6.2")
    def cut_off_leader_steps_down(self) -> str | None:
        if not self.facts.switches.check_quorum or self.facts.now < (self.facts.healed_at or 0) + SETTLED:
            return None
        reaches = self.facts.reaches
        for node, at in self.led_at.items():
            linked = [other for other in self.facts.ids if reaches(node, other) and reaches(other, node)]
            if self.facts.now - at < ELECTION_TIMEOUT[0] and not is_quorum(self.in_force[node][1], linked):
                return f"{node} leads on, and can talk to {' '.join(linked)} only"
        return None

    @wrote("term")
    def note_term(self, node: NodeId, before: dict[str, object]) -> None:
        self.new_term_at = self.facts.now

    @eventually("Once the faults have ended, a leader is elected that stays.", "§3.9, §9.6; Howard and Abraham 2020")
    def stable_leader(self) -> str | None:
        switches = self.facts.switches
        if switches.transfer or switches.membership != "fixed" or self.facts.now - self.new_term_at >= SETTLED:
            return None
        return f"a term began {self.facts.now - self.new_term_at} us before the end of the stated bound"


def workload(op: OpId, bits: int) -> Any:
    """One request in sixteen is for a transfer, and one for a change of the membership or a transfer."""
    if bits & 15 == 0:
        first = (bits >> 4) % 5
        return Change("transfer", SERVERS[first:] + SERVERS[:first])
    return puts_and_gets(op, bits >> 4) if bits & 15 > 1 else extended_workload(op, bits >> 4 << 1)


PROTOCOL = attrs.evolve(
    EXTENDED,
    name="raft_whole",
    paper="Ongaro 2014, PhD thesis",
    node=WholeRaft,
    switches=Switches,
    observers=(Whole,),
    workload=workload,
    endures=Endurance(
        partitions=("partition_bridge", "partition_one_way", "isolate_one"),
        switches={
            "membership": "fixed",
            "founders": 64,
            "transfer": False,
            "pre_vote": True,
            "check_quorum": True,
            "stickiness": False,  # PreVote is enough, and is not hidden behind it
            "reads": "log",
            "no_op": False,  # where no entries come, who is cut off is not behind
        },
    ),
    sizes=(3, 5),
    reads_clock=True,
)
