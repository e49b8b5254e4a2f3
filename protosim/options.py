"""Options that several commands share, and what their values must be."""

import argparse
import importlib
import math
import shlex
from collections.abc import Callable
from typing import Any

import attrs

from protosim.api import MS
from protosim.errors import UserError
from protosim.keys import Draw
from protosim.plan import PORTFOLIO, Wish
from protosim.program import Program, StateProgram, load, nearest, reference
from protosim.run import make_fault, make_schedule, make_switches
from protosim.scenario import Choice
from protosim.words import plural

SEED = 1
LARGEST_SEED = 2**63 - 1
LARGEST_CLUSTER = 9
MOST = 10**12  # runs, events
LONGEST_BUDGET = 10**7  # seconds: some sixteen weeks
MOST_JOBS = 256

SHARES = {"per_mille", "aim", "leader"}  # of faults: in 1/1000
TIMES = {"every", "lasts", "down"}  # of faults: in microseconds
SHORTEST = 100  # microseconds: a fault that comes more often leaves no time for anything else


# -- Values ------------------------------------------------------------------------------------------


def whole(least: int, most: int) -> Callable[[str], int]:
    """A whole number within these bounds."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or not least <= number <= most:
            says = f"takes a whole number from {least:,} to {most:,}, not {brief(text)!r}"
            raise argparse.ArgumentTypeError(says)
        return number

    return parse


def seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= LONGEST_BUDGET:
        says = f"takes a number of seconds above 0, at most {LONGEST_BUDGET:,}, not {brief(text)!r}"
        raise argparse.ArgumentTypeError(says)
    return number


def brief(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


# -- Options -----------------------------------------------------------------------------------------


def add_program(parser: argparse.ArgumentParser, *, nargs: str | None = None) -> None:
    """PROTOCOL, --mutant, --source: what is run."""
    parser.add_argument("protocol", metavar="PROTOCOL", nargs=nargs, help="a file of protocols/, by its name")
    parser.add_argument(
        "--mutant", metavar="ID", action="append", default=[],
        help="put this bug in (repeatable); `protosim list mutations PROTOCOL` has them",
    )  # fmt: skip
    parser.add_argument("--source", metavar="FILE", help="an edited copy of the protocol's file to run instead")


def add_worker(parser: argparse.ArgumentParser) -> None:
    """--worker, --project: whose nodes are run."""
    parser.add_argument(
        "--worker", metavar="COMMAND",
        help="a program of yours that holds the nodes and speaks the step protocol (docs/step-protocol.md); trusted",
    )  # fmt: skip
    parser.add_argument("--project", metavar="FILE", help="what its messages and durable fields are in the protocol")


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """What decides a run, and bounds."""
    add = parser.add_argument
    add("--seed", type=whole(0, LARGEST_SEED), default=SEED, help=f"decides all that is left open (default {SEED})")
    add("--nodes", type=whole(1, LARGEST_CLUSTER), help="the cluster's size (default: drawn)")
    portfolio = ", ".join((*PORTFOLIO, "fair"))
    add("--scheduler", metavar="NAME", help=f"one for all runs (default: a portfolio of {portfolio})")
    add(
        "--faults", metavar="LIST", default="swarm",
        help="NAME or NAME:PARAM=N, separated by commas; or none; or swarm, which draws them (default)",
    )  # fmt: skip
    add(
        "--set", metavar="SWITCH=VALUE", action="append", default=[], dest="switches",
        help="a switch of the protocol (repeatable; default: drawn)",
    )  # fmt: skip
    add("--jobs", metavar="N", type=whole(1, MOST_JOBS), default=1, help="processes; changes nothing but the time")


def add_bounds(parser: argparse.ArgumentParser, runs: str, events: str, budget: str) -> None:
    """--runs, --events, --budget, with what each means to the command."""
    parser.add_argument("--runs", metavar="N", type=whole(1, MOST), help=runs)
    parser.add_argument("--events", metavar="N", type=whole(1, MOST), help=events)
    parser.add_argument("--budget", metavar="SECONDS", type=seconds, help=budget)


# -- What they mean ----------------------------------------------------------------------------------


def program_of(args: argparse.Namespace) -> Program:
    """Raises UserError for what does not exist, or does not go together."""
    worker, project = getattr(args, "worker", None), getattr(args, "project", None)
    if project is not None and worker is None:
        raise UserError("--project says what a program's names are in the protocol: name the program with --worker.")
    if worker is None:
        return load(args.protocol, args.mutant, args.source)
    if args.mutant or args.source:
        raise UserError("--worker brings its own code: it does not go together with --mutant or --source.")
    return remote_program(args.protocol, worker, project)


def remote_program(protocol: str, worker: str, project: str | None) -> Program:
    """The protocol with its nodes in this program. Raises UserError."""
    from protosim import projection, remote

    try:
        command = tuple(shlex.split(worker))
    except ValueError as error:
        raise UserError(f"--worker {brief(worker)!r} is no command line: {error}.") from None
    if not command:
        raise UserError("--worker needs a command, for example --worker './my-host --flag'.")
    text = projection.load(project, reference(protocol)).text if project else ""
    return remote.load(protocol, command, text)


def wish_of(args: argparse.Namespace, program: Program) -> Wish:
    """What the command line fixed of the scenarios. Raises UserError for what cannot be."""
    spec = program.spec
    if args.nodes is not None and args.nodes < spec.smallest:
        why = f": {spec.note_sizes}" if spec.note_sizes else ""
        raise UserError(f"--nodes: {program.name} needs {plural(spec.smallest, 'node')} or more{why}.")
    if args.nodes is not None and spec.largest is not None and args.nodes > spec.largest:
        why = f": {spec.note_sizes}" if spec.note_sizes else ""
        raise UserError(f"--nodes: {program.name} runs with {plural(spec.largest, 'node')} at most{why}.")
    if args.nodes is not None and spec.only_sizes and args.nodes not in spec.sizes:
        sizes, why = " or ".join(map(str, spec.sizes)), f": {spec.note_sizes}" if spec.note_sizes else ""
        raise UserError(f"--nodes: {program.name} runs with {sizes} nodes{why}.")
    if args.scheduler is not None:
        make_schedule(Choice(args.scheduler))
    return Wish(
        seed=args.seed,
        nodes=args.nodes,
        scheduler=args.scheduler,
        faults=parse_faults(args.faults),
        switches=parse_switches(args.switches, program),
    )


def parse_faults(text: str) -> tuple[Choice, ...] | None:
    """ "loss,crash:every=20000" as choices; None for "swarm"."""
    if text == "swarm":
        return None
    return () if text == "none" else tuple(_parse_fault(part) for part in text.split(","))


def _parse_fault(text: str) -> Choice:
    name, *settings = text.split(":")
    make_fault(Choice(name))  # there is one by this name
    known = importlib.import_module(f"faults.{name}").draw(Draw(0), 100 * MS)
    params: dict[str, int] = {}
    for setting in settings:
        param, _, value = setting.partition("=")
        if param not in known:
            raise nearest(param, known, f"parameter of the fault {name}")
        least, most = _limits(name, param)
        if not value.isdecimal() or len(value) > 12 or not least <= int(value) <= most:
            says = f"takes a whole number from {least:,} to {most:,}, not {brief(value)!r}"
            raise UserError(f"--faults: {name}:{param} {says}.")
        params[param] = int(value)
    return Choice(name, params)


def _limits(fault: str, param: str) -> tuple[int, int]:
    if param in SHARES:
        return 0, 1000
    never = (fault, param) == ("crash", "every")
    return (SHORTEST if param in TIMES and not never else 0), 10**9


def parse_switches(settings: list[str], program: Program) -> dict[str, Any]:
    """SWITCH=VALUE, typed as the switch's default is."""
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f"--set takes SWITCH=VALUE, not {brief(setting)!r}.")
        values[name] = _typed(text)
    make_switches(program, values)
    return values


