"""Run scenario after scenario until an invariant breaks; then shorten the story and save it.

Run i is a pure function of the seed and i, so --runs and --events find the same whatever --jobs is.
Some runs are for liveness: chaos, healing, then progress under a fair adversary.
"""

import argparse
import math
import re
import time
from pathlib import Path
from typing import Any

import attrs

from protosim import counterexample, files
from protosim.counterexample import Counterexample, describe
from protosim.determinism import compare
from protosim.errors import UserError
from protosim.hunt import Found, Trial, hunt
from protosim.narrate import tell
from protosim.options import (
    Bounds,
    add_bounds,
    add_program,
    add_scenario,
    add_worker,
    bounds_of,
    program_of,
    subject,
    wish_of,
)
from protosim.output import Answer, Output, Tick, command
from protosim.plan import Wish, plan
from protosim.program import Program
from protosim.run import Run, make_schedule, simulate
from protosim.show import text
from protosim.shrink import Shrunk, shrink
from protosim.words import plural

RUNS = 1_000  # where no bound is given
TRIES = 4  # comparisons of a run that is known to differ from itself: two of these may agree by chance
FLOOR = 5.0  # seconds that shortening has in any case
UNREPEATABLE = "The protocol is not deterministic, so nothing that it does can be replayed"


def options(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    add_worker(parser)
    add_scenario(parser)
    add_bounds(
        parser,
        runs=f"runs at most (default: {RUNS:,}, if there is no other bound)",
        events="events of all runs together at most",
        budget=f"seconds at most; a hunt that they end is inconclusive. Shortening has what is left, and {FLOOR:g} s",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to save (default: counterexample-….json, here)"
    )


def run(args: argparse.Namespace, out: Output) -> Answer:
    program = program_of(args)
    wish, bounds = wish_of(args, program), bounds_of(args, RUNS)
    path = Path(args.output or default_name(program, wish.seed))
    files.require_writable(path)
    out.say(f"Hunting in {subject(program)}, seed {wish.seed}: at most {bounds}.")
    _say_what_is_guaranteed(program, wish, out)
    found = search(program, wish, bounds, out)
    trial, data = found.trial, _outcome(program, wish, found)
    if trial is not None and trial.caught:
        try:
            require_determinism(program, trial.run)
        except KeyboardInterrupt:
            out.note("Interrupted before it was clear that the run can be repeated: `protosim replay` tells.")
        left = None if bounds.budget is None else max(FLOOR, bounds.budget - found.seconds)
        saved = keep(program, found, wish, path, out, left)
        data |= tell_saved(program, saved, path, out)
        out.say(f"  page:   {command('show', str(path), '--html', str(path.with_suffix('.html')))}")
        return Answer("violation", data)
    if program.origin and found.runs and not found.failures:
        require_determinism(program, simulate(program, plan(program, wish, 0)))
    if trial is not None and args.output:
        counterexample.save(path, describe(program, trial.run, _where(found, trial, wish)))
        data["counterexample"] = str(path)
    return _nothing_broke(found, data, out)


def default_name(program: Program, seed: int) -> str:
    origin = program.worker[-1] if program.worker else program.origin
    about = [m.removeprefix(f"{program.name}.") for m in program.mutants] or [Path(origin).stem]
    words = re.sub(r"[^\w.]+", "-", "-".join([program.name, *filter(None, about)]))
    return f"counterexample-{words[:100]}-{seed}.json"


def _say_what_is_guaranteed(program: Program, wish: Wish, out: Output) -> None:
    bound = make_schedule(plan(program, wish, 0).scheduler).bound if wish.scheduler else ""
    if bound:
        out.say(bound)


# -- Searching ---------------------------------------------------------------------------------------


def search(program: Program, wish: Wish, bounds: Bounds, out: Output) -> Found:
    """The hunt, behind a bar that shows how near the first of the bounds is."""
    runs = events = 0
    last = time.monotonic()

    with out.progress(bounds.runs or bounds.events or bounds.budget) as tick:

        def progress(trial: Trial) -> None:
            nonlocal runs, events, last
            runs, events = runs + 1, events + trial.events
            now = time.monotonic()
            step = 1 if bounds.runs else trial.events if bounds.events else now - last
            last = now
            tick(step, f"{plural(runs, 'run')}, {plural(events, 'event')}")

        return hunt(program, wish, **attrs.asdict(bounds), progress=progress)


def require_determinism(program: Program, run: Run) -> None:
    """A run that cannot be repeated is no counterexample: raise UserError with the event and the handler to blame.

    Code of the user's is compared in two fresh processes as well: within one process sets keep their order.
    """
    same = simulate(program, run.scenario).digest == run.digest
    if same and not program.origin:
        return
    for _ in range(1 if same else TRIES):
        difference = compare(program, run.scenario)
        if difference is not None:
            raise UserError(f"{UNREPEATABLE}. {difference.sentence}")
    if not same:
        raise UserError(f"{UNREPEATABLE}: a scenario went another way when it was run again in the same process.")


# -- Keeping what was found --------------------------------------------------------------------------


def _where(found: Found, trial: Trial, wish: Wish) -> dict[str, Any]:
    scenario = trial.run.scenario
    return {
        "seed": wish.seed,
        "run": trial.index,
        "scheduler": scenario.scheduler.name,
        "nodes": scenario.nodes,
        "faults": [choice.name for choice in scenario.faults],
        "events": trial.run.events,
        "events_searched": found.events,
    }


def keep(
    program: Program, found: Found, wish: Wish, path: Path, out: Output, seconds: float | None = None
) -> Counterexample:
    """Save the run that broke something, then the shortest story found in it in so many seconds. Ctrl-C keeps what
    there is."""
    assert found.trial is not None
    trial, run, where = found.trial, found.trial.run, _where(found, found.trial, wish)
    saved = describe(program, run, where)
    counterexample.save(path, saved)
    assert run.violation is not None
    title, nodes = run.violation.invariant.title, run.scenario.nodes
    out.prose(
        f"{title} broke in run {trial.index} of the seed ({run.scenario.scheduler.name}, {plural(nodes, 'node')}), "
        f"after {plural(found.events, 'event')} and {found.seconds:.1f} s."
    )
    started = time.monotonic()
    try:
        with out.progress() as tick:
            shortened = shorten(program, run, wish, tick, seconds)
    except KeyboardInterrupt:
        out.note("Interrupted while shortening: the run as it was found is kept.")
        return saved
    if shortened is None or len(shortened[0].scenario.script or ()) >= run.events:
        out.say(f"It could not be shortened: all of it is kept ({plural(run.events, 'event')}).")
        return saved
    short, shorter = shortened
    assert shorter.violation is not None
    other = short.origin != run.scenario
    broke = "" if shorter.violation.invariant.title == title else f", where {shorter.violation.invariant.title} breaks"
    out.prose(
        f"Shortened {'a shorter run of this hunt' if other else 'it'} from {plural(short.events, 'event')} on "
        f"{plural(short.origin.nodes, 'node')} to {len(short.scenario.script or ()):,} on {short.scenario.nodes}"
        f"{broke}, in {time.monotonic() - started:.1f} s"
        f"{'; stopped before it was as short as it gets' * short.stopped}."
    )
    made_from = {"made_from": {"seed": short.origin.seed, "events": short.events}} if other else {}
    saved = describe(program, shorter, {**where, **made_from})
    counterexample.save(path, saved)
    return saved


def shorten(
    program: Program, run: Run, wish: Wish, tick: Tick, seconds: float | None = None
) -> tuple[Shrunk, Run] | None:
    """The shortest story and its run, or None."""
    assert run.violation is not None
    name = run.violation.invariant.name
    until = math.inf if seconds is None else time.monotonic() + seconds

    def progress(left: int) -> None:
        tick(0, f"shortening: {plural(left, 'event')}")

    progress(run.events)
    short = shrink(program, run.scenario, name, progress, wish, lambda: time.monotonic() > until)
    shorter = simulate(program, short.scenario) if short is not None else None
    return (short, shorter) if short is not None and shorter is not None and shorter.violation is not None else None


def tell_saved(program: Program, saved: Counterexample, path: Path, out: Output) -> dict[str, Any]:
    """Draw the story and say how to see it again; returns the fields that describe it."""
    replay = command("replay", str(path))
    if saved.scenario.script is not None and not out.json:
        _, story = tell(program, saved.scenario, replay)
        out.say()
        out.say(text.render(story, out.width, out.color, out.unicode).rstrip())
    else:
        out.say(f"\n{out.style(saved.message, '1;31')}\n\n  replay: {replay}")
    out.say(f"  saved:  {path}")
    script = saved.scenario.script
    return {
        "invariant": saved.invariant,
        "message": saved.message,
        "counterexample": str(path),
        "digest": saved.digest,
        "replay": replay,
        "shrunk": None
        if script is None
        else {"nodes": saved.scenario.nodes, "events": len(script), "faults": list(saved.faults)},
    }


# -- What came out -----------------------------------------------------------------------------------


def _outcome(program: Program, wish: Wish, found: Found) -> dict[str, Any]:
    """Every field of the JSON object; what a violation adds is still empty."""
    trial = found.trial
    warned = trial.run.warning if trial is not None and not trial.caught else None
    return {
        "warning": warned and {"invariant": warned.invariant.name, "message": warned.sentence},
        "protocol": program.name,
        "mutants": list(program.mutants),
        "source": program.origin or None,
        "invariant": None,
        "message": None,
        "runs": found.runs,
        "events": found.events,
        "seconds": round(found.seconds, 3),
        "seed": wish.seed,
        "run": trial.index if trial is not None else None,
        "scheduler": trial.run.scenario.scheduler.name if trial is not None else wish.scheduler,
        "missed": list(found.missed),
        "failures": found.failures,
        "ended_by": found.ended_by or None,
        "counterexample": None,
        "digest": None,
        "replay": None,
        "shrunk": None,
    }


def _nothing_broke(found: Found, data: dict[str, Any], out: Output) -> Answer:
    did = f"{plural(found.runs, 'run')}, {plural(found.events, 'event')}, {found.seconds:.1f} s"
    trial, status = found.trial, found.status
    if status == "error" and trial is not None:
        runs = f"{found.failures} of {plural(found.runs, 'run')}"
        data["message"] = f"The protocol failed in {runs}: {trial.run.failure}."
        if trial.trace:
            out.note(trial.trace.rstrip())
        out.note(data["message"])
        return Answer("error", data)
    reasons: list[str] = []
    if trial is not None and trial.run.warning is not None:
        title, sentence = trial.run.warning.invariant.title, trial.run.warning.sentence
        reasons.append(
            f"{plural(found.warnings, 'run')} came near a violation, none broke anything; the first: "
            f"{title}: {sentence}"
        )
    if found.missed:
        reasons.append(f"no run reached {', '.join(found.missed)}, so they prove little")
    if found.ended_by:
        reasons.append({"budget": "the budget ran out", "interrupt": "interrupted"}[found.ended_by])
    if status == "ok":
        out.verdict("ok", f"nothing broke, and every goal was reached, in {did}.")
        return Answer("ok", data)
    data["message"] = f"Nothing broke in {did}, but {'; '.join(reasons)}."
    out.verdict("inconclusive", data["message"])
    return Answer("inconclusive", data)
