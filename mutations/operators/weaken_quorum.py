"""Weaken a quorum: one vote fewer than a majority is enough.

`self.is_majority(x)` becomes a count that one fewer satisfies, and a comparison with a quorum lets
one fewer pass: with half of a size, `// 2` of `cluster_size` or of a `len(...)`, with anything
called `majority` or `quorum`, or with what is reckoned from how many may be Byzantine. In clusters
of 3 and 5 two quorums then need not meet; in those of 4 and 7 they need not meet in a correct node.
"""

from collections.abc import Iterator, Sequence

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over
from mutations.syntax import is_budget, nodes, self_call

KIND = DriftKind.WEAKENED_QUORUM
TITLE = "{function} is content with one fewer than it needs in quorum {which}."
OVER: Over = "function"
EXAMPLES = (
    (
        """
def count_votes(self):
    return holds(majority=self.is_majority(self.votes))
""",
        """
def count_votes(self):
    return holds(majority=len(set(self.votes)) >= self.cluster_size // 2)
""",
    ),
    (
        """
def count_votes(self):
    return not len(self.votes) > self.cluster_size // 2
""",
        """
def count_votes(self):
    return not len(self.votes) >= self.cluster_size // 2
""",
    ),
    (
        """
def count_votes(self):
    if len(self.votes) < len(self.nodes) // 2 + 1:
        return
""",
        """
def count_votes(self):
    if len(self.votes) < len(self.nodes) // 2:
        return
""",
    ),
    (
        """
def count_votes(self):
    return self.quorum <= len(self.votes)
""",
        """
def count_votes(self):
    return self.quorum - 1 <= len(self.votes)
""",
    ),
    (
        """
class Pbft(Node):
    def has_a_correct(self, signers):
        return len(signers) >= self.f + 1

PROTOCOL = ProtocolSpec(node=Pbft, liars=most_liars)
""",
        """
class Pbft(Node):
    def has_a_correct(self, signers):
        return len(signers) >= self.f

PROTOCOL = ProtocolSpec(node=Pbft, liars=most_liars)
""",
    ),
    (
        """
def middle(self):
    return self.index > len(self.votes)
""",
        """
def middle(self):
    return self.index > len(self.votes)
""",
    ),
)

# The comparison that one fewer satisfies, where changing the operator does it; for the others the
# quorum itself is lowered.
_COUNT_FIRST: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
    cst.GreaterThan: cst.GreaterThanEqual(),
    cst.LessThanEqual: cst.LessThan(),
}
_QUORUM_FIRST: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
    cst.LessThan: cst.LessThanEqual(),
    cst.GreaterThanEqual: cst.GreaterThan(),
}
_ORDERINGS = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    pairs = [(node, weaker(module, node)) for node in nodes(function)]
    found = [(node, weak) for node, weak in pairs if weak is not None]
    for number, pair in enumerate(found, 1):
        yield Change(str(number), (pair,))


def weaker(module: cst.Module, node: cst.CSTNode) -> cst.BaseExpression | None:
    """What asks for one fewer than the node, if that asks for a majority."""
    if isinstance(node, cst.Call) and self_call(node) == "is_majority" and len(node.args) == 1:
        votes = module.code_for_node(node.args[0].value)
        return cst.parse_expression(f"len(set({votes})) >= self.cluster_size // 2")
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        return _weaker_comparison(module, node, node.comparisons[0])
    return None


def _weaker_comparison(
    module: cst.Module, node: cst.Comparison, target: cst.ComparisonTarget
) -> cst.Comparison | None:
    quorum_first = _is_quorum(node.left, module)
    if quorum_first == _is_quorum(target.comparator, module) or not isinstance(target.operator, _ORDERINGS):
        return None
    operator = (_QUORUM_FIRST if quorum_first else _COUNT_FIRST).get(type(target.operator))
    if operator is not None:
        return node.with_changes(comparisons=[target.with_changes(operator=operator)])
    if quorum_first:
        return node.with_changes(left=_lowered(node.left))
    lowered = target.with_changes(comparator=_lowered(target.comparator))
    return node.with_changes(comparisons=[lowered])


def _is_quorum(expression: cst.BaseExpression, module: cst.Module) -> bool:
    below = nodes(expression)
    return any(_is_half(node) or is_budget(node, module) for node in below) or _mentions(below, "majority", "quorum")


def _is_half(node: cst.CSTNode) -> bool:
    match node:
        case cst.BinaryOperation(
            left=size, operator=cst.FloorDivide(), right=cst.Integer(value="2")
        ):
            return _mentions(nodes(size), "cluster_size", "len")
        case _:
            return False


def _mentions(below: Sequence[cst.CSTNode], *names: str) -> bool:
    return any(isinstance(node, cst.Name) and node.value in names for node in below)


def _lowered(quorum: cst.BaseExpression) -> cst.BaseExpression:
    """One less, and not `... + 1 - 1`."""
    match quorum:
        case cst.BinaryOperation(left=half, operator=cst.Add(), right=cst.Integer(value="1")):
            return half
        case _:
            return cst.BinaryOperation(quorum, cst.Subtract(), cst.Integer("1"))
