"""Untimed swarm: the walk (`walk`) with weights drawn anew for each run.

A delivery has weight 1, a timer 1/`timer`, a client 1/`request`. No one set of weights is best:
what a bug needs many of (timeouts before messages arrive, long quiet stretches, many entries)
another drowns in, so each run draws. After swarm testing (Groce et al., ISSTA 2012); loss,
duplication and the like are drawn beside it (`protosim.swarm`).

>>> sorted({draw(Draw(seed))["timer"] for seed in range(50)})
[1, 3, 10, 30]
"""

from protosim.keys import Draw
from protosim.schedule import Schedule

from . import walk


def draw(draw: Draw) -> dict[str, int]:
    return {"timer": draw.choice("timer", (1, 3, 3, 10, 30)), "request": draw.choice("request", (1, 1, 3, 3, 10))}


def make(params: dict[str, int]) -> Schedule:
    return walk.make(params)
