"""The catalogue fits the sources: every entry applies, names what exists, and is what it says it is."""

import pytest

from mutations import DriftKind, Mutation, catalogue, engine
from mutations.catalogue import raft
from protosim.history import LINEARIZABILITY
from protosim.kills import FAILURE
from protosim.program import from_source, reference

SOURCE = reference("raft").source
ENTRIES = list(raft.CATALOGUE)
FIVE = {"vote_once_per_term", "log_up_to_date", "prev_log_matches", "vote_response_current", "commit_current_term"}
ROWS = {f"R{n}" for n in (1, 2, 4, 5, 7, 9, 11, 12, 14, 15, 16, 18, 21, 22, 23, 25, 26, 29, 30, 31, 33)} | {"D1", "D3"}


def names(entries: list[Mutation]) -> list[str]:
    return [entry.id for entry in entries]


@pytest.mark.parametrize("entry", ENTRIES, ids=names(ENTRIES))
def test_an_entry_makes_a_protocol_that_can_be_loaded(entry: Mutation) -> None:
    mutant = from_source("raft", engine.apply(SOURCE, entry), mutants=(entry.id,))
    assert mutant.spec.node is not reference("raft").spec.node


@pytest.mark.parametrize("entry", ENTRIES, ids=names(ENTRIES))
def test_an_entry_is_a_sentence_with_its_clause_and_breaks_invariants_that_exist(entry: Mutation) -> None:
    known = {invariant.name for invariant in reference("raft").spec.invariants()} | {LINEARIZABILITY.name, FAILURE}
    assert entry.title.endswith(".")
    assert "Fig." in entry.clause or "§" in entry.clause
    assert set(entry.breaks) <= known


def test_no_two_entries_make_the_same_source() -> None:
    sources = [engine.apply(SOURCE, entry) for entry in ENTRIES]
    assert len(set(sources)) == len(sources)


def test_the_five_checks_of_the_task_are_entries_under_their_names() -> None:
    assert {f"raft.{check}" for check in FIVE} <= set(catalogue.load("raft"))


def test_every_mutant_of_the_operators_has_an_entry() -> None:
    assert set(engine.generated("raft", SOURCE)) <= set(catalogue.load("raft"))


def test_each_row_is_an_alias_or_is_beyond_the_protocol() -> None:
    aliases = {alias for entry in ENTRIES for alias in entry.aliases}
    beyond = {row.row for row in raft.BEYOND}
    assert aliases & beyond == set()
    assert aliases | beyond >= ROWS


def test_an_entry_with_a_row_says_where_the_bug_was_seen() -> None:
    assert [entry.id for entry in ENTRIES if entry.aliases and not entry.sources] == []


def test_an_optimisation_is_sold_by_a_commit_message_and_nothing_else_is() -> None:
    for entry in ENTRIES:
        assert bool(entry.message) == (entry.kind is DriftKind.OPTIMISATION), entry.id
        subject, _, body = entry.message.partition("\n\n")
        assert not entry.message or (len(subject) <= 50 and len(body) > 100), entry.id


def test_at_least_four_optimisations_change_several_places() -> None:
    optimisations = [entry for entry in ENTRIES if entry.kind is DriftKind.OPTIMISATION]
    assert len([entry for entry in optimisations if len(entry.edits) > 1]) >= 4


def test_an_entry_does_not_touch_what_judges_it() -> None:
    judged = SOURCE.index("# -- What must hold")
    for entry in ENTRIES:
        assert engine.apply(SOURCE, entry).endswith(SOURCE[judged:]), entry.id


