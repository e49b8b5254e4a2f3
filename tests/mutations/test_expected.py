"""The expected tables fit the catalogues, and some rows of each are measured again on every run."""

import functools

import attrs
import pytest

from mutations import catalogue
from protosim import protocolpage
from protosim.api import ProtocolSpec
from protosim.errors import UserError
from protosim.killpage import page, page_of
from protosim.kills import KILLED, SURVIVES, Row, compare, expected, gaps, measure, merged, path_of, text
from protosim.program import spec_of

CATALOGUED = [name for name in catalogue.names() if isinstance(spec_of(name), ProtocolSpec)]  # a model is explored

KILL = Row(id="raft.x", outcome=KILLED, invariants=("election_safety",), found_by="walk", hunts=2, kills=2, runs=1.5,
           events=40.0, cpu=0.1, worst_cpu=0.2, shrunk=(6, 3))  # fmt: skip
SURVIVAL = Row(id="raft.y", outcome=SURVIVES, hunts=2, runs=9.0, events=9000.0, cpu=1.0, worst_cpu=1.0,
               because='it says "no" \\ twice')  # fmt: skip
KNOWN = catalogue.load("raft")

table = functools.cache(expected)


def sample() -> list[str]:
    """Of each protocol, two mutants that die quickly and one that survives; all of them take `protosim kills`."""
    chosen: list[str] = []
    for protocol in CATALOGUED:
        rows = table(protocol).values()
        quick = [row.id for row in rows if row.kills == row.hunts and row.events < 5_000]
        survivors = [row.id for row in rows if row.outcome == SURVIVES]
        chosen += [*quick[:1], *quick[len(quick) // 2 :][:1], *survivors[-1:]]
    return list(dict.fromkeys(chosen))


@pytest.mark.parametrize("protocol", CATALOGUED)
def test_the_table_and_the_catalogue_have_the_same_mutants_and_every_survival_has_a_reason(protocol: str) -> None:
    assert gaps(table(protocol), catalogue.load(protocol)) == []


@pytest.mark.parametrize("id", sample())
def test_a_mutant_that_dies_quickly_or_survives_still_does(id: str) -> None:
    protocol = id.partition(".")[0]
    survives = table(protocol)[id].outcome == SURVIVES
    rows = measure(protocol, [id], [101] if survives else [1, 2], events=30_000, shorten=False)
    assert compare(rows, table(protocol), catalogue.load(protocol)) == []


@pytest.mark.parametrize("protocol", CATALOGUED)
def test_the_page_is_made_of_the_catalogue_and_the_tables(protocol: str, rewrite: bool) -> None:
    if rewrite:
        page_of(protocol).write_text(page(protocol, table(protocol)), "utf-8")
    assert page_of(protocol).read_text("utf-8") == page(protocol, table(protocol))


def test_the_page_shows_the_check_that_is_gone_and_what_stands_for_what() -> None:
    rows = page("raft", table("raft"))
    assert " Gone: `vote_once_per_term=self.disk.voted_for in (None, src)` |" in rows
    assert " `not m.granted` for `m.granted` |" in rows


def test_the_page_about_all_protocols_is_made_of_them_and_their_tables(rewrite: bool) -> None:
    if rewrite:
        protocolpage.PATH.write_text(protocolpage.page(), "utf-8")
    assert protocolpage.PATH.read_text("utf-8") == protocolpage.page()


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


def test_a_reason_is_kept_as_long_as_the_outcome_is() -> None:
    entry = KNOWN["raft.vote_once_per_term"]
    killed, survivor = (attrs.evolve(row, id=entry.id) for row in (KILL, SURVIVAL))
    late = attrs.evolve(killed, because="It takes five nodes.")
    for before, after, because in ((late, killed, late.because), (survivor, killed, ""), (late, survivor, "")):
        fresh = attrs.evolve(after, because="")
        assert merged({entry.id: before}, [fresh], {entry.id: entry})[entry.id].because == because


def test_the_page_says_why_a_kill_takes_long() -> None:
    entry = KNOWN["raft.vote_once_per_term"]
    late = attrs.evolve(KILL, id=entry.id, because="It takes five nodes.")
    assert any(late.because in line for line in page("raft", {entry.id: late}).splitlines())
    assert "takes long" not in page("raft", {entry.id: attrs.evolve(late, because="")})


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
