"""The clock is simpy's: processes and events live in the world's heap."""

from collections.abc import Generator
from typing import Any

import pytest
from simpy.core import EmptySchedule

from protosim.clock import Clock
from protosim.program import reference
from protosim.run import LocalHost, make_world, run_to_end
from protosim.scenario import Scenario

RAFT = reference("raft")


def test_a_simpy_process_runs_beside_the_protocol_and_can_crash_a_node() -> None:
    scenario = Scenario(protocol="raft", seed=1, events=400)
    world = make_world(RAFT, scenario)
    seen: list[tuple[int, bool]] = []

    def nemesis() -> Generator[Any, Any, None]:
        yield world.timeout(500_000)
        world.crash(0)
        seen.append((world.now, world.up("n1")))
        yield world.timeout(250_000)
        world.restart_after(0, 1)
        yield world.timeout(2)
        seen.append((world.now, world.up("n1")))

    world.process(nemesis())
    run_to_end(world, LocalHost(RAFT, scenario))
    assert seen == [(500_000, False), (750_002, True)]
    assert world.violation is None


def test_a_world_with_a_process_says_why_it_cannot_be_copied() -> None:
    world = make_world(RAFT, Scenario(protocol="raft", seed=1))

    def idle() -> Generator[Any, Any, None]:
        yield world.timeout(10**9)

    world.process(idle())
    with pytest.raises(RuntimeError, match="cannot be copied"):
        world.copy()


def test_the_clock_alone_is_a_simpy_environment() -> None:
    clock = Clock()
    order: list[str] = []
    done = clock.event()

    def worker(name: str, wait: int) -> Generator[Any, Any, None]:
        yield clock.timeout(wait)
        order.append(f"{name} at {clock.now}")
        if wait == 20:
            done.succeed()

    def watcher() -> Generator[Any, Any, None]:
        yield done
        order.append(f"watcher at {clock.now}")

    for name, wait in (("b", 20), ("a", 10)):
        clock.process(worker(name, wait))
    clock.process(watcher())
    clock.run()
    assert order == ["a at 10", "b at 20", "watcher at 20"]
    with pytest.raises(EmptySchedule):
        clock.step()
    with pytest.raises(ValueError, match="whole microseconds"):
        clock.timeout(0.5)
