"""Transactions over shards: two-phase locking in a global order, and two-phase commit.

Paper    P. Bernstein, V. Hadzilacos and N. Goodman, "Concurrency Control and Recovery in Database Systems", 1987
         (BHG): two-phase locking §3.2, deadlocks §3.4, strict two-phase locking §3.5, two-phase commit §7.4.
         C. Mohan, B. Lindsay and R. Obermarck, "Transaction Management in the R* Distributed Database Management
         System", 1986 (R*): presumed abort §3.
         J. Havender, "Avoiding Deadlock in Multitasking Systems", 1968: whoever asks in one order never deadlocks.
         M. Burrows, "The Chubby Lock Service", 2006, §2.4: locks have sequencers, here called tokens.
Scope    Every node is a shard, and coordinates what clients ask of it. Accounts are spread over the shards by a pure
         function. A transaction reads some accounts and moves an amount from the first of them to each other one.
         All locks are exclusive. A shard votes no where an account would be overdrawn, or a lock was lost.
Assumes  Crash-recovery with a durable disk; messages may be lost, duplicated, delayed and reordered. Safety needs no
         bound on delays or clocks; progress needs that every node comes back.

A lock is in memory until its shard has prepared: a shard that restarts has forgotten who held what, so each lock that
it grants has a token that no other has, and a transaction prepares only under the tokens that it was given. What a
shard or a coordinator has no answer to, it says again. A coordinator knows nothing of what it aborted (presumed abort):
whoever asks about a transaction that it does not know is told to abort it.

Reading order: messages, state, locks (BHG §3), commitment (BHG §7.4), recovery, then what must hold.
"""

import attrs

from protocols._accounts import ACCOUNTS, OPENING, Account, Cell, Transaction, home, parse, workload, wrong_sum
from protosim.api import (
    MS,
    Disk,
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
    switch,
    value,
    warning,
    wrote,
)

Tid = OpId  # a transaction is named by the operation of its client; 0 is the beginning, in which all accounts were made
Token = tuple[int, int]  # (the shard's boot, which lock since then)

RETRY = "retry"
RETRY_INTERVAL = (60 * MS, 120 * MS)


# -- Commands and messages ---------------------------------------------------------------------------


@value
class Held:
    """A lock as its holder knows it."""

    account: Account
    token: Token

    def __str__(self) -> str:
        return f"{self.account} #{self.token[0]}.{self.token[1]}"


@value
class Write:
    account: Account
    balance: int

    def __str__(self) -> str:
        return f"{self.account} = {self.balance}"


@message
class Lock:
    tid: Tid
    account: Account


@message
class Granted:
    """The lock, and what the account holds under it."""

    tid: Tid
    lock: Held
    cell: Cell


@message
class Unlock:
    """This lock is of no use: its transaction is over, or has another."""

    tid: Tid
    lock: Held


@message
class Prepare:
    """VOTE-REQ: the shard's locks of the transaction, and what it will write."""

    tid: Tid
    locks: tuple[Held, ...]
    writes: tuple[Write, ...]


@message
class Vote:
    tid: Tid
    yes: bool
    locks: tuple[Held, ...]


@message
class Decision:
    tid: Tid
    committed: bool
    locks: tuple[Held, ...]


@message
class Finished:
    """The decision is carried out. `freed` are the locks that this released."""

    tid: Tid
    freed: tuple[Held, ...]


# -- State -------------------------------------------------------------------------------------------


@value
class Prepared:
    """A shard's record: it can commit, and waits for the decision."""

    tid: Tid
    coordinator: NodeId
    locks: tuple[Held, ...]
    writes: tuple[Write, ...]

    def __str__(self) -> str:
        return f"{self.tid} of {self.coordinator} ({', '.join(map(str, self.writes)) or 'reads'})"


@value
class Commit:
    """A coordinator's record: the decision, until every shard has carried it out. There is none for an abort."""

    tid: Tid
    locks: tuple[Held, ...]

    def __str__(self) -> str:
        return str(self.tid)


