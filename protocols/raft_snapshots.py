"""Raft with log compaction, InstallSnapshot and client sessions.

Paper    D. Ongaro and J. Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)", 2014:
         § and Fig. D. Ongaro, "Consensus: Bridging Theory and Practice", 2014: thesis §.
Scope    Extends `protocols.raft`, and is it where all switches are off. Each server compacts its log by itself (§7);
         the whole snapshot goes in one message, so Fig. 13's offset, data and done are not here. A session lasts for
         ever and is for one command: its serial number is the operation's (thesis §6.3).
Assumes  What the core assumes; and that replacing a log by its end is one atomic write, as renaming a file is.

Reading order: messages, state, compaction (§7), InstallSnapshot (Fig. 13), replication after a snapshot, sessions
(thesis §6.3), then what must hold.
"""

from typing import Any

import attrs

from protocols.raft import (
    ELECTION,
    ELECTION_TIMEOUT,
    HEARTBEAT_INTERVAL,
    Appended,
    AppendEntries,
    Entry,
    Figure3,
    Index,
    Position,
    Raft,
    RaftDisk,
    Role,
    Term,
)
from protocols.raft import Switches as CoreSwitches
from protosim.api import (
    Command,
    Image,
    KeyValueStore,
    NodeId,
    OpId,
    ProtocolSpec,
    Value,
    always,
    applied,
    eventually,
    holds,
    message,
    on,
    part_of,
    puts_and_gets,
    restarted,
    restored,
    sent,
    sometimes,
    switch,
    value,
    warning,
    was_reset,
    wrote,
)

# -- The replicated state machine, with its sessions (thesis §6.3) -----------------------------------


@value
class Proposal(Value):
    """A command that its client may ask for again. Sessions are of one command, so its number names both."""

    operation: OpId
    command: Value

    def __str__(self) -> str:
        return f"{self.command}, operation {self.operation}"


@value
class State(Value):
    registers: tuple[tuple[str, int], ...]
    answers: tuple[tuple[OpId, int | None], ...]

    def __str__(self) -> str:
        registers = " ".join(f"{key}={number}" for key, number in self.registers) or "nothing"
        return f"{registers}, operations {' '.join(str(op) for op, _ in self.answers) or 'none'}"


class SessionStore:
    """Remembers what it answered: a proposal that comes again gets the first answer, and has no effect."""

    def __init__(self) -> None:
        self.store = KeyValueStore()
        self.answers: dict[OpId, int | None] = {}

    def apply(self, command: Value) -> int | None:
        if not isinstance(command, Proposal):
            return self.perform(command)
        if command.operation not in self.answers:
            self.answers[command.operation] = self.perform(command.command)
        return self.answers[command.operation]

    def perform(self, command: Any) -> int | None:
        return self.store.apply(command)

    def snapshot(self) -> State:
        return State(self.store.snapshot(), tuple(sorted(self.answers.items())))

    def restore(self, state: State) -> None:
        self.store.restore(state.registers)
        self.answers = dict(state.answers)

    def copy(self) -> "SessionStore":
        twin = SessionStore()
        twin.restore(self.snapshot())
        return twin


# -- Messages (Fig. 13) ------------------------------------------------------------------------------


@value
class Snapshot:
    """The state machine as the entries up to `last_index` have made it."""

    last_index: Index
    last_term: Term
    state: Value

    def __str__(self) -> str:
        return f"<entries to {self.last_index} of term {self.last_term}: {self.state}>"


@message
class InstallSnapshot:
    """Answered by Appended, whose `match` says how far the follower has come."""

    term: Term
    snapshot: Snapshot


# -- State -------------------------------------------------------------------------------------------


class SnapshotDisk(RaftDisk):
    """The log begins after its base; what came before that is in the snapshot."""

    snapshot: Snapshot | None = None


@attrs.frozen
class Switches(CoreSwitches):
    compaction: int = switch(4, (4, 2, 0), "compact the log when it has more applied entries than this; 0: never, §7")
    sessions: bool = switch(True, (True, False), "clients ask again, and a command takes effect once, thesis §6.3")


