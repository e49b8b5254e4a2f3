"""Who watches the watchers? Whatever is changed in the invariants' code, a history or a run tells the difference."""

import ast
import copy
import inspect
import json
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import attrs
import pytest

import protocols.raft
from protocols.raft import Figure3
from protosim.program import Program
from protosim.run import simulate
from protosim.scenario import Scenario
from tests.biting import without
from tests.raft.broken import BREAKS, CHAOS, GOLDEN, HEALING, golden, outcome, program, run, scenario, search
from tests.raft.test_invariants import TALES, A, B, History, Tale, answered, committed

METHODS = [name for name, method in vars(Figure3).items() if hasattr(method, "_invariant")] + ["count_progress"]


def test_each_method_has_a_raft_that_breaks_by_it(rewrite: bool) -> None:
    if rewrite:
        GOLDEN.write_text(json.dumps({method: search(method) for method in BREAKS}, indent=1) + "\n", "utf-8")
    assert list(golden()) == list(BREAKS)
    assert sorted(BREAKS) == sorted(METHODS)


@pytest.mark.parametrize("method", BREAKS)
def test_the_broken_raft_breaks_as_it_did(method: str) -> None:
    kept = golden()[method]
    told = outcome(run(method, kept["seed"]))
    assert [told.violation, told.warning, list(told.missed)] == [kept["violation"], kept["warning"], kept["missed"]]


@pytest.mark.parametrize("method", BREAKS)
def test_the_silence_of_a_single_method_is_noticed(method: str) -> None:
    seed = golden()[method]["seed"]
    assert outcome(run(method, seed, without(Figure3, method))) != outcome(run(method, seed))


# -- Mutations of the invariants' own code -----------------------------------------------------------

NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
SHIFTED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}

EQUIVALENT: dict[str, str] = {}  # what may survive, and why it is the same


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """What could stand in the place of this node of the code."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for table in (NEGATED, SHIFTED):
            if type(node.ops[0]) in table:
                yield ast.Compare(node.left, [table[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) and not _is_docstring(node):
        yield ast.Pass()


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class Exchange(ast.NodeTransformer):
    """Puts something else in the place of one node."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return ast.copy_location(self.new, node) if node is self.old else self.generic_visit(node)


def changes() -> Iterator[tuple[str, ast.Module]]:
    """Each change of one place in Figure3 and in what it calls: its name, and the module with it."""
    whole = ast.parse(inspect.getsource(protocols.raft))
    seen: dict[str, int] = {}
    for place, (method, node) in enumerate(judging(whole)):
        for variant in variants(node):
            says = f"{method}: {ast.unparse(node)} -> {ast.unparse(variant)}"
            seen[says] = seen.get(says, 0) + 1
            twin = copy.deepcopy(whole)
            _, old = list(judging(twin))[place]
            changed: ast.Module = Exchange(old, variant).visit(twin)
            yield says if seen[says] == 1 else f"{says} ({seen[says]})", ast.fix_missing_locations(changed)


def judging(whole: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """(function, node) for the code that judges: not the sentences, not the history of an empty run."""
    for definition in whole.body:
        if not isinstance(definition, ast.ClassDef) or definition.name != "Figure3":
            continue
        for function in definition.body:
            if isinstance(function, ast.FunctionDef) and function.name != "begin":
                for statement in function.body:
                    yield from ((function.name, node) for node in _but_texts(statement))


def _but_texts(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.JoinedStr):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _but_texts(child)


def observer_of(tree: ast.Module) -> type[Figure3]:
    module = types.ModuleType("changed_raft")
    sys.modules["changed_raft"] = module
    try:
        exec(compile(tree, "changed_raft", "exec"), module.__dict__)
    finally:
        del sys.modules["changed_raft"]
    changed: type[Figure3] = module.Figure3
    return changed


Question = Callable[[], object]


def questions(observer: type[Figure3]) -> Iterator[Question]:
    """Everything that the tests ask of an observer, the quick questions first."""
    tales: list[Tale] = [tale for _, *pair in TALES for tale in pair]
    unlucky = [partial(unanswered, who=who, later=later) for who in ("n1", "n2", "") for later in (1, 2)]
    for tale in [*tales, answered, progress, *unlucky, overtaken]:
        yield partial(heard, tale, observer)
    for method in BREAKS:
        yield partial(judged, program(BREAKS[method]), scenario(method, golden()[method]["seed"]), observer)
    for seed in range(4):
        which = attrs.evolve(HEALING if seed == 0 else CHAOS, seed=seed, nodes=5 if seed > 1 else 3)
        yield partial(judged, program(""), which, observer)


def heard(tale: Tale, observer: type[Figure3]) -> object:
    history = tale(History(observer))
    return history.broken, history.sentences, sorted(history.reached)


def judged(raft: Program, which: Scenario, observer: type[Figure3]) -> object:
    return outcome(simulate(raft, which, observers=(observer,), digest=False))


def progress(history: History) -> History:
    committed(history).healed_at = 1
    return history.answers("n1", A).end()


def unanswered(history: History, who: str, later: int = 1) -> History:
    """n1 led term 1; it is asked, and answers, before the faults end; then `who` is, and nobody answers."""
    committed(history).term(later, "n3")
    history.asks("n1", A).answers("n1", A).healed_at = 1
    return history.asks(who, B).end() if who else history.end()


def overtaken(history: History) -> History:
    """n1 is asked, and then n2 leads, whom nobody asks."""
    committed(history).healed_at = 1
    return history.asks("n1", B).term(2).leads("n2", 2).end()


def answer(question: Question) -> object:
    """What the observer says; an error is an answer too."""
    try:
        return question()
    except Exception as error:
        return type(error)


def survives(observer: type[Figure3], expected: list[object]) -> bool:
    return all(answer(question) == kept for question, kept in zip(questions(observer), expected, strict=True))


def test_every_change_of_the_invariants_own_code_is_noticed() -> None:
    expected = [answer(question) for question in questions(Figure3)]
    survivors = [name for name, tree in changes() if survives(observer_of(tree), expected)]
    assert sorted(survivors) == sorted(EQUIVALENT), "cover a change by a history, or say why it is the same"
