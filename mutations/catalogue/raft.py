"""Drift of Raft's core: what its paper warns of, and what real systems got wrong.

A row like R1 is a bug that was seen in the systems which its sources name; § and Fig. are those of the Raft paper
(`protocols/raft.py`). `breaks` names the invariants that may break first, as hunts of some forty seeds saw them, the
commonest first. `mutations/expected/raft.toml` has the measurements, `docs/raft-mutants.md` is a table of everything.
"""

from mutations.entry import Beyond, DriftKind, Mutation, Replace, Site

ELECTIONS = (
    Mutation(
        id="raft.vote_once_per_term",
        title="A server votes for whoever asks, as often as it is asked.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("election_safety", "log_matching"),
        clause="Grant only if votedFor is null or the candidate. Fig. 2, RequestVote receiver 2; §5.2",
        edits=(Site("handle_request_vote", "drop-check", "vote_once_per_term"),),
    ),
    Mutation(
        id="raft.log_up_to_date",
        title="A server votes for candidates whose log is behind its own.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("leader_completeness",),
        clause="The candidate's log is at least as up-to-date as the voter's. Fig. 2, RequestVote receiver 2; §5.4.1",
        edits=(Site("may_elect", "drop-check", "log_up_to_date"),),
    ),
    Mutation(
        id="raft.vote_response_current",
        title="A vote of an earlier term counts in the present candidacy.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("election_safety", "leader_completeness", "log_matching"),
        clause="A candidate needs votes of a majority for the same term. §5.2; raft.tla, DropStaleResponse",
        edits=(Site("handle_vote_response", "drop-check", "vote_response_current"),),
        sources=("andreev-io/little-raft#44",),
        aliases=("R4",),
    ),
    Mutation(
        id="raft.request_vote_current",
        title="A request for a vote in an earlier term gets the vote of the present one.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("leader_completeness",),
        clause="Refuse if term < currentTerm. Fig. 2, RequestVote receiver 1; §5.1",
        edits=(Site("handle_request_vote", "drop-check", "request_vote_current"),),
    ),
    Mutation(
        id="raft.still_candidate",
        title="Votes count although their receiver is no candidate any more.",
        kind=DriftKind.MISSING_CHECK,
        clause="A candidate becomes leader by votes of a majority. Fig. 2, candidates 2; §5.2",
        edits=(Site("handle_vote_response", "drop-check", "still_candidate"),),
    ),
    Mutation(
        id="raft.vote_granted",
        title="A refusal counts as a vote.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("leader_completeness", "election_safety"),
        clause="voteGranted: true means that the candidate received the vote. Fig. 2, RequestVote results",
        edits=(Site("handle_vote_response", "drop-check", "vote_granted"),),
    ),
    Mutation(
        id="raft.refusals_count",
        title="Only refusals count as votes.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("election_safety", "leader_completeness"),
        clause="voteGranted: true means that the candidate received the vote. Fig. 2, RequestVote results",
        edits=(Replace("handle_vote_response", "m.granted", "not m.granted"),),
    ),
    Mutation(
        id="raft.votes_from_majority",
        title="A candidate leads as soon as it is one.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("election_safety", "leader_completeness", "log_matching"),
        clause="If votes were received from a majority of servers, become leader. Fig. 2, candidates 2; §5.2",
        edits=(Site("count_votes", "drop-check", "votes_from_majority"),),
    ),
    Mutation(
        id="raft.count_votes/weaken-quorum/1",
        title="One vote fewer than a majority makes a leader.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("election_safety", "leader_completeness", "log_matching"),
        clause="If votes were received from a majority of servers, become leader. Fig. 2, candidates 2; §5.2",
        edits=(Site("count_votes", "weaken-quorum", "1"),),
    ),
    Mutation(
        id="raft.votes_are_a_count",
        title="Votes are a number, so a duplicated answer is two votes.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("leader_completeness", "election_safety", "log_matching"),
        clause="A majority of servers is a majority of different servers. §5.2; raft.tla, votesGranted is a set",
        edits=(
            Replace("become_follower", "self.votes = set()", "self.votes = []"),
            Replace("start_election", "self.votes = {self.me}", "self.votes = [self.me]"),
            Replace("handle_vote_response", "self.votes.add(src)", "self.votes.append(src)"),
            Replace("count_votes", "self.is_majority(self.votes)", "len(self.votes) > self.cluster_size // 2"),
        ),
        sources=("xnnyygn/xraft#27",),
        aliases=("R5",),
    ),
    Mutation(
        id="raft.votes_kept_over_terms",
        title="A candidate that begins a new election keeps the votes of the last one.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("election_safety", "leader_completeness", "log_matching"),
        clause="On conversion to candidate, increment currentTerm and vote for self. Fig. 2, candidates 1; §5.2",
        edits=(Replace("start_election", "self.votes = {self.me}", "self.votes = self.votes | {self.me}"),),
    ),
    Mutation(
        id="raft.vote_cleared_by_leader",
        title="A follower that hears from its leader forgets whom it voted for, although the term is the same.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("election_safety", "log_matching"),
        clause="votedFor is the candidate that received the vote in the current term. Fig. 2, state",
        edits=(
            Replace(
                "handle_append_entries",
                "if self.role is Role.CANDIDATE:\n    self.become_follower()",
                "self.disk.voted_for = None\nself.sync()\nif self.role is Role.CANDIDATE:\n    self.become_follower()",
            ),
        ),
        sources=("camunda/camunda#5356", "camunda/camunda PR #5368"),
        aliases=("R2",),
    ),
    Mutation(
        id="raft.vote_cleared_by_stepping_down",
        title="A candidate that yields to the leader of its term forgets that it voted for itself.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("election_safety",),
        clause="votedFor is the candidate that received the vote in the current term. Fig. 2, state",
        edits=(Replace("handle_append_entries", "self.become_follower()", "self.update_term(m.term)"),),
        sources=("microsoft/CCF#5891", "microsoft/CCF PR #8094", "ktoso/akka-raft#56"),
        aliases=("R2-candidate",),
    ),
    Mutation(
        id="raft.vote_not_reset",
        title="The vote of an old term still binds in a new one.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="votedFor is the candidate that received the vote in the current term, or null if none. Fig. 2, state",
        edits=(Replace("update_term", "self.disk.write(term=term, voted_for=None)", "self.disk.write(term=term)"),),
    ),
    Mutation(
        id="raft.votes_only_once",
        title="A voter refuses the candidate that it voted for when that one asks again.",
        kind=DriftKind.WRONG_COMPARISON,
        clause="votedFor is null or candidateId. Fig. 2, RequestVote receiver 2; servers retry, §5.1",
        edits=(Replace("handle_request_vote", "self.disk.voted_for in (None, src)", "self.disk.voted_for is None"),),
        sources=("vesoft-inc/nebula PR #2419",),
        aliases=("R12",),
    ),
    Mutation(
        id="raft.longer_log_wins",
        title="Logs are compared by their length first, and by their last term second.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("leader_completeness",),
        clause="The later last term is more up-to-date; only for equal terms the longer log is. §5.4.1",
        edits=(
            Replace(
                "may_elect", "candidate >= self.last_position()", "candidate[::-1] >= self.last_position()[::-1]"
            ),
        ),
        sources=("databendlabs/openraft#1722", "Jepsen: MongoDB 3.4.0-rc3, protocol version 0"),
        aliases=("R7",),
    ),
    Mutation(
        id="raft.log_length_alone",
        title="A candidate's log is compared by its length alone.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("leader_completeness",),
        clause="The later last term is more up-to-date; only for equal terms the longer log is. §5.4.1",
        edits=(Replace("may_elect", "candidate >= self.last_position()", "candidate[1] >= self.last_index"),),
        sources=("databendlabs/openraft#1722",),
    ),
    Mutation(
        id="raft.last_term_alone",
        title="A candidate's log is compared by its last term alone.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("leader_completeness",),
        clause="If the logs end with the same term, then whichever log is longer is more up-to-date. §5.4.1",
        edits=(
            Replace("may_elect", "candidate >= self.last_position()", "candidate[0] >= self.last_position()[0]"),
        ),
    ),
    Mutation(
        id="raft.equal_log_refused",
        title="A candidate needs a log that is ahead of the voter's, not only as good.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("progress_after_heal",),
        clause="At least as up-to-date as the receiver's log. Fig. 2, RequestVote receiver 2; §5.4.1",
        edits=(Replace("may_elect", "candidate >= self.last_position()", "candidate > self.last_position()"),),
    ),
    Mutation(
        id="raft.deposed_leader_leads_on",
        title="Whoever learns of a newer term takes it over, and remains what it was.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("election_safety", "log_matching", "durability"),
        clause="If a term is > currentTerm: set currentTerm, convert to follower. Fig. 2, all servers 2; §5.1",
        edits=(
            Replace(
                "update_term",
                "if self.role is not Role.FOLLOWER:\n"
                "    self.become_follower()\n"
                "    self.set_timer(ELECTION, ELECTION_TIMEOUT)",
                "",
            ),
        ),
    ),
    Mutation(
        id="raft.candidate_runs_on",
        title="A candidate that hears from the leader of its term takes its entries but remains a candidate.",
        kind=DriftKind.FORGOTTEN_RESET,
        clause="If AppendEntries is received from the new leader, convert to follower. Fig. 2, candidates 3; §5.2",
        edits=(
            Replace("handle_append_entries", "if self.role is Role.CANDIDATE:\n    self.become_follower()", ""),
        ),
    ),
    Mutation(
        id="raft.candidate_gives_up",
        title="A candidate that lost an election waits for ever.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="If the election timeout elapses, start a new election. Fig. 2, candidates 4; §5.2",
        edits=(
            Replace(
                "start_election",
                "self.votes = {self.me}\nself.set_timer(ELECTION, ELECTION_TIMEOUT)",
                "self.votes = {self.me}",
            ),
        ),
    ),
)

