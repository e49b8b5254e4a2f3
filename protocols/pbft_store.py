"""A key-value store on PBFT whose clients may read without the three phases.

Paper    M. Castro and B. Liskov, "Practical Byzantine Fault Tolerance", OSDI 1999. § refers to it; of its optimisations
         (§5.1) this is the third one, read-only operations.
Also     C. Berger, H. P. Reiser and A. Bessani, "Making Reads in BFT State Machine Replication Fast, Linearizable, and
         Live", SRDS 2021: what else reads beside the log need. [B] refers to it.
Scope    Extends `protocols.pbft`, by a switch. A read goes to all replicas, which answer from what they have executed;
         the client believes 2f + 1 that say the same, and otherwise asks again, through the three phases. No tentative
         execution and no digests for replies (the other two of §5.1): a replica's state is what is committed.
Assumes  What PBFT assumes.

Why 2f + 1, for writes as well: any two such sets have a correct replica in common, so whoever reads meets one that has
executed all that any client knows of. By f + 1 replies, which do for PBFT alone, a write may be known to one correct
replica and the liars, who deny it to the next reader. But then liars who stay silent can hold up a client for ever once
a faulty primary has left out f correct replicas, which are too few to change views. So who waits for a request asks the
others what was decided: decision forwarding, [B].

On disk  Besides what PBFT keeps: how far the state went that a reply has shown. The paper's correct replicas never
         stop; these restart from a checkpoint, and must not show what is older than what they showed before.

Reading order: messages, state, reads, decisions, clients; then what must hold.
"""

from typing import Any

import attrs

from protocols.pbft import (
    NULL,
    RESEND,
    RESEND_INTERVAL,
    Client,
    Commit,
    FetchState,
    Number,
    Pbft,
    PbftDisk,
    Reply,
    Request,
    Section4,
    State,
    Timestamp,
    brief,
    most_liars,
    slot_of,
)
from protocols.pbft import PROTOCOL as EXTENDED
from protocols.pbft import Switches as ExtendedSwitches
from protosim.api import (
    Command,
    NodeId,
    OpId,
    always,
    applied,
    digest_of,
    holds,
    message,
    on,
    part_of,
    replied,
    restarted,
    restored,
    sent,
    signed,
    sometimes,
    switch,
    warning,
)

# -- Messages ----------------------------------------------------------------------------------------


@signed
class Read:
    """A read-only request: it names a register, and can change nothing. §5.1"""

    key: str
    timestamp: Timestamp
    signer: NodeId
    __str__ = brief


@message
class ReadReply:
    """The REPLY to it."""

    reply: Reply
    __str__ = brief


@message
class FetchDecisions:
    """A replica waits for a request, and has executed no more than this. [B]"""

    executed: Number


@message
class Decided:
    """A request, or the null request, and 2f + 1 commits: committed-local for whoever sees it. [B]"""

    request: Request | None
    commits: tuple[Commit, ...]
    __str__ = brief


# -- State -------------------------------------------------------------------------------------------


class StoreDisk(PbftDisk):
    shown: Number = 0  # replies were made of the state that the requests up to here had made


@attrs.frozen
class Switches(ExtendedSwitches):
    read_only: bool = switch(True, (False, True, True), "clients read without the three phases, §5.1")


