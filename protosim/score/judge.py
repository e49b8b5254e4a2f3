"""The judge: plays a suite's runs with the candidate's nodes in workers, and says how each ended.

Scheduler, network, crashes, clocks, disks, invariants and client histories are here; a worker sees
one event of one node at a time. All runs go on at once, in rounds: each asks about its next event,
then worker after worker answers; while the effects of one's answers are carried out, the next are
still at work. Who is asked what, and in which order, depends on the suite and the answers alone.

The n-th boot of a run takes place in worker n. So no two nodes of a run, and no two lives of a
node, ever share a worker. A run that begins anew does so in other workers: none remembers how it went.
"""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Literal

import attrs

from protosim.program import Program
from protosim.run import LocalHost, drive, finish, make_switches, make_world, printable, spell_event
from protosim.scenario import Scenario
from protosim.score import step
from protosim.score.pool import Pool, Worker
from protosim.score.rehearsal import Rehearsal, deeds
from protosim.score.suite import Trial
from protosim.words import plural
from protosim.world import DELIVER, START, ProtocolFailure, World

MOST_BOOTS = 40  # of all nodes in one run: each needs a worker
LARGEST_EVENT = 64 << 10  # bytes that a worker may answer to one event, on average over a frame
LARGEST_SCORE = 128 << 20  # bytes that all workers may send in all
MANY = 50  # commands of a kind, of which a score needs an answered one
OFTEN = 4  # times: what correct nodes do so often in a run cannot be missing from it by chance
LEFT = "Left: "  # begins what a worker answers to events that it does not handle, since one of another run loops
STRIKES = 3  # loops and silences after which a candidate is given up
LIMIT = 200.0  # seconds of CPU time in this process, which needs ten: a busy machine costs nobody a score
WALL = 900.0  # seconds by the clock, which the reference needs one in forty of

Progress = Callable[[int, int], None]
"""(runs that have ended, all runs)"""

Switches = tuple[tuple[str, Any], ...]
"""(name, value)"""

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

    trial: Trial
    program: Program  # the reference
    world: World
    switches: Switches
    slot: int
    liars: LocalHost | None = None  # correct nodes that others speak for; the candidate's code never lies
    did: set[str] = attrs.field(factory=set)  # by the candidate's nodes: `deeds`
    seats: dict[int, Worker] = attrs.field(factory=dict)  # by node, where it lives now
    boots: int = 0
    lives: int = 0  # how often it began anew
    outcome: Outcome | None = None

    def advance(self) -> bool:
        """To the next event of a correct node: False when the world is over."""
        world = self.world
        while world.advance():
            if self.liars is None or world.ids[world.at] not in world.liars:
                return True
            effects, refused = self.liars.step(world)
            world.resume(effects, ())
            effects.clear()
            refused.clear()
        return False

    def end(self) -> None:
        """The world is over: judge its history, its progress and its goals."""
        world, run = self.world, finish(self.world)
        if run.violation is not None:
            self.close("violation", run.violation.sentence, run.violation.invariant.name)
        elif world.scenario.heal is not None and world.now < world.horizon:
            self.close("failure", f"after {plural(world.events, 'event')} it was too early to judge progress")
        elif run.linearizable == "inconclusive":
            self.close("goal", "the client history is too tangled to be judged", "linearizability")
        else:
            goal, sentence = self.missed()
            self.close("goal" if goal else "passed", sentence, goal)

    def missed(self) -> tuple[str, str]:
        """The first goal that was not reached, and how; or nothing."""
        answers, least = self.answers(), self.trial.run.answers
        for goal in self.trial.goals:
            if goal not in self.world.reached:
                return goal, f"after {plural(self.world.events, 'event')} this goal was never reached"
        if answers < least:
            return "answers", f"clients got {plural(answers, 'answer')}; {least} are the least"
        usual = usual_deeds(self.program, self.world.scenario) if self.trial.run.breaks else []
        if 2 * len(idle := [deed for deed in usual if deed not in self.did]) > len(usual):
            so_long = plural(self.world.events, "event")
            return "activity", f"in {so_long} no node did what correct ones do: {', '.join(idle)}"
        return "", ""

    def answers(self) -> int:
        """How many clients got one."""
        return sum(request.returned is not None for request in self.world.requests.values())

    def close(self, ending: Ending, sentence: str, invariant: str = "") -> None:
        self.outcome = Outcome(
            ending=ending,
            invariant=invariant,
            sentence=printable(sentence),
            events=self.world.events,
            answers=self.answers(),
            digest=self.world.digest(),
        )
        self.seats.clear()

    def lost(self, seat: Worker) -> None:
        """The process in which a node of this run lived has ended."""
        ending: Ending = "timeout" if seat.silent else "failure"
        self.close(ending, f"the worker process has ended: {seat.dead}")


