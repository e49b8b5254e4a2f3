"""The judge: plays a suite's runs with the candidate's nodes in workers, and says how each ended.

Scheduler, network, crashes, clocks, disks, invariants and client histories are here; a worker sees one event of one
node at a time. All runs go on at once, in two halves that take turns: while workers handle the events of one half, the
effects of the other are carried out. Who is asked what, and in which order, depends on the suite and the answers alone.

The n-th boot of a run takes place in worker n. So no two nodes of a run, and no two lives of a node, share a worker.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import attrs

from protosim.program import Program
from protosim.run import finish, make_switches, make_world, spell_event
from protosim.scenario import Scenario
from protosim.score import step
from protosim.score.pool import Pool, Worker
from protosim.score.suite import SubRun
from protosim.world import DELIVER, START, ProtocolFailure, World

MOST_BOOTS = 40  # of all nodes in one run: each needs a worker
LARGEST_EVENT = 64 << 10  # bytes that a worker may answer to one event, on average over a frame
LARGEST_SCORE = 128 << 20  # bytes that all workers may send in all
STRIKES = 5  # loops and silences after which a candidate is given up
LIMIT = 300.0  # seconds for all runs

Ending = Literal["passed", "violation", "goal", "failure", "timeout"]


@attrs.frozen(kw_only=True)
class Outcome:
    """How a run ended. Sentences are short and printable, whatever the candidate put into them."""

    ending: Ending
    invariant: str = ""  # violation, goal: which
    sentence: str = ""
    events: int
    answers: int  # that clients got
    digest: str


@attrs.define(eq=False)
class Game:
    """A run in progress."""

    run: SubRun
    world: World
    switches: dict[str, Any]
    slot: int
    seats: dict[int, Worker] = attrs.field(factory=dict)  # by node, where it lives now
    boots: int = 0
    outcome: Outcome | None = None

    def question(self) -> list[Any]:
        """The world's event, for a worker."""
        world, (kind, *details) = self.world, self.world.pending
        if kind == DELIVER:
            details = details[:2]  # not the message's key
        elif kind == START:
            disk = [(name, tuple(x) if type(x) is list else x) for name, x in details[0].items()]
            details = [world.ids[world.at], world.ids, tuple(self.switches.items()), tuple(disk)]
        return step.event_to_wire(self.slot, world.clock_of(world.at), kind, *details)

    def end(self) -> None:
        """The run is over: judge its history and its goals."""
        run = finish(self.world)
        if run.violation is not None:
            self.close("violation", run.violation.sentence, run.violation.invariant.name)
        elif run.linearizable == "inconclusive":
            self.close("goal", "the client history is too tangled to be judged", "linearizability")
        elif (lacking := self.lacks()) is not None:
            self.close("goal", lacking[1], lacking[0])
        else:
            self.close("passed", "")

    def lacks(self) -> tuple[str, str] | None:
        """Which goal was not reached, and how."""
        world, run, answered = self.world, self.run, self.answered()
        if world.scenario.heal is not None and world.now < world.horizon:
            return "progress", f"after {world.events} events it was not yet time to judge progress"
        for goal in run.goals:
            if goal not in world.reached:
                return goal, f"after {world.events} events this goal was never reached"
        if len(answered) < run.answers:
            return "answers", f"clients got {len(answered)} answers where {run.answers} are the least"
        if len(set(answered)) < run.servers:
            return "servers", f"{len(set(answered))} nodes answered clients where {run.servers} are the least"
        return None

    def answered(self) -> list[str]:
        """By whom, for each answer that a client got."""
        return [request.node for request in self.world.requests.values() if request.returned is not None]

    def fail(self, sentence: str) -> None:
        self.close("failure", sentence)

    def close(self, ending: Ending, sentence: str, invariant: str = "") -> None:
        world = self.world
        self.outcome = Outcome(
            ending=ending,
            invariant=invariant,
            sentence=printable(sentence),
            events=world.events,
            answers=len(self.answered()),
            digest=world.digest(),
        )
        self.seats.clear()


def printable(text: str, longest: int = 400) -> str:
    """On one line, without anything that a terminal would obey."""
    text = "".join(c if c.isprintable() else "?" for c in text[: longest + 1])
    return text if len(text) <= longest else text[:longest] + "…"


