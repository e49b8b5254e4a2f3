"""Drift of elections that leave a leader alone and of reads beside the log: what the thesis warns of, what systems got
wrong.

A row like D1 is a bug that was seen in the systems which its sources name; § is one of Ongaro's thesis
(`protocols/raft_whole.py`). `breaks` names the invariants that may break first, as hunts saw them, the commonest first.
`mutations/expected/raft_whole.toml` has the measurements, `docs/raft_whole-mutants.md` is a table of everything.
"""

from mutations.entry import Beyond, DriftKind, Mutation, Replace, Site

DISTURBANCE = (
    Mutation(
        id="raft_whole.no_leader_to_disturb",
        title="A server that hears a leader votes for candidates, and campaigns itself when its timer is early.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="It grants no vote within the minimum election timeout of hearing from a leader. §4.2.3, §6.4.1",
        edits=(Site("admits_candidates", "drop-check", "no_leader_to_disturb"),),
    ),
    Mutation(
        id="raft_whole.partially_connected_depose",
        title="There is neither PreVote nor stickiness, so that servers which do not hear the leader depose it.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("stable_leader", "reads_are_confirmed", "lease_safety", "linearizability"),
        clause="It does not update its term or grant its vote within the minimum election timeout. §4.2.3, §9.6",
        edits=(
            Site("admits_candidates", "drop-check", "no_leader_to_disturb"),
            Site("handle_pre_vote", "drop-check", "pre_vote_without_leader"),
        ),
        sources=("decentralizedthoughts.github.io/2020-12-12-raft-liveness-full-omission",),
        aliases=("R16",),
    ),
    Mutation(
        id="raft_whole.pre_vote_without_leader",
        title="A server that hears a leader would vote for somebody else.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("stable_leader",),
        clause="Voters have not received heartbeats from a valid leader for at least an election timeout. §9.6",
        edits=(Site("handle_pre_vote", "drop-check", "pre_vote_without_leader"),),
    ),
    Mutation(
        id="raft_whole.leader_grants_pre_votes",
        title="A leader does not count as a server that hears one, and grants pre-votes against itself.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("stable_leader",),
        clause="Voters have not received heartbeats from a valid leader for at least an election timeout. §9.6",
        edits=(
            Replace(
                "hears_leader",
                "self.role is Role.LEADER or self.now < self.heard_at + ELECTION_TIMEOUT[0]",
                "self.now < self.heard_at + ELECTION_TIMEOUT[0]",
            ),
        ),
        sources=("baidu/braft#365", "baidu/braft#492"),
        aliases=("R15",),
    ),
    Mutation(
        id="raft_whole.followers_do_not_stick",
        title="Only a leader sticks to itself; its followers vote for whoever asks.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability", "stable_leader"),
        clause="If a server receives RequestVote while it hears from a current leader, it ignores it. §4.2.3",
        edits=(
            Replace(
                "hears_leader",
                "self.role is Role.LEADER or self.now < self.heard_at + ELECTION_TIMEOUT[0]",
                "self.role is Role.LEADER",
            ),
        ),
    ),
    Mutation(
        id="raft_whole.restart_forgets_the_leader",
        title="A server that restarts votes at once, although it may have acknowledged a lease before it crashed.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="While the leader holds a lease, a majority elects nobody else. §6.4.1",
        edits=(Replace("start", "self.heard_at = self.now", "self.heard_at = self.now - ELECTION_TIMEOUT[0]"),),
    ),
    Mutation(
        id="raft_whole.early_timer",
        title="A server whose election timer is early campaigns although it hears a leader.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="No server begins an election within an election timeout of hearing from a leader. §6.4.1",
        edits=(Replace("start_election", "if not self.admits_candidates():\n    return", ""),),
    ),
    Mutation(
        id="raft_whole.lease_without_stickiness",
        title="Stickiness is a switch of its own, and leases do not ask for it.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="A lease rests on servers that do not vote within the minimum election timeout. §6.4.1, §4.2.3",
        edits=(
            Replace(
                "admits_candidates",
                'not self.switches.stickiness and self.switches.reads != "lease"',
                "not self.switches.stickiness",
            ),
        ),
    ),
    Mutation(
        id="raft_whole.words_of_old_leaders",
        title="A message of the leader of an earlier term counts as hearing from a leader.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        clause="Hearing from a current leader: the term of the message is at least the server's. §4.2.3",
        edits=(
            Replace(
                "receive",
                "isinstance(m, AppendEntries | InstallSnapshot | Heartbeat) and m.term == self.disk.term",
                "isinstance(m, AppendEntries | InstallSnapshot | Heartbeat)",
            ),
        ),
    ),
    Mutation(
        id="raft_whole.every_candidate_has_leave",
        title="Every candidate says that the leader called it.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("leave_was_given", "reads_are_confirmed", "lease_safety", "linearizability"),
        clause="A special flag says that the leader gave permission to disrupt it. §4.2.3",
        edits=(
            Replace(
                "campaign",
                "super().start_election()",
                "super().start_election()\n"
                "if self.role is Role.CANDIDATE:\n"
                "    self.broadcast(CalledVote(self.disk.term, self.last_index, self.term_at(self.last_index)))",
            ),
        ),
    ),
    Mutation(
        id="raft_whole.timeout_now_current",
        title="A TimeoutNow of an earlier term deposes the leader of this one.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("leave_was_given", "reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The prior leader sends TimeoutNow to the target. §3.10; stale requests are refused, §3.3",
        edits=(Site("handle_timeout_now", "drop-check", "timeout_now_current"),),
    ),
)

