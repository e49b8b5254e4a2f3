"""What is left of a function where a condition in it always holds: no trace of the condition.

    if not holds(...): return       the statement goes
    if holds(...): body             the body stays
    return x and holds(...)         return x
    ready = holds(...)              goes, and `ready` is settled like the condition wherever it is read
    owner = self.owners.get(x)      goes, if only the condition read `owner`
"""

from collections.abc import Sequence
from typing import Any

import libcst as cst

from mutations.syntax import label, nodes

_BINDS = (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.CompFor, cst.NamedExpr)
_ENDS = (cst.Return, cst.Raise, cst.Continue, cst.Break)


def settled(function: cst.FunctionDef, condition: cst.BaseExpression) -> cst.FunctionDef:
    """The function without the condition, which is true whenever it is asked for."""
    changed = function.visit(_Settler(function, condition))
    assert isinstance(changed, cst.FunctionDef)
    while forgotten := _unread(function, changed):
        changed = changed.visit(_Forgetter(forgotten))
        assert isinstance(changed, cst.FunctionDef)
    return changed


class _Settler(cst.CSTTransformer):
    """Knows what it has settled by identity: a `True` of the source's own stays as it is."""

    def __init__(self, function: cst.FunctionDef, condition: cst.BaseExpression) -> None:
        super().__init__()
        self.true, self.false = cst.Name("True"), cst.Name("False")
        below = nodes(function, nested=True)
        line, variable = _assignment(below, condition)
        self.gone = line
        self.asked = [condition] if line is None else _reads(below, variable)
        self.elifs = [node.orelse for node in below if isinstance(node, cst.If)]
        self.opened: list[cst.BaseStatement] = []  # last statements of bodies that took the place of their `if`

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        return self._asked(original_node, updated_node)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return self._asked(original_node, updated_node)

    def _asked(self, original: cst.BaseExpression, updated: cst.BaseExpression) -> cst.BaseExpression:
        return self.true if any(original is each for each in self.asked) else updated

    def leave_UnaryOperation(
        self, original_node: cst.UnaryOperation, updated_node: cst.UnaryOperation
    ) -> cst.BaseExpression:
        negated = isinstance(updated_node.operator, cst.Not) and updated_node.expression is self.true
        return self.false if negated else updated_node

    def leave_BooleanOperation(
        self, original_node: cst.BooleanOperation, updated_node: cst.BooleanOperation
    ) -> cst.BaseExpression:
        neutral, decides = self.true, self.false
        if isinstance(updated_node.operator, cst.Or):
            neutral, decides = decides, neutral
        left, right = updated_node.left, updated_node.right
        if left is neutral or right is decides:
            return right
        return left if right is neutral or left is decides else updated_node

    def leave_IfExp(self, original_node: cst.IfExp, updated_node: cst.IfExp) -> cst.BaseExpression:
        if updated_node.test is self.true:
            return updated_node.body
        return updated_node.orelse if updated_node.test is self.false else updated_node

    def leave_If(
        self, original_node: cst.If, updated_node: cst.If
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement] | cst.RemovalSentinel:
        if updated_node.test is self.false:
            taken = updated_node.orelse
        elif updated_node.test is self.true:
            taken = cst.Else(updated_node.body)
            if isinstance(taken.body, cst.IndentedBlock):  # what stood beside the condition goes with it
                taken = cst.Else(taken.body.with_changes(header=cst.TrailingWhitespace()))
        else:
            return updated_node
        if any(original_node is each for each in self.elifs):
            return taken or cst.RemoveFromParent()  # type: ignore[return-value]  # it stands where an `else` may
        if isinstance(taken, cst.If):
            return taken.with_changes(leading_lines=updated_node.leading_lines)
        return self._opened(taken.body, updated_node.leading_lines) if taken else cst.RemoveFromParent()

    def _opened(
        self, body: cst.BaseSuite, above: Sequence[cst.EmptyLine]
    ) -> cst.FlattenSentinel[cst.BaseStatement]:
        """The body's statements, to stand where the `if` stood."""
        lines: list[Any] = list(body.body)  # of a block; of `if x: y` it is what stands on the line
        if not isinstance(body, cst.IndentedBlock):
            lines = [cst.SimpleStatementLine(lines)]
        lines[0] = lines[0].with_changes(leading_lines=(*above, *lines[0].leading_lines))
        self.opened.append(lines[-1])
        return cst.FlattenSentinel(lines)

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        """What comes after a body that has been opened and that returns is never reached."""
        for place, line in enumerate(updated_node.body, 1):
            if any(line is each for each in self.opened) and _ends(line):
                return updated_node.with_changes(body=updated_node.body[:place])
        return updated_node

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        return cst.RemoveFromParent() if original_node is self.gone else updated_node


class _Forgetter(cst.CSTTransformer):
    def __init__(self, lines: Sequence[cst.SimpleStatementLine]) -> None:
        super().__init__()
        self.lines = lines

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        return cst.RemoveFromParent() if original_node in self.lines else updated_node


def _looked_up(function: cst.FunctionDef) -> dict[str, cst.SimpleStatementLine]:
    """The lines that give a variable what is only looked up, which has no effect."""
    found: dict[str, cst.SimpleStatementLine] = {}
    for node in nodes(function, nested=True):
        match node:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)]
            ) if all(_is_look_up(below) for below in nodes(value) if isinstance(below, cst.Call)):
                found[name] = node
            case _:
                pass
    return found


def _unread(before: cst.FunctionDef, after: cst.FunctionDef) -> list[cst.SimpleStatementLine]:
    """Those of variables that nobody reads any more."""
    then, now = nodes(before, nested=True), nodes(after, nested=True)
    return [line for name, line in _looked_up(after).items() if _reads(then, name) and not _reads(now, name)]


def _is_look_up(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "get"


def _ends(line: cst.BaseStatement) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[-1], _ENDS)


def _assignment(
    below: Sequence[cst.CSTNode], condition: cst.BaseExpression
) -> tuple[cst.SimpleStatementLine | None, str]:
    """The line that gives the condition to a variable and is the only one to set it, and the variable's name."""
    for node in below:
        match node:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)]
            ) if value is condition and len(_reads(below, name)) == len(_named(below, name)) - 1:
                return node, name
            case _:
                pass
    return None, ""


def _named(below: Sequence[cst.CSTNode], name: str) -> list[cst.BaseExpression]:
    labels = {label(node) for node in below}
    return [node for node in below if isinstance(node, cst.Name) and node.value == name and node not in labels]


def _reads(below: Sequence[cst.CSTNode], name: str) -> list[cst.BaseExpression]:
    targets: list[Any] = [getattr(node, "target", None) for node in below if isinstance(node, _BINDS)]
    return [node for node in _named(below, name) if not any(node is each for each in targets)]
