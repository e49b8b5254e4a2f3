"""What extends Raft by snapshots and sessions: all off, it is the core; its observers bite; its state machine."""

from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.raft_snapshots import PROTOCOL, Proposal, SessionStore, WithSnapshots
from protosim.api import Command, KeyValueStore
from protosim.plan import Wish, plan
from protosim.program import load, reference
from protosim.run import Run, simulate
from protosim.scenario import Choice, Scenario
from tests.biting import told, without

OFF = {"compaction": 0, "sessions": False}
CHAOS = Scenario(
    protocol="raft_snapshots",
    seed=0,
    switches={"compaction": 2, "batch": 2},
    scheduler=Choice("walk"),
    faults=(
        Choice("loss", {"per_mille": 50}),
        Choice("duplication", {"per_mille": 50}),
        Choice("reordering", {"per_mille": 200, "times": 20}),
        Choice("crash", {"every": 20_000, "down": 10_000, "aim": 30}),
    ),
)
HEALING = Scenario(
    protocol="raft_snapshots",
    seed=0,
    switches={"compaction": 2},
    scheduler=Choice("fair"),
    faults=(Choice("loss", {"per_mille": 300}),),
    events=10_000,
    heal=1_000_000,
    horizon=3_000_000,
)
# Method of WithSnapshots -> a mutant that breaks by it first, and under which seed.
BITES = {
    "restored_state": ("raft_snapshots.snapshot_is_ahead", 32),
    "written_state": ("raft_snapshots.snapshot_beyond_the_applied", 0),
    "log_follows_state": ("raft_snapshots.log_not_reset", 0),
    "leader_keeps_the_rest": ("raft_snapshots.nothing_kept", 2),
    "log_matching_after_reset": ("raft_snapshots.suffix_follows_snapshot", 1),
    "committed_is_kept_by_reset": ("raft_snapshots.log_cut_first", 0),
    "snapshot_before_cut": ("raft_snapshots.log_cut_first", 0),
    "snapshot_is_kept": ("raft_snapshots.old_snapshot_deleted_first", 0),
    "acknowledged_is_held": ("raft_snapshots.store_entries/drop-sync/1", 0),
    "exactly_once": ("raft_snapshots.proposals_not_filtered", 3),
    "same_results": ("raft_snapshots.registers_not_reset", 0),
    "entries_after_snapshot": ("raft_snapshots.snapshot_state_left_on_equality", 0),
}


def run(method: str, observer: type[WithSnapshots] = WithSnapshots) -> Run:
    mutant, seed = BITES[method]
    scenario = HEALING if method == "entries_after_snapshot" else CHAOS
    return simulate(load(PROTOCOL.name, (mutant,)), attrs.evolve(scenario, seed=seed), observers=(observer,))


def test_each_method_that_reports_has_a_mutant_that_breaks_by_it() -> None:
    marked = {name: method._invariant for name, method in vars(WithSnapshots).items() if hasattr(method, "_invariant")}
    assert sorted(BITES) == sorted(name for name, invariant in marked.items() if invariant.mode != "sometimes")


@pytest.mark.parametrize("method", BITES)
def test_the_mutant_breaks_the_invariant_and_the_silence_of_its_method_is_noticed(method: str) -> None:
    broken = told(run(method))
    assert vars(WithSnapshots)[method]._invariant.name in [name for name, _ in broken]
    assert told(run(method, without(WithSnapshots, method))) != broken


@pytest.mark.parametrize("index", range(12))
def test_with_its_switches_off_it_does_what_the_core_does(index: int) -> None:
    core, whole = reference("raft"), reference(PROTOCOL.name)
    scenario = plan(core, Wish(seed=3), index)
    same = attrs.evolve(scenario, protocol=PROTOCOL.name, switches={**scenario.switches, **OFF})
    assert simulate(whole, same).digest == simulate(core, scenario).digest


def test_most_runs_reach_the_goals() -> None:
    goals = {invariant.name for invariant in PROTOCOL.invariants() if invariant.mode == "sometimes"}
    runs = [simulate(reference(PROTOCOL.name), attrs.evolve(CHAOS, seed=seed)) for seed in range(12)]
    assert all(run.violation is None for run in runs)
    assert sum(goals - {"command_retried"} <= set(run.reached) for run in runs) >= 10
    assert sum("command_retried" in run.reached for run in runs) >= 4


# -- The state machine -------------------------------------------------------------------------------

COMMANDS = st.builds(Command, st.sampled_from(["put", "get"]), st.sampled_from("xy"), st.integers(0, 9))
STEPS = st.lists(st.tuples(st.integers(1, 6), COMMANDS), max_size=30)


def first_by_number(steps: list[tuple[int, Command]]) -> list[tuple[int, Command]]:
    """Whoever asks again asks the same."""
    first: dict[int, Command] = {}
    return [(number, first.setdefault(number, command)) for number, command in steps]


@given(STEPS)
def test_a_proposal_takes_effect_once_and_has_one_answer(steps: list[tuple[int, Command]]) -> None:
    sessions, plain = SessionStore(), KeyValueStore()
    answers: dict[int, int | None] = {}
    for number, command in first_by_number(steps):
        if number not in answers:
            answers[number] = plain.apply(command)
        assert sessions.apply(Proposal(number, command)) == answers[number]
        assert sessions.snapshot().registers == plain.snapshot()


def restored(store: SessionStore) -> SessionStore:
    other = SessionStore()
    other.apply(Proposal(99, Command("put", "z", 1)))  # which the snapshot replaces
    other.restore(store.snapshot())
    return other


@pytest.mark.parametrize("twin", [SessionStore.copy, restored])
@given(steps=STEPS, more=STEPS)
def test_a_copy_and_a_restored_snapshot_go_on_alike_and_apart(
    twin: Callable[[SessionStore], SessionStore],
    steps: list[tuple[int, Command]],
    more: list[tuple[int, Command]],
) -> None:
    store = SessionStore()
    proposals = [Proposal(number, command) for number, command in first_by_number(steps + more)]
    for proposal in proposals[: len(steps)]:
        store.apply(proposal)
    before, other = store.snapshot(), twin(store)
    answers = [other.apply(proposal) for proposal in proposals[len(steps) :]]
    assert store.snapshot() == before
    assert [store.apply(proposal) for proposal in proposals[len(steps) :]] == answers
    assert store.snapshot() == other.snapshot()
