"""Drift of Percolator: what its paper warns of, and what systems that follow it got wrong.

§ and Fig. are those of the Percolator paper (`protocols/percolator.py`); a row like T5 is a bug that was seen in the
systems which its sources name. `breaks` names the invariants that may break first, as hunts saw them, the commonest
first. `mutations/expected/percolator.toml` has the measurements, `docs/percolator-mutants.md` is a table of everything.
"""

from mutations.entry import Beyond, DriftKind, Mutation, Replace, Site

READS = (
    Mutation(
        id="percolator.no_earlier_lock",
        title="A read does not look at locks.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("snapshot_isolation",),
        clause="Get waits while there is a lock in [0, start_ts]. Fig. 6, Get",
        edits=(Site("handle_get", "drop-check", "no_earlier_lock"),),
    ),
    Mutation(
        id="percolator.reads_the_latest",
        title="A read takes the newest version that there is.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("snapshot_isolation",),
        clause="Get reads the latest write up to start_ts. Fig. 6, Get",
        edits=(Replace("version", "w.kind == WRITE and w.commit_ts <= ts", "w.kind == WRITE"),),
    ),
    Mutation(
        id="percolator.reads_by_start",
        title="A read takes what had started by its timestamp, not what had committed.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("snapshot_isolation",),
        clause="The write column is in the order of commit timestamps. §2.2, Fig. 6",
        edits=(Replace("version", "w.commit_ts <= ts", "w.start_ts <= ts"),),
    ),
    Mutation(
        id="percolator.reads_what_is_locked",
        title="A read that meets a lock takes the balance that the lock brings.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("snapshot_isolation",),
        clause="Data is visible through a write record only. §2.2",
        edits=(
            Replace(
                "handle_get",
                "self.send(src, Blocked(m.tid, lock))",
                "self.send(src, Got(m.tid, m.account, Cell(lock.balance, lock.start_ts)))",
            ),
        ),
    ),
)

PREWRITES = (
    Mutation(
        id="percolator.no_write_conflict",
        title="A transaction locks what somebody else has committed since it started.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("unique_lock_or_write", "first_committer_wins"),
        clause="Abort on writes after the start timestamp. Fig. 6, Prewrite",
        edits=(Site("handle_prewrite", "drop-check", "no_write_conflict"),),
    ),
    Mutation(
        id="percolator.conflict_by_start",
        title="A write conflicts if it started later, not if it committed later.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("unique_lock_or_write", "first_committer_wins"),
        clause="Abort on writes after the start timestamp: a write is where its commit timestamp is. Fig. 6, Prewrite",
        edits=(Replace("handle_prewrite", "record.commit_ts < m.start_ts", "record.start_ts <= m.start_ts"),),
    ),
    Mutation(
        id="percolator.locked_again_after_commit",
        title="A request that comes late locks an account again after its transaction has committed there.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("unique_lock_or_write",),
        clause="Abort on writes after the start timestamp, one's own too. Fig. 6, Prewrite",
        edits=(
            Replace(
                "handle_prewrite",
                "all(record.commit_ts < m.start_ts for record in self.writes[m.account])",
                "all(record.commit_ts < m.start_ts or record.start_ts == m.start_ts "
                "for record in self.writes[m.account])",
            ),
        ),
        sources=("pingcap/tidb#43540",),
        aliases=("T5",),
    ),
    Mutation(
        id="percolator.not_rolled_back",
        title="A transaction locks an account where it has been rolled back.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("unique_lock_or_write",),
        clause="A rollback record stops the prewrite that comes late. tla-plus, ServerPrewriteOptimistic",
        edits=(Site("handle_prewrite", "drop-check", "not_rolled_back"),),
    ),
    Mutation(
        id="percolator.not_locked",
        title="A prewrite takes the place of another transaction's lock.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("unique_lock_or_write",),
        clause="Abort on locks at any timestamp. Fig. 6, Prewrite",
        edits=(Site("handle_prewrite", "drop-check", "not_locked"),),
    ),
    Mutation(
        id="percolator.prewrite_succeeded",
        title="A refused prewrite counts as a lock.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("first_committer_wins", "snapshot_isolation"),
        clause="If a prewrite fails, the transaction fails. Fig. 6, Commit",
        edits=(Site("handle_prewritten", "drop-check", "prewrite_succeeded"),),
    ),
    Mutation(
        id="percolator.all_prewritten",
        title="A transaction commits when its first lock is there.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("first_committer_wins", "conserved_sum", "snapshot_isolation"),
        clause="All prewrites come before the commit timestamp. Fig. 6, Commit",
        edits=(Site("handle_prewritten", "drop-check", "all_prewritten"),),
    ),
)

