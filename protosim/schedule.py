"""What a scheduler gives the world: distributions as tables, and hooks where a table is not enough.

A scheduler is a file in `schedulers/`: a docstring (the paper, and where we depart from it),
`draw(draw)` that picks its parameters (a dict of integers) from keyed draws, and `make(params)`
that makes the Schedule.
"""

import copy
from collections.abc import Callable
from typing import Any

import attrs

from protosim.keys import Table


@attrs.define
class Schedule:
    """Tables have 4096 entries, in microseconds; 12 keyed bits choose one."""

    delays: Table  # of messages
    request_gaps: Table | None  # between client requests; None: no clients
    pace: int  # a typical election timeout: faults scale their periods by it
    timers: Table | None = None  # memoryless timeouts whatever range a node asks for; None: uniform within the range
    rank: Callable[[Any, int, tuple[Any, ...], int], int] | None = None
    """(world, kind, entry, due) -> priority, the lowest first, instead of times."""
    adversary: Callable[[Any, int, int, Any, int], int] | None = None
    """(world, src, dst, message, delay) -> delay, for who looks at what is sent."""
    after_event: Callable[[Any], None] | None = None
    bound: str = ""
    """What the scheduler guarantees, as a sentence, if it guarantees anything."""

    def copy(self) -> "Schedule":
        """Hooks that are methods of a stateful policy are bound to a copy of it."""
        owners: dict[int, Any] = {}
        twin = attrs.evolve(self)
        for name in ("rank", "adversary", "after_event"):
            hook = getattr(self, name)
            owner = getattr(hook, "__self__", None)
            if owner is not None:
                twin_owner = owners.setdefault(id(owner), copy.deepcopy(owner))
                setattr(twin, name, getattr(twin_owner, hook.__name__))
        return twin
