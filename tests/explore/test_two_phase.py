"""Lamport's TwoPhase: as many states as TLC finds, each mutant by its shortest story, and loops for ever."""

import pytest

from mutations import catalogue
from protosim.api import ModelSpec
from protosim.explore.lasso import Graph, Lasso
from protosim.explore.model import ModelSpace
from protosim.explore.search import Explored, Limits, Search
from protosim.program import load_model, spec_of

STATES = {3: 288, 4: 1_568, 5: 8_832, 6: 50_816}  # as TLC counts them; `make explore` counts the 296,448 of seven
CLASSES = {3: 80, 4: 166, 5: 314, 6: 553}  # where participants have no names

SHORTEST = {  # steps of the shortest story with three participants; of a lasso, stem and loop
    "all_prepared": (1, None),
    "any_prepared": (3, None),
    "undecided_before_commit": (10, None),
    "undecided_before_abort": (10, None),
    "commit_was_sent": (1, None),
    "abort_was_sent": (9, None),
    "working_before_abort": (9, None),
    "working_before_prepare": (4, 6),
    "prepared_was_sent": (4, None),
    "promise_not_sent": (9, None),
    "abort_reaches_the_working_only": (4, 0),
    "never_gives_up": (4, 0),
    "early_acknowledgement": (5, None),
}


def space(size: int, *mutants: str, symmetric: bool = False) -> ModelSpace:
    return ModelSpace(load_model("two_phase", mutants).spec, size, symmetric=symmetric)


def lasso(explored: ModelSpace) -> Lasso | None:
    graph = Graph(explored, Limits())
    assert graph.build().ended == "exhausted"
    return graph.lasso()


def counted(size: int, symmetric: bool = False) -> Explored:
    found = Search(space(size, symmetric=symmetric)).run()
    assert found.ended == "exhausted"
    return found


@pytest.mark.parametrize("size", STATES)
def test_there_are_as_many_states_as_tlc_finds(size: int) -> None:
    assert counted(size).states == STATES[size]


@pytest.mark.parametrize("size", CLASSES)
def test_participants_without_names_leave_fewer_states_and_the_same_depth(size: int) -> None:
    found = counted(size, symmetric=True)
    assert found.states == CLASSES[size]
    assert found.depth == 3 * size + 1


@pytest.mark.parametrize("size", [3, 4])
def test_each_class_of_states_is_one_that_some_state_belongs_to(size: int) -> None:
    plain, symmetric = space(size), space(size, symmetric=True)
    graph = Graph(plain, Limits())
    graph.build()
    assert len({symmetric.canonical(state) for state in graph.states}) == CLASSES[size]


@pytest.mark.parametrize("mutant", catalogue.load("two_phase"))
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_mutant_breaks_what_its_entry_says_in_its_shortest_story(mutant: str, symmetric: bool) -> None:
    explored = space(3, mutant, symmetric=symmetric)
    found = Search(explored).run()
    steps, loop = SHORTEST.get(mutant.removeprefix("two_phase."), (None, None))
    breaks = catalogue.load("two_phase")[mutant].breaks
    if loop is None and steps is not None:
        assert (found.broken.invariant.name, len(found.path)) == (breaks[0], steps)
        assert len(explored.told(found.path)) == steps + 1
    elif not symmetric:
        assert found.ended == "exhausted"
        starving = lasso(explored)
        assert (starving and (starving.invariant.name, len(starving.stem), len(starving.loop))) == (
            (breaks[0], steps, loop) if breaks else None
        )


def test_each_invariant_but_the_types_is_broken_by_a_mutant() -> None:
    broken = {name for entry in catalogue.load("two_phase").values() for name in entry.breaks}
    assert {invariant.name for invariant in spec_of("two_phase").invariants()} == broken | {"tc_type_ok"}


def test_a_state_that_is_none_is_named() -> None:
    spec = spec_of("two_phase")
    assert isinstance(spec, ModelSpec)
    state = spec.model(2).initial()
    assert spec.properties(2).tc_type_ok(state) is None  # type: ignore[attr-defined]
    assert "2 places for 3 participants" in spec.properties(3).tc_type_ok(state)  # type: ignore[attr-defined]


def test_everybody_decides_in_every_fair_behaviour() -> None:
    assert lasso(space(3)) is None


def test_nobody_need_decide_if_the_manager_may_wait_for_ever() -> None:
    """The same model, its manager's decisions a choice: what fairness asks for matters."""
    explored = space(2)
    acts = [act for act in explored.acts if act.name in ("tm_commit", "tm_abort")]
    for act in acts:
        object.__setattr__(act, "fair", False)
    starving = lasso(explored)
    assert starving is not None
    assert starving.loop == ()
