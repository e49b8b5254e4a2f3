"""Go through every schedule within bounds; what breaks is found by its shortest story.

Breadth first over the protocol's own handlers: every state within the bounds is visited once. Any message may arrive
next, or never; any timer that is set may fire; any node may be asked. A node that crashes restarts and has kept some
first part of what it had not synced. Clocks stand still. Only a search that has finished is ok (exit code 0): it says
what it covered. One that a limit has ended is inconclusive (2).
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from protosim import counterexample, files
from protosim.api import ModelSpec, ProtocolSpec, no_liars
from protosim.commands.hunt import default_name, tell_saved
from protosim.counterexample import Counterexample, describe
from protosim.errors import UserError
from protosim.explore import page
from protosim.explore.bounds import COUNTED, Bounds, Limits
from protosim.explore.lasso import Fair, Graph, Lasso
from protosim.explore.model import ModelSpace
from protosim.explore.search import Explored, Search, System
from protosim.explore.space import Space
from protosim.explore.story import scenario, unhurt
from protosim.explore.symmetry import Quotient
from protosim.markdown import machine, python
from protosim.options import (
    LARGEST_CLUSTER,
    MOST,
    add_program,
    brief,
    parse_switches,
    program_of,
    seconds,
    subject,
    whole,
)
from protosim.output import Answer, Output
from protosim.program import Program, StateProgram, load_model, nearest, spec_of
from protosim.run import says, simulate
from protosim.scenario import Scenario
from protosim.shrink import broken_name
from protosim.words import plural

DEFAULTS = attrs.asdict(Bounds())
HELP = {
    "timeouts": "timers that fire, of all nodes together",
    "requests": "clients' requests",
    "crashes": "crashes between two events; the node restarts at once",
    "cuts": "crashes between two effects of an event",
    "duplications": "messages that arrive twice",
}
MEMORY = 4_000  # megabytes
GAVE_UP = {
    "states": "it may not keep more states",
    "seconds": "the budget ran out",
    "memory": "it may not use more memory",
    "interrupt": "it was interrupted",
    "clocks": "nodes read their clocks, which stand still here: what passing time brings about was left out",
}


def options(parser: argparse.ArgumentParser) -> None:
    add_program(parser, nargs="?")
    add = parser.add_argument
    size = whole(1, LARGEST_CLUSTER)
    add("--nodes", metavar="N", type=size, help="nodes, or a model's participants (default: its own)")
    for name in COUNTED:
        number = DEFAULTS[name]
        add(f"--{name}", metavar="N", type=whole(0, 1000), help=f"{HELP[name]}, at most (default {number})")
    add(
        "--timer", metavar="NAME=N", action="append", default=[], dest="timers",
        help="this timer fires N times at most, or (N=any) any number of times (repeatable)",
    )  # fmt: skip
    most = f"messages on their way at once, of those that will ever arrive (default {DEFAULTS['messages']})"
    add("--messages", metavar="N", type=whole(1, 100), help=most)
    add(
        "--command", metavar="WORDS", action="append", default=[], dest="commands",
        help="what a request may ask, as in a transcript: 'put x 1' (repeatable; default: one command of the workload)",
    )  # fmt: skip
    add("--depth", metavar="N", type=whole(1, 10_000), help="events of a schedule at most (default: any number)")
    add(
        "--set", metavar="SWITCH=VALUE", action="append", default=[], dest="switches",
        help="a switch of the protocol (repeatable; default: its own)",
    )  # fmt: skip
    add(
        "--warning", metavar="NAME", action="append", default=[], dest="warnings",
        help="stop at this early warning too, or at all of them (repeatable)",
    )  # fmt: skip
    add(
        "--symmetry", action=argparse.BooleanOptionalAction, default=None,
        help="states that differ in nodes' names only are one (default: of protocols for which that is sound)",
    )  # fmt: skip
    add(
        "--liveness", action=argparse.BooleanOptionalAction, default=None,
        help="look for fair ways to go on for ever without a goal, no message lost (default: for models only)",
    )  # fmt: skip
    add("--states", metavar="N", type=whole(1, MOST), help="give up with more states than that")
    add("--budget", metavar="SECONDS", type=seconds, help="give up after that time")
    add("--memory", metavar="MB", type=whole(64, 10**6), default=MEMORY, help=f"give up above (default {MEMORY:,})")
    add("-o", "--output", metavar="FILE", help="where to save what broke (default: counterexample-….json, here)")
    add("--write", action="store_true", help="instead, run the collection of docs/explore.md and write it, below here")


def run(args: argparse.Namespace, out: Output) -> Answer:
    if args.write:
        return _write(args, out)
    if args.protocol is None:
        raise UserError("PROTOCOL is missing; see protosim explore --help.")
    if isinstance(spec_of(args.protocol), ModelSpec):
        return _explore_model(args, out)
    return _explore_protocol(args, out)


def _write(args: argparse.Namespace, out: Output) -> Answer:
    """The collection, line by line."""
    if args.protocol is not None:
        raise UserError("--write runs a collection of its own: leave the protocol out.")
    path = Path("docs", "explore.md")
    files.require_writable(path)
    rows: dict[str, tuple[str, ...]] = {}
    for section in page.SECTIONS:
        out.heading(section.title)
        for line in section.lines:
            rows[line] = page.row(line, page.measure(line))
            out.prose(f"{line}: {rows[line][1]}, {rows[line][2]} states, {rows[line][-1]} s")
    files.write(path, page.page(rows, _about()))
    out.say(f"Wrote {path}.")
    return Answer("ok", {"rows": list(rows.values())})


def _about() -> str:
    return f"`protosim explore --write`, {datetime.now(UTC):%Y-%m-%d}, {python()}, {machine()}."


# -- Protocols ---------------------------------------------------------------------------------------


def _explore_protocol(args: argparse.Namespace, out: Output) -> Answer:
    program = program_of(args)
    _require_explorable(program.spec)
    bounds, switches = bounds_of(args, program), parse_switches(args.switches, program)
    path = Path(args.output or default_name(program, 0))
    files.require_writable(path)
    symmetric = _symmetry(args, program, bounds)
    space = Space(program, bounds, switches, warnings=_warnings(args, program), ordered=symmetric)
    space.watch.healed = bounds.lossless
    system: Space | Quotient = Quotient(space) if symmetric else space
    out.say(f"Exploring {subject(program)}: {bounds}.")
    found = _search(system, bounds.depth, args, out)
    goals = [i.name for i in program.spec.invariants() if i.mode == "sometimes" and i.when(space.nodes.switches)]
    missed = [name for name in goals if name not in space.watch.reached]
    covered = f"every schedule of {bounds}"
    data = _fields(program, found, covered) | {"bounds": attrs.asdict(bounds), "symmetry": symmetric, "missed": missed}
    if space.nodes.clock_read and found.ended == "exhausted":
        found.ended = "clocks"
    if found.broken is not None:
        return _broke(space, system.events_of(found.path), found, path, data, out)
    if missed and found.ended == "exhausted":
        out.prose(f"No schedule within these bounds reached {', '.join(missed)}.")
    if args.liveness and found.ended == "exhausted":
        found, lasso = _lasso(space, args, out)
        if lasso is not None:
            return _starves(space, lasso, path, data, out)
        covered += ", and every fair loop in them"
    return _conclude(found, covered, data, out)


def _require_explorable(spec: ProtocolSpec) -> None:
    """An exploration that leaves out what the protocol is about would prove nothing."""
    has = "clients that are nodes" if spec.client is not None else "liars" if spec.liars is not no_liars else ""
    if has:
        raise UserError(f"{spec.name} has {has}, which explorations know nothing of: protosim hunt {spec.name} does.")


def bounds_of(args: argparse.Namespace, program: Program) -> Bounds:
    """What the command line says. Raises UserError for a size that the protocol cannot have, or an unknown timer."""
    given = {name: getattr(args, name) for name in (*COUNTED, "messages", "depth")}
    chosen = {name: number for name, number in given.items() if number is not None}
    timers = dict(_timer(setting, program) for setting in args.timers)
    nodes = _size(args, program.name, program.spec)
    for words in args.commands:
        _require_command(words, program)
    return Bounds(
        nodes=nodes, timers=timers, commands=tuple(args.commands), lossless=bool(args.liveness), **chosen
    )


def _require_command(words: str, program: Program) -> None:
    try:
        program.spec.parse(1, tuple(words.split()))
    except Exception as error:
        raise UserError(f"--command: {brief(words)!r} is no command of {program.name}: {says(error)}.") from None


def _size(args: argparse.Namespace, name: str, spec: Any) -> int:
    size: int = args.nodes or min(spec.sizes)
    why = f": {spec.note_sizes}" if spec.note_sizes else ""
    if size < spec.smallest:
        raise UserError(f"--nodes: {name} needs {plural(spec.smallest, 'node')} or more{why}.")
    if spec.largest is not None and size > spec.largest:
        raise UserError(f"--nodes: {name} takes {plural(spec.largest, 'node')} at most{why}.")
    return size


def _timer(setting: str, program: Program) -> tuple[str, int | None]:
    name, equals, number = setting.partition("=")
    if not equals or not (number == "any" or number.isdecimal()) or len(number) > 4:
        raise UserError(f"--timer takes NAME=N or NAME=any, not {brief(setting)!r}.")
    if name not in program.spec.node.TIMERS:
        raise nearest(name, program.spec.node.TIMERS, f"timer of {program.name}")
    return name, None if number == "any" else int(number)


def _symmetry(args: argparse.Namespace, program: Program, bounds: Bounds) -> bool:
    """Whether states that differ in nodes' names are one. A broadcast that a crash cuts short has an order."""
    reasons = {
        "its nodes are not interchangeable": not program.spec.symmetric,
        "a crash within a broadcast tells nodes apart": bool(bounds.cuts),
        "--liveness asks what each node does": bounds.lossless,
    }
    sound = not any(reasons.values())
    if args.symmetry and not sound:
        why = next(reason for reason, holds in reasons.items() if holds)
        raise UserError(f"--symmetry: not for {program.name}: {why}.")
    return sound if args.symmetry is None else bool(args.symmetry)


