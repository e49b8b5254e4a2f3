"""Reading a source: its definitions, its nodes, and exchanging some for others."""

import ast
import functools
import types
from collections.abc import Callable, Iterator, Sequence

import attrs
import libcst as cst

from mutations.entry import nearest
from protosim.errors import UserError

Scope = cst.FunctionDef | cst.ClassDef | cst.Module
Replacement = cst.CSTNode | cst.FlattenSentinel[cst.BaseStatement] | cst.RemovalSentinel
Place = tuple[cst.IndentedBlock, int]
"""A statement, as a block and the index in its body."""
Exchange = tuple[cst.CSTNode, Replacement]
"""A node of the parsed module (that very object), and what takes its place; libcst writes `pass`
into a block that has nothing left."""


@functools.lru_cache(maxsize=4)  # the tree is immutable, and mutants come by the dozen
def parse(source: str) -> cst.Module:
    why = why_not_python(source)
    if why:
        raise UserError(f"the source is not Python: {why}.")
    module = cst.parse_module(source)
    if module.code != source:
        raise UserError(
            "the source holds a form feed or a lone carriage return, which an edit would lose; "
            "remove it."
        )
    return module


def why_not_python(source: str) -> str:
    """What CPython has against the source, and where; empty if it compiles."""
    try:
        compile(source, "protocol", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"{error.msg} (line {error.lineno})"
    except (ValueError, RecursionError) as error:  # a null byte, before 3.12; too deeply nested
        return str(error)
    return ""


# -- Definitions -----------------------------------------------------------------------------------


@attrs.frozen
class Definition:
    """A function or class. Several may share a name: the getter and the setter of a property."""

    name: str  # dotted: "Raft.start"
    node: cst.FunctionDef | cst.ClassDef
    observes: bool  # belongs to an Observer, so it judges the protocol and is no part of it


@functools.lru_cache(maxsize=4)
def definitions(module: cst.Module) -> Sequence[Definition]:
    """All of them, in the order of the file."""
    visitor = _Definitions()
    module.visit(visitor)
    return visitor.found


class _Definitions(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Definition] = []
        self.outer: list[Definition] = []
        self.observers = ["Observer"]

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._enter(node)
        return not isinstance(node, cst.BaseExpression | cst.BaseSmallStatement | cst.Decorator)

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self.outer.pop()

    def _enter(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        observes = bool(self.outer) and self.outer[-1].observes
        if isinstance(node, cst.ClassDef) and self._is_observer(node):
            self.observers.append(node.name.value)
            observes = True
        dotted = f"{self.outer[-1].name}.{node.name.value}" if self.outer else node.name.value
        self.outer.append(Definition(dotted, node, observes))
        self.found.append(self.outer[-1])

    def _is_observer(self, node: cst.ClassDef) -> bool:
        bases = [base.value for base in node.bases]
        names = [b.attr if isinstance(b, cst.Attribute) else b for b in bases]
        return _promises(node) or any(isinstance(n, cst.Name) and n.value in self.observers for n in names)


def _promises(node: cst.ClassDef) -> bool:
    """Whether a method is marked as an invariant or a goal: the class may extend an observer of another file."""
    marks = [d.decorator for method in methods(node) for d in method.decorators]
    called = [mark.func for mark in marks if isinstance(mark, cst.Call)]
    return any(isinstance(name, cst.Name) and name.value in _PROMISES for name in called)


_PROMISES = ("always", "warning", "sometimes", "eventually")


def functions(module: cst.Module) -> Iterator[tuple[str, cst.FunctionDef]]:
    """The protocol's functions by dotted name: not those of what judges it, nor those that spell something."""
    for definition in definitions(module):
        spells = definition.node.name.value in ("__str__", "__repr__")
        if isinstance(definition.node, cst.FunctionDef) and _is_protocol(definition, module) and not spells:
            yield definition.name, definition.node


def classes(module: cst.Module) -> Iterator[tuple[str, cst.ClassDef]]:
    """The protocol's classes by dotted name: not those that judge it."""
    for definition in definitions(module):
        if isinstance(definition.node, cst.ClassDef) and _is_protocol(definition, module):
            yield definition.name, definition.node


def _is_protocol(definition: Definition, module: cst.Module) -> bool:
    own = used(module)
    return not definition.observes and (not own or definition.name.partition(".")[0] in own)


PARTS = ("node", "client", "disk", "switches", "application")  # of a ProtocolSpec: what an edit may change


@functools.lru_cache(maxsize=4)
def used(module: cst.Module) -> list[str]:
    """What a protocol is made of, by name: all that the parts of its ProtocolSpec come to. What judges it is not among
    it, nor is the workload. Empty if there is no ProtocolSpec."""
    by_name = _by_name(module)
    found = [name for part in PARTS if part in spec(module) for name in sorted(names_in(spec(module)[part]))]
    for name in found:  # grows while it is read
        if name in by_name:
            found += [other for other in sorted(names_in(by_name[name])) if other not in found]
    return found


@functools.lru_cache(maxsize=4)
def spec(module: cst.Module) -> dict[str, cst.BaseExpression]:
    """What the module's ProtocolSpec is given, by keyword; nothing if it has none."""
    line = _by_name(module).get("PROTOCOL")
    calls = [node for node in nodes(line) if isinstance(node, cst.Call)] if line is not None else []
    return {arg.keyword.value: arg.value for call in calls for arg in call.args if arg.keyword is not None}


@functools.lru_cache(maxsize=4)
def may_lie(module: cst.Module) -> bool:
    """Whether nodes of the protocol may be Byzantine: its ProtocolSpec says how many, or something is signed."""
    marks = [mark.decorator for definition in definitions(module) for mark in definition.node.decorators]
    return "liars" in spec(module) or any(isinstance(mark, cst.Name) and mark.value == "signed" for mark in marks)


def is_budget(node: cst.CSTNode, module: cst.Module) -> bool:
    """Whether this is how many nodes may be Byzantine: `f`, `self.f`, or what the ProtocolSpec gives for it, called."""
    match node:
        case cst.Name(value="f") | cst.Attribute(attr=cst.Name(value="f")):
            return may_lie(module)
        case cst.Call(func=cst.Name(value=name)):
            return "liars" in spec(module) and name in names_in(spec(module)["liars"])
        case _:
            return False


def _by_name(module: cst.Module) -> dict[str, cst.CSTNode]:
    return {name: statement for statement in module.body for name in _bound(statement)}


def _bound(statement: cst.CSTNode) -> list[str]:
    """The names that a statement of the module defines."""
    match statement:
        case cst.FunctionDef(name=name) | cst.ClassDef(name=name):
            return [name.value]
        case cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))])]):
            return [name]
        case _:
            return []


