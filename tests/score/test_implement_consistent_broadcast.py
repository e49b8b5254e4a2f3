"""Writing echo broadcast: each wrong body breaks what forbids it, and a node that signs for another is named."""

import pytest

from mutations import catalogue
from protosim.program import from_source, load, reference
from protosim.score.again import played
from protosim.score.suite import Trial, load_suite, load_task, secret, trials

TASK = "implement_consistent_broadcast"
BREAKS = {
    "echo_broadcast.one_echo_per_broadcast": "one_echo_each",
    "echo_broadcast.handle_send/drop-sync/1": "delivered_by_quorum",
    "echo_broadcast.request/drop-sync/1": "one_content_each",
    "echo_broadcast.delivered_once": "no_duplication",
    "echo_broadcast.majority_of_all": "delivered_by_quorum",
    "echo_broadcast.certified": "delivered_by_quorum",
    "echo_broadcast.certificate_verifies": "delivered_by_quorum",
    "echo_broadcast.certificate_of_content": "delivered_by_quorum",
    "echo_broadcast.certificate_of_number": "delivered_by_quorum",
    "echo_broadcast.certificate_of_sender": "delivered_by_quorum",
}


def killing(bug: str) -> list[Trial]:
    """The runs that are there for this wrong body."""
    task = load_task(TASK)
    every = trials(task, load_suite(TASK, secret()), secret())
    return [trial for trial in every if task.recipes()[trial.run.recipe].kills == bug]


def test_each_wrong_body_has_its_invariant() -> None:
    assert tuple(BREAKS) == load_task(TASK).bugs


@pytest.mark.parametrize(("bug", "invariant"), BREAKS.items())
def test_a_wrong_body_breaks_what_forbids_it(bug: str, invariant: str) -> None:
    entry = catalogue.load("echo_broadcast")[bug]
    outcomes = [played(load("echo_broadcast", (bug,)), trial) for trial in killing(bug)]
    assert len(outcomes) == load_task(TASK).tests
    assert {outcome.ending for outcome in outcomes} == {"violation"}
    assert invariant in {outcome.invariant for outcome in outcomes}
    assert all(outcome.invariant in entry.breaks for outcome in outcomes)


def test_a_candidate_that_signs_for_another_is_refused_and_named() -> None:
    honest = "Echo(src, m.number, digest, self.me)"
    source = reference("echo_broadcast").source
    assert honest in source
    forger = from_source("echo_broadcast", source.replace(honest, honest.replace("self.me", "self.peers[0]")))
    outcomes = [played(forger, trial) for trial in killing("echo_broadcast.majority_of_all")]
    assert {outcome.ending for outcome in outcomes} == {"failure"}
    assert all(" forged a signature of n" in outcome.sentence for outcome in outcomes)
