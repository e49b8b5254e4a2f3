"""Drift of PBFT: what the paper warns of, and what real systems got wrong.

A row like B1 is a bug that was seen in the systems which its sources name; § is a section of Castro and Liskov 1999
(`protocols/pbft.py`). `breaks` names the invariants that may break first, the commonest first.
`mutations/expected/pbft.toml` has the measurements, `docs/pbft-mutants.md` is a table of everything.
"""

from mutations.entry import Beyond, DriftKind, Lines, Mutation, Replace, Site

NORMAL_CASE = (
    Mutation(
        id="pbft.request_signature_verifies",
        title="A replica believes who a request is from, so liars may ask in the clients' names.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity", "agreement", "failure"),
        clause="A client requests the execution by a signed message; signatures are checked. §4.1, §4.2",
        edits=(Site("is_valid_request", "drop-check", "request_signature_verifies"),),
    ),
    Mutation(
        id="pbft.request_from_client",
        title="Replicas may ask for operations as if they were clients.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity",),
        clause="Operations are invoked by clients, whose access is controlled. §2, §3",
        edits=(Site("is_valid_request", "drop-check", "request_from_client"),),
    ),
    Mutation(
        id="pbft.pre_prepare_signature_verifies",
        title="A backup takes anybody's PRE-PREPARE for the primary's.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("proposed_by_the_primary", "prepared_agreement", "prepared_by_quorum", "agreement_across_views"),
        clause="The signatures in the request and the pre-prepare message are correct. §4.2",
        edits=(Site("handle_pre_prepare", "drop-check", "pre_prepare_signature_verifies"),),
    ),
    Mutation(
        id="pbft.digest_of_the_request",
        title="A backup does not compare the digest in a PRE-PREPARE with the request that comes with it.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("committed_by_quorum", "agreement"),
        clause="d is the digest for m. §4.2",
        edits=(Site("handle_pre_prepare", "drop-check", "digest_of_the_request"),),
    ),
    Mutation(
        id="pbft.pre_prepare_in_view",
        title="A backup accepts PRE-PREPAREs of views that it has left.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("left_views_stay_left", "agreement_across_views", "prepare_is_on_disk", "one_digest_in_view"),
        clause="It is in view v. §4.2",
        edits=(Site("handle_pre_prepare", "drop-check", "pre_prepare_in_view"),),
        sources=("FISCO-BCOS PR #5167 (FIB-133)", "aptos-core PR #13711"),
        aliases=("B19",),
    ),
    Mutation(
        id="pbft.pre_prepare_from_primary",
        title="A backup accepts a PRE-PREPARE of any replica.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("proposed_by_the_primary", "prepared_agreement", "prepared_by_quorum"),
        clause="The primary, p, assigns a sequence number. §4.2",
        edits=(Site("handle_pre_prepare", "drop-check", "pre_prepare_from_primary"),),
    ),
    Mutation(
        id="pbft.one_digest_a_number",
        title="A backup accepts a second PRE-PREPARE with a number that has a request already.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("one_digest_in_view", "prepared_agreement", "agreement_across_views"),
        clause="It has not accepted a pre-prepare for view v and sequence number n with a different digest. §4.2",
        edits=(Site("handle_pre_prepare", "drop-check", "one_digest_a_number"),),
    ),
    Mutation(
        id="pbft.pre_prepare_within_water_marks",
        title="A backup accepts PRE-PREPAREs with numbers that a stable checkpoint covers, or that are far ahead.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("one_digest_in_view", "prepared_agreement", "agreement_across_views"),
        clause="The sequence number is between a low water mark, h, and a high water mark, H. §4.2",
        edits=(Site("handle_pre_prepare", "drop-check", "pre_prepare_within_water_marks"),),
    ),
    Mutation(
        id="pbft.one_number_a_request",
        title="The primary assigns another number to a request whenever it is asked for it again.",
        kind=DriftKind.MISSING_CHECK,
        clause="When the primary receives a client request, it starts the protocol for it. §4.2",
        edits=(Site("assign_numbers", "drop-check", "one_number_a_request"),),
    ),
    Mutation(
        id="pbft.number_below_high_water_mark",
        title="The primary assigns numbers that no backup may accept yet.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("progress_after_heal",),
        clause="The sequence number is between a low water mark, h, and a high water mark, H. §4.2",
        edits=(Site("assign_numbers", "drop-check", "number_below_high_water_mark"),),
    ),
    Mutation(
        id="pbft.prepare_signature_verifies",
        title="A replica counts PREPAREs whose signatures do not verify.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("prepared_by_quorum", "prepared_agreement"),
        clause="A replica accepts prepare messages provided their signatures are correct. §4.2",
        edits=(Site("handle_prepare", "drop-check", "prepare_signature_verifies"),),
    ),
    Mutation(
        id="pbft.prepare_in_view",
        title="A replica that changes views goes on preparing in the view that it has left.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("left_views_stay_left", "agreement_across_views", "view_change_shows_all"),
        clause="Their view number equals the replica's current view. §4.2; it stops accepting messages, §4.4",
        edits=(Site("handle_prepare", "drop-check", "prepare_in_view"),),
    ),
    Mutation(
        id="pbft.prepare_from_backup",
        title="A PREPARE of the primary counts too, beside its PRE-PREPARE.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("prepared_by_quorum", "prepared_agreement"),
        clause="2f prepares from different backups that match the pre-prepare. §4.2",
        edits=(Site("handle_prepare", "drop-check", "prepare_from_backup"),),
    ),
    Mutation(
        id="pbft.prepare_within_water_marks",
        title="A replica keeps PREPAREs with numbers that a stable checkpoint covers, or that are far ahead.",
        kind=DriftKind.MISSING_CHECK,
        clause="Their sequence number is between h and H. §4.2",
        edits=(Site("handle_prepare", "drop-check", "prepare_within_water_marks"),),
    ),
    Mutation(
        id="pbft.prepared_by_two_f_backups",
        title="A replica takes a request for prepared as soon as it is pre-prepared.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("prepared_by_quorum",),
        clause="2f prepares from different backups that match the pre-prepare. §4.2",
        edits=(Site("check_prepared", "drop-check", "prepared_by_two_f_backups"),),
    ),
    Mutation(
        id="pbft.prepares_are_a_count",
        title="PREPAREs are counted by message, so that a backup which sends two counts twice.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("prepared_by_quorum", "prepared_agreement", "progress_after_heal"),
        clause="2f prepares from different backups that match the pre-prepare. §4.2",
        edits=(
            Replace(
                "count_prepare",
                "self.prepares.setdefault(slot_of(m), {})[m.signer] = m",
                "prepares = self.prepares.setdefault(slot_of(m), {})\nprepares[str(len(prepares))] = m",
            ),
        ),
        sources=("hyperledger-archives/fabric#370", "besu-eth/besu#1736"),
        aliases=("B1",),
        go=(
            Lines("", '"slices"', '"slices"\n"strconv"'),
            Lines(
                "countPrepare",
                "put(r.prepares, m.Slot, m.Signer, m)",
                "put(r.prepares, m.Slot, step.NodeID(strconv.Itoa(len(r.prepares[m.Slot]))), m)",
            ),
        ),
    ),
    Mutation(
        id="pbft.prepares_without_views",
        title="PREPAREs of different views count together.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("prepared_by_quorum", "agreement_across_views"),
        clause="prepares that match the pre-prepare: the same view, sequence number, and digest. §4.2",
        edits=(
            Replace("count_prepare", "slot_of(m)", "(0, m.number, m.digest)"),
            Replace("check_prepared", "slot_of(p)", "(0, p.number, p.digest)"),
        ),
        go=(
            Lines(
                "countPrepare",
                "put(r.prepares, m.Slot, m.Signer, m)",
                "put(r.prepares, Slot{0, m.Number, m.Digest}, m.Signer, m)",
            ),
            Lines(
                "checkPrepared", "prepares := r.prepares[p.Slot]", "prepares := r.prepares[Slot{0, p.Number, p.Digest}]"
            ),
        ),
    ),
    Mutation(
        id="pbft.prepares_without_digests",
        title="PREPAREs for different digests count together.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("prepared_by_quorum", "prepared_agreement"),
        clause="prepares that match the pre-prepare: the same view, sequence number, and digest. §4.2",
        edits=(
            Replace("count_prepare", "slot_of(m)", '(m.view, m.number, b"")'),
            Replace("check_prepared", "slot_of(p)", '(p.view, p.number, b"")'),
        ),
        go=(
            Lines(
                "countPrepare",
                "put(r.prepares, m.Slot, m.Signer, m)",
                'put(r.prepares, Slot{m.View, m.Number, ""}, m.Signer, m)',
            ),
            Lines(
                "checkPrepared", "prepares := r.prepares[p.Slot]", 'prepares := r.prepares[Slot{p.View, p.Number, ""}]'
            ),
        ),
    ),
    Mutation(
        id="pbft.two_f_agree",
        title="A certificate takes 2f signatures, that of the primary among them.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("prepared_by_quorum", "prepared_agreement"),
        clause="2f prepares from different backups that match the pre-prepare. §4.2",
        edits=(Replace("check_prepared", "len(prepares) >= 2 * self.f", "len(prepares) >= 2 * self.f - 1"),),
        go=(
            Lines(
                "checkPrepared",
                'step.Check("prepared_by_two_f_backups", len(prepares) >= 2*r.f()),',
                'step.Check("prepared_by_two_f_backups", len(prepares) >= 2*r.f()-1),',
            ),
        ),
    ),
    Mutation(
        id="pbft.commit_signature_verifies",
        title="A replica counts COMMITs whose signatures do not verify.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("committed_by_quorum", "agreement"),
        clause="Replicas accept commit messages provided they are properly signed. §4.2",
        edits=(Site("handle_commit", "drop-check", "commit_signature_verifies"),),
    ),
    Mutation(
        id="pbft.commit_in_view",
        title="A replica counts COMMITs of a view that it has left.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        clause="The view number in the message is equal to the replica's current view. §4.2",
        edits=(Site("handle_commit", "drop-check", "commit_in_view"),),
    ),
    Mutation(
        id="pbft.commit_within_water_marks",
        title="A replica keeps COMMITs with numbers that a stable checkpoint covers, or that are far ahead.",
        kind=DriftKind.MISSING_CHECK,
        clause="The sequence number is between h and H. §4.2",
        edits=(Site("handle_commit", "drop-check", "commit_within_water_marks"),),
    ),
    Mutation(
        id="pbft.committed_by_quorum",
        title="A replica executes what has prepared, without waiting for others to say so.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("committed_by_quorum", "agreement_across_views"),
        clause="2f + 1 commits from different replicas that match the pre-prepare. §4.2, committed-local",
        edits=(Site("count_commit", "drop-check", "committed_by_quorum"),),
    ),
    Mutation(
        id="pbft.commits_are_a_count",
        title="COMMITs are counted by message, so that a replica which sends two counts twice.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("committed_by_quorum",),
        clause="2f + 1 commits from different replicas that match the pre-prepare. §4.2, committed-local",
        edits=(
            Replace(
                "count_commit",
                "self.commits.setdefault(slot_of(m), {})[m.signer] = m",
                "commits = self.commits.setdefault(slot_of(m), {})\ncommits[str(len(commits))] = m",
            ),
        ),
        go=(
            Lines("", '"slices"', '"slices"\n"strconv"'),
            Lines(
                "countCommit",
                "put(r.commits, m.Slot, m.Signer, m)",
                "put(r.commits, m.Slot, step.NodeID(strconv.Itoa(len(r.commits[m.Slot]))), m)",
            ),
        ),
    ),
    Mutation(
        id="pbft.commits_without_views",
        title="COMMITs of different views count together.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("committed_by_quorum",),
        clause="commits that match the pre-prepare: the same view, sequence number, and digest. §4.2",
        edits=(
            Replace(
                "count_commit",
                "self.commits.setdefault(slot_of(m), {})",
                "self.commits.setdefault((0, m.number, m.digest), {})",
            ),
            Replace(
                "count_commit", "self.commits.get(slot_of(p), ())", "self.commits.get((0, p.number, p.digest), ())"
            ),
        ),
    ),
    Mutation(
        id="pbft.quorum_from_n",
        title="A quorum is a majority of the replicas, which with 7 of them is one too few.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("committed_by_quorum", "stable_by_quorum", "new_view_by_quorum"),
        clause="Quorums have at least 2f + 1 elements, so that any two intersect in a correct replica. §4",
        edits=(
            Replace("is_quorum", "len(set(signers)) >= 2 * self.f + 1", "len(set(signers)) > self.cluster_size // 2"),
        ),
        go=(Lines("isQuorum", "return signers >= 2*p.f()+1", "return signers > p.ClusterSize/2"),),
    ),
    Mutation(
        id="pbft.quorum_of_f_plus_one",
        title="A quorum has f + 1 replicas.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("committed_by_quorum", "stable_by_quorum", "new_view_by_quorum"),
        clause="Quorums have at least 2f + 1 elements, so that any two intersect in a correct replica. §4",
        edits=(Replace("is_quorum", "2 * self.f + 1", "self.f + 1"),),
        go=(Lines("isQuorum", "return signers >= 2*p.f()+1", "return signers >= p.f()+1"),),
    ),
    Mutation(
        id="pbft.executed_once",
        title="A request to which a faulty primary assigns two numbers is executed twice.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("integrity", "linearizability"),
        clause="What is not later than the last reply to the client has been executed. §4.1",
        edits=(Site("execute_request", "drop-check", "executed_once"),),
    ),
    Mutation(
        id="pbft.executes_over_gaps",
        title="A replica executes what is committed, though an earlier number is not.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("order_of_execution", "agreement"),
        clause="i's state reflects the sequential execution of all requests with lower sequence numbers. §4.2",
        edits=(
            Replace(
                "execute",
                "while self.executed + 1 in self.committed:\n"
                "    digest = self.committed[self.executed + 1]\n"
                "    if digest not in self.requests and digest != NULL:\n"
                "        self.broadcast(FetchRequest(digest))\n"
                "        break\n"
                "    self.executed += 1\n"
                "    self.execute_request(self.requests.get(digest))\n"
                "    if self.executed % self.switches.interval == 0:\n"
                "        self.take_checkpoint()\n",
                "while any(number > self.executed for number in self.committed):\n"
                "    self.executed = min(number for number in self.committed if number > self.executed)\n"
                "    self.execute_request(self.requests.get(self.committed[self.executed]))\n"
                "    if self.executed % self.switches.interval == 0:\n"
                "        self.take_checkpoint()\n",
            ),
        ),
    ),
    Mutation(
        id="pbft.accept/drop-sync/1",
        title="A replica agrees to a number that is not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("prepare_is_on_disk", "one_digest_in_view"),
        clause="It multicasts a prepare and adds both messages to its log. §4.2",
        edits=(Site("accept", "drop-sync", "1"),),
        go=(Lines("accept", "r.Sync()", ""),),
    ),
    Mutation(
        id="pbft.check_prepared/drop-sync/1",
        title="A replica commits what is not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("commit_is_on_disk", "view_change_shows_all"),
        clause="The log has what proves that the request prepared, for the next view change. §4.2, §4.4",
        edits=(Site("check_prepared", "drop-sync", "1"),),
        go=(Lines("checkPrepared", "r.Sync()", ""),),
    ),
    Mutation(
        id="pbft.commit_sent_before_sync",
        title="A replica commits before the certificate is on its disk.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("commit_is_on_disk", "view_change_shows_all"),
        clause="The log has what proves that the request prepared, for the next view change. §4.2, §4.4",
        edits=(
            Replace("check_prepared", "self.sync()", ""),
            Replace("check_prepared", "self.broadcast(m)", "self.broadcast(m)\nself.sync()"),
        ),
    ),
    Mutation(
        id="pbft.prepared_forgotten",
        title="A replica that restarts has forgotten what had prepared.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("view_change_shows_all", "agreement_across_views"),
        clause="P has a set for each request that prepared at i. §4.4",
        edits=(
            Replace(
                "Pbft.start",
                "self.prepared = {c.pre_prepare.number: c for c in disk.prepared if c.pre_prepare.number > self.low}",
                "self.prepared = {}",
            ),
        ),
        sources=("tendermint/tendermint#44",),
        aliases=("B16",),
    ),
    Mutation(
        id="pbft.accepted_forgotten",
        title="A replica that restarts has forgotten to which numbers it agreed.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("one_digest_in_view",),
        clause="It has not accepted a pre-prepare for view v and sequence number n with a different digest. §4.2",
        edits=(
            Replace(
                "Pbft.start",
                "{p.number: p for p in mine if p.number > self.low}",
                "{p.number: p for p in carried if p.number > self.low}",
            ),
        ),
    ),
    Mutation(
        id="pbft.carried_over_forgotten",
        title="A replica that restarts in a view has forgotten what that view's NEW-VIEW had carried over.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("agreement_across_views", "one_digest_in_view"),
        clause="For each message in O it multicasts a prepare and adds the messages to its log. §4.4",
        edits=(
            Replace(
                "Pbft.start",
                "(*carried, *(p for p in disk.pre_prepares if p.view == disk.view))",
                "tuple(p for p in disk.pre_prepares if p.view == disk.view)",
            ),
        ),
    ),
)

