"""Judge a repair against a task's hidden tests, or a proof by its verifier: solved (exit code 0) or not (1).

The candidate is one file, an edited copy of what the task hands out (--handout). A repair runs in worker processes;
what judges it does not, and progress names the bugs that are left. A proof is read by Dafny, and progress says of
each lemma whether it is proved.
"""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import attrs

from protosim import counterexample, files, paths
from protosim.commands.hunt import tell_saved
from protosim.errors import UserError
from protosim.output import Answer, Output, Status, Tick, command
from protosim.proofs import problem
from protosim.proofs.judge import Lemma
from protosim.run import printable
from protosim.score import again, batch, handed_out, language_of, score, verdicts
from protosim.score.gojudge import Verdict
from protosim.score.judge import Progress
from protosim.score.proof import ProofResult
from protosim.score.result import Result
from protosim.score.suite import load_task
from protosim.score.verdicts import Log
from protosim.words import plural

FAILURES = 5  # in the terminal; --json has all
LONGEST_NAME = 60  # of an answer's file, in the terminal


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="a folder of tasks/, by its name; or the path of a proof problem")
    parser.add_argument("candidate", metavar="FILE", nargs="?", help="the repaired source (.go is Go), or the proof")
    parser.add_argument(
        "--handout", metavar="FILE", help="write the source that the task gives out (.go: in Go), and judge nothing"
    )
    parser.add_argument("--batch", metavar="FOLDER", help="judge every answer in it, and say how many an hour that is")
    parser.add_argument(
        "--run", metavar="RUN",
        help="play this run of the suite again, as a result names it, and show how it fails; "
        "without a sandbox: only code that you trust",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", "--out", metavar="FILE",
        help="of --run: where to save the story (default: run-….json, here). Of --batch: where each verdict is added "
        "as it is made; those that are there need not be judged again (default: FOLDER.verdicts.jsonl)",
    )  # fmt: skip


def run(args: argparse.Namespace, out: Output) -> Answer:
    if args.run is not None and args.candidate is None:
        raise UserError("--run plays a run with a candidate: name its file, too.")
    if sum(named is not None for named in (args.candidate, args.handout, args.batch)) != 1:
        raise UserError(
            "Name the candidate's file, or a folder of them (--batch FOLDER), "
            "or where to write the source that is handed out (--handout FILE)."
        )
    if args.handout is not None:
        language = "" if problem.given(args.task) else language_of(Path(args.handout))
        files.write(Path(args.handout), handed_out(args.task, language))
        ticket = paths.data("tasks") / args.task / "ticket.md"
        out.say(f"Wrote {args.handout}.{f' The ticket is {ticket}.' if ticket.is_file() else ''}")
        return Answer("ok", {"task": args.task, "handout": args.handout})
    if args.batch is not None:
        folder = Path(args.batch)
        log = args.output or folder.resolve().with_name(f"{folder.resolve().name}.verdicts.jsonl")
        return run_batch(args.task, folder, Log(Path(log)), out)
    if args.run is not None:
        return run_again(args, out)
    if args.output is not None:
        raise UserError("-o is for --batch and --run; a single result goes to stdout (--json).")
    candidate = Path(args.candidate)
    result = judge(args.task, candidate, out)
    tell(result, out, candidate)
    if result.isolation == "not isolated":
        out.prose("The candidate's processes were not isolated: score nobody's code that you would not run yourself.")
    data = result.to_json()
    del data["schema"], data["status"]
    data["failures"] = [
        {**failed, "again": again_by(result.task, candidate, failed["run"])} for failed in result.failures
    ]
    return Answer(cast(Status, result.status), data)


def again_by(task: str, candidate: Path, run: str) -> str:
    """The command that plays a failed run again."""
    return command("score", task, str(candidate), "--run", run)


def run_again(args: argparse.Namespace, out: Output) -> Answer:
    """One run of the suite, as a story to look at."""
    task = load_task(args.task)
    trial = again.trial(task, args.run)
    path = Path(args.output or f"run-{re.sub(r'[^a-zA-Z0-9.]+', '-', trial.run.name)}.json")
    files.require_writable(path)
    program = again.program(task, Path(args.candidate), path.with_suffix(".worker"))
    ended = again.played(program, trial)
    data = {"task": task.name, "run": trial.run.name, **attrs.asdict(ended), "counterexample": None}
    if ended.ending == "passed":
        out.verdict("ok", f"{trial.run.name} passes, with {plural(ended.answers, 'answer')} to clients.")
        return Answer("ok", data)
    with out.progress() as tick:
        saved = again.story(program, trial, ended, lambda left: tick(0, f"shortening: {plural(left, 'event')}"))
    counterexample.save(path, saved)
    if saved.invariant:
        data |= tell_saved(program, saved, path, out)
    else:
        data["counterexample"] = str(path)
        out.say(f"  the run's last moments: {command('show', str(path))}")
    out.verdict("violation", f"{trial.run.name} fails: {ended.invariant or ended.ending}: {ended.sentence}.")
    return Answer("violation", data)


def judge(task: str, candidate: Path, out: Output) -> Result:
    """The result, behind a bar."""
    before = 0
    with out.progress(1) as tick:

        def progress(done: int, total: int) -> None:
            nonlocal before
            then = "; now some of them again, and what else there is to ask" if done == total else ""
            tick((done - before) / total, f"{done} of {plural(total, 'run')}{then}")
            before = done

        return score(task, candidate, progress=progress)


