"""Nodes that live in somebody's own program, which speaks the step protocol on its standard input and output.

    program = load("raft", ["./my-host", "--flag"])

To the simulator such a node is a node like any other: an event goes to the program, and what it answers is carried out
as if a handler had asked for it. The program is trusted: it has its own environment, and no sandbox. It is started once
for each node of a cluster, and stays: a node that restarts is another slot of the same process.
"""

import atexit
import functools
import itertools
import shlex
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import attrs

from protosim import api
from protosim.api import RESET, STORE, WRITE, Effect, Node
from protosim.errors import UserError
from protosim.program import Program, reference
from protosim.projection import Projection, parse
from protosim.run import printable, spell_event
from protosim.score import step
from protosim.score.pool import TRUSTED, Launch, Pool, Worker
from protosim.words import plural
from protosim.world import ProtocolFailure

BATCH = 64  # events of one frame where a node's past is repeated
CLIENTS = tuple(f"c{n}" for n in range(1, 10))


class Link:
    """The program's processes, one a node, and the slots in them that are free."""

    def __init__(self, program: Program, launch: Launch, projection: Projection) -> None:
        self.pool = Pool(launch, TRUSTED)
        atexit.register(self.pool.close)
        self.projection = projection
        self.reader = step.Reader(program.classes, program.spec.disk)
        self.free: list[int] = []
        self.slots = itertools.count()
        if wrong := self.pool.load():
            raise UserError(f"{shlex.join(launch.command)} does not speak the step protocol: {wrong}.")

    def worker(self, node: str) -> Worker:
        return self.pool.worker(int(node[1:]) + (100 if node in CLIENTS else 0))

    def slot(self) -> int:
        return self.free.pop() if self.free else next(self.slots)

    def ask(self, node: str, events: Sequence[Any]) -> list[Any]:
        """What the program answers. Raises ProtocolFailure if it does not."""
        worker = self.worker(node)
        worker.post(events)
        body = worker.hear()
        if body is None:
            raise ProtocolFailure(f"the program has ended: {worker.dead}")
        try:
            answers = step.decode(body)
        except ValueError as error:
            worker.kill(f"its answer is no frame: {error}")
            raise ProtocolFailure(f"the program's answer is no frame: {error}") from None
        if type(answers) is not list or len(answers) != len(events):
            raise ProtocolFailure(f"the program does not answer {plural(len(events), 'event')}")
        return answers


