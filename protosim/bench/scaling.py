"""Runs a second of a hunt on one process and on two. Wall time, the start of the processes included."""

import os
import time
from collections.abc import Callable

import attrs

from protosim.bench.page import Section
from protosim.bench.sizes import Sizes
from protosim.hunt import hunt
from protosim.plan import Wish
from protosim.program import reference

JOBS = 2


@attrs.frozen(kw_only=True)
class Scaling:
    runs: int
    events: int
    one: float  # runs a second, one process
    many: float  # runs a second, two processes
    ratio: float
    processors: int


def measure(sizes: Sizes, progress: Callable[[str], None]) -> Scaling:
    rates: list[float] = []
    events = 0
    for jobs in (1, JOBS):
        progress(f"{sizes.scaling_runs} runs, {jobs} at a time")
        started = time.monotonic()
        found = hunt(reference("raft"), Wish(seed=1), runs=sizes.scaling_runs, jobs=jobs)
        rates.append(found.runs / (time.monotonic() - started))
        events = found.events
    one, many = rates
    return Scaling(
        runs=sizes.scaling_runs,
        events=events,
        one=round(one, 2),
        many=round(many, 2),
        ratio=round(many / one, 2),
        processors=os.cpu_count() or 1,
    )


def section(scaling: Scaling) -> Section:
    rows = (
        ("processes", "runs/s", "ratio"),
        ("1", f"{scaling.one:.1f}", "1"),
        (f"{JOBS}", f"{scaling.many:.1f}", f"{scaling.ratio:.2f}"),
    )
    note = (
        f"The first {scaling.runs} runs of a hunt on the unbroken protocol, {scaling.events:,} events, on a machine of "
        f"{scaling.processors} processors: wall time, so whatever else runs there counts."
    )
    return Section("Processes", rows, note)
