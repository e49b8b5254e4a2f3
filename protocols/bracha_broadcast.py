"""Bracha's broadcast: whatever a Byzantine sender does, all correct nodes deliver the same message, or none does.

Paper    G. Bracha, "Asynchronous Byzantine Agreement Protocols", Information and Computation 75(2), 1987.
Book     C. Cachin, R. Guerraoui and L. Rodrigues, "Introduction to Reliable and Secure Distributed Programming", 2nd
         edition, 2011: CGR. Reliable broadcast is §3.11, this algorithm 3.18, Authenticated Double-Echo Broadcast.
Spec     bcastByz.tla of tlaplus/Examples.
Scope    Reliable broadcast without signatures: links say truly who sent a message. Each broadcast of each node is an
         instance of its own.
Assumes  n > 3f; f nodes do what they like. Messages may be lost, duplicated, delayed and reordered; correct nodes crash
         and recover: what they have sent, echoed and made ready is durable.

Reading order: messages, state, the four steps, then what must hold. Each keyword of `holds(...)` is one check that the
paper demands.
"""

from collections.abc import Iterator

from protocols._broadcast import (
    Broadcast,
    BroadcastDisk,
    Broadcasts,
    Delivered,
    Inbox,
    Instance,
    LinkedNode,
    Send,
    Sent,
    parse,
    tolerated,
    workload,
)
from protosim.api import (
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
    sent,
    value,
)

# -- Messages ----------------------------------------------------------------------------------------


@message
class Echo:
    """[ECHO, m]: this is what I have heard from the sender."""

    sender: NodeId
    number: int
    content: int


@message
class Ready:
    """[READY, m]: nobody will deliver another content."""

    sender: NodeId
    number: int
    content: int


# -- State -------------------------------------------------------------------------------------------


@value
class Said:
    """What this node has echoed, or said that it is ready for."""

    sender: NodeId
    number: int
    content: int


class BrachaDisk(BroadcastDisk):
    echoed: Log[Said]
    ready: Log[Said]


Votes = dict[Instance, dict[NodeId, int]]  # who has said which content


class BrachaNode(LinkedNode[BrachaDisk]):
    def start(self) -> None:
        self.echoed: dict[Instance, int] = {(e.sender, e.number): e.content for e in self.disk.echoed}
        self.ready: dict[Instance, int] = {(r.sender, r.number): r.content for r in self.disk.ready}
        self.echoes: Votes = {}
        self.readies: Votes = {}
        super().start()
        for number in range(1, len(self.disk.sent) + 1):
            self.send_it(number)
        for m in [*self.my_echoes(), *self.my_readies()]:
            self.post_to_all(m)

    def stands_by(self, peer: NodeId) -> Iterator[Send | Echo | Ready]:
        for number, own in enumerate(self.disk.sent, 1):
            yield Send(number, own.content)
        yield from self.my_echoes()
        yield from self.my_readies()

    def my_echoes(self) -> list[Echo]:
        return [Echo(said.sender, said.number, said.content) for said in self.disk.echoed]

    def my_readies(self) -> list[Ready]:
        return [Ready(said.sender, said.number, said.content) for said in self.disk.ready]

    # -- The four steps ------------------------------------------------------------------------------

    def request(self, op: OpId, command: Broadcast) -> None:
        """upon event ⟨brb, Broadcast | m⟩"""
        self.disk.sent.append(Sent(op, command.content))
        self.sync()
        self.send_it(len(self.disk.sent))

    def send_it(self, number: int) -> None:
        self.post_to_all(Send(number, self.disk.sent[number - 1].content))

    @on(Send)
    def handle_send(self, src: NodeId, m: Send) -> None:
        """upon event [SEND, m] from p = s: echo it, once."""
        if holds(one_echo_per_broadcast=(src, m.number) not in self.echoed):  # sentecho = FALSE
            self.echoed[src, m.number] = m.content
            self.disk.echoed.append(Said(src, m.number, m.content))
            self.sync()
            self.post_to_all(Echo(src, m.number, m.content))

    @on(Echo)
    def handle_echo(self, src: NodeId, m: Echo) -> None:
        """upon event [ECHO, m] from p: get ready once enough have echoed the same."""
        instance = (m.sender, m.number)
        echoes = self.echoes.setdefault(instance, {})
        echoes.setdefault(src, m.content)  # echos[p] = ⊥
        if holds(
            ready_once=instance not in self.ready,  # sentready = FALSE
            echoed_by_quorum=len(voters(echoes, m.content)) > self.half(),  # #(echos = m) > (N + f) / 2
        ):
            self.get_ready(instance, m.content)

    @on(Ready)
    def handle_ready(self, src: NodeId, m: Ready) -> None:
        """upon event [READY, m] from p: join f + 1 of them; deliver what 2f + 1 are ready for."""
        instance, f = (m.sender, m.number), tolerated(self.cluster_size)
        readies = self.readies.setdefault(instance, {})
        readies.setdefault(src, m.content)  # readys[p] = ⊥
        if holds(
            join_once=instance not in self.ready,  # sentready = FALSE
            ready_at_one_correct=len(voters(readies, m.content)) > f,  # #(readys = m) > f: amplification
        ):
            self.get_ready(instance, m.content)
        if holds(
            delivered_once=instance not in self.delivered,  # delivered = FALSE
            ready_at_quorum=len(voters(readies, m.content)) > 2 * f,  # #(readys = m) > 2f
        ):
            self.deliver(m.sender, m.number, m.content)

    def get_ready(self, instance: Instance, content: int) -> None:
        self.ready[instance] = content
        self.disk.ready.append(Said(*instance, content))
        self.sync()
        self.post_to_all(Ready(*instance, content))

    def half(self) -> int:
        """(N + f) / 2: two larger sets have a correct node in common."""
        return (self.cluster_size + tolerated(self.cluster_size)) // 2


