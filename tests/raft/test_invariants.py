"""What must hold of Raft: each invariant fires on a bad history, and is silent on the good one beside it.

The histories are written by hand: no node runs here, an observer is told facts.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from protocols.raft import PROTOCOL, AppendEntries, Entry, Figure3, LiteralFigure3, RequestVote, Vote
from protosim.api import Command, Facts, Invariant

A, B, C = (Command("put", "x", value) for value in (1, 2, 3))
GET = Command("get", "x")


class History:
    """Three servers, their disks, and observers that are told what happens, up to the first violation, as by the world.

    Each verb returns the history.
    """

    def __init__(self, observer: type[Figure3] = Figure3) -> None:
        self.ids = ("n1", "n2", "n3")
        self.majority = 2
        self.now = 0
        self.healed_at: int | None = None
        self.disks = {n: SimpleNamespace(term=0, voted_for=None, log=[]) for n in self.ids}
        self.synced = {n: SimpleNamespace(term=0, voted_for=None, log=[]) for n in self.ids}
        self.broken: list[str] = []  # invariants and warnings, in the order in which they broke
        self.sentences: list[str] = []
        self.reached: set[str] = set()
        self.over = False
        self.literal, self.observer = LiteralFigure3(), observer()
        self.observers = (self.literal, self.observer)
        for each in self.observers:
            each.facts = cast("Facts", self)
            each.begin()

    def written(self, node: str) -> Any:
        return self.disks[node]

    def durable(self, node: str) -> Any:
        return self.synced[node]

    def up(self, node: str) -> bool:
        return True

    def clock(self, node: str | None = None) -> int:
        return 0

    def reaches(self, src: str, dst: str) -> bool:
        return True

    def tell(self, fact: str, about: str, *details: Any) -> "History":
        for observer in self.observers:
            for method in vars(type(observer)).values():
                kind, names = getattr(method, "_fact", ("", ()))
                if kind == fact and (not names or about in names) and not self.over:
                    self.note(getattr(method, "_invariant", None), method(observer, *details))
        return self

    def note(self, invariant: Invariant | None, said: Any) -> None:
        if invariant is None or not said:
            return
        if invariant.mode == "sometimes":
            self.reached.add(invariant.name)
        else:
            assert isinstance(said, str)
            self.broken.append(invariant.name)
            self.sentences.append(said)
            self.over = invariant.mode == "always"

    def end(self) -> "History":
        for observer in self.observers:
            for method in vars(type(observer)).values():
                invariant = getattr(method, "_invariant", None)
                if invariant and invariant.mode == "eventually":
                    self.note(invariant, method(observer))
        return self

    # What happens.

    def term(self, term: int, *nodes: str) -> "History":
        for node in nodes or self.ids:
            self.disks[node].term = self.synced[node].term = term
        return self

    def leads(self, node: str, term: int, given: bool = True) -> "History":
        """By votes that the observers need not be told of, if they are `given`."""
        self.term(term, node)
        for observer in self.observers if given else ():
            observer.__dict__.get("elected", {}).setdefault(term, node)
        return self.tell("sent", "AppendEntries", node, "n1", AppendEntries(term, 0, 0, (), 0))

    def stores(self, node: str, index: int, *entries: Entry, sync: bool = True) -> "History":
        """From position `index` on, from 0."""
        log = self.disks[node].log
        removed = tuple(log[index:])
        log[index:] = entries
        if sync:
            self.synced[node].log = list(log)
        return self.tell("stored", "log", node, index, removed, entries)

    def syncs(self, node: str) -> "History":
        self.synced[node].log = list(self.disks[node].log)
        return self

    def applies(self, node: str, index: int, command: Command | None) -> "History":
        return self.tell("applied", "", node, index, command, None)

    def asks(self, node: str, command: Command) -> "History":
        return self.tell("requested", "", node, 1, command)

    def answers(self, node: str, command: Command) -> "History":
        return self.tell("replied", "", node, 1, command, None)

    def restarts(self, node: str, keeping: list[Entry] | None = None) -> "History":
        """With what was synced, or with something else."""
        if keeping is not None:
            self.synced[node].log = keeping
        self.disks[node].log = list(self.synced[node].log)
        return self.tell("restarted", "", node)

    def votes(self, node: str, candidate: str, term: int, granted: bool = True) -> "History":
        return self.tell("sent", "Vote", node, candidate, Vote(term, granted))

    def gives(self, node: str, candidate: str, term: int) -> "History":
        """The vote is on disk when it is sent."""
        for disk in (self.disks[node], self.synced[node]):
            disk.term, disk.voted_for = term, candidate
        return self.votes(node, candidate, term)

    def asks_for_votes(self, node: str, term: int) -> "History":
        for other in self.ids:
            if other != node:
                self.tell("sent", "RequestVote", node, other, RequestVote(term, 0, 0))
        return self


def both(history: History, *entries: Entry) -> History:
    """A majority stores these."""
    return history.stores("n1", 0, *entries).stores("n2", 0, *entries)


def committed(history: History) -> History:
    """n1 led term 1, stored A at n1 and n2, and applied it."""
    return both(history.term(1).leads("n1", 1), Entry(1, A)).applies("n1", 1, A)


def longer(history: History) -> History:
    """The same two stored B as well, and n1 applied it."""
    return history.stores("n1", 1, Entry(1, B)).stores("n2", 1, Entry(1, B)).applies("n1", 2, B)


def answered(history: History) -> History:
    return committed(history).answers("n1", A)


Tale = Callable[[History], History]

# Each row: what breaks first, in a bad history; and a good history that differs from it in one point.
TALES: list[tuple[str, Tale, Tale]] = [
    (
        "election_safety",
        lambda h: h.leads("n1", 1).leads("n2", 1),
        lambda h: h.leads("n1", 1).leads("n2", 2).leads("n1", 3),
    ),
    (
        "leader_append_only",
        lambda h: h.leads("n1", 1).stores("n1", 0, Entry(1, A)).stores("n1", 0, Entry(1, B)),
        lambda h: h.leads("n1", 1).stores("n1", 0, Entry(1, A)).term(2, "n1").stores("n1", 0, Entry(2, B)),
    ),
    (
        "leader_append_only",
        lambda h: h.leads("n1", 1).stores("n1", 0, Entry(1, A), Entry(1, B)).stores("n1", 1),
        lambda h: h.leads("n1", 1).stores("n1", 0, Entry(1, A), Entry(1, B)).stores("n1", 2, Entry(1, C)),
    ),
    (
        "log_matching",  # the same index and term, another command
        lambda h: h.stores("n1", 0, Entry(1, A)).stores("n2", 0, Entry(1, B)),
        lambda h: h.stores("n1", 0, Entry(1, A)).stores("n2", 0, Entry(2, B)),
    ),
    (
        "log_matching",  # the same last entry after another one
        lambda h: h.stores("n1", 0, Entry(1, A), Entry(2, B)).stores("n2", 0, Entry(2, C), Entry(2, B)),
        lambda h: h.stores("n1", 0, Entry(1, A), Entry(2, B)).stores("n2", 0, Entry(1, A), Entry(2, B)),
    ),
    (
        "log_matching",  # logs of which one is gone
        lambda h: h.stores("n1", 0, Entry(1, A)).stores("n1", 0, Entry(2, C)).stores("n2", 0, Entry(1, B)),
        lambda h: h.stores("n1", 0, Entry(1, A)).stores("n1", 0, Entry(2, C)).stores("n2", 0, Entry(1, A)),
    ),
    (
        "log_matching",  # a crash kept the second entry without the first
        lambda h: h.stores("n1", 0, Entry(1, A), Entry(1, B)).restarts("n1", [Entry(1, B)]),
        lambda h: h.stores("n1", 0, Entry(1, A), Entry(1, B)).restarts("n1", [Entry(1, A)]),
    ),
    (
        "leader_completeness",
        lambda h: committed(h).leads("n3", 2),
        lambda h: committed(h).leads("n2", 2),
    ),
    (
        "leader_completeness",  # the leader of the same term may lack it, of a later one not
        lambda h: both(h.term(1), Entry(1, A)).applies("n1", 1, A).leads("n3", 2),
        lambda h: both(h.term(1), Entry(1, A)).applies("n1", 1, A).leads("n3", 1),
    ),
    (
        "leader_completeness",  # the same command in another entry
        lambda h: committed(h).stores("n3", 0, Entry(2, A)).leads("n3", 3),
        lambda h: committed(h).stores("n3", 0, Entry(1, A), Entry(2, B)).leads("n3", 3),
    ),
    (
        "leader_completeness",  # the later leader was there first
        lambda h: both(h, Entry(1, A)).leads("n3", 2).leads("n1", 1).applies("n1", 1, A),
        lambda h: both(h, Entry(1, A)).leads("n3", 1).leads("n1", 2).applies("n1", 1, A),
    ),
    (
        "leader_has_the_votes",
        lambda h: h.asks_for_votes("n1", 1).votes("n2", "n3", 1).leads("n1", 1, False).leads("n1", 1, False),
        lambda h: h.asks_for_votes("n1", 1).votes("n2", "n1", 1).leads("n1", 1, False).leads("n1", 1, False),
    ),
    (
        "leader_has_the_votes",  # of its own term, and given
        lambda h: h.asks_for_votes("n1", 2).votes("n2", "n1", 1).votes("n3", "n1", 2, False).leads("n1", 2, False),
        lambda h: h.votes("n2", "n1", 2).votes("n3", "n1", 2).leads("n1", 2, False),
    ),
    (
        "state_machine_safety",
        lambda h: committed(h).stores("n2", 0, Entry(2, B)).applies("n2", 1, B),
        lambda h: committed(h).applies("n2", 1, A),
    ),
    (
        "state_machine_safety",  # the same command, but another entry
        lambda h: committed(h).stores("n2", 0, Entry(2, A)).applies("n2", 1, A),
        lambda h: committed(h).stores("n2", 0, Entry(1, A)).applies("n2", 1, A),
    ),
    (
        "state_machine_safety",  # not its own log
        lambda h: committed(h).applies("n3", 1, A),
        lambda h: committed(h).stores("n3", 0, Entry(1, A)).applies("n3", 1, A),
    ),
    (
        "state_machine_safety",  # a command that its log does not hold there
        lambda h: both(h, Entry(1, A)).applies("n1", 1, B),
        lambda h: both(h, Entry(1, A)).applies("n1", 1, A),
    ),
    (
        "state_machine_safety",  # out of order
        lambda h: both(h, Entry(1, A), Entry(1, B)).applies("n1", 2, B),
        lambda h: both(h, Entry(1, A), Entry(1, B)).applies("n1", 1, A).applies("n1", 2, B),
    ),
    (
        "state_machine_safety",  # twice
        lambda h: committed(h).applies("n1", 1, A),
        lambda h: committed(h).restarts("n1").applies("n1", 1, A),
    ),
    (
        "durability",  # on one disk only
        lambda h: committed(h).restarts("n2", []).answers("n1", A),
        lambda h: committed(h).restarts("n3", []).answers("n1", A),
    ),
    (
        "durability",  # written on two, synced on one
        lambda h: h.leads("n1", 1).stores("n1", 0, Entry(1, A)).stores("n2", 0, Entry(1, A), sync=False)
        .applies("n1", 1, A).answers("n1", A),
        lambda h: h.leads("n1", 1).stores("n1", 0, Entry(1, A)).stores("n2", 0, Entry(1, A), sync=False)
        .syncs("n2").applies("n1", 1, A).answers("n1", A),
    ),
    (
        "durability",  # never applied
        lambda h: committed(h).answers("n1", B),
        lambda h: committed(h).answers("n1", A),
    ),
    (
        "durability",  # a read leaves nothing to keep
        lambda h: committed(h).answers("n1", B),
        lambda h: committed(h).answers("n1", GET),
    ),
    (
        "durability",  # by who has not applied it
        lambda h: committed(h).answers("n2", A),
        lambda h: committed(h).applies("n2", 1, A).answers("n2", A),
    ),
    (
        "durability",  # an answer that comes after later entries were applied
        lambda h: longer(committed(h)).answers("n1", C),
        lambda h: longer(committed(h)).answers("n1", A),
    ),
    (
        "durability",  # the last of two answers was lost
        lambda h: longer(answered(h)).answers("n1", B).restarts("n2", [Entry(1, A)]),
        lambda h: longer(answered(h)).answers("n1", B).restarts("n3", []),
    ),
    (
        "durability",  # lost after the answer
        lambda h: answered(h).restarts("n2", []),
        lambda h: answered(h).restarts("n3", []),
    ),
    (
        "one_vote_per_term",
        lambda h: h.votes("n3", "n1", 1).votes("n3", "n2", 1),
        lambda h: h.votes("n3", "n1", 1).votes("n3", "n1", 1).votes("n3", "n2", 2).votes("n3", "n1", 2, False),
    ),
    (
        "one_vote_per_term",  # a candidate votes for itself
        lambda h: h.asks_for_votes("n1", 1).votes("n1", "n2", 1),
        lambda h: h.asks_for_votes("n1", 1).votes("n1", "n2", 1, granted=False),
    ),
    (
        "one_vote_per_term",
        lambda h: h.votes("n1", "n2", 1).asks_for_votes("n1", 1),
        lambda h: h.votes("n1", "n2", 1).asks_for_votes("n1", 2),
    ),
    (
        "one_vote_per_term",  # a restart without the vote
        lambda h: h.term(1).votes("n2", "n1", 1).restarts("n2"),
        lambda h: h.term(1).gives("n2", "n1", 1).restarts("n2").restarts("n3"),
    ),
    (
        "one_vote_per_term",  # a restart without the term; with a later one, the vote does not matter
        lambda h: h.term(2, "n1").gives("n2", "n1", 2).term(1, "n2").restarts("n2"),
        lambda h: h.term(2, "n1").gives("n2", "n1", 2).term(3, "n2").gives("n2", "n3", 3).restarts("n2"),
    ),
    (
        "one_vote_per_term",  # who got the vote led by it; or went on to another term, and never did
        lambda h: h.votes("n2", "n1", 1).leads("n1", 1).term(2, "n1").restarts("n2"),
        lambda h: h.votes("n2", "n1", 1).term(2, "n1").restarts("n2"),
    ),
    (
        "one_vote_per_term",  # of another; a crash ends a candidacy
        lambda h: h.asks_for_votes("n1", 1).leads("n1", 1).votes("n2", "n1", 1).term(0, "n1", "n2").restarts("n2"),
        lambda h: h.asks_for_votes("n1", 1).leads("n1", 1).votes("n2", "n1", 1).term(0, "n1", "n2").restarts("n1"),
    ),
    (
        "committed_is_safe",  # Figure 8: n3 may still win
        lambda h: h.stores("n3", 0, Entry(2, B)).leads("n1", 3).stores("n1", 0, Entry(1, A))
        .stores("n2", 0, Entry(1, A)).applies("n1", 1, A),
        lambda h: h.stores("n3", 0, Entry(1, B)).leads("n1", 3).stores("n1", 0, Entry(2, A))
        .stores("n2", 0, Entry(2, A)).applies("n1", 1, A),
    ),
    (
        "committed_is_safe",  # an acknowledged entry that a crash has lost
        lambda h: committed(h).restarts("n2", []),
        lambda h: committed(h).restarts("n2"),
    ),
    (
        "committed_is_kept",
        lambda h: committed(h).term(2, "n2").stores("n2", 0, Entry(2, B)),
        lambda h: committed(h).term(2, "n2").stores("n2", 1, Entry(2, B)),
    ),
    (
        "committed_is_kept",
        lambda h: committed(h).stores("n2", 0),
        lambda h: committed(h).stores("n2", 0, Entry(1, A)),
    ),
    (
        "committed_is_kept",  # two at once
        lambda h: longer(committed(h)).stores("n2", 0, Entry(1, A), Entry(2, C)),
        lambda h: longer(committed(h)).stores("n2", 0, Entry(1, A), Entry(1, B)),
    ),
    (
        "committed_is_kept",  # what conflicted with the committed entry may go
        lambda h: committed(h).stores("n3", 0, Entry(1, A), Entry(1, B)).stores("n3", 0, Entry(2, C)),
        lambda h: committed(h).stores("n3", 0, Entry(2, B)).stores("n3", 0, Entry(1, A)),
    ),
]  # fmt: skip


MODES = {invariant.name: invariant.mode for invariant in PROTOCOL.invariants()}


@pytest.mark.parametrize(("invariant", "bad"), [row[:2] for row in TALES])
def test_an_invariant_fires_on_a_bad_history(invariant: str, bad: Tale) -> None:
    broken = bad(History()).broken
    assert invariant in broken
    assert not [name for name in broken[:-1] if MODES[name] == "always"]


@pytest.mark.parametrize(("invariant", "good"), [(row[0], row[2]) for row in TALES])
def test_an_invariant_is_silent_on_a_good_history(invariant: str, good: Tale) -> None:
    assert good(History()).broken == []


def test_every_invariant_has_a_bad_and_a_good_history() -> None:
    assert {row[0] for row in TALES} == {name for name, mode in MODES.items() if mode in ("always", "warning")}


def test_an_answer_may_come_after_later_entries_were_applied() -> None:
    assert longer(committed(History())).answers("n1", A).answers("n1", B).broken == []


def test_an_answer_to_an_old_entry_is_checked_on_the_disks_of_that_entry() -> None:
    history = longer(committed(History()))
    history.synced["n2"].log = [Entry(1, A)]
    assert history.answers("n1", A).broken == []
    assert history.answers("n1", B).broken == ["durability"]


def test_the_goals_are_reached_by_what_they_say() -> None:
    assert History().leads("n1", 1).reached == {"leader_elected"}
    assert History().leads("n1", 1).leads("n2", 2).reached == {"leader_elected", "leader_changed"}
    assert answered(History()).reached == {"leader_elected", "command_committed"}
    assert History().asks_for_votes("n1", 1).reached == set()


def test_progress_is_an_answer_after_the_faults_have_ended() -> None:
    early, late, unasked = answered(History()), committed(History()), answered(History())
    early.healed_at = late.healed_at = unasked.healed_at = 1
    early.asks("n1", B)
    late.asks("n1", B)
    assert early.end().broken == ["progress_after_heal"]
    assert late.answers("n1", A).end().broken == []
    assert unasked.asks("n2", A).asks("n3", B).end().broken == [], "the leader was never asked"


def test_a_broken_history_ends_with_a_sentence_that_names_who_and_what() -> None:
    history = committed(History()).term(2, "n3")
    said = Figure3.leader_completeness(history.observer, "n3", "n1", AppendEntries(2, 0, 0, (), 0))
    assert said == "n3 leads term 2 without entry 1, (1: put x 1), committed in term 1"


# -- The literal forms -------------------------------------------------------------------------------


def literally(history: History) -> set[str]:
    """What the literal forms find broken."""
    forms = [method for method in vars(LiteralFigure3).values() if hasattr(method, "_literal")]
    return {form._literal for form in forms if form(history.literal)}


@pytest.mark.parametrize(("invariant", "bad", "good"), TALES)
def test_the_literal_form_says_the_same_of_both_histories(invariant: str, bad: Tale, good: Tale) -> None:
    found = literally(bad(History()))
    assert invariant in found if invariant in LITERAL else not found
    assert literally(good(History())) == set()


LITERAL = {method._literal for method in vars(LiteralFigure3).values() if hasattr(method, "_literal")}
