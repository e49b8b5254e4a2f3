"""Raft: leader election and log replication.

Paper    D. Ongaro and J. Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)",
         2014. § and Fig. refer to it.
Spec     ongardie/raft.tla; a handler names the action that it refines.
Scope    The core: elections, replication, commitment; reads go through the log. No snapshots (§7), no membership
         changes (§6), no client sessions (§8).
Assumes  Crash-recovery with a durable disk; messages may be lost, duplicated, delayed and reordered. Safety needs no
         bound on delays or clocks; progress needs broadcast time << election timeout (§5.6).

Reading order: messages, state, elections (§5.2, §5.4.1), replication (§5.3), commitment (§5.4.2), clients (§8), then
what must hold (Fig. 3). Each keyword of `holds(...)` is one check that the paper demands.
"""

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise

import attrs

from protosim.api import (
    MS,
    Command,
    Disk,
    Image,
    Log,
    Node,
    NodeId,
    Observer,
    OpId,
    ProtocolSpec,
    Value,
    always,
    applied,
    eventually,
    holds,
    literal,
    message,
    on,
    on_timeout,
    part_of,
    puts_and_gets,
    replied,
    requested,
    restarted,
    sent,
    sometimes,
    stored,
    switch,
    value,
    warning,
)

Term = int
Index = int  # of a log entry, from 1 as in the paper; 0 is before the first
Position = tuple[Term, Index]  # compared as §5.4.1 compares logs: by term, then by index

ELECTION = "election"
HEARTBEAT = "heartbeat"
ELECTION_TIMEOUT = (150 * MS, 300 * MS)  # §9.3
HEARTBEAT_INTERVAL = (50 * MS, 50 * MS)


# -- Messages (Fig. 2) -------------------------------------------------------------------------------


@value
class Entry:
    term: Term
    command: Value | None  # None: the no-op of a new leader, §8

    def __str__(self) -> str:
        return f"({self.term}: {self.command or 'no-op'})"


@message
class RequestVote:
    term: Term
    last_log_index: Index
    last_log_term: Term


@message
class Vote:
    """RequestVote's result."""

    term: Term
    granted: bool


@message
class AppendEntries:
    term: Term
    prev_log_index: Index
    prev_log_term: Term
    entries: tuple[Entry, ...]
    leader_commit: Index


@message
class Appended:
    """AppendEntries' result. `match` is raft.tla's mmatchIndex; the paper lets the leader infer it."""

    term: Term
    success: bool
    match: Index


Message = RequestVote | Vote | AppendEntries | Appended


# -- State (Fig. 2) ----------------------------------------------------------------------------------


class Role(Enum):
    FOLLOWER = "follower"
    CANDIDATE = "candidate"
    LEADER = "leader"


class RaftDisk(Disk):
    """Persistent state on all servers, "updated on stable storage before responding to RPCs"."""

    term: Term = 0
    voted_for: NodeId | None = None  # in `term`
    log: Log[Entry]


@attrs.frozen
class Switches:
    no_op: bool = switch(False, (False, True), "a new leader appends a no-op entry, §8")
    batch: int = switch(64, (1, 2, 64), "the most entries in one AppendEntries")