class BftStore(Pbft):
    """A replica."""

    disk: StoreDisk  # pyright: ignore[reportIncompatibleVariableOverride]
    switches: Switches  # pyright: ignore[reportIncompatibleVariableOverride]

    # -- Reads (§5.1) --------------------------------------------------------------------------------

    @on(Read)
    def handle_read(self, src: NodeId, m: Read) -> None:
        """At once, from what is committed."""
        answered = holds(
            read_signature_verifies=self.verify(m),
            read_from_client=m.signer not in self.replicas,
            read_of_all_that_was_shown=self.executed >= self.disk.shown,
        )
        if answered:
            self.show()
            result = self.application.registers.get(m.key)
            self.send(m.signer, ReadReply(Reply(self.view, m.timestamp, m.signer, result, self.me)))

    def reply_to(self, client: NodeId) -> None:
        if self.switches.read_only:
            self.show()
        super().reply_to(client)

    def show(self) -> None:
        """Before a reply: a restart must not make me show an older state."""
        if self.disk.shown < self.executed:
            self.disk.shown = self.executed
            self.sync()

    # -- Decisions ([B]) -----------------------------------------------------------------------------

    def ask_again(self) -> None:
        """Others may have executed what I wait for, and need no view change that would tell me of it."""
        super().ask_again()
        if self.switches.read_only and (self.pending or self.executed < self.disk.shown):
            self.broadcast(FetchDecisions(self.executed))

    @on(FetchDecisions)
    def handle_fetch_decisions(self, src: NodeId, m: FetchDecisions) -> None:
        """The stable checkpoint, and what follows it."""
        if m.executed < self.low:
            self.handle_fetch_state(src, FetchState(m.executed))
        for number in range(max(m.executed, self.low) + 1, self.executed + 1):
            self.forward_decision(src, number)

    def forward_decision(self, to: NodeId, number: Number) -> None:
        """If I have all of it: neither commits nor requests that have been executed survive a crash."""
        for (_, other, digest), commits in self.commits.items():
            known = digest == NULL or digest in self.requests
            if other == number and known and self.is_quorum(commits):
                certificate = tuple(commits[signer] for signer in sorted(commits))
                self.send(to, Decided(self.requests.get(digest), certificate))

    @on(Decided)
    def handle_decided(self, src: NodeId, m: Decided) -> None:
        """Whoever sends it, and whatever view I am in: the commits prove it."""
        proven = holds(
            decision_signatures_verify=all(self.verify(c) for c in m.commits),
            decision_in_one_slot=len({slot_of(c) for c in m.commits}) == 1,
            decision_by_quorum=self.is_quorum(c.signer for c in m.commits),
            decision_of_the_request=digest_of(m.request) in {c.digest for c in m.commits},
        )
        if not proven:
            return
        _, number, digest = slot = slot_of(m.commits[0])
        if number > self.executed:
            self.commits[slot] = {c.signer: c for c in m.commits}
            self.committed[number] = digest
            if m.request is not None:
                self.requests[digest] = m.request
            self.execute()


# -- Clients -----------------------------------------------------------------------------------------


class StoreClient(Client):
    switches: Switches  # pyright: ignore[reportIncompatibleVariableOverride]

    def request(self, op: OpId, command: Command) -> None:
        """A read to all replicas. If no result comes of it in time, `ask_all` makes an ordinary request of it, §5.1."""
        if self.asking is not None or not self.switches.read_only or command.op != "get":
            super().request(op, command)
            return
        self.asking = Request(command, op, self.me)
        self.replies = {}
        self.broadcast(Read(command.key, op, self.me))
        self.set_timer(RESEND, RESEND_INTERVAL)

    @on(ReadReply)
    def handle_read_reply(self, src: NodeId, m: ReadReply) -> None:
        """It counts like any other: 2f + 1 that say the same have seen, or executed, all that clients know of."""
        self.handle_reply(src, m.reply)

    def accept_result(self, result: int | None) -> None:
        """Where reads pass by the log, no result counts that less than 2f + 1 replicas vouch for, [B]."""
        matching = [signer for signer, m in self.replies.items() if m.result == result]
        accepted = not self.switches.read_only or holds(
            result_by_quorum=self.is_quorum(matching),
        )
        if accepted:
            super().accept_result(result)


# -- What must hold ----------------------------------------------------------------------------------