CHECKPOINTS = (
    Mutation(
        id="pbft.checkpoint_signature_verifies",
        title="A replica counts CHECKPOINTs whose signatures do not verify.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("stable_by_quorum",),
        clause="2f + 1 of them signed by different replicas. §4.3",
        edits=(Site("handle_checkpoint", "drop-check", "checkpoint_signature_verifies"),),
        go=(
            Lines(
                "handleCheckpoint",
                "counted := r.Holds(\n"
                '\tstep.Check("checkpoint_signature_verifies", step.Verify(m)),\n'
                ")\nif counted && m.Number > r.low() {",
                "if m.Number > r.low() {",
            ),
        ),
    ),
    Mutation(
        id="pbft.stable_by_quorum",
        title="The first CHECKPOINT makes a checkpoint stable.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("stable_by_quorum",),
        clause="Each replica collects them until it has 2f + 1 for sequence number n with the same digest. §4.3",
        edits=(Site("count_checkpoint", "drop-check", "stable_by_quorum"),),
    ),
    Mutation(
        id="pbft.checkpoints_without_digests",
        title="CHECKPOINTs of different states count together.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("stable_by_quorum",),
        clause="2f + 1 for sequence number n with the same digest d. §4.3",
        edits=(Replace("count_checkpoint", "(m.number, m.digest)", '(m.number, b"")'),),
        go=(Lines("countCheckpoint", "which := checkpoint{m.Number, m.Digest}", 'which := checkpoint{m.Number, ""}'),),
    ),
    Mutation(
        id="pbft.checkpoints_are_a_count",
        title="CHECKPOINTs are counted by message, so that a replica which sends two counts twice.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("stable_by_quorum", "progress_after_heal"),
        clause="2f + 1 of them signed by different replicas. §4.3",
        edits=(
            Replace("count_checkpoint", "proof[m.signer] = m", "proof[str(len(proof))] = m"),
            Replace("count_checkpoint", "self.is_quorum(proof)", "len(proof) > 2 * self.f"),
        ),
    ),
    Mutation(
        id="pbft.take_checkpoint/drop-sync/1",
        title="A replica announces a checkpoint whose state is not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("checkpoint_is_on_disk",),
        clause="f + 1 correct replicas have the state of a stable checkpoint. §4.3, §4.4",
        edits=(Site("take_checkpoint", "drop-sync", "1"),),
    ),
    Mutation(
        id="pbft.checkpoints_said_once",
        title="A CHECKPOINT is sent once, when it is taken, though the network may lose it.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="Liveness; the log has room again when a checkpoint is stable. §4.3, §4.5.2",
        edits=(Replace("ask_again", "self.announce(snapshot)", "pass"),),
    ),
    Mutation(
        id="pbft.stabilize/drop-sync/1",
        title="The log is cut before the stable checkpoint that covers it is on disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("view_change_shows_all", "one_digest_in_view"),
        clause="A checkpoint with a proof is stable; then the replica discards the messages up to it. §4.3",
        edits=(Site("stabilize", "drop-sync", "1"),),
    ),
    Mutation(
        id="pbft.discards_to_the_high_water_mark",
        title="A stable checkpoint cuts the log up to the high water mark.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("view_change_shows_all", "one_digest_in_view", "agreement_across_views"),
        clause="It discards all messages with sequence number less than or equal to n. §4.3",
        edits=(Replace("stabilize", "self.discard(number)", "self.discard(self.high)"),),
    ),
    Mutation(
        id="pbft.checkpoint_leaves_out_replies",
        title="The last replies to clients are not a part of what a checkpoint saves.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("agreement", "integrity", "linearizability"),
        clause="The state includes the last reply sent to each client. §4.1, §4.3",
        edits=(
            Replace(
                "Service.snapshot",
                "State(super().snapshot(), tuple((c, *self.replies[c]) for c in sorted(self.replies)))",
                "State(super().snapshot(), ())",
            ),
        ),
    ),
    Mutation(
        id="pbft.view_in_the_checkpoint",
        title="A checkpoint is taken of the view as well, about which replicas may differ.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("checkpoint_agreement",),
        clause="The state that the requests up to n have made; correct replicas produce the same. §3, §4.3",
        edits=(
            Replace(
                "take_checkpoint",
                "snapshot = Snapshot(self.executed, self.snapshot())",
                "state = self.snapshot()\n"
                'state = State((*state.registers, ("view", self.view)), state.replies)\n'
                "snapshot = Snapshot(self.executed, state)",
            ),
        ),
    ),
    Mutation(
        id="pbft.fetched_state_stable",
        title="A replica that lacks a state takes anybody's, without its certificate.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("stable_by_quorum", "checkpoint_agreement", "view_change_shows_all"),
        clause="Replicas whose checkpoint messages certified its correctness in V. §4.4",
        edits=(Site("handle_fetched_state", "drop-check", "fetched_state_stable"),),
    ),
    Mutation(
        id="pbft.fetched_state_of_the_proof",
        title="A replica that lacks a state does not compare what it gets with the certificate.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("checkpoint_agreement", "failure"),
        clause="Replicas whose checkpoint messages certified its correctness in V. §4.4",
        edits=(Site("handle_fetched_state", "drop-check", "fetched_state_of_the_proof"),),
    ),
    Mutation(
        id="pbft.fetched_state_executed_again",
        title="A replica takes over a state that it is beyond, and executes again what it has executed.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("order_of_execution",),
        clause="A replica that lacks a checkpoint's state obtains it, or a later one. §4.4",
        edits=(
            Replace(
                "handle_fetched_state",
                "not usable or number <= self.executed or number < self.low",
                "not usable or number < self.low",
            ),
        ),
        sources=("hyperledger-labs/SmartBFT PR #570",),
        aliases=("B17",),
    ),
    Mutation(
        id="pbft.handle_fetched_state/drop-sync/1",
        title="A state that was taken over is not on disk when the replica goes on from it.",
        kind=DriftKind.LOST_DURABILITY,
        clause="A checkpoint with a proof is stable; then the replica discards the messages up to it. §4.3",
        edits=(Site("handle_fetched_state", "drop-sync", "1"),),
    ),
    Mutation(
        id="pbft.fetched_request_of_the_digest",
        title="A replica that lacks a request executes whatever it is sent for it.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("committed_by_quorum", "agreement"),
        clause="A replica can obtain missing information from another; d is the digest for m. §4.2, §4.4",
        edits=(Site("handle_fetched_request", "drop-check", "fetched_request_of_the_digest"),),
        go=(
            Lines(
                "handleFetchedRequest",
                "wanted := r.Holds(\n"
                '\tstep.Check("fetched_request_of_the_digest", r.DigestOf(m.Request) == lacking),\n'
                ")\nif wanted && committed {",
                "if committed {",
            ),
        ),
    ),
    Mutation(
        id="pbft.handle_fetched_request/drop-sync/1",
        title="A request that a replica asked for is not on its disk when it is executed.",
        kind=DriftKind.LOST_DURABILITY,
        clause="A replica can obtain missing information from another. §4.4",
        edits=(Site("handle_fetched_request", "drop-sync", "1"),),
    ),
)