PRE_VOTE = (
    Mutation(
        id="raft_whole.pre_vote_for_new_term",
        title="A server would vote in a term that it has left behind.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        clause="The candidate learns from a majority that they would grant it their votes. §9.6",
        edits=(Site("handle_pre_vote", "drop-check", "pre_vote_for_new_term"),),
    ),
    Mutation(
        id="raft_whole.pre_votes_of_lower_terms_ignored",
        title="A pre-vote for a lower term gets no answer, so its sender never learns of the newer term.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("progress_after_heal",),
        clause="A server whose term is smaller updates it to the larger one. §3.3",
        edits=(
            Replace(
                "handle_pre_vote",
                "self.send(src, PreVoted(self.disk.term, m.term, granted))",
                "if m.term > self.disk.term:\n    self.send(src, PreVoted(self.disk.term, m.term, granted))",
            ),
        ),
        sources=("tikv/tikv PR #3270", "etcd-io/etcd#9586"),
        aliases=("R14",),
    ),
    Mutation(
        id="raft_whole.pre_vote_raises_term",
        title="A pre-vote for a newer term begins it for whoever receives it.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("stable_leader",),
        clause="A candidate only increments its term if it first learns that a majority would vote for it. §9.6",
        edits=(
            Replace(
                "receive",
                "self.handle_pre_vote(src, m)",
                "if m.term > self.disk.term:\n    self.update_term(m.term)\nself.handle_pre_vote(src, m)",
            ),
            Replace("handle_pre_vote", "m.term > self.disk.term", "m.term >= self.disk.term"),
        ),
    ),
    Mutation(
        id="raft_whole.pre_vote_granted",
        title="A refusal counts as a pre-vote.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("stable_leader",),
        clause="It first learns from a majority that they would be willing to grant it their votes. §9.6",
        edits=(Site("handle_pre_vote_response", "drop-check", "pre_vote_granted"),),
    ),
    Mutation(
        id="raft_whole.still_asking",
        title="Pre-votes count that come when nobody asks any more.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("lease_safety",),
        clause="It first learns from a majority that they would be willing to grant it their votes. §9.6",
        edits=(Site("handle_pre_vote_response", "drop-check", "still_asking"),),
    ),
    Mutation(
        id="raft_whole.pre_vote_of_this_round",
        title="Pre-votes for an earlier term count for the next one.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        clause="It first learns from a majority that they would be willing to grant it their votes. §9.6",
        edits=(Site("handle_pre_vote_response", "drop-check", "pre_vote_of_this_round"),),
    ),
    Mutation(
        id="raft_whole.pre_votes_from_majority",
        title="A server campaigns as soon as it has asked for pre-votes.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("stable_leader",),
        clause="It first learns from a majority that they would be willing to grant it their votes. §9.6",
        edits=(Site("count_pre_votes", "drop-check", "pre_votes_from_majority"),),
    ),
    Mutation(
        id="raft_whole.pre_votes_kept",
        title="A server that hears a leader while it asks for pre-votes goes on counting them.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("lease_safety", "stable_leader"),
        clause="Whoever hears from a leader is its follower. §3.4, §9.6",
        edits=(Replace("hear_leader", "self.pre_votes = set()", ""),),
    ),
)

