"""Forget a part of a key: what differs in its view, round, height or number only counts as the same.

A key is a tuple of names and fields that a function returns, looks up, stores under or compares. The part that is
named after such a thing (`PARTS`) becomes 0 wherever the function has it in a key; two keys that are compared lose
it on both sides. There is no site in a protocol whose nodes do not lie: terms and ballots are `accept-stale`'s.
"""

from collections.abc import Iterator, Sequence

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over, numbered
from mutations.operators.accept_stale import EPOCHS
from mutations.syntax import Exchange, may_lie, nodes

KIND = DriftKind.STALE_DATA_ACCEPTED
TITLE = "{function} forgets {which} in a key."
OVER: Over = "function"
_SPEC = "\nPROTOCOL = ProtocolSpec(node=Pbft, liars=most_liars)\n"
EXAMPLES = tuple(
    (f"\nclass Pbft(Node):\n{before}{_SPEC}", f"\nclass Pbft(Node):\n{after}{_SPEC}")
    for before, after in (
        (
            """
    def slot_of(self, m):
        return m.view, m.digest
""",
            """
    def slot_of(self, m):
        return 0, m.digest
""",
        ),
        (
            """
    def handle_send(self, src, m):
        if (src, m.number) not in self.echoed:
            self.echoed[src, m.number] = m.content
""",
            """
    def handle_send(self, src, m):
        if (src, 0) not in self.echoed:
            self.echoed[src, 0] = m.content
""",
        ),
        (
            """
    def time_out(self, height, round):
        if holds(due=(height, round) == (self.height, self.round)):
            self.prevote()
""",
            """
    def time_out(self, height, round):
        if holds(due=(height, 0) == (self.height, 0)):
            self.prevote()
""",
        ),
        (
            """
    def decide(self, m, place):
        return holds(same=all((vote.round, vote.id) == place for vote in m.votes))
""",
            """
    def decide(self, m, place):
        return holds(same=all((place[0], vote.id) == place for vote in m.votes))
""",
        ),
        (
            """
    def keep(self, m, round):
        self.kept = (round, round - 1, m)
        for (_, number), _ in self.log.items():
            self.say(number)
""",
            """
    def keep(self, m, round):
        self.kept = (round, round - 1, m)
        for (_, number), _ in self.log.items():
            self.say(number)
""",
        ),
    )
)

PARTS = EPOCHS | {"height", "number"}
"""Words of the names of what tells one vote, instance or decision from another."""


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    if not may_lie(module):
        return iter(())
    by_text: dict[str, list[Exchange]] = {}
    for key, others in _keys(function):
        for place, part in enumerate(_parts(key)):
            if _name(part):
                found = by_text.setdefault(module.code_for_node(part), [])
                found += [(part, _known(others, place))]
                found += [(_parts(other)[place], cst.Integer("0")) for other in others if _is_key(other)]
    names = {text: text.rpartition(".")[2] for text in by_text}
    return numbered((names[text], tuple(dict(found).items())) for text, found in by_text.items())


def _keys(function: cst.FunctionDef) -> list[tuple[cst.BaseExpression, list[cst.BaseExpression]]]:
    """Each key, and what it is compared with; of two that are compared the first."""
    compared: dict[cst.CSTNode, list[cst.BaseExpression]] = {}
    left_out: list[cst.CSTNode] = []  # what is assigned to, one of many, and the second of two
    for node in nodes(function):
        match node:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.Equal() | cst.NotEqual(), right)]):
                compared[left] = [right]
                left_out += [right] * _is_key(left)
                compared[right] = [left]
            case cst.AssignTarget(target=cst.Tuple() as target) | cst.For(target=target) | cst.CompFor(target=target):
                left_out += nodes(target)
            case cst.GeneratorExp(elt=elt) | cst.ListComp(elt=elt) | cst.SetComp(elt=elt):
                left_out.append(elt)
            case _:
                pass
    keys = [node for node in nodes(function) if _is_key(node) and node not in left_out]
    return [(key, compared.get(key, [])) for key in keys if isinstance(key, cst.BaseExpression)]


def _is_key(node: cst.CSTNode) -> bool:
    parts = _parts(node)
    return len(parts) > 1 and all(isinstance(part, cst.Name | cst.Attribute | cst.Call) for part in parts)


def _parts(node: cst.CSTNode) -> Sequence[cst.BaseExpression]:
    match node:
        case cst.Tuple(elements=elements):
            return [each.value for each in elements if isinstance(each, cst.Element)]
        case cst.Subscript(slice=slices):
            return [each.slice.value for each in slices if isinstance(each.slice, cst.Index)]
        case _:
            return ()


def _name(part: cst.BaseExpression) -> str:
    """That of a part which is named after what a key needs."""
    name = part.attr.value if isinstance(part, cst.Attribute) else part.value if isinstance(part, cst.Name) else ""
    return name if PARTS & set(name.split("_")) else ""


def _known(others: Sequence[cst.BaseExpression], place: int) -> cst.BaseExpression:
    """What the part is compared with, where that cannot be changed as well."""
    for other in others:
        if not _is_key(other):
            return cst.Subscript(other, [cst.SubscriptElement(cst.Index(cst.Integer(str(place))))])
    return cst.Integer("0")
