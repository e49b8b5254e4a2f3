"""Fig. 3 as the paper words it, and as every run checks it, event by event: both break at the same event."""

from functools import cache

import attrs
import pytest

from protocols.raft import Figure3, LiteralFigure3
from protosim.run import LocalHost, make_world, run_to_end
from protosim.scenario import Scenario
from protosim.world import Broken
from tests.raft.broken import CHAOS, program

FORMS = [method for method in vars(LiteralFigure3).values() if hasattr(method, "_literal")]
LITERAL = {form._literal for form in FORMS}
BROKEN = (
    "",
    "raft.vote_once_per_term",
    "raft.vote_granted",
    "raft.log_up_to_date",
    "raft.append_entries_current",
    "raft.prev_log_matches",
    "raft.advance_commit_index/weaken-quorum/1",
    "raft.append_entry/drop-sync/1",
    "raft.conflict_kept",
    "raft.truncates_without_conflict",
)
SEEDS = range(30)


def scenario(seed: int) -> Scenario:
    return attrs.evolve(CHAOS, seed=seed, nodes=5 if seed % 3 == 2 else 3, events=300)


@cache
def played(name: str, seed: int, events: int) -> tuple[Broken | None, frozenset[str]]:
    """What broke first, and what the literal forms find broken at the end of the run: its first so many events."""
    which = attrs.evolve(scenario(seed), events=events)
    world = make_world(program(name), which, observers=(LiteralFigure3, Figure3), digest=False)
    run_to_end(world, LocalHost(program(name), which))
    literal = world.observers[0]
    return world.violation, frozenset(form._literal for form in FORMS if form(literal))


@pytest.mark.parametrize("name", BROKEN)
def test_both_forms_break_at_the_same_event(name: str) -> None:
    for seed in SEEDS:
        violation, literally = played(name, seed, 300)
        if violation is None or violation.invariant.name not in LITERAL:
            assert literally == set(), f"seed {seed}"
            continue
        assert violation.invariant.name in literally, f"seed {seed}: {violation}"
        _, before = played(name, seed, violation.event - 1)
        assert before == set(), f"seed {seed}: the literal form of {before} breaks before event {violation.event}"


def test_the_runs_break_each_invariant_and_leave_the_reference_whole() -> None:
    found = {(name, v.invariant.name) for name in BROKEN for v, _ in (played(name, s, 300) for s in SEEDS) if v}
    assert {invariant for _, invariant in found} >= LITERAL
    assert "" not in {name for name, _ in found}


def test_each_of_the_five_properties_has_a_literal_form() -> None:
    assert sorted(LITERAL) == [
        "election_safety",
        "leader_append_only",
        "leader_completeness",
        "log_matching",
        "state_machine_safety",
    ]
