"""Paxos: proposers, acceptors and learners choose one value. Every node is all three.

Paper    L. Lamport, "Paxos Made Simple", 2001. § refers to it.
Spec     tlaplus/Examples: Paxos.tla, whose actions the handlers name; Voting.tla and Consensus.tla, for what must hold.
Scope    A single value (§2). The state machine (§3) is `protocols/multi_paxos.py`.
Assumes  Crash-recovery with a durable disk; messages may be lost, duplicated, delayed and reordered. Safety needs no
         bound on delays or clocks; progress needs that one proposer is at last left alone for a while (§2.4).

A client proposes a value, and is told which one was chosen: its own, or another's. Each request is a ballot, also when
a value has been chosen long ago: to issue a proposal is how one finds that out (§2.3).

Reading order: ballots, messages, state, the proposer, the acceptor, the learner (§2.2, §2.3), then what must hold. Each
keyword of `holds(...)` is one check that the paper demands.
"""

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from protosim.api import (
    MS,
    D,
    Disk,
    Node,
    NodeId,
    Observer,
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
    replied,
    requested,
    restarted,
    sent,
    sometimes,
    value,
    warning,
    wrote,
)

RETRY = "retry"
PATIENCE = (100 * MS, 200 * MS)  # for a ballot's answers
BACKOFF = (50 * MS, 400 * MS)  # after a refusal: a wide range, so that rivals do not meet again, §2.4


# -- Ballots: what every Paxos counts in -------------------------------------------------------------


@value
class Ballot:
    """A proposal's number. No two proposers have one in common, §2.5."""

    round: int
    proposer: NodeId

    def __str__(self) -> str:
        return f"{self.round}.{self.proposer or 'nobody'}"


BEFORE_ALL = Ballot(0, "")  # nobody's


class Numbered(Protocol):
    @property
    def ballot(self) -> Ballot: ...


N = TypeVar("N", bound=Numbered)


def highest(proposals: Iterable[N | None]) -> N | None:
    """The proposal of the highest ballot, if there is any. P2c, §2.2."""
    return max((p for p in proposals if p is not None), key=lambda p: p.ballot, default=None)


class Participant(Node[D]):
    """Proposer, acceptor and learner in one. What one role tells another in the same node needs no network."""

    def tell(self, to: NodeId, m: Any) -> None:
        if to == self.me:
            self.receive(self.me, m)
        else:
            self.send(to, m)

    def tell_all(self, m: Any) -> None:
        self.broadcast(m)
        self.receive(self.me, m)


# -- Messages (Paxos.tla) ----------------------------------------------------------------------------


@value
class Proposal:
    ballot: Ballot
    value: int

    def __str__(self) -> str:
        return f"({self.ballot}: {self.value})"


@message
class Prepare:
    """1a."""

    ballot: Ballot


@message
class Promise:
    """1b: to accept nothing below `ballot` any more. `accepted` is what the acceptor has accepted last."""

    ballot: Ballot
    accepted: Proposal | None


@message
class Accept:
    """2a."""

    ballot: Ballot
    value: int


@message
class Accepted:
    """2b, to all learners."""

    ballot: Ballot
    value: int


@message
class Nack:
    """Prepare's or Accept's refusal, an optimisation that does not affect correctness, §2.2: more was promised."""

    ballot: Ballot
    promised: Ballot


# -- State -------------------------------------------------------------------------------------------


class PaxosDisk(Disk):
    """What is kept in stable storage, §2.5."""

    round: int = 0  # proposer: the highest that it has begun
    promised: Ballot = BEFORE_ALL  # acceptor: maxBal
    accepted: Proposal | None = None  # acceptor: maxVBal, maxVal