VIEW_CHANGES = (
    Mutation(
        id="pbft.view_change_signature_verifies",
        title="A VIEW-CHANGE counts whose signature does not verify.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "agreement_across_views", "views_follow_correct_replicas"),
        clause="2f valid view-change messages from other replicas. §4.4",
        edits=(Site("is_valid_view_change", "drop-check", "view_change_signature_verifies"),),
    ),
    Mutation(
        id="pbft.view_change_from_stable",
        title="A VIEW-CHANGE needs no proof that the checkpoint which it starts from is stable.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "new_view_is_complete", "stable_by_quorum", "agreement_across_views"),
        clause="C is a set of 2f + 1 valid checkpoint messages proving the correctness of s. §4.4",
        edits=(Site("is_valid_view_change", "drop-check", "view_change_from_stable"),),
    ),
    Mutation(
        id="pbft.view_change_certificates_valid",
        title="A VIEW-CHANGE may show certificates that prove nothing.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "new_view_is_complete", "agreement_across_views"),
        clause="A valid pre-prepare and 2f matching, valid prepares signed by different backups. §4.4",
        edits=(Site("is_valid_view_change", "drop-check", "view_change_certificates_valid"),),
    ),
    Mutation(
        id="pbft.initial_checkpoint_with_any_proof",
        title="Whoever starts from the initial checkpoint may show any proof, and it is believed.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "stable_by_quorum", "agreement_across_views"),
        clause="C is a set of 2f + 1 valid checkpoint messages proving the correctness of s. §4.4",
        edits=(Replace("is_stable", "not proof and number == 0", "number == 0"),),
    ),
    Mutation(
        id="pbft.proof_signatures_verify",
        title="A checkpoint's certificate may be made of signatures that do not verify.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "stable_by_quorum"),
        clause="C is a set of 2f + 1 valid checkpoint messages proving the correctness of s. §4.4",
        edits=(Site("is_stable", "drop-check", "proof_signatures_verify"),),
    ),
    Mutation(
        id="pbft.proof_of_the_checkpoint",
        title="A checkpoint's certificate may be that of another checkpoint.",
        kind=DriftKind.MISSING_CHECK,
        breaks=(
            "new_view_by_quorum",
            "new_view_is_complete",
            "checkpoint_agreement",
            "agreement_across_views",
            "stable_by_quorum",
            "view_change_shows_all",
        ),
        clause="n is the sequence number of the last stable checkpoint s known to i. §4.4",
        edits=(Site("is_stable", "drop-check", "proof_of_the_checkpoint"),),
    ),
    Mutation(
        id="pbft.proof_of_one_digest",
        title="A checkpoint's certificate may be for several states.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("stable_by_quorum", "new_view_by_quorum", "checkpoint_agreement"),
        clause="2f + 1 for sequence number n with the same digest d. §4.3",
        edits=(Site("is_stable", "drop-check", "proof_of_one_digest"),),
    ),
    Mutation(
        id="pbft.proof_by_quorum",
        title="A checkpoint's certificate may have too few signatures.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "stable_by_quorum"),
        clause="C is a set of 2f + 1 valid checkpoint messages proving the correctness of s. §4.4",
        edits=(Site("is_stable", "drop-check", "proof_by_quorum"),),
    ),
    Mutation(
        id="pbft.certificate_pre_prepare_verifies",
        title="A prepared certificate's pre-prepare may have any signature.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum",),
        clause="A valid pre-prepare message (without the corresponding client message). §4.4",
        edits=(Site("is_certificate", "drop-check", "certificate_pre_prepare_verifies"),),
    ),
    Mutation(
        id="pbft.certificate_prepares_verify",
        title="A prepared certificate's prepares may have any signatures.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "new_view_is_complete", "agreement_across_views"),
        clause="2f matching, valid prepare messages signed by different backups. §4.4",
        edits=(Site("is_certificate", "drop-check", "certificate_prepares_verify"),),
    ),
    Mutation(
        id="pbft.certificate_prepares_match",
        title="A prepared certificate's prepares may be for another digest, number or view.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "new_view_is_complete", "agreement_across_views"),
        clause="2f matching, valid prepares with the same view, sequence number, and the digest of m. §4.4",
        edits=(Site("is_certificate", "drop-check", "certificate_prepares_match"),),
    ),
    Mutation(
        id="pbft.certificate_from_primary",
        title="A prepared certificate's pre-prepare may be anybody's.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum",),
        clause="A valid pre-prepare message (without the corresponding client message). §4.4",
        edits=(Site("is_certificate", "drop-check", "certificate_from_primary"),),
    ),
    Mutation(
        id="pbft.certificate_by_two_f_backups",
        title="A prepared certificate may have too few prepares.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "new_view_is_complete", "agreement_across_views"),
        clause="2f matching, valid prepare messages signed by different backups. §4.4",
        edits=(Site("is_certificate", "drop-check", "certificate_by_two_f_backups"),),
    ),
    Mutation(
        id="pbft.certificate_of_earlier_view",
        title="A VIEW-CHANGE may show certificates of the very view that it asks for, or later ones.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("new_view_by_quorum",),
        clause="Each request that prepared at i: before it left for view v + 1. §4.4",
        edits=(Site("is_certificate", "drop-check", "certificate_of_earlier_view"),),
    ),
    Mutation(
        id="pbft.certificate_within_water_marks",
        title="A VIEW-CHANGE may show certificates of numbers that its checkpoint covers, or that are far ahead.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum",),
        clause="Each request that prepared at i with a sequence number higher than n. §4.4",
        edits=(Site("is_certificate", "drop-check", "certificate_within_water_marks"),),
    ),
    Mutation(
        id="pbft.certificates_of_a_count",
        title="A prepared certificate's prepares are counted by message, not by backup.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("new_view_by_quorum", "new_view_is_complete", "agreement_across_views"),
        clause="2f matching, valid prepare messages signed by different backups. §4.4",
        edits=(Replace("is_certificate", "len({x.signer for x in c.prepares} - {p.signer})", "len(c.prepares)"),),
    ),
    Mutation(
        id="pbft.joined_by_a_correct_replica",
        title="A single replica can make all others change views.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("views_follow_correct_replicas", "progress_after_heal"),
        clause="A faulty replica cannot cause a view change by sending a view-change message. §4.5.2",
        edits=(Site("join_view_change", "drop-check", "joined_by_a_correct_replica"),),
        go=(
            Lines(
                "joinViewChange",
                "joined := r.Holds(\n"
                '\tstep.Check("joined_by_a_correct_replica", r.hasACorrect(len(later))),\n'
                ")\nif len(later) > 0 && joined {",
                "if len(later) > 0 {",
            ),
        ),
    ),
    Mutation(
        id="pbft.nobody_joins",
        title="f + 1 view changes of others do not make a replica join them before its timer expires.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="A replica that receives f + 1 valid view-changes for greater views sends one for the smallest. §4.5.2",
        edits=(Replace("handle_view_change", "self.join_view_change()", ""),),
        sources=("besu-eth/besu#1822",),
        aliases=("B14",),
    ),
    Mutation(
        id="pbft.new_view_asked_by_quorum",
        title="The next primary begins its view as soon as anybody asks for it.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum",),
        clause="When the primary of view v + 1 receives 2f valid view-changes from other replicas. §4.4",
        edits=(Site("begin_new_view", "drop-check", "new_view_asked_by_quorum"),),
    ),
    Mutation(
        id="pbft.new_view_signature_verifies",
        title="A backup takes anybody's NEW-VIEW for the primary's.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum",),
        clause="A backup accepts a new-view message if it is signed properly. §4.4",
        edits=(Site("handle_new_view", "drop-check", "new_view_signature_verifies"),),
    ),
    Mutation(
        id="pbft.new_view_from_its_primary",
        title="A backup accepts a NEW-VIEW of any replica.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum",),
        clause="The primary p of view v + 1 multicasts a new-view message. §4.4",
        edits=(Site("handle_new_view", "drop-check", "new_view_from_its_primary"),),
    ),
    Mutation(
        id="pbft.new_view_not_left",
        title="A replica goes back to a view that it has left, or enters its view once more.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("left_views_stay_left", "new_view_is_complete", "one_digest_in_view", "agreement_across_views"),
        clause="It enters view v + 1; after a view-change it accepts nothing of earlier views. §4.4",
        edits=(Site("handle_new_view", "drop-check", "new_view_not_left"),),
    ),
    Mutation(
        id="pbft.new_view_by_quorum",
        title="A NEW-VIEW may rest on too few view changes.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "agreement_across_views"),
        clause="The view-change messages it contains are valid for view v + 1: a set of 2f + 1. §4.4",
        edits=(Site("handle_new_view", "drop-check", "new_view_by_quorum"),),
    ),
    Mutation(
        id="pbft.new_view_of_its_view_changes",
        title="A NEW-VIEW may rest on view changes to other views.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("new_view_by_quorum", "agreement_across_views"),
        clause="The view-change messages it contains are valid for view v + 1. §4.4",
        edits=(Site("handle_new_view", "drop-check", "new_view_of_its_view_changes"),),
    ),
    Mutation(
        id="pbft.new_view_changes_valid",
        title="A NEW-VIEW may rest on view changes that are not valid.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("new_view_by_quorum", "agreement_across_views", "stable_by_quorum"),
        clause="The view-change messages it contains are valid for view v + 1. §4.4",
        edits=(Site("handle_new_view", "drop-check", "new_view_changes_valid"),),
    ),
    Mutation(
        id="pbft.new_view_carries_over",
        title="Backups believe the new primary which requests the earlier views have left to do.",
        kind=DriftKind.MISSING_CHECK,
        breaks=(
            "new_view_is_complete",
            "proposed_by_the_primary",
            "left_views_stay_left",
            "agreement_across_views",
            "one_digest_in_view",
        ),
        clause="The set O is correct; it verifies this by a computation like that of the primary. §4.4",
        edits=(Site("handle_new_view", "drop-check", "new_view_carries_over"),),
    ),
    Mutation(
        id="pbft.nothing_carried_over",
        title="A new view begins with none of the requests that may be committed already.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("new_view_is_complete", "agreement_across_views"),
        clause="A new pre-prepare for each sequence number between min-s and max-s. §4.4",
        edits=(
            Replace(
                "carried_over", "numbers = range(stable + 1, max(latest, default=stable) + 1)", "numbers = range(0)"
            ),
        ),
        sources=("johnhenry/raijin#8",),
        aliases=("B3",),
        go=(
            Lines(
                "carriedOver",
                "for number := stable + 1; number <= highest; number++ {",
                "for number := stable + 1; number < number; number++ {",
            ),
        ),
    ),
    Mutation(
        id="pbft.carries_over_the_first",
        title="A new view carries over the first certificate that is shown, whatever its view.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("new_view_is_complete", "agreement_across_views"),
        clause="The digest in the pre-prepare with the highest view number in V. §4.4",
        edits=(
            Replace(
                "carried_over", "p.number not in latest or latest[p.number].view < p.view", "p.number not in latest"
            ),
        ),
        sources=("Autobahn, as analysed by Specula: autobahn/bug2-report.md",),
        aliases=("B9",),
        go=(
            Lines(
                "carriedOver",
                "if known, ok := latest[p.Number]; !ok || known.View < p.View {",
                "if _, ok := latest[p.Number]; !ok {",
            ),
        ),
    ),
    Mutation(
        id="pbft.carries_over_the_lowest_view",
        title="A new view carries over the certificate of the lowest view.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("new_view_is_complete", "agreement_across_views"),
        clause="The digest in the pre-prepare with the highest view number in V. §4.4",
        edits=(Replace("carried_over", "latest[p.number].view < p.view", "latest[p.number].view > p.view"),),
        go=(
            Lines(
                "carriedOver",
                "if known, ok := latest[p.Number]; !ok || known.View < p.View {",
                "if known, ok := latest[p.Number]; !ok || known.View > p.View {",
            ),
        ),
    ),
    Mutation(
        id="pbft.gaps_closed_up",
        title="A new view gives the requests that it carries over new numbers, so that there are no gaps.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("new_view_is_complete", "agreement_across_views"),
        clause="In the gaps it creates a pre-prepare for a special null request. §4.4",
        edits=(
            Replace(
                "carried_over",
                "numbers = range(stable + 1, max(latest, default=stable) + 1)",
                "latest = dict(enumerate((latest[n] for n in sorted(latest) if n > stable), stable + 1))\n"
                "numbers = range(stable + 1, max(latest, default=stable) + 1)",
            ),
        ),
    ),
    Mutation(
        id="pbft.carries_over_from_the_earliest_checkpoint",
        title="A new view starts from the earliest stable checkpoint that is shown.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("new_view_is_complete", "agreement_across_views"),
        clause="min-s is the sequence number of the latest stable checkpoint in V. §4.4",
        edits=(
            Replace(
                "carried_over",
                "stable, _ = self.latest_stable(view_changes)",
                "stable = min(m.number for m in view_changes)",
            ),
        ),
    ),
    Mutation(
        id="pbft.executed_not_shown",
        title="A view change shows no certificates of what the replica has executed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("view_change_shows_all", "agreement_across_views"),
        clause="P has a set for each request that prepared at i with a sequence number higher than n. §4.4",
        edits=(
            Replace(
                "ask_for_view",
                "tuple(self.prepared[number] for number in sorted(self.prepared))",
                "tuple(self.prepared[number] for number in sorted(self.prepared) if number > self.executed)",
            ),
        ),
        sources=("besu-eth/besu#1734",),
        aliases=("B13",),
        go=(
            Lines(
                "askForView",
                "certificates = append(certificates, r.prepared.At(number))",
                "if number > r.executed {\n\tcertificates = append(certificates, r.prepared.At(number))\n}",
            ),
        ),
    ),
    Mutation(
        id="pbft.only_the_last_view_shown",
        title="A view change shows what prepared in the view that the replica leaves, and nothing of earlier ones.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("view_change_shows_all", "agreement_across_views"),
        clause="P has a set for each request that prepared at i with a sequence number higher than n. §4.4",
        edits=(
            Replace(
                "ask_for_view",
                "tuple(self.prepared[number] for number in sorted(self.prepared))",
                "tuple(self.prepared[number] for number in sorted(self.prepared) "
                "if self.prepared[number].pre_prepare.view == self.view - 1)",
            ),
        ),
        go=(
            Lines(
                "askForView",
                "certificates = append(certificates, r.prepared.At(number))",
                "if c := r.prepared.At(number); c.PrePrepare.View == r.Disk.View-1 {\n"
                "\tcertificates = append(certificates, c)\n"
                "}",
            ),
        ),
    ),
    Mutation(
        id="pbft.accepts_while_changing_views",
        title="A replica goes on in its view after it has asked for the next.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("left_views_stay_left", "agreement_across_views", "view_change_shows_all"),
        clause="It stops accepting messages (other than checkpoint, view-change, and new-view messages). §4.4",
        edits=(
            Replace(
                "is_current",
                "self.active and view == self.view",
                "view == (self.view if self.active else self.view - 1)",
            ),
        ),
    ),
    Mutation(
        id="pbft.start_view_change/drop-sync/1",
        title="A replica asks for a view, and that it has left the earlier one is not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("left_views_stay_left", "view_change_shows_all", "agreement_across_views"),
        clause="It stops accepting messages (other than checkpoint, view-change, and new-view messages). §4.4",
        edits=(Site("start_view_change", "drop-sync", "1"),),
        go=(Lines("startViewChange", "r.Sync()", ""),),
    ),
    Mutation(
        id="pbft.enter/drop-sync/1",
        title="A replica acts in a view, and that it has entered it is not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("left_views_stay_left", "one_digest_in_view"),
        clause="For each message in O it multicasts a prepare and adds the messages to its log. §4.4",
        edits=(Site("enter", "drop-sync", "1"),),
        go=(Lines("enter", "r.Sync()", ""),),
    ),
    Mutation(
        id="pbft.entered_before_its_checkpoint",
        title="A view is on disk before the checkpoint that it starts from, and a crash may come between.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("new_view_is_complete", "agreement_across_views"),
        clause="It inserts the proof of stability for the checkpoint with sequence number min-s in its log. §4.4",
        edits=(
            Replace(
                "enter",
                "self.stabilize(self.latest_stable(m.view_changes)[1])\n"
                "self.disk.write(view=m.view, new_view=m)\n"
                "self.sync()",
                "self.disk.write(view=m.view, new_view=m)\n"
                "self.sync()\n"
                "self.stabilize(self.latest_stable(m.view_changes)[1])",
            ),
        ),
    ),
    Mutation(
        id="pbft.covered_certificates_shown",
        title="A replica that restarts shows certificates which its stable checkpoint covers, and nobody believes it.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="Each request that prepared at i with a sequence number higher than n. §4.4",
        edits=(
            Replace(
                "Pbft.start",
                "{c.pre_prepare.number: c for c in disk.prepared if c.pre_prepare.number > self.low}",
                "{c.pre_prepare.number: c for c in disk.prepared}",
            ),
        ),
    ),
    Mutation(
        id="pbft.restart_does_not_ask",
        title="A replica that restarts in the middle of a view change does not ask for the view again.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="Liveness: at least 2f + 1 correct replicas are in the same view for long enough. §4.5.2",
        edits=(Replace("Pbft.start", "self.ask_again()", ""),),
    ),
    Mutation(
        id="pbft.primary_never_suspects_itself",
        title="A primary waits for ever, though others may have left its view.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("progress_after_heal",),
        clause="Liveness: at least 2f + 1 correct replicas are in the same view for long enough. §4.5.2",
        edits=(
            Replace(
                "tick",
                "bool(self.pending) if self.active else self.is_quorum(left)",
                "bool(self.pending) and self.me != self.primary if self.active else self.is_quorum(left)",
            ),
        ),
    ),
    Mutation(
        id="pbft.nobody_suspects_the_primary",
        title="A faulty primary stays for ever.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("progress_after_heal",),
        clause="If the timer of backup i expires in view v, it starts a view change. §4.4",
        edits=(
            Replace(
                "tick",
                "bool(self.pending) if self.active else self.is_quorum(left)",
                "not self.active and self.is_quorum(left)",
            ),
        ),
    ),
    Mutation(
        id="pbft.no_next_view_change",
        title="Who has asked for a view waits for its NEW-VIEW for ever, though its primary may be faulty.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("progress_after_heal",),
        clause="If the timer expires before it receives a valid new-view, it starts the view change for v + 2. §4.5.2",
        edits=(
            Replace(
                "tick",
                "bool(self.pending) if self.active else self.is_quorum(left)",
                "bool(self.pending) and self.active",
            ),
        ),
    ),
    Mutation(
        id="pbft.timeout_stays",
        title="The view-change timeout does not grow.",
        kind=DriftKind.FORGOTTEN_RESET,
        clause="This time it will wait 2T before starting a view change for view v + 3. §4.5.2",
        edits=(
            Replace("tick", "self.switches.patience << min(self.failures, MOST_DOUBLINGS)", "self.switches.patience"),
        ),
    ),
)

