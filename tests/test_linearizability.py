"""The linearizability checker: classic histories by hand, small ones against all permutations,
large ones against the clock."""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, permutations, product
from random import Random
from time import process_time
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protosim.api import Command
from protosim.linearizability import KEY_VALUE, Model, Operation, State, check

PUT_RETURNS_NOTHING = Model(
    initial=lambda: None,
    step=lambda state, c: (None, c.value) if c.op == "put" else (state, state),
    partition=lambda c: c.key,
)


def _count(state: State, command: Any) -> tuple[object, State]:
    assert isinstance(state, int)
    return (None, state + command.value) if command.op == "put" else (state, state)


COUNTER = Model(initial=lambda: 0, step=_count, partition=lambda c: c.key)
"""A put adds, so indefinite puts count together: none wipes out another."""


def history(*lines: str) -> list[Operation]:
    """One line an operation, "id invoked-returned command -> result", as "1 0-3 put x 5 -> None".

    Without a return it is indefinite: "2 4- get x". The client is c<id>, the node n1.
    """
    operations: list[Operation] = []
    for line in lines:
        call, _, result = line.partition(" -> ")
        op, span, kind, key, *value = call.split()
        invoked, returned = span.split("-")
        operations.append(
            Operation(
                op=int(op),
                client=f"c{op}",
                node="n1",
                command=Command(kind, key, *map(int, value)),
                invoked=int(invoked),
                returned=int(returned) if returned else None,
                result=int(result) if result not in ("", "None") else None,
            )
        )
    return operations


# -- By hand ---------------------------------------------------------------------------------------


def test_an_empty_history_is_linearizable() -> None:
    assert check([]).outcome == "linearizable"


def test_operations_that_overlap_may_take_effect_in_either_order() -> None:
    for seen_by_first, seen_by_second in ((None, 1), (2, None)):
        overlapping = history(
            f"1 0-2 put x 1 -> {seen_by_first}",
            f"2 1-3 put x 2 -> {seen_by_second}",
        )
        assert check(overlapping).outcome == "linearizable"


def test_a_stale_read_is_a_violation_and_the_sentence_says_what_was_possible() -> None:
    verdict = check(history("1 0-1 put x 1 -> None", "2 2-3 put x 2 -> 1", "3 4-5 get x -> 1", "4 6-7 get y"))
    assert verdict.outcome == "violation"
    assert verdict.key == "x"
    assert verdict.operations == (1, 2, 3)
    assert verdict.culprit == 3
    assert verdict.sentence == (
        "get x by c3 on n1 returned 1, but no order of the operations on x up to then explains"
        " that: only 2 would have been possible"
    )


def test_a_lost_update_is_a_violation() -> None:
    verdict = check(history("1 0-3 put x 1 -> None", "2 1-4 put x 2 -> None", "3 5-6 get x -> 2"))
    assert (verdict.outcome, verdict.operations) == ("violation", (1, 2))


def test_two_readers_that_see_two_writes_in_opposite_order_are_a_violation() -> None:
    verdict = check(
        history(
            "1 0-20 put x 1 -> None",
            "2 1-21 put x 2 -> 1",
            "3 2-6 get x -> 1",
            "4 3-7 get x -> 2",
            "5 8-12 get x -> 2",  # after operation 3, which read 1
            "6 9-13 get x -> 1",  # after operation 4, which read 2
        )
    )
    assert (verdict.operations, verdict.culprit) == ((1, 2, 3, 4, 5, 6), 6)
    assert verdict.sentence.endswith("only 2 would have been possible")


def test_what_an_open_operation_will_return_does_not_count_before_it_returns() -> None:
    verdict = check(history("1 0-9 put x 1 -> 5", "2 1-2 get x -> 1", "3 3-4 get x -> None"))
    assert (verdict.operations, verdict.culprit) == ((1, 2, 3), 3)


