"""Make proof tasks by machine, and ask whether tasks are worth asking.

`task new` takes pieces out of the reference proof of a problem: bodies of lemmas, or conjuncts of predicates that the
proof defines (without --drop it lists them). `task check` verifies of problems, by default all: the reference proves
every lemma, none is proved without a proof, and each weakened specification makes the reference fail. Of a task that
runs judge it measures, in each language: the reference solves it, by the same report every time, what does nothing
scores nothing, and of each repair that falls short exactly what is left is named.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from protosim import files
from protosim.adapters.dafny import tool
from protosim.errors import UserError
from protosim.options import MOST_JOBS, whole
from protosim.output import Answer, Output, Status
from protosim.proofs import certify as proofs
from protosim.proofs import derive, page
from protosim.proofs.judge import Broken
from protosim.proofs.problem import Problem, given, load, names
from protosim.score import certify, taskpage
from protosim.score.candidates import LANGUAGES, languages
from protosim.score.suite import Task, load_task


def options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", metavar="ACTION", choices=("new", "check"), help="new or check")
    add("tasks", metavar="TASK", nargs="*", help="check: tasks, or paths of proof problems; by default all of dafny/")
    add("--from", metavar="PROBLEM", dest="parent", help="new: the problem whose reference proof is taken apart")
    add("--drop", metavar="PIECE", action="append", default=[], help="new: take this out (again for more)")
    add("-o", "--output", metavar="FOLDER", help="new: where to write the problem, a folder that does not exist yet")
    add("--language", choices=LANGUAGES, help="check: in this one alone, where a task can be answered in two")
    add("--seeds", metavar="NAME", action="append", default=[], help="check: try the reference under this secret too")
    add("--jobs", type=whole(1, MOST_JOBS), default=1, metavar="N", help="check: so many verifiers or judges at once")
    add("--write", action="store_true", help="check: write certificates, and docs/proofs.md or docs/tasks.md")


def run(args: argparse.Namespace, out: Output) -> Answer:
    try:
        return _new(args, out) if args.action == "new" else _check(args, out)
    except (tool.Missing, Broken) as error:
        raise UserError(str(error)) from None


def _new(args: argparse.Namespace, out: Output) -> Answer:
    if args.parent is None or args.tasks:
        raise UserError("Name one problem whose proof is taken apart: task new --from PROBLEM --drop PIECE -o FOLDER.")
    parent = load(args.parent)
    pieces = derive.pieces(parent.reference)
    if not args.drop:
        out.say("\n".join(pieces))
        return Answer("ok", {"from": parent.name, "pieces": list(pieces)})
    if args.output is None:
        raise UserError("Say with -o which folder to make: a new problem is a folder of its own.")
    folder = Path(args.output)
    if folder.exists():
        raise UserError(f"{folder} exists. Name a folder that does not exist yet with -o.")
    derive.chosen(parent.reference, args.drop)
    dafny = tool.find()
    with out.progress() as tick:
        made = derive.derive(parent, args.drop, dafny, lambda says: tick(1, says))
    for name, text in made.files.items():
        files.write(folder / name, text)
    out.say(f"Wrote {folder}: {len(made.required)} lemmas are open: {', '.join(made.required)}.")
    out.say(f"The reference proves it, what is handed out does not, and each piece is missed (Dafny {dafny.version}).")
    return Answer("ok", {"folder": str(folder), "from": parent.name, "drop": args.drop, "required": made.required})


def _check(args: argparse.Namespace, out: Output) -> Answer:
    if args.parent or args.drop or args.output:
        raise UserError("task check takes names of tasks and --write; --from, --drop and -o are for task new.")
    chosen: list[str] = args.tasks or names()
    problems = [load(name) for name in chosen if given(name)]
    scored = [load_task(name) for name in chosen if not given(name)]
    found: dict[str, Any] = {}  # certificates
    wrong = False
    dafny = tool.find() if problems else None
    for problem in problems:
        assert dafny is not None
        found[problem.name] = proof = _proved(problem, dafny, args, out)
        wrong |= bool(proof.faults)
    for task in scored:
        for language in languages(task) if args.language is None else [args.language]:
            found[task.name] = certificate = _judged(task, language, args, out)
            wrong |= bool(certificate.languages[language].faults)
    status: Status = "violation" if wrong else "ok"
    return Answer(status, {"certificates": [attrs.asdict(certificate) for certificate in found.values()]})


def _proved(problem: Problem, dafny: tool.Dafny, args: argparse.Namespace, out: Output) -> proofs.Certificate:
    with out.progress() as tick:
        certificate = proofs.certify(problem, dafny, lambda says: tick(1, says), args.jobs)
    caught = sum(map(bool, certificate.caught.values()))
    says = (
        f"{certificate.problem}: {certificate.lemmas} lemmas, proved in {certificate.seconds:g} s of CPU; "
        f"{caught} of {len(certificate.caught)} weakened specifications are noticed"
    )
    _tell(says, certificate.faults, out)
    if args.write:
        proofs.keep(problem, certificate)
        files.write(page.PATH, page.page())
        out.say(f"Wrote its certificate, and {page.PATH}.")
    return certificate


def _judged(task: Task, language: str, args: argparse.Namespace, out: Output) -> certify.Certificate:
    with out.progress(1) as tick:
        certificate = certify.certify(task, language, args.seeds, args.jobs, tick)
    found = certificate.languages[language]
    says = (
        f"{task.name} in {language}: {len(found.verdicts)} candidates, "
        f"the reference in {found.cpu:g} s of CPU and {found.wall:g} s by the clock"
    )
    _tell(says, found.faults, out)
    if args.write:
        certify.keep(certificate)
        files.write(taskpage.PATH, taskpage.page())
        out.say(f"Wrote its certificate, and {taskpage.PATH}.")
    return certificate


def _tell(says: str, faults: Sequence[str], out: Output) -> None:
    out.verdict("violation" if faults else "ok", f"{says}.")
    for fault in faults:
        out.prose(f"{fault}.", "  ")
