"""Print a protocol's source with bugs put in, or the diff that puts them there."""

import argparse
from pathlib import Path

import mutations
from mutations import engine
from protosim import files
from protosim.output import Answer, Output
from protosim.program import source_of


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("protocol", metavar="PROTOCOL", help="a file of protocols/, by its name")
    parser.add_argument("mutants", metavar="ID", nargs="+", help="mutants, by id, alias, or site")
    parser.add_argument("--diff", action="store_true", help="the diff instead of the source")
    parser.add_argument("-o", "--output", metavar="FILE", help="write it there instead of printing it")


def run(args: argparse.Namespace, out: Output) -> Answer:
    plain = source_of(args.protocol)
    drift = [mutations.find(args.protocol, name, plain) for name in args.mutants]
    source = engine.apply_all(plain, drift)
    diff = engine.diff(plain, source, f"protocols/{args.protocol}.py")
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
        "protocol": args.protocol,
        "mutants": [mutation.id for mutation in drift],
        "output": args.output,
        "diff": diff,
        "mutated": source,
    }
    return Answer("ok", data)
