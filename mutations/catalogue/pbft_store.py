"""Drift of reads beside the log of PBFT: what the papers warn of, and what real systems got wrong.

§ is a section of Castro and Liskov 1999, [B] is Berger, Reiser and Bessani 2021 (`protocols/pbft_store.py`). `breaks`
names the invariants that may break first, the commonest first. `mutations/expected/pbft_store.toml` has the
measurements, `docs/pbft_store-mutants.md` is a table of everything. What PBFT itself can get wrong is in its own
catalogue.
"""

from mutations.entry import Beyond, DriftKind, Lines, Mutation, Replace, Site

READS = (
    Mutation(
        id="pbft_store.read_signature_verifies",
        title="A replica answers reads in the name of clients that never asked, before they do.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_committed",),
        clause="Replicas check that the request is properly authenticated. §5.1",
        edits=(Site("handle_read", "drop-check", "read_signature_verifies"),),
    ),
    Mutation(
        id="pbft_store.read_from_client",
        title="Replicas may read as if they were clients.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_committed",),
        clause="The client has access. §5.1, §3",
        edits=(Site("handle_read", "drop-check", "read_from_client"),),
    ),
    Mutation(
        id="pbft_store.read_of_all_that_was_shown",
        title="A replica that has restarted from a checkpoint answers reads by an older state than it did before.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("reads_go_forward", "linearizability"),
        clause="Any two sets of 2f + 1 have a correct replica in common, which has executed the write. [B]",
        edits=(Site("handle_read", "drop-check", "read_of_all_that_was_shown"),),
    ),
    Mutation(
        id="pbft_store.shown_unsynced",
        title="A replica answers before it is on disk how far the state went that it shows.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("shown_is_on_disk", "reads_go_forward"),
        clause="Any two sets of 2f + 1 have a correct replica in common, which has executed the write. [B]",
        edits=(Site("show", "drop-sync", "1"),),
        go=(Lines("show", "r.Sync()", ""),),
    ),
    Mutation(
        id="pbft_store.only_reads_bind",
        title="The replies to ordinary requests do not bind a replica after a restart, only those to reads do.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("shown_is_on_disk", "reads_go_forward", "linearizability"),
        clause="Any two sets of 2f + 1 have a correct replica in common, which has executed the write. [B]",
        edits=(Replace("reply_to", "if self.switches.read_only:\n    self.show()", ""),),
        go=(Lines("replyTo", "if r.Switches.ReadOnly {\n\tr.show()\n}", ""),),
    ),
    Mutation(
        id="pbft_store.reads_what_is_prepared",
        title="A read is answered by what is prepared, though it may never be committed.",
        kind=DriftKind.OPTIMISATION,
        breaks=("reads_are_committed", "linearizability"),
        clause="The reply is sent only after all requests reflected in the tentative state have committed. §5.1",
        edits=(
            Replace(
                "handle_read",
                "result = self.application.registers.get(m.key)",
                "state = self.application.copy()\n"
                "number = self.executed + 1\n"
                "while number in self.prepared:\n"
                "    request = self.requests.get(self.prepared[number].pre_prepare.digest)\n"
                "    if request is not None:\n"
                "        state.apply(request)\n"
                "    number += 1\n"
                "result = state.registers.get(m.key)",
            ),
        ),
        message="Fewer reads fall back behind writes\n\nWhile a write is between prepared and committed, replicas are "
        "of two minds, and a read that meets it\nfinds no 2f + 1 that agree. What has prepared is ordered already, so "
        "replicas now answer as if it\nwas executed.",
        go=(
            Lines(
                "handleRead",
                "result := r.service().get(m.Key)",
                "state := &Service{}\n"
                "state.Restore(r.Snapshot())\n"
                "for number := r.executed + 1; r.prepared.Has(number); number++ {\n"
                "\trequest := r.requests.At(r.prepared.At(number).PrePrepare.Digest)\n"
                "\tif request != nil {\n"
                "\t\tstate.Apply(*request)\n"
                "\t}\n"
                "}\n"
                "result := state.get(m.Key)",
            ),
        ),
    ),
    Mutation(
        id="pbft_store.reads_from_a_cache",
        title="Reads come from a cache that execution fills, and that a state from elsewhere leaves as it is.",
        kind=DriftKind.OPTIMISATION,
        breaks=("reads_are_committed", "linearizability"),
        clause="The reply is made of the replica's state. §5.1; state transfer changes that too, §4.3",
        edits=(
            Replace(
                "reply_to",
                "super().reply_to(client)",
                "for key, content in self.application.registers.items():\n"
                "    if key not in self.cache or self.application.last_timestamp(client) > self.cached:\n"
                "        self.cache[key] = content\n"
                "self.cached = self.application.last_timestamp(client)\n"
                "super().reply_to(client)",
            ),
            Replace("handle_read", "self.application.registers.get(m.key)", "self.cache.get(m.key)"),
            Replace(
                "ask_again",
                "super().ask_again()",
                'if "cache" not in self.__dict__:\n'
                "    self.cache, self.cached = dict(self.application.registers), 0\n"
                "super().ask_again()",
            ),
        ),
        message="Serve reads without the state's lock\n\nReads waited for the lock that execution holds. They now come "
        "from a small map of their own,\nwhich is brought up to date when a reply is made, that is, after every "
        "request.",
    ),
)

