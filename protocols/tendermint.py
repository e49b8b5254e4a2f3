"""Tendermint: Byzantine replicas agree on one block of requests after the other, in rounds with a proposer each.

Paper    E. Buchman, J. Kwon and Z. Milosevic, "The latest gossip on BFT consensus", arXiv:1807.04938. A number behind a
         line is a line of its Algorithm 1; § is a section.
Scope    Algorithm 1 for one height after the other, its gossip, decisions for replicas that are behind, and clients.
         Each process has one vote, proposers take turns. No evidence, no change of validators, no light clients.
         Tendermint and not HotStuff stands here for the protocols with locks: more of the bugs that are known of this
         family are in what it has, and the lines of its algorithm are numbered, so each check has its citation.
Assumes  n > 3f; f replicas do what they like, but nobody can make another's signature (`signed`). Messages may be lost,
         duplicated, delayed and reordered; correct replicas crash and recover. Safety needs no bound on delays.
Departs  A height begins when there is a request, as CometBFT does without empty blocks: before, the round is IDLE.
         valid(v) is asked of a new value (23): whoever finds 2f + 1 prevotes or precommits for one (29, 36, 50) knows
         that f + 1 correct replicas have asked.
         The paper's processes do not crash. Here all of Algorithm 1's variables but the message log are durable, with
         the messages that gossip needs, in one write that is synced before any message leaves.

Reading order: messages, state, Algorithm 1, gossip and catching up, requests, the client; then what must hold. Each
keyword of `holds(...)` is one check that the paper demands.
"""

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Any

import attrs

from protosim.api import (
    MS,
    Command,
    Disk,
    Log,
    Node,
    NodeId,
    Observer,
    OpId,
    ProtocolSpec,
    Timer,
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
    restarted,
    sent,
    signed,
    sometimes,
    stored,
    switch,
    value,
    warning,
    wrote,
)

Height = int  # of a decision, from 1
Round = int  # of a height, from 0
Id = bytes | None  # id(v); None is nil

IDLE: Round = -1  # no round yet: nobody has asked for anything
NO_ROUND: Round = -1  # of lockedRound and validRound

PROPOSE_TIMEOUT, PREVOTE_TIMEOUT, PRECOMMIT_TIMEOUT = "propose", "prevote", "precommit"
WAITS = {PROPOSE_TIMEOUT: 2, PREVOTE_TIMEOUT: 1, PRECOMMIT_TIMEOUT: 1}  # in round 0, times the patience
GROWTH = 10 * MS  # of the patience, a round
MOST_GROWTH = 100  # rounds
GOSSIP = "gossip"
GOSSIP_INTERVAL = (15 * MS, 25 * MS)
RETRY = "retry"
RETRY_INTERVAL = (150 * MS, 200 * MS)


# -- Messages ----------------------------------------------------------------------------------------


def forged(m: Any) -> str:
    return "" if m.valid else "forged "


@signed
class Request:
    """A client asks for a command; `op` is unique."""

    op: OpId
    command: Command
    signer: NodeId

    def __str__(self) -> str:
        return f"{forged(self)}{self.signer}: {self.command}"


@message
class Reply:
    """A replica has executed it."""

    op: OpId
    result: int | None


@value
class Block:
    """v: what replicas agree on. No two proposers make the same one, as in CometBFT, where it names who proposed it."""

    made_in: Round
    requests: tuple[Request, ...]

    def __str__(self) -> str:
        requests = ", ".join(map(str, self.requests)) or "nothing"
        return f"({self.made_in}: {requests})"


def spell_id(id: Id) -> str:
    return "nil" if id is None else id.hex()[:6]


def paper_form(m: Any, *content: str) -> str:
    """As Algorithm 1 writes it, and whose it is."""
    return f"{forged(m)}{type(m).__name__.upper()}({', '.join((str(m.height), str(m.round), *content))}) of {m.signer}"


@signed
class Proposal:
    """⟨PROPOSAL, h, round, v, validRound⟩"""

    height: Height
    round: Round
    value: Block
    valid_round: Round
    signer: NodeId

    def __str__(self) -> str:
        return paper_form(self, str(self.value), str(self.valid_round))


@signed
class Prevote:
    """⟨PREVOTE, h, round, id(v)⟩"""

    height: Height
    round: Round
    id: Id
    signer: NodeId

    def __str__(self) -> str:
        return paper_form(self, spell_id(self.id))


@signed
class Precommit:
    """⟨PRECOMMIT, h, round, id(v)⟩"""

    height: Height
    round: Round
    id: Id
    signer: NodeId

    def __str__(self) -> str:
        return paper_form(self, spell_id(self.id))


Message = Proposal | Prevote | Precommit


