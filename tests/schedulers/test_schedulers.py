"""Every scheduler: its documented example, determinism, keyed decisions, and a reference that stays clean under it."""

import doctest
import importlib
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protosim.keys import Draw, derive
from protosim.program import from_source, modules, reference
from protosim.run import LocalHost, Run, make_schedule, make_world, run_to_end, simulate
from protosim.scenario import Choice, Scenario
from protosim.swarm import draw_faults
from protosim.world import DELIVER, TIMEOUT, World

RAFT = reference("raft")
NAMES = [name for name in modules("schedulers") if name != "replay"]  # which has its own world, and tests
RANKING = [name for name in NAMES if make_schedule(Choice(name)).rank is not None]

EVENTS_CLEAN = 20_000


def drawn(name: str, seed: int) -> Choice:
    return Choice(name, importlib.import_module(f"schedulers.{name}").draw(Draw(seed)))


def chaos(name: str, seed: int, **more: Any) -> Scenario:
    """A run of the scheduler as hunts draw it, faults included."""
    choice = drawn(name, seed)
    faults = draw_faults(Draw(seed), make_schedule(choice).pace)
    return Scenario(protocol="raft", seed=seed, scheduler=choice, faults=faults, **more)


def begin(scenario: Scenario) -> tuple[World, LocalHost]:
    return make_world(RAFT, scenario), LocalHost(RAFT, scenario)


def events(world: World, host: LocalHost) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """(node, event) of each event, before it is handled."""
    while world.advance():
        yield world.at, world.pending
        effects, refused = host.step(world)
        world.resume(effects, refused)
        effects.clear()
        refused.clear()


@pytest.mark.parametrize("name", NAMES)
def test_a_scheduler_documents_itself_by_an_example_that_works(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"schedulers.{name}"))
    assert result.attempted
    assert not result.failed


def test_the_apparent_leader_is_documented_by_an_example_that_works() -> None:
    result = doctest.testmod(importlib.import_module("schedulers._leader"))
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**64 - 1))
def test_drawn_parameters_are_integers_that_depend_on_the_seed_alone(name: str, seed: int) -> None:
    choice = drawn(name, seed)
    assert choice == drawn(name, seed)
    assert all(type(value) is int for value in choice.params.values())
    schedule = make_schedule(choice)
    assert all(type(delay) is int and delay >= 0 for delay in schedule.delays)
    assert schedule.pace > 0


@pytest.mark.parametrize("name", NAMES)
def test_one_seed_is_one_run_and_a_copy_made_midway_goes_on_alike(name: str) -> None:
    scenario = chaos(name, 11)
    whole = simulate(RAFT, scenario)
    world, host = begin(scenario)
    for _ in events(world, host):
        if world.events == 700:
            break
    effects, refused = host.step(world)  # the event at which we left
    world.resume(effects, refused)
    effects.clear()
    refused.clear()
    twin, twin_host = world.copy(), host.copy()
    run_to_end(twin, twin_host)
    assert world.events == 700, "the copy ran on the original's state"
    run_to_end(world, host)
    assert whole.digest == world.digest() == twin.digest()
    assert whole.faults_fired == world.fired == twin.fired


@pytest.mark.parametrize("name", NAMES)
def test_two_seeds_are_two_runs(name: str) -> None:
    one, other = (simulate(RAFT, Scenario(protocol="raft", seed=s, scheduler=Choice(name))) for s in (1, 2))
    assert one.digest != other.digest


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_is_clean_under_every_scheduler(name: str) -> None:
    done, seed, reached = 0, 0, set[str]()
    while done < EVENTS_CLEAN:
        scenario = chaos(name, derive(seed, name), nodes=5 if seed % 3 == 2 else 3)
        run: Run = simulate(RAFT, scenario)
        assert (run.violation, run.warning, run.failure) == (None, None, ""), scenario
        reached |= set(run.reached)
        done, seed = done + run.events, seed + 1
    assert reached == {"leader_elected", "command_committed", "leader_changed"}


# -- Keyed decisions ---------------------------------------------------------------------------------


