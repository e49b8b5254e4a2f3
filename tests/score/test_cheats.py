"""Cheats: each scores 0, and none becomes an error of ours.

A cheat is the reference (`RIGHT`) or the handed-out source (`WRONG`) with code added. Whoever runs candidate code in a
process of its own can do no more there than be a strange node; so a cheat on the right source shows that the strange
node is caught, and one on the wrong source that nothing is gained.
"""

from pathlib import Path

import pytest

from protosim.score import judge as judging
from protosim.score import pool as pools
from tests.score.candidates import BUGS, REFERENCE, drifted, judge, shorten

RIGHT, WRONG = "right", "wrong"

PASSED = '\nprint("10 passed, 0 failed")\nprint(\'{"score": 1.0}\', flush=True)\n'

CHEATS = {
    "prints what a test would print and exits": (
        WRONG, PASSED + "import os\nos._exit(0)\n", "compile_error"
    ),
    "prints what a test would print": (WRONG, PASSED, "below_min_pass_rate"),
    "forges frames": (
        WRONG,
        """
import os, json, struct
def forge():
    body = json.dumps([[[], []]] * 8).encode()
    for fd in range(3, 64):
        try:
            os.write(fd, struct.pack("<I", 2) + b'""' + struct.pack("<I", len(body)) + body)
        except OSError:
            pass
forge()
""",
        "compile_error",
    ),
    "patches json and struct": (
        WRONG,
        """
import json, struct
json.dumps = lambda *_, **__: '[[[], []]]'
""",
        "compile_error",
    ),
    "sends floats": (RIGHT, "def f(self, src, m): self.send(src, Vote(float('nan'), True))", None),
    "sends what equals everything": (
        RIGHT,
        """
class Anything(str):
    __eq__ = lambda *_: True
    __hash__ = str.__hash__
    __class__ = int
def f(self, src, m):
    self.disk.voted_for = Anything("n1")
    self.send(Anything("n9"), Vote(1, True))
""",
        None,
    ),
    "sends a subclass of a message": (
        RIGHT,
        """
class Yes(int):
    __gt__ = __ge__ = __eq__ = lambda *_: True
    __hash__ = int.__hash__
def f(self, src, m): self.send(src, Vote(Yes(m.term), True))
""",
        None,
    ),
    "nests values": (
        RIGHT,
        """
def f(self, src, m):
    x = ()
    for _ in range(100_000):
        x = (x,)
    self.reply(1, x)
""",
        None,
    ),
    "floods the parent": (
        RIGHT,
        """
def f(self, src, m):
    many = tuple(Entry(m.term, Command("put", "x" * 1000, 1)) for _ in range(1000))
    for peer in self.peers:
        self.send(peer, AppendEntries(m.term, 0, 0, many, 0))
""",
        None,
    ),
    "takes all memory": (RIGHT, "def f(self, src, m): self.hoard = bytearray(1 << 31)", None),
    "loops": (RIGHT, "def f(self, src, m):\n    while True: pass", "timeout"),
    "sleeps": (RIGHT, "import time\ndef f(self, src, m): time.sleep(100)", "timeout"),
    "exits in a handler": (RIGHT, "import os\ndef f(self, src, m): os._exit(0)", None),
    "raises SystemExit": (RIGHT, "def f(self, src, m): raise SystemExit(0)", None),
    "applies and answers at random": (
        RIGHT, "def f(self, src, m):\n    for op in range(1, 50): self.reply(op, None)", None
    ),
    "changes its disk without a word": (
        RIGHT, "def f(self, src, m): object.__setattr__(self.disk, 'term', 0)", None
    ),
    "refuses every client": (
        RIGHT, "Raft.request = lambda self, op, command: self.refuse(op)", None
    ),
    "never elects anybody": (RIGHT, 'Raft.TIMERS["election"] = lambda self: None', None),
    "has one fixed leader": (
        RIGHT,
        """
_start_election = Raft.TIMERS["election"]
def only_n1(self):
    if self.me == "n1":
        _start_election(self)
    else:
        self.set_timer(ELECTION, ELECTION_TIMEOUT)
Raft.TIMERS["election"] = only_n1
""",
        None,
    ),
    "keeps the log in a module global": (
        RIGHT,
        """
LOG = []
class Shared(Disk):
    term: Term = 0
    voted_for: NodeId | None = None
    log: Log[Entry]
def f(self, src, m):
    if isinstance(m, AppendEntries):
        LOG[m.prev_log_index:] = m.entries
        object.__setattr__(self.disk, "log", LOG_OF(self))
        Raft.HANDLERS[type(m)](self, src, m)
    else:
        Raft.HANDLERS[type(m)](self, src, m)
def LOG_OF(node):
    log = Log(LOG)
    log._effects, log._field = node._effects, "log"
    return log
""",
        None,
    ),
    "changes a message's fields": (
        RIGHT, "Vote.FIELDS = (('term', int),)", None
    ),
}  # fmt: skip

HOOK = "\nRaft.receive = f\n"


@pytest.mark.parametrize(("base", "code", "stage"), CHEATS.values(), ids=list(CHEATS))
def test_a_candidate_scores_nothing_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str, code: str, stage: str | None
) -> None:
    shorten(monkeypatch, 1, ("kill", "chaos", "live"))
    monkeypatch.setattr(judging, "STRIKES", 1)
    if "time.sleep" in code:
        monkeypatch.setattr(pools, "SILENCE", 4.0)
    source = REFERENCE if base == RIGHT else drifted()
    result = judge(f"{source}\n{code}\n{HOOK if 'def f(' in code else ''}", tmp_path)
    assert result.score == 0
    assert result.pass_rate == 0
    assert result.status == "violation"
    assert result.stage == (stage or "below_min_pass_rate"), result.sentence
    if base == WRONG:
        assert set(result.bugs.values()) <= {"unfixed", "regressed"}
    assert set(result.bugs) == set(BUGS)


def test_sentences_hold_nothing_that_a_terminal_obeys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 1, ("chaos",))
    code = "def f(self, src, m): raise ValueError('\\x1b[2J\\r' + 'x' * 10000)"
    result = judge(f"{REFERENCE}\n{code}\n{HOOK}", tmp_path)
    assert result.failures
    for failure in result.failures:
        assert failure["sentence"].isprintable()
        assert len(failure["sentence"]) < 500
