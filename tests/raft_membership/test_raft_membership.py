"""What extends Raft by membership changes: all off, it is what it extends; its observers bite; quorums overlap."""

from itertools import combinations, product

import attrs
import pytest

from protocols.raft_membership import PROTOCOL, Chapter4, Configuration, MemberStore, is_quorum, overlap
from protocols.raft_snapshots import Proposal
from protosim.api import Command, puts_and_gets
from protosim.plan import Wish, plan
from protosim.program import load, reference
from protosim.run import Run, simulate
from protosim.scenario import Choice, Scenario
from tests.biting import told, without

OFF = {"membership": "fixed", "learners": False, "transfer": False, "founders": 64}
CHAOS = Scenario(
    protocol=PROTOCOL.name,
    seed=0,
    nodes=4,
    switches={"membership": "auto", "learners": False, "transfer": True, "compaction": 2},
    scheduler=Choice("uniform"),
    faults=(
        Choice("loss", {"per_mille": 50}),
        Choice("crash", {"every": 400_000, "down": 200_000, "aim": 10}),
    ),
)
HEALING = attrs.evolve(
    CHAOS,
    switches={"membership": "joint"},
    scheduler=Choice("fair"),
    faults=(
        Choice("loss", {"per_mille": 100}),
        Choice("crash", {"every": 0, "down": 300_000, "aim": 60}),
    ),
    events=10_000,
    heal=2_000_000,
    horizon=4_500_000,
)
# Method of Chapter4 -> a mutant that breaks by it first, and under which seed.
BITES = {
    "durability": ("raft_membership.anybody_counts", 0),
    "removed_leader_steps_down": ("raft_membership.removed_leader_leads_on", 0),
    "only_voters_campaign": ("raft_membership.campaigner_is_elector", 0),
    "quorums_overlap": ("raft_membership.both_configurations_at_once", 16),
    "transferee_has_caught_up": ("raft_membership.transferee_caught_up", 0),
    "leader_ends_joint_consensus": ("raft_membership.only_the_proposer_leaves", 0),
    "joint_consensus_ends": ("raft_membership.only_the_proposer_leaves", 13),
    "progress_after_heal": ("raft_membership.voters_remain", 8),
    "neighbours_overlap": ("raft_membership.one_server_at_a_time", 0),
    "changes_follow_a_commitment": ("raft_membership.committed_in_own_term", 0),
}


def run(method: str, observer: type[Chapter4] = Chapter4, seed: int | None = None) -> Run:
    mutant, known = BITES[method]
    scenario = HEALING if method in ("joint_consensus_ends", "progress_after_heal") else CHAOS
    if method == "neighbours_overlap":  # elsewhere it is by joint consensus that several change
        scenario = attrs.evolve(CHAOS, switches={**CHAOS.switches, "membership": "single"})
    if method == "joint_consensus_ends":
        observer = without(observer, "leader_ends_joint_consensus")
    seed = known if seed is None else seed
    return simulate(load(PROTOCOL.name, (mutant,)), attrs.evolve(scenario, seed=seed), observers=(observer,))


def test_each_method_that_reports_has_a_mutant_that_breaks_by_it() -> None:
    marked = {name: method._invariant for name, method in vars(Chapter4).items() if hasattr(method, "_invariant")}
    assert sorted(BITES) == sorted(name for name, invariant in marked.items() if invariant.mode != "sometimes")


@pytest.mark.parametrize("method", BITES)
def test_the_mutant_breaks_the_invariant_and_the_silence_of_its_method_is_noticed(method: str) -> None:
    broken = told(run(method))
    assert vars(Chapter4)[method]._invariant.name in [name for name, _ in broken]
    assert told(run(method, without(Chapter4, method))) != broken


@pytest.mark.parametrize(
    ("mutant", "founders", "seed"), [("learner_refuses_to_vote", 1, 0), ("removed_never_campaigns", 2, 47)]
)
def test_a_cluster_of_two_is_stuck_where_a_server_trusts_a_configuration_too_much(
    mutant: str, founders: int, seed: int
) -> None:
    """Hunts, whose clusters are larger, hardly ever come there."""
    switches = {"membership": "single", "founders": founders}
    scenario = attrs.evolve(HEALING, nodes=2, switches=switches, seed=seed)
    stuck = simulate(load(PROTOCOL.name, (f"raft_membership.{mutant}",)), scenario)
    assert [name for name, _ in told(stuck)] == ["progress_after_heal"]
    assert told(simulate(reference(PROTOCOL.name), scenario)) == []