class Paxos(Participant[PaxosDisk]):
    ballot: Ballot  # proposer: the last one that I began
    value: int  # proposer: what I would propose in it
    preparing: bool  # proposer: in phase 1
    promises: dict[NodeId, Proposal | None]  # proposer: who promised my ballot, and what they had accepted
    round_seen: int  # proposer: the highest that I was refused for
    waiting: dict[OpId, int]  # proposer: what clients without an answer want
    accepted_by: dict[Ballot, set[NodeId]]  # learner
    chosen: int | None  # learner

    def start(self) -> None:
        """Restart."""
        self.ballot = BEFORE_ALL
        self.value = 0
        self.preparing = False
        self.promises = {}
        self.round_seen = 0
        self.waiting = {}
        self.accepted_by = {}
        self.chosen = None

    # -- Phase 1 (§2.2, §2.5) ------------------------------------------------------------------------

    def request(self, op: OpId, command: int) -> None:
        """A client proposes a value."""
        self.waiting[op] = command
        if len(self.waiting) == 1:  # otherwise the ballot under way answers this one too
            self.prepare()

    @on_timeout(RETRY)
    def try_again(self) -> None:
        """In a higher ballot: this one was refused, or messages were lost."""
        if self.waiting:
            self.prepare()

    def prepare(self) -> None:
        """Phase1a: begin a ballot above all that I began or know of, also before a crash. §2.5."""
        self.ballot = Ballot(max(self.disk.round, self.round_seen) + 1, self.me)
        self.disk.round = self.ballot.round
        self.sync()
        self.value = next(iter(self.waiting.values()))
        self.preparing = True
        self.promises = {}
        self.set_timer(RETRY, PATIENCE)
        self.tell_all(Prepare(self.ballot))

    @on(Prepare)
    def handle_prepare(self, src: NodeId, m: Prepare) -> None:
        """Phase1b: promise to accept nothing below, and tell what is accepted already; or tell what was promised."""
        promised = holds(
            prepare_above_promised=m.ballot > self.disk.promised,  # phase 1 (b), §2.2
        )
        if not promised:
            self.tell(src, Nack(m.ballot, self.disk.promised))
            return
        self.disk.promised = m.ballot
        self.sync()
        self.tell(src, Promise(m.ballot, self.disk.accepted))

    @on(Promise)
    def handle_promise(self, src: NodeId, m: Promise) -> None:
        """Count the promises of this ballot."""
        counted = holds(
            promise_of_my_ballot=m.ballot == self.ballot,  # phase 2 (a): "to its prepare requests (numbered n)"
            still_preparing=self.preparing,  # Phase2a: no second 2a in a ballot
        )
        if counted:
            self.promises[src] = m.accepted
            self.propose()

    # -- Phase 2 (§2.2) ------------------------------------------------------------------------------

    def propose(self) -> None:
        """Phase2a: propose what the acceptors force me to, or else what I like."""
        promised = holds(
            promised_by_majority=self.is_majority(self.promises),  # phase 2 (a), §2.2
        )
        if not promised:
            return
        self.preparing = False
        accepted = highest(self.promises.values())
        self.tell_all(Accept(self.ballot, self.value if accepted is None else accepted.value))  # P2c, §2.2

    @on(Accept)
    def handle_accept(self, src: NodeId, m: Accept) -> None:
        """Phase2b: accept, unless a higher ballot has the promise."""
        accepted = holds(
            accept_not_below_promised=m.ballot >= self.disk.promised,  # P1a; phase 2 (b), §2.2
        )
        if not accepted:
            self.tell(src, Nack(m.ballot, self.disk.promised))
            return
        self.disk.write(promised=m.ballot, accepted=Proposal(m.ballot, m.value))
        self.sync()
        self.tell_all(Accepted(m.ballot, m.value))

    @on(Nack)
    def handle_nack(self, src: NodeId, m: Nack) -> None:
        """Abandon the ballot, "a good idea", §2.2, and leave the rival alone for a while, §2.4."""
        overtaken = holds(
            nack_of_my_ballot=m.ballot == self.ballot,
            nack_above_my_ballot=m.promised > self.ballot,  # or it answers a duplicate
        )
        if overtaken:
            self.preparing = False
            self.round_seen = max(self.round_seen, m.promised.round)
            self.set_timer(RETRY, BACKOFF)

    # -- Learning (§2.3) -----------------------------------------------------------------------------

    @on(Accepted)
    def handle_accepted(self, src: NodeId, m: Accepted) -> None:
        """A value is chosen when a majority has accepted it in one ballot."""
        self.accepted_by.setdefault(m.ballot, set()).add(src)
        chosen = holds(
            accepted_by_majority=self.is_majority(self.accepted_by[m.ballot]),  # §2.2, §2.3
        )
        if chosen:
            self.learn(m.value)

    def learn(self, value: int) -> None:
        if self.chosen is None:
            self.chosen = value
            self.apply(1, value)
        for op in self.waiting:
            self.reply(op, value)
        self.waiting = {}


