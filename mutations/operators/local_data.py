"""Use local data: the union, the greatest or the least of what several said becomes what one has.

`max(mine, theirs)` and `mine | theirs` become the node's own part, which is the one that mentions
`self`, or the first; the greatest of many answers becomes the first of them, and `mine |= theirs` or
`mine.update(theirs)` is left out. What is dropped came in with a message or is one of many. The site
is named after the check or the variable that the result is for.
"""

from collections.abc import Iterator, Sequence

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over, numbered
from mutations.syntax import Exchange, attribute, checks, names_in, nodes, parameters

KIND = DriftKind.STALE_DATA_ACCEPTED
TITLE = "{function} uses what one has instead of what all said for {which}."
OVER: Over = "function"
EXAMPLES = (
    (
        """
def handle_appended(self, src, m):
    self.match[src] = max(self.match[src], m.match)
""",
        """
def handle_appended(self, src, m):
    self.match[src] = self.match[src]
""",
    ),
    (
        """
def choose(self, proposed):
    best = max(self.promises.values(), key=ballot_of, default=None)
    return best or proposed
""",
        """
def choose(self, proposed):
    best = next(iter(self.promises.values()), None)
    return best or proposed
""",
    ),
    (
        """
def handle_log(self, src, m):
    self.known |= m.known
    self.start_round(self.mine | m.known)
""",
        """
def handle_log(self, src, m):
    self.known |= m.known
    self.start_round(self.mine)
""",
    ),
    (
        """
def handle_log(self, src, m):
    self.known.update(m.known)
""",
        """
def handle_log(self, src, m):
    pass
""",
    ),
    (
        """
def back_off(self, peer):
    self.next[peer] = max(1, self.next[peer] - 1)
""",
        """
def back_off(self, peer):
    self.next[peer] = max(1, self.next[peer] - 1)
""",
    ),
)

_CHOICES = ("max", "min")


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    heard = parameters(function) | _loop_variables(function)
    named = _assigned(function) | checks(function)
    found = [(node, exchanges) for node in nodes(function) if (exchanges := _local(node, heard))]
    return numbered((named.get(node, ""), exchanges) for node, exchanges in found)


def _loop_variables(function: cst.FunctionDef) -> set[str]:
    loops = [node for node in nodes(function) if isinstance(node, cst.For | cst.CompFor)]
    return {name for loop in loops for name in names_in(loop.target)}


def _assigned(function: cst.FunctionDef) -> dict[cst.CSTNode, str]:
    """What stands inside of an assigned value, and what it is assigned to; a statement that extends something."""
    named: dict[cst.CSTNode, str] = {}
    for node in nodes(function):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                named |= dict.fromkeys(nodes(value), _last_name(target))
            case cst.SimpleStatementLine(body=[cst.AugAssign(target=target)]):
                named[node] = _last_name(target)
            case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call(func=cst.Attribute(value=target)))]):
                named[node] = _last_name(target)
            case _:
                pass
    return named


def _last_name(target: cst.BaseExpression) -> str:
    """`match` of `self.match[src]`."""
    while isinstance(target, cst.Subscript):
        target = target.value
    match target:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
        case _:
            return ""


def _local(node: cst.CSTNode, heard: set[str]) -> tuple[Exchange, ...]:
    match node:
        case cst.Call(func=cst.Name(value=name), args=args) if name in _CHOICES:
            value = _one_of(args, heard)
        case cst.BinaryOperation(left=left, operator=cst.BitOr(), right=right):
            value = _own([left, right], heard)
        case cst.Call(func=cst.Attribute(value=left, attr=cst.Name(value="union")), args=[cst.Arg(value=right)]):
            value = _own([left, right], heard)
        case cst.SimpleStatementLine(body=[only]):
            return ((node, cst.RemovalSentinel.REMOVE),) if _collects(only, heard) else ()
        case _:
            return ()
    return ((node, value),) if value is not None else ()


def _collects(statement: cst.BaseSmallStatement, heard: set[str]) -> bool:
    """Whether what was heard is added to a field."""
    match statement:
        case cst.AugAssign(target=target, operator=cst.BitOrAssign(), value=theirs):
            return bool(attribute(target) and names_in(theirs) & heard)
        case cst.Expr(
            value=cst.Call(
                func=cst.Attribute(value=target, attr=cst.Name(value="update")), args=[cst.Arg(value=theirs)]
            )
        ):
            return bool(attribute(target) and names_in(theirs) & heard)
        case _:
            return False


def _one_of(args: Sequence[cst.Arg], heard: set[str]) -> cst.BaseExpression | None:
    plain = [arg.value for arg in args if arg.keyword is None and not arg.star]
    if len(plain) > 1:
        return _own(plain, heard)
    if len(plain) != 1:
        return None
    many = plain[0].with_changes(lpar=[], rpar=[])
    if isinstance(many, cst.GeneratorExp):
        first: cst.BaseExpression = many.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    else:
        first = cst.Call(cst.Name("iter"), [cst.Arg(many)])
    default = [cst.Arg(arg.value) for arg in args if arg.keyword is not None and arg.keyword.value == "default"]
    return cst.Call(cst.Name("next"), [cst.Arg(first), *default])


def _own(parts: Sequence[cst.BaseExpression], heard: set[str]) -> cst.BaseExpression | None:
    ours = [part for part in parts if "self" in names_in(part)]
    kept = (ours or parts)[0]
    dropped = [part for part in parts if part is not kept]
    if not all(names_in(part) for part in parts) or not any(names_in(part) & heard for part in dropped):
        return None  # a literal is a bound, nothing that somebody said
    return kept
