"""Shrink: from a run that breaks an invariant to the shortest script that we can find which breaks it too.

A long run is first exchanged for a shorter one that breaks the same invariant, if some searching finds one. The run
becomes a script of its events. Then parts are left out as long as the invariant still breaks: nodes, chunks of events
from large to small (after Zeller's ddmin), pairs of events, and what crashes kept. After each success the script is
recorded anew, so that it holds only what really happened, under the fingerprints that the messages now have.

What it costs is bounded in events, so the result is the same on any machine, unless somebody has enough of it before:
then the best script so far is the result.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import attrs

from protosim.history import LINEARIZABILITY
from protosim.keys import derive
from protosim.plan import Wish, plan
from protosim.program import Program
from protosim.run import LocalHost, Run, make_world, run_to_end, simulate
from protosim.scenario import Choice, Scenario, Step
from protosim.script import StepRecorder
from protosim.world import CLIENTS, ProtocolFailure

Steps = tuple[Step, ...]
Enough = Callable[[], bool]
"""Whether to end with the best so far; asked before each attempt."""

PAIRS = 60  # scripts up to this length are also tried without each pair of events


@attrs.define
class Shrinker:
    """Keeps the best script so far; every attempt is counted against the budget."""

    program: Program
    best: Scenario
    invariants: tuple[str, ...]  # any of these will do; none for a failure of the protocol
    budget: int  # events; an attempt costs a few more for its set-up
    replayed: int = 0
    progress: Callable[[int], None] | None = None
    enough: Enough | None = None
    stopped: bool = False  # by `enough` or by Ctrl-C, before it was as short as it gets

    def breaks(self, scenario: Scenario) -> Scenario | None:
        """The scenario with the script as it really went, if the invariant still breaks."""
        run = probe(self.program, scenario, self.invariants)
        self.replayed += run.events + 5
        if broken_name(run) not in self.invariants if self.invariants else not run.failure:
            return None
        return attrs.evolve(scenario, script=record(self.program, scenario))

    def attempt(self, steps: Sequence[Step], nodes: int | None = None) -> bool:
        """Take the script if it breaks the invariant and is no longer than the best so far."""
        self.stopped = self.stopped or (self.enough is not None and self.enough())
        if self.stopped or self.replayed >= self.budget:
            return False
        try:
            found = self.breaks(attrs.evolve(self.best, script=tuple(steps), nodes=nodes or self.best.nodes))
        except KeyboardInterrupt:
            self.stopped = True
            return False
        if found is None or (found.nodes == self.best.nodes and len(found.script or ()) > len(self.steps)):
            return False
        self.best = found
        if self.progress is not None:
            self.progress(len(self.steps))
        return True

    @property
    def steps(self) -> Steps:
        return self.best.script or ()


@attrs.frozen
class Shrunk:
    """A short story, and the run that it was made from."""

    scenario: Scenario  # with the script
    origin: Scenario  # the run: the one that was given, or a shorter one that breaks the same invariant
    events: int  # of that run
    stopped: bool = False  # it might be shorter still


def broken_name(run: Run) -> str:
    """Which invariant broke; a violation before a warning."""
    broken = run.violation or run.warning
    return broken.invariant.name if broken is not None else ""


def probe(program: Program, scenario: Scenario, invariants: Sequence[str]) -> Run:
    """Run a scenario up to its first violation; client histories are judged only if linearizability is asked for."""
    return simulate(program, scenario, digest=False, history=LINEARIZABILITY.name in invariants)


def record(program: Program, scenario: Scenario) -> Steps:
    """The script that repeats a scenario up to its first violation or failure."""
    world = make_world(program, scenario, digest=False)
    world.recorder = recorder = StepRecorder()
    try:
        run_to_end(world, LocalHost(program, scenario))
    except ProtocolFailure:
        raised = recorder.describe(world)  # a handler that raised never came back to be recorded
        return (*recorder.steps, raised) if raised is not None else tuple(recorder.steps)
    return tuple(recorder.steps)


BUDGET = 120_000  # events spent on shortening
SHORT = 150  # events of a run that is shortened at once
SEARCH = 60_000  # events spent on looking for a shorter run
SEEDS = 1_000
LONG = 40
"""A story longer than this is shortened further, then looked for in other runs; any invariant will do then."""


def shrink(
    program: Program,
    scenario: Scenario,
    invariant: str,
    progress: Callable[[int], None] | None = None,
    wish: Wish | None = None,
    enough: Enough | None = None,
) -> Shrunk | None:
    """The shortest script found that breaks the invariant. None if the run's own script does not (liveness, say).

    It may be made from a shorter run under another seed; with the hunt's `wish`, from any run of that hunt.
    """
    shorter = _shorter_run(program, scenario, (invariant,), wish, enough)
    shrunk = _from_run(program, shorter, (invariant,), BUDGET, progress, enough)
    if shrunk is None or not invariant or shrunk.stopped or len(shrunk.scenario.script or ()) <= LONG:
        return shrunk
    always = tuple(i.name for i in program.spec.invariants() if i.mode == "always")
    further = Shrinker(program, shrunk.scenario, always, budget=BUDGET // 2, progress=progress, enough=enough)
    shrunk = attrs.evolve(shrunk, scenario=_shorten(further) or shrunk.scenario, stopped=further.stopped)
    if shrunk.stopped or len(shrunk.scenario.script or ()) <= LONG:
        return shrunk
    shorter = _shorter_run(program, scenario, always, wish, enough)
    other = _from_run(program, shorter, always, BUDGET // 2, progress, enough)
    return min(shrunk, other or shrunk, key=lambda s: len(s.scenario.script or ()))


def _from_run(
    program: Program,
    scenario: Scenario,
    invariants: tuple[str, ...],
    budget: int,
    progress: Callable[[int], None] | None,
    enough: Enough | None,
) -> Shrunk | None:
    steps = record(program, scenario)
    bare = attrs.evolve(
        scenario,
        scheduler=Choice("replay"),
        script=steps,
        faults=(),
        forks=(),
        heal=None,
        events=max(len(steps) * 2, 100),
    )
    named = tuple(filter(None, invariants))
    shrinker = Shrinker(program, bare, named, budget=budget, progress=progress, enough=enough)
    best = _shorten(shrinker)
    return None if best is None else Shrunk(best, scenario, len(steps), shrinker.stopped)


def _shorter_run(
    program: Program, scenario: Scenario, invariants: tuple[str, ...], wish: Wish | None, enough: Enough | None
) -> Scenario:
    """A run that breaks one of these sooner: of the same kind under other seeds, or of the same hunt.

    Shortening costs the square of a run's length, so that a shorter run is worth some searching.
    """
    run = probe(program, scenario, invariants)
    spent = 0
    for again in range(SEEDS):
        if run.events <= SHORT or spent >= SEARCH or (enough is not None and enough()):
            break
        seed, events = derive(scenario.seed, "again", again), run.events * 2 // 3
        if wish is not None and again % 2:
            other = plan(program, attrs.evolve(wish, seed=seed, nodes=scenario.nodes, events=events), 0)
        else:
            other = attrs.evolve(scenario, seed=seed, events=events, forks=(), heal=None)
        found = probe(program, other, invariants)
        spent += found.events
        if broken_name(found) in invariants and bool(found.failure) == bool(run.failure):
            scenario, run = other, found
    return scenario


def _shorten(shrinker: Shrinker) -> Scenario | None:
    first = shrinker.breaks(shrinker.best)
    if first is None:
        return None
    shrinker.best = first
    _without_any_nodes(shrinker)
    _chunks(shrinker)
    if _without_any_nodes(shrinker):
        _chunks(shrinker)
    _pairs(shrinker)
    _plainer(shrinker)
    return _tidy(shrinker)


def _chunks(shrinker: Shrinker) -> None:
    """Leave out chunks, halving their size, from the end backwards; start over as long as it helps.

    What a chunk did to the terms (views, ballots) may be needed: then a few timeouts of one node may take its place.
    """
    improved = True
    while improved:
        improved = False
        size = max(1, len(shrinker.steps) // 2)
        while size:
            end = len(shrinker.steps)
            while end > 0:
                if _leave_out(shrinker, max(0, end - size), end):
                    improved = improved or size == 1
                end = min(end - size, len(shrinker.steps))
            size //= 2


def _leave_out(shrinker: Shrinker, start: int, end: int) -> bool:
    steps = shrinker.steps
    if shrinker.attempt(steps[:start] + steps[end:]):
        return True
    for timeout in _timeouts(steps, start, end):
        for times in range(1, min(4 if end - start < 40 else 2, end - start)):
            if shrinker.attempt((*steps[:start], *(timeout,) * times, *steps[end:])):
                return True
    return False


def _timeouts(steps: Steps, start: int, end: int) -> list[Step]:
    """One timeout of each node and timer that the chunk, or the events soon after it, have."""
    found: dict[tuple[str, str], Step] = {}
    for step in steps[start : end + 10]:
        if step.do == "timeout":
            found.setdefault((step.node, step.timer), attrs.evolve(step, cut=None, kept=(), clock=None))
    return list(found.values())


def _without_any_nodes(shrinker: Shrinker) -> bool:
    """Whether two nodes, or one, could be left out."""
    before = shrinker.best.nodes
    for fewer in (3, 2, 1):
        _without_nodes(shrinker, fewer)
    return shrinker.best.nodes < before


def _without_nodes(shrinker: Shrinker, count: int) -> None:
    """Leave out nodes; those that stay are renamed, since a smaller cluster has a smaller majority."""
    ids, spec = shrinker.best.node_ids(), shrinker.program.spec
    if len(ids) - count < max(3, spec.smallest) or (spec.only_sizes and len(ids) - count not in spec.sizes):
        return
    for gone in combinations(ids, count):
        stay = [name for name in ids if name not in gone]
        names = {**dict(zip(stay, ids, strict=False)), **{client: client for client in CLIENTS}}
        steps = [
            attrs.evolve(s, node=names[s.node], src=names.get(s.src, ""), lie=_renamed(s.lie, names))
            for s in shrinker.steps
            if s.node in names and (not s.src or s.src in names)
        ]
        if shrinker.attempt(steps, nodes=len(stay)):
            return


def _renamed(wire: Any, names: dict[str, str]) -> Any:
    """A message in wire form with the nodes' new names; who is gone keeps the old one."""
    if isinstance(wire, list):
        return [_renamed(item, names) for item in wire]
    return names.get(wire, wire) if isinstance(wire, str) else wire


