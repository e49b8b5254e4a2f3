"""Raft explored: pinned counts, shortest stories that a world confirms, and searches that agree with each other."""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from protosim.errors import UserError
from protosim.explore.bounds import Bounds, Limits
from protosim.explore.lasso import Graph
from protosim.explore.nodes import Event
from protosim.explore.search import Explored, Search
from protosim.explore.space import Space, State
from protosim.explore.story import scenario, unhurt
from protosim.explore.symmetry import Quotient
from protosim.narrate import spell, state_of
from protosim.program import Program, from_source, load, reference
from protosim.run import LocalHost, make_world, simulate
from protosim.scenario import Choice, Scenario, Step
from protosim.script import ScriptedWorld
from protosim.shrink import broken_name
from protosim.values import to_wire

SMALL = Bounds(timeouts=2, requests=1, crashes=0)
COUNTS = [  # bounds, states, states where nodes have no names, depth
    (SMALL, 42_865, 7_151, 17),
    (Bounds(timeouts=1, requests=1, crashes=1, duplications=1), 9_562, 1_610, 14),
]
ELECTIONS = Bounds(requests=0, crashes=0)
SHORTEST = [  # mutant, bounds, invariant, events of the shortest story
    ("votes_from_majority", ELECTIONS, "election_safety", 2),
    ("vote_once_per_term", ELECTIONS, "election_safety", 6),
    ("vote_response_current", Bounds(timeouts=3, requests=0, crashes=0), "election_safety", 7),
    ("log_up_to_date", SMALL, "leader_completeness", 9),
    ("replicated_on_majority", SMALL, "durability", 4),
    ("truncates_without_conflict", SMALL, "durability", 7),
    ("handle_request_vote/drop-sync/1", Bounds(requests=0), "election_safety", 7),
    ("handle_request_vote/swap-sync-and-send/1", Bounds(requests=0, crashes=0, cuts=1), "election_safety", 7),
]
FIGURE_8 = Bounds(timeouts=3, timers={"heartbeat": 0}, requests=2, crashes=0, messages=1)


def space(program: Program, bounds: Bounds, *, symmetric: bool = False, warnings: tuple[str, ...] = ()) -> Space:
    return Space(program, bounds, {}, warnings=warnings, ordered=symmetric)


def explored(program: Program, bounds: Bounds, *, symmetric: bool = False) -> Explored:
    explored = space(program, bounds, symmetric=symmetric)
    return Search(Quotient(explored) if symmetric else explored).run()


def states_of(system: Space | Quotient) -> list[Any]:
    graph = Graph(system, Limits())  # type: ignore[arg-type]  # only its states are asked for
    assert graph.build().ended == "exhausted"
    return graph.states


# -- Counts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bounds", "states", "classes", "depth"), COUNTS)
def test_the_reference_has_so_many_states_and_breaks_nothing(
    bounds: Bounds, states: int, classes: int, depth: int
) -> None:
    plain, symmetric = explored(reference("raft"), bounds), explored(reference("raft"), bounds, symmetric=True)
    assert (plain.ended, plain.states, plain.depth) == ("exhausted", states, depth)
    assert (symmetric.ended, symmetric.states, symmetric.depth) == ("exhausted", classes, depth)


def test_the_classes_are_those_that_the_states_fall_into() -> None:
    bounds = Bounds(timeouts=1, requests=1, crashes=1)
    quotient = Quotient(space(reference("raft"), bounds, symmetric=True))
    classes = set(states_of(quotient))
    assert {quotient.canonical(state) for state in states_of(quotient.space)} == classes


def test_a_renamed_state_is_in_the_same_class() -> None:
    quotient = Quotient(space(reference("raft"), Bounds(timeouts=1, requests=1, crashes=0), symmetric=True))
    for state in states_of(quotient)[::7]:
        images = {quotient.image(renaming, state) for renaming in range(6)}
        assert {quotient.canonical(image) for image in images} == {state}


