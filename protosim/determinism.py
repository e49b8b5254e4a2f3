"""The detector of nondeterminism: one scenario, twice, in two fresh processes; where do they first differ?

The processes hash strings differently, and one of them has run the scenario before: so an order of a set, an address, a
random number and a global that survives a run all make a difference. What is compared is each event and every effect
that its handler asked for, in order: the first event that differs names the handler which is to blame.
"""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any

import attrs
import cattrs

from protosim.api import APPLY, CANCEL, REFUSE, REPLY, RESET, RESTORE, SEND, SET_TIMER, STORE, SYNC, WRITE, Effect
from protosim.narrate import spell
from protosim.program import Program, from_source
from protosim.run import LocalHost, make_world, spell_event
from protosim.scenario import Scenario
from protosim.watchdog import watched
from protosim.world import DELIVER, REQUEST, TIMEOUT, ProtocolFailure, World

HASH_SEEDS = ("56", "58")
"""Two seeds of Python's string hash under which nearly every pair of node names comes in another order."""

_VERBS = {
    SEND: "send",
    WRITE: "write",
    STORE: "store",
    SYNC: "sync",
    SET_TIMER: "set_timer",
    CANCEL: "cancel",
    APPLY: "apply",
    REPLY: "reply",
    REFUSE: "refuse",
    RESTORE: "restore",
    RESET: "reset",
}


@attrs.frozen
class Difference:
    """Where two runs of one scenario first differ."""

    event: int  # from 1
    node: str
    handler: str  # the method that is to blame; "" if the world chose another event after the same past
    what: str  # the event, for a person
    first: str  # what the first run did there, and the second did not
    second: str

    @property
    def sentence(self) -> str:
        if not self.handler:
            return f"Event {self.event} is not the same in two runs: {self.first}, or {self.second}."
        return (
            f"{self.handler} is not deterministic: in event {self.event}, {self.node} handling {self.what}, "
            f"one run did {self.first}, another {self.second}."
        )


def compare(program: Program, scenario: Scenario) -> Difference | None:
    """Run the scenario in two processes: None if they agree in every effect of every event.

    Raises RuntimeError if a process fails by itself.
    """
    about = {"name": program.name, "source": program.source, "worker": program.worker, "project": program.project}
    job = json.dumps({**about, "scenario": cattrs.unstructure(scenario)})
    with contextlib.ExitStack() as stack:
        runs = [stack.enter_context(_process(job, seed, warm)) for seed, warm in zip(HASH_SEEDS, (0, 1), strict=True)]
        for a, b in itertools.zip_longest(*runs, fillvalue=OVER):
            if a != b:
                return between(a, b)
    return None


Line = tuple[list[Any], list[str]]
"""[number of the event, node, handler, what], and the effects that the handler asked for."""

OVER: Line = ([0, "", "", ""], [])


def between(a: Line, b: Line) -> Difference:
    """What to say of two lines that differ."""
    (number, node, handler, what), effects = a
    if a[0] != b[0]:
        spelled = [f"{line[0][3]} at {line[0][1]}" if line != OVER else "the end of the run" for line in (a, b)]
        return Difference(max(number, b[0][0]), node, "", what, *spelled)
    for first, second in itertools.zip_longest(effects, b[1], fillvalue="nothing more"):
        if first != second:
            return Difference(number, node, handler, what, first, second)
    raise AssertionError(f"these do not differ: {a}, {b}")


@contextlib.contextmanager
def _process(job: str, hash_seed: str, warm: int) -> Generator[Iterator[Line], None, None]:
    """A fresh interpreter that plays the job: a line an event."""
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH", "")])])
    command = [sys.executable, "-P", "-m", "protosim.determinism", str(warm)]
    with tempfile.TemporaryFile("w+") as complaints, tempfile.TemporaryFile("w+", encoding="utf-8") as question:
        question.write(job)
        question.seek(0)
        process = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
            stdin=question,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            encoding="utf-8",
        )
        assert process.stdout is not None
        try:
            yield _lines(process, process.stdout, complaints)
        finally:
            process.kill()
            process.stdout.close()
            process.wait()


def _lines(process: subprocess.Popen[str], out: IO[str], complaints: IO[str]) -> Iterator[Line]:
    for line in out:
        event, effects = json.loads(line)
        yield event, effects
    if process.wait() != 0:
        complaints.seek(0)
        last = (complaints.read().strip().splitlines() or ["it said nothing"])[-1]
        raise RuntimeError(f"a process that replayed a run ended with exit code {process.returncode}: {last}")


# -- In the process ----------------------------------------------------------------------------------


def play(program: Program, scenario: Scenario) -> Iterator[Line]:
    """The run, an event a line."""
    world = make_world(program, scenario)
    host = LocalHost(program, scenario)
    try:
        with watched(world):
            while world.advance():
                effects, refused = host.step(world)
                yield _event(world, program), [_spell(effect) for effect in effects]
                world.resume(effects, refused)
                effects.clear()
                refused.clear()
    except ProtocolFailure as failure:
        yield _event(world, program), [f"failure: {failure}"]


def _event(world: World, program: Program) -> list[Any]:
    event, node = world.pending, program.spec.node
    if event[0] == DELIVER:
        handler = node.HANDLERS[type(event[2])].__name__
    elif event[0] == TIMEOUT:
        handler = node.TIMERS[event[1]].__name__
    else:
        handler = "request" if event[0] == REQUEST else "start"
    return [world.events, world.ids[world.at], f"{node.__name__}.{handler}", spell_event(event)]


def _spell(effect: Effect) -> str:
    kind, *details = effect
    return f"{_VERBS.get(kind, kind)}({', '.join(map(spell, details))})"


def _program(job: dict[str, Any]) -> Program:
    if not job["worker"]:
        return from_source(job["name"], job["source"])
    from protosim import remote

    return remote.load(job["name"], tuple(job["worker"]), job["project"])


def main() -> None:
    """Read a job from stdin, write its events to stdout; with argument 1, run it once before."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # what a protocol prints is not an event
        job = json.load(sys.stdin)
        program = _program(job)
        scenario = cattrs.structure(job["scenario"], Scenario)
        if sys.argv[1] == "1":
            for _ in play(program, scenario):
                pass
        for line in play(program, scenario):
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
