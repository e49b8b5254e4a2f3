"""The states of a shared-state model, and what can happen next in each."""

import inspect
from typing import Any

import attrs

from protosim.api import Invariant, ModelSpec, methods, refusals
from protosim.explore.search import Pulse
from protosim.explore.space import Numbers
from protosim.explore.watch import Broken
from protosim.narrate import spell
from protosim.run import says

Next = tuple[int, Any, Broken | None]


@attrs.frozen
class Act:
    """An action, by one participant (from 0) where each has its own."""

    name: str
    function: Any
    who: tuple[int, ...]
    fair: bool

    def __str__(self) -> str:
        return f"{self.name}({self.who[0] + 1})" if self.who else self.name


class ModelSpace:
    """A model with so many participants, as a System. Steps that change nothing are left out."""

    def __init__(self, spec: ModelSpec, size: int, *, symmetric: bool) -> None:
        self.spec, self.model = spec, spec.model(size)
        self.columns = spec.model.symmetric if symmetric else ()
        self.ranks: Numbers[tuple[Any, ...]] = Numbers()
        self.acts = list(_acts(spec, size))
        self.properties = spec.properties(size)
        judged = [method for method in methods(spec.properties).values() if hasattr(method, "_invariant")]
        self.always = [method for method in judged if method._invariant.mode == "always"]
        self.eventually = [method for method in judged if method._invariant.mode == "eventually"]
        self.pulse = Pulse(("the model",))

    def initial(self) -> tuple[Any, Broken | None]:
        first = self.model.initial()
        return first, self.judge(first)

    def successors(self, state: Any) -> list[Next]:
        found: list[Next] = []
        for number, act in enumerate(self.acts):
            self.pulse.events += 1
            try:
                after = act.function(self.model, state, *act.who)
            except Exception as error:
                found.append((number, state, Broken(None, f"{says(error)}, in {act}")))
                continue
            if after is not None and after != state:
                found.append((number, self.canonical(after), None))
        refusals.clear()  # nobody looks at these
        return found

    def canonical(self, state: Any) -> Any:
        """The state that stands for those in which the participants only have other places."""
        columns = [getattr(state, name) for name in self.columns]
        if not columns or any(len(column) != self.model.size for column in columns):
            return state
        places = zip(*columns, strict=True)
        in_order = sorted(places, key=self.ranks.__getitem__)
        return attrs.evolve(state, **dict(zip(self.columns, zip(*in_order, strict=True), strict=True)))

    def judge(self, state: Any) -> Broken | None:
        for method in self.always:
            broken = method(self.properties, state)
            if broken:
                return Broken(method._invariant, broken)
        return None

    # -- Liveness ------------------------------------------------------------------------------------

    def goals(self) -> list[Invariant]:
        return [method._invariant for method in self.eventually]

    def misses(self, state: Any) -> tuple[str, ...]:
        return tuple(method(self.properties, state) or "" for method in self.eventually)

    def duties(self, state: Any) -> frozenset[int]:
        """Fair actions that would change something."""
        return frozenset(event for event, _, _ in self.successors(state) if self.acts[event].fair)

    def done(self, state: Any, event: int) -> tuple[int, ...]:
        return (event,)

    # -- What is told --------------------------------------------------------------------------------

    def told(self, path: tuple[int, ...]) -> list[tuple[str, str]]:
        """The story of a path: the first state, then each action with what it changed."""
        state = target = self.model.initial()
        lines = [("", _changes(None, state))]
        for choice in path:
            _, target, _ = self.successors(target)[choice]
            for act in self.acts:
                after = act.function(self.model, state, *act.who)
                if after is not None and after != state and self.canonical(after) == target:
                    lines.append((str(act), _changes(state, after)))
                    state = after
                    break
        return lines


def _changes(before: Any, after: Any) -> str:
    fields = [name for name, _ in after.FIELDS if before is None or getattr(before, name) != getattr(after, name)]
    return ", ".join(f"{name} = {spell(getattr(after, name))}" for name in fields)


def _acts(spec: ModelSpec, size: int) -> Any:
    for name, method in methods(spec.model).items():
        if hasattr(method, "_action"):
            alone = len(inspect.signature(method).parameters) == 2
            for who in [()] if alone else [(i,) for i in range(size)]:
                yield Act(name, method, who, method._action == "fair")