@message
class Gossip:
    """What the sender wants everybody to have of a height that it is in. §II.A: gossip communication."""

    height: Height
    messages: tuple[Message, ...]


@message
class CatchUp:
    """The sender is in this height, and asks what was decided there."""

    height: Height


@message
class Decision:
    """decision[h] = v, and the precommits that decided it."""

    height: Height
    round: Round
    value: Block
    precommits: tuple[Precommit, ...]


# -- State -------------------------------------------------------------------------------------------


class Step(Enum):
    PROPOSE = "propose"
    PREVOTE = "prevote"
    PRECOMMIT = "precommit"


class TendermintDisk(Disk):
    """Lines 2 to 9, and what is needed to take part again after a crash. Of a client nothing is durable."""

    height: Height = 1
    round: Round = IDLE
    step: Step = Step.PROPOSE
    locked_value: Block | None = None
    locked_round: Round = NO_ROUND
    valid_value: Block | None = None
    valid_round: Round = NO_ROUND
    decision: Log[Decision]
    spread: tuple[Message, ...] = ()  # of this height, what others must get from me: see `keep`


@attrs.frozen
class Switches:
    batch: int = switch(64, (8, 64), "the most requests in one block")
    patience: int = switch(40, (5, 40), "milliseconds: the timeouts of the first round")