DECISIONS = (
    Mutation(
        id="pbft_store.decision_signatures_verify",
        title="A replica believes a decision whose commits have signatures that do not verify.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("committed_by_quorum", "agreement"),
        clause="A decision is forwarded with its proof. [B]; a replica accepts commits that are properly signed. §4.2",
        edits=(Site("handle_decided", "drop-check", "decision_signatures_verify"),),
    ),
    Mutation(
        id="pbft_store.decision_in_one_slot",
        title="The commits of a decision may be for several numbers, views or digests.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("committed_by_quorum", "agreement", "failure"),
        clause="2f + 1 commits that match the pre-prepare: the same view, sequence number, and digest. §4.2",
        edits=(Site("handle_decided", "drop-check", "decision_in_one_slot"),),
    ),
    Mutation(
        id="pbft_store.decision_by_quorum",
        title="A decision may have any number of commits.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("committed_by_quorum", "agreement"),
        clause="committed-local: 2f + 1 commits from different replicas. §4.2",
        edits=(Site("handle_decided", "drop-check", "decision_by_quorum"),),
    ),
    Mutation(
        id="pbft_store.decision_of_the_request",
        title="A decision may come with another request than the one that was committed.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("agreement", "committed_by_quorum", "validity"),
        clause="d is the digest for m. §4.2",
        edits=(Site("handle_decided", "drop-check", "decision_of_the_request"),),
    ),
    Mutation(
        id="pbft_store.decisions_are_not_forwarded",
        title="Replicas that miss a decision wait for a checkpoint or a view change, as PBFT's do.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="Correct replicas that a faulty leader has left out learn what was decided. [B]",
        edits=(
            Replace(
                "ask_again",
                "if self.switches.read_only and (self.pending or self.executed < self.disk.shown):\n"
                "    self.broadcast(FetchDecisions(self.executed))",
                "",
            ),
        ),
        sources=("bft-smart/library#91",),
        go=(
            Lines(
                "askAgain",
                "if r.Switches.ReadOnly && (r.pending.Len() > 0 || r.executed < r.Disk.Shown) {\n"
                "\tr.Broadcast(FetchDecisions{r.executed})\n"
                "}",
                "",
            ),
        ),
    ),
)

