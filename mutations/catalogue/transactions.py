"""Drift of transactions over shards: what the books warn of, and what real systems got wrong.

BHG and R* are the sources of `protocols/transactions.py`; a row like T2 is a bug that was seen in the systems which its
sources name. `breaks` names the invariants that may break first, as hunts saw them, the commonest first.
`mutations/expected/transactions.toml` has the measurements, `docs/transactions-mutants.md` is a table of everything.
"""

from mutations.entry import Beyond, DriftKind, Lines, Mutation, Replace, Site

LOCKS = (
    Mutation(
        id="transactions.lock_order",
        title="Locks are asked for in the order in which the client names the accounts.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("deadlock_freedom",),
        clause="Whoever asks for locks in one order never waits in a circle. Havender 1968; BHG §3.4",
        edits=(Replace("next_account", "sorted(active.command.accounts)", "active.command.accounts"),),
        go=(
            Lines(
                "nextAccount",
                "inOrder := slices.Clone(tx.command.Accounts)\nslices.Sort(inOrder)\nfor _, account := range inOrder {",
                "for _, account := range tx.command.Accounts {",
            ),
        ),
    ),
    Mutation(
        id="transactions.lock_free",
        title="A lock is given to whoever is first in the queue, although another has it.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("mutual_exclusion",),
        clause="Who asks for a lock that conflicts with another's waits. BHG §3.2, rule 1",
        edits=(Site("grant", "drop-check", "lock_free"),),
    ),
    Mutation(
        id="transactions.token_is_owners",
        title="A release frees the lock whoever has it by now.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("released_exactly_once", "mutual_exclusion"),
        clause="A sequencer that is out of date is refused. Chubby §2.4",
        edits=(Site("release", "drop-check", "token_is_owners"),),
        sources=("feichai0017/NoKV#40",),
        aliases=("T6",),
        go=(
            Lines(
                "release",
                "released := s.Holds(\n"
                '\tstep.Check("token_is_owners", '
                "s.owners.Has(lock.Account) && s.owners.At(lock.Account).token == lock.Token),\n"
                ")\n"
                "if released {\n"
                "\ts.owners.Delete(lock.Account)\n"
                "\ts.grant(lock.Account)\n"
                "}\n"
                "return released",
                "s.owners.Delete(lock.Account)\ns.grant(lock.Account)\nreturn true",
            ),
        ),
    ),
    Mutation(
        id="transactions.lock_not_prepared",
        title="A late Unlock releases a lock under which its shard has prepared.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("strict_serializability", "conserved_sum", "mutual_exclusion"),
        clause="Strict two-phase locking: all locks are held until the decision. BHG §3.5, §7.4",
        edits=(Site("handle_unlock", "drop-check", "lock_not_prepared"),),
    ),
    Mutation(
        id="transactions.locks_still_held",
        title="A shard prepares a transaction whose locks it has lost in a crash.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("strict_serializability", "atomicity", "conserved_sum", "released_exactly_once"),
        clause="A participant votes yes only if it can commit. BHG §7.4; Chubby §2.4",
        edits=(Site("handle_prepare", "drop-check", "locks_still_held"),),
    ),
    Mutation(
        id="transactions.held_by_name",
        title="A shard asks whether the transaction has the lock, not whether it has had it all the time.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("mutual_exclusion", "released_exactly_once", "atomicity", "strict_serializability"),
        clause="The sequencer tells one holding of a lock from another. Chubby §2.4",
        edits=(Replace("holds_lock", "(owner.tid, owner.token) == (tid, lock.token)", "owner.tid == tid"),),
        go=(
            Lines(
                "holdsLocks",
                "if owner := s.owners.At(lock.Account); owner.tid != tid || owner.token != lock.Token {",
                "if s.owners.At(lock.Account).tid != tid {",
            ),
        ),
    ),
    Mutation(
        id="transactions.tokens_repeat",
        title="Tokens are counted from one again after every start.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("released_exactly_once",),
        clause="A sequencer has the lock's generation number. Chubby §2.4",
        edits=(Replace("grant", "(self.disk.boot, self.granted)", "(0, self.granted)"),),
    ),
    Mutation(
        id="transactions.release_wakes_nobody",
        title="Who waits for a lock is not told when it becomes free.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal", "every_transaction_ends"),
        clause="A lock that was released is given to who waits. BHG §3.6",
        edits=(
            Replace(
                "release",
                "self.owners.pop(lock.account, None)\nself.grant(lock.account)",
                "self.owners.pop(lock.account, None)",
            ),
        ),
    ),
    Mutation(
        id="transactions.locks_kept_by_aborts",
        title="A shard that carries out an abort keeps the locks.",
        kind=DriftKind.FORGOTTEN_RESET,
        clause="Carrying out the decision releases the locks. BHG §3.5, §7.4",
        edits=(
            Replace(
                "handle_decision",
                "tuple(lock for lock in m.locks if self.release(lock))",
                "tuple(lock for lock in m.locks if m.committed and self.release(lock))",
            ),
        ),
    ),
    Mutation(
        id="transactions.locks_of_the_dead",
        title="A shard never asks about a lock whose transaction has not prepared.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal", "every_transaction_ends"),
        clause="Locks of a transaction whose coordinator failed are released. BHG §7.4",
        edits=(
            Replace(
                "retry",
                "for account, owner in self.owners.items():\n"
                "    if self.record_of(owner.tid) is None:\n"
                "        self.tell_granted(account)",
                "",
            ),
        ),
    ),
)

