"""Forget one reset: what a role change or the start of a round should empty keeps its old content.

A reset is an assignment of an empty value (`EMPTY`) to a field of `self` or of the disk, a field of
`self.disk.write(...)` that gets one, or a `.clear()`. It is deleted; but a field that the node would
then never get (where `start` comes to the reset, or where that cannot be seen in the file) is only
not emptied if it is there. A set that begins anew with somebody in it keeps those that it had. There
is no site in `start` itself: after a crash there is nothing left to reset. It is named after the field.
"""

import functools
from collections.abc import Iterator

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over, numbered
from mutations.syntax import (
    Exchange,
    attribute,
    definitions,
    disk_field,
    functions,
    nodes,
    self_call,
)

KIND = DriftKind.FORGOTTEN_RESET
TITLE = "{function} does not reset {which}."
OVER: Over = "function"
EXAMPLES = (
    (
        """
class Raft(Node[RaftDisk]):
    def start(self):
        self.votes = set()

    def become_follower(self):
        self.role = FOLLOWER
        self.votes = set()
""",
        """
class Raft(Node[RaftDisk]):
    def start(self):
        self.votes = set()

    def become_follower(self):
        self.role = FOLLOWER
""",
    ),
    (
        """
class Raft(Node[RaftDisk]):
    def start(self):
        self.become_follower()

    def become_follower(self):
        self.votes = set()
""",
        """
class Raft(Node[RaftDisk]):
    def start(self):
        self.become_follower()

    def become_follower(self):
        self.votes = getattr(self, "votes", set())
""",
    ),
    (
        """
class Raft(Node[RaftDisk]):
    def start(self):
        self.votes = set()

    def start_election(self):
        self.votes = {self.me}
""",
        """
class Raft(Node[RaftDisk]):
    def start(self):
        self.votes = set()

    def start_election(self):
        self.votes = self.votes | {self.me}
""",
    ),
    (
        """
class Raft(Node[RaftDisk]):
    def update_term(self, term):
        self.disk.write(term=term, voted_for=None)
        self.sync()
""",
        """
class Raft(Node[RaftDisk]):
    def update_term(self, term):
        self.disk.write(term=term)
        self.sync()
""",
    ),
    (
        """
class Raft(Node[RaftDisk]):
    def start(self):
        self.term = 0
        self.waiting = {}

    def campaign(self):
        self.term = 1
""",
        """
class Raft(Node[RaftDisk]):
    def start(self):
        self.term = 0
        self.waiting = {}

    def campaign(self):
        self.term = 1
""",
    ),
)

EMPTY = frozenset(
    {"set()", "frozenset()", "{}", "dict()", "[]", "list()", "()", "tuple()", "None", "False", "0", '""'}
)

Found = Iterator[tuple[str, tuple[Exchange, ...]]]


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    if function.name.value == "start":
        return iter(())
    return numbered(found for node in nodes(function) for found in _resets(function, node, module))


def _resets(function: cst.FunctionDef, node: cst.CSTNode, module: cst.Module) -> Found:
    match node:
        case cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)]):
            yield from _assignment(function, node, target, value, module)
        case cst.Call(func=cst.Attribute(value=field, attr=cst.Name(value="write")), args=args) if (
            attribute(field) == "disk" and len(args) > 1
        ):
            for place, arg in enumerate(args):
                if arg.keyword is not None and _is_empty(arg.value, module):
                    left = [*args[:place], *args[place + 1 :]]
                    left[-1] = left[-1].with_changes(comma=args[-1].comma)
                    yield arg.keyword.value, ((node, node.with_changes(args=left)),)
        case cst.SimpleStatementLine(
            body=[cst.Expr(value=cst.Call(func=cst.Attribute(value=field, attr=cst.Name(value="clear"))))]
        ):
            if attribute(field):
                yield attribute(field), ((node, cst.RemovalSentinel.REMOVE),)
        case _:
            pass


def _assignment(
    function: cst.FunctionDef,
    line: cst.SimpleStatementLine,
    target: cst.BaseExpression,
    value: cst.BaseExpression,
    module: cst.Module,
) -> Found:
    if disk_field(target) and _is_empty(value, module):
        yield disk_field(target), ((line, cst.RemovalSentinel.REMOVE),)
    field = attribute(target)
    if not field:
        return
    if isinstance(value, cst.Set):
        if field in _emptied(module):
            yield field, ((value, cst.BinaryOperation(target, cst.BitOr(), value)),)
    elif _is_empty(value, module):
        if function in _from_start(module):
            kept = cst.parse_expression(f'getattr(self, "{field}", {module.code_for_node(value)})')
            yield field, ((value, kept),)
        else:
            yield field, ((line, cst.RemovalSentinel.REMOVE),)


def _is_empty(value: cst.BaseExpression, module: cst.Module) -> bool:
    return module.code_for_node(value) in EMPTY


@functools.lru_cache(maxsize=4)
def _emptied(module: cst.Module) -> set[str]:
    """The fields of `self` that some function sets to an empty set: the others may not be sets when they begin."""
    return {
        attribute(node.targets[0].target)
        for _, function in functions(module)
        for node in nodes(function)
        if isinstance(node, cst.Assign) and module.code_for_node(node.value) == "set()"
    }


@functools.lru_cache(maxsize=4)
def _from_start(module: cst.Module) -> list[cst.FunctionDef]:
    """The functions that `start` comes to, which set what a node has at first; where a class has no `start`
    of its own all of its functions may be among them."""
    found: list[cst.FunctionDef] = []
    names = [definition.name for definition in definitions(module)]
    by_name: dict[str, list[cst.FunctionDef]] = {}
    for name, function in functions(module):
        owner, _, bare = name.rpartition(".")
        by_name.setdefault(bare, []).append(function)
        if bare == "start" or (owner and f"{owner}.start" not in names):
            found.append(function)
    for function in found:  # grows while it is read
        called = {self_call(node) for node in nodes(function)} - {""}
        found += [f for name in sorted(called) for f in by_name.get(name, []) if f not in found]
    return found
