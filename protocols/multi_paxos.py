"""Multi-Paxos: a sequence of commands, each chosen by an instance of Paxos, under a leader that prepares for all.

Paper    L. Lamport, "Paxos Made Simple", 2001, §3: "Implementing a State Machine". § refers to it.
Also     T. Chandra, R. Griesemer and J. Redstone, "Paxos Made Live", PODC 2007: the leader's liveness, catching up.
         J. Ousterhout and D. Ongaro, "Implementing Replicated Logs with Paxos", 2013: a chosen command is one that was
         accepted in a ballot above all others.
Spec     tlaplus/Examples, Paxos.tla, once for each slot; a handler names the action that it refines.
Scope    The state machine under a stable leader: leader change, gaps, retransmission, catching up. Reads are commands.
         No snapshots, no change of membership, no leases.
Assumes  What `protocols/paxos.py` assumes; progress needs a leader that is heard before the others' patience ends.

Reading order: messages, state, phase 1 for all slots, phase 2 for each, clients, learning; then what must hold. Each
keyword of `holds(...)` is one check that the papers demand.
"""

from enum import Enum
from itertools import chain
from typing import Any

import attrs

from protocols.paxos import BEFORE_ALL, Ballot, Instance, Participant, Voting, highest
from protosim.api import (
    MS,
    Command,
    Disk,
    Log,
    NodeId,
    OpId,
    ProtocolSpec,
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
    restarted,
    sent,
    sometimes,
    stored,
    switch,
    value,
    warning,
)

Slot = Instance  # of the command sequence, from 1

LEADER = "leader"
HEARTBEAT = "heartbeat"
LEADER_TIMEOUT = (150 * MS, 300 * MS)  # without word of a leader
HEARTBEAT_INTERVAL = (50 * MS, 50 * MS)

CHOSEN = Ballot(1 << 62, "")  # above every other: nothing can be accepted after it


# -- Messages ----------------------------------------------------------------------------------------


@value
class Vote:
    """What an acceptor has accepted in a slot, or, in the ballot CHOSEN, what a learner knows to be chosen there."""

    slot: Slot
    ballot: Ballot
    command: Command | None  # None: a no-op, §3

    def __str__(self) -> str:
        return f"({self.slot}: {self.command or 'no-op'}, {'chosen' if self.ballot == CHOSEN else self.ballot})"


@message
class Prepare:
    """1a, for all slots from `first` on."""

    ballot: Ballot
    first: Slot


@message
class Promise:
    """1b: in no slot to accept anything below `ballot`. `accepted` is the last in each slot, from `first` on."""

    ballot: Ballot
    accepted: tuple[Vote, ...]


@message
class Accept:
    """2a."""

    ballot: Ballot
    slot: Slot
    command: Command | None


@message
class Accepted:
    """2b, to the leader: the distinguished learner, §2.3."""

    ballot: Ballot
    slot: Slot


@message
class Nack:
    """The refusal of a leader, or of who wants to be one: the acceptor has promised more."""

    ballot: Ballot
    promised: Ballot


@message
class Heartbeat:
    """The leader lives, and all slots up to `chosen` are chosen."""

    ballot: Ballot
    chosen: Slot


@message
class CatchUp:
    """A learner asks what is chosen from `first` on."""

    first: Slot


@message
class Chosen:
    """CatchUp's answer: the chosen commands from slot `first` on."""

    first: Slot
    commands: tuple[Command | None, ...]


# -- State -------------------------------------------------------------------------------------------


class Role(Enum):
    FOLLOWER = "follower"
    CANDIDATE = "candidate"  # in phase 1
    LEADER = "leader"  # in phase 2


class MultiPaxosDisk(Disk):
    """What is kept in stable storage, §2.5. Of each slot the last record in the log counts."""

    round: int = 0  # proposer: the highest that it has begun
    promised: Ballot = BEFORE_ALL  # acceptor, for all slots: maxBal
    log: Log[Vote]  # acceptor: maxVBal, maxVal; learner: what is chosen


@attrs.frozen
class Switches:
    batch: int = switch(64, (1, 2, 64), "the most commands in one Chosen")


