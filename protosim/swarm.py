"""Swarm testing: each run has its own random subset of the faults, each with parameters of its own.

Groce, Zhang, Eide, Chen and Regehr, "Swarm Testing", ISSTA 2012: a fault that is always on can
hide what another would find (a cluster that is always partitioned commits nothing), so every one
is absent from at least half of the runs. Each fault's presence and parameters are keyed by its
name, so a new fault changes nothing about the others.
"""

import importlib

from protosim.keys import Draw, derive
from protosim.program import modules
from protosim.scenario import Choice

PRESENT = {  # percent of the runs; from 25 to 100 Raft's mutants fell about as fast, so this is no fine choice
    "crash": 50,
    "duplication": 50,
    "isolate_one": 25,
    "loss": 50,
    "reordering": 50,
}
OTHERWISE = 12  # percent: there are many kinds of partitions, and most runs should have none


def draw_faults(draw: Draw, pace: int) -> tuple[Choice, ...]:
    """The faults of a run, by name. `pace` is the schedule's typical election timeout, in microseconds."""
    chosen: list[Choice] = []
    for name in modules("faults"):
        own = Draw(derive(draw.seed, "fault", name))
        module = importlib.import_module(f"faults.{name}")
        restricted = not getattr(module, "UNRESTRICTED", False)  # breaks nothing that protocols may assume
        if restricted and own.chance("present", PRESENT.get(name, OTHERWISE)):
            chosen.append(Choice(name, module.draw(own, pace)))
    return tuple(chosen)


LYING = 80  # percent of the runs of a protocol that tolerates liars
TWINS = 40  # percent of these: nothing else equivocates so well
ALSO = 20  # percent: how often a way of lying joins the one that the run is about


def draw_lies(draw: Draw, pace: int) -> tuple[Choice, ...]:
    """How the liars of a run lie."""
    if not draw.chance("liars", LYING):
        return ()
    ways = [name for name in modules("faults") if hasattr(importlib.import_module(f"faults.{name}"), "LIES")]
    main = "byzantine_twins" if draw.chance("twins", TWINS) else draw.choice("lie", ways)
    chosen: list[Choice] = []
    for name in ways:
        own = Draw(derive(draw.seed, "fault", name))
        if name == main or own.chance("present", ALSO):
            chosen.append(Choice(name, importlib.import_module(f"faults.{name}").draw(own, pace)))
    return tuple(chosen)
