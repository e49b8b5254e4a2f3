"""What calibration plays in one process is what the judge plays with workers."""

import sys

import pytest

from protosim.program import from_source, reference
from protosim.run import make_world, simulate
from protosim.scenario import Choice, Scenario
from protosim.score.rehearsal import rehearse

PBFT = reference("pbft")
FAULTS = (Choice("byzantine_twins", {}), Choice("byzantine_garbling", {}), Choice("crash", {}))


def scenario(seed: int) -> Scenario:
    return Scenario(protocol="pbft", seed=seed, nodes=4, faults=FAULTS, events=600)


@pytest.mark.parametrize("seed", range(3))
def test_with_other_classes_a_run_is_the_same(seed: int) -> None:
    again = from_source("pbft", PBFT.source + "\nAGAIN = 1\n")
    whole = simulate(PBFT, scenario(seed))
    assert rehearse(again, scenario(seed)).checks_refused.items() <= whole.checks_refused.items()
    assert [rehearse(x, scenario(seed)).simulated_us for x in (PBFT, again)] == [whole.simulated_us] * 2


def test_liars_do_not_run_the_candidates_code() -> None:
    noted = PBFT.source.replace('"""Commit."""', '"""Commit."""\n        COMMITTING.append(self.me)')
    program = from_source("pbft", noted + "\nCOMMITTING: list[str] = []\n")
    committing = sys.modules[program.spec.node.__module__].COMMITTING
    for wanted in map(scenario, range(8)):
        committing.clear()
        rehearse(program, wanted)
        assert committing
        assert not set(committing) & set(make_world(program, wanted).liars)