QUORUM = (
    Mutation(
        id="raft_whole.quorum_in_contact",
        title="A leader that hears from nobody leads on.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("cut_off_leader_steps_down", "progress_after_heal"),
        clause="A leader steps down if an election timeout elapses without a round of heartbeats to a majority. §6.2",
        edits=(Site("reaches_quorum", "drop-check", "quorum_in_contact"),),
    ),
    Mutation(
        id="raft_whole.contact_is_a_message_sent",
        title="A leader counts the servers that it sends to, not those that answer.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("cut_off_leader_steps_down", "progress_after_heal"),
        clause="A leader steps down if an election timeout elapses without a round of heartbeats to a majority. §6.2",
        edits=(
            Replace(
                "send_heartbeats",
                "super().send_heartbeats()",
                "super().send_heartbeats()\nself.contact_at.update(dict.fromkeys(self.peers, self.now))",
            ),
        ),
    ),
    Mutation(
        id="raft_whole.uncertain_is_told_as_failed",
        title="A leader that steps down tells its clients that their commands failed, which may yet be committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The leader may have committed the entry, or another may; the client must not take it for undone. §6.3",
        edits=(
            Replace("start", "self.leader = None", "self.leader = None\nself.waiting = {}"),
            Replace(
                "become_follower",
                "super().become_follower()",
                "for op in self.waiting.values():\n    self.refuse(op)\nsuper().become_follower()",
            ),
        ),
        sources=("RedisLabs/redisraft#23",),
        aliases=("R30",),
    ),
    Mutation(
        id="raft_whole.followers_apply_current_term",
        title="A follower applies only what ends in an entry of the current term, as if it were to commit it.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("followers_keep_up",),
        clause="The leader decides when it is safe to apply an entry; a follower that learns of it applies it. §3.5",
        edits=(
            Replace(
                "apply_committed",
                "super().apply_committed()",
                "if self.role is Role.LEADER or self.term_at(self.commit_index) == self.disk.term:\n"
                "    super().apply_committed()",
            ),
        ),
        sources=("RATIS-1161 (apache/ratis PR #289)",),
        aliases=("R33",),
    ),
)

