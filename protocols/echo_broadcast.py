"""Signed echo broadcast: a Byzantine sender cannot make two correct nodes deliver different messages.

Book     C. Cachin, R. Guerraoui and L. Rodrigues, "Introduction to Reliable and Secure Distributed Programming", 2nd
         edition, 2011: CGR. Consistent broadcast is §3.10, this algorithm 3.17. `SEND`, `ECHO` and `FINAL` are its
         messages. It is due to M. Reiter, "Secure Agreement Protocols", CCS 1994.
Scope    Consistent broadcast: if the sender is a liar some correct nodes may deliver and others never; what they
         deliver is the same. Each broadcast of each node is an instance of its own.
Assumes  n > 3f; f nodes do what they like, but nobody can make another's signature. Messages may be lost, duplicated,
         delayed and reordered; correct nodes crash and recover: what they have echoed and sent is durable.

Reading order: messages, state, the three steps, then what must hold. Each keyword of `holds(...)` is one check that the
book demands.
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
    digest_of,
    holds,
    message,
    on,
    sent,
    signed,
    value,
)

# -- Messages ----------------------------------------------------------------------------------------


@signed
class Echo:
    """[ECHO, m, sig]: the signer has seen this content, and no other, under this number of the sender."""

    sender: NodeId
    number: int
    digest: bytes
    signer: NodeId


@message
class Final:
    """[FINAL, m, Σ]: enough nodes have echoed it."""

    number: int
    content: int
    echoes: tuple[Echo, ...]


# -- State -------------------------------------------------------------------------------------------


@value
class Echoed:
    """What this node has echoed: never another content under the same number."""

    sender: NodeId
    number: int
    digest: bytes


class EchoDisk(BroadcastDisk):
    echoed: Log[Echoed]


class EchoNode(LinkedNode[EchoDisk]):
    def start(self) -> None:
        self.echoed: dict[Instance, bytes] = {(e.sender, e.number): e.digest for e in self.disk.echoed}
        self.echoes: dict[int, dict[NodeId, Echo]] = {}  # of my broadcasts, by who signed
        self.finals: dict[int, Final] = {}
        super().start()
        for number in range(1, len(self.disk.sent) + 1):
            self.send_it(number)

    def stands_by(self, peer: NodeId) -> Iterator[Send | Final]:
        for number, own in enumerate(self.disk.sent, 1):
            yield self.finals.get(number, Send(number, own.content))

    # -- The three steps -----------------------------------------------------------------------------

    def request(self, op: OpId, command: Broadcast) -> None:
        """upon event ⟨bcb, Broadcast | m⟩"""
        self.disk.sent.append(Sent(op, command.content))
        self.sync()
        self.send_it(len(self.disk.sent))

    def send_it(self, number: int) -> None:
        self.post_to_all(Send(number, self.disk.sent[number - 1].content))

    @on(Send)
    def handle_send(self, src: NodeId, m: Send) -> None:
        """upon event [SEND, m] from p = s: sign an echo, once."""
        instance, digest = (src, m.number), digest_of(m.content)
        if not holds(
            one_echo_per_broadcast=self.echoed.get(instance, digest) == digest,  # sentecho = FALSE
        ):
            return
        if instance not in self.echoed:
            self.echoed[instance] = digest
            self.disk.echoed.append(Echoed(src, m.number, digest))
            self.sync()
        self.post(src, Echo(src, m.number, digest, self.me))

    @on(Echo)
    def handle_echo(self, src: NodeId, m: Echo) -> None:
        """upon event [ECHO, m, sig] from p: collect signatures of what I have sent."""
        if not holds(
            echo_of_my_broadcast=m.sender == self.me and 1 <= m.number <= len(self.disk.sent),
            echo_of_what_i_sent=m.digest == self.digest_of_mine(m.number),  # m of the echo is mine
            echo_from_its_signer=m.signer == src,
            echo_verifies=self.verify(m),  # verifysig(p, bcb‖p‖ECHO‖m, sig)
        ):
            return
        echoes = self.echoes.setdefault(m.number, {})
        echoes[src] = m
        if not holds(echoed_by_quorum=len(set(echoes)) > self.half()):  # #(echos) > (N + f) / 2
            return
        if m.number not in self.finals:
            content = self.disk.sent[m.number - 1].content
            self.finals[m.number] = Final(m.number, content, tuple(echoes.values()))
            self.post_to_all(self.finals[m.number])

    @on(Final)
    def handle_final(self, src: NodeId, m: Final) -> None:
        """upon event [FINAL, m, Σ] from p = s: deliver once, if enough have signed."""
        if holds(
            delivered_once=(src, m.number) not in self.delivered,  # delivered = FALSE
            certified=self.is_certificate(src, m),  # #({p | Σ[p] ≠ ⊥ ∧ verifysig}) > (N + f) / 2
        ):
            self.deliver(src, m.number, m.content)

    def is_certificate(self, sender: NodeId, m: Final) -> bool:
        """Whether a quorum has signed this content under this number of the sender."""
        signers = {
            echo.signer
            for echo in m.echoes
            if holds(
                certificate_verifies=self.verify(echo),
                certificate_of_sender=echo.sender == sender,
                certificate_of_number=echo.number == m.number,
                certificate_of_content=echo.digest == digest_of(m.content),
            )
        }
        return len(signers) > self.half()

    def half(self) -> int:
        """(N + f) / 2: two larger sets have a correct node in common."""
        return (self.cluster_size + tolerated(self.cluster_size)) // 2

    def digest_of_mine(self, number: int) -> bytes:
        """Of what I have broadcast under this number, or of nothing."""
        return digest_of(self.disk.sent[number - 1].content) if 1 <= number <= len(self.disk.sent) else b""


# -- What must hold ----------------------------------------------------------------------------------


class Echoes(Broadcasts):
    """Who has echoed what."""

    def begin(self) -> None:
        super().begin()
        self.echoed: dict[tuple[NodeId, NodeId, int], bytes] = {}  # by whom, of whom, which

    @always("A correct node echoes one message of an instance.", "CGR §3.10.2, Correctness")
    @sent(Echo)
    def one_echo_each(self, node: NodeId, dst: NodeId, m: Echo) -> str | None:
        if self.echoed.setdefault((node, m.sender, m.number), m.digest) == m.digest:
            return None
        return f"{node} echoes two contents of broadcast {m.number} of {m.sender}"

    @always("What is delivered, more than (N + f) / 2 have echoed, on their disks.", "CGR §3.10.2, Correctness")
    @applied
    def delivered_by_quorum(self, node: NodeId, index: int, d: Delivered, result: None) -> str | None:
        echoed = (d.sender, d.number, digest_of(d.content))
        echoers = [
            each
            for each in self.honest()
            if any((e.sender, e.number, e.digest) == echoed for e in reversed(self.facts.durable(each).echoed))
        ]
        if self.can_be_quorum(echoers):
            return None
        named = " ".join(echoers) or "nobody"
        return f"{node} delivers {d.content} from {d.sender}, which {named} and liars have echoed"


PROTOCOL = ProtocolSpec(
    name="echo_broadcast",
    paper="Cachin, Guerraoui and Rodrigues 2011, Algorithm 3.17; Reiter 1994",
    node=EchoNode,
    disk=EchoDisk,
    observers=(Echoes,),
    workload=workload,
    parse=parse,
    application=Inbox,
    history=None,
    liars=tolerated,
    sizes=(4, 7),
    smallest=4,
    note_sizes="n > 3f, and with fewer nodes nobody may lie",
)
