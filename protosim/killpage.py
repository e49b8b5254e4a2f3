"""The page about a protocol's mutants: the catalogue beside what was measured."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mutations import DriftKind, Mutation, Replace, Site, catalogue
from mutations.operators import DROP_CHECK
from protosim import markdown, operatorkills
from protosim.checks import conditions
from protosim.kills import KILLED, ROOT, Row
from protosim.program import source_of
from protosim.words import plural

BRIEF = 120  # characters of an edit that stands in the table

KILLED_HEAD = (
    "mutant", "what it does", "breaks first", "found by", "kills", "runs", "events", "CPU s", "shortest", "seen in",
)  # fmt: skip
SURVIVING_HEAD = ("mutant", "what it does", "hunted", "why it survives", "seen in")


def page_of(protocol: str) -> Path:
    return ROOT / "docs" / f"{protocol}-mutants.md"


def page(protocol: str, table: Mapping[str, Row]) -> str:
    """Markdown."""
    known = catalogue.load(protocol)
    beyond = catalogue.beyond(protocol)
    checks = conditions(source_of(protocol))
    killed = [id for id in known if id in table and table[id].outcome == KILLED]
    surviving = [id for id in known if id in table and id not in killed]
    return "\n".join(
        [
            f"# The mutants of {protocol}",
            "",
            f"Written by `protosim kills {protocol} --update` from `mutations/catalogue/{protocol}.py` and the tables",
            "of `mutations/expected/`. Figures are medians over hunts of the default portfolio under different seeds,",
            "on one core of a shared machine; a hunt that found nothing counts as its whole bound. *Shortest* is a",
            "shortened run: events / nodes. A name like R1 is a bug that was seen in the systems of the last column.",
            "In code stands the check that is gone, or what stands in the place of what where that is brief;",
            f"`protosim mutate {protocol} MUTANT --diff` shows the lines of any.",
            "",
            "## Killed",
            "",
            *markdown.table([KILLED_HEAD, *(_killed(known[id], table[id], checks) for id in killed)]),
            "",
            *_late([(_name(known[id]), table[id].because) for id in killed if table[id].because]),
            "## Surviving",
            "",
            *markdown.table([SURVIVING_HEAD, *(_surviving(known[id], table[id], checks) for id in surviving)]),
            "",
            "## Optimisations that drift",
            "",
            *(line for entry in known.values() if entry.kind is DriftKind.OPTIMISATION for line in _commit(entry)),
            *_operators(protocol, table),
            "## What this protocol cannot have",
            "",
            *markdown.table([("row", "what it does", "needs"), *((b.row, b.title, b.needs) for b in beyond)]),
            "",
        ]
    )


def _operators(protocol: str, entries: Mapping[str, Row]) -> list[str]:
    """What becomes of the mutants that operators make, once they have been hunted."""
    table = operatorkills.expected(protocol)
    if not table.ids:
        return []
    survivors = [(f"`{id.partition('.')[2]}`", because or "unexplained") for id, because in table.survives.items()]
    return [
        "## What operators make",
        "",
        f"{operatorkills.share(table, entries)}. Each was hunted once, over {table.events:,} events; those that the",
        f"catalogue has as well have its rows ({len(table.catalogued)} of them).",
        "",
        *markdown.table([("survivor", "why"), *survivors]),
        "",
    ]


def _late(reasons: Sequence[tuple[str, str]]) -> list[str]:
    """Why it takes long to kill some."""
    return [*markdown.table([("takes long", "why"), *reasons]), ""] if reasons else []


def _killed(entry: Mutation, row: Row, checks: Mapping[str, str]) -> Sequence[str]:
    return (
        _name(entry),
        _does(entry, checks),
        ", ".join(row.invariants),
        row.found_by,
        f"{row.kills}/{row.hunts}",
        f"{row.runs:,.0f}",
        f"{row.events:,.0f}",
        f"{row.cpu:.2f}",
        f"{row.shrunk[0]} / {row.shrunk[1]}" if row.shrunk else "",
        ", ".join(entry.sources),
    )


def _surviving(entry: Mutation, row: Row, checks: Mapping[str, str]) -> Sequence[str]:
    hunted = f"{plural(row.hunts, 'hunt')} of {row.events:,.0f} events"
    return _name(entry), _does(entry, checks), hunted, row.because, ", ".join(entry.sources)


def _does(entry: Mutation, checks: Mapping[str, str]) -> str:
    """What it does; and the check that is gone, or the edit, where that is one and brief."""
    match entry.edits:
        case (Site(operator=operator, which=which),) if operator == DROP_CHECK and which in checks:
            code = f" Gone: `{which}={checks[which]}`"
        case (Replace(before=before, after=after),) if len(before) + len(after) <= BRIEF and "\n" not in before + after:
            code = f" Gone: `{before}`" if not after else f" `{after}` for `{before}`"
        case _:
            code = ""
    return entry.title + code


def _name(entry: Mutation) -> str:
    return " ".join((f"`{entry.id.partition('.')[2]}`", *entry.aliases))


def _commit(entry: Mutation) -> list[str]:
    quoted = [f"> {line}".rstrip() for line in entry.message.strip().splitlines()]
    return [f"### `{entry.id}`", "", entry.title, "It was sold like this:", "", *quoted, ""]