class Raft(Node[RaftDisk]):
    switches: Switches

    role: Role
    commit_index: Index
    last_applied: Index
    votes: set[NodeId]  # candidates: who voted for me in this term
    next_index: dict[NodeId, Index]  # leaders
    match_index: dict[NodeId, Index]  # leaders
    waiting: dict[Index, OpId]  # leaders: whose command stands there

    def start(self) -> None:
        """Restart."""
        self.commit_index = 0
        self.last_applied = 0
        self.become_follower()
        self.set_timer(ELECTION, ELECTION_TIMEOUT)

    def become_follower(self) -> None:
        self.role = Role.FOLLOWER
        self.votes = set()
        self.next_index = {}
        self.match_index = {}
        self.waiting = {}  # those clients will not hear from me: an indefinite result

    def receive(self, src: NodeId, m: Message) -> None:
        if m.term > self.disk.term:
            self.update_term(m.term)
        super().receive(src, m)

    def update_term(self, term: Term) -> None:
        """UpdateTerm: a higher term makes anyone a follower, with a fresh vote. All servers, §5.1."""
        self.disk.write(term=term, voted_for=None)
        self.sync()
        if self.role is not Role.FOLLOWER:
            self.become_follower()
            self.set_timer(ELECTION, ELECTION_TIMEOUT)

    @property
    def last_index(self) -> Index:
        return len(self.disk.log)

    def term_at(self, index: Index) -> Term:
        """Of the entry at `index`; 0 before the log, -1 after it: no entry has these."""
        if index == 0:
            return 0
        return self.disk.log[index - 1].term if index <= len(self.disk.log) else -1

    def entries_after(self, index: Index, most: int) -> tuple[Entry, ...]:
        return tuple(self.disk.log[index : index + most])

    def last_position(self) -> Position:
        return self.term_at(self.last_index), self.last_index

    # -- Elections (§5.2, §5.4.1) --------------------------------------------------------------------

    @on_timeout(ELECTION)
    def start_election(self) -> None:
        """Timeout, RequestVote. Candidates 1, §5.2."""
        if self.role is Role.LEADER:
            return
        self.role = Role.CANDIDATE
        self.disk.write(term=self.disk.term + 1, voted_for=self.me)
        self.sync()
        self.votes = {self.me}
        self.set_timer(ELECTION, ELECTION_TIMEOUT)
        self.broadcast(RequestVote(self.disk.term, self.last_index, self.term_at(self.last_index)))
        self.count_votes()  # a cluster of one is its own majority

    @on(RequestVote)
    def handle_request_vote(self, src: NodeId, m: RequestVote) -> None:
        """HandleRequestVoteRequest."""
        granted = holds(
            request_vote_current=m.term == self.disk.term,  # receiver 1, §5.1
            vote_once_per_term=self.disk.voted_for in (None, src),  # receiver 2, §5.2
        ) and self.may_elect((m.last_log_term, m.last_log_index))
        if granted:
            self.disk.voted_for = src
            self.sync()
            self.set_timer(ELECTION, ELECTION_TIMEOUT)  # followers 2, §5.2
        self.send(src, Vote(self.disk.term, granted))

    def may_elect(self, candidate: Position) -> bool:
        """The election restriction, §5.4.1: only who holds all committed entries can start an election that wins."""
        return holds(
            log_up_to_date=candidate >= self.last_position(),  # receiver 2, §5.4.1
        )

    @on(Vote)
    def handle_vote_response(self, src: NodeId, m: Vote) -> None:
        """HandleRequestVoteResponse."""
        counted = holds(
            vote_response_current=m.term == self.disk.term,  # DropStaleResponse
            still_candidate=self.role is Role.CANDIDATE,
            vote_granted=m.granted,
        )
        if counted:
            self.votes.add(src)
            self.count_votes()

    def count_votes(self) -> None:
        """BecomeLeader. Candidates 2, §5.2."""
        elected = holds(
            votes_from_majority=self.is_majority(self.votes),
        )
        if not elected:
            return
        self.role = Role.LEADER
        self.next_index = dict.fromkeys(self.peers, self.last_index + 1)
        self.match_index = dict.fromkeys(self.peers, 0)
        self.cancel(ELECTION)
        if self.switches.no_op:
            self.append_entry(Entry(self.disk.term, None))
        self.send_heartbeats()

    # -- Replication (§5.3) --------------------------------------------------------------------------

    @on_timeout(HEARTBEAT)
    def send_heartbeats(self) -> None:
        """AppendEntries to everyone, empty where there is nothing to send. Leaders 1 and 3, §5.2, §5.3."""
        if self.role is Role.LEADER:
            self.set_timer(HEARTBEAT, HEARTBEAT_INTERVAL)
            for peer in self.peers:
                self.replicate(peer)

    def append_entry(self, entry: Entry) -> None:
        """Leaders 2, §5.3."""
        self.disk.log.append(entry)
        self.sync()

    def replicate(self, peer: NodeId) -> None:
        """AppendEntries."""
        prev = self.next_index[peer] - 1
        entries = self.entries_after(prev, self.switches.batch)
        self.send(peer, AppendEntries(self.disk.term, prev, self.term_at(prev), entries, self.commit_index))

    @on(AppendEntries)
    def handle_append_entries(self, src: NodeId, m: AppendEntries) -> None:
        """HandleAppendEntriesRequest."""
        if not holds(append_entries_current=m.term == self.disk.term):  # receiver 1, §5.1
            self.send(src, Appended(self.disk.term, False, 0))
            return
        if self.role is Role.CANDIDATE:
            self.become_follower()  # candidates 3, §5.2
        self.set_timer(ELECTION, ELECTION_TIMEOUT)  # followers 2, §5.2
        accepted = holds(
            prev_log_matches=self.term_at(m.prev_log_index) == m.prev_log_term,  # receiver 2, §5.3
        )
        if not accepted:
            self.send(src, Appended(self.disk.term, False, min(self.last_index, m.prev_log_index - 1)))
            return
        self.store_entries(m.prev_log_index, m.entries)
        match = m.prev_log_index + len(m.entries)
        if m.leader_commit > self.commit_index:
            self.commit_index = max(self.commit_index, min(m.leader_commit, match))  # receiver 5
            self.apply_committed()
        self.send(src, Appended(self.disk.term, True, match))

    def store_entries(self, prev: Index, entries: tuple[Entry, ...]) -> None:
        """Receiver 3 and 4, §5.3: cut at the first conflict, then append; what conflicts with nothing cuts nothing."""
        for offset, entry in enumerate(entries):
            if self.term_at(prev + offset + 1) != entry.term:
                self.disk.log.store(prev + offset, entries[offset:])
                self.sync()
                return

    @on(Appended)
    def handle_append_response(self, src: NodeId, m: Appended) -> None:
        """HandleAppendEntriesResponse. Leaders 3, §5.3."""
        relevant = holds(
            append_response_current=m.term == self.disk.term,  # DropStaleResponse
            still_leader=self.role is Role.LEADER,
        )
        if not relevant:
            return
        if m.success:
            self.match_index[src] = max(self.match_index[src], m.match)
            self.next_index[src] = self.match_index[src] + 1
            self.advance_commit_index()
        else:
            self.next_index[src] = max(self.match_index[src] + 1, min(self.next_index[src] - 1, m.match + 1))
        if self.next_index[src] <= self.last_index:
            self.replicate(src)

    # -- Commitment (§5.3, §5.4.2) -------------------------------------------------------------------

    def advance_commit_index(self) -> None:
        """AdvanceCommitIndex. Leaders 4, §5.3, §5.4."""
        for index in range(self.last_index, self.commit_index, -1):
            committed = holds(
                replicated_on_majority=self.is_majority(self.holders(index)),  # §5.3
                commit_current_term=self.term_at(index) == self.disk.term,  # §5.4.2, Fig. 8
            )
            if committed:
                self.commit_index = index
                self.apply_committed()
                return

    def holders(self, index: Index) -> list[NodeId]:
        """Who is known to hold the entry."""
        return [self.me, *(peer for peer in self.peers if self.match_index[peer] >= index)]

    def apply_committed(self) -> None:
        """All servers 1, §5.3."""
        while self.last_applied < min(self.commit_index, self.last_index):
            self.last_applied += 1
            result = self.apply(self.last_applied, self.disk.log[self.last_applied - 1].command)
            if self.last_applied in self.waiting:
                self.reply(self.waiting.pop(self.last_applied), result)

    # -- Clients (§8) --------------------------------------------------------------------------------

    def request(self, op: OpId, command: Value) -> None:
        """ClientRequest. Reads go through the log too."""
        if not holds(request_to_leader=self.role is Role.LEADER):
            self.refuse(op)
            return
        self.append_entry(Entry(self.disk.term, command))
        self.waiting[self.last_index] = op
        for peer in self.peers:
            if self.next_index[peer] == self.last_index:  # others will ask for what they miss first
                self.replicate(peer)
        self.advance_commit_index()  # a cluster of one is its own majority


