"""Drift of single-decree Paxos: what its paper warns of, and what real systems got wrong.

A row like P1 is a bug that was seen in the systems which its sources name; § is a section of "Paxos Made Simple"
(`protocols/paxos.py`). `breaks` names the invariants that may break first, the commonest first.
`mutations/expected/paxos.toml` has the measurements, `docs/paxos-mutants.md` is a table of everything.
"""

from mutations.entry import Beyond, DriftKind, Lines, Mutation, Replace, Site

PROPOSERS = (
    Mutation(
        id="paxos.promise_of_my_ballot",
        title="A promise of an earlier ballot counts for the present one.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("p2b", "learned_only_chosen", "agreement"),
        clause="A response to its prepare requests (numbered n) from a majority. §2.2, phase 2 (a)",
        edits=(Site("handle_promise", "drop-check", "promise_of_my_ballot"),),
        sources=("luohaha/MyPaxos#18",),
        aliases=("P1",),
    ),
    Mutation(
        id="paxos.still_preparing",
        title="A promise that comes late makes the proposer propose again, perhaps another value in the same ballot.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("learned_only_chosen", "agreement", "p2b", "durability"),
        clause="There is no other 2a message of the ballot. Paxos.tla, Phase2a; §2.2: the value of a proposal is one",
        edits=(Site("handle_promise", "drop-check", "still_preparing"),),
    ),
    Mutation(
        id="paxos.promised_by_majority",
        title="A proposer proposes as soon as it has its own promise.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("p2b", "agreement", "p2a"),
        clause="If the proposer receives a response from a majority of acceptors. §2.2, phase 2 (a)",
        edits=(Site("propose", "drop-check", "promised_by_majority"),),
    ),
    Mutation(
        id="paxos.propose/weaken-quorum/1",
        title="One promise fewer than a majority is enough to propose.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("p2b", "agreement", "p2a"),
        clause="If the proposer receives a response from a majority of acceptors. §2.2, phase 2 (a)",
        edits=(Site("propose", "weaken-quorum", "1"),),
    ),
    Mutation(
        id="paxos.promises_are_a_count",
        title="Promises are a list, so a duplicated one counts as two acceptors.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("p2b",),
        clause="A majority of acceptors is a majority of different acceptors. §2.2; Paxos.tla, Quorum",
        edits=(
            Replace("start", "self.promises = {}", "self.promises = []"),
            Replace("prepare", "self.promises = {}", "self.promises = []"),
            Replace("handle_promise", "self.promises[src] = m.accepted", "self.promises.append(m.accepted)"),
            Replace("propose", "self.is_majority(self.promises)", "len(self.promises) > self.cluster_size // 2"),
            Replace("propose", "self.promises.values()", "self.promises"),
        ),
        go=(
            Lines(
                "Paxos",
                "promises step.Ordered[step.NodeID, *Proposal]",
                "promises []*Proposal // proposer: what those had accepted who promised my ballot",
            ),
            Lines("prepare", "p.promises = step.Ordered[step.NodeID, *Proposal]{}", "p.promises = nil"),
            Lines("handlePromise", "p.promises.Set(src, m.Accepted)", "p.promises = append(p.promises, m.Accepted)"),
            Lines(
                "propose",
                'step.Check("promised_by_majority", p.IsMajority(p.promises.Len())),',
                'step.Check("promised_by_majority", p.IsMajority(len(p.promises))), // phase 2 (a), §2.2',
            ),
            Lines(
                "propose",
                "if accepted := highest(p.promises.Values()); accepted != nil {",
                "if accepted := highest(p.promises); accepted != nil {",
            ),
        ),
    ),
    Mutation(
        id="paxos.promises_kept_over_ballots",
        title="A proposer that begins a new ballot keeps the promises of the last one.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("p2b", "p2a"),
        clause="A response to its prepare requests (numbered n) from a majority. §2.2, phase 2 (a)",
        edits=(Replace("prepare", "self.promises = {}", ""),),
        go=(Lines("prepare", "p.promises = step.Ordered[step.NodeID, *Proposal]{}", ""),),
    ),
    Mutation(
        id="paxos.lowest_accepted",
        title="A proposer takes the value of the lowest-numbered proposal among those that it is told of.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("p2b",),
        clause="v is the value of the highest-numbered proposal among the responses. §2.2, P2c, phase 2 (a)",
        edits=(Replace("highest", "max", "min"),),
    ),
    Mutation(
        id="paxos.any_accepted",
        title="A proposer takes whichever accepted value it was told of first.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("p2b",),
        clause="v is the value of the highest-numbered proposal among the responses. §2.2, P2c, phase 2 (a)",
        edits=(
            Replace(
                "propose",
                "highest(self.promises.values())",
                "next((p for p in self.promises.values() if p is not None), None)",
            ),
        ),
    ),
    Mutation(
        id="paxos.largest_value",
        title="A proposer compares what it is told of by value instead of by ballot.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("p2b",),
        clause="v is the value of the highest-numbered proposal among the responses. §2.2, P2c, phase 2 (a)",
        edits=(
            Replace(
                "propose",
                "highest(self.promises.values())",
                "max((p for p in self.promises.values() if p is not None), key=lambda p: p.value, default=None)",
            ),
        ),
    ),
    Mutation(
        id="paxos.own_value",
        title="A proposer proposes its own value, whatever it is told.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("p2b",),
        clause="v is any value if the responses reported no proposals, and only then. §2.2, phase 2 (a)",
        edits=(Replace("propose", "self.value if accepted is None else accepted.value", "self.value"),),
    ),
    Mutation(
        id="paxos.value_never_taken",
        title="A proposer that is free to propose what it likes proposes nobody's value.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("validity",),
        clause="Only a value that has been proposed may be chosen. §2.1",
        edits=(Replace("prepare", "self.value = next(iter(self.waiting.values()))", ""),),
    ),
    Mutation(
        id="paxos.ballots_in_common",
        title="A ballot is a round, whoever has begun it, so that two proposers may use the same.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("unique_ballots",),
        clause="Different proposers choose their numbers from disjoint sets of numbers. §2.5",
        edits=(
            Replace(
                "prepare",
                "Ballot(max(self.disk.round, self.round_seen) + 1, self.me)",
                'Ballot(max(self.disk.round, self.round_seen) + 1, "")',
            ),
        ),
    ),
    Mutation(
        id="paxos.round_forgotten_by_restart",
        title="A proposer that restarts begins with round 1 again, and may use a ballot a second time.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("unique_ballots",),
        clause="Each proposer remembers (in stable storage) the highest-numbered proposal it has tried to issue. §2.5",
        edits=(Replace("prepare", "max(self.disk.round, self.round_seen)", "max(self.ballot.round, self.round_seen)"),),
        go=(
            Lines(
                "prepare",
                "p.ballot = Ballot{max(p.Disk.Round, p.roundSeen) + 1, p.Me}",
                "p.ballot = Ballot{max(p.ballot.Round, p.roundSeen) + 1, p.Me}",
            ),
        ),
    ),
    Mutation(
        id="paxos.prepare/drop-sync/1",
        title="A ballot is not yet durable when it is begun.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("unique_ballots",),
        clause="Each proposer remembers (in stable storage) the highest-numbered proposal it has tried to issue. §2.5",
        edits=(Site("prepare", "drop-sync", "1"),),
    ),
    Mutation(
        id="paxos.prepare/swap-sync-and-send/1",
        title="Prepare requests are sent before their ballot is durable.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("unique_ballots",),
        clause="Each proposer remembers (in stable storage) the highest-numbered proposal it has tried to issue. §2.5",
        edits=(Site("prepare", "swap-sync-and-send", "1"),),
        go=(
            Lines("prepare", "p.Sync()", ""),
            Lines(
                "prepare",
                "p.tellAll(Prepare{p.ballot})",
                "p.tellAll(Prepare{p.ballot})\np.Sync()",
            ),
        ),
    ),
)

