"""Hunt: run scenario after scenario until one breaks an invariant.

Run i is a pure function of the hunt's seed and i, and the lowest run that breaks something wins, so a hunt by runs or
events finds the same whatever the number of processes. A run that only warns is forked: its world is copied and goes on
under other seeds for a stated number of events, since a warning says that a violation has become possible.
"""

import contextlib
import itertools
import time
import traceback
from collections.abc import Callable, Generator
from typing import Any

import attrs

from protosim.keys import derive
from protosim.plan import Wish, plan
from protosim.pool import in_order
from protosim.program import Program, from_source, reference
from protosim.run import LocalHost, Run, drive, finish, make_world, run_to_end
from protosim.scenario import Fork, Scenario
from protosim.world import ProtocolFailure, World

FORKS = 24  # tries to turn a warning into a violation
FORK_EVENTS = 300  # events that each may take
CHUNK = 16  # runs a task of a worker process


@attrs.define
class Trial:
    """One run of a hunt with its forks."""

    index: int
    run: Run
    events: int  # forks included
    trace: str = ""  # the traceback, if a handler raised

    @property
    def caught(self) -> bool:
        return self.run.violation is not None


@attrs.define
class Found:
    """What a hunt came to. `trial` is the one that broke something, or else the first that warned or failed."""

    trial: Trial | None
    runs: int = 0
    events: int = 0
    seconds: float = 0.0
    warnings: int = 0
    failures: int = 0
    unjudged: int = 0  # runs whose client history was too tangled to be judged
    missed: tuple[str, ...] = ()  # `sometimes` goals that some run could reach, and none did
    ended_by: str = ""  # "", "budget", "interrupt"

    @property
    def status(self) -> str:
        if self.trial is not None and self.trial.caught:
            return "violation"
        if self.failures:
            return "error"
        if self.warnings or self.unjudged or self.missed or self.ended_by or not self.runs:
            return "inconclusive"
        return "ok"


def try_run(program: Program, scenario: Scenario, index: int = 0) -> Trial:
    """One run; where it warns, forked searches first."""
    world = make_world(program, scenario)
    world.stop_on_warning = True
    host = LocalHost(program, scenario)
    forked = 0
    try:
        run_to_end(world, host)
        if world.warning is not None and world.violation is None:
            forked, caught = _search_on(program, world, host)
            if caught is not None:
                return Trial(index, caught, world.events + forked)
            world.stop_on_warning = False
            run_to_end(world, host)
    except ProtocolFailure as failure:
        return Trial(index, finish(world, str(failure)), world.events + forked, trace_of(program))
    return Trial(index, finish(world), world.events + forked)


def trace_of(program: Program) -> str:
    """Where a handler raised; nothing of ours where that is in another program."""
    return "" if program.worker else traceback.format_exc()


def _search_on(program: Program, world: World, host: LocalHost) -> tuple[int, Run | None]:
    """Go on from the warning under other seeds: (events spent, the run that broke an invariant)."""
    spent = 0
    for number in range(FORKS):
        seed = derive(world.scenario.seed, "fork", number)
        twin, nodes = world.copy(), host.copy()
        twin.scenario = attrs.evolve(world.scenario, forks=(Fork(world.events, seed),))
        twin.stop_on_warning = False
        twin.max_events = min(world.max_events, world.events + FORK_EVENTS)
        twin.fork(seed)
        run = finish(twin, drive(twin, nodes))
        spent += twin.events - world.events
        if run.violation is not None:
            return spent, run
    return spent, None


# -- One process, or many ----------------------------------------------------------------------------


def trials(program: Program, wish: Wish, first: int = 0) -> Generator[Trial]:
    """Run after run, for ever, in this process."""
    index = first
    while True:
        yield try_run(program, plan(program, wish, index), index)
        index += 1


@attrs.frozen
class Parcel:
    """A program as text, for another process."""

    name: str
    source: str
    mutants: tuple[str, ...]
    origin: str
    worker: tuple[str, ...] = ()
    project: str = ""

    def program(self) -> Program:
        if self.worker:
            from protosim import remote

            return remote.load(self.name, self.worker, self.project)
        plain = reference(self.name)
        if self.source == plain.source:
            return plain
        return from_source(self.name, self.source, mutants=self.mutants, origin=self.origin)


def parcel(program: Program) -> Parcel:
    made = Parcel(program.name, program.source, program.mutants, program.origin)
    return attrs.evolve(made, worker=program.worker, project=program.project)


def _chunk(sent: Parcel, wish: Wish, first: int, count: int) -> list[Trial]:
    """In a worker process: some runs in order, up to the first that breaks something."""
    done = []
    for index in range(first, first + count):
        trial = try_run(sent.program(), plan(sent.program(), wish, index), index)
        done.append(trial)
        if trial.caught:
            break
    return done


def pooled(program: Program, wish: Wish, jobs: int, runs: int | None) -> Generator[Trial]:
    """The same runs in the same order, computed by `jobs` processes."""
    firsts = itertools.count(0, CHUNK) if runs is None else range(0, runs, CHUNK)
    sent = parcel(program)
    calls = ((sent, wish, first, CHUNK if runs is None else min(CHUNK, runs - first)) for first in firsts)
    with contextlib.closing(in_order(_chunk, calls, jobs)) as chunks:
        for chunk in chunks:
            yield from chunk


def hunt(
    program: Program,
    wish: Wish,
    *,
    runs: int | None = None,
    events: int | None = None,
    budget: float | None = None,
    jobs: int = 1,
    progress: Callable[[Trial], Any] | None = None,
) -> Found:
    """Hunt until something breaks, or runs, events or seconds are used up. Ctrl-C ends it with what it has."""
    started = time.monotonic()
    found = Found(None)
    reached: set[str] = set()
    source = trials(program, wish) if jobs == 1 else pooled(program, wish, jobs, runs)
    with contextlib.closing(source):
        try:
            for trial in source if runs != 0 else ():
                _add(found, trial, reached)
                if progress is not None:
                    progress(trial)
                if trial.caught or (runs is not None and found.runs >= runs):
                    break
                if events is not None and found.events >= events:
                    break
                if budget is not None and time.monotonic() - started >= budget:
                    found.ended_by = "budget"
                    break
        except KeyboardInterrupt:
            found.ended_by = "interrupt"
    found.seconds = time.monotonic() - started
    found.missed = tuple(name for name in found.missed if name not in reached)
    return found


def _add(found: Found, trial: Trial, reached: set[str]) -> None:
    found.runs += 1
    found.events += trial.events
    reached.update(trial.run.reached)
    found.missed += tuple(name for name in trial.run.missed if name not in found.missed)
    found.warnings += trial.run.warning is not None and not trial.caught
    found.failures += bool(trial.run.failure)
    found.unjudged += trial.run.linearizable == "inconclusive"
    if _weight(trial) > _weight(found.trial):
        found.trial = trial


def _weight(trial: Trial | None) -> int:
    """What is worth more to report: a violation, a failure, a warning, nothing."""
    if trial is None:
        return 0
    return 3 if trial.caught else 2 if trial.run.failure else 1 if trial.run.warning is not None else 0
