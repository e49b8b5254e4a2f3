"""Run a protocol under chaos and judge what happened: one scenario, or the first N of a seed's plan.

The scenarios are those that a hunt with the same options would run; a warning is not searched from here.
With --runs the figures are the sums over all runs, which stop at the first violation.
"""

import argparse
import contextlib
import time
from typing import Any

import attrs

from protosim.determinism import compare
from protosim.errors import UserError
from protosim.options import (
    add_bounds,
    add_program,
    add_scenario,
    add_worker,
    program_of,
    spell_choice,
    spell_switches,
    subject,
    wish_of,
)
from protosim.output import Answer, Output
from protosim.plan import RUN_EVENTS, Wish
from protosim.program import Program
from protosim.run import Run, make_schedule
from protosim.survey import Total, survey
from protosim.words import plural
from protosim.world import Broken


def options(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    add_worker(parser)
    add_scenario(parser)
    add_bounds(
        parser,
        runs="scenarios to run (default: 1)",
        events=f"events of each run at most (mostly {RUN_EVENTS:,} by default; a liveness run takes what it needs)",
        budget="seconds at most; what they cut short is inconclusive",
    )
    parser.add_argument(
        "--verify", action="store_true", help="run each scenario in two more processes and compare event by event"
    )


def run(args: argparse.Namespace, out: Output) -> Answer:
    program = program_of(args)
    wish = wish_of(args, program)
    if args.events:
        wish = attrs.evolve(wish, events=args.events)
    total = _survey(program, wish, args, out)
    _tell(program, total, out)
    return Answer(total.status, {**_fields(program, wish, total), "verified": args.verify})


def _survey(program: Program, wish: Wish, args: argparse.Namespace, out: Output) -> Total:
    """As many runs as were asked for, or up to the first violation, or as the budget and Ctrl-C allow."""
    total, runs, started = Total(), args.runs or 1, time.monotonic()
    with out.progress(runs) as tick, contextlib.closing(survey(program, wish, runs, args.jobs)) as seen:
        try:
            for one in seen:
                total.add(one)
                tick(1, f"{total.events:,} events")
                if args.verify:
                    _require_repeatable(program, one.run)
                if total.violation is not None:
                    break
                if args.budget and time.monotonic() - started >= args.budget and total.runs < runs:
                    total.cut_short = "the budget ran out"
                    break
        except KeyboardInterrupt:
            if not total.runs:
                raise
            total.cut_short = "it was interrupted"
    return total


def _require_repeatable(program: Program, run: Run) -> None:
    difference = compare(program, run.scenario)
    if difference is not None:
        raise UserError(f"The protocol is not deterministic. {difference.sentence}")


def _fields(program: Program, wish: Wish, total: Total) -> dict[str, Any]:
    assert total.last is not None
    scenario = total.last.run.scenario
    return {
        "protocol": program.name,
        "mutants": list(program.mutants),
        "source": program.origin or None,
        "seed": wish.seed,
        "runs": total.runs,
        "nodes": scenario.nodes,
        "scheduler": scenario.scheduler.name,
        "faults": [spell_choice(choice) for choice in scenario.faults],
        "switches": scenario.switches,
        "events": total.events,
        "simulated_us": total.simulated_us,
        "digest": total.digest,
        "violations": [_broken(total.violation)] if total.violation is not None else [],
        "warnings": [_broken(broken) for broken in total.warnings],
        "message": total.failed.run.failure if total.failed is not None else None,
        "missed": sorted(total.missed),
        "cut_short": total.cut_short or None,
        "faults_fired": dict(sorted(total.faults_fired.items())),
        "checks_refused": {
            name: {"all": times, "alone": total.refused_alone[name]} for name, times in sorted(total.refused.items())
        },
        "states": len(total.states),
    }


def _broken(broken: Broken) -> dict[str, Any]:
    return {"invariant": broken.invariant.name, "message": broken.sentence, "event": broken.event}


# -- Telling -----------------------------------------------------------------------------------------


def _tell(program: Program, total: Total, out: Output) -> None:
    out.say(out.style(f"{subject(program)}", "1"))
    if total.runs == 1:
        _tell_scenario(total, out)
    out.say(
        f"{plural(total.runs, 'run')}, {plural(total.events, 'event')}, "
        f"{total.simulated_us / 1e6:,.1f} simulated seconds, {plural(len(total.states), 'distinct abstract state')}"
    )
    fired = ", ".join(f"{name} {times:,}" for name, times in sorted(total.faults_fired.items()))
    out.table([("faults that fired", fired or "none")])
    if total.refused:
        out.say("checks that refused, and how often as the sole reason")
        rows = [(name, f"{n:,}", f"{total.refused_alone[name]:,}") for name, n in sorted(total.refused.items())]
        out.table(rows, "  ")
    _tell_outcome(total, out)


def _tell_scenario(total: Total, out: Output) -> None:
    assert total.last is not None
    scenario = total.last.run.scenario
    rows = [
        ("nodes", str(scenario.nodes)),
        ("scheduler", spell_choice(scenario.scheduler)),
        ("faults", " ".join(map(spell_choice, scenario.faults)) or "none"),
        ("switches", spell_switches(scenario.switches) or "none"),
        ("digest", total.digest),
    ]
    bound = make_schedule(scenario.scheduler).bound
    out.table(rows + [("bound", bound)] * bool(bound), "  ")


def _tell_outcome(total: Total, out: Output) -> None:
    for warned in total.warnings[:3]:
        out.say(f"warning: {warned.invariant.title}: {warned.sentence} (event {warned.event})")
    status = total.status
    if total.violation is not None:
        broken = total.violation
        out.verdict(status, f"{broken.invariant.title}: {broken.sentence} (event {broken.event}).")
        out.say("`protosim hunt` with the same options shortens it to a story.")
    elif total.failed is not None:
        if total.failed.trace:
            out.note(total.failed.trace.rstrip())
        out.note(f"The protocol failed: {total.failed.run.failure}.")
    elif status == "ok":
        out.verdict(status, "no invariant broke, and every goal was reached.")
    else:
        reasons = ["an early warning was given"] * bool(total.warnings)
        reasons += [f"no run reached {', '.join(sorted(total.missed))}"] * bool(total.missed)
        reasons += filter(None, [total.cut_short])
        out.verdict(status, f"no invariant broke, but {', and '.join(reasons)}.")
