"""What can reach a digest walks no set, asks no clock and calculates in integers. The tidy test bans the plain cases
everywhere; here the code is followed: which names hold sets, and which modules a run imports."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BANNED = {"random", "secrets", "uuid", "time", "datetime", "platform", "socket", "getpass", "locale", "tempfile"}
ORDERLY = {"sorted", "set", "frozenset", "len", "sum", "any", "all", "min", "max"}  # what they say needs no order
ORDERED = {"list", "tuple", "iter", "enumerate", "zip", "map", "next", "reversed", "dict"}  # what they say has one
SETS = {"set", "frozenset"}
MAKES_SETS = ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor

KERNEL = ("api", "clock", "disk", "fault", "keys", "schedule", "script", "swarm", "values", "world")
FLOATS = {  # (module, code) -> why it may be a float
    ("protosim/keys.py", "(i + 0.5) / SIZE"): "a table of integers is made of it once, and a test pins the table",
}


def reached() -> list[str]:
    """The modules that a run may execute, by path: what `protosim.run` imports, and all that it loads by name."""
    found: list[str] = []
    waiting = ["protosim/run.py"]
    for package in ("protocols", "schedulers", "faults"):
        waiting += sorted(str(path.relative_to(ROOT)) for path in (ROOT / package).rglob("*.py"))
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.append(path)
            waiting += imports(ast.parse((ROOT / path).read_text("utf-8")))
    return sorted(found)


def imports(tree: ast.AST) -> Iterator[str]:
    """Paths of the modules of ours that it imports, in a function or at the top."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            path = f"{name.replace('.', '/')}.py"
            if (ROOT / path).exists():
                yield path


MODULES = reached()


def trees(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text("utf-8"), path)


# -- Sets --------------------------------------------------------------------------------------------


class Sets:
    """Which expressions of a module are sets: by their annotations, and by what they are assigned from."""

    def __init__(self, tree: ast.AST) -> None:
        self.names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation and self._annotated(node.annotation):
                self.names.add(node.arg if isinstance(node, ast.arg) else ast.unparse(node.target))
            if isinstance(node, ast.FunctionDef) and node.returns and self._annotated(node.returns):
                self.names.add(f"{node.name}()")
        for _ in range(3):  # names that are assigned from names
            for node in ast.walk(tree):
                if isinstance(node, ast.Assign) and self.holds(node.value):
                    self.names |= {ast.unparse(target) for target in node.targets}

    def _annotated(self, annotation: ast.expr) -> bool:
        return ast.unparse(annotation).split("[")[0].strip("'\"") in SETS

    def holds(self, x: ast.AST) -> bool:
        if isinstance(x, ast.Set | ast.SetComp):
            return True
        if isinstance(x, ast.Call):
            called = ast.unparse(x.func)
            return called in SETS or f"{called.rpartition('.')[2]}()" in self.names
        if isinstance(x, ast.BinOp) and isinstance(x.op, MAKES_SETS):
            return self.holds(x.left) or self.holds(x.right)
        if isinstance(x, ast.IfExp):
            return self.holds(x.body) or self.holds(x.orelse)
        if isinstance(x, ast.Name | ast.Attribute):
            name = ast.unparse(x)
            return name in self.names or name.rpartition(".")[2] in self.names
        return False


