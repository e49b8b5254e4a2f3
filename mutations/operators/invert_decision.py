"""Invert one decision: an `if` takes the other branch, or a yes is told, or read, as a no.

The decisions are the tests of `if`, and in messages the fields that are read as truth values and
the literals `True` and `False` that are sent. Switches decide nothing here: their other value is
a protocol too. A decision is named after what it is about: the check, the variable or the field.
"""

from collections.abc import Iterator

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over, numbered
from mutations.syntax import Exchange, checks, is_holds, names_in, nodes, opposite, parameters, self_call

KIND = DriftKind.INVERTED_DECISION
TITLE = "{function} decides the opposite in {which}."
OVER: Over = "function"
EXAMPLES = (
    (
        """
def handle_request_vote(self, src, m):
    if granted:
        self.disk.voted_for = src
    if not holds(in_time=self.now < m.until):
        return
""",
        """
def handle_request_vote(self, src, m):
    if not granted:
        self.disk.voted_for = src
    if not holds(in_time=self.now < m.until):
        return
""",
    ),
    (
        """
def handle_vote(self, src, m):
    counted = holds(
        vote_current=m.term == self.disk.term,
        vote_granted=m.granted,
    )
""",
        """
def handle_vote(self, src, m):
    counted = holds(
        vote_current=m.term == self.disk.term,
        vote_granted=not m.granted,
    )
""",
    ),
    (
        """
def handle_prepare(self, src, m):
    self.send(src, Prepared(m.txn, False))
""",
        """
def handle_prepare(self, src, m):
    self.send(src, Prepared(m.txn, True))
""",
    ),
    (
        """
def start_round(self):
    if self.switches.no_op:
        self.propose(None)
""",
        """
def start_round(self):
    if self.switches.no_op:
        self.propose(None)
""",
    ),
)

_SENDERS = ("send", "broadcast")
_OTHER = {"True": "False", "False": "True"}


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    return numbered((*_branches(function), *_read(function), *_told(function)))


Found = Iterator[tuple[str, tuple[Exchange, ...]]]


def _branches(function: cst.FunctionDef) -> Found:
    for node in nodes(function):
        if isinstance(node, cst.If) and not _asks_a_switch(node.test):
            yield _name(node.test), ((node.test, opposite(node.test)),)


def _asks_a_switch(test: cst.BaseExpression) -> bool:
    return any(isinstance(node, cst.Name) and node.value == "switches" for node in nodes(test))


def _name(test: cst.BaseExpression) -> str:
    """Of the one thing that decides."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return _name(inner)
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
        case cst.Call(args=[cst.Arg(keyword=cst.Name(value=name))]) if is_holds(test):
            return name
        case _:
            return ""


def _read(function: cst.FunctionDef) -> Found:
    """Fields of messages that are truth values by themselves within a larger condition."""
    given, named = parameters(function), checks(function)
    whole = [node.test for node in nodes(function) if isinstance(node, cst.If)]
    for condition in nodes(function):
        for part in _parts(condition):
            is_field = isinstance(part, cst.Attribute) and names_in(part) <= given
            if is_field and part not in whole:
                yield named.get(part) or _name(part), ((part, opposite(part)),)


def _parts(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    match node:
        case cst.BooleanOperation(left=left, right=right):
            yield from (left, right)
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            yield inner
        case cst.IfExp(test=test):
            yield test
        case cst.Call(args=args) if is_holds(node):
            yield from (arg.value for arg in args)
        case _:
            pass


def _told(function: cst.FunctionDef) -> Found:
    for call in nodes(function):
        if self_call(call) in _SENDERS:
            for node in nodes(call):
                if isinstance(node, cst.Name) and node.value in _OTHER:
                    yield "", ((node, cst.Name(_OTHER[node.value])),)
