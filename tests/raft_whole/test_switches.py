"""All switches of the whole chain, from the core to leases: each value alone, and every pair of values."""

from itertools import combinations
from typing import Any

import attrs
import pytest

from protosim.plan import Wish, plan
from protosim.program import reference
from protosim.run import simulate

WHOLE = reference("raft_whole")
Settings = dict[str, Any]
Pair = tuple[tuple[str, Any], tuple[str, Any]]

VALUES: dict[str, list[Any]] = {
    field.name: list(dict.fromkeys(field.metadata["choices"])) for field in attrs.fields(WHOLE.spec.switches)
}
OFF: Settings = {
    "no_op": False,
    "batch": 64,
    "compaction": 0,
    "sessions": False,
    "membership": "fixed",
    "learners": False,
    "transfer": False,
    "founders": 64,
    "pre_vote": False,
    "stickiness": False,
    "check_quorum": False,
    "reads": "log",
    "follower_reads": False,
}
ALONE = [{**OFF, name: value} for name, values in VALUES.items() for value in values if value != OFF[name]]
LEAST, MOST = 3, 40  # runs of a setting: more only until its goals are reached


def pairs(settings: Settings) -> list[Pair]:
    return list(combinations(settings.items(), 2))


def covering() -> list[Settings]:
    """Settings that together have every pair of values: each is made greedily of what is not covered yet."""
    wanted = {
        ((a, x), (b, y)): None for a, b in combinations(VALUES, 2) for x in VALUES[a] for y in VALUES[b]
    }
    chosen: list[Settings] = []
    while wanted:
        settings: Settings = dict(next(iter(wanted)))
        for name, values in VALUES.items():
            if name not in settings:
                settings[name] = max(values, key=lambda value: gain({**settings, name: value}, wanted))
        settings = {name: settings[name] for name in VALUES}
        chosen.append(settings)
        for pair in pairs(settings):
            wanted.pop(pair, None)
    return chosen


def gain(settings: Settings, wanted: dict[Pair, None]) -> int:
    ordered = {name: settings[name] for name in VALUES if name in settings}
    return sum(pair in wanted for pair in pairs(ordered))


TOGETHER = covering()


def spelled(settings: Settings) -> str:
    """Only what is on."""
    return " ".join(f"{name}={value}" for name, value in settings.items() if value != OFF[name]) or "nothing"


def test_off_names_every_switch_and_together_they_have_every_pair_of_values() -> None:
    assert sorted(OFF) == sorted(VALUES)
    had = {pair for settings in TOGETHER for pair in pairs(settings)}
    assert len(had) == sum(len(VALUES[a]) * len(VALUES[b]) for a, b in combinations(VALUES, 2))
    assert len(TOGETHER) < 25


@pytest.mark.parametrize("settings", [OFF, *ALONE, *TOGETHER], ids=spelled)
def test_runs_are_clean_and_reach_their_goals(settings: Settings) -> None:
    missed: set[str] | None = None
    for index in range(MOST):
        run = simulate(WHOLE, plan(WHOLE, Wish(seed=7, switches=settings), index), digest=False)
        assert (run.violation, run.warning, run.failure) == (None, None, "")
        assert run.linearizable != "violation"
        missed = set(run.missed) if missed is None else missed & set(run.missed)
        if not missed and index >= LEAST:
            break
    assert not missed
