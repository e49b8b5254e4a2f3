"""Paxos and Multi-Paxos: each check is once the only reason to refuse; each invariant is broken by some mutant."""

from pathlib import Path

import pytest

from protosim import checks
from protosim.program import reference
from protosim.transcript import perform
from tests.biting import but_goals, is_broken_by, sole_refusals

STORIES = Path(__file__).parent.parent
BROKEN_BY = {
    "paxos": {
        "validity": "value_never_taken",
        "agreement": "client_told_its_own_value",
        "learned_only_chosen": "accepted_by_majority",
        "durability": "handle_accept/drop-sync/1",
        "unique_ballots": "round_forgotten_by_restart",
        "promise_monotonicity": "handle_prepare/drop-sync/1",
        "refusals_are_true": "refusal_tells_nothing",
        "p2b": "own_value",
        "votes_safe": "promised_by_majority",
        "one_value_per_ballot": "still_preparing",
        "progress_after_heal": "no_retry",
        "p1a": "accepts_below_its_promise",
        "p2a": "first_value_kept",
        "highest_accepted_kept": "accept_promises_nothing",
    },
    "multi_paxos": {
        "validity": "gaps_filled_with_writes",
        "agreement": "chosen_in_another_ballot",
        "learned_only_chosen": "accepted_by_majority",
        "durability": "handle_accept/drop-sync/1",
        "unique_ballots": "round_from_refusals",
        "promise_monotonicity": "promise/drop-sync/1",
        "refusals_are_true": "accepts_only_what_it_promised",
        "p2b": "own_votes_alone",
        "votes_safe": "promised_by_majority",
        "one_value_per_ballot": "still_candidate",
        "progress_after_heal": "nothing_is_sent_again",
        "p1a": "accept_not_below_promised",
        "p2a": "first_command_kept",
        "highest_accepted_kept": "votes_over_the_chosen",
        "acceptances_are_true": "accept_promises_nothing",
        "order_of_execution": "executed_when_chosen",
        "executed_once": "gaps_filled_with_commands",
        "gaps_are_filled": "gaps_left",
        "deposed_leader_abandons": "deposed_leader_leads_on",
        "learners_catch_up": "nobody_is_told",
    },
}
CASES = [(protocol, *pair) for protocol, pairs in BROKEN_BY.items() for pair in pairs.items()]


@pytest.mark.parametrize("protocol", BROKEN_BY)
def test_each_check_is_once_the_only_reason_to_refuse(protocol: str) -> None:
    text = perform(protocol, (STORIES / protocol / "each_check_refuses_by_itself.txt").read_text("utf-8")).text
    assert sole_refusals(text) == set(checks.names(reference(protocol).source))


@pytest.mark.parametrize("protocol", BROKEN_BY)
def test_each_invariant_but_goals_has_a_mutant(protocol: str) -> None:
    assert but_goals(protocol) == list(BROKEN_BY[protocol])


@pytest.mark.parametrize(("protocol", "invariant", "mutant"), CASES)
def test_the_mutant_breaks_the_invariant(protocol: str, invariant: str, mutant: str) -> None:
    assert is_broken_by(protocol, invariant, mutant)