# -- What must hold: of votes in the ballots of any number of instances -------------------------------

Instance = int


class Voting(Observer):
    """Voting.tla, for each instance of Paxos by itself. A vote is a proposal that an acceptor has written to its disk;
    a value is chosen when a majority has voted for it in one ballot. The heir says how its facts are read."""

    def begin(self) -> None:
        self.asked: set[Any] = set()  # by clients
        self.begun: dict[Ballot, tuple[NodeId, int]] = {}  # by whom, in which of its lives
        self.life: dict[NodeId, int] = {}
        self.promised: dict[NodeId, Ballot] = {}  # the highest that the acceptor has told anyone
        self.proposed: dict[Instance, dict[Ballot, Any]] = {}
        self.votes: dict[tuple[Instance, NodeId], dict[Ballot, Any]] = {}  # in order of writing
        self.chosen: dict[Instance, tuple[Ballot, Any]] = {}  # in the lowest ballot
        self.learned: dict[Instance, Any] = {}  # what was applied first
        self.answered: dict[Instance, Any] = {}  # what a client's answer rests on
        self.answered_since_heal = False

    # How the heir's facts are read.

    def proposal(self, m: Any) -> tuple[Instance, Ballot, Any]:
        """What an Accept proposes."""
        raise NotImplementedError

    def lost_votes(self, node: NodeId) -> list[tuple[Instance, Ballot]]:
        """Which of its votes the restarted node's disk does not show any more."""
        raise NotImplementedError

    def holds_value(self, node: NodeId, instance: Instance, value: Any) -> bool:
        """Whether the node's disk would keep the value, accepted in any ballot, over a crash."""
        raise NotImplementedError

    def answers(self, node: NodeId, command: Any, result: object) -> Instance | None:
        """The instance that an answer rests on; None if it shows nothing that could be lost."""
        raise NotImplementedError

    # History.

    @requested
    def note_request(self, node: NodeId, op: OpId, command: Any) -> None:
        self.asked.add(command)

    @sent(Promise)
    def note_promise(self, node: NodeId, dst: NodeId, m: Any) -> None:
        self.promised[node] = max(self.promised.get(node, m.ballot), m.ballot)

    @restarted
    def note_life(self, node: NodeId) -> None:
        self.life[node] = self.life.get(node, 0) + 1

    def vote(self, node: NodeId, instance: Instance, ballot: Ballot, value: Any) -> None:
        self.votes.setdefault((instance, node), {})[ballot] = value
        votes = [self.votes.get((instance, n), {}) for n in self.facts.ids]
        if sum(ballot in each and each[ballot] == value for each in votes) >= self.facts.majority:
            known = self.chosen.get(instance)
            if known is None or ballot < known[0]:
                self.chosen[instance] = ballot, value

    def lose(self, node: NodeId, instance: Instance, ballot: Ballot) -> None:
        """A crash undid a vote that nobody knew of; nothing was chosen by it either."""
        self.votes[instance, node].pop(ballot, None)
        self.chosen.pop(instance, None)
        for voter in self.facts.ids:
            for voted_in, content in list(self.votes.get((instance, voter), {}).items()):
                self.vote(voter, instance, voted_in, content)

    # Safety.

    @always("Only a value that has been proposed may be chosen.", "§2.1; Nontriviality")
    @applied
    def validity(self, node: NodeId, index: Instance, command: Any, result: object) -> str | None:
        if command is None or command in self.asked:
            return None
        return f"{node} learned {command}, which no client had proposed"

    @always("Only a single value is chosen.", "§2.1; Consistency; Consensus.tla, Inv")
    @applied
    def agreement(self, node: NodeId, index: Instance, command: Any, result: object) -> str | None:
        first = self.learned.setdefault(index, command)
        return None if first == command else f"{node} learned {command}, but {first} has been learned before"

    @always("Nobody learns that a value has been chosen unless it has been.", "§2.1")
    @applied
    def learned_only_chosen(self, node: NodeId, index: Instance, command: Any, result: object) -> str | None:
        if index in self.chosen and self.chosen[index][1] == command:
            return None
        return f"{node} learned {command}, which no majority has accepted in one ballot"

    @always("What a client was told rests on the disks of a majority.", "stable storage, §2.5")
    @replied
    def durability(self, node: NodeId, op: OpId, command: Any, result: object) -> str | None:
        instance = self.answers(node, command, result)
        if instance is None:
            return None
        if instance not in self.chosen:
            return f"{node} answered {command} before anything was chosen that this could rest on"
        self.answered[instance] = self.chosen[instance][1]
        return self._kept(instance, f"{node} answered {command}")

    @part_of(durability)
    @restarted
    def durability_after_restart(self, node: NodeId) -> str | None:
        for instance, ballot in self.lost_votes(node):
            self.lose(node, instance, ballot)
            if instance in self.answered:
                said = self._kept(instance, f"{node} lost what it accepted in ballot {ballot}")
                if said:
                    return said
        return None

    def _kept(self, instance: Instance, event: str) -> str | None:
        value = self.answered[instance]
        holders = [n for n in self.facts.ids if self.holds_value(n, instance, value)]
        if len(holders) >= self.facts.majority:
            return None
        return f"{event}, and only the disks of {' and '.join(holders) or 'nobody'} hold {value}"

    @always("Each ballot has its own number.", "§2.5; The Part-Time Parliament, B1")
    @sent(Prepare)
    def unique_ballots(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        now = node, self.life[node]
        owner, life = self.begun.setdefault(m.ballot, now)
        if (owner, life) == now:
            return None
        return f"{node} begins ballot {m.ballot}, which {'it' if owner == node else owner} has begun before"

    @always("What an acceptor has promised never gets less, whatever it goes through.", "§2.5; Voting.tla, Next")
    @wrote("promised")
    def promise_monotonicity(self, node: NodeId, before: dict[str, Any]) -> str | None:
        written = self.facts.written(node).promised
        return None if written >= before["promised"] else f"{node} goes back from {before['promised']} to {written}"

    @part_of(promise_monotonicity)
    @restarted
    def promise_kept_by_restart(self, node: NodeId) -> str | None:
        written = self.facts.written(node).promised
        if node not in self.promised or written >= self.promised[node]:
            return None
        return f"{node} promised {self.promised[node]}, and after a restart knows only of {written}"

    @always("A refusal tells the promise that forbids to do as asked.", "§2.2: it should inform the proposer")
    @sent(Nack)
    def refusals_are_true(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        promised = self.facts.written(node).promised
        if m.promised == promised and m.ballot <= promised:
            return None
        return f"{node} refuses ballot {m.ballot} because of a promise to {m.promised}, but has promised {promised}"

    @always("Once a value is chosen, every higher-numbered proposal issued has that value.", "P2b, §2.2")
    @sent(Accept)
    def p2b(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        return self._same_as_chosen(f"{node} proposes", *self.proposal(m))

    def _same_as_chosen(self, who_does: str, instance: Instance, ballot: Ballot, value: Any) -> str | None:
        if instance in self.chosen:
            chosen_in, chosen = self.chosen[instance]
            if ballot > chosen_in and value != chosen:
                return f"{who_does} {value} in ballot {ballot}, but {chosen} was chosen in {chosen_in}"
        return None

    def _proposed_above(self, instance: Instance) -> str | None:
        """P2b, where the proposal was there before the value was chosen below it."""
        if instance in self.chosen:
            chosen_in, chosen = self.chosen[instance]
            for ballot, value in self.proposed.get(instance, {}).items():
                if ballot > chosen_in and value != chosen:
                    return f"{chosen} is chosen in ballot {chosen_in}, but {value} was proposed in {ballot}"
        return None

    # Early warnings: what makes the above inductive.

    @warning("Below a proposal no other value can be chosen any more.", "P2c, §2.2; Voting.tla, VotesSafe")
    @sent(Accept)
    def votes_safe(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        instance, ballot, value = self.proposal(m)
        proposals = self.proposed.setdefault(instance, {})
        if ballot in proposals:
            return None
        for other, content in proposals.items():
            if content != value:
                (low, what), (high, _) = sorted([(ballot, value), (other, content)], key=lambda each: each[0])
                if self._choosable(instance, low, what):
                    says = f"{node} proposes {spelled(value)} in ballot {ballot}, but below {high}"
                    return f"{says} {spelled(what)} can still be chosen in {low}"
        return None

    def _choosable(self, instance: Instance, ballot: Ballot, value: Any) -> bool:
        """Whether a majority has voted so or can: not NoneOtherChoosableAt."""
        able = 0
        for node in self.facts.ids:
            voted = self.votes.get((instance, node), {})
            able += voted[ballot] == value if ballot in voted else self.facts.durable(node).promised <= ballot
        return able >= self.facts.majority

    @warning("A ballot is for one value.", "Voting.tla, OneValuePerBallot")
    @sent(Accept)
    def one_value_per_ballot(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        instance, ballot, value = self.proposal(m)
        first = self.proposed.setdefault(instance, {}).setdefault(ballot, value)
        if first == value:
            return None
        return f"{node} proposes {spelled(value)} in ballot {ballot}, which was for {spelled(first)}"

    # Goals.

    @sometimes("A client has an answer.")
    @replied
    def client_answered(self, node: NodeId, op: OpId, command: Any, result: object) -> bool:
        return True

    @sometimes("A proposer proposed what it found accepted.", "P2c, §2.2")
    @sent(Accept)
    def value_adopted(self, node: NodeId, dst: NodeId, m: Any) -> bool:
        instance, ballot, value = self.proposal(m)
        return any(b < ballot and content == value for b, content in self.proposed[instance].items())

    @eventually("Once the faults have ended, clients get answers.", "§2.4")
    def progress_after_heal(self) -> str | None:
        if self.answered_since_heal or not self.leader_was_asked():
            return None
        return "no client got an answer between the healing of the faults and the end of the stated bound"

    def leader_was_asked(self) -> bool:
        """Whether a client has asked somebody who may propose."""
        return True

    @replied
    def count_progress(self, node: NodeId, op: OpId, command: Any, result: object) -> None:
        if self.facts.healed_at is not None:
            self.answered_since_heal = True


# -- What must hold: of the one value ----------------------------------------------------------------

THE_ONE: Instance = 1


class Consensus(Voting):
    """One instance. Clients are told the chosen value, so Agreement on answers and Validity judge all that they see."""

    def proposal(self, m: Any) -> tuple[Instance, Ballot, Any]:
        return THE_ONE, m.ballot, m.value

    def lost_votes(self, node: NodeId) -> list[tuple[Instance, Ballot]]:
        kept, ballots = self.facts.written(node).accepted, list(self.votes.get((THE_ONE, node), ()))
        since = ballots.index(kept.ballot) + 1 if kept is not None and kept.ballot in ballots else 0
        return [(THE_ONE, ballot) for ballot in ballots[since:]]

    def holds_value(self, node: NodeId, instance: Instance, value: Any) -> bool:
        accepted = self.facts.durable(node).accepted
        return accepted is not None and accepted.value == value

    def answers(self, node: NodeId, command: Any, result: object) -> Instance | None:
        return THE_ONE

    @always("An acceptor accepts a proposal only if it has made no higher promise.", "P1a, §2.2")
    @wrote("accepted")
    def p1a(self, node: NodeId, before: dict[str, Any]) -> str | None:
        accepted = self.facts.written(node).accepted
        if accepted is None or node not in self.promised or accepted.ballot >= self.promised[node]:
            return None
        return f"{node} accepted {accepted} after its promise to {self.promised[node]}"

    @always("Once a value is chosen, every higher-numbered proposal accepted has that value.", "P2a, §2.2")
    @wrote("accepted")
    def p2a(self, node: NodeId, before: dict[str, Any]) -> str | None:
        accepted = self.facts.written(node).accepted
        if accepted is None:
            return None
        self.vote(node, THE_ONE, accepted.ballot, accepted.value)
        return self._same_as_chosen(f"{node} accepted", THE_ONE, accepted.ballot, accepted.value)

    @part_of(Voting.p2b)
    @wrote("accepted")
    def p2b_of_earlier_proposals(self, node: NodeId, before: dict[str, Any]) -> str | None:
        return self._proposed_above(THE_ONE)

    @always("An acceptor remembers the highest-numbered proposal that it ever accepted.", "§2.2; Paxos.tla, maxVBal")
    @wrote("accepted")
    def highest_accepted_kept(self, node: NodeId, before: dict[str, Any]) -> str | None:
        accepted, known = self.facts.written(node).accepted, before["accepted"]
        if known is None or (accepted is not None and accepted.ballot >= known.ballot):
            return None
        return f"{node} forgets that it has accepted {known}, for {accepted or 'nothing'}"

    @part_of(Voting.agreement)
    @replied
    def agreement_of_answers(self, node: NodeId, op: OpId, command: Any, result: object) -> str | None:
        if self.learned.get(THE_ONE) == result:
            return None
        return f"{node} answered {result}, but {self.learned.get(THE_ONE)} has been learned"


    @sometimes("A Prepare was refused.", "§2.2: it should inform the proposer")
    @sent(Nack)
    def prepare_refused(self, node: NodeId, dst: NodeId, m: Any) -> bool:
        return m.ballot not in self.proposed.get(THE_ONE, {})

    @sometimes("Proposers were in each other's way.")
    @sent(Nack)
    def proposers_duelled(self, node: NodeId, dst: NodeId, m: Any) -> bool:
        return True


class Decision:
    """The application: it remembers what was chosen."""

    def __init__(self) -> None:
        self.value: int | None = None

    def apply(self, value: int) -> int:
        self.value = value
        return value

    def copy(self) -> "Decision":
        twin = Decision()
        twin.value = self.value
        return twin


def workload(op: OpId, bits: int) -> int:
    """Everybody proposes something else."""
    return op


def parse(op: OpId, words: tuple[str, ...]) -> int:
    """`propose 7`."""
    _, number = words
    return int(number)


def spelled(value: Any) -> str:
    return "a no-op" if value is None else str(value)


PROTOCOL = ProtocolSpec(
    name="paxos",
    paper="Lamport 2001, Paxos Made Simple, §2",
    node=Paxos,
    disk=PaxosDisk,
    observers=(Consensus,),
    workload=workload,
    application=Decision,
    parse=parse,
    history=None,
    events=300,  # once a value is chosen, rivals have hardly anything left to disagree about
    sizes=(5, 3),  # among three a majority is oneself and one other, which hides much
)
