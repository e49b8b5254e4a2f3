"""Check the first of several: a certificate passes if its first part does, whatever the others are.

Within a named check `all(... for x in xs)` asks no more about all of `xs`, which are a field of something or
a name. An empty certificate passes as before. It is named after the check.
"""

from collections.abc import Iterator

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over, numbered
from mutations.syntax import checks, may_lie

KIND = DriftKind.MISSING_CHECK
TITLE = "{function} checks {which} of the first one only."
OVER: Over = "function"
_SPEC = "\nPROTOCOL = ProtocolSpec(node=Pbft, liars=most_liars)\n"
EXAMPLES = tuple(
    (f"\nclass Pbft(Node):\n{before}{_SPEC}", f"\nclass Pbft(Node):\n{after}{_SPEC}")
    for before, after in (
        (
            """
    def is_stable(self, proof):
        return holds(proof_verifies=all(self.verify(m) for m in proof))
""",
            """
    def is_stable(self, proof):
        return holds(proof_verifies=all(self.verify(m) for m in proof[:1]))
""",
        ),
        (
            """
    def handle_decision(self, m):
        if holds(precommits_verify=all(map(self.verify, m.precommits))):
            self.conclude(m)
""",
            """
    def handle_decision(self, m):
        if holds(precommits_verify=all(map(self.verify, m.precommits[:1]))):
            self.conclude(m)
""",
        ),
        (
            """
    def count(self, m):
        return holds(enough=len(m.precommits) > 3) and all(x.valid for x in m.precommits)
""",
            """
    def count(self, m):
        return holds(enough=len(m.precommits) > 3) and all(x.valid for x in m.precommits)
""",
        ),
    )
)


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    if not may_lie(module):
        return iter(())
    named = checks(function)
    found = [(name, many) for node, name in named.items() if (many := _all_of(node)) is not None]
    return numbered((name, ((many, _first(many)),)) for name, many in found)


def _all_of(node: cst.CSTNode) -> cst.BaseExpression | None:
    """What all of is asked about."""
    match node:
        case cst.Call(func=cst.Name(value="all"), args=[cst.Arg(value=asked)]):
            pass
        case _:
            return None
    match asked:
        case cst.GeneratorExp(for_in=cst.CompFor(iter=many)) | cst.ListComp(for_in=cst.CompFor(iter=many)):
            return many if isinstance(many, cst.Name | cst.Attribute) else None
        case cst.Call(func=cst.Name(value="map"), args=[_, cst.Arg(value=many)]):
            return many if isinstance(many, cst.Name | cst.Attribute) else None
        case _:
            return None


def _first(many: cst.BaseExpression) -> cst.BaseExpression:
    one = cst.SubscriptElement(cst.Slice(lower=None, upper=cst.Integer("1")))
    return cst.Subscript(many, [one])
