"""Stories told by hand: what the renderers are looked at with, and their golden files made of."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import attrs

from protosim.story import Kind, Moment, Story


@attrs.define
class Telling:
    """Collects moments, and remembers each node's state: a moment states only its changes."""

    nodes: tuple[str, ...]
    fields: dict[str, str]
    moments: list[Moment] = attrs.field(factory=list[Moment])
    states: dict[str, dict[str, str]] = attrs.field(factory=dict[str, dict[str, str]])
    clock: Iterator[int] = attrs.field(factory=lambda: cycle([1_213, 870, 2_451, 12_038, 655]))
    at: int = 0

    def tell(self, node: str, kind: Kind, what: str, detail: str = "", **more: Any) -> int:
        """Adds a moment; `set` gives the fields that it changes. Returns its number."""
        self.at += next(self.clock)
        new: dict[str, str] = more.pop("set", {})
        state = {**self.states.get(node, self.fields), **new}
        if kind == "restart":
            state = {f: v if f.startswith("disk.") else self.fields[f] for f, v in state.items()}
        if kind == "crash":
            state = {f: v for f, v in state.items() if f.startswith("disk.")}
        self.states[node] = state
        shown = tuple(state.items()) if node in self.nodes else ()
        number = len(self.moments) + 1
        more |= {"state": shown, "changed": tuple(new)}
        self.moments.append(Moment(number, self.at, node, kind, what, detail, **more))
        return number

    def deliver(self, node: str, cause: int, detail: str, **more: Any) -> int:
        peer = self.moments[cause - 1].node
        what = detail.partition("(")[0]
        return self.tell(node, "deliver", what, detail, peer=peer, cause=cause, **more)


RAFT = {
    "disk.term": "0",
    "disk.voted_for": "-",
    "disk.log": "[]",
    "role": "follower",
    "commit": "0",
    "votes": "{}",
}


def to_all(nodes: tuple[str, ...], node: str, detail: str) -> tuple[tuple[str, str], ...]:
    return tuple((n, detail) for n in nodes if n != node)


def campaign(tale: Telling, node: str, term: int, last: str) -> int:
    ask = f"RequestVote(term={term}, last={last})"
    return tale.tell(
        node,
        "timeout",
        "election",
        wrote=(f"term = {term}", f"voted_for = {node}"),
        synced=True,
        sent=to_all(tale.nodes, node, ask),
        set={
            "disk.term": str(term),
            "disk.voted_for": node,
            "role": "candidate",
            "votes": f"{{{node}}}",
        },
    )


def two_votes() -> Story:
    """Three nodes: n3 votes twice in term 2, and two leaders are elected."""
    tale = Telling(("n1", "n2", "n3"), RAFT)
    for node in tale.nodes:
        tale.tell(node, "start", "start")
    first = campaign(tale, "n1", 1, "(0, 0)")
    ask = "RequestVote(term=1, last=(0, 0))"
    yes = "Vote(term=1, granted=True)"
    vote = tale.deliver(
        "n2", first, ask, wrote=("term = 1", "voted_for = n1"), synced=True, sent=(("n1", yes),),
        set={"disk.term": "1", "disk.voted_for": "n1"},
    )  # fmt: skip
    empty = "AppendEntries(term=1, prev=(0, 0), entries=(), leader_commit=0)"
    lead = tale.deliver(
        "n1", vote, yes, sent=to_all(tale.nodes, "n1", empty),
        set={"role": "leader", "votes": "{n1, n2}"},
    )  # fmt: skip
    tale.tell(
        "n1", "request", "put x 3", wrote=("log[1] = (1, put x 3)",), synced=True,
        set={"disk.log": "[(1, put x 3)]"},
    )  # fmt: skip
    tale.deliver(
        "n3", lead, empty, wrote=("term = 1",), synced=True,
        sent=(("n1", "Appended(term=1, success=True, match=0)"),), set={"disk.term": "1"},
    )  # fmt: skip
    two = campaign(tale, "n2", 2, "(0, 0)")
    three = campaign(tale, "n1", 2, "(1, 1)")
    late = tale.deliver("n3", first, ask, refused=("current_term",))
    assert late == 11
    yes = "Vote(term=2, granted=True)"
    a = tale.deliver(
        "n3", two, "RequestVote(term=2, last=(0, 0))", wrote=("term = 2", "voted_for = n2"),
        synced=True, sent=(("n2", yes),), set={"disk.term": "2", "disk.voted_for": "n2"},
    )  # fmt: skip
    tale.deliver(
        "n1", two, "RequestVote(term=2, last=(0, 0))", refused=("log_up_to_date",),
        sent=(("n2", "Vote(term=2, granted=False)"),),
    )  # fmt: skip
    tale.deliver("n2", a, yes, set={"role": "leader", "votes": "{n2, n3}"})
    b = tale.deliver(
        "n3", three, "RequestVote(term=2, last=(1, 1))", wrote=("voted_for = n1",), synced=True,
        sent=(("n1", yes),), set={"disk.voted_for": "n1"},
    )  # fmt: skip
    tale.deliver("n1", b, yes, set={"role": "leader", "votes": "{n1, n3}"})
    return Story(
        protocol="raft",
        mutants=("raft.vote_once_per_term",),
        nodes=tale.nodes,
        moments=tuple(tale.moments),
        invariant="election_safety",
        title="Election Safety",
        statement="At most one leader can be elected in a given term. Raft, §5.2, Fig. 3",
        sentence="n2 and n1 were both elected in term 2: n3 voted for n2 at 12 and for n1 at 15.",
        replay="protosim replay raft-vote_once_per_term.json",
    )