ACCEPTORS = (
    Mutation(
        id="paxos.prepare_above_promised",
        title="An acceptor promises whatever it is asked, lower ballots after higher ones.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("promise_monotonicity",),
        clause="A number n greater than that of any prepare request to which it has already responded. "
        "§2.2, phase 1 (b)",
        edits=(Site("handle_prepare", "drop-check", "prepare_above_promised"),),
    ),
    Mutation(
        id="paxos.accept_not_below_promised",
        title="An acceptor accepts what it has promised not to.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("promise_monotonicity", "p1a", "p2a"),
        clause="Unless it has already responded to a prepare request having a number greater than n. P1a, §2.2",
        edits=(Site("handle_accept", "drop-check", "accept_not_below_promised"),),
    ),
    Mutation(
        id="paxos.accepts_below_its_promise",
        title="An acceptor accepts what it has promised not to, and yet keeps its promise in mind.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("p1a", "p2b", "highest_accepted_kept"),
        clause="Unless it has already responded to a prepare request having a number greater than n. P1a, §2.2",
        edits=(
            Site("handle_accept", "drop-check", "accept_not_below_promised"),
            Replace(
                "handle_accept",
                "self.disk.write(promised=m.ballot, accepted=Proposal(m.ballot, m.value))",
                "promised = max(m.ballot, self.disk.promised)\n"
                "self.disk.write(promised=promised, accepted=Proposal(m.ballot, m.value))",
            ),
        ),
    ),
    Mutation(
        id="paxos.accept_promises_nothing",
        title="To accept a proposal does not raise the promise, so a lower one may still be accepted after it.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("highest_accepted_kept",),
        clause="maxBal' = [maxBal EXCEPT ![a] = m.bal]. Paxos.tla, Phase2b; §2.2, phase 2 (b)",
        edits=(
            Replace(
                "handle_accept",
                "self.disk.write(promised=m.ballot, accepted=Proposal(m.ballot, m.value))",
                "self.disk.accepted = Proposal(m.ballot, m.value)",
            ),
        ),
        sources=("brooker.co.za blog, 2021-11-16, as discussed in apache/cassandra PR #1327",),
        aliases=("P8",),
    ),
    Mutation(
        id="paxos.accepts_only_what_it_promised",
        title="An acceptor accepts in the very ballot that it has promised, and in no other.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("refusals_are_true",),
        clause="An acceptor accepts unless it has promised more, whether or not it was asked to prepare. §2.2, P1a",
        edits=(Replace("handle_accept", "m.ballot >= self.disk.promised", "m.ballot == self.disk.promised"),),
        sources=("luohaha/MyPaxos#19",),
        aliases=("P11",),
    ),
    Mutation(
        id="paxos.rounds_alone",
        title="An acceptor compares ballots by their rounds alone, so that two proposers share one.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("promise_monotonicity", "p1a"),
        clause="Different proposers choose their numbers from disjoint sets of numbers. §2.5",
        edits=(
            Replace("handle_accept", "m.ballot >= self.disk.promised", "m.ballot.round >= self.disk.promised.round"),
        ),
    ),
    Mutation(
        id="paxos.promise_hides_the_accepted",
        title="An acceptor promises without a word of what it has accepted.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("p2b",),
        clause="With the highest-numbered proposal (if any) that it has accepted. §2.2, phase 1 (b)",
        edits=(Replace("handle_prepare", "Promise(m.ballot, self.disk.accepted)", "Promise(m.ballot, None)"),),
        go=(
            Lines(
                "handlePrepare",
                "p.tell(src, Promise{m.Ballot, p.Disk.Accepted})",
                "p.tell(src, Promise{m.Ballot, nil})",
            ),
        ),
    ),
    Mutation(
        id="paxos.first_value_kept",
        title="An acceptor keeps the value that it accepted first, and counts it as accepted in later ballots.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("p2a", "learned_only_chosen", "p2b"),
        clause="maxVal' = [maxVal EXCEPT ![a] = m.val]. Paxos.tla, Phase2b; §2.2: a proposal has one value",
        edits=(
            Replace(
                "handle_accept",
                "self.disk.write(promised=m.ballot, accepted=Proposal(m.ballot, m.value))",
                "value = self.disk.accepted.value if self.disk.accepted else m.value\n"
                "self.disk.write(promised=m.ballot, accepted=Proposal(m.ballot, value))",
            ),
        ),
    ),
    Mutation(
        id="paxos.refusal_tells_nothing",
        title="A refused prepare request is told its own ballot, not the one that was promised.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("refusals_are_true",),
        clause="It should inform the proposer, who should then abandon its proposal. §2.2",
        edits=(Replace("handle_prepare", "Nack(m.ballot, self.disk.promised)", "Nack(m.ballot, m.ballot)"),),
        go=(
            Lines(
                "handlePrepare",
                "p.tell(src, Nack{m.Ballot, p.Disk.Promised})",
                "p.tell(src, Nack{m.Ballot, m.Ballot})",
            ),
        ),
    ),
    Mutation(
        id="paxos.promised_overwritten_by_accepted",
        title="What a restart takes for its promise is the ballot in which it has accepted.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("promise_monotonicity",),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(
            Replace(
                "start",
                "self.round_seen = 0",
                "self.round_seen = 0\n"
                "if self.disk.accepted is not None:\n"
                "    self.disk.promised = self.disk.accepted.ballot",
            ),
        ),
        sources=("imdea-software/swiftpaxos#3",),
        aliases=("P3",),
    ),
    Mutation(
        id="paxos.wiped_disk_rejoins",
        title="An acceptor that has lost its disk comes back as if it had never promised or accepted anything.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("promise_monotonicity", "durability"),
        clause="A replica with a corrupted disk does not take part until it has seen an instance that began after its "
        "return. Paxos Made Live, §5.1",
        edits=(
            Replace(
                "start",
                "self.round_seen = 0",
                "self.round_seen = 0\nself.disk.write(promised=BEFORE_ALL, accepted=None)\nself.sync()",
            ),
        ),
        sources=("Chandra, Griesemer and Redstone, Paxos Made Live, PODC 2007, §5.1",),
        aliases=("P9",),
    ),
    Mutation(
        id="paxos.handle_prepare/drop-sync/1",
        title="A promise is given that is not on the disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("promise_monotonicity",),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(Site("handle_prepare", "drop-sync", "1"),),
        go=(Lines("handlePrepare", "p.Sync()", ""),),
    ),
    Mutation(
        id="paxos.handle_prepare/swap-sync-and-send/1",
        title="A promise is sent before it is on the disk.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("promise_monotonicity",),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(Site("handle_prepare", "swap-sync-and-send", "1"),),
        go=(
            Lines(
                "handlePrepare",
                "p.Sync()\np.tell(src, Promise{m.Ballot, p.Disk.Accepted})",
                "p.tell(src, Promise{m.Ballot, p.Disk.Accepted})\np.Sync()",
            ),
        ),
    ),
    Mutation(
        id="paxos.handle_accept/drop-sync/1",
        title="An acceptor says that it has accepted what is not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability", "learned_only_chosen", "promise_monotonicity", "p2b"),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(Site("handle_accept", "drop-sync", "1"),),
    ),
    Mutation(
        id="paxos.handle_accept/swap-sync-and-send/1",
        title="An acceptor says that it has accepted before that is on its disk.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("durability", "p2b", "learned_only_chosen"),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(Site("handle_accept", "swap-sync-and-send", "1"),),
    ),
)

