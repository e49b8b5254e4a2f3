"""Tendermint: each invariant is broken by some mutant, and the stories try each check of a message or a value."""

from pathlib import Path

import pytest

from protosim import checks
from protosim.program import reference
from protosim.transcript import perform
from tests.biting import but_goals, is_broken_by, sole_refusals

HERE = Path(__file__).parent
BROKEN_BY = {
    "no_honest_equivocation": "still_in_propose",
    "lock_safety": "precommits_without_a_lock",
    "proof_of_lock": "is_quorum/weaken-quorum/1",
    "lock_is_kept": "precommits_without_a_lock",
    "one_proposer_a_round": "signed_by_its_proposer",
    "valid_value_is_proposed": "proposes_a_new_value_always",
    "agreement": "conclude/drop-sync/1",
    "validity": "request_verifies",
    "integrity": "next_in_order",
    "decided_by_quorum": "decided_by_any_precommits",
    "order_of_execution": "executes_from_the_restart_on",
    "progress_after_heal": "nil_precommits_end_nothing",
    "replicas_catch_up": "gossip_of_old_heights_ignored",
}


def test_each_invariant_but_goals_has_a_mutant() -> None:
    assert but_goals("tendermint") == list(BROKEN_BY)


@pytest.mark.parametrize(("invariant", "mutant"), BROKEN_BY.items())
def test_the_mutant_breaks_the_invariant(invariant: str, mutant: str) -> None:
    assert is_broken_by("tendermint", invariant, mutant)


def test_each_check_is_somewhere_the_only_reason_to_refuse() -> None:
    told = "".join(perform("tendermint", path.read_text("utf-8")).text for path in sorted(HERE.glob("*.txt")))
    assert set(checks.names(reference("tendermint").source)) <= sole_refusals(told)
