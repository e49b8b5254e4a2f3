"""Run a scenario in this process: world, nodes, and what came out."""

import importlib
import traceback
from collections.abc import Sequence
from typing import Any

import attrs

from protosim import api
from protosim.api import Effect, Node, Observer
from protosim.errors import UserError
from protosim.program import Program, modules, nearest
from protosim.scenario import Choice, Scenario
from protosim.schedule import Schedule
from protosim.watchdog import Looping, watched
from protosim.world import DELIVER, REQUEST, START, TIMEOUT, Broken, ProtocolFailure, World


class LocalHost:
    """The nodes of one world, in this process."""

    def __init__(self, program: Program, scenario: Scenario) -> None:
        self.spec = program.spec
        self.switches = make_switches(program, scenario.switches)
        self.nodes: dict[int, Node[Any]] = {}  # by place

    def step(self, world: World) -> tuple[list[Effect], list[tuple[str, ...]]]:
        """Let the node handle the world's event. The lists are reused: carry them out before the next step."""
        at, event = world.at, world.pending
        kind = event[0]
        try:
            if kind == START:
                self.nodes[at] = self.spec.boot(world.ids[at], world.replicas, self.switches, event[1])
            node: Any = self.nodes[at]
            node.now = world.clock_of(at)
            if kind == DELIVER:
                node.receive(event[1], event[2])
            elif kind == TIMEOUT:
                node.TIMERS[event[1]](node)
            elif kind == REQUEST:
                node.request(event[1], event[2])
            else:
                node.start()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if world.ids[at] not in world.liars:
                raise failure(world.ids[at], event, error) from error
            self.nodes[at]._effects.clear()  # its two selves may have led it where no correct node gets
        return self.nodes[at]._effects, api.refusals

    def copy(self) -> "LocalHost":
        twin = object.__new__(LocalHost)
        twin.__dict__.update(self.__dict__)
        twin.nodes = {at: node.copy() for at, node in self.nodes.items()}
        return twin


def failure(node: str, event: tuple[Any, ...], error: BaseException) -> ProtocolFailure:
    """The sentence for an exception in a handler: what, where, and the event that led to it."""
    if isinstance(error, ProtocolFailure | Looping):
        return ProtocolFailure(str(error))
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].name}, line {frames[-1].lineno}" if frames else "an unknown place"
    return ProtocolFailure(f"{says(error)}, in {where}, while {node} handled {printable(spell_event(event))}")