class Tendermint(Node[TendermintDisk]):
    switches: Switches

    replicas: tuple[NodeId, ...]
    f: int  # so many may be Byzantine
    quorum: int  # 2f + 1 of 3f + 1
    log: dict[tuple[type, Height, Round], list[Message]]  # the message log, without repetitions
    done: set[tuple[int, Round]]  # what happens for the first time only: the line, and in which round
    scheduled: dict[Timer, tuple[Height, Round]]  # what a timeout is for
    gossiped: int  # times
    pending: dict[OpId, Request]  # asked for, and not decided
    executed: int  # requests
    results: dict[OpId, int | None]  # of what is executed

    def start(self) -> None:
        """Restart: 10 at the beginning, and after a crash."""
        self.replicas = tuple(sorted((self.me, *self.peers)))
        self.f = (self.cluster_size - 1) // 3
        self.quorum = self.cluster_size - self.f
        self.log = {}
        self.done = set()
        self.scheduled = {}
        self.gossiped = 0
        self.pending = {}
        self.executed = 0
        self.results = {}
        for decision in self.disk.decision:
            self.execute(decision.value)
        if self.disk.height <= len(self.disk.decision):
            self.next_height()
        if self.disk.round != IDLE:
            self.gossip()  # I may have crashed before I sent it
            self.schedule(PROPOSE_TIMEOUT)
        for m in self.disk.spread:
            self.hear(m)
        self.upon()

    def proposer(self, height: Height, round: Round) -> NodeId:
        """They take turns. §III"""
        return self.replicas[(height + round) % len(self.replicas)]

    def logged(self, kind: type, round: Round) -> list[Any]:
        """Such messages of this height."""
        return self.log.get((kind, self.disk.height, round), [])

    def is_quorum(self, messages: Iterable[Any]) -> bool:
        """2f + 1 processes have sent them."""
        return len({m.signer for m in messages}) >= self.quorum

    def is_polka(self, round: Round, id: Id) -> bool:
        """2f + 1 ⟨PREVOTE, h, round, id⟩"""
        return self.is_quorum(m for m in self.logged(Prevote, round) if m.id == id)

    # -- Algorithm 1 ---------------------------------------------------------------------------------

    def start_round(self, round: Round, *evidence: Message) -> None:
        """11: Function StartRound(round). The evidence is why I may."""
        if self.disk.round == IDLE:
            self.set_timer(GOSSIP, GOSSIP_INTERVAL)
        if self.proposer(self.disk.height, round) == self.me:  # 14
            value = self.disk.valid_value  # 15, 16
            if value is None:
                value = self.get_value(round)  # 18
            proposal = Proposal(self.disk.height, round, value, self.disk.valid_round, self.me)  # 19
            self.tell(Step.PROPOSE, proposal, *evidence)
        else:
            self.keep(*evidence, round=round, step=Step.PROPOSE)  # 12, 13
            self.schedule(PROPOSE_TIMEOUT)  # 21

    def get_value(self, round: Round) -> Block:
        """What was asked for first."""
        return Block(round, tuple(self.pending.values())[: self.switches.batch])

    def upon(self) -> None:
        """Whatever is enabled, until nothing is."""
        while (
            self.prevote_new_value()
            or self.prevote_old_value()
            or self.await_prevotes()
            or self.precommit_value()
            or self.precommit_nil()
            or self.await_precommits()
            or self.decide()
            or self.skip_rounds()
        ):
            pass

    def prevote_new_value(self) -> bool:
        """22: upon ⟨PROPOSAL, h, round, v, -1⟩ from proposer(h, round) while step = propose"""
        for m in self.logged(Proposal, self.disk.round):
            if self.disk.step is Step.PROPOSE and m.valid_round == NO_ROUND:
                acceptable = holds(
                    new_value_is_valid=self.is_valid(m.value),  # 23
                    not_locked_on_another=self.disk.locked_round == NO_ROUND or self.disk.locked_value == m.value,  # 23
                )
                self.prevote(m if acceptable else None)  # 24, 26
                return True
        return False

    def prevote_old_value(self) -> bool:
        """28: upon ⟨PROPOSAL, h, round, v, vr⟩ from proposer(h, round) and 2f + 1 ⟨PREVOTE, h, vr, id(v)⟩
        while step = propose and 0 ≤ vr < round"""
        for m in self.logged(Proposal, self.disk.round):
            if self.disk.step is Step.PROPOSE and m.valid_round != NO_ROUND:
                founded = holds(
                    valid_round_is_earlier=0 <= m.valid_round < self.disk.round,  # 28
                    polka_in_valid_round=self.is_polka(m.valid_round, digest_of(m.value)),  # 28
                )
                if founded:
                    acceptable = holds(
                        not_locked_later_on_another=self.disk.locked_round <= m.valid_round
                        or self.disk.locked_value == m.value,  # 29
                    )
                    self.prevote(m if acceptable else None)  # 30, 32
                    return True
        return False

    def await_prevotes(self) -> bool:
        """34: upon 2f + 1 ⟨PREVOTE, h, round, *⟩ while step = prevote for the first time"""
        if self.disk.step is Step.PREVOTE and self.is_quorum(self.logged(Prevote, self.disk.round)):
            return self.first(34) and self.schedule(PREVOTE_TIMEOUT)  # 35
        return False

    def precommit_value(self) -> bool:
        """36: upon ⟨PROPOSAL, h, round, v, *⟩ from proposer(h, round) and 2f + 1 ⟨PREVOTE, h, round, id(v)⟩
        while valid(v) and step ≥ prevote for the first time"""
        round = self.disk.round
        for m in self.logged(Proposal, round):
            id = digest_of(m.value)
            if self.disk.step is not Step.PROPOSE and self.is_polka(round, id) and self.first(36):
                polka = [vote for vote in self.logged(Prevote, round) if vote.id == id]
                valid = {"valid_value": m.value, "valid_round": round}  # 42, 43
                if self.disk.step is Step.PREVOTE:  # 37
                    locked = {"locked_value": m.value, "locked_round": round}  # 38, 39
                    precommit = Precommit(self.disk.height, round, id, self.me)
                    self.tell(Step.PRECOMMIT, precommit, m, *polka, **locked, **valid)  # 40, 41
                else:
                    self.keep(m, *polka, **valid)
                return True
        return False

    def precommit_nil(self) -> bool:
        """44: upon 2f + 1 ⟨PREVOTE, h, round, nil⟩ while step = prevote"""
        if self.disk.step is Step.PREVOTE and self.is_polka(self.disk.round, None):
            self.tell(Step.PRECOMMIT, Precommit(self.disk.height, self.disk.round, None, self.me))  # 45, 46
            return True
        return False

    def await_precommits(self) -> bool:
        """47: upon 2f + 1 ⟨PRECOMMIT, h, round, *⟩ for the first time"""
        if self.is_quorum(self.logged(Precommit, self.disk.round)):
            return self.first(47) and self.schedule(PRECOMMIT_TIMEOUT)  # 48
        return False

    def decide(self) -> bool:
        """49: upon ⟨PROPOSAL, h, r, v, *⟩ from proposer(h, r) and 2f + 1 ⟨PRECOMMIT, h, r, id(v)⟩
        while decision[h] = nil"""
        for kind, height, round in self.log:
            if kind is Proposal and height == self.disk.height:
                for m in self.logged(Proposal, round):
                    precommits = [vote for vote in self.logged(Precommit, round) if vote.id == digest_of(m.value)]
                    if self.is_quorum(precommits):
                        self.conclude(Decision(height, round, m.value, tuple(precommits)))
                        return True
        return False

    def conclude(self, decision: Decision) -> None:
        """51 to 54."""
        self.disk.decision.append(decision)  # 51
        self.sync()
        self.execute(decision.value)
        for request in decision.value.requests:
            self.answer(request)
        self.next_height()
        if self.pending:
            self.start_round(0)  # 54

    def next_height(self) -> None:
        """52, 53."""
        self.disk.write(
            height=len(self.disk.decision) + 1,  # 52
            round=IDLE,
            step=Step.PROPOSE,
            locked_value=None,  # 53
            locked_round=NO_ROUND,
            valid_value=None,
            valid_round=NO_ROUND,
            spread=(),
        )
        self.log = {place: messages for place, messages in self.log.items() if place[1] >= self.disk.height}
        self.done = set()

    def skip_rounds(self) -> bool:
        """55: upon f + 1 ⟨*, h, r, *, *⟩ with r > round"""
        senders: dict[Round, set[NodeId]] = {}
        for (_, height, round), messages in self.log.items():
            if height == self.disk.height and round > self.disk.round:
                senders.setdefault(round, set()).update(m.signer for m in messages)
        reached = [round for round, signers in senders.items() if len(signers) >= self.f + 1]
        if reached:
            self.start_round(max(reached))  # 56
        return bool(reached)

    @on_timeout(PROPOSE_TIMEOUT)
    def on_timeout_propose(self) -> None:
        """57"""
        height, round = self.scheduled[PROPOSE_TIMEOUT]
        due = holds(
            proposal_awaited_in_this_round=(height, round) == (self.disk.height, self.disk.round),  # 58
            still_in_propose=self.disk.step is Step.PROPOSE,  # 58
        )
        if due:
            self.prevote(None)  # 59
            self.upon()

    @on_timeout(PREVOTE_TIMEOUT)
    def on_timeout_prevote(self) -> None:
        """61"""
        height, round = self.scheduled[PREVOTE_TIMEOUT]
        due = holds(
            prevotes_awaited_in_this_round=(height, round) == (self.disk.height, self.disk.round),  # 62
            still_in_prevote=self.disk.step is Step.PREVOTE,  # 62
        )
        if due:
            self.tell(Step.PRECOMMIT, Precommit(height, round, None, self.me))  # 63
            self.upon()

    @on_timeout(PRECOMMIT_TIMEOUT)
    def on_timeout_precommit(self) -> None:
        """65"""
        height, round = self.scheduled[PRECOMMIT_TIMEOUT]
        due = holds(
            precommits_awaited_in_this_round=(height, round) == (self.disk.height, self.disk.round),  # 66
        )
        if due:
            self.start_round(round + 1, *self.logged(Precommit, round))  # 67
            self.upon()

    def prevote(self, proposal: Proposal | None) -> None:
        """For its value, or nil."""
        id = None if proposal is None else digest_of(proposal.value)
        prevote = Prevote(self.disk.height, self.disk.round, id, self.me)
        self.tell(Step.PREVOTE, prevote, *([] if proposal is None else [proposal]))

    def first(self, line: int) -> bool:
        """Whether this happens for the first time in this round."""
        new = (line, self.disk.round) not in self.done
        self.done.add((line, self.disk.round))
        return new

    def schedule(self, timeout: Timer) -> bool:
        """It grows with the round, until it is longer than messages take. §III"""
        self.scheduled[timeout] = self.disk.height, self.disk.round
        patience = self.switches.patience * MS + GROWTH * min(self.disk.round, MOST_GROWTH)
        self.set_timer(timeout, (WAITS[timeout] * patience, 2 * WAITS[timeout] * patience))
        return True

    def tell(self, step: Step, m: Message, *evidence: Message, **state: Any) -> None:
        """Broadcast my message, to myself too, when I can no more forget that I have sent it."""
        self.keep(m, *evidence, round=m.round, step=step, **state)
        self.sync()
        self.broadcast(m)
        self.hear(m)

    def keep(self, *messages: Message, **state: Any) -> None:
        """One write of the state and of what others must get from me: my messages of this round and the one before,
        what I prevoted there, the proposal and the polka of my valid round, and what ended the round before."""
        round = state.get("round", self.disk.round)
        wanted = (round, round - 1, state.get("valid_round", self.disk.valid_round))
        known = [m for m in self.disk.spread if m.round in wanted]
        self.disk.write(spread=tuple(dict.fromkeys((*known, *messages))), **state)

    # -- Receiving; gossip, and catching up ----------------------------------------------------------

    @on(Proposal, Prevote, Precommit)
    def handle_message(self, src: NodeId, m: Message) -> None:
        self.hear(m)
        self.upon()

    def hear(self, m: Message) -> None:
        """Into the message log, if it may count."""
        genuine = holds(
            signature_verifies=self.verify(m),  # §II.A
            signed_by_its_proposer=not isinstance(m, Proposal) or m.signer == self.proposer(m.height, m.round),  # 22
            of_a_round=m.round >= 0,
            height_is_not_decided=m.height >= self.disk.height,
        )
        known = self.log.setdefault((type(m), m.height, m.round), []) if genuine else [m]
        if m not in known:
            known.append(m)

    @on_timeout(GOSSIP)
    def gossip(self) -> None:
        """With one peer after the other, until the height is decided."""
        if self.disk.round != IDLE:
            self.gossiped += 1
            self.send(self.peers[self.gossiped % len(self.peers)], Gossip(self.disk.height, self.disk.spread))
            self.set_timer(GOSSIP, GOSSIP_INTERVAL)

    @on(Gossip)
    def handle_gossip(self, src: NodeId, m: Gossip) -> None:
        for each in m.messages:
            self.hear(each)
        if m.height < self.disk.height:
            self.tell_decision(src, m.height)
        elif m.height > self.disk.height:
            self.send(src, CatchUp(self.disk.height))
        self.upon()

    @on(CatchUp)
    def handle_catch_up(self, src: NodeId, m: CatchUp) -> None:
        self.tell_decision(src, m.height)

    def tell_decision(self, to: NodeId, height: Height) -> None:
        if 1 <= height < self.disk.height:
            self.send(to, self.disk.decision[height - 1])

    @on(Decision)
    def handle_decision(self, src: NodeId, m: Decision) -> None:
        """49: what others have decided."""
        place = (m.height, m.round, digest_of(m.value))
        decided = holds(
            next_in_order=m.height == self.disk.height,  # 49: decision[h] = nil
            precommits_verify=all(map(self.verify, m.precommits)),  # §II.A
            precommits_of_this_value=all((vote.height, vote.round, vote.id) == place for vote in m.precommits),  # 49
            precommits_of_quorum=self.is_quorum(m.precommits),  # 49
        )
        if decided:
            self.conclude(m)
            self.send(src, CatchUp(self.disk.height))
            self.upon()

    # -- Requests: what values are made of, and the state machine (§II.B) -----------------------------

    @on(Request)
    def handle_request(self, src: NodeId, m: Request) -> None:
        wanted = holds(
            request_verifies=self.verify(m),
            asked_by_client=m.signer not in self.replicas,
        )
        if not wanted:
            return
        if m.op in self.results:
            self.answer(m)
            return
        self.pending[m.op] = m
        if self.disk.round == IDLE:
            self.start_round(0)
            self.upon()

    def is_valid(self, value: Block) -> bool:
        """valid(v): each request is a client's own, and is executed once. §II.C"""
        return holds(
            requests_verify=all(map(self.verify, value.requests)),
            requests_of_clients=all(request.signer not in self.replicas for request in value.requests),
            requests_not_executed=all(request.op not in self.results for request in value.requests),
            requests_are_distinct=len({request.op for request in value.requests}) == len(value.requests),
        )

    def execute(self, value: Block) -> None:
        for request in value.requests:
            self.executed += 1
            self.results[request.op] = self.apply(self.executed, request.command)
            self.pending.pop(request.op, None)

    def answer(self, request: Request) -> None:
        self.send(request.signer, Reply(request.op, self.results[request.op]))