def test_a_read_of_a_value_never_written_is_a_violation() -> None:
    verdict = check(history("1 0-1 put x 1 -> None", "2 2-4 get x -> 9", "3 3-5 put x 2 -> 1"))
    assert verdict.operations == (1, 2, 3)
    assert verdict.sentence.endswith("only 1 or 2 would have been possible")


def test_a_read_before_the_write_it_sees_is_a_violation() -> None:
    verdict = check(history("1 0-1 get x -> 1", "2 2-3 put x 1 -> None"))
    assert verdict.operations == (1,)
    assert verdict.sentence.endswith("only None would have been possible")


def test_an_indefinite_write_may_be_observed_late() -> None:
    observed = history("1 0-1 put x 1 -> None", "2 2- put x 2", "3 4-5 get x -> 1", "4 6-7 get x -> 2")
    assert check(observed).outcome == "linearizable"
    overwritten = history("5 8-9 put x 3 -> 2", "6 10-11 get x -> 3")
    assert check(observed + overwritten).outcome == "linearizable"


def test_an_indefinite_write_may_never_take_effect() -> None:
    assert check(history("1 0- put x 1", "2 2-3 get x -> None")).outcome == "linearizable"


def test_an_indefinite_write_takes_no_effect_before_its_invocation() -> None:
    assert check(history("1 0-1 get x -> 2", "2 2- put x 2")).operations == (1,)


def test_an_indefinite_write_takes_effect_only_once() -> None:
    verdict = check(
        history(
            "1 0- put x 1",
            "2 2-3 put x 2 -> 1",
            "3 4-5 put x 3 -> 1",
        )
    )
    assert (verdict.outcome, verdict.culprit) == ("violation", 3)
    assert verdict.sentence.endswith("only 2 would have been possible")


def test_two_indefinite_writes_of_one_value_may_each_take_effect() -> None:
    twice = history("1 0- put x 1", "2 1- put x 1", "3 2-3 put x 2 -> 1", "4 4-5 put x 3 -> 1")
    assert check(twice).outcome == "linearizable"
    assert check(twice + history("5 6-7 put x 4 -> 1")).culprit == 5


def test_indefinite_increments_add_up() -> None:
    added = history("1 0- put x 1", "2 1- put x 2", "3 2-3 get x -> 3")
    assert check(added, COUNTER).outcome == "linearizable"
    once_each = history("1 0- put x 1", "2 1- put x 2", "3 2-3 get x -> 4")
    assert check(once_each, COUNTER).outcome == "violation"


def test_a_write_that_would_change_nothing_now_may_change_something_later() -> None:
    later = history("1 0-1 put x 1", "2 2-9 put x 1", "3 3-4 put x 2", "4 5-6 get x -> 2", "5 7-8 get x -> 1")
    assert check(later, PUT_RETURNS_NOTHING).outcome == "linearizable"


def test_an_indefinite_read_is_no_excuse() -> None:
    assert check(history("1 0- get x", "2 2-3 get x -> 1")).outcome == "violation"


def test_a_command_applied_twice_is_seen_through_the_value_that_the_next_one_replaced() -> None:
    verdict = check(
        history(
            "1 0-1 put x 1 -> None",
            "2 2-3 put x 2 -> 1",
            "3 4-5 put x 3 -> 1",  # put x 1 was applied again in between
        )
    )
    assert verdict.sentence == (
        "put x 3 by c3 on n1 returned 1, but no order of the operations on x up to then explains"
        " that: only 2 would have been possible"
    )


def test_keys_are_judged_apart() -> None:
    verdict = check(history("1 0-1 put x 1 -> None", "2 2-3 put y 2 -> None", "3 4-5 get y -> 1"))
    assert (verdict.key, verdict.operations) == ("y", (2, 3))


def test_the_sentence_lists_no_more_than_four_possible_results() -> None:
    puts = [f"{n} {n}- put x {n}" for n in range(1, 9)]
    verdict = check(history(*puts, "9 10-11 get x -> 9"))
    assert verdict.sentence.endswith(": None, 1, 2, 3 and others would have been possible")


