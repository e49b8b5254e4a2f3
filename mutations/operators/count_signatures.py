"""Count signatures instead of signers: who signs two things counts twice.

What is kept by its signer or sender in a dict gets a place of its own, unless the function asks for what one of them
has said; a set of signers becomes a list. There is no site in a protocol whose nodes do not lie: what they
repeat is `count-messages`'s.
"""

from collections.abc import Iterator, Sequence

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over, numbered
from mutations.syntax import Exchange, checks, may_lie, names_in, nodes, parameters

KIND = DriftKind.WEAKENED_QUORUM
TITLE = "{function} counts what was signed, and not who signed it, in {which}."
OVER: Over = "function"
_SPEC = "\nPROTOCOL = ProtocolSpec(node=Pbft, liars=most_liars)\n"
EXAMPLES = tuple(
    (f"\nclass Pbft(Node):\n{before}{_SPEC}", f"\nclass Pbft(Node):\n{after}{_SPEC}")
    for before, after in (
        (
            """
    def count_commit(self, m):
        commits = self.commits.setdefault(slot_of(m), {})
        commits[m.signer] = m
        return holds(committed_by_quorum=self.is_quorum(commits))
""",
            """
    def count_commit(self, m):
        commits = self.commits.setdefault(slot_of(m), {})
        commits[len(commits)] = m
        return holds(committed_by_quorum=self.is_quorum(commits))
""",
        ),
        (
            """
    def handle_reply(self, src, m):
        self.answers[src] = m.result
""",
            """
    def handle_reply(self, src, m):
        self.answers[len(self.answers)] = m.result
""",
        ),
        (
            """
    def is_polka(self, votes):
        return len({m.signer for m in votes if m.id}) >= self.quorum
""",
            """
    def is_polka(self, votes):
        return len([m.signer for m in votes if m.id]) >= self.quorum
""",
        ),
        (
            """
    def is_quorum(self, signers):
        return len(set(signers)) >= 2 * self.f + 1
""",
            """
    def is_quorum(self, signers):
        return len(list(signers)) >= 2 * self.f + 1
""",
        ),
        (
            """
    def handle_view_change(self, src, m):
        if self.view_changes[m.signer].view <= m.view:
            self.view_changes[m.signer] = m
        if m != self.heard.get(src):
            self.heard[src] = m
        self.counts[m.signer] = self.view
""",
            """
    def handle_view_change(self, src, m):
        if self.view_changes[m.signer].view <= m.view:
            self.view_changes[m.signer] = m
        if m != self.heard.get(src):
            self.heard[src] = m
        self.counts[m.signer] = self.view
""",
        ),
    )
)


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    if not may_lie(module):
        return iter(())
    below, named = nodes(function), checks(function)
    compared = [each for node in below for each in _sides(node)]  # a set among sets stays one
    found = [(node, pair) for node in below if node not in compared for pair in _counted(node, function, module)]
    return numbered((named.get(node, ""), (pair,)) for node, pair in found)


def _sides(node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    match node:
        case cst.BinaryOperation(left=left, right=right):
            return left, right
        case cst.Comparison(left=left, comparisons=targets):
            return left, *(target.comparator for target in targets)
        case _:
            return ()


def _counted(node: cst.CSTNode, function: cst.FunctionDef, module: cst.Module) -> list[Exchange]:
    match node:
        case cst.SetComp(elt=elt, for_in=for_in) if _is_signer(elt):
            return [(node, cst.ListComp(elt, for_in))]
        case cst.Call(func=cst.Name(value="set"), args=[cst.Arg(value=cst.Name(value="signers"))]):
            return [(node, node.with_changes(func=cst.Name("list")))] if "signers" in parameters(function) else []
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Subscript(value=kept, slice=[element]))],
            value=cst.Name() | cst.Attribute() as value,
        ) if isinstance(element.slice, cst.Index) and names_in(value) <= parameters(function):
            place = _place(kept, element.slice.value, function, module)
            return [(element, element.with_changes(slice=place))] if place is not None else []
        case _:
            return []


def _place(
    kept: cst.BaseExpression, sender: cst.BaseExpression, function: cst.FunctionDef, module: cst.Module
) -> cst.Index | None:
    """One of its own for what a sender says, unless the function asks what it has said."""
    dict_, key, code = (module.code_for_node(node) for node in (kept, sender, function))
    if not (_is_signer(sender) or key == "src") or code.count(f"{dict_}[{key}]") != 1 or f"{dict_}.get({key}" in code:
        return None
    return cst.Index(cst.parse_expression(f"len({dict_})"))


def _is_signer(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "signer"
