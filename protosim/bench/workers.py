"""The step protocol: the same runs with their nodes in this process, and in workers at the other end of pipes.

Beside it what the pipe carries by itself, without a world that draws events and judges answers: the events of a run,
sent again to one worker, many in a frame.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import attrs

from protosim.bench.page import Section
from protosim.bench.sizes import Sizes
from protosim.errors import UserError
from protosim.program import reference
from protosim.run import LocalHost, make_world, simulate
from protosim.scenario import Choice, Scenario
from protosim.score import golang, score, step
from protosim.score.batch import Used
from protosim.score.judge import question, switches_of
from protosim.score.pool import Launch, Pool, Worker, bundle, python
from protosim.score.result import Result
from protosim.score.suite import load_suite, load_task, secret, trials

TASK = "fix_raft_safety"
WALK = Choice("walk", {"timer": 20, "request": 3})
CARRIED = Scenario(protocol="raft", seed=1, nodes=3, events=20_000, scheduler=WALK)
FRAME = 190  # events of one: as many as there are runs in flight
AHEAD = 2  # frames under way


@attrs.frozen(kw_only=True)
class Scored:
    """What a score of the reference takes, compiled before where it is compiled."""

    language: str
    wall_s: float
    per_hour_and_core: float


@attrs.frozen(kw_only=True)
class Workers:
    runs: int
    events: int
    here: float  # events a second, nodes in this process
    there: float  # events a second, nodes in workers
    ratio: float
    carried: dict[str, float]  # by language: events a second over one pipe
    scored: tuple[Scored, ...]


def measure(sizes: Sizes, progress: Callable[[str], None]) -> Workers | None:
    """Wall time; None where the sizes leave it out."""
    if not sizes.score:
        return None
    task, using = load_task(TASK), secret()
    program = reference(task.protocol)
    progress(f"{TASK}, in workers")
    result, python_took = _score("python", program.source)
    there, took = python_took.wall_s, [python_took]
    with contextlib.suppress(UserError):
        source = golang.reference(task.protocol)
        progress(f"{TASK}, in workers, in Go")
        _score("go", source)  # a first one compiles what is kept
        took.append(_score("go", source)[1])
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
        carried=carried(progress),
        scored=tuple(took),
    )


def _score(language: str, source: str) -> tuple[Result, Scored]:
    """Raises UserError where the language's tools are missing."""
    with tempfile.TemporaryDirectory() as folder:
        candidate = Path(folder, "candidate.go" if language == "go" else "candidate.py")
        candidate.write_text(source, "utf-8")
        before = Used.until_now()
        result = score(TASK, candidate)
        used = before.since()
    if not result.solved:
        raise RuntimeError(f"the reference was not scored: {result.sentence}")
    return result, Scored(language=language, wall_s=used.wall, per_hour_and_core=used.rate(1))


# -- The pipe by itself ------------------------------------------------------------------------------


def carried(progress: Callable[[str], None]) -> dict[str, float]:
    """Events a second by language; without Go where it is missing."""
    events = recorded()
    found: dict[str, float] = {}
    for language, launched in (("Python", _python), ("Go", _go)):
        progress(f"the pipe to a worker in {language}")
        with contextlib.suppress(UserError), launched() as launch:
            found[language] = round(carry(launch, events))
    return found


def recorded() -> list[Any]:
    """The events of a run, as they are sent; each boot in a slot of its own."""
    program = reference("raft")
    world, host = make_world(program, CARRIED), LocalHost(program, CARRIED)
    switches = switches_of(program, CARRIED)
    slots: dict[int, int] = {}
    events: list[Any] = []
    while world.advance():
        if world.pending[0] == step.START:
            slots[world.at] = len(events)
        events.append(question(world, slots[world.at], switches))
        effects, refused = host.step(world)
        world.resume(effects, refused)
        effects.clear()
        refused.clear()
    return events


def carry(launch: Launch, events: Sequence[Any]) -> float:
    """Events a second that one worker answers and this process reads and checks, where each has a core of its own.

    By CPU time: the start of the process is measured alone, and does not count.
    """
    start, whole = _cpu(launch, []), _cpu(launch, events)
    return len(events) / max(whole[0] - start[0], whole[1] - start[1])


def _cpu(launch: Launch, events: Sequence[Any]) -> tuple[float, float]:
    """Seconds of CPU time, of this process and of the worker."""
    program = reference("raft")
    reader = step.Reader(program.classes, program.spec.disk)
    frames = [events[i : i + FRAME] for i in range(0, len(events), FRAME)]
    before, behind = os.times(), Worker.spent
    with contextlib.closing(Pool(launch)) as pool:
        if wrong := pool.load():
            raise RuntimeError(f"a worker cannot be started: {wrong}")
        worker = pool.worker(0)
        for i in range(len(frames) + AHEAD):
            if i < len(frames):
                worker.post(frames[i])
            if i >= AHEAD:
                body = worker.hear()
                if body is None:
                    raise RuntimeError(f"a worker has ended: {worker.dead}")
                for answer in step.decode(body):
                    reader.read(answer, CARRIED.node_ids())
    times = [now - then for now, then in zip(os.times(), before, strict=True)]
    return times[0] + times[1], times[2] + times[3] + Worker.spent - behind


@contextlib.contextmanager
def _python() -> Generator[Launch]:
    with bundle() as root:
        yield python(root, reference("raft").source)


@contextlib.contextmanager
def _go() -> Generator[Launch]:
    """Raises UserError where Go is missing."""
    with golang.workshop("raft") as shop:
        shop.compiled(golang.reference("raft"), shop.run / "worker")
        yield shop.launch()


def section(workers: Workers) -> Section:
    rows = (
        ("nodes", "events/s", "ratio"),
        ("in this process", f"{workers.here:,.0f}", "1"),
        ("in workers", f"{workers.there:,.0f}", f"{workers.ratio:.2f}"),
        *(
            (f"one worker in {language}, the pipe by itself", f"{rate:,.0f}", f"{rate / workers.here:.2f}")
            for language, rate in workers.carried.items()
        ),
    )
    note = (
        f"The {workers.runs} runs of {TASK}'s suite, {workers.events:,} events, with the reference as the candidate. "
        "Wall time; with workers the start of their processes is part of it. The pipe by itself: "
        f"{CARRIED.events:,} events of one run, {FRAME} in a frame, each answer read and checked; by CPU time of the "
        "slower side, so where each has a core."
    )
    return Section("Step protocol", rows, note)


def scored_section(workers: Workers) -> Section:
    rows = (
        ("language", "a score takes, s", "answers an hour and core"),
        *((x.language, f"{x.wall_s:.1f}", f"{x.per_hour_and_core:,.0f}") for x in workers.scored),
    )
    note = (
        f"{TASK}, the whole hidden suite, with the reference as the answer; for Go with the gate and the compiler, "
        "whose cache is warm. The first figure is wall time; the second is by CPU time, workers included."
    )
    return Section("Scores", rows, note)
