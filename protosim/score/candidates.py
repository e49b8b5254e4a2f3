"""Candidates whose verdicts are known: what a task's judge is tried on.

The reference; what is handed out, with an edit and without; what does nothing; and every repair that falls short: of a
`fix` task each proper subset of the fixes, of an `impl` task each wrong body by itself.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Literal

import attrs

from mutations import catalogue
from mutations import golang as mutated
from protosim.program import reference
from protosim.score import golang, handed_out
from protosim.score.calibrate import subsets
from protosim.score.suite import Task

Due = Literal["solved", "unmodified", "inert", "idle", "refused", "named"]
"""What the judge must say: solved; no repair; nothing repaired; nothing done; no program; which bugs are left."""

LANGUAGES = ("python", "go")

INERT = "\nREPAIRED = True\n"
IDLE = """
for silent in (PROTOCOL.node, PROTOCOL.client):
    if silent is not None:
        silent.receive = silent.request = lambda self, *_: None
        silent.TIMERS = dict.fromkeys(silent.TIMERS, lambda self: None)
"""
TIMEOUT = re.compile(r"^func \(\w+ \*\w+\) Timeout\((\w+) step\.Timer\) \{\n", re.MULTILINE)
HANDLER = re.compile(r"^(func \(\w+ \*\w+\) (?:Receive|Timeout|Request)\(.*\)) \{(.*)$", re.MULTILINE)


@attrs.frozen(kw_only=True)
class Candidate:
    """One source, and what is due to it."""

    name: str
    language: str  # of LANGUAGES
    source: str
    due: Due
    left: tuple[str, ...] = ()  # named: the bugs that it has


def languages(task: Task) -> list[str]:
    """Those in which it can be answered."""
    return [name for name in LANGUAGES if name != "go" or golang.is_known(task.protocol)]


def candidates(task: Task, language: str) -> Iterator[Candidate]:
    """All of them, the reference first. Raises UserError where Go is missing."""
    given, whole = handed_out(task.name, language), reference_of(task, language)
    inert, idle = (inert_go(given), idle_go(whole)) if language == "go" else (given + INERT, whole + IDLE)
    yield Candidate(name="reference", language=language, source=whole, due="solved")
    yield Candidate(name="handed out", language=language, source=given, due="unmodified")
    yield Candidate(name="handed out, with an edit that repairs nothing", language=language, source=inert, due="inert")
    yield Candidate(name="does nothing", language=language, source=idle, due="idle")
    yield Candidate(name="empty", language=language, source="", due="refused")
    for left, source in short_of(task, language):
        yield Candidate(name=" + ".join(left), language=language, source=source, due="named", left=left)


def short(task: Task) -> list[tuple[str, ...]]:
    """The bugs that a candidate may have left: all proper subsets; of an `impl` task one wrong body at a time."""
    sizes = range(1, len(task.bugs)) if task.kind == "fix" else [1]
    return [left for size in sizes for left in itertools.combinations(task.bugs, size)]


def reference_of(task: Task, language: str) -> str:
    return golang.reference(task.protocol) if language == "go" else reference(task.protocol).source


def short_of(task: Task, language: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Their sources, too."""
    if language == "python":
        sources = subsets(task)
        yield from ((left, sources[frozenset(left)]) for left in short(task))
        return
    known, whole = catalogue.load(task.protocol), golang.reference(task.protocol)
    for left in short(task):
        yield left, mutated.apply_all(whole, [known[bug] for bug in left])


def inert_go(source: str) -> str:
    """With an edit that the compiler cannot leave out, and that changes nothing: there is no timer of this name."""
    return TIMEOUT.sub(r'\g<0>\tif \1 == "none" {\n\t\tpanic("none")\n\t}\n', source, count=1)


def idle_go(source: str) -> str:
    """With handlers that do nothing."""

    def emptied(found: re.Match[str]) -> str:
        return f"{found[1]} {{}}" if found[2] else f"{found[1]} {{\n\tif true {{\n\t\treturn\n\t}}"

    return HANDLER.sub(emptied, source)
