"""Drift of log compaction, InstallSnapshot and sessions: what their papers warn of, and what real systems got wrong.

A row like R23 is a bug that was seen in the systems which its sources name; § and Fig. are those of the Raft paper,
"thesis §" of Ongaro's (`protocols/raft_snapshots.py`). `breaks` names the invariants that may break first, as hunts saw
them, the commonest first. `mutations/expected/raft_snapshots.toml` has the measurements.
"""

from mutations.entry import DriftKind, Lines, Mutation, Replace, Site

COMPACTION = (
    Mutation(
        id="raft_snapshots.snapshot_beyond_the_applied",
        title="A snapshot says that it includes the whole log, of which only a part has been applied.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("state_machine_safety",),
        clause="Each server takes snapshots covering just the committed entries in its log. §7",
        edits=(
            Replace(
                "compact",
                "Snapshot(self.last_applied, self.term_at(self.last_applied), self.snapshot())",
                "Snapshot(self.last_index, self.term_at(self.last_index), self.snapshot())",
            ),
        ),
        go=(
            Lines(
                "compact",
                "r.Disk.Snapshot = &Snapshot{r.lastApplied, r.termAt(r.lastApplied), r.Snapshot().(State)}",
                "r.Disk.Snapshot = &Snapshot{r.lastIndex(), r.termAt(r.lastIndex()), r.Snapshot().(State)}",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.old_snapshot_deleted_first",
        title="The old snapshot is deleted before the new one is durable.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("snapshot_before_cut",),
        clause="Once a server completes writing a snapshot, it may delete all log entries up through the last included "
        "index, as well as any prior snapshot. §7",
        edits=(
            Replace(
                "compact",
                "self.disk.snapshot = Snapshot(self.last_applied, self.term_at(self.last_applied), self.snapshot())",
                "new = Snapshot(self.last_applied, self.term_at(self.last_applied), self.snapshot())\n"
                "self.disk.snapshot = None\n"
                "self.sync()\n"
                "self.disk.snapshot = new",
            ),
        ),
        sources=("uwplse/verdi-raft#51",),
        aliases=("R23",),
    ),
    Mutation(
        id="raft_snapshots.log_cut_first",
        title="The log is cut before the snapshot is durable that stands for it.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("snapshot_before_cut",),
        clause="Once a server completes writing a snapshot, it may delete all log entries. §7",
        edits=(
            Replace(
                "compact",
                "self.disk.snapshot = Snapshot(self.last_applied, self.term_at(self.last_applied), self.snapshot())\n"
                "self.sync()\n"
                "self.cut_log()",
                "index, term = self.last_applied, self.term_at(self.last_applied)\n"
                "self.disk.log.reset(index, self.disk.log[index - self.disk.log.base :])\n"
                "self.sync()\n"
                "self.disk.snapshot = Snapshot(index, term, self.snapshot())\n"
                "self.sync()",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.compact/drop-sync/1",
        title="The log is cut while the snapshot that stands for it is not durable.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("snapshot_before_cut",),
        clause="Once a server completes writing a snapshot, it may delete all log entries. §7",
        edits=(Site("compact", "drop-sync", "1"),),
        go=(Lines("compact", "r.Sync()", ""),),
    ),
    Mutation(
        id="raft_snapshots.cut_log/drop-sync/1",
        title="That the log was cut is not synced.",
        kind=DriftKind.LOST_DURABILITY,
        clause="Once a server completes writing a snapshot, it may delete all log entries. §7",
        edits=(Site("cut_log", "drop-sync", "1"),),
    ),
    Mutation(
        id="raft_snapshots.index_written_before_state",
        title="A snapshot's index is written before its state, and a crash falls in between.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("state_machine_safety",),
        clause="The snapshot's metadata, the last included index and term, belong to its state. §7",
        edits=(
            Replace(
                "compact",
                "self.disk.snapshot = Snapshot(self.last_applied, self.term_at(self.last_applied), self.snapshot())",
                "index, term, old = self.last_applied, self.term_at(self.last_applied), self.disk.snapshot\n"
                "self.disk.snapshot = Snapshot(index, term, SessionStore().snapshot() if old is None else old.state)\n"
                "self.sync()\n"
                "self.disk.snapshot = Snapshot(index, term, self.snapshot())",
            ),
        ),
        sources=("etcd v3.5 post-mortem", "etcd PR #13967"),
        aliases=("R22",),
    ),
    Mutation(
        id="raft_snapshots.state_written_before_index",
        title="A snapshot's state is written before its index, so that entries are applied to it twice.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("state_machine_safety",),
        clause="The snapshot's metadata, the last included index and term, belong to its state. §7",
        edits=(
            Replace(
                "compact",
                "self.disk.snapshot = Snapshot(self.last_applied, self.term_at(self.last_applied), self.snapshot())",
                "if self.disk.snapshot is not None:\n"
                "    old = self.disk.snapshot\n"
                "    self.disk.snapshot = Snapshot(old.last_index, old.last_term, self.snapshot())\n"
                "    self.sync()\n"
                "self.disk.snapshot = Snapshot(self.last_applied, self.term_at(self.last_applied), self.snapshot())",
            ),
        ),
        sources=("etcd v3.5 post-mortem", "etcd PR #13967"),
    ),
    Mutation(
        id="raft_snapshots.snapshot_of_the_present_term",
        title="A snapshot claims the server's term for that of its last entry.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("leader_completeness", "durability"),
        clause="The last included term is the term of the last entry in the log that the snapshot replaces. §7",
        edits=(Replace("compact", "self.term_at(self.last_applied)", "self.disk.term"),),
    ),
    Mutation(
        id="raft_snapshots.nothing_kept",
        title="A server that takes a snapshot drops its whole log, with what follows the snapshot.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("leader_append_only", "durability"),
        clause="Retain log entries following the last included one. Fig. 13, InstallSnapshot receiver 6; §7",
        edits=(Replace("cut_log", "self.disk.log[last.last_index - self.disk.log.base :] if follows else ()", "()"),),
        go=(
            Lines("cutLog", "follows := r.Holds(", "r.Holds("),
            Lines(
                "cutLog",
                "var kept []Entry\n"
                "if follows {\n"
                "\tkept = r.entriesAfter(last.LastIndex, r.Disk.Log.Len())\n"
                "}\n"
                "r.Disk.Log.Reset(int(last.LastIndex), kept)",
                "r.Disk.Log.Reset(int(last.LastIndex), nil)",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.one_entry_too_many_kept",
        title="The log is cut one entry too early, so that all that remains moves by one.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("leader_append_only",),
        clause="The snapshot replaces all entries up through the last included index. §7",
        edits=(
            Replace(
                "cut_log",
                "last.last_index - self.disk.log.base",
                "max(last.last_index - self.disk.log.base - 1, 0)",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.compacted_log_counts_as_empty",
        title="A server does not know the term of the last entry that it has compacted.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("leader_completeness", "state_machine_safety"),
        clause="The last included term is kept for the consistency check of the entry after the snapshot. §7",
        edits=(
            Replace(
                "term_at",
                "snapshot.last_term if snapshot is not None and snapshot.last_index == index else -1",
                "-1",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.store_entries/drop-sync/1",
        title="A follower acknowledges entries that are not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability",),
        clause="log[] is updated on stable storage before responding to RPCs. Fig. 2, state",
        edits=(Site("store_entries", "drop-sync", "1"),),
        go=(Lines("storeEntries", "r.Sync()", ""),),
    ),
    Mutation(
        id="raft_snapshots.only_leaders_apply",
        title="Followers do not apply, so their snapshots are empty and so is the state of whoever takes over.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("state_machine_safety",),
        clause="If commitIndex > lastApplied, apply log[lastApplied]. Fig. 2, all servers 1; §5.3",
        edits=(
            Replace(
                "apply_entry",
                "result = self.apply(index, entry.command)",
                "if self.role is not Role.LEADER:\n    return\nresult = self.apply(index, entry.command)",
            ),
        ),
        sources=("RedisLabs/redisraft#14",),
        aliases=("R29",),
    ),
)

RESTART = (
    Mutation(
        id="raft_snapshots.restart_forgets_the_state",
        title="A server that restarts goes on after its snapshot with an empty state machine.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("state_machine_safety",),
        clause="When a server restarts, it restores its state machine from the snapshot. Thesis §5.1",
        edits=(
            Replace(
                "start",
                "self.use_snapshot()",
                "self.last_applied = self.commit_index = self.disk.snapshot.last_index",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.restart_leaves_the_log_uncut",
        title="A restart does not finish what a crash between the snapshot and the cutting of the log left undone.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("log_matching", "leader_completeness", "state_machine_safety", "durability"),
        clause="Discard the entire log that the snapshot does not fit. Fig. 13, InstallSnapshot receiver 7",
        edits=(Replace("start", "if self.disk.snapshot.last_index > self.disk.log.base:\n    self.cut_log()", ""),),
        go=(
            Lines(
                "Start",
                "if r.Disk.Snapshot.LastIndex > r.base() {\n\tr.cutLog()\n}",
                "",
            ),
        ),
    ),
)

INSTALLATION = (
    Mutation(
        id="raft_snapshots.install_snapshot_current",
        title="The snapshot of a leader of an earlier term is taken.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        clause="Reply immediately if term < currentTerm. Fig. 13, InstallSnapshot receiver 1",
        edits=(Site("handle_install_snapshot", "drop-check", "install_snapshot_current"),),
    ),
    Mutation(
        id="raft_snapshots.snapshot_is_ahead",
        title="A snapshot that is older than what was applied replaces it.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("state_machine_safety", "snapshot_before_cut"),
        clause="If the snapshot describes a prefix of the log, by retransmission or by mistake, "
        "the entries that follow are still valid. §7",
        edits=(Site("handle_install_snapshot", "drop-check", "snapshot_is_ahead"),),
    ),
    Mutation(
        id="raft_snapshots.suffix_follows_snapshot",
        title="Entries behind the snapshot are kept although they do not follow it.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("log_matching",),
        clause="Retain what follows only if an entry has the same index and term as the last included one; "
        "discard the entire log otherwise. Fig. 13, InstallSnapshot receiver 6, 7",
        edits=(Site("cut_log", "drop-check", "suffix_follows_snapshot"),),
        go=(
            Lines(
                "cutLog",
                "follows := r.Holds(\n"
                '\tstep.Check("suffix_follows_snapshot", r.termAt(last.LastIndex) == last.LastTerm),\n'
                ")\n"
                "var kept []Entry\n"
                "if follows {\n"
                "\tkept = r.entriesAfter(last.LastIndex, r.Disk.Log.Len())\n"
                "}",
                "kept := r.entriesAfter(last.LastIndex, r.Disk.Log.Len())",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.log_not_reset",
        title="A follower takes the snapshot and leaves its log as it is.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("log_matching", "durability", "leader_completeness"),
        clause="Discard the entire log. Fig. 13, InstallSnapshot receiver 7",
        edits=(Replace("install", "self.cut_log()", ""),),
        sources=("RedisLabs/redisraft#43", "RedisLabs/redisraft PR #45", "RedisLabs/redisraft PR #60"),
        aliases=("R31",),
    ),
    Mutation(
        id="raft_snapshots.log_reset_at_its_own_end",
        title="A follower whose log does not reach the snapshot keeps counting its entries from where the log began.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("log_matching", "durability", "state_machine_safety", "leader_completeness"),
        clause="The log goes on after the last included index. Fig. 13; §7",
        edits=(
            Replace(
                "cut_log",
                "self.disk.log.reset(last.last_index, kept)",
                "self.disk.log.reset(min(last.last_index, self.last_index), kept)",
            ),
        ),
        sources=("RedisLabs/redisraft#43",),
    ),
    Mutation(
        id="raft_snapshots.state_machine_not_reset",
        title="A snapshot moves the applied index and leaves the state machine as it was.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("state_machine_safety",),
        clause="Reset state machine using snapshot contents. Fig. 13, InstallSnapshot receiver 8",
        edits=(Replace("use_snapshot", "self.restore(snapshot.last_index, snapshot.state)", ""),),
        go=(Lines("useSnapshot", "r.Restore(int(snapshot.LastIndex), snapshot.State)", ""),),
    ),
    Mutation(
        id="raft_snapshots.applied_index_not_moved",
        title="A follower that was given a snapshot goes on applying where it had stopped before.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("failure", "state_machine_safety"),
        clause="The state machine is at the last included index. Fig. 13, InstallSnapshot receiver 8; thesis §5.1",
        edits=(Replace("use_snapshot", "self.last_applied = snapshot.last_index", ""),),
    ),
    Mutation(
        id="raft_snapshots.commit_index_not_moved",
        title="A follower that was given a snapshot does not count its entries as committed.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("snapshot_before_cut",),
        clause="Snapshots cover just committed entries. §7; commitIndex increases monotonically. Fig. 2, state",
        edits=(Replace("use_snapshot", "self.commit_index = snapshot.last_index", ""),),
    ),
    Mutation(
        id="raft_snapshots.installed_matches_whole_log",
        title="A follower that was given a snapshot says that all of its log matches.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("durability", "leader_completeness"),
        clause="matchIndex: the highest entry known to be replicated. Fig. 2, state",
        edits=(
            Replace(
                "handle_install_snapshot",
                "self.send(src, Appended(self.disk.term, True, self.commit_index))",
                "self.send(src, Appended(self.disk.term, True, self.last_index))",
            ),
        ),
        go=(
            Lines(
                "handleInstallSnapshot",
                "r.Send(src, Appended{r.Disk.Term, true, r.commitIndex})",
                "r.Send(src, Appended{r.Disk.Term, true, r.lastIndex()})",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.install/drop-sync/1",
        title="A follower cuts its log while the snapshot that it was given is not durable.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("snapshot_before_cut",),
        clause="Save snapshot file, then discard the log. Fig. 13, InstallSnapshot receiver 5 to 7",
        edits=(Site("install", "drop-sync", "1"),),
    ),
)

REPLICATION = (
    Mutation(
        id="raft_snapshots.snapshot_state_left_on_equality",
        title="A follower counts as waiting for its snapshot until it matches exactly that index.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("entries_after_snapshot",),
        clause="A follower that has caught up with the snapshot, or past it, is sent entries again. "
        "§7; etcd, StateSnapshot",
        edits=(Replace("handle_append_response", "m.match >= self.pending[src]", "m.match == self.pending[src]"),),
        sources=("etcd-io/raft#124",),
        aliases=("R18",),
        go=(
            Lines(
                "handleAppendResponse",
                'step.Check("snapshot_arrived", r.pending[src] == 0 || m.Success && m.Match >= r.pending[src]),',
                'step.Check("snapshot_arrived", r.pending[src] == 0 || m.Success && m.Match == r.pending[src]),',
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.snapshot_arrived",
        title="A follower that was sent a snapshot is sent entries again before it has it.",
        kind=DriftKind.MISSING_CHECK,
        clause="The leader sends snapshots to followers that lag behind. §7; etcd, StateSnapshot",
        edits=(Site("handle_append_response", "drop-check", "snapshot_arrived"),),
    ),
    Mutation(
        id="raft_snapshots.lagging_followers_get_entries",
        title="A leader that has dropped what a follower needs sends what it still has.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("state_machine_safety", "leader_completeness", "log_matching"),
        clause="The leader must send a snapshot when it has discarded the next log entry that it needs to send. §7",
        edits=(Replace("replicate", "peer in self.pending or self.next_index[peer] <= self.disk.log.base", "False"),),
    ),
    Mutation(
        id="raft_snapshots.entries_stored_twice",
        title="Entries that the snapshot stands for are stored once more behind it.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("log_matching",),
        clause="Append any new entries not already in the log. Fig. 2, AppendEntries receiver 4",
        edits=(Replace("after_snapshot", "m.entries[known:]", "m.entries"),),
        go=(
            Lines(
                "afterSnapshot",
                "rest := m.Entries[min(known, len(m.Entries)):]\n"
                "return AppendEntries{m.Term, r.base(), r.termAt(r.base()), rest, m.LeaderCommit}",
                "return AppendEntries{m.Term, r.base(), r.termAt(r.base()), m.Entries, m.LeaderCommit}",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.entries_before_snapshot_taken",
        title="A follower takes AppendEntries that begin before its snapshot as they come.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="The entries before the last included index are in the snapshot, and so they match. §7",
        edits=(Replace("after_snapshot", "known <= 0", "True"),),
    ),
    Mutation(
        id="raft_snapshots.pending_kept_over_terms",
        title="A leader that is elected again still waits for the snapshots that it sent when it led before.",
        kind=DriftKind.FORGOTTEN_RESET,
        clause="nextIndex and matchIndex are reinitialized after election. Fig. 2, state",
        edits=(
            Replace("start", "super().start()", "self.pending = {}\nsuper().start()"),
            Replace("become_follower", "self.pending = {}", ""),
        ),
    ),
)

LOG = (
    Mutation(
        id="raft_snapshots.conflict_is_kept",
        title="A follower adds what its log is too short for, and looks at nothing that it has.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("log_matching", "durability", "leader_completeness", "state_machine_safety"),
        clause="If an existing entry conflicts with a new one, delete it and all that follow it. Fig. 2, receiver 3",
        edits=(
            Replace(
                "store_entries", "self.term_at(prev + offset + 1) != entry.term", "prev + offset >= self.last_index"
            ),
        ),
        go=(
            Lines(
                "storeEntries",
                "for i, entry := range entries {\n\tif index := prev + Index(i) + 1; r.termAt(index) != entry.Term {",
                "for i := range entries {\n\tif index := prev + Index(i) + 1; index > r.lastIndex() {",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.cut_without_conflict",
        title="A follower replaces everything after the previous entry, conflict or not.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability", "leader_completeness"),
        clause="If an existing entry conflicts with a new one, delete it and all that follow it. Fig. 2, receiver 3",
        edits=(Replace("store_entries", "self.term_at(prev + offset + 1) != entry.term", "True"),),
        sources=("databend PR #3914",),
        aliases=("R9",),
        go=(
            Lines(
                "storeEntries",
                "for i, entry := range entries {\n"
                "\tif index := prev + Index(i) + 1; r.termAt(index) != entry.Term {\n"
                "\t\tr.Disk.Log.Store(int(index-r.base())-1, entries[i:])\n"
                "\t\tr.Sync()\n"
                "\t\treturn\n"
                "\t}\n"
                "}",
                "if len(entries) > 0 {\n\tr.Disk.Log.Store(int(prev-r.base()), entries)\n\tr.Sync()\n}",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.applied_before_committed",
        title="A server applies whatever is in its log.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability", "leader_completeness"),
        clause="If commitIndex > lastApplied, apply log[lastApplied]. Fig. 2, all servers 1",
        edits=(Replace("apply_committed", "min(self.commit_index, self.last_index)", "self.last_index"),),
        go=(
            Lines(
                "applyCommitted",
                "for r.lastApplied < min(r.commitIndex, r.lastIndex()) {",
                "for r.lastApplied < r.lastIndex() {",
            ),
        ),
    ),
)

SESSIONS = (
    Mutation(
        id="raft_snapshots.proposals_not_filtered",
        title="A command that was proposed again is applied again.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("exactly_once",),
        clause="A command whose serial number has already been executed is answered without executing it again. "
        "§8; thesis §6.3",
        edits=(Replace("SessionStore.apply", "command.operation not in self.answers", "True"),),
        sources=("cockroachdb/cockroach#10602",),
        aliases=("R21",),
    ),
    Mutation(
        id="raft_snapshots.sessions_left_out_of_snapshots",
        title="Snapshots have the registers and not the sessions.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("state_machine_safety",),
        clause="Sessions are part of the replicated state machine, and so of its snapshots. Thesis §6.3",
        edits=(
            Replace(
                "SessionStore.snapshot",
                "State(self.store.snapshot(), tuple(sorted(self.answers.items())))",
                "State(self.store.snapshot(), ())",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.sessions_not_restored",
        title="A server that is given a snapshot takes the registers from it, and forgets the sessions.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("state_machine_safety", "exactly_once"),
        clause="Sessions are part of the replicated state machine, and so of its snapshots. Thesis §6.3",
        edits=(Replace("SessionStore.restore", "self.answers = dict(state.answers)", "self.answers = {}"),),
    ),
    Mutation(
        id="raft_snapshots.registers_not_reset",
        title="A server that is given a snapshot takes the sessions from it, and keeps its own registers.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("state_machine_safety",),
        clause="Reset state machine using snapshot contents. Fig. 13, InstallSnapshot receiver 8",
        edits=(Replace("SessionStore.restore", "self.store.restore(state.registers)", ""),),
    ),
    Mutation(
        id="raft_snapshots.the_last_answer_is_remembered",
        title="A command that comes again gets the present value for an answer, not the one that it got first.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("exactly_once",),
        clause="The state machine answers a command that was executed with the response that it had. §8; thesis §6.3",
        edits=(
            Replace(
                "SessionStore.apply",
                "if command.operation not in self.answers:\n"
                "    self.answers[command.operation] = self.perform(command.command)\n"
                "return self.answers[command.operation]",
                "if command.operation not in self.answers:\n"
                "    self.answers[command.operation] = self.perform(command.command)\n"
                "    return self.answers[command.operation]\n"
                "return self.store.registers.get(command.command.key)",
            ),
        ),
    ),
    Mutation(
        id="raft_snapshots.uncertain_is_told_as_failed",
        title="A deposed leader tells its clients that their commands failed, which may yet be committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("linearizability",),
        clause="Whoever no longer leads cannot know what becomes of its uncommitted entries. §5.4.2, §8",
        edits=(
            Replace("start", "super().start()", "self.waiting = {}\nsuper().start()"),
            Replace(
                "become_follower",
                "super().become_follower()",
                "for op in self.waiting.values():\n    self.refuse(op)\nsuper().become_follower()",
            ),
        ),
        sources=("RedisLabs/redisraft#23",),
        aliases=("R30",),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="raft_snapshots.one_sync_for_snapshot_and_log",
        title="A snapshot and the cutting of the log share one sync, before which a crash may keep either.",
        kind=DriftKind.OPTIMISATION,
        breaks=("snapshot_before_cut",),
        clause="Once a server completes writing a snapshot, it may delete all log entries. §7",
        edits=(
            Replace(
                "compact",
                "self.disk.snapshot = Snapshot(self.last_applied, self.term_at(self.last_applied), self.snapshot())\n"
                "self.sync()",
                "self.disk.snapshot = Snapshot(self.last_applied, self.term_at(self.last_applied), self.snapshot())",
            ),
            Replace("install", "self.disk.snapshot = snapshot\nself.sync()", "self.disk.snapshot = snapshot"),
        ),
        message="""Sync once for each compaction

A compaction synced twice in a row, for the snapshot and for the log that it shortens, and so did a follower that was
sent a snapshot. Both files are written by then, so one sync at the end makes both durable before anything is answered.
""",
    ),
    Mutation(
        id="raft_snapshots.freshest_state_is_sent",
        title="A leader sends its present state under the index of its last snapshot.",
        kind=DriftKind.OPTIMISATION,
        breaks=("state_machine_safety",),
        clause="The snapshot's state is that of its last included index. §7; Fig. 13",
        edits=(
            Replace(
                "send_snapshot",
                "self.send(peer, InstallSnapshot(self.disk.term, self.disk.snapshot))",
                "last = self.disk.snapshot\n"
                "fresh = Snapshot(last.last_index, last.last_term, self.snapshot())  # straight from memory\n"
                "self.send(peer, InstallSnapshot(self.disk.term, fresh))",
            ),
        ),
        message="""Send snapshots from memory

To send a snapshot the leader read back from disk what it had in memory all the time, in an older form even. Serialise
the state machine itself: no disk access, and the follower gets the latest values.
""",
    ),
    Mutation(
        id="raft_snapshots.repeats_filtered_by_the_leader",
        title="Only the leader remembers which commands it has taken, and in memory.",
        kind=DriftKind.OPTIMISATION,
        breaks=("linearizability",),
        clause="Every server filters commands that come again, since any may lead next. Thesis §6.3",
        edits=(
            Replace(
                "SnapshotRaft",
                "pending: dict[NodeId, Index]",
                "taken: set[OpId]  # the operations that were appended here\npending: dict[NodeId, Index]",
            ),
            Replace("start", "super().start()", "self.taken = set()\nsuper().start()"),
            Replace(
                "request",
                "super().request(op, Proposal(op, command) if self.switches.sessions else command)",
                "if op in self.taken:  # the first one will answer\n"
                "    return\n"
                "if self.role is Role.LEADER:\n"
                "    self.taken.add(op)\n"
                "super().request(op, command)",
            ),
        ),
        message="""Filter repeated commands where they come in

Each entry carried its operation's number, and each server a table of all answers, which snapshots had to include. But a
command enters by the leader only: let the leader remember what it has taken, and entries and snapshots become smaller.
""",
    ),
    Mutation(
        id="raft_snapshots.prefix_is_not_installed",
        title="A follower whose log reaches the snapshot's end takes its own entries for those of the snapshot.",
        kind=DriftKind.OPTIMISATION,
        breaks=("state_machine_safety",),
        clause="Only an entry with the same index and term as the last included one makes the log a longer form of the "
        "snapshot. Fig. 13, InstallSnapshot receiver 6",
        edits=(
            Replace(
                "handle_install_snapshot",
                "if ahead:\n    self.install(m.snapshot)",
                "if ahead and m.snapshot.last_index > self.last_index:\n"
                "    self.install(m.snapshot)\n"
                "elif ahead:  # nothing is missing here: apply instead of loading the state\n"
                "    self.commit_index = m.snapshot.last_index\n"
                "    self.apply_committed()",
            ),
        ),
        message="""Do not install snapshots that bring nothing new

A follower that was only slow often has all entries of the snapshot in its log by the time that it arrives. Loading
the state from scratch and dropping the log is a waste then: mark these entries as committed, and apply them.
""",
    ),
)

CATALOGUE = (*COMPACTION, *RESTART, *INSTALLATION, *REPLICATION, *LOG, *SESSIONS, *OPTIMISATIONS)

BEYOND = ()
