"""Each invariant of transactions and of Percolator is broken by some mutant, within a few runs of a hunt."""

import pytest

from tests.biting import but_goals, is_broken_by

BROKEN_BY = {
    "transactions": {
        "mutual_exclusion": "lock_free",
        "released_exactly_once": "tokens_repeat",
        "votes_are_under_locks": "locks_still_held",
        "deadlock_freedom": "lock_order",
        "atomicity": "abort_carried_out_as_commit",
        "durability": "all_voted_yes",
        "nothing_overdrawn": "nothing_overdrawn",
        "conserved_sum": "presumed_commit",
        "strict_serializability": "locks_still_held",
        "votes_are_durable": "handle_prepare/drop-sync/1",
        "what_is_read_is_durable": "handle_decision/drop-sync/1",
        "what_is_finished_is_durable": "handle_decision/drop-sync/1",
        "decisions_are_durable": "presumed_commit",
        "commits_are_prepared": "all_voted_yes",
        "commits_are_kept": "commits_lost_by_restart",
        "every_transaction_ends": "commits_are_told_once",
        "progress_after_heal": "release_wakes_nobody",
    },
    "percolator": {
        "unique_write": "lock_to_resolve",
        "unique_lock_or_write": "not_locked",
        "write_consistency": "resolved_the_other_way",
        "rollback_consistency": "secondary_judged_by_itself",
        "commit_consistency": "secondaries_first",
        "first_committer_wins": "no_write_conflict",
        "snapshot_isolation": "reads_what_is_locked",
        "conserved_sum": "all_prewritten",
        "timestamps_increase": "oracle_goes_back",
        "durability": "client_told_before_the_commit",
        "prewrites_are_durable": "put/drop-sync/1",
        "commits_are_durable": "commit_not_durable",
        "timestamps_are_reserved": "handle_get_timestamp/drop-sync/1",
        "commits_are_prewritten": "prewrite_succeeded",
        "every_transaction_ends": "locks_are_left",
        "progress_after_heal": "handle_got/loosen-comparison/1",
    },
}
CASES = [(protocol, *pair) for protocol, pairs in BROKEN_BY.items() for pair in pairs.items()]


@pytest.mark.parametrize("protocol", BROKEN_BY)
def test_each_invariant_but_goals_has_a_mutant(protocol: str) -> None:
    assert but_goals(protocol) == list(BROKEN_BY[protocol])


@pytest.mark.parametrize(("protocol", "invariant", "mutant"), CASES)
def test_the_mutant_breaks_the_invariant(protocol: str, invariant: str, mutant: str) -> None:
    assert is_broken_by(protocol, invariant, mutant)