# -- The client --------------------------------------------------------------------------------------


class Client(Node[TendermintDisk]):
    """Asks all replicas, and believes what f + 1 of them say: one of these is correct."""

    f: int
    waiting: dict[OpId, Request]
    answers: dict[OpId, dict[NodeId, int | None]]

    def start(self) -> None:
        self.f = (self.cluster_size - 1) // 3
        self.waiting = {}
        self.answers = {}

    def request(self, op: OpId, command: Command) -> None:
        self.waiting[op] = Request(op, command, self.me)
        self.answers[op] = {}
        self.broadcast(self.waiting[op])
        self.set_timer(RETRY, RETRY_INTERVAL)

    @on_timeout(RETRY)
    def retry(self) -> None:
        for m in self.waiting.values():
            self.broadcast(m)
        if self.waiting:
            self.set_timer(RETRY, RETRY_INTERVAL)

    @on(Reply)
    def handle_reply(self, src: NodeId, m: Reply) -> None:
        if m.op not in self.waiting:
            return  # answered already, or asked before a crash
        answers = self.answers[m.op]
        answers[src] = m.result
        believed = holds(
            said_by_a_correct_replica=sum(result == m.result for result in answers.values()) >= self.f + 1,
        )
        if believed:
            del self.waiting[m.op], self.answers[m.op]
            self.reply(m.op, m.result)


