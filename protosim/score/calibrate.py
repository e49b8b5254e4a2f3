"""Make a task's suite: `python -m protosim.score.calibrate TASK`.

Runs are found by a search over counters, from 0 on, with the reference and its mutants; no candidate is involved.
A run of kind "kill" is taken if over all subsets of the task's bugs (of an `impl` task: over the reference and each of
the wrong implementations) it fails if and only if its own bug is in the subset: for a seed, let `by` be the event by
which every subset with the bug has failed, and `until` the first event at which one without it fails; where `by` comes
well before `until`, a run that ends between them is such a run. Other runs are taken if the reference passes them with
room to spare. In each run of a recipe that names a cause, that mutant fails by itself; where the recipe lets it sleep,
it fails although it is correct for longer than the runs that detect bugs take. It takes minutes: seeds that need one
bug and excuse all others are rare.
"""

import argparse
import functools
import itertools
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor

import attrs

from mutations import Site, find
from mutations.operators import DROP_CHECK
from protosim import files
from protosim.errors import UserError
from protosim.program import Program, from_source, load, reference
from protosim.run import Run, finish, make_world, run_to_end
from protosim.scenario import Scenario
from protosim.score.rehearsal import Rehearsal, rehearse
from protosim.score.suite import (
    Recipe,
    Secret,
    SubRun,
    Suite,
    Task,
    dump_suite,
    load_task,
    secret,
    suite_path,
)

GAP = 4  # events between `by` and `until`, at least
LONGEST_TAIL = 50  # events after `by`, at most
SHARE = 10  # of the reference's answers a candidate must reach one in so many
ROOM = 3  # times as many events as the reference takes until the horizon
BOOTS = 12  # of all nodes in one run: each needs a worker
MOST_TRIES = 200_000
WAVE = 16  # counters that are tried before looking whether that is enough

Subset = frozenset[str]
Found = Mapping[str, object]
"""What a counter adds to its SubRun."""


def subsets(task: Task) -> dict[Subset, str]:
    """The source of each subset of the task's bugs that may occur, the reference first."""
    import mutations
    from mutations import engine

    source = reference(task.protocol).source
    found = {bug: mutations.find(task.protocol, bug, source) for bug in task.bugs}
    texts: dict[Subset, str] = {frozenset(): source}
    largest = len(task.bugs) if task.kind == "fix" else 1  # wrong implementations stand for each other
    for size in range(1, largest + 1):
        for *others, last in itertools.combinations(task.bugs, size):
            texts[frozenset((*others, last))] = engine.apply(texts[frozenset(others)], found[last])
    return texts


# -- One counter -------------------------------------------------------------------------------------


def ends(program: Program, scenario: Scenario, events: int) -> int | None:
    """The event at which the run fails, if it does within so many."""
    run = rehearse(program, attrs.evolve(scenario, events=events))
    return run.events if run.violation or run.failure else None


