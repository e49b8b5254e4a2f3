"""Lease reads rest on clocks that are never set and drift within a bound: what happens with them, and without."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocols.raft_whole import CLOCK_DRIFT
from protosim.plan import Wish, plan
from protosim.program import reference
from protosim.run import Run, simulate
from protosim.scenario import Choice
from protosim.transcript import perform

WHOLE = reference("raft_whole")
HERE = Path(__file__).parent
STORIES = sorted(HERE.glob("broken_assumptions/*.txt"))
LEASES: dict[str, Any] = {"reads": "lease", "membership": "fixed", "transfer": False, "pre_vote": False}
UNREST = (
    Choice("partition_one_way", {"every": 300_000, "lasts": 300_000}),
    Choice("partition_bridge", {"every": 400_000, "lasts": 400_000}),
)


def runs(fault: Choice, **switches: Any) -> Iterator[Run]:
    wish = Wish(seed=5, scheduler="uniform", faults=(*UNREST, fault), switches={**LEASES, **switches}, nodes=3)
    return (simulate(WHOLE, plan(WHOLE, wish, index), digest=False) for index in range(60))


def first_broken(found: Iterator[Run]) -> str:
    return next((run.violation.invariant.name for run in found if run.violation is not None), "nothing")


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_in_which_clocks_are_set_ends_in_a_stale_read(path: Path, rewrite: bool) -> None:
    told = perform("raft_whole", path.read_text("utf-8"))
    if rewrite:
        path.write_text(told.text, "utf-8")
    assert told.text == path.read_text("utf-8")
    assert told.violated[""] == "linearizability"


def test_clocks_that_drift_within_the_bound_are_harmless() -> None:
    found = list(runs(Choice("clock_drift", {"bound_ppm": CLOCK_DRIFT})))
    assert [run for run in found if run.violation or run.warning or run.failure] == []
    assert sum(run.faults_fired["clock_drift"] for run in found) > 100


def test_clocks_that_drift_further_are_not() -> None:
    assert first_broken(runs(Choice("clock_drift", {"bound_ppm": 900_000}))) == "lease_safety"


def test_clocks_that_are_set_break_leases_and_nothing_else() -> None:
    steps = Choice("clock_step", {"every": 200_000, "most": 300_000})
    assert first_broken(runs(steps)) in ("lease_safety", "reads_are_confirmed")
    assert first_broken(runs(steps, reads="read_index")) == "nothing"
