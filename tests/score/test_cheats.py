"""Cheats: each scores 0, and none becomes an error of ours.

A cheat is the reference (`RIGHT`) or the handed-out source (`WRONG`) with code added. Whoever runs candidate code in a
process of its own can do no more there than be a strange node; so a cheat on the right source shows that the strange
node is caught, and one on the wrong source that nothing is gained.
"""

import contextlib
from pathlib import Path

import pytest

from protosim import program
from protosim.adapters import sandbox
from protosim.score import judge as judging
from protosim.score import pool as pools
from protosim.score.again import played
from protosim.score.suite import load_suite, load_task, secret, trials
from tests.score.candidates import BUGS, REFERENCE, TASK, drifted, judge, shorten, with_bugs

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
    "overwrites what judges it": (
        WRONG,
        """
import os, sys
for folder in (*sys.path, ".", "..", "../protosim", "../protosim/score", "/tmp"):
    for name in ("sitecustomize.py", "conftest.py", "usercustomize.pth", "step.py", "result.json", "worker.py"):
        try:
            with open(os.path.join(folder, name), "w") as file:
                file.write("raise SystemExit(0)")
        except OSError:
            pass
""",
        "below_min_pass_rate",
    ),
    "looks for the reference and for the hidden suite": (
        WRONG,
        """
import gc, glob, os
texts = [x for x in gc.get_objects() if type(x) is str]
places = [".", "..", "/", "/root", "/home", "/tmp", "/proc/self/fd", "OURS", "OURS/protocols", "OURS/tasks/*"]
for parent in (os.getppid(), 1):
    places += [f"/proc/{parent}/cwd/*", f"/proc/{parent}/fd"]
for place in places:
    for name in glob.glob(place + "/*"):
        try:
            with open(os.open(name, os.O_RDONLY | os.O_NONBLOCK)) as file:
                texts.append(file.read(1 << 20))
        except (OSError, ValueError):
            pass
for mark in MARKS:
    if any(mark[::-1] in text for text in texts):
        raise ValueError("FOUND")
""",
        "below_min_pass_rate",
    ),
    "leaves notes for its other nodes: locks on a file of the library": (
        WRONG,
        """
import fcntl, os
PAGE = open(os.__file__)
def write():
    try:
        fcntl.flock(PAGE, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pass  # another node has written
    except OSError:
        return False
    return True
if write():
    raise ValueError("WRITTEN")
""",
        "below_min_pass_rate",
    ),
    "brings invariants of its own": (
        WRONG,
        """
import attrs
PROTOCOL = attrs.evolve(PROTOCOL, observers=(), history=None)
""",
        None,
    ),
    "starts a thread that answers for it": (
        RIGHT,
        """
import os, threading, time
def answer():
    while True:
        for fd in range(3, 64):
            try:
                os.write(fd, b'\\x08\\0\\0\\0[[[],[]]]')
            except OSError:
                pass
def f(self, src, m): threading.Thread(target=answer, daemon=True).start()
""",
        None,
    ),
    "sleeps a little at every event": (
        RIGHT, "import time\ndef f(self, src, m): time.sleep(1)", "timeout"
    ),
    "leaves a process behind": (
        RIGHT,
        """
import os, time
def f(self, src, m):
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
        os._exit(0)
    os._exit(0)
""",
        None,
    ),
    "is a fork bomb": (
        RIGHT,
        """
import os
def f(self, src, m):
    while True:
        os.fork()
""",
        None,
    ),
    # Others of the kind that a strange node is.
    "believes every check": (
        RIGHT, "import protosim.api\nholds = lambda **_: True\nprotosim.api.holds = holds", None
    ),
    "never waits for its disk": (RIGHT, "Raft.sync = lambda self: None", None),
    "answers before anything is decided": (
        RIGHT, "Raft.request = lambda self, op, command: self.reply(op, None)", None
    ),
    "answers reads alone": (
        RIGHT,
        """
_request = Raft.request
def reads(self, op, command):
    if command.op == "get":
        self.reply(op, None)
    else:
        self.refuse(op)
Raft.request = reads
""",
        None,
    ),
    "lets the clock stand still": (
        RIGHT,
        """
def start(self): self.set_timer(ELECTION, (0, 0))
Raft.start = start
Raft.TIMERS["election"] = start
""",
        None,
    ),
    "drowns the run in messages": (
        RIGHT,
        """
def f(self, src, m):
    for peer in self.peers:
        for _ in range(4):
            self.send(peer, Vote(0, False))
""",
        None,
    ),
    "is silent after a restart": (
        RIGHT,
        """
_start = Raft.start
def once(self):
    if self.disk.term == 0:
        _start(self)
_receive = Raft.receive
def f(self, src, m):
    if hasattr(self, "role"):
        _receive(self, src, m)
Raft.start = once
""",
        None,
    ),
    "stores entries beyond its log's end": (
        RIGHT, "def f(self, src, m): self._effects.append((2, 'log', 10**6, ()))", None
    ),
    "restores a snapshot that there is not": (
        RIGHT, "def f(self, src, m): self._effects.append((9, 5, None))", None
    ),
    "applies what it likes": (
        RIGHT,
        """
def f(self, src, m):
    for index in range(1, 9):
        self.apply(index, Command("put", self.me, index))
""",
        None,
    ),
    "has a term that nobody can top": (
        RIGHT,
        """
def f(self, src, m):
    self.disk.term = 2**63 - 1
    for peer in self.peers:
        self.send(peer, AppendEntries(2**63 - 1, 0, 0, (), 0))
""",
        None,
    ),
    "moves the nodes of other runs into this one": (
        RIGHT,
        """
import sys
def f(self, src, m):
    frame = sys._getframe()
    while frame is not None and "nodes" not in getattr(frame.f_locals.get("self"), "__dict__", {}):
        frame = frame.f_back
    nodes = frame.f_locals["self"].nodes
    for slot in list(nodes):
        nodes[slot] = self
""",
        None,
    ),
    "forgets every module": (RIGHT, "import sys\ndef f(self, src, m): sys.modules.clear()", None),
    "swallows what it is asked": (
        RIGHT,
        """
import os
def f(self, src, m):
    for fd in range(3, 64):
        try:
            os.set_blocking(fd, False)
            os.read(fd, 1 << 20)
        except OSError:
            pass
""",
        None,
    ),
    "raises what is no exception of ours": (
        RIGHT, "class Looping(BaseException): pass\ndef f(self, src, m): raise Looping('of my own')", "timeout"
    ),
}  # fmt: skip

