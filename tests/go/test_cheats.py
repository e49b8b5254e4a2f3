"""Cheats in Go: each is refused by name or scores 0, and none becomes an error of ours.

A cheat is the reference with code added, which sees every message first (`r.cheat(src, m)`) or takes a line's place.
What the gate refuses is in `test_gate.py`; here is what it lets through.
"""

from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest

from protosim import program
from protosim.adapters import go
from protosim.score import judge as judges
from protosim.score import pool as pools
from protosim.score.suite import load_suite, load_task, secret, trials
from tests.go.conftest import TASK, Judge, Worker
from tests.score.candidates import BUGS, shorten

RECEIVE = "func (r *Raft) Receive(src step.NodeID, m step.Value) {\n"

# how it ends -> what -> the body of `cheat`, and whatever else it needs
WITH_EVERY_MESSAGE = {
    "sends a number that is none": "r.Send(src, math.NaN())",
    "sends what nobody knows": "type Ping struct{ N int }\n\tr.Send(src, Ping{1})",
    "sends to nobody": 'r.Send("n99", Vote{1, true})',
    "sends a message within a message": "r.Send(src, []any{Vote{1, true}})",
    "answers with values in values": "x := any(1)\n\tfor range 100_000 {\n\t\tx = []any{x}\n\t}\n\tr.Reply(1, x)",
    "answers with a ring": "x := []any{nil}\n\tx[0] = x\n\tr.Reply(1, x)",
    "floods the parent": (
        'r.Broadcast(AppendEntries{1, 0, 0, make([]Entry, 100_000), 0})'
    ),
    "takes all memory": "hoard = append(hoard, make([]byte, 1<<32)...)",
    "takes memory forever": "for {\n\t\thoard = append(hoard, hoard...)\n\t\thoard = append(hoard, 1)\n\t}",
    "calls itself forever": "r.cheat(src, m)",
    "panics": 'panic("10 passed")',
    "replies at random": "for op := range 50 {\n\t\tr.Reply(step.OpID(op), nil)\n\t}",
    "has timers of no length": "r.SetTimer(election, step.Range{-5, 1 << 62})",
    "has a timer of its own": 'r.SetTimer("PASS\\n", electionTimeout)',
    "applies what it likes": 'for i := range 9 {\n\t\tr.Apply(i, step.Command{"put", "x", i})\n\t}',
    "restores a snapshot that there is not": 'r.Restore(5, []step.Register{{"x", 1}})',
    "has a term that nobody can top": (
        "r.Disk.Term = math.MaxInt\n\tr.Write(&r.Disk.Term)\n\tr.Broadcast(AppendEntries{Term: math.MaxInt})"
    ),
    "forgets its log": "r.Disk.Log.Reset(0, nil)",
    "drops what its log begins with": "r.Disk.Log.Reset(7, nil)",
    "empties what it embeds": "r.Node = step.Node[Disk, Switches]{}",
    "changes its disk without a word": "r.Disk.Term = 0\n\tr.Disk.VotedFor = src",
    "has its peers do the work": "r.Peers = r.Peers[:1]",
    "lives in a small cluster": "r.ClusterSize = 1",
    "drowns the run in messages": "for range 4 {\n\t\tr.Broadcast(Vote{0, false})\n\t}",
}  # fmt: skip

