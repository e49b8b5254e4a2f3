"""What the tests share that watch the watchers: do a protocol's invariants bite, and do its stories try its checks?"""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from protosim.api import Observer, methods
from protosim.plan import LIVENESS_EVERY, Wish, plan
from protosim.program import Program, load, reference
from protosim.run import Run, simulate

RUNS = 120  # of a hunt, in one of which a mutant should break its invariant

T = TypeVar("T", bound=Observer)


# -- Stories -----------------------------------------------------------------------------------------


def sole_refusals(story: str) -> set[str]:
    """The checks that are somewhere the only reason to refuse."""
    return set(re.findall(r"^  (?:[nc]\d refuses .*|does not hold at [nc]\d): (\w+)$", story, re.MULTILINE))


# -- Runs --------------------------------------------------------------------------------------------


def told(run: Run) -> list[tuple[str, str]]:
    """What broke, a warning that came before the violation too, and the sentences."""
    return [(found.invariant.name, found.sentence) for found in (run.violation, run.warning) if found is not None]


def broken(program: Program, index: int, observers: Sequence[type[Observer]] | None = None) -> list[str]:
    """What the run of a hunt breaks."""
    scenario = plan(program, Wish(), index)
    return [name for name, _ in told(simulate(program, scenario, observers=observers, digest=False))]


def but_goals(protocol: str) -> list[str]:
    """The invariants that can break, in order."""
    return [invariant.name for invariant in reference(protocol).spec.invariants() if invariant.mode != "sometimes"]


def is_broken_by(protocol: str, invariant: str, mutant: str, *, by_itself: bool = False) -> bool:
    """Whether the first runs of the mutant's hunt break the invariant; liveness is judged in some of them only.

    `by_itself`: where no other invariant says anything, so that a sharper one does not come first.
    """
    mode = next(i.mode for i in reference(protocol).spec.invariants() if i.name == invariant)
    first, step = (LIVENESS_EVERY - 1, LIVENESS_EVERY) if mode == "eventually" else (0, 1)
    program = load(protocol, [f"{protocol}.{mutant}"])
    observers = [alone(observer, invariant) for observer in program.spec.observers] if by_itself else None
    return any(invariant in broken(program, index, observers) for index in range(first, RUNS, step))


# -- Observers ---------------------------------------------------------------------------------------


def without(observer: type[T], method: str) -> type[T]:
    """The observer, whose method does what it does but never reports; one that takes notes alone does nothing."""
    loud = methods(observer)[method]

    def silent(self: Observer, *facts: Any) -> None:
        if hasattr(loud, "_invariant"):
            loud(self, *facts)

    silent.__dict__.update(loud.__dict__)
    return cast("type[T]", type("Without", (observer,), {method: silent}))


def alone(observer: type[T], method: str) -> type[T]:
    """The observer, in which all other methods take notes and report nothing."""

    def mute(function: Any) -> Callable[..., None]:
        def muted(*facts: Any) -> None:
            function(*facts)

        if hasattr(function, "_fact"):
            muted._fact = function._fact  # type: ignore[attr-defined]
        return muted

    others = {name: f for name, f in methods(observer).items() if hasattr(f, "_invariant") and name != method}
    return cast("type[T]", type("Alone", (observer,), {name: mute(function) for name, function in others.items()}))
