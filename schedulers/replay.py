"""Replay: the schedule is a script, the list of a run's events; `protosim replay FILE` runs one.

There is nothing to draw: what happens next is the script's next step (see `protosim/script.py`). A scenario without a
script has nothing to replay.
"""

from protosim.errors import UserError
from protosim.keys import SIZE, Draw
from protosim.schedule import Schedule


def draw(draw: Draw) -> dict[str, int]:
    raise UserError("The replay scheduler runs a saved script: protosim replay FILE. Choose another for run and hunt.")


def make(params: dict[str, int]) -> Schedule:
    return Schedule(delays=(0,) * SIZE, request_gaps=None, pace=0)
