"""Drift of Raft's membership changes and transfers: what the thesis warns of, and what real systems got wrong.

A row like M1 is a bug that was seen in the systems which its sources name; § is a section of Ongaro's thesis. `breaks`
names the invariants that may break first, as hunts saw them, the commonest first.
`mutations/expected/raft_membership.toml` has the measurements, `docs/raft_membership-mutants.md` is a table of it all.
"""

from mutations.entry import Beyond, DriftKind, Mutation, Replace, Site

CHANGES = (
    Mutation(
        id="raft_membership.committed_in_own_term",
        title="A new leader proposes a configuration before it has committed anything in its term.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("quorums_overlap",),
        clause="A leader may not append a new configuration until it has committed an entry of its term. raft-dev 2015",
        edits=(Site("may_follow", "drop-check", "committed_in_own_term"),),
        sources=("Ongaro, raft-dev 2015",),
        aliases=("M1",),
    ),
    Mutation(
        id="raft_membership.last_entry_in_own_term",
        title="A new leader proposes a configuration once an entry of its term is in its log, committed or not.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("quorums_overlap",),
        clause="A leader may not append a new configuration until it has committed an entry of its term. raft-dev 2015",
        edits=(Replace("may_follow", "self.term_at(self.commit_index)", "self.term_at(self.last_index)"),),
        sources=("Ongaro, raft-dev 2015",),
        aliases=("M1-appended",),
    ),
    Mutation(
        id="raft_membership.one_change_at_a_time",
        title="A leader proposes a configuration while the one before it is not committed.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("state_machine_safety", "quorums_overlap"),
        clause="A leader may not begin a change until the previous one has been committed. §4.1",
        edits=(Site("may_follow", "drop-check", "one_change_at_a_time"),),
    ),
    Mutation(
        id="raft_membership.one_server_at_a_time",
        title="Several servers join or leave in one step, without joint consensus.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("quorums_overlap",),
        clause="Only one server can be added or removed at a time, so that majorities overlap. §4.1, Fig. 4.3",
        edits=(Site("may_follow", "drop-check", "one_server_at_a_time"),),
    ),
    Mutation(
        id="raft_membership.joint_consensus_is_over",
        title="A leader proposes a configuration instead of the one that ends joint consensus.",
        kind=DriftKind.MISSING_CHECK,
        clause="Once C_old,new has been committed, the leader creates C_new. §4.3",
        edits=(Site("may_follow", "drop-check", "joint_consensus_is_over"),),
    ),
    Mutation(
        id="raft_membership.newcomers_caught_up",
        title="A server votes before it has caught up.",
        kind=DriftKind.MISSING_CHECK,
        clause="The leader waits for the new server to catch up before it is a full member. §4.2.1",
        edits=(Site("may_follow", "drop-check", "newcomers_caught_up"),),
    ),
    Mutation(
        id="raft_membership.change_is_allowed",
        title="A cluster whose membership is fixed changes it.",
        kind=DriftKind.MISSING_CHECK,
        clause="Membership is a switch: where it is fixed, every change is refused.",
        edits=(Site("may_follow", "drop-check", "change_is_allowed"),),
    ),
    Mutation(
        id="raft_membership.change_changes",
        title="A change that changes nothing is appended to the log.",
        kind=DriftKind.MISSING_CHECK,
        clause="A configuration that is the same as the one before it is safe, and useless.",
        edits=(Site("may_follow", "drop-check", "change_changes"),),
    ),
    Mutation(
        id="raft_membership.voters_remain",
        title="The last voter can be removed.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("progress_after_heal",),
        clause="A cluster without voters decides nothing any more. §4.1",
        edits=(Site("may_follow", "drop-check", "voters_remain"),),
    ),
    Mutation(
        id="raft_membership.change_to_leader",
        title="A server that does not lead appends a configuration.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="It is the leader that appends a configuration to its log. §4.1",
        edits=(Site("change", "drop-check", "change_to_leader"),),
    ),
)