def _warnings(args: argparse.Namespace, program: Program) -> list[str]:
    known = [invariant.name for invariant in program.spec.invariants() if invariant.mode == "warning"]
    for name in args.warnings:
        if name not in (*known, "all"):
            raise nearest(name, (*known, "all"), f"early warning of {program.name}")
    return known if "all" in args.warnings else list(args.warnings)


def _broke(
    space: Space, events: tuple[int, ...], found: Explored, path: Path, data: dict[str, Any], out: Output
) -> Answer:
    """Save the shortest story, once a world has confirmed it."""
    told = scenario(space, events)
    about = {"explored": found.states, "bounds": str(space.bounds)}
    saved = _confirmed(space, told, found.broken, about)
    counterexample.save(path, saved)
    data |= tell_saved(space.program, saved, path, out)
    if found.broken.invariant is None:
        data["message"] = f"The protocol failed: {saved.message}."
        out.note(data["message"])
        return Answer("error", data)
    steps = len(told.script or ())
    out.verdict("violation", f"{plural(steps, 'step')}, and no schedule within the bounds breaks anything in fewer.")
    return Answer("violation", data)


def _confirmed(space: Space, told: Scenario, broken: Any, about: dict[str, Any]) -> Counterexample:
    """The scenario as a counterexample, once a world has broken the same in it."""
    run = simulate(space.program, told)
    name = broken.invariant.name if broken.invariant is not None else ""
    if broken_name(run) != name or bool(name) == bool(run.failure):
        raise RuntimeError(f"an exploration says {broken.sentence}, and a world {run.violation or run.failure}")
    return describe(space.program, run, about)