class Deaf(World):
    """A world that loses the n-th message and remembers what was decided about each."""

    def __init__(self, *args: Any, lose: int, **kwargs: Any) -> None:
        self.decided: dict[int, tuple[int, int]] = {}  # message key -> sent at, due at
        self.sent: dict[tuple[int, int], list[int]] = {}  # link -> message keys
        self.lose = lose
        super().__init__(*args, **kwargs)

    def _enqueue(self, delay: int, dst: int, src: int, m: Any, key: int) -> None:
        self.decided.setdefault(key, (self.now, self.now + delay))
        self.sent.setdefault((src, dst), []).append(key)
        if len(self.decided) != self.lose:
            super()._enqueue(delay, dst, src, m, key)


def share_preserved(name: str, seed: int) -> float:
    """Of the messages sent after the 150th, the share that is sent at the same time and takes as long when that one is
    lost. What was sent before it is the same in any case, and does not count."""
    scenario = Scenario(protocol="raft", seed=seed, scheduler=drawn(name, seed), events=600)
    runs: list[dict[int, tuple[int, int]]] = []
    for lose in (-1, 150):
        world = Deaf(scenario, RAFT.spec, make_schedule(scenario.scheduler), lose=lose)
        run_to_end(world, LocalHost(RAFT, scenario))
        runs.append(world.decided)
    whole, without = runs
    later = list(whole)[150:]
    assert len(later) > 30
    return sum(without.get(key) == whole[key] for key in later) / len(later)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in RANKING])
