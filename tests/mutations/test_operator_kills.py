"""What becomes of operator mutants: the tables fit the operators, and a row of each is measured again on every run."""

from pathlib import Path

import attrs
import pytest

from protosim import kills
from protosim.api import ProtocolSpec
from protosim.errors import UserError
from protosim.kills import KILLED, SURVIVES, Row
from protosim.operatorkills import Table, compare, expected, gaps, share, text, updated
from protosim.program import modules, spec_of

PROTOCOLS = [name for name in modules("protocols") if isinstance(spec_of(name), ProtocolSpec)]

TABLE = Table(
    events=9_000,
    killed={"p.f/drop-sync/1": "durability"},
    survives={"p.f/loosen-comparison/1": 'Equal, "as" said.', "p.g/loosen-comparison/1": ""},
    catalogued={"p.g/drop-sync/1": "p.g_forgets", "p.h/drop-sync/1": "p.h_forgets"},
)


def row(id: str, outcome: str) -> Row:
    broken = ("durability",) if outcome == KILLED else ()
    return Row(id=id, outcome=outcome, invariants=broken, hunts=1, runs=1, events=10, cpu=0.1, worst_cpu=0.1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_table_has_every_mutant_that_operators_make(protocol: str) -> None:
    assert gaps(protocol, expected(protocol)) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_mutant_that_is_killed_still_is(protocol: str) -> None:
    table = expected(protocol)
    chosen = list(table.killed)[len(table.killed) // 2]
    rows = kills.measure(protocol, [chosen], [1], events=table.events, shorten=False, forks=False)
    assert compare(rows, table) == []


def test_the_table_can_be_read_as_it_was_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "p.operators.toml"
    monkeypatch.setattr("protosim.operatorkills.path_of", lambda protocol: path)
    assert expected("p") == Table()
    path.write_text(text(TABLE), "utf-8")
    assert expected("p") == TABLE


@pytest.mark.parametrize("damage", ["[", "x = 1"])
def test_a_damaged_table_is_a_sentence(damage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "p.operators.toml"
    path.write_text(damage, "utf-8")
    monkeypatch.setattr("protosim.operatorkills.path_of", lambda protocol: path)
    with pytest.raises(UserError, match="no table of operator kills"):
        expected("p")


def test_a_change_in_either_direction_is_said() -> None:
    killed, explained, silent = row("p.f/drop-sync/1", KILLED), *(row(id, SURVIVES) for id in TABLE.survives)
    assert compare([killed, explained, silent], TABLE) == []
    assert compare([attrs.evolve(killed, outcome=SURVIVES)], TABLE) == [
        "p.f/drop-sync/1 survives, but it was expected that it is killed."
    ]
    assert compare([attrs.evolve(explained, outcome=KILLED)], TABLE) == [
        'p.f/loosen-comparison/1 is killed, but it was expected that it survives because Equal, "as" said.'
    ]
    assert "p.z/drop-sync/1 is not in the table" in compare([row("p.z/drop-sync/1", KILLED)], TABLE)[0]


def test_the_share_counts_an_entrys_row_where_the_entry_does_the_same() -> None:
    entries = {
        "p.g_forgets": row("p.g_forgets", KILLED),
        "p.h_forgets": attrs.evolve(row("p.h_forgets", SURVIVES), because="Equal."),
    }
    counted = share(TABLE, entries)
    assert (counted.all, counted.killed, counted.explained, counted.unexplained) == (5, 2, 2, 1)
    assert str(counted) == "2 of 5 operator mutants killed (40 %); of the survivors 2 are explained and 1 are not"
    assert share(TABLE, {}).unexplained == 3


def test_an_update_keeps_reasons_as_long_as_they_are_needed_and_drops_what_is_no_mutant() -> None:
    rows = [row("p.f/loosen-comparison/1", SURVIVES), row("p.g/loosen-comparison/1", KILLED)]
    ids = ["p.f/loosen-comparison/1", "p.g/loosen-comparison/1", "p.g/drop-sync/1"]
    fresh = updated(TABLE, {"p.g/drop-sync/1": "p.g_forgets"}, rows, ids, 60_000)
    assert fresh == Table(
        events=60_000,
        killed={"p.g/loosen-comparison/1": "durability"},
        survives={"p.f/loosen-comparison/1": 'Equal, "as" said.'},
        catalogued={"p.g/drop-sync/1": "p.g_forgets"},
    )
