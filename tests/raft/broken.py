"""Mutants of Raft that break, one for each method of Figure3, and where to look for such a run."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from protocols.raft import Figure3
from protosim.api import Observer
from protosim.program import Program, load
from protosim.run import Run, simulate
from protosim.scenario import Choice, Scenario
from protosim.world import Broken
from tests.biting import without

GOLDEN = Path(__file__).parent / "broken.json"
SEEDS = range(400)  # to search for a run, when the golden file is refilled

# Method of Figure3 -> the mutant that breaks by it first; "": the reference has reached its goals.
BREAKS = {
    "election_safety": "raft.vote_once_per_term",
    "leader_completeness": "raft.log_up_to_date",
    "leader_append_only": "raft.append_entries_current",
    "log_matching": "raft.prev_log_matches",
    "log_matching_after_restart": "raft.entries_written_one_by_one",
    "state_machine_safety": "raft.prev_log_matches",
    "later_leader_completeness": "raft.advance_commit_index/weaken-quorum/1",
    "durability": "raft.replicated_on_majority",
    "durability_after_restart": "raft.new_term_cuts_the_log",
    "one_vote_per_term": "raft.start_election/drop-sync/1",
    "candidate_votes_for_itself": "raft.votes_synced_with_the_log",
    "vote_survives_restart": "raft.handle_request_vote/drop-sync/1",
    "leader_has_the_votes": "raft.votes_are_a_count",
    "committed_is_safe": "raft.commit_current_term",
    "committed_is_safe_after_restart": "raft.prev_log_matches",
    "committed_is_kept": "raft.truncates_without_conflict",
    "leader_elected": "",
    "command_committed": "",
    "leader_changed": "",
    "progress_after_heal": "raft.candidate_gives_up",
    "count_progress": "",
}


@cache
def program(mutant: str) -> Program:
    """The mutant, or the reference for ""."""
    return load("raft", (mutant,) if mutant else ())


CHAOS = Scenario(
    protocol="raft",
    seed=0,
    scheduler=Choice("walk"),
    faults=(
        Choice("loss", {"per_mille": 50}),
        Choice("duplication", {"per_mille": 50}),
        Choice("reordering", {"per_mille": 200, "times": 20}),
        Choice("crash", {"every": 20_000, "down": 10_000, "aim": 30}),
    ),
    events=400,
)
HEALING = Scenario(
    protocol="raft",
    seed=0,
    faults=(Choice("loss", {"per_mille": 300}),),
    events=5000,
    heal=2_000_000,
    horizon=6_000_000,
)
TEARING = Scenario(  # long logs that conflict, and crashes in the middle of their writes
    protocol="raft",
    seed=0,
    scheduler=Choice("walk", {"request": 1}),
    faults=(Choice("loss", {"per_mille": 50}), Choice("crash", {"every": 0, "down": 10_000, "aim": 200})),
    events=1500,
)
SCENARIOS = {"progress_after_heal": HEALING, "count_progress": HEALING, "log_matching_after_restart": TEARING}


def scenario(method: str, seed: int) -> Scenario:
    """Where to look for a run that breaks by this method."""
    if method in SCENARIOS:
        return attrs.evolve(SCENARIOS[method], seed=seed)
    switches = {"batch": (1, 2, 64)[seed % 3], "no_op": seed % 5 == 0}
    return attrs.evolve(CHAOS, seed=seed, nodes=5 if seed % 4 == 3 else 3, switches=switches)


def run(method: str, seed: int, observer: type[Observer] = Figure3) -> Run:
    """The run of a method's broken Raft under this seed."""
    return simulate(program(BREAKS[method]), scenario(method, seed), observers=(observer,), digest=False)


@attrs.frozen
class Outcome:
    """What the observers said of a run."""

    violation: str
    warning: str
    missed: tuple[str, ...]


def outcome(told: Run) -> Outcome:
    return Outcome(_said(told.violation), _said(told.warning), told.missed)


def _said(broken: Broken | None) -> str:
    return f"{broken.invariant.name} in event {broken.event}: {broken.sentence}" if broken else ""


def search(method: str) -> dict[str, Any]:
    """The first seed under which the method's silence makes a difference."""
    mute = without(Figure3, method)
    for seed in SEEDS:
        told = outcome(run(method, seed))
        if told != outcome(run(method, seed, mute)):
            return {"seed": seed, **attrs.asdict(told)}
    raise LookupError(f"no run of {BREAKS[method] or 'the reference'} under {len(SEEDS)} seeds shows {method}")


def golden() -> dict[str, dict[str, Any]]:
    """Method -> the seed of its run, and what the observers said of it."""
    kept: dict[str, dict[str, Any]] = json.loads(GOLDEN.read_text("utf-8"))
    return kept