def _typed(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 20 else text


@attrs.frozen(kw_only=True)
class Bounds:
    """Where a hunt ends at the latest, and how many processes it has."""

    runs: int | None = None
    events: int | None = None
    budget: float | None = None  # seconds
    jobs: int = 1

    def __str__(self) -> str:
        said = [plural(bound, one) for bound, one in ((self.runs, "run"), (self.events, "event")) if bound]
        return ", ".join([*said, *([f"{self.budget:,g} s"] if self.budget else [])])


def bounds_of(args: argparse.Namespace, runs: int) -> Bounds:
    """What the command line says; so many runs where it gives no bound."""
    bounds = Bounds(runs=args.runs, events=args.events, budget=args.budget, jobs=args.jobs)
    unbounded = not (bounds.runs or bounds.events or bounds.budget)
    return attrs.evolve(bounds, runs=runs) if unbounded else bounds


# -- Spelling them -----------------------------------------------------------------------------------


def spell_choice(choice: Choice) -> str:
    """ "crash:every=20000:down=10000", as --faults reads it."""
    return ":".join([choice.name, *(f"{name}={value}" for name, value in choice.params.items())])


def spell_switches(switches: dict[str, Any]) -> str:
    return " ".join(f"{name}={str(value).lower()}" for name, value in switches.items())


def subject(program: Program | StateProgram) -> str:
    """What is run: "raft with raft.vote_once_per_term"."""
    drift = f" with {', '.join(program.mutants)}" if program.mutants else ""
    return f"{program.origin or program.name}{drift}"
