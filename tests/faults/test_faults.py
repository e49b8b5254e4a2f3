"""Every fault: its documented example, what it does to a run, that it ends, and that copies do not share it."""

import doctest
import importlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protosim.api import MS
from protosim.keys import MASK, Draw, share
from protosim.program import modules, reference
from protosim.run import LocalHost, make_fault, make_schedule, make_world, run_to_end, simulate
from protosim.scenario import Choice, Scenario
from protosim.swarm import draw_faults
from protosim.world import CRASH, DELIVER, FAULT, REQUEST, TIMEOUT, World

RAFT = reference("raft")
ALL = modules("faults")
NAMES = [name for name in ALL if not hasattr(importlib.import_module(f"faults.{name}"), "LIES")]
PARTITIONS = [name for name in NAMES if hasattr(importlib.import_module(f"faults.{name}"), "shape")]
UNRESTRICTED = [name for name in NAMES if hasattr(importlib.import_module(f"faults.{name}"), "UNRESTRICTED")]
EVERYWHERE = [name for name in NAMES if name != "forgery"]  # that one needs a protocol which says what is malformed
PACE = 200_000
LONG: dict[str, Any] = {"nodes": 5, "events": 3000}

sizes = st.integers(2, 9)
bits = st.integers(0, MASK)


def drawn(name: str, seed: int) -> Choice:
    return Choice(name, importlib.import_module(f"faults.{name}").draw(Draw(seed), PACE))


def scenario(*faults: Choice, seed: int = 1, **more: Any) -> Scenario:
    return Scenario(protocol="raft", seed=seed, faults=faults, **{**LONG, **more})


def begin(wanted: Scenario) -> tuple[World, LocalHost]:
    return make_world(RAFT, wanted), LocalHost(RAFT, wanted)


def events(world: World, host: LocalHost) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """(node, event) of each event, before it is handled."""
    while world.advance():
        yield world.at, world.pending
        effects, refused = host.step(world)
        world.resume(effects, refused)
        effects.clear()
        refused.clear()


@pytest.mark.parametrize("name", [*ALL, "_lies", "_partition"])
def test_a_fault_documents_itself_by_an_example_that_works(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"faults.{name}"))
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None)
@given(seed=st.integers(0, 2**64 - 1), pace=st.integers(1_000, 10**6))
def test_drawn_parameters_are_integers_that_depend_on_the_seed_alone(name: str, seed: int, pace: int) -> None:
    module = importlib.import_module(f"faults.{name}")
    params = module.draw(Draw(seed), pace)
    assert params == module.draw(Draw(seed), pace)
    assert all(type(value) is int and value >= 0 for value in params.values())


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_fault_fires_is_counted_and_breaks_nothing_in_the_reference(name: str) -> None:
    fired = 0
    for seed in range(6):
        run = simulate(RAFT, scenario(drawn(name, seed), seed=seed, nodes=3 if seed % 2 else 5))
        assert (run.violation, run.warning, run.failure) == (None, None, "")
        fired += run.faults_fired.get(name, 0)
    assert fired >= 6


@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.parametrize("scheduler", ["uniform", "walk", "pos"])
def test_healing_ends_a_fault_for_good(name: str, scheduler: str) -> None:
    pace = make_schedule(Choice(scheduler)).pace
    module = importlib.import_module(f"faults.{name}")
    for seed in range(5):
        fault = Choice(name, module.draw(Draw(seed), pace))
        healed = scenario(fault, seed=seed, scheduler=Choice(scheduler), heal=6 * pace, horizon=30 * pace)
        world, host = begin(healed)
        fired: dict[str, int] | None = None
        for _ in events(world, host):
            if world.healed_at is not None and fired is None:
                fired = dict(world.fired)
        assert world.fired == fired, "it fired again after the end of the faults"
        assert world.healed_at == 6 * pace
        assert all(world.alive)
        assert not any(world.cut)
        assert not world.cuts
        assert (world.loss, world.duplication, world.slow, world.spike, world.aim) == (0, 0, 0, 1, 0)
        assert world.rates is None
        assert max(world.paused) <= 6 * pace
        assert not [entry for entry in world.heap if entry[2] == FAULT]


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_copy_made_in_the_midst_of_a_fault_goes_on_alike(name: str) -> None:
    chosen = scenario(drawn(name, 1), drawn("crash", 2))
    world, host = begin(chosen)
    begun = next((n for n, _ in enumerate(events(world, host), 1) if world.fired.get(name, 0)), 0)
    assert begun, f"{name} did not fire"
    effects, refused = host.step(world)
    world.resume(effects, refused)
    effects.clear()
    refused.clear()
    twin, twin_host = world.copy(), host.copy()
    state = (list(world.cut), list(world.paused), world.spike, dict(world.fired), world.events)
    run_to_end(twin, twin_host)
    assert state == (world.cut, world.paused, world.spike, world.fired, world.events)
    run_to_end(world, host)
    assert world.digest() == twin.digest() == simulate(RAFT, chosen).digest