class SnapshotRaft(Raft):
    switches: Switches  # pyright: ignore[reportIncompatibleVariableOverride]
    disk: SnapshotDisk  # pyright: ignore[reportIncompatibleVariableOverride]

    pending: dict[NodeId, Index]  # leaders: up to where the snapshot reaches that a follower was sent

    def start(self) -> None:
        super().start()
        if self.disk.snapshot is not None:
            if self.disk.snapshot.last_index > self.disk.log.base:
                self.cut_log()  # a crash came before it
            self.use_snapshot()

    def become_follower(self) -> None:
        super().become_follower()
        self.pending = {}

    # The core's log, whose first entry is not entry 1 any more.

    @property
    def last_index(self) -> Index:
        return self.disk.log.base + len(self.disk.log)

    def entry(self, index: Index) -> Entry:
        return self.disk.log[index - self.disk.log.base - 1]

    def term_at(self, index: Index) -> Term:
        """Of the entry at `index`; 0 before entry 1, -1 where there is none or it is known no more."""
        if index == 0:
            return 0
        if self.disk.log.base < index <= self.last_index:
            return self.entry(index).term
        snapshot = self.disk.snapshot
        return snapshot.last_term if snapshot is not None and snapshot.last_index == index else -1

    def entries_after(self, index: Index, most: int) -> tuple[Entry, ...]:
        first = index - self.disk.log.base
        return tuple(self.disk.log[first : first + most])

    def store_entries(self, prev: Index, entries: tuple[Entry, ...]) -> None:
        for offset, entry in enumerate(entries):
            if self.term_at(prev + offset + 1) != entry.term:
                self.disk.log.store(prev + offset - self.disk.log.base, entries[offset:])
                self.sync()
                return

    # -- Compaction (§7) -----------------------------------------------------------------------------

    def apply_committed(self) -> None:
        """All servers 1, §5.3; then what is applied may be dropped."""
        while self.last_applied < min(self.commit_index, self.last_index):
            self.last_applied += 1
            self.apply_entry(self.last_applied, self.entry(self.last_applied))
        if 0 < self.switches.compaction < self.last_applied - self.disk.log.base:
            self.compact()

    def apply_entry(self, index: Index, entry: Entry) -> None:
        result = self.apply(index, entry.command)
        if index in self.waiting:
            self.reply(self.waiting.pop(index), result)

    def compact(self) -> None:
        """The snapshot is durable before the entries are gone that it stands for."""
        self.disk.snapshot = Snapshot(self.last_applied, self.term_at(self.last_applied), self.snapshot())
        self.sync()
        self.cut_log()

    def cut_log(self) -> None:
        """Drop what the snapshot stands for, and what does not follow it. Fig. 13, receiver 6 and 7."""
        last = self.disk.snapshot
        assert last is not None
        follows = holds(
            suffix_follows_snapshot=self.term_at(last.last_index) == last.last_term,  # receiver 6
        )
        kept = self.disk.log[last.last_index - self.disk.log.base :] if follows else ()
        self.disk.log.reset(last.last_index, kept)
        self.sync()

    # -- InstallSnapshot (§7, Fig. 13) ---------------------------------------------------------------

    def replicate(self, peer: NodeId) -> None:
        """To a follower that misses what the log has dropped, the snapshot; again with each heartbeat until it came."""
        if peer in self.pending or self.next_index[peer] <= self.disk.log.base:
            self.send_snapshot(peer)
        else:
            super().replicate(peer)

    def send_snapshot(self, peer: NodeId) -> None:
        assert self.disk.snapshot is not None
        self.pending.setdefault(peer, self.disk.snapshot.last_index)
        self.send(peer, InstallSnapshot(self.disk.term, self.disk.snapshot))

    @on(InstallSnapshot)
    def handle_install_snapshot(self, src: NodeId, m: InstallSnapshot) -> None:
        if not holds(install_snapshot_current=m.term == self.disk.term):  # receiver 1
            self.send(src, Appended(self.disk.term, False, 0))
            return
        if self.role is Role.CANDIDATE:
            self.become_follower()
        self.set_timer(ELECTION, ELECTION_TIMEOUT)
        ahead = holds(
            snapshot_is_ahead=m.snapshot.last_index > self.commit_index,  # what is committed here already is as good
        )
        if ahead:
            self.install(m.snapshot)
        self.send(src, Appended(self.disk.term, True, self.commit_index))

    def install(self, snapshot: Snapshot) -> None:
        """Receiver 5 to 8."""
        self.disk.snapshot = snapshot
        self.sync()
        self.cut_log()
        self.use_snapshot()

    def use_snapshot(self) -> None:
        """Reset the state machine. Receiver 8; after a restart, thesis §5.1."""
        snapshot = self.disk.snapshot
        assert snapshot is not None
        self.restore(snapshot.last_index, snapshot.state)
        self.last_applied = snapshot.last_index
        self.commit_index = snapshot.last_index

    # -- Replication around a snapshot (§7) ----------------------------------------------------------

    @on(AppendEntries)
    def handle_append_entries(self, src: NodeId, m: AppendEntries) -> None:
        super().handle_append_entries(src, self.after_snapshot(m))

    def after_snapshot(self, m: AppendEntries) -> AppendEntries:
        """Without the entries that the snapshot stands for: they are committed, so the leader's are the same."""
        known = self.disk.log.base - m.prev_log_index
        if known <= 0:
            return m
        base = self.disk.log.base
        return AppendEntries(m.term, base, self.term_at(base), m.entries[known:], m.leader_commit)

    @on(Appended)
    def handle_append_response(self, src: NodeId, m: Appended) -> None:
        """A follower that was sent a snapshot is sent nothing else until it says that it has come as far."""
        arrived = holds(
            snapshot_arrived=src not in self.pending or (m.success and m.match >= self.pending[src]),
        )
        if arrived:
            self.pending.pop(src, None)
            super().handle_append_response(src, m)

    # -- Sessions (thesis §6.3) ----------------------------------------------------------------------

    def request(self, op: OpId, command: Value) -> None:
        """The client's number travels with its command, so that every server can tell when it comes again."""
        super().request(op, Proposal(op, command) if self.switches.sessions else command)


