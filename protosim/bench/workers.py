"""The step protocol: the same runs with their nodes in this process, and in workers at the other end of pipes."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import attrs

from protosim.bench.page import Section
from protosim.bench.sizes import Sizes
from protosim.program import reference
from protosim.run import simulate
from protosim.score import score
from protosim.score.suite import load_suite, load_task, secret, trials

TASK = "fix_raft_safety"


@attrs.frozen(kw_only=True)
class Workers:
    runs: int
    events: int
    here: float  # events a second, nodes in this process
    there: float  # events a second, nodes in workers
    ratio: float


def measure(sizes: Sizes, progress: Callable[[str], None]) -> Workers | None:
    """Wall time; None where the sizes leave it out."""
    if not sizes.score:
        return None
    task, using = load_task(TASK), secret()
    program = reference(task.protocol)
    progress(f"{TASK}, in workers")
    with tempfile.TemporaryDirectory() as folder:
        candidate = Path(folder, "candidate.py")
        candidate.write_text(program.source, "utf-8")
        started = time.monotonic()
        result = score(TASK, candidate)
        there = time.monotonic() - started
    if not result.solved:
        raise RuntimeError(f"the reference was not scored: {result.sentence}")
    events = sum(run["events"] for run in result.runs.values())
    progress(f"{TASK}, in this process")
    started = time.monotonic()
    for trial in trials(task, load_suite(TASK, using), using):
        simulate(program, trial.scenario)
    here = time.monotonic() - started
    return Workers(
        runs=len(result.runs),
        events=events,
        here=round(events / here),
        there=round(events / there),
        ratio=round(here / there, 3),
    )


def section(workers: Workers) -> Section:
    rows = (
        ("nodes", "events/s", "ratio"),
        ("in this process", f"{workers.here:,.0f}", "1"),
        ("in workers", f"{workers.there:,.0f}", f"{workers.ratio:.2f}"),
    )
    note = (
        f"The {workers.runs} runs of {TASK}'s suite, {workers.events:,} events, with the reference as the candidate. "
        "Wall time; with workers the start of their processes is part of it."
    )
    return Section("Step protocol", rows, note)