def methods(owner: cst.ClassDef) -> list[cst.FunctionDef]:
    return [node for node in owner.body.body if isinstance(node, cst.FunctionDef)]


def full_name(name: str, names: Sequence[str]) -> str:
    """The dotted name, one of `names`, that `name` stands for; a bare name must be unambiguous.
    The empty name is that of the module."""
    if not name or name in names:
        return name
    matches = [n for n in dict.fromkeys(names) if n.endswith(f".{name}")]
    if not matches:
        raise UserError(f"the source defines no {name}{nearest(name, names)}.")
    if len(matches) > 1:
        raise UserError(f"{name} may be {' or '.join(matches)}; name one of them.")
    return matches[0]


def short_name(name: str, names: Sequence[str]) -> str:
    """The bare name where that is unambiguous among the dotted `names`."""
    bare = name.rpartition(".")[2]
    owners = [n for n in dict.fromkeys(names) if n.rpartition(".")[2] == bare]
    return bare if len(owners) == 1 else name


# -- Nodes -----------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1 << 14)  # every operator asks for those of every function
def nodes(root: cst.CSTNode, *, nested: bool = False) -> Sequence[cst.CSTNode]:
    """`root` and what is below it, in order; without `nested`, not into the definitions in it."""
    visitor = _Nodes(root, nested)
    root.visit(visitor)
    return visitor.found


class _Nodes(cst.CSTVisitor):
    def __init__(self, root: cst.CSTNode, nested: bool) -> None:
        super().__init__()
        self.root = root
        self.nested = nested
        self.found: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        definition = isinstance(node, cst.FunctionDef | cst.ClassDef)
        if definition and node is not self.root and not self.nested:
            return False
        self.found.append(node)
        return True