def test_the_sentence_passes_over_what_was_possible_long_ago() -> None:
    puts = [f"{n} {2 * n}-{2 * n + 1} put x {n} -> {n - 1 or None}" for n in range(1, 100)]
    verdict = check(history(*puts, "100 200-201 get x -> 98"))
    assert verdict.sentence.endswith("only 99 would have been possible")


def test_a_return_before_the_invocation_is_refused() -> None:
    with pytest.raises(ValueError, match="operation 1 returned at 1 but was invoked at 2"):
        check(history("1 2-1 get x -> None"))


def test_a_search_that_runs_out_of_budget_is_inconclusive() -> None:
    reads = history("1 0-1 put x 1 -> None", "2 2-3 get x -> 1", "3 4-5 get x -> 1")
    assert check(reads, budget=3).outcome == "linearizable"
    verdict = check(reads, budget=2)
    assert (verdict.outcome, verdict.key, verdict.steps) == ("inconclusive", "x", 2)
    assert "within 2 steps" in verdict.sentence


def test_a_violation_outweighs_another_key_that_ran_out_of_budget() -> None:
    reads = history("1 0-1 get x -> None", "2 2-3 get x -> None", "3 4-5 get y -> 1")
    assert check(reads, budget=1).key == "y"


# -- Against all permutations ----------------------------------------------------------------------


def explained(operations: Sequence[Operation], model: Model) -> bool:
    """The definition, word for word: some order of the definite operations and of some indefinite
    ones respects real time and gives every definite result."""
    definite = [o for o in operations if o.returned is not None]
    indefinite = [o for o in operations if o.returned is None]
    some = chain.from_iterable(combinations(indefinite, n) for n in range(len(indefinite) + 1))
    return any(
        _respects_time(order) and _gives_results(order, model)
        for chosen in some
        for order in permutations([*definite, *chosen])
    )


def _respects_time(order: Sequence[Operation]) -> bool:
    return not any(
        later.returned is not None and later.returned < earlier.invoked for earlier, later in combinations(order, 2)
    )


def _gives_results(order: Sequence[Operation], model: Model) -> bool:
    states: dict[object, State] = {}
    for o in order:
        key = model.partition(o.command)
        result, states[key] = model.step(states.get(key, model.initial()), o.command)
        if o.returned is not None and result != o.result:
            return False
    return True


def up_to(operations: Sequence[Operation], end: int) -> list[Operation]:
    """The prefix that ends with the event at `end`: what is open then is indefinite."""
    return [
        o if o.returned is not None and o.returned <= end else attrs.evolve(o, returned=None)
        for o in operations
        if o.invoked <= end
    ]


COMMANDS = [Command("get", "x"), Command("put", "x", 1), Command("put", "x", 2)]


@st.composite
def small_histories(draw: st.DrawFn, model: Model, keys: str = "x") -> list[Operation]:
    """Up to six operations, served by `model` in some order; then some results may be changed."""
    count = draw(st.integers(1, 6))
    commands = [Command(c.op, key, c.value) for c, key in product(COMMANDS, keys)]
    # Each operation has three moments, in one order of all: invoked, taking effect, returned.
    order = draw(st.permutations([number for number in range(count) for _ in range(3)]))
    moments = [[m for m, who in enumerate(order) if who == number] for number in range(count)]
    operations: list[Operation] = []
    states: dict[object, State] = {}
    for number, (invoked, _, returned) in sorted(enumerate(moments), key=lambda each: each[1][1]):
        command = draw(st.sampled_from(commands))
        key = model.partition(command)
        fate = draw(st.sampled_from(["served", "served", "wrong", "indefinite", "lost"]))
        result: object = None
        if fate != "lost":
            result, states[key] = model.step(states.get(key, model.initial()), command)
        if fate == "wrong":
            result = draw(st.sampled_from([None, 0, 1, 2]))
        until = None if fate in ("indefinite", "lost") else returned
        operations.append(Operation(number, f"c{number}", "n1", command, invoked, until, result))
    return operations


