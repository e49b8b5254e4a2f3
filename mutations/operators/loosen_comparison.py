"""Loosen one comparison: `>` becomes `>=`, and `<` becomes `<=`, so that equality passes too.

Comparisons with a quorum are left to weaken-quorum. A comparison within a check is named after the
check.
"""

from collections.abc import Iterator

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over, numbered
from mutations.operators.weaken_quorum import weaker
from mutations.syntax import checks, nodes

KIND = DriftKind.WRONG_COMPARISON
TITLE = "{function} lets equality pass in comparison {which}."
OVER: Over = "function"
EXAMPLES = (
    (
        """
def handle_prepare(self, src, m):
    if holds(newer_ballot=m.ballot > self.disk.promised):
        self.promise(src, m)
""",
        """
def handle_prepare(self, src, m):
    if holds(newer_ballot=m.ballot >= self.disk.promised):
        self.promise(src, m)
""",
    ),
    (
        """
def apply_committed(self):
    while self.applied < self.committed:
        self.apply_next()
""",
        """
def apply_committed(self):
    while self.applied <= self.committed:
        self.apply_next()
""",
    ),
    (
        """
def count_votes(self):
    return len(self.votes) > self.cluster_size // 2 and self.age >= 3
""",
        """
def count_votes(self):
    return len(self.votes) > self.cluster_size // 2 and self.age >= 3
""",
    ),
)

_LOOSER: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
    cst.GreaterThan: cst.GreaterThanEqual(),
    cst.LessThan: cst.LessThanEqual(),
}


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    named = checks(function)
    return numbered(
        (named.get(node, ""), ((target, target.with_changes(operator=_LOOSER[type(target.operator)])),))
        for node in nodes(function)
        if isinstance(node, cst.Comparison) and weaker(module, node) is None
        for target in node.comparisons
        if type(target.operator) in _LOOSER
    )
