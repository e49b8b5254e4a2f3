"""The expected table fits the catalogue, and some rows of it are measured again on every run."""

import attrs
import pytest

from mutations import catalogue
from protosim.errors import UserError
from protosim.killpage import page, page_of
from protosim.kills import KILLED, SURVIVES, Row, compare, expected, gaps, measure, path_of, text

KNOWN = catalogue.load("raft")
TABLE = expected("raft")

QUICK = [row.id for row in TABLE.values() if row.kills == row.hunts and row.events < 5_000]
SAMPLE = QUICK[::6]  # all of them take a full `protosim kills`
SURVIVORS = [row.id for row in TABLE.values() if row.outcome == SURVIVES][::3]

KILL = Row(id="raft.x", outcome=KILLED, invariants=("election_safety",), found_by="walk", hunts=2, kills=2, runs=1.5,
           events=40.0, cpu=0.1, worst_cpu=0.2, shrunk=(6, 3))  # fmt: skip
SURVIVAL = Row(id="raft.y", outcome=SURVIVES, hunts=2, runs=9.0, events=9000.0, cpu=1.0, worst_cpu=1.0,
               because='it says "no" \\ twice')  # fmt: skip


def test_the_table_and_the_catalogue_have_the_same_mutants_and_every_survival_has_a_reason() -> None:
    assert gaps(TABLE, KNOWN) == []


@pytest.mark.parametrize("id", SAMPLE)
def test_a_mutant_that_dies_quickly_still_does(id: str) -> None:
    rows = measure("raft", [id], [1, 2], events=60_000, shorten=False)
    assert compare(rows, TABLE, KNOWN) == []


@pytest.mark.parametrize("id", SURVIVORS)
def test_a_mutant_that_survives_still_does(id: str) -> None:
    rows = measure("raft", [id], [101], events=30_000, shorten=False)
    assert compare(rows, TABLE, KNOWN) == []


def test_the_page_is_made_of_the_catalogue_and_the_table(rewrite: bool) -> None:
    if rewrite:
        page_of("raft").write_text(page("raft", TABLE), "utf-8")
    assert page_of("raft").read_text("utf-8") == page("raft", TABLE)


# -- The gate itself ---------------------------------------------------------------------------------


def test_the_table_can_be_read_as_it_was_written(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    path = path_of("raft").__class__(str(tmp_path)) / "raft.toml"
    path.write_text(text([KILL, SURVIVAL]), "utf-8")
    monkeypatch.setattr("protosim.kills.path_of", lambda protocol: path)
    assert list(expected("raft").values()) == [KILL, SURVIVAL]


@pytest.mark.parametrize("damage", ["[", "x = 1", '["raft.x"]\noutcome = "killed"'])
def test_a_damaged_table_is_a_sentence(damage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    path = path_of("raft").__class__(str(tmp_path)) / "raft.toml"
    path.write_text(damage, "utf-8")
    monkeypatch.setattr("protosim.kills.path_of", lambda protocol: path)
    with pytest.raises(UserError, match="no table of expected kills"):
        expected("raft")


def test_a_change_in_either_direction_is_said() -> None:
    died = attrs.evolve(SURVIVAL, outcome=KILLED)
    lived = attrs.evolve(KILL, outcome=SURVIVES, kills=0, invariants=())
    table = {KILL.id: KILL, SURVIVAL.id: SURVIVAL}
    assert compare([KILL, SURVIVAL], table, {}) == []
    assert len(compare([lived], table, {})) == 1
    assert SURVIVAL.because in compare([died], table, {})[0]


def test_other_counts_are_no_change() -> None:
    assert compare([attrs.evolve(KILL, runs=99.0, events=1e6, cpu=9.0, shrunk=None)], {KILL.id: KILL}, {}) == []


def test_an_invariant_that_its_entry_does_not_name_is_said() -> None:
    entry = KNOWN["raft.vote_once_per_term"]
    row = attrs.evolve(KILL, id=entry.id, invariants=("durability",))
    assert "durability" in compare([row], {entry.id: row}, KNOWN)[0]


def test_a_missing_row_a_forgotten_row_and_a_missing_reason_are_said() -> None:
    entry = KNOWN["raft.vote_once_per_term"]
    assert len(gaps({}, {entry.id: entry})) == 1
    assert len(gaps({KILL.id: KILL}, {})) == 1
    silent = attrs.evolve(SURVIVAL, id=entry.id, because="")
    assert "say why" in gaps({entry.id: silent}, {entry.id: entry})[0]
