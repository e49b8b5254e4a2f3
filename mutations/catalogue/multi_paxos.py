"""Drift of Multi-Paxos: what its papers warn of, and what real systems got wrong.

A row like P1 is a bug that was seen in the systems which its sources name; § is a section of "Paxos Made Simple", Live
is "Paxos Made Live" (`protocols/multi_paxos.py`). `breaks` names the invariants that may break first, the commonest
first. `mutations/expected/multi_paxos.toml` has the measurements, `docs/multi_paxos-mutants.md` is a table of
everything.
"""

from mutations.entry import Beyond, DriftKind, Mutation, Replace, Site

NEW_LEADERS = (
    Mutation(
        id="multi_paxos.promise_of_my_ballot",
        title="A promise of an earlier ballot counts for the present one.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("p2b", "p2a"),
        clause="A response to its prepare requests (numbered n) from a majority. §2.2, phase 2 (a)",
        edits=(Site("handle_promise", "drop-check", "promise_of_my_ballot"),),
        sources=("luohaha/MyPaxos#18",),
        aliases=("P1",),
    ),
    Mutation(
        id="multi_paxos.still_candidate",
        title="A promise that comes late makes a leader begin its reign once more, in the same ballot.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("p2a", "p2b", "learned_only_chosen"),
        clause="There is no other 2a message of the ballot. Paxos.tla, Phase2a",
        edits=(Site("handle_promise", "drop-check", "still_candidate"),),
    ),
    Mutation(
        id="multi_paxos.promised_by_majority",
        title="Whoever wants to lead leads.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("p2b", "p2a"),
        clause="If the proposer receives a response from a majority of acceptors. §2.2, phase 2 (a)",
        edits=(Site("lead", "drop-check", "promised_by_majority"),),
    ),
    Mutation(
        id="multi_paxos.lead/weaken-quorum/1",
        title="One promise fewer than a majority makes a leader.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("p2b", "p2a"),
        clause="If the proposer receives a response from a majority of acceptors. §2.2, phase 2 (a)",
        edits=(Site("lead", "weaken-quorum", "1"),),
    ),
    Mutation(
        id="multi_paxos.promises_kept_over_ballots",
        title="A node that wants to lead again keeps the promises of the last time.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("p2b", "p2a"),
        clause="A response to its prepare requests (numbered n) from a majority. §2.2, phase 2 (a)",
        edits=(
            Replace("start", "self.follow()", "self.promises = {}\nself.follow()"),
            Replace("follow", "self.promises = {}", ""),
        ),
    ),
    Mutation(
        id="multi_paxos.lowest_accepted",
        title="A new leader takes the lowest-numbered proposal that it is told of in a slot.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("p2b", "p2a"),
        clause="v is the value of the highest-numbered proposal among the responses. §2.2, P2c, phase 2 (a)",
        edits=(
            Replace(
                "lead",
                "highest(reported.get(slot, ()))",
                "min(reported.get(slot, ()), key=lambda vote: vote.ballot, default=None)",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.own_votes_alone",
        title="A new leader goes by what it has accepted itself, not by what a majority has.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("p2b",),
        clause="The highest-numbered proposal among the responses. §2.2, P2c, phase 2 (a)",
        edits=(Replace("lead", "chain.from_iterable(self.promises.values())", "self.promises[self.me]"),),
    ),
    Mutation(
        id="multi_paxos.starts_where_it_executed",
        title="A new leader puts its clients' commands where others' may have been chosen already.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("p2b",),
        clause="For each instance it proposes what phase 1 constrains it to. §3",
        edits=(
            Replace("lead", "last = max(reported, default=self.executed)", "last = self.executed"),
        ),
    ),
    Mutation(
        id="multi_paxos.prepares_after_its_votes",
        title="A new leader asks about the slots after its last vote, and takes all before for its own.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("p2b",),
        clause="It executes phase 1 of all instances that it does not know to be chosen. §3",
        edits=(
            Replace(
                "prepare",
                "Prepare(self.ballot, self.executed + 1)",
                "Prepare(self.ballot, max(self.votes, default=0) + 1)",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.gaps_left",
        title="A new leader leaves the gaps between the slots that it is told of.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("gaps_are_filled",),
        clause="It fills the gap immediately by proposing, as commands, a special no-op. §3",
        edits=(
            Replace(
                "lead",
                "self.propose(slot, None if accepted is None else accepted.command)",
                "if accepted is not None:\n    self.propose(slot, accepted.command)",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.gaps_filled_with_commands",
        title="A new leader fills a gap with the command that it proposed last, which is then executed twice.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("executed_once", "linearizability"),
        clause="It fills the gap immediately by proposing, as commands, a special no-op. §3",
        edits=(
            Replace(
                "lead",
                "self.propose(slot, None if accepted is None else accepted.command)",
                "command = self.proposals.get(slot - 1) if accepted is None else accepted.command\n"
                "self.propose(slot, command)",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.gaps_filled_with_writes",
        title="A new leader fills a gap with a write that no client has asked for.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("validity",),
        clause="It fills the gap immediately by proposing, as commands, a special no-op. §3",
        edits=(
            Replace(
                "lead",
                "None if accepted is None else accepted.command",
                'Command("put", "x") if accepted is None else accepted.command',
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.round_from_refusals",
        title="A node that restarts begins with round 1 again, and may use a ballot a second time.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("unique_ballots",),
        clause="Each proposer remembers (in stable storage) the highest-numbered proposal it has tried to issue. §2.5",
        edits=(
            Replace("prepare", "max(self.disk.round, self.disk.promised.round, self.round_seen)", "self.round_seen"),
        ),
    ),
    Mutation(
        id="multi_paxos.ballots_in_common",
        title="A ballot is a round, whoever has begun it, so that two proposers may use the same.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("unique_ballots",),
        clause="Different proposers choose their numbers from disjoint sets of numbers. §2.5",
        edits=(
            Replace(
                "prepare",
                "Ballot(max(self.disk.round, self.disk.promised.round, self.round_seen) + 1, self.me)",
                'Ballot(max(self.disk.round, self.disk.promised.round, self.round_seen) + 1, "")',
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.prepare/drop-sync/1",
        title="A ballot is not yet durable when it is begun.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("unique_ballots",),
        clause="Each proposer remembers (in stable storage) the highest-numbered proposal it has tried to issue. §2.5",
        edits=(Site("prepare", "drop-sync", "1"),),
    ),
    Mutation(
        id="multi_paxos.nack_of_my_ballot",
        title="A refusal of an earlier ballot deposes a leader.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        clause="It should inform the proposer, who should then abandon its proposal. §2.2",
        edits=(Site("handle_nack", "drop-check", "nack_of_my_ballot"),),
    ),
    Mutation(
        id="multi_paxos.nack_above_my_ballot",
        title="A refusal of a duplicate deposes a leader that nobody has overtaken.",
        kind=DriftKind.MISSING_CHECK,
        clause="Abandon a proposal if some proposer has begun trying to issue a higher-numbered one. §2.2",
        edits=(Site("handle_nack", "drop-check", "nack_above_my_ballot"),),
    ),
    Mutation(
        id="multi_paxos.not_yet_following",
        title="A follower that hears an old refusal waits anew for word of a leader.",
        kind=DriftKind.MISSING_CHECK,
        clause="Abandon a proposal if some proposer has begun trying to issue a higher-numbered one. §2.2",
        edits=(Site("handle_nack", "drop-check", "not_yet_following"),),
    ),
    Mutation(
        id="multi_paxos.deposed_leader_leads_on",
        title="A leader that promises a higher ballot goes on proposing in its own.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("durability", "learners_catch_up", "linearizability"),
        clause="Abandon a proposal if some proposer has begun trying to issue a higher-numbered one. §2.2",
        edits=(Replace("promise", "if ballot.proposer != self.me:\n    self.follow()", ""),),
    ),
)

ACCEPTORS = (
    Mutation(
        id="multi_paxos.prepare_above_promised",
        title="An acceptor promises whatever it is asked, lower ballots after higher ones.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("promise_monotonicity",),
        clause="A number n greater than that of any prepare request to which it has already responded. "
        "§2.2, phase 1 (b)",
        edits=(Site("handle_prepare", "drop-check", "prepare_above_promised"),),
    ),
    Mutation(
        id="multi_paxos.accept_not_below_promised",
        title="An acceptor accepts what it has promised not to.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("p1a", "acceptances_are_true", "learned_only_chosen", "p2b"),
        clause="Unless it has already responded to a prepare request having a number greater than n. P1a, §2.2",
        edits=(Site("handle_accept", "drop-check", "accept_not_below_promised"),),
    ),
    Mutation(
        id="multi_paxos.accept_promises_nothing",
        title="To accept a proposal does not raise the promise, so a lower leader goes on being obeyed.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("acceptances_are_true", "durability", "learned_only_chosen", "p2b"),
        clause="maxBal' = [maxBal EXCEPT ![a] = m.bal]. Paxos.tla, Phase2b; §2.2, phase 2 (b)",
        edits=(
            Replace(
                "heed",
                "if ballot > self.disk.promised:\n    self.promise(ballot)\nelif ballot.proposer != self.me:\n"
                "    self.set_timer(LEADER, LEADER_TIMEOUT)",
                "if ballot.proposer != self.me:\n    self.set_timer(LEADER, LEADER_TIMEOUT)",
            ),
        ),
        sources=("brooker.co.za blog, 2021-11-16, as discussed in apache/cassandra PR #1327",),
        aliases=("P8",),
    ),
    Mutation(
        id="multi_paxos.first_command_kept",
        title="An acceptor keeps the command that it accepted first in a slot, and takes it for that of later ballots.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("agreement", "learned_only_chosen", "p2b", "p2a"),
        clause="maxVal' = [maxVal EXCEPT ![a] = m.val]. Paxos.tla, Phase2b; §2.2: a proposal has one value",
        edits=(
            Replace(
                "handle_accept",
                "self.record(Vote(m.slot, m.ballot, m.command))",
                "command = self.votes[m.slot].command if m.slot in self.votes else m.command\n"
                "self.record(Vote(m.slot, m.ballot, command))",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.votes_over_the_chosen",
        title="A proposal that comes again overwrites that its command is known to be chosen.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("highest_accepted_kept",),
        clause="An acceptor remembers the highest-numbered proposal that it ever accepted. §2.2",
        edits=(
            Replace(
                "handle_accept",
                "if m.ballot > self.ballot_at(m.slot):\n    self.record(Vote(m.slot, m.ballot, m.command))",
                "self.record(Vote(m.slot, m.ballot, m.command))",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.accepts_only_what_it_promised",
        title="An acceptor accepts in the very ballot that it has promised, and in no other.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("refusals_are_true",),
        clause="An acceptor accepts unless it has promised more, whether or not it was asked to prepare. §2.2, P1a",
        edits=(Replace("handle_accept", "m.ballot >= self.disk.promised", "m.ballot == self.disk.promised"),),
        sources=("luohaha/MyPaxos#19",),
        aliases=("P11",),
    ),
    Mutation(
        id="multi_paxos.promise_hides_the_accepted",
        title="An acceptor promises without a word of what it has accepted.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("p2b",),
        clause="With the highest-numbered proposal (if any) that it has accepted. §2.2, phase 1 (b)",
        edits=(Replace("handle_prepare", "slot >= m.first", "False"),),
    ),
    Mutation(
        id="multi_paxos.promise_tells_the_chosen",
        title="An acceptor reports what it knows to be chosen, and not what it has merely accepted.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("p2b", "learned_only_chosen"),
        clause="With the highest-numbered proposal (if any) that it has accepted. §2.2, phase 1 (b)",
        edits=(
            Replace(
                "handle_prepare",
                "slot >= m.first",
                "slot >= m.first and self.ballot_at(slot) == CHOSEN",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.promise_begins_one_late",
        title="An acceptor does not report the first of the slots that it is asked about.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("p2b",),
        clause="Promise for all instances from the first that the leader does not know. §3",
        edits=(Replace("handle_prepare", "slot >= m.first", "slot > m.first"),),
    ),
    Mutation(
        id="multi_paxos.promised_overwritten_by_accepted",
        title="What a restart takes for its promise is the highest ballot in which it has accepted.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("promise_monotonicity",),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(
            Replace(
                "start",
                "self.round_seen = 0",
                "self.round_seen = 0\n"
                "ballots = [vote.ballot for vote in self.disk.log if vote.ballot != CHOSEN]\n"
                "self.disk.promised = max(ballots, default=BEFORE_ALL)",
            ),
        ),
        sources=("imdea-software/swiftpaxos#3",),
        aliases=("P3",),
    ),
    Mutation(
        id="multi_paxos.wiped_disk_rejoins",
        title="An acceptor that has lost its disk comes back as if it had never promised or accepted anything.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("promise_monotonicity", "highest_accepted_kept"),
        clause="A replica with a corrupted disk does not take part until it has seen an instance that began after its "
        "return. Live, §5.1",
        edits=(
            Replace(
                "start",
                "self.round_seen = 0",
                "self.round_seen = 0\nself.disk.promised = BEFORE_ALL\nself.disk.log.store(0, ())\nself.sync()",
            ),
        ),
        sources=("Chandra, Griesemer and Redstone, Paxos Made Live, PODC 2007, §5.1",),
        aliases=("P9",),
    ),
    Mutation(
        id="multi_paxos.promise/drop-sync/1",
        title="A promise is given that is not on the disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("promise_monotonicity",),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(Site("promise", "drop-sync", "1"),),
    ),
    Mutation(
        id="multi_paxos.promise_sent_before_sync",
        title="A promise is sent before it is on the disk.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("promise_monotonicity",),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(
            Replace("promise", "self.disk.promised = ballot\nself.sync()", "self.disk.promised = ballot"),
            Replace(
                "handle_prepare",
                "self.tell(src, Promise(m.ballot, tuple(self.votes[slot] for slot in sorted(self.votes) "
                "if slot >= m.first)))",
                "self.tell(src, Promise(m.ballot, tuple(self.votes[slot] for slot in sorted(self.votes) "
                "if slot >= m.first)))\nself.sync()",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.handle_accept/drop-sync/1",
        title="An acceptor says that it has accepted what is not on its disk.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability", "p2b"),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(Site("handle_accept", "drop-sync", "1"),),
    ),
    Mutation(
        id="multi_paxos.accepted_sent_before_sync",
        title="An acceptor says that it has accepted before that is on its disk.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("learned_only_chosen", "durability", "gaps_are_filled", "p2b"),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(
            Replace(
                "handle_accept",
                "self.sync()\nself.tell(src, Accepted(m.ballot, m.slot))",
                "self.tell(src, Accepted(m.ballot, m.slot))\nself.sync()",
            ),
        ),
    ),
)

CHOOSING = (
    Mutation(
        id="multi_paxos.accepted_by_majority",
        title="A leader takes for chosen what a single acceptor has accepted.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("learned_only_chosen",),
        clause="A value is chosen when a large enough set of acceptors have accepted it: any majority. §2.2",
        edits=(Site("choose", "drop-check", "accepted_by_majority"),),
    ),
    Mutation(
        id="multi_paxos.choose/weaken-quorum/1",
        title="One acceptor fewer than a majority makes a command chosen.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("learned_only_chosen",),
        clause="A value is chosen when a large enough set of acceptors have accepted it: any majority. §2.2",
        edits=(Site("choose", "weaken-quorum", "1"),),
    ),
    Mutation(
        id="multi_paxos.accepted_in_my_ballot",
        title="A leader counts who has accepted something in the slot, in whatever ballot.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("failure", "learned_only_chosen"),
        clause="A majority has accepted the same proposal: VotedFor(a, b, v) for one b. Voting.tla, ChosenAt",
        edits=(Site("handle_accepted", "drop-check", "accepted_in_my_ballot"),),
    ),
    Mutation(
        id="multi_paxos.still_leader",
        title="A node that leads no more counts who has accepted its proposals.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="A leader's proposals and who accepted them are its own, and volatile. §3",
        edits=(Site("handle_accepted", "drop-check", "still_leader"),),
    ),
    Mutation(
        id="multi_paxos.accepted_is_a_count",
        title="A leader counts messages, so a duplicated one counts as two acceptors.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("learned_only_chosen", "gaps_are_filled"),
        clause="A majority of acceptors is a majority of different acceptors. §2.2; Paxos.tla, Quorum",
        edits=(
            Replace("propose", "self.accepted_by[slot] = set()", "self.accepted_by[slot] = []"),
            Replace("handle_accepted", "self.accepted_by[m.slot].add(src)", "self.accepted_by[m.slot].append(src)"),
            Replace(
                "choose",
                "self.is_majority(self.accepted_by[slot])",
                "len(self.accepted_by[slot]) > self.cluster_size // 2",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.request_to_leader",
        title="A node that does not lead proposes its clients' commands.",
        kind=DriftKind.MISSING_CHECK,
        breaks=(
            "durability",
            "acceptances_are_true",
            "gaps_are_filled",
            "linearizability",
            "learned_only_chosen",
            "p2b",
            "failure",
        ),
        clause="Clients send commands to the leader, who decides where in the sequence each should appear. §3",
        edits=(Site("request", "drop-check", "request_to_leader"),),
    ),
    Mutation(
        id="multi_paxos.waiting_kept",
        title="A deposed leader answers its clients by whatever is executed where their commands stood.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("linearizability", "durability"),
        clause="Another leader may have had another command chosen there. §3",
        edits=(
            Replace("start", "self.follow()", "self.waiting = {}\nself.follow()"),
            Replace("follow", "self.waiting = {}", ""),
        ),
    ),
    Mutation(
        id="multi_paxos.uncertain_is_told_as_failed",
        title="A deposed leader tells its clients that their commands failed, which may yet be chosen.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("linearizability",),
        clause="The new leader proposes what it finds accepted, by whomever it was proposed. §3",
        edits=(
            Replace("start", "self.follow()", "self.waiting = {}\nself.follow()"),
            Replace(
                "follow",
                "self.waiting = {}",
                "for op in self.waiting.values():\n    self.refuse(op)\nself.waiting = {}",
            ),
        ),
    ),
)

LEARNERS = (
    Mutation(
        id="multi_paxos.accepted_in_leaders_ballot",
        title="A follower takes what it has for chosen, in whatever ballot it accepted it, and though it has nothing.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="What is chosen is a proposal, of one ballot. §2.2; OneValuePerBallot",
        edits=(Site("handle_heartbeat", "drop-check", "accepted_in_leaders_ballot"),),
    ),
    Mutation(
        id="multi_paxos.chosen_in_another_ballot",
        title="A follower whose leader says that a slot is chosen takes what it accepted there in any ballot.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("learned_only_chosen", "agreement"),
        clause="What is chosen is a proposal, of one ballot. §2.2; OneValuePerBallot",
        edits=(Replace("handle_heartbeat", "self.ballot_at(slot) in (m.ballot, CHOSEN)", "slot in self.votes"),),
    ),
    Mutation(
        id="multi_paxos.heartbeat_not_below_promised",
        title="Heartbeats of a deposed leader are believed.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        clause="The others defer to one leader. Live, §4.1",
        edits=(Site("handle_heartbeat", "drop-check", "heartbeat_not_below_promised"),),
    ),
    Mutation(
        id="multi_paxos.learn_from_others_as_follower",
        title="A leader takes from others what is chosen where its own clients wait.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("durability", "linearizability"),
        clause="A leader that is told what others have chosen is none any more. §3",
        edits=(Site("handle_chosen", "drop-check", "learn_from_others_as_follower"),),
    ),
    Mutation(
        id="multi_paxos.accepted_is_told_as_chosen",
        title="Whoever lags behind is told what was accepted, which need not have been chosen.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("learned_only_chosen",),
        clause="Nobody learns that a value has been chosen unless it has been. §2.1",
        edits=(
            Replace(
                "handle_catch_up",
                "last = min(self.executed, m.first + self.switches.batch - 1)",
                "last = m.first - 1\n"
                "while last + 1 in self.votes and last < m.first + self.switches.batch - 1:\n"
                "    last += 1",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.executed_when_chosen",
        title="A command is executed as soon as it is chosen, whether or not those before it are.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("order_of_execution",),
        clause="A server can execute command 141 when it has learned the commands 1 to 140. §3",
        edits=(
            Replace(
                "execute",
                "while self.ballot_at(self.executed + 1) == CHOSEN:\n"
                "    self.executed += 1\n"
                "    result = self.apply(self.executed, self.votes[self.executed].command)\n"
                "    if self.executed in self.waiting:\n"
                "        self.reply(self.waiting.pop(self.executed), result)",
                "for slot in sorted(slot for slot in self.votes if slot > self.executed):\n"
                "    if self.ballot_at(slot) == CHOSEN:\n"
                "        self.executed = slot\n"
                "        result = self.apply(slot, self.votes[slot].command)\n"
                "        if slot in self.waiting:\n"
                "            self.reply(self.waiting.pop(slot), result)",
            ),
        ),
    ),
    Mutation(
        id="multi_paxos.nobody_is_told",
        title="A follower that lacks what is chosen does not ask for it.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("learners_catch_up",),
        clause="A replica that lags must catch up. Live, §4.1; §2.3",
        edits=(Replace("handle_heartbeat", "self.send(src, CatchUp(slot))", ""),),
    ),
    Mutation(
        id="multi_paxos.nothing_is_sent_again",
        title="A proposal that was lost is not sent again.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal",),
        clause="Messages may be lost; a proposal that is not chosen must be tried again. §2.4, §3",
        edits=(Replace("keep_leading", "self.send(peer, Accept(self.ballot, slot, command))", "pass"),),
    ),
    Mutation(
        id="multi_paxos.silent_leader",
        title="A leader shows that it lives only once.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("learners_catch_up", "progress_after_heal"),
        clause="A leader is to be heard before the patience of the others ends. Live, §4.1",
        edits=(Replace("announce", "self.set_timer(HEARTBEAT, HEARTBEAT_INTERVAL)", ""),),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="multi_paxos.reads_from_local_state",
        title="A leader answers reads from its own state, without asking whether it still leads.",
        kind=DriftKind.OPTIMISATION,
        breaks=("linearizability",),
        clause="Other replicas could have elected another leader, so a read goes through Paxos. Live, §5.2",
        edits=(
            Replace(
                "request",
                "slot = self.next_slot",
                'if command.op == "get":  # changes nothing, so there is nothing to agree on\n'
                "    self.reply(op, self.application.apply(command))\n"
                "    return\n"
                "slot = self.next_slot",
            ),
        ),
        message="""Serve reads from the leader's state

Reads took a slot of the sequence like writes, although they change nothing. The leader executes every command in
order before it answers anybody, so its state is the latest there is: no disk, no round trip.
""",
    ),
    Mutation(
        id="multi_paxos.accepts_tell_what_is_chosen",
        title="A follower that gets a leader's next proposal takes the ones before it for chosen.",
        kind=DriftKind.OPTIMISATION,
        breaks=("learned_only_chosen",),
        clause="A leader may propose command 141 before the proposals before it are chosen. §3",
        edits=(
            Replace(
                "handle_accept",
                "self.sync()\nself.tell(src, Accepted(m.ballot, m.slot))",
                "self.sync()\n"
                "for slot in range(self.executed + 1, m.slot):  # the leader is done with these\n"
                "    if self.ballot_at(slot) == m.ballot:\n"
                "        self.learn(slot, self.votes[slot].command)\n"
                "self.tell(src, Accepted(m.ballot, m.slot))",
            ),
        ),
        message="""Followers learn from the next proposal

A follower learned what was chosen from the next heartbeat, up to 50 ms late. But a leader numbers its proposals one
by one, so its proposal for slot n says that it is done with slot n - 1: under load, followers are up to date at once,
and no message is added.
""",
    ),
    Mutation(
        id="multi_paxos.votes_synced_with_the_heartbeat",
        title="An acceptor syncs what it has accepted when it hears the next heartbeat.",
        kind=DriftKind.OPTIMISATION,
        breaks=("durability", "p2b"),
        clause="An acceptor records the response in stable storage before actually sending it. §2.5",
        edits=(
            Replace(
                "handle_accept",
                "self.sync()\nself.tell(src, Accepted(m.ballot, m.slot))",
                "self.tell(src, Accepted(m.ballot, m.slot))",
            ),
            Replace(
                "handle_heartbeat",
                "self.heed(m.ballot)",
                "self.heed(m.ballot)\nself.sync()  # all votes since the last one",
            ),
        ),
        message="""One sync for many votes

Under load an acceptor spent its time in fsync, one for every vote. Heartbeats come twenty times a second and tell what
is chosen: sync then, once for all votes since the last one, and before anything is executed.
""",
    ),
    Mutation(
        id="multi_paxos.promise_kept_for_the_next_ballot",
        title="A leader that was overtaken takes a higher ballot on the promises that it already has.",
        kind=DriftKind.OPTIMISATION,
        breaks=("p2b", "p2a", "learned_only_chosen"),
        clause="A proposal is issued on the promises to its own number. §2.2, P2c, phase 1",
        edits=(
            Replace(
                "handle_nack",
                "self.round_seen = max(self.round_seen, m.promised.round)\nself.follow()",
                "self.round_seen = max(self.round_seen, m.promised.round)\n"
                "if self.role is Role.LEADER:  # phase 1 has told me all that there is to know\n"
                "    self.ballot = Ballot(self.round_seen + 1, self.me)\n"
                "    self.disk.round = self.ballot.round\n"
                "    self.sync()\n"
                "    self.lead()\n"
                "else:\n"
                "    self.follow()",
            ),
        ),
        message="""Do not depose a leader for one lost race

When a node came back from a partition and asked to lead, its higher ballot cost the cluster its leader: phase 1 again,
for everybody, although nothing had changed. The leader knows already what a majority has accepted, and everything
accepted since is its own. So it takes the next ballot and proposes on.
""",
    ),
)

CATALOGUE = (*NEW_LEADERS, *ACCEPTORS, *CHOOSING, *LEARNERS, *OPTIMISATIONS)

BEYOND = (
    Beyond("P4", "Recovery keeps its local dependencies instead of the union of all replies.", "EPaxos' dependencies"),
    Beyond("P6", "A quorum counts ids that are no members.", "nodes outside of the cluster, whose messages arrive"),
)
