"""Candidates for the tests: the reference or the handed-out source, with something added."""

import functools
from pathlib import Path

import attrs
import pytest

import protosim.score
from mutations import engine, find
from protosim.program import reference
from protosim.score import Result, handed_out, score
from protosim.score.candidates import short
from protosim.score.suite import Suite, Task, load_suite, load_task, secret

TASK = "fix_raft_safety"
REFERENCE = reference("raft").source
BUGS = load_task(TASK).bugs


def drifted() -> str:
    return handed_out(TASK)


@functools.cache
def with_bugs(*bugs: str) -> str:
    """The reference with these bugs, which stand in the task's order."""
    if not bugs:
        return REFERENCE
    *others, last = bugs
    source = with_bugs(*others)
    return engine.apply(source, find("raft", last, source))


def proper_subsets() -> list[tuple[str, ...]]:
    """Every set of bugs that a partial repair can leave."""
    return short(load_task(TASK))


def judge(source: str | bytes, folder: Path, task: str = TASK) -> Result:
    file = folder / "candidate.py"
    file.write_bytes(source if isinstance(source, bytes) else source.encode())
    return score(task, file)


def shorten(patch: pytest.MonkeyPatch, tests: int, kinds: tuple[str, ...], name: str = TASK) -> None:
    """Score with the first hidden tests alone, and of these only runs of some kinds."""
    task = attrs.evolve(load_task(name), tests=tests)
    whole = load_suite(name, secret())
    recipes = task.recipes()
    runs = [r for r in whole.runs if r.test <= tests and recipes[r.recipe].kind in kinds]
    suite = attrs.evolve(whole, runs=tuple(runs))

    def short_task(_: str) -> Task:
        return task

    def short_suite(*_: object) -> Suite:
        return suite

    patch.setattr(protosim.score, "load_task", short_task)
    patch.setattr(protosim.score, "load_suite", short_suite)