REPLICATION = (
    Mutation(
        id="raft.prev_log_matches",
        title="A follower takes entries without looking at what comes before them.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("state_machine_safety", "log_matching", "durability", "leader_completeness"),
        clause="Refuse without an entry at prevLogIndex with prevLogTerm. Fig. 2, AppendEntries receiver 2; §5.3",
        edits=(Site("handle_append_entries", "drop-check", "prev_log_matches"),),
    ),
    Mutation(
        id="raft.prev_index_alone",
        title="A follower asks only whether it has an entry at prevLogIndex, not of which term.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("log_matching", "state_machine_safety"),
        clause="An entry at prevLogIndex whose term matches prevLogTerm. Fig. 2, AppendEntries receiver 2; §5.3",
        edits=(
            Replace(
                "handle_append_entries",
                "self.term_at(m.prev_log_index) == m.prev_log_term",
                "m.prev_log_index <= self.last_index",
            ),
        ),
    ),
    Mutation(
        id="raft.append_entries_current",
        title="Entries of a leader of an earlier term are taken.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("leader_append_only", "leader_completeness", "durability"),
        clause="Refuse if term < currentTerm. Fig. 2, AppendEntries receiver 1; §5.1",
        edits=(Site("handle_append_entries", "drop-check", "append_entries_current"),),
    ),
    Mutation(
        id="raft.append_response_current",
        title="A leader counts what a follower held in an earlier term.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("durability",),
        clause="Ignore responses of other terms. §5.1; raft.tla, DropStaleResponse",
        edits=(Site("handle_append_response", "drop-check", "append_response_current"),),
    ),
    Mutation(
        id="raft.still_leader",
        title="A server that leads no more handles answers to its AppendEntries.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="nextIndex and matchIndex are volatile state on leaders. Fig. 2, state",
        edits=(Site("handle_append_response", "drop-check", "still_leader"),),
    ),
    Mutation(
        id="raft.truncates_without_conflict",
        title="Every AppendEntries cuts the log behind it, so a delayed one deletes newer entries.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("durability", "leader_completeness"),
        clause="Only if an existing entry conflicts with a new one, delete it and all that follow it. "
        "Fig. 2, AppendEntries receiver 3; §5.3",
        edits=(
            Replace(
                "store_entries",
                "for offset, entry in enumerate(entries):\n"
                "    if self.term_at(prev + offset + 1) != entry.term:\n"
                "        self.disk.log.store(prev + offset, entries[offset:])\n"
                "        self.sync()\n"
                "        return",
                "self.disk.log.store(prev, entries)\nself.sync()",
            ),
        ),
        sources=("databend PR #3914 (openraft and async-raft changelog)",),
        aliases=("R9",),
    ),
    Mutation(
        id="raft.conflict_kept",
        title="A follower appends what its log lacks, and keeps its own entries where they conflict.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("log_matching", "state_machine_safety", "leader_completeness", "durability"),
        clause="If an existing entry conflicts with a new one, delete it and all that follow it. "
        "Fig. 2, AppendEntries receiver 3; §5.3",
        edits=(
            Replace(
                "store_entries",
                "self.term_at(prev + offset + 1) != entry.term",
                "prev + offset + 1 > self.last_index",
            ),
        ),
    ),
    Mutation(
        id="raft.conflict_leaves_tail",
        title="An entry that conflicts is replaced, but those that follow it stay.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("log_matching",),
        clause="Delete the existing entry and all that follow it. Fig. 2, AppendEntries receiver 3; §5.3",
        edits=(
            Replace(
                "store_entries",
                "entries[offset:]",
                "(*entries[offset:], *self.disk.log[prev + len(entries) :])",
            ),
        ),
    ),
    Mutation(
        id="raft.match_is_last_index",
        title="A follower says that it matches up to the end of its log, not of what it was sent.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("durability", "leader_completeness"),
        clause="matchIndex: the highest entry known to be replicated. Fig. 2, state; raft.tla, mmatchIndex",
        edits=(
            Replace(
                "handle_append_entries",
                "self.send(src, Appended(self.disk.term, True, match))",
                "self.send(src, Appended(self.disk.term, True, self.last_index))",
            ),
        ),
    ),
    Mutation(
        id="raft.match_kept_over_terms",
        title="A leader that is elected again counts on what followers held when it led before.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("durability",),
        clause="nextIndex and matchIndex are reinitialized after election. Fig. 2, state",
        edits=(
            Replace("start", "self.become_follower()", "self.match_index = {}\nself.become_follower()"),
            Replace("become_follower", "self.match_index = {}", ""),
            Replace(
                "count_votes",
                "dict.fromkeys(self.peers, 0)",
                "{peer: self.match_index.get(peer, 0) for peer in self.peers}",
            ),
        ),
    ),
    Mutation(
        id="raft.next_index_stuck",
        title="A leader whose AppendEntries was refused sends the same again.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("progress_after_heal",),
        clause="If AppendEntries fails because of log inconsistency, decrement nextIndex and retry. "
        "Fig. 2, leaders 3; §5.3",
        edits=(
            Replace(
                "handle_append_response",
                "max(self.match_index[src] + 1, min(self.next_index[src] - 1, m.match + 1))",
                "self.next_index[src]",
            ),
        ),
    ),
    Mutation(
        id="raft.new_leader_cuts_its_log",
        title="A new leader drops what it does not know to be committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("leader_completeness",),
        clause="A leader never deletes entries in its log. §5.3, Fig. 3; it has all committed ones, §5.4",
        edits=(
            Replace(
                "count_votes",
                "self.role = Role.LEADER",
                "self.disk.log.store(self.commit_index, ())\nself.sync()\nself.role = Role.LEADER",
            ),
        ),
        sources=("microsoft/CCF#589",),
        aliases=("R26",),
    ),
    Mutation(
        id="raft.new_term_cuts_the_log",
        title="A server that learns of a new term drops what it does not know to be committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("leader_completeness", "durability"),
        clause="Followers delete only what conflicts. Fig. 2, AppendEntries receiver 3; §5.3",
        edits=(
            Replace(
                "update_term",
                "self.disk.write(term=term, voted_for=None)",
                "self.disk.write(term=term, voted_for=None)\nself.disk.log.store(self.commit_index, ())",
            ),
        ),
        sources=("Kafka KIP-101: truncation to the high watermark",),
        aliases=("R26-follower",),
    ),
)