# -- Partitions --------------------------------------------------------------------------------------


def hears(masks: list[int], node: int) -> set[int]:
    """Whose messages reach the node, itself among them."""
    return {src for src, cut in enumerate(masks) if not cut >> node & 1}


def shape(name: str, nodes: int, bits: int) -> list[int]:
    masks: list[int] = importlib.import_module(f"faults.{name}").shape(nodes, bits)
    assert len(masks) == nodes
    for node, cut in enumerate(masks):
        assert 0 <= cut < 1 << nodes
        assert not cut >> node & 1, "nobody is cut off from itself"
    return masks


def mutual(masks: list[int]) -> bool:
    nodes = range(len(masks))
    return all(masks[a] >> b & 1 == masks[b] >> a & 1 for a in nodes for b in nodes)


@settings(deadline=None)
@given(sizes, bits)
def test_a_symmetric_partition_has_two_sides_that_hear_only_themselves(nodes: int, bits: int) -> None:
    masks = shape("partition_symmetric", nodes, bits)
    sides = {frozenset(hears(masks, node)) for node in range(nodes)}
    assert mutual(masks)
    assert sorted(node for side in sides for node in side) == list(range(nodes))
    assert len(sides) == 2


@settings(deadline=None)
@given(sizes, bits)
def test_a_one_way_partition_lets_the_other_way_pass(nodes: int, bits: int) -> None:
    masks = shape("partition_one_way", nodes, bits)
    mute = {node for node in range(nodes) if masks[node]}
    deaf = set(range(nodes)) - mute
    assert mute
    assert deaf
    assert all(hears(masks, node) == deaf for node in deaf)
    assert all(len(hears(masks, node)) == nodes for node in mute)


@settings(deadline=None)
@given(st.integers(3, 9), bits)
def test_the_halves_of_a_bridge_hear_each_other_only_through_one_node(nodes: int, bits: int) -> None:
    masks = shape("partition_bridge", nodes, bits)
    assert mutual(masks)
    (bridge,) = (node for node in range(nodes) if len(hears(masks, node)) == nodes)
    halves = {frozenset(hears(masks, node) - {bridge}) for node in range(nodes) if node != bridge}
    one, other = halves
    assert not one & other
    assert abs(len(one) - len(other)) <= 1
    assert len(one) + len(other) == nodes - 1