def _agrees(operations: list[Operation], model: Model) -> None:
    outcome = "linearizable" if explained(operations, model) else "violation"
    assert check(operations, model).outcome == outcome


@settings(max_examples=400, deadline=None)
@given(small_histories(KEY_VALUE))
def test_the_verdict_on_one_register_is_that_of_the_definition(operations: list[Operation]) -> None:
    _agrees(operations, KEY_VALUE)


@settings(max_examples=150, deadline=None)
@given(small_histories(KEY_VALUE, keys="xy"))
def test_the_verdict_on_two_registers_is_that_of_the_definition(
    operations: list[Operation],
) -> None:
    _agrees(operations, KEY_VALUE)


@settings(max_examples=150, deadline=None)
@given(small_histories(KEY_VALUE))
def test_the_verdict_needs_no_hint_of_what_a_command_writes(operations: list[Operation]) -> None:
    _agrees(operations, attrs.evolve(KEY_VALUE, writes=None))


@settings(max_examples=300, deadline=None)
@given(small_histories(PUT_RETURNS_NOTHING))
def test_the_verdict_on_a_register_whose_puts_return_nothing_is_that_of_the_definition(
    operations: list[Operation],
) -> None:
    _agrees(operations, PUT_RETURNS_NOTHING)


@settings(max_examples=300, deadline=None)
@given(small_histories(COUNTER))
def test_the_verdict_on_a_counter_is_that_of_the_definition(operations: list[Operation]) -> None:
    _agrees(operations, COUNTER)


@settings(max_examples=300, deadline=None)
@given(small_histories(KEY_VALUE))
def test_the_reported_prefix_is_the_shortest_that_no_order_explains(
    operations: list[Operation],
) -> None:
    verdict = check(operations)
    if verdict.outcome == "violation":
        end = next(o.returned for o in operations if o.op == verdict.culprit)
        assert end is not None
        broken = sorted(up_to(operations, end), key=lambda o: o.invoked)
        assert verdict.operations == tuple(o.op for o in broken)
        assert not explained(broken, KEY_VALUE)
        assert explained(up_to(operations, end - 1), KEY_VALUE)


@settings(max_examples=200, deadline=None)
@given(small_histories(KEY_VALUE))
def test_the_results_called_possible_are_those_that_the_definition_allows(
    operations: list[Operation],
) -> None:
    verdict = check(operations)
    if verdict.outcome == "violation":
        culprit = next(o for o in operations if o.op == verdict.culprit)
        assert culprit.returned is not None
        rest = [o for o in up_to(operations, culprit.returned) if o.op != culprit.op]
        said = verdict.sentence.split(": only ")[1].removesuffix(" would have been possible")
        assert sorted(said.replace(" or ", ", ").split(", ")) == sorted(
            str(result)
            for result in (None, 1, 2)
            if explained([*rest, attrs.evolve(culprit, result=result)], KEY_VALUE)
        )


# -- At length -------------------------------------------------------------------------------------


def served(seed: int, count: int, clients: int, keys: int, values: int) -> list[Operation]:
    """`count` operations of clients that wait for an answer, served correctly; 4 % are indefinite,
    and half of these take effect, perhaps much later. `values` bounds the values put."""
    random = Random(seed)
    free_at = [0] * clients
    calls: list[tuple[int, int, int, Operation]] = []  # invoked, takes effect, returns
    for op in range(count):
        client = min(range(clients), key=free_at.__getitem__)
        key = f"k{random.randrange(keys)}"
        command = random.choice([Command("get", key), Command("put", key, op % values)])
        indefinite = random.random() < 0.04
        invoked = free_at[client] + random.randint(1, 9)
        effect = invoked + random.randint(1, 2_000 if indefinite else 30)
        returned = effect + random.randint(1, 30)
        free_at[client] = invoked + 60 if indefinite else returned
        until = None if indefinite else 0
        operation = Operation(op, f"c{client}", "n1", command, 0, until, None)
        calls.append((invoked, effect, returned, operation))
    return list(_played(calls, random))