COMMITS = (
    Mutation(
        id="percolator.lock_still_held",
        title="A commit does not ask whether its lock is still there.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("unique_write",),
        clause="Aborted while working, if the primary's lock is gone. Fig. 6, Commit",
        edits=(Site("handle_commit", "drop-check", "lock_still_held"),),
    ),
    Mutation(
        id="percolator.primary_committed",
        title="The secondaries are committed, and the client told, although the primary was not.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability",),
        clause="Whether the primary commits is whether the transaction does. §2.2, Fig. 6",
        edits=(Site("handle_committed", "drop-check", "primary_committed"),),
    ),
    Mutation(
        id="percolator.reads_at_an_old_time",
        title="A transaction that only reads does so at a time before everything, where nothing is locked.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("snapshot_isolation",),
        clause="Each transaction reads from a consistent snapshot at the timestamp that was given to it. §2.2",
        edits=(
            Replace(
                "handle_stamped",
                "active.start_ts, active.phase = m.ts, READ",
                "active.start_ts, active.phase = (m.ts if active.command.amount else 1), READ",
            ),
        ),
    ),
    Mutation(
        id="percolator.timestamp_awaited",
        title="A start timestamp that comes late is taken for the commit timestamp.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("failure", "write_consistency", "commit_consistency", "rollback_consistency"),
        clause="The commit timestamp is taken after all prewrites. Fig. 6, Commit",
        edits=(Site("handle_stamped", "drop-check", "timestamp_awaited"),),
    ),
    Mutation(
        id="percolator.secondaries_first",
        title="The secondaries are committed together with the primary, not after it.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("commit_consistency", "rollback_consistency"),
        clause="Commit the primary first. Fig. 6, Commit",
        edits=(
            Replace(
                "go_on",
                "self.send(home(active.primary, self.ids), "
                "Commit(tid, active.primary, active.start_ts, active.commit_ts))",
                "for account in active.writes():\n"
                "    commit = Commit(tid, account, active.start_ts, active.commit_ts)\n"
                "    self.send(home(account, self.ids), commit)",
            ),
            Replace(
                "handle_committed",
                "active is None or active.phase != COMMIT",
                "active is None or active.phase != COMMIT or m.account != active.primary",
            ),
        ),
    ),
    Mutation(
        id="percolator.client_told_before_the_commit",
        title="The client hears that its transaction committed when all is locked.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability",),
        clause="The commit point is the primary's write record. §2.2",
        edits=(
            Replace(
                "handle_prewritten",
                "active.phase = STAMP",
                "active.phase = STAMP\n"
                "self.reply(m.tid, tuple(active.cells[account] for account in active.command.accounts))",
            ),
        ),
    ),
    Mutation(
        id="percolator.undecided",
        title="An abort that comes late rolls back what was committed.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("unique_write",),
        clause="Nothing is rolled back that has a write record. tla-plus, rollback",
        edits=(Site("handle_abort", "drop-check", "undecided"),),
    ),
)

RESOLUTION = (
    Mutation(
        id="percolator.lock_is_its_own",
        title="A write or a rollback removes whoever's lock is there.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("unique_lock_or_write", "snapshot_isolation"),
        clause="A lock is erased by its own transaction. Fig. 6; tla-plus, rollback: l.start_ts = start_ts",
        edits=(Site("enter", "drop-check", "lock_is_its_own"),),
        sources=("feichai0017/NoKV#40",),
        aliases=("T6",),
    ),
    Mutation(
        id="percolator.primary_expired",
        title="Whoever meets a lock rolls its transaction back, however young it is.",
        kind=DriftKind.MISSING_CHECK,
        clause="A lock of a transaction that is alive is left alone. §2.2; TiKV, lock TTL",
        edits=(Site("handle_check_status", "drop-check", "primary_expired"),),
    ),
    Mutation(
        id="percolator.lock_to_resolve",
        title="A late answer about a lock is carried out although the lock is gone.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("unique_write",),
        clause="Only a lock that is there is resolved. tla-plus, ServerResolveCommitted",
        edits=(Site("handle_resolve", "drop-check", "lock_to_resolve"),),
    ),
    Mutation(
        id="percolator.rollback_leaves_no_record",
        title="A transaction whose primary is not locked is told to be rolled back, and nothing stops its prewrite.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("rollback_consistency",),
        clause="A rollback is recorded where no lock is found. tla-plus, check_txn_status_missing_lock",
        edits=(
            Replace(
                "handle_check_status",
                "outcome = Record(ROLLBACK, m.primary, m.start_ts)\nself.put(outcome)",
                "outcome = Record(ROLLBACK, m.primary, m.start_ts)\n"
                "if self.locked_by(m.primary, m.start_ts):\n"
                "    self.put(outcome)",
            ),
        ),
    ),
    Mutation(
        id="percolator.secondary_judged_by_itself",
        title="An old lock is rolled back without asking what became of its primary.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("rollback_consistency",),
        clause="The primary tells whether to roll forward or back. §2.2",
        edits=(
            Replace(
                "handle_blocked",
                "self.send(home(lock.primary, self.ids), status)",
                "if self.now - lock.at > self.switches.ttl * MS:\n"
                "    self.send(home(lock.account, self.ids), Resolve(lock.account, lock.start_ts, 0))\n"
                "self.send(home(lock.primary, self.ids), status)",
            ),
        ),
    ),
    Mutation(
        id="percolator.resolved_the_other_way",
        title="A lock whose transaction was rolled back is rolled forward, and one whose transaction committed back.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("write_consistency", "rollback_consistency"),
        clause="Roll forward if the primary has a write record, back if it has not. §2.2",
        edits=(Replace("handle_resolve", "WRITE if m.commit_ts else ROLLBACK", "ROLLBACK if m.commit_ts else WRITE"),),
    ),
    Mutation(
        id="percolator.locks_are_left",
        title="Who meets a lock waits until somebody else removes it.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal", "every_transaction_ends"),
        clause="Locks of failed clients are cleaned up by who meets them. §2.2",
        edits=(Replace("handle_blocked", "self.send(home(lock.primary, self.ids), status)", "pass"),),
    ),
)

