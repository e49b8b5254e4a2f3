"""Percolator: snapshot isolation over shards, without a coordinator that must survive.

Paper    D. Peng and F. Dabek, "Large-scale Incremental Processing Using Distributed Transactions and Notifications",
         OSDI 2010. § and Fig. refer to it: transactions §2.2, Fig. 6; timestamps §2.3.
         H. Berenson et al., "A Critique of ANSI SQL Isolation Levels", 1995 (BBG): snapshot isolation §4.2.
Spec     pingcap/tla-plus, DistributedTransaction.tla; a handler names the action that it refines.
Scope    Accounts are spread over the nodes; the first node is the timestamp oracle too. A transaction reads some
         accounts, moves an amount from the first of them to each other one, and is run by the node that was asked.
         Rollbacks leave a record, and locks have a time to live, as in TiKV; the paper asks Chubby who is alive.
Assumes  Crash-recovery with a durable disk; messages may be lost, duplicated, delayed and reordered. Safety needs no
         bound on delays or clocks; progress needs that every node comes back.

A transaction reads what had been committed by its start timestamp. It writes by locking every account (prewrite), of
which the first is the primary; then it takes its commit timestamp, and replaces the primary's lock by a write record:
that is the commit. The other locks may go later: who meets one asks at the primary what became of it.

Reading order: messages, state, timestamps (§2.3), reads, prewrites, commits, locks that were left (§2.2), then what
must hold.
"""

from bisect import bisect_left, insort

import attrs

from protocols._accounts import ACCOUNTS, OPENING, Account, Cell, Transaction, home, parse, workload, wrong_sum
from protosim.api import (
    MS,
    Disk,
    Log,
    Node,
    NodeId,
    Observer,
    OpId,
    ProtocolSpec,
    always,
    eventually,
    holds,
    message,
    on,
    on_timeout,
    part_of,
    replied,
    restarted,
    sent,
    sometimes,
    stored,
    switch,
    value,
    warning,
)

Tid = OpId  # a transaction's name at its node: the operation of its client
Timestamp = int  # from 1; 0 is the beginning, in which all accounts were made

RETRY = "retry"
RETRY_INTERVAL = (60 * MS, 120 * MS)

# Kinds of records
LOCK = "lock"
WRITE = "write"
ROLLBACK = "rollback"

# Phases of a transaction
START = "start"  # it waits for its start timestamp
READ = "read"
PREWRITE = "prewrite"
STAMP = "stamp"  # it waits for its commit timestamp
COMMIT = "commit"


# -- Commands and messages ---------------------------------------------------------------------------


@value
class Record:
    """A change of one account's row, written at once. A lock carries the new balance; a write makes the balance of its
    transaction's lock visible, from its commit timestamp on; a write and a rollback remove their transaction's lock."""

    kind: str
    account: Account
    start_ts: Timestamp
    commit_ts: Timestamp = 0  # of a write
    primary: Account = ""  # of a lock
    balance: int = 0  # of a lock
    at: int = 0  # of a lock: when it was written, by its node's clock

    def __str__(self) -> str:
        if self.kind == LOCK:
            return f"(lock {self.account}@{self.start_ts} = {self.balance}, primary {self.primary})"
        return f"({self.kind} {self.account}@{self.start_ts}{f' as {self.commit_ts}' if self.commit_ts else ''})"


@message
class GetTimestamp:
    tid: Tid
    phase: str


@message
class Stamped:
    tid: Tid
    phase: str  # for which it was asked
    ts: Timestamp


@message
class Get:
    tid: Tid
    account: Account
    start_ts: Timestamp


@message
class Got:
    tid: Tid
    account: Account
    cell: Cell


@message
class Blocked:
    """Get's result where an earlier transaction has a lock."""

    tid: Tid
    lock: Record


@message
class Prewrite:
    tid: Tid
    account: Account
    start_ts: Timestamp
    primary: Account
    balance: int


