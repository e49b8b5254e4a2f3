"""Liveness: a way to go on for ever without a goal, although nobody is treated unfairly.

A lasso is a stem from the first state and a loop. It breaks `eventually` if the goal holds in no state of the loop and
the loop is weakly fair: whatever is enabled in all of its states (a message's arrival, a timer, a fair action of a
model) happens in it. Staying in one state for ever is a loop if nothing fair is enabled there. A strongly connected
component of states without the goal has such a loop exactly if it is fair as a whole (Lichtenstein and Pnueli 1985).
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import attrs

from protosim.api import Invariant
from protosim.explore.bounds import Limits, peak
from protosim.explore.search import LOOK, Explored, Pulse, without_collector
from protosim.watchdog import watched


class Fair(Protocol):
    """A System of which is known what must not be put off for ever. Duties are small numbers or other values."""

    pulse: Pulse

    def initial(self) -> tuple[Any, Any]: ...

    def successors(self, state: Any) -> list[tuple[int, Any, Any]]: ...

    def goals(self) -> list[Invariant]:
        """What must hold again and again."""
        ...

    def misses(self, state: Any) -> tuple[str, ...]:
        """For each goal a sentence, or "" where it holds."""
        ...

    def duties(self, state: Any) -> frozenset[Any]:
        """What is enabled and must not stay so for ever."""
        ...

    def done(self, state: Any, event: int) -> Iterable[Any]:
        """The duties that the event does."""
        ...


@attrs.frozen
class Lasso:
    """Events of the stem and of the loop, as choices among successors; an empty loop stays where it is."""

    invariant: Invariant
    sentence: str
    stem: tuple[int, ...]
    loop: tuple[int, ...]


Edge = tuple[int, int, int]
"""Choice, event, number of the state afterwards."""


class Graph:
    """All states and steps."""

    def __init__(self, system: Fair, limits: Limits, progress: Callable[[Explored], None] | None = None) -> None:
        self.system, self.limits, self.progress = system, limits, progress
        self.states: list[Any] = []
        self.edges: list[list[Edge]] = []
        self.parents: list[tuple[int, int]] = []  # (number of the state before, choice)

    def build(self) -> Explored:
        found, started = Explored(before=peak()), time.process_time()
        with watched(self.system.pulse), without_collector():
            try:
                self._build(found, self.limits.deadline())
            except KeyboardInterrupt:
                found.ended = "interrupt"
        found.states, found.peak, found.cpu = len(self.states), peak(), time.process_time() - started
        return found

    def _build(self, found: Explored, deadline: float) -> None:
        first, _ = self.system.initial()
        numbers = {first: 0}
        self.states.append(first)
        self.parents.append((0, 0))
        for number, state in enumerate(self.states):
            self.system.pulse.events += 1
            edges: list[Edge] = []
            for choice, (event, after, broken) in enumerate(self.system.successors(state)):
                if broken is not None:
                    continue
                if after not in numbers:
                    numbers[after] = len(self.states)
                    self.states.append(after)
                    self.parents.append((number, choice))
                edges.append((choice, event, numbers[after]))
            self.edges.append(edges)
            found.steps += len(edges)
            if not number % LOOK and self._over(found, deadline):
                return

    def _over(self, found: Explored, deadline: float) -> bool:
        found.states = len(self.states)
        if self.progress is not None:
            self.progress(found)
        found.ended = self.limits.reached(found.states, deadline) or "exhausted"
        return found.ended != "exhausted"

    def path_to(self, number: int) -> tuple[int, ...]:
        path: list[int] = []
        while number:
            number, choice = self.parents[number]
            path.append(choice)
        return tuple(reversed(path))

    # -- Lassos --------------------------------------------------------------------------------------

    def lasso(self) -> Lasso | None:
        """The one with the shortest stem, of the first goal that has one."""
        misses = [self.system.misses(state) for state in self.states]
        for place, invariant in enumerate(self.system.goals()):
            without = [bool(missed[place]) for missed in misses]
            fair = [component for component in components(self.edges, without) if self._is_fair(component)]
            if fair:
                component = min(fair, key=min)
                start = min(component)
                sentence = misses[start][place]
                return Lasso(invariant, sentence, self.path_to(start), self._loop(start, set(component)))
        return None

    def _is_fair(self, component: list[int]) -> bool:
        return not self._waiting(component) - self._fulfilled(component)

    def _waiting(self, component: list[int]) -> frozenset[Any]:
        """What is enabled in all states of the component."""
        return frozenset.intersection(*[self.system.duties(self.states[number]) for number in component])

    def _fulfilled(self, component: list[int]) -> set[Any]:
        inside = set(component)
        return {
            duty
            for number in component
            for _, event, after in self.edges[number]
            if after in inside
            for duty in self.system.done(self.states[number], event)
        }

    def _loop(self, start: int, inside: set[int]) -> tuple[int, ...]:
        """A round trip within the component that treats nobody unfairly: for every duty of the start, to a state that
        does not have it, or over an event that does it."""
        path: list[int] = []
        at = start
        left = set(self.system.duties(self.states[start]))

        def does_one(number: int, event: int, after: int) -> bool:
            return bool(self._less(number, event, after, left))

        while left:
            for choice, event, after in self._way(at, inside, does_one):
                left -= self._less(at, event, after, left)
                path.append(choice)
                at = after
        if at != start:
            path += [choice for choice, _, _ in self._way(at, inside, lambda number, event, after: after == start)]
        return tuple(path)

    def _less(self, number: int, event: int, after: int, left: set[Any]) -> set[Any]:
        """Which of these duties the step does, or leads away from."""
        here = self.system.duties(self.states[after])
        done = set(self.system.done(self.states[number], event))
        return {duty for duty in left if duty in done or duty not in here}

    def _way(self, start: int, inside: set[int], wanted: Callable[[int, int, int], bool]) -> list[Edge]:
        """The shortest way within the component whose last step is wanted."""
        came: dict[int, tuple[int, Edge]] = {}
        queue = deque([start])
        while queue:
            number = queue.popleft()
            for edge in self.edges[number]:
                if edge[2] not in inside:
                    continue
                if wanted(number, edge[1], edge[2]):
                    way = [edge]
                    while number != start:
                        number, edge = came[number]
                        way.append(edge)
                    return way[::-1]
                if edge[2] not in came and edge[2] != start:
                    came[edge[2]] = (number, edge)
                    queue.append(edge[2])
        raise RuntimeError("a strongly connected component is not")


def components(edges: list[list[Edge]], member: list[bool]) -> list[list[int]]:
    """The strongly connected components of the members, each sorted (Tarjan 1972, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(edges)):
        if not member[root] or root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            number, rest = work[-1]
            for _, _, after in rest:
                if not member[after]:
                    continue
                if after not in index:
                    index[after] = low[after] = len(index)
                    stack.append(after)
                    on_stack.add(after)
                    work.append((after, iter(edges[after])))
                    break
                if after in on_stack:
                    low[number] = min(low[number], index[after])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[number])
                if low[number] == index[number]:
                    found.append(_pop(stack, on_stack, number))
    return found


def _pop(stack: list[int], on_stack: set[int], number: int) -> list[int]:
    component: list[int] = []
    while not component or component[-1] != number:
        component.append(stack.pop())
        on_stack.discard(component[-1])
    return sorted(component)