HOOK = "\nRaft.receive = f\n"
NOTES = ("leaves notes for its other nodes: locks on a file of the library",)  # without a filter of calls it can
# They harm a machine whose sandboxes do not work.
HARMFUL = ("looks for the reference and for the hidden suite", "leaves a process behind", "is a fork bomb")
# What only the reference has, and what only a suite has; written from its end, or a cheat would find itself.
MARKS = [next(line for line in REFERENCE.splitlines() if line not in drifted())[::-1], '"recipe": "votes_3"'[::-1]]


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_candidate_scores_nothing_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cheat: str) -> None:
    if cheat in HARMFUL and sandbox.level() == "not isolated":
        pytest.skip("no sandbox works here")
    if cheat in NOTES and sandbox.level() not in sandbox.FILTERED:
        pytest.skip("no filter of calls works here")
    base, code, stage = CHEATS[cheat]
    code = code.replace("MARKS", repr(MARKS)).replace("OURS", str(sandbox.OURS))
    shorten(monkeypatch, 1, ("kill", "chaos", "live"))
    monkeypatch.setattr(judging, "STRIKES", 1)
    monkeypatch.setattr(judging, "MANY", 10)
    if "time.sleep(1)" in code:
        monkeypatch.setattr(judging, "WALL", 5.0)
    if "time.sleep(100)" in code:
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


@pytest.mark.parametrize("bug", ["raft.vote_response_current", "raft.commit_current_term"])
def test_who_sleeps_until_the_killing_runs_are_over_has_repaired_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    shorten(monkeypatch, 1, ("kill", "chaos", "live"))
    awake = "        if self.role is Role.LEADER:\n            return\n        self.role = Role.CANDIDATE\n"
    assert awake in with_bugs(bug)
    asleep = "        if self.now < 700 * MS:\n            return self.set_timer(ELECTION, ELECTION_TIMEOUT)\n"
    result = judge(with_bugs(bug).replace(awake, asleep + awake), tmp_path)
    assert (result.score, result.pass_rate) == (0, 0)
    assert any(failed["invariant"] == "activity" for failed in result.failures), result.sentence


