"""Events a second of the committed scenario: bare, with invariants, with digest; beside kernels that do nothing.

In every round each contender runs once, and its rate is divided by the heapq loop's of that round: what else the
machine does then hits both. The figure is the median of these ratios.
"""

import json
from collections.abc import Callable, Generator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import attrs
import cattrs
import simpy

from protosim import paths
from protosim.bench.page import Section
from protosim.bench.sizes import Sizes
from protosim.bench.timing import cpu, middle
from protosim.program import Program, reference
from protosim.run import LocalHost, finish, make_world, run_to_end
from protosim.scenario import Scenario

SCENARIO = "raft_chaos"
PENDING = 100  # entries in the heap of a contender that is no protocol
LEAST, BARE = "heapq loop", "Raft, bare"


def scenario(events: int) -> Scenario:
    """The committed scenario, or as much of it."""
    text = (paths.data("bench") / f"{SCENARIO}.json").read_text("utf-8")
    whole = cattrs.structure(json.loads(text)["scenario"], Scenario)
    return attrs.evolve(whole, events=min(events, whole.events))


# -- Contenders: each returns how many events it has handled -------------------------------------------


def heapq_loop(events: int) -> int:
    """Tuples in a heap: take one, put one."""
    heap = [(_wait(i), i, None) for i in range(PENDING)]
    heapify(heap)
    for i in range(PENDING, PENDING + events):
        due, _, _ = heappop(heap)
        heappush(heap, (due + i * 7919 % 1009, i, None))
    return events


def simpy_callbacks(events: int) -> int:
    """A Timeout of simpy for each, with a callback that starts the next."""
    env = simpy.Environment()
    handled = 0

    def handle(_: Any) -> None:
        nonlocal handled
        handled += 1
        start(PENDING + handled)

    def start(i: int) -> None:
        env.timeout(_wait(i)).callbacks.append(handle)

    for i in range(PENDING):
        start(i)
    while handled < events:
        env.step()
    return handled


def simpy_processes(events: int) -> int:
    """A process of simpy for each message, which starts the next."""
    env = simpy.Environment()
    handled = 0

    def message(i: int) -> Generator[Any, Any, None]:
        nonlocal handled
        yield env.timeout(_wait(i))
        handled += 1
        env.process(message(PENDING + handled))

    for i in range(PENDING):
        env.process(message(i))
    while handled < events:
        env.step()
    return handled


def _wait(i: int) -> int:
    return i * 7919 % 1009


def raft(program: Program, chaos: Scenario, *, checks: bool, digest: bool) -> int:
    """The scenario. With the checks the clients' history is judged too, at the end."""
    world = make_world(program, chaos, observers=None if checks else (), digest=digest)
    run_to_end(world, LocalHost(program, chaos))
    run = finish(world)
    if run.violation is not None or run.linearizable == "inconclusive":
        raise RuntimeError(f"the benchmark's scenario is not clean: {run.violation or run.linearizable}")
    return run.events


# -- Figures -----------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Speed:
    """One contender."""

    name: str
    events: int  # of one round
    per_second: float  # events a second of CPU time
    ratio: float  # to the heapq loop
    share_of_bare: float | None  # of the bare rate; for what is no protocol None


@attrs.frozen
class Speeds:
    contenders: tuple[Speed, ...]

    def named(self, name: str) -> Speed:
        return next(speed for speed in self.contenders if speed.name == name)


def contenders(sizes: Sizes) -> dict[str, Callable[[], int]]:
    program, chaos = reference("raft"), scenario(sizes.events)
    return {
        LEAST: lambda: heapq_loop(sizes.peer_events),
        "simpy callbacks": lambda: simpy_callbacks(sizes.peer_events),
        "simpy processes": lambda: simpy_processes(sizes.peer_events),
        BARE: lambda: raft(program, chaos, checks=False, digest=False),
        "Raft, digest": lambda: raft(program, chaos, checks=False, digest=True),
        "Raft, invariants": lambda: raft(program, chaos, checks=True, digest=False),
        "Raft, invariants and digest": lambda: raft(program, chaos, checks=True, digest=True),
    }


def measure(sizes: Sizes, progress: Callable[[str], None]) -> Speeds:
    running = contenders(sizes)
    events: dict[str, int] = {}
    rates: dict[str, list[float]] = {name: [] for name in running}
    for number in range(sizes.rounds):
        progress(f"speed, round {number + 1} of {sizes.rounds}")
        for name, contender in running.items():
            seconds, events[name] = cpu(contender)
            rates[name].append(events[name] / seconds)
    return Speeds(tuple(_figure(name, events[name], rates) for name in running))


def _figure(name: str, events: int, rates: dict[str, list[float]]) -> Speed:
    protocol = name.startswith("Raft")
    return Speed(
        name=name,
        events=events,
        per_second=round(middle(rates[name])),
        ratio=middle_ratio(rates[name], rates[LEAST]),
        share_of_bare=middle_ratio(rates[name], rates[BARE]) if protocol else None,
    )


def middle_ratio(rates: Sequence[float], peers: Sequence[float]) -> float:
    """The median of the ratios, round by round."""
    return round(middle([rate / peer for rate, peer in zip(rates, peers, strict=True)]), 4)


def section(speeds: Speeds) -> Section:
    rows = [("contender", "events/s", "ratio to heapq", "µs/event", "of the bare rate")]
    for each in speeds.contenders:
        share = "" if each.share_of_bare is None else f"{each.share_of_bare:.0%}"
        rows.append((each.name, f"{each.per_second:,.0f}", f"{each.ratio:.3f}", f"{1e6 / each.per_second:.2f}", share))
    chaos = speeds.named(BARE)
    note = (
        f"Raft is `bench/{SCENARIO}.json`: {chaos.events:,} events, the same in all four rows. "
        f"The others keep {PENDING} entries pending and handle nothing. The invariants include the judgement of the "
        "clients' history. Set-up is part of every figure."
    )
    return Section("Speed", tuple(rows), note)