TIMESTAMPS = (
    Mutation(
        id="percolator.oracle_goes_back",
        title="An oracle that restarts begins at the reserved range again.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("timestamps_increase",),
        clause="After a restart timestamps go on from the limit that was stored. §2.3",
        edits=(
            Replace(
                "start", "self.disk.limit + 1", "max(1, self.disk.limit - self.switches.batch + 1)"
            ),
        ),
    ),
    Mutation(
        id="percolator.oracle_forgets",
        title="An oracle that restarts begins at one.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("timestamps_increase",),
        clause="The highest reserved timestamp is on stable storage. §2.3",
        edits=(Replace("start", "self.disk.limit + 1", "1"),),
    ),
    Mutation(
        id="percolator.handle_get_timestamp/drop-sync/1",
        title="A range of timestamps is used before its reservation is durable.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("timestamps_increase",),
        clause="The highest reserved timestamp is on stable storage. §2.3",
        edits=(Site("handle_get_timestamp", "drop-sync", "1"),),
    ),
    Mutation(
        id="percolator.handle_get_timestamp/swap-sync-and-send/1",
        title="The first timestamp of a range is given before the reservation is durable.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("timestamps_increase",),
        clause="The highest reserved timestamp is on stable storage. §2.3",
        edits=(Site("handle_get_timestamp", "swap-sync-and-send", "1"),),
    ),
)