def _played(calls: list[tuple[int, int, int, Operation]], random: Random) -> Iterator[Operation]:
    moments = sorted((time, op, kind) for op, call in enumerate(calls) for kind, time in enumerate(call[:3]))
    registers: dict[str, State] = {}
    for place, (_, op, kind) in enumerate(moments):
        operation = calls[op][3]
        definite, key = operation.returned is not None, operation.command.key
        if kind == 0:
            operation.invoked = place
        elif kind == 1 and (definite or random.random() < 0.5):
            step = KEY_VALUE.step(registers.get(key), operation.command)
            operation.result, registers[key] = step
        elif kind == 2 and definite:
            operation.returned = place
    return (call[3] for call in calls)


def test_histories_served_correctly_are_linearizable() -> None:
    for seed, values in product(range(30), (2, 5, 1_000)):
        operations = served(seed, count=200, clients=8, keys=2, values=values)
        assert check(operations).outcome == "linearizable"
        without_hint = attrs.evolve(KEY_VALUE, writes=None)
        assert check(operations, without_hint, budget=100_000).outcome != "violation"


def test_an_indefinite_write_is_tried_only_where_its_value_was_read() -> None:
    lost = [f"{n} {n}- put x {n}" for n in range(100)]
    reads = [f"{n} {2 * n}-{2 * n + 1} get x -> {n - 100}" for n in range(100, 200)]
    verdict = check(history(*lost, *reads))
    assert (verdict.outcome, verdict.steps) == ("linearizable", 200)  # a write and a read each


def test_one_wrong_result_in_a_long_history_is_named() -> None:
    for seed in range(30):
        operations = served(seed, count=200, clients=8, keys=2, values=1_000)
        wrong = next(o for o in operations[100:] if o.returned is not None)
        wrong.result = 12_345
        assert check(operations).culprit == wrong.op


def test_ten_thousand_operations_are_judged_within_seconds() -> None:
    for values in (3, 10_000):  # many indefinite writes look alike; none does
        operations = served(1, count=10_000, clients=10, keys=5, values=values)
        before = process_time()
        assert check(operations).outcome == "linearizable"
        wrong = next(o for o in operations[9_000:] if o.returned is not None)
        wrong.result = 12_345
        assert check(operations).culprit == wrong.op
        assert process_time() - before < 5


def test_indefinite_operations_that_change_nothing_cost_nothing() -> None:
    reads = [f"{n} {n}- get x" for n in range(30)]
    without_hint = attrs.evolve(KEY_VALUE, writes=None)
    verdict = check(history(*reads, "30 30-31 get x -> 1"), without_hint, budget=100)
    assert verdict.outcome == "violation"


def test_indefinite_writes_that_nobody_read_cost_no_exponential() -> None:
    lost = [f"{n} {n}- put x {n}" for n in range(30)]
    reads = [f"{n} {2 * n}-{2 * n + 1} get x -> {n - 100}" for n in range(100, 115)]
    verdict = check(history(*lost, *reads, "200 400-401 get x -> 77"), PUT_RETURNS_NOTHING, 10_000)
    assert verdict.culprit == 200


def test_a_hundred_indefinite_writes_cost_no_exponential() -> None:
    lost = [f"{n} {n}- put x {n % 7}" for n in range(100)]
    read = [f"{n} {2 * n}-{2 * n + 1} get x -> {n % 7}" for n in range(100, 120)]
    verdict = check(history(*lost, *read, "200 1000-1001 get x -> 7"), budget=10_000)
    assert verdict.culprit == 200