# -- What must hold ----------------------------------------------------------------------------------


def commands(decisions: Iterable[Decision]) -> list[Command]:
    """In the order in which they are to be executed."""
    return [request.command for decision in decisions for request in decision.value.requests]


class Consensus(Observer):
    """§II.C, the lemmas of §IV, and that the state machine executes what was decided. Of liars nothing is known, so
    each is counted as if it had voted for everything. Lock safety and proofs of locks are the steps of Lemma 3's proof:
    they break before two values can have 2f + 1 precommits. What clients see is judged as a history of the key-value
    store."""

    def begin(self) -> None:
        self.liars = len(self.facts.liars)
        self.quorum = len(self.facts.replicas) - (len(self.facts.replicas) - 1) // 3
        self.asked: dict[OpId, Request] = {}  # what clients have asked for
        self.decided: dict[Height, tuple[Block, NodeId]] = {}  # and who decided it first
        self.decided_in: dict[OpId, Height] = {}
        self.agenda: dict[NodeId, list[Command]] = {}  # what is to be executed
        self.executed: dict[NodeId, int] = {}
        self.said: dict[tuple[NodeId, str, Height, Round], Any] = {}  # the content of a correct replica's message
        self.votes: dict[tuple[str, Height, Round, Id], set[NodeId]] = {}  # of correct replicas
        self.proposers: dict[tuple[Height, Round], NodeId] = {}  # of what correct replicas prevote
        self.locks: dict[tuple[NodeId, Height], list[tuple[Round, Id]]] = {}  # by its precommits
        self.polkas: dict[Height, dict[tuple[Round, Id], None]] = {}  # there may be one
        self.decided_before_heal: Height = 0
        self.answered_since_heal = False
        self.restarted_in: dict[NodeId, tuple[Height, Round]] = {}  # the latest time

    def _may_be_quorum(self, kind: str, height: Height, round: Round, id: Id) -> bool:
        """Whether 2f + 1 may have sent such votes."""
        return len(self.votes.get((kind, height, round, id), ())) + self.liars >= self.quorum

    @sent(Request)
    def note_request(self, node: NodeId, dst: NodeId, m: Request) -> None:
        if node == m.signer:
            self.asked[m.op] = m

    # -- Messages of correct replicas; in gossip these are repeated, or come for the first time after a crash

    def _news(self, node: NodeId, m: Any) -> tuple[Any, ...]:
        """What a correct replica says in its own name for the first time."""
        messages = m.messages if hasattr(m, "messages") else (m,)
        return tuple(
            each
            for each in messages
            if each.signer == node and (node, type(each).__name__, each.height, each.round) not in self.said
        )

    @always("A correct process sends one proposal, one prevote and one precommit in a round.", "Alg. 1: 19, 27, 33, 41")
    @sent(Proposal, Prevote, Precommit, Gossip)
    def no_honest_equivocation(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        for each in m.messages if hasattr(m, "messages") else (m,):
            if each.signer == node:
                place = node, type(each).__name__, each.height, each.round
                before = self.said.get(place, each)
                if before != each:
                    return f"{node} sent {before}, and then {each}"
        return None

    @always("Who has locked a value prevotes another only if 2f + 1 prevoted that since.", "Alg. 1: 23, 29; Lemma 2")
    @sent(Prevote, Gossip)
    def lock_safety(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        for each in self._news(node, m):
            if type(each).__name__ == "Prevote" and each.id is not None:
                said = self._unlocked(node, each)
                if said:
                    return said
        return None

    def _unlocked(self, node: NodeId, m: Prevote) -> str | None:
        locked = [lock for lock in self.locks.get((node, m.height), ()) if lock[0] < m.round]
        if not locked or locked[-1][1] == m.id:
            return None
        since, _ = locked[-1]
        if any(since <= r < m.round and id == m.id for r, id in self.polkas.get(m.height, ())):
            return None
        return f"{node} has locked a value in round {since} of height {m.height}, and prevotes another in {m.round}"

    @always("A correct process precommits a value only if 2f + 1 prevoted it in that round.", "Alg. 1: 36")
    @sent(Precommit, Gossip)
    def proof_of_lock(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        for each in self._news(node, m):
            chosen = type(each).__name__ == "Precommit" and each.id is not None
            if chosen and not self._may_be_quorum("Prevote", each.height, each.round, each.id):
                return f"{node} precommits in round {each.round} of height {each.height} what no 2f + 1 prevoted"
        return None

    @sent(Proposal, Prevote, Precommit, Gossip)
    def note_messages(self, node: NodeId, dst: NodeId, m: Any) -> None:
        for each in self._news(node, m):
            kind = type(each).__name__
            self.said[node, kind, each.height, each.round] = each
            if kind == "Proposal" or each.id is None:
                continue
            self.votes.setdefault((kind, each.height, each.round, each.id), set()).add(node)
            if kind == "Precommit":
                self.locks.setdefault((node, each.height), []).append((each.round, each.id))
            if kind == "Prevote" and self._may_be_quorum(kind, each.height, each.round, each.id):
                self.polkas.setdefault(each.height, {})[each.round, each.id] = None

    @warning("Who has precommitted a value stays locked on it, or on a later one.", "Alg. 1: 6, 7, 38, 39, 53; Lemma 2")
    @wrote("locked_value", "locked_round")
    def lock_is_kept(self, node: NodeId, before: Any) -> str | None:
        return self._lost_lock(node)

    @part_of(lock_is_kept)
    @sent(Precommit)
    def lock_is_taken(self, node: NodeId, dst: NodeId, m: Precommit) -> str | None:
        return self._lost_lock(node)

    def _lost_lock(self, node: NodeId) -> str | None:
        disk = self.facts.written(node)
        round, id = max(self.locks.get((node, disk.height), ()), default=(NO_ROUND, None))
        if disk.locked_round > round or round == NO_ROUND:
            return None
        if disk.locked_round == round and digest_of(disk.locked_value) == id:
            return None
        return f"{node} has precommitted a value in round {round} of height {disk.height}, and is not locked on it"

    @always("All that correct processes prevote in a round was proposed by one process.", "§III; Alg. 1: 22, 28")
    @sent(Prevote)
    def one_proposer_a_round(self, node: NodeId, dst: NodeId, m: Prevote) -> str | None:
        wanted = self._wanted(node, m)
        if wanted is not None:
            first = self.proposers.setdefault((m.height, m.round), wanted.signer)
            if first != wanted.signer:
                return (
                    f"{node} prevotes in round {m.round} of height {m.height} for {wanted.signer}, others for {first}"
                )
        return None

    @always("A correct process proposes again what may have been decided, if it knows of it.", "Alg. 1: 15, 16, 42, 43")
    @sent(Proposal)
    def valid_value_is_proposed(self, node: NodeId, dst: NodeId, m: Proposal) -> str | None:
        disk = self.facts.written(node)
        if disk.valid_round >= 0 and (disk.valid_value, disk.valid_round) != (m.value, m.valid_round):
            return (
                f"{node} proposes in round {m.round} another value than that which it found valid in {disk.valid_round}"
            )
        return None

    @part_of(valid_value_is_proposed)
    @sent(Gossip)
    def valid_value_is_known(self, node: NodeId, dst: NodeId, m: Gossip) -> str | None:
        prevotes: list[Any] = [each for each in m.messages if type(each).__name__ == "Prevote"]
        votes = Counter((each.round, each.id) for each in prevotes)
        for (round, id), count in votes.items():
            new = (m.height, round) > self.restarted_in.get(node, (0, NO_ROUND))
            if new and count >= self.quorum and id is not None and round > self.facts.written(node).valid_round:
                return f"{node} shows 2f + 1 prevotes of round {round} for a value, which it does not know to be valid"
        return None

    @restarted
    def note_restart(self, node: NodeId) -> None:
        """Of two writes that were not synced a crash may keep the later: prevotes, without what came of them."""
        self.restarted_in[node] = self.facts.written(node).height, self.facts.written(node).round

    # -- Decisions

    @always("No two correct processes decide differently.", "§II.C")
    @stored("decision")
    def agreement(
        self, node: NodeId, index: int, removed: tuple[Decision, ...], added: tuple[Decision, ...]
    ) -> str | None:
        for height, decision in enumerate(added, index + 1):
            value, first = self.decided.setdefault(height, (decision.value, node))
            if value != decision.value:
                return f"{node} decided another value in height {height} than {first} did"
        return None

    @always("A decided value is valid: each request in it is what a client has asked for.", "§II.C; Lemma 4")
    @stored("decision")
    def validity(
        self, node: NodeId, index: int, removed: tuple[Decision, ...], added: tuple[Decision, ...]
    ) -> str | None:
        for decision in added:
            for request in decision.value.requests:
                if self.asked.get(request.op) != request:
                    return f"{node} decided in height {decision.height} what nobody has asked for: {request}"
        return None

    @part_of(validity)
    @sent(Proposal, Prevote)
    def wanted_is_valid(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        wanted = self._wanted(node, m)
        for request in () if wanted is None else wanted.value.requests:
            if self.asked.get(request.op) != request:
                return f"{node} wants decided in height {m.height} what nobody has asked for: {request}"
        return None

    def _wanted(self, node: NodeId, m: Any) -> Any:
        """What a correct replica proposes, or the proposal that it prevotes, which it keeps; or None."""
        if hasattr(m, "value"):
            return m
        kept = (each for each in self.facts.written(node).spread if hasattr(each, "value") and each.round == m.round)
        return next((each for each in kept if digest_of(each.value) == m.id), None)

    @always("No request is decided twice, and a decision stands.", "§II.B, §II.C")
    @stored("decision")
    def integrity(
        self, node: NodeId, index: int, removed: tuple[Decision, ...], added: tuple[Decision, ...]
    ) -> str | None:
        if removed:
            return f"{node} decided height {index + 1} a second time"
        for height, decision in enumerate(added, index + 1):
            ops = [request.op for request in decision.value.requests]
            for op in ops:
                first = self.decided_in.setdefault(op, height)
                if first != height or ops.count(op) > 1:
                    return f"{node} decided request {op} in height {height}, which is decided in height {first} too"
        return None

    @part_of(integrity)
    @sent(Proposal, Prevote)
    def wanted_is_new(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        wanted = self._wanted(node, m)
        ops = [] if wanted is None else [request.op for request in wanted.value.requests]
        for op in ops:
            if self.decided_in.get(op, m.height) < m.height or ops.count(op) > 1:
                return f"{node} wants request {op} decided in height {m.height}, where it is a repetition"
        return None

    @always("A value is decided when 2f + 1 have precommitted it in one round.", "Alg. 1: 49")
    @stored("decision")
    def decided_by_quorum(
        self, node: NodeId, index: int, removed: tuple[Decision, ...], added: tuple[Decision, ...]
    ) -> str | None:
        for height, decision in enumerate(added, index + 1):
            if not self._may_be_quorum("Precommit", height, decision.round, digest_of(decision.value)):
                return f"{node} decided in round {decision.round} of height {height} what no 2f + 1 precommitted"
        return None

    @always("Replicas execute what was decided, in its order.", "§II.B")
    @applied
    def order_of_execution(self, node: NodeId, index: int, command: Any, result: object) -> str | None:
        before, self.executed[node] = self.executed.get(node, 0), index
        if index != before + 1:
            return f"{node} executed request {index} right after request {before}"
        decided = self.agenda.get(node, [])
        if index > len(decided) or decided[index - 1] != command:
            return f"{node} executed {command} as request {index}, which is not what it had decided"
        return None

    @restarted
    def forget_executed(self, node: NodeId) -> None:
        self.executed[node] = 0  # the application is volatile: it executes again from the start
        self.agenda[node] = commands(self.facts.written(node).decision)

    # -- Liveness, and goals

    @stored("decision")
    def note_decision(
        self, node: NodeId, index: int, removed: tuple[Decision, ...], added: tuple[Decision, ...]
    ) -> None:
        self.agenda.setdefault(node, []).extend(commands(added))
        if self.facts.healed_at is None:
            self.decided_before_heal = max(self.decided_before_heal, index + len(added))

    @replied
    def count_progress(self, node: NodeId, op: OpId, command: Any, result: object) -> None:
        if self.facts.healed_at is not None:
            self.answered_since_heal = True

    @eventually("Once the faults have ended, clients get answers.", "§II.C: Termination; Lemma 7")
    def progress_after_heal(self) -> str | None:
        if self.answered_since_heal:
            return None
        return "no client got an answer between the healing of the faults and the end of the stated bound"

    @eventually("Once the faults have ended, every correct replica has what was decided before.", "§II.A, §II.C")
    def replicas_catch_up(self) -> str | None:
        for node in self.facts.replicas:
            if node not in self.facts.liars and len(self.facts.written(node).decision) < self.decided_before_heal:
                decided = len(self.facts.written(node).decision)
                return f"{node} has decided {decided} of {self.decided_before_heal} heights"
        return None

    @sometimes("A value was decided.")
    @stored("decision")
    def value_decided(
        self, node: NodeId, index: int, removed: tuple[Decision, ...], added: tuple[Decision, ...]
    ) -> bool:
        return True

    @sometimes("A value was decided after the first round.")
    @stored("decision")
    def later_round_decided(
        self, node: NodeId, index: int, removed: tuple[Decision, ...], added: tuple[Decision, ...]
    ) -> bool:
        return any(decision.round > 0 for decision in added)

    @sometimes("A proposer proposed what was prevoted by 2f + 1 before.")
    @sent(Proposal)
    def old_value_proposed(self, node: NodeId, dst: NodeId, m: Proposal) -> bool:
        return m.valid_round >= 0


PROTOCOL = ProtocolSpec(
    name="tendermint",
    paper="Buchman, Kwon and Milosevic 2018, arXiv:1807.04938, Algorithm 1",
    node=Tendermint,
    disk=TendermintDisk,
    client=Client,
    switches=Switches,
    observers=(Consensus,),
    workload=puts_and_gets,
    liars=lambda size: (size - 1) // 3,
    sizes=(4, 7),
    smallest=4,
    largest=7,
    note_sizes="n = 3f + 1: fewer tolerate no liar, and others no more than the next smaller of these",
)
