"""Writing PBFT: each wrong body breaks what the paper says it must not, and forgers are refused by name."""

import pytest

from protosim.program import from_source, load, reference
from protosim.score.again import played
from protosim.score.suite import Trial, load_suite, load_task, secret, trials

TASK = "implement_pbft"
BREAKS = {
    "pbft.digest_of_the_request": {"agreement", "committed_by_quorum"},
    "pbft.one_digest_a_number": {"one_digest_in_view"},
    "pbft.pre_prepare_within_water_marks": {"one_digest_in_view"},
    "pbft.prepare_signature_verifies": {"prepared_by_quorum"},
    "pbft.prepare_in_view": {"left_views_stay_left"},
    "pbft.check_prepared/drop-sync/1": {"view_change_shows_all"},
    "pbft.commits_are_a_count": {"committed_by_quorum"},
    "pbft.quorum_of_f_plus_one": {"committed_by_quorum", "stable_by_quorum", "new_view_by_quorum"},
    "pbft.executed_once": {"integrity"},
    "pbft.checkpoints_without_digests": {"stable_by_quorum"},
    "pbft.executed_not_shown": {"view_change_shows_all"},
    "pbft.view_change_from_stable": {"new_view_by_quorum", "stable_by_quorum"},
    "pbft.view_change_certificates_valid": {"new_view_by_quorum"},
    "pbft.nothing_carried_over": {"new_view_is_complete"},
    "pbft.new_view_carries_over": {"new_view_is_complete", "left_views_stay_left", "proposed_by_the_primary"},
}


def killing(bug: str) -> list[Trial]:
    """The runs that are there for this wrong body."""
    task = load_task(TASK)
    every = trials(task, load_suite(TASK, secret()), secret())
    return [trial for trial in every if task.recipes()[trial.run.recipe].kills == bug]


def test_each_wrong_body_has_its_invariants() -> None:
    assert tuple(BREAKS) == load_task(TASK).bugs


@pytest.mark.parametrize(("bug", "invariants"), BREAKS.items())
def test_a_wrong_body_breaks_what_forbids_it(bug: str, invariants: set[str]) -> None:
    program = load("pbft", (bug,))
    outcomes = [played(program, trial) for trial in killing(bug)]
    assert len(outcomes) == load_task(TASK).tests
    assert {outcome.ending for outcome in outcomes} == {"violation"}
    assert {outcome.invariant for outcome in outcomes} <= invariants


def test_a_candidate_that_signs_for_another_is_refused_and_named() -> None:
    honest = "m = Prepare(p.view, p.number, p.digest, self.me)"
    assert honest in reference("pbft").source
    forger = from_source("pbft", reference("pbft").source.replace(honest, honest.replace("self.me", "self.peers[0]")))
    outcomes = [played(forger, trial) for trial in killing("pbft.quorum_of_f_plus_one")]
    assert {outcome.ending for outcome in outcomes} == {"failure"}
    assert all(" forged a signature of n" in outcome.sentence for outcome in outcomes)
