"""Plan: which scenario is run number i of a hunt. A pure function of the hunt and i."""

import importlib
from typing import Any

import attrs

from protosim.keys import Draw, derive
from protosim.program import Program
from protosim.run import make_fault, make_schedule, make_switches
from protosim.scenario import Choice, Scenario
from protosim.swarm import draw_faults, draw_lies

PORTFOLIO = ("walk_swarm", "timed_swarm", "walk", "leader_hunter", "pos")
"""Equal shares of the runs; each finds what others miss."""

LIVENESS_EVERY = 12
"""One run in so many is chaos, then healing, then progress under the fair adversary; of a protocol that endures
partitions another one, in which a partition stays."""

AIMED_EVERY = 4
"""One run in so many that is not for liveness crashes a fifth of its events between two effects: what is sent before it
is durable, or written in two steps, is found by little else."""
AIMED: tuple[Choice, ...] = (
    Choice("crash", {"every": 0, "down": 100, "aim": 200}),
    Choice("reordering", {"per_mille": 200, "times": 20}),
)

IDLE, IDLE_US = 50, 1_000_000
"""So many percent of these runs of such a protocol have clients that ask but now and then: what they ask hides who is
not up to date, or keeps out who is cut off."""

RUN_EVENTS = 1_500
QUIET_US = 600_000_000  # so long at most, for as many events
CHAOS_US = 1_500_000
PROGRESS_BOUND_US = 3_000_000  # ten of the longest election timeouts


@attrs.frozen(kw_only=True)
class Wish:
    """What the caller fixed; the rest is drawn."""

    seed: int = 1
    nodes: int | None = None
    scheduler: str | None = None
    faults: tuple[Choice, ...] | None = None
    switches: dict[str, Any] = attrs.field(factory=dict)
    events: int | None = None  # of a run; None: the protocol's number


def pace_of(scheduler: str, draw: Draw) -> tuple[dict[str, int], int]:
    """A scheduler's drawn parameters, and its typical election timeout."""
    params: dict[str, int] = importlib.import_module(f"schedulers.{scheduler}").draw(draw)
    return params, make_schedule(Choice(scheduler, params)).pace


def fill_faults(faults: tuple[Choice, ...], draw: Draw, pace: int) -> tuple[Choice, ...]:
    """Faults given by name alone get drawn parameters."""
    filled = []
    for choice in faults:
        make_fault(choice)  # an unknown name is an error of the caller's
        own = Draw(derive(draw.seed, "fault", choice.name))
        drawn = importlib.import_module(f"faults.{choice.name}").draw(own, pace)
        filled.append(Choice(choice.name, {**drawn, **choice.params}))
    return tuple(filled)


def plan(program: Program, wish: Wish, index: int) -> Scenario:
    """The scenario of run `index`, from 0."""
    seed = derive(wish.seed, "run", index)
    draw = Draw(seed)
    turn, endurance = index % LIVENESS_EVERY, program.spec.endures
    lasting = endurance is not None and turn == LIVENESS_EVERY // 2 and wish.faults is None
    live = wish.scheduler is None and (turn == LIVENESS_EVERY - 1 or lasting)
    aimed = not live and not wish.scheduler and wish.faults is None and index % AIMED_EVERY == AIMED_EVERY - 1
    scheduler = wish.scheduler or ("fair" if live else "walk" if aimed else PORTFOLIO[index % len(PORTFOLIO)])
    params, pace = pace_of(scheduler, draw)
    if aimed:
        faults = AIMED
    else:
        faults = draw_faults(draw, pace) if wish.faults is None else fill_faults(wish.faults, draw, pace)
    sizes, events = program.spec.sizes, wish.events or program.spec.events
    nodes = wish.nodes or (sizes[0] if draw.chance("smallest", 75) else draw.choice("nodes", sizes))
    switches = draw_switches(program, wish.switches, draw)
    if live and lasting and endurance and nodes % 2:
        switches = {**switches, **endurance.switches, **wish.switches}
        if endurance.switches.items() <= switches.items():
            faults = keep_one(faults, draw.choice("lasting partition", endurance.partitions), draw, pace)
    if wish.faults is None and program.spec.liars(nodes):
        faults += draw_lies(draw, pace)
    if live and endurance and draw.chance("idle", IDLE):
        params = {**params, "request_every": IDLE_US}
    return Scenario(
        protocol=program.name,
        seed=seed,
        nodes=nodes,
        switches=switches,
        scheduler=Choice(scheduler, params),
        faults=faults,
        events=events if not live else max(events, 20 * RUN_EVENTS),
        horizon=CHAOS_US + PROGRESS_BOUND_US if live else max(QUIET_US, events * QUIET_US // RUN_EVENTS),
        heal=CHAOS_US if live else None,
    )


def keep_one(faults: tuple[Choice, ...], partition: str, draw: Draw, pace: int) -> tuple[Choice, ...]:
    """The partition stays when the faults end."""
    others = tuple(fault for fault in faults if fault.name != partition)
    return others + fill_faults((Choice(partition, {"stays": 1}),), draw, pace)


def draw_switches(program: Program, fixed: dict[str, Any], draw: Draw) -> dict[str, Any]:
    """The swarm draws the protocol's switches too; those that the caller fixed stay."""
    make_switches(program, fixed)
    switches = attrs.fields(program.spec.switches)
    drawn = {f.name: draw.choice(f"switch {f.name}", f.metadata["choices"]) for f in switches}
    return {**drawn, **fixed}