def self_call(node: cst.CSTNode) -> str:
    """`sync` for the call `self.sync(...)`; empty for any other node."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        owner = node.func.value
        if isinstance(owner, cst.Name) and owner.value == "self":
            return node.func.attr.value
    return ""


def attribute(node: cst.CSTNode, owner: str = "self") -> str:
    """`votes` for `self.votes`, or what is asked of another owner; empty for any other node."""
    match node:
        case cst.Attribute(value=cst.Name(value=name), attr=attr) if name == owner:
            return attr.value
        case _:
            return ""


def disk_field(node: cst.CSTNode) -> str:
    """`term` for `self.disk.term`; empty for any other node."""
    match node:
        case cst.Attribute(value=value, attr=attr) if attribute(value) == "disk":
            return attr.value
        case _:
            return ""


def names_in(node: cst.CSTNode) -> set[str]:
    """The variables that it mentions: `m` and `self` in `m.term == self.term`."""
    below = nodes(node, nested=True)
    labels = {label(n) for n in below}
    return {n.value for n in below if isinstance(n, cst.Name) and n not in labels}


def label(node: cst.CSTNode) -> cst.Name | None:
    """The name in the node that only labels something, and is no expression."""
    match node:
        case cst.Attribute(attr=name) | cst.Arg(keyword=name) | cst.Param(name=name):
            return name
        case cst.FunctionDef(name=name) | cst.ClassDef(name=name):
            return name
        case _:
            return None


def parameters(function: cst.FunctionDef) -> set[str]:
    """What a function is given, but for `self`."""
    params = function.params
    return {p.name.value for p in (*params.params, *params.kwonly_params)} - {"self"}


def is_holds(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "holds"


def checks(function: cst.FunctionDef) -> dict[cst.CSTNode, str]:
    """What stands inside of a named check of the function, and the check's name."""
    return {
        below: arg.keyword.value
        for call in nodes(function)
        if isinstance(call, cst.Call) and is_holds(call)
        for arg in call.args
        if arg.keyword is not None
        for below in nodes(arg.value)
    }


def opposite(condition: cst.BaseExpression) -> cst.BaseExpression:
    """The condition that is true where this one is not: `a` for `not a`, `a != b` for `a == b`."""
    match condition:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return inner
        case cst.Comparison(comparisons=[target]) if type(target.operator) in _OPPOSITE:
            changed = target.with_changes(operator=_OPPOSITE[type(target.operator)])
            return condition.with_changes(comparisons=[changed])
        case cst.BooleanOperation() | cst.IfExp() | cst.NamedExpr() | cst.Lambda():
            bare = condition.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
            return cst.UnaryOperation(cst.Not(), bare)
        case _:
            return cst.UnaryOperation(cst.Not(), condition)


_OPPOSITE: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
    cst.Is: cst.IsNot(),
    cst.IsNot: cst.Is(),
    cst.In: cst.NotIn(),
    cst.NotIn: cst.In(),
    cst.Equal: cst.NotEqual(),
    cst.NotEqual: cst.Equal(),
    cst.LessThan: cst.GreaterThanEqual(),
    cst.GreaterThanEqual: cst.LessThan(),
    cst.GreaterThan: cst.LessThanEqual(),
    cst.LessThanEqual: cst.GreaterThan(),
}


def blocks(root: cst.CSTNode) -> list[cst.IndentedBlock]:
    """Outer ones before inner ones; not those of definitions in `root`."""
    return [node for node in nodes(root) if isinstance(node, cst.IndentedBlock)]


def syncs(function: cst.FunctionDef) -> list[Place]:
    """Where the function has a line `self.sync()`."""
    return [
        (block, index)
        for block in blocks(function)
        for index, line in enumerate(block.body)
        if is_sync(line)
    ]


