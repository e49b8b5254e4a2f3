"""Score: a candidate repair against a task's hidden suite.

    score("fix_raft_safety", Path("candidate.py")).to_json()

A verdict never comes out of a process that ran candidate code: the parent holds the world and judges
(`judge`), workers hold the candidate's nodes (`worker`, `pool`) and speak frames of plain JSON (`step`). A candidate
that is a proof is read by a verifier (`proof`).
"""

import contextlib
import functools
import time
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from protosim.adapters import sandbox
from protosim.errors import UserError
from protosim.history import judged
from protosim.program import nearest, reference
from protosim.proofs import problem
from protosim.run import printable
from protosim.score import gates, gojudge, golang, proof, result
from protosim.score.gates import Refusal
from protosim.score.judge import Judge, Outcome, Progress
from protosim.score.pool import Pool, bundle, python
from protosim.score.result import Result
from protosim.score.suite import Secret, Suite, Task, load_suite, load_task, secret, tasks, trials, twice


def score(task: str, candidate: Path, *, progress: Progress | None = None) -> Result:
    """The candidate's result.

    Raises UserError for an unknown task, a file that cannot be read, a suite that is missing.
    """
    started = time.monotonic()
    if _is_proof(task):
        return attrs.evolve(proof.score(task, candidate), seconds=round(time.monotonic() - started, 3))
    what, using = load_task(task), secret()
    suite = load_suite(task, using)
    raw, language = gates.fetch(candidate), language_of(candidate)
    try:
        found = _score(what, suite, using, language, raw, progress)
    except (OSError, MemoryError) as error:
        sentence = f"the scoring machine failed: {type(error).__name__}: {error}"
        found = Result(task=task, split=using.split, stage="infra_error", sentence=sentence, score=None)
    took = round(time.monotonic() - started, 3)
    return attrs.evolve(found, language=language, isolation=sandbox.level(), seconds=took)


def score_many(
    task: str, candidates: Iterable[Path], *, progress: Progress | None = None
) -> list[Result]:
    """One result a candidate, in their order; each has workers of its own."""
    return [score(task, candidate, progress=progress) for candidate in candidates]


def rescore(task: str, saved: Mapping[str, Any]) -> Result:
    """The result of a saved run (what `to_json` gave) by the task's present formula. Nothing is run again."""
    if _is_proof(task):
        return proof.rescore(task, saved)
    what, suite = load_task(task), load_suite(task, secret())
    if saved.get("schema") != result.SCHEMA or saved.get("task") != task or not saved.get("runs"):
        raise UserError(f"This is no saved run of {task} with outcomes: a gate decided it, or it is another file.")
    if not saved["runs"].keys() <= {run.name for run in suite.runs}:
        raise UserError(f"This run of {task} was made with another suite: score the candidate again.")
    outcomes = {name: Outcome(**raw) for name, raw in saved["runs"].items()}
    given_up = saved["sentence"] if saved["stage"] == "timeout" else ""
    again = result.scored(what, suite, judged(reference(what.protocol).spec), outcomes, given_up)
    if second := saved.get("verdicts", {}).get("go_suite"):
        again = result.with_second(what, again, gojudge.Verdict(**second))
    return attrs.evolve(again, language=str(saved.get("language", "")), isolation=str(saved.get("isolation", "")))


@functools.cache
def handed_out(task: str, language: str = "python") -> str:
    """The source that the task gives out: the reference with all of its bugs, or without the bodies to be written.

    Raises UserError where the task is not known in this language.
    """
    if _is_proof(task):
        return proof.handed_out(task)
    import mutations
    from mutations import bodies, engine

    what = load_task(task)
    source = reference(what.protocol).source
    bugs = [mutations.find(what.protocol, bug, source) for bug in what.bugs]
    if language == "go":
        return golang.handed_out(what, bugs)
    if what.kind == "impl":
        return bodies.without_bodies(source, what.removed)
    return engine.apply_all(source, bugs)


def _is_proof(task: str) -> bool:
    """Whether a verifier judges it. Raises UserError if it is no task at all."""
    if problem.given(task):
        return True
    if task not in (known := [*tasks(), *problem.names()]):
        raise nearest(task, known, "task")
    return False


def _score(
    task: Task, suite: Suite, using: Secret, language: str, raw: bytes | Refusal, progress: Progress | None
) -> Result:
    trusted = reference(task.protocol)
    source = gates.read(raw) if isinstance(raw, bytes) else raw
    if isinstance(source, Refusal):
        return result.refused(task, suite.split, source)
    with _LANGUAGES[language](task, source) as pool:
        if isinstance(pool, Refusal):
            return result.refused(task, suite.split, pool)
        judge, whole = Judge(pool, trusted, progress), trials(task, suite, using)
        outcomes = judge.play_again(twice(task, whole), judge.play(whole))
        found = result.scored(task, suite, judged(trusted.spec), outcomes, judge.given_up)
        if language == "go" and not judge.given_up:
            pool.close()
            found = result.with_second(task, found, gojudge.judge(task, using, pool.launch))
    return found


@contextlib.contextmanager
def _python(task: Task, source: str) -> Generator[Pool | Refusal]:
    """The workers of a candidate, or the gate that it does not pass. Raises OSError where this machine is to blame."""
    trusted = reference(task.protocol)
    with bundle(task.library) as root, contextlib.closing(Pool(python(root, source))) as pool:
        with contextlib.closing(Pool(python(root, trusted.source))) as healthy:
            if wrong := healthy.load():
                raise OSError(f"a worker cannot run the reference: {wrong}")
        if wrong := pool.load():
            yield Refusal("compile_error", printable(wrong))
        else:
            yield gates.check(source, handed_out(task.name), trusted.source) or pool


@contextlib.contextmanager
def _go(task: Task, source: str) -> Generator[Pool | Refusal]:
    """The same; raises UserError where Go is missing."""
    with golang.workshop(task.protocol) as shop:
        made = shop.worker(source, handed_out(task.name, "go"))
        if isinstance(made, Refusal):
            yield made
            return
        with contextlib.closing(Pool(made)) as pool:
            if wrong := pool.load():
                shop.require_health()
                yield Refusal("compile_error", printable(wrong))
            else:
                yield pool


_LANGUAGES = {"python": _python, "go": _go}


def language_of(candidate: Path) -> str:
    """By the file's name. Raises UserError where it tells none."""
    if candidate.suffix not in (".py", golang.SUFFIX):
        raise UserError(f"{candidate} ends in neither .py nor {golang.SUFFIX}, which says what language it is in.")
    return "go" if candidate.suffix == golang.SUFFIX else "python"
