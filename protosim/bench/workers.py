"""The step protocol: the same runs with their nodes in this process, and in workers at the other end of pipes.

Beside it what the pipe carries by itself, without a world that draws events and judges answers: the events of a run,
sent again to one worker, many in a frame.
"""

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import attrs

from protosim.bench import judge
from protosim.bench.judge import NAMES, Judged
from protosim.bench.page import Section
from protosim.bench.sizes import Sizes
from protosim.program import reference
from protosim.run import LocalHost, make_world
from protosim.scenario import Choice, Scenario
from protosim.score import golang, step
from protosim.score.judge import question, switches_of
from protosim.score.pool import Launch, Pool, Worker, bundle, python

WALK = Choice("walk", {"timer": 20, "request": 3})
CARRIED = Scenario(protocol="raft", seed=1, nodes=3, scheduler=WALK)
FRAME = 190  # events of one: as many as there are runs in flight
AHEAD = 2  # frames under way
TICK = 0.01  # seconds of CPU time: less cannot be told of another process


@attrs.frozen(kw_only=True)
class Workers:
    """Events a second; by language where a worker has one."""

    here: float  # a suite's runs, nodes in this process
    judged: dict[str, float]  # the same runs, nodes in workers
    carried: dict[str, float]  # over one pipe
    events: int  # that were carried


def measure(sizes: Sizes, judged: Judged, progress: Callable[[str], None]) -> Workers:
    """The suite's runs were measured when they were judged; what a pipe carries is measured here."""
    events = recorded(sizes.carried_events)
    return Workers(
        here=judged.here,
        judged=dict(judge.rates(judged)),
        carried=carried(judged.languages(), events, progress),
        events=len(events),
    )


# -- The pipe by itself ------------------------------------------------------------------------------


def carried(languages: Iterable[str], events: Sequence[Any], progress: Callable[[str], None]) -> dict[str, float]:
    """Events a second by language. Raises UserError where one's tools are missing."""
    found: dict[str, float] = {}
    for language in languages:
        progress(f"the pipe to a worker in {NAMES[language]}")
        with _LAUNCHED[language]() as launch:
            found[language] = round(carry(launch, events))
    return found


def recorded(most: int) -> list[Any]:
    """The events of a run, as they are sent; each boot in a slot of its own."""
    program, scenario = reference("raft"), attrs.evolve(CARRIED, events=most)
    world, host = make_world(program, scenario), LocalHost(program, scenario)
    switches = switches_of(program, scenario)
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
    return len(events) / max(whole[0] - start[0], whole[1] - start[1], TICK)


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


_LAUNCHED = {"python": _python, "go": _go}


def section(workers: Workers) -> Section:
    def row(nodes: str, rate: float) -> tuple[str, str, str]:
        return nodes, f"{rate:,.0f}", f"{rate / workers.here:.2f}"

    rows = (
        ("nodes", "events/s", "ratio"),
        row("in this process", workers.here),
        *(row(f"in workers in {NAMES[language]}", rate) for language, rate in workers.judged.items()),
        *(
            row(f"one worker in {NAMES[language]}, the pipe by itself", rate)
            for language, rate in workers.carried.items()
        ),
    )
    note = (
        f"The runs of {judge.TASK}'s suite with the reference as the candidate: in workers by the clock, from the "
        "first answered event to the last, so whatever else runs there counts; in this process by CPU time. The pipe "
        f"by itself: {workers.events:,} events of one run, {FRAME} in a frame, each answer read and checked; by CPU "
        "time of the slower side, so where each has a core."
    )
    return Section("Step protocol", rows, note)
