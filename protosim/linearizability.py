"""Did some order explain what the clients saw?

A history is linearizable (Herlihy & Wing, TOPLAS 1990) when every operation can be given one
instant between its invocation and its return so that, carried out at these instants, a sequential
model gives the same results.

The search is Wing & Gong's (JPDC 1993) with Lowe's memory of the configurations seen and his
just-in-time order ("Testing for linearizability", CCPE 2017): an operation is placed only when its
own return, or that of one placed after it, forces it. So the search gets as far into the history
as an order exists, and where it stops is where the history broke. Keys are independent objects
and each is checked alone (Herlihy & Wing's locality).

An indefinite operation has no return and no known result, and may be left out. Two rules keep a
crowd of them from costing an exponential; neither loses an answer:

- a configuration seen before with fewer of them used is dropped: what is not used may still be;
- where every result is the whole state before (`Model.writes`), one is placed only before an
  operation that returned just what it writes: any other would see it and say so, overwrite it
  unseen, or be as indefinite. Of several that write the same, the oldest is as good as any.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

import attrs

State: TypeAlias = Hashable
Outcome = Literal["linearizable", "violation", "inconclusive"]


@attrs.define
class Operation:
    """What a client did and saw. `invoked` and `returned` are places in one order of events.

    Without `returned` it is indefinite: it may have taken effect at any time after `invoked`, or
    never, and `result` means nothing. One that certainly took no effect is not part of a history.
    """

    op: int
    client: str
    node: str
    command: Any
    invoked: int
    returned: int | None
    result: object


@attrs.frozen
class Model:
    """A sequential object: what each command returns, and what it leaves behind.

    `step` is pure, states are immutable, and commands of different `partition` never affect each
    other. `writes` is for objects of which every operation returns the whole state before it: the
    one state that a command leaves behind, or nothing if it leaves the state alone. It only makes
    the search faster.
    """

    initial: Callable[[], State]
    step: Callable[[State, Any], tuple[object, State]]
    partition: Callable[[Any], Hashable]
    writes: Callable[[Any], tuple[State, ...]] | None = None


def _register(before: State, command: Any) -> tuple[object, State]:
    return before, command.value if command.op == "put" else before


KEY_VALUE: Final = Model(
    initial=lambda: None,
    step=_register,
    partition=lambda command: command.key,
    writes=lambda command: (command.value,) if command.op == "put" else (),
)
"""Registers, None at first: `put` stores and returns the previous value, `get` the present one."""


@attrs.frozen
class Verdict:
    """What `check` found.

    For a violation: the key; the ids, by invocation, of the operations in the shortest prefix of
    its history that no order explains; the id of the `culprit`, whose return ends that prefix.
    `steps` is the work done: configurations explored, and comparisons with those seen before.
    """

    outcome: Outcome
    sentence: str
    key: Hashable = None
    operations: tuple[int, ...] = ()
    culprit: int | None = None
    steps: int = 0


def check(history: Sequence[Operation], model: Model = KEY_VALUE, budget: int = 1_000_000) -> Verdict:
    """Judge a history; its operations may come in any order.

    `budget` bounds the steps of one search; there is one for each key, and a few dozen to explain a
    violation. A violation on one key is a violation even if the search on another ran out of
    budget. Raises ValueError if an operation returned before it was invoked.
    """
    steps = 0
    given_up: list[Hashable] = []
    parts = _partition(history, model)
    for key, operations in parts.items():
        search = _Search(operations, model, budget)
        steps += search.steps
        if search.outcome == "violation":
            return _violation(key, operations, budget, search, steps)
        if search.outcome == "inconclusive":
            given_up.append(key)
    if given_up:
        sentence = (
            f"no order of the operations on {given_up[0]} was found or ruled out"
            f" within {budget} steps: raise the budget or shorten the history"
        )
        return Verdict("inconclusive", sentence, given_up[0], steps=steps)
    return Verdict("linearizable", "an order explains every operation", steps=steps)


def _partition(history: Sequence[Operation], model: Model) -> dict[Hashable, list[Operation]]:
    """The operations by key, each key's by invocation."""
    parts: dict[Hashable, list[Operation]] = {}
    for o in sorted(history, key=lambda o: o.invoked):
        if o.returned is not None and o.returned <= o.invoked:
            raise ValueError(
                f"operation {o.op} returned at {o.returned} but was invoked at {o.invoked}:"
                " a return comes after its invocation"
            )
        parts.setdefault(model.partition(o.command), []).append(o)
    return parts


