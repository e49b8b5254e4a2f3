"""What the Byzantine broadcasts share: links that lose nothing in the end, what clients ask, and what must hold.

Book     C. Cachin, R. Guerraoui and L. Rodrigues, "Introduction to Reliable and Secure Distributed Programming", 2nd
         edition, 2011: CGR. Perfect links are Algorithms 2.1 and 2.2; the properties BCB1 to BCB4 are Module 3.11, BRB1
         to BRB5 Module 3.12.
Scope    Any node may broadcast any number of values: each has its own instance of the algorithm, named by its sender
         and the sender's number for it, from 1.

A link repeats a message until the present life of its receiver acknowledges it: what an earlier one has acknowledged, a
crash may have made it forget. A node that restarts tells the others, and they tell it all again that they stand by.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from protosim.api import (
    MS,
    Disk,
    Log,
    Node,
    NodeId,
    Observer,
    OpId,
    always,
    applied,
    digest_of,
    eventually,
    message,
    on,
    on_timeout,
    requested,
    sent,
    sometimes,
    value,
    warning,
)

Instance = tuple[NodeId, int]  # whose broadcast, and which of these

REPEAT = "repeat"
REPEAT_INTERVAL = (80 * MS, 120 * MS)
AT_ONCE = 8  # messages that a link repeats: one that leads to a liar may never be acknowledged
SETTLED = 1_500 * MS  # after so long without faults everybody has delivered


@value
class Broadcast:
    """What a client asks of a node."""

    content: int

    def __str__(self) -> str:
        return f"broadcast {self.content}"


@message
class Send:
    """[SEND, m]: the sender's broadcast with this number."""

    number: int
    content: int


@message
class Ack:
    """The message with this digest has arrived in this life of the sender."""

    digest: bytes
    life: int


@message
class Restarted:
    """The sender has lost what it had not written down in its earlier lives."""

    life: int


@value
class Sent:
    """What this node has broadcast: its number is its place in the log, from 1."""

    op: OpId
    content: int


@value
class Delivered:
    """What this node has delivered."""

    sender: NodeId
    number: int
    content: int


class BroadcastDisk(Disk):
    life: int = 0  # how often this node has started
    sent: Log[Sent]
    delivered: Log[Delivered]


class Inbox:
    """The application: it has been told."""

    def apply(self, delivered: Delivered) -> None:
        """Nothing to compute."""

    def copy(self) -> "Inbox":
        return Inbox()


D = TypeVar("D", bound=BroadcastDisk)


class LinkedNode(Node[D]):
    """A node with perfect links to its peers: what is posted arrives, in the end and perhaps more than once."""

    def start(self) -> None:
        self.unacknowledged: dict[NodeId, dict[Ack, Any]] = {peer: {} for peer in self.peers}  # by what it waits for
        self.life_of: dict[NodeId, int] = dict.fromkeys(self.peers, 1)
        self.disk.life += 1
        self.sync()
        self.delivered = {(d.sender, d.number) for d in self.disk.delivered}
        self.set_timer(REPEAT, REPEAT_INTERVAL)
        for peer in self.peers:
            self.post(peer, Restarted(self.disk.life))

    def post(self, to: NodeId, m: Any) -> None:
        """Send until it is acknowledged; a node's own messages arrive at once."""
        if to == self.me:
            self.HANDLERS[type(m)](self, self.me, m)
        elif (ack := Ack(digest_of(m), self.life_of[to])) not in self.unacknowledged[to]:
            self.unacknowledged[to][ack] = m
            self.send(to, m)

    def post_to_all(self, m: Any) -> None:
        """To itself as well."""
        for node in (*self.peers, self.me):
            self.post(node, m)

    def receive(self, src: NodeId, m: Any) -> None:
        super().receive(src, m)
        if type(m) is not Ack:
            self.send(src, Ack(digest_of(m), self.disk.life))

    @on(Ack)
    def handle_ack(self, src: NodeId, m: Ack) -> None:
        self.learn_of_life(src, m.life)
        self.unacknowledged[src].pop(m, None)

    @on(Restarted)
    def handle_restarted(self, src: NodeId, m: Restarted) -> None:
        self.learn_of_life(src, m.life)
        for each in self.stands_by(src):
            self.post(src, each)

    def learn_of_life(self, peer: NodeId, life: int) -> None:
        """What is on its way may have met the peer's earlier life."""
        if life > self.life_of[peer]:
            self.life_of[peer] = life
            waiting, self.unacknowledged[peer] = self.unacknowledged[peer], {}
            for m in waiting.values():
                self.post(peer, m)

    @on_timeout(REPEAT)
    def repeat(self) -> None:
        for peer, waiting in self.unacknowledged.items():
            for m in list(waiting.values())[:AT_ONCE]:
                self.send(peer, m)
        self.set_timer(REPEAT, REPEAT_INTERVAL)

    def stands_by(self, peer: NodeId) -> Iterator[Any]:
        """What this node has told the peer, or wanted to, as far as it still matters."""
        raise NotImplementedError

    def deliver(self, sender: NodeId, number: int, content: int) -> None:
        """Write it down, then hand it over: once, whatever happens in between."""
        self.delivered.add((sender, number))
        self.disk.delivered.append(Delivered(sender, number, content))
        self.sync()
        self.apply(len(self.disk.delivered), self.disk.delivered[-1])
        if sender == self.me and number <= len(self.disk.sent):
            self.reply(self.disk.sent[number - 1].op, number)