@pytest.mark.parametrize("index", range(12))
def test_with_its_switches_off_it_does_what_it_extends(index: int) -> None:
    extended, whole = reference("raft_snapshots"), reference(PROTOCOL.name)
    whole = attrs.evolve(whole, spec=attrs.evolve(whole.spec, workload=puts_and_gets))
    scenario = plan(extended, Wish(seed=3), index)
    same = attrs.evolve(scenario, protocol=PROTOCOL.name, switches={**scenario.switches, **OFF, "compaction": 0})
    scenario = attrs.evolve(scenario, switches={**scenario.switches, "compaction": 0})
    assert simulate(whole, same).digest == simulate(extended, scenario).digest


def test_most_runs_reach_the_goals() -> None:
    runs = [simulate(reference(PROTOCOL.name), attrs.evolve(CHAOS, seed=seed)) for seed in range(12)]
    assert all(run.violation is None for run in runs)
    assert sum("configuration_committed" in run.reached for run in runs) >= 9
    assert sum("leadership_transferred" in run.reached for run in runs) >= 4


# -- Quorums -----------------------------------------------------------------------------------------

SERVERS = ("n1", "n2", "n3", "n4", "n5")
VOTERS = [voters for size in (1, 2, 3, 4, 5) for voters in combinations(SERVERS, size)]


def plain(voters: tuple[str, ...]) -> Configuration:
    return Configuration(voters, (), ())


def overlapping(one: Configuration, other: Configuration) -> bool:
    return overlap(one, SERVERS, other, SERVERS)


def test_quorums_overlap_when_one_server_joins_or_leaves() -> None:
    for voters, server in product(VOTERS, SERVERS):
        changed = tuple(sorted({*voters} ^ {server}))
        if changed:
            assert overlapping(plain(voters), plain(changed))


def test_quorums_of_joint_consensus_overlap_those_before_and_after_it() -> None:
    for old, new in product(VOTERS, VOTERS):
        joint = Configuration(new, old, ())
        assert overlapping(plain(old), joint)
        assert overlapping(joint, plain(new))


def test_quorums_need_not_overlap_when_two_servers_change_at_once() -> None:
    assert not overlapping(plain(("n1", "n2")), plain(("n3",)))
    assert not overlapping(plain(("n1", "n2", "n3")), plain(SERVERS))  # n1 n2, and n3 n4 n5: Fig. 4.3
    assert not overlapping(plain(("n1", "n2", "n3")), plain(("n2", "n3", "n4")))


def test_only_those_who_would_vote_are_looked_at() -> None:
    one, other = plain(("n1", "n2", "n3")), plain(("n2", "n3", "n4"))
    assert not overlap(one, ("n1", "n2"), other, ("n3", "n4"))
    assert overlap(one, ("n1", "n2"), other, ("n2", "n3"))
    assert overlap(one, ("n1",), other, SERVERS)


def test_learners_do_not_count_and_both_majorities_do() -> None:
    assert not is_quorum(Configuration(("n1", "n2", "n3"), (), ("n4",)), ("n1", "n4"))
    joint = Configuration(("n1", "n4", "n5"), ("n1", "n2", "n3"), ())
    assert not is_quorum(joint, ("n1", "n4", "n5"))
    assert is_quorum(joint, ("n1", "n2", "n4"))


# -- The state machine -------------------------------------------------------------------------------


def test_a_snapshot_has_the_configuration_and_a_copy_goes_on_apart() -> None:
    store, other = MemberStore(), MemberStore()
    store.apply(Proposal(1, Command("put", "x", 1)))
    store.apply(plain(("n1", "n2")))
    other.restore(store.snapshot())
    twin = store.copy()
    assert other.snapshot() == twin.snapshot() == store.snapshot()
    assert store.snapshot().configuration == plain(("n1", "n2"))
    twin.apply(plain(("n1",)))
    assert store.snapshot() == other.snapshot() != twin.snapshot()