# -- The search ------------------------------------------------------------------------------------

_Open: TypeAlias = tuple[int, Any, object]  # bit, command, result
_Return: TypeAlias = tuple[int, int, tuple[_Open, ...]]  # place, bit, all that is open, this first
_Indefinite: TypeAlias = tuple[int, Any, int]  # bit, command, invoked

_Configuration: TypeAlias = tuple[int, int, int, State]
# The number of the return to come, the open operations placed (bits), the indefinite ones used
# (bits), and the state.


class _Search:
    """A search for an order of one key's operations, until one is found or all are ruled out.

    `reached` is the number of the first return that no order got past. `seen` are the
    configurations: (return to come, placed, state) -> which indefinite operations were used.
    """

    def __init__(self, operations: Sequence[Operation], model: Model, budget: int) -> None:
        self.model = model
        self.returns = _returns(operations)
        self.indefinite = _indefinite(operations, model)
        self.seen: dict[tuple[int, int, State], list[int]] = {}
        self.reached = 0
        self.steps = 0
        self.outcome = self._run(budget)

    def _run(self, budget: int) -> Outcome:
        stack: list[_Configuration] = []
        found: list[_Configuration] = [(0, 0, 0, self.model.initial())]
        while True:
            for number, placed, used, state in found:
                while number < len(self.returns) and placed & self.returns[number][1]:
                    placed ^= self.returns[number][1]
                    number += 1
                if number == len(self.returns):
                    return "linearizable"
                self.reached = max(self.reached, number)
                # Noted before any is explored, so that two indefinite writes in a row are found to be
                # no better than the second alone.
                if not self._was_seen(number, placed, used, state):
                    stack.append((number, placed, used, state))
            if not stack:
                return "violation"
            if self.steps >= budget:
                return "inconclusive"
            self.steps += 1
            found = self._successors(*stack.pop())

    def _was_seen(self, number: int, placed: int, used: int, state: State) -> bool:
        """Whether the search was here with no other indefinite operations used; if not, note it."""
        uses = self.seen.setdefault((number, placed, state), [])
        for fewer in uses:
            if fewer & used == fewer:
                return True
        self.steps += len(uses)
        uses.append(used)
        return False

    def _successors(self, number: int, placed: int, used: int, state: State) -> list[_Configuration]:
        """Place one more operation, in every way that may help. The last is to be tried first."""
        _, due, open_now = self.returns[number]
        reads = 0
        changes: list[tuple[int, State]] = []
        unexplained: list[object] = []
        for bit, command, result in open_now:
            if placed & bit:
                continue
            returned, after = self.model.step(state, command)
            if returned != result:
                unexplained.append(result)
            elif after == state and self.model.writes:
                reads |= bit  # in any state that gives this result, it changes nothing: no choice
            else:
                changes.append((bit, after))
        placed |= reads
        if placed & due:
            return [(number, placed, used, state)]
        successors = [
            (number, placed, used | bit, self.model.step(state, command)[1])
            for bit, command in self._rescues(number, used, unexplained)
        ]
        for bit, after in reversed(changes):  # the first was the one that is due
            successors.append((number, placed | bit, used, after))
        return successors

    def _rescues(self, number: int, used: int, unexplained: list[object]) -> Iterator[tuple[int, Any]]:
        """The indefinite operations that may help to explain a result: (bit, command)."""
        place = self.returns[number][0]
        for written in unexplained if self.model.writes else self.indefinite:
            for bit, command, invoked in self.indefinite.get(written, ()):
                if not used & bit:
                    if invoked < place:
                        yield bit, command
                    break  # the younger ones write the same


