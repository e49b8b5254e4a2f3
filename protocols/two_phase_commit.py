"""Two-phase commit with presumed abort: every participant of a transaction commits it, or none does.

Book     P. Bernstein, V. Hadzilacos and N. Goodman, "Concurrency Control and Recovery in Database Systems", 1987,
         chapter 7: BHG. AC1 to AC5 are in §7.3; the protocol, whose steps are 1 to 4, and its termination in §7.4.
Paper    C. Mohan, B. Lindsay and R. Obermarck, "Transaction Management in the R* Distributed Database Management
         System", ACM TODS 11(4), 1986: presumed abort, PA.
Spec     J. Gray and L. Lamport, "Consensus on Transaction Commit", ACM TODS 31(1), 2006; TCommit.tla and TwoPhase.tla
         of tlaplus/Examples. A handler names the action that it refines.
Scope    Every node holds some keys and is a participant of the transactions that write these. The node that a client
         asks coordinates: one vote at a time, and any number of commits that wait for acknowledgements. Its own
         participant hears from it as the others do. No read-only votes, no trees of coordinators, no log compaction.
Assumes  Crash-recovery with a durable log; messages may be lost, duplicated, delayed and reordered. Safety needs no
         bound on delays. While a coordinator is down, participants that voted yes may have to wait for it: 2PC blocks.

Reading order: messages, state, recovery, the coordinator, the participant, then what must hold. Each keyword of
`holds(...)` is one check that the book demands.
"""

from collections.abc import Iterable
from typing import Any

import attrs

from protosim.api import (
    MS,
    Disk,
    Log,
    Node,
    NodeId,
    Observer,
    OpId,
    ProtocolSpec,
    always,
    eventually,
    holds,
    message,
    on,
    on_timeout,
    part_of,
    replied,
    requested,
    restarted,
    sent,
    sometimes,
    stored,
    switch,
    value,
    warning,
    was_reset,
)

Xid = OpId  # a transaction has the number of the client's operation; 0 is no transaction's
Key = int  # from 1; each is held by one node, in turn

RESEND = "resend"
INQUIRE = "inquire"
RESEND_INTERVAL = (60 * MS, 80 * MS)
INQUIRE_INTERVAL = (80 * MS, 120 * MS)

# Votes. A participant that says WAIT has not voted: another transaction holds a key, and it wants to be asked again.
YES, NO, WAIT = "yes", "no", "wait"

# Decisions.
COMMIT, ABORT = "commit", "abort"

# Records: of a coordinator, COMMIT and END; of a participant, the others.
END, PREPARED, COMMITTED, ABORTED = "end", "prepared", "committed", "aborted"


# -- Messages ----------------------------------------------------------------------------------------


@value
class Transaction:
    """What a client asks for: to write these keys, at all of their holders or at none."""

    keys: tuple[Key, ...]
    refused: Key  # whose holder finds that it cannot commit this; 0 if none does

    def __str__(self) -> str:
        keys = " ".join(map(str, self.keys)) or "nothing"
        return f"write {keys}, refused at {self.refused}" if self.refused else f"write {keys}"


@message
class Prepare:
    """VOTE-REQ in BHG."""

    xid: Xid
    transaction: Transaction


@message
class Vote:
    xid: Xid
    ballot: str


@message
class Decision:
    xid: Xid
    decision: str


@message
class Ack:
    """The commit is durable at this participant: it will never ask about the transaction again. PA."""

    xid: Xid


@message
class Inquire:
    """DECISION-REQ in BHG."""

    xid: Xid
    coordinator: NodeId  # whom the asker voted for: is it you?


# -- State -------------------------------------------------------------------------------------------

NOTHING = Transaction((), 0)


@value
class Record:
    """An entry of the log."""

    kind: str
    xid: Xid
    transaction: Transaction = NOTHING  # of COMMIT and PREPARED
    coordinator: NodeId = ""  # of PREPARED

    def __str__(self) -> str:
        return f"{self.kind} {self.xid}"


class CommitDisk(Disk):
    log: Log[Record]  # the DT log, for both roles


@attrs.frozen
class Switches:
    cooperative: bool = switch(False, (False, True), "a participant in doubt asks the others too, BHG §7.4")
    patience: int = switch(4, (2, 4, 8), "after so many intervals a missing vote counts as no")