@contextlib.contextmanager
def blame(game: Game) -> Generator[None, None, None]:
    """What goes wrong in here is the candidate's doing: with the reference every run is sound."""
    try:
        yield
    except MemoryError:
        raise  # but this is the machine's
    except ProtocolFailure as failed:
        game.close("failure", str(failed))
    except Exception as error:
        game.close("failure", f"its effects led to {type(error).__name__}: {error}")


def question(world: World, slot: int, switches: Switches) -> list[Any]:
    """The world's event, for a worker."""
    kind, *details = world.pending
    if kind == DELIVER:
        details = details[:2]  # not the message's key
    elif kind == START:
        disk = tuple((name, step.content_to_tell(x)) for name, x in details[0].items())
        details = [world.ids[world.at], world.replicas, switches, disk]
    return step.event_to_wire(slot, world.clock_of(world.at), kind, *details)


def usual_deeds(program: Program, scenario: Scenario) -> list[str]:
    """What correct nodes do often in this run. Who sleeps until it is over breaks nothing, and repairs nothing."""
    host = Rehearsal(program, scenario)
    drive(make_world(program, scenario, digest=False), host)
    return sorted(deed for deed, times in host.did.items() if times >= OFTEN)


def switches_of(program: Program, scenario: Scenario) -> Switches:
    """All of them, as a node is told them."""
    return tuple(attrs.asdict(make_switches(program, scenario.switches), recurse=False).items())


def require_answers_of_every_kind(games: Sequence[Game]) -> None:
    """Whoever refuses all writes need not replicate anything: the runs that have goals all miss one then."""
    asked: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for request in (request for game in games for request in game.world.requests.values()):
        kind = str(getattr(request.command, "op", type(request.command).__name__))
        asked[kind] += 1
        answered[kind] += request.returned is not None
    for kind, count in sorted(asked.items()):
        if count < MANY or answered[kind]:
            continue
        sentence = f"in all runs together {count} commands {kind} were asked, and none was answered"
        for game in games:
            if game.outcome is not None and game.outcome.ending == "passed":
                game.close("goal", sentence, "answers")


CHANCE = (
    "played again, the run went another way: something in the candidate depends on chance (the order of a map or a "
    "set, an address, a clock), or stays from one run to the next"
)


def _confirmed(first: Outcome, second: Outcome | None) -> Outcome:
    """The outcome of a run that was played twice. A run that the clock has ended may end elsewhere."""
    if second is None or first.digest == second.digest or "timeout" in (first.ending, second.ending):
        return first
    return attrs.evolve(first, ending="failure", invariant="", sentence=CHANCE)