@settings(deadline=None)
@given(st.integers(3, 9), bits)
def test_in_a_ring_everybody_hears_a_bare_majority_and_no_two_the_same(nodes: int, bits: int) -> None:
    masks = shape("partition_majorities_ring", nodes, bits)
    heard = [frozenset(hears(masks, node)) for node in range(nodes)]
    assert {len(nodes_heard) for nodes_heard in heard} == {nodes // 2 + 1}
    assert len(set(heard)) == nodes
    assert mutual(masks) or nodes // 2 % 2


@settings(deadline=None)
@given(sizes, bits)
def test_an_isolated_node_is_alone_and_nobody_else_is(nodes: int, bits: int) -> None:
    masks = shape("isolate_one", nodes, bits)
    alone = [node for node in range(nodes) if hears(masks, node) == {node}]
    assert mutual(masks)
    assert len(alone) == 1 or nodes == 2
    assert all(len(hears(masks, node)) == nodes - 1 for node in range(nodes) if node not in alone)


def test_isolation_aims_at_the_apparent_leader() -> None:
    aimed = Choice("isolate_one", {"every": 400_000, "lasts": 100_000, "leader": 1000})
    world, host = begin(scenario(aimed))
    isolated, seen = list[bool](), 0
    believed = world.believed
    for _ in events(world, host):
        if world.fired.get("isolate_one", 0) > seen:
            seen = world.fired["isolate_one"]
            if believed is not None and any(world.cut):
                isolated.append(world.cut[believed].bit_count() == 4)
        believed = world.believed
    assert len(isolated) > 5
    assert sum(isolated) >= len(isolated) - 1  # the last answer may have come just before


@pytest.mark.parametrize("name", PARTITIONS)
def test_a_partition_comes_and_goes(name: str) -> None:
    world, host = begin(scenario(Choice(name, {"every": 200_000, "lasts": 200_000})))
    cut = [any(world.cut) for _ in events(world, host)]
    assert sum(earlier and not later for earlier, later in pairwise(cut)) > 10
    assert 0.2 < sum(cut) / len(cut) < 0.8


@pytest.mark.parametrize("name", PARTITIONS)
def test_no_message_crosses_a_cut_link(name: str) -> None:
    world, host = begin(scenario(drawn(name, 1), scheduler=Choice("uniform", {"longest": 100_000})))
    for at, event in events(world, host):
        assert event[0] != DELIVER or not world.cut[world.index[event[1]]] >> at & 1
    assert world.fired["partition"] > 20


def test_a_message_in_flight_is_lost_when_its_link_goes_down() -> None:
    world, host = begin(scenario(nodes=3))
    played = events(world, host)
    while not (flight := [e for e in world.heap if e[2] == DELIVER]):
        next(played)
    link = flight[0][4], flight[0][3]
    masks = [0] * 3
    masks[link[0]] = 1 << link[1]
    world.cut_links(0, masks)
    for at, event in played:
        assert event[0] != DELIVER or (world.index[event[1]], at) != link
        if world.events > 200:
            break
    assert world.fired["partition"] > 1
    world.cut_links(0, None)
    assert any(event[0] == DELIVER and (world.index[event[1]], at) == link for at, event in played)


def test_a_message_sent_into_a_cut_is_lost_even_if_the_link_is_mended_before_it_would_arrive() -> None:
    slow = Choice("uniform", {"shortest": 100_000, "longest": 100_000})
    world, host = begin(scenario(nodes=3, scheduler=slow))
    world.cut_links(0, [6, 5, 3])  # everybody from everybody
    for _ in events(world, host):
        assert not [entry for entry in world.heap if entry[2] == DELIVER]
        if world.fired.get("partition", 0) > 5:
            break
    assert world.now < 1_000_000


def test_two_partitions_at_once_cut_what_either_cuts() -> None:
    world, _ = begin(scenario(nodes=3))
    world.cut_links(0, [2, 0, 0])
    world.cut_links(1, [4, 1, 0])
    assert world.cut == [6, 1, 0]
    world.cut_links(0, None)
    assert world.cut == [4, 1, 0]


def test_flapping_comes_in_bursts() -> None:
    flapping = Choice("flapping", {"every": 2_000_000, "lasts": 10_000, "flaps": 10})
    world, host = begin(scenario(flapping, events=5000))
    at_once: list[int] = []
    before = 0
    for _ in events(world, host):
        if world.fired.get("flapping", 0) > before:
            before = world.fired["flapping"]
            at_once.append(world.now)
    gaps = [later - earlier for earlier, later in pairwise(at_once)]
    assert sum(gap < 200_000 for gap in gaps) > 5 * sum(gap > 500_000 for gap in gaps) > 0


# -- The rest ----------------------------------------------------------------------------------------


def test_a_paused_node_handles_nothing_and_then_everything_in_order() -> None:
    world, host = begin(scenario(nodes=3, scheduler=Choice("uniform", {"longest": 30_000})))
    played = events(world, host)
    while world.now < 1_000_000:
        next(played)
    until = world.paused[0] = world.now + 500_000
    after: list[int] = []
    for at, _ in played:
        assert at != 0 or world.now >= until
        if at == 0:
            after.append(world.now)
        if world.now > until + 100_000:
            break
    assert after.count(until) > 3, "what waited is handled at once"


def test_what_faults_held_back_comes_soon_after_they_have_ended() -> None:
    slow = (Choice("delay_spike", {"every": 1, "lasts": 10**9, "times": 1000}),)
    world, host = begin(scenario(*slow, nodes=3, heal=1_000_000, horizon=9_000_000))
    first = 0
    for at, event in events(world, host):
        if world.healed_at is None:
            if all(world.alive):
                world.paused[0] = 5_000_000
            continue
        late = [entry for entry in world.heap if entry[2] == DELIVER and entry[0] > world.now + 10_000]
        assert not late
        if at == 0 and event[0] == TIMEOUT:
            first = world.now
            break
    assert 1_000_000 <= first < 1_400_000


def test_pauses_count_and_leave_the_order_of_time_alone() -> None:
    world, host = begin(scenario(Choice("pause", {"every": 300_000, "lasts": 400_000})))
    now = 0
    for at, event in events(world, host):
        assert world.now >= now
        assert world.paused[at] <= world.now or event[0] == CRASH
        now = world.now
    assert world.fired["pause"] > 20


def test_a_spike_slows_everything_down_and_ends() -> None:
    world, host = begin(scenario(Choice("delay_spike", {"every": 300_000, "lasts": 300_000, "times": 50})))
    spikes = [world.spike for _ in events(world, host)]
    assert set(spikes) == {1, 50}
    assert sum(earlier > later for earlier, later in pairwise(spikes)) > 10


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 500_000), bits)
def test_clocks_drift_within_their_bound(nodes: int, bound: int, bits: int) -> None:
    rates = importlib.import_module("faults.clock_drift").rates(nodes, bound, bits)
    assert len(rates) == nodes
    assert all(abs(rate - 1_000_000) <= bound for rate in rates)


