"""Drift of Tendermint: what its algorithm warns of, and what real systems got wrong.

A row like B5 is a bug that was seen in the systems which its sources name; a number is a line of Algorithm 1, § a
section of "The latest gossip on BFT consensus" (`protocols/tendermint.py`). `breaks` names the invariants that may
break first, the commonest first. `mutations/expected/tendermint.toml` has the measurements,
`docs/tendermint-mutants.md` is a table of everything.
"""

from mutations.entry import Beyond, DriftKind, Mutation, Replace, Site

PROPOSALS = (
    Mutation(
        id="tendermint.new_value_is_valid",
        title="A replica prevotes whatever is proposed, also what no client has asked for.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity", "integrity"),
        clause="valid(v). 23; §II.C, Validity",
        edits=(Site("prevote_new_value", "drop-check", "new_value_is_valid"),),
    ),
    Mutation(
        id="tendermint.not_locked_on_another",
        title="A locked replica prevotes a new value.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("lock_safety",),
        clause="lockedRound = -1, or lockedValue = v. 23; Lemma 2",
        edits=(Site("prevote_new_value", "drop-check", "not_locked_on_another"),),
    ),
    Mutation(
        id="tendermint.valid_round_is_earlier",
        title="A proposal may name as its valid round the present one, or one that is still to come.",
        kind=DriftKind.MISSING_CHECK,
        clause="vr >= 0 and vr < round. 28",
        edits=(Site("prevote_old_value", "drop-check", "valid_round_is_earlier"),),
    ),
    Mutation(
        id="tendermint.polka_in_valid_round",
        title="A replica believes the proposer that 2f + 1 prevoted its value in an earlier round.",
        kind=DriftKind.MISSING_CHECK,
        breaks=(
            "lock_safety",
            "integrity",
            "validity",
        ),
        clause="And 2f + 1 PREVOTE, h, vr, id(v). 28",
        edits=(Site("prevote_old_value", "drop-check", "polka_in_valid_round"),),
    ),
    Mutation(
        id="tendermint.not_locked_later_on_another",
        title="A replica gives up its lock for a value that was prevoted before it locked.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("lock_safety",),
        clause="lockedRound <= vr, or lockedValue = v. 29; Lemma 2",
        edits=(Site("prevote_old_value", "drop-check", "not_locked_later_on_another"),),
    ),
    Mutation(
        id="tendermint.signed_by_its_proposer",
        title="Any replica may propose in any round.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("one_proposer_a_round",),
        clause="From proposer(h, round). 22, 28, 36, 49",
        edits=(Site("hear", "drop-check", "signed_by_its_proposer"),),
    ),
    Mutation(
        id="tendermint.proposes_a_new_value_always",
        title="A proposer takes what its clients ask for, although another value may have been decided.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=(
            "valid_value_is_proposed",
            "progress_after_heal",
        ),
        clause="If validValue is not nil, it proposes that. 15, 16; §III.A",
        edits=(
            Replace(
                "start_round",
                "value = self.disk.valid_value\nif value is None:\n    value = self.get_value(round)\n"
                "proposal = Proposal(self.disk.height, round, value, self.disk.valid_round, self.me)",
                "proposal = Proposal(self.disk.height, round, self.get_value(round), NO_ROUND, self.me)",
            ),
        ),
    ),
    Mutation(
        id="tendermint.proposes_the_locked_value",
        title="A proposer proposes again only what it is locked on, in the round of its lock.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("valid_value_is_proposed",),
        clause="validValue is the most recent possible decision value, locked or not. 15, 42, 43; §III.A",
        edits=(
            Replace("start_round", "self.disk.valid_value", "self.disk.locked_value"),
            Replace("start_round", "self.disk.valid_round", "self.disk.locked_round"),
        ),
    ),
    Mutation(
        id="tendermint.one_proposer_a_height",
        title="The proposer stays the same in all rounds of a height.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("progress_after_heal",),
        clause="Processes take turns. §III",
        edits=(Replace("proposer", "height + round", "height"),),
    ),
)

