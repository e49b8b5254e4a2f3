"""Each invariant that this protocol adds to what it extends is broken by some mutant, in a run that breaks nothing in
the reference."""

import pytest

from protosim.program import load, reference
from tests.biting import broken

BROKEN_BY = {  # invariant -> mutant, run of the plan
    "reads_are_fresh": ("applied_to_read_index", 2),
    "reads_are_confirmed": ("leadership_confirmed", 0),
    "promises_are_kept": ("no_leader_to_disturb", 1),
    "leave_was_given": ("every_candidate_has_leave", 0),
    "lease_safety": ("no_leader_to_disturb", 7),
    "followers_keep_up": ("followers_apply_current_term", 138),
    "cut_off_leader_steps_down": ("quorum_in_contact", 66),
    "stable_leader": ("pre_vote_raises_term", 6),
    "progress_after_heal": ("handle_pre_vote_response/invert-decision/counted", 18),
}


def test_each_added_invariant_has_a_mutant() -> None:
    extended = {invariant.name for invariant in reference("raft_membership").spec.invariants()}
    added = [i.name for i in reference("raft_whole").spec.invariants() if i.name not in extended]
    assert sorted(added) == sorted(BROKEN_BY.keys() - {"progress_after_heal"})


@pytest.mark.parametrize("invariant", BROKEN_BY)
def test_the_mutant_breaks_the_invariant_and_the_reference_does_not(invariant: str) -> None:
    mutant, index = BROKEN_BY[invariant]
    assert invariant in broken(load("raft_whole", (f"raft_whole.{mutant}",)), index)
    assert broken(reference("raft_whole"), index) == []
