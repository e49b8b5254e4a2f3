"""Fair loops, on small graphs drawn by hand."""

from typing import Any

import attrs
import pytest

from protosim.api import Invariant
from protosim.explore.bounds import Limits
from protosim.explore.lasso import Graph, Lasso, components
from protosim.explore.search import Pulse, Search


@attrs.define
class Drawn:
    """steps[state] = [(event, state)]; state 0 is the first."""

    steps: dict[int, list[tuple[int, int]]]
    fair: frozenset[int]
    good: frozenset[int]
    pulse: Pulse = attrs.field(factory=lambda: Pulse(("drawn",)))

    def initial(self) -> tuple[int, Any]:
        return 0, None

    def successors(self, state: int) -> list[tuple[int, int, Any]]:
        return [(event, after, None) for event, after in self.steps.get(state, [])]

    def judge(self, state: int) -> None:
        return None

    def goals(self) -> list[Invariant]:
        return [Invariant("good", "eventually", "Good", "It becomes good.", "")]

    def misses(self, state: int) -> tuple[str, ...]:
        return ("" if state in self.good else f"{state} is not good",)

    def duties(self, state: int) -> frozenset[int]:
        return self.fair & {event for event, _ in self.steps.get(state, [])}

    def done(self, state: int, event: int) -> tuple[int, ...]:
        return (event,)


def lasso(steps: dict[int, list[tuple[int, int]]], fair: set[int], good: set[int]) -> Lasso | None:
    graph = Graph(Drawn(steps, frozenset(fair), frozenset(good)), Limits())
    graph.build()
    return graph.lasso()


def test_whoever_may_stay_for_ever_stays() -> None:
    found = lasso({0: [(1, 1)]}, fair=set(), good={1})
    assert found is not None
    assert (found.stem, found.loop, found.sentence) == ((), (), "0 is not good")


def test_whoever_must_go_on_comes_to_the_goal() -> None:
    assert lasso({0: [(1, 1)]}, fair={1}, good={1}) is None


def test_a_loop_that_puts_a_duty_off_for_ever_is_no_counterexample() -> None:
    steps = {0: [(1, 1), (9, 2)], 1: [(1, 0), (9, 2)]}
    assert lasso(steps, fair={1, 9}, good={2}) is None


def test_a_duty_that_is_interrupted_again_and_again_may_be_put_off() -> None:
    steps = {0: [(1, 1), (9, 2)], 1: [(1, 0)]}
    found = lasso(steps, fair={1, 9}, good={2})
    assert found is not None
    assert (found.stem, found.loop) == ((), (0, 0))


def test_a_loop_goes_where_every_duty_is_done() -> None:
    steps = {0: [(1, 0), (2, 1)], 1: [(3, 0), (4, 1)]}
    found = lasso(steps, fair={1, 2, 3, 4}, good={7})
    assert found is not None
    state, taken = 0, set[int]()
    for choice in found.loop:
        event, state = steps[state][choice]
        taken.add(event)
    assert state == 0
    assert {1, 2} <= taken  # what is enabled at the start; the others are not enabled all along


def test_a_goal_that_holds_somewhere_in_the_loop_is_reached_again_and_again() -> None:
    assert lasso({0: [(1, 1)], 1: [(1, 0)]}, fair={1}, good={1}) is None


def test_the_stem_leads_to_the_loop() -> None:
    found = lasso({0: [(1, 5), (2, 6)], 5: [], 6: [(3, 7)], 7: [(4, 6)]}, fair={1, 2, 3, 4}, good={0, 5})
    assert found is not None
    assert (found.stem, len(found.loop)) == ((1,), 2)


@pytest.mark.parametrize(
    ("edges", "found"),
    [
        ({}, [[0]]),
        ({0: [1], 1: [2], 2: [0]}, [[0, 1, 2]]),
        ({0: [1], 1: [2], 2: [1]}, [[1, 2], [0]]),
        ({0: [1, 2], 1: [], 2: [3], 3: [2, 1]}, [[1], [2, 3], [0]]),
    ],
)
def test_components(edges: dict[int, list[int]], found: list[list[int]]) -> None:
    size = 1 + max([0, *edges, *(after for afters in edges.values() for after in afters)])
    listed = [[(0, 0, after) for after in edges.get(number, [])] for number in range(size)]
    assert components(listed, [True] * size) == found


def test_a_search_that_is_interrupted_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Drawn({0: [(1, 1)]}, frozenset(), frozenset())

    def interrupted(state: int) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Drawn, "successors", lambda self, state: interrupted(state))
    assert Search(drawn).run().ended == "interrupt"
    assert Graph(drawn, Limits()).build().ended == "interrupt"