LOCKS = (
    Mutation(
        id="tendermint.unlocks_on_nil",
        title="A replica that sees 2f + 1 prevotes for nil gives up its lock.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("lock_safety",),
        clause="It precommits nil, and stays locked. 44 to 46; Lemma 2",
        edits=(
            Replace(
                "precommit_nil",
                "self.tell(Step.PRECOMMIT, Precommit(self.disk.height, self.disk.round, None, self.me))",
                'unlocked = {"locked_value": None, "locked_round": NO_ROUND}\n'
                "self.tell(Step.PRECOMMIT, Precommit(self.disk.height, self.disk.round, None, self.me), **unlocked)",
            ),
        ),
        sources=("tendermint/tendermint PR #6954 (#6849)",),
        aliases=("B5",),
    ),
    Mutation(
        id="tendermint.lock_forgotten_with_the_round",
        title="A new round begins without a lock: what may have been decided is forgotten.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("lock_safety",),
        clause="Locks are reset with the height alone. 53; Lemma 2",
        edits=(
            Replace(
                "start_round",
                "if self.disk.round == IDLE:\n    self.set_timer(GOSSIP, GOSSIP_INTERVAL)",
                "if self.disk.round == IDLE:\n    self.set_timer(GOSSIP, GOSSIP_INTERVAL)\n"
                "self.disk.write(locked_value=None, locked_round=NO_ROUND)",
            ),
        ),
        sources=("johnhenry/raijin#8",),
        aliases=("B3",),
    ),
    Mutation(
        id="tendermint.lock_kept_in_memory",
        title="A lock is lost in a crash.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("lock_safety",),
        clause="lockedValue and lockedRound are state of the height. 6, 7, 53",
        edits=(
            Replace(
                "Tendermint.start",
                "self.scheduled = {}",
                "self.scheduled = {}\nself.disk.write(locked_value=None, locked_round=NO_ROUND)",
            ),
        ),
        sources=("tendermint/tendermint#44",),
        aliases=("B16",),
    ),
    Mutation(
        id="tendermint.precommits_without_a_lock",
        title="A replica precommits a value and does not lock it.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("lock_safety",),
        clause="lockedValue <- v, lockedRound <- round. 38, 39",
        edits=(
            Replace(
                "precommit_value",
                "self.tell(Step.PRECOMMIT, precommit, m, *polka, **locked, **valid)",
                "self.tell(Step.PRECOMMIT, precommit, m, *polka, **valid)",
            ),
        ),
    ),
    Mutation(
        id="tendermint.first_lock_stays",
        title="A locked replica that precommits a later value keeps its first lock.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("lock_safety",),
        clause="lockedValue <- v, lockedRound <- round. 38, 39",
        edits=(
            Replace(
                "precommit_value",
                'locked = {"locked_value": m.value, "locked_round": round}',
                'locked = {"locked_value": m.value, "locked_round": round}\n'
                "if self.disk.locked_round != NO_ROUND:\n    locked = {}",
            ),
        ),
    ),
    Mutation(
        id="tendermint.valid_value_is_what_it_locks",
        title="A replica that was too late to lock does not note the value that may be decided.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("valid_value_is_proposed",),
        clause="validValue <- v, validRound <- round, whatever the step. 42, 43; §III.A",
        edits=(Replace("precommit_value", "self.keep(m, *polka, **valid)", "self.keep(m, *polka)"),),
    ),
    Mutation(
        id="tendermint.locks_outlive_the_height",
        title="What a replica locked in one height it is still locked on in the next.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("progress_after_heal", "replicas_catch_up"),
        clause="Reset lockedRound, lockedValue, validRound and validValue. 53",
        edits=(
            Replace(
                "next_height",
                "self.disk.write(height=len(self.disk.decision) + 1, round=IDLE, step=Step.PROPOSE, locked_value=None, "
                "locked_round=NO_ROUND, valid_value=None, valid_round=NO_ROUND, spread=())",
                "self.disk.write(height=len(self.disk.decision) + 1, round=IDLE, step=Step.PROPOSE, valid_value=None, "
                "valid_round=NO_ROUND, spread=())",
            ),
        ),
    ),
)