DURABILITY = (
    Mutation(
        id="percolator.put/drop-sync/1",
        title="A row's change is told before it is durable.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability", "snapshot_isolation"),
        clause="A row's transaction is durable when Bigtable answers. §2.1",
        edits=(Site("put", "drop-sync", "1"),),
    ),
    Mutation(
        id="percolator.commit_not_durable",
        title="A commit is told before it is durable.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability",),
        clause="The commit point is the primary's write record. §2.1, §2.2",
        edits=(
            Replace(
                "handle_commit",
                "self.put(Record(WRITE, m.account, m.start_ts, m.commit_ts))",
                "record = Record(WRITE, m.account, m.start_ts, m.commit_ts)\n"
                "self.disk.log.append(record)\n"
                "self.enter(record)",
            ),
        ),
    ),
    Mutation(
        id="percolator.locks_lost_by_restart",
        title="A node that restarts has no locks.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("unique_lock_or_write", "snapshot_isolation"),
        clause="Locks are in Bigtable, so they survive. §2.2",
        edits=(
            Replace(
                "start",
                "for record in self.disk.log:\n    self.enter(record)\nself.retry()",
                "for record in self.disk.log:\n    self.enter(record)\nself.locks = {}\nself.retry()",
            ),
        ),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="percolator.both_timestamps_at_once",
        title="The commit timestamp is asked for while the prewrites are under way.",
        kind=DriftKind.OPTIMISATION,
        breaks=("snapshot_isolation",),
        clause="The commit timestamp is taken after all prewrites. Fig. 6, Commit",
        edits=(
            Replace(
                "go_on",
                "self.prewrite(tid)",
                "self.prewrite(tid)\n"
                "if not active.commit_ts:  # by the time that all is locked it will be here\n"
                "    self.send(self.ids[0], GetTimestamp(tid, STAMP))",
            ),
            Replace(
                "handle_stamped",
                "if active is None or not holds(timestamp_awaited=m.phase == active.phase):\n    return",
                "if active is not None and m.phase == STAMP and active.phase == PREWRITE:\n"
                "    active.commit_ts = m.ts\n"
                "    return\n"
                "if active is None or not holds(timestamp_awaited=m.phase == active.phase):\n"
                "    return",
            ),
            Replace(
                "handle_prewritten",
                "active.phase = STAMP",
                "active.phase = COMMIT if active.commit_ts else STAMP",
            ),
        ),
        message="""Hide the latency of the oracle

A transaction went to the oracle twice, and waited for it both times. Ask for the commit timestamp while the locks are
being written: it is only a number that must be larger than the start timestamp, and no other transaction has it.
""",
    ),
    Mutation(
        id="percolator.pipelined_secondaries",
        title="The client is told and the secondaries are committed while the primary's commit is on its way.",
        kind=DriftKind.OPTIMISATION,
        breaks=("durability",),
        clause="The commit point is the primary's write record. §2.2, Fig. 6",
        edits=(
            Replace(
                "handle_stamped",
                "active.commit_ts, active.phase = m.ts, COMMIT",
                "active.commit_ts, active.phase = m.ts, COMMIT\n"
                "for account in active.writes():  # all are locked: nothing can come between\n"
                "    commit = Commit(m.tid, account, active.start_ts, active.commit_ts)\n"
                "    self.send(home(account, self.ids), commit)\n"
                "self.end(m.tid, True)\n"
                "return",
            ),
        ),
        message="""Commit all accounts in one round

After the commit timestamp there were two rounds, first the primary and then the others, and the client waited for the
first. With all locks in place the outcome is certain. Send every commit at once, and answer.
""",
    ),
    Mutation(
        id="percolator.timestamps_from_memory",
        title="The oracle stores its limit with the timer, not before it gives what lies beyond.",
        kind=DriftKind.OPTIMISATION,
        breaks=("timestamps_increase",),
        clause="The highest reserved timestamp is on stable storage. §2.3",
        edits=(
            Replace(
                "handle_get_timestamp",
                "if self.next_ts > self.disk.limit:\n"
                "    self.disk.limit = self.next_ts + self.switches.batch - 1\n"
                "    self.sync()\n"
                "self.next_ts += 1",
                "self.next_ts += 1",
            ),
            Replace(
                "retry",
                "self.set_timer(RETRY, RETRY_INTERVAL)",
                "self.set_timer(RETRY, RETRY_INTERVAL)\n"
                "if self.next_ts + self.switches.batch // 2 > self.disk.limit:  # ahead of what is needed\n"
                "    self.disk.limit = self.next_ts + self.switches.batch\n"
                "    self.sync()",
            ),
        ),
        message="""Reserve timestamps in the background

Every batch of timestamps cost whoever asked for its first one a disk write. Reserve the next batch from the timer when
half of the present one is used: then no request ever waits for the disk.
""",
    ),
    Mutation(
        id="percolator.conflict_with_the_last_record",
        title="A conflict is looked for among the last record of an account only.",
        kind=DriftKind.OPTIMISATION,
        breaks=("unique_lock_or_write", "first_committer_wins"),
        clause="Abort on writes after the start timestamp. Fig. 6, Prewrite",
        edits=(
            Replace(
                "handle_prewrite",
                "all(record.commit_ts < m.start_ts for record in self.writes[m.account])",
                "all(record.commit_ts < m.start_ts for record in self.writes[m.account][-1:])",
            ),
        ),
        message="""Look for conflicts at the end of the write column

Each prewrite walked the whole history of its account. Records are added in the order of their commits, so if any was
added after the start timestamp then the last one was.
""",
    ),
)

CATALOGUE = (*READS, *PREWRITES, *COMMITS, *RESOLUTION, *TIMESTAMPS, *DURABILITY, *OPTIMISATIONS)

BEYOND = (
    Beyond(
        "T1",
        "Waiters are told that a transaction committed, though its commit failed to apply.",
        "those who wait for another's commit; here they ask the primary's own row. transactions has its like",
    ),
    Beyond(
        "T2",
        "The decision is not durable before the commit messages.",
        "a coordinator's decision record: the primary's row is the decision, and put/drop-sync is the drift of that",
    ),
    Beyond(
        "T8",
        "A participant that has finished answers that it does not know, and its coordinator stays in doubt.",
        "a coordinator that stays in doubt: it is lost in a crash, by design. two_phase_commit has it",
    ),
)