# what -> edits of the reference
OTHERWISE = {
    "never waits for its disk": [("\tr.Sync()\n", "")],
    "refuses every client": [('"request_to_leader", r.role == leader', '"request_to_leader", false')],
    "answers before anything is decided": [("\tr.appendEntry(Entry{r.Disk.Term, command})\n", "\tr.Reply(op, nil)\n")],
    "believes every check": [
        ("r.Holds(", "all("),
        ("type Raft struct", "func all(...step.Condition) bool { return true }\n\ntype Raft struct"),
    ],
    "believes no check": [
        ("r.Holds(", "all("),
        ("type Raft struct", "func all(...step.Condition) bool { return false }\n\ntype Raft struct"),
    ],
    "keeps the log in a global, which crashes do not take": [
        ("\tr.Sync()\n", "\tkept[r.Me] = memory{r.Disk.Term, r.Disk.VotedFor, r.entriesAfter(0, 1 << 20)}\n"),
        (
            "\tr.commitIndex = 0\n",
            "\tr.commitIndex = 0\n\tm := kept[r.Me]\n\tr.Disk.Term, r.Disk.VotedFor = m.term, m.vote\n"
            "\tr.Disk.Log.Store(0, m.log)\n",
        ),
        (
            "type Raft struct",
            "type memory struct {\n\tterm Term\n\tvote step.NodeID\n\tlog []Entry\n}\n\n"
            "var kept = map[step.NodeID]memory{}\n\ntype Raft struct",
        ),
    ],
    "counts the votes of all nodes in a global": [
        ("\t\tr.votes[src] = true\n", "\t\tr.votes[src] = true\n\t\tall[src] = true\n"),
        ("r.IsMajority(len(r.votes))", "r.IsMajority(len(all))"),
        ("type Raft struct", "var all = map[step.NodeID]bool{}\n\ntype Raft struct"),
    ],
    "is one node in all places": [
        ("return new(Raft)", "return one"), ("type Raft struct", "var one = new(Raft)\n\ntype Raft struct"),
    ],
    "writes to the log of another": [
        ("\tr.appendEntry(Entry{r.Disk.Term, command})\n",
         "\tif last != nil {\n\t\tr.Disk.Log = last.Disk.Log\n\t}\n\tlast = r\n"
         "\tr.appendEntry(Entry{r.Disk.Term, command})\n"),
        ("type Raft struct", "var last *Raft\n\ntype Raft struct"),
    ],
    "panics with what panics when it is printed": [
        (RECEIVE, f"{RECEIVE}\tpanic(bomb{{}})\n"),
        ("type Raft struct", "type bomb struct{}\n\nfunc (bomb) Error() string { panic(bomb{}) }\n\ntype Raft struct"),
    ],
    "has one fixed leader": [("if r.role == leader {\n\t\treturn\n", 'if r.Me != "n1" {\n\t\treturn\n')],
    "is right in a cluster of three alone": [
        ('step.Check("log_up_to_date", ', 'step.Check("log_up_to_date", r.ClusterSize != 3 || '),
        ('step.Check("vote_once_per_term", ', 'step.Check("vote_once_per_term", r.ClusterSize != 3 || '),
    ],
    "lets the clock stand still": [("step.Range{150 * step.MS, 300 * step.MS}", "step.Range{0, 0}")],
    "brings an application that knows the answers": [
        ("\tNew:    func() step.Machine { return new(Raft) },\n",
         "\tNew:    func() step.Machine { return new(Raft) },\n"
         "\tNewApplication: func() step.Application { return oracle{} },\n"),
        ("type Raft struct",
         "type oracle struct{}\n\nfunc (oracle) Apply(step.Value) any { return 7 }\n"
         "func (oracle) Snapshot() step.Value { return 7 }\nfunc (oracle) Restore(step.Value) {}\n\ntype Raft struct"),
    ],
    "is silent after a restart": [("\tr.commitIndex = 0\n", "\tif r.Disk.Term > 0 {\n\t\treturn\n\t}\n")],
}  # fmt: skip


def scores_nothing(judge: Judge, source: str) -> str:
    """The stage that decided."""
    result = judge(source)
    assert result.score == 0
    assert result.status == "violation"
    assert not result.solved
    assert "fixed" not in result.bugs.values() or result.stage == "below_min_pass_rate"
    return result.stage


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, 1, ("kill", "chaos", "live"))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("what", WITH_EVERY_MESSAGE)
def test_a_candidate_that_with_every_message(judge: Judge, reference: str, what: str) -> None:
    body = WITH_EVERY_MESSAGE[what]
    cheat = f"\nvar hoard []byte\n\nfunc (r *Raft) cheat(src step.NodeID, m step.Value) {{\n\t{body}\n}}\n"
    source = reference.replace(RECEIVE, f"{RECEIVE}\tr.cheat(src, m)\n") + cheat
    source = source.replace('"cmp"', '"cmp"\n\t"math"' if "math." in body else '"cmp"')
    assert scores_nothing(judge, source) == "below_min_pass_rate"


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("what", OTHERWISE)
def test_a_candidate_that(judge: Judge, reference: str, what: str) -> None:
    source = reference
    for before, after in OTHERWISE[what]:
        assert before in source
        source = source.replace(before, after)
    assert scores_nothing(judge, source) == "below_min_pass_rate"


