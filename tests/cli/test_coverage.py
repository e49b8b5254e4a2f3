"""Abstract states: what is counted as another state, and what is not."""

from typing import Any

import attrs

from protosim.coverage import StateCounter
from protosim.plan import Wish, plan
from protosim.program import reference
from protosim.run import LocalHost, make_world, run_to_end
from protosim.survey import Total, observe, survey

RAFT = reference("raft")


@attrs.define
class Cluster:
    """What a StateCounter looks at: some nodes, and a world that says at which one something happened."""

    nodes: dict[int, Any]
    ids: tuple[str, ...] = ("n1", "n2", "n3")
    at: int = 0
    alive: list[bool] = attrs.field(factory=lambda: [True] * 3)


def _states(*terms: tuple[int, int, int]) -> int:
    """How many abstract states these terms of three nodes are."""
    scenario = plan(RAFT, Wish(nodes=3), 0)
    host = LocalHost(RAFT, scenario)
    for at, name in enumerate(scenario.node_ids()):
        host.nodes[at] = RAFT.spec.boot(name, scenario.node_ids(), host.switches, RAFT.spec.disk.blank())
        host.nodes[at].start()
    cluster: Any = Cluster(host.nodes)
    counter = StateCounter(host)
    for values in terms:
        before = len(counter.seen)
        for at, term in enumerate(values):
            cluster.at = at
            node: Any = host.nodes[at]
            node.disk.term = term
            counter.after(cluster, None, ())
        assert len(counter.seen) >= before
    return len(counter.seen)


def test_the_same_order_of_terms_is_the_same_state() -> None:
    assert _states((5, 5, 5)) == _states((5, 5, 5), (5, 5, 5))
    rising = _states((1, 2, 3))
    assert _states((1, 2, 3), (7, 8, 9)) <= rising + 3  # and what lies between the two
    assert _states((1, 2, 3), (1, 3, 2)) > rising


def test_a_run_and_its_repetition_reach_the_same_states() -> None:
    scenario = plan(RAFT, Wish(seed=3), 1)
    first, second = observe(RAFT, scenario), observe(RAFT, scenario)
    assert first.states == second.states
    assert 100 < len(first.states) < first.run.events


def test_counting_states_changes_nothing_about_a_run() -> None:
    scenario = plan(RAFT, Wish(seed=4), 0)
    world, host = make_world(RAFT, scenario), LocalHost(RAFT, scenario)
    run_to_end(world, host)
    assert observe(RAFT, scenario).run.digest == world.digest()


def test_a_total_is_the_sum_of_its_runs() -> None:
    total = Total()
    for seen in survey(RAFT, Wish(seed=2, events=300), 3):
        total.add(seen)
    alone = [observe(RAFT, plan(RAFT, Wish(seed=2, events=300), index)) for index in range(3)]
    assert total.events == sum(seen.run.events for seen in alone)
    assert total.states == set[int]().union(*(seen.states for seen in alone))
    assert total.refused["log_up_to_date"] == sum(
        seen.run.checks_refused.get("log_up_to_date", (0, 0))[0] for seen in alone
    )
