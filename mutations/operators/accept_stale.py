"""Accept stale data: what comes from an earlier term, ballot, view, epoch or round passes.

A comparison of what came in with what is known here, where one of the two is named after an epoch
(`EPOCHS`): equality is enough if it is met from below, an order that asks for something new is
always met, and one that notices something old never does. What came in is the side without `self`;
where both sides have it, what is computed is compared with a plain field. A comparison within a
check is named after the check.
"""

from collections.abc import Iterator

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over, numbered
from mutations.syntax import checks, names_in, nodes

KIND = DriftKind.STALE_DATA_ACCEPTED
TITLE = "{function} takes what is stale for current in comparison {which}."
OVER: Over = "function"
EXAMPLES = (
    (
        """
def handle_vote(self, m):
    if holds(vote_current=m.term == self.disk.term, granted=m.granted):
        self.votes.add(m.voter)
""",
        """
def handle_vote(self, m):
    if holds(vote_current=m.term <= self.disk.term, granted=m.granted):
        self.votes.add(m.voter)
""",
    ),
    (
        """
def handle_accept(self, src, m):
    if self.disk.promised <= m.ballot:
        self.disk.accepted = m
""",
        """
def handle_accept(self, src, m):
    if True:
        self.disk.accepted = m
""",
    ),
    (
        """
def handle_reply(self, m):
    if m.view != self.view:
        return
    self.replies.add(m)
""",
        """
def handle_reply(self, m):
    if m.view > self.view:
        return
    self.replies.add(m)
""",
    ),
    (
        """
def may_commit(self, index):
    return self.term_at(index) == self.disk.term
""",
        """
def may_commit(self, index):
    return self.term_at(index) <= self.disk.term
""",
    ),
    (
        """
def may_commit(self, m):
    return m.index == self.index and m.term == 0 and self.ballot < CHOSEN
""",
        """
def may_commit(self, m):
    return m.index == self.index and m.term == 0 and self.ballot < CHOSEN
""",
    ),
)

EPOCHS = frozenset(
    {"ballot", "epoch", "era", "generation", "incarnation", "promised", "round", "term", "ts", "version", "view"}
)
"""Words of the names that protocols give to what grows when leadership or a decision starts anew."""

_FROM_BELOW: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
    cst.Equal: cst.LessThanEqual(),
    cst.NotEqual: cst.GreaterThan(),
}
_FROM_ABOVE: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
    cst.Equal: cst.GreaterThanEqual(),
    cst.NotEqual: cst.LessThan(),
}
_ASK_FOR_NEW = (cst.GreaterThan, cst.GreaterThanEqual)  # with what came in on the left
_NOTICE_OLD = (cst.LessThan, cst.LessThanEqual)


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    named = checks(function)
    pairs = [(node, _stale(node)) for node in nodes(function) if isinstance(node, cst.Comparison)]
    return numbered((named.get(node, ""), ((node, stale),)) for node, stale in pairs if stale)


def _stale(node: cst.Comparison) -> cst.BaseExpression | None:
    if len(node.comparisons) != 1 or not (_is_epoch(node.left) or _is_epoch(node.comparisons[0].comparator)):
        return None
    target = node.comparisons[0]
    came_left = _came_in(node.left, target.comparator)
    if came_left is None:
        return None
    operator = type(target.operator)
    looser = (_FROM_BELOW if came_left else _FROM_ABOVE).get(operator)
    if looser is not None:
        return node.with_changes(comparisons=[target.with_changes(operator=looser)])
    if operator in (_ASK_FOR_NEW if came_left else _NOTICE_OLD):
        return cst.Name("True")
    return cst.Name("False") if operator in (*_ASK_FOR_NEW, *_NOTICE_OLD) else None


def _is_epoch(side: cst.BaseExpression) -> bool:
    return any(isinstance(node, cst.Name) and EPOCHS & set(node.value.split("_")) for node in nodes(side))


def _came_in(left: cst.BaseExpression, right: cst.BaseExpression) -> bool | None:
    """Whether the left side is what came in, the right one what is known here; None if neither way."""
    ours = ["self" in names_in(side) for side in (left, right)]
    if not all(any(not name.isupper() for name in names_in(side)) for side in (left, right)):
        return None  # a literal or a constant did not come in, and is not what is known here
    if ours[0] != ours[1]:
        return ours[1]
    plain = [isinstance(side, cst.Attribute) for side in (left, right)]
    return plain[1] if all(ours) and plain[0] != plain[1] else None
