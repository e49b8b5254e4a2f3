"""The parent believes nothing that a worker says."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protosim import api
from protosim.program import reference
from protosim.run import LocalHost, make_world
from protosim.scenario import Scenario
from protosim.score import step
from protosim.world import ProtocolFailure

RAFT = reference("raft")
READER = step.Reader(RAFT.classes, RAFT.spec.disk)
IDS = ("n1", "n2", "n3")


def read(*effects: Any, refused: Any = ()) -> Any:
    return READER.read([list(effects), list(refused)], IDS)


def test_what_the_reference_does_arrives_unchanged() -> None:
    scenario = Scenario(protocol="raft", seed=7, nodes=3, events=300)
    world, host = make_world(RAFT, scenario), LocalHost(RAFT, scenario)
    kinds: set[int] = set()
    while world.advance():
        effects, refused = host.step(world)
        answer = [step.effects_to_wire(effects), [list(names) for names in refused]]
        assert READER.read(step.decode(json.dumps(answer).encode()), IDS) == (effects, refused)
        kinds |= {effect[0] for effect in effects}
        world.resume(effects, refused)
        effects.clear()
        refused.clear()
    assert kinds >= {api.SEND, api.WRITE, api.STORE, api.SYNC, api.SET_TIMER, api.APPLY, api.REPLY}


VOTE = ["Vote", 1, True]
REFUSED = {
    "no list": "send",
    "no kind": [],
    "an unknown kind": [9],
    "a boolean as its kind": [True, ["", ["", "term", 1]]],
    "an unknown node": [api.SEND, "n4", VOTE],
    "an unknown message": [api.SEND, "n1", ["Veto", 1]],
    "no message": [api.SEND, "n1", "hello"],
    "a field too many": [api.SEND, "n1", ["Vote", 1, True, 1]],
    "a number where a truth is due": [api.SEND, "n1", ["Vote", 1, 1]],
    "a truth where a number is due": [api.SEND, "n1", ["Vote", True, True]],
    "too large a number": [api.SEND, "n1", ["Vote", 2**63, True]],
    "an unknown field": [api.WRITE, ["", ["", "votes", 1]]],
    "a field of another type": [api.WRITE, ["", ["", "term", "1"]]],
    "a log as a field": [api.WRITE, ["", ["", "log", [""]]]],
    "an unknown log": [api.STORE, "entries", 0, [""]],
    "a negative index": [api.STORE, "log", -1, [""]],
    "a command where an entry is due": [api.STORE, "log", 0, ["", ["Command", "put", "x", 1]]],
    "a detail too many": [api.SYNC, 1],
    "a detail too few": [api.SET_TIMER, "election", 1],
    "a timer that is no name": [api.SET_TIMER, "\x1b[2J", 1, 2],
    "a timer with a long name": [api.SET_TIMER, "t" * 65, 1, 2],
    "a timer that runs backwards": [api.SET_TIMER, "election", 2, 1],
    "a timer for ages": [api.SET_TIMER, "election", 1, 10**13],
    "an operation that is no number": [api.REPLY, "1", None],
    "values too deep": [api.REPLY, 1, eval("['', " * 40 + "1" + "]" * 40)],
}


@pytest.mark.parametrize("raw", REFUSED.values(), ids=list(REFUSED))
def test_what_is_no_effect_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(raw)


@pytest.mark.parametrize("refused", ["x", [["a b"]], [[1]], ["name"], [["é"]]])
def test_what_is_no_refusal_is_refused(refused: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        READER.read([[], refused], IDS)


@pytest.mark.parametrize("text", ["NaN", "1.0", "-Infinity", "1e3", "[" * 10**5, "9" * 5000, "", "é", '{"a"'])
def test_json_that_is_not_plain_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        step.decode(text.encode())


LEAVES = st.none() | st.booleans() | st.integers() | st.sampled_from(["", "n1", "x", "term", "log", "election", "Vote"])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4), max_leaves=8)
ENTRIES = st.builds(lambda term: ["Entry", term, ["Command", "put", "x", 1]], st.integers(-2, 3))
LIKELY = st.one_of(
    st.builds(lambda to, term: [api.SEND, to, ["Vote", term, True]], st.sampled_from(IDS), st.integers()),
    st.builds(
        lambda to, term, entries: [api.SEND, to, ["AppendEntries", term, 0, 0, ["", *entries], -5]],
        st.sampled_from(IDS),
        st.integers(-1, 2),
        st.lists(ENTRIES, max_size=2),
    ),
    st.builds(lambda term: [api.WRITE, ["", ["", "term", term], ["", "voted_for", "?"]]], st.integers(-1, 3)),
    st.builds(lambda at, entries: [api.STORE, "log", at, ["", *entries]], st.integers(0, 9), st.lists(ENTRIES)),
    st.builds(lambda at: [api.APPLY, at, ["Command", "put", "x", 1], 0], st.integers(-1, 3)),
    st.builds(lambda op, result: [api.REPLY, op, result], st.integers(0, 3), VALUES),
    st.builds(lambda timer, least: [api.SET_TIMER, timer, least, least + 1], st.text(), st.integers(0, 9)),
    st.just([api.SYNC]),
    st.lists(VALUES, max_size=4),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(LIKELY, max_size=6), max_size=12))
def test_whatever_can_be_read_the_world_can_carry_out(answers: list[list[Any]]) -> None:
    world = make_world(RAFT, Scenario(protocol="raft", seed=3, nodes=3, events=12))
    for raw in answers:
        if not world.advance():
            break
        try:
            effects, refused = READER.read([raw, []], IDS)
            world.resume(effects, refused)
        except (ValueError, ProtocolFailure):
            break
