"""Surveys: runs of a plan one after the other, each observed, and what they amount to together."""

from collections import Counter
from collections.abc import Generator
from hashlib import blake2b
from itertools import count

import attrs

from protosim.coverage import StateCounter
from protosim.hunt import Parcel, parcel, trace_of
from protosim.output import Status
from protosim.plan import Wish, plan
from protosim.pool import in_order
from protosim.program import Program
from protosim.run import LocalHost, Run, finish, make_world, run_to_end
from protosim.scenario import Scenario
from protosim.world import Broken, ProtocolFailure


@attrs.frozen
class Seen:
    """One run, and the abstract states that it reached."""

    run: Run
    states: set[int]
    trace: str = ""  # the traceback, if a handler raised


def observe(program: Program, scenario: Scenario) -> Seen:
    """Run the scenario to its end, to the first violation, or to the protocol's failure."""
    world = make_world(program, scenario)
    host = LocalHost(program, scenario)
    world.recorder = counter = StateCounter(host)
    try:
        run_to_end(world, host)
    except ProtocolFailure as failure:
        return Seen(finish(world, str(failure)), counter.seen, trace_of(program))
    return Seen(finish(world), counter.seen)


def survey(program: Program, wish: Wish, runs: int | None, jobs: int = 1) -> Generator[Seen]:
    """The first runs of the plan in order; without end where `runs` is None."""
    sent = parcel(program)
    indexes = count() if runs is None else range(runs)
    return in_order(_observe, ((sent, wish, index) for index in indexes), jobs)


def _observe(sent: Parcel, wish: Wish, index: int) -> Seen:
    program = sent.program()
    return observe(program, plan(program, wish, index))


@attrs.define
class Total:
    """What some runs amount to."""

    runs: int = 0
    events: int = 0
    simulated_us: int = 0
    last: Seen | None = None
    digests: list[str] = attrs.field(factory=list[str])
    violation: Broken | None = None  # the first
    warnings: list[Broken] = attrs.field(factory=list[Broken])
    failed: Seen | None = None  # the first run in which a handler failed
    unjudged: int = 0  # runs whose client history was too tangled to be judged
    states: set[int] = attrs.field(factory=set[int])
    reached: set[str] = attrs.field(factory=set[str])
    missed: set[str] = attrs.field(factory=set[str])
    faults_fired: Counter[str] = attrs.field(factory=Counter[str])
    refused: Counter[str] = attrs.field(factory=Counter[str])
    refused_alone: Counter[str] = attrs.field(factory=Counter[str])  # as the sole reason
    cut_short: str = ""  # why there were fewer runs than were asked for

    def add(self, seen: Seen) -> None:
        run = seen.run
        self.runs += 1
        self.events += run.events
        self.simulated_us += run.simulated_us
        self.last = seen
        self.digests.append(run.digest)
        self.violation = self.violation or run.violation
        if run.warning is not None:
            self.warnings.append(run.warning)
        if run.failure:
            self.failed = self.failed or seen
        self.unjudged += run.linearizable == "inconclusive"
        self.states |= seen.states
        self.reached |= set(run.reached)
        self.missed = (self.missed | set(run.missed)) - self.reached
        self.faults_fired.update(run.faults_fired)
        self.refused.update({name: times for name, (times, _) in run.checks_refused.items()})
        self.refused_alone.update({name: alone for name, (_, alone) in run.checks_refused.items()})

    @property
    def digest(self) -> str:
        """Of the one run, or of the digests of all."""
        if len(self.digests) == 1:
            return self.digests[0]
        return blake2b("".join(self.digests).encode(), digest_size=16).hexdigest()

    @property
    def status(self) -> Status:
        if self.violation is not None:
            return "violation"
        if self.failed is not None:
            return "error"
        unsure = self.warnings or self.missed or self.cut_short or self.unjudged
        return "inconclusive" if unsure else "ok"