class Judge:
    """One candidate's scoring."""

    def __init__(self, pool: Pool, program: Program, progress: Progress | None = None) -> None:
        self.pool, self.program, self.progress = pool, program, progress
        self.reader = step.Reader(program.classes, program.spec.disk)
        self.received = 0
        self.strikes = 0
        self.given_up = ""  # why the runs that were left have failed
        self.deadline = time.process_time() + LIMIT
        self.end_of_day = time.monotonic() + WALL

    def play(self, trials: Sequence[Trial]) -> dict[str, Outcome]:
        """Every run to its end; by name."""
        games = [self._begin(trial, slot) for slot, trial in enumerate(trials)]
        while any(game.outcome is None for game in games):
            self._hear(self._ask(games))
            self._give_up_at_last(games)
            if self.progress is not None:
                self.progress(sum(game.outcome is not None for game in games), len(games))
        require_answers_of_every_kind([game for game in games if game.trial.goals])
        return {game.trial.run.name: game.outcome for game in games if game.outcome is not None}

    def play_again(self, trials: Sequence[Trial], outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
        """The outcomes, after those of these runs that passed were played once more: what went another way has failed.

        The first one is played in processes that see no other run. Runs that are played together share theirs, and
        could carry messages for each other.
        """
        if self.given_up:
            return dict(outcomes)
        self.progress = None
        passed = [trial for trial in trials if outcomes[trial.run.name].ending == "passed"]
        again = self.play(passed[1:])
        together = self.pool
        with contextlib.closing(Pool(together.launch, together.level)) as self.pool:
            again |= self.play(passed[:1])
        self.pool = together
        return {name: _confirmed(outcome, again.get(name)) for name, outcome in outcomes.items()}

    def _begin(self, trial: Trial, slot: int) -> Game:
        world = make_world(self.program, trial.scenario)
        switches = switches_of(self.program, trial.scenario)
        return Game(trial, self.program, world, switches, slot, LocalHost(self.program, trial.scenario))

    def _ask(self, games: Sequence[Game]) -> dict[Worker, list[Game]]:
        """Advance these games to their next events, and post these; who was asked about which."""
        asked: dict[Worker, list[Game]] = {}
        for game in games:
            if game.outcome is None and self._advance(game):
                seat = game.seats[game.world.at]
                if seat.dead:
                    self._lose(game, seat)
                else:
                    asked.setdefault(seat, []).append(game)
        for seat, those in asked.items():
            seat.post([question(game.world, game.slot, game.switches) for game in those])
        return asked

    def _advance(self, game: Game) -> bool:
        """To the next event for a node; one that boots gets a worker that the run has not used."""
        world = game.world
        with blame(game):
            if not game.advance():
                game.end()
                return False
            if world.pending[0] == START:
                if game.boots == MOST_BOOTS:
                    raise ProtocolFailure(f"its nodes booted more than {MOST_BOOTS} times")
                game.seats[world.at] = self.pool.worker(game.lives * MOST_BOOTS + game.boots)
                game.boots += 1
            return True
        return False

    def _hear(self, asked: dict[Worker, list[Game]]) -> None:
        """Take the answers, and carry out what they say."""
        for seat, games in asked.items():
            answers = self._answers(seat, seat.hear(), len(games))
            for i, game in enumerate(games):
                if answers is None or (seat.looped and str(answers[i]).startswith(LEFT)):
                    seat.kill("it left what it was asked")  # or it could do so for ever, at no cost
                    self._lose(game, seat)
                else:
                    self._settle(game, answers[i], seat)

    def _lose(self, game: Game, seat: Worker) -> None:
        """The process in which a node of this run lived is no more. What another run did there costs it nothing."""
        if seat.looped:
            fresh = self._begin(game.trial, game.slot)
            game.world, game.liars, game.boots, game.lives = fresh.world, fresh.liars, 0, game.lives + 1
            game.did.clear()
            game.seats.clear()
        else:
            game.lost(seat)

    def _answers(self, seat: Worker, body: bytes | None, expected: int) -> list[Any] | None:
        """The worker's answers; None if it is dead, or dead now for what it sent."""
        if body is None:
            self.strikes += seat.silent
            return None
        self.received += len(body)
        try:
            if len(body) > LARGEST_EVENT * expected:
                raise ValueError(f"it has {plural(len(body), 'byte')} for {plural(expected, 'event')}")
            answers = step.decode(body)
            if type(answers) is not list or len(answers) != expected:
                raise ValueError(f"it does not answer {plural(expected, 'event')}")
        except ValueError as error:
            seat.kill(f"its answer is no frame: {error}")
            return None
        return answers

    def _settle(self, game: Game, answer: Any, seat: Worker) -> None:
        world = game.world
        where = f"while {world.ids[world.at]} handled {spell_event(world.pending)}"
        if type(answer) is str:
            looping = answer.startswith("Looping: ")
            self.strikes += looping
            seat.looped |= looping
            game.close("timeout" if looping else "failure", f"{answer}, {where}")
            return
        with blame(game):
            try:
                effects, refused = self.reader.read(answer, world.ids)
            except ValueError as error:
                raise ProtocolFailure(f"{error}, {where}") from error
            game.did.update(deeds(effects))
            world.resume(effects, refused)

    def _give_up_at_last(self, games: Sequence[Game]) -> None:
        """Past these bounds all that is left has failed."""
        if self.strikes >= STRIKES:
            self.given_up = f"the candidate looped or was silent {self.strikes} times"
        elif self.received > LARGEST_SCORE:
            self.given_up = f"the candidate sent more than {LARGEST_SCORE} bytes"
        elif time.process_time() > self.deadline:
            self.given_up = f"what the candidate sent took more than {LIMIT:g} s of CPU time to judge"
        elif time.monotonic() > self.end_of_day:
            self.given_up = f"the candidate's answers took more than {WALL:g} s to come"
        else:
            return
        for game in games:
            if game.outcome is None:
                game.close("timeout", self.given_up)