CLIENTS = (
    Mutation(
        id="pbft.reply_signature_verifies",
        title="A client counts replies whose signatures do not verify.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("results_are_true",),
        clause="f + 1 replies with valid signatures from different replicas. §4.1",
        edits=(Site("handle_reply", "drop-check", "reply_signature_verifies"),),
    ),
    Mutation(
        id="pbft.reply_to_this_request",
        title="A client takes the replies to an earlier request for those to its present one.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("results_are_true", "linearizability"),
        clause="With the same t and r: t is the timestamp of the corresponding request. §4.1",
        edits=(Site("handle_reply", "drop-check", "reply_to_this_request"),),
    ),
    Mutation(
        id="pbft.result_by_a_correct_replica",
        title="A client believes the first reply.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("results_are_true", "linearizability"),
        clause="The client waits for f + 1 replies, since at most f replicas can be faulty. §4.1",
        edits=(Site("accept_result", "drop-check", "result_by_a_correct_replica"),),
        go=(
            Lines(
                "acceptResult",
                "accepted := c.Holds(\n"
                '\tstep.Check("result_by_a_correct_replica", c.hasACorrect(len(matching))),\n'
                ")\nif accepted && c.asking != nil {",
                "if c.asking != nil {",
            ),
        ),
    ),
    Mutation(
        id="pbft.replies_without_results",
        title="A client takes a result when f + 1 replicas have answered, whatever they say.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("results_are_true", "linearizability"),
        clause="With the same t and r. §4.1",
        edits=(Replace("accept_result", "m.result == result", "True"),),
    ),
    Mutation(
        id="pbft.replies_are_a_count",
        title="A client counts replies by message, so that a replica which sends two counts twice.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("results_are_true", "linearizability"),
        clause="f + 1 replies with valid signatures from different replicas. §4.1",
        edits=(Replace("handle_reply", "self.replies[m.signer] = m", "self.replies[str(len(self.replies))] = m"),),
    ),
    Mutation(
        id="pbft.client_asks_only_the_primary",
        title="A client asks again only the primary that it knows.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="If the client does not receive replies soon enough, it broadcasts the request to all replicas. §4.1",
        edits=(
            Replace("ask_all", "self.broadcast(self.asking)", "self.send(self.primary_of(self.view), self.asking)"),
        ),
    ),
    Mutation(
        id="pbft.no_second_reply",
        title="A replica does not answer again what it has executed, though its reply may be lost.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="If the request has already been processed, the replicas simply re-send the reply. §4.1",
        edits=(Replace("handle_request", "self.reply_to(m.signer)", "pass"),),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="pbft.tentative_execution",
        title="Requests are executed when they have prepared, and clients go on believing f + 1.",
        kind=DriftKind.OPTIMISATION,
        breaks=("committed_by_quorum", "agreement"),
        clause="Tentative execution needs 2f + 1 matching replies and a way back. §5.1.2",
        message="Execute as soon as a request has prepared\n\nNobody else can prepare another request in this view and "
        "number any more, so there is no need to wait for\nthe commits: they still go out, and order the log. "
        "Saves one message delay of five.",
        edits=(
            Replace(
                "check_prepared",
                "m = Commit(p.view, p.number, p.digest, self.me)",
                "self.committed[p.number] = p.digest\nself.execute()\nm = Commit(p.view, p.number, p.digest, self.me)",
            ),
        ),
    ),
    Mutation(
        id="pbft.checkpoint_of_f_plus_one",
        title="f + 1 CHECKPOINTs make a checkpoint stable.",
        kind=DriftKind.OPTIMISATION,
        breaks=("stable_by_quorum", "new_view_by_quorum"),
        clause="The 2f + 1 messages are the proof of correctness; f + 1 of them are of correct replicas. §4.3, §4.4",
        message="Cut the log sooner\n\nOf f + 1 replicas one is correct, and a correct replica announces only a state "
        "that it has: that proves\nthe state. Waiting for f more keeps the log long when a replica is slow.",
        edits=(
            Replace("count_checkpoint", "self.is_quorum(proof)", "self.has_a_correct(proof)"),
            Replace(
                "is_stable", "self.is_quorum(m.signer for m in proof)", "self.has_a_correct(m.signer for m in proof)"
            ),
        ),
    ),
    Mutation(
        id="pbft.view_change_of_f_plus_one",
        title="f + 1 VIEW-CHANGEs begin a view.",
        kind=DriftKind.OPTIMISATION,
        breaks=("new_view_is_complete", "new_view_by_quorum", "agreement_across_views"),
        clause="V has 2f + 1 view changes: it meets every quorum that may have committed something. §4.4",
        message="Faster view changes\n\nf + 1 replicas have left the view, so a correct one has, and the others will "
        "join: no need to wait for\nthem. The new primary begins at once; the rest take part when they get its "
        "NEW-VIEW.",
        edits=(
            Replace("begin_new_view", "self.is_quorum(asking)", "self.has_a_correct(asking)"),
            Replace(
                "handle_new_view",
                "self.is_quorum(x.signer for x in m.view_changes)",
                "self.has_a_correct(x.signer for x in m.view_changes)",
            ),
        ),
    ),
    Mutation(
        id="pbft.state_before_proof",
        title="A replica that lags behind takes the first state that it is sent, and its certificate later.",
        kind=DriftKind.OPTIMISATION,
        breaks=("checkpoint_agreement", "order_of_execution"),
        clause="Replicas whose checkpoint messages certified its correctness in V. §4.4",
        message="Catch up without a round of certificates\n\nA replica that lags behind knows the checkpoint's number "
        "from the proof that made it stable, so a\nstate with this number is the one it needs. Comparing digests "
        "of large states is slow.",
        edits=(
            Replace(
                "handle_fetched_state",
                "usable = holds(\n"
                "    fetched_state_stable=self.is_stable(m.proof, number),\n"
                "    fetched_state_of_the_proof=digest_of(m.snapshot.state) in {x.digest for x in m.proof},\n"
                ")",
                "usable = number == self.low",
            ),
            Replace(
                "handle_fetched_state",
                "self.disk.write(snapshots=(m.snapshot,), proof=m.proof)",
                "self.disk.write(snapshots=(m.snapshot,))",
            ),
        ),
    ),
    Mutation(
        id="pbft.group_commit",
        title="Certificates are synced one event late, in groups.",
        kind=DriftKind.OPTIMISATION,
        breaks=("commit_is_on_disk", "view_change_shows_all"),
        clause="The log has what proves that the request prepared, for the next view change. §4.2, §4.4",
        message="Group the syncs of certificates\n\nA certificate is made of messages that 2f + 1 replicas have, so it "
        "need not be on this disk before\nthe COMMIT leaves. One sync for all that is written until the next request "
        "comes in.",
        edits=(
            Replace("check_prepared", "self.sync()", ""),
            Replace(
                "handle_request",
                "if not self.is_valid_request(m):\n    return",
                "self.sync()\nif not self.is_valid_request(m):\n    return",
            ),
        ),
    ),
)

CATALOGUE = NORMAL_CASE + CHECKPOINTS + VIEW_CHANGES + CLIENTS + OPTIMISATIONS

BEYOND = (
    Beyond("B5", "A validator unlocks when a quorum votes for nothing.", "locks, and votes for nothing"),
    Beyond("B7", "A timeout is signed in a round that the replica has voted in.", "timeouts that carry votes"),
    Beyond("B10", "Three blocks commit although their views do not follow one another.", "a chain of blocks"),
    Beyond("B20", "A quorum of votes for nothing still waits for the timer.", "votes for nothing"),
)
