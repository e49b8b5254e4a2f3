"""How much of a schedule survives an edit of the protocol: what keyed decisions are for.

An event's name says what the schedule did: which message (sender, fingerprint, repeat count) reached which node; which
client's operation did; which timer fired at which time; which node crashed or came back at which time. Preserved is
the share of the edited run's events whose name is also one of the unedited run's, each counted once. Another seed's run
shares some names by chance: the last row.
"""

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs

from protosim.bench.kills import MUTANTS
from protosim.bench.page import Section
from protosim.bench.sizes import Sizes
from protosim.bench.timing import middle
from protosim.errors import UserError
from protosim.plan import Wish, plan
from protosim.program import Program, from_source, load, reference
from protosim.run import LocalHost, make_world, run_to_end
from protosim.scenario import Scenario
from protosim.world import DELIVER, REQUEST, TIMEOUT, ProtocolFailure, World

SCHEDULERS = ("walk", "timed_swarm")
Names = list[tuple[Any, ...]]
"""Of a run's events, in order."""
CHANCE = "another seed, no edit"

REFUSES = "            self.refuse(op)\n"
EDITS = {
    "a comment": (REFUSES, "            self.refuse(op)  # not my command\n"),
    "one message more: who refuses a client also asks a peer": (
        REFUSES,
        f"{REFUSES}            self.send(self.peers[0], Vote(self.disk.term, False))\n",
    ),
    "heartbeats every 51 ms, not 50": (
        "HEARTBEAT_INTERVAL = (50 * MS, 50 * MS)",
        "HEARTBEAT_INTERVAL = (51 * MS, 51 * MS)",
    ),
}
"""What it does -> the text before, which occurs once, and after."""


@attrs.frozen(kw_only=True)
class Preserved:
    """One edit under one scheduler."""

    edit: str
    scheduler: str
    share: float  # the median over some runs
    first: float  # the event from which on they differ, the median; the run's length if they do not


class Namer:
    """A recorder (see World.recorder) of the names of a run's events, in order."""

    def __init__(self) -> None:
        self.names: Names = []

    def before(self, world: World, *_: Any) -> None:
        event = world.pending
        about: tuple[Any, ...] = (world.now,)
        if event[0] == DELIVER:
            about = (event[1], event[3])  # sender; fingerprint and repeat count
        elif event[0] == REQUEST:
            about = (event[1],)
        elif event[0] == TIMEOUT:
            about = (event[1], world.now)
        self.names.append((event[0], world.at, *about))

    def after(self, *_: Any) -> None:
        """Nothing more to note."""


def names(program: Program, scenario: Scenario) -> Names:
    """The names of the run's events, as far as it goes."""
    world = make_world(program, scenario, observers=(), digest=False)
    world.recorder = namer = Namer()
    with contextlib.suppress(ProtocolFailure):  # it counts as far as it went
        run_to_end(world, LocalHost(program, scenario))
    return namer.names


def share(original: Names, edited: Names) -> float:
    """Of the edited run's events, those that the original has too."""
    return (Counter(original) & Counter(edited)).total() / max(1, len(edited))


def first_difference(original: Names, edited: Names) -> int:
    pairs = zip(original, edited, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(original), len(edited)))


def edited(source: str, edit: str) -> Program:
    before, after = EDITS[edit]
    if source.count(before) != 1:
        wanted = before.strip()
        raise UserError(f"The benchmark's edit {edit!r} no longer applies: protocols/raft.py has not one {wanted!r}.")
    return from_source("raft", source.replace(before, after))


def measure(sizes: Sizes, progress: Callable[[str], None]) -> tuple[Preserved, ...]:
    plain = reference("raft")
    programs = {edit: edited(plain.source, edit) for edit in EDITS}
    programs |= {f"without the check {mutant.partition('.')[2]}": load("raft", [mutant]) for mutant in MUTANTS}
    found: list[Preserved] = []
    for scheduler in SCHEDULERS:
        progress(f"edits under {scheduler}")
        planned = [plan(plain, Wish(seed=1, scheduler=scheduler), index) for index in range(sizes.edited_runs)]
        originals = [names(plain, scenario) for scenario in planned]
        for edit, program in programs.items():
            found.append(_preserved(edit, scheduler, originals, [names(program, scenario) for scenario in planned]))
        others = [attrs.evolve(scenario, seed=scenario.seed + 1) for scenario in planned]
        found.append(_preserved(CHANCE, scheduler, originals, [names(plain, scenario) for scenario in others]))
    return tuple(found)


def _preserved(edit: str, scheduler: str, originals: list[Names], others: list[Names]) -> Preserved:
    pairs = list(zip(originals, others, strict=True))
    return Preserved(
        edit=edit,
        scheduler=scheduler,
        share=round(middle([share(original, other) for original, other in pairs]), 3),
        first=middle([first_difference(original, other) for original, other in pairs]),
    )


def section(found: tuple[Preserved, ...]) -> Section:
    rows = [("edit", *(head for scheduler in SCHEDULERS for head in (scheduler, "from event")))]
    for edit in dict.fromkeys(each.edit for each in found):
        cells = [cell for each in found if each.edit == edit for cell in (f"{each.share:.0%}", f"{each.first:,.0f}")]
        rows.append((edit, *cells))
    note = (
        "The share of the edited run's events that the unedited run has too: the same message (sender, content, repeat "
        "count) to the same node, the same operation of a client, the same timer at the same time. Beside it, from "
        "which event on they differ. Medians of the runs. What two seeds have in common by chance is in the last row."
    )
    return Section("Schedule preserved after an edit", tuple(rows), note)