def test_the_counts_are_the_same_under_other_hash_seeds() -> None:
    program = (
        "from protosim.explore.bounds import Bounds; from protosim.explore.search import Search;"
        "from protosim.explore.space import Space; from protosim.explore.symmetry import Quotient;"
        "from protosim.program import load;"
        "s = Space(load('raft', ['log_up_to_date']), Bounds(requests=1, crashes=0), {}, warnings=(), ordered=True);"
        "f = Search(Quotient(s)).run(); print(f.states, f.steps, f.path, f.broken.sentence)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


# -- The same as by hand -----------------------------------------------------------------------------


def by_hand(program: Program, depth: int) -> list[set[Any]]:
    """All that a world can come to by so many events, one schedule after the other: by events, sets of states."""
    script = Scenario(protocol="raft", seed=0, scheduler=Choice("replay"), script=())
    world, host = make_world(program, script, observers=()), LocalHost(program, script)
    assert isinstance(world, ScriptedWorld)
    while world.advance():
        _handle(world, host)
    levels = [{_snapshot(world, host): (world, host)}]
    for _ in range(depth):
        following: dict[Any, Any] = {}
        for world, host in levels[-1].values():
            for step in _possible(world, program):
                twin, nodes = world.copy(), host.copy()
                assert twin.play(step)
                _handle(twin, nodes)
                if not any(request.refused for request in twin.requests.values()):  # which only its client notices
                    following.setdefault(_snapshot(twin, nodes), (twin, nodes))
        levels.append(following)
    return [set(level) for level in levels]


def _handle(world: ScriptedWorld, host: LocalHost) -> None:
    effects, refused = host.step(world)
    world.resume(effects, refused)
    effects.clear()
    refused.clear()


def _possible(world: ScriptedWorld, program: Program) -> Iterator[Step]:
    for (src, dst), sent in world.wire.items():
        for key, m, delivered in sent:
            if not delivered:
                name = type(m).__name__
                yield Step("deliver", world.ids[dst], src=world.ids[src], message=name, fingerprint=key & 0xFFFFFFFF,
                           repeat=key >> 32)  # fmt: skip
    for at, timers in enumerate(world.timers):
        yield from (Step("timeout", world.ids[at], timer=timer) for timer, slot in timers.items() if slot[0] >= 0)
    if not world.requests:
        command = to_wire(program.spec.workload(1, 0))
        yield from (Step("request", name, op=1, command=command) for name in world.ids)


def _snapshot(world: ScriptedWorld, host: LocalHost) -> Any:
    flying = sorted(
        (world.ids[src], world.ids[dst], spell(m))
        for (src, dst), sent in world.wire.items()
        for _, m, delivered in sent
        if not delivered
    )
    timers = tuple(tuple(sorted(t for t, slot in timers.items() if slot[0] >= 0)) for timers in world.timers)
    return tuple(map(state_of, host.nodes.values())), timers, tuple(flying), bool(world.requests)


def in_space(explored: Space, depth: int) -> list[set[Any]]:
    """The same by the space."""
    levels: list[set[State]] = [{explored.initial()[0]}]
    for _ in range(depth):
        nexts = chain.from_iterable(map(explored.successors, levels[-1]))
        levels.append({after for _, after, _ in nexts})
    return [{_described(explored, state) for state in level} for level in levels]


def _described(explored: Space, state: State) -> Any:
    nodes = [explored.states.of[number] for number in state[:3]]
    events = [explored.events.of[event] for event in state[5:]]
    flying = sorted((explored.ids[e.src], explored.ids[e.at], spell(e.content)) for e in events if isinstance(e, Event))
    spelled = tuple(state_of(explored.nodes.thaw(node)) for node in nodes)
    asked = bool(explored.watch.seen[state[3]].requests)
    return spelled, tuple(node.timers for node in nodes), tuple(flying), asked


def test_it_comes_to_the_same_states_as_schedule_after_schedule_played_in_worlds() -> None:
    program, depth = reference("raft"), 4
    everything = Bounds(timeouts=depth, requests=1, crashes=0, messages=100)
    assert in_space(space(program, everything), depth) == by_hand(program, depth)


# -- Shortest stories --------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("mutant", "bounds", "invariant", "steps"), SHORTEST)
def test_the_shortest_story_breaks_the_same_invariant_in_a_world(
    mutant: str, bounds: Bounds, invariant: str, steps: int, symmetric: bool
) -> None:
    if bounds.cuts and symmetric:
        pytest.skip("a crash within a broadcast tells nodes apart")
    program = load("raft", [mutant])
    plain = space(program, bounds, symmetric=symmetric)
    system: Space | Quotient = Quotient(plain) if symmetric else plain
    found = Search(system).run()
    assert (found.broken.invariant.name, len(found.path)) == (invariant, steps)
    told = scenario(plain, system.events_of(found.path))
    assert len(told.script or ()) == steps
    assert broken_name(simulate(program, told)) == invariant


def test_what_leads_to_figure_8_takes_sixteen_events_and_the_reference_has_nothing_like_it() -> None:
    for mutant, ended in (("commit_current_term", "broken"), (None, "exhausted")):
        program = load("raft", [mutant] if mutant else [])
        warned = space(program, FIGURE_8, symmetric=True, warnings=("committed_is_safe",))
        found = Search(Quotient(warned)).run()
        assert found.ended == ended
        assert found.broken is None or (found.broken.invariant.name, len(found.path)) == ("committed_is_safe", 16)


def test_a_handler_that_fails_is_found_with_the_way_there() -> None:
    program = load("raft", ["still_leader"])
    plain = space(program, SMALL)
    found = Search(plain).run()
    assert found.ended == "failed"
    run = simulate(program, scenario(plain, plain.events_of(found.path)))
    assert "KeyError" in run.failure
    assert run.failure.startswith(found.broken.sentence.split(",")[0])


def test_two_fields_that_are_one_object_are_named() -> None:
    source = reference("raft").source
    shared = from_source("raft", source.replace("self.waiting = {}", "self.waiting = self.next_index"))
    with pytest.raises(UserError, match=r"Raft\.next_index and Raft\.waiting are one dict"):
        space(shared, SMALL).initial()


def test_messages_that_are_sent_at_the_start_must_find_room() -> None:
    source = reference("raft").source
    calm = "        self.last_applied = 0\n        self.become_follower()\n"
    eager = from_source("raft", source.replace(calm, f"{calm}        self.start_election()\n", 1))
    with pytest.raises(UserError, match="--messages: 2 are too few for raft"):
        space(eager, SMALL).initial()


# -- For ever ----------------------------------------------------------------------------------------

ONE_LEADER = Bounds(timeouts=1, timers={"heartbeat": None}, requests=1, crashes=0, messages=4, lossless=True)


def live(program: Program) -> Graph:
    explored = space(program, ONE_LEADER)
    explored.watch.healed = True
    graph = Graph(explored, Limits())
    assert graph.build().ended == "exhausted"
    return graph


def test_a_leader_that_never_answers_is_a_fair_loop() -> None:
    source = reference("raft").source
    silent = from_source("raft", source.replace("self.reply(self.waiting.pop(self.last_applied), result)", "pass"))
    graph = live(silent)
    lasso = graph.lasso()
    assert lasso is not None
    assert lasso.invariant.name == "progress_after_heal"
    assert lasso.loop
    explored = graph.system
    assert isinstance(explored, Space)
    told = unhurt(scenario(explored, explored.events_of(lasso.stem + 2 * lasso.loop)))
    assert broken_name(simulate(silent, told)) == "progress_after_heal"


def test_the_reference_has_no_fair_loop_without_an_answer() -> None:
    assert live(reference("raft")).lasso() is None