READS = (
    Mutation(
        id="raft_whole.commit_index_known",
        title="A new leader takes its commit index for a read index before it has committed an entry of its term.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="If the leader has not yet marked an entry from its current term committed, it waits. §6.4, step 1",
        edits=(Site("begin_reads", "drop-check", "commit_index_known"),),
        sources=("etcd-io/etcd#7331", "tikv/tikv PR #9239", "tikv/tikv PR #6340", "RedisLabs/redisraft PR #22"),
        aliases=("D1",),
    ),
    Mutation(
        id="raft_whole.leadership_confirmed",
        title="A leader answers reads before a majority has acknowledged that it leads.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The leader makes sure that it has not been superseded: a round of heartbeats, a majority. §6.4, step 3",
        edits=(Site("confirm_reads", "drop-check", "leadership_confirmed"),),
        sources=("deventlab/d-engine#381",),
        aliases=("D3",),
    ),
    Mutation(
        id="raft_whole.confirm_reads/weaken-quorum/1",
        title="One acknowledgement fewer than a majority confirms a leader.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="Wait for acknowledgements from a majority of the cluster. §6.4, step 3",
        edits=(Site("confirm_reads", "weaken-quorum", "1"),),
    ),
    Mutation(
        id="raft_whole.acks_of_earlier_rounds",
        title="A heartbeat of any round of the reign confirms a read, also one from before it was asked.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The leader issues a new round of heartbeats, and waits for its acknowledgements. §6.4, step 3",
        edits=(Replace("who_acked", "self.acked.get(peer, 0) >= round", "self.acked.get(peer, 0) > 0"),),
    ),
    Mutation(
        id="raft_whole.acks_are_a_count",
        title="Acknowledgements are counted, so that a duplicate is two, and so are two rounds of one follower.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="Acknowledgements from a majority of the cluster: of different servers. §6.4, step 3",
        edits=(
            Replace("count_votes", "self.acked = {}", "self.acked = {}\nself.acks = []"),
            Replace(
                "handle_heartbeat_ack",
                "self.extend_lease(src, m.round)",
                "self.acks.append(m.round)\nself.extend_lease(src, m.round)",
            ),
            Replace(
                "confirm_reads",
                "self.is_majority(self.who_acked(read.round))",
                "1 + sum(round >= read.round for round in self.acks) > (1 + len(self.peers)) // 2",
            ),
        ),
    ),
    Mutation(
        id="raft_whole.heartbeat_current",
        title="A server acknowledges heartbeats of earlier terms, in its own term.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="If a server receives a request with a stale term number, it rejects the request. §3.3, §6.4",
        edits=(Site("handle_heartbeat", "drop-check", "heartbeat_current"),),
    ),
    Mutation(
        id="raft_whole.stale_heartbeat_is_answered_by_its_round",
        title="The answer to a heartbeat of an earlier term names its round, as if it were one of the present term.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The leader waits for acknowledgements of its own round. §6.4, step 3",
        edits=(
            Replace(
                "handle_heartbeat",
                "self.send(src, HeartbeatAck(self.disk.term, 0))",
                "self.send(src, HeartbeatAck(self.disk.term, m.round))",
            ),
        ),
    ),
    Mutation(
        id="raft_whole.heartbeat_ack_current",
        title="Acknowledgements of an earlier reign count in this one.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="Responses of other terms are ignored. §3.3; raft.tla, DropStaleResponse",
        edits=(Site("handle_heartbeat_ack", "drop-check", "heartbeat_ack_current"),),
    ),
    Mutation(
        id="raft_whole.newer_term_renews_the_lease",
        title="An answer to a heartbeat renews the lease whatever its term, and a newer one deposes nobody.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="If one server's term is smaller, it updates it; a leader whose term is stale steps down. §3.3",
        edits=(
            Replace("receive", "isinstance(m, PreVote)", "isinstance(m, PreVote | HeartbeatAck)"),
            Replace("receive", "self.handle_pre_vote(src, m)", "self.HANDLERS[type(m)](self, src, m)"),
            Replace(
                "handle_heartbeat",
                "self.send(src, HeartbeatAck(self.disk.term, 0))",
                "self.send(src, HeartbeatAck(self.disk.term, m.round))",
            ),
            Replace("handle_heartbeat_ack", "m.term == self.disk.term", "m.term >= self.disk.term"),
        ),
        sources=("hashicorp/raft#666",),
        aliases=("R11",),
    ),
    Mutation(
        id="raft_whole.heartbeat_ack_to_leader",
        title="A server that leads no more handles acknowledgements.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="What a leader knows of its peers is volatile state on leaders. §3.4",
        edits=(Site("handle_heartbeat_ack", "drop-check", "heartbeat_ack_to_leader"),),
    ),
    Mutation(
        id="raft_whole.read_index_from_leader",
        title="A server that does not lead gives read indexes to others.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure", "reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The follower asks the leader for a current readIndex. §6.4",
        edits=(Site("handle_read_index", "drop-check", "read_index_from_leader"),),
    ),
    Mutation(
        id="raft_whole.applied_to_read_index",
        title="A server answers a read before it has applied what the read must see.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="Wait for the state machine to advance at least as far as the readIndex. §6.4, step 4",
        edits=(Site("answer_reads", "drop-check", "applied_to_read_index"),),
    ),
    Mutation(
        id="raft_whole.follower_reads_by_its_own_commit_index",
        title="A follower takes its own commit index for the read index, and asks nobody.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The follower asks the leader for a current readIndex. §6.4",
        edits=(
            Replace(
                "request",
                "self.send(self.leader, ReadIndex(self.disk.term, op))",
                "self.handle_read_from(self.me, ReadFrom(self.disk.term, op, self.commit_index))",
            ),
        ),
    ),
    Mutation(
        id="raft_whole.reads_kept_over_reigns",
        title="Reads that wait for a round of heartbeats outlive the reign, and a round of the next one confirms them.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="A read index is of the leader that took it, and its own round confirms it. §6.4",
        edits=(
            Replace("start", "self.leader = None", "self.leader = None\nself.reads = []\nself.kept = {}"),
            Replace("become_follower", "self.reads = []", ""),
            Replace("become_follower", "self.asking = {}", "self.asking = self.kept"),
        ),
    ),
)

