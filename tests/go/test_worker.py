"""A worker in Go: what it says of what it is sent, and of what its candidate does."""

import json
import struct
import subprocess
from typing import Any

import pytest

from protosim.score.judge import LEFT
from protosim.score.pool import Pool
from tests.go.conftest import Worker

DISK = ["", ["", "term", 0], ["", "voted_for", None], ["", "log", ["", 0]]]
SWITCHES = ["", ["", "no_op", False], ["", "batch", 64]]
START = [0, 0, 4, "n1", ["", "n1", "n2", "n3"], SWITCHES, DISK]
ELECTION = [0, 7, 1, "election"]


def answers(pool: Pool, *events: Any) -> Any:
    worker = pool.worker(0)
    worker.post(list(events))
    body = worker.hear()
    assert body is not None, worker.dead
    return json.loads(body)


def test_effects_and_refusals_are_the_answer_to_an_event(raft: Pool) -> None:
    started, elected = answers(raft, START, ELECTION)
    assert started == [[[4, "election", 150_000, 300_000]], []]
    assert elected == [
        [
            [1, ["", ["", "term", 1], ["", "voted_for", "n1"]]],
            [3],
            [4, "election", 150_000, 300_000],
            [0, "n2", ["RequestVote", 1, 0, 0]],
            [0, "n3", ["RequestVote", 1, 0, 0]],
        ],
        [["votes_from_majority"]],
    ]


def test_a_node_starts_with_what_its_disk_holds(raft: Pool) -> None:
    entry = ["Entry", 2, ["Command", "put", "x", 5]]
    disk = ["", ["", "term", 3], ["", "voted_for", "n2"], ["", "log", ["", 0, entry, ["Entry", 3, None]]]]
    started = [*START[:-1], disk]
    _, elected = answers(raft, started, ELECTION)
    assert elected[0][0] == [1, ["", ["", "term", 4], ["", "voted_for", "n1"]]]
    assert elected[0][3] == [0, "n2", ["RequestVote", 4, 2, 3]]


def test_each_slot_has_a_node_of_its_own(raft: Pool) -> None:
    other = [1, *START[1:3], "n2", *START[4:]]
    *_, mine, its = answers(raft, START, other, ELECTION, [1, 7, 1, "election"])
    assert mine[0][0] == [1, ["", ["", "term", 1], ["", "voted_for", "n1"]]]
    assert its[0][0] == [1, ["", ["", "term", 1], ["", "voted_for", "n2"]]]


DOES_NOT_FIT = {
    "a message that there is not": ([0, 1, 0, "n2", ["Ping", 1]], 'there is no message or value "Ping"'),
    "a field too few": ([0, 1, 0, "n2", ["Vote", 1]], "Vote has 2 fields, not 1"),
    "a field too many": ([0, 1, 0, "n2", ["Vote", 1, True, 2]], "Vote has 2 fields, not more"),
    "a field of another type": ([0, 1, 0, "n2", ["Vote", 1, 2]], "true or false is expected"),
    "a number that is too large": ([0, 1, 0, "n2", ["Vote", 2**63, True]], "no whole number of 64 bits"),
    "a number that is not whole": ([0, 1, 0, "n2", ["Vote", 1.5, True]], '"1.5" at byte 23 of an event is'),
    "an event of another kind": ([0, 1, 3, "n2"], "no event of kind 3"),
    "a slot without a node": ([9, 1, 1, "election"], "no node has started in slot 9"),
    "a switch that there is not": ([*START[:5], ["", ["", "speed", 1]], DISK], 'there is no switch "speed"'),
    "a disk of another protocol": ([*START[:6], ["", ["", "view", 1]]], 'there is no field of a disk "view"'),
    "details that are missing": ([0, 1, 0, "n2"], "too few details"),
    "details too many": ([0, 1, 1, "election", 3], "too many details"),
    "no list": ([0, 1, 0, "n2", ["AppendEntries", 1, 0, 0, 7, 0]], "a list is expected"),
    "a text for a number": (["x"], "no whole number"),
}


@pytest.mark.parametrize("what", DOES_NOT_FIT)
def test_a_sentence_is_the_answer_to(raft: Pool, what: str) -> None:
    event, words = DOES_NOT_FIT[what]
    _, wrong, after = answers(raft, START, event, ELECTION)
    assert wrong.startswith("what came in does not fit: ")
    assert words in wrong
    assert type(after) is list  # and the worker goes on


IN_START = "\tr.commitIndex = 0\n"

DOES = {
    "panics": ('panic("no reason")', "panic: no reason, in Start, raft.go:"),
    "reads behind the end": ("_ = r.Disk.Log.At(3)", "panic: runtime error: index out of range [3] with length 0, in"),
    "follows nothing": ("var x *Disk\n\tx.Term = 1", "panic: runtime error: invalid memory address"),
    "writes what is no field": ("var x int\n\tr.Write(&x)", "panic: Write takes pointers to fields of the disk"),
    "writes a log at a position below zero": ("r.Disk.Log.Store(-1, nil)", "panic: a log has no position -1"),
    "sends what cannot travel": ("r.Send(r.Me, 1.5)", "panic: a float64 stands in no message and on no disk"),
    "sends a map": ("r.Send(r.Me, map[int]int{})", "panic: a map[int]int stands in no message"),
    "applies what is no command": ("r.Apply(1, Vote{})", "panic: a raft.Vote is no command of the register map"),
}