def walks_of_sets(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, code) of everything that takes the members of a set in the order in which they happen to be."""
    sets = Sets(tree)
    harmless = {
        id(argument) for node in ast.walk(tree) if _called(node) in ORDERLY for argument in getattr(node, "args", ())
    }
    for node in ast.walk(tree):
        walked: list[ast.expr] = []
        if isinstance(node, ast.For):
            walked = [node.iter]
        elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp) and id(node) not in harmless:
            walked = [generator.iter for generator in node.generators]
        elif isinstance(node, ast.Starred):
            walked = [node.value]
        elif isinstance(node, ast.Call) and (_called(node) in ORDERED or _called(node).endswith(".join")):
            walked = list(node.args)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pop":
            walked = [node.func.value] if not node.args else []
        for x in walked:
            if sets.holds(x) and id(node) not in harmless:
                yield x.lineno, ast.unparse(node).split("\n")[0]


def _called(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


@pytest.mark.parametrize("path", MODULES)
def test_no_set_is_walked_where_a_digest_can_tell(path: str) -> None:
    found = [f"{path}:{line}: {code}" for line, code in walks_of_sets(trees(path))]
    assert found == [], "the order of a set differs from process to process: walk sorted(...), or keep a dict"


@pytest.mark.parametrize(
    "code",
    [
        "for x in {1, 2}: pass",
        "for x in set(y): pass",
        "def f(y: set[int]):\n for x in y: pass",
        "class A:\n votes: set[str]\n def f(self):\n  for x in self.votes: pass",
        "x = set(y)\nz = list(x)",
        "x = {a for a in y}\nz = [b for b in x]",
        "x: frozenset[int] = y\nz = tuple(x)",
        "x = set(y)\nz = x\nw = ','.join(z)",
        "x = set(y)\nx.pop()",
        "x = set(y)\nz = next(iter(x))",
        "x = set(y)\nz = [*x]",
        "x = set(y)\nz = {b: 1 for b in x}",
        "x = set(y)\nfor z in x - {1}: pass",
        "def peers() -> set[str]: ...\nfor x in peers(): pass",
        "x = set(y)\nz = list(map(f, x))",
    ],
)
def test_a_walk_of_a_set_is_noticed(code: str) -> None:
    assert list(walks_of_sets(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "x = set(y)\nz = sorted(x)",
        "x = set(y)\nz = len(x), 1 in x",
        "x = set(y)\nz = sum(f(a) for a in x)",
        "x = set(y)\nz = {a + 1 for a in x}",
        "x = set(y)\nz = any(a for a in x)",
        "x = [1]\nfor z in x: pass\nx.pop()",
        "x = set(y)\nfor z in sorted(x): pass",
    ],
)
def test_what_needs_no_order_is_let_through(code: str) -> None:
    assert not list(walks_of_sets(ast.parse(code)))


# -- Clocks, random numbers and floats ---------------------------------------------------------------


@pytest.mark.parametrize("path", MODULES)
def test_a_run_asks_no_clock_and_draws_no_random_number(path: str) -> None:
    for node in ast.walk(trees(path)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        banned = BANNED & {name.partition(".")[0] for name in names}
        assert not banned, f"{path} can reach a digest: decide by protosim.keys, and take the time from the world"


DECIDING = [
    *(path for path in MODULES if path.startswith(("protocols/", "schedulers/", "faults/"))),
    *(f"protosim/{name}.py" for name in KERNEL),
]


@pytest.mark.parametrize("path", DECIDING)
def test_what_decides_calculates_in_integers(path: str) -> None:
    for line, code in floats(trees(path)):
        assert (path, code) in FLOATS, f"{path}:{line}: {code}: rounding differs between machines; use integers and //"


def floats(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, code) of float literals and true divisions, the outermost ones, but those of texts for people."""
    for node in ast.iter_child_nodes(tree):
        divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        if divides or (isinstance(node, ast.Constant) and type(node.value) is float):
            assert isinstance(node, ast.expr)
            yield node.lineno, ast.unparse(node)
        elif not isinstance(node, ast.JoinedStr):
            yield from floats(node)


def test_a_float_is_noticed() -> None:
    code = "x = (y + 0.5) / 2\nz = f(0.5)\nw = y // 2\nv = f'{y / 2:g}'"
    assert [found for _, found in floats(ast.parse(code))] == ["(y + 0.5) / 2", "0.5"]


def test_what_a_run_reaches_is_found_through_its_imports() -> None:
    for path in ("protosim/world.py", "protosim/values.py", "protosim/disk.py", "protocols/raft.py", "faults/crash.py"):
        assert path in MODULES
    assert "protosim/doctor.py" not in MODULES


def test_the_lists_of_exceptions_name_what_is_there() -> None:
    for path, code in FLOATS:
        assert code in [found for _, found in floats(trees(path))], f"{path} has no {code} any more"