COMMITMENT = (
    Mutation(
        id="raft.commit_current_term",
        title="A leader commits entries of earlier terms by counting replicas.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("leader_completeness",),
        clause="A majority of matchIndex[i] ≥ N, and log[N].term == currentTerm. Fig. 2, leaders 4; §5.4.2, Fig. 8",
        edits=(Site("advance_commit_index", "drop-check", "commit_current_term"),),
        sources=("logcabin/logcabin#44", "canonical/raft#220", "bakwc/PySyncObj#169"),
        aliases=("R1",),
    ),
    Mutation(
        id="raft.commit_if_the_last_is_ours",
        title="A leader looks at the term of its last entry, not of the one that it commits.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("leader_completeness",),
        clause="log[N].term == currentTerm, for the N that is committed. Fig. 2, leaders 4; §5.4.2",
        edits=(Replace("advance_commit_index", "self.term_at(index)", "self.term_at(self.last_index)"),),
    ),
    Mutation(
        id="raft.replicated_on_majority",
        title="A leader commits what it alone holds.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability", "leader_completeness"),
        clause="A majority of matchIndex[i] ≥ N. Fig. 2, leaders 4; §5.3",
        edits=(Site("advance_commit_index", "drop-check", "replicated_on_majority"),),
    ),
    Mutation(
        id="raft.advance_commit_index/weaken-quorum/1",
        title="One holder fewer than a majority commits an entry.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("durability", "leader_completeness"),
        clause="A majority of matchIndex[i] ≥ N. Fig. 2, leaders 4; §5.3",
        edits=(Site("advance_commit_index", "weaken-quorum", "1"),),
    ),
    Mutation(
        id="raft.commit_beyond_new_entries",
        title="A follower commits up to the end of its log, where the leader has not looked yet.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("state_machine_safety",),
        clause="commitIndex = min(leaderCommit, index of last new entry). Fig. 2, AppendEntries receiver 5",
        edits=(
            Replace("handle_append_entries", "min(m.leader_commit, match)", "min(m.leader_commit, self.last_index)"),
        ),
    ),
    Mutation(
        id="raft.commit_index_goes_back",
        title="A follower's commit index follows the message, back and forth.",
        kind=DriftKind.WRONG_COMPARISON,
        clause="commitIndex increases monotonically. Fig. 2, state",
        edits=(
            Replace(
                "handle_append_entries",
                "max(self.commit_index, min(m.leader_commit, match))",
                "min(m.leader_commit, match)",
            ),
        ),
    ),
    Mutation(
        id="raft.followers_commit_current_term",
        title="A follower commits only entries of the current term, as if it were the leader.",
        kind=DriftKind.WRONG_COMPARISON,
        clause="If leaderCommit > commitIndex, set commitIndex. Fig. 2, AppendEntries receiver 5",
        edits=(
            Replace(
                "handle_append_entries",
                "m.leader_commit > self.commit_index",
                "m.leader_commit > self.commit_index and self.term_at(min(m.leader_commit, match)) == self.disk.term",
            ),
        ),
        sources=("RATIS-1161 (apache/ratis PR #289)",),
        aliases=("R33",),
    ),
    Mutation(
        id="raft.applies_what_is_stored",
        title="A server applies entries as soon as they are in its log.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability", "leader_completeness", "state_machine_safety"),
        clause="If commitIndex > lastApplied, apply log[lastApplied]. Fig. 2, all servers 1; §5.3",
        edits=(Replace("apply_committed", "min(self.commit_index, self.last_index)", "self.last_index"),),
    ),
    Mutation(
        id="raft.only_leaders_apply",
        title="Followers do not apply, so whoever takes over has no state.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("state_machine_safety",),
        clause="If commitIndex > lastApplied, apply log[lastApplied]. Fig. 2, all servers 1; §5.3",
        edits=(
            Replace(
                "apply_committed",
                "result = self.apply(self.last_applied, self.disk.log[self.last_applied - 1].command)",
                "if self.role is not Role.LEADER:\n"
                "    continue\n"
                "result = self.apply(self.last_applied, self.disk.log[self.last_applied - 1].command)",
            ),
        ),
        sources=("RedisLabs/redisraft#14",),
        aliases=("R29",),
    ),
    Mutation(
        id="raft.applied_index_without_state",
        title="The last applied index survives a crash that the state does not.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("state_machine_safety",),
        clause="lastApplied is as volatile as the state machine, or as durable. Fig. 2, state",
        edits=(
            Replace(
                "RaftDisk",
                "voted_for: NodeId | None = None",
                "voted_for: NodeId | None = None\napplied: Index = 0",
            ),
            Replace("start", "self.last_applied = 0", "self.last_applied = self.disk.applied"),
            Replace(
                "apply_committed",
                "self.last_applied += 1",
                "self.last_applied += 1\nself.disk.applied = self.last_applied",
            ),
        ),
        sources=("etcd v3.5 post-mortem", "etcd PR #13967"),
        aliases=("R22",),
    ),
    Mutation(
        id="raft.restart_trusts_its_log",
        title="After a restart everything in the log counts as committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("leader_completeness", "state_machine_safety"),
        clause="commitIndex is initialized to 0. Fig. 2, state",
        edits=(Replace("start", "self.commit_index = 0", "self.commit_index = self.last_index"),),
    ),
)

