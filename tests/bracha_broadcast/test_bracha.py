"""Bracha's broadcast: each check is once the only reason to refuse, and each invariant is broken by some mutant."""

from pathlib import Path

import pytest

from protosim import checks
from protosim.program import reference
from tests.biting import but_goals, is_broken_by, sole_refusals

BROKEN_BY = {
    "one_content_each": "request/drop-sync/1",
    "no_duplication": "delivered_once",
    "integrity": "ready_at_one_correct",
    "consistency": "ready_at_quorum",
    "broadcast_is_on_disk": "request/drop-sync/1",
    "validity": "votes_without_number",
    "one_echo_each": "one_echo_per_broadcast",
    "ready_for_one": "majority_of_all",
    "ready_by_quorum": "echoed_by_quorum",
    "delivered_by_quorum": "deliver_with_f_and_one",
    "totality": "forget_what_is_delivered",
}


def test_each_check_is_once_the_only_reason_to_refuse() -> None:
    told = "\n".join(path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.txt")))
    assert sole_refusals(told) == set(checks.names(reference("bracha_broadcast").source))


def test_each_invariant_but_goals_has_a_mutant() -> None:
    assert but_goals("bracha_broadcast") == list(BROKEN_BY)


@pytest.mark.parametrize(("invariant", "mutant"), BROKEN_BY.items())
def test_the_mutant_breaks_the_invariant_by_itself(invariant: str, mutant: str) -> None:
    assert is_broken_by("bracha_broadcast", invariant, mutant, by_itself=True)