def _starves(space: Space, lasso: Lasso, path: Path, data: dict[str, Any], out: Output) -> Answer:
    """Save a fair way to go on for ever without a goal: the stem, and the loop twice."""
    told = unhurt(scenario(space, space.events_of(lasso.stem + 2 * lasso.loop)))
    saved = _confirmed(space, told, lasso, {"loop_begins_after": len(lasso.stem), "bounds": str(space.bounds)})
    counterexample.save(path, saved)
    data |= tell_saved(space.program, saved, path, out)
    out.verdict("violation", f"{_spell_loop(lasso)}, and nobody is treated unfairly.")
    return Answer("violation", data)


def _spell_loop(lasso: Lasso) -> str:
    if not lasso.loop:
        return f"after step {len(lasso.stem)} nothing happens any more"
    return f"the {plural(len(lasso.loop), 'step')} after step {len(lasso.stem)} can go on for ever"


# -- Models ------------------------------------------------------------------------------------------


def _explore_model(args: argparse.Namespace, out: Output) -> Answer:
    program = load_model(args.protocol, args.mutant, args.source)
    for name in (*COUNTED, "messages", "output"):
        if getattr(args, name) is not None:
            raise UserError(f"--{name}: {program.name} is a model of shared state, which has none.")
    given = {"set": args.switches, "timer": args.timers, "warning": args.warnings, "command": args.commands}
    for name in (name for name, values in given.items() if values):
        raise UserError(f"--{name}: {program.name} is a model of shared state, which has none.")
    size = _size(args, program.name, program.spec)
    space = ModelSpace(program.spec, size, symmetric=bool(args.symmetry))
    out.say(f"Exploring {subject(program)}: {plural(size, 'participant')}.")
    found = _search(space, args.depth, args, out)
    covered = f"every behaviour of {plural(size, 'participant')}"
    covered += f" with at most {plural(args.depth, 'step')}" if args.depth else ""
    data = _fields(program, found, covered) | {"bounds": {"nodes": size}, "symmetry": bool(args.symmetry), "missed": []}
    if found.broken is not None:
        return _model_broke(space, found.path, found.broken, data, out)
    live = args.liveness is not False and not (args.symmetry or args.depth)
    if live and found.ended == "exhausted":
        found, lasso = _lasso(space, args, out)
        if lasso is not None:
            data["loop_begins_after"] = len(lasso.stem)
            return _model_broke(space, lasso.stem + lasso.loop, lasso, data, out)
        covered += ", for ever"
    return _conclude(found, covered, data, out)