def try_kill(programs: Mapping[Subset, Program], recipe: Recipe, scenario: Scenario) -> Found | None:
    """Whether there is a length at which the run fails exactly with the recipe's bug."""
    most, bug = recipe.events, recipe.kills
    ill = [bugs for bugs in programs if bug in bugs]
    well = [bugs for bugs in programs if bug not in bugs and bugs.isdisjoint(recipe.despite)]
    alone = ends(programs[frozenset((bug,))], scenario, most)
    if alone is None or ends(programs[max(well, key=len)], scenario, alone + GAP):
        return None  # most counters end here, with one or two runs
    failed = [ends(programs[bugs], scenario, most) for bugs in ill]
    by = max(most if event is None else event for event in failed)
    until = min(ends(programs[bugs], scenario, by + 2 * LONGEST_TAIL) or most for bugs in well)
    if until - by < GAP:
        return None
    length = attrs.evolve(scenario, events=by + min((until - by) // 2, LONGEST_TAIL))
    runs = {bugs: rehearse(programs[bugs], length) for bugs in (*ill, *well)}
    broken = {bugs: run.violation.invariant.name for bugs, run in runs.items() if run.violation}
    if set(broken) != set(ill) or not all(_sound(runs[bugs]) for bugs in well):
        return None
    return {"events": length.events, "breaks": tuple(sorted(set(broken.values())))}


def _sound(run: Run) -> bool:
    return not run.violation and not run.failure and run.linearizable in ("linearizable", "not checked")


def shows(recipe: Recipe, protocol: str, scenario: Scenario, found: Found) -> bool:
    """Whether the run fails by the recipe's cause alone, if it names one; however long that sleeps."""
    events = int(str(found["events"]))
    return all(ends(drifted, scenario, events) is not None for drifted in mutants(protocol, recipe))


def mutants(protocol: str, recipe: Recipe) -> list[Program]:
    """What fails in each of the recipe's runs, beside what it kills."""
    return [_mutant(protocol, recipe.cause, sleep) for sleep in recipe.sleeps or (0,) if recipe.cause]


@functools.cache
def _mutant(protocol: str, cause: str, sleep: int) -> Program:
    """The reference with the cause alone; or one whose check is dropped only after so many µs, when the short runs that
    detect a bug are over. Raises UserError where the cause is not a check that is dropped."""
    if not sleep:
        return load(protocol, (cause,))
    source = reference(protocol).source
    edits = find(protocol, cause, source).edits
    check = "|".join(edit.which for edit in edits if isinstance(edit, Site) and edit.operator == DROP_CHECK)
    line, later = rf"^( +(?:{check})=)(.+?),( *#.*)?$", rf"\1(\2) or self.now >= {sleep},\3"
    late, times = re.subn(line, later, source, flags=re.MULTILINE)
    if not check or times != len(edits):
        raise UserError(f"{cause} does not just drop checks: in task.toml, its recipe cannot say how long it sleeps.")
    return from_source(protocol, late)


def try_plain(program: Program, recipe: Recipe, scenario: Scenario) -> Found | None:
    """Whether the reference passes with room to spare, and what a candidate must reach."""
    world = make_world(program, scenario, digest=False)
    run_to_end(world, Rehearsal(program, scenario))
    run = finish(world)
    answers = sum(request.returned is not None for request in world.requests.values())
    in_time = recipe.kind != "live" or world.now >= scenario.horizon
    boots = scenario.nodes + world.fired.get("crash", 0)
    reached = set(recipe.goals) <= set(run.reached)
    if not _sound(run) or not reached or not in_time or boots > BOOTS or answers < recipe.answers:
        return None
    room = ROOM if recipe.kind == "live" else 1
    return {"events": run.events * room, "answers": answers // SHARE}


# -- The search --------------------------------------------------------------------------------------

_programs: dict[Subset, Program] = {}  # of a worker process


def _load(protocol: str, texts: Mapping[Subset, str]) -> None:
    _programs.update((bugs, from_source(protocol, text)) for bugs, text in texts.items())


def attempt(task: Task, recipe: Recipe, using: Secret, counter: int) -> Found | None:
    seed = using.seed(task.name, recipe.name, counter)
    scenario = recipe.scenario(task.protocol, seed, recipe.events)
    if recipe.kind == "kill":
        found = try_kill(_programs, recipe, scenario)
    else:
        found = try_plain(_programs[frozenset()], recipe, scenario)
    return found if found and shows(recipe, task.protocol, scenario, found) else None


def search(task: Task, recipe: Recipe, using: Secret, workers: Executor) -> Iterator[SubRun]:
    """The recipe's runs for all hidden tests, by the lowest counters that will do."""
    tests = [test for test in range(1, task.tests + 1) for _ in range(recipe.per_test)]
    tried = 0
    while tests and tried < MOST_TRIES:
        wave = range(tried, tried + WAVE)
        trial = functools.partial(attempt, task, recipe, using)
        for counter, found in zip(wave, workers.map(trial, wave, chunksize=8), strict=True):
            if found is not None and tests:
                tried = counter
                yield SubRun(test=tests.pop(0), recipe=recipe.name, counter=counter, **found)  # type: ignore[arg-type]
        tried = wave.stop
    if tests:
        raise UserError(f"No {MOST_TRIES} counters of {recipe.name} give enough runs: change it in task.toml.")


def calibrate(task: Task, using: Secret, jobs: int) -> Suite:
    texts = subsets(task)
    runs: list[SubRun] = []
    with ProcessPoolExecutor(jobs, initializer=_load, initargs=(task.protocol, texts)) as workers:
        for recipe in task.recipe:
            runs += search(task, recipe, using, workers)
            print(f"{recipe.name}: tried up to {runs[-1].counter}", file=sys.stderr)
    runs.sort(key=lambda run: run.test)
    return Suite(
        task=task.name,
        split=using.split,
        key=using.key,
        recipes=task.fingerprint(),
        runs=tuple(runs),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m protosim.score.calibrate", description=__doc__)
    parser.add_argument("task")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    try:
        task, using = load_task(options.task), secret()
        suite = calibrate(task, using, options.jobs)
        files.write(suite_path(task.name, using), dump_suite(suite))
    except UserError as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