IN_FORCE = (
    Mutation(
        id="raft_membership.in_force_when_committed",
        title="A configuration is in force only when it is committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=(
            "joint_consensus_ends",
            "durability",
            "quorums_overlap",
            "removed_leader_steps_down",
            "state_machine_safety",
        ),
        clause="A server always uses the latest configuration in its log, whether it is committed or not. §4.1",
        edits=(
            Replace(
                "adopt_configuration",
                "next(self.configurations())",
                "next(held for held in self.configurations() if held[0] <= self.commit_index)",
            ),
        ),
    ),
    Mutation(
        id="raft_membership.not_rolled_back",
        title="A configuration stays in force although another leader's entries took its place in the log.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("quorums_overlap", "joint_consensus_ends", "durability"),
        clause="A server must be prepared to fall back to the previous configuration in its log. §4.1",
        edits=(
            Replace(
                "append_entry",
                "self.adopt_configuration()",
                "if isinstance(entry.command, Configuration):\n    self.adopt_configuration()",
            ),
            Replace(
                "store_entries",
                "self.adopt_configuration()",
                "if any(isinstance(entry.command, Configuration) for entry in entries):\n"
                "    self.adopt_configuration()",
            ),
        ),
    ),
    Mutation(
        id="raft_membership.forgotten_by_restart",
        title="A server that restarts goes by the founders, until it appends something.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("leader_completeness", "election_safety", "failure"),
        clause="A server always uses the latest configuration in its log. §4.1",
        edits=(
            Replace(
                "start",
                "self.adopt_configuration()",
                "self.adopt_configuration()\n"
                "self.configured_at, self.configuration = list(self.configurations())[-1]\n"
                "self.peers = tuple(n for n in self.configuration.members if n != self.me)",
            ),
        ),
    ),
    Mutation(
        id="raft_membership.snapshot_makes_voters",
        title="A server that restores a snapshot takes learners for voters.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("only_voters_campaign", "durability", "quorums_overlap"),
        clause="A snapshot has the latest configuration as of its last entry. Thesis §5.1, §4.2.1",
        edits=(
            Replace(
                "MembershipRaft.configurations",
                "yield self.disk.log.base, state.configuration",
                "yield self.disk.log.base, Configuration(state.configuration.members, (), ())",
            ),
        ),
        sources=("lni/dragonboat#94",),
        aliases=("M9",),
    ),
    Mutation(
        id="raft_membership.snapshot_without_configuration",
        title="The configuration is gone with the entry that a snapshot stands for.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("only_voters_campaign", "quorums_overlap", "durability"),
        clause="A snapshot has the latest configuration as of its last entry. Thesis §5.1",
        edits=(
            Replace("MembershipRaft.configurations", "state is not None and state.configuration is not None", "False"),
        ),
    ),
    Mutation(
        id="raft_membership.response_of_peer",
        title="A leader handles the answer of a server that is not in its configuration.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="nextIndex and matchIndex are kept for the servers of the configuration. Fig. 3.1, state",
        edits=(Site("handle_append_response", "drop-check", "response_of_peer"),),
    ),
)