def test_one_lost_message_leaves_most_later_decisions_as_they_were(name: str) -> None:
    shares = sorted(share_preserved(name, seed) for seed in range(15))
    assert shares[len(shares) // 2] >= 0.9, shares


# -- Where messages are ranked -----------------------------------------------------------------------


@pytest.mark.parametrize("name", RANKING)
def test_no_timer_starves_and_no_message_either(name: str) -> None:
    world, host = begin(Scenario(protocol="raft", seed=5, scheduler=Choice(name), events=3000))
    timeouts = [0] * 3
    deliveries = 0
    for at, event in events(world, host):
        timeouts[at] += event[0] == TIMEOUT
        deliveries += event[0] == DELIVER
    assert min(timeouts) > 50
    assert deliveries > 1000
    assert len(world.ranked) < 500


def test_pos_redraws_what_races_with_an_event_and_nothing_else() -> None:
    world, host = begin(Scenario(protocol="raft", seed=3, scheduler=Choice("pos"), events=400))
    redrawn = kept = 0
    while world.advance():
        before = {entry[1]: (entry[3], entry[0]) for entry in world.ranked}
        effects, refused = host.step(world)
        world.resume(effects, refused)
        effects.clear()
        refused.clear()
        for rank, order, _, node, *_ in world.ranked:
            if order in before:
                assert (before[order] != (node, rank)) == (node == world.at)
                redrawn, kept = redrawn + (node == world.at), kept + (node != world.at)
    assert redrawn > 100
    assert kept > 100


def test_pct_keeps_each_link_in_order_of_sending() -> None:
    scenario = Scenario(protocol="raft", seed=3, scheduler=Choice("pct", {"depth": 30}), events=1500)
    world = Deaf(scenario, RAFT.spec, make_schedule(scenario.scheduler), lose=-1)
    for at, event in events(world, LocalHost(RAFT, scenario)):
        if event[0] == DELIVER:
            assert world.sent[world.index[event[1]], at].pop(0) == event[3]


def test_pct_changes_priorities_at_depth_minus_one_points() -> None:
    changed: dict[int, int] = {}
    for depth in (1, 2, 12):
        params = {"depth": depth, "length": 1000}
        world, host = begin(Scenario(protocol="raft", seed=8, scheduler=Choice("pct", params), events=1000))
        policy: Any = getattr(world.rank, "__self__", None)
        points = None
        levels: dict[Any, int] = {}
        for _ in events(world, host):
            points = list(policy.changes) if points is None and policy.seed >= 0 else points
            for chain, level in policy.levels.items():
                if levels.setdefault(chain, level) != level:
                    changed[depth] = changed.get(depth, 0) + 1
            levels = dict(policy.levels)
        assert points is not None
        assert len(points) == depth - 1
        assert not policy.changes, "every point lies within the length"
    assert changed.get(1, 0) == 0
    assert changed[12] > changed.get(2, 0)


def test_pct_states_its_bound_with_numbers() -> None:
    bound = make_schedule(Choice("pct", {"depth": 4, "length": 100})).bound
    assert "1/(chains * 100^3)" in bound
    assert "12,000,000" in bound


# -- Adversaries -------------------------------------------------------------------------------------


def leaderships(name: str, params: dict[str, int], seed: int) -> int:
    world, host = begin(Scenario(protocol="raft", seed=seed, scheduler=Choice(name, params), events=1500))
    run_to_end(world, host)
    return max(image.term for image in map(world.written, world.ids))


def test_a_hunted_leader_loses_its_place_again_and_again() -> None:
    calm = sum(leaderships("uniform", {}, seed) for seed in range(5))
    stormy = sum(leaderships("leader_hunter", {"season": 1_000_000, "share": 900}, seed) for seed in range(5))
    assert stormy > 3 * calm


def test_who_keeps_sending_to_all_peers_is_the_leader() -> None:
    world, host = begin(Scenario(protocol="raft", seed=4, nodes=5, scheduler=Choice("fair"), events=1500))
    policy: Any = getattr(world.adversary, "__self__", None)
    right = wrong = 0
    for at, event in events(world, host):
        if event[0] == TIMEOUT and event[1] == "heartbeat":  # set by leaders only; a deposed one's is the last
            right, wrong = right + (policy.lead.leader() == at), wrong + (policy.lead.leader() != at)
    assert right > 20 * wrong


def test_a_fair_adversary_keeps_its_bound_and_uses_it_against_the_leader() -> None:
    fair = Choice("fair", {"bound": 20_000})
    for seed in range(5):
        scenario = Scenario(protocol="raft", seed=seed, nodes=5, scheduler=fair)
        world = Deaf(scenario, RAFT.spec, make_schedule(scenario.scheduler), lose=-1)
        run_to_end(world, LocalHost(RAFT, scenario))
        delays = sorted(due - sent for sent, due in world.decided.values())
        assert delays[-1] <= 20_000
        assert delays[len(delays) // 2] >= 15_000
    assert "within 20 ms" in make_schedule(fair).bound


def test_after_any_faults_raft_makes_progress_under_the_fair_adversary() -> None:
    for seed in range(50):
        scenario = chaos("fair", seed, heal=1_500_000, horizon=6_500_000, events=10_000)
        run = simulate(RAFT, scenario)
        assert run.violation is None, f"{scenario}: {run.violation}"
        assert run.simulated_us == 6_500_000, "the run ended before its horizon, so liveness was not judged"


def test_a_raft_that_elects_nobody_makes_no_progress_under_the_fair_adversary() -> None:
    idle = from_source("raft", RAFT.source.replace("self.votes.add(src)", "pass"))
    assert idle.source != RAFT.source
    run = simulate(idle, chaos("fair", 1, heal=1_500_000, horizon=6_500_000, events=10_000))
    assert run.violation is not None
    assert run.violation.invariant.mode == "eventually"


# -- Tables ------------------------------------------------------------------------------------------

TABLES = {  # a checksum of delays, request gaps and timeouts by default: another libm must give the same
    "fair": 115129139,
    "heavy_tail": 1732522488,
    "leader_hunter": 148210153,
    "pct": 2710624744,
    "pos": 95102679,
    "timed_swarm": 1722730931,
    "uniform": 148210153,
    "walk": 1241125579,
    "walk_swarm": 1241125579,
}


def test_tables_are_the_same_everywhere() -> None:
    found = {}
    for name in NAMES:
        schedule = make_schedule(Choice(name))
        found[name] = crc32(repr((schedule.delays, schedule.request_gaps, schedule.timers)).encode())
    assert found == TABLES