def says(error: BaseException) -> str:
    """An exception for a person, whatever its own methods do."""
    try:
        return printable(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    except Exception:
        return f"{type(error).__name__}, which cannot be spelled"


def printable(text: str, longest: int = 400) -> str:
    """On one line, without anything that a terminal would obey."""
    cut = "".join(c if c.isprintable() else "?" for c in text[:longest])
    return cut if len(text) <= longest else f"{cut}…"


def spell_event(event: tuple[Any, ...]) -> str:
    """An event for a person."""
    match event[0]:
        case 0:
            return f"{event[2]} from {event[1]}"
        case 1:
            return f"the timeout {event[1]}"
        case 2:
            return f"the request {event[2]}"
        case _:
            return "its start"


def run_to_end(world: World, host: LocalHost) -> None:
    """Drive the world until it is over. Raises ProtocolFailure."""
    advance, resume, step = world.advance, world.resume, host.step
    api.refusals.clear()
    with watched(world):
        try:
            while advance():
                effects, refused = step(world)
                resume(effects, refused)
                effects.clear()
                if refused:
                    refused.clear()
        except (ProtocolFailure, KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:
            what = f"what {world.ids[world.at]} asked for, handling {printable(spell_event(world.pending))}"
            raise ProtocolFailure(f"{what}, cannot be carried out: {says(error)}") from error


@attrs.define
class Run:
    """What a run was: how far it went, what broke, what it covered."""

    scenario: Scenario
    events: int
    simulated_us: int
    digest: str
    violation: Broken | None
    warning: Broken | None
    failure: str  # what no protocol may do, as a sentence
    reached: tuple[str, ...]  # `sometimes` goals
    missed: tuple[str, ...]
    faults_fired: dict[str, int]
    checks_refused: dict[str, tuple[int, int]]  # check -> (refusals, as the sole reason)
    linearizable: str = "not checked"

    @property
    def status(self) -> str:
        if self.violation is not None:
            return "violation"
        if self.failure:
            return "error"
        unsure = self.warning is not None or self.missed or self.linearizable == "inconclusive"
        return "inconclusive" if unsure else "ok"


def drive(world: World, host: LocalHost) -> str:
    """Drive the world until it is over: the protocol's failure as a sentence, or nothing."""
    try:
        run_to_end(world, host)
    except ProtocolFailure as failed:
        return str(failed)
    return ""


def make_switches(program: Program, values: dict[str, Any]) -> Any:
    """The protocol's switches. Raises UserError for an unknown one or a value it cannot take."""
    fields = {field.name: field for field in attrs.fields(program.spec.switches)}
    for name, value in values.items():
        if name not in fields:
            raise nearest(name, fields, f"switch of {program.name}")
        choices, kind = fields[name].metadata["choices"], type(fields[name].default)
        large = kind is int and type(value) is int and 1 <= value <= 10**6
        if type(value) is not kind or not (large or value in choices):
            raise UserError(
                f"The switch {name} of {program.name} cannot be {value!r}: it is {fields[name].default!r} by default, "
                f"and {'for example' if kind is int else 'one of'} {', '.join(map(repr, choices))}."
            )
    return program.spec.switches(**values)


def make_schedule(choice: Choice) -> Schedule:
    if choice.name not in modules("schedulers"):
        raise nearest(choice.name, modules("schedulers"), "scheduler")
    made: Schedule = importlib.import_module(f"schedulers.{choice.name}").make(dict(choice.params))
    return made


def make_fault(choice: Choice) -> Any:
    if choice.name not in modules("faults"):
        raise nearest(choice.name, modules("faults"), "fault")
    return importlib.import_module(f"faults.{choice.name}").make(dict(choice.params))


def make_world(
    program: Program,
    scenario: Scenario,
    *,
    observers: Sequence[type[Observer]] | None = None,
    digest: bool = True,
) -> World:
    """The world of a scenario; scripted scenarios have a world of their own."""
    schedule = make_schedule(scenario.scheduler)
    if scenario.script is not None:
        from protosim.script import ScriptedWorld

        return ScriptedWorld(scenario, program.spec, schedule, observers=observers, digest=digest)
    faults = [make_fault(choice) for choice in scenario.faults]
    return World(scenario, program.spec, schedule, faults, observers=observers, digest=digest)


def finish(world: World, failed: str = "", *, history: bool = True) -> Run:
    """The Run of a world that is over; the client history is judged here."""
    from protosim.history import judge_history

    linearizable = "not checked"
    if history and world.observers and not failed and world.violation is None:
        linearizable = judge_history(world)
    switches = world.switches
    goals = [i.name for i in world.spec.invariants() if i.mode == "sometimes" and i.when(switches)]
    return Run(
        scenario=world.scenario,
        events=world.events,
        simulated_us=world.now,
        digest=world.digest(),
        violation=world.violation,
        warning=world.warning,
        failure=failed,
        reached=tuple(sorted(world.reached)),
        missed=tuple(sorted(set(goals) - world.reached)) if world.observers else (),
        faults_fired=dict(sorted(world.fired.items())),
        checks_refused={name: (all_, sole) for name, (all_, sole) in sorted(world.refused.items())},
        linearizable=linearizable,
    )


def simulate(
    program: Program,
    scenario: Scenario,
    *,
    observers: Sequence[type[Observer]] | None = None,
    digest: bool = True,
    history: bool = True,
) -> Run:
    """Run the scenario to its end, to the first violation, or to the protocol's failure."""
    world = make_world(program, scenario, observers=observers, digest=digest)
    return finish(world, drive(world, LocalHost(program, scenario)), history=history)