class Judge:
    """One candidate's scoring."""

    def __init__(self, pool: Pool, program: Program, progress: Callable[[int, int], None] | None = None) -> None:
        self.pool, self.program, self.progress = pool, program, progress
        self.reader = step.Reader(program.classes, program.spec.disk)
        self.received = 0
        self.strikes = 0
        self.given_up = ""  # why the runs that were left have failed
        self.deadline = time.monotonic() + LIMIT

    def play(self, runs: Sequence[SubRun], scenarios: Mapping[str, Scenario]) -> dict[str, Outcome]:
        """Every run to its end; by name."""
        games = [self._begin(run, scenarios[run.name], slot) for slot, run in enumerate(runs)]
        halves = [games[0::2], games[1::2]]
        asked = [self._ask(half) for half in halves]
        while any(asked):
            for i, half in enumerate(halves):
                self._hear(asked[i])
                self._give_up_at_last(games)
                asked[i] = self._ask(half)
            if self.progress is not None:
                self.progress(sum(game.outcome is not None for game in games), len(games))
        return {game.run.name: game.outcome for game in games if game.outcome is not None}

    def _begin(self, run: SubRun, scenario: Scenario, slot: int) -> Game:
        switches = attrs.asdict(make_switches(self.program, scenario.switches), recurse=False)
        return Game(run, make_world(self.program, scenario), switches, slot)

    def _ask(self, games: Sequence[Game]) -> dict[Worker, list[Game]]:
        """Advance these games to their next event, and post the events; who was asked about which games."""
        asked: dict[Worker, list[Game]] = {}
        for game in games:
            if game.outcome is None and self._guard(game, lambda game=game: self._advance(game)):
                seat = game.seats[game.world.at]
                if seat.dead:
                    game.close("timeout" if seat.silent else "failure", _end_of(seat))
                else:
                    asked.setdefault(seat, []).append(game)
        for seat, those in asked.items():
            seat.post([game.question() for game in those])
        return asked

    def _advance(self, game: Game) -> bool:
        """To the next event that a node must handle; a node that boots gets a seat in a worker that the run has not used."""
        world = game.world
        if not world.advance():
            return False
        if world.pending[0] == START:
            if game.boots == MOST_BOOTS:
                raise ProtocolFailure(f"its nodes booted more than {MOST_BOOTS} times")
            game.seats[world.at] = self.pool.worker(game.boots)
            game.boots += 1
        return True

    def _hear(self, asked: dict[Worker, list[Game]]) -> None:
        """Take the answers, and carry out what they say."""
        heard = self.pool.collect(list(asked))
        for seat, games in asked.items():
            answers = self._answers(seat, heard.get(seat), len(games))
            for i, game in enumerate(games):
                if answers is None:
                    game.close("timeout" if seat.silent else "failure", _end_of(seat))
                else:
                    self._settle(game, answers[i])

    def _answers(self, seat: Worker, body: bytes | None, expected: int) -> list[Any] | None:
        """The worker's answers; None if it is dead, or dead now for what it sent."""
        if body is None:
            self.strikes += seat.silent
            return None
        self.received += len(body)
        try:
            if len(body) > LARGEST_EVENT * expected:
                raise ValueError(f"it answered with {len(body)} bytes")
            answers = step.decode(body)
            if type(answers) is not list or len(answers) != expected:
                raise ValueError(f"it did not give {expected} answers")
            return answers
        except ValueError as error:
            seat.kill(f"its answer was no frame: {error}")
            return None

    def _settle(self, game: Game, answer: Any) -> None:
        world = game.world
        node, event = world.ids[world.at], spell_event(world.pending)
        if type(answer) is str:
            looping = answer.startswith("Looping: ")
            self.strikes += looping
            game.close("timeout" if looping else "failure", f"{answer}, while {node} handled {event}")
            return
        try:
            effects, refused = self.reader.read(answer, world.ids)
        except ValueError as error:
            game.fail(f"{node} handled {event} with what is no effect: {error}")
            return
        self._guard(game, lambda: (world.resume(effects, refused), True)[1])

    def _guard(self, game: Game, move: Callable[[], bool]) -> bool:
        """Let the world move. Whatever goes wrong there is the candidate's doing: the reference's runs are certified."""
        try:
            if move():
                return True
            game.end()
        except ProtocolFailure as failed:
            game.fail(str(failed))
        except MemoryError:
            raise  # the machine's
        except Exception as error:
            game.fail(f"{type(error).__name__} where its effects were carried out: {error}")
        return False

    def _give_up_at_last(self, games: Sequence[Game]) -> None:
        """Past these bounds all that is left has failed."""
        if self.strikes >= STRIKES:
            self.given_up = f"the candidate looped or was silent {self.strikes} times"
        elif self.received > LARGEST_SCORE:
            self.given_up = f"the candidate sent more than {LARGEST_SCORE} bytes"
        elif time.monotonic() > self.deadline:
            self.given_up = f"the candidate took longer than {LIMIT:g} s"
        else:
            return
        for game in games:
            if game.outcome is None:
                game.close("timeout", self.given_up)


def _end_of(worker: Worker) -> str:
    return f"the worker process has ended: {worker.dead}"