def _returns(operations: Sequence[Operation]) -> list[_Return]:
    """The returns in order. A bit stands for an operation while it is open, later for another."""
    moments: list[tuple[int, Operation]] = []
    for o in operations:
        if o.returned is not None:
            moments += (o.invoked, o), (o.returned, o)
    moments.sort(key=lambda moment: moment[0])
    returns: list[_Return] = []
    open_now: dict[int, _Open] = {}
    busy = 0
    for place, o in moments:
        if place == o.invoked:
            bit = ~busy & (busy + 1)  # the lowest that is free
            busy |= bit
            open_now[o.op] = (bit, o.command, o.result)
        else:
            this = open_now.pop(o.op)
            busy ^= this[0]
            returns.append((place, this[0], (this, *open_now.values())))
    return returns


def _indefinite(operations: Sequence[Operation], model: Model) -> dict[object, list[_Indefinite]]:
    """The indefinite operations, oldest first, by what they write; each apart if unknown."""
    groups: dict[object, list[_Indefinite]] = {}
    for number, o in enumerate(o for o in operations if o.returned is None):
        for written in model.writes(o.command) if model.writes else (number,):
            groups.setdefault(written, []).append((1 << number, o.command, o.invoked))
    return groups


# -- The explanation -------------------------------------------------------------------------------

_SHOWN = 4  # how many results, that would have been possible, the sentence lists


def _violation(key: Hashable, operations: list[Operation], budget: int, search: _Search, steps: int) -> Verdict:
    """Cut the history of `key` down to its shortest prefix that no order explains, and explain it.

    In a prefix, what has yet to return is indefinite. No prefix breaks before `search.reached`,
    where `search` failed although it knew more: the results of the operations still open.
    """

    def explore(part: list[Operation]) -> _Search:
        nonlocal steps
        result = _Search(part, search.model, budget)
        steps += result.steps
        return result

    places = [place for place, _, _ in search.returns][search.reached :]

    def breaks(place: int) -> bool:
        return explore(_prefix(operations, place)).outcome == "violation"

    # The last place needs no search: the whole history breaks.
    end = places[bisect_left(places, True, hi=len(places) - 1, key=breaks)]
    prefix = _prefix(operations, end)
    culprit = next(o for o in prefix if o.returned == end)
    rest = [o for o in prefix if o is not culprit]
    possible = (
        result
        for result in _conceivable_results(culprit, rest, explore(prefix))
        if explore([*rest, attrs.evolve(culprit, result=result)]).outcome != "violation"
    )
    sentence = _sentence(key, culprit, list(islice(possible, _SHOWN + 1)))
    ids = tuple(o.op for o in prefix)
    return Verdict("violation", sentence, key, ids, culprit.op, steps)


def _prefix(operations: Sequence[Operation], end: int) -> list[Operation]:
    """The history up to `end`, which is included."""
    return [
        o if o.returned is None or o.returned <= end else attrs.evolve(o, returned=None, result=None)
        for o in operations
        if o.invoked <= end
    ]


def _conceivable_results(culprit: Operation, rest: Sequence[Operation], search: _Search) -> list[object]:
    """All that `culprit`, the last to return, might have returned; some of it may be impossible.

    `search` met every state in which it may be placed, but for those that one indefinite operation
    brings about which no result called for.
    """
    step = search.model.step
    states = dict.fromkeys(state for number, _, state in search.seen if search.returns[number][0] > culprit.invoked)
    indefinite = [o.command for o in rest if o.returned is None]
    for state in list(states):
        states.update(dict.fromkeys(step(state, command)[1] for command in indefinite))
    results: list[object] = []
    for state in states:
        result = step(state, culprit.command)[0]
        if result not in results:
            results.append(result)
    return results


def _sentence(key: Hashable, culprit: Operation, possible: list[object]) -> str:
    sentence = (
        f"{culprit.command} by {culprit.client} on {culprit.node} returned {culprit.result},"
        f" but no order of the operations on {key} up to then explains that"
    )
    names = [str(result) for result in possible]
    if not names:
        return sentence
    if len(names) > _SHOWN:
        return f"{sentence}: {', '.join(names[:_SHOWN])} and others would have been possible"
    listed = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
    return f"{sentence}: only {listed} would have been possible"
