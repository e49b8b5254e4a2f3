"""Export a task's suite for the Go test kit: `python -m protosim.score.gosuite TASK` writes go/suites/TASK/suite.json.

Stories are made from the suite's killing runs: shortened with their bug alone, then put into the tolerant form of
`go/simkit`, in which a message is known by its link, its type and its age. One is taken if over all subsets of the
task's bugs it fails if and only if its own bug is there. Recipes of other kinds, and those whose runs no story tells,
go over as they are, with fresh seeds; what the kit lacks is left out and named.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from protosim import files
from protosim.api import MS
from protosim.errors import UserError
from protosim.program import Program, from_source, reference
from protosim.run import make_fault, make_switches, simulate
from protosim.scenario import Choice, Scenario, Step
from protosim.score.calibrate import SHARE, Subset, subsets
from protosim.score.gojudge import suite_path
from protosim.score.suite import Recipe, Secret, Task, Trial, load_suite, load_task, secret, trials
from protosim.shrink import record, shrink

SCHEMA = "protosim/go-suite/1"
SCHEDULERS = ("walk", "uniform", "fair")  # that the kit has; "fair" without its adversary
FAULTS = (
    "loss",
    "duplication",
    "reordering",
    "partition_one_way",
    "partition_symmetric",
    "isolate_one",
    "crash",
    "forgery",
    "byzantine_silence",
    "byzantine_favours",
    "byzantine_garbling",
    "byzantine_equivocation",
    "byzantine_false_replies",
    "byzantine_flattery",
    "byzantine_forgery",
    "byzantine_replay",
    "byzantine_twins",
)
STORIES = 3  # of a recipe
SEEDS = 5  # of a recipe

Programs = Mapping[Subset, Program]


# -- Stories -----------------------------------------------------------------------------------------


def tolerant(scenario: Scenario) -> Scenario:
    """The script by links, types and ages alone."""
    arrived: set[tuple[str, str, int, int]] = set()
    steps: list[Step] = []
    for place, step in enumerate(scenario.script or (), 1):
        link = step.src, step.node, step.fingerprint, step.repeat
        again = step.do == "deliver" and link in arrived
        arrived.add(link)
        steps.append(attrs.evolve(step, fingerprint=0, repeat=1, at=place * MS, clock=None, again=again))
    return attrs.evolve(scenario, script=tuple(steps))


def tells(programs: Programs, bug: str, scenario: Scenario, despite: Sequence[str] = ()) -> bool:
    """Whether the story fails exactly where its bug is; those that break nearly every run may do as they like."""
    for bugs, program in programs.items():
        if not bugs.isdisjoint(despite):
            continue
        run = simulate(program, scenario, digest=False)
        failed = bool(run.violation or run.failure)
        if failed != (bug in bugs) or (not failed and run.linearizable == "inconclusive"):
            return False
    return True


def story(programs: Programs, trial: Trial, recipe: Recipe) -> Scenario | None:
    """The shortest form of a killing run that tells its bug from the others."""
    program = programs[frozenset((recipe.kills,))]
    run = simulate(program, trial.scenario, digest=False)
    if run.violation is None:
        return None
    shrunk = shrink(program, trial.scenario, run.violation.invariant.name)
    whole = attrs.evolve(
        trial.scenario, scheduler=Choice("replay"), faults=(), heal=None, script=record(program, trial.scenario)
    )
    for form in (shrunk.scenario, whole) if shrunk is not None else (whole,):
        if tells(programs, recipe.kills, tolerant(form), recipe.despite):
            return tolerant(form)
    return None


def stories(task: Task, all_trials: Sequence[Trial]) -> Iterator[dict[str, Any]]:
    programs = {bugs: from_source(task.protocol, text) for bugs, text in subsets(task).items()}
    for recipe in task.recipe:
        those = [trial for trial in all_trials if trial.run.recipe == recipe.name and recipe.kind == "kill"]
        made = 0
        for trial in those:
            found = story(programs, trial, recipe) if made < STORIES else None
            if found is not None:
                made += 1
                yield {
                    "name": f"{recipe.kills}/{recipe.name}/{made}",
                    "bug": recipe.kills,
                    "nodes": found.nodes,
                    "switches": all_switches(task, found.switches),
                    "steps": [plain(step) for step in found.script or ()],
                }
        if those:
            print(f"{recipe.name}: {made} stories", file=sys.stderr)


def plain(step: Step) -> dict[str, Any]:
    """A step as the kit reads it."""
    match step.do:
        case "deliver":
            about = {"from": step.src, "message": step.message, "age": step.age, "again": step.again}
        case "timeout":
            about = {"timer": step.timer}
        case "request":
            about = {"op": step.op, "command": step.command}
        case "lie":
            about = {"from": step.src, "message": step.message, "lie": step.lie}
        case _:
            about = {}
    raw = {"do": step.do, "node": step.node, **about, "cut": step.cut, "kept": step.kept}
    defaults = {"age": 0, "again": False, "cut": None, "kept": ()}
    return {name: value for name, value in raw.items() if name not in defaults or value != defaults[name]}


def all_switches(task: Task, given: dict[str, Any]) -> dict[str, Any]:
    return dict(attrs.asdict(make_switches(reference(task.protocol), given), recurse=False))


# -- Recipes -----------------------------------------------------------------------------------------


def random_recipes(task: Task, using: Secret, told: Sequence[str]) -> Iterator[dict[str, Any]]:
    """`told`: the recipes that have stories."""
    for recipe in task.recipe:
        if recipe.name in told:
            continue
        if recipe.scheduler["name"] not in SCHEDULERS:
            print(f"{recipe.name}: left out, for its scheduler {recipe.scheduler['name']}", file=sys.stderr)
            continue
        yield random_recipe(task, recipe, [using.seed(task.name, f"go/{recipe.name}", i) for i in range(SEEDS)])


def random_recipe(task: Task, recipe: Recipe, seeds: list[int]) -> dict[str, Any]:
    scenario = recipe.scenario(task.protocol, seeds[0], recipe.events)
    faults: list[dict[str, Any]] = []
    for choice in scenario.faults:
        if choice.name in FAULTS:
            faults.append({"name": choice.name, **make_fault(choice).params})
        else:
            print(f"{recipe.name}: without {choice.name}", file=sys.stderr)
    return {
        "name": recipe.name,
        "nodes": scenario.nodes,
        "switches": all_switches(task, scenario.switches),
        "scheduler": recipe.scheduler,
        "faults": faults,
        "events": scenario.events,
        "heal": scenario.heal or 0,
        "horizon": scenario.horizon,
        "goals": recipe.goals,
        "answers": recipe.answers // SHARE if recipe.kind != "kill" else 0,
        "seeds": seeds,
    }


# -- The file ----------------------------------------------------------------------------------------


def dump(raw: dict[str, Any]) -> str:
    """A line a recipe, and a line a step."""

    def block(items: Sequence[Any], indent: str) -> str:
        return ",".join(f"\n{indent}{json.dumps(item)}" for item in items)

    told: list[str] = []
    for each in raw["stories"]:
        head = json.dumps({name: value for name, value in each.items() if name != "steps"})
        told.append(f'\n  {head[:-1]}, "steps": [{block(each["steps"], "   ")}]}}')
    head = json.dumps({name: value for name, value in raw.items() if name not in ("random", "stories")}, indent=1)
    return f'{head[:-2]},\n "random": [{block(raw["random"], "  ")}],\n "stories": [{",".join(told)}]\n}}\n'


def export(task: Task, using: Secret) -> dict[str, Any]:
    made = list(stories(task, trials(task, load_suite(task.name, using), using)))
    return {
        "schema": SCHEMA,
        "task": task.name,
        "protocol": task.protocol,
        "random": list(random_recipes(task, using, recipes_of(made))),
        "stories": made,
    }


def recipes_of(made: Sequence[dict[str, Any]]) -> list[str]:
    """Those that stories were made from."""
    return [each["name"].split("/")[-2] for each in made]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m protosim.score.gosuite", description=__doc__)
    parser.add_argument("task")
    options = parser.parse_args(arguments)
    try:
        task, using = load_task(options.task), secret()
        files.write(suite_path(task.name, using), dump(export(task, using)))
    except UserError as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
