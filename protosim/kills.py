"""Kills: hunt every known mutant of a protocol, and compare what happened with what is expected of it.

`mutations/expected/<protocol>.toml` says of every mutant that it is killed, with the figures that were measured, or
that it survives, and why; of one that is killed it may say why that takes long. A change in either direction is a
finding: a mutant that is no longer killed means that the checks have become blind, one that no longer survives that the
reason was wrong. Counts are for information.

    protosim kills raft --seeds 11 --update
"""

import contextlib
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import attrs

import mutations
from mutations import Mutation
from protosim.errors import UserError
from protosim.hunt import Trial, trials
from protosim.plan import Wish
from protosim.pool import in_order
from protosim.program import load
from protosim.run import Run
from protosim.shrink import broken_name, shrink

SEEDS = 11
EVENTS = 300_000
"""One hunt's bound. A hunt that finds nothing counts as this many events in the medians."""

KILLED, SURVIVES = "killed", "survives"
FAILURE = "failure"  # stands for an invariant where a handler raised or looped

ROOT = Path(mutations.__file__).parent.parent


@attrs.frozen(kw_only=True)
class Row:
    """What one mutant came to over some hunts. Medians are over all of them; CPU time is in seconds."""

    id: str
    outcome: str
    invariants: tuple[str, ...] = ()  # that broke first, the commonest first
    found_by: str = ""  # the scheduler that found it most often
    hunts: int
    kills: int = 0
    runs: float
    events: float
    cpu: float
    worst_cpu: float
    shrunk: tuple[int, int] | None = None  # events and nodes of a shortened run, where it can be shortened
    because: str = ""  # why it survives, or why it takes long to kill it


@attrs.frozen
class Hunted:
    """One hunt: how far it went, and the run that broke something."""

    runs: int
    events: int
    cpu: float
    caught: Run | None

    @property
    def invariant(self) -> str:
        return "" if self.caught is None else FAILURE if self.caught.failure else broken_name(self.caught)


# -- Measuring ---------------------------------------------------------------------------------------


def measure(
    protocol: str,
    ids: Iterable[str],
    seeds: Sequence[int],
    *,
    events: int = EVENTS,
    shorten: bool = True,
    forks: bool = True,
    jobs: int = 1,
    progress: Callable[[Row], Any] | None = None,
) -> list[Row]:
    """Hunt each mutant under each seed; in `jobs` processes, a mutant in one. Without `forks`, events that are spent on
    going on from warnings are not bounded. UserError: an unknown id."""
    rows: list[Row] = []
    calls = ((protocol, id, tuple(seeds), events, shorten, forks) for id in ids)
    with contextlib.closing(in_order(_measure, calls, jobs)) as measured:
        for row in measured:
            rows.append(row)
            if progress is not None:
                progress(row)
    return rows


def _measure(protocol: str, id: str, seeds: Sequence[int], events: int, shorten: bool, forks: bool) -> Row:
    program = load(protocol, (id,))
    hunts = [_hunt(trials(program, Wish(seed=seed)), events, forks) for seed in seeds]
    kills = [hunt for hunt in hunts if hunt.caught is not None]
    invariants = Counter(hunt.invariant for hunt in kills)
    shrunk = None
    if kills and shorten:
        run = min(kills, key=lambda hunt: hunt.caught.events if hunt.caught else 0).caught
        assert run is not None
        short = shrink(program, run.scenario, "" if run.failure else broken_name(run), wish=Wish())
        shrunk = None if short is None else (len(short.scenario.script or ()), short.scenario.nodes)
    return Row(
        id=program.mutants[0],
        outcome=KILLED if kills else SURVIVES,
        invariants=tuple(_commonest(invariants)),
        found_by=next(iter(_commonest(Counter(h.caught.scenario.scheduler.name for h in kills if h.caught))), ""),
        hunts=len(hunts),
        kills=len(kills),
        runs=median(hunt.runs for hunt in hunts),
        events=median(hunt.events if hunt.caught else max(events, hunt.events) for hunt in hunts),
        cpu=round(median(hunt.cpu for hunt in hunts), 2),
        worst_cpu=round(max(hunt.cpu for hunt in hunts), 2),
        shrunk=shrunk,
    )


def _hunt(runs: Iterable[Trial], bound: int, forks: bool) -> Hunted:
    """Run after run, until one breaks an invariant or a handler fails, or the events are used up."""
    started = time.process_time()
    count = events = used = 0
    for trial in runs:
        count, events = count + 1, events + trial.events
        used += trial.events if forks else trial.run.events
        caught = trial.run if trial.caught or trial.run.failure else None
        if caught is not None or used >= bound:
            return Hunted(count, events, time.process_time() - started, caught)
    raise AssertionError("the plan has no last run")


