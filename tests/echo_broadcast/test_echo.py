"""Echo broadcast: each check is once the only reason to refuse, and each invariant is broken by some mutant."""

from pathlib import Path

import pytest

from protosim import checks
from protosim.program import reference
from tests.biting import but_goals, is_broken_by, sole_refusals

BROKEN_BY = {
    "one_content_each": "request/drop-sync/1",
    "no_duplication": "delivered_once",
    "integrity": "certificates_passed_on",
    "consistency": "certified",
    "broadcast_is_on_disk": "request/drop-sync/1",
    "validity": "digest_without_number",
    "one_echo_each": "one_echo_per_broadcast",
    "delivered_by_quorum": "majority_of_all",
}


def test_each_check_is_once_the_only_reason_to_refuse() -> None:
    told = "\n".join(path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.txt")))
    assert sole_refusals(told) == set(checks.names(reference("echo_broadcast").source))


def test_each_invariant_but_goals_has_a_mutant() -> None:
    assert but_goals("echo_broadcast") == list(BROKEN_BY)


@pytest.mark.parametrize(("invariant", "mutant"), BROKEN_BY.items())
def test_the_mutant_breaks_the_invariant_by_itself(invariant: str, mutant: str) -> None:
    assert is_broken_by("echo_broadcast", invariant, mutant, by_itself=True)