# -- What must hold ----------------------------------------------------------------------------------


class Broadcasts(Observer):
    """What honest nodes were asked to broadcast, and what they deliver."""

    def begin(self) -> None:
        self.asked: dict[int, tuple[NodeId, int]] = {}  # content -> who was asked to broadcast it, when
        self.content: dict[Instance, int] = {}  # delivered by some node
        self.delivered_at: dict[Instance, int] = {}  # when some node first did
        self.has: dict[NodeId, set[Instance]] = {}
        self.broadcast: dict[Instance, int] = {}

    @requested
    def note_request(self, node: NodeId, op: OpId, command: Broadcast) -> None:
        self.asked[command.content] = (node, self.facts.now)

    @applied
    def note_delivery(self, node: NodeId, index: int, d: Delivered, result: None) -> None:
        self.delivered_at.setdefault((d.sender, d.number), self.facts.now)

    @always("A correct node broadcasts one message of an instance.", "CGR §3.10, §3.11: each instance has its own name")
    @sent(Send)
    def one_content_each(self, node: NodeId, dst: NodeId, m: Send) -> str | None:
        first = self.broadcast.setdefault((node, m.number), m.content)
        return None if first == m.content else f"{node} broadcasts {first} and {m.content} under number {m.number}"

    @always("No correct node delivers more than one message of an instance.", "CGR, BCB2, BRB2: No duplication")
    @applied
    def no_duplication(self, node: NodeId, index: int, d: Delivered, result: None) -> str | None:
        has = self.has.setdefault(node, set())
        if (d.sender, d.number) in has:
            return f"{node} delivered broadcast {d.number} of {d.sender} twice"
        has.add((d.sender, d.number))
        return None

    @always("What is delivered from a correct sender, that sender has broadcast.", "CGR, BCB3, BRB3: Integrity")
    @applied
    def integrity(self, node: NodeId, index: int, d: Delivered, result: None) -> str | None:
        if d.sender not in self.facts.liars and self.asked.get(d.content, ("", 0))[0] != d.sender:
            return f"{node} delivered {d.content} from {d.sender}, which never broadcast it"
        return None

    @always("No two correct nodes deliver different messages of an instance.", "CGR, BCB4, BRB4: Consistency")
    @applied
    def consistency(self, node: NodeId, index: int, d: Delivered, result: None) -> str | None:
        first = self.content.setdefault((d.sender, d.number), d.content)
        if first != d.content:
            return f"of broadcast {d.number} of {d.sender} {node} delivered {d.content}, and another node {first}"
        return None

    @warning("What a correct node broadcasts is on its disk.", "CGR §2.2.3: a crash must not free its number")
    @sent(Send)
    def broadcast_is_on_disk(self, node: NodeId, dst: NodeId, m: Send) -> str | None:
        if any(own.content == m.content for own in self.facts.durable(node).sent[m.number - 1 : m.number]):
            return None
        return f"{node} broadcasts {m.content}, and a crash would make it forget"

    @sometimes("A broadcast was delivered.")
    @applied
    def delivered(self, node: NodeId, index: int, d: Delivered, result: None) -> bool:
        return True

    @sometimes("Everybody who follows the protocol has delivered the same broadcast.")
    @applied
    def delivered_by_all(self, node: NodeId, index: int, d: Delivered, result: None) -> bool:
        honest = [name for name in self.facts.replicas if name not in self.facts.liars]
        return all((d.sender, d.number) in self.has.get(name, ()) for name in honest)

    @eventually("What a correct node broadcasts, every correct node delivers.", "CGR, BCB1, BRB1: Validity")
    def validity(self) -> str | None:
        for node in self.honest():
            kept = self.facts.durable(node)
            for number, own in enumerate(kept.sent, 1):
                if self.is_over(self.asked[own.content][1]):
                    late = self.without(node, number, own.content)
                    if late:
                        return f"{late} never delivered broadcast {number} of {node}"
        return None

    def honest(self) -> list[NodeId]:
        return [node for node in self.facts.replicas if node not in self.facts.liars]

    def without(self, sender: NodeId, number: int, content: int) -> NodeId | None:
        """A correct node that has not delivered it."""
        wanted = (sender, number, content)
        for node in self.honest():
            if all((d.sender, d.number, d.content) != wanted for d in self.facts.durable(node).delivered):
                return node
        return None

    def can_be_quorum(self, nodes: Iterable[NodeId]) -> bool:
        """Whether these and all liars are more than (N + f) / 2."""
        size = len(self.facts.replicas)
        return 2 * len({*nodes, *self.facts.liars}) > size + tolerated(size)

    def is_over(self, since: int) -> bool:
        """Whether it is long enough ago."""
        return max(since, self.facts.healed_at or 0) + SETTLED < self.facts.now


def workload(op: OpId, bits: int) -> Broadcast:
    """Each value is unique."""
    return Broadcast(op)


def parse(op: OpId, words: tuple[str, ...]) -> Broadcast:
    """`broadcast 7`."""
    verb, content = words
    if verb != "broadcast":
        raise ValueError("a client asks to broadcast a number: `broadcast 7`")
    return Broadcast(int(content))


def tolerated(size: int) -> int:
    """f, for n > 3f."""
    return (size - 1) // 3