class MultiPaxos(Participant[MultiPaxosDisk]):
    switches: Switches

    role: Role
    ballot: Ballot  # that I lead, or want to lead
    round_seen: int  # the highest that I was refused for
    promises: dict[NodeId, tuple[Vote, ...]]  # candidates: who promised my ballot, and what they had accepted
    next_slot: Slot  # leaders: the first that I have proposed nothing in
    proposals: dict[Slot, Command | None]  # leaders: in my ballot
    accepted_by: dict[Slot, set[NodeId]]  # leaders
    waiting: dict[Slot, OpId]  # leaders: whose command I have proposed there
    votes: dict[Slot, Vote]  # acceptor and learner: the last record of each slot
    executed: Slot  # learner: all up to here are chosen, and applied

    def start(self) -> None:
        """Restart."""
        self.ballot = BEFORE_ALL
        self.round_seen = 0
        self.next_slot = 1
        self.votes = {vote.slot: vote for vote in self.disk.log}
        self.executed = 0
        self.follow()
        self.execute()

    def follow(self) -> None:
        """Lead no more, and want to only after a while without word of a leader."""
        self.role = Role.FOLLOWER
        self.promises = {}
        self.proposals = {}
        self.accepted_by = {}
        self.waiting = {}  # those clients will not hear from me: an indefinite result
        self.set_timer(LEADER, LEADER_TIMEOUT)

    def record(self, vote: Vote) -> None:
        self.disk.log.append(vote)
        self.votes[vote.slot] = vote

    def ballot_at(self, slot: Slot) -> Ballot:
        """In which the slot's command was accepted last; CHOSEN if it is known to be chosen."""
        return self.votes[slot].ballot if slot in self.votes else BEFORE_ALL

    # -- Phase 1, for all slots at once (§3) ---------------------------------------------------------

    @on_timeout(LEADER)
    def prepare(self) -> None:
        """Phase1a: begin a ballot above all that I began or know of, also before a crash. §2.5."""
        self.ballot = Ballot(max(self.disk.round, self.disk.promised.round, self.round_seen) + 1, self.me)
        self.disk.round = self.ballot.round
        self.sync()
        self.follow()
        self.role = Role.CANDIDATE
        self.tell_all(Prepare(self.ballot, self.executed + 1))

    @on(Prepare)
    def handle_prepare(self, src: NodeId, m: Prepare) -> None:
        """Phase1b."""
        promised = holds(
            prepare_above_promised=m.ballot > self.disk.promised,  # phase 1 (b), §2.2
        )
        if not promised:
            self.tell(src, Nack(m.ballot, self.disk.promised))
            return
        self.promise(m.ballot)
        self.tell(src, Promise(m.ballot, tuple(self.votes[slot] for slot in sorted(self.votes) if slot >= m.first)))

    def promise(self, ballot: Ballot) -> None:
        """To accept nothing below; who led or wanted to lead a lower ballot has lost it."""
        self.disk.promised = ballot
        self.sync()
        if ballot.proposer != self.me:
            self.follow()

    @on(Promise)
    def handle_promise(self, src: NodeId, m: Promise) -> None:
        """Count the promises of this ballot."""
        counted = holds(
            promise_of_my_ballot=m.ballot == self.ballot,  # phase 2 (a), §2.2
            still_candidate=self.role is Role.CANDIDATE,
        )
        if counted:
            self.promises[src] = m.accepted
            self.lead()

    def lead(self) -> None:
        """Phase2a in every slot where somebody has accepted something, and no-ops in the gaps between. §3."""
        promised = holds(
            promised_by_majority=self.is_majority(self.promises),  # phase 2 (a), §2.2
        )
        if not promised:
            return
        self.role = Role.LEADER
        self.cancel(LEADER)
        reported: dict[Slot, list[Vote]] = {}
        for vote in chain.from_iterable(self.promises.values()):
            reported.setdefault(vote.slot, []).append(vote)
        last = max(reported, default=self.executed)
        self.next_slot = last + 1
        for slot in range(self.executed + 1, last + 1):
            accepted = highest(reported.get(slot, ()))  # P2c, §2.2
            if accepted is not None and accepted.ballot == CHOSEN:
                self.learn(slot, accepted.command)
            else:
                self.propose(slot, None if accepted is None else accepted.command)
        self.announce()

    @on(Nack)
    def handle_nack(self, src: NodeId, m: Nack) -> None:
        """Somebody has begun a higher ballot: leave it to that one."""
        overtaken = holds(
            nack_of_my_ballot=m.ballot == self.ballot,
            nack_above_my_ballot=m.promised > self.ballot,  # or it answers a duplicate
            not_yet_following=self.role is not Role.FOLLOWER,
        )
        if overtaken:
            self.round_seen = max(self.round_seen, m.promised.round)
            self.follow()

    # -- Phase 2, for one slot (§2.2) ----------------------------------------------------------------

    def propose(self, slot: Slot, command: Command | None) -> None:
        """Phase2a."""
        self.proposals[slot] = command
        self.accepted_by[slot] = set()
        self.tell_all(Accept(self.ballot, slot, command))

    @on(Accept)
    def handle_accept(self, src: NodeId, m: Accept) -> None:
        """Phase2b."""
        accepted = holds(
            accept_not_below_promised=m.ballot >= self.disk.promised,  # P1a; phase 2 (b), §2.2
        )
        if not accepted:
            self.tell(src, Nack(m.ballot, self.disk.promised))
            return
        self.heed(m.ballot)
        if m.ballot > self.ballot_at(m.slot):  # or it is a duplicate, or chosen
            self.record(Vote(m.slot, m.ballot, m.command))
        self.sync()
        self.tell(src, Accepted(m.ballot, m.slot))

    def heed(self, ballot: Ballot) -> None:
        """Word of a leader."""
        if ballot > self.disk.promised:
            self.promise(ballot)
        elif ballot.proposer != self.me:
            self.set_timer(LEADER, LEADER_TIMEOUT)

    @on(Accepted)
    def handle_accepted(self, src: NodeId, m: Accepted) -> None:
        """A command is chosen when a majority has accepted it in one ballot. §2.3."""
        counted = holds(
            accepted_in_my_ballot=m.ballot == self.ballot,  # §2.2: it is a proposal that is chosen
            still_leader=self.role is Role.LEADER,
        )
        if counted:
            self.accepted_by[m.slot].add(src)
            self.choose(m.slot)

    def choose(self, slot: Slot) -> None:
        chosen = holds(
            accepted_by_majority=self.is_majority(self.accepted_by[slot]),  # §2.2
        )
        if chosen:
            self.learn(slot, self.proposals[slot])

    # -- Clients (§3) --------------------------------------------------------------------------------

    def request(self, op: OpId, command: Command) -> None:
        """The leader decides where in the sequence a command should appear. So it does with reads."""
        if not holds(request_to_leader=self.role is Role.LEADER):
            self.refuse(op)
            return
        slot = self.next_slot
        self.next_slot += 1
        self.waiting[slot] = op
        self.propose(slot, command)

    # -- Learning, and the leader's liveness (§2.3, §3; Paxos Made Live) ------------------------------

    @on_timeout(HEARTBEAT)
    def keep_leading(self) -> None:
        """Send again what may be lost, and show that I live."""
        if self.role is not Role.LEADER:
            return
        self.announce()
        for slot, command in self.proposals.items():
            if self.ballot_at(slot) != CHOSEN:
                for peer in self.peers:
                    if peer not in self.accepted_by[slot]:
                        self.send(peer, Accept(self.ballot, slot, command))

    def announce(self) -> None:
        self.set_timer(HEARTBEAT, HEARTBEAT_INTERVAL)
        self.broadcast(Heartbeat(self.ballot, self.executed))

    @on(Heartbeat)
    def handle_heartbeat(self, src: NodeId, m: Heartbeat) -> None:
        """What I accepted in the leader's ballot is what it found chosen; anything else I must ask for."""
        if not holds(heartbeat_not_below_promised=m.ballot >= self.disk.promised):
            self.send(src, Nack(m.ballot, self.disk.promised))
            return
        self.heed(m.ballot)
        for slot in range(self.executed + 1, m.chosen + 1):
            known = holds(
                accepted_in_leaders_ballot=self.ballot_at(slot) in (m.ballot, CHOSEN),  # one value per ballot
            )
            if not known:
                self.send(src, CatchUp(slot))
                return
            self.learn(slot, self.votes[slot].command)

    @on(CatchUp)
    def handle_catch_up(self, src: NodeId, m: CatchUp) -> None:
        last = min(self.executed, m.first + self.switches.batch - 1)
        if m.first <= last:
            self.send(src, Chosen(m.first, tuple(self.votes[s].command for s in range(m.first, last + 1))))

    @on(Chosen)
    def handle_chosen(self, src: NodeId, m: Chosen) -> None:
        if not holds(learn_from_others_as_follower=self.role is Role.FOLLOWER):  # a leader knows by counting
            return
        before = self.executed
        for slot, command in enumerate(m.commands, m.first):
            self.learn(slot, command)
        if self.executed > before and len(m.commands) == self.switches.batch:
            self.send(src, CatchUp(self.executed + 1))

    def learn(self, slot: Slot, command: Command | None) -> None:
        """The command is chosen. That is true for ever, so it may be written down late."""
        if self.ballot_at(slot) != CHOSEN:
            self.record(Vote(slot, CHOSEN, command))
            self.execute()

    def execute(self) -> None:
        """In the order of slots, as far as all are chosen. §3."""
        while self.ballot_at(self.executed + 1) == CHOSEN:
            self.executed += 1
            result = self.apply(self.executed, self.votes[self.executed].command)
            if self.executed in self.waiting:
                self.reply(self.waiting.pop(self.executed), result)


