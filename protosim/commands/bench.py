"""Measure speed beside its peers: events a second, events to kill, schedule preserved, processes, the judge."""

import argparse

from protosim import bench
from protosim.bench.sizes import FULL, QUICK
from protosim.output import Answer, Output


def options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--write", action="store_true", help=f"write the report to {bench.REPORT}, below this folder")
    add("--judge", action="store_true", help="only scores and the step protocol; --write refills their sections alone")
    add("--quick", action="store_true", help="measure little: to see that it works, not how fast")


def run(args: argparse.Namespace, out: Output) -> Answer:
    run_it = bench.run_judge if args.judge else bench.run
    return run_it(out, write=args.write, sizes=QUICK if args.quick else FULL)
