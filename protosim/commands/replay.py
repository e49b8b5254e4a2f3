"""Run a saved counterexample again: on the code that it was found in, or on an edited copy of the protocol.

Three outcomes: the same invariant breaks (exit code 1); it is gone although every step of the story was taken (0);
or the edited code took another way, and only some of the steps could be taken (2).
"""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from protosim import counterexample, files
from protosim.counterexample import Counterexample, describe, recorded_program
from protosim.errors import UserError
from protosim.options import add_worker, remote_program
from protosim.output import Answer, Output, Status
from protosim.program import Program, load
from protosim.replay import Replayed, replay
from protosim.scenario import Step
from protosim.shrink import record
from protosim.words import plural

STATUS: dict[str, Status] = {"same": "violation", "other": "violation", "gone": "ok", "diverged": "inconclusive"}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file that `protosim hunt` has saved")
    parser.add_argument("--source", metavar="FILE", help="an edited copy of the protocol's file to replay on instead")
    add_worker(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="save the run as it went this time")


def run(args: argparse.Namespace, out: Output) -> Answer:
    saved = counterexample.load(Path(args.file))
    program = _program(saved, args)
    if args.output:
        files.require_writable(Path(args.output))
    replayed = replay(saved, program)
    share = None if replayed.same_source else preserved(saved, program)
    _tell(saved, replayed, share, out)
    data = _fields(saved, replayed, share)
    if args.output:
        data["counterexample"] = _save(saved, replayed, program, Path(args.output), out)
    return Answer(STATUS[replayed.outcome], data)


def _program(saved: Counterexample, args: argparse.Namespace) -> Program:
    """The code to replay on."""
    if args.worker:
        return remote_program(saved.scenario.protocol, args.worker, args.project)
    if args.project:
        raise UserError("--project goes with --worker, which names the program.")
    return load(saved.scenario.protocol, source=args.source) if args.source else recorded_program(saved)


def preserved(saved: Counterexample, program: Program) -> float | None:
    """The share of the saved script's events that happen again on other code: the same message at the same node.

    None if the file holds no script.
    """
    script = saved.scenario.script
    if not script:
        return None
    steps = record(program, saved.scenario)
    again = Counter(map(_key, script)) & Counter(map(_key, steps))
    return again.total() / len(script)


def _key(step: Step) -> tuple[object, ...]:
    return step.do, step.node, step.src, step.message, step.fingerprint, step.repeat, step.timer, step.op


# -- Telling -----------------------------------------------------------------------------------------


def _tell(saved: Counterexample, replayed: Replayed, share: float | None, out: Output) -> None:
    steps = f"{replayed.applied:,} of {plural(replayed.steps, 'step')} taken"
    out.verdict(STATUS[replayed.outcome], f"{replayed.sentence}.")
    if replayed.same_source:
        match = "the recorded one" if replayed.identical else f"not the recorded {saved.digest}"
        out.prose(f"The code is the one that it was found in; {steps}; digest {replayed.run.digest}, {match}.")
        if not replayed.identical:
            out.note("The same code went another way: `protosim run --verify` names the handler to blame.")
    else:
        kept = f"; {share:.0%} of the schedule happened again exactly" if share is not None else ""
        out.prose(f"The code is not the one that it was found in; {steps}{kept}.")


def _fields(saved: Counterexample, replayed: Replayed, share: float | None) -> dict[str, Any]:
    broken = replayed.run.violation or replayed.run.warning
    return {
        "protocol": saved.scenario.protocol,
        "outcome": replayed.outcome,
        "invariant": broken.invariant.name if broken is not None else None,
        "message": replayed.sentence,
        "expected": saved.invariant,
        "steps_taken": replayed.applied,
        "steps": replayed.steps,
        "events": replayed.run.events,
        "digest": replayed.run.digest,
        "identical": replayed.identical,
        "same_source": replayed.same_source,
        "schedule_preserved": share if share is None else round(share, 4),
        "counterexample": None,
    }


def _save(saved: Counterexample, replayed: Replayed, program: Program, path: Path, out: Output) -> str | None:
    if replayed.outcome not in ("same", "other"):
        out.note(f"Nothing broke, so {path} was not written.")
        return None
    counterexample.save(path, describe(program, replayed.run, saved.found))
    out.say(f"Saved as {path}.")
    return str(path)
