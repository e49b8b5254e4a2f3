"""Transcripts: scenarios driven by hand, as text. A command, `----`, and what the cluster then did.

    # A node votes once in a term, §5.2.

    nodes n1 n2 n3

    timeout n1 election
    ----
    n1: the election timer fires
      n1 writes term = 1, voted_for = n1
      n1 sends RequestVote(term=1, last_log_index=0, last_log_term=0) to n2 n3

A block of lines is comments, commands, and their answer. The commands:

    nodes n1 n2 n3 [no_op=true batch=1]     the cluster, with the protocol's switches
    nodes n1 n2 n3 n4 liars=n1              a liar does nothing by itself: it says what `lie` tells it to say
    beside raft.vote_once_per_term          play a mutant beside it: shown from where its answer differs
    timeout n1 election                     a timer that is set fires
    request n1 put x 1                      a client asks
    request n1 again 1                      the client of the first operation asks again
    deliver n1 n2 [Vote] [term=1] [last]    the oldest, or the last, such message on its way from n1 to n2
    again n1 n2 [Vote] [term=1]             a duplicate of the last such message that arrived
    lie n1 n2 n3 Vote(term=1, signer="n1")  a liar's message arrives at n2, then at n3
    stabilize n1 n2                         all that is on its way between these, oldest first, until it is quiet
    drop [n1 [n2]]                          what is on its way is lost: all, what n1 sent, or from n1 to n2
    crash n1 [keeping ...]                  the node stops
    restart n1
    wait 150                                so many milliseconds pass
    clock n1 -100                           somebody sets the node's clock, forwards or back, by so many milliseconds
    logs                                    what was written to the disks

`timeout`, `request`, `deliver` and `again` may end in `crashing before sync` (or `after send 2`: its second one): the
node crashes between two effects of the event. `keeping all`, or `keeping 1 3:2`: the first of the unsynced writes, and
two entries of the third, a log write; without it a crash keeps nothing unsynced.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from protosim.api import APPLY, MS, REPLY, RESET, RESTORE, SEND, STORE, SYNC, WRITE, Effect
from protosim.disk import Kept
from protosim.errors import UserError
from protosim.expression import read
from protosim.history import judge_history
from protosim.narrate import StoryRecorder, spell
from protosim.program import Program, load, nearest
from protosim.run import LocalHost, make_schedule
from protosim.scenario import Choice, Scenario, Step
from protosim.script import ScriptedWorld
from protosim.story import Moment
from protosim.values import Value, digest_of, to_wire
from protosim.world import Broken, ProtocolFailure, World

RULE = "----"
EFFECTS = {
    "send": SEND,
    "write": WRITE,
    "store": STORE,
    "reset": RESET,
    "sync": SYNC,
    "apply": APPLY,
    "restore": RESTORE,
    "reply": REPLY,
}
PATIENCE = 1000  # deliveries of one `stabilize`


@attrs.frozen
class CrashPoint:
    """Where in an event the node crashes: beside the n-th effect of a kind."""

    before: bool
    effect: int
    ordinal: int


@attrs.define
class Flight:
    """A message on its way."""

    src: str
    dst: str
    m: Value
    key: int


class Stage(ScriptedWorld):
    """A scripted world that remembers in which order messages were sent."""

    def __init__(self, scenario: Scenario, program: Program) -> None:
        self.flying: list[Flight] = []
        self.arrived: list[Flight] = []
        self.crash_point: CrashPoint | None = None
        self.keeping: Kept | None = ()  # None: all unsynced writes
        super().__init__(scenario, program.spec, make_schedule(Choice("replay")))

    def _enqueue(self, delay: int, dst: int, src: int, m: Any, key: int) -> None:
        super()._enqueue(delay, dst, src, m, key)
        self.flying.append(Flight(self.ids[src], self.ids[dst], m, key))

    def clock_of(self, node: int) -> int:
        return World.clock_of(self, node)

    def _crash_point(self, effects: Sequence[Effect]) -> tuple[int | None, Kept]:
        point = self.crash_point
        if point is None:
            return None, ()
        places = [i for i, effect in enumerate(effects) if effect[0] == point.effect]
        if len(places) < point.ordinal:
            return None, ()
        cut = places[point.ordinal - 1] + (not point.before)
        unsynced = self.disks[self.at].unsynced()
        for effect in effects[:cut]:
            unsynced = 0 if effect[0] == SYNC else unsynced + (effect[0] in (WRITE, STORE, RESET))
        return cut, self.kept(unsynced)

    def kept(self, unsynced: int) -> Kept:
        """Which of so many unsynced writes a crash keeps."""
        return tuple((i, -1) for i in range(unsynced)) if self.keeping is None else self.keeping


class Usher(StoryRecorder):
    """Keeps for each moment which checks refused together."""

    def __init__(self, host: LocalHost) -> None:
        super().__init__(host)
        self.refusals: dict[int, list[tuple[str, ...]]] = {}

    def before(self, world: Any, effects: Any, refused: Sequence[tuple[str, ...]], cut: int | None) -> None:
        self.refusals[len(self.moments) + 1] = list(refused)
        super().before(world, effects, refused, cut)


class Theatre:
    """One program on a stage: takes a command, says what happened."""

    def __init__(
        self, program: Program, nodes: int, switches: dict[str, Any], liars: Sequence[str] = ()
    ) -> None:
        script = tuple(Step("lie", "", src=name) for name in liars)  # never taken; it says who lies
        scenario = Scenario(protocol=program.name, seed=0, nodes=nodes, switches=switches, script=script)
        self.world = Stage(scenario, program)
        self.host = LocalHost(program, scenario)
        self.world.recorder = self.recorder = Usher(self.host)
        self.over = False
        self.speakers = {**self.world.classes, "digest_of": digest_of}
        self.applied = dict.fromkeys(self.world.ids, 0)
        self.warned: Broken | None = None
        self.ops = 0
        while self.world.advance():  # boots the nodes
            self._handle()

    @property
    def violated(self) -> str:
        """The name of the invariant that broke, or ""."""
        return self.world.violation.invariant.name if self.world.violation is not None else ""

    def perform(self, command: str) -> list[str]:
        """Take a command. Raises UserError if there is no such command."""
        verb, *words = command.split()
        if verb not in _COMMANDS:
            raise nearest(verb, _COMMANDS, "command")
        try:
            return _COMMANDS[verb](self, words)
        except ProtocolFailure as failure:
            self.over = True
            return [f"FAILED {failure}"]

    # -- Events --------------------------------------------------------------------------------------

    def timeout(self, words: list[str]) -> list[str]:
        node, timer = self._event(words, 2)
        return self._take("timeout", node, timer=timer) or [f"{node} has set no timer {timer}"]

    def request(self, words: list[str]) -> list[str]:
        node, *asked = self._event(words, 3)
        if asked[0] == "again":
            op = int(asked[1])
            command = self.world.requests[op].command
        else:
            op = self.ops = self.ops + 1
            command = self.world.spec.parse(op, tuple(asked))
        return self._take("request", node, op=op, command=to_wire(command)) or [f"{node} is down"]

    def deliver(self, words: list[str]) -> list[str]:
        flight = self._find(self.world.flying, self._event(words, 2))
        return self._arrive(flight) if flight else [f"no such message is on its way from {words[0]} to {words[1]}"]

    def again(self, words: list[str]) -> list[str]:
        flight = self._find(self.world.arrived[::-1], self._event(words, 2))
        return self._arrive(flight) if flight else [f"no such message has arrived from {words[0]} at {words[1]}"]

    def lie(self, words: list[str]) -> list[str]:
        src, *rest = words
        if src not in self.world.liars:
            raise UserError(f"{src} is no liar: name the liars where the nodes are named, as liars={src}.")
        spoken = next((i for i, word in enumerate(rest) if "(" in word), len(rest))
        m = read(" ".join(rest[spoken:]), self.speakers)
        told: list[str] = []
        for dst in rest[:spoken]:
            took = self._take("lie", self._node(dst), src=src, message=type(m).__name__, lie=to_wire(m))
            told += took or [f"{dst} cannot get {spell(m)}: it is down, or another's signature is made up"]
        return told

    def stabilize(self, words: list[str]) -> list[str]:
        among = [self._node(word) for word in words]
        told: list[str] = []
        for _ in range(PATIENCE):
            flight = next((f for f in self.world.flying if f.src in among and f.dst in among), None)
            if flight is None or self.over:
                return told or ["nothing is on its way between them"]
            told += self._arrive(flight, sends=False)
        raise UserError(f"After {PATIENCE} messages it is still not quiet between {', '.join(among)}.")

    def crash(self, words: list[str]) -> list[str]:
        (node,) = self._event(words, 1)
        unsynced = self.world.disks[self.world.index[node]].unsynced()
        return self._take("crash", node, kept=self.world.kept(unsynced)) or [f"{node} is down"]

    def restart(self, words: list[str]) -> list[str]:
        return self._take("restart", self._node(words[0])) or [f"{words[0]} is up"]

    def wait(self, words: list[str]) -> list[str]:
        (passed,) = words
        self.world.pass_by(int(passed) * MS)
        return [f"{passed} ms pass"]

    def clock(self, words: list[str]) -> list[str]:
        name, by = words
        self.world.set_clock(self.world.index[self._node(name)], int(by) * MS)
        return [f"the clock of {name} is set {'forwards' if int(by) > 0 else 'back'} by {abs(int(by))} ms"]

    def _event(self, words: list[str], least: int) -> list[str]:
        """Strip `crashing ...` and `keeping ...` off the command, and note them."""
        words, kept = _split(words, "keeping")
        words, crash = _split(words, "crashing")
        self.world.keeping = _parse_kept(kept)
        self.world.crash_point = _parse_crash(crash)
        if len(words) < least:
            raise UserError(f"{least} words are needed after the command, not {len(words)}: {' '.join(words)}")
        self._node(words[0])
        return words

    def _node(self, name: str) -> str:
        if name not in self.world.ids:
            raise nearest(name, self.world.ids, "node")
        return name

    def _find(self, flights: list[Flight], words: list[str]) -> Flight | None:
        src, dst, *wanted = words
        self._node(dst)
        if "last" in wanted:
            flights, wanted = flights[::-1], [word for word in wanted if word != "last"]
        for flight in flights:
            if (flight.src, flight.dst) == (src, dst) and all(_matches(flight.m, word) for word in wanted):
                return flight
        return None

    def _arrive(self, flight: Flight, sends: bool = True) -> list[str]:
        """A message reaches its node, or a node that is down."""
        world = self.world
        if flight in world.flying:
            world.flying.remove(flight)
        told = self._take(
            "deliver",
            flight.dst,
            sends=sends,
            src=flight.src,
            message=type(flight.m).__name__,
            fingerprint=flight.key & 0xFFFFFFFF,
            repeat=flight.key >> 32,
        )
        if told:
            world.arrived.append(flight)
        return told or [f"{flight.src} → {flight.dst} {spell(flight.m)} is lost: {flight.dst} is down"]

    def _take(self, do: Any, node: str, sends: bool = True, **about: Any) -> list[str]:
        """Let one step happen; [] if nothing enables it."""
        world, first = self.world, len(self.recorder.moments)
        step = Step(do, node, world.now + 1000, **about)
        if world.play(step):
            self._handle()
        world.crash_point, world.keeping = None, ()
        return [line for moment in self.recorder.moments[first:] for line in self._tell(moment, sends)]

    def _handle(self) -> None:
        effects, refused = self.host.step(self.world)
        self.world.resume(effects, refused)
        effects.clear()
        refused.clear()

    # -- What happened -------------------------------------------------------------------------------

    def _tell(self, moment: Moment, sends: bool) -> Iterator[str]:
        node = moment.node
        yield _heading(moment)
        for checks in self.recorder.refusals[moment.number]:
            says = f"{node} refuses {moment.what}" if moment.refuses else f"does not hold at {node}"
            yield f"  {says}: {' and '.join(checks)}"
        for written in moment.wrote:
            yield f"  {node} writes {written}{'' if moment.synced else ' (not synced)'}"
        if sends:
            for detail in dict.fromkeys(detail for _, detail in moment.sent):
                yield f"  {node} sends {detail} to {' '.join(dst for dst, d in moment.sent if d == detail)}"
        for entry in moment.applied:
            yield f"  {node} applies {entry}"
        for answer in moment.replied:
            yield f"  {node} answers {answer}"
        if moment.cut:
            yield f"  {node} {moment.cut}" if moment.kind != "crash" else f"  {moment.cut}"
        self._count(moment)
        if moment.replied and self.world.violation is None:
            judge_history(self.world)
        yield from self._judge()

    def _count(self, moment: Moment) -> None:
        """How much each node has applied, for `logs`."""
        count = self.applied[moment.node] if moment.kind != "restart" else 0
        for entry in moment.applied:
            count = int(entry[2:].partition(":")[0]) if entry.startswith("1…") else count + 1  # "1…3: snapshot"
        self.applied[moment.node] = count if self.world.up(moment.node) else 0

    def _judge(self) -> Iterator[str]:
        world = self.world
        if world.warning is not None and self.warned is None:
            self.warned = world.warning
            yield f"  WARNING {self.warned.invariant.name}: {self.warned.sentence}"
        if world.violation is not None and not self.over:
            self.over = True
            yield f"  VIOLATED {world.violation.invariant.name}: {world.violation.sentence}"

    def drop(self, words: list[str]) -> list[str]:
        flying = self.world.flying
        for word in words:
            self._node(word)
        lost = [f for f in flying if [f.src, f.dst][: len(words)] == words]
        self.world.flying = [f for f in flying if f not in lost]
        return [f"{f.src} → {f.dst} {spell(f.m)} is lost" for f in lost] or ["nothing is on its way"]

    def logs(self, words: list[str]) -> list[str]:
        logs = self.world.spec.disk.LOGS
        told: list[str] = []
        for node in self.world.ids:
            disk = self.world.written(node).contents()
            parts = [f"{name} {spell(content)}" for name, content in disk.items() if name not in logs]
            parts += [f"{name} {' '.join(map(spell, disk[name])) or 'empty'}" for name in disk if name in logs]
            down = "" if self.world.up(node) else ", down"
            told.append(f"{node}: {', '.join(parts)}, applied {self.applied[node]}{down}")
        return told


_COMMANDS: dict[str, Callable[[Theatre, list[str]], list[str]]] = {
    "timeout": Theatre.timeout,
    "request": Theatre.request,
    "deliver": Theatre.deliver,
    "again": Theatre.again,
    "lie": Theatre.lie,
    "stabilize": Theatre.stabilize,
    "drop": Theatre.drop,
    "crash": Theatre.crash,
    "restart": Theatre.restart,
    "wait": Theatre.wait,
    "clock": Theatre.clock,
    "logs": Theatre.logs,
}


# -- Words -------------------------------------------------------------------------------------------


def _split(words: list[str], at: str) -> tuple[list[str], list[str]]:
    place = words.index(at) if at in words else len(words)
    return words[:place], words[place + 1 :]


def _parse_kept(words: list[str]) -> Kept | None:
    if words == ["all"]:
        return None
    kept: list[tuple[int, int]] = []
    for word in words:
        write, _, entries = word.partition(":")
        kept.append((int(write) - 1, int(entries) if entries else -1))
    return tuple(kept)


def _parse_crash(words: list[str]) -> CrashPoint | None:
    match words:
        case []:
            return None
        case [("before" | "after") as side, kind, *ordinal] if kind in EFFECTS and len(ordinal) < 2:
            return CrashPoint(side == "before", EFFECTS[kind], int(ordinal[0]) if ordinal else 1)
        case _:
            raise UserError(f"crashing {' '.join(words)}: say before or after one of {', '.join(EFFECTS)}.")


def _heading(moment: Moment) -> str:
    node, what = moment.node, moment.what
    match moment.kind:
        case "deliver":
            return f"{moment.peer} → {node} {moment.detail}"
        case "timeout":
            return f"{node}: the {what} timer fires"
        case "request":
            return f"{node}: a client asks: {what}"
        case "crash":
            return f"{node}: the node crashes"
        case _:
            return f"{node}: the node starts with what its disk holds"


def _matches(m: Value, word: str) -> bool:
    """`Vote`, or `term=1`."""
    name, equals, content = word.partition("=")
    if not equals:
        return type(m).__name__ == name
    return spell(getattr(m, name, None)).lower() == content.lower()


def _parse_switches(words: list[str]) -> dict[str, Any]:
    switches: dict[str, Any] = {}
    for word in words:
        name, _, content = word.partition("=")
        switches[name] = int(content) if content.isdecimal() else {"true": True, "false": False}.get(content, content)
    return switches


# -- Files -------------------------------------------------------------------------------------------


@attrs.frozen
class Performance:
    """A text played to its end."""

    text: str  # with the answers as they are now
    violated: dict[str, str]  # program ("" for the reference, or a mutant) -> the invariant that it broke, or ""


def perform(protocol: str, text: str) -> Performance:
    """Play a text against the protocol as it stands in `protocols/`, and its mutants beside it."""
    mutants: list[str] = []
    theatres: dict[str, Theatre] = {}
    told: list[str] = []
    for number, block in enumerate(text.strip("\n").split("\n\n"), 1):
        lines = block.split("\n")
        script = lines[: lines.index(RULE)] if RULE in lines else lines
        commands = [line for line in script if line and not line.startswith("#")]
        answers: dict[str, list[str]] = {name: [] for name in theatres}
        for command in commands:
            verb, *words = command.split()
            try:
                if verb == "beside":
                    mutants += words
                elif verb == "nodes":
                    theatres = _open(protocol, ["", *mutants], words)
                else:
                    for name, theatre in theatres.items():
                        if not theatre.over:
                            answers[name] += theatre.perform(command)
            except (UserError, ValueError, IndexError) as error:
                raise UserError(f"block {number}, `{command}`: {error}") from None
        told.append("\n".join([*script, *_answer(answers)]))
    violated = {name: theatre.violated for name, theatre in theatres.items()}
    return Performance("\n\n".join(told) + "\n", violated)


def _open(protocol: str, programs: list[str], words: list[str]) -> dict[str, Theatre]:
    nodes = [word for word in words if "=" not in word]
    if nodes != [f"n{i}" for i in range(1, len(nodes) + 1)] or not nodes:
        raise UserError("nodes are named n1, n2, n3, ... in this order")
    liars = next((word[6:].split(",") for word in words if word.startswith("liars=")), [])
    switches = _parse_switches([word for word in words if "=" in word and not word.startswith("liars=")])
    return {
        name: Theatre(load(protocol, (name,) if name else ()), len(nodes), switches, liars) for name in programs
    }


def _answer(answers: dict[str, list[str]]) -> list[str]:
    """The reference's answer, then those of the mutants that differ from it."""
    reference = answers.pop("", [])
    lines = [RULE, *reference] if reference else []
    for name, answer in answers.items():
        if answer and answer != reference:
            same = next((i for i, (a, b) in enumerate(zip(reference, answer, strict=False)) if a != b), 0)
            lines += [f"{RULE} {name}", *(["..."] if same else []), *answer[same:]]
    return lines