# -- What must hold ----------------------------------------------------------------------------------


class StateMachine(Voting):
    """Of each slot what `Voting` says of an instance, and of the sequence that servers execute it in order. What
    clients are told is judged as a history of the key-value store."""

    def begin(self) -> None:
        super().begin()
        self.logged: dict[NodeId, list[Vote]] = {}  # what each disk holds if all is synced
        self.highest: dict[NodeId, dict[Slot, Vote]] = {}  # the last in each log
        self.executed: dict[NodeId, Slot] = {}
        self.slot_of: dict[Any, Slot] = {}  # a command that was executed, and where first
        self.ballots_led: set[Ballot] = set()
        self.answered_before_heal: Slot = 0  # the last slot
        self.asked_since_heal: dict[NodeId, int] = {}  # how often

    def proposal(self, m: Any) -> tuple[Instance, Ballot, Any]:
        return m.slot, m.ballot, m.command

    def leader_was_asked(self) -> bool:
        """Clients that try any server may miss the leader for long: each has to be asked, and once it may have led."""
        return all(self.asked_since_heal.get(node, 0) > 1 for node in self.facts.ids)

    @requested
    def count_requests(self, node: NodeId, op: OpId, command: Any) -> None:
        if self.facts.healed_at is not None:
            self.asked_since_heal[node] = self.asked_since_heal.get(node, 0) + 1

    def lost_votes(self, node: NodeId) -> list[tuple[Instance, Ballot]]:
        kept, logged = self.facts.written(node).log, self.logged.get(node, [])
        lost, self.logged[node] = logged[len(kept) :], list(kept)
        self.highest[node] = {vote.slot: vote for vote in kept}
        return [(vote.slot, vote.ballot) for vote in lost if vote.ballot != CHOSEN]

    def holds_value(self, node: NodeId, instance: Instance, value: Any) -> bool:
        last = next((vote for vote in reversed(self.facts.durable(node).log) if vote.slot == instance), None)
        return last is not None and last.command == value

    def answers(self, node: NodeId, command: Any, result: object) -> Instance | None:
        return None if command.op == "get" else self.slot_of.get(command, 0)

    @always("An acceptor accepts a proposal only if it has made no higher promise.", "P1a, §2.2")
    @stored("log")
    def p1a(self, node: NodeId, index: int, removed: tuple[Vote, ...], added: tuple[Vote, ...]) -> str | None:
        for vote in added:
            if node in self.promised and vote.ballot < self.promised[node]:
                return f"{node} accepted {vote} after its promise to {self.promised[node]}"
        return None

    @always("Once a value is chosen, every higher-numbered proposal accepted has that value.", "P2a, §2.2")
    @stored("log")
    def p2a(self, node: NodeId, index: int, removed: tuple[Vote, ...], added: tuple[Vote, ...]) -> str | None:
        said = None
        for vote in added:
            self.logged.setdefault(node, []).append(vote)
            if vote.ballot != CHOSEN:
                self.vote(node, vote.slot, vote.ballot, vote.command)
                said = said or self._same_as_chosen(f"{node} accepted", vote.slot, vote.ballot, vote.command)
        return said

    @part_of(Voting.p2b)
    @stored("log")
    def p2b_of_earlier_proposals(
        self, node: NodeId, index: int, removed: tuple[Vote, ...], added: tuple[Vote, ...]
    ) -> str | None:
        return next((said for vote in added if (said := self._proposed_above(vote.slot))), None)

    @always("An acceptor remembers the highest-numbered proposal that it ever accepted.", "§2.2; Paxos.tla, maxVBal")
    @stored("log")
    def highest_accepted_kept(
        self, node: NodeId, index: int, removed: tuple[Vote, ...], added: tuple[Vote, ...]
    ) -> str | None:
        if removed:
            return f"{node} forgets that it has accepted {removed[0]}"
        for vote in added:
            known = self.highest[node].get(vote.slot, vote)
            if known.ballot > vote.ballot:
                return f"{node} forgets that it has accepted {known}, for {vote}"
            self.highest[node][vote.slot] = vote
        return None

    @always("An acceptor says that it has accepted only what it has.", "Paxos.tla, votes: those that 2b messages tell")
    @sent(Accepted)
    def acceptances_are_true(self, node: NodeId, dst: NodeId, m: Accepted) -> str | None:
        last = self.highest[node].get(m.slot)
        if last is not None and last.ballot in (m.ballot, CHOSEN):
            return None
        return f"{node} says that it has accepted ballot {m.ballot} in slot {m.slot}, where it has {last or 'nothing'}"

    @always("Servers execute all commands, in the order of the sequence.", "§3")
    @applied
    def order_of_execution(self, node: NodeId, index: Slot, command: Any, result: object) -> str | None:
        before, self.executed[node] = self.executed.get(node, 0), index
        return None if index == before + 1 else f"{node} executed slot {index} right after slot {before}"

    @always("No client's command is executed in two places of the sequence.", "§3")
    @applied
    def executed_once(self, node: NodeId, index: Slot, command: Any, result: object) -> str | None:
        if command is None or command.op == "get":  # reads change nothing, and look alike
            return None
        first = self.slot_of.setdefault(command, index)
        return None if first == index else f"{node} executed {command} in slot {index}, which stands in slot {first}"

    @always("A leader fills the gaps before it leads on.", "§3")
    @sent(Heartbeat)
    def gaps_are_filled(self, node: NodeId, dst: NodeId, m: Heartbeat) -> str | None:
        if m.ballot in self.ballots_led:
            return None
        self.ballots_led.add(m.ballot)
        last = max((slot for slot, proposals in self.proposed.items() if m.ballot in proposals), default=0)
        for slot in range(1, last):
            if slot not in self.chosen and m.ballot not in self.proposed.get(slot, ()):
                return f"{node} leads ballot {m.ballot} and has proposed in slot {last}, but nothing in slot {slot}"
        return None

    @warning("Who has promised a higher ballot abandons its own, and what its clients wait for in lost slots.", "§2.2")
    @sent(Accept, Heartbeat)
    def deposed_leader_abandons(self, node: NodeId, dst: NodeId, m: Accept | Heartbeat) -> str | None:
        """Else it takes what the higher ballot has chosen in such a slot for its client's command."""
        promised = self.facts.written(node).promised
        if m.ballot >= promised:
            return None
        for slot, proposals in self.proposed.items():
            mine = proposals.get(m.ballot)
            others = [command for ballot, command in proposals.items() if ballot > m.ballot and command != mine]
            if others and mine in self.asked and mine not in self.slot_of:
                return f"{node} leads on in ballot {m.ballot}, after its promise to {promised}, and slot {slot} is lost"
        return None

    @restarted
    def forget_executed(self, node: NodeId) -> None:
        self.executed[node] = 0  # the application is volatile: it executes again from the start

    @eventually("Once the faults have ended, every server executes what clients were told before.", "§2.3; Live, §4.2")
    def learners_catch_up(self) -> str | None:
        for node in self.facts.ids:
            if self.executed.get(node, 0) < self.answered_before_heal:
                return f"{node} has executed {self.executed.get(node, 0)} of {self.answered_before_heal} slots"
        return None

    @replied
    def note_answer(self, node: NodeId, op: OpId, command: Any, result: object) -> None:
        if self.facts.healed_at is None:
            self.answered_before_heal = max(self.answered_before_heal, self.slot_of.get(command, 0))

    @sometimes("A leader was elected.")
    @sent(Heartbeat)
    def leader_elected(self, node: NodeId, dst: NodeId, m: Heartbeat) -> bool:
        return True

    @sometimes("The leader changed.")
    @sent(Heartbeat)
    def leader_changed(self, node: NodeId, dst: NodeId, m: Heartbeat) -> bool:
        return len(self.ballots_led) > 1


PROTOCOL = ProtocolSpec(
    name="multi_paxos",
    paper="Lamport 2001, Paxos Made Simple, §3; Chandra, Griesemer and Redstone 2007, Paxos Made Live",
    node=MultiPaxos,
    disk=MultiPaxosDisk,
    switches=Switches,
    observers=(StateMachine,),
    workload=puts_and_gets,
)