QUORUMS = (
    Mutation(
        id="raft_membership.majority_of_voters",
        title="Nobody has to agree but the outgoing voters.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability", "election_safety", "leader_completeness"),
        clause="Agreement requires a majority of the voters. §4.1, §4.3",
        edits=(Site("is_majority", "drop-check", "majority_of_voters"),),
    ),
    Mutation(
        id="raft_membership.majority_of_outgoing",
        title="In joint consensus the new voters decide alone.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability", "quorums_overlap"),
        clause="Agreement requires separate majorities from both the old and new configurations. §4.3",
        edits=(Site("is_majority", "drop-check", "majority_of_outgoing"),),
    ),
    Mutation(
        id="raft_membership.outgoing_decide_alone",
        title="In joint consensus the old voters decide alone.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("durability",),
        clause="Agreement requires separate majorities from both the old and new configurations. §4.3",
        edits=(
            Replace(
                "is_majority",
                "most(self.configuration.voters, nodes)",
                "bool(self.configuration.outgoing) or most(self.configuration.voters, nodes)",
            ),
        ),
    ),
    Mutation(
        id="raft_membership.majority_of_the_union",
        title="In joint consensus a majority of the old and new voters together decides.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("durability",),
        clause="Agreement requires separate majorities from both the old and new configurations. §4.3",
        edits=(
            Replace(
                "is_majority",
                "most(self.configuration.voters, nodes)",
                "most(self.configuration.electors, nodes)",
            ),
            Replace(
                "is_majority",
                "not self.configuration.outgoing or most(self.configuration.outgoing, nodes)",
                "True",
            ),
        ),
    ),
    Mutation(
        id="raft_membership.learners_count",
        title="Learners count in majorities.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("durability",),
        clause="A non-voting member is not counted towards majorities, for voting and for commitment. §4.2.1",
        edits=(
            Replace(
                "is_majority",
                "most(self.configuration.voters, nodes)",
                "most((*self.configuration.voters, *self.configuration.learners), nodes)",
            ),
        ),
    ),
    Mutation(
        id="raft_membership.anybody_counts",
        title="A quorum is a number of servers, whoever they are: a removed leader counts itself.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("durability", "leader_completeness", "election_safety"),
        clause="A leader that removes itself does not count itself in majorities. §4.2.2",
        edits=(
            Replace(
                "is_majority",
                "most(self.configuration.voters, nodes)",
                "len(nodes) > len(self.configuration.voters) // 2",
            ),
        ),
        sources=("n2paxos: a quorum counts ids outside of the membership (specula-org/specula-case-studies)",),
        aliases=("P6",),
    ),
)

ROLES = (
    Mutation(
        id="raft_membership.campaigner_is_elector",
        title="A learner, or a server that knows that it was removed, campaigns.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("only_voters_campaign",),
        clause="A non-voting member does not vote, and so it does not campaign. §4.2.1",
        edits=(Site("start_election", "drop-check", "campaigner_is_elector"),),
    ),
    Mutation(
        id="raft_membership.removed_never_campaigns",
        title="A server that its latest configuration lacks does not campaign, though only it may be able to win.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("progress_after_heal", "joint_consensus_ends"),
        clause="A server that is not part of its own latest configuration should still start new elections. §4.2.2",
        edits=(
            Replace(
                "start_election",
                "any(self.me in configuration.electors for configuration in self.in_play())",
                "self.me in self.configuration.electors",
            ),
        ),
    ),
    Mutation(
        id="raft_membership.learner_refuses_to_vote",
        title="A server that does not know yet that it is a voter refuses to vote.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("progress_after_heal",),
        clause="A server grants its vote without consulting its configuration. §4.2.3",
        edits=(
            Replace(
                "MembershipRaft",
                "transferee: NodeId | None",
                "transferee: NodeId | None\n\n"
                "def may_elect(self, candidate):\n"
                "    return self.me in self.configuration.electors and super().may_elect(candidate)",
            ),
        ),
        sources=("etcd-io/etcd PR #10998",),
        aliases=("M5",),
    ),
    Mutation(
        id="raft_membership.stranger_refuses_entries",
        title="A server that does not know yet that it is a member refuses entries.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("progress_after_heal",),
        clause="A server accepts AppendEntries from a leader that is not part of its configuration. §4.2.3",
        edits=(
            Replace(
                "receive",
                "super().receive(src, m)",
                "if isinstance(m, AppendEntries) and self.me not in self.configuration.members:\n"
                "    return\n"
                "super().receive(src, m)",
            ),
        ),
    ),
    Mutation(
        id="raft_membership.removed_server_wipes_its_disk",
        title="A server that was removed deletes its state, and may come back under its name as a new one.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("leader_append_only", "state_machine_safety", "leader_completeness", "quorums_overlap"),
        clause="A server's vote and log are persistent state: what it promised still binds it. Fig. 3.1, state",
        edits=(
            Replace(
                "receive",
                "self.follow_up()",
                "self.follow_up()\n"
                "if self.me not in self.configuration.members and 0 < self.configured_at <= self.commit_index:\n"
                "    self.disk.log.reset(0)\n"
                "    self.disk.write(term=0, voted_for=None, snapshot=None)\n"
                "    self.sync()\n"
                "    self.start()",
            ),
        ),
        sources=("rethinkdb/rethinkdb#5289",),
        aliases=("M7",),
    ),
    Mutation(
        id="raft_membership.removed_leader_leads_on",
        title="A leader that was removed does not step down.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("removed_leader_steps_down",),
        clause="A leader that is removed steps down once C_new is committed. §4.2.2",
        edits=(Replace("follow_up", "self.become_follower()", "pass"),),
    ),
    Mutation(
        id="raft_membership.only_the_proposer_leaves",
        title="A leader that inherited a joint configuration never leaves it.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("joint_consensus_ends",),
        clause="Once C_old,new is committed, the leader, whoever it is, creates C_new. §4.3",
        edits=(
            Replace(
                "follow_up",
                "self.configured_at > self.commit_index",
                "self.configured_at > self.commit_index or (\n"
                "    bool(self.configuration.outgoing) and self.term_at(self.configured_at) != self.disk.term\n"
                ")",
            ),
        ),
        sources=("etcd-io/etcd#12136",),
        aliases=("M3",),
    ),
    Mutation(
        id="raft_membership.leaves_before_commit",
        title="C_new follows at once, before C_old,new is committed.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("quorums_overlap", "state_machine_safety"),
        clause="Once C_old,new has been committed, it is safe to create C_new. §4.3",
        edits=(
            Replace(
                "follow_up",
                "self.configured_at > self.commit_index",
                "self.configured_at > self.commit_index and not self.configuration.outgoing",
            ),
        ),
    ),
)