CLIENTS = (
    Mutation(
        id="pbft_store.result_by_quorum",
        title="f + 1 replies do for every result, as they do in PBFT, although reads pass by the log.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("results_by_certificate", "linearizability"),
        clause="The client waits for 2f + 1 replies from different replicas with the same result. §5.1",
        edits=(Site("accept_result", "drop-check", "result_by_quorum"),),
        sources=("vmware/concord-bft#1576",),
        go=(
            Lines(
                "acceptResult",
                "accepted := !c.Switches.ReadOnly || c.Holds(\n"
                '\tstep.Check("result_by_quorum", c.isQuorum(len(matching))),\n'
                ")\n"
                "if accepted {\n"
                "\tc.believe(result, matching)\n"
                "}",
                "c.believe(result, matching)",
            ),
        ),
    ),
    Mutation(
        id="pbft_store.one_reply_is_enough",
        title="A client believes the first reply.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("results_are_true", "results_by_certificate"),
        clause="The client waits for f + 1 replies from different replicas, with the same t and r. §4.1",
        edits=(
            Replace(
                "accept_result",
                "super().accept_result(result)",
                "if self.asking is not None:\n"
                "    self.reply(self.asking.timestamp, result)\n"
                "    self.asking = None\n"
                "    self.cancel(RESEND)",
            ),
        ),
        go=(
            Lines(
                "acceptResult",
                "c.believe(result, matching)",
                "if c.asking != nil {\n\tc.Reply(c.asking.Timestamp, result)\n\tc.asking = nil\n\tc.Cancel(resend)\n}",
            ),
        ),
    ),
    Mutation(
        id="pbft_store.reads_by_a_correct_replica",
        title="f + 1 replies do for a read.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("results_by_certificate", "linearizability"),
        clause="The client waits for 2f + 1 replies from different replicas with the same result. §5.1",
        edits=(
            Replace(
                "accept_result",
                "self.is_quorum(matching)",
                "self.is_quorum(matching) or (self.asking is not None and self.asking.command.op == 'get' and "
                "self.has_a_correct(matching))",
            ),
        ),
        sources=("vmware/concord-bft#1570", "vmware/concord-bft#1576"),
    ),
    Mutation(
        id="pbft_store.writes_by_a_correct_replica",
        title="f + 1 replies do for a write, so a reader's 2f + 1 may be those who have not executed it, and liars.",
        kind=DriftKind.OPTIMISATION,
        breaks=("results_by_certificate", "linearizability"),
        clause="Where reads pass by the log, ordinary requests wait for 2f + 1 replies too. [B]",
        edits=(
            Replace(
                "accept_result",
                "accepted = not self.switches.read_only or holds(result_by_quorum=self.is_quorum(matching))",
                "if self.switches.read_only and self.asking is not None and self.asking.command.op == 'put':\n"
                "    enough = self.has_a_correct(matching)\n"
                "else:\n"
                "    enough = not self.switches.read_only or self.is_quorum(matching)\n"
                "accepted = holds(result_by_quorum=enough)",
            ),
        ),
        message="Acknowledge writes at f + 1 replies\n\nThe paper's client takes f + 1 matching replies for an "
        "ordinary request and 2f + 1 for a read-only one;\nours waited for 2f + 1 in both cases. Writes no longer "
        "wait for the slowest of the correct replicas.",
        sources=("bft-smart/library#91",),
    ),
    Mutation(
        id="pbft_store.results_of_a_count",
        title="Replies to reads are counted by message, so that a replica which sends three is a quorum.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("results_by_certificate", "results_are_true"),
        clause="The client waits for 2f + 1 replies from different replicas. §5.1",
        edits=(
            Replace(
                "handle_read_reply",
                "self.handle_reply(src, m.reply)",
                "if self.verify(m.reply) and self.asking is not None and m.reply.timestamp == self.asking.timestamp:\n"
                "    self.replies[str(len(self.replies))] = m.reply\n"
                "    self.accept_result(m.reply.result)",
            ),
        ),
        go=(
            Lines("", '"slices"', '"slices"\n"strconv"'),
            Lines(
                "handleReadReply",
                "c.handleReply(src, m.Reply)",
                "if step.Verify(m.Reply) && c.asking != nil && m.Reply.Timestamp == c.asking.Timestamp {\n"
                "\tc.replies[step.NodeID(strconv.Itoa(len(c.replies)))] = m.Reply\n"
                "\tc.acceptResult(m.Reply.Result)\n"
                "}",
            ),
        ),
    ),
    Mutation(
        id="pbft_store.replies_of_earlier_reads",
        title="A late reply to an earlier read counts for what the client asks now.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("results_by_certificate", "results_are_true", "linearizability"),
        clause="The same t and r: the timestamp tells which request a reply is to. §4.1",
        edits=(
            Replace(
                "handle_read_reply",
                "self.handle_reply(src, m.reply)",
                "if self.verify(m.reply) and self.asking is not None:\n"
                "    self.replies[m.reply.signer] = m.reply\n"
                "    self.accept_result(m.reply.result)",
            ),
        ),
        go=(
            Lines(
                "handleReadReply",
                "c.handleReply(src, m.Reply)",
                "if step.Verify(m.Reply) && c.asking != nil {\n"
                "\tc.replies[m.Reply.Signer] = m.Reply\n"
                "\tc.acceptResult(m.Reply.Result)\n"
                "}",
            ),
        ),
    ),
    Mutation(
        id="pbft_store.read_replies_unsigned",
        title="The client does not verify the signatures of replies to reads.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("results_by_certificate", "results_are_true"),
        clause="Replies with valid signatures from different replicas. §4.1",
        edits=(
            Replace(
                "handle_read_reply",
                "self.handle_reply(src, m.reply)",
                "if self.asking is not None and m.reply.timestamp == self.asking.timestamp:\n"
                "    self.replies[m.reply.signer] = m.reply\n"
                "    self.accept_result(m.reply.result)",
            ),
        ),
        go=(
            Lines(
                "handleReadReply",
                "c.handleReply(src, m.Reply)",
                "if c.asking != nil && m.Reply.Timestamp == c.asking.Timestamp {\n"
                "\tc.replies[m.Reply.Signer] = m.Reply\n"
                "\tc.acceptResult(m.Reply.Result)\n"
                "}",
            ),
        ),
    ),
    Mutation(
        id="pbft_store.results_counted_together",
        title="Replies with different results count together for the quorum.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("results_by_certificate", "linearizability"),
        clause="2f + 1 replies from different replicas with the same result. §5.1",
        edits=(Replace("accept_result", "m.result == result", "True"),),
    ),
    Mutation(
        id="pbft_store.replies_kept",
        title="The replies to the last request still count when the client begins to read.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("results_by_certificate", "results_are_true", "linearizability"),
        clause="The same t and r: the timestamp tells which request a reply is to. §4.1",
        edits=(Replace("request", "self.replies = {}", ""),),
    ),
    Mutation(
        id="pbft_store.reads_do_not_fall_back",
        title="A read that finds no 2f + 1 replicas which agree is not asked again as an ordinary request.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="It retransmits the request as a regular read-write request after its timer expires. §5.1",
        edits=(Replace("request", "self.set_timer(RESEND, RESEND_INTERVAL)", ""),),
    ),
)

CATALOGUE = (*READS, *DECISIONS, *CLIENTS)

BEYOND: tuple[Beyond, ...] = ()