def run_batch(task: str, folder: Path, log: Log, out: Output) -> Answer:
    """Every answer of the folder, each told and kept as soon as it is judged. Ctrl-C ends it with what there is."""
    names = batch.answers(task, folder)
    judge, before = verdicts.judged_by(task), log.read()
    files.require_writable(log.path)
    rows: list[batch.Row] = []
    fresh, interrupted = 0, False
    started = batch.Used.until_now()
    used = started.since()
    shown = {name: printable(name, LONGEST_NAME) for name in names}
    wide = max(map(len, shown.values()))
    with out.progress(len(names)) as tick:
        try:
            for name in names:
                key = verdicts.key(judge, folder / name)
                row = batch.known(before.get(key))
                if known := row is not None:
                    row = attrs.evolve(row, name=name)
                else:
                    row = batch.row(task, folder / name, _told(tick, shown[name]))
                    log.add(key, {"task": task, **attrs.asdict(row)})
                    fresh, used = fresh + 1, started.since()
                rows.append(row)
                tick(1, shown[name])
                out.table([(shown[name].ljust(wide), row.verdict.ljust(8), _of(row, known))])
        except KeyboardInterrupt:
            interrupted = True
    return _sum_up(Batch(task, log, rows, len(names), fresh, used, interrupted), out)


def _told(tick: Tick, name: str) -> Progress:
    return lambda done, total: tick(0, f"{name}: {done} of {plural(total, 'run')}")


def _of(row: batch.Row, known: bool) -> str:
    return ". ".join(filter(None, [f"{row.stage}: {row.sentence}{' (known)' * known}", row.disagreement]))


@attrs.frozen
class Batch:
    """What became of a folder of answers."""

    task: str
    log: Log
    rows: list[batch.Row]
    asked: int  # answers in the folder
    fresh: int  # that were not known before
    used: batch.Used
    interrupted: bool

    @property
    def status(self) -> Status:
        if self.interrupted:
            return "inconclusive"
        if any(row.score is None for row in self.rows):
            return "error"
        return "ok" if all(row.solved for row in self.rows) else "violation"


def _sum_up(done: Batch, out: Output) -> Answer:
    solved, rate = sum(row.solved for row in done.rows), done.used.rate(done.fresh) if done.fresh else None
    says = f"{solved} of {plural(len(done.rows), 'answer')} solve{'s' * (solved == 1)} the task"
    if done.fresh < len(done.rows):
        says += f", {len(done.rows) - done.fresh} of them judged before"
    if rate is not None:
        says += f"; {done.used.wall:.0f} s, {rate:,.0f} answers an hour and core"
    if done.interrupted:
        says += f". Interrupted; the same command goes on with the {plural(done.asked - len(done.rows), 'answer')} left"
    out.verdict(done.status, f"{says}.")
    out.say(f"verdicts: {done.log.path}")
    data = {
        "task": done.task,
        "answers": [attrs.asdict(row) for row in done.rows],
        "left": done.asked - len(done.rows),
        "known": len(done.rows) - done.fresh,
        "log": str(done.log.path),
        "wall_s": done.used.wall,
        "cpu_s": done.used.cpu,
        "per_hour_and_core": rate,
    }
    return Answer(done.status, data)


def tell(result: Result, out: Output, candidate: Path | None = None) -> None:
    why = f"{result.stage}: {result.sentence.rstrip('.')}"
    if result.score is None:
        out.note(f"No score: {why}.")
        return
    verdict = "solved" if result.solved else "not solved"
    out.verdict(cast(Status, result.status), f"{verdict}, score {result.score:g} ({why}).")
    if isinstance(result, ProofResult):
        out.table([(lemma.name, lemma.state, _why(lemma)) for lemma in result.lemmas], "  ")
    tell_bugs(result.bugs, out)
    failures = sorted(result.failures, key=lambda failure: result.bugs.get(failure.get("bug", "")) != "unfixed")
    for failure in failures[:FAILURES]:
        broken = failure["invariant"] or failure["ending"]
        out.say(f"  {failure['run']}: {broken}: {failure['sentence']}")
    if len(failures) > FAILURES:
        out.say(f"  and {plural(len(failures) - FAILURES, 'more failed run')}")
    if failures and candidate is not None:
        out.say(f"  see the first again: {again_by(result.task, candidate, failures[0]['run'])}")
    if result.go_suite is not None:
        tell_second(result.go_suite, out)
    if result.disagreement:
        out.prose(result.disagreement)


def tell_bugs(bugs: Mapping[str, str], out: Output) -> None:
    """What is known to be wrong first. One wrong line may break the runs of many bugs: these are one line."""
    by_state: dict[str, list[str]] = {"unfixed": [], "fixed": [], "regressed": []}
    for bug, state in bugs.items():
        by_state[state].append(bug)
    out.table([(bug, "unfixed") for bug in by_state["unfixed"]], "  ")
    if by_state["fixed"]:
        out.prose(f"fixed: {', '.join(by_state['fixed'])}", "  ")
    if by_state["regressed"]:
        why = "their runs fail, but not as by these bugs"
        out.prose(f"regressed ({why}): {', '.join(by_state['regressed'])}", "  ")


def tell_second(verdict: Verdict, out: Output) -> None:
    if verdict.solved is None:
        out.prose(f"No second verdict: {verdict.sentence}.", "  ")
        return
    named = f"; its stories show {', '.join(verdict.bugs)}" if verdict.bugs else ""
    out.prose(f"The Go suite: {'solved' if verdict.solved else 'not solved'} ({verdict.sentence}){named}.", "  ")


def _why(lemma: Lemma) -> str:
    line = f"line {lemma.line}" if lemma.line else ""
    return ": ".join(filter(None, [line, lemma.sentence]))
