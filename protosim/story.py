"""A story: the shortest run in which an invariant broke, as data to be drawn and read.

A Run is made of events; a Story is what a reader wants to know about the few that matter. It says
nothing about how it is drawn: `protosim.show` turns it into text, SVG or a page. All of it is
strings, ints, bools and tuples, so that cattrs carries it to JSON and back.
"""

from itertools import pairwise
from typing import Literal

import attrs

Kind = Literal["start", "deliver", "timeout", "request", "crash", "restart", "fault"]

DURABLE = "disk."  # prefix of the fields in `Moment.state` that survive a crash
CRASHED_AND_RESTARTED = "crash, restart"  # `Moment.what` of a restart that follows its crash at once
REFUSED = " → refused"  # how the answer to a client ends that says no
FEW_LOST = 8  # up to here each lost message is drawn; beyond, only counted


@attrs.frozen
class Moment:
    """One event at one node, with everything that the node did about it."""

    number: int  # from 1, rising; how the other moments and the reader refer to it
    at: int  # simulated microseconds
    node: str  # where; a fault that concerns no single node may name none of the story's nodes
    kind: Kind
    what: str  # short: "RequestVote", "election", "put x 3"
    detail: str = ""  # in full: "RequestVote(term=2, last=(1, 1))"; "" if there is no more to say
    peer: str | None = None  # who sent it
    cause: int | None = None  # number of the moment in which it was sent
    refused: tuple[str, ...] = ()  # names of the checks that did not hold
    wrote: tuple[str, ...] = ()  # "term = 2", "log[3] = (2, put x 3)"
    synced: bool = False  # whether its writes had reached the disk when it ended
    sent: tuple[tuple[str, str], ...] = ()  # (destination, the message in full)
    applied: tuple[str, ...] = ()
    replied: tuple[str, ...] = ()
    state: tuple[tuple[str, str], ...] = ()  # (field, value) afterwards; durable ones "disk.…"
    changed: tuple[str, ...] = ()  # fields of `state` that this moment changed
    back: tuple[str, ...] = ()  # of a restart: what the disk holds otherwise than before the crash: "voted_for = none"
    cut: str | None = None  # how the node crashed half-way: "crashed before its 2nd effect"

    @property
    def refuses(self) -> bool:
        """Whether a check that did not hold was all: who sent the message hears of it at most. Else it did not hold, or
        not yet, and the node went on: a vote counts although it makes no majority."""
        asked = self.kind in ("deliver", "request")
        took = self.wrote or self.changed or self.applied or self.cut is not None
        told = [to for to, _ in self.sent if to != self.peer]
        answered = [answer for answer in self.replied if not answer.endswith(REFUSED)]
        return bool(self.refused) and asked and not (took or told or answered)


def in_order(moments: tuple[Moment, ...]) -> bool:
    """Whether numbers start at 1 or later and rise."""
    numbers = [0, *(m.number for m in moments)]
    return all(a < b for a, b in pairwise(numbers))


@attrs.frozen
class Story:
    """Moments in order, and the invariant that is broken once the last of them is over.

    Raises ValueError, with a sentence, if the moments do not fit together.
    """

    protocol: str
    mutants: tuple[str, ...]
    nodes: tuple[str, ...]  # in the order in which they are drawn
    moments: tuple[Moment, ...]
    invariant: str  # "election_safety"
    title: str  # "Election Safety"
    statement: str  # what the invariant says, with its source
    sentence: str  # how it broke here
    replay: str  # the command that replays it
    lost: tuple[tuple[int, str, str], ...] = ()  # never delivered: (sent at moment, to, what)
    liars: tuple[str, ...] = ()  # the Byzantine ones: of them only what they send is told
    idle: tuple[str, ...] = ()  # nodes of the run that take no part, and are not among `nodes`
    drift: str = ""  # how the code differs from the protocol's file, as a diff; "" where it does not, or nobody knows

    def __attrs_post_init__(self) -> None:
        if len(set(self.nodes)) != len(self.nodes):
            raise ValueError(f"A story's nodes must differ; these do not: {', '.join(self.nodes)}.")
        if not in_order(self.moments):
            raise ValueError("A story's moments must be numbered upwards, from 1.")
        place = {m.number: m.node for m in self.moments}
        for m in self.moments:
            if m.node not in self.nodes and m.kind != "fault":
                raise ValueError(f"Moment {m.number} is at {m.node!r}, not a node of the story.")
            if m.cause is None:
                continue
            if m.cause >= m.number or place.get(m.cause) != m.peer:
                raise ValueError(
                    f"Moment {m.number} says that {m.peer!r} caused it at moment {m.cause},"
                    " which is not an earlier moment of that node."
                )
        for number, _, what in self.lost:
            if place.get(number) not in self.nodes:
                raise ValueError(f"Moment {number}, said to have sent {what!r}, is at no node.")