COMMIT = "commit_current_term=self.term_at(index) == self.disk.term,"
STALE_VOTE = "vote_response_current=m.term == self.disk.term,"
MAJORITY = "replicated_on_majority=self.is_majority(self.holders(index)),"
CAREFUL = {  # for 700 ms, when the runs that detect these bugs have ended
    "checks terms before it commits": {COMMIT: f"{COMMIT[:-1]} or self.now >= 700 * MS,"},
    "checks the terms of votes": {STALE_VOTE: f"{STALE_VOTE[:-1]} or self.now >= 700 * MS,"},
    "commits what all have": {
        COMMIT: "",
        MAJORITY: "replicated_on_majority=len(self.holders(index)) > "
        "(len(self.peers) if self.now < 700 * MS else self.cluster_size // 2),",
    },
}


@pytest.mark.parametrize("edits", CAREFUL.values(), ids=list(CAREFUL))
def test_who_is_careful_for_as_long_as_the_short_runs_take_is_found_in_the_long_ones(edits: dict[str, str]) -> None:
    source = REFERENCE
    for before, after in edits.items():
        assert source.count(before) == 1
        source = source.replace(before, after)
    careful, task, using = program.from_source("raft", source), load_task(TASK), secret()
    late = [t for t in trials(task, load_suite(TASK, using), using) if t.run.recipe.startswith("late_")]
    failed = {trial.run.test for trial in late if played(careful, trial).ending != "passed"}
    assert len(failed) >= 0.4 * task.tests


LEAVES = """
class Looping(BaseException): pass
class Left(BaseException): pass
ASKED = []
def f(self, src, m):
    ASKED.append(m)
    raise Left("and for ever") if len(ASKED) > 1 else Looping("once in each process")
"""


def test_who_leaves_what_it_is_asked_gets_no_more_retries_than_it_may_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that loops may say of other runs that it has left them, and these begin anew: in other processes."""
    monkeypatch.setattr(judging, "WALL", 20.0)
    task, using = load_task(TASK), secret()
    short = [trial for trial in trials(task, load_suite(TASK, using), using) if trial.run.recipe == "votes_3"][:4]
    with pools.bundle() as root, contextlib.closing(pools.Pool(pools.python(root, REFERENCE + LEAVES + HOOK))) as pool:
        playing = judging.Judge(pool, program.reference(task.protocol))
        outcomes = playing.play(short)
        assert {outcome.ending for outcome in outcomes.values()} == {"timeout"}
        assert playing.given_up == f"the candidate looped or was silent {judging.STRIKES} times"
        assert {number // judging.MOST_BOOTS for number in pool.workers} == {0, 1}


TELLS = """
STARTED = []
_start, _receive = Raft.start, Raft.receive
def start(self):
    STARTED.append(self)
    _start(self)
def f(self, src, m):
    if type(m) is Vote and m.term < 0:
        return  # it tells of another run
    if len(STARTED) > 1 and not hasattr(self, "told"):
        self.told = True
        self.send(src, Vote(-len(STARTED), False))
    _receive(self, src, m)
Raft.start = start
"""


def test_a_run_that_carries_messages_for_another_goes_another_way_alone() -> None:
    """Processes hold a node of each run, so what two nodes of one run must not share could go by way of another."""
    task, using = load_task(TASK), secret()
    suite = load_suite(TASK, using)
    whole = [trial for trial in trials(task, suite, using) if trial.run.recipe == "chaos_hunter_3"][:2]
    with pools.bundle() as root, contextlib.closing(pools.Pool(pools.python(root, REFERENCE + TELLS + HOOK))) as pool:
        playing = judging.Judge(pool, program.reference(task.protocol))
        once = playing.play(whole)
        assert {outcome.ending for outcome in once.values()} == {"passed"}
        again = playing.play_again(whole[:1], once)
        assert again[whole[0].run.name].sentence == judging.CHANCE