COMMITMENT = (
    Mutation(
        id="transactions.all_voted_yes",
        title="The first yes commits.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability",),
        clause="Commit only if all participants voted yes. BHG §7.3, AC3",
        edits=(Site("decide", "drop-check", "all_voted_yes"),),
    ),
    Mutation(
        id="transactions.votes_are_a_count",
        title="Votes are counted, so one that is said twice is two.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("durability",),
        clause="Commit only if all participants voted yes. BHG §7.3, AC3",
        edits=(
            Replace(
                "decide",
                "set(active.votes) >= set(self.shards(active.locks))",
                "len(active.votes) >= len(self.shards(active.locks))",
            ),
        ),
        go=(
            Lines(
                "allVoted",
                "for _, shard := range s.shards(tx.locks) {\n"
                "\tif !slices.Contains(tx.votes, shard) {\n"
                "\t\treturn false\n"
                "\t}\n"
                "}\n"
                "return true",
                "return len(tx.votes) >= len(s.shards(tx.locks))",
            ),
        ),
    ),
    Mutation(
        id="transactions.commits_on_a_majority",
        title="All votes but one are enough to commit.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("durability",),
        clause="Commit only if all participants voted yes. BHG §7.3, AC3",
        edits=(
            Replace(
                "decide",
                "set(active.votes) >= set(self.shards(active.locks))",
                "len(set(active.votes)) >= len(self.shards(active.locks)) - 1",
            ),
        ),
    ),
    Mutation(
        id="transactions.voted_yes",
        title="A no counts as a yes.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability",),
        clause="One no, and the decision is to abort. BHG §7.4",
        edits=(Site("handle_vote", "drop-check", "voted_yes"),),
    ),
    Mutation(
        id="transactions.nothing_overdrawn",
        title="A shard votes yes to what overdraws an account.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("nothing_overdrawn",),
        clause="A participant votes no if it cannot commit. BHG §7.4",
        edits=(Site("handle_prepare", "drop-check", "nothing_overdrawn"),),
    ),
    Mutation(
        id="transactions.client_told_before_the_decision",
        title="The client hears that its transaction committed as soon as somebody votes yes.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability",),
        clause="The decision is reached when all have voted, and told after that. BHG §7.4",
        edits=(
            Replace(
                "decide",
                "if not holds(all_voted_yes=set(active.votes) >= set(self.shards(active.locks))):\n    return",
                "self.reply(tid, tuple(active.reads()[account] for account in active.command.accounts))\n"
                "if not holds(all_voted_yes=set(active.votes) >= set(self.shards(active.locks))):\n    return",
            ),
        ),
        sources=("cockroachdb/cockroach PR #32220 (#32166)",),
        aliases=("T1",),
    ),
    Mutation(
        id="transactions.abort_carried_out_as_commit",
        title="A shard writes what was aborted, and drops what was committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("atomicity",),
        clause="A participant carries out the decision. BHG §7.4",
        edits=(
            Replace(
                "handle_decision",
                "if m.committed:\n"
                "    self.disk.write(prepared=prepared, cells=self.with_writes(record))\n"
                "else:\n"
                "    self.disk.write(prepared=prepared)",
                "if m.committed:\n"
                "    self.disk.write(prepared=prepared)\n"
                "else:\n"
                "    self.disk.write(prepared=prepared, cells=self.with_writes(record))",
            ),
        ),
    ),
    Mutation(
        id="transactions.all_have_finished",
        title="A coordinator forgets a commit as soon as one shard has carried it out.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("atomicity", "durability"),
        clause="END is written once every participant has acknowledged. R* §3",
        edits=(Site("handle_finished", "drop-check", "all_have_finished"),),
    ),
    Mutation(
        id="transactions.presumed_commit",
        title="Whoever asks about a transaction that its coordinator does not know is told that it committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("atomicity", "conserved_sum"),
        clause="No record means abort. R* §3",
        edits=(Replace("answer_vote", "m.tid in self.unfinished", "True"),),
    ),
    Mutation(
        id="transactions.doubt_is_not_resolved",
        title="A shard that is prepared waits for the decision, and never asks.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal", "every_transaction_ends"),
        clause="Who is uncertain and hears nothing asks. BHG §7.4; R* §2",
        edits=(
            Replace(
                "retry",
                "for record in self.disk.prepared:\n"
                "    self.send(record.coordinator, Vote(record.tid, True, record.locks))",
                "",
            ),
        ),
    ),
    Mutation(
        id="transactions.commits_are_told_once",
        title="A coordinator tells each shard of a commit once.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("every_transaction_ends",),
        clause="A decision to commit is sent until it is acknowledged. R* §3",
        edits=(
            Replace(
                "retry",
                "for commit in self.disk.commits:\n    self.tell_committed(commit.tid, commit.locks)",
                "",
            ),
        ),
    ),
)

