"""Scenario: everything that decides a run, as data; saved as readable JSON."""

from typing import Any, Literal

import attrs

Kind = Literal["deliver", "timeout", "request", "crash", "restart", "reboot", "lie"]


@attrs.frozen
class Choice:
    """A scheduler or a fault by name, with its parameters (integers: microseconds, shares in 1/1000, switches)."""

    name: str
    params: dict[str, int] = attrs.field(factory=dict)


@attrs.frozen
class Step:
    """One event of a script. A message is named by sender, type, fingerprint and repeat count, never by a position."""

    do: Kind
    node: str
    at: int = 0  # simulated microseconds
    src: str = ""  # deliver, lie: the sender
    message: str = ""  # deliver, lie: the type
    fingerprint: int = 0  # deliver: of the canonical bytes and the link
    repeat: int = 1  # deliver: this message's n-th sending on this link
    age: int = 0  # deliver: how many newer messages of its type had been sent on this link
    again: bool = False  # deliver: by age alone, although it has arrived before
    timer: str = ""  # timeout
    op: int = 0  # request
    command: Any = None  # request: in wire form
    lie: Any = None  # lie: the message that a liar sends, in wire form
    clock: int | None = None  # the node's own clock, where it differs from `at`
    cut: int | None = None  # the node crashes after this many effects of the event
    kept: tuple[tuple[int, int], ...] = ()  # unsynced writes that a crash keeps: (position, entries or -1)


@attrs.frozen
class Fork:
    """From this many events on, decisions are drawn from another seed."""

    at_event: int
    seed: int


@attrs.frozen(kw_only=True)
class Scenario:
    """Protocol, cluster, seed, scheduler, faults, bounds; for a story, the script that replaces the schedule."""

    protocol: str
    seed: int
    nodes: int = 3
    switches: dict[str, Any] = attrs.field(factory=dict)
    scheduler: Choice = Choice("uniform")
    faults: tuple[Choice, ...] = ()
    events: int = 1500  # at most
    horizon: int = 600_000_000  # simulated microseconds at most: a cluster that stays down has no events to count
    heal: int | None = None  # the faults end here; progress is due by the horizon
    forks: tuple[Fork, ...] = ()
    script: tuple[Step, ...] | None = None

    def node_ids(self) -> tuple[str, ...]:
        return tuple(f"n{i}" for i in range(1, self.nodes + 1))