@message
class Prewritten:
    tid: Tid
    account: Account
    locked: bool


@message
class Commit:
    tid: Tid
    account: Account
    start_ts: Timestamp
    commit_ts: Timestamp


@message
class Committed:
    tid: Tid
    account: Account
    committed: bool


@message
class Abort:
    account: Account
    start_ts: Timestamp


@message
class CheckStatus:
    """To the primary of a lock that blocks `tid`: what became of the transaction?"""

    tid: Tid
    primary: Account
    start_ts: Timestamp
    account: Account


@message
class Status:
    """It committed, or, where `commit_ts` is 0, was rolled back."""

    tid: Tid
    account: Account
    start_ts: Timestamp
    commit_ts: Timestamp


@message
class Resolve:
    """Do to this account's lock what was done to its primary."""

    account: Account
    start_ts: Timestamp
    commit_ts: Timestamp


# -- State -------------------------------------------------------------------------------------------


class TabletDisk(Disk):
    log: Log[Record]  # all changes of this node's rows
    limit: Timestamp = 0  # the oracle: up to where timestamps are reserved


@attrs.define
class Active:
    """A transaction, as the node that runs it knows it. It is lost in a crash."""

    command: Transaction
    phase: str = START
    start_ts: Timestamp = 0
    commit_ts: Timestamp = 0
    cells: dict[Account, Cell] = attrs.field(factory=dict)  # what it has read
    locked: list[Account] = attrs.field(factory=list)

    def writes(self) -> dict[Account, int]:
        return effect(self.command, self.cells)

    @property
    def primary(self) -> Account:
        return self.command.accounts[0]


@attrs.frozen
class Switches:
    at_once: int = switch(2, (1, 2), "how many transactions a node runs at most")
    ttl: int = switch(200, (5, 40, 200), "for how many milliseconds a lock is left alone")
    batch: int = switch(10, (1, 10), "how many timestamps the oracle reserves in one write, §2.3")
    parallel: bool = switch(False, (False, True), "the primary is locked together with the others, not before them")


def effect(command: Transaction, cells: dict[Account, Cell]) -> dict[Account, int]:
    """What the transaction writes, given what it reads; the primary first."""
    if not command.amount:
        return {}
    source, *targets = command.accounts
    debit = {source: cells[source].balance - command.amount * len(targets)}
    return debit | {target: cells[target].balance + command.amount for target in targets}