VOTES = (
    Mutation(
        id="tendermint.signature_verifies",
        title="A message counts for whom it names, whoever made it.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("proof_of_lock", "decided_by_quorum", "no_honest_equivocation", "lock_safety"),
        clause="Messages with invalid signatures are dropped. §II.A",
        edits=(Site("hear", "drop-check", "signature_verifies"),),
    ),
    Mutation(
        id="tendermint.messages_are_counted",
        title="Each message counts, and not each sender: a prevote that comes twice is two.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("proof_of_lock", "decided_by_quorum"),
        clause="Senders with 2f + 1 of the voting power. §III",
        edits=(
            Replace("is_quorum", "len({m.signer for m in messages})", "len([m.signer for m in messages])"),
            Replace("hear", "if m not in known:\n    known.append(m)", "known.append(m)"),
        ),
        sources=("hyperledger-archives/fabric#370", "besu-eth/besu#1736"),
        aliases=("B1",),
    ),
    Mutation(
        id="tendermint.is_quorum/weaken-quorum/1",
        title="2f are enough.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("proof_of_lock", "decided_by_quorum"),
        clause="2f + 1: two such sets have a correct process in common. Lemma 1",
        edits=(Site("is_quorum", "weaken-quorum", "1"),),
    ),
    Mutation(
        id="tendermint.majority_is_a_quorum",
        title="More than half of the replicas are taken for 2f + 1.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("proof_of_lock", "decided_by_quorum"),
        clause="2f + 1 of 3f + 1. Lemma 1",
        edits=(Replace("Tendermint.start", "self.cluster_size - self.f", "self.cluster_size // 2 + 1"),),
    ),
    Mutation(
        id="tendermint.two_thirds_are_a_quorum",
        title="Two thirds of the replicas are enough, and not more than two thirds.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("proof_of_lock", "decided_by_quorum"),
        clause="2f + 1 of 3f + 1. Lemma 1",
        edits=(Replace("Tendermint.start", "self.cluster_size - self.f", "2 * self.cluster_size // 3"),),
    ),
    Mutation(
        id="tendermint.polka_of_any_values",
        title="2f + 1 prevotes in a round are a polka for its proposal, whatever they are for.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("proof_of_lock", "lock_safety"),
        clause="2f + 1 PREVOTE, h, round, id(v). 28, 36, 44",
        edits=(
            Replace(
                "is_polka",
                "self.is_quorum(m for m in self.logged(Prevote, round) if m.id == id)",
                "self.is_quorum(self.logged(Prevote, round))",
            ),
        ),
    ),
    Mutation(
        id="tendermint.decided_by_any_precommits",
        title="2f + 1 precommits in a round decide its proposal, whatever they are for.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("decided_by_quorum", "agreement"),
        clause="2f + 1 PRECOMMIT, h, r, id(v). 49",
        edits=(
            Replace(
                "decide",
                "[vote for vote in self.logged(Precommit, round) if vote.id == digest_of(m.value)]",
                "self.logged(Precommit, round)",
            ),
        ),
    ),
    Mutation(
        id="tendermint.height_of_a_vote_ignored",
        title="A vote counts in the height in which it arrives.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("proof_of_lock", "one_proposer_a_round", "agreement", "decided_by_quorum"),
        clause="PREVOTE and PRECOMMIT of this height and round. 34, 36, 47, 49",
        edits=(Replace("hear", "(type(m), m.height, m.round)", "(type(m), self.disk.height, m.round)"),),
        sources=("FISCO-BCOS PR #5167 (FIB-133)", "aptos-labs/aptos-core PR #13711"),
        aliases=("B19",),
    ),
    Mutation(
        id="tendermint.round_of_a_vote_ignored",
        title="A vote counts in the round in which it arrives.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("proof_of_lock", "decided_by_quorum", "lock_safety", "valid_value_is_proposed"),
        clause="PREVOTE and PRECOMMIT of this height and round. 34, 36, 47, 49",
        edits=(Replace("hear", "(type(m), m.height, m.round)", "(type(m), m.height, max(0, self.disk.round))"),),
    ),
    Mutation(
        id="tendermint.of_a_round",
        title="There are messages of rounds before the first.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("lock_safety", "no_honest_equivocation"),
        clause="round = 0 at the beginning. 3",
        edits=(Site("hear", "drop-check", "of_a_round"),),
    ),
    Mutation(
        id="tendermint.height_is_not_decided",
        title="Messages of decided heights stay in the log.",
        kind=DriftKind.MISSING_CHECK,
        clause="Empty message log. 53",
        edits=(Site("hear", "drop-check", "height_is_not_decided"),),
    ),
    Mutation(
        id="tendermint.tell/drop-sync/1",
        title="A vote is not yet durable when others learn of it.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("no_honest_equivocation", "lock_safety"),
        clause="A correct process sends a single vote of each kind in a round. Lemma 3",
        edits=(Site("tell", "drop-sync", "1"),),
    ),
    Mutation(
        id="tendermint.tell/swap-sync-and-send/1",
        title="A vote is sent, and then made durable.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("no_honest_equivocation", "lock_safety"),
        clause="A correct process sends a single vote of each kind in a round. Lemma 3",
        edits=(Site("tell", "swap-sync-and-send", "1"),),
    ),
    Mutation(
        id="tendermint.vote_apart_from_its_step",
        title="A vote and the step that it ends are two writes, of which a crash may keep the first.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("no_honest_equivocation", "lock_safety"),
        clause="Upon rules are executed atomically. §III",
        edits=(
            Replace(
                "tell",
                "self.keep(m, *evidence, round=m.round, step=step, **state)",
                "self.keep(m, *evidence, round=m.round)\nself.disk.write(step=step, **state)",
            ),
        ),
    ),
)