class ShardDisk(Disk):
    boot: int = 0  # how often the node has started
    cells: tuple[tuple[Account, Cell], ...] = ()  # accounts that were written since the beginning
    prepared: tuple[Prepared, ...] = ()
    commits: tuple[Commit, ...] = ()


@value
class Owner:
    """Who has a lock, or waits for it."""

    tid: Tid
    coordinator: NodeId
    token: Token = (0, 0)


@value
class Active:
    """A transaction that is not decided, as its coordinator knows it."""

    command: Transaction
    locks: tuple[Held, ...] = ()
    cells: tuple[Cell, ...] = ()  # what each lock's account holds
    votes: tuple[NodeId, ...] = ()  # who voted yes

    def reads(self) -> dict[Account, Cell]:
        return {lock.account: cell for lock, cell in zip(self.locks, self.cells, strict=True)}


@attrs.frozen
class Switches:
    at_once: int = switch(2, (1, 2), "how many undecided transactions a coordinator has at most")


def effect(command: Transaction, cells: dict[Account, Cell]) -> tuple[Write, ...]:
    """What the transaction writes, given what it reads."""
    if not command.amount:
        return ()
    source, *targets = command.accounts
    debit = Write(source, cells[source].balance - command.amount * len(targets))
    return debit, *(Write(target, cells[target].balance + command.amount) for target in targets)


