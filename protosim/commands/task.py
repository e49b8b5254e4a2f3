"""Make proof tasks by machine, and ask whether proof tasks are worth asking.

`task new` takes pieces out of the reference proof of a problem: bodies of lemmas, or conjuncts of predicates that the
proof defines (without --drop it lists them). `task check` verifies of problems, by default all: the reference proves
every lemma, none is proved without a proof, and each weakened specification makes the reference fail.
"""

import argparse
from pathlib import Path

import attrs

from protosim import files
from protosim.adapters.dafny import tool
from protosim.errors import UserError
from protosim.options import MOST_JOBS, whole
from protosim.output import Answer, Output, Status
from protosim.proofs import derive, page
from protosim.proofs.certify import Certificate, certify, keep
from protosim.proofs.judge import Broken
from protosim.proofs.problem import Problem, load, names


def options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", metavar="ACTION", choices=("new", "check"), help="new or check")
    add("problems", metavar="PROBLEM", nargs="*", help="check: folders of dafny/ by name, or paths; by default all")
    add("--from", metavar="PROBLEM", dest="parent", help="new: the problem whose reference proof is taken apart")
    add("--drop", metavar="PIECE", action="append", default=[], help="new: take this out (again for more)")
    add("-o", "--output", metavar="FOLDER", help="new: where to write the problem, a folder that does not exist yet")
    add("--jobs", type=whole(1, MOST_JOBS), default=1, metavar="N", help="check: so many verifiers at once")
    add("--write", action="store_true", help="check: write certificates beside the problems, and docs/proofs.md")


def run(args: argparse.Namespace, out: Output) -> Answer:
    try:
        return _new(args, out) if args.action == "new" else _check(args, out)
    except (tool.Missing, Broken) as error:
        raise UserError(str(error)) from None


def _new(args: argparse.Namespace, out: Output) -> Answer:
    if args.parent is None or args.problems:
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
        raise UserError("task check takes names of problems and --write; --from, --drop and -o are for task new.")
    dafny = tool.find()
    found: list[Certificate] = []
    for name in args.problems or names():
        problem = load(name)
        found.append(_certified(problem, dafny, args.jobs, out))
        _tell(found[-1], out)
        if args.write:
            keep(problem, found[-1])
            files.write(page.PATH, page.page())
    if args.write:
        out.say(f"Wrote {page.PATH}, and certificates beside the problems.")
    status: Status = "violation" if any(certificate.faults for certificate in found) else "ok"
    return Answer(status, {"certificates": [attrs.asdict(certificate) for certificate in found]})


def _certified(problem: Problem, dafny: tool.Dafny, jobs: int, out: Output) -> Certificate:
    with out.progress() as tick:
        return certify(problem, dafny, lambda says: tick(1, says), jobs)


def _tell(certificate: Certificate, out: Output) -> None:
    caught = sum(map(bool, certificate.caught.values()))
    says = (
        f"{certificate.problem}: {certificate.lemmas} lemmas, proved in {certificate.seconds:g} s of CPU; "
        f"{caught} of {len(certificate.caught)} weakened specifications are noticed"
    )
    out.verdict("violation" if certificate.faults else "ok", f"{says}.")
    for fault in certificate.faults:
        out.prose(f"{fault}.", "  ")