LEASES = (
    Mutation(
        id="raft_whole.lease_from_majority",
        title="A leader holds a lease that nobody gave.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="Once its heartbeats were acknowledged by a majority, the leader holds its lease. §6.4.1",
        edits=(Site("holds_lease", "drop-check", "lease_from_majority"),),
    ),
    Mutation(
        id="raft_whole.holds_lease/weaken-quorum/1",
        title="One promise fewer than a majority is a lease.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="Once its heartbeats were acknowledged by a majority, the leader holds its lease. §6.4.1",
        edits=(Site("holds_lease", "weaken-quorum", "1"),),
    ),
    Mutation(
        id="raft_whole.lease_not_given_up",
        title="A leader that hands over keeps its lease.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The leader expires its lease when it transfers leadership. §6.4.1, §3.10",
        edits=(Site("holds_lease", "drop-check", "lease_not_given_up"),),
    ),
    Mutation(
        id="raft_whole.lease_resumed_after_transfer",
        title="A leader that gave up a transfer takes its lease again, while its TimeoutNow is still on its way.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The leader expires its lease when it transfers leadership. §6.4.1, §3.10",
        edits=(Replace("holds_lease", "not self.gave_leave", "self.transferee is None"),),
    ),
    Mutation(
        id="raft_whole.lease_from_the_ack",
        title="A lease is counted from when the acknowledgement came, not from when the heartbeat was sent.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The lease is start + election timeout / clock drift bound, where start is before the sending. §6.4.1",
        edits=(Replace("extend_lease", "self.sent_at[round] + LEASE", "self.now + LEASE"),),
    ),
    Mutation(
        id="raft_whole.lease_without_drift",
        title="A lease is as long as the shortest election timeout, as if all clocks ran alike.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The lease is start + election timeout / clock drift bound. §6.4.1",
        edits=(
            Replace(
                "",
                "LEASE = ELECTION_TIMEOUT[0] * (1_000_000 - CLOCK_DRIFT) // (1_000_000 + CLOCK_DRIFT)",
                "LEASE = ELECTION_TIMEOUT[0]",
            ),
        ),
    ),
    Mutation(
        id="raft_whole.lease_as_long_as_the_longest_timeout",
        title="A lease is as long as the longest election timeout, not as the shortest.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="Within the minimum election timeout of hearing from a leader nobody grants a vote. §6.4.1, §4.2.3",
        edits=(
            Replace(
                "",
                "LEASE = ELECTION_TIMEOUT[0] * (1_000_000 - CLOCK_DRIFT) // (1_000_000 + CLOCK_DRIFT)",
                "LEASE = ELECTION_TIMEOUT[1] * (1_000_000 - CLOCK_DRIFT) // (1_000_000 + CLOCK_DRIFT)",
            ),
        ),
    ),
    Mutation(
        id="raft_whole.promises_kept_over_reigns",
        title="A leader counts on promises that were made to it in an earlier reign.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The leader holds a lease by its own heartbeats. §6.4.1",
        edits=(
            Replace("start", "self.leader = None", "self.leader = None\nself.promised = {}"),
            Replace("count_votes", "self.promised = {}", ""),
        ),
    ),
    Mutation(
        id="raft_whole.lease_before_own_commit",
        title="A lease answers reads at once, before the leader has committed an entry of its term.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The lease replaces step 3 of a read only; step 1 remains. §6.4, §6.4.1",
        edits=(
            Replace(
                "begin_reads",
                "self.term_at(self.commit_index) == self.disk.term",
                'self.term_at(self.commit_index) == self.disk.term or self.switches.reads == "lease"',
            ),
        ),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="raft_whole.reads_join_a_round",
        title="A read joins the round of heartbeats that is on its way, which began before it was asked.",
        kind=DriftKind.OPTIMISATION,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The leader issues a new round of heartbeats after it has noted the read index. §6.4, step 3",
        edits=(
            Replace("count_votes", "self.round = 0", "self.round = 0\nself.joinable = False"),
            Replace(
                "begin_reads",
                "self.start_round()",
                "if not self.joinable:  # else a round is on its way: its acknowledgements will do\n"
                "    self.start_round()",
            ),
            Replace(
                "start_round",
                "self.sent_at[self.round] = self.now",
                "self.sent_at[self.round] = self.now\nself.joinable = True",
            ),
            Replace(
                "confirm_reads",
                "waiting, self.reads = self.reads, []",
                "waiting, self.reads = self.reads, []\n"
                "self.joinable = self.joinable and not self.is_majority(self.who_acked(self.round))",
            ),
        ),
        message="""Share a round of heartbeats among reads

A busy leader sent a round of heartbeats for every single read. Reads that come while a round is on its way now wait
for that one: its acknowledgements say that we lead, which is all that they need. Halves the messages of a read-heavy
workload.
""",
    ),
    Mutation(
        id="raft_whole.appends_confirm_leadership",
        title="Any answer to an AppendEntries confirms the latest round of heartbeats and renews the lease.",
        kind=DriftKind.OPTIMISATION,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="Acknowledgements of the round that began after the read was asked. §6.4, step 3",
        edits=(
            Replace(
                "handle_append_response",
                "self.contact_at[src] = self.now",
                "self.contact_at[src] = self.now\n"
                "self.acked[src] = self.round  # it follows us, so that no heartbeat need tell us\n"
                "self.extend_lease(src, self.round)",
            ),
            Replace(
                "handle_append_response",
                "super().handle_append_response(src, m)",
                "super().handle_append_response(src, m)\nif self.role is Role.LEADER:\n    self.confirm_reads()",
            ),
        ),
        message="""Let AppendEntries answer for heartbeats

Followers that acknowledge an AppendEntries of our term follow us; waiting for a separate heartbeat acknowledgement
doubles the latency of reads under write load. Treat their answers as acknowledgements, and renew the lease by them.
""",
    ),
    Mutation(
        id="raft_whole.cached_read_index",
        title="Reads within a heartbeat interval of a confirmed one use its read index, without a round of their own.",
        kind=DriftKind.OPTIMISATION,
        breaks=("reads_are_confirmed", "lease_safety", "linearizability"),
        clause="The leader notes its commit index, and then confirms that it leads. §6.4, step 2 and 3",
        edits=(
            Replace("count_votes", "self.round = 0", "self.round = 0\nself.confirmed_at = -ELECTION_TIMEOUT[0]"),
            Replace(
                "begin_reads",
                'self.switches.reads == "lease" and self.holds_lease()',
                "self.now < self.confirmed_at + ELECTION_TIMEOUT[0] // 2 or "
                '(self.switches.reads == "lease" and self.holds_lease())',
            ),
            Replace(
                "handle_heartbeat_ack",
                "self.confirm_reads()",
                "if self.is_majority(self.who_acked(self.round)):\n"
                "    self.confirmed_at = self.now\n"
                "self.confirm_reads()",
            ),
        ),
        message="""Reuse a confirmation for reads that follow closely

Leadership hardly ever changes within half an election timeout, so a read that comes right after a confirmed one need
not pay for a round of its own.
""",
    ),
)

CATALOGUE = (*DISTURBANCE, *PRE_VOTE, *QUORUM, *READS, *LEASES, *OPTIMISATIONS)

BEYOND = (
    Beyond(
        row="R12",
        title="A voter refuses the candidate that it voted for when that one asks again.",
        needs="a candidate that asks again in the same term: as in the core it asks once, and then in the next term",
    ),
)
