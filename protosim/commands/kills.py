"""Hunt every known mutant of a protocol, and compare with what is expected of each.

The catalogue's mutants are hunted under several seeds; with --operators those that operators make are, once each and
within a fixed budget. A mutant that should be killed and survives is a finding, and so is one that should survive and
is killed: either is a violation (exit code 1). Counts and times are for information.
"""

import argparse
import functools
from collections.abc import Sequence
from pathlib import Path

import attrs

import mutations
from mutations import catalogue, engine
from protosim import files, kills, operatorkills
from protosim.killpage import page, page_of
from protosim.kills import EVENTS, KILLED, SEEDS, Row
from protosim.options import MOST, MOST_JOBS, whole
from protosim.output import Answer, Output
from protosim.program import reference
from protosim.words import plural


def options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    few = f"{operatorkills.EVENTS:,} with --operators"
    add("protocol", metavar="PROTOCOL", nargs="?", default="raft", help="a file of protocols/ (default: raft)")
    add("ids", metavar="ID", nargs="*", help="only these mutants (default: all)")
    add("--operators", action="store_true", help="the mutants that operators make, instead of the catalogue's")
    add("--seeds", metavar="N", type=whole(1, 10**6), help=f"hunts of each (default {SEEDS}; 1 with --operators)")
    add("--events", metavar="N", type=whole(1, MOST), help=f"bound of a hunt (default {EVENTS:,}; {few})")
    add("--jobs", metavar="N", type=whole(1, MOST_JOBS), default=1, help="processes; changes nothing but the time")
    add("--update", action="store_true", help="write the expected table, and the page that is made of it")


def run(args: argparse.Namespace, out: Output) -> Answer:
    program = reference(args.protocol)
    return _operators(program.name, args, out) if args.operators else _catalogue(program.name, args, out)


def _catalogue(protocol: str, args: argparse.Namespace, out: Output) -> Answer:
    known, table = catalogue.load(protocol), kills.expected(protocol)
    rows = _measure(protocol, _named(protocol, args.ids) or list(known), SEEDS, EVENTS, args, out)
    if args.update:
        table = kills.merged(table, rows, known)
        _write(kills.path_of(protocol), kills.text(table.values()), out)
        _write(page_of(protocol), page(protocol, table), out)
    found = [*kills.compare(rows, table, known), *([] if args.ids else kills.gaps(table, known))]
    killed = sum(row.outcome == KILLED for row in rows)
    return _answer(rows, found, f"{killed} of {plural(len(rows), 'mutant')} killed", {}, out)


def _operators(protocol: str, args: argparse.Namespace, out: Output) -> Answer:
    made = engine.generated(protocol, reference(protocol).source)
    table = operatorkills.expected(protocol)
    fresh = args.update or not args.ids
    same = operatorkills.catalogued(protocol) if fresh else table.catalogued
    ids = _named(protocol, args.ids) or [id for id in made if id not in same]
    rows = _measure(protocol, ids, 1, operatorkills.EVENTS, args, out)
    if args.update:
        table = operatorkills.updated(table, same, rows, made, args.events or operatorkills.EVENTS)
        _write(operatorkills.path_of(protocol), operatorkills.text(table), out)
        _write(page_of(protocol), page(protocol, kills.expected(protocol)), out)
    found = [*operatorkills.compare(rows, table), *([] if args.ids else operatorkills.gaps(protocol, table))]
    share = operatorkills.share(table, kills.expected(protocol))
    data: dict[str, object] = {"operators": {**attrs.asdict(share), "unexplained": share.unexplained}}
    return _answer(rows, found, str(share), data, out)


def _named(protocol: str, names: Sequence[str]) -> list[str]:
    """The ids of the mutants that the command line names. Raises UserError for one that there is not."""
    return [mutations.find(protocol, name, reference(protocol).source).id for name in names]


def _measure(
    protocol: str, ids: Sequence[str], seeds: int, events: int, args: argparse.Namespace, out: Output
) -> list[Row]:
    """So many seeds and events unless the command line says otherwise."""
    with out.progress(len(ids)) as tick:
        heading = "{:<62} {:>6} {:>9} {:>7} {:>7}  {:<8} {}"
        out.say(heading.format("mutant", "killed", "events", "CPU s", "worst", "shortest", "broke first, found by"))

        def tell(row: Row) -> None:
            tick(1, row.id)
            size = f"{row.shrunk[0]}/{row.shrunk[1]}" if row.shrunk else "-"
            how = f"{', '.join(row.invariants)} by {row.found_by}" if row.kills else "-"
            count, spent = f"{row.kills}/{row.hunts}", f"{row.events:,.0f}"
            out.say(heading.format(row.id, count, spent, f"{row.cpu:.2f}", f"{row.worst_cpu:.2f}", size, how))

        chosen = range(1, (args.seeds or seeds) + 1)
        rich = not args.operators
        measure = functools.partial(kills.measure, events=args.events or events, shorten=rich, forks=rich)
        return measure(protocol, ids, chosen, jobs=args.jobs, progress=tell)


def _write(path: Path, text: str, out: Output) -> None:
    files.write(path, text)
    out.say(f"Wrote {path}.")


def _answer(rows: list[Row], found: list[str], counts: str, data: dict[str, object], out: Output) -> Answer:
    findings = list(dict.fromkeys(found))
    data = {
        "mutants": [attrs.asdict(row) for row in rows],
        **data,
        "findings": findings,
        "message": findings[0] if findings else None,
    }
    if findings:
        for sentence in findings:
            out.prose(sentence)
        out.verdict("violation", f"not as expected; {counts}.")
        return Answer("violation", data)
    out.verdict("ok", f"all as expected; {counts}.")
    return Answer("ok", data)