ROUNDS = (
    Mutation(
        id="tendermint.proposal_awaited_in_this_round",
        title="A timeout of an earlier round ends the wait for the proposal of the present one.",
        kind=DriftKind.MISSING_CHECK,
        clause="height = h and round = round_p. 58",
        edits=(Site("on_timeout_propose", "drop-check", "proposal_awaited_in_this_round"),),
    ),
    Mutation(
        id="tendermint.still_in_propose",
        title="A replica that has prevoted prevotes nil when its patience with the proposer ends.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("no_honest_equivocation",),
        clause="step = propose. 58",
        edits=(Site("on_timeout_propose", "drop-check", "still_in_propose"),),
    ),
    Mutation(
        id="tendermint.prevotes_awaited_in_this_round",
        title="A timeout of an earlier round makes a replica precommit nil, in that round.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("no_honest_equivocation",),
        clause="height = h and round = round_p. 62",
        edits=(Site("on_timeout_prevote", "drop-check", "prevotes_awaited_in_this_round"),),
    ),
    Mutation(
        id="tendermint.still_in_prevote",
        title="A replica that has precommitted a value precommits nil when its patience with the others ends.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("no_honest_equivocation",),
        clause="step = prevote. 62",
        edits=(Site("on_timeout_prevote", "drop-check", "still_in_prevote"),),
    ),
    Mutation(
        id="tendermint.precommits_awaited_in_this_round",
        title="A timeout of an earlier height, or round, makes a replica begin a round that it was in before.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("no_honest_equivocation",),
        clause="height = h and round = round_p. 66",
        edits=(Site("on_timeout_precommit", "drop-check", "precommits_awaited_in_this_round"),),
        sources=("besu-eth/besu#1734 (PR #1575)",),
        aliases=("B13",),
    ),
    Mutation(
        id="tendermint.nobody_is_pulled_forward",
        title="A replica stays in its round when f + 1 others are in a later one.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("progress_after_heal", "replicas_catch_up"),
        clause="Upon f + 1 messages of a later round: StartRound of it. 55, 56; Lemma 5",
        edits=(Replace("skip_rounds", "len(signers) >= self.f + 1", "False"),),
        sources=("besu-eth/besu#1822 (PR #7838)",),
        aliases=("B14",),
    ),
    Mutation(
        id="tendermint.one_message_pulls_forward",
        title="One message of a later round is enough to skip the rounds before.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("progress_after_heal",),
        clause="f + 1, of which one is correct. 55",
        edits=(Replace("skip_rounds", "len(signers) >= self.f + 1", "len(signers) >= 1"),),
    ),
    Mutation(
        id="tendermint.nil_precommits_end_nothing",
        title="2f + 1 precommits end a round only if they are for a value.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("progress_after_heal",),
        clause="Upon 2f + 1 precommits, whatever they are for. 47",
        edits=(
            Replace(
                "await_precommits",
                "self.is_quorum(self.logged(Precommit, self.disk.round))",
                "self.is_quorum(m for m in self.logged(Precommit, self.disk.round) if m.id is not None)",
            ),
        ),
        sources=("cometbft/cometbft#1431",),
        aliases=("B20",),
    ),
    Mutation(
        id="tendermint.only_one_value_ends_the_prevotes",
        title="A replica waits for 2f + 1 prevotes for one value, and for ever where they are split.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("progress_after_heal",),
        clause="Upon 2f + 1 prevotes, whatever they are for. 34",
        edits=(
            Replace(
                "await_prevotes",
                "self.is_quorum(self.logged(Prevote, self.disk.round))",
                "any(self.is_polka(self.disk.round, m.id) for m in self.logged(Prevote, self.disk.round))",
            ),
        ),
    ),
    Mutation(
        id="tendermint.patience_does_not_grow",
        title="A replica is as patient in late rounds as in the first.",
        kind=DriftKind.MISSING_CHECK,
        clause="timeoutX(r) = initTimeoutX + r * timeoutDelta. §III",
        edits=(Replace("schedule", "GROWTH * min(self.disk.round, MOST_GROWTH)", "0"),),
    ),
)

