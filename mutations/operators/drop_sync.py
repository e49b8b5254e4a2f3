"""Drop one sync: `self.sync()` is deleted, and the write before it is no longer durable in time.

The code still works on every run without a crash. Comments above and beside the sync go with it;
a block that held nothing else is left with `pass`. Which one is meant is counted in its function.
"""

from collections.abc import Iterator

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over
from mutations.syntax import syncs

KIND = DriftKind.LOST_DURABILITY
TITLE = "{function} skips its sync {which}, so a crash may undo what it promised."
OVER: Over = "function"
EXAMPLES = (
    (
        """
def handle_vote(self, src, m):
    if granted:
        self.disk.voted_for = src
        self.sync()  # before responding
    self.send(src, Vote(granted))
""",
        """
def handle_vote(self, src, m):
    if granted:
        self.disk.voted_for = src
    self.send(src, Vote(granted))
""",
    ),
    (
        """
def flush(self):
    if self.dirty:
        self.sync()
""",
        """
def flush(self):
    if self.dirty:
        pass
""",
    ),
)


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    for number, (block, index) in enumerate(syncs(function), 1):
        yield Change(str(number), ((block.body[index], cst.RemovalSentinel.REMOVE),))