def _commonest(counted: Counter[str]) -> list[str]:
    return sorted(counted, key=lambda name: (-counted[name], name))


# -- The expected table ------------------------------------------------------------------------------


def path_of(protocol: str) -> Path:
    return ROOT / "mutations" / "expected" / f"{protocol}.toml"


def expected(protocol: str) -> dict[str, Row]:
    """The table by mutant; empty if there is none. UserError: it cannot be read."""
    path = path_of(protocol)
    if not path.exists():
        return {}
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
        return {id: _row(id, table) for id, table in tables.items()}
    except (tomllib.TOMLDecodeError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path} is no table of expected kills: {error}.") from None


def _row(id: str, table: Mapping[str, Any]) -> Row:
    shrunk = table.get("shrunk")
    fields: dict[str, Any] = {
        **table,
        "invariants": tuple(table.get("invariants", ())),
        "shrunk": (shrunk["events"], shrunk["nodes"]) if shrunk else None,
    }
    return Row(id=id, **fields)


def text(rows: Iterable[Row]) -> str:
    """The table as TOML."""
    return (
        "# What becomes of each mutant. Measured by `protosim kills PROTOCOL --update`; `because` is\n"
        "# written by hand and kept. Medians are over all hunts; one that found nothing counts as its whole bound.\n"
        + "".join(f"\n[{quoted(row.id)}]\n" + "".join(_lines(row)) for row in rows)
    )


def _lines(row: Row) -> Iterable[str]:
    for name, content in attrs.asdict(row).items():
        if name == "id" or content in ("", (), None):
            continue
        if name == "shrunk":
            content = f"{{ events = {content[0]}, nodes = {content[1]} }}"
        elif isinstance(content, str):
            content = quoted(content)
        elif isinstance(content, tuple):
            content = f"[{', '.join(quoted(item) for item in content)}]"
        yield f"{name} = {content}\n"


def quoted(content: str) -> str:
    escaped = content.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# -- Comparing ---------------------------------------------------------------------------------------


def compare(rows: Iterable[Row], table: Mapping[str, Row], known: Mapping[str, Mutation]) -> list[str]:
    """A sentence for each row that is not as the table and its catalogue entry say; counts may differ."""
    said: list[str] = []
    for row in rows:
        wanted = table.get(row.id)
        if wanted is None:
            said.append(f"{row.id} is {_verb(row)}, and the expected table does not know it: measure with --update.")
        elif wanted.outcome != row.outcome:
            why = f" because {wanted.because}" if wanted.because and wanted.outcome == SURVIVES else ""
            said.append(f"{row.id} is {_verb(row)}, but it was expected that it is {_verb(wanted)}{why}")
        said += _unnamed(row, known)
    return said


def _unnamed(row: Row, known: Mapping[str, Mutation]) -> list[str]:
    breaks = known[row.id].breaks if row.id in known else row.invariants
    return [f"{row.id} broke {name}, which its entry does not name." for name in row.invariants if name not in breaks]


def gaps(table: Mapping[str, Row], known: Mapping[str, Mutation]) -> list[str]:
    """Where the catalogue and the expected table do not fit together; nothing is run."""
    said = [f"{id} is not in the expected table: measure it with --update." for id in known if id not in table]
    said += [f"{id} is in the expected table, but not in the catalogue." for id in table if id not in known]
    for row in table.values():
        if row.outcome not in (KILLED, SURVIVES):
            said.append(f"{row.id} has the outcome {row.outcome!r}; it is {KILLED} or {SURVIVES}.")
        if row.outcome == SURVIVES and not row.because:
            said.append(f"{row.id} survives: say why, in the expected table.")
        said += _unnamed(row, known)
    return said


def _verb(row: Row) -> str:
    return KILLED if row.outcome == KILLED else "not killed"


# -- Together ----------------------------------------------------------------------------------------


def merged(table: Mapping[str, Row], rows: Iterable[Row], known: Mapping[str, Mutation]) -> dict[str, Row]:
    """The table with these rows in it, in the catalogue's order. Reasons are kept as long as the outcome is."""
    fresh = dict(table)
    for row in rows:
        because = table[row.id].because if row.id in table and table[row.id].outcome == row.outcome else ""
        fresh[row.id] = attrs.evolve(row, because=because)
    return {id: fresh[id] for id in known if id in fresh}


if __name__ == "__main__":
    from protosim.cli import main

    sys.exit(main(["kills", *sys.argv[1:]]))