LEARNERS = (
    Mutation(
        id="paxos.accepted_by_majority",
        title="A learner takes for chosen what a single acceptor has accepted.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("learned_only_chosen",),
        clause="A value is chosen when a large enough set of acceptors have accepted it: any majority. §2.2",
        edits=(Site("handle_accepted", "drop-check", "accepted_by_majority"),),
    ),
    Mutation(
        id="paxos.handle_accepted/weaken-quorum/1",
        title="One acceptor fewer than a majority makes a value chosen.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("learned_only_chosen",),
        clause="A value is chosen when a large enough set of acceptors have accepted it: any majority. §2.2",
        edits=(Site("handle_accepted", "weaken-quorum", "1"),),
    ),
    Mutation(
        id="paxos.accepted_is_a_count",
        title="A learner counts messages, so a duplicated one counts as two acceptors.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("learned_only_chosen", "agreement"),
        clause="A majority of acceptors is a majority of different acceptors. §2.2; Paxos.tla, Quorum",
        edits=(
            Replace(
                "handle_accepted",
                "self.accepted_by.setdefault(m.ballot, set()).add(src)",
                "self.accepted_by.setdefault(m.ballot, []).append(src)",
            ),
            Replace(
                "handle_accepted",
                "self.is_majority(self.accepted_by[m.ballot])",
                "len(self.accepted_by[m.ballot]) > self.cluster_size // 2",
            ),
        ),
    ),
    Mutation(
        id="paxos.accepted_over_ballots",
        title="A learner counts who has accepted a value, in whatever ballots.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("learned_only_chosen",),
        clause="A majority has accepted the same proposal: VotedFor(a, b, v) for one b. Voting.tla, ChosenAt",
        edits=(
            Replace(
                "handle_accepted",
                "self.accepted_by.setdefault(m.ballot, set())",
                "self.accepted_by.setdefault(m.value, set())",
            ),
            Replace("handle_accepted", "self.accepted_by[m.ballot]", "self.accepted_by[m.value]"),
        ),
    ),
    Mutation(
        id="paxos.accepted_by_round",
        title="A learner counts by round, so that the ballots of two proposers are counted together.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("learned_only_chosen", "agreement"),
        clause="A majority has accepted the same proposal: VotedFor(a, b, v) for one b. Voting.tla, ChosenAt",
        edits=(
            Replace(
                "handle_accepted",
                "self.accepted_by.setdefault(m.ballot, set())",
                "self.accepted_by.setdefault(m.ballot.round, set())",
            ),
            Replace("handle_accepted", "self.accepted_by[m.ballot]", "self.accepted_by[m.ballot.round]"),
        ),
    ),
    Mutation(
        id="paxos.client_told_its_own_value",
        title="A client is told that its own value was chosen, as soon as one was.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("agreement",),
        clause="Only a single value is chosen. §2.1",
        edits=(
            Replace(
                "learn",
                "for op in self.waiting:\n    self.reply(op, value)",
                "for op, wanted in self.waiting.items():\n    self.reply(op, wanted)",
            ),
        ),
    ),
)