CLIENTS = (
    Mutation(
        id="raft.request_to_leader",
        title="A server that does not lead takes a client's command.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="Clients send all of their requests to the leader. §8",
        edits=(Site("request", "drop-check", "request_to_leader"),),
    ),
    Mutation(
        id="raft.uncertain_is_told_as_failed",
        title="A deposed leader tells its clients that their commands failed, which may yet be committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("linearizability",),
        clause="Whoever no longer leads cannot know what becomes of its uncommitted entries. §5.4.2, §8",
        edits=(
            Replace("start", "self.become_follower()", "self.waiting = {}\nself.become_follower()"),
            Replace(
                "become_follower",
                "self.waiting = {}",
                "for op in self.waiting.values():\n    self.refuse(op)\nself.waiting = {}",
            ),
        ),
        sources=("RedisLabs/redisraft#23",),
        aliases=("R30",),
    ),
    Mutation(
        id="raft.waiting_kept",
        title="A deposed leader answers its clients by whatever is applied where their commands stood.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("durability", "linearizability"),
        clause="Respond after the entry is applied, which another leader may have replaced. Fig. 2, leaders 2; §5.3",
        edits=(
            Replace("start", "self.become_follower()", "self.waiting = {}\nself.become_follower()"),
            Replace("become_follower", "self.waiting = {}", ""),
        ),
    ),
)

