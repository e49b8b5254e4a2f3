"""What it takes to kill the five named mutants of Raft, by scheduler.

A hunt that used up its events has killed nothing; medians are over the others.
"""

from collections.abc import Callable

import attrs

from protosim.bench.page import Section
from protosim.bench.sizes import Sizes
from protosim.bench.timing import cpu, middle
from protosim.hunt import hunt
from protosim.plan import Wish
from protosim.program import Program, load

MUTANTS = (
    "raft.vote_once_per_term",
    "raft.log_up_to_date",
    "raft.prev_log_matches",
    "raft.vote_response_current",
    "raft.commit_current_term",
)
PORTFOLIO = "portfolio"
SCHEDULERS = (PORTFOLIO, "walk", "walk_swarm", "timed_swarm", "pos", "pct", "uniform")


@attrs.frozen(kw_only=True)
class Kill:
    """The hunts for one mutant under one scheduler."""

    mutant: str
    scheduler: str
    hunts: int
    killed: int
    events: float  # medians over those that killed
    runs: float
    cpu: float  # seconds


def measure(sizes: Sizes, progress: Callable[[str], None]) -> tuple[Kill, ...]:
    kills: list[Kill] = []
    for mutant in MUTANTS:
        program = load("raft", [mutant])
        for scheduler in SCHEDULERS:
            progress(f"{mutant} under {scheduler}")
            kills.append(_hunts(program, mutant, scheduler, sizes))
    return tuple(kills)


def _hunts(program: Program, mutant: str, scheduler: str, sizes: Sizes) -> Kill:
    alone = None if scheduler == PORTFOLIO else scheduler
    killed: list[tuple[float, float, float]] = []  # events, runs, seconds
    for seed in range(1, sizes.hunts + 1):
        wish = Wish(seed=seed, scheduler=alone)
        seconds, found = cpu(lambda wish=wish: hunt(program, wish, events=sizes.hunt_events))  # type: ignore[misc]
        if found.status == "violation":
            killed.append((found.events, found.runs, seconds))
    events, runs, spent = zip(*killed, strict=True) if killed else ((), (), ())
    return Kill(
        mutant=mutant,
        scheduler=scheduler,
        hunts=sizes.hunts,
        killed=len(killed),
        events=middle(events),
        runs=middle(runs),
        cpu=round(middle(spent), 4),
    )


def section(kills: tuple[Kill, ...]) -> Section:
    rows: list[tuple[str, ...]] = [("mutant", *SCHEDULERS)]
    for mutant in MUTANTS:
        rows.append((mutant, *(cell(kill) for kill in kills if kill.mutant == mutant)))
    note = (
        f"Median events, runs and seconds of CPU time to the kill, each over {kills[0].hunts} seeds; in brackets how "
        "many of these hunts killed, where not all did within their bound: then the median is over those that did. "
        "Forked searches are included. Faults, switches and cluster sizes are drawn."
    )
    return Section("Events to kill", tuple(rows), note)


def cell(kill: Kill) -> str:
    if not kill.killed:
        return f"(0 of {kill.hunts})"
    figures = f"{kill.events:,.0f}, {kill.runs:.0f}, {kill.cpu:.2f} s"
    return figures if kill.killed == kill.hunts else f"{figures} ({kill.killed} of {kill.hunts})"
