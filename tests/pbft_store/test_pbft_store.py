"""Reads beside the log of PBFT: each check is once the only reason to refuse; some mutant breaks each invariant."""

from pathlib import Path

import pytest

from protosim import checks
from protosim.program import reference
from tests.biting import but_goals, is_broken_by, sole_refusals

BROKEN_BY = {
    "reads_are_committed": "reads_what_is_prepared",
    "reads_go_forward": "read_of_all_that_was_shown",
    "shown_is_on_disk": "show/drop-sync/1",
    "results_by_certificate": "result_by_quorum",
}


def test_each_check_is_once_the_only_reason_to_refuse() -> None:
    told = "\n".join(path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.txt")))
    assert sole_refusals(told) >= set(checks.names(reference("pbft_store").source))


def test_each_invariant_that_is_not_pbfts_has_a_mutant() -> None:
    assert [name for name in but_goals("pbft_store") if name not in but_goals("pbft")] == list(BROKEN_BY)


@pytest.mark.parametrize(("invariant", "mutant"), BROKEN_BY.items())
def test_the_mutant_breaks_the_invariant(invariant: str, mutant: str) -> None:
    assert is_broken_by("pbft_store", invariant, mutant)
