"""The two Byzantine broadcasts: invariants that some mutant breaks within a few runs of a hunt."""

import pytest

from tests.biting import is_broken_by

BROKEN_BY = [
    ("echo_broadcast", "no_duplication", "delivered_once"),
    ("echo_broadcast", "consistency", "certified"),
    ("echo_broadcast", "validity", "digest_without_number"),
    ("echo_broadcast", "one_certificate", "one_echo_per_broadcast"),
    ("bracha_broadcast", "no_duplication", "delivered_once"),
    ("bracha_broadcast", "integrity", "ready_at_one_correct"),
    ("bracha_broadcast", "consistency", "ready_at_quorum"),
    ("bracha_broadcast", "validity", "votes_without_number"),
    ("bracha_broadcast", "one_quorum", "one_echo_per_broadcast"),
    ("bracha_broadcast", "ready_for_one", "echoed_by_quorum"),
    ("bracha_broadcast", "totality", "no_amplification"),
]


@pytest.mark.parametrize(("protocol", "invariant", "mutant"), BROKEN_BY)
def test_the_mutant_breaks_the_invariant(protocol: str, invariant: str, mutant: str) -> None:
    assert is_broken_by(protocol, invariant, mutant)