DURABILITY = (
    Mutation(
        id="raft.update_term/drop-sync/1",
        title="A new term is not yet durable when its receiver acts on it.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("leader_completeness",),
        clause="currentTerm is updated on stable storage before responding to RPCs. Fig. 2, state",
        edits=(Site("update_term", "drop-sync", "1"),),
    ),
    Mutation(
        id="raft.start_election/drop-sync/1",
        title="A candidate asks for votes, and may lead, before its term and its vote for itself are durable.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("election_safety", "leader_completeness", "log_matching"),
        clause="currentTerm and votedFor are updated on stable storage. Fig. 2, state",
        edits=(Site("start_election", "drop-sync", "1"),),
        sources=("sofa-jraft, specula-org/specula-case-studies pending bug PB-1",),
        aliases=("R25",),
    ),
    Mutation(
        id="raft.start_election/swap-sync-and-send/1",
        title="A candidate asks for votes before its term and its vote for itself are durable.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        clause="currentTerm and votedFor are updated on stable storage. Fig. 2, state",
        edits=(Site("start_election", "swap-sync-and-send", "1"),),
    ),
    Mutation(
        id="raft.handle_request_vote/drop-sync/1",
        title="A vote is not durable.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("election_safety", "log_matching", "leader_completeness"),
        clause="votedFor is updated on stable storage before responding to RPCs. Fig. 2, state",
        edits=(Site("handle_request_vote", "drop-sync", "1"),),
    ),
    Mutation(
        id="raft.handle_request_vote/swap-sync-and-send/1",
        title="A vote is sent before it is durable.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("election_safety", "log_matching"),
        clause="votedFor is updated on stable storage before responding to RPCs. Fig. 2, state",
        edits=(Site("handle_request_vote", "swap-sync-and-send", "1"),),
    ),
    Mutation(
        id="raft.append_entry/drop-sync/1",
        title="A leader counts itself among the holders of an entry that is not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability", "leader_completeness"),
        clause="log[] is updated on stable storage. Fig. 2, state",
        edits=(Site("append_entry", "drop-sync", "1"),),
    ),
    Mutation(
        id="raft.store_entries/drop-sync/1",
        title="A follower acknowledges entries that are not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability", "leader_completeness"),
        clause="log[] is updated on stable storage before responding to RPCs. Fig. 2, state",
        edits=(Site("store_entries", "drop-sync", "1"),),
    ),
    Mutation(
        id="raft.entries_written_one_by_one",
        title="Entries that replace others are written one by one, and a crash keeps any of these writes.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("log_matching",),
        clause="Delete the existing entry and all that follow it, append what is new. "
        "Fig. 2, AppendEntries receiver 3 and 4; §5.3",
        edits=(
            Replace(
                "store_entries",
                "self.disk.log.store(prev + offset, entries[offset:])",
                "for place in range(offset, len(entries)):\n"
                "    self.disk.log.store(prev + place, entries[place : place + 1])",
            ),
        ),
    ),
    Mutation(
        id="raft.vote_cleared_before_term",
        title="The vote is cleared first and the new term written after it, and a crash falls in between.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("election_safety",),
        clause="votedFor is the candidate that received the vote in the current term. Fig. 2, state",
        edits=(
            Replace(
                "update_term",
                "self.disk.write(term=term, voted_for=None)\nself.sync()",
                "self.disk.voted_for = None\nself.sync()\nself.disk.term = term\nself.sync()",
            ),
        ),
    ),
    Mutation(
        id="raft.vote_forgotten_by_restart",
        title="A server that restarts has not voted yet.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("election_safety",),
        clause="votedFor is persistent state on all servers. Fig. 2, state",
        edits=(
            Replace("start", "self.commit_index = 0", "self.disk.voted_for = None\nself.commit_index = 0"),
        ),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="raft.pipelined_appends",
        title="The leader infers from its own, optimistic nextIndex how much a follower holds.",
        kind=DriftKind.OPTIMISATION,
        breaks=("durability", "leader_completeness"),
        clause="matchIndex: the highest entry known to be replicated. Fig. 2, state",
        edits=(
            Replace(
                "replicate",
                "self.send(peer, AppendEntries(self.disk.term, prev, self.term_at(prev), entries, self.commit_index))",
                "self.send(peer, AppendEntries(self.disk.term, prev, self.term_at(prev), entries, self.commit_index))\n"
                "self.next_index[peer] = prev + len(entries) + 1  # do not wait: the next batch goes out at once",
            ),
            Replace(
                "handle_append_response",
                "self.match_index[src] = max(self.match_index[src], m.match)\n"
                "self.next_index[src] = self.match_index[src] + 1\n"
                "self.advance_commit_index()",
                "self.match_index[src] = self.next_index[src] - 1\nself.advance_commit_index()",
            ),
            Replace(
                "request",
                "if self.next_index[peer] == self.last_index:\n    self.replicate(peer)",
                "self.replicate(peer)",
            ),
        ),
        message="""Pipeline AppendEntries

The leader used to wait for an answer before it sent a follower what came next, a round trip for every batch.
Now nextIndex moves on when entries are sent, so batches follow each other on the wire. If one is lost, the
consistency check of the next refuses it and nextIndex goes back as before. On success the follower holds all that
it was sent, so matchIndex is nextIndex - 1.
""",
    ),
    Mutation(
        id="raft.heartbeat_fast_path",
        title="A heartbeat skips the log check, and yet it commits and acknowledges.",
        kind=DriftKind.OPTIMISATION,
        breaks=("durability", "state_machine_safety", "leader_completeness"),
        clause="Refuse without an entry at prevLogIndex with prevLogTerm. Fig. 2, AppendEntries receiver 2; §5.3",
        edits=(
            Replace(
                "handle_append_entries",
                "self.set_timer(ELECTION, ELECTION_TIMEOUT)",
                "self.set_timer(ELECTION, ELECTION_TIMEOUT)\n"
                "if not m.entries:  # a heartbeat: there is nothing to check and nothing to store\n"
                "    if m.leader_commit > self.commit_index:\n"
                "        self.commit_index = min(m.leader_commit, self.last_index)\n"
                "        self.apply_committed()\n"
                "    self.send(src, Appended(self.disk.term, True, self.last_index))\n"
                "    return",
            ),
            Replace(
                "handle_append_entries",
                "if m.leader_commit > self.commit_index:\n"
                "    self.commit_index = max(self.commit_index, min(m.leader_commit, match))\n"
                "    self.apply_committed()",
                "self.commit_index = max(self.commit_index, min(m.leader_commit, match))\nself.apply_committed()",
            ),
        ),
        message="""Answer heartbeats on a fast path

Nearly all AppendEntries of an idle cluster are heartbeats. They carry no entries, so there is nothing that could
conflict with the log: answer them before the consistency check, and let the slow path deal with entries only.
""",
    ),
    Mutation(
        id="raft.votes_synced_with_the_log",
        title="A term and a vote wait for the next sync of the log.",
        kind=DriftKind.OPTIMISATION,
        breaks=("election_safety", "leader_completeness"),
        clause="currentTerm and votedFor are updated on stable storage before responding to RPCs. Fig. 2, state",
        edits=(
            Replace(
                "update_term",
                "self.disk.write(term=term, voted_for=None)\nself.sync()",
                "self.disk.write(term=term, voted_for=None)",
            ),
            Replace("handle_request_vote", "self.disk.voted_for = src\nself.sync()", "self.disk.voted_for = src"),
            Replace(
                "handle_append_entries",
                "match = m.prev_log_index + len(m.entries)",
                "match = m.prev_log_index + len(m.entries)\n"
                "self.sync()  # before the answer: the entries, and the term and the vote with them",
            ),
        ),
        message="""Sync once for each AppendEntries

An election cost a follower three syncs in a row: for the term, the vote, and the first entries of the new leader.
The journal is written in order, so the sync of the entries covers all three. Now there is exactly one, before the
follower acknowledges anything of the leader's.
""",
    ),
    Mutation(
        id="raft.cached_last_position",
        title="The position of the last entry is cached, but a leader's own entries do not refresh it.",
        kind=DriftKind.OPTIMISATION,
        breaks=("leader_completeness",),
        clause="The candidate's log is at least as up-to-date as the voter's. Fig. 2, RequestVote receiver 2; §5.4.1",
        edits=(
            Replace("Raft", "votes: set[NodeId]", "last: Position  # of the last entry\nvotes: set[NodeId]"),
            Replace(
                "start",
                "self.commit_index = 0",
                "self.last = self.term_at(self.last_index), self.last_index\nself.commit_index = 0",
            ),
            Replace("last_position", "return self.term_at(self.last_index), self.last_index", "return self.last"),
            Replace(
                "store_entries",
                "self.disk.log.store(prev + offset, entries[offset:])",
                "self.disk.log.store(prev + offset, entries[offset:])\n"
                "self.last = entries[-1].term, prev + len(entries)",
            ),
        ),
        message="""Cache the position of the last entry

Every RequestVote read the last entry from the log, just to compare its term and index. Keep the two in memory: set them
when the server starts, and whenever entries are stored.
""",
    ),
    Mutation(
        id="raft.reads_from_local_state",
        title="A leader answers reads from its own state, without asking whether it still leads.",
        kind=DriftKind.OPTIMISATION,
        breaks=("linearizability",),
        clause="A leader must check whether it has been deposed before it answers a read-only request. §8",
        edits=(
            Replace(
                "request",
                "self.append_entry(Entry(self.disk.term, command))",
                'if command.op == "get":  # changes nothing, so there is nothing to replicate\n'
                "    self.reply(op, self.application.apply(command))\n"
                "    return\n"
                "self.append_entry(Entry(self.disk.term, command))",
            ),
        ),
        sources=("deventlab/d-engine#381",),
        aliases=("D3",),
        message="""Serve reads from the leader's state machine

Reads were appended to the log and replicated like writes, although they change nothing. The leader has every
committed write and applies in order, so it can answer at once: no disk, no round trip.
""",
    ),
    Mutation(
        id="raft.group_commit",
        title="A follower syncs entries when they are committed, after it has acknowledged them.",
        kind=DriftKind.OPTIMISATION,
        breaks=("durability", "leader_completeness"),
        clause="log[] is updated on stable storage before responding to RPCs. Fig. 2, state",
        edits=(
            Replace(
                "store_entries",
                "self.disk.log.store(prev + offset, entries[offset:])\nself.sync()",
                "self.disk.log.store(prev + offset, entries[offset:])",
            ),
            Replace(
                "handle_append_entries",
                "self.commit_index = max(self.commit_index, min(m.leader_commit, match))",
                "self.sync()  # one for all that was stored since the last commit\n"
                "self.commit_index = max(self.commit_index, min(m.leader_commit, match))",
            ),
        ),
        message="""Group commit on followers

Under load a follower spent most of its time in fsync, one for every AppendEntries. Only committed entries must survive
a crash; the others are still the leader's to send again. So sync once when the commit index advances, which covers
every batch since the last time.
""",
    ),
    Mutation(
        id="raft.same_term_again",
        title="A candidate whose election times out asks again in the same term, so a split vote stays split.",
        kind=DriftKind.OPTIMISATION,
        breaks=("progress_after_heal",),
        clause="If the election timeout elapses, start a new election, in a new term. Fig. 2, candidates 1, 4; §5.2",
        edits=(
            Replace(
                "start_election",
                "self.role = Role.CANDIDATE\n"
                "self.disk.write(term=self.disk.term + 1, voted_for=self.me)\n"
                "self.sync()\n"
                "self.votes = {self.me}",
                "if self.role is not Role.CANDIDATE:  # or else this term may still be won\n"
                "    self.role = Role.CANDIDATE\n"
                "    self.disk.write(term=self.disk.term + 1, voted_for=self.me)\n"
                "    self.sync()\n"
                "    self.votes = {self.me}",
            ),
        ),
        message="""Do not inflate the term while partitioned

A server that is cut off counted its term up with every election timeout, and deposed a healthy leader when it came
back. Now a candidate asks again in the term that it has already begun, and keeps the votes that it has: voters answer
the same question in the same way, so this is safe.
""",
    ),
    Mutation(
        id="raft.leader_syncs_while_it_sends",
        title="A leader writes an entry to its disk while it is on its way to the followers.",
        kind=DriftKind.OPTIMISATION,
        clause="The leader may write in parallel, if it counts itself only once that is durable. Thesis §10.2.1",
        edits=(
            Replace("append_entry", "self.disk.log.append(entry)\nself.sync()", "self.disk.log.append(entry)"),
            Replace("count_votes", "self.send_heartbeats()", "self.send_heartbeats()\nself.sync()"),
            Replace("request", "self.advance_commit_index()", "self.sync()\nself.advance_commit_index()"),
        ),
        message="""Write to the leader's disk in parallel

The leader synced an entry before it sent it, so every command paid for two disks in a row. Send first, and sync
before the entry can be counted.
""",
    ),
)

