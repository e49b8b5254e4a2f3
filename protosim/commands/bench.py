"""Measure speed beside its peers: events a second, events to kill, schedule preserved, processes, workers."""

import argparse

from protosim import bench
from protosim.bench.sizes import FULL, QUICK
from protosim.output import Answer, Output


def options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--write", action="store_true", help=f"write the report to {bench.REPORT}, below this folder")
    add("--quick", action="store_true", help="measure little: to see that it works, not how fast")


def run(args: argparse.Namespace, out: Output) -> Answer:
    return bench.run(out, write=args.write, sizes=QUICK if args.quick else FULL)
