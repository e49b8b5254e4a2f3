"""Replay: run a saved counterexample again, on the code that it was found in or on an edited one.

There are three outcomes: the same invariant breaks; it is gone although every step of the story was taken; or the
edited code took another way, and only some of the steps could be taken.
"""

from typing import Literal

import attrs

from protosim.counterexample import Counterexample, source_digest
from protosim.program import Program
from protosim.run import LocalHost, Run, drive, finish, make_world
from protosim.scenario import Scenario
from protosim.script import ScriptedWorld
from protosim.shrink import broken_name
from protosim.words import plural

Outcome = Literal["same", "other", "gone", "diverged"]


@attrs.frozen
class Replayed:
    outcome: Outcome
    run: Run
    applied: int  # steps of the script that were taken
    steps: int  # steps of the script
    identical: bool  # the digest is the recorded one
    same_source: bool  # the code is the one in which it was found

    @property
    def sentence(self) -> str:
        broken = self.run.violation or self.run.warning
        if self.outcome in ("same", "other") and broken is not None:
            which = "the same invariant breaks" if self.outcome == "same" else "another invariant breaks"
            return f"{which}: {broken.invariant.title}: {broken.sentence}"
        if self.run.failure:
            return f"the protocol failed: {self.run.failure}"
        if self.outcome == "gone":
            taken = "its one step was" if self.steps == 1 else f"all {self.steps} steps were"
            return f"gone: {taken} taken, and nothing broke"
        return f"diverged: {self.applied} of {plural(self.steps, 'step')} could be taken, and nothing broke"


def replay(saved: Counterexample, program: Program) -> Replayed:
    """Run the saved scenario. A scenario without a script counts its events as steps that are always taken."""
    run, applied, steps = run_counting(program, saved.scenario)
    name = broken_name(run)
    outcome: Outcome
    if name or (run.failure and not saved.invariant):
        outcome = "same" if name == saved.invariant else "other"
    else:
        outcome = "gone" if applied == steps and not run.failure else "diverged"
    return Replayed(
        outcome,
        run,
        applied,
        steps,
        identical=run.digest == saved.digest,
        same_source=source_digest(program) == saved.source_digest,
    )


def run_counting(program: Program, scenario: Scenario) -> tuple[Run, int, int]:
    """The run, the steps of its script that were taken, and all of its steps."""
    world = make_world(program, scenario)
    run = finish(world, drive(world, LocalHost(program, scenario)))
    if not isinstance(world, ScriptedWorld):
        return run, run.events, run.events
    return run, world.position - len(world.skipped), len(world.steps)