def _pairs(shrinker: Shrinker) -> None:
    """Leave out any two events at once: a message and its answer, a crash and its restart."""
    improved = True
    while improved and len(shrinker.steps) <= PAIRS:
        improved = False
        steps = shrinker.steps
        for i, j in combinations(range(len(steps) - 1, -1, -1), 2):
            if shrinker.attempt(steps[:j] + steps[j + 1 : i] + steps[i + 1 :]):
                improved = True
                break


def _plainer(shrinker: Shrinker) -> None:
    """The same story with less to explain: whole crashes, nothing kept, a crash and its restart as one event."""
    for position in range(len(shrinker.steps) - 1, -1, -1):
        steps = shrinker.steps
        if position >= len(steps):
            continue
        step = steps[position]
        if step.cut is not None:
            shrinker.attempt((*steps[:position], attrs.evolve(step, cut=None, kept=()), *steps[position + 1 :]))
        elif step.kept:
            shrinker.attempt((*steps[:position], attrs.evolve(step, kept=()), *steps[position + 1 :]))
        if step.do == "crash":
            _reboot(shrinker, position)


def _reboot(shrinker: Shrinker, position: int) -> None:
    steps = shrinker.steps
    for later in range(position + 1, len(steps)):
        if steps[later].node == steps[position].node and steps[later].do == "restart":
            reboot = attrs.evolve(steps[position], do="reboot")
            without = steps[:later] + steps[later + 1 :]
            for place in (position, later - 1):
                rest = without[:position] + without[position + 1 :]
                if shrinker.attempt((*rest[:place], reboot, *rest[place:])):
                    return
            return


def _tidy(shrinker: Shrinker) -> Scenario:
    """A millisecond a step, if that changes nothing."""
    even = tuple(attrs.evolve(s, at=1000 * i, clock=None) for i, s in enumerate(shrinker.steps, 1))
    return shrinker.breaks(attrs.evolve(shrinker.best, script=even)) or shrinker.best
