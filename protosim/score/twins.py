"""One protocol in Python and in Go: the same events must have the same effects.

    python -m protosim.score.twins raft --runs 1000
    python -m protosim.score.twins raft --mutant raft.vote_once_per_term

The events are those of a hunt's runs, so they go deep. The Python nodes in this process lead them; every event that one
of these handles goes to its twin in Go as well. All that a node writes to its disk is an effect, and what a restart
finds there is part of an event, so nodes with the same effects have the same durable states.
"""

import argparse
import contextlib
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from mutations import find
from mutations import golang as mutated
from protosim.api import ModelSpec
from protosim.errors import UserError
from protosim.plan import Wish, plan
from protosim.program import Program, load, modules, spec_of
from protosim.run import LocalHost, make_world, spell_event
from protosim.score import golang, step
from protosim.score.gates import Refusal
from protosim.score.judge import question, switches_of
from protosim.score.pool import Pool, Worker
from protosim.world import ProtocolFailure, World

RUNS = 1_000
LANES = 64  # runs at the same time
CPU = 24 * 3600  # seconds that the worker may use
PLACES = 100  # of nodes in a run, at most
HUNT = Wish()


@attrs.frozen
class Difference:
    run: int  # of the hunt
    event: int
    sentence: str

    def __str__(self) -> str:
        return f"run {self.run}, event {self.event}: {self.sentence}"


@attrs.frozen
class Comparison:
    runs: int
    events: int
    difference: Difference | None  # the first that was met


class Lane:
    """One run after the other. A node's slot in the worker is as good after a restart, and in the next run."""

    def __init__(self, number: int, program: Program, wish: Wish, runs: Iterator[int]) -> None:
        self.number, self.program, self.wish, self.runs = number, program, wish, runs
        self.world: World | None = None
        self.asked = ""  # what Python's node has handled, for a person
        self.expected: Any = None  # how it answered

    def ask(self) -> list[Any] | None:
        """The next event for a correct node, after Python's node has handled it; None when no run is left."""
        while self.world is not None or self._begin():
            if (asked := self._advance()) is not None:
                return asked
            self.world = None
        return None

    def _begin(self) -> bool:
        run = next(self.runs, None)
        if run is None:
            return False
        scenario = plan(self.program, self.wish, run)
        self.run, self.world = run, make_world(self.program, scenario, digest=False)
        self.host = LocalHost(self.program, scenario)
        self.switches = switches_of(self.program, scenario)
        return True

    def _advance(self) -> list[Any] | None:
        world = self.world
        assert world is not None
        with contextlib.suppress(ProtocolFailure):
            while world.advance():
                asked = question(world, self.number * PLACES + world.at, self.switches)
                correct = world.ids[world.at] not in world.liars
                self.asked = f"{world.ids[world.at]} handled {spell_event(world.pending)}"
                effects, refused = self.host.step(world)
                self.expected = [step.effects_to_wire(effects), list(map(list, refused))]
                world.resume(effects, refused)
                effects.clear()
                refused.clear()
                if correct:
                    return asked
        return None

    def difference(self, sentence: str) -> Difference:
        return Difference(self.run, self.world.events if self.world else 0, sentence)


def compare(program: Program, worker: Worker, runs: int, wish: Wish = HUNT) -> Comparison:
    """Until all runs of the hunt are over, or nodes differ."""
    numbers = iter(range(runs))
    lanes = [Lane(number, program, wish, numbers) for number in range(LANES)]
    events = 0
    while asked := [(lane, event) for lane in lanes if (event := lane.ask()) is not None]:
        lanes = [lane for lane, _ in asked]
        events += len(lanes)
        worker.post([event for _, event in asked])
        body = worker.hear()
        if body is None:
            return Comparison(runs, events, lanes[0].difference(f"Go's worker has ended: {worker.dead}"))
        for (lane, _), answer in zip(asked, step.decode(body), strict=True):
            if answer != lane.expected:
                return Comparison(runs, events, lane.difference(_sentence(lane, answer)))
    return Comparison(runs, events, None)


def _sentence(lane: Lane, answer: Any) -> str:
    if type(answer) is not list:
        return f"{lane.asked}, and Go says: {answer}"
    for what, ours, theirs in zip(("effect", "refusal"), lane.expected, answer, strict=True):
        for n, (a, b) in enumerate(itertools.zip_longest(ours, theirs), 1):
            if a != b:
                return f"{lane.asked}: {what} {n} is {_spell(a)} in Python and {_spell(b)} in Go"
    return f"{lane.asked}, and the answers differ"


def _spell(x: Any) -> str:
    return "none" if x is None else json.dumps(x)


def twins(protocol: str, mutants: Sequence[str] = (), *, runs: int = RUNS, wish: Wish = HUNT) -> Comparison:
    """Compare the references, or these mutants of both. Raises UserError where there is none in Go."""
    program = load(protocol, mutants)
    source = golang.reference(protocol)
    source = mutated.apply_all(source, [find(protocol, mutant, load(protocol).source) for mutant in mutants])
    with golang.workshop(protocol) as shop:
        made = shop.compiled(source, shop.run / "worker")
        if isinstance(made, Refusal):
            raise UserError(f"{protocol} in Go cannot be compiled: {made.sentence}.")
        patient = attrs.evolve(shop.launch(), limits=attrs.evolve(golang.LIMITS, cpu=CPU))
        with contextlib.closing(Pool(patient)) as pool:
            return compare(program, pool.worker(0), runs, wish)


def in_go() -> list[str]:
    """The protocols that have a twin."""
    known = [name for name in modules("protocols") if not isinstance(spec_of(name), ModelSpec)]
    return [name for name in known if golang.is_known(name)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m protosim.score.twins", description=__doc__)
    parser.add_argument("protocol", nargs="*", help="default: all that are known in Go")
    parser.add_argument("--mutant", action="append", default=[])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    differ = False
    try:
        for name in options.protocol or in_go():
            found = twins(name, options.mutant, runs=options.runs, wish=Wish(seed=options.seed))
            differ |= found.difference is not None
            says = found.difference or "the same effects"
            print(f"{name}: {found.runs:,} runs, {found.events:,} events: {says}", flush=True)
    except UserError as error:
        print(error, file=sys.stderr)
        return 3
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
