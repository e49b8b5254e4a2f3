"""Swap a sync and the send after it: the promise leaves before it is durable.

`self.sync()` moves behind the next statement that lets something out: one with a call of `send`,
`broadcast`, `reply` or `refuse` on `self`, or of a method of the file that comes to such a call.
That statement stands in the sync's block or in a block around it. There is no site where nothing
is sent later in the function, where another sync comes first (it would cover the write), and where
the way to the send is cut by a `return`. A statement that may itself return, such as an early
refusal, is passed over, since the sync could not be reached behind it.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over
from mutations.syntax import Place, blocks, functions, is_sync, nodes, self_call, syncs

KIND = DriftKind.PERSIST_AND_SEND_SWAPPED
TITLE = "{function} sends before its sync {which}, so a crash may undo what it promised."
OVER: Over = "function"
EXAMPLES = (
    (
        """
def start_election(self):
    self.disk.term += 1
    self.sync()
    self.votes = {self.me}
    self.broadcast(RequestVote(self.disk.term))
    self.count_votes()
""",
        """
def start_election(self):
    self.disk.term += 1
    self.votes = {self.me}
    self.broadcast(RequestVote(self.disk.term))
    self.sync()
    self.count_votes()
""",
    ),
    (
        """
def handle_vote(self, src, m):
    if granted:
        self.disk.voted_for = src
        self.sync()
    self.send(src, Vote(granted))
""",
        """
def handle_vote(self, src, m):
    if granted:
        self.disk.voted_for = src
    self.send(src, Vote(granted))
    self.sync()
""",
    ),
    (
        """
def replicate(self, peer):
    self.send(peer, Append())

def propose(self, command):
    self.disk.log.append(command)
    self.sync()
    for peer in self.peers:
        self.replicate(peer)
""",
        """
def replicate(self, peer):
    self.send(peer, Append())

def propose(self, command):
    self.disk.log.append(command)
    for peer in self.peers:
        self.replicate(peer)
    self.sync()
""",
    ),
    (
        """
def adopt(self, term):
    self.disk.term = term
    self.sync()
    return
""",
        """
def adopt(self, term):
    self.disk.term = term
    self.sync()
    return
""",
    ),
)

EFFECTS: tuple[str, ...] = ("send", "broadcast", "reply", "refuse")
EXITS = (cst.Return, cst.Raise, cst.Break, cst.Continue)


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    outer, sending = around(function), senders(module)
    for number, (block, index) in enumerate(syncs(function), 1):
        for send in next_sends((block, index), outer, sending)[:1]:
            sync = block.body[index]
            behind = cst.FlattenSentinel([send, sync])
            yield Change(str(number), ((sync, cst.RemovalSentinel.REMOVE), (send, behind)))


def around(function: cst.FunctionDef) -> dict[cst.IndentedBlock, Place]:
    """Each block with the statement of the next outer block that it belongs to."""
    outer: dict[cst.IndentedBlock, Place] = {}
    for block in blocks(function):  # outer ones first, so that the innermost has the last word
        for index, statement in enumerate(block.body):
            outer |= dict.fromkeys(blocks(statement), (block, index))
    return outer


@functools.lru_cache(maxsize=4)
def senders(module: cst.Module) -> list[str]:
    """The methods that let something out, themselves or through others."""
    calls: dict[str, list[str]] = {}
    for name, function in functions(module):
        called = calls.setdefault(name.rpartition(".")[2], [])
        called += [self_call(node) for node in nodes(function)]
    found = [*EFFECTS]
    for sender in found:  # grows while it is read
        found += [name for name, called in calls.items() if sender in called and name not in found]
    return found


def next_sends(
    place: Place | None, outer: Mapping[cst.IndentedBlock, Place], sending: Sequence[str]
) -> list[cst.BaseStatement]:
    """The statements behind this one that let something out, up to the next sync or the end of the way."""
    found: list[cst.BaseStatement] = []
    while place is not None:
        block, index = place
        for statement in block.body[index + 1 :]:
            below = nodes(statement)
            leaves = any(isinstance(node, EXITS) for node in below)
            if is_sync(statement) or (leaves and isinstance(statement, cst.SimpleStatementLine)):
                return found
            if not leaves and any(self_call(node) in sending for node in below):
                found.append(statement)
        place = outer.get(block)
    return found