# -- What must hold (Fig. 3) -------------------------------------------------------------------------


class Figure3(Observer):
    """The paper's five properties, and what makes them inductive. Leadership is known by AppendEntries, commitment by
    the first time that an entry is applied."""

    def begin(self) -> None:
        self.leader_of: dict[Term, NodeId] = {}
        self.log_of_leader: dict[Term, tuple[Entry, ...]] = {}  # as it was when it first led
        self.entry_at: dict[tuple[Index, Term], tuple[Term, Value | None]] = {}  # -> term before it, command
        self.committed: list[tuple[Entry, Term]] = []  # by index - 1; with the term in which it was first applied
        self.applied_by: dict[NodeId, Index] = {}
        self.acknowledged: Index = 0  # the last index whose client has its answer
        self.vote_of: dict[tuple[NodeId, Term], NodeId] = {}
        self.elected: dict[Term, NodeId] = {}
        self.asked_leader: NodeId | None = None  # since the faults ended, as the leader
        self.answered_since_heal = False

    # What an extension of the core reads in its own way.

    def before_log(self, image: Image) -> Position:
        """Of the entry before the first in the log."""
        return 0, 0

    def is_quorum(self, nodes: Sequence[NodeId]) -> bool:
        """Whether these may elect a leader, and commit."""
        return len(nodes) >= self.facts.majority

    def may_lead(self, node: NodeId, voters: Sequence[NodeId]) -> bool:
        """Whether these voters make the node a leader."""
        return self.is_quorum(voters)

    def is_asked_by(self, entry: Entry, op: OpId, command: Command) -> bool:
        """Whether the entry holds what the client asks by this operation."""
        return entry.command == command

    def entry(self, image: Image, index: Index) -> Entry | None:
        return image.log[index - 1] if index <= len(image.log) else None

    def whole_log(self, image: Image) -> tuple[Entry, ...]:
        return tuple(image.log)

    def end_of_log(self, image: Image) -> Position:
        before = self.before_log(image)
        return (image.log[-1].term, before[1] + len(image.log)) if image.log else before

    @always("At most one leader can be elected in a given term.", "§5.2, Fig. 3")
    @sent(AppendEntries)
    def election_safety(self, node: NodeId, dst: NodeId, m: AppendEntries) -> str | None:
        leader = self.leader_of.get(m.term)
        if leader is None or leader == node:
            return None
        return f"{leader} and {node} both lead term {m.term}"

    @always("A leader's log holds every entry that was committed in an earlier term.", "§5.4, Fig. 3")
    @sent(AppendEntries)
    def leader_completeness(self, node: NodeId, dst: NodeId, m: AppendEntries) -> str | None:
        if m.term in self.leader_of:
            return None
        log = self.whole_log(self.facts.written(node))
        self.leader_of[m.term], self.log_of_leader[m.term] = node, log
        for index, (entry, term) in enumerate(self.committed, 1):
            if term < m.term and (index > len(log) or log[index - 1] != entry):
                return f"{node} leads term {m.term} without entry {index}, {entry}, committed in term {term}"
        return None

    @always("A leader never overwrites or deletes entries in its log; it only appends.", "§5.3, Fig. 3")
    @stored("log")
    def leader_append_only(
        self, node: NodeId, index: int, removed: tuple[Entry, ...], added: tuple[Entry, ...]
    ) -> str | None:
        term = self.facts.written(node).term
        if removed and self.leader_of.get(term) == node:
            place = self.before_log(self.facts.written(node))[1] + index + 1
            return f"{node} leads term {term} and removed entry {place}, {removed[0]}, from its own log"
        return None

    @always("Logs that agree on an entry's index and term agree on all entries up to it.", "§5.3, Fig. 3")
    @stored("log")
    def log_matching(
        self, node: NodeId, index: int, removed: tuple[Entry, ...], added: tuple[Entry, ...]
    ) -> str | None:
        return self._matches(node, index)

    @part_of(log_matching)
    @restarted
    def log_matching_after_restart(self, node: NodeId) -> str | None:
        return self._matches(node, 0)

    def _matches(self, node: NodeId, index: int) -> str | None:
        """Whether the entries after the first `index` follow what they followed in every other log, at any time."""
        image = self.facts.written(node)
        log, (before, dropped) = image.log, self.before_log(image)
        if index:
            before = log[index - 1].term
        for place, entry in enumerate(log[index:], dropped + index + 1):
            known = self.entry_at.setdefault((place, entry.term), (before, entry.command))
            if known != (before, entry.command):
                return (
                    f"entry {place} of term {entry.term} at {node} is {entry} after term {before}, "
                    f"elsewhere {Entry(entry.term, known[1])} after term {known[0]}"
                )
            before = entry.term
        return None

    @always("If a server applied an entry at an index, no server ever applies another there.", "§5.4.3, Fig. 3")
    @applied
    def state_machine_safety(self, node: NodeId, index: Index, command: Command | None, result: object) -> str | None:
        image = self.facts.written(node)
        if self.applied_by.get(node, 0) + 1 != index:
            return f"{node} applied entry {index} right after entry {self.applied_by.get(node, 0)}"
        self.applied_by[node] = index
        entry = self.entry(image, index)
        if entry is None or entry.command != command:
            return f"{node} applied {command} as entry {index}, which its log does not hold"
        if index > len(self.committed):
            self.committed.append((entry, image.term))
        elif self.committed[index - 1][0] != entry:
            return f"{node} applied {entry} at index {index}, where {self.committed[index - 1][0]} was applied"
        return None

    @part_of(leader_completeness)
    @applied
    def later_leader_completeness(
        self, node: NodeId, index: Index, command: Command | None, result: object
    ) -> str | None:
        """The same, where the later leader was there before the entry was committed."""
        if index < len(self.committed):
            return None
        entry, term = self.committed[index - 1]
        for later, log in self.log_of_leader.items():
            if later > term and log[index - 1 : index] != (entry,):
                missed = f"{self.leader_of[later]} led term {later} without it"
                return f"{node} applied entry {index}, {entry}, in term {term}, but {missed}"
        return None

    @restarted
    def forget_applied(self, node: NodeId) -> None:
        self.applied_by[node] = 0  # the application is volatile: it applies again from the start

    @always("A command whose client has its answer is on the disks of a majority.", "§8; Fig. 2, persistent state")
    @replied
    def durability(self, node: NodeId, op: OpId, command: Command, result: object) -> str | None:
        if command.op == "get":  # changed nothing that could be lost
            return None
        for index in range(self.applied_by.get(node, 0), 0, -1):
            if self.is_asked_by(self.committed[index - 1][0], op, command):
                self.acknowledged = max(self.acknowledged, index)
                return self._on_majority(index, f"{node} answered {command}")
        return f"{node} answered {command} without having applied it"

    @part_of(durability)
    @restarted
    def durability_after_restart(self, node: NodeId) -> str | None:
        if not self.acknowledged:
            return None
        command = self.committed[self.acknowledged - 1][0].command
        return self._on_majority(self.acknowledged, f"{node} restarted after the answer to {command}")

    def _on_majority(self, index: Index, event: str) -> str | None:
        holders = self._holders(index)
        if self.is_quorum(holders):
            return None
        entry = self.committed[index - 1][0]
        return f"{event}, but only the disks of {' and '.join(holders) or 'nobody'} hold entry {index}, {entry}"

    def _holders(self, index: Index) -> list[NodeId]:
        """On whose disks the committed entry is."""
        wanted, durable = self.committed[index - 1][0], self.facts.durable
        return [n for n in self.facts.ids if self.entry(durable(n), index) == wanted]

    # Early warnings: what must hold so that no later step can break the above.

    @warning("A server votes at most once in a term.", "§5.2; raft.tla, votedFor")
    @sent(Vote)
    def one_vote_per_term(self, node: NodeId, dst: NodeId, m: Vote) -> str | None:
        if not m.granted:
            return None
        chosen = self.vote_of.setdefault((node, m.term), dst)
        return None if chosen == dst else f"{node} voted for {chosen} and for {dst} in term {m.term}"

    @part_of(one_vote_per_term)
    @sent(RequestVote)
    def candidate_votes_for_itself(self, node: NodeId, dst: NodeId, m: RequestVote) -> str | None:
        chosen = self.vote_of.setdefault((node, m.term), node)
        return None if chosen == node else f"{node} voted for {chosen} and for itself in term {m.term}"

    @part_of(one_vote_per_term)
    @restarted
    def vote_survives_restart(self, node: NodeId) -> str | None:
        """Who forgets a vote by which another leads, or yet may, can give it to a second one."""
        image = self.facts.written(node)
        for (voter, term), chosen in self.vote_of.items():
            forgotten = term > image.term or (term == image.term and chosen != image.voted_for)
            counts = self.elected.get(term) == chosen or self.facts.written(chosen).term == term
            if voter == node != chosen and forgotten and counts:
                return f"{node} restarted without its vote for {chosen} in term {term}"
        return None

    @warning("A leader has the votes of a majority.", "§5.2; Fig. 2, candidates 2")
    @sent(AppendEntries)
    def leader_has_the_votes(self, node: NodeId, dst: NodeId, m: AppendEntries) -> str | None:
        if m.term in self.elected:
            return None
        self.elected[m.term] = node
        voters = [n for n in self.facts.ids if self.vote_of.get((n, m.term)) == node]
        return None if self.may_lead(node, voters) else f"{node} leads term {m.term} by the votes of {' '.join(voters)}"

    @warning("Nobody who lacks a committed entry could win an election.", "§5.4.1, §5.4.3")
    @applied
    def committed_is_safe(self, node: NodeId, index: Index, command: Command | None, result: object) -> str | None:
        if index < len(self.committed):
            return None
        return self._electable_without(index)

    @part_of(committed_is_safe)
    @restarted
    def committed_is_safe_after_restart(self, node: NodeId) -> str | None:
        return self._electable_without(len(self.committed)) if self.committed else None

    @warning("A committed entry is never removed from a log that holds it.", "§5.4.3")
    @stored("log")
    def committed_is_kept(
        self, node: NodeId, index: int, removed: tuple[Entry, ...], added: tuple[Entry, ...]
    ) -> str | None:
        image = self.facts.written(node)
        first = self.before_log(image)[1] + index + 1
        for place, entry in enumerate(removed, first):
            if self.committed[place - 1 : place] and entry == self.committed[place - 1][0] != self.entry(image, place):
                return f"{node} removed entry {place}, {entry}, which is committed"
        return None

    def _electable_without(self, index: Index) -> str | None:
        """Whether somebody could win with the logs as they are on disk, lacking the entry at `index`."""
        entry = self.committed[index - 1][0]
        disks = {n: self.facts.durable(n) for n in self.facts.ids}
        lacking = [n for n, disk in disks.items() if self.entry(disk, index) != entry]
        if not lacking:
            return None
        last = {n: self.end_of_log(disk) for n, disk in disks.items()}
        node = max(lacking, key=last.__getitem__)
        voters = [n for n in disks if last[n] <= last[node]]
        if not self.is_quorum(voters):
            return None
        return f"{node} lacks entry {index}, {entry}, and could win the votes of {', '.join(voters)}"

    # Goals: a run in which nothing happened proves nothing.

    @sometimes("A leader was elected.")
    @sent(AppendEntries)
    def leader_elected(self, node: NodeId, dst: NodeId, m: AppendEntries) -> bool:
        return True

    @sometimes("A client's command was committed.")
    @replied
    def command_committed(self, node: NodeId, op: OpId, command: Command, result: object) -> bool:
        return True

    @sometimes("The leader changed.")
    @sent(AppendEntries)
    def leader_changed(self, node: NodeId, dst: NodeId, m: AppendEntries) -> bool:
        return len(self.leader_of) > 1

    @eventually("Once the faults have ended, a leader is elected and commits what clients ask.", "§5.6; thesis §3.9")
    def progress_after_heal(self) -> str | None:
        if self.answered_since_heal or not self.leader_was_asked():
            return None
        return "no client got an answer between the healing of the faults and the end of the stated bound"

    def leader_was_asked(self) -> bool:
        """Clients that try any server may miss the leader for long; but there should be one."""
        return self.leader_of_the_newest_term() in (None, self.asked_leader)

    def leader_of_the_newest_term(self) -> NodeId | None:
        """Who leads the newest term that anybody is in."""
        return self.leader_of.get(max(self.facts.written(node).term for node in self.facts.ids))

    @requested
    def note_asked_leader(self, node: NodeId, op: OpId, command: Command) -> None:
        if self.facts.healed_at is not None and node == self.leader_of_the_newest_term():
            self.asked_leader = node

    @replied
    def count_progress(self, node: NodeId, op: OpId, command: Command, result: object) -> None:
        if self.facts.healed_at is not None:
            self.answered_since_heal = True


