"""Trace: record a run as a Story, which is what diagrams and pages are drawn from."""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from protosim.api import APPLY, REFUSE, REPLY, RESET, RESTORE, SEND, STORE, SYNC, WRITE, Disk, Effect, Log
from protosim.disk import DiskImage, Kept
from protosim.program import Program, source_of
from protosim.run import LocalHost, Run, drive, finish, make_world
from protosim.scenario import Scenario
from protosim.script import sent_keys
from protosim.story import CRASHED_AND_RESTARTED, DURABLE, FEW_LOST, REFUSED, Kind, Moment, Story
from protosim.values import Value
from protosim.words import plural
from protosim.world import CRASH, DELIVER, REQUEST, START, TIMEOUT, World

HOST_FIELDS = {"_effects", "me", "peers", "cluster_size", "application", "now", "switches", "disk"}


def spell(x: Any) -> str:
    """A value for a person: short, and the same in every process."""
    if x is None:
        return "none"
    if isinstance(x, Enum):
        return str(x.value)
    if isinstance(x, Value):
        if type(x).__str__ is not object.__str__:
            return str(x)
        fields = [f"{name}={spell(getattr(x, name))}" for name, _ in x.FIELDS if not (x.SIGNED and name == "valid")]
        return f"{'' if getattr(x, 'valid', True) else 'forged '}{type(x).__name__}({', '.join(fields)})"
    if isinstance(x, bytes):
        return x.hex()[:6]
    if isinstance(x, dict):
        return "{" + ", ".join(f"{spell(k)}: {spell(v)}" for k, v in sorted(x.items(), key=str)) + "}"
    if isinstance(x, (set, frozenset)):
        return "{" + ", ".join(sorted(map(spell, x))) + "}"
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join(map(spell, x)) + "]"
    return str(x)


def state_of(node: Any) -> tuple[tuple[str, str], ...]:
    """A node's fields for a person: the durable ones first, as "disk.x"."""
    if node is None:
        return ()
    disk: Disk = node.disk
    durable = [(f"disk.{name}", spell(getattr(disk, name))) for name in disk.FIELDS]
    volatile = [(name, spell(x)) for name, x in node.__dict__.items() if name not in HOST_FIELDS]
    return (*durable, *volatile)


class StoryRecorder:
    """A recorder (see World.recorder) that keeps every event as a Moment."""

    def __init__(self, host: LocalHost) -> None:
        self.host = host
        self.moments: list[Moment] = []
        self.sent_in: dict[int, tuple[int, str, str]] = {}  # message key -> (moment, destination, type)
        self.arrived: set[int] = set()
        self.states: dict[str, tuple[tuple[str, str], ...]] = {}
        self.held: dict[str, dict[str, str]] = {}  # by node, what its disk held when it was last seen up
        self.boots = 0
        self.half: dict[str, Any] = {}

    def before(
        self, world: World, effects: Sequence[Effect], refused: Sequence[tuple[str, ...]], cut: int | None
    ) -> None:
        node, event = world.ids[world.at], world.pending
        first_start = event[0] == START and node not in self.states
        number = 0 if first_start else len(self.moments) + 1
        done = effects if cut is None else effects[:cut]
        self._note_sent(world, done, number)
        if event[0] == DELIVER:
            self.arrived.add(event[3])
        kind, what, detail, peer, cause = self._name(event)
        if kind == "restart" and self.states.get(node):
            what = CRASHED_AND_RESTARTED  # in one event: nothing happened in between
        self.half = {
            "number": number,
            "at": world.now,
            "node": node,
            "kind": kind,
            "what": what,
            "detail": detail,
            "peer": peer,
            "cause": cause,
            "refused": tuple(dict.fromkeys(name for names in refused for name in names)),
            "wrote": tuple(_spell_writes(world.disks[world.at], done)),
            "sent": tuple((e[1], spell(e[2])) for e in done if e[0] == SEND),
            "applied": tuple(_spell_applied(e) for e in done if e[0] in (APPLY, RESTORE)),
            "replied": tuple(_spell_reply(world, e) for e in done if e[0] in (REPLY, REFUSE)),
            "synced": _synced(done),
            "effects": len(effects),
        }

    def _note_sent(self, world: World, effects: Sequence[Effect], number: int) -> None:
        for key, dst, m in sent_keys(world, effects):
            self.sent_in[key] = (number, dst, type(m).__name__)

    def _name(self, event: tuple[Any, ...]) -> tuple[Kind, str, str, str | None, int | None]:
        if event[0] == DELIVER:
            sent = self.sent_in.get(event[3])
            return "deliver", type(event[2]).__name__, spell(event[2]), event[1], sent[0] or None if sent else None
        if event[0] == TIMEOUT:
            return "timeout", event[1], "", None, None
        if event[0] == REQUEST:
            return "request", spell(event[2]), "", None, None
        if event[0] == CRASH:
            return "crash", "crash", "", None, None
        return "restart", "restart", "", None, None  # a crash with its restart in one event is called so by `before`

    def after(self, world: World, cut: int | None, kept: Kept) -> None:
        half = self.half
        number, effects = half["number"], half.pop("effects")
        node = half["node"]
        state = state_of(self.host.nodes[world.at]) if world.alive[world.at] else ()
        before = dict(self.states.get(node, ()))
        self.states[node] = state
        held = {name.removeprefix(DURABLE): x for name, x in state if name.startswith(DURABLE)}
        old = self.held.get(node, {})
        back = [f"{name} = {x}" for name, x in held.items() if old.get(name) != x] if half["kind"] == "restart" else []
        self.held[node] = held or old
        if number == 0:
            return
        spelled = None
        if cut is not None:
            spelled = f"crashed after {cut} of {plural(effects, 'effect')}{_spell_kept(kept)}"
        elif half["kind"] == "crash" and kept:
            spelled = _spell_kept(kept).lstrip("; ")
        changed = tuple(name for name, content in state if before.get(name) != content)
        self.moments.append(Moment(**half, state=state, changed=changed, back=tuple(back), cut=spelled))

    def lost(self) -> tuple[tuple[int, str, str], ...]:
        """What was sent in a moment of the story and never arrived."""
        return tuple(sent for key, sent in self.sent_in.items() if key not in self.arrived and sent[0])


