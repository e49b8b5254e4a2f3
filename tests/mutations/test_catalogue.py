"""The catalogues fit the sources: every entry applies, names what exists, and is what it says it is."""

import ast

import pytest

from mutations import DriftKind, Mutation, catalogue, engine
from mutations.catalogue import raft
from mutations.entry import Beyond
from mutations.syntax import parse, used
from protosim.api import ProtocolSpec
from protosim.history import LINEARIZABILITY
from protosim.kills import FAILURE
from protosim.program import from_source, load_model, reference, source_of, spec_of

ENTRIES = [entry for protocol in catalogue.names() for entry in catalogue.load(protocol).values()]
PROTOCOLS = [name for name in catalogue.names() if isinstance(spec_of(name), ProtocolSpec)]  # the others are models
SAMPLED = 4  # one entry in so many is loaded; `protosim kills` loads all
FIVE = {"vote_once_per_term", "log_up_to_date", "prev_log_matches", "vote_response_current", "commit_current_term"}
ROWS = {f"R{n}" for n in (1, 2, 4, 5, 7, 9, 11, 12, 14, 15, 16, 18, 21, 22, 23, 25, 26, 29, 30, 31, 33)} | {"D1", "D3"}


def entries(protocol: str) -> list[Mutation]:
    return [entry for entry in ENTRIES if entry.protocol == protocol]


@pytest.mark.parametrize("protocol", catalogue.names())
def test_entries_make_protocols_that_load_are_unlike_each_other_and_leave_alone_what_judges_them(protocol: str) -> None:
    source = source_of(protocol)
    mutated = {entry.id: engine.apply(source, entry) for entry in entries(protocol)}
    assert len(set(mutated.values())) == len(mutated)
    for id, text in list(mutated.items())[::SAMPLED]:
        if protocol in PROTOCOLS:
            assert from_source(protocol, text, mutants=(id,)).spec.node is not reference(protocol).spec.node, id
            assert judges(text, source) == judges(source, source), id
        else:
            assert load_model(protocol, [id]).spec is not spec_of(protocol), id


def judges(source: str, original: str) -> dict[str, str]:
    """What the original defines beside its nodes, their disks and their switches, as the source has it."""
    own = used(parse(original))
    names = {node.name for node in ast.parse(original).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    return {
        node.name: ast.unparse(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in names and node.name not in own
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_check_and_every_sync_that_can_be_dropped_has_an_entry(protocol: str) -> None:
    source = source_of(protocol)
    dropped = [*engine.sites(source, "drop-check"), *engine.sites(source, "drop-sync")]
    edits = [edit for entry in entries(protocol) if len(entry.edits) == 1 for edit in entry.edits]
    assert [str(site) for site in dropped if site not in edits] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])
def test_an_entry_is_a_sentence_with_its_clause_and_breaks_invariants_that_exist(entry: Mutation) -> None:
    known = {invariant.name for invariant in spec_of(entry.protocol).invariants()} | {LINEARIZABILITY.name, FAILURE}
    assert entry.title.endswith(".")
    assert entry.clause
    assert set(entry.breaks) <= known


@pytest.mark.parametrize("protocol", catalogue.names())
def test_an_entry_is_of_its_catalogues_protocol(protocol: str) -> None:
    assert {entry.protocol for entry in catalogue.load(protocol).values()} == {protocol}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_has_eight_entries_and_two_optimisations_at_least(protocol: str) -> None:
    assert len(entries(protocol)) >= 8
    assert len([entry for entry in entries(protocol) if entry.kind is DriftKind.OPTIMISATION]) >= 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_entry_with_a_row_says_where_the_bug_was_seen(protocol: str) -> None:
    assert [entry.id for entry in entries(protocol) if entry.aliases and not entry.sources] == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_row_is_an_alias_or_is_beyond_the_protocol(protocol: str) -> None:
    beyond: tuple[Beyond, ...] = catalogue.beyond(protocol)
    aliases = {alias for entry in entries(protocol) for alias in entry.aliases}
    assert aliases & {row.row for row in beyond} == set()
    assert [row.row for row in beyond if not (row.title.endswith(".") and row.needs)] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])
def test_an_optimisation_is_sold_by_a_commit_message_and_nothing_else_is(entry: Mutation) -> None:
    assert bool(entry.message) == (entry.kind is DriftKind.OPTIMISATION)
    subject, _, body = entry.message.partition("\n\n")
    assert not entry.message or (len(subject) <= 50 and len(body) > 100)


# -- Raft --------------------------------------------------------------------------------------------


def test_the_five_checks_of_the_task_are_entries_under_their_names() -> None:
    assert {f"raft.{check}" for check in FIVE} <= set(catalogue.load("raft"))


def test_each_row_of_raft_is_an_alias_or_is_beyond_the_protocol() -> None:
    aliases = {alias for entry in raft.CATALOGUE for alias in entry.aliases}
    assert aliases | {row.row for row in raft.BEYOND} >= ROWS


def test_at_least_four_optimisations_of_raft_change_several_places() -> None:
    optimisations = [entry for entry in raft.CATALOGUE if entry.kind is DriftKind.OPTIMISATION]
    assert len([entry for entry in optimisations if len(entry.edits) > 1]) >= 4