class Percolator(Node[TabletDisk]):
    switches: Switches

    ids: tuple[NodeId, ...]
    active: dict[Tid, Active]
    locks: dict[Account, Record]  # the lock column
    writes: dict[Account, list[Record]]  # the write column, rollbacks too
    balances: dict[tuple[Account, Timestamp], int]  # the data column
    next_ts: Timestamp  # the oracle

    def start(self) -> None:
        """Restart: the rows are what the log says; transactions that this node ran are left to those who meet them."""
        self.ids = tuple(sorted((self.me, *self.peers)))
        self.active = {}
        self.locks = {}
        self.writes = {account: [] for account in ACCOUNTS}
        self.balances = {(account, 0): OPENING for account in ACCOUNTS}
        self.next_ts = self.disk.limit + 1  # nobody knows which of the reserved ones were given
        for record in self.disk.log:
            self.enter(record)
        self.retry()

    def put(self, record: Record) -> None:
        """A row's change, durable at once. Bigtable's row transactions, §2.1."""
        self.disk.log.append(record)
        self.sync()
        self.enter(record)

    def enter(self, record: Record) -> None:
        if record.kind == LOCK:
            self.locks[record.account] = record
            self.balances[record.account, record.start_ts] = record.balance
            return
        self.writes[record.account].append(record)
        if holds(lock_is_its_own=self.locked_by(record.account, record.start_ts)):
            self.locks.pop(record.account, None)

    def locked_by(self, account: Account, start_ts: Timestamp) -> bool:
        return account in self.locks and self.locks[account].start_ts == start_ts

    def outcome(self, account: Account, start_ts: Timestamp) -> Record | None:
        """The transaction's write or rollback record, if there is one."""
        return next((record for record in self.writes[account] if record.start_ts == start_ts), None)

    # -- Timestamps (§2.3) ---------------------------------------------------------------------------

    @on(GetTimestamp)
    def handle_get_timestamp(self, src: NodeId, m: GetTimestamp) -> None:
        """The oracle: strictly increasing, over restarts too, since what it gives is reserved on disk."""
        if self.next_ts > self.disk.limit:
            self.disk.limit = self.next_ts + self.switches.batch - 1
            self.sync()
        self.next_ts += 1
        self.send(src, Stamped(m.tid, m.phase, self.next_ts - 1))

    @on(Stamped)
    def handle_stamped(self, src: NodeId, m: Stamped) -> None:
        active = self.active.get(m.tid)
        if active is None or not holds(timestamp_awaited=m.phase == active.phase):
            return
        if active.phase == START:
            active.start_ts, active.phase = m.ts, READ
        else:
            active.commit_ts, active.phase = m.ts, COMMIT
        self.go_on(m.tid)

    # -- A transaction at its node (§2.2, Fig. 6) ----------------------------------------------------

    def request(self, op: OpId, command: Transaction) -> None:
        if len(self.active) < self.switches.at_once:
            self.active[op] = Active(command)
            self.go_on(op)
        else:
            self.refuse(op)

    def go_on(self, tid: Tid) -> None:
        """Ask for what is missing in the present phase, for the first time or again."""
        active = self.active[tid]
        if active.phase in (START, STAMP):
            self.send(self.ids[0], GetTimestamp(tid, active.phase))
        elif active.phase == READ:
            for account in active.command.accounts:
                if account not in active.cells:
                    self.send(home(account, self.ids), Get(tid, account, active.start_ts))
        elif active.phase == PREWRITE:
            self.prewrite(tid)
        else:
            self.send(home(active.primary, self.ids), Commit(tid, active.primary, active.start_ts, active.commit_ts))

    @on_timeout(RETRY)
    def retry(self) -> None:
        self.set_timer(RETRY, RETRY_INTERVAL)
        for tid in self.active:
            self.go_on(tid)

    def end(self, tid: Tid, committed: bool) -> None:
        active = self.active.pop(tid)
        cells = tuple(active.cells[account] for account in active.command.accounts)
        self.reply(tid, cells if committed else None)

    # -- Reads ---------------------------------------------------------------------------------------

    @on(Get)
    def handle_get(self, src: NodeId, m: Get) -> None:
        """ServerReadKey. The snapshot's newest version, unless an earlier lock may still add to it. Fig. 6, Get."""
        lock = self.locks.get(m.account)
        if lock is None or holds(no_earlier_lock=lock.start_ts > m.start_ts):
            self.send(src, Got(m.tid, m.account, self.version(m.account, m.start_ts)))
        else:
            self.send(src, Blocked(m.tid, lock))

    def version(self, account: Account, ts: Timestamp) -> Cell:
        """The one that was committed last, by then."""
        committed = [(w.commit_ts, w.start_ts) for w in self.writes[account] if w.kind == WRITE and w.commit_ts <= ts]
        _, writer = max(committed, default=(0, 0))
        return Cell(self.balances[account, writer], writer)

    @on(Got)
    def handle_got(self, src: NodeId, m: Got) -> None:
        """ClientReadOptimistic. Once all is read: write, or answer."""
        active = self.active.get(m.tid)
        if active is None or active.phase != READ:
            return
        active.cells[m.account] = m.cell
        if len(active.cells) < len(active.command.accounts):
            return
        writes = active.writes()
        if not writes:
            self.end(m.tid, True)
        elif min(writes.values()) < 0:  # it would be overdrawn
            self.end(m.tid, False)
        else:
            active.phase = PREWRITE
            self.go_on(m.tid)

    # -- Prewrite ------------------------------------------------------------------------------------

    def prewrite(self, tid: Tid) -> None:
        """ClientPrewriteOptimistic. The primary's lock first, unless they go in parallel. Fig. 6, Commit."""
        active = self.active[tid]
        for account, balance in active.writes().items():
            if account not in active.locked:
                self.send(
                    home(account, self.ids), Prewrite(tid, account, active.start_ts, active.primary, balance)
                )
                if account == active.primary and not self.switches.parallel:
                    return

    @on(Prewrite)
    def handle_prewrite(self, src: NodeId, m: Prewrite) -> None:
        """ServerPrewriteOptimistic. Fig. 6, Prewrite."""
        if self.locked_by(m.account, m.start_ts):
            self.send(src, Prewritten(m.tid, m.account, True))
            return
        outcome = self.outcome(m.account, m.start_ts)
        free = holds(
            no_write_conflict=all(record.commit_ts < m.start_ts for record in self.writes[m.account]),
            not_rolled_back=outcome is None or outcome.kind != ROLLBACK,
            not_locked=m.account not in self.locks,
        )
        if free:
            lock = Record(LOCK, m.account, m.start_ts, primary=m.primary, balance=m.balance, at=self.now)
            self.put(lock)
        self.send(src, Prewritten(m.tid, m.account, free))

    @on(Prewritten)
    def handle_prewritten(self, src: NodeId, m: Prewritten) -> None:
        """ClientPrewrited. With all locks, time for the commit timestamp."""
        active = self.active.get(m.tid)
        if active is None or active.phase != PREWRITE or m.account in active.locked:
            return
        if not holds(prewrite_succeeded=m.locked):
            self.abort(m.tid)
            return
        active.locked.append(m.account)
        if holds(all_prewritten=len(active.locked) == len(active.writes())):
            active.phase = STAMP
        self.go_on(m.tid)

    # -- Commit --------------------------------------------------------------------------------------

    @on(Commit)
    def handle_commit(self, src: NodeId, m: Commit) -> None:
        """ServerCommit. At the primary this is the transaction's commit point."""
        if holds(lock_still_held=self.locked_by(m.account, m.start_ts)):
            self.put(Record(WRITE, m.account, m.start_ts, m.commit_ts))
        outcome = self.outcome(m.account, m.start_ts)
        self.send(src, Committed(m.tid, m.account, outcome is not None and outcome.kind == WRITE))

    @on(Committed)
    def handle_committed(self, src: NodeId, m: Committed) -> None:
        """After the primary the others, which nobody waits for: who meets their locks will resolve them."""
        active = self.active.get(m.tid)
        if active is None or active.phase != COMMIT:
            return
        if not holds(primary_committed=m.committed):
            self.abort(m.tid)
            return
        for account in active.writes():
            if account != active.primary:
                commit = Commit(m.tid, account, active.start_ts, active.commit_ts)
                self.send(home(account, self.ids), commit)
        self.end(m.tid, True)

    def abort(self, tid: Tid) -> None:
        active = self.active[tid]
        for account in active.writes():
            self.send(home(account, self.ids), Abort(account, active.start_ts))
        self.end(tid, False)

    @on(Abort)
    def handle_abort(self, src: NodeId, m: Abort) -> None:
        """A record even where there is no lock: a prewrite that comes late must find it."""
        if holds(undecided=self.outcome(m.account, m.start_ts) is None):
            self.put(Record(ROLLBACK, m.account, m.start_ts))

    # -- Locks that were left (§2.2) -----------------------------------------------------------------

    @on(Blocked)
    def handle_blocked(self, src: NodeId, m: Blocked) -> None:
        """ClientReadOptimisticFailed."""
        active = self.active.get(m.tid)
        if active is not None and active.phase == READ:
            lock = m.lock
            status = CheckStatus(m.tid, lock.primary, lock.start_ts, lock.account)
            self.send(home(lock.primary, self.ids), status)

    @on(CheckStatus)
    def handle_check_status(self, src: NodeId, m: CheckStatus) -> None:
        """ServerCheckTxnStatus. Whoever holds its primary's lock may still commit: until that has expired, wait."""
        if self.locked_by(m.primary, m.start_ts) and not holds(
            primary_expired=self.now - self.locks[m.primary].at > self.switches.ttl * MS,
        ):
            return  # the reader will ask again
        outcome = self.outcome(m.primary, m.start_ts)
        if outcome is None:
            outcome = Record(ROLLBACK, m.primary, m.start_ts)
            self.put(outcome)
        self.send(src, Status(m.tid, m.account, m.start_ts, outcome.commit_ts))

    @on(Status)
    def handle_status(self, src: NodeId, m: Status) -> None:
        self.send(home(m.account, self.ids), Resolve(m.account, m.start_ts, m.commit_ts))
        active = self.active.get(m.tid)
        if active is not None and active.phase == READ:
            self.send(home(m.account, self.ids), Get(m.tid, m.account, active.start_ts))

    @on(Resolve)
    def handle_resolve(self, src: NodeId, m: Resolve) -> None:
        """ServerResolveCommitted, ServerResolveRollbacked."""
        if holds(lock_to_resolve=self.locked_by(m.account, m.start_ts)):
            self.put(Record(WRITE if m.commit_ts else ROLLBACK, m.account, m.start_ts, m.commit_ts))