class Section5(Section4):
    """And what correct replicas and clients make of reads."""

    def begin(self) -> None:
        super().begin()
        self.said: dict[tuple[OpId, Any], list[NodeId]] = {}  # which correct replicas gave this result
        self.read: dict[OpId, list[Any]] = {}  # what reads gave, at correct replicas
        self.registers: dict[NodeId, dict[str, int]] = {}  # of each replica, by what it executed and took over
        self.replied_from: dict[NodeId, Number] = {}  # how far the state went that a replica made replies of

    @applied
    def note_write(self, node: NodeId, index: Number, command: Request | None, result: object) -> None:
        if command is not None and command.command.op == "put":
            self.registers.setdefault(node, {})[command.command.key] = command.command.value

    @restored
    def note_state(self, node: NodeId, index: Number, state: State) -> None:
        self.registers[node] = dict(state.registers)

    @restarted
    def forget_state(self, node: NodeId) -> None:
        self.registers[node] = {}

    @always("A correct replica answers a read that its client asks, by what it has executed.", "§5.1")
    @sent(ReadReply)
    def reads_are_committed(self, node: NodeId, dst: NodeId, m: ReadReply) -> str | None:
        op, result = m.reply.timestamp, m.reply.result
        client, command = self.asked.get(op, (None, None))
        if client != dst or command is None:
            return f"{node} answers operation {op} to {dst}, which did not ask for it"
        self.read.setdefault(op, []).append(result)
        held = self.registers.get(node, {}).get(command.key)
        return None if held == result else f"{node} answers {command} by {result}, and what it executed makes it {held}"

    @always("A read shows no older state than the replica has shown before.", "[B], where replicas restart")
    @sent(ReadReply)
    def reads_go_forward(self, node: NodeId, dst: NodeId, m: ReadReply) -> str | None:
        now, before = self.executed.get(node, 0), self.replied_from.get(node, 0)
        return None if now >= before else f"{node} answers a read from state {now}, and has shown state {before}"

    @warning("How far the state went that a reply shows is on disk.", "[B], where replicas restart")
    @sent(Reply, ReadReply)
    def shown_is_on_disk(self, node: NodeId, dst: NodeId, m: Any) -> str | None:
        reply = getattr(m, "reply", m)
        self.said.setdefault((reply.timestamp, reply.result), []).append(node)
        latest = self.replied_from[node] = max(self.replied_from.get(node, 0), self.executed.get(node, 0))
        if not self.facts.switches.read_only or self.facts.durable(node).shown >= latest:
            return None
        return f"{node} shows state {latest}, and a crash would make it forget that it did"

    @part_of(Section4.results_are_true)
    @replied
    def results_are_true(self, node: NodeId, op: OpId, command: Any, result: object) -> str | None:
        """Or that a correct replica has read."""
        return None if result in self.read.get(op, ()) else super().results_are_true(node, op, command, result)

    @always("A client accepts what f + 1 replicas say, and 2f + 1 where reads pass by the log.", "§4.1, §5.1; [B]")
    @replied
    def results_by_certificate(self, node: NodeId, op: OpId, command: Any, result: object) -> str | None:
        correct = sorted(set(self.said.get((op, result), ())))
        f = most_liars(len(self.facts.replicas))
        if len(correct) + len(self.facts.liars) > (2 * f if self.facts.switches.read_only else f):
            return None
        said = " ".join(correct) or "nobody"
        return f"{node} accepted {result} for {command}, and of the correct replicas only {said} said so"

    # Goals.

    @sometimes("A client read without the three phases.", when=lambda switches: switches.read_only)
    @replied
    def read_answered(self, node: NodeId, op: OpId, command: Any, result: object) -> bool:
        return op in self.read and op not in self.place

    @sometimes("A read went through the three phases in the end.", when=lambda switches: switches.read_only)
    @replied
    def read_fell_back(self, node: NodeId, op: OpId, command: Any, result: object) -> bool:
        return op in self.read and op in self.place

    @sometimes("A decision was forwarded.", when=lambda switches: switches.read_only)
    @sent(Decided)
    def decision_forwarded(self, node: NodeId, dst: NodeId, m: Decided) -> bool:
        return True


PROTOCOL = attrs.evolve(
    EXTENDED,
    name="pbft_store",
    paper="Castro and Liskov 1999, §5.1",
    node=BftStore,
    disk=StoreDisk,
    client=StoreClient,
    switches=Switches,
    observers=(Section5,),
)