GOSSIP = (
    Mutation(
        id="tendermint.own_messages_alone",
        title="A replica passes on what it said itself, and nothing of what it heard.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("progress_after_heal", "replicas_catch_up"),
        clause="What a correct process receives, all correct processes receive. §II.A",
        edits=(
            Replace(
                "keep",
                "(*known, *messages)",
                "(*known, *(m for m in messages if m.signer == self.me))",
            ),
        ),
    ),
    Mutation(
        id="tendermint.gossip_of_old_heights_ignored",
        title="A replica that has decided does not tell those who have not.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("progress_after_heal", "replicas_catch_up"),
        clause="What a correct process receives, all correct processes receive. §II.A",
        edits=(
            Replace(
                "handle_gossip",
                "if m.height < self.disk.height:\n    self.tell_decision(src, m.height)\n"
                "elif m.height > self.disk.height:\n    self.send(src, CatchUp(self.disk.height))",
                "",
            ),
        ),
    ),
    Mutation(
        id="tendermint.next_in_order",
        title="A decision that comes again, or too early, is taken for that of the present height.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("agreement", "integrity"),
        clause="While decision[h] = nil. 49",
        edits=(Site("handle_decision", "drop-check", "next_in_order"),),
        sources=("hyperledger-labs/SmartBFT PR #570",),
        aliases=("B17",),
    ),
    Mutation(
        id="tendermint.precommits_verify",
        title="The precommits of a decision that others tell are not verified.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("decided_by_quorum", "agreement", "integrity", "validity"),
        clause="Messages with invalid signatures are dropped. §II.A",
        edits=(Site("handle_decision", "drop-check", "precommits_verify"),),
    ),
    Mutation(
        id="tendermint.precommits_of_this_value",
        title="The precommits of a decision that others tell may be for anything.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("decided_by_quorum", "agreement", "integrity", "validity"),
        clause="2f + 1 PRECOMMIT, h, r, id(v). 49",
        edits=(Site("handle_decision", "drop-check", "precommits_of_this_value"),),
    ),
    Mutation(
        id="tendermint.precommits_of_quorum",
        title="A decision that others tell needs no 2f + 1 precommits.",
        kind=DriftKind.MISSING_CHECK,
        breaks=(
            "agreement",
            "decided_by_quorum",
            "integrity",
            "validity",
            "failure",
        ),
        clause="2f + 1 PRECOMMIT, h, r, id(v). 49",
        edits=(Site("handle_decision", "drop-check", "precommits_of_quorum"),),
    ),
    Mutation(
        id="tendermint.precommits_of_one_count",
        title="A decision that others tell may have one precommit several times.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("decided_by_quorum", "agreement", "integrity", "validity"),
        clause="Senders with 2f + 1 of the voting power. §III",
        edits=(Replace("handle_decision", "self.is_quorum(m.precommits)", "len(m.precommits) >= self.quorum"),),
    ),
    Mutation(
        id="tendermint.conclude/drop-sync/1",
        title="A decision is not yet durable when clients are told what came of it.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("agreement", "integrity", "no_honest_equivocation", "failure"),
        clause="decision[h] = v, and then the next height. 51, 52",
        edits=(Site("conclude", "drop-sync", "1"),),
    ),
)