class Transactions(Node[ShardDisk]):
    switches: Switches

    ids: tuple[NodeId, ...]
    active: dict[Tid, Active]  # coordinators
    unfinished: dict[Tid, set[NodeId]]  # coordinators: which shards have yet to carry out a commit
    owners: dict[Account, Owner]  # shards
    queues: dict[Account, list[Owner]]  # shards: who waits, in order of arrival
    granted: int  # shards: locks, since the start

    def start(self) -> None:
        """Restart: the locks of what is prepared are held, and what is committed is told again. BHG §7.4."""
        self.ids = tuple(sorted((self.me, *self.peers)))
        self.disk.boot = self.disk.boot + 1  # so that no token was ever given before
        self.sync()
        self.active = {}
        self.unfinished = {commit.tid: set(self.shards(commit.locks)) for commit in self.disk.commits}
        self.owners = {}
        self.queues = {}
        self.granted = 0
        for record in self.disk.prepared:
            for lock in record.locks:
                self.owners[lock.account] = Owner(record.tid, record.coordinator, lock.token)
        self.retry()

    def shards(self, locks: tuple[Held, ...]) -> list[NodeId]:
        """Where they are, each once, in order."""
        return sorted({home(lock.account, self.ids) for lock in locks})

    def at(self, shard: NodeId, locks: tuple[Held, ...]) -> tuple[Held, ...]:
        """Those of this shard."""
        return tuple(lock for lock in locks if home(lock.account, self.ids) == shard)

    def record_of(self, tid: Tid) -> Prepared | None:
        return next((record for record in self.disk.prepared if record.tid == tid), None)

    # -- Locks (BHG §3) ------------------------------------------------------------------------------

    def request(self, op: OpId, command: Transaction) -> None:
        if len(self.active) < self.switches.at_once:
            self.active[op] = Active(command)
            self.go_on(op)
        else:
            self.refuse(op)

    def next_account(self, tid: Tid) -> Account | None:
        """The first without a lock, in the global order; None if all are locked."""
        active = self.active[tid]
        locked = [lock.account for lock in active.locks]
        return next((account for account in sorted(active.command.accounts) if account not in locked), None)

    def go_on(self, tid: Tid) -> None:
        """Ask for the next lock, or with all of them for the votes: the growing phase is over. BHG §3.2; Havender."""
        account = self.next_account(tid)
        if account is None:
            self.prepare(tid)
        else:
            self.send(home(account, self.ids), Lock(tid, account))

    @on(Lock)
    def handle_lock(self, src: NodeId, m: Lock) -> None:
        owner = self.owners.get(m.account)
        if owner is not None and owner.tid == m.tid:
            self.tell_granted(m.account)
            return
        queue = self.queues.setdefault(m.account, [])
        if all(waiting.tid != m.tid for waiting in queue):
            queue.append(Owner(m.tid, src))
            self.grant(m.account)

    def grant(self, account: Account) -> None:
        """To the first who waits, once nobody has it."""
        if not self.queues.get(account):
            return
        if holds(lock_free=account not in self.owners):
            first = self.queues[account].pop(0)
            self.granted += 1
            self.owners[account] = Owner(first.tid, first.coordinator, (self.disk.boot, self.granted))
            self.tell_granted(account)

    def tell_granted(self, account: Account) -> None:
        owner = self.owners[account]
        self.send(owner.coordinator, Granted(owner.tid, Held(account, owner.token), self.cell(account)))

    def cell(self, account: Account) -> Cell:
        return dict(self.disk.cells).get(account, Cell(OPENING, 0))

    @on(Granted)
    def handle_granted(self, src: NodeId, m: Granted) -> None:
        active = self.active.get(m.tid)
        if active is None or (m.lock not in active.locks and m.lock.account != self.next_account(m.tid)):
            self.send(src, Unlock(m.tid, m.lock))
        elif m.lock not in active.locks:
            self.active[m.tid] = Active(active.command, (*active.locks, m.lock), (*active.cells, m.cell))
            self.go_on(m.tid)

    @on(Unlock)
    def handle_unlock(self, src: NodeId, m: Unlock) -> None:
        """The message may be late: once prepared, only the decision releases. BHG §7.4."""
        prepared = self.record_of(m.tid)
        if holds(lock_not_prepared=prepared is None or m.lock not in prepared.locks):
            self.release(m.lock)

    def release(self, lock: Held) -> bool:
        """Exactly once: who comes late finds another token, and changes nothing."""
        owner = self.owners.get(lock.account)
        released = holds(
            token_is_owners=owner is not None and owner.token == lock.token,
        )
        if released:
            self.owners.pop(lock.account, None)
            self.grant(lock.account)
        return released

    # -- Commitment (BHG §7.4; R* §3) ----------------------------------------------------------------

    def prepare(self, tid: Tid) -> None:
        """VOTE-REQ, to those that have not voted."""
        active = self.active[tid]
        writes = effect(active.command, active.reads())
        for shard in self.shards(active.locks):
            if shard not in active.votes:
                own = tuple(write for write in writes if home(write.account, self.ids) == shard)
                self.send(shard, Prepare(tid, self.at(shard, active.locks), own))

    @on(Prepare)
    def handle_prepare(self, src: NodeId, m: Prepare) -> None:
        if self.record_of(m.tid) is None:
            can_commit = holds(
                locks_still_held=all(self.holds_lock(m.tid, lock) for lock in m.locks),
                nothing_overdrawn=all(write.balance >= 0 for write in m.writes),
            )
            if not can_commit:
                self.send(src, Vote(m.tid, False, m.locks))
                return
            self.disk.prepared = (*self.disk.prepared, Prepared(m.tid, src, m.locks, m.writes))
            self.sync()
        self.send(src, Vote(m.tid, True, m.locks))

    def holds_lock(self, tid: Tid, lock: Held) -> bool:
        """Under this token, so without a break since it was granted."""
        owner = self.owners.get(lock.account)
        return owner is not None and (owner.tid, owner.token) == (tid, lock.token)

    @on(Vote)
    def handle_vote(self, src: NodeId, m: Vote) -> None:
        active = self.active.get(m.tid)
        if active is None:
            self.answer_vote(src, m)
        elif holds(voted_yes=m.yes):
            self.active[m.tid] = Active(active.command, active.locks, active.cells, (*active.votes, src))
            self.decide(m.tid)
        else:
            self.abort(m.tid)

    def answer_vote(self, src: NodeId, m: Vote) -> None:
        """The decision, to who asks: commit if there is a record of it, abort if there is none. R* §3."""
        if m.yes:
            self.send(src, Decision(m.tid, m.tid in self.unfinished, m.locks))

    def decide(self, tid: Tid) -> None:
        """Commit, if all have voted yes: first on disk, then to client and shards. BHG §7.4."""
        active = self.active[tid]
        if not holds(all_voted_yes=set(active.votes) >= set(self.shards(active.locks))):
            return
        self.disk.commits = (*self.disk.commits, Commit(tid, active.locks))
        self.sync()
        del self.active[tid]
        self.unfinished[tid] = set(self.shards(active.locks))
        self.reply(tid, tuple(active.reads()[account] for account in active.command.accounts))
        self.tell_committed(tid, active.locks)

    def tell_committed(self, tid: Tid, locks: tuple[Held, ...]) -> None:
        for shard in sorted(self.unfinished[tid]):
            self.send(shard, Decision(tid, True, self.at(shard, locks)))

    def abort(self, tid: Tid) -> None:
        """Without a record: who was not told will ask. R* §3."""
        active = self.active.pop(tid)
        self.reply(tid, None)
        for shard in self.shards(active.locks):
            self.send(shard, Decision(tid, False, self.at(shard, active.locks)))

    @on(Decision)
    def handle_decision(self, src: NodeId, m: Decision) -> None:
        """Carry it out in one write, then release: the shrinking phase. BHG §3.5, §7.4."""
        record = self.record_of(m.tid)
        if record is not None:
            prepared = tuple(other for other in self.disk.prepared if other.tid != m.tid)
            if m.committed:
                self.disk.write(prepared=prepared, cells=self.with_writes(record))
            else:
                self.disk.write(prepared=prepared)
            self.sync()
        freed = tuple(lock for lock in m.locks if self.release(lock))
        self.send(src, Finished(m.tid, freed))

    def with_writes(self, record: Prepared) -> tuple[tuple[Account, Cell], ...]:
        written = {write.account: Cell(write.balance, record.tid) for write in record.writes}
        return tuple(sorted({**dict(self.disk.cells), **written}.items()))

    @on(Finished)
    def handle_finished(self, src: NodeId, m: Finished) -> None:
        """END: with the last of these the decision may be forgotten. R* §3."""
        if m.tid not in self.unfinished:
            return
        self.unfinished[m.tid].discard(src)
        if holds(all_have_finished=not self.unfinished[m.tid]):
            del self.unfinished[m.tid]
            self.disk.commits = tuple(commit for commit in self.disk.commits if commit.tid != m.tid)

    # -- Retransmission ------------------------------------------------------------------------------

    @on_timeout(RETRY)
    def retry(self) -> None:
        """Say again what has no answer: as coordinator, and as shard."""
        self.set_timer(RETRY, RETRY_INTERVAL)
        for tid in self.active:
            self.go_on(tid)
        for commit in self.disk.commits:
            self.tell_committed(commit.tid, commit.locks)
        for record in self.disk.prepared:
            self.send(record.coordinator, Vote(record.tid, True, record.locks))
        for account, owner in self.owners.items():
            if self.record_of(owner.tid) is None:
                self.tell_granted(account)