class Remote(Node[Any]):
    """A node of the program. What is no field of every node stands in slots, so that it is not shown as its state."""

    __slots__ = ("past", "slot")
    LINK: ClassVar[Link]

    slot: int
    past: list[Any]  # every event since it started, as it was sent

    def start(self) -> None:
        self.slot, self.past = self.LINK.slot(), []
        projection, disk = self.LINK.projection, self.disk
        replicas = self.peers if self.me in CLIENTS else tuple(sorted((*self.peers, self.me)))
        image = tuple(
            (projection.disk_to_theirs(name), step.content_to_tell(getattr(disk, name))) for name in disk.FIELDS
        )
        switches = tuple(attrs.asdict(self.switches, recurse=False).items())
        self._handle(step.START, self.me, replicas, switches, image)

    def receive(self, src: str, m: Any) -> None:
        self._handle(step.DELIVER, src, m, sender=src)

    def request(self, op: int, command: Any) -> None:
        self._handle(step.REQUEST, op, command)

    def timeout(self, timer: str) -> None:
        self._handle(step.TIMEOUT, timer)

    def copy(self) -> "Remote":
        twin: Remote = super().copy()  # type: ignore[assignment]
        twin.slot, twin.past = self.LINK.slot(), [[0, *event[1:]] for event in self.past]
        for event in twin.past:
            event[0] = twin.slot
        for first in range(0, len(twin.past), BATCH):
            self.LINK.ask(self.me, twin.past[first : first + BATCH])
        return twin

    def __del__(self) -> None:
        if hasattr(self, "slot"):
            self.LINK.free.append(self.slot)

    def _handle(self, kind: int, *details: Any, sender: str = "") -> None:
        """Send the event, and do what the answer says. Raises ProtocolFailure."""
        try:
            for effect in self._effects_of(kind, *details, sender=sender):
                self._carry_out(effect)
        except (ProtocolFailure, ValueError) as error:
            what = spell_event((kind, *details))
            raise ProtocolFailure(f"{error}, while {self.me} handled {printable(what)}") from None

    def _effects_of(self, kind: int, *details: Any, sender: str) -> list[Effect]:
        """What the program asks for. Raises ProtocolFailure, or ValueError for what is no effect."""
        slot, clock, number, *raw = step.event_to_wire(self.slot, self.now, kind, *details)
        raw = [self.LINK.projection.to_theirs(x, sender, self.me) for x in raw]
        self.past.append([slot, clock, number, *raw])
        [answer] = self.LINK.ask(self.me, self.past[-1:])
        if type(answer) is str:
            raise ProtocolFailure(f"the program says: {answer}")
        try:
            answer[0] = [self._ours(effect) for effect in answer[0]]
            effects, refused = self.LINK.reader.read(answer, (*self.peers, self.me, *CLIENTS))
        except (TypeError, IndexError, KeyError):
            raise ProtocolFailure("an answer is a list of effects and a list of refusals") from None
        api.refusals.extend(refused)
        return effects

    def _ours(self, effect: Any) -> Any:
        """A raw effect in our names. Raises ValueError."""
        projection = self.LINK.projection
        if type(effect) is not list or not effect:
            return effect
        receiver = effect[1] if effect[0] == api.SEND and len(effect) > 1 and type(effect[1]) is str else ""
        kind, *details = [effect[0], *(projection.to_ours(x, self.me, receiver) for x in effect[1:])]
        if kind == WRITE and details and type(details[0]) is list:
            details[0] = [_renamed(pair, projection) for pair in details[0]]
        elif kind in (STORE, RESET) and details:
            details[0] = projection.disk_to_ours(details[0])
        return [kind, *details]

    def _carry_out(self, effect: Effect) -> None:
        """As if a handler had asked for it: what is written can be read."""
        kind, *details = effect
        if kind == WRITE:
            self.disk.write(**dict(details[0]))
        elif kind == STORE:
            getattr(self.disk, details[0]).store(*details[1:])
        elif kind == RESET:
            getattr(self.disk, details[0]).reset(*details[1:])
        else:
            self._effects.append(effect)


def _renamed(pair: Any, projection: Projection) -> Any:
    """One of a write's pairs, ["", name, content]."""
    if type(pair) is list and len(pair) == 3 and pair[0] == "":
        return ["", projection.disk_to_ours(pair[1]), pair[2]]
    return pair


class _Timers(dict[str, Any]):
    """Whatever timer the program has set, handled by the program."""

    def __missing__(self, timer: str) -> Any:
        def fire(node: Remote) -> None:
            node.timeout(timer)

        fire.__name__ = timer
        self[timer] = fire
        return fire


def load(name: str, command: tuple[str, ...], project: str = "") -> Program:
    """The protocol with its nodes in this program, through the projection with this text.

    Raises UserError for what cannot be started or does not speak the step protocol.
    """
    return _started(name, command, project, Path.cwd(), _identity(command, project))


@functools.cache
def _started(name: str, command: tuple[str, ...], project: str, folder: Path, identity: str) -> Program:
    """One set of processes for one version of the program in one folder."""
    trusted = reference(name)
    projection = parse(project, trusted) if project else Projection()
    try:
        link = Link(trusted, Launch(command, folder, ""), projection)
    except OSError as error:
        raise UserError(f"{shlex.join(command)} cannot be started: {error.strerror}.") from None
    # The module is the reference's, where the classes of its messages are looked for; so are the handlers' names.
    kind = type("Program", (Remote,), {"__module__": trusted.spec.node.__module__, "LINK": link, "__slots__": ()})
    made: Any = kind
    made.HANDLERS, made.TIMERS = trusted.spec.node.HANDLERS, _Timers()
    spec = attrs.evolve(trusted.spec, node=made, client=trusted.spec.client and made)
    origin = shlex.join(command)
    return attrs.evolve(trusted, source=identity, spec=spec, origin=origin, worker=command, project=project)


def _identity(command: Sequence[str], project: str) -> str:
    """What tells one version of the program from another: the command, and the files that it names."""
    files = [Path(word) for word in command if Path(word).is_file()]
    digests = [blake2b(file.read_bytes(), digest_size=16).hexdigest() for file in files]
    return "\n".join([shlex.join(command), *digests, project])