REQUESTS = (
    Mutation(
        id="tendermint.request_verifies",
        title="A replica proposes requests that others made up in a client's name.",
        kind=DriftKind.MISSING_CHECK,
        breaks=(
            "validity",
            "integrity",
            "progress_after_heal",
        ),
        clause="getValue() returns a valid value. §III",
        edits=(Site("handle_request", "drop-check", "request_verifies"),),
    ),
    Mutation(
        id="tendermint.asked_by_client",
        title="A replica proposes what another replica asks for.",
        kind=DriftKind.MISSING_CHECK,
        breaks=(
            "validity",
            "integrity",
            "progress_after_heal",
        ),
        clause="getValue() returns a valid value. §III",
        edits=(Site("handle_request", "drop-check", "asked_by_client"),),
    ),
    Mutation(
        id="tendermint.requests_verify",
        title="A value may hold requests that no client signed.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity", "integrity"),
        clause="Only requests proposed by clients are executed. §II.B",
        edits=(Site("is_valid", "drop-check", "requests_verify"),),
    ),
    Mutation(
        id="tendermint.requests_of_clients",
        title="A value may hold requests that a replica signed.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity",),
        clause="Only requests proposed by clients are executed. §II.B",
        edits=(Site("is_valid", "drop-check", "requests_of_clients"),),
    ),
    Mutation(
        id="tendermint.requests_not_executed",
        title="A value may hold requests that were decided in an earlier height.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("integrity",),
        clause="valid(v). §II.C",
        edits=(Site("is_valid", "drop-check", "requests_not_executed"),),
    ),
    Mutation(
        id="tendermint.requests_are_distinct",
        title="A value may hold a request twice.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("integrity",),
        clause="valid(v). §II.C",
        edits=(Site("is_valid", "drop-check", "requests_are_distinct"),),
    ),
    Mutation(
        id="tendermint.executed_requests_wait_again",
        title="A replica proposes a request again that comes again after it was executed.",
        kind=DriftKind.MISSING_CHECK,
        breaks=(
            "integrity",
            "progress_after_heal",
            "replicas_catch_up",
        ),
        clause="getValue() returns a valid value. §III",
        edits=(Replace("handle_request", "if m.op in self.results:\n    self.answer(m)\n    return", ""),),
    ),
    Mutation(
        id="tendermint.executes_from_the_restart_on",
        title="A replica that restarts does not execute again what it had decided before.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("order_of_execution", "integrity", "linearizability"),
        clause="All replicas process the same sequence of requests. §II.B",
        edits=(
            Replace("Tendermint.start", "for decision in self.disk.decision:\n    self.execute(decision.value)", ""),
        ),
    ),
    Mutation(
        id="tendermint.said_by_a_correct_replica",
        title="A client believes the first reply.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("linearizability",),
        clause="f + 1 processes, of which one is correct. §II.A",
        edits=(Site("handle_reply", "drop-check", "said_by_a_correct_replica"),),
    ),
    Mutation(
        id="tendermint.replies_need_not_match",
        title="A client counts f + 1 replies, whatever they say, and believes the last.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("linearizability",),
        clause="f + 1 processes, of which one is correct. §II.A",
        edits=(
            Replace(
                "handle_reply",
                "sum(result == m.result for result in answers.values())",
                "len(answers)",
            ),
        ),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="tendermint.prevotes_are_not_synced",
        title="A prevote is synced with the precommit that follows it.",
        kind=DriftKind.OPTIMISATION,
        breaks=("no_honest_equivocation", "lock_safety"),
        clause="A correct process sends a single vote of each kind in a round. Alg. 1: 22 to 33; Lemma 3",
        edits=(
            Replace(
                "tell",
                "self.sync()",
                "if step is Step.PRECOMMIT:  # what binds me; with it goes what I sent before\n    self.sync()",
            ),
        ),
        message="""One sync a round

Three syncs a round, for the proposal, the prevote and the precommit, made the disk the slowest part of a height. Only
the precommit binds: it is what locks a value, and what a decision is made of. A proposal and a prevote are opinions
that the next round asks for anew. Sync when we precommit, which covers the writes before it as well.
""",
    ),
    Mutation(
        id="tendermint.unanimous_prevotes_decide",
        title="When all replicas have prevoted a value, it is decided without precommits.",
        kind=DriftKind.OPTIMISATION,
        breaks=("decided_by_quorum", "agreement"),
        clause="Upon 2f + 1 precommits for id(v), from processes that are locked on v. Alg. 1: 49; Lemma 3",
        edits=(
            Replace(
                "decide",
                "if self.is_quorum(precommits):\n"
                "    self.conclude(Decision(height, round, m.value, tuple(precommits)))\n"
                "    return True",
                "prevoted = {vote.signer for vote in self.logged(Prevote, round) if vote.id == digest_of(m.value)}\n"
                "unanimous = len(prevoted) == self.cluster_size  # liars among them, so nothing else can get 2f + 1\n"
                "if unanimous or self.is_quorum(precommits):\n"
                "    self.conclude(Decision(height, round, m.value, tuple(precommits)))\n"
                "    return True",
            ),
        ),
        message="""Fast path: decide when everybody has prevoted

In the common case nobody is faulty, and all of the prevotes are for the proposal. Then a third exchange of messages
tells nothing new: more than 2f + 1 want the value, and no other can get a quorum in this round. Decide at once, one
message delay earlier.
""",
    ),
    Mutation(
        id="tendermint.values_validated_once",
        title="That a value was valid in one height is remembered in the next.",
        kind=DriftKind.OPTIMISATION,
        breaks=("integrity",),
        clause="valid(v) depends on what is executed. §II.C: it holds the hash of the last value",
        edits=(
            Replace(
                "Tendermint.start", "self.scheduled = {}", "self.scheduled = {}\nself.validated: set[bytes] = set()"
            ),
            Replace(
                "is_valid",
                "return holds(requests_verify=all(map(self.verify, value.requests)), "
                "requests_of_clients=all(request.signer not in self.replicas for request in value.requests), "
                "requests_not_executed=all(request.op not in self.results for request in value.requests), "
                "requests_are_distinct=len({request.op for request in value.requests}) == len(value.requests))",
                "if digest_of(value) in self.validated:\n"
                "    return True\n"
                "valid = holds(\n"
                "    requests_verify=all(map(self.verify, value.requests)),\n"
                "    requests_of_clients=all(request.signer not in self.replicas for request in value.requests),\n"
                "    requests_not_executed=all(request.op not in self.results for request in value.requests),\n"
                "    requests_are_distinct=len({request.op for request in value.requests}) == len(value.requests),\n"
                ")\n"
                "if valid:\n"
                "    self.validated.add(digest_of(value))\n"
                "return valid",
            ),
        ),
        message="""Do not verify the same signatures in every round

A value that is not decided in its first round is proposed again, and each time all replicas verified all signatures in
it: most of the CPU time of a bad network. Remember the digests of the values that were found valid.
""",
    ),
    Mutation(
        id="tendermint.one_sync_between_heights",
        title="A decision is synced with the first message of the next height.",
        kind=DriftKind.OPTIMISATION,
        breaks=("agreement", "failure", "no_honest_equivocation", "integrity", "order_of_execution"),
        clause="decision[h] = v, and then the next height. 51 to 54",
        edits=(
            Replace(
                "conclude",
                "self.disk.decision.append(decision)\nself.sync()\nself.execute(decision.value)\n"
                "for request in decision.value.requests:\n    self.answer(request)\nself.next_height()\n"
                "if self.pending:\n    self.start_round(0)",
                "self.disk.decision.append(decision)\nself.execute(decision.value)\n"
                "for request in decision.value.requests:\n    self.answer(request)\nself.next_height()\n"
                "if self.pending:\n    self.start_round(0)  # its proposal is synced, and all before it\n"
                "else:\n    self.sync()",
            ),
        ),
        message="""Pipeline the heights

Between two heights a replica synced its decision, and a moment later its first message of the next height. Under load
there always is a next height, so one sync is enough for both: what is written first is on the disk first.
""",
    ),
)

CATALOGUE = (*PROPOSALS, *LOCKS, *VOTES, *ROUNDS, *GOSSIP, *REQUESTS, *OPTIMISATIONS)

BEYOND = (
    Beyond(
        "B7",
        "A timeout is signed without a look at the last round that was voted in.",
        "signed timeouts: rounds end by each replica's own clock",
    ),
    Beyond(
        "B9",
        "The greatest view among timeouts counts instead of that of their certificates.",
        "certificates in timeouts, of which a leader takes the highest",
    ),
    Beyond(
        "B10",
        "Three blocks commit although their views do not follow one another.",
        "chained blocks whose certificates commit their ancestors",
    ),
)
