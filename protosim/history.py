"""Client histories: what was asked and answered, judged for linearizability."""

from typing import Any

from protosim.api import Invariant, ModelSpec, ProtocolSpec
from protosim.linearizability import Operation, check
from protosim.world import Broken

LINEARIZABILITY = Invariant(
    "linearizability",
    "always",
    "Linearizability",
    "What clients saw could have happened one operation at a time, each between its question and its answer.",
    "Herlihy and Wing 1990; Raft §8",
)


def judged(spec: ProtocolSpec | ModelSpec) -> tuple[Invariant, ...]:
    """All that a run, or an exploration, is judged by."""
    if isinstance(spec, ProtocolSpec) and spec.history is not None:
        return *spec.invariants(), LINEARIZABILITY
    return tuple(spec.invariants())


def operations(world: Any) -> list[Operation]:
    """The run's client operations but those that were refused, which took no effect; unanswered ones are indefinite."""
    return [
        Operation(r.op, f"c{r.op}", r.asked[0], r.command, 2 * r.invoked, r.returned and 2 * r.returned + 1, r.result)
        for r in world.requests.values()
        if not r.refused
    ]


def judge_history(world: Any) -> str:
    """"linearizable", "inconclusive", or "violation", which the world is told; "not checked" where nothing is asked."""
    model = world.spec.history
    if model is None:
        return "not checked"
    history = operations(world)
    if not history:
        return "linearizable"
    verdict = check(history, model, budget=200_000)
    if verdict.outcome == "violation":
        world.violation = Broken(LINEARIZABILITY, verdict.sentence, world.events, world.now)
    return verdict.outcome