PROGRESS = (
    Mutation(
        id="paxos.nack_of_my_ballot",
        title="A refusal of an earlier ballot makes a proposer abandon the present one.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        clause="It should inform the proposer, who should then abandon its proposal. §2.2",
        edits=(Site("handle_nack", "drop-check", "nack_of_my_ballot"),),
    ),
    Mutation(
        id="paxos.nack_above_my_ballot",
        title="A refusal of a duplicate makes a proposer abandon a ballot that nobody has overtaken.",
        kind=DriftKind.MISSING_CHECK,
        clause="Abandon a proposal if some proposer has begun trying to issue a higher-numbered one. §2.2",
        edits=(Site("handle_nack", "drop-check", "nack_above_my_ballot"),),
    ),
    Mutation(
        id="paxos.no_retry",
        title="A proposer whose messages are lost, or that is refused, waits for ever.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="A distinguished proposer will eventually succeed, as it tries with higher numbers. §2.4",
        edits=(Replace("try_again", "if self.waiting:\n    self.prepare()", "pass"),),
    ),
    Mutation(
        id="paxos.round_not_learned",
        title="A refused proposer tries again with its next round, not with one above what it was refused for.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="It begins phase 1 with a higher-numbered proposal than any it has already used. §2.5",
        edits=(Replace("handle_nack", "self.round_seen = max(self.round_seen, m.promised.round)", ""),),
    ),
    Mutation(
        id="paxos.no_backoff",
        title="A refused proposer overtakes its rival at once, which does the same.",
        kind=DriftKind.INVERTED_DECISION,
        clause="A distinguished proposer must be selected as the only one to try issuing proposals. §2.4",
        edits=(Replace("handle_nack", "self.set_timer(RETRY, BACKOFF)", "self.try_again()"),),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="paxos.promise_synced_with_the_vote",
        title="A promise waits for the sync of what is accepted under it.",
        kind=DriftKind.OPTIMISATION,
        breaks=("promise_monotonicity",),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(
            Replace(
                "handle_prepare",
                "self.disk.promised = m.ballot\nself.sync()",
                "self.disk.promised = m.ballot  # durable together with what is accepted under it",
            ),
        ),
        message="""Sync once for each ballot

An acceptor synced twice in every ballot: for the promise, and milliseconds later for the proposal. The journal is
written in order, so the second sync covers the first. A promise under which nothing is accepted binds nobody.
""",
    ),
    Mutation(
        id="paxos.equal_reports_decide",
        title="A proposer that finds the same value accepted by a majority takes it for chosen, whatever the ballots.",
        kind=DriftKind.OPTIMISATION,
        breaks=("learned_only_chosen",),
        clause="A majority has accepted the same proposal: VotedFor(a, b, v) for one b. Voting.tla, ChosenAt",
        edits=(
            Replace(
                "propose",
                "accepted = highest(self.promises.values())",
                "accepted = highest(self.promises.values())\n"
                "agreeing = [n for n, p in self.promises.items() if p and accepted and p.value == accepted.value]\n"
                "if accepted is not None and self.is_majority(agreeing):  # nothing is left to be done\n"
                "    self.learn(accepted.value)\n"
                "    return",
            ),
        ),
        message="""Skip phase 2 when the value is chosen already

Most ballots are begun long after a value was chosen, by clients that only want to know it. If a majority reports
that it has accepted the same value then this is chosen, and asking them to accept it once more tells nobody anything.
Such a ballot now takes one round trip and writes one record on each disk, instead of two.
""",
    ),
    Mutation(
        id="paxos.overtakes_without_preparing",
        title="A proposer that is refused in phase 2 goes on with the same value in a higher ballot, unprepared.",
        kind=DriftKind.OPTIMISATION,
        breaks=("p2b",),
        clause="A proposal is issued on the promises to its own number. §2.2, P2c, phase 1",
        edits=(
            Replace("Paxos", "preparing: bool", "preparing: bool\nproposed: int | None"),
            Replace("start", "self.preparing = False", "self.preparing = False\nself.proposed = None"),
            Replace("prepare", "self.preparing = True", "self.preparing = True\nself.proposed = None"),
            Replace(
                "propose",
                "self.tell_all(Accept(self.ballot, self.value if accepted is None else accepted.value))",
                "self.proposed = self.value if accepted is None else accepted.value\n"
                "self.tell_all(Accept(self.ballot, self.proposed))",
            ),
            Replace(
                "handle_nack",
                "self.set_timer(RETRY, BACKOFF)",
                "self.set_timer(RETRY, BACKOFF)\n"
                "if self.proposed is not None:  # the value is known to be safe: no need to ask again\n"
                "    self.ballot = Ballot(self.round_seen + 1, self.me)\n"
                "    self.disk.round = self.ballot.round\n"
                "    self.sync()\n"
                "    self.tell_all(Accept(self.ballot, self.proposed))",
            ),
        ),
        message="""Keep the value when a ballot is overtaken

A proposer that lost a race in phase 2 threw away what it had found out in phase 1 and started over: four message
delays, in which the next rival could come. But the value that it has proposed was safe, and remains so. Take a ballot
above the rival's and ask the acceptors at once.
""",
    ),
)

CATALOGUE = (*PROPOSERS, *ACCEPTORS, *LEARNERS, *PROGRESS, *OPTIMISATIONS)

BEYOND = (
    Beyond("P4", "Recovery keeps its local dependencies instead of the union of all replies.", "EPaxos' dependencies"),
    Beyond("P6", "A quorum counts ids that are no members.", "nodes outside of the cluster, whose messages arrive"),
)