# -- What must hold ----------------------------------------------------------------------------------


class SnapshotIsolation(Observer):
    """Rows are known by the logs on disk, what a transaction means to write by its prewrites, what it read by the
    answer to its client. A transaction is committed when its primary has a write record."""

    def begin(self) -> None:
        self.last_ts: Timestamp = 0
        self.starts: dict[Tid, list[Timestamp]] = {}  # that the oracle has given out; one for each time it was asked
        self.start_of: dict[Tid, Timestamp] = {}  # the one that it reads at
        self.asked: dict[Tid, tuple[NodeId, int]] = {}  # without an answer: who runs it, and since when
        self.intended: dict[Timestamp, dict[Account, None]] = {}  # what each transaction writes
        self.primary_of: dict[Timestamp, Account] = {}
        self.reads: dict[Account, tuple[Timestamp, Tid]] = {account: (0, 0) for account in ACCOUNTS}  # the newest
        self.promised: dict[Timestamp, Tid] = {}  # committed, as its client was told
        self.known: dict[NodeId, int] = {}  # how many records of each log are in what follows
        self.committed_since_heal = False
        self._forget_rows()

    def _forget_rows(self) -> None:
        self.locks: dict[Account, Timestamp] = {}
        self.rows: dict[tuple[Account, Timestamp], list[str]] = {}  # kinds of records, in order
        self.outcome: dict[Timestamp, tuple[str, Account]] = {}  # the first write or rollback, and where
        self.committed: dict[Timestamp, Timestamp] = {}  # start -> commit timestamp, once the primary has it
        self.versions: dict[Account, list[tuple[Timestamp, Timestamp]]] = {account: [(0, 0)] for account in ACCOUNTS}

    # History

    @sent(GetTimestamp)
    def note_beginning(self, node: NodeId, dst: NodeId, m: GetTimestamp) -> None:
        if m.phase == START:
            self.asked.setdefault(m.tid, (node, self.facts.now))

    @sent(Stamped)
    def note_start(self, node: NodeId, dst: NodeId, m: Stamped) -> None:
        if m.phase == START:
            self.starts.setdefault(m.tid, []).append(m.ts)

    @sent(Prewrite)
    def note_intention(self, node: NodeId, dst: NodeId, m: Prewrite) -> None:
        self.primary_of[m.start_ts] = m.primary
        intended = self.intended.setdefault(m.start_ts, {})
        if m.account not in intended:
            intended[m.account] = None
            if m.start_ts in self.committed:
                insort(self.versions[m.account], (self.committed[m.start_ts], m.start_ts))

    @restarted
    def note_restart(self, node: NodeId) -> None:
        """What a crash has undone did not happen; those who asked this node will not hear from it."""
        self.asked = {tid: (at, since) for tid, (at, since) in self.asked.items() if at != node}
        if len(self.facts.written(node).log) == self.known.get(node, 0):
            return
        self._forget_rows()
        for each in self.facts.ids:
            log = self.facts.written(each).log
            self.known[each] = len(log)
            for record in log:
                self._enter(record)

    def _enter(self, record: Record) -> None:
        account, start = record.account, record.start_ts
        self.rows.setdefault((account, start), []).append(record.kind)
        if record.kind == LOCK:
            self.locks[account] = start
            return
        if self.locks.get(account) == start:
            del self.locks[account]
        self.outcome.setdefault(start, (record.kind, account))
        if record.kind == WRITE and account == self.primary_of.get(start) and start not in self.committed:
            self.committed[start] = record.commit_ts
            for written in self.intended[start]:
                insort(self.versions[written], (record.commit_ts, start))

    # Records

    @always("In the write column of an account each record has its own start timestamp.", "tla-plus, UniqueWrite")
    @stored("log")
    def unique_write(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        for record in added:
            kinds = self.rows.get((record.account, record.start_ts), ())
            if record.kind != LOCK and (WRITE in kinds or ROLLBACK in kinds):
                return f"{node} adds {record}, where {record.start_ts} has {' and '.join(kinds)} already"
        return None

    @always("An account has one lock, of a transaction that is neither written nor rolled back there.",
            "tla-plus, UniqueLockOrWrite; LockConsistency")  # fmt: skip
    @stored("log")
    def unique_lock_or_write(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        for record in added:
            kinds = self.rows.get((record.account, record.start_ts), ())
            if record.kind == LOCK and kinds:
                return f"{node} adds {record}, where {record.start_ts} has {' and '.join(kinds)} already"
            if record.kind == LOCK and record.account in self.locks:
                return f"{node} adds {record} while {self.locks[record.account]} has its lock there"
        return None

    @always("What is written was locked before, and commits after it started.", "tla-plus, WriteConsistency")
    @stored("log")
    def write_consistency(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        for record in added:
            if record.kind == WRITE and self.locks.get(record.account) != record.start_ts:
                return f"{node} adds {record}, whose lock is not there"
            if record.kind == WRITE and record.commit_ts <= record.start_ts:
                return f"{node} adds {record}, which commits before it started"
        return None

    @always("A transaction that was rolled back anywhere is written nowhere.",
            "tla-plus, RollbackConsistency, UniqueCommitOrAbort")  # fmt: skip
    @stored("log")
    def rollback_consistency(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        for record in added:
            kind, account = self.outcome.get(record.start_ts, (record.kind, record.account))
            if kind != record.kind and record.kind != LOCK:
                return f"{node} adds {record}, but {account} has a {kind} of {record.start_ts}"
        return None

    @always("A secondary is written after the primary, under the same commit timestamp.",
            "§2.2; tla-plus, CommitConsistency")  # fmt: skip
    @stored("log")
    def commit_consistency(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        for record in added:
            primary = self.primary_of.get(record.start_ts)
            if record.kind == WRITE and record.account != primary:
                commit_ts = self.committed.get(record.start_ts, 0)
                if commit_ts != record.commit_ts:
                    return f"{node} adds {record}, but its primary {primary} is {commit_ts or 'not'} committed"
        return None

    @stored("log")
    def note_records(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> None:
        self.known[node] = index + len(added)
        for record in added:
            self._enter(record)

    # Snapshots

    @always("Of two transactions that write the same account and overlap, one at most commits.", "BBG §4.2; §2.2")
    @stored("log")
    def first_committer_wins(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        for record in added:
            if record.kind == WRITE and self.primary_of.get(record.start_ts) == record.account:
                for account in self.intended[record.start_ts]:
                    rival = self._overlapping(account, record)
                    if rival is not None:
                        return f"{rival[1]} and {record.start_ts} overlap, both wrote {account}, and both committed"
        return None

    def _overlapping(self, account: Account, record: Record) -> tuple[Timestamp, Timestamp] | None:
        """A committed writer of the account, in whose time this one started or committed."""
        for commit_ts, start_ts in reversed(self.versions[account]):
            if commit_ts < record.start_ts:
                return None
            if start_ts != record.start_ts and start_ts < record.commit_ts:
                return commit_ts, start_ts
        return None

    @always("A transaction reads, of each account, the newest version that had committed when it started.",
            "BBG §4.2; §2.2; tla-plus, OptimisticReadSnapshotIsolation")  # fmt: skip
    @replied
    def snapshot_isolation(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> str | None:
        self.asked.pop(op, None)
        if result is None:
            return None
        ts = self.start_of.get(op, 0)
        for account, cell in zip(command.accounts, result, strict=True):
            versions = self.versions[account]
            commit_ts, writer = versions[bisect_left(versions, (ts + 1, 0)) - 1]
            if cell.writer != writer:
                return f"{op} read {cell} on {account} at {ts}, where {writer} had committed at {commit_ts}"
            self.reads[account] = max(self.reads[account], (ts, op))
        return None

    @part_of(snapshot_isolation)
    @sent(Get)
    def one_snapshot(self, node: NodeId, dst: NodeId, m: Get) -> str | None:
        ts = self.start_of.setdefault(m.tid, m.start_ts)
        reads = f"{node} reads {m.account} for {m.tid} at {m.start_ts}"
        if m.start_ts not in self.starts.get(m.tid, ()):
            return f"{reads}, which the oracle has not given it for a start"
        return None if ts == m.start_ts else f"{reads}, and others at {ts}"

    @part_of(snapshot_isolation)
    @stored("log")
    def no_snapshot_changes(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        for record in added:
            if record.kind == WRITE and self.primary_of.get(record.start_ts) == record.account:
                for account in self.intended[record.start_ts]:
                    ts, reader = self.reads[account]
                    if record.commit_ts <= ts:
                        return f"{record.start_ts} commits {account} at {record.commit_ts}; {reader} read it at {ts}"
        return None

    @always("Whoever reads all accounts reads the sum with which everything began.", "ACID's C: no update is lost")
    @replied
    def conserved_sum(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> str | None:
        return wrong_sum(op, result)

    @always("Timestamps strictly increase.", "§2.3")
    @sent(Stamped)
    def timestamps_increase(self, node: NodeId, dst: NodeId, m: Stamped) -> str | None:
        last, self.last_ts = self.last_ts, m.ts
        return None if last < m.ts else f"{node} gives the timestamp {m.ts} after {last}"

    @always("What a client was told to be committed stays committed.", "§2.2; ACID's D")
    @replied
    def durability(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> str | None:
        start = self.start_of.get(op, 0)
        if result is None:
            return f"{op} committed, and its client was told that it did not" if start in self.committed else None
        if not command.amount:
            return None
        self.promised[start] = op
        if start not in self.committed:
            return f"{node} answered {op}, but the primary of {start} is not committed"
        at = home(self.primary_of[start], self.facts.ids)
        if any(record.kind == WRITE and record.start_ts == start for record in reversed(self.facts.durable(at).log)):
            return None
        return f"{node} answered {op}, but the commit of {start} is not on the disk of {at}"

    @part_of(durability)
    @stored("log")
    def answers_are_outcomes(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        for record in added:
            if record.kind == ROLLBACK and record.start_ts in self.promised:
                op = self.promised[record.start_ts]
                return f"{node} adds {record}, but the client of {op} heard that it committed"
        return None

    @part_of(durability)
    @restarted
    def durability_after_restart(self, node: NodeId) -> str | None:
        for start, op in self.promised.items():
            if start not in self.committed:
                return f"{node} restarted, and {op}, whose client heard that it committed, did not"
        return None

    # Early warnings: what must hold so that no later step can break the above.

    @warning("A lock is on disk before anybody is told.", "§2.1, §2.2")
    @sent(Prewritten)
    def prewrites_are_durable(self, node: NodeId, dst: NodeId, m: Prewritten) -> str | None:
        start = self.start_of.get(m.tid, 0)
        log = reversed(self.facts.durable(node).log)
        if not m.locked or any((r.account, r.start_ts) == (m.account, start) for r in log):
            return None
        return f"{node} says that {m.account} is locked for {m.tid}, and its disk does not hold the lock"

    @warning("A commit is on disk before anybody is told.", "§2.1, §2.2")
    @sent(Committed)
    def commits_are_durable(self, node: NodeId, dst: NodeId, m: Committed) -> str | None:
        start = self.start_of.get(m.tid, 0)
        log = reversed(self.facts.durable(node).log)
        if not m.committed or any((r.kind, r.account, r.start_ts) == (WRITE, m.account, start) for r in log):
            return None
        return f"{node} says that {m.account} is committed for {m.tid}, and its disk does not hold the write"

    @warning("The oracle gives only what it has reserved on its disk.", "§2.3")
    @sent(Stamped)
    def timestamps_are_reserved(self, node: NodeId, dst: NodeId, m: Stamped) -> str | None:
        limit = self.facts.durable(node).limit
        return None if m.ts <= limit else f"{node} gives the timestamp {m.ts}, and has reserved up to {limit}"

    @warning("When a transaction commits, each of its accounts is locked for it on disk.",
             "§2.2; tla-plus, LockConsistency")  # fmt: skip
    @stored("log")
    def commits_are_prewritten(
        self, node: NodeId, index: int, removed: tuple[Record, ...], added: tuple[Record, ...]
    ) -> str | None:
        for record in added:
            if record.kind == WRITE and self.primary_of.get(record.start_ts) == record.account:
                for account in self.intended[record.start_ts]:
                    if account != record.account and self.locks.get(account) != record.start_ts:
                        return f"{node} adds {record}, while its secondary {account} is not locked"
        return None

    # Goals: a run in which nothing happened proves nothing.

    @sometimes("A transaction that writes was committed.")
    @replied
    def transaction_committed(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> bool:
        return result is not None and bool(command.amount)

    @sometimes("A client read all accounts.")
    @replied
    def accounts_read(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> bool:
        return result is not None and not command.amount

    @sometimes("A lock that was left over was resolved.")
    @sent(Resolve)
    def lock_resolved(self, node: NodeId, dst: NodeId, m: Resolve) -> bool:
        return True

    @eventually("Once the faults have ended, what had begun ends, and leaves no lock.", "§2.2, locks left by failures")
    def every_transaction_ends(self) -> str | None:
        due = self.facts.healed_at or 0
        stuck = [f"{node} has not answered {tid}" for tid, (node, since) in self.asked.items() if since < due]
        for account, start in self.locks.items():
            log = self.facts.written(home(account, self.facts.ids)).log
            if any((r.kind, r.start_ts) == (LOCK, start) and r.at < due for r in log):
                stuck.append(f"{account} still has the lock of {start}")
        return f"{stuck[0]}, long after the faults have ended" if stuck else None

    @eventually("Once the faults have ended, transactions are committed.", "§2.2")
    def progress_after_heal(self) -> str | None:
        return None if self.committed_since_heal else "no transaction was committed since the faults ended"

    @replied
    def count_progress(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> None:
        if self.facts.healed_at is not None and result is not None and command.amount:
            self.committed_since_heal = True


PROTOCOL = ProtocolSpec(
    name="percolator",
    paper="Peng and Dabek 2010",
    node=Percolator,
    disk=TabletDisk,
    switches=Switches,
    observers=(SnapshotIsolation,),
    workload=workload,
    parse=parse,
    history=None,
    reads_clock=True,
)
