"""Drift of two-phase commit: what its book and papers warn of, and what real systems got wrong.

A row like T2 is a bug that was seen in the systems which its sources name; BHG and PA are the book and the paper of
`protocols/two_phase_commit.py`. `breaks` names the invariants that may break first, the commonest first.
`mutations/expected/two_phase_commit.toml` has the measurements, `docs/two_phase_commit-mutants.md` a table of all.
"""

from mutations.entry import Beyond, DriftKind, Lines, Mutation, Replace, Site

VOTES = (
    Mutation(
        id="two_phase_commit.vote_on_this_transaction",
        title="A vote on an earlier transaction counts in the vote that goes on.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("ac3_unanimity", "ac1_agreement"),
        clause="The coordinator collects the votes on the transaction. BHG §7.4, step 3",
        edits=(Site("record_vote", "drop-check", "vote_on_this_transaction"),),
    ),
    Mutation(
        id="two_phase_commit.voter_is_participant",
        title="Anybody's vote counts.",
        kind=DriftKind.MISSING_CHECK,
        clause="Votes are those of all participants. BHG §7.4, step 3",
        edits=(Site("record_vote", "drop-check", "voter_is_participant"),),
    ),
    Mutation(
        id="two_phase_commit.vote_is_yes_or_no",
        title="An answer that is neither yes nor no counts as a vote, and nobody has voted no.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac3_unanimity", "ac1_agreement"),
        clause="The decision is to commit if all votes were yes. BHG §7.4, step 3",
        edits=(Site("record_vote", "drop-check", "vote_is_yes_or_no"),),
    ),
    Mutation(
        id="two_phase_commit.vote_is_not_changed",
        title="A later vote replaces an earlier one.",
        kind=DriftKind.MISSING_CHECK,
        clause="A process that voted no has decided abort, and cannot reverse that. BHG §7.3, AC2; §7.4, step 2",
        edits=(Site("record_vote", "drop-check", "vote_is_not_changed"),),
    ),
    Mutation(
        id="two_phase_commit.malformed_votes",
        title="While a vote goes on, the coordinator counts whatever comes as a vote.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac3_unanimity", "ac1_agreement"),
        clause="The coordinator collects yes and no from all participants of the transaction. BHG §7.4, step 3",
        edits=(
            Replace(
                "record_vote",
                "counted = holds(\n"
                "    vote_on_this_transaction=m.xid == self.voting,\n"
                "    voter_is_participant=src in self.asked,\n"
                "    vote_is_yes_or_no=m.ballot in (YES, NO),\n"
                "    vote_is_not_changed=self.votes.get(src, m.ballot) == m.ballot,\n"
                ")\n"
                "if counted:\n"
                "    self.votes[src] = m.ballot\n"
                "    self.try_decide()",
                "if self.voting:\n    self.votes[src] = m.ballot\n    self.try_decide()",
            ),
        ),
        go=(
            Lines(
                "recordVote",
                "counted := c.Holds(\n"
                '\tstep.Check("vote_on_this_transaction", m.Xid == c.voting),\n'
                '\tstep.Check("voter_is_participant", slices.Contains(c.asked, src)),\n'
                '\tstep.Check("vote_is_yes_or_no", m.Ballot == yes || m.Ballot == no),\n'
                '\tstep.Check("vote_is_not_changed", c.votes[src] == "" || c.votes[src] == m.Ballot),\n'
                ")\n"
                "if counted {",
                "if c.voting != 0 {",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.votes_kept",
        title="The votes on one transaction are still there when the next one is voted on.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("ac3_unanimity", "ac1_agreement"),
        clause="The coordinator collects the votes on the transaction. BHG §7.4, step 3",
        edits=(
            Replace("start", "self.forget_vote()", "self.votes = {}\nself.forget_vote()"),
            Replace("forget_vote", "self.votes, self.waited = {}, 0", "self.waited = 0"),
        ),
    ),
    Mutation(
        id="two_phase_commit.all_have_voted",
        title="The first vote commits, if it is a yes.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac3_unanimity",),
        clause="The decision is to commit if all votes were yes. BHG §7.3, AC3; §7.4, step 3",
        edits=(Site("try_decide", "drop-check", "all_have_voted"),),
    ),
    Mutation(
        id="two_phase_commit.nobody_voted_no",
        title="When the last vote comes in, the transaction is committed, whatever the votes were.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac1_agreement", "ac2_irrevocability"),
        clause="The decision is to commit if all votes were yes. BHG §7.3, AC3; §7.4, step 3",
        edits=(Site("try_decide", "drop-check", "nobody_voted_no"),),
    ),
    Mutation(
        id="two_phase_commit.commit_on_any_yes",
        title="A single yes commits, instead of all.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("ac3_unanimity",),
        clause="The decision is to commit if all votes were yes. BHG §7.3, AC3; §7.4, step 3",
        edits=(
            Replace(
                "try_decide",
                "holds(\n"
                "    all_have_voted=len(self.votes) == len(self.asked),\n"
                "    nobody_voted_no=NO not in self.votes.values(),\n"
                ")",
                "holds(\n    somebody_voted_yes=YES in self.votes.values(),\n)",
            ),
        ),
        go=(
            Lines(
                "tryDecide",
                'step.Check("all_have_voted", len(c.votes) == len(c.asked)),\n'
                'step.Check("nobody_voted_no", !c.somebodyVoted(no)),',
                'step.Check("somebody_voted_yes", c.somebodyVoted(yes)),',
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.commit_on_a_majority",
        title="More than half of the participants can commit.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("ac3_unanimity",),
        clause="All participants have to vote yes, not a majority of them. BHG §7.3, AC3",
        edits=(
            Replace(
                "try_decide",
                "len(self.votes) == len(self.asked)",
                "len(self.votes) > len(self.asked) // 2",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.silence_is_consent",
        title="When the votes take too long, those that are missing count as yes.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("ac3_unanimity", "ac1_agreement"),
        clause="A coordinator that waits too long for a vote decides abort. BHG §7.4, timeout actions, step 3",
        edits=(
            Replace(
                "resend",
                "self.conclude(ABORT)",
                "self.votes = {participant: self.votes.get(participant, YES) for participant in self.asked}\n"
                "self.try_decide()",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.first_vote_decides",
        title="A vote that does not complete the yes votes aborts, as if it were a no.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("ac4_no_needless_abort",),
        clause="If all vote yes and nothing fails, the decision is to commit. BHG §7.3, AC4",
        edits=(Replace("try_decide", "NO in self.votes.values()", "self.votes"),),
    ),
    Mutation(
        id="two_phase_commit.vote_never_ends",
        title="A coordinator waits for missing votes for ever.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac5_termination",),
        clause="A coordinator that waits too long for a vote decides abort. BHG §7.4, timeout actions, step 3",
        edits=(Replace("resend", "if self.waited >= self.switches.patience:\n    self.conclude(ABORT)", ""),),
    ),
)

DECISIONS = (
    Mutation(
        id="two_phase_commit.try_decide/drop-sync/1",
        title="The commit is sent although a crash may still undo the record of it.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability",),
        clause="The coordinator writes a commit record before it sends the decision. BHG §7.4, DT log; PA",
        edits=(Site("try_decide", "drop-sync", "1"),),
    ),
    Mutation(
        id="two_phase_commit.try_decide/swap-sync-and-send/1",
        title="The commit is sent before the record of it is durable.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("durability",),
        clause="The coordinator writes a commit record before it sends the decision. BHG §7.4, DT log; PA",
        edits=(Site("try_decide", "swap-sync-and-send", "1"),),
        sources=("MartinKalema/horizontal-scaling-convex#101",),
        aliases=("T2",),
    ),
    Mutation(
        id="two_phase_commit.client_first",
        title="The client hears of the commit before the record of it is durable.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("durability",),
        clause="A decision is reached when its record is on stable storage. BHG §7.4, DT log",
        edits=(
            Replace(
                "try_decide",
                "self.disk.log.append(Record(COMMIT, self.voting, self.transaction))",
                "self.reply(self.voting, COMMIT)\nself.disk.log.append(Record(COMMIT, self.voting, self.transaction))",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.no_record_is_commit",
        title="A coordinator that knows nothing of a transaction says that it was committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("ac2_irrevocability", "ac3_unanimity"),
        clause="In the absence of information the answer is abort. PA",
        edits=(Replace("decided", "COMMIT if xid in self.unacknowledged else ABORT", "COMMIT"),),
    ),
    Mutation(
        id="two_phase_commit.undecided_is_abort",
        title="A coordinator that is asked while votes come in answers abort, and may commit after that.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac2_irrevocability",),
        clause="Abort is presumed where there is no information; a vote that goes on is some. PA",
        edits=(Replace("decided", "if xid == self.voting:\n    return None", ""),),
    ),
    Mutation(
        id="two_phase_commit.recover_forgets_commits",
        title="A coordinator that restarts does not know its commits any more, and presumes that they were aborted.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("ac2_irrevocability",),
        clause="Commits without an end record are in progress again after a restart. PA",
        edits=(
            Replace(
                "recover",
                "self.unacknowledged[record.xid] = list(self.participants(record.transaction))",
                "pass",
            ),
        ),
        go=(Lines("recover", "c.unacknowledged.Set(record.Xid, c.holders(record.Transaction.Keys))", ""),),
    ),
    Mutation(
        id="two_phase_commit.recover_forgets_aborts",
        title="A participant that restarts does not know that it has aborted, and votes yes when it is asked again.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("ac1_agreement", "ac2_irrevocability"),
        clause="A process cannot reverse its decision. BHG §7.3, AC2",
        edits=(
            Replace(
                "recover",
                "if record.kind == COMMIT:\n"
                "    self.unacknowledged[record.xid] = list(self.participants(record.transaction))\n"
                "elif record.kind == END:\n"
                "    self.unacknowledged.pop(record.xid, None)\n"
                "elif record.kind == PREPARED:\n"
                "    self.in_doubt[record.xid] = record\n"
                "else:\n"
                "    self.in_doubt.pop(record.xid, None)\n"
                "    self.outcomes[record.xid] = record.kind",
                "if record.kind == COMMIT:\n"
                "    self.unacknowledged[record.xid] = list(self.participants(record.transaction))\n"
                "elif record.kind == END:\n"
                "    self.unacknowledged.pop(record.xid, None)\n"
                "elif record.kind == PREPARED:\n"
                "    self.in_doubt[record.xid] = record\n"
                "elif record.kind == COMMITTED:\n"
                "    self.in_doubt.pop(record.xid, None)\n"
                "    self.outcomes[record.xid] = record.kind",
            ),
        ),
        go=(Lines("recover", "default:", "case committed:"),),
    ),
    Mutation(
        id="two_phase_commit.recover_forgets_decisions",
        title="A restart brings back what is prepared and what was finished by commit, and no decision besides.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("ac2_irrevocability", "ac1_agreement"),
        clause="A decision that was reached is the same after a restart. BHG §7.3, AC2; PA",
        edits=(
            Replace(
                "recover",
                "if record.kind == COMMIT:\n"
                "    self.unacknowledged[record.xid] = list(self.participants(record.transaction))\n"
                "elif record.kind == END:\n"
                "    self.unacknowledged.pop(record.xid, None)\n"
                "elif record.kind == PREPARED:\n"
                "    self.in_doubt[record.xid] = record\n"
                "else:\n"
                "    self.in_doubt.pop(record.xid, None)\n"
                "    self.outcomes[record.xid] = record.kind",
                "if record.kind == PREPARED:\n"
                "    self.in_doubt[record.xid] = record\n"
                "elif record.kind == COMMITTED:\n"
                "    self.in_doubt.pop(record.xid, None)\n"
                "    self.outcomes[record.xid] = record.kind",
            ),
        ),
        go=(
            Lines(
                "recover",
                "case commit:\n"
                "\tc.unacknowledged.Set(record.Xid, c.holders(record.Transaction.Keys))\n"
                "case end:\n"
                "\tc.unacknowledged.Delete(record.Xid)\n"
                "case prepared:",
                "case prepared:",
            ),
            Lines("recover", "default:", "case committed:"),
        ),
    ),
    Mutation(
        id="two_phase_commit.recover_reads_the_end",
        title="A restart reads the last records of the log alone, and has forgotten what is older.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("ac2_irrevocability", "isolation", "ac1_agreement", "durability"),
        clause="What is known after a restart is what the DT log says, all of it. BHG §7.4, recovery",
        edits=(Replace("recover", "self.disk.log", "self.disk.log[-12:]"),),
        go=(
            Lines(
                "recover",
                "for i := range c.Disk.Log.Len() {",
                "for i := max(0, c.Disk.Log.Len()-12); i < c.Disk.Log.Len(); i++ {",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.recover_aborts_what_is_in_doubt",
        title="A participant that restarts in doubt aborts, since it cannot know the decision.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("ac1_agreement", "ac2_irrevocability"),
        clause="Who has voted yes cannot decide alone, after a restart neither. BHG §7.4, uncertainty period, recovery",
        edits=(
            Replace(
                "recover",
                "if self.in_doubt:\n    self.set_timer(INQUIRE, INQUIRE_INTERVAL)",
                "for xid in self.in_doubt:\n    self.abort_alone(xid)\nself.in_doubt = {}",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.ack_is_awaited",
        title="Every acknowledgement is crossed out, one that comes twice too.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="The coordinator waits for an acknowledgement of each participant. PA",
        edits=(Site("handle_ack", "drop-check", "ack_is_awaited"),),
    ),
    Mutation(
        id="two_phase_commit.all_have_acknowledged",
        title="The first acknowledgement ends the commit, and those who are in doubt are told that it was aborted.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac2_irrevocability",),
        clause="The end record is written when all have acknowledged. PA",
        edits=(Site("handle_ack", "drop-check", "all_have_acknowledged"),),
    ),
    Mutation(
        id="two_phase_commit.acks_are_a_count",
        title="Acknowledgements are counted, so that one which comes twice stands for another participant's.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("ac2_irrevocability",),
        clause="The coordinator waits for an acknowledgement of each participant. PA",
        edits=(
            Replace("handle_ack", "src in waiting", "len(waiting) > 0"),
            Replace("handle_ack", "waiting.remove(src)", "waiting.pop()"),
        ),
    ),
    Mutation(
        id="two_phase_commit.commits_are_sent_once",
        title="A coordinator does not send a commit again, even if nobody acknowledges it.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("commits_end",),
        clause="The coordinator periodically sends the outcome again to those who have not acknowledged it. PA",
        edits=(
            Replace(
                "resend",
                "for xid, participants in self.unacknowledged.items():\n"
                "    for participant in participants:\n"
                "        self.send(participant, Decision(xid, COMMIT))",
                "",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.recovered_commits_wait",
        title="After a restart a coordinator knows its commits, but sends them only if it is asked.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("commits_end",),
        clause="The recovery process sends the outcome to those who have not acknowledged it. PA",
        edits=(Replace("recover", "if self.unacknowledged:\n    self.set_timer(RESEND, RESEND_INTERVAL)", ""),),
    ),
)

PARTICIPANTS = (
    Mutation(
        id="two_phase_commit.not_aborted_before",
        title="A participant that has aborted alone votes yes when it is asked.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac1_agreement", "ac2_irrevocability"),
        clause="A process cannot reverse its decision. BHG §7.3, AC2",
        edits=(Site("handle_prepare", "drop-check", "not_aborted_before"),),
    ),
    Mutation(
        id="two_phase_commit.not_refused_here",
        title="A participant votes yes on what it cannot commit.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity",),
        clause="Yes means that the process is able to commit. BHG §7.3",
        edits=(Site("handle_prepare", "drop-check", "not_refused_here"),),
    ),
    Mutation(
        id="two_phase_commit.keys_are_free",
        title="A participant prepares a transaction although another one in doubt has written the same key.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("isolation",),
        clause="Locks are held until the decision is known. PA; BHG §7.4, blocking",
        edits=(Site("handle_prepare", "drop-check", "keys_are_free"),),
    ),
    Mutation(
        id="two_phase_commit.handle_prepare/drop-sync/1",
        title="A participant votes yes although a crash may undo that it is prepared.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("durability",),
        clause="A participant writes a yes record before it votes yes. BHG §7.4, DT log",
        edits=(Site("handle_prepare", "drop-sync", "1"),),
    ),
    Mutation(
        id="two_phase_commit.handle_prepare/swap-sync-and-send/1",
        title="A participant votes yes, and prepares then.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("durability",),
        clause="A participant writes a yes record before it votes yes. BHG §7.4, DT log",
        edits=(Site("handle_prepare", "swap-sync-and-send", "1"),),
        go=(
            Lines("handlePrepare", "c.Sync()", ""),
            Lines(
                "handlePrepare",
                "c.inDoubt.Set(m.Xid, record)\nc.Send(src, Vote{m.Xid, yes})",
                "c.inDoubt.Set(m.Xid, record)\nc.Send(src, Vote{m.Xid, yes})\nc.Sync() // before the vote",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.prepared_again",
        title="A participant that has committed prepares the same transaction again when a delayed request comes.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("ac2_irrevocability",),
        clause="A process cannot reverse its decision; a coordinator that has forgotten would presume abort. AC2; PA",
        edits=(
            Replace("handle_prepare", "m.xid in self.in_doubt or m.xid in self.outcomes", "m.xid in self.in_doubt"),
        ),
    ),
    Mutation(
        id="two_phase_commit.decision_is_awaited",
        title="A participant carries out a decision on a transaction that it has not prepared, or finished already.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure",),
        clause="Participants that voted yes wait for the decision. BHG §7.4, step 4",
        edits=(Site("handle_decision", "drop-check", "decision_is_awaited"),),
    ),
    Mutation(
        id="two_phase_commit.last_decision_wins",
        title="A decision that comes later overwrites the one before, and an answer may be presumed and late.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("ac2_irrevocability",),
        clause="A process cannot reverse its decision. BHG §7.3, AC2",
        edits=(
            Replace("handle_decision", "m.xid in self.in_doubt", "m.xid in self.in_doubt or m.xid in self.outcomes"),
            Replace("handle_decision", "del self.in_doubt[m.xid]", "self.in_doubt.pop(m.xid, None)"),
        ),
    ),
    Mutation(
        id="two_phase_commit.handle_decision/drop-sync/1",
        title="A participant acknowledges a commit although a crash may undo it.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("ac2_irrevocability",),
        clause="A participant writes a commit record before it acknowledges. PA",
        edits=(Site("handle_decision", "drop-sync", "1"),),
    ),
    Mutation(
        id="two_phase_commit.handle_decision/swap-sync-and-send/1",
        title="A participant acknowledges a commit, and writes it then.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("ac2_irrevocability",),
        clause="A participant writes a commit record before it acknowledges. PA",
        edits=(Site("handle_decision", "swap-sync-and-send", "1"),),
        go=(
            Lines(
                "handleDecision",
                "if m.Decision == commit {\n\tc.Sync()\n}\n",
                "",
            ),
            Lines(
                "handleDecision",
                "if m.Decision == commit {\n\tc.Send(src, Ack{m.Xid})\n}",
                "if m.Decision == commit {\n"
                "\tc.Send(src, Ack{m.Xid})\n"
                "}\n"
                "c.Sync() // before it is acknowledged; an abort that is lost will be asked for again. PA",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.finished_is_silent",
        title="A participant that has finished does not acknowledge again, so its coordinator waits for ever.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("commits_end",),
        clause="A participant that knows nothing in doubt acknowledges, so that the coordinator can forget. PA",
        edits=(
            Replace(
                "handle_decision",
                "if m.decision == COMMIT:\n    self.sync()",
                "if m.decision == COMMIT:\n    self.sync()\n    self.send(src, Ack(m.xid))",
            ),
            Replace("handle_decision", "if m.decision == COMMIT:\n    self.send(src, Ack(m.xid))", ""),
        ),
        sources=("narayana JBTM-2939 (PR #1229)",),
        aliases=("T8",),
    ),
)

TERMINATION = (
    Mutation(
        id="two_phase_commit.aborts_alone_in_doubt",
        title="A participant that waits too long for the decision aborts, although it has voted yes.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("ac1_agreement", "ac2_irrevocability"),
        clause="Who has voted yes is uncertain, and must not decide alone. BHG §7.4, uncertainty period",
        edits=(
            Replace(
                "inquire",
                "for xid, record in self.in_doubt.items():\n"
                "    others = self.participants(record.transaction) if self.switches.cooperative else ()\n"
                "    for node in dict.fromkeys((record.coordinator, *others)):\n"
                "        if node in (record.coordinator, *self.peers):\n"
                "            self.send(node, Inquire(xid, record.coordinator))\n"
                "if self.in_doubt:\n"
                "    self.set_timer(INQUIRE, INQUIRE_INTERVAL)",
                "for xid in self.in_doubt:\n    self.abort_alone(xid)\nself.in_doubt = {}",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.abort_alone/drop-sync/1",
        title="A participant says that it has aborted, and after a crash it may vote yes.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("ac1_agreement", "ac2_irrevocability"),
        clause="A process cannot reverse its decision. BHG §7.3, AC2",
        edits=(Site("abort_alone", "drop-sync", "1"),),
    ),
    Mutation(
        id="two_phase_commit.is_certain",
        title="A participant that is in doubt itself tells another one to abort.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac1_agreement", "ac2_irrevocability"),
        clause="Who voted yes and has not received a decision is uncertain, and cannot help. BHG §7.4, cooperative",
        edits=(Site("learned", "drop-check", "is_certain"),),
    ),
    Mutation(
        id="two_phase_commit.believes_an_uncertain_peer",
        title="A participant that has voted yes tells another one that the transaction is committed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("ac1_agreement", "ac3_unanimity"),
        clause="Who voted yes and has not received a decision is uncertain, and cannot help. BHG §7.4, cooperative",
        edits=(
            Replace(
                "learned",
                "if not holds(is_certain=xid not in self.in_doubt):\n    return None",
                "if xid in self.in_doubt:\n    return COMMIT",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.abort_without_record",
        title="A participant that has not voted tells another one to abort, and may vote yes later.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("ac1_agreement", "ac2_irrevocability"),
        clause="Who has not voted may decide abort, and then sends that. BHG §7.4, cooperative",
        edits=(
            Replace(
                "learned",
                "self.abort_alone(xid)\nreturn COMMIT if self.outcomes[xid] == COMMITTED else ABORT",
                "return COMMIT if self.outcomes.get(xid) == COMMITTED else ABORT",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.asks_everybody",
        title="Who is in doubt asks all nodes, and one that is no participant has not voted, so it says abort.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("ac1_agreement",),
        clause="The vote request lists the participants, so that they know each other. BHG §7.4, cooperative",
        edits=(Replace("inquire", "self.participants(record.transaction)", "self.peers"),),
    ),
    Mutation(
        id="two_phase_commit.everybody_presumes",
        title="A participant answers as if it were the coordinator: what it knows no commit of was aborted.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac1_agreement", "ac2_irrevocability"),
        clause="Only the coordinator may presume abort from having no information. PA",
        edits=(
            Replace(
                "handle_inquire",
                "self.decided(m.xid) if m.coordinator == self.me else self.learned(m.xid)",
                "self.decided(m.xid)",
            ),
        ),
    ),
    Mutation(
        id="two_phase_commit.asks_once",
        title="Who is in doubt asks once, and then waits.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("ac5_termination",),
        clause="If all failures are repaired, all processes eventually reach a decision. BHG §7.3, AC5",
        edits=(Replace("inquire", "if self.in_doubt:\n    self.set_timer(INQUIRE, INQUIRE_INTERVAL)", ""),),
    ),
    Mutation(
        id="two_phase_commit.recovers_silently",
        title="A participant that restarts in doubt asks nobody.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("ac5_termination",),
        clause="A participant that recovers in doubt runs the termination protocol. BHG §7.4, recovery",
        edits=(Replace("recover", "if self.in_doubt:\n    self.set_timer(INQUIRE, INQUIRE_INTERVAL)", ""),),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="two_phase_commit.one_phase_for_one_participant",
        title="A transaction of one participant is committed without asking it whether it can.",
        kind=DriftKind.OPTIMISATION,
        breaks=("ac3_unanimity",),
        clause="The decision to commit can only be reached if all processes voted yes. BHG §7.3, AC3",
        edits=(
            Replace(
                "request",
                "for participant in self.asked:\n    self.send(participant, Prepare(op, command))",
                "for participant in self.asked:\n"
                "    self.send(participant, Prepare(op, command))\n"
                "if len(self.asked) == 1:  # nobody to agree with\n"
                "    self.votes = {self.asked[0]: YES}\n"
                "    self.try_decide()\n"
                "    return",
            ),
        ),
        message="""Commit in one phase where there is one participant

Two phases are there to make several participants agree. If all keys of a transaction are on one node, nobody can
disagree with it: send it the work and the decision together. That takes one round trip from half of our traffic.
""",
    ),
    Mutation(
        id="two_phase_commit.own_vote_without_a_record",
        title="A coordinator counts on its own participant at once, which has not written that it is prepared.",
        kind=DriftKind.OPTIMISATION,
        breaks=("ac3_unanimity", "ac2_irrevocability"),
        clause="A participant writes a yes record before it votes yes, the coordinator's own too. BHG §7.4, DT log",
        edits=(
            Replace(
                "request",
                "for participant in self.asked:\n    self.send(participant, Prepare(op, command))",
                "for participant in self.asked:\n"
                "    self.send(participant, Prepare(op, command))\n"
                "if self.me in self.asked and self.are_free(self.held_here(command)):  # no need to ask myself\n"
                "    self.votes[self.me] = YES",
            ),
        ),
        message="""Do not send messages to ourselves

A coordinator asked its own participant by a message, waited for its forced write, and answered itself. It can look up
at once whether its keys are free, and the commit record, which is forced anyway, says all that a prepared record would.
""",
    ),
    Mutation(
        id="two_phase_commit.presumed_commit",
        title="Commits are forgotten at once and aborts are remembered in memory, so a crash makes commits of them.",
        kind=DriftKind.OPTIMISATION,
        breaks=("ac2_irrevocability", "ac3_unanimity", "ac1_agreement"),
        clause="Presumed commit forces a collecting record before it asks for votes. Mohan et al. 1986, PC",
        edits=(
            Replace(
                "TwoPhaseCommit",
                "unacknowledged: dict[Xid, list[NodeId]]",
                "unacknowledged: dict[Xid, list[NodeId]]\naborted: set[Xid]  # what is in neither was committed",
            ),
            Replace("start", "self.forget_vote()", "self.aborted = set()\nself.forget_vote()"),
            Replace("resend", "self.conclude(ABORT)", "self.aborted.add(self.voting)\nself.conclude(ABORT)"),
            Replace(
                "try_decide",
                "self.conclude(ABORT)",
                "self.aborted.add(self.voting)\nself.conclude(ABORT)",
            ),
            Replace(
                "decided",
                "return COMMIT if xid in self.unacknowledged else ABORT",
                "return ABORT if xid in self.aborted else COMMIT",
            ),
        ),
        message="""Presume commit

Most transactions commit, and each commit cost an acknowledgement from every participant before it could be forgotten.
Turn the presumption around: remember the few that were aborted, and answer commit about all others.
""",
    ),
    Mutation(
        id="two_phase_commit.group_commit",
        title="A participant acknowledges commits at once, and syncs them together some milliseconds later.",
        kind=DriftKind.OPTIMISATION,
        breaks=("ac2_irrevocability",),
        clause="A participant writes a commit record before it acknowledges. PA",
        edits=(
            Replace(
                "handle_decision",
                "if m.decision == COMMIT:\n    self.sync()",
                'if m.decision == COMMIT:\n    self.set_timer("flush", (5 * MS, 5 * MS))',
            ),
            Replace(
                "TwoPhaseCommit",
                "outcomes: dict[Xid, str]",
                'outcomes: dict[Xid, str]\n\n@on_timeout("flush")\ndef flush(self) -> None:\n    self.sync()',
            ),
        ),
        message="""Sync commit records in groups

A participant paid for two forced writes in each transaction. The second is not urgent: the participant is prepared,
durably, and the coordinator has the commit record, so that after a crash it asks and is told again. Collect commit
records for five milliseconds, and force them together.
""",
    ),
    Mutation(
        id="two_phase_commit.votes_resumed",
        title="A coordinator that restarts goes on with its last vote, even if it had given that up.",
        kind=DriftKind.OPTIMISATION,
        breaks=("ac2_irrevocability",),
        clause="What has no decision record when its coordinator restarts is aborted. PA",
        edits=(
            Replace(
                "request",
                "for participant in self.asked:\n    self.send(participant, Prepare(op, command))",
                'self.disk.log.append(Record("begin", op, command))\n'
                "self.sync()\n"
                "for participant in self.asked:\n"
                "    self.send(participant, Prepare(op, command))",
            ),
            Replace(
                "recover",
                "for record in self.disk.log:\n"
                "    if record.kind == COMMIT:\n"
                "        self.unacknowledged[record.xid] = list(self.participants(record.transaction))\n"
                "    elif record.kind == END:\n"
                "        self.unacknowledged.pop(record.xid, None)\n"
                "    elif record.kind == PREPARED:\n"
                "        self.in_doubt[record.xid] = record\n"
                "    else:\n"
                "        self.in_doubt.pop(record.xid, None)\n"
                "        self.outcomes[record.xid] = record.kind\n"
                "if self.unacknowledged:\n"
                "    self.set_timer(RESEND, RESEND_INTERVAL)",
                "for record in self.disk.log:\n"
                '    if record.kind == "begin":\n'
                "        self.voting, self.transaction = record.xid, record.transaction\n"
                "        self.asked = self.participants(record.transaction)\n"
                "    elif record.kind == COMMIT:\n"
                "        self.forget_vote()\n"
                "        self.unacknowledged[record.xid] = list(self.participants(record.transaction))\n"
                "    elif record.kind == END:\n"
                "        self.unacknowledged.pop(record.xid, None)\n"
                "    elif record.kind == PREPARED:\n"
                "        self.in_doubt[record.xid] = record\n"
                "    else:\n"
                "        self.in_doubt.pop(record.xid, None)\n"
                "        self.outcomes[record.xid] = record.kind\n"
                "if self.voting or self.unacknowledged:  # whoever has voted already votes the same again\n"
                "    self.set_timer(RESEND, RESEND_INTERVAL)",
            ),
        ),
        message="""Go on with a vote after a restart

When a coordinator crashed, the transaction that it was asking about was lost, although its participants had done all of
the work. Write down what is asked about, and go on from there: to vote yes twice does no harm, and a client that has
waited gets its answer.
""",
    ),
)

CATALOGUE = (*VOTES, *DECISIONS, *PARTICIPANTS, *TERMINATION, *OPTIMISATIONS)

BEYOND = (
    Beyond(
        "T1",
        "Waiters are told that a transaction is committed though the command that commits it could not be applied.",
        "a commit that is replicated and may fail to apply; `client_first` is as near as a forced log comes",
    ),
    Beyond(
        "T5",
        "A stale lock request locks the primary again after the commit, and a status check rolls it back.",
        "Percolator's locks and timestamps",
    ),
    Beyond("T6", "A rollback removes another transaction's lock.", "Percolator's locks and timestamps"),
)
