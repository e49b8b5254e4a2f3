"""Keep in memory what must be durable: a field of the disk is lost in every restart.

`start` gives the field what a new disk holds, as it does with all that is volatile; so the field is
lost wherever a plain attribute would be. Writes and syncs stay, since what judges a protocol reads the
disk. A class that inherits its `start` gets one. The site is named after the field.
"""

import functools
from collections.abc import Iterator

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over
from mutations.syntax import attribute, classes, methods, nodes

KIND = DriftKind.LOST_DURABILITY
TITLE = "{function} keeps {which} in memory only, so a restart loses it."
OVER: Over = "class"
EXAMPLES = (
    (
        """
class RaftDisk(Disk):
    term: int = 0
    log: Log[Entry]

class Raft(Node[RaftDisk]):
    def start(self):
        \"\"\"Restart.\"\"\"
        self.next = self.disk.term
""",
        """
class RaftDisk(Disk):
    term: int = 0
    log: Log[Entry]

class Raft(Node[RaftDisk]):
    def start(self):
        \"\"\"Restart.\"\"\"
        self.disk.term = 0
        self.next = self.disk.term
""",
    ),
    (
        """
class RaftDisk(Disk):
    log: Log[Entry]

class Raft(Node[RaftDisk]):
    def start(self):
        self.next = self.disk.log[-1]
""",
        """
class RaftDisk(Disk):
    log: Log[Entry]

class Raft(Node[RaftDisk]):
    def start(self):
        self.disk.log.reset(0, ())
        self.next = self.disk.log[-1]
""",
    ),
    (
        """
class SnapshotDisk(RaftDisk):
    snapshot: Snapshot | None = None

class SnapshotRaft(Raft):
    def compact(self):
        self.disk.snapshot = self.snapshot()
""",
        """
class SnapshotDisk(RaftDisk):
    snapshot: Snapshot | None = None

class SnapshotRaft(Raft):
    def compact(self):
        self.disk.snapshot = self.snapshot()

    def start(self) -> None:
        self.disk.snapshot = None
        super().start()
""",
    ),
    (
        """
class Figure3(Observer):
    term: int = 0

    def start(self):
        return self.disk.term
""",
        """
class Figure3(Observer):
    term: int = 0

    def start(self):
        return self.disk.term
""",
    ),
)


def changes(owner: cst.ClassDef, module: cst.Module) -> Iterator[Change]:
    if owner is not _node(module):
        return
    for field, content in _fields(module).items():
        reset = f"self.disk.{field} = {content}" if content else f"self.disk.{field}.reset(0, ())"
        starts = [method for method in methods(owner) if method.name.value == "start"]
        if starts:
            first, new = _first(starts[0]), cst.parse_statement(reset)
            yield Change(field, ((first, cst.FlattenSentinel([new, first])),))
        else:
            last = owner.body.body[-1]
            assert isinstance(last, cst.BaseStatement)
            new = cst.parse_statement(f"def start(self) -> None:\n    {reset}\n    super().start()\n")
            apart = new.with_changes(leading_lines=[cst.EmptyLine(indent=False)])
            yield Change(field, ((last, cst.FlattenSentinel([last, apart])),))


def _first(start: cst.FunctionDef) -> cst.BaseStatement:
    """The first statement, or the one behind the docstring if there is one."""
    first, *rest = start.body.body
    assert isinstance(first, cst.BaseStatement)
    is_text = start.get_docstring() is not None
    second = rest[0] if rest else first
    assert isinstance(second, cst.BaseStatement)
    return second if is_text else first


@functools.lru_cache(maxsize=4)
def _node(module: cst.Module) -> cst.ClassDef | None:
    """The class that starts with the disk: the last of those that use `self.disk`, or that inherit from `Node`."""
    found = None
    for _, owner in classes(module):
        uses = any(attribute(node) == "disk" for method in methods(owner) for node in nodes(method))
        if uses or "Node" in _bases(owner):
            found = owner
    return found


def _fields(module: cst.Module) -> dict[str, str]:
    """The fields of the disks that the module defines, and the code of what a new disk holds; empty for a log."""
    fields: dict[str, str] = {}
    disks = {"Disk"}
    for _, owner in classes(module):
        bases = _bases(owner)
        if any(base in disks or base.endswith("Disk") for base in bases):
            disks.add(owner.name.value)
            for line in owner.body.body:
                match line:
                    case cst.SimpleStatementLine(body=[cst.AnnAssign(target=cst.Name(value=field), value=value)]):
                        fields[field] = module.code_for_node(value) if value is not None else ""
                    case _:
                        pass
    return fields


def _bases(owner: cst.ClassDef) -> list[str]:
    """`Node` of `class Raft(Node[RaftDisk])`."""
    values = [base.value.value if isinstance(base.value, cst.Subscript) else base.value for base in owner.bases]
    return [value.value for value in values if isinstance(value, cst.Name)]
