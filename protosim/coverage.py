"""Abstract states: how much of a protocol a run has seen, whatever the protocol is.

Heartbeats make thousands of states that differ only in a clock or a counter. So a state is abstracted to how the nodes
compare, field by field, durable and volatile:

    a flag, a role, a node's name   itself
    a number                        its rank among the nodes' (terms 7, 9, 9 are 0, 1, 1)
    a log                           who agrees with whom, and the rank of its length
    another collection              how many elements, up to a few
    anything else                   who agrees with whom

and which nodes are down. Two clusters in which the same nodes are ahead of the same others are in one state.
"""

from collections.abc import Sequence
from enum import Enum
from hashlib import blake2b
from typing import Any

from protosim.api import Effect
from protosim.disk import Kept
from protosim.narrate import HOST_FIELDS
from protosim.run import LocalHost
from protosim.world import World

COLLECTIONS: tuple[Any, ...] = (dict, set, list)
MANY = 7  # elements of a collection; more are as good as this many
DOWN = object()  # the value of every field of a node that is down


class StateCounter:
    """A recorder (see World.recorder) that collects fingerprints of the abstract states which a run reaches."""

    def __init__(self, host: LocalHost) -> None:
        self.host = host
        self.seen: set[int] = set()
        self.columns: dict[str, list[Any]] = {}  # field -> its value at each node
        self.compared: dict[str, str] = {}  # field -> how the nodes compare in it

    def before(
        self, world: World, effects: Sequence[Effect], refused: Sequence[tuple[str, ...]], cut: int | None
    ) -> None:
        """The state is looked at when the event is over."""

    def after(self, world: World, cut: int | None, kept: Kept) -> None:
        at = world.at
        fields = _fields(self.host.nodes[at]) if world.alive[at] else dict.fromkeys(self.columns, DOWN)
        for name, content in fields.items():
            if name not in self.columns:
                self.columns[name] = [DOWN] * len(world.ids)
                self.compared = dict(sorted({**self.compared, name: ""}.items()))
            column = self.columns[name]
            if column[at] != content:
                column[at] = content
                self.compared[name] = _compared(column)
        state = "|".join(self.compared.values()).encode()
        self.seen.add(int.from_bytes(blake2b(state, digest_size=8).digest(), "big"))


def _fields(node: Any) -> dict[str, Any]:
    """A node's fields as values that later steps do not change."""
    found: dict[str, Any] = {}
    for name, content in node.__dict__.items():
        if name not in HOST_FIELDS:
            sized = type(content) in COLLECTIONS
            found[name] = bytes((min(len(content), MANY),)) if sized else content
    disk = node.disk
    for name in disk.FIELDS:
        content = getattr(disk, name)
        found[f"disk.{name}"] = tuple(content) if name in disk.LOGS else content
    return found


def _is_log(x: Any) -> bool:
    return isinstance(x, tuple)


def _compared(column: list[Any]) -> str:
    """How the nodes compare in one field."""
    numbers = sorted({x for x in column if type(x) is int})
    lengths = sorted({len(x) for x in column if _is_log(x)})
    said: list[str] = []
    for x in column:
        if type(x) is int:
            said.append(f"#{numbers.index(x)}")
        elif _is_log(x):
            said.append(f"={column.index(x)}#{lengths.index(len(x))}")
        elif x is DOWN:
            said.append("down")
        elif x is None or isinstance(x, (bool, str, bytes, Enum)):
            said.append(repr(x))
        else:
            said.append(f"={column.index(x)}")  # the first node that agrees
    return ",".join(said)
