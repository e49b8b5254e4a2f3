"""The two Byzantine broadcasts: each check is tried by a story, and each invariant is broken by some mutant."""

from pathlib import Path

import pytest

from protosim import checks
from protosim.program import reference
from tests.biting import but_goals, is_broken_by, sole_refusals

STORIES = Path(__file__).parent.parent
BROKEN_BY = {
    "echo_broadcast": {
        "no_duplication": "delivered_once",
        "integrity": "certificate_of_sender",
        "consistency": "certified",
        "validity": "sent_once",
        "one_certificate": "one_echo_per_broadcast",
    },
    "bracha_broadcast": {
        "no_duplication": "delivered_once",
        "integrity": "ready_at_one_correct",
        "consistency": "ready_at_quorum",
        "validity": "forget_what_is_delivered",
        "one_quorum": "one_echo_per_broadcast",
        "ready_for_one": "echoed_by_quorum",
        "totality": "no_amplification",
    },
}
CASES = [(protocol, *pair) for protocol, pairs in BROKEN_BY.items() for pair in pairs.items()]


@pytest.mark.parametrize("protocol", BROKEN_BY)
def test_each_invariant_but_goals_has_a_mutant(protocol: str) -> None:
    assert but_goals(protocol) == list(BROKEN_BY[protocol])


@pytest.mark.parametrize(("protocol", "invariant", "mutant"), CASES)
def test_the_mutant_breaks_the_invariant(protocol: str, invariant: str, mutant: str) -> None:
    assert is_broken_by(protocol, invariant, mutant)


@pytest.mark.parametrize("protocol", BROKEN_BY)
def test_each_check_is_once_the_only_reason_to_refuse(protocol: str) -> None:
    told = "\n".join(path.read_text("utf-8") for path in (STORIES / protocol).glob("*.txt"))
    assert sole_refusals(told) == set(checks.names(reference(protocol).source))