# -- What must hold: locks ---------------------------------------------------------------------------


class Locks(Observer):
    """Who holds and who waits, as messages tell it: a lock is held from Granted until its coordinator sends what
    releases it (a decision, an Unlock), or its shard forgets it in a crash."""

    def begin(self) -> None:
        self.holder: dict[Account, tuple[Tid, Token]] = {}
        self.current: dict[Account, Token] = {}  # the last that was granted, unless a crash has lost it
        self.given_up: dict[tuple[Account, Token], None] = {}  # what may be released
        self.owner_of: dict[tuple[Account, Token], Tid] = {}
        self.freed: dict[tuple[Account, Token], None] = {}
        self.waits: dict[Tid, Account] = {}
        self.coordinator: dict[Tid, NodeId] = {}

    @always("A lock has one holder at a time.", "BHG §3.2, rule 1")
    @sent(Granted)
    def mutual_exclusion(self, node: NodeId, dst: NodeId, m: Granted) -> str | None:
        account, token = m.lock.account, m.lock.token
        self.current[account] = token
        if self.waits.get(m.tid) == account:
            del self.waits[m.tid]
        if (account, token) in self.given_up:
            return None  # said before it heard that it may release
        self.owner_of[account, token] = m.tid
        tid, _ = self.holder.get(account, (m.tid, token))
        self.holder[account] = (m.tid, token)
        return None if tid == m.tid else f"{node} gave the lock of {account} to {m.tid} while {tid} had it"

    @sent(Unlock)
    def note_unlock(self, node: NodeId, dst: NodeId, m: Unlock) -> None:
        self._give_up(m.lock)

    @sent(Decision)
    def note_decision(self, node: NodeId, dst: NodeId, m: Decision) -> None:
        for lock in m.locks:
            self._give_up(lock)

    def _give_up(self, lock: Held) -> None:
        self.given_up[lock.account, lock.token] = None
        if self.holder.get(lock.account, (0, (0, 0)))[1] == lock.token:
            del self.holder[lock.account]

    @restarted
    def note_restart(self, node: NodeId) -> None:
        """The shard has forgotten its locks but those of prepared transactions; the coordinator what it waits for."""
        kept = [lock.account for record in self.facts.written(node).prepared for lock in record.locks]
        for account in ACCOUNTS:
            if home(account, self.facts.ids) == node and account not in kept:
                self.holder.pop(account, None)
                self.current.pop(account, None)
        for tid in [tid for tid in self.waits if self.coordinator[tid] == node]:
            del self.waits[tid]

    @always("A lock is released once, by the transaction that holds it.", "BHG §3.2, rule 2; Chubby §2.4")
    @sent(Finished)
    def released_exactly_once(self, node: NodeId, dst: NodeId, m: Finished) -> str | None:
        for lock in m.freed:
            which = (lock.account, lock.token)
            if which in self.freed:
                return f"{node} released {lock} for {m.tid}, and had released it before"
            self.freed[which] = None
            if self.owner_of.get(which) != m.tid:
                return f"{node} released {lock} for {m.tid}, but it was granted to {self.owner_of.get(which, 'nobody')}"
        return None

    @warning("A shard votes yes under locks that were held all the time.", "BHG §7.4; Chubby §2.4")
    @sent(Vote)
    def votes_are_under_locks(self, node: NodeId, dst: NodeId, m: Vote) -> str | None:
        for lock in m.locks if m.yes else ():
            if self.current.get(lock.account) != lock.token:
                return f"{node} votes yes to {m.tid} under {lock}, which it has lost or given to another since"
        return None

    @always("Transactions never wait for each other in a circle.", "BHG §3.4; Havender 1968")
    @sent(Lock)
    def deadlock_freedom(self, node: NodeId, dst: NodeId, m: Lock) -> str | None:
        self.coordinator[m.tid] = node
        self.waits[m.tid] = m.account
        circle = [m.tid]
        while True:
            waits_for, _ = self.holder.get(self.waits.get(circle[-1], ""), (0, (0, 0)))
            if waits_for == m.tid and len(circle) > 1:
                return f"{m.tid} waits for " + ", which waits for ".join(map(str, [*circle[1:], m.tid]))
            if not waits_for or waits_for in circle or not self.facts.up(self.coordinator[waits_for]):
                return None
            circle.append(waits_for)