def is_sync(statement: cst.CSTNode) -> bool:
    """Whether this line is `self.sync()` and nothing else."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    only = statement.body[0]
    return isinstance(only, cst.Expr) and self_call(only.value) == "sync"


# -- Exchanging ------------------------------------------------------------------------------------


class _Exchanger(cst.CSTTransformer):
    def __init__(self, exchanges: Sequence[Exchange], untouched: Sequence[cst.CSTNode]) -> None:
        super().__init__()
        self.new = dict(exchanges)  # nodes are equal by identity only
        self.untouched = untouched

    def on_visit(self, node: cst.CSTNode) -> bool:
        return not isinstance(node, cst.FunctionDef) or node not in self.untouched

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> Replacement:
        return self.new.get(original_node, updated_node)


def exchange(module: cst.Module, scope: str, exchanges: Sequence[Exchange]) -> str:
    """The module's text with the exchanges, all in the definition `scope`, made; all else byte for
    byte. An expression gets parentheses where its new neighbours would otherwise tear it apart."""
    source = _code(module)
    part = _alone(module, scope)
    old = _indented(module, part) if part is not None else ""
    if part is None or source.count(old) != 1:  # such as two methods of one name and one text
        untouched = [d.node for d in definitions(module) if not _overlap(d.name, scope)]
        return _exchanged(exchanges, lambda made: module.visit(_Exchanger(made, untouched)).code)

    def new(made: Sequence[Exchange]) -> str:
        changed = part.visit(_Exchanger(made, ()))
        assert isinstance(changed, cst.FunctionDef)
        return _indented(module, changed)

    return source.replace(old, _exchanged(exchanges, new, "if True:\n"))


def _exchanged(exchanges: Sequence[Exchange], code: Callable[[Sequence[Exchange]], str], above: str = "") -> str:
    """The code with the exchanges, and with parentheses only where they are needed. `above` makes it Python."""
    dressed = [(old, _dressed(old, new)) for old, new in exchanges]
    safe = [(old, _parenthesised(new)) for old, new in dressed]
    text = code(safe)
    if safe == dressed:
        return text
    try:
        bare = code(dressed)
        return bare if ast.dump(ast.parse(above + bare)) == ast.dump(ast.parse(above + text)) else text
    except (cst.CSTValidationError, SyntaxError):
        return text


@functools.lru_cache(maxsize=4)
def _code(module: cst.Module) -> str:
    return module.code


def _alone(module: cst.Module, scope: str) -> cst.FunctionDef | None:
    """The method of this name, if it is the only one and stands directly in a class of the module."""
    found = [d.node for d in definitions(module) if d.name == scope]
    owner = next((d.node for d in definitions(module) if d.name == scope.rpartition(".")[0]), None)
    plain = len(found) == 1 and scope.count(".") == 1 and isinstance(owner, cst.ClassDef)
    return found[0] if plain and isinstance(found[0], cst.FunctionDef) else None


def _indented(module: cst.Module, method: cst.FunctionDef) -> str:
    """The method's code as it stands in its class."""
    around = cst.ClassDef(cst.Name("_"), cst.IndentedBlock([method]))
    return module.code_for_node(around).partition("\n")[2]


def form(module: cst.Module, scope: cst.FunctionDef | cst.ClassDef, exchanges: Sequence[Exchange] = ()) -> object:
    """The compiled form of the definition with the exchanges made: equal forms do the same."""
    changed = scope.visit(_Exchanger([(old, _parenthesised(_dressed(old, new))) for old, new in exchanges], ()))
    assert isinstance(changed, cst.CSTNode)
    text = module.code_for_node(changed)
    try:
        return compiled(compile(text, "", "exec", dont_inherit=True))
    except SyntaxError:  # it needs what is around it, such as a nonlocal variable
        return text


def compiled(code: types.CodeType) -> object:
    """What the code does, without where it stands."""
    constants = tuple(
        compiled(each) if isinstance(each, types.CodeType) else (type(each), repr(each)) for each in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    given = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return code.co_name, given, names, constants, code.co_code, code.co_exceptiontable


def _overlap(a: str, b: str) -> bool:
    """Whether one of the definitions holds the other, by their dotted names."""
    return not a or not b or f"{a}.".startswith(f"{b}.") or f"{b}.".startswith(f"{a}.")


def _dressed(old: cst.CSTNode, new: Replacement) -> Replacement:
    """An expression without parentheses takes over those of the one that it replaces."""
    if isinstance(old, cst.BaseExpression) and isinstance(new, cst.BaseExpression) and not new.lpar:
        return new.with_changes(lpar=old.lpar, rpar=old.rpar)
    return new


def _parenthesised(new: Replacement) -> Replacement:
    if not isinstance(new, cst.BaseExpression) or isinstance(new, cst.Call | cst.Name) or new.lpar:
        return new
    return new.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
