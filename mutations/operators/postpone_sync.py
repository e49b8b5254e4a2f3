"""Postpone a sync: it comes after everything that its handler sends.

`self.sync()` moves behind the last statement of the function that lets something out, where a crash
between any of them and the end undoes what was promised. A method that sends nothing after its sync
leaves the sync to those that call it, each of which then syncs after the last of what it sends. There is
no site where another sync would cover the write in time, where the way is cut by a `return`, and
where swap-sync-and-send does the same.
"""

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over
from mutations.operators.swap_sync_and_send import EXITS, around, next_sends, senders
from mutations.syntax import Exchange, Place, blocks, functions, is_sync, nodes, self_call, syncs

KIND = DriftKind.PERSIST_AND_SEND_SWAPPED
TITLE = "{function} leaves its sync {which} for after all that is sent, so a crash may undo what it promised."
OVER: Over = "function"
EXAMPLES = (
    (
        """
def start_election(self):
    self.disk.term += 1
    self.sync()
    self.broadcast(RequestVote(self.disk.term))
    self.votes = {self.me}
    self.count_votes()

def count_votes(self):
    self.send(self.me, Votes())
""",
        """
def start_election(self):
    self.disk.term += 1
    self.broadcast(RequestVote(self.disk.term))
    self.votes = {self.me}
    self.count_votes()
    self.sync()

def count_votes(self):
    self.send(self.me, Votes())
""",
    ),
    (
        """
def append(self, entry):
    self.disk.log.append(entry)
    self.sync()

def request(self, op, command):
    self.append(command)
    self.waiting = op
    self.broadcast(Append(command))

def handle_copy(self, src, m):
    self.append(m.command)
""",
        """
def append(self, entry):
    self.disk.log.append(entry)

def request(self, op, command):
    self.append(command)
    self.waiting = op
    self.broadcast(Append(command))
    self.sync()

def handle_copy(self, src, m):
    self.append(m.command)
    self.sync()
""",
    ),
    (
        """
def handle_vote(self, src, m):
    self.disk.voted_for = src
    self.sync()
    self.send(src, Vote())
""",
        """
def handle_vote(self, src, m):
    self.disk.voted_for = src
    self.sync()
    self.send(src, Vote())
""",
    ),
)


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    outer, sending = around(function), senders(module)
    for number, place in enumerate(syncs(function), 1):
        sync = place[0].body[place[1]]
        sends = next_sends(place, outer, sending)
        if len(sends) > 1:
            yield Change(str(number), ((sync, cst.RemovalSentinel.REMOVE), _then_sync(sends[-1], sync)))
        elif not sends and not _covered(place, outer):
            later = _after_callers(function, module, sending)
            if later:
                bare = cst.parse_statement("self.sync()")
                exchanges = [_then_sync(statement, bare) for statement in later]
                yield Change(str(number), ((sync, cst.RemovalSentinel.REMOVE), *exchanges), wide=True)


def _then_sync(statement: cst.BaseStatement, sync: cst.BaseStatement) -> Exchange:
    return statement, cst.FlattenSentinel([statement, sync])


def _covered(place: Place | None, outer: Mapping[cst.IndentedBlock, Place]) -> bool:
    """Whether the function goes on to another sync."""
    while place is not None:
        block, index = place
        if any(is_sync(node) for statement in block.body[index + 1 :] for node in nodes(statement)):
            return True
        place = outer.get(block)
    return False


def _after_callers(
    function: cst.FunctionDef, module: cst.Module, sending: Sequence[str]
) -> list[cst.BaseStatement]:
    """Behind which statements those that call the method could sync; none if nobody sends something before that."""
    ends: dict[cst.BaseStatement, bool] = {}  # -> whether something is sent first
    for _, caller in functions(module):
        outer = around(caller)
        for place in _calls(caller, function.name.value):
            here = place[0].body[place[1]]
            sends = next_sends(place, outer, sending)
            if not sends and any(isinstance(node, EXITS) for node in nodes(here)):
                return []
            ends[sends[-1] if sends else here] = bool(sends)
    return list(ends) if any(ends.values()) else []


def _calls(caller: cst.FunctionDef, name: str) -> list[Place]:
    """The innermost statements that call the method."""
    places: dict[cst.CSTNode, Place] = {}
    for block in blocks(caller):  # the innermost has the last word
        for index, statement in enumerate(block.body):
            for node in nodes(statement):
                if self_call(node) == name:
                    places[node] = (block, index)
    return list(places.values())
