"""Judge a repair against a task's hidden tests: solved (exit code 0) or not (1).

The candidate is one file, an edited copy of what the task hands out. It runs in worker processes; what
judges it does not. Progress names the bugs that are left.
"""

import argparse
from pathlib import Path
from typing import cast

from protosim.output import Answer, Output, Status
from protosim.score import score
from protosim.score.result import Result

FAILURES = 5  # in the terminal; --json has all


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="a folder of tasks/, by its name")
    parser.add_argument("candidate", metavar="FILE", help="the repaired source")


def run(args: argparse.Namespace, out: Output) -> Answer:
    result = judge(args.task, Path(args.candidate), out)
    tell(result, out)
    data = result.to_json()
    del data["schema"], data["status"]
    return Answer(cast(Status, result.status), data)


def judge(task: str, candidate: Path, out: Output) -> Result:
    """The result, behind a bar."""
    before = 0
    with out.progress(1) as tick:

        def progress(done: int, total: int) -> None:
            nonlocal before
            tick((done - before) / total, f"{done} of {total} runs")
            before = done

        return score(task, candidate, progress=progress)


def tell(result: Result, out: Output) -> None:
    points = "no score" if result.score is None else f"{result.score:g}"
    verdict = "solved" if result.solved else "not solved"
    status = cast(Status, result.status)
    out.verdict(status, f"{verdict}, score {points} ({result.stage}: {result.sentence.rstrip('.')}).")
    if result.stage == "infra_error":
        out.note(result.sentence)
    out.table([(bug, state) for bug, state in result.bugs.items()], "  ")
    for failure in result.failures[:FAILURES]:
        broken = failure["invariant"] or failure["ending"]
        out.say(f"  {failure['test']}: {broken}: {failure['sentence']}")
    if len(result.failures) > FAILURES:
        out.say(f"  and {len(result.failures) - FAILURES} more failed runs")
    if result.isolation == "none":
        out.say("The candidate's processes were not isolated: run nobody's code that you would not run yourself.")
