"""Print a protocol's source with bugs put in, or the diff that puts them there."""

import argparse
from pathlib import Path

import mutations
from mutations import engine
from protosim import files
from protosim.output import Answer, Output
from protosim.program import reference


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("protocol", metavar="PROTOCOL", help="a file of protocols/, by its name")
    parser.add_argument("mutants", metavar="ID", nargs="+", help="mutants, by id, alias, or site")
    parser.add_argument("--diff", action="store_true", help="the diff instead of the source")
    parser.add_argument("-o", "--output", metavar="FILE", help="write it there instead of printing it")


def run(args: argparse.Namespace, out: Output) -> Answer:
    program = reference(args.protocol)
    drift = [mutations.find(program.name, name, program.source) for name in args.mutants]
    source = engine.apply_all(program.source, drift)
    diff = engine.diff(program.source, source, f"protocols/{program.name}.py")
    text = diff if args.diff else source
    if args.diff:
        for mutation in drift:
            out.note(f"{mutation.id}: {mutation.title} {mutation.clause}".rstrip())
    if args.output:
        files.write(Path(args.output), text)
        out.say(f"Wrote {args.output}.")
    else:
        out.say(text.removesuffix("\n"))
    data = {
        "protocol": program.name,
        "mutants": [mutation.id for mutation in drift],
        "output": args.output,
        "diff": diff,
        "mutated": source,
    }
    return Answer("ok", data)