def voters(votes: dict[NodeId, int], content: int) -> set[NodeId]:
    return {node for node, said in votes.items() if said == content}


# -- What must hold ----------------------------------------------------------------------------------


class Readies(Broadcasts):
    """Who has said what."""

    def begin(self) -> None:
        super().begin()
        self.echoed: dict[tuple[NodeId, NodeId, int], int] = {}  # by whom, of whom, which
        self.ready_for: dict[Instance, int] = {}
        self.ready_rightly: set[tuple[NodeId, int, int]] = set()

    @always("A correct node echoes one message of an instance.", "CGR §3.11.2, Correctness")
    @sent(Echo)
    def one_echo_each(self, node: NodeId, dst: NodeId, m: Echo) -> str | None:
        if self.echoed.setdefault((node, m.sender, m.number), m.content) == m.content:
            return None
        return f"{node} echoes two contents of broadcast {m.number} of {m.sender}"

    @always("No two correct nodes are ready for different messages.", "Bracha 1987, Lemma 2; CGR §3.11.2")
    @sent(Ready)
    def ready_for_one(self, node: NodeId, dst: NodeId, m: Ready) -> str | None:
        first = self.ready_for.setdefault((m.sender, m.number), m.content)
        if first != m.content:
            return f"of broadcast {m.number} of {m.sender} {node} is ready for {m.content}, another for {first}"
        return None

    @always("What a correct node is ready for, more than (N + f) / 2 have echoed, on their disks.", "CGR §3.11.2")
    @sent(Ready)
    def ready_by_quorum(self, node: NodeId, dst: NodeId, m: Ready) -> str | None:
        what = (m.sender, m.number, m.content)
        if what in self.ready_rightly:
            return None
        echoers = [each for each in self.honest() if has_said(self.facts.durable(each).echoed, what)]
        if self.can_be_quorum(echoers):
            self.ready_rightly.add(what)
            return None
        echoed = " ".join(echoers) or "nobody"
        return f"{node} is ready for {m.content} from {m.sender}, which {echoed} and liars have echoed"

    @always("What is delivered, more than 2f are ready for, on their disks.", "CGR §3.11.2: all others will join them")
    @applied
    def delivered_by_quorum(self, node: NodeId, index: int, d: Delivered, result: None) -> str | None:
        what = (d.sender, d.number, d.content)
        ready = [each for each in self.honest() if has_said(self.facts.durable(each).ready, what)]
        if len(ready) + len(self.facts.liars) > 2 * tolerated(len(self.facts.replicas)):
            return None
        named = " ".join(ready) or "nobody"
        return f"{node} delivers {d.content} from {d.sender}, for which {named} and liars are ready"

    @eventually("What one correct node delivers, every correct node delivers.", "CGR, BRB5: Totality")
    def totality(self) -> str | None:
        for (sender, number), since in self.delivered_at.items():
            content = self.content[sender, number]
            late = self.without(sender, number, content) if self.is_over(since) else None
            if late:
                return f"{late} never delivered broadcast {number} of {sender}, which others have"
        return None


def has_said(log: list[Said], what: tuple[NodeId, int, int]) -> bool:
    return any((s.sender, s.number, s.content) == what for s in reversed(log))


PROTOCOL = ProtocolSpec(
    name="bracha_broadcast",
    paper="Bracha 1987; Cachin, Guerraoui and Rodrigues 2011, Algorithm 3.18",
    node=BrachaNode,
    disk=BrachaDisk,
    observers=(Readies,),
    workload=workload,
    parse=parse,
    application=Inbox,
    history=None,
    liars=tolerated,
    sizes=(4, 7),
    smallest=4,
    note_sizes="n > 3f, and with fewer nodes nobody may lie",
)