@pytest.mark.usefixtures("short")
def test_a_candidate_that_loops_is_given_up(judge: Judge, reference: str) -> None:
    looping = reference.replace(RECEIVE, f"{RECEIVE}\tfor {{\n\t}}\n")
    assert scores_nothing(judge, looping) == "timeout"


def test_a_run_that_loops_costs_the_others_nothing(worker: Worker, reference: str) -> None:
    """The process in which it loops ends, with a node of each of the others."""
    task, using = load_task(TASK), secret()
    whole = trials(task, load_suite(TASK, using), using)
    short = [trial for trial in whole if trial.run.test == 1 and trial.run.breaks]
    looping = next(trial for trial in short if trial.scenario.nodes == 5)
    played = [looping, *(trial for trial in short if trial.scenario.nodes == 3)]
    source = reference.replace(RECEIVE, f"{RECEIVE}\tfor r.ClusterSize == 5 {{\n\t}}\n")
    outcomes = judges.Judge(worker(source), program.reference(task.protocol)).play(played)
    ends = {name: outcome.ending for name, outcome in outcomes.items()}
    assert ends == {trial.run.name: "timeout" if trial is looping else "passed" for trial in played}


AT_ITS_START = {
    "exits as if all had passed": 'func init() { panic("10 passed") }',
    "loops": "func init() { for {} }",
    "calls itself": "var x = f()\n\nfunc f() int { return f() + 1 }\n\nfunc init() { _ = x }",
    "takes all memory": "var x = make([]byte, 1<<40)",
    "leaves no values": "func init() { Protocol.Values = nil; Protocol.New = nil }",
}


@pytest.mark.parametrize("what", AT_ITS_START)
def test_a_candidate_that_at_its_start(
    judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(pools, "SILENCE", 3.0)
    assert scores_nothing(judge, f"{reference}\n{AT_ITS_START[what]}\n") == "compile_error"


BOMBS = {
    "too large an array": "var x [1 << 50]byte",
    "a type within itself": "type t struct{ t }",
    "types without end": "type t[T any] struct{ next *t[t[T]] }\n\nvar x t[int]",
    "a deep expression": f"var x = {'(' * 120_000}1{')' * 120_000}",
    "a number without end": "const x = 1 << (1 << 60)",
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_source_that_is_hard_to_compile(judge: Judge, reference: str, what: str) -> None:
    assert scores_nothing(judge, f"{reference}\n{BOMBS[what]}\n") == "compile_error"


FOR_EVER = "".join(f"func g{i}[T any]() {{ g{i + 1}[[]T](); g{i + 1}[map[int]T]() }}\n" for i in range(40))


def test_a_source_that_compiles_for_ever_is_no_fault_of_the_machine(
    judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2^40 functions are made of these: the gate, which looks at each as it stands, has nothing to say."""
    compile_, limits = go.Go.build, go.LIMITS

    def build(self: go.Go, module: Path, package: str, into: Path, overlay: Mapping[Path, Path], *flags: object) -> str:
        endless = any("g40" in text.read_text("utf-8") for text in overlay.values())
        monkeypatch.setattr(go, "LIMITS", attrs.evolve(limits, seconds=1.0) if endless else limits)
        return compile_(self, module, package, into, overlay, *flags)  # type: ignore[arg-type]

    monkeypatch.setattr(go.Go, "build", build)
    result = judge(f"{reference}\n{FOR_EVER}func g40[T any]() {{}}\n\nvar _ = g0[int]\n")
    assert (result.stage, result.score) == ("compile_error", 0)
    assert result.sentence == "Go did not compile cmd/raft within 1 s"


RAW = {
    "no text": (b"\xff\xfe\x00\x01", "tampered"),
    "an empty file": (b"", "compile_error"),
    "a text with zeros": (b"package raft\x00", "compile_error"),
    "a program": (b"\x7fELF" + bytes(4096), "compile_error"),
    "too much": (b"package raft\n" + b"//" * 200_000, "tampered"),
}


@pytest.mark.parametrize("what", RAW)
def test_a_file_with(judge: Judge, what: str) -> None:
    raw, stage = RAW[what]
    result = judge(raw)
    assert (result.stage, result.score) == (stage, 0)
    assert result.bugs == dict.fromkeys(BUGS, "unfixed")


