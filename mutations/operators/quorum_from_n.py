"""Take a quorum from n instead of f: where some may lie, a majority is enough no more.

What is reckoned from how many may be Byzantine (2f, 2f + 1, n - f, half of n + f) becomes what a majority asks
for. With 4 nodes they are the same, with 7 a majority is one short: two of them may have only liars in common.
There is no site in a protocol whose nodes do not lie, nor in f + 1, which is no quorum.
"""

from collections.abc import Iterator

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over, numbered
from mutations.syntax import checks, is_budget, names_in, nodes

KIND = DriftKind.WEAKENED_QUORUM
TITLE = "{function} takes a majority of all for a quorum in {which}."
OVER: Over = "function"
_SPEC = "\nPROTOCOL = ProtocolSpec(node=Pbft, liars=most_liars)\n"
EXAMPLES = tuple(
    (f"\nclass Pbft(Node):\n{before}{_SPEC}", f"\nclass Pbft(Node):\n{after}{_SPEC}")
    for before, after in (
        (
            """
    def is_quorum(self, signers):
        return len(signers) >= 2 * self.f + 1
""",
            """
    def is_quorum(self, signers):
        return len(signers) >= self.cluster_size // 2 + 1
""",
        ),
        (
            """
    def handle_ready(self, m):
        f = most_liars(self.cluster_size)
        if holds(ready_at_quorum=len(self.readies[m.content]) > 2 * f):
            self.deliver(m)
""",
            """
    def handle_ready(self, m):
        f = most_liars(self.cluster_size)
        if holds(ready_at_quorum=len(self.readies[m.content]) > self.cluster_size // 2):
            self.deliver(m)
""",
        ),
        (
            """
    def start(self):
        self.quorum = self.cluster_size - self.f
""",
            """
    def start(self):
        self.quorum = self.cluster_size // 2 + 1
""",
        ),
        (
            """
    def half(self):
        return (self.cluster_size + most_liars(self.cluster_size)) // 2
""",
            """
    def half(self):
        return self.cluster_size // 2
""",
        ),
        (
            """
    def has_a_correct(self, signers):
        return len(signers) >= self.f + 1
""",
            """
    def has_a_correct(self, signers):
        return len(signers) >= self.f + 1
""",
        ),
    )
)

HALF, MAJORITY = "self.cluster_size // 2", "self.cluster_size // 2 + 1"


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    named = checks(function)
    found = [(node, size) for node in nodes(function) if (size := _from_n(node, module))]
    inner = [below for node, _ in found for below in nodes(node) if below is not node]
    return numbered(
        (named.get(node, ""), ((node, cst.parse_expression(size)),)) for node, size in found if node not in inner
    )


def _from_n(node: cst.CSTNode, module: cst.Module) -> str:
    """What a majority asks for where the node is a quorum's size, or one fewer."""
    match node:
        case cst.BinaryOperation(left=twice, operator=cst.Add(), right=cst.Integer(value="1")) if _twice(twice, module):
            return MAJORITY
        case cst.BinaryOperation(left=size, operator=cst.Subtract(), right=f) if _is_size(size):
            return MAJORITY if is_budget(f, module) else ""
        case cst.BinaryOperation(
            left=cst.BinaryOperation(left=size, operator=cst.Add(), right=f),
            operator=cst.FloorDivide(),
            right=cst.Integer(value="2"),
        ) if _is_size(size):
            return HALF if is_budget(f, module) else ""
        case _:
            return HALF if _twice(node, module) else ""


def _twice(node: cst.CSTNode, module: cst.Module) -> bool:
    match node:
        case cst.BinaryOperation(left=cst.Integer(value="2"), operator=cst.Multiply(), right=f):
            return is_budget(f, module)
        case _:
            return False


def _is_size(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "cluster_size" and names_in(node) == {"self"}
