"""Reading a source: its definitions, its nodes, and exchanging some for others."""

import ast
import functools
from collections.abc import Iterator, Sequence

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
        return any(isinstance(n, cst.Name) and n.value in self.observers for n in names)


def functions(module: cst.Module) -> Iterator[tuple[str, cst.FunctionDef]]:
    """The protocol's functions by dotted name: all but those of observers."""
    for definition in definitions(module):
        if isinstance(definition.node, cst.FunctionDef) and not definition.observes:
            yield definition.name, definition.node


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


def nodes(root: cst.CSTNode, *, nested: bool = False) -> list[cst.CSTNode]:
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
    untouched = [d.node for d in definitions(module) if not _overlap(d.name, scope)]
    dressed = [(old, _dressed(old, new)) for old, new in exchanges]
    safe = [(old, _parenthesised(new)) for old, new in dressed]
    if safe == dressed:
        return module.visit(_Exchanger(dressed, untouched)).code
    text = module.visit(_Exchanger(safe, untouched)).code
    try:
        bare = module.visit(_Exchanger(dressed, untouched)).code
        return bare if ast.dump(ast.parse(bare)) == ast.dump(ast.parse(text)) else text
    except (cst.CSTValidationError, SyntaxError):
        return text


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