def forgotten_vote() -> Story:
    """A vote that was not synced is lost in a crash; refusals, a restart, lost messages."""
    tale = Telling(("n1", "n2", "n3"), RAFT)
    tale.tell("n3", "start", "start")
    one = campaign(tale, "n1", 1, "(0, 0)")
    tale.tell("the network", "fault", "partition: n2 | n1 n3")
    yes = "Vote(term=1, granted=True)"
    vote = tale.deliver(
        "n3", one, "RequestVote(term=1, last=(0, 0))", wrote=("term = 1", "voted_for = n1"),
        sent=(("n1", yes),), set={"disk.term": "1", "disk.voted_for": "n1"},
        cut="crashed after its 3rd effect; kept 1 of 2 unsynced writes",
    )  # fmt: skip
    tale.states["n3"] = {"disk.term": "1", "disk.voted_for": "-", "disk.log": "[]"}
    empty = "AppendEntries(term=1, prev=(0, 0), entries=(), leader_commit=0)"
    lead = tale.deliver(
        "n1", vote, yes, sent=to_all(tale.nodes, "n1", empty),
        set={"role": "leader", "votes": "{n1, n3}"},
    )  # fmt: skip
    tale.states["n3"] = {**RAFT, "disk.term": "1"}
    tale.tell("n3", "restart", "restart")
    two = campaign(tale, "n2", 1, "(0, 0)")
    tale.tell("the network", "fault", "heal")
    refusal = "Vote(term=1, granted=False)"
    no = tale.deliver(
        "n1", two, "RequestVote(term=1, last=(0, 0))", refused=("vote_once_per_term",),
        sent=(("n2", refusal),),
    )  # fmt: skip
    tale.deliver("n2", no, refusal, refused=("granted",))
    tale.deliver(
        "n2", one, "RequestVote(term=1, last=(0, 0))", refused=("vote_once_per_term",),
        sent=(("n1", refusal),),
    )  # fmt: skip
    second = tale.deliver(
        "n3", two, "RequestVote(term=1, last=(0, 0))", wrote=("voted_for = n2",),
        sent=(("n2", yes),), set={"disk.voted_for": "n2"},
    )  # fmt: skip
    tale.tell("n1", "crash", "crash")
    tale.deliver("n2", second, yes, set={"role": "leader", "votes": "{n2, n3}"})
    return Story(
        protocol="raft",
        mutants=("raft.sync_before_vote",),
        nodes=tale.nodes,
        moments=tuple(tale.moments),
        invariant="election_safety",
        title="Election Safety",
        statement="At most one leader can be elected in a given term. Raft, §5.2, Fig. 3",
        sentence="n1 and n2 were both elected in term 1.",
        replay="protosim replay raft-sync_before_vote.json",
        lost=(
            (lead, "n2", "AppendEntries"),
            (lead, "n3", "AppendEntries"),
            (11, "n1", "Vote"),
        ),
    )


def crowd(count: int, length: int) -> Story:
    """Any number of nodes and moments, by a fixed recipe: what must stay readable when large."""
    tale = Telling(tuple(f"n{i + 1}" for i in range(count)), RAFT)
    pending: list[tuple[int, str, str]] = []
    dead: list[str] = []
    mix = 7
    for step in range(length):
        mix = (mix * 48_271) % 2_147_483_647
        node = tale.nodes[mix % count]
        if node in dead:
            dead.remove(node)
            tale.tell(node, "restart", "restart")
        elif step % 13 == 12 and not dead:
            dead.append(node)
            tale.tell(node, "crash", "crash")
        elif step % 11 == 10:
            tale.tell("net", "fault", f"partition: {node} | the rest")
        elif step % 9 == 0 or not pending:
            number = campaign(tale, node, step // 9 + 1, "(0, 0)")
            ask = f"RequestVote(term={step // 9 + 1}, last=(0, 0))"
            pending += [(number, n, ask) for n in tale.nodes if n != node]
        else:
            cause, to, detail = pending.pop(mix // 7 % len(pending))
            peer = tale.moments[cause - 1].node
            if to in dead or to == peer:
                to = next((n for n in tale.nodes if n not in dead and n != peer), peer)
            answer = "AppendEntries(term=1, prev=(0, 0), entries=((1, put x 3),), leader_commit=0)"
            checks = ("current_term", "log_up_to_date")[: mix % 3]
            number = tale.deliver(
                to, cause, detail, refused=checks, wrote=() if checks else ("voted_for = n1",),
                set={} if checks else {"disk.voted_for": "n1", "commit": str(step)},
            )  # fmt: skip
            pending.append((number, tale.nodes[mix // 11 % count], answer))
    return Story(
        protocol="raft",
        mutants=("raft.log_up_to_date", "raft.prev_log_matches"),
        nodes=tale.nodes,
        moments=tuple(tale.moments),
        invariant="leader_completeness",
        title="Leader Completeness",
        statement="A committed entry is in the log of the leader of every later term. Raft, Fig. 3",
        sentence="n4, elected in term 5, lacks entry 1 (1, put x 3), which n2 committed in term 2.",
        replay="protosim replay crowd.json",
        lost=tuple((cause, to, d.partition("(")[0]) for cause, to, d in pending[:12]),
    )
