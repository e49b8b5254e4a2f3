"""Judge a repair against a task's hidden tests, or a proof by its verifier: solved (exit code 0) or not (1).

The candidate is one file, an edited copy of what the task hands out (--handout). A repair runs in worker processes;
what judges it does not, and progress names the bugs that are left. A proof is read by Dafny, and progress says of
each lemma whether it is proved.
"""

import argparse
from pathlib import Path
from typing import cast

import attrs

from protosim import files, paths
from protosim.errors import UserError
from protosim.output import Answer, Output, Status
from protosim.proofs.judge import Lemma
from protosim.score import batch, handed_out, language_of, score
from protosim.score.proof import ProofResult
from protosim.score.result import Result

FAILURES = 5  # in the terminal; --json has all


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="a folder of tasks/, by its name; or the path of a proof problem")
    parser.add_argument("candidate", metavar="FILE", nargs="?", help="the repaired source (.go is Go), or the proof")
    parser.add_argument(
        "--handout", metavar="FILE", help="write the source that the task gives out (.go: in Go), and judge nothing"
    )
    parser.add_argument("--batch", metavar="FOLDER", help="judge every answer in it, and say how many an hour that is")


def run(args: argparse.Namespace, out: Output) -> Answer:
    if sum(named is not None for named in (args.candidate, args.handout, args.batch)) != 1:
        raise UserError(
            "Name the candidate's file, or a folder of them (--batch FOLDER), "
            "or where to write the source that is handed out (--handout FILE)."
        )
    if args.handout is not None:
        files.write(Path(args.handout), handed_out(args.task, language_of(Path(args.handout))))
        ticket = paths.data("tasks") / args.task / "ticket.md"
        out.say(f"Wrote {args.handout}.{f' The ticket is {ticket}.' if ticket.is_file() else ''}")
        return Answer("ok", {"task": args.task, "handout": args.handout})
    if args.batch is not None:
        return run_batch(args.task, Path(args.batch), out)
    candidate = Path(args.candidate)
    result = judge(args.task, candidate, out)
    tell(result, out)
    if result.isolation == "not isolated":
        out.prose("The candidate's processes were not isolated: score nobody's code that you would not run yourself.")
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


def run_batch(task: str, folder: Path, out: Output) -> Answer:
    """Every answer of the folder, in one table at the end."""
    done: list[batch.Row] = []
    used = batch.Used.until_now()
    names = batch.answers(task, folder)
    with out.progress(len(names)) as tick:
        for row in batch.rows(task, folder, names):
            done.append(row)
            tick(1, row.name)
    used = used.since()
    out.table([(row.name, row.verdict, f"{row.stage}: {row.sentence}") for row in done])
    solved, failed = sum(row.solved for row in done), sum(row.score is None for row in done)
    status: Status = "error" if failed else "ok" if solved == len(done) else "violation"
    rate = used.rate(len(done))
    out.verdict(
        status,
        f"{solved} of {len(done)} answers solve the task; {used.wall:.0f} s, {rate:,.0f} answers an hour and core.",
    )
    answers = [attrs.asdict(row) for row in done]
    data = {"task": task, "answers": answers, "wall_s": used.wall, "cpu_s": used.cpu, "per_hour_and_core": rate}
    return Answer(status, data)


def tell(result: Result, out: Output) -> None:
    why = f"{result.stage}: {result.sentence.rstrip('.')}"
    if result.score is None:
        out.note(f"No score: {why}.")
        return
    verdict = "solved" if result.solved else "not solved"
    out.verdict(cast(Status, result.status), f"{verdict}, score {result.score:g} ({why}).")
    if isinstance(result, ProofResult):
        out.table([(lemma.name, lemma.state, _why(lemma)) for lemma in result.lemmas], "  ")
    out.table(list(result.bugs.items()), "  ")
    for failure in result.failures[:FAILURES]:
        broken = failure["invariant"] or failure["ending"]
        out.say(f"  {failure['test']}: {broken}: {failure['sentence']}")
    if len(result.failures) > FAILURES:
        out.say(f"  and {len(result.failures) - FAILURES} more failed runs")


def _why(lemma: Lemma) -> str:
    line = f"line {lemma.line}" if lemma.line else ""
    return ": ".join(filter(None, [line, lemma.sentence]))