def test_clocks_never_go_back_not_even_when_the_faults_end() -> None:
    drift = Choice("clock_drift", {"bound_ppm": 200_000})
    world, host = begin(scenario(drift, heal=3_000_000, horizon=6_000_000))
    clocks = [0] * 5
    apart = 0
    for at, _ in events(world, host):
        assert clocks[at] <= world.clock_of(at)
        clocks[at] = world.clock_of(at)
        apart = max(apart, abs(world.clock_of(0) - world.clock_of(1)))
    assert world.now == 6_000_000
    assert 100_000 < apart <= 3_000_000 * 2 * 200_000 // 1_000_000


def test_aimed_crashes_fall_between_the_effects_of_an_event_and_everybody_comes_back() -> None:
    world, host = begin(scenario(Choice("crash", {"every": 0, "down": 50_000, "aim": 30})))
    crashed = 0
    while world.advance():
        effects, refused = host.step(world)
        up = world.alive[world.at]
        world.resume(effects, refused)
        crashed += up and not world.alive[world.at]
        effects.clear()
        refused.clear()
    assert crashed == world.fired["crash"] > 20


def test_a_share_of_messages_is_lost_and_another_arrives_twice() -> None:
    lossy = simulate(RAFT, scenario(Choice("loss", {"per_mille": 200})))
    doubled = simulate(RAFT, scenario(Choice("duplication", {"per_mille": 200})))
    assert 0.15 < lossy.faults_fired["loss"] / (lossy.faults_fired["loss"] + lossy.events) < 0.25
    assert 0.1 < doubled.faults_fired["duplication"] / doubled.events < 0.25
    assert share(200) == 819


def test_faults_do_not_disturb_clients_when_there_are_none() -> None:
    assert simulate(RAFT, scenario()).faults_fired == {}
    world, host = begin(scenario())
    assert sum(event[0] == REQUEST for _, event in events(world, host)) > 50