# -- What must hold ----------------------------------------------------------------------------------

LONGEST_WAY = 2 * HEARTBEAT_INTERVAL[1]  # well above what a message takes once the faults have ended
LOST = Entry(-1, None)
"""Stands for an entry that is neither in the log nor in the snapshot."""


class WithSnapshots(Figure3):
    """Fig. 3 for servers whose logs are compacted. What a snapshot stands for counts as held, a restored state as
    applied; a state machine of the observer's own says what the committed entries make."""

    def begin(self) -> None:
        super().begin()
        self.registers = KeyValueStore()
        self.results: list[object] = []  # by index - 1
        self.first: dict[OpId, Index] = {}  # where an operation took effect
        self.states: list[object] = [()]  # by index: the registers
        self.booted: dict[NodeId, Index] = {}  # up to where the snapshot reached that it started with
        self.acknowledged_at: dict[tuple[NodeId, Term, Index], int] = {}  # since the faults have ended: microseconds
        self.sent_again: str | None = None

    def before_log(self, image: Image) -> Position:
        base: Index = image.log.base
        return (self.committed[base - 1][0].term if 0 < base <= len(self.committed) else 0), base

    def end_of_log(self, image: Image) -> Position:
        """As a restart will find it."""
        snapshot, end = image.snapshot, image.log.base + len(image.log)
        if snapshot is not None and self._is_cut_off(image):
            return snapshot.last_term, snapshot.last_index
        return (image.log[-1].term, end) if image.log else self.before_log(image)

    def entry(self, image: Image, index: Index) -> Entry | None:
        if index <= _reach(image):
            return self.committed[index - 1][0] if index <= len(self.committed) else None
        place = index - image.log.base - 1
        return image.log[place] if 0 <= place < len(image.log) and not self._is_cut_off(image) else None

    def whole_log(self, image: Image) -> tuple[Entry, ...]:
        return tuple(self.entry(image, index) or LOST for index in range(1, self.end_of_log(image)[1] + 1))

    def _is_cut_off(self, image: Image) -> bool:
        """Whether nothing in the log follows the snapshot: a crash came between the two."""
        place: int = _reach(image) - image.log.base - 1
        return place >= 0 and (place >= len(image.log) or bool(image.log[place].term != image.snapshot.last_term))

    def is_asked_by(self, entry: Entry, op: OpId, command: Command) -> bool:
        return entry.command == command or (_operation(entry.command), _asked(entry.command)) == (op, command)

    # Compaction and InstallSnapshot.

    @restarted
    def note_boot(self, node: NodeId) -> None:
        self.booted[node] = _reach(self.facts.written(node))

    @part_of(Figure3.state_machine_safety)
    @restored
    def restored_state(self, node: NodeId, index: Index, state: Value) -> str | None:
        before = self.applied_by.get(node, 0)
        self.applied_by[node] = index
        if index < before:
            return f"{node} had applied {before} entries and went back to its state after {index}"
        wrong = self._wrong_state(state, index)
        return wrong and f"{node} restored a state that {wrong}"

    @part_of(Figure3.state_machine_safety)
    @wrote("snapshot")
    def written_state(self, node: NodeId, before: dict[str, object]) -> str | None:
        snapshot = self.facts.written(node).snapshot
        wrong = snapshot and self._wrong_state(snapshot.state, snapshot.last_index)
        return wrong and f"{node} wrote a snapshot that {wrong}"

    def _wrong_state(self, state: Value, index: Index) -> str | None:
        if index > len(self.committed):
            return f"includes entry {index}, of which only {len(self.committed)} are committed"
        return None if self.is_state(state, index) else f"is not what the first {index} entries make"

    def is_state(self, state: Value, index: Index) -> bool:
        """Whether the first `index` entries make this state."""
        answers = {op: self.results[first - 1] for op, first in self.first.items() if first <= index}
        known: object = getattr(state, "answers", None)
        return getattr(state, "registers", None) == self.states[index] and known == tuple(sorted(answers.items()))

    @warning("A server's log goes on where the state ends that it starts from.", "§7; Fig. 13, receiver 6, 7")
    @restored
    def log_follows_state(self, node: NodeId, index: Index, state: Value) -> str | None:
        if not self._is_cut_off(self.facts.written(node)):
            return None
        return f"{node} restored the state of {index} entries, and its log has not entry {index} nor begins after it"

    @part_of(Figure3.leader_append_only)
    @was_reset("log")
    def leader_keeps_the_rest(
        self, node: NodeId, before: tuple[Index, tuple[Entry, ...]], after: tuple[Index, tuple[Entry, ...]]
    ) -> str | None:
        term = self.facts.written(node).term
        dropped = after[0] - before[0]
        if self.leader_of.get(term) != node or (dropped >= 0 and before[1][dropped:] == after[1]):
            return None
        return f"{node} leads term {term} and did not only drop entries from the front of its log"

    @part_of(Figure3.log_matching)
    @was_reset("log")
    def log_matching_after_reset(
        self, node: NodeId, before: tuple[Index, tuple[Entry, ...]], after: tuple[Index, tuple[Entry, ...]]
    ) -> str | None:
        return self._matches(node, 0)

    @part_of(Figure3.committed_is_kept)
    @was_reset("log")
    def committed_is_kept_by_reset(
        self, node: NodeId, before: tuple[Index, tuple[Entry, ...]], after: tuple[Index, tuple[Entry, ...]]
    ) -> str | None:
        image = self.facts.written(node)
        for place, entry in enumerate(before[1], before[0] + 1):
            if self.committed[place - 1 : place] and entry == self.committed[place - 1][0] != self.entry(image, place):
                return f"{node} dropped entry {place}, {entry}, which is committed, and has no snapshot of it"
        return None

    @always("Entries leave a log only when what they made is in a durable snapshot.", "§7; Fig. 13, receiver 5 to 7")
    @was_reset("log")
    def snapshot_before_cut(
        self, node: NodeId, before: tuple[Index, tuple[Entry, ...]], after: tuple[Index, tuple[Entry, ...]]
    ) -> str | None:
        reach = _reach(self.facts.durable(node))
        if after[0] <= reach:
            return None
        return f"{node} dropped the first {after[0]} entries, and its durable snapshot has the first {reach}"

    @part_of(snapshot_before_cut)
    @wrote("snapshot")
    def snapshot_is_kept(self, node: NodeId, before: dict[str, object]) -> str | None:
        image = self.facts.written(node)
        if image.log.base <= _reach(image):
            return None
        return f"{node} has no snapshot of more than {_reach(image)} entries, and its log begins after {image.log.base}"

    @warning("What a server acknowledges is on its disk, as the leader has it.", "Fig. 2, matchIndex; §5.3")
    @sent(Appended)
    def acknowledged_is_held(self, node: NodeId, dst: NodeId, m: Appended) -> str | None:
        leader = self.facts.written(dst)
        if not m.success or not m.match or leader.term != m.term or self.leader_of.get(m.term) != dst:
            return None
        held, wanted = self.entry(self.facts.durable(node), m.match), self.entry(leader, m.match)
        if held == wanted is not None:
            return None
        return f"{node} acknowledged entry {m.match} to {dst}, but on its disk it is {held}, not {wanted}"

    # Sessions.

    @applied
    def execute(self, node: NodeId, index: Index, command: Value | None, result: object) -> None:
        """What the entry gives, the first time that it is applied anywhere."""
        if index == len(self.results) + 1:
            self.results.append(self.execute_once(index, command))
            self.states.append(self.registers.snapshot())

    def execute_once(self, index: Index, command: Value | None) -> object:
        operation, asked = _operation(command), _asked(command)
        if operation in self.first:
            return self.results[self.first[operation] - 1]
        if operation is not None:
            self.first[operation] = index
        return self.registers.apply(asked) if isinstance(asked, Command) else None

    @always("A client's command takes effect once, however often it is proposed.", "§8; thesis §6.3")
    @applied
    def exactly_once(self, node: NodeId, index: Index, command: Value | None, result: object) -> str | None:
        operation = _operation(command)
        first = index if operation is None else self.first[operation]
        if first >= index or result == self.results[first - 1]:
            return None
        answers = f"answered {result}, where the answer had been {self.results[first - 1]}"
        return f"{node} applied {command} at index {first} and again at index {index}, and {answers}"

    @part_of(Figure3.state_machine_safety)
    @applied
    def same_results(self, node: NodeId, index: Index, command: Value | None, result: object) -> str | None:
        expected = self.results[index - 1]
        if result == expected:
            return None
        return f"{node} answered {result} to entry {index}, {command}, to which the entries before it give {expected}"

    # Goals.

    @sometimes("A follower that missed too much was sent a snapshot and used it.", when=lambda s: s.compaction > 0)
    @restored
    def snapshot_installed(self, node: NodeId, index: Index, state: Value) -> bool:
        return index > self.booted[node]

    @sometimes("A command was proposed again and applied once.", when=lambda s: s.sessions)
    @applied
    def command_retried(self, node: NodeId, index: Index, command: Value | None, result: object) -> bool:
        operation = _operation(command)
        return operation is not None and self.first[operation] < index

    @eventually("Once the faults have ended, who has come as far as a snapshot is sent entries again.", "§7; etcd")
    def entries_after_snapshot(self) -> str | None:
        return self.sent_again

    @sent(Appended)
    def note_acknowledged(self, node: NodeId, dst: NodeId, m: Appended) -> None:
        if m.success and self.facts.healed_at is not None:
            self.acknowledged_at.setdefault((node, m.term, m.match), self.facts.now)

    @sent(InstallSnapshot)
    def note_sent_again(self, node: NodeId, dst: NodeId, m: InstallSnapshot) -> None:
        since = self.acknowledged_at.get((dst, m.term, m.snapshot.last_index), self.facts.now)
        if self.facts.now - since > LONGEST_WAY:
            self.sent_again = f"{node} sends {dst} the snapshot of {m.snapshot.last_index} entries still"


def _reach(image: Image) -> Index:
    """Up to where the snapshot on this disk stands for the log."""
    return 0 if image.snapshot is None else image.snapshot.last_index


# An edited source has classes of its own, so that a proposal is known by its fields.


def _operation(command: Value | None) -> OpId | None:
    return getattr(command, "operation", None)


def _asked(command: Value | None) -> Value | None:
    """What the application is to do."""
    return getattr(command, "command", command)


PROTOCOL = ProtocolSpec(
    name="raft_snapshots",
    paper="Ongaro and Ousterhout 2014, §7, §8; Ongaro 2014, ch. 5, §6.3",
    node=SnapshotRaft,
    disk=SnapshotDisk,
    switches=Switches,
    application=SessionStore,
    observers=(WithSnapshots,),
    workload=puts_and_gets,
    retries="sessions",
)