# -- What must hold: transactions --------------------------------------------------------------------


class Outcomes(Observer):
    """Atomicity, and that it all could have happened one transaction after the other. Reads are known by the answers
    to clients, writes and the order of an account's versions by what is written to the shards' disks."""

    def begin(self) -> None:
        self.clock = 0  # counts the beginnings and ends of transactions
        self.began: dict[Tid, int] = {}
        self.ended: dict[Tid, int] = {}
        self.since: dict[Tid, int] = {}  # the same, in microseconds
        self.asked: dict[Tid, NodeId] = {}  # whose client has no answer: its coordinator
        self.outcome: dict[Tid, tuple[bool, NodeId]] = {}  # as the first shard carried it out
        self.told: dict[Tid, bool] = {}  # whether its client heard that it committed
        self.promised: dict[tuple[Tid, Account], None] = {}  # writes of committed transactions, as clients know them
        self.versions: dict[Account, list[Tid]] = {account: [0] for account in ACCOUNTS}
        self.readers: dict[tuple[Account, Tid], list[Tid]] = {}
        self.place: dict[Tid, int] = {}  # in the order in which transactions were first seen to be committed
        self.after: dict[Tid, dict[Tid, str]] = {}  # who comes right after it, and why
        self.committed_since_heal = False
        self.backward = False  # whether an edge has run against that order: without one there is no circle

    @sent(Lock)
    def note_beginning(self, node: NodeId, dst: NodeId, m: Lock) -> None:
        if m.tid not in self.began:
            self.clock += 1
            self.began[m.tid] = self.clock
            self.since[m.tid] = self.facts.now
            self.asked[m.tid] = node

    @always("All shards of a transaction commit it, or none does.", "BHG §7.3, AC1")
    @wrote("prepared")
    def atomicity(self, node: NodeId, before: dict[str, tuple[Prepared, ...]]) -> str | None:
        image = self.facts.written(node)
        left = [record.tid for record in image.prepared]
        for record in before["prepared"]:
            if record.tid in left or not record.writes:
                continue
            first = record.writes[0].account
            committed = dict(image.cells).get(first, Cell(0, 0)).writer == record.tid
            known, where = self.outcome.setdefault(record.tid, (committed, node))
            if known != committed:
                does = "committed" if known else "aborted"
                return f"{where} {does} {record.tid}, and {node} {'aborted' if known else 'committed'} it"
            if self.told.get(record.tid, committed) != committed:
                return f"the client of {record.tid} heard the contrary of what {node} did with it"
        return None

    @part_of(atomicity)
    @replied
    def answers_are_outcomes(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> str | None:
        self.clock += 1
        self.ended[op] = self.clock
        self.asked.pop(op, None)
        committed = self.told[op] = result is not None
        known, where = self.outcome.get(op, (committed, node))
        if known != committed:
            return f"the client of {op} heard the contrary of what {where} did with it"
        return None

    @always("What a client was told to be committed is on the disks that must know of it.", "BHG §7.4; ACID's D")
    @replied
    def durability(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> str | None:
        if result is None:
            return None
        for write in effect(command, dict(zip(command.accounts, result, strict=True))):
            self.promised[op, write.account] = None
        return self._promises_are_kept(f"{node} answered {op}")

    @part_of(durability)
    @restarted
    def durability_after_restart(self, node: NodeId) -> str | None:
        for account in ACCOUNTS:  # what a crash has undone did not happen
            if home(account, self.facts.ids) == node:
                versions, writer = self.versions[account], self._writer(account)
                while versions[-1] != writer and writer in versions:
                    versions.pop()
        return self._promises_are_kept(f"{node} restarted")

    def _promises_are_kept(self, event: str) -> str | None:
        """Each promised write is carried out, or its shard is prepared for it and its coordinator has the decision."""
        ids, durable = self.facts.ids, self.facts.durable
        decided: list[Tid] | None = None
        for tid, account in list(self.promised):
            shard = home(account, ids)
            if tid in self.versions[account]:
                if durable(shard).cells == self.facts.written(shard).cells:
                    del self.promised[tid, account]  # no crash can undo it any more
                continue
            if all(record.tid != tid for record in durable(shard).prepared):
                return f"{event}, and {shard} has neither carried out nor prepared {tid}, which committed"
            if decided is None:
                decided = [commit.tid for n in ids for commit in durable(n).commits]
            if tid not in decided:
                return f"{event}, and no disk knows that {tid}, for which {shard} is prepared, committed"
        return None

    def _writer(self, account: Account) -> Tid:
        cells = dict(self.facts.written(home(account, self.facts.ids)).cells)
        return cells[account].writer if account in cells else 0

    @always("No account is ever overdrawn.", "ACID's C: what each transaction by itself keeps")
    @wrote("cells")
    def nothing_overdrawn(self, node: NodeId, before: dict[str, tuple[tuple[Account, Cell], ...]]) -> str | None:
        for account, cell in self.facts.written(node).cells:
            if cell.balance < 0:
                return f"{cell.writer} left {cell.balance} on {account}"
        return None

    @always("Whoever reads all accounts reads the sum with which everything began.", "ACID's C")
    @replied
    def conserved_sum(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> str | None:
        return wrong_sum(op, result)

    @always(
        "Transactions could have happened one after the other, each between its question and its answer.",
        "BHG §2.3, Serializability Theorem; Papadimitriou 1979",
    )
    @wrote("cells")
    def strict_serializability(self, node: NodeId, before: dict[str, tuple[tuple[Account, Cell], ...]]) -> str | None:
        known = dict(before["cells"])
        for account, cell in self.facts.written(node).cells:
            versions, tid = self.versions[account], cell.writer
            if known.get(account, Cell(0, 0)).writer == tid or versions[-1] == tid:
                continue
            last = versions[-1]
            versions.append(tid)
            self._see(tid)
            broken = self._follows(last, tid, f"{account} was written by {last} and then by {tid}")
            for reader in self.readers.get((account, last), ()):
                broken = broken or self._follows(reader, tid, f"{reader} read {account} before {tid} wrote it")
            if broken:
                return broken
        return None

    @part_of(strict_serializability)
    @replied
    def what_was_read_is_serializable(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> str | None:
        if result is None:
            return None
        self._see(op)
        for account, cell in zip(command.accounts, result, strict=True):
            versions = self.versions[account]
            if cell.writer not in versions:
                return f"{op} read {cell} on {account}, which is no version of it"
            self.readers.setdefault((account, cell.writer), []).append(op)
            broken = self._follows(cell.writer, op, f"{op} read {account} as {cell.writer} left it")
            following = versions[versions.index(cell.writer) + 1 :][:1]
            if following and not broken:
                broken = self._follows(op, following[0], f"{op} read {account} before {following[0]} wrote it")
            if broken:
                return broken
        return None

    def _see(self, tid: Tid) -> None:
        self.place.setdefault(tid, len(self.place))

    def _follows(self, tid: Tid, later: Tid, why: str) -> str | None:
        """`later` comes after `tid` in every order. A sentence if there is a circle now."""
        if not tid or tid == later:
            return None
        self.after.setdefault(tid, {}).setdefault(later, why)
        if self.place[tid] > self.place[later]:
            self.backward = True
        return self._circle(tid) if self.backward else None

    def _circle(self, start: Tid) -> str | None:
        """The reasons along the shortest way from `start` to itself."""
        paths: list[tuple[Tid, tuple[str, ...]]] = [(start, ())]
        seen: dict[Tid, None] = {}
        for tid, reasons in paths:
            for later, why in self._successors(tid):
                if later == start:
                    return "; ".join((*reasons, why))
                if later not in seen:
                    seen[later] = None
                    paths.append((later, (*reasons, why)))
        return None

    def _successors(self, tid: Tid) -> list[tuple[Tid, str]]:
        found = list(self.after.get(tid, {}).items())
        if tid in self.ended:
            end = self.ended[tid]
            found += [
                (later, f"{later} began after {tid} was answered")
                for later, beginning in self.began.items()
                if beginning > end and later in self.place
            ]
        return found

    # Early warnings: what must hold so that no later step can break the above.

    @warning("A shard that votes yes has its record on disk.", "BHG §7.4; R* §2")
    @sent(Vote)
    def votes_are_durable(self, node: NodeId, dst: NodeId, m: Vote) -> str | None:
        if not m.yes or any(record.tid == m.tid for record in self.facts.durable(node).prepared):
            return None
        return f"{node} votes yes to {m.tid} without a record on its disk"

    @warning("Who has a lock reads what is on disk.", "BHG §2.4: what is read by others must not be undone")
    @sent(Granted)
    def what_is_read_is_durable(self, node: NodeId, dst: NodeId, m: Granted) -> str | None:
        cell = dict(self.facts.durable(node).cells).get(m.lock.account)
        if m.cell.writer == (0 if cell is None else cell.writer):
            return None
        return f"{node} lets {m.tid} read {m.cell} on {m.lock.account}, which a crash would undo"

    @warning("A shard that has finished has nothing of the transaction to carry out on its disk.", "R* §2, §3")
    @sent(Finished)
    def what_is_finished_is_durable(self, node: NodeId, dst: NodeId, m: Finished) -> str | None:
        if all(record.tid != m.tid for record in self.facts.durable(node).prepared):
            return None
        return f"{node} has finished {m.tid}, and is prepared for it on its disk"

    @warning("A decision to commit is on disk before anybody is told.", "BHG §7.4; R* §2")
    @sent(Decision)
    def decisions_are_durable(self, node: NodeId, dst: NodeId, m: Decision) -> str | None:
        if not m.committed or any(commit.tid == m.tid for commit in self.facts.durable(node).commits):
            return None
        return f"{node} tells {dst} that {m.tid} is committed without a record on its disk"

    @warning("A transaction is committed once all of its shards are prepared.", "BHG §7.3, AC3")
    @wrote("commits")
    def commits_are_prepared(self, node: NodeId, before: dict[str, tuple[Commit, ...]]) -> str | None:
        known = [commit.tid for commit in before["commits"]]
        for commit in self.facts.written(node).commits:
            for lock in commit.locks if commit.tid not in known else ():
                shard = home(lock.account, self.facts.ids)
                if all(record.tid != commit.tid for record in self.facts.durable(shard).prepared):
                    return f"{node} decides that {commit.tid} is committed, for which {shard} is not prepared"
        return None

    @warning("A commit is forgotten once no shard is prepared for it any more.", "R* §3, END")
    @wrote("commits")
    def commits_are_kept(self, node: NodeId, before: dict[str, tuple[Commit, ...]]) -> str | None:
        left = [commit.tid for commit in self.facts.written(node).commits]
        for commit in before["commits"]:
            for lock in commit.locks if commit.tid not in left else ():
                shard = home(lock.account, self.facts.ids)
                if any(record.tid == commit.tid for record in self.facts.written(shard).prepared):
                    return f"{node} forgets that {commit.tid} is committed, for which {shard} is still prepared"
        return None

    # Goals: a run in which nothing happened proves nothing.

    @sometimes("A transaction that writes was committed.")
    @wrote("cells")
    def transaction_committed(self, node: NodeId, before: dict[str, tuple[tuple[Account, Cell], ...]]) -> bool:
        return bool(self.facts.written(node).cells != before["cells"])

    @sometimes("A client heard what all accounts hold.")
    @replied
    def accounts_read(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> bool:
        return result is not None and not command.amount

    @sometimes("A transaction was aborted.")
    @replied
    def transaction_aborted(
        self, node: NodeId, op: OpId, command: Transaction, result: tuple[Cell, ...] | None
    ) -> bool:
        return result is None

    @restarted
    def forget_clients(self, node: NodeId) -> None:
        """Those of a coordinator that crashed will not hear from it."""
        self.asked = {tid: coordinator for tid, coordinator in self.asked.items() if coordinator != node}

    @eventually("Once the faults have ended, what had begun ends, and leaves no lock.", "BHG §7.3, AC5")
    def every_transaction_ends(self) -> str | None:
        due = self.facts.healed_at or 0
        stuck = [f"{node} has not answered {tid}" for tid, node in self.asked.items() if self.since[tid] < due]
        for node in self.facts.ids:
            image = self.facts.written(node)
            stuck += [f"{node} is still prepared for {r.tid}" for r in image.prepared if self.since[r.tid] < due]
            stuck += [f"{node} still keeps the commit of {c.tid}" for c in image.commits if self.since[c.tid] < due]
        return f"{stuck[0]}, long after the faults have ended" if stuck else None

    @eventually("Once the faults have ended, transactions are committed.", "BHG §7.3, AC4")
    def progress_after_heal(self) -> str | None:
        return None if self.committed_since_heal else "no transaction was committed since the faults ended"

    @wrote("cells")
    def count_progress(self, node: NodeId, before: dict[str, tuple[tuple[Account, Cell], ...]]) -> None:
        if self.facts.healed_at is not None and self.facts.written(node).cells != before["cells"]:
            self.committed_since_heal = True


PROTOCOL = ProtocolSpec(
    name="transactions",
    paper="Bernstein, Hadzilacos and Goodman 1987; Mohan, Lindsay and Obermarck 1986",
    node=Transactions,
    disk=ShardDisk,
    switches=Switches,
    observers=(Locks, Outcomes),
    workload=workload,
    parse=parse,
    history=None,
)
