"""Millions of events of the unbroken protocol, under the portfolio and each scheduler alone: all must be clean."""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from protosim import files, soak
from protosim.markdown import machine, python
from protosim.options import LARGEST_SEED, MOST, MOST_JOBS, SEED, whole
from protosim.output import Answer, Output
from protosim.program import reference
from protosim.soak import Soaked
from protosim.survey import Seen
from protosim.words import plural

EVENTS = 10_000_000


def options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("protocol", metavar="PROTOCOL", nargs="?", default="raft", help="a file of protocols/ (default: raft)")
    add(
        "--events", metavar="N", type=whole(1, MOST), default=EVENTS,
        help=f"events of the portfolio (default {EVENTS:,}); each scheduler alone gets a tenth",
    )  # fmt: skip
    add("--seed", type=whole(0, LARGEST_SEED), default=SEED, help=f"(default {SEED})")
    add("--jobs", metavar="N", type=whole(1, MOST_JOBS), default=1, help="processes; changes nothing but the time")
    add("--write", action="store_true", help="write the report to docs/soak/PROTOCOL.md, below this folder")


def run(args: argparse.Namespace, out: Output) -> Answer:
    program = reference(args.protocol)
    path = Path("docs", "soak", f"{program.name}.md")
    if args.write:
        files.require_writable(path)
    soaked = _soak(args, out)
    out.say("how often each check alone refused, under the portfolio")
    out.table(soak.sole_refusals(program.source, soaked[:1])[1:], "  ")
    if args.write:
        files.write(path, soak.page(program, soaked, _about(args)))
        out.say(f"Wrote {path}.")
    dirty = [each for each in soaked if not each.clean]
    data = {"protocol": program.name, "seed": args.seed, "schedulers": [_fields(each) for each in soaked]}
    if dirty:
        sentences = [f"{each.scheduler}, {soak.sentence(each)}" for each in dirty]
        out.verdict("violation", f"not clean: {'; '.join(sentences)}.")
        return Answer("violation", {**data, "message": "; ".join(sentences)})
    out.verdict("ok", f"clean over {plural(sum(each.total.events for each in soaked), 'event')}.")
    return Answer("ok", {**data, "message": None})


def _soak(args: argparse.Namespace, out: Output) -> list[Soaked]:
    soaked: list[Soaked] = []
    done = 0
    with out.progress(args.events * (1 + len(soak.schedulers()) / soak.SHARE)) as tick:

        def progress(name: str, seen: Seen) -> None:
            nonlocal done
            done += seen.run.events
            tick(seen.run.events, f"{name}: {done:,} events")

        for each in soak.soak(reference(args.protocol), args.seed, args.events, args.jobs, progress):
            soaked.append(each)
            if not soaked[1:]:
                out.say("{:<14} {:>8} {:>12} {:>16}  {}".format(*soak.figures([each])[0]))
            out.say("{:<14} {:>8} {:>12} {:>16}  {}".format(*soak.figures([each])[1]))
    return soaked


def _about(args: argparse.Namespace) -> str:
    command = f"protosim soak {args.protocol} --events {args.events} --seed {args.seed} --write"
    return f"`{command}`, {datetime.now(UTC):%Y-%m-%d}, {python()}, {machine()}."


def _fields(each: Soaked) -> dict[str, Any]:
    total = each.total
    return {
        "scheduler": each.scheduler,
        "clean": each.clean,
        "runs": total.runs,
        "events": total.events,
        "states": len(total.states),
        "refused_alone": {check: total.refused_alone[check] for check in sorted(total.refused)},
    }
