"""What becomes of the mutants that operators make: one hunt each, within a fixed budget.

`mutations/expected/<protocol>.operators.toml` has a line for each: what killed it, or why it survives. One that has the
compiled form of a catalogue entry has that entry's row instead, which was measured under many seeds. A survivor
without a reason counts as unexplained.

    protosim kills raft --operators --update
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from mutations import catalogue, engine
from mutations.syntax import compiled
from protosim import kills
from protosim.errors import UserError
from protosim.kills import KILLED, ROOT, SURVIVES, Row
from protosim.program import reference

SEED = 1
EVENTS = 60_000


@attrs.frozen(kw_only=True)
class Table:
    """By id: what became of each mutant."""

    events: int = EVENTS
    killed: dict[str, str] = attrs.field(factory=dict[str, str])  # -> what broke first
    survives: dict[str, str] = attrs.field(factory=dict[str, str])  # -> because; empty: unexplained
    catalogued: dict[str, str] = attrs.field(factory=dict[str, str])  # -> the entry that does the same

    @property
    def ids(self) -> list[str]:
        return [*self.killed, *self.survives, *self.catalogued]


@attrs.frozen
class Share:
    """How many of a protocol's operator mutants are killed."""

    all: int
    killed: int
    explained: int  # survivors

    @property
    def unexplained(self) -> int:
        return self.all - self.killed - self.explained

    def __str__(self) -> str:
        percent = 100 * self.killed // self.all if self.all else 0
        survivors = f"of the survivors {self.explained} are explained and {self.unexplained} are not"
        return f"{self.killed} of {self.all} operator mutants killed ({percent} %); {survivors}"


def share(table: Table, entries: Mapping[str, Row]) -> Share:
    """Those that a catalogue entry stands for count as its row says."""
    rows = [entries.get(entry) for entry in table.catalogued.values()]
    return Share(
        all=len(table.ids),
        killed=len(table.killed) + sum(row is not None and row.outcome == KILLED for row in rows),
        explained=sum(bool(because) for because in table.survives.values())
        + sum(row is not None and row.outcome == SURVIVES and bool(row.because) for row in rows),
    )


# -- Measuring ---------------------------------------------------------------------------------------


def catalogued(protocol: str) -> dict[str, str]:
    """Those of the operators' mutants that have the compiled form of a catalogue entry, and which."""
    source = reference(protocol).source
    known = catalogue.load(protocol)
    entries = {id: _form(engine.apply(source, entry)) for id, entry in known.items()}
    by_form = {form: id for id, form in reversed(entries.items())}
    made = engine.generated(protocol, source)
    forms = {id: entries[id] if id in known else _form(engine.apply(source, mutant)) for id, mutant in made.items()}
    return {id: by_form[form] for id, form in forms.items() if form in by_form}


def _form(source: str) -> object:
    return compiled(compile(source, "", "exec", dont_inherit=True))


def updated(table: Table, same: Mapping[str, str], rows: Iterable[Row], ids: Iterable[str], events: int) -> Table:
    """The table with these rows in it, and without what is none of `ids`. Reasons are kept as long as needed."""
    killed, survives = dict(table.killed), dict(table.survives)
    for row in rows:
        for side in (killed, survives):
            side.pop(row.id, None)
        if row.outcome == KILLED:
            killed[row.id] = row.invariants[0]
        else:
            survives[row.id] = table.survives.get(row.id, "")
    hunted = [id for id in ids if id not in same]
    return Table(
        events=events,
        killed={id: killed[id] for id in hunted if id in killed},
        survives={id: survives[id] for id in hunted if id in survives},
        catalogued=dict(same),
    )


# -- The table ---------------------------------------------------------------------------------------


def path_of(protocol: str) -> Path:
    return ROOT / "mutations" / "expected" / f"{protocol}.operators.toml"


def expected(protocol: str) -> Table:
    """The table; empty if there is none. UserError: it cannot be read."""
    path = path_of(protocol)
    if not path.exists():
        return Table()
    try:
        content: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        return Table(**content)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise UserError(f"{path} is no table of operator kills: {error}.") from None


def text(table: Table) -> str:
    """The table as TOML."""
    lines = [
        "# What becomes of the mutants that operators make. Written by `protosim kills PROTOCOL --operators --update`:",
        "# one hunt of so many events each. What survives has its reason, written by hand and kept; it is empty where",
        "# nobody knows. What has the compiled form of a catalogue entry has the entry's row in the other table.",
        "",
        f"events = {table.events}",
    ]
    for name in ("killed", "survives", "catalogued"):
        rows: dict[str, str] = getattr(table, name)
        lines += ["", f"[{name}]", *(f"{kills.quoted(id)} = {kills.quoted(says)}" for id, says in rows.items())]
    return "\n".join(lines) + "\n"


def compare(rows: Iterable[Row], table: Table) -> list[str]:
    """A sentence for each row that is not as the table says, and one for those that it lacks."""
    rows = list(rows)
    said = _unmeasured(row.id for row in rows if row.id not in table.ids)
    for row in rows:
        wanted = KILLED if row.id in table.killed else SURVIVES if row.id in table.survives else row.outcome
        if wanted != row.outcome:
            why = f" because {table.survives[row.id]}" if table.survives.get(row.id) else "."
            said.append(f"{row.id} {_verb(row.outcome)}, but it was expected that it {_verb(wanted)}{why}")
    return said


def _verb(outcome: str) -> str:
    return "is killed" if outcome == KILLED else "survives"


def gaps(protocol: str, table: Table) -> list[str]:
    """Where the table and what the operators make now do not fit together; nothing is run."""
    made = engine.generated(protocol, reference(protocol).source)
    gone = [id for id in table.ids if id not in made]
    lost = [f"{id} is in the table of operator kills, but no operator makes it." for id in gone]
    return [*_unmeasured(id for id in made if id not in table.ids), *lost]


def _unmeasured(ids: Iterable[str]) -> list[str]:
    first, *more = [*ids, ""]
    others = f" and {len(more) - 1} more" if more[1:] else ""
    verb = "are" if others else "is"
    says = f"{first}{others} {verb} not in the table of operator kills: measure with --operators --update."
    return [says] if first else []
