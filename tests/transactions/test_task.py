"""The task fix_txn_coordinator is not solved by a coordinator that is safe because it does nothing."""

from pathlib import Path

import pytest

from protosim.program import reference
from tests.score.candidates import judge, shorten

ACCEPTS = "if len(self.active) < self.switches.at_once:"


@pytest.mark.parametrize("instead", ["if False:", "self.reply(op, None)\n        if False:"])
def test_who_refuses_or_aborts_everything_scores_nothing(
    instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = reference("transactions").source
    assert source.count(ACCEPTS) == 1
    shorten(monkeypatch, 1, ("chaos", "live"), "fix_txn_coordinator")
    result = judge(source.replace(ACCEPTS, instead), tmp_path, "fix_txn_coordinator")
    assert (result.score, result.solved) == (0, False)
    assert {failure["invariant"] for failure in result.failures} >= {"transaction_committed"}