def test_what_is_forged_is_refused_and_goes_on_when_the_other_faults_have_ended() -> None:
    program = reference("two_phase_commit")
    forgery = (Choice("forgery", {"per_mille": 500}), Choice("loss", {"per_mille": 100}))
    chaos = Scenario(protocol=program.name, seed=3, faults=forgery, scheduler=Choice("walk"))
    run = simulate(program, chaos)
    assert (run.violation, run.failure) == (None, "")
    assert run.faults_fired["forgery"] > 50
    for check in ("voter_is_participant", "vote_is_yes_or_no", "vote_is_not_changed"):
        assert run.checks_refused[check][1] > 0
    fair = attrs.evolve(chaos, scheduler=Choice("fair"), events=20_000, heal=1, horizon=4_000 * MS)
    healed = simulate(program, fair)
    assert (healed.violation, healed.simulated_us) == (None, fair.horizon)
    assert healed.faults_fired["forgery"] > 50


# -- Swarm -------------------------------------------------------------------------------------------


def test_each_fault_is_absent_from_half_of_the_runs_or_more_and_present_in_some() -> None:
    present = dict.fromkeys(NAMES, 0)
    for seed in range(1000):
        for choice in draw_faults(Draw(seed), PACE):
            make_fault(choice)
            present[choice.name] += 1
    assert all(50 <= count <= 550 for name, count in present.items() if name not in UNRESTRICTED), present


def test_what_breaks_what_protocols_assume_is_never_drawn_and_can_be_named() -> None:
    assert UNRESTRICTED == ["clock_step", "forgery"]
    drawn_names = {choice.name for seed in range(1000) for choice in draw_faults(Draw(seed), PACE)}
    assert drawn_names == set(NAMES) - set(UNRESTRICTED)
    assert simulate(RAFT, scenario(drawn("clock_step", 1))).faults_fired["clock_step"] > 10


def test_a_clock_that_is_set_jumps_both_ways_and_keeps_what_it_was_set_by_when_the_faults_end() -> None:
    healed = scenario(Choice("clock_step", {"every": 50_000, "most": 100_000}), heal=10 * PACE, horizon=30 * PACE)
    world, host = begin(healed)
    offsets: list[list[int]] = []
    for _ in events(world, host):
        offsets.append([world.clock_of(node) - world.now for node in range(len(world.ids))])
    jumps = [b - a for before, after in pairwise(offsets) for a, b in zip(before, after, strict=True) if a != b]
    assert min(jumps) < 0 < max(jumps)
    assert max(map(abs, jumps)) <= 2 * 100_000
    assert offsets[-1] == offsets[-100] != [0] * len(world.ids)


@pytest.mark.parametrize("name", ["partition_bridge", "partition_one_way", "isolate_one"])
def test_a_partition_that_stays_is_there_to_the_end_and_leaves_a_majority_connected(name: str) -> None:
    for seed in range(10):
        fault = Choice(name, {**drawn(name, seed).params, "stays": 1})
        world, host = begin(scenario(fault, seed=seed, heal=2 * PACE, horizon=6 * PACE))
        run_to_end(world, host)
        assert world.now > 2 * PACE
        assert any(world.cut)
        reached = [~cut & (1 << len(world.ids)) - 1 for cut in world.cut]
        mutual = [[a for a in range(5) if reached[a] >> b & reached[b] >> a & 1] for b in range(5)]
        assert max(map(len, mutual)) >= world.majority


def test_runs_without_any_fault_and_runs_with_many_are_both_drawn() -> None:
    counts = [len(draw_faults(Draw(seed), PACE)) for seed in range(1000)]
    assert min(counts) == 0
    assert max(counts) >= 6


def test_a_new_fault_changes_nothing_about_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [draw_faults(Draw(seed), PACE) for seed in range(50)]
    others = [name for name in NAMES if name != "loss"]

    def listed(package: str) -> list[str]:
        return others

    monkeypatch.setattr("protosim.swarm.modules", listed)
    after = [draw_faults(Draw(seed), PACE) for seed in range(50)]
    assert after == [tuple(choice for choice in run if choice.name != "loss") for run in before]
    assert after != before
