"""In the stories of transactions and of Percolator each check is once the only reason to refuse."""

from pathlib import Path

import pytest

from protosim import checks
from protosim.program import reference
from tests.biting import sole_refusals

STORIES = Path(__file__).parent.parent


@pytest.mark.parametrize("protocol", ["transactions", "percolator"])
def test_each_check_is_once_the_only_reason_to_refuse(protocol: str) -> None:
    told = "\n".join(path.read_text("utf-8") for path in (STORIES / protocol).glob("*.txt"))
    assert sole_refusals(told) == set(checks.names(reference(protocol).source))
