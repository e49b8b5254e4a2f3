"""Hunt every known mutant under several seeds, and compare with what is expected of each.

A mutant that should be killed and survives is a finding, and so is one that should survive and is killed:
either is a violation (exit code 1). Counts and times are for information.
"""

import argparse
import functools

import attrs

from mutations import catalogue
from protosim import files, kills
from protosim.kills import EVENTS, KILLED, SEEDS, Row
from protosim.options import MOST, MOST_JOBS, whole
from protosim.output import Answer, Output
from protosim.program import reference


def options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("protocol", metavar="PROTOCOL", nargs="?", default="raft", help="a file of protocols/ (default: raft)")
    add("ids", metavar="ID", nargs="*", help="only these mutants (default: the catalogue, then what operators make)")
    add("--seeds", metavar="N", type=whole(1, 10**6), default=SEEDS, help=f"hunts of each mutant (default {SEEDS})")
    add("--events", metavar="N", type=whole(1, MOST), default=EVENTS, help=f"bound of a hunt (default {EVENTS:,})")
    add("--jobs", metavar="N", type=whole(1, MOST_JOBS), default=1, help="processes; changes nothing but the time")
    add("--update", action="store_true", help="write the expected table, and the page that is made of it")


def run(args: argparse.Namespace, out: Output) -> Answer:
    protocol = reference(args.protocol).name
    known, table = catalogue.load(protocol), kills.expected(protocol)
    rows = _measure(protocol, args.ids or list(known), range(1, args.seeds + 1), args, out)
    others: list[Row] = []
    if not args.ids:
        out.heading("Mutants that operators make and the catalogue does not have, one hunt each")
        others = _measure(protocol, kills.generated_only(protocol), range(1, 2), args, out)
    if args.update:
        table = kills.merged(table, rows, known)
        _write(protocol, table, out)
    found = [*kills.compare(rows, table, known), *([] if args.ids else kills.gaps(table, known))]
    findings = list(dict.fromkeys(found))
    return _answer(rows, others, findings, out)


def _measure(protocol: str, ids: list[str], seeds: range, args: argparse.Namespace, out: Output) -> list[Row]:
    with out.progress(len(ids)) as tick:
        shorten = len(seeds) > 1 or bool(args.ids)
        heading = "{:<46} {:>7} {:>9} {:>7} {:>7}  {:<8} {}"
        out.say(heading.format("mutant", "killed", "events", "CPU s", "worst", "shortest", "broke first, found by"))

        def tell(row: Row) -> None:
            tick(1, row.id)
            size = f"{row.shrunk[0]}/{row.shrunk[1]}" if row.shrunk else "-"
            how = f"{', '.join(row.invariants)} by {row.found_by}" if row.kills else "-"
            count, events = f"{row.kills}/{row.hunts}", f"{row.events:,.0f}"
            out.say(heading.format(row.id, count, events, f"{row.cpu:.2f}", f"{row.worst_cpu:.2f}", size, how))

        measure = functools.partial(kills.measure, events=args.events, shorten=shorten, jobs=args.jobs)
        return measure(protocol, ids, seeds, progress=tell)


def _write(protocol: str, table: dict[str, Row], out: Output) -> None:
    from protosim.killpage import page, page_of

    texts = {kills.path_of(protocol): kills.text(table.values()), page_of(protocol): page(protocol, table)}
    for path, text in texts.items():
        files.write(path, text)
        out.say(f"Wrote {path}.")


def _answer(rows: list[Row], others: list[Row], findings: list[str], out: Output) -> Answer:
    killed, made = (sum(row.outcome == KILLED for row in some) for some in (rows, others))
    counts = f"{killed} of {len(rows)} mutants killed"
    counts += f"; of {len(others)} more that operators make, {made}" if others else ""
    data = {
        "mutants": [attrs.asdict(row) for row in rows],
        "operators": {"killed": made, "survived": len(others) - made},
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
