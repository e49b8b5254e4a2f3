"""PBFT: each check is once the only reason to refuse, and each invariant is broken by some mutant."""

from pathlib import Path

import pytest

from protosim import checks
from protosim.program import load, reference
from protosim.run import simulate
from protosim.scenario import Choice, Scenario
from tests.biting import but_goals, is_broken_by, sole_refusals

BROKEN_BY = {
    "agreement": "digest_of_the_request",
    "order_of_execution": "executes_over_gaps",
    "validity": "request_from_client",
    "integrity": "executed_once",
    "results_are_true": "result_by_a_correct_replica",
    "checkpoint_agreement": "view_in_the_checkpoint",
    "prepared_agreement": "prepares_without_digests",
    "agreement_across_views": "carried_over_forgotten",
    "one_digest_in_view": "accepted_forgotten",
    "proposed_by_the_primary": "pre_prepare_from_primary",
    "prepared_by_quorum": "two_f_agree",
    "committed_by_quorum": "committed_by_quorum",
    "stable_by_quorum": "stable_by_quorum",
    "new_view_by_quorum": "new_view_asked_by_quorum",
    "new_view_is_complete": "entered_before_its_checkpoint",
    "view_change_shows_all": "executed_not_shown",
    "left_views_stay_left": "prepare_in_view",
    "views_follow_correct_replicas": "joined_by_a_correct_replica",
    "prepare_is_on_disk": "accept/drop-sync/1",
    "commit_is_on_disk": "check_prepared/drop-sync/1",
    "checkpoint_is_on_disk": "take_checkpoint/drop-sync/1",
    "view_is_on_disk": "start_view_change/drop-sync/1",
    "progress_after_heal": "client_asks_only_the_primary",
}
SHARPER_COMES_FIRST = ("prepared_agreement",)  # the certificate that contradicts another proves nothing to begin with


def test_each_check_is_once_the_only_reason_to_refuse() -> None:
    told = "\n".join(path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.txt")))
    assert sole_refusals(told) == set(checks.names(reference("pbft").source))


def test_each_invariant_but_goals_has_a_mutant() -> None:
    assert but_goals("pbft") == list(BROKEN_BY)


@pytest.mark.parametrize(("invariant", "mutant"), BROKEN_BY.items())
def test_the_mutant_breaks_the_invariant(invariant: str, mutant: str) -> None:
    assert is_broken_by("pbft", invariant, mutant, by_itself=invariant in SHARPER_COMES_FIRST)


LOST_CHECKPOINTS = Scenario(
    protocol="pbft",
    seed=486685092993202208,
    nodes=4,
    switches={"interval": 1, "patience": 2},
    scheduler=Choice("fair", {"bound": 20_000, "request_every": 20_000}),
    faults=(
        Choice("clock_drift", {"bound_ppm": 10_000}),
        Choice("crash", {"every": 400_000, "down": 400_000, "aim": 5}),
        Choice("isolate_one", {"every": 2_000_000, "lasts": 200_000, "leader": 1000}),
        Choice("partition_one_way", {"every": 600_000, "lasts": 600_000}),
        Choice("partition_symmetric", {"every": 200_000, "lasts": 200_000}),
        Choice("reordering", {"per_mille": 200, "times": 20}),
    ),
    events=30_000,
    horizon=4_500_000,
    heal=1_500_000,
)


@pytest.mark.parametrize(("mutants", "breaks"), [((), None), (("pbft.checkpoints_said_once",), "progress_after_heal")])
def test_lost_checkpoints_do_not_fill_the_log(mutants: tuple[str, ...], breaks: str | None) -> None:
    run = simulate(load("pbft", mutants), LOST_CHECKPOINTS, digest=False)
    assert (run.violation and run.violation.invariant.name) == breaks