# -- The literal forms: sampled oracles for the incremental ones above -------------------------------


class LiteralFigure3(Observer):
    """Fig. 3 as it is written, over everything that ever was, as raft.tla does it by its history variables `allLogs`
    and `elections`. Told the same facts, each form breaks at the event at which the one above does; it is slower."""

    def begin(self) -> None:
        self.logs: dict[tuple[Entry, ...], None] = {}  # all that any server ever had
        self.leading: dict[NodeId, Term] = {}
        self.reigns: list[tuple[Term, NodeId, list[tuple[Entry, ...]]]] = []  # with the leader's logs in that time
        self.applications: list[tuple[NodeId, Index, Command | None, Entry | None, Term]] = []  # entry: as in its log
        self.incarnation: dict[NodeId, int] = {}  # -> length of `applications` when it last started

    @sent(AppendEntries)
    def note_leader(self, node: NodeId, dst: NodeId, m: AppendEntries) -> None:
        if self.leading.get(node) != m.term:
            self.leading[node] = m.term
            self.reigns.append((m.term, node, [tuple(self.facts.written(node).log)]))

    @stored("log")
    def note_log(self, node: NodeId, index: int, removed: tuple[Entry, ...], added: tuple[Entry, ...]) -> None:
        image = self.facts.written(node)
        log = tuple(image.log)
        self.logs[log] = None
        for term, leader, logs in self.reigns:
            if leader == node and term == image.term == self.leading.get(node):
                logs.append(log)

    @applied
    def note_application(self, node: NodeId, index: Index, command: Command | None, result: object) -> None:
        image = self.facts.written(node)
        entry = image.log[index - 1] if 0 < index <= len(image.log) else None
        self.applications.append((node, index, command, entry, image.term))

    @restarted
    def note_restart(self, node: NodeId) -> None:
        self.leading.pop(node, None)
        self.logs[tuple(self.facts.written(node).log)] = None
        self.incarnation[node] = len(self.applications)

    @literal("election_safety")
    def one_leader_a_term(self) -> str | None:
        for term, leader, _ in self.reigns:
            for other_term, other, _ in self.reigns:
                if term == other_term and leader != other:
                    return f"{leader} and {other} both led term {term}"
        return None

    @literal("leader_append_only")
    def leaders_only_append(self) -> str | None:
        for term, leader, logs in self.reigns:
            for earlier, later in pairwise(logs):
                if later[: len(earlier)] != earlier:
                    return f"{leader} led term {term} and did not only append to its log"
        return None

    @literal("log_matching")
    def logs_match(self) -> str | None:
        for a in self.logs:
            for b in self.logs:
                for i in range(min(len(a), len(b))):
                    if a[i].term == b[i].term and a[: i + 1] != b[: i + 1]:
                        return f"two logs hold entry {i + 1} of term {a[i].term} but do not agree up to it"
        return None

    @literal("leader_completeness")
    def leaders_are_complete(self) -> str | None:
        committed: dict[Index, tuple[Entry | None, Term]] = {}
        for _, index, _, entry, term in self.applications:
            committed.setdefault(index, (entry, term))
        for index, (entry, term) in committed.items():
            for later, leader, logs in self.reigns:
                if later > term and any(log[index - 1 : index] != (entry,) for log in logs):
                    return f"entry {index} was committed in term {term}, and {leader} led term {later} without it"
        return None

    @literal("state_machine_safety")
    def applications_agree(self) -> str | None:
        """And every server applies its own log, from its start on, in order."""
        entries: dict[Index, Entry | None] = {}
        for _, index, command, entry, _ in self.applications:
            if entry is None or entry.command != command or entries.setdefault(index, entry) != entry:
                return f"other commands than {command} were applied as entry {index}"
        for node in self.facts.ids:
            since = self.applications[self.incarnation.get(node, 0) :]
            indexes = [index for server, index, *_ in since if server == node]
            if indexes != list(range(1, len(indexes) + 1)):
                return f"{node} applied the entries {indexes} in this order"
        return None


PROTOCOL = ProtocolSpec(
    name="raft",
    paper="Ongaro and Ousterhout 2014, extended version",
    node=Raft,
    disk=RaftDisk,
    switches=Switches,
    observers=(Figure3,),
    workload=puts_and_gets,
    symmetric=True,
)