CATALOGUE = (*ELECTIONS, *REPLICATION, *COMMITMENT, *CLIENTS, *DURABILITY, *OPTIMISATIONS)

BEYOND = (
    Beyond("R11", "A heartbeat's answer with a higher term still renews the leader's lease.", "leases"),
    Beyond("R14", "With PreVote and CheckQuorum a node of a higher term leaves pre-votes unanswered.", "PreVote"),
    Beyond("R15", "A leader grants a pre-vote while its own lease is valid.", "PreVote and leases"),
    Beyond(
        "R16",
        "Without PreVote and stickiness, servers that see only a part of the cluster depose every leader.",
        "PreVote; the core is as the paper's Fig. 2 has it, which lacks what this row drops",
    ),
    Beyond("R18", "A follower leaves the snapshot state only when an index is equal.", "snapshots"),
    Beyond("R21", "A command that was proposed again is applied again.", "proposals that are repeated, and sessions"),
    Beyond("R23", "The old snapshot is deleted before the new one is durable.", "snapshots"),
    Beyond("R31", "The snapshot's index and the log's first index disagree.", "snapshots"),
    Beyond(
        "D1",
        "A new leader answers reads at an old commit index, before an entry of its own term is committed.",
        "a round of heartbeats for each read; here reads go through the log",
    ),
)