TRANSFERS = (
    Mutation(
        id="raft_membership.transferee_caught_up",
        title="The target of a transfer campaigns before it has the leader's entries.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("transferee_has_caught_up",),
        clause="The leader fully updates the target's log, and then sends TimeoutNow. §3.10, steps 2 and 3",
        edits=(Site("hand_over", "drop-check", "transferee_caught_up"),),
    ),
    Mutation(
        id="raft_membership.not_handing_over",
        title="A leader that hands over goes on taking requests.",
        kind=DriftKind.MISSING_CHECK,
        clause="The prior leader stops accepting new client requests. §3.10, step 1",
        edits=(Site("request", "drop-check", "not_handing_over"),),
    ),
    Mutation(
        id="raft_membership.change_while_leading",
        title="A leader that hands over takes changes of the membership.",
        kind=DriftKind.MISSING_CHECK,
        clause="The prior leader stops accepting new client requests. §3.10, step 1",
        edits=(Site("may_follow", "drop-check", "change_while_leading"),),
    ),
    Mutation(
        id="raft_membership.transfer_never_given_up",
        title="A leader whose transfer failed takes no requests any more.",
        kind=DriftKind.FORGOTTEN_RESET,
        clause="If it does not complete within an election timeout, the leader aborts it and resumes. §3.10",
        edits=(Replace("transfer", "self.set_timer(TRANSFER, TRANSFER_TIMEOUT)", ""),),
    ),
    Mutation(
        id="raft_membership.timeout_now_current",
        title="A TimeoutNow of an earlier term makes its receiver campaign.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        clause="A message of an earlier term is ignored. Fig. 3.1; §3.10",
        edits=(Site("handle_timeout_now", "drop-check", "timeout_now_current"),),
    ),
    Mutation(
        id="raft_membership.transfer_is_on",
        title="A leader hands over where transfers are off.",
        kind=DriftKind.MISSING_CHECK,
        clause="Transfer is a switch: where it is off, every transfer is refused.",
        edits=(Site("transfer", "drop-check", "transfer_is_on"),),
    ),
    Mutation(
        id="raft_membership.transferee_votes",
        title="A transfer begins although nobody can take over.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="The target is a voter: it has to win an election. §3.10",
        edits=(Site("transfer", "drop-check", "transferee_votes"),),
    ),
    Mutation(
        id="raft_membership.one_transfer_at_a_time",
        title="A second transfer begins while the first is under way.",
        kind=DriftKind.MISSING_CHECK,
        clause="The prior leader stops accepting requests, until it resumes. §3.10",
        edits=(Site("transfer", "drop-check", "one_transfer_at_a_time"),),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="raft_membership.quorum_size_computed_once",
        title="The size of a majority is computed when a server campaigns, and does not follow the configuration.",
        kind=DriftKind.OPTIMISATION,
        breaks=("durability", "progress_after_heal"),
        clause="A server always uses the latest configuration in its log, for all its decisions. §4.1",
        edits=(
            Replace("MembershipRaft", "transferee: NodeId | None", "transferee: NodeId | None\nquorum: int"),
            Replace(
                "start_election",
                "super().start_election()",
                "self.quorum = len(self.configuration.voters) // 2 + 1\nsuper().start_election()",
            ),
            Replace(
                "is_majority",
                "most(self.configuration.voters, nodes)",
                "len(set(nodes).intersection(self.configuration.voters)) >= self.quorum",
            ),
        ),
        message="""Compute the size of a majority once

Every acknowledgement rebuilt the set of voters and halved it, for each entry that might be committed. The number cannot
change while a server leads without a configuration entry, and those are rare: compute it when the server campaigns.
""",
    ),
    Mutation(
        id="raft_membership.both_configurations_at_once",
        title="C_old,new and C_new go out together, so that C_new is in force before C_old,new is committed.",
        kind=DriftKind.OPTIMISATION,
        breaks=("quorums_overlap", "state_machine_safety"),
        clause="Once C_old,new has been committed, it is safe to create C_new. §4.3",
        edits=(
            Replace(
                "propose",
                "for peer in self.peers:\n    self.replicate(peer)",
                "if configuration.outgoing:  # what follows is certain: do not wait for a round trip\n"
                "    following = Configuration(configuration.voters, (), configuration.learners)\n"
                "    self.append_entry(Entry(self.disk.term, following))\n"
                "for peer in self.peers:\n"
                "    self.replicate(peer)",
            ),
        ),
        message="""Joint consensus in one round trip

The leader waited for C_old,new to be committed, only to append C_new, which nobody had to decide on any more. Append
both: they are replicated in one AppendEntries, in this order, and C_new is not committed without the entry before it.
""",
    ),
    Mutation(
        id="raft_membership.handover_without_votes",
        title="The target of a transfer leads without an election.",
        kind=DriftKind.OPTIMISATION,
        breaks=("election_safety", "leader_completeness"),
        clause="The target starts a new election, in the same way as if its election timer had elapsed. §3.10",
        edits=(
            Replace(
                "handle_timeout_now",
                "self.start_election()",
                "self.disk.write(term=self.disk.term + 1, voted_for=self.me)\n"
                "self.sync()\n"
                "self.votes = set(self.configuration.electors)  # they voted for src, which names me\n"
                "self.count_votes()",
            ),
        ),
        message="""Hand over without an election

A planned transfer cost an election: a round of RequestVote, and with a lost message a timeout without a leader. But the
leader knows that its target has every entry, and it takes no more requests. So TimeoutNow hands over the votes as well:
the target leads the next term at once.
""",
    ),
)

CATALOGUE = (*CHANGES, *IN_FORCE, *QUORUMS, *ROLES, *TRANSFERS, *OPTIMISATIONS)

BEYOND: tuple[Beyond, ...] = ()
