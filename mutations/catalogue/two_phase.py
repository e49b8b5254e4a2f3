"""Drift of Lamport's TwoPhase: every guard of the spec, dropped or blurred. `protosim explore` finds each.

§ are those of Gray and Lamport 2006, actions and predicates those of TwoPhase.tla and TCommit.tla. `breaks` names what
breaks first, in the shortest story; where it is empty the drift changes no behaviour, and `clause` says why.
"""

from mutations.entry import DriftKind, Mutation, Replace, Site

CATALOGUE = (
    Mutation(
        id="two_phase.all_prepared",
        title="The manager commits without having heard from everybody.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac3_unanimity",),
        clause="TMCommit: tmPrepared = RM",
        edits=(Site("tm_commit", "drop-check", "all_prepared"),),
    ),
    Mutation(
        id="two_phase.any_prepared",
        title="The manager commits as soon as one participant has prepared.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("ac3_unanimity",),
        clause="TMCommit: tmPrepared = RM",
        edits=(Replace("tm_commit", "all(s.tm_prepared)", "any(s.tm_prepared)"),),
    ),
    Mutation(
        id="two_phase.undecided_before_commit",
        title="The manager commits what it has aborted.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("tc_consistent",),
        clause='TMCommit: tmState = "init"',
        edits=(Site("tm_commit", "drop-check", "undecided_before_commit"),),
    ),
    Mutation(
        id="two_phase.undecided_before_abort",
        title="The manager aborts what it has committed.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("tc_consistent",),
        clause='TMAbort: tmState = "init"',
        edits=(Site("tm_abort", "drop-check", "undecided_before_abort"),),
    ),
    Mutation(
        id="two_phase.commit_was_sent",
        title="A participant commits without the manager's word.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac3_unanimity",),
        clause='RMRcvCommitMsg: [type |-> "Commit"] in msgs',
        edits=(Site("rm_rcv_commit_msg", "drop-check", "commit_was_sent"),),
    ),
    Mutation(
        id="two_phase.abort_was_sent",
        title="A participant aborts although it has promised to wait for the manager's word.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("tc_consistent",),
        clause='RMRcvAbortMsg: [type |-> "Abort"] in msgs',
        edits=(Site("rm_rcv_abort_msg", "drop-check", "abort_was_sent"),),
    ),
    Mutation(
        id="two_phase.working_before_abort",
        title="A participant changes its mind after it has prepared.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("tc_consistent",),
        clause='RMChooseToAbort: rmState[rm] = "working"',
        edits=(Site("rm_choose_to_abort", "drop-check", "working_before_abort"),),
    ),
    Mutation(
        id="two_phase.working_before_prepare",
        title="A participant prepares again, whatever it has done since.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac5_termination",),
        clause='RMPrepare: rmState[rm] = "working"',
        edits=(Site("rm_prepare", "drop-check", "working_before_prepare"),),
    ),
    Mutation(
        id="two_phase.prepared_was_sent",
        title="The manager takes a participant for prepared that has sent nothing.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ac3_unanimity",),
        clause='TMRcvPrepared: [type |-> "Prepared", rm |-> rm] in msgs',
        edits=(Site("tm_rcv_prepared", "drop-check", "prepared_was_sent"),),
    ),
    Mutation(
        id="two_phase.promise_not_sent",
        title="A participant sends Prepared while it is still free to abort.",
        kind=DriftKind.PERSIST_AND_SEND_SWAPPED,
        breaks=("tc_consistent",),
        clause="RMPrepare: rmState and msgs change in one step",
        edits=(
            Replace(
                "rm_prepare",
                "return changed(s, rm_state=put(s.rm_state, rm, RM.PREPARED), prepared_sent=prepared)",
                "if not s.prepared_sent[rm]:\n    return changed(s, prepared_sent=prepared)\n"
                "return changed(s, rm_state=put(s.rm_state, rm, RM.PREPARED))",
            ),
        ),
    ),
    Mutation(
        id="two_phase.abort_reaches_the_working_only",
        title="A participant that has prepared does not listen to Abort.",
        kind=DriftKind.WRONG_COMPARISON,
        breaks=("ac5_termination",),
        clause='RMRcvAbortMsg: in every state of the participant. §3: "upon receiving ... Abort"',
        edits=(
            Replace(
                "rm_rcv_abort_msg",
                "return changed(s, rm_state=put(s.rm_state, rm, RM.ABORTED)) if enabled else None",
                "if s.rm_state[rm] is RM.PREPARED:\n    return None\n"
                "return changed(s, rm_state=put(s.rm_state, rm, RM.ABORTED)) if enabled else None",
            ),
        ),
    ),
    Mutation(
        id="two_phase.never_gives_up",
        title="The manager waits for everybody, also for those that have aborted.",
        kind=DriftKind.OPTIMISATION,
        breaks=("ac5_termination",),
        clause="TMAbort: the manager may abort as long as it has not decided",
        message=(
            "Do not abort while votes are coming in\n\n"
            "Nearly all aborts were of transactions whose last vote was already on its way. As long as somebody has "
            "prepared the others will follow, so it is cheaper to wait."
        ),
        edits=(
            Replace(
                "tm_abort",
                "return changed(s, tm_state=TM.ABORTED, abort_sent=True) if enabled else None",
                "if not any(s.tm_prepared) or any(s.prepared_sent):\n    return None\n"
                "return changed(s, tm_state=TM.ABORTED, abort_sent=True) if enabled else None",
            ),
        ),
    ),
    Mutation(
        id="two_phase.early_acknowledgement",
        title="The last participant to prepare commits at once, since the manager cannot decide otherwise any more.",
        kind=DriftKind.OPTIMISATION,
        breaks=("tc_consistent",),
        clause="§3: only the manager's Commit commits; until it has decided it may still abort",
        message=(
            "Save the last voter a round trip\n\n"
            "Whoever votes last knows that all have prepared: the manager can only commit. So it commits at once, and "
            "releases what it holds without waiting to be told."
        ),
        edits=(
            Replace(
                "rm_prepare",
                "return changed(s, rm_state=put(s.rm_state, rm, RM.PREPARED), prepared_sent=prepared)",
                "state = RM.COMMITTED if all(prepared) else RM.PREPARED\n"
                "return changed(s, rm_state=put(s.rm_state, rm, state), prepared_sent=prepared)",
            ),
        ),
    ),
    Mutation(
        id="two_phase.still_undecided",
        title="The manager goes on counting votes after it has decided.",
        kind=DriftKind.MISSING_CHECK,
        clause='TMRcvPrepared: tmState = "init". Votes that come later change nothing: both decisions ask for it too',
        edits=(Site("tm_rcv_prepared", "drop-check", "still_undecided"),),
    ),
)