def _model_broke(space: ModelSpace, path: tuple[int, ...], broken: Any, data: dict[str, Any], out: Output) -> Answer:
    story = space.told(path if broken.invariant is not None else path[:-1])  # an action that fails changes nothing
    out.say()
    out.table([(str(i), act, changes) for i, (act, changes) in enumerate(story)])
    out.say()
    data |= {"story": [list(line) for line in story], "message": broken.sentence}
    if broken.invariant is None:
        out.note(f"The model failed: {broken.sentence}.")
        return Answer("error", data)
    data["invariant"] = broken.invariant.name
    out.say(f"{broken.invariant.title}: {broken.sentence}")
    short = f"{plural(len(story) - 1, 'step')}, and nothing breaks in fewer."
    loop = isinstance(broken, Lasso) and f"{_spell_loop(broken)}, and nobody is treated unfairly."
    out.verdict("violation", loop or short)
    return Answer("violation", data)


# -- What came out -----------------------------------------------------------------------------------


def _search(system: System, depth: int | None, args: argparse.Namespace, out: Output) -> Explored:
    limits = Limits(states=args.states, seconds=args.budget, megabytes=args.memory)
    with out.progress() as tick:

        def progress(so_far: Explored) -> None:
            tick(0, f"{plural(so_far.states, 'state')}, depth {so_far.depth}")

        search = Search(system, limits, depth, progress)
        found = search.run()
    if found.ended != "failed":
        out.table(figures(found))
    return found


def _lasso(system: Fair, args: argparse.Namespace, out: Output) -> tuple[Explored, Lasso | None]:
    """Look for a fair loop without a goal, in all states."""
    limits = Limits(states=args.states, seconds=args.budget, megabytes=args.memory)
    with out.progress() as tick:
        graph = Graph(system, limits, lambda found: tick(0, f"{plural(found.states, 'state')}, looking for loops"))
        found = graph.build()
        return found, graph.lasso() if found.ended == "exhausted" else None


def figures(found: Explored) -> list[tuple[str, str]]:
    """How far the search came, and what it cost."""
    each = f", {found.bytes_a_state:,.0f} bytes a state" if found.bytes_a_state >= 1 else ""
    return [
        ("states", f"{found.states:,} distinct, in {plural(found.steps, 'step')}"),
        ("depth", plural(found.depth, "event")),
        ("speed", f"{found.rate:,.0f} distinct states a second of CPU time, {found.cpu:.1f} s"),
        ("memory", f"{found.peak >> 20:,} MB at the peak{each}" if found.peak else "unknown"),
    ]


def _fields(program: Program | StateProgram, found: Explored, covered: str) -> dict[str, Any]:
    """Every field of the JSON object; what a violation adds is still empty."""
    return {
        "protocol": program.name,
        "mutants": list(program.mutants),
        "source": program.origin or None,
        "covered": covered,
        "ended": found.ended,
        "states": found.states,
        "steps": found.steps,
        "depth": found.depth,
        "cpu": round(found.cpu, 3),
        "states_a_second": round(found.rate),
        "peak_bytes": found.peak,
        "bytes_a_state": round(found.bytes_a_state),
        "invariant": None,
        "message": None,
        "counterexample": None,
        "digest": None,
        "replay": None,
        "shrunk": None,
        "story": None,
    }


def _conclude(found: Explored, covered: str, data: dict[str, Any], out: Output) -> Answer:
    """Nothing broke: it is covered, or the search gave up."""
    if found.ended == "exhausted":
        out.verdict("ok", f"{covered}: exhausted, and nothing broke.")
        return Answer("ok", data)
    how = "" if found.ended == "clocks" else " before all was explored"
    data["message"] = f"Nothing broke up to depth {found.depth}, but {GAVE_UP[found.ended]}{how}."
    out.verdict("inconclusive", data["message"])
    return Answer("inconclusive", data)