class TwoPhaseCommit(Node[CommitDisk]):
    switches: Switches

    # As the coordinator:
    voting: Xid  # whose votes come in; 0: no vote goes on
    transaction: Transaction  # of `voting`
    asked: tuple[NodeId, ...]  # its participants
    votes: dict[NodeId, str]
    waited: int  # intervals, for votes
    unacknowledged: dict[Xid, list[NodeId]]  # commits, and who has not acknowledged them

    # As a participant:
    in_doubt: dict[Xid, Record]  # PREPARED, and the decision is unknown
    outcomes: dict[Xid, str]  # COMMITTED or ABORTED

    def start(self) -> None:
        """Restart."""
        self.forget_vote()
        self.recover()

    def forget_vote(self) -> None:
        self.voting, self.transaction, self.asked = 0, NOTHING, ()
        self.votes, self.waited = {}, 0

    def recover(self) -> None:
        """What is known is what the log says. A vote that was going on left no record there: it is aborted. PA."""
        self.unacknowledged, self.in_doubt, self.outcomes = {}, {}, {}
        for record in self.disk.log:
            if record.kind == COMMIT:
                self.unacknowledged[record.xid] = list(self.participants(record.transaction))
            elif record.kind == END:
                self.unacknowledged.pop(record.xid, None)
            elif record.kind == PREPARED:
                self.in_doubt[record.xid] = record
            else:
                self.in_doubt.pop(record.xid, None)
                self.outcomes[record.xid] = record.kind
        if self.unacknowledged:
            self.set_timer(RESEND, RESEND_INTERVAL)
        if self.in_doubt:
            self.set_timer(INQUIRE, INQUIRE_INTERVAL)

    def participants(self, transaction: Transaction) -> tuple[NodeId, ...]:
        return holders(transaction.keys, (self.me, *self.peers))

    # -- The coordinator -----------------------------------------------------------------------------

    def request(self, op: OpId, command: Transaction) -> None:
        """Step 1: ask all participants for their votes."""
        if self.voting:
            self.refuse(op)
            return
        self.voting, self.transaction, self.asked = op, command, self.participants(command)
        for participant in self.asked:
            self.send(participant, Prepare(op, command))
        if not self.unacknowledged:  # or else it is set, and must not be put off
            self.set_timer(RESEND, RESEND_INTERVAL)

    @on(Vote)
    def record_vote(self, src: NodeId, m: Vote) -> None:
        """TMRcvPrepared. Step 3. Nothing gets into `votes` but the votes of participants on this transaction."""
        counted = holds(
            vote_on_this_transaction=m.xid == self.voting,
            voter_is_participant=src in self.asked,
            vote_is_yes_or_no=m.ballot in (YES, NO),
            vote_is_not_changed=self.votes.get(src, m.ballot) == m.ballot,
        )
        if counted:
            self.votes[src] = m.ballot
            self.try_decide()

    def try_decide(self) -> None:
        """TMCommit, TMAbort. Step 3: commit if all participants voted yes, abort if one voted no."""
        unanimous = holds(
            all_have_voted=len(self.votes) == len(self.asked),  # AC3
            nobody_voted_no=NO not in self.votes.values(),  # AC3
        )
        if unanimous:
            self.disk.log.append(Record(COMMIT, self.voting, self.transaction))
            self.sync()  # this commits it; the decision is sent and answered after that
            self.unacknowledged[self.voting] = list(self.asked)
            self.conclude(COMMIT)
        elif NO in self.votes.values():
            self.conclude(ABORT)

    def conclude(self, decision: str) -> None:
        """An abort is forgotten at once: who asks later is told so because there is no record. PA."""
        self.reply(self.voting, decision)
        for participant in self.asked:
            self.send(participant, Decision(self.voting, decision))
        self.forget_vote()

    @on_timeout(RESEND)
    def resend(self) -> None:
        """To whoever has not answered. TMAbort: a vote that does not come counts as no in the end, step 3."""
        if self.voting:
            self.waited += 1
        if self.waited >= self.switches.patience:
            self.conclude(ABORT)
        for participant in self.asked:
            if participant not in self.votes:
                self.send(participant, Prepare(self.voting, self.transaction))
        for xid, participants in self.unacknowledged.items():
            for participant in participants:
                self.send(participant, Decision(xid, COMMIT))
        if self.voting or self.unacknowledged:
            self.set_timer(RESEND, RESEND_INTERVAL)

    @on(Ack)
    def handle_ack(self, src: NodeId, m: Ack) -> None:
        """A commit that all have acknowledged may be forgotten; the record of that needs no sync. PA."""
        waiting = self.unacknowledged.get(m.xid, [])
        if not holds(ack_is_awaited=src in waiting):
            return
        waiting.remove(src)
        if holds(all_have_acknowledged=not waiting):
            del self.unacknowledged[m.xid]
            self.disk.log.append(Record(END, m.xid))

    # -- The participant -----------------------------------------------------------------------------

    @on(Prepare)
    def handle_prepare(self, src: NodeId, m: Prepare) -> None:
        """RMPrepare, RMChooseToAbort. Step 2."""
        willing = holds(
            not_aborted_before=self.outcomes.get(m.xid) != ABORTED,  # AC2
            not_refused_here=m.transaction.refused not in self.held_here(m.transaction),
        )
        if not willing:
            self.abort_alone(m.xid)
            self.send(src, Vote(m.xid, NO))
        elif m.xid in self.in_doubt or m.xid in self.outcomes:
            self.send(src, Vote(m.xid, YES))  # as before
        elif not holds(keys_are_free=self.are_free(self.held_here(m.transaction))):
            self.send(src, Vote(m.xid, WAIT))
        else:
            self.disk.log.append(Record(PREPARED, m.xid, m.transaction, src))
            self.sync()  # before the vote
            if not self.in_doubt:  # or else it is set, and must not be put off
                self.set_timer(INQUIRE, INQUIRE_INTERVAL)
            self.in_doubt[m.xid] = self.disk.log[-1]
            self.send(src, Vote(m.xid, YES))

    def held_here(self, transaction: Transaction) -> list[Key]:
        """Those of its keys that this node holds."""
        return [key for key in transaction.keys if holders((key,), (self.me, *self.peers)) == (self.me,)]

    def are_free(self, keys: list[Key]) -> bool:
        """Whether no transaction in doubt writes any of these."""
        return not any(key in record.transaction.keys for record in self.in_doubt.values() for key in keys)

    def abort_alone(self, xid: Xid) -> None:
        """Who has not voted yes may abort. It may still be asked for its vote, and must know then."""
        if xid not in self.outcomes:
            self.disk.log.append(Record(ABORTED, xid))
            self.sync()
            self.outcomes[xid] = ABORTED

    @on(Decision)
    def handle_decision(self, src: NodeId, m: Decision) -> None:
        """RMRcvCommitMsg, RMRcvAbortMsg. Step 4. A commit that comes again is acknowledged again."""
        if holds(decision_is_awaited=m.xid in self.in_doubt):
            del self.in_doubt[m.xid]
            self.outcomes[m.xid] = COMMITTED if m.decision == COMMIT else ABORTED
            self.disk.log.append(Record(self.outcomes[m.xid], m.xid))
            if m.decision == COMMIT:
                self.sync()  # before it is acknowledged; an abort that is lost will be asked for again. PA
        if m.decision == COMMIT:
            self.send(src, Ack(m.xid))

    # -- The participant in doubt: termination (BHG §7.4) --------------------------------------------

    @on_timeout(INQUIRE)
    def inquire(self) -> None:
        """Ask the coordinator; cooperative termination asks the other participants too."""
        for xid, record in self.in_doubt.items():
            others = self.participants(record.transaction) if self.switches.cooperative else ()
            for node in dict.fromkeys((record.coordinator, *others)):
                if node in (record.coordinator, *self.peers):
                    self.send(node, Inquire(xid, record.coordinator))
        if self.in_doubt:
            self.set_timer(INQUIRE, INQUIRE_INTERVAL)

    @on(Inquire)
    def handle_inquire(self, src: NodeId, m: Inquire) -> None:
        decision = self.decided(m.xid) if m.coordinator == self.me else self.learned(m.xid)
        if decision is not None:
            self.send(src, Decision(m.xid, decision))

    def decided(self, xid: Xid) -> str | None:
        """By the coordinator: nothing while votes come in; and abort, unless a record says commit. PA."""
        if xid == self.voting:
            return None
        return COMMIT if xid in self.unacknowledged else ABORT

    def learned(self, xid: Xid) -> str | None:
        """By another participant: nothing where it is in doubt too. If it has not voted, it aborts now."""
        if not holds(is_certain=xid not in self.in_doubt):
            return None
        self.abort_alone(xid)
        return COMMIT if self.outcomes[xid] == COMMITTED else ABORT