@pytest.mark.parametrize("what", DOES)
def test_a_candidate_is_told_where_it(worker: Worker, reference: str, what: str) -> None:
    code, sentence = DOES[what]
    once = f"\tif r.Me == \"n2\" {{\n\t\t{code}\n\t}}\n{IN_START}"
    other = [1, *START[1:3], "n2", *START[4:]]
    wrong, right = answers(worker(reference.replace(IN_START, once)), other, START)
    assert wrong.startswith(sentence)
    assert type(right) is list


def test_who_loops_is_told_so_and_nothing_else_is_handled_beside_it(worker: Worker, reference: str) -> None:
    looping = reference.replace(IN_START, f'\tfor r.Me == "n2" {{\n\t}}\n{IN_START}')
    other = [1, *START[1:3], "n2", *START[4:]]
    pool = worker(looping)
    first, wrong, after = answers(pool, START, other, ELECTION)
    assert type(first) is list
    assert wrong == "Looping: it used 2s of CPU time: it seems to loop for ever"
    assert after.startswith(LEFT)
    ended = pool.worker(0)
    ended.post([ELECTION])
    assert ended.hear() is None


TIMEOUT = "func (r *Raft) Timeout(t step.Timer) {\n"
LOOKS = '\tif isTorn() {\n\t\tpanic("torn")\n\t}\n'
TORN = """
type apple struct{ n int }

type orange struct{ n int }

var fruit any = &apple{1}

var times int

// A value of two words is written in two steps: between them it has the type of the one and the content of the other.
func tear() {
	for a, b := any(&apple{1}), any(&orange{2}); ; times++ {
		fruit = a
		if times < 0 {
			return
		}
		fruit = b
	}
}

func isTorn() bool {
	for range 100_000_000 {
		times++
		switch f := fruit.(type) {
		case *apple:
			if f.n == 2 {
				return true
			}
		case *orange:
			if f.n == 1 {
				return true
			}
		}
	}
	return false
}
"""


def test_two_events_never_race_so_that_a_value_keeps_its_type(worker: Worker, reference: str) -> None:
    """Once the types of Go are broken, a candidate may call what it cannot import."""
    racing = reference.replace(IN_START, f'\tif r.Me == "n2" {{\n\t\ttear()\n\t}}\n{IN_START}')
    racing = racing.replace(TIMEOUT, TIMEOUT + LOOKS)
    other = [1, *START[1:3], "n2", *START[4:]]
    *_, looked = answers(worker(racing + TORN), START, other, *[ELECTION] * 5)
    assert looked.startswith(LEFT), looked


def test_what_is_printed_is_no_frame(worker: Worker, reference: str) -> None:
    printing = reference.replace('"cmp"', '"cmp"\n\t"fmt"').replace(IN_START, f'\tfmt.Println("PASS")\n{IN_START}')
    assert answers(worker(printing), START) == [[[[4, "election", 150_000, 300_000]], []]]


def test_a_protocol_that_cannot_run_is_the_answer_to_the_first_frame(worker: Worker, reference: str) -> None:
    private = reference.replace("\tGranted bool\n", "\tGranted bool\n\twhy int\n")
    private = private.replace("{r.Disk.Term, granted}", "{r.Disk.Term, granted, 0}")
    assert worker(private).load() == "raft.Vote.why must be exported, or it does not travel"

def frame(content: Any) -> bytes:
    body = json.dumps(content).encode()  # with spaces, which are none of its business
    return struct.pack("<I", len(body)) + body


@pytest.mark.parametrize("bytes_", [b"", frame(""), frame("") + b"\1", frame("") + frame({}), frame("") + b"\xff" * 8])
def test_a_worker_ends_when_there_is_nothing_to_answer(raft: Pool, bytes_: bytes) -> None:
    done = subprocess.run(raft.launch.command, input=bytes_, capture_output=True, timeout=30, check=False)
    assert done.stdout == (frame("") if bytes_ else b"")
    assert done.returncode == (0 if bytes_ == frame("") else 1)


def test_texts_of_any_script_come_back_as_they_were(raft: Pool) -> None:
    text = 'é\u2028"\\\n\U0001f600\x00'
    command = ["Command", text, "x", 1]
    alone = [0, 0, 4, "n1", ["", "n1"], SWITCHES, DISK]
    *_, requested = answers(raft, alone, ELECTION, [0, 9, 2, 5, command])
    assert requested[0][0] == [2, "log", 0, ["", ["Entry", 1, command]]]
    assert requested[0][2] == [6, 1, command, None]
