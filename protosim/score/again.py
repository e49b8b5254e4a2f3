"""One run of a suite again, to look at: with the candidate's nodes in this process, and without a sandbox.

A score plays its runs in workers and keeps what came of them. Here one of them is played for a person who wants to see
how it failed, shortened where an invariant broke, and kept as a file to replay, to draw, and to check a repair with.
"""

from collections.abc import Callable
from pathlib import Path

import attrs

from protosim import remote
from protosim.counterexample import Counterexample, describe
from protosim.errors import UserError
from protosim.program import Program, load, nearest, reference
from protosim.run import make_world, run_to_end, simulate
from protosim.score import gates, golang
from protosim.score.gates import Refusal
from protosim.score.judge import Game, Outcome, blame
from protosim.score.rehearsal import Rehearsal
from protosim.score.suite import Task, Trial, load_suite, secret, trials
from protosim.shrink import shrink


def trial(task: Task, run: str) -> Trial:
    """The suite's run of that name. Raises UserError where there is none, or no suite."""
    using = secret()
    known = {each.run.name: each for each in trials(task, load_suite(task.name, using), using)}
    if run not in known:
        raise nearest(run, list(known), f"run of {task.name}")
    return known[run]


def program(task: Task, candidate: Path, worker: Path) -> Program:
    """The candidate's nodes; one in Go is compiled to `worker`. Raises UserError for what cannot be loaded."""
    if candidate.suffix != golang.SUFFIX:
        return load(task.protocol, source=str(candidate))
    with golang.workshop(task.protocol) as shop:
        made = _compiled(shop, candidate, worker.absolute())
    if isinstance(made, Refusal):
        raise UserError(f"{candidate} plays no run: {made.stage}: {made.sentence}.")
    return remote.load(task.protocol, (str(made),))


def _compiled(shop: golang.Workshop, candidate: Path, into: Path) -> Path | Refusal:
    raw = gates.fetch(candidate)
    source = gates.read(raw) if isinstance(raw, bytes) else raw
    if isinstance(source, Refusal):
        return source
    plain = shop.gate(source)
    return plain if isinstance(plain, Refusal) else shop.compiled(source, into)


def played(program: Program, trial: Trial) -> Outcome:
    """How the run ends, as the judge says it."""
    game = Game(trial, reference(program.name), make_world(program, trial.scenario), (), 0)
    host = Rehearsal(program, trial.scenario)
    with blame(game):
        run_to_end(game.world, host)
        game.did.update(host.did)
        game.end()
    assert game.outcome is not None
    return game.outcome


def story(program: Program, trial: Trial, ended: Outcome, progress: Callable[[int], None]) -> Counterexample:
    """The run as a counterexample; shortened where an invariant broke, if that is possible."""
    run = simulate(program, trial.scenario)
    about = {"seed": trial.scenario.seed, "suite_run": trial.run.name, "events": run.events}
    saved = attrs.evolve(describe(program, run, about), message=ended.sentence)
    if run.violation is None:
        return saved
    short = shrink(program, trial.scenario, run.violation.invariant.name, progress)
    shorter = simulate(program, short.scenario) if short is not None else None
    if shorter is None or shorter.violation is None or len(shorter.scenario.script or ()) >= run.events:
        return describe(program, run, about)
    return describe(program, shorter, about)