def holders(keys: tuple[Key, ...], nodes: tuple[NodeId, ...]) -> tuple[NodeId, ...]:
    """Which nodes hold these keys, each once."""
    ranked = sorted(nodes, key=lambda node: (len(node), node))
    return tuple(dict.fromkeys(ranked[(key - 1) % len(ranked)] for key in keys))


# -- What must hold (BHG §7.3) -----------------------------------------------------------------------

DECIDES = {COMMIT: COMMIT, COMMITTED: COMMIT, ABORTED: ABORT}
"""Which records are a decision, and which one."""
SETTLED = 1_000 * MS
"""When nothing fails, a transaction is over within this time; BHG calls it sufficiently long."""


class AtomicCommitment(Observer):
    """AC1 to AC5 and what makes them inductive. A process reaches a decision when it writes it, votes no, answers the
    client, or tells who is in doubt; a record that a crash undoes was none."""

    def begin(self) -> None:
        self.transactions: dict[Xid, Transaction] = {}
        self.coordinators: dict[Xid, NodeId] = {}
        self.asked: dict[Xid, int] = {}  # by clients -> when
        self.undecided: dict[Xid, int] = {}  # votes that go on -> since when
        self.ballots: dict[tuple[Xid, NodeId], list[str]] = {}  # different ones, as they were sent
        self.decided: dict[Xid, dict[NodeId, str]] = {}
        self.unsure: dict[NodeId, list[Xid]] = {n: [] for n in self.facts.ids}  # decided by a record that nobody saw
        self.in_doubt: dict[NodeId, dict[Xid, int]] = {n: {} for n in self.facts.ids}  # -> since when
        self.unended: dict[NodeId, dict[Xid, int]] = {n: {} for n in self.facts.ids}  # commits -> since when
        self.answered: list[Xid] = []  # commits that clients know of
        self.needless: list[Xid] = []  # aborts without any reason
        self.committed_since_heal = False

    @sent(Prepare)
    def note_transaction(self, node: NodeId, dst: NodeId, m: Prepare) -> None:
        if m.xid not in self.transactions:
            self.transactions[m.xid], self.coordinators[m.xid] = m.transaction, node
            self.undecided[m.xid] = self.facts.now

    @sent(Vote)
    def note_vote(self, node: NodeId, dst: NodeId, m: Vote) -> None:
        ballots = self.ballots.setdefault((m.xid, node), [])
        if m.ballot not in ballots:
            ballots.append(m.ballot)

    # AC2 comes before AC1: who reverses its own decision disagrees with itself too.

    @always("A process cannot reverse its decision after it has reached one, nor does a crash.", "BHG §7.3, AC2")
    @stored("log")
    def ac2_irrevocability(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        if removed:
            return f"{node} removed {removed[0]} from its log"
        return first(self._reverses(node, r.xid, DECIDES[r.kind], sure=False) for r in added if r.kind in DECIDES)

    @part_of(ac2_irrevocability)
    @was_reset("log")
    def log_is_kept(self, node: NodeId, before: object, after: object) -> str:
        return f"{node} replaced its log"

    @part_of(ac2_irrevocability)
    @sent(Vote)
    def irrevocable_by_vote(self, node: NodeId, dst: NodeId, m: Vote) -> str | None:
        return self._reverses(node, m.xid, ABORT, sure=True) if m.ballot == NO else None

    @part_of(ac2_irrevocability)
    @sent(Decision)
    def irrevocable_once_told(self, node: NodeId, dst: NodeId, m: Decision) -> str | None:
        """A coordinator that has forgotten may presume what is not so; nobody who is not in doubt will listen."""
        return self._reverses(node, m.xid, m.decision, sure=True) if m.xid in self.in_doubt[dst] else None

    @part_of(ac2_irrevocability)
    @replied
    def irrevocable_once_answered(self, node: NodeId, op: OpId, command: Transaction, result: str) -> str | None:
        return self._reverses(node, op, result, sure=True)

    def _reverses(self, node: NodeId, xid: Xid, decision: str, sure: bool) -> str | None:
        """The decision is reached; or it was another one. Unless somebody has seen it, a crash may still undo it."""
        before = self.decided.setdefault(xid, {}).get(node)
        self.decided[xid].setdefault(node, decision)
        if before is None and not sure:
            self.unsure[node].append(xid)
        elif sure and xid in self.unsure[node]:
            self.unsure[node].remove(xid)
        if before in (None, decision):
            return None
        return f"{node} decided {before} on transaction {xid}, and then {decision}"

    @always("All processes that reach a decision reach the same one.", "BHG §7.3, AC1; TCommit.tla, TCConsistent")
    @stored("log")
    def ac1_agreement(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        return first(self._disagrees(node, r.xid) for r in added if r.kind in DECIDES)

    @part_of(ac1_agreement)
    @sent(Vote)
    def agreement_by_vote(self, node: NodeId, dst: NodeId, m: Vote) -> str | None:
        return self._disagrees(node, m.xid) if m.ballot == NO else None

    @part_of(ac1_agreement)
    @sent(Decision)
    def agreement_once_told(self, node: NodeId, dst: NodeId, m: Decision) -> str | None:
        return self._disagrees(node, m.xid) if m.xid in self.in_doubt[dst] else None

    @part_of(ac1_agreement)
    @replied
    def agreement_once_answered(self, node: NodeId, op: OpId, command: Transaction, result: str) -> str | None:
        return self._disagrees(node, op)

    def _disagrees(self, node: NodeId, xid: Xid) -> str | None:
        mine = self.decided[xid][node]
        for other, decision in self.decided[xid].items():
            if decision != mine:
                return f"{other} decided {decision} on transaction {xid}, and {node} decided {mine}"
        return None

    @always("The decision to commit can only be reached if all processes voted yes.", "BHG §7.3, AC3")
    @stored("log")
    def ac3_unanimity(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        commits = [r.xid for r in added if DECIDES.get(r.kind) == COMMIT]
        return first(self._lacks_a_vote(node, xid, self.transactions.get(xid, NOTHING)) for xid in commits)

    @part_of(ac3_unanimity)
    @replied
    def answers_are_unanimous(self, node: NodeId, op: OpId, command: Transaction, result: str) -> str | None:
        return self._lacks_a_vote(node, op, command) if result == COMMIT else None

    def _lacks_a_vote(self, node: NodeId, xid: Xid, transaction: Transaction) -> str | None:
        for participant in holders(transaction.keys, self.facts.ids):
            ballots = self.ballots.get((xid, participant), [])
            if NO in ballots or YES not in ballots:
                voted = f"{participant} voted {' and '.join(ballots)}" if ballots else f"{participant} did not vote"
                return f"{node} decided commit on transaction {xid}, and {voted}"
        return None

    @always("What one of its participants cannot commit is not committed.", "BHG §7.3, votes")
    @replied
    def validity(self, node: NodeId, op: OpId, command: Transaction, result: str) -> str | None:
        if result != COMMIT or command.refused not in command.keys:
            return None
        return f"{node} answered commit to transaction {op}, which the holder of key {command.refused} cannot commit"

    @always("What is committed is on the disks of all its participants, and what a client knows of stays there.", "PA")
    @stored("log")
    def durability(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        return first(self._lost(r.xid, self._participants(r.xid)) for r in added if r.kind == COMMIT)

    @part_of(durability)
    @replied
    def durability_of_answers(self, node: NodeId, op: OpId, command: Transaction, result: str) -> str | None:
        if result != COMMIT:
            return None
        self.transactions[op], self.coordinators[op] = command, node
        self.answered.append(op)
        return self._lost(op, holders(command.keys, self.facts.ids)) or self._revocable(op)

    @part_of(durability)
    @restarted
    def durability_after_restart(self, node: NodeId) -> str | None:
        held = [xid for xid in self.answered if node in self._participants(xid)]
        led = [xid for xid in self.answered if self.coordinators[xid] == node]
        return first(self._lost(xid, (node,)) for xid in held) or first(self._revocable(xid) for xid in led)

    def _participants(self, xid: Xid) -> tuple[NodeId, ...]:
        return holders(self.transactions[xid].keys, self.facts.ids) if xid in self.transactions else ()

    def _lost(self, xid: Xid, nodes: tuple[NodeId, ...]) -> str | None:
        """Where the work of a committed transaction is not on a disk."""
        for node in nodes:
            on_disk = self._on_disk(node, xid)
            if on_disk not in (PREPARED, COMMITTED):
                return f"transaction {xid} is committed, and the disk of {node} says {on_disk or 'nothing'} about it"
        return None

    def _revocable(self, xid: Xid) -> str | None:
        """Whether an answered commit could be presumed to be an abort: no disk of the coordinator knows of it."""
        if any(r.kind == COMMIT and r.xid == xid for r in reversed(self.facts.durable(self.coordinators[xid]).log)):
            return None
        if all(self._on_disk(node, xid) == COMMITTED for node in self._participants(xid)):
            return None
        return f"a client was told that transaction {xid} is committed, which is not on the disk of its coordinator"

    def _on_disk(self, node: NodeId, xid: Xid) -> str:
        """The last that a participant's disk says about a transaction, or nothing."""
        for record in reversed(self.facts.durable(node).log):
            if record.xid == xid and record.kind in (PREPARED, COMMITTED, ABORTED):
                return str(record.kind)
        return ""

    @always("A transaction in doubt keeps its keys to itself.", "BHG §7.4; PA, locks are held until the decision")
    @stored("log")
    def isolation(self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]) -> str | None:
        for record in added:
            for other in self.in_doubt[node] if record.kind == PREPARED else ():
                for key in self.transactions.get(other, NOTHING).keys:
                    if key in record.transaction.keys and holders((key,), self.facts.ids) == (node,):
                        return f"{node} prepared transaction {record.xid} while {other} is in doubt about key {key}"
        return None

    @stored("log")
    def note_records(self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]) -> None:
        in_doubt, unended = self.in_doubt[node], self.unended[node]
        for record in added:
            if record.kind == PREPARED:
                in_doubt[record.xid] = self.facts.now
            elif record.kind == COMMIT:
                unended[record.xid] = self.facts.now
            elif record.kind == END:
                unended.pop(record.xid, None)
            else:
                in_doubt.pop(record.xid, None)

    @restarted
    def note_restart(self, node: NodeId) -> None:
        """Votes that went on are over, and what was not synced is as if it had not been."""
        log = self.facts.written(node).log
        decisions = [record.xid for record in log if record.kind in DECIDES]
        for xid in self.unsure[node]:
            if xid not in decisions:
                del self.decided[xid][node]
        self.unsure[node], self.in_doubt[node], self.unended[node] = [], {}, {}
        self.note_records(node, 0, (), tuple(log))
        for xid in [xid for xid in self.undecided if self.coordinators[xid] == node]:
            del self.undecided[xid]

    # Early warnings: what must hold so that no later step can break the above.

    @warning("A vote of yes is a promise that is on the disk, and no abort after it.", "BHG §7.4, DT log")
    @sent(Vote)
    def yes_is_durable(self, node: NodeId, dst: NodeId, m: Vote) -> str | None:
        on_disk = self._on_disk(node, m.xid)
        if m.ballot != YES or on_disk in (PREPARED, COMMITTED):
            return None
        return f"{node} votes yes on transaction {m.xid}, and its disk says {on_disk or 'nothing'} about it"

    # Goals: a run in which nothing happened proves nothing.

    @sometimes("A transaction was committed.")
    @replied
    def transaction_committed(self, node: NodeId, op: OpId, command: Transaction, result: str) -> bool:
        return result == COMMIT

    @sometimes("A transaction was aborted.")
    @replied
    def transaction_aborted(self, node: NodeId, op: OpId, command: Transaction, result: str) -> bool:
        return result == ABORT

    @sometimes("A commit was acknowledged by all, and forgotten.")
    @stored("log")
    def commit_forgotten(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> bool:
        return any(record.kind == END for record in added)

    # Liveness.

    @requested
    def note_question(self, node: NodeId, op: OpId, command: Transaction) -> None:
        self.asked[op] = self.facts.now

    @replied
    def note_answer(self, node: NodeId, op: OpId, command: Transaction, result: str) -> None:
        self.undecided.pop(op, None)
        healed = self.facts.healed_at
        if healed is None:
            return
        if result == COMMIT:
            self.committed_since_heal = True
        elif self.asked[op] > healed + SETTLED and not self._has_a_reason(op, command):
            self.needless.append(op)

    def _has_a_reason(self, xid: Xid, transaction: Transaction) -> bool:
        """To abort, where nothing fails: somebody cannot commit, or has to wait for another transaction's keys."""
        asked = holders(transaction.keys, self.facts.ids)
        heard = [ballot for participant in asked for ballot in self.ballots.get((xid, participant), ())]
        return transaction.refused in transaction.keys or NO in heard or WAIT in heard

    @eventually("If there are no failures and all processes voted yes, the decision is to commit.", "BHG §7.3, AC4")
    def ac4_no_needless_abort(self) -> str | None:
        if self.needless:
            return f"transaction {self.needless[0]} was aborted, although nobody had objected and nothing had failed"
        if not self.committed_since_heal:
            return "nothing was committed between the healing of the faults and the end of the stated bound"
        return None

    @eventually("When failures are repaired, all processes eventually reach a decision.", "BHG §7.3, AC5")
    def ac5_termination(self) -> str | None:
        for xid, since in self.undecided.items():
            if self._is_over(since):
                return f"{self.coordinators[xid]} has reached no decision on transaction {xid}"
        for node, waiting in self.in_doubt.items():
            for xid, since in waiting.items():
                if self._is_over(since):
                    return f"{node} is in doubt about transaction {xid}, and nobody tells it the decision"
        return None

    @eventually("A commit that all participants know of is forgotten in the end.", "PA, END record")
    def commits_end(self) -> str | None:
        for node, waiting in self.unended.items():
            for xid, since in waiting.items():
                if self._is_over(since):
                    return f"{node} still waits for acknowledgements of transaction {xid}"
        return None

    def _is_over(self, since: int) -> bool:
        """Whether this is longer ago than it may be."""
        return max(since, self.facts.healed_at or 0) + SETTLED < self.facts.now


def first(sentences: Iterable[str | None]) -> str | None:
    return next((sentence for sentence in sentences if sentence), None)


# -- What clients ask --------------------------------------------------------------------------------


def workload(op: OpId, bits: int) -> Transaction:
    """Two or three of six keys; one transaction in four is refused at one of them."""
    at, step = bits % 6, 1 + (bits >> 8) % 5
    keys = [1 + (at + i * step) % 6 for i in range(3 if bits >> 16 & 3 == 0 else 2)]
    return Transaction(tuple(dict.fromkeys(keys)), keys[0] if bits >> 20 & 3 == 0 else 0)


def parse(op: OpId, words: tuple[str, ...]) -> Transaction:
    """`write 1 2`, `write 1 2 refused 2`."""
    verb, *rest = words
    keys, refused = (rest[:-2], rest[-1]) if "refused" in rest else (rest, "0")
    if verb != "write" or not keys:
        raise ValueError("a client asks to write some keys: `write 1 2`, or `write 1 2 refused 2`")
    return Transaction(tuple(map(int, keys)), int(refused))


def malformed(ids: tuple[NodeId, ...], src: NodeId, dst: NodeId, m: Any) -> list[tuple[NodeId, NodeId, Vote]]:
    """What no coordinator may count, step 3: a participant's word that is neither yes nor no, and its no after its yes;
    the yes of who is no participant."""
    kind = type(m).__name__  # an edited source has classes of its own
    if kind == "Prepare":
        strangers = [node for node in ids if node not in holders(m.transaction.keys, ids)]
        return [(dst, src, Vote(m.xid, "perhaps")), *((node, src, Vote(m.xid, YES)) for node in strangers)]
    if kind == "Vote" and m.ballot == YES:
        return [(src, dst, Vote(m.xid, NO))]
    return []


PROTOCOL = ProtocolSpec(
    name="two_phase_commit",
    paper="Bernstein, Hadzilacos and Goodman 1987, ch. 7; Mohan et al. 1986",
    node=TwoPhaseCommit,
    disk=CommitDisk,
    switches=Switches,
    observers=(AtomicCommitment,),
    workload=workload,
    parse=parse,
    malformed=malformed,
    history=None,
)
