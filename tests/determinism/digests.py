"""Six varied runs and their digests. As a script it prints them as JSON, and what it had to import.

It imports no test tool, so that any Python with attrs and simpy can run it: `python digests.py [NAME ...]`.
"""

import json
import sys

from protosim.program import reference
from protosim.run import simulate
from protosim.scenario import Choice, Fork, Scenario

CRASHES = Choice("crash", {"every": 200_000, "down": 10_000, "aim": 10})
LOSSES = (Choice("loss", {"per_mille": 50}), Choice("duplication", {"per_mille": 50}))

SCENARIOS = {
    "a quiet network": Scenario(protocol="raft", seed=1, events=800),
    "a walk with losses and crashes": Scenario(
        protocol="raft",
        seed=2,
        nodes=5,
        scheduler=Choice("walk", {"timer": 40}),
        faults=(*LOSSES, Choice("reordering", {"per_mille": 200, "times": 20}), CRASHES),
        switches={"batch": 2, "no_op": True},
    ),
    "partitions that heal": Scenario(
        protocol="raft",
        seed=3,
        nodes=5,
        scheduler=Choice("heavy_tail"),
        faults=(Choice("partition_bridge"), Choice("flapping"), Choice("delay_spike")),
        heal=5_000_000,
        horizon=9_000_000,
    ),
    "partial orders": Scenario(
        protocol="raft", seed=4, nodes=4, scheduler=Choice("pos", {"patience": 4, "request": 10}), faults=LOSSES
    ),
    "priorities of chains": Scenario(
        protocol="raft", seed=5, scheduler=Choice("pct", {"depth": 5, "length": 800}), faults=(CRASHES,), events=800
    ),
    "clocks that drift, nodes that pause": Scenario(
        protocol="raft",
        seed=2**63,
        nodes=7,
        scheduler=Choice("timed_swarm", {"tail": 2, "scale": 100_000}),
        faults=(Choice("clock_drift", {"bound_ppm": 200_000}), Choice("pause"), Choice("isolate_one")),
        forks=(Fork(500, 17),),
    ),
}

HEAVY = ("libcst", "tqdm", "cattrs", "hypothesis")
"""What a run must not import: it would cost time, and more to install."""


def digests(names: list[str]) -> dict[str, str]:
    program = reference("raft")
    return {name: simulate(program, SCENARIOS[name]).digest for name in names}


if __name__ == "__main__":
    told = {
        "digests": digests(sys.argv[1:] or list(SCENARIOS)),
        "imported": [name for name in HEAVY if name in sys.modules],
    }
    print(json.dumps(told))
