"""Two-phase commit as a model of shared state: Lamport's TwoPhase, for exploration.

Paper    J. Gray and L. Lamport, "Consensus on Transaction Commit", ACM TODS 31(1), 2006. § refers to it.
Spec     tlaplus/Examples, transaction_commit/TwoPhase.tla and TCommit.tla; each action and predicate bears its name.
Scope    One transaction. Nobody fails; messages are never lost, and are received any number of times or never. What
         recovery, disks and timeouts add is in `two_phase_commit`.

The spec's set `msgs` only grows, so it is three facts here: who has sent Prepared, whether Commit was, and whether
Abort.
"""

from enum import StrEnum
from typing import TypeVar

from protosim.api import (
    ModelSpec,
    Properties,
    StateModel,
    Value,
    action,
    always,
    changed,
    choice,
    conforms,
    eventually,
    holds,
    value,
)

Participant = int  # a resource manager, from 0: the spec's rm


class RM(StrEnum):
    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


class TM(StrEnum):
    INIT = "init"
    COMMITTED = "committed"
    ABORTED = "aborted"


@value
class State(Value):
    rm_state: tuple[RM, ...]
    tm_state: TM
    tm_prepared: tuple[bool, ...]  # from whom the manager has received Prepared
    prepared_sent: tuple[bool, ...]  # msgs: [type |-> "Prepared", rm |-> rm]
    commit_sent: bool  # msgs: [type |-> "Commit"]
    abort_sent: bool  # msgs: [type |-> "Abort"]


Item = TypeVar("Item")


def put(items: tuple[Item, ...], place: int, item: Item) -> tuple[Item, ...]:
    """The tuple with another item in that place: the spec's [f EXCEPT ![place] = item]."""
    return (*items[:place], item, *items[place + 1 :])


class TwoPhase(StateModel[State]):
    """TPNext: any of the manager's actions, or of a participant's."""

    symmetric = ("rm_state", "tm_prepared", "prepared_sent")

    def initial(self) -> State:
        """TPInit."""
        nobody = (False,) * self.size
        return State((RM.WORKING,) * self.size, TM.INIT, nobody, nobody, False, False)

    # -- The transaction manager ---------------------------------------------------------------------

    @action
    def tm_rcv_prepared(self, s: State, rm: Participant) -> State | None:
        """TMRcvPrepared(rm)."""
        enabled = holds(
            still_undecided=s.tm_state is TM.INIT,
            prepared_was_sent=s.prepared_sent[rm],
        )
        return changed(s, tm_prepared=put(s.tm_prepared, rm, True)) if enabled else None

    @action
    def tm_commit(self, s: State) -> State | None:
        """TMCommit."""
        enabled = holds(
            undecided_before_commit=s.tm_state is TM.INIT,
            all_prepared=all(s.tm_prepared),
        )
        return changed(s, tm_state=TM.COMMITTED, commit_sent=True) if enabled else None

    @action
    def tm_abort(self, s: State) -> State | None:
        """TMAbort: the manager may always give up, as long as it has not decided."""
        enabled = holds(
            undecided_before_abort=s.tm_state is TM.INIT,
        )
        return changed(s, tm_state=TM.ABORTED, abort_sent=True) if enabled else None

    # -- A participant -------------------------------------------------------------------------------

    @action
    def rm_prepare(self, s: State, rm: Participant) -> State | None:
        """RMPrepare(rm)."""
        enabled = holds(
            working_before_prepare=s.rm_state[rm] is RM.WORKING,
        )
        if not enabled:
            return None
        prepared = put(s.prepared_sent, rm, True)
        return changed(s, rm_state=put(s.rm_state, rm, RM.PREPARED), prepared_sent=prepared)

    @choice
    def rm_choose_to_abort(self, s: State, rm: Participant) -> State | None:
        """RMChooseToAbort(rm): unilaterally, while it has promised nothing. No message is needed."""
        enabled = holds(
            working_before_abort=s.rm_state[rm] is RM.WORKING,
        )
        return changed(s, rm_state=put(s.rm_state, rm, RM.ABORTED)) if enabled else None

    @action
    def rm_rcv_commit_msg(self, s: State, rm: Participant) -> State | None:
        """RMRcvCommitMsg(rm)."""
        enabled = holds(
            commit_was_sent=s.commit_sent,
        )
        return changed(s, rm_state=put(s.rm_state, rm, RM.COMMITTED)) if enabled else None

    @action
    def rm_rcv_abort_msg(self, s: State, rm: Participant) -> State | None:
        """RMRcvAbortMsg(rm)."""
        enabled = holds(
            abort_was_sent=s.abort_sent,
        )
        return changed(s, rm_state=put(s.rm_state, rm, RM.ABORTED)) if enabled else None


# -- What must hold ----------------------------------------------------------------------------------


class TCommit(Properties):
    """What TwoPhase implements: TCommit.tla. An edited model has enumerations of its own, so text is compared."""

    @always("No participant has committed while another has aborted.", "§2; TCommit.tla, TCConsistent; AC1")
    def tc_consistent(self, s: State) -> str | None:
        if RM.COMMITTED not in s.rm_state or RM.ABORTED not in s.rm_state:
            return None
        committed, aborted = s.rm_state.index(RM.COMMITTED), s.rm_state.index(RM.ABORTED)
        return f"participant {committed + 1} has committed, and participant {aborted + 1} has aborted"

    @always("The manager and every participant are in one of their states.", "TwoPhase.tla, TPTypeOK; TCTypeOK")
    def tc_type_ok(self, s: State) -> str | None:
        for name, annotation in s.FIELDS:
            if not conforms(getattr(s, name), annotation):
                return f"{name} is {getattr(s, name)!r}"
            if name in TwoPhase.symmetric and len(getattr(s, name)) != self.size:
                return f"{name} has {len(getattr(s, name))} places for {self.size} participants"
        return None

    @always("The decision to commit can only be reached if all have prepared.", "AC3; TCommit.tla, canCommit")
    def ac3_unanimity(self, s: State) -> str | None:
        if s.tm_state != TM.COMMITTED and RM.COMMITTED not in s.rm_state:
            return None
        if all(s.prepared_sent):
            return None
        return f"it is decided to commit, and participant {s.prepared_sent.index(False) + 1} has not prepared"

    @eventually("Every participant commits or aborts.", "AC5; §2, liveness")
    def ac5_termination(self, s: State) -> str | None:
        for rm, state in enumerate(s.rm_state, 1):
            if state in (RM.WORKING, RM.PREPARED):
                return f"participant {rm} is {state.value}, and has not decided"
        return None


PROTOCOL = ModelSpec(
    name="two_phase",
    paper="Gray and Lamport 2006",
    model=TwoPhase,
    properties=TCommit,
    sizes=(3, 4, 5),
    largest=7,
    note_sizes="seven participants make 296,448 states, and each one more six times as many",
)