def _synced(effects: Sequence[Effect]) -> bool:
    """Whether a sync covers every write of these."""
    kinds = [effect[0] for effect in effects if effect[0] in (WRITE, STORE, RESET, SYNC)]
    return bool(kinds) and kinds[-1] == SYNC


def _spell_kept(kept: Kept) -> str:
    if not kept:
        return "; nothing unsynced was kept"
    return f"; of the unsynced writes it kept {', '.join(str(i + 1) if n < 0 else f'{i + 1} torn' for i, n in kept)}"


def _spell_writes(disk: DiskImage, effects: Sequence[Effect]) -> Iterator[str]:
    """A log's entries are numbered from 1, those that it has dropped included."""
    bases = {name: content.base for name, content in disk.contents().items() if isinstance(content, Log)}
    for effect in effects:
        if effect[0] == WRITE:
            yield ", ".join(f"{name} = {spell(content)}" for name, content in effect[1])
        elif effect[0] == STORE:
            yield f"{effect[1]}[{bases[effect[1]] + effect[2] + 1}…] = {spell(effect[3])}"
        elif effect[0] == RESET:
            bases[effect[1]] = effect[2]
            yield f"{effect[1]} from {effect[2] + 1} = {spell(effect[3])}"


def _spell_applied(effect: Effect) -> str:
    if effect[0] == RESTORE:
        return f"1…{effect[1]}: snapshot {spell(effect[2])}"
    return f"{effect[1]}: {spell(effect[2]) if effect[2] is not None else 'no-op'}"


def _spell_reply(world: World, effect: Effect) -> str:
    request = world.requests.get(effect[1])
    asked = spell(request.command) if request is not None else f"operation {effect[1]}"
    return f"{asked}{REFUSED}" if effect[0] == REFUSE else f"{asked} → {spell(effect[2])}"


def tell(program: Program, scenario: Scenario, replay: str) -> tuple[Run, Story]:
    """Run the scenario and return it as a story. `replay` is the command that repeats it."""
    world = make_world(program, scenario)
    host = LocalHost(program, scenario)
    world.recorder = recorder = StoryRecorder(host)
    failed = drive(world, host)
    run = finish(world, failed)
    broken = run.violation or run.warning
    names, lost = tuple(dict.fromkeys(world.ids)), recorder.lost()
    active = {name for m in recorder.moments for name in (m.node, m.peer)}
    if len(lost) <= FEW_LOST:
        active |= {to for _, to, _ in lost}
    story = Story(
        protocol=program.name,
        mutants=program.mutants,
        nodes=tuple(name for name in names if name in active),
        moments=tuple(recorder.moments),
        invariant=broken.invariant.name if broken else "",
        title=broken.invariant.title if broken else "",
        statement=f"{broken.invariant.statement} ({broken.invariant.source})" if broken else "",
        sentence=broken.sentence if broken else failed or "Nothing broke.",
        replay=replay,
        lost=lost,
        liars=world.liars,
        idle=tuple(name for name in names if name not in active),
        drift=_drift(program),
    )
    return run, story


def _drift(program: Program) -> str:
    """What was put in, or edited, against the protocol's file; nothing of a program in another language."""
    from mutations import engine

    if program.worker:
        return ""
    return engine.diff(source_of(program.name), program.source, f"protocols/{program.name}.py")