DURABILITY = (
    Mutation(
        id="transactions.decide/drop-sync/1",
        title="A decision to commit is told before it is durable.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability",),
        clause="The coordinator writes the commit record before it sends COMMIT. BHG §7.4",
        edits=(Site("decide", "drop-sync", "1"),),
    ),
    Mutation(
        id="transactions.decide/swap-sync-and-send/1",
        title="The client hears of a commit before it is durable.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("durability",),
        clause="The coordinator writes the commit record before it tells anybody. BHG §7.4",
        edits=(Site("decide", "swap-sync-and-send", "1"),),
        sources=("MartinKalema/horizontal-scaling-convex#101",),
        aliases=("T2",),
    ),
    Mutation(
        id="transactions.handle_prepare/drop-sync/1",
        title="A shard votes yes without having its record on disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability",),
        clause="A participant writes yes to its log before it votes yes. BHG §7.4",
        edits=(Site("handle_prepare", "drop-sync", "1"),),
        sources=("MartinKalema/horizontal-scaling-convex#101",),
        aliases=("T2-participant",),
    ),
    Mutation(
        id="transactions.handle_prepare/swap-sync-and-send/1",
        title="A shard votes yes before its record is on disk.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("durability",),
        clause="A participant writes yes to its log before it votes yes. BHG §7.4",
        edits=(Site("handle_prepare", "swap-sync-and-send", "1"),),
    ),
    Mutation(
        id="transactions.handle_decision/drop-sync/1",
        title="A shard says that it has carried out a decision that is not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("released_exactly_once", "atomicity", "mutual_exclusion"),
        clause="A participant acknowledges once its decision record is stable. R* §2",
        edits=(Site("handle_decision", "drop-sync", "1"),),
    ),
    Mutation(
        id="transactions.start/drop-sync/1",
        title="The number of a start is not on disk before locks are given under it.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("released_exactly_once",),
        clause="A sequencer has the lock's generation number. Chubby §2.4",
        edits=(Site("start", "drop-sync", "1"),),
    ),
    Mutation(
        id="transactions.commit_in_two_writes",
        title="A shard drops its record in one write and carries out the commit in the next; a crash keeps the first.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("atomicity",),
        clause="Redo: what is prepared is kept until it is carried out. BHG §6.3, §7.4",
        edits=(
            Replace(
                "handle_decision",
                "self.disk.write(prepared=prepared, cells=self.with_writes(record))",
                "self.disk.prepared = prepared\nself.sync()\nself.disk.cells = self.with_writes(record)",
            ),
        ),
    ),
    Mutation(
        id="transactions.locks_lost_by_restart",
        title="A shard that restarts does not lock what it is prepared for.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("mutual_exclusion",),
        clause="Recovery takes the locks of what is in doubt again. BHG §7.4",
        edits=(
            Replace(
                "start",
                "for record in self.disk.prepared:\n"
                "    for lock in record.locks:\n"
                "        self.owners[lock.account] = Owner(record.tid, record.coordinator, lock.token)",
                "",
            ),
        ),
    ),
    Mutation(
        id="transactions.commits_lost_by_restart",
        title="A coordinator that restarts has decided nothing, so what it was committing is aborted.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("atomicity", "durability"),
        clause="Recovery continues from the commit record. BHG §7.4; R* §3",
        edits=(
            Replace(
                "start",
                "self.active = {}",
                "self.active = {}\nself.disk.commits = ()  # the clients are gone: nothing is under way",
            ),
        ),
        go=(
            Lines(
                "Start",
                "s.unfinished = map[Tid][]step.NodeID{}",
                "s.Disk.Commits = nil // the clients are gone: nothing is under way\n"
                "s.Write(&s.Disk.Commits)\n"
                "s.unfinished = map[Tid][]step.NodeID{}",
            ),
        ),
    ),
    Mutation(
        id="transactions.last_commit_kept",
        title="A coordinator that restarts knows its last commit only, so those before it are aborted.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("atomicity", "durability"),
        clause="Recovery continues from the commit record, of every transaction. BHG §7.4; R* §3",
        edits=(Replace("start", "self.active = {}", "self.disk.commits = self.disk.commits[-1:]\nself.active = {}"),),
        go=(
            Lines(
                "Start",
                "s.unfinished = map[Tid][]step.NodeID{}",
                "s.Disk.Commits = s.Disk.Commits[max(0, len(s.Disk.Commits)-1):]\n"
                "s.Write(&s.Disk.Commits)\n"
                "s.unfinished = map[Tid][]step.NodeID{}",
            ),
        ),
    ),
    Mutation(
        id="transactions.aborts_alone",
        title="A shard that restarts aborts what it was prepared for.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("atomicity", "mutual_exclusion"),
        clause="Who has voted yes decides nothing alone. BHG §7.4, uncertainty period",
        edits=(Replace("start", "self.active = {}", "self.active = {}\nself.disk.prepared = ()"),),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="transactions.locks_in_parallel",
        title="A transaction asks for all its locks at once.",
        kind=DriftKind.OPTIMISATION,
        breaks=("deadlock_freedom",),
        clause="Whoever asks for locks in one order never waits in a circle. Havender 1968; BHG §3.4",
        edits=(
            Replace(
                "go_on",
                "self.send(home(account, self.ids), Lock(tid, account))",
                "active = self.active[tid]\n"
                "for each in active.command.accounts:\n"
                "    if each not in active.reads():\n"
                "        self.send(home(each, self.ids), Lock(tid, each))",
            ),
            Replace(
                "handle_granted",
                "if active is None or (m.lock not in active.locks and m.lock.account != self.next_account(m.tid)):\n"
                "    self.send(src, Unlock(m.tid, m.lock))\n"
                "elif m.lock not in active.locks:\n"
                "    self.active[m.tid] = Active(active.command, (*active.locks, m.lock), (*active.cells, m.cell))\n"
                "    self.go_on(m.tid)",
                "if active is None or (m.lock not in active.locks and m.lock.account in active.reads()):\n"
                "    self.send(src, Unlock(m.tid, m.lock))\n"
                "elif m.lock not in active.locks:\n"
                "    self.active[m.tid] = Active(active.command, (*active.locks, m.lock), (*active.cells, m.cell))\n"
                "    if self.next_account(m.tid) is None:  # the last one\n"
                "        self.go_on(m.tid)",
            ),
        ),
        message="""Ask for all locks of a transaction in parallel

A transaction over four accounts spent eight messages one after the other before it could begin to commit. The locks
are on different shards, so ask for them all at once, and go on when the last one is granted.
""",
    ),
    Mutation(
        id="transactions.early_lock_release",
        title="A shard releases the locks as soon as it has prepared.",
        kind=DriftKind.OPTIMISATION,
        breaks=("mutual_exclusion",),
        clause="Strict two-phase locking: all locks are held until the decision. BHG §3.5",
        edits=(
            Replace(
                "handle_prepare",
                "self.disk.prepared = (*self.disk.prepared, Prepared(m.tid, src, m.locks, m.writes))\nself.sync()",
                "self.disk.prepared = (*self.disk.prepared, Prepared(m.tid, src, m.locks, m.writes))\n"
                "self.sync()\n"
                "for lock in m.locks:  # the transaction will ask for nothing more\n"
                "    self.release(lock)",
            ),
            Replace(
                "handle_decision",
                "freed = tuple(lock for lock in m.locks if self.release(lock))\nself.send(src, Finished(m.tid, freed))",
                "self.send(src, Finished(m.tid, tuple(lock for lock in m.locks if self.release(lock))))",
            ),
        ),
        message="""Release locks early

Locks were held over the whole commit, two round trips and two syncs, and most of the time that others waited was this.
Two-phase locking only asks that nothing is locked after the first release, and a transaction that prepares has all its
locks: its growing phase is over.
""",
    ),
    Mutation(
        id="transactions.reads_do_not_prepare",
        title="A transaction that only reads is answered with its last lock, although it may have lost the others.",
        kind=DriftKind.OPTIMISATION,
        breaks=("conserved_sum",),
        clause="A participant that lost what was read votes no. BHG §7.4",
        edits=(
            Replace(
                "go_on",
                "self.prepare(tid)",
                "active = self.active[tid]\n"
                "if active.command.amount:\n"
                "    self.prepare(tid)\n"
                "    return\n"
                "del self.active[tid]  # nothing to write, so nothing to agree on\n"
                "self.reply(tid, tuple(active.reads()[account] for account in active.command.accounts))\n"
                "for lock in active.locks:\n"
                "    self.send(home(lock.account, self.ids), Unlock(tid, lock))",
            ),
        ),
        message="""Read-only transactions skip two-phase commit

A transaction that only reads has nothing to make durable, and every participant would vote yes. Once it has its locks
it has what it came for: answer, and release them. This saves two rounds and a sync at every shard for most of our load.
""",
    ),
    Mutation(
        id="transactions.group_commit",
        title="Commit records are synced together, by the timer, after they were told.",
        kind=DriftKind.OPTIMISATION,
        breaks=("durability",),
        clause="The coordinator writes the commit record before it sends COMMIT. BHG §7.4",
        edits=(
            Replace(
                "decide",
                "self.disk.commits = (*self.disk.commits, Commit(tid, active.locks))\nself.sync()",
                "self.disk.commits = (*self.disk.commits, Commit(tid, active.locks))",
            ),
            Replace(
                "retry",
                "self.set_timer(RETRY, RETRY_INTERVAL)",
                "self.set_timer(RETRY, RETRY_INTERVAL)\nself.sync()  # all decisions since the last time",
            ),
        ),
        message="""Group commit at the coordinator

Each decision cost the coordinator a sync of its own. All votes are on the shards' disks by then, so the outcome is not
in doubt any more: append the record, tell the shards, and sync once for all decisions of an interval.
""",
    ),
)

CATALOGUE = (*LOCKS, *COMMITMENT, *DURABILITY, *OPTIMISATIONS)

BEYOND = (
    Beyond(
        "T5",
        "A stale request locks the primary again after it has committed, and a status check then rolls it back.",
        "a primary whose lock others judge the transaction by; percolator has it",
    ),
    Beyond(
        "T8",
        "A participant that has finished answers that it does not know, and its coordinator stays in doubt.",
        "a coordinator that asks participants; here a finished shard acknowledges again. two_phase_commit has it",
    ),
)
