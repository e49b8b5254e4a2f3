"""Raft with changes of its membership, and with transfers of leadership.

Paper    D. Ongaro, "Consensus: Bridging Theory and Practice", 2014 (the thesis): chapter 4, §3.10. § refers to it.
         The condition on single-server changes: Ongaro, "bug in single-server membership changes", raft-dev 2015.
Spec     will62794/logless-reconfig for what makes a change safe; a handler names its action in ongardie/raft.tla.
Scope    Extends `protocols.raft_snapshots`, and is it where all switches are off. Single-server changes (§4.1, §4.2),
         joint consensus (§4.3), learners (§4.2.1), TimeoutNow (§3.10). A server that was removed and does not know it
         disturbs the others (§4.2.3), since nothing here ignores it: PreVote and stickiness come with `raft_whole`.
Assumes  What the core assumes. A server that was removed keeps its disk, or never comes back under its name.

A configuration is a log entry, and the latest in a server's log is in force there, committed or not.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import attrs

from protocols.raft import (
    ELECTION,
    ELECTION_TIMEOUT,
    Appended,
    AppendEntries,
    Entry,
    Index,
    RequestVote,
    Role,
    Term,
)
from protocols.raft_snapshots import SessionStore, SnapshotDisk, SnapshotRaft, State, WithSnapshots
from protocols.raft_snapshots import Switches as SnapshotSwitches
from protosim.api import (
    MS,
    Command,
    Image,
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
    on_timeout,
    parse_command,
    part_of,
    puts_and_gets,
    replied,
    requested,
    restarted,
    sent,
    sometimes,
    stored,
    switch,
    value,
    warning,
    was_reset,
)

TRANSFER = "transfer"
JOINT_BOUND = 1_500 * MS  # five of the longest election timeouts
PATIENCE = 2 * ELECTION_TIMEOUT[1]  # so soon does somebody lead, and answer
TRANSFER_TIMEOUT = (ELECTION_TIMEOUT[1], ELECTION_TIMEOUT[1])  # "about an election timeout", §3.10


# -- Configurations (§4.1, §4.2.1, §4.3) -------------------------------------------------------------


@value
class Configuration(Value):
    voters: tuple[NodeId, ...]
    outgoing: tuple[NodeId, ...]  # the voters of C_old, in joint consensus; else nobody
    learners: tuple[NodeId, ...]  # are sent entries, and do not count, §4.2.1

    @property
    def electors(self) -> tuple[NodeId, ...]:
        """Whose votes count, and who may lead."""
        return (*self.voters, *self.outgoing)

    @property
    def members(self) -> tuple[NodeId, ...]:
        return tuple(sorted({*self.voters, *self.outgoing, *self.learners}))

    def __str__(self) -> str:
        joint = f" and {' '.join(self.outgoing)}" if self.outgoing else ""
        return f"{' '.join(self.voters)}{joint}{''.join(f' ({n})' for n in self.learners)}"


@value
class Change(Value):
    """What an administrator asks of the leader: `add` or `remove` the first of these servers that can be, `replace` the
    voters by these, `transfer` the leadership to the first that votes."""

    op: str
    servers: tuple[NodeId, ...]

    key = "membership"  # for the judge of histories: a register that nobody writes, and so each answer is None

    def __str__(self) -> str:
        return f"{self.op} {' '.join(self.servers)}"


def most(voters: Iterable[NodeId], nodes: Iterable[NodeId]) -> bool:
    """Whether these nodes hold a majority of the voters."""
    deciding = set(voters)
    return len(deciding.intersection(nodes)) > len(deciding) // 2


def is_configuration(command: Value | None) -> bool:
    """By its shape: an edited source has classes of its own."""
    return hasattr(command, "outgoing")


def is_change(command: Value) -> bool:
    """The same of what is asked."""
    return hasattr(command, "servers")


@value
class MemberState(Value):
    """A snapshot has to say who votes, since the entry that said it is gone."""

    sessions: State
    configuration: Value | None  # the last that was applied

    def __str__(self) -> str:
        return f"{self.sessions}, configuration {self.configuration or 'none'}"


class MemberStore:
    """The replicated state machine beside the configuration, which changes nothing else."""

    def __init__(self) -> None:
        self.sessions = SessionStore()
        self.configuration: Value | None = None

    def apply(self, command: Value) -> int | None:
        if not is_configuration(command):
            return self.sessions.apply(command)
        self.configuration = command
        return None

    def snapshot(self) -> MemberState:
        return MemberState(self.sessions.snapshot(), self.configuration)

    def restore(self, state: MemberState) -> None:
        self.sessions.restore(state.sessions)
        self.configuration = state.configuration

    def copy(self) -> "MemberStore":
        twin = MemberStore()
        twin.restore(self.snapshot())
        return twin


# -- Messages (§3.10) --------------------------------------------------------------------------------


@message
class TimeoutNow:
    """Campaign at once."""

    term: Term


# -- State -------------------------------------------------------------------------------------------


@attrs.frozen
class Switches(SnapshotSwitches):
    membership: str = switch(
        "fixed",
        ("fixed", *("single", "joint", "auto") * 3),
        "how voters change: not; one at a time; by joint consensus; one at a time, and more by joint consensus",
    )
    learners: bool = switch(False, (False, True), "a new server catches up before it votes")
    transfer: bool = switch(False, (False, True), "a leader hands over on request")
    founders: int = switch(64, (4, 64), "so many servers, the first ones, are the voters at the beginning")


class MembershipRaft(SnapshotRaft):
    switches: Switches  # pyright: ignore[reportIncompatibleVariableOverride]

    servers: tuple[NodeId, ...]  # all that there are, members or not
    configuration: Configuration  # in force
    configured_at: Index  # where it stands in the log; 0: the founders
    departing: tuple[NodeId, ...]  # are told so, as long as it is not known to be committed
    transferee: NodeId | None  # leaders: who is to take over

    def start(self) -> None:
        self.servers = tuple(sorted((self.me, *self.peers)))
        super().start()
        self.adopt_configuration()

    def become_follower(self) -> None:
        super().become_follower()
        self.transferee = None

    def receive(self, src: NodeId, m: Any) -> None:
        super().receive(src, m)
        self.follow_up()
        if src == self.transferee:
            self.hand_over(src)

    # -- The configuration in force (§4.1) -----------------------------------------------------------

    def configurations(self) -> Iterator[tuple[Index, Configuration]]:
        """Those in the log with their places, the latest first, and the one before these: the snapshot's, or the
        founders."""
        for back, entry in enumerate(reversed(self.disk.log)):
            if isinstance(entry.command, Configuration):
                yield self.last_index - back, entry.command
        state: Any = self.disk.snapshot and self.disk.snapshot.state
        if state is not None and state.configuration is not None:
            yield self.disk.log.base, state.configuration
        else:
            yield 0, Configuration(self.servers[: self.switches.founders], (), ())

    def in_play(self) -> list[Configuration]:
        """The latest, and those before it back to the last that is known to be committed."""
        held = list(self.configurations())
        settled = next((place for place, (index, _) in enumerate(held) if index <= self.commit_index), len(held))
        return [configuration for _, configuration in held[: settled + 1]]

    def adopt_configuration(self) -> None:
        """Servers use the latest configuration in their log, whether it is committed or not. §4.1"""
        self.configured_at, self.configuration = next(self.configurations())
        members = sorted({server for configuration in self.in_play() for server in configuration.members})
        self.peers = tuple(server for server in members if server != self.me)
        self.departing = tuple(server for server in self.peers if server not in self.configuration.members)
        if self.role is Role.LEADER:
            for peer in self.peers:
                self.next_index.setdefault(peer, self.last_index)
                self.match_index.setdefault(peer, 0)

    def append_entry(self, entry: Entry) -> None:
        super().append_entry(entry)
        self.adopt_configuration()

    def store_entries(self, prev: Index, entries: tuple[Entry, ...]) -> None:
        """What is cut from the log is in force no more. §4.1"""
        super().store_entries(prev, entries)
        self.adopt_configuration()

    def use_snapshot(self) -> None:
        """And what a snapshot brings is."""
        super().use_snapshot()
        self.adopt_configuration()

    def is_majority(self, nodes: Iterable[NodeId]) -> bool:
        """Of the voters, whoever decides; in joint consensus of the old voters too. §4.2.2, §4.3"""
        nodes = tuple(nodes)
        return holds(
            majority_of_voters=most(self.configuration.voters, nodes),  # §4.2.2
            majority_of_outgoing=not self.configuration.outgoing or most(self.configuration.outgoing, nodes),  # §4.3
        )

    @on_timeout(ELECTION)
    def start_election(self) -> None:
        """A server that was removed still campaigns until it knows that this is committed. §4.2.2"""
        if holds(campaigner_is_elector=any(self.me in configuration.electors for configuration in self.in_play())):
            super().start_election()

    @on(Appended)
    def handle_append_response(self, src: NodeId, m: Appended) -> None:
        """HandleAppendEntriesResponse; it may answer what this leader sent in an earlier term."""
        if holds(response_of_peer=self.role is not Role.LEADER or src in self.match_index):
            super().handle_append_response(src, m)

    # -- Changes (§4.1 to §4.3) ----------------------------------------------------------------------

    def request(self, op: OpId, command: Any) -> None:
        if not isinstance(command, Command):
            self.change(op, command)
        elif holds(not_handing_over=self.transferee is None):  # §3.10
            super().request(op, command)
        else:
            self.refuse(op)
        self.follow_up()

    def change(self, op: OpId, change: Change) -> None:
        """An administrator asks. The leader answers when the change is committed, or at once if it may not be made."""
        wanted = self.wanted(change)
        if not holds(change_to_leader=self.role is Role.LEADER):
            self.refuse(op)
        elif change.op == "transfer":
            self.transfer(change)
            self.reply(op, None)  # it may have begun: the leader will not know whether the other was elected
        elif self.may_follow(wanted):
            self.propose(wanted, op)
        else:
            self.reply(op, None)

    def wanted(self, change: Change) -> Configuration:
        """The configuration that the change asks for; in joint consensus with the voters of the present one beside."""
        voting, learning = set(self.configuration.voters), set(self.configuration.learners)
        there = [server for server in change.servers if server in self.servers]
        leaving = [server for server in there if server in self.configuration.members]
        joining = [server for server in there if server not in voting]
        if change.op == "replace":
            voting = set(there)
        elif change.op == "remove":
            voting -= set(leaving[:1])
            learning -= set(leaving[:1])
        elif self.switches.learners and not learning.issuperset(joining[:1]):
            learning |= set(joining[:1])  # it is asked again when it has caught up, §4.2.1
        else:
            voting |= set(joining[:1])
        changed = voting.symmetric_difference(self.configuration.voters)
        joint = changed and self.switches.membership == "joint"
        if joint or (len(changed) > 1 and self.switches.membership == "auto"):
            return Configuration(tuple(sorted(voting)), self.configuration.voters, tuple(sorted(learning - voting)))
        return Configuration(tuple(sorted(voting)), (), tuple(sorted(learning - voting)))

    def may_follow(self, wanted: Configuration) -> bool:
        """Whether this configuration may be proposed after the present one."""
        changed = set(wanted.voters).symmetric_difference(self.configuration.voters)
        newcomers = changed.intersection(wanted.voters)
        return holds(
            change_is_allowed=self.switches.membership != "fixed",
            change_while_leading=self.transferee is None,  # §3.10
            change_changes=wanted != self.configuration,
            voters_remain=bool(wanted.voters),
            one_server_at_a_time=bool(wanted.outgoing) or len(changed) <= 1,  # §4.1
            one_change_at_a_time=self.configured_at <= self.commit_index,  # §4.1
            joint_consensus_is_over=not self.configuration.outgoing,  # §4.3
            committed_in_own_term=self.term_at(self.commit_index) == self.disk.term,  # raft-dev 2015
            newcomers_caught_up=not self.switches.learners or self.have_caught_up(newcomers),  # §4.2.1
        )

    def have_caught_up(self, servers: Iterable[NodeId]) -> bool:
        return all(self.match_index.get(server, 0) >= self.commit_index for server in servers)

    def propose(self, configuration: Configuration, op: OpId | None = None) -> None:
        """From here on it is in force for the leader. §4.1"""
        self.append_entry(Entry(self.disk.term, configuration))
        if op is not None:
            self.waiting[self.last_index] = op
        for peer in self.peers:
            self.replicate(peer)
        self.advance_commit_index()  # perhaps the leader alone is a majority now

    def follow_up(self) -> None:
        """What a committed configuration asks of the leader: C_new follows C_old,new, whoever appended that (§4.3); a
        leader that is not in C_new steps down (§4.2.2). Who else is not in it hears of that, but perhaps not (§4.2.3).
        """
        if self.role is not Role.LEADER or self.configured_at > self.commit_index:
            return
        for server in self.departing:
            self.replicate(server)
        if self.configuration.outgoing:
            self.propose(Configuration(self.configuration.voters, (), self.configuration.learners))
        elif self.me not in self.configuration.voters:
            self.become_follower()
        elif self.departing:
            self.adopt_configuration()

    # -- Leadership transfer (§3.10) -----------------------------------------------------------------

    def transfer(self, change: Change) -> None:
        """From here on the leader takes no requests, until somebody else leads or an election timeout has passed."""
        able = [server for server in change.servers if server in self.configuration.voters and server != self.me]
        if not holds(
            transfer_is_on=self.switches.transfer,
            transferee_votes=bool(able),
            one_transfer_at_a_time=self.transferee is None,
        ):
            return
        self.transferee = able[0]
        self.set_timer(TRANSFER, TRANSFER_TIMEOUT)
        self.replicate(self.transferee)
        self.hand_over(self.transferee)

    def hand_over(self, server: NodeId) -> None:
        """TimeoutNow, once the server holds all that the leader holds."""
        if holds(transferee_caught_up=self.match_index[server] == self.last_index):
            self.send(server, TimeoutNow(self.disk.term))

    @on(TimeoutNow)
    def handle_timeout_now(self, src: NodeId, m: TimeoutNow) -> None:
        if holds(timeout_now_current=m.term == self.disk.term):
            self.start_election()

    @on_timeout(TRANSFER)
    def give_up_transfer(self) -> None:
        """The server did not take over: the leader goes on."""
        self.transferee = None


# -- What must hold ----------------------------------------------------------------------------------


def is_quorum(configuration: Configuration, nodes: Iterable[NodeId]) -> bool:
    """Whether these may elect and commit, where this configuration is in force."""
    nodes, outgoing = list(nodes), configuration.outgoing
    return most(configuration.voters, nodes) and (not outgoing or most(outgoing, nodes))


def overlap(one: Configuration, ones: Iterable[NodeId], other: Configuration, others: Iterable[NodeId]) -> bool:
    """Whether each quorum of the one, among these servers, shares a server with each quorum of the other."""
    ones, others = list(ones), set(others)
    for subset in range(2 ** len(ones)):
        some = [n for i, n in enumerate(ones) if subset >> i & 1]
        if is_quorum(one, some) and is_quorum(other, others.difference(some)):
            return False
    return True


class Chapter4(WithSnapshots):
    """Fig. 3 of the paper, where a quorum is one of the configuration in force; and what keeps configurations safe."""

    def begin(self) -> None:
        super().begin()
        self.founders = Configuration(self.facts.ids[: self.facts.switches.founders], (), ())
        self.committed_under: list[Configuration] = []  # by index - 1
        self.chain: list[tuple[Index, Configuration]] = [(0, self.founders)]  # those that are committed
        self.in_force: dict[NodeId, tuple[Index, Configuration]] = {}
        self.settled: dict[NodeId, tuple[Index, int]] = {}  # which configuration it has applied last, and when
        self.led_since: dict[Term, int] = {}
        self.newest_leader: tuple[Term, NodeId] = (0, "")
        self.asked_leader_at: list[int] = []  # when clients asked that one, since it leads and the faults ended
        self.asked: dict[NodeId, int] = {}  # how often, when a while had passed since then
        self.appended_at = 0  # the last time that anybody led
        self.joint_since: tuple[Index, int] | None = None  # C_old,new that is committed, and when that was
        self.told: dict[Term, NodeId] = {}  # who was told to campaign for this term

    def configurations(self, image: Image) -> Iterator[tuple[Index, Configuration]]:
        """Those in the log with their places, the latest first, and the one before these."""
        _, end = self.end_of_log(image)
        first = end + 1 if self._is_cut_off(image) else image.log.base + 1
        for index in range(end, first - 1, -1):
            entry = image.log[index - first] if index - first < len(image.log) else None
            if entry is not None and is_configuration(entry.command):
                yield index, entry.command
        yield from (held for held in reversed(self.chain) if held[0] < first)

    def note_configuration(self, node: NodeId) -> None:
        self.in_force[node] = next(self.configurations(self.facts.written(node)))

    @stored("log")
    def note_stored(self, node: NodeId, index: int, removed: tuple[Entry, ...], added: tuple[Entry, ...]) -> None:
        self.note_configuration(node)

    @was_reset("log")
    def note_reset(self, node: NodeId, before: object, after: object) -> None:
        self.note_configuration(node)

    @restarted
    def note_restarted(self, node: NodeId) -> None:
        self.note_configuration(node)
        self.settled.pop(node, None)

    # Fig. 3, with quorums of configurations.

    @part_of(WithSnapshots.durability)
    @replied
    def durability(self, node: NodeId, op: OpId, command: Command, result: object) -> str | None:
        """A change is answered also where it is not made."""
        return None if is_change(command) else super().durability(node, op, command, result)

    @part_of(WithSnapshots.command_committed)
    @replied
    def command_committed(self, node: NodeId, op: OpId, command: Command, result: object) -> bool:
        return not is_change(command)

    @replied
    def count_progress(self, node: NodeId, op: OpId, command: Command, result: object) -> None:
        if not is_change(command):
            super().count_progress(node, op, command, result)

    @applied
    def note_committed(self, node: NodeId, index: Index, command: Value | None, result: object) -> None:
        """Whoever applies an entry first has committed it, under the configuration that is in force there."""
        if index == len(self.committed_under) + 1:
            self.committed_under.append(self.in_force[node][1])
            if is_configuration(command):
                self.chain.append((index, self.in_force[node][1]))
                self.answered_since_heal |= self.facts.healed_at is not None  # that is progress too

    def is_state(self, state: Value, index: Index) -> bool:
        at, configuration = next(held for held in reversed(self.chain) if held[0] <= index)
        sessions, known = getattr(state, "sessions", state), getattr(state, "configuration", None)
        return super().is_state(sessions, index) and known == (configuration if at else None)

    def may_lead(self, node: NodeId, voters: Sequence[NodeId]) -> bool:
        """By the configuration that was in force when it campaigned: before it led, and so of an earlier term. A lone
        voter asks nobody, so that its vote is only on its disk."""
        image = self.facts.written(node)
        voters = voters if image.voted_for != node else [*voters, node]
        for index, configuration in self.configurations(image):
            entry = self.entry(image, index) if index else None
            if entry is None or entry.term < image.term:
                return is_quorum(configuration, voters)
        return False

    def _on_majority(self, index: Index, event: str) -> str | None:
        holders, configuration = self._holders(index), self.committed_under[index - 1]
        if is_quorum(configuration, holders):
            return None
        entry = self.committed[index - 1][0]
        disks = f"only the disks of {' and '.join(holders) or 'nobody'} hold entry {index}, {entry}"
        return f"{event}, but {disks}, committed by {configuration}"

    def _electable_without(self, index: Index) -> str | None:
        """Each candidate needs a quorum of the configuration in its own log."""
        entry = self.committed[index - 1][0]
        disks = {n: self.facts.durable(n) for n in self.facts.ids}
        lacking = [n for n, disk in disks.items() if self.entry(disk, index) != entry]
        last = {n: self.end_of_log(disk) for n, disk in disks.items()} if lacking else {}
        for node in lacking:
            voters = [n for n in disks if last[n] <= last[node]]
            _, configuration = next(self.configurations(disks[node]))
            if is_quorum(configuration, voters):
                could = f"could win the votes of {', '.join(voters)}, a quorum of {configuration}"
                return f"{node} lacks entry {index}, {entry}, and {could}"
        return None

    # Chapter 4.

    @sent(AppendEntries)
    def note_reign(self, node: NodeId, dst: NodeId, m: AppendEntries) -> None:
        self.led_since.setdefault(m.term, self.facts.now)
        self.appended_at = self.facts.now
        if m.term > self.newest_leader[0]:
            self.newest_leader, self.asked_leader_at = (m.term, node), []

    @always("A leader that is not in the committed configuration steps down.", "thesis §4.2.2")
    @sent(AppendEntries)
    def removed_leader_steps_down(self, node: NodeId, dst: NodeId, m: AppendEntries) -> str | None:
        index, configuration = self.in_force[node]
        if node in configuration.electors or not self.leads_on(node, m.term):
            return None
        return f"{node} leads term {m.term}, and has applied entry {index}, by which only {configuration} vote"

    @applied
    def note_settled(self, node: NodeId, index: Index, command: Value | None, result: object) -> None:
        if index == self.in_force[node][0]:
            self.settled[node] = index, self.facts.now

    def leads_on(self, node: NodeId, term: Term) -> bool:
        """Whether it has led, and applied the configuration that is in force there, in an earlier event than this."""
        index, since = self.settled.get(node, (0, 0))
        return index == self.in_force[node][0] > 0 and max(since, self.led_since[term]) < self.facts.now

    @always("Only a voter campaigns, or who does not know that it is none any more.", "thesis §4.2.1, §4.2.2")
    @sent(RequestVote)
    def only_voters_campaign(self, node: NodeId, dst: NodeId, m: RequestVote) -> str | None:
        for index, configuration in self.configurations(self.facts.written(node)):
            if node in configuration.electors:
                return None
            if index <= self.applied_by.get(node, 0):
                break
        return f"{node} campaigns in term {m.term}, and votes in no configuration that it may believe in"

    @always("Two servers that could be elected need quorums that overlap.", "thesis §4.1, Fig. 4.3; logless-reconfig")
    @stored("log")
    def quorums_overlap(
        self, node: NodeId, index: int, removed: tuple[Entry, ...], added: tuple[Entry, ...]
    ) -> str | None:
        """Looked at where a configuration is written, which is before it is synced and sent."""
        if not any(is_configuration(entry.command) for entry in added):
            return None
        disks = {n: self.facts.written(n) for n in self.facts.ids}
        last = {n: self.end_of_log(disk) for n, disk in disks.items()}
        mine = self.in_force[node][1], [n for n in disks if last[n] <= last[node]]
        for other in disks:
            its = self.in_force[other][1], [n for n in disks if last[n] <= last[other]]
            if other != node and not overlap(*mine, *its):
                return f"{node} could be elected by {mine[0]}, and {other} by {its[0]}, without a common vote"
        return None

    @always("Only a server that holds all that the leader holds is told to campaign.", "thesis §3.10")
    @sent(TimeoutNow)
    def transferee_has_caught_up(self, node: NodeId, dst: NodeId, m: TimeoutNow) -> str | None:
        self.told[m.term + 1] = dst
        mine, its = (self.end_of_log(self.facts.durable(n)) for n in (node, dst))
        return f"{node} told {dst} to campaign, whose log ends at {its}, not at {mine}" if its < mine else None

    @requested
    def note_asked(self, node: NodeId, op: OpId, command: Command) -> None:
        """A lone voter leads, and has nobody to tell."""
        if self.facts.healed_at is None or is_change(command):
            return
        if node == self.newest_leader[1] or self.in_force[node][1].electors == (node,):
            self.asked_leader_at.append(self.facts.now)
        if self.facts.now > self.facts.healed_at + PATIENCE:
            self.asked[node] = self.asked.get(node, 0) + 1

    def leader_was_asked(self) -> bool:
        """What this takes here stands below."""
        return True

    @part_of(WithSnapshots.progress_after_heal)
    def progress_after_heal(self) -> str | None:
        """Clients that try any server may take long to find the leader: it has to be asked, or each server, and once
        more if it may be handing over."""
        often = 2 if self.facts.switches.transfer else 1
        quiet = self.facts.now - PATIENCE
        alone = any(configuration.electors == (node,) for node, (_, configuration) in self.in_force.items())
        leaderless = self.appended_at < quiet and not alone
        asked = len(self.asked_leader_at) >= often and self.asked_leader_at[0] < quiet
        all_asked = all(self.asked.get(node, 0) > often for node in self.facts.ids)
        return super().progress_after_heal() if leaderless or asked or all_asked else None

    @applied
    def note_joint(self, node: NodeId, index: Index, command: Value | None, result: object) -> None:
        if index == len(self.committed) and is_configuration(command):
            joint = self.committed_under[-1].outgoing
            self.joint_since = (index, self.facts.now) if joint else None

    @eventually("Joint consensus ends, whoever leads.", "thesis §4.3; etcd-io/etcd#12136")
    def joint_consensus_ends(self) -> str | None:
        if self.joint_since is None or self.facts.healed_at is None:
            return None
        index, since = self.joint_since
        if self.facts.now - max(since, self.facts.healed_at) < JOINT_BOUND:
            return None
        return f"the joint configuration of entry {index} was committed, and nothing followed it in {JOINT_BOUND} us"

    @part_of(joint_consensus_ends)
    @sent(AppendEntries)
    def leader_ends_joint_consensus(self, node: NodeId, dst: NodeId, m: AppendEntries) -> str | None:
        index, configuration = self.in_force[node]
        if not configuration.outgoing or not self.leads_on(node, m.term):
            return None
        return f"{node} applied entry {index}, {configuration}, leads term {m.term}, and proposes nothing"

    # Early warnings: what must hold so that no later step can break the above.

    @warning("A configuration and the one before it have quorums that overlap.", "thesis §4.1, §4.3, Fig. 4.3")
    @stored("log")
    def neighbours_overlap(
        self, node: NodeId, index: int, removed: tuple[Entry, ...], added: tuple[Entry, ...]
    ) -> str | None:
        if not any(is_configuration(entry.command) for entry in added):
            return None
        latest, before = self.last_two(node)
        if overlap(latest, self.facts.ids, before, self.facts.ids):
            return None
        return f"{node} has the configuration {latest} after {before}, and each can decide without the other"

    @warning("A leader that changes the configuration has committed an entry of its term.", "raft-dev 2015")
    @stored("log")
    def changes_follow_a_commitment(
        self, node: NodeId, index: int, removed: tuple[Entry, ...], added: tuple[Entry, ...]
    ) -> str | None:
        """But for the end of joint consensus: whoever knows that C_old,new is committed may append C_new, §4.3."""
        term, known = self.facts.written(node).term, self.applied_by.get(node, 0)
        changes = self.leader_of.get(term) == node and any(is_configuration(entry.command) for entry in added)
        if not changes or self.last_two(node)[1].outgoing or (known and self.committed[known - 1][0].term == term):
            return None
        return f"{node} changes the configuration in term {term}, of which it has committed no entry"

    def last_two(self, node: NodeId) -> tuple[Configuration, Configuration]:
        """The latest configuration in its log, and the one before it."""
        held = [configuration for _, configuration in islice(self.configurations(self.facts.written(node)), 2)]
        return held[0], held[-1]

    # Goals.

    @sometimes("A change of the membership was committed.", when=lambda s: s.membership != "fixed")
    @applied
    def configuration_committed(self, node: NodeId, index: Index, command: Value | None, result: object) -> bool:
        return is_configuration(command)

    @sometimes("A leader handed over.", "thesis §3.10", when=lambda s: s.transfer)
    @sent(AppendEntries)
    def leadership_transferred(self, node: NodeId, dst: NodeId, m: AppendEntries) -> bool:
        return self.told.get(m.term) == node


CHANGES = ("add", "add", "add", "add", "remove", "remove", "replace", "transfer")
SERVERS = ("n1", "n2", "n3", "n4", "n5")


def workload(op: OpId, bits: int) -> Command | Change:
    """Half of the requests are puts and gets; the others change something, with five servers in any order."""
    if bits & 1:
        return puts_and_gets(op, bits >> 1)
    kind, chosen = CHANGES[bits >> 1 & 7], bits >> 4
    if kind == "replace":
        return Change(kind, tuple(server for i, server in enumerate(SERVERS) if chosen >> i & 1))
    first = chosen % 5
    return Change(kind, SERVERS[first:] + SERVERS[:first])


def parse(op: OpId, words: tuple[str, ...]) -> Command | Change:
    """`put x 1`, `get x`, `add n4`, `remove n1`, `replace n1 n2 n3`, `transfer n2`."""
    return parse_command(op, words) if words[0] in ("put", "get") else Change(words[0], words[1:])


PROTOCOL = ProtocolSpec(
    name="raft_membership",
    paper="Ongaro 2014, chapter 4 and §3.10",
    node=MembershipRaft,
    disk=SnapshotDisk,
    switches=Switches,
    observers=(Chapter4,),
    application=MemberStore,
    workload=workload,
    parse=parse,
    retries="sessions",
    sizes=(4, 5),
)
