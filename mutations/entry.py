"""What a mutant is: data. It travels as text and is applied to text, so it runs nothing here."""

import difflib
from collections.abc import Iterable
from enum import StrEnum

import attrs

from protosim.errors import UserError


class DriftKind(StrEnum):
    """How an implementation strayed from its specification."""

    MISSING_CHECK = "missing check"
    WEAKENED_QUORUM = "weakened quorum"
    PERSIST_AND_SEND_SWAPPED = "persist and send swapped"
    STALE_DATA_ACCEPTED = "stale data accepted"
    WRONG_COMPARISON = "wrong comparison"
    LOST_DURABILITY = "lost durability"
    INVERTED_DECISION = "inverted decision"
    FORGOTTEN_RESET = "forgotten reset"
    OPTIMISATION = "optimisation"  # a plausible change of several lines that drifts


@attrs.frozen(order=True)
class Site:
    """A place where an operator applies, and so the edit that it makes there.

    It is named, never counted in lines, so it survives an unrelated edit of the file:
    `handle_vote/drop-check/vote_granted`, `start_election/drop-sync/1`.
    """

    function: str  # "handle_vote", or "Raft.handle_vote" where the file has several
    operator: str  # "drop-check": the operator's file, with dashes
    which: str  # the check's name; where there is no name, which one in the function, from 1

    def __str__(self) -> str:
        return f"{self.function}/{self.operator}/{self.which}"

    @classmethod
    def parse(cls, text: str) -> "Site":
        parts = text.split("/")
        if len(parts) != 3 or not all(parts):
            raise UserError(f"{text!r} names no site; a site is function/operator/which.")
        return cls(*parts)


@attrs.frozen
class Replace:
    """Replace Python by Python inside one function, matched by structure.

    `before` and `after` are expressions if both parse as one, and otherwise statements; an empty
    `after` deletes. Layout, quotes and comments of `before` do not count. `before` must match
    exactly `times` times. A comment above the match stays; what stands inside of it, or behind a
    statement on its line, goes with it; `after` may bring comments of its own.
    """

    function: str  # a function or class, bare or dotted ("Raft.start"); "" is the whole module
    before: str = attrs.field(validator=attrs.validators.min_len(1))
    after: str
    times: int = attrs.field(default=1, validator=attrs.validators.ge(1))


Edit = Site | Replace


@attrs.frozen
class Lines:
    """Replace whole lines of Go by others inside one function or type, of source that gofmt has laid out.

    Indentation and comments do not count; `before` must be there exactly once. An empty `after` deletes.
    """

    function: str  # "handleVote"; "" is the whole file
    before: str = attrs.field(validator=attrs.validators.min_len(1))
    after: str


def _names_its_protocol(mutation: object, field: object, id: str) -> None:
    protocol, _, rest = id.partition(".")
    if not protocol or not rest:
        raise ValueError(f"a mutant's id is protocol.name, not {id!r}")


@attrs.frozen(kw_only=True)
class Mutation:
    """One drift: which edits make it, and what they break."""

    id: str = attrs.field(validator=_names_its_protocol)  # "raft.vote_once_per_term"
    title: str  # one sentence: what the drifted code does
    kind: DriftKind
    edits: tuple[Edit, ...] = attrs.field(validator=attrs.validators.min_len(1))
    breaks: tuple[str, ...] = ()  # ids of the invariants: "election_safety"
    clause: str = ""  # what the source demands, with its section
    sources: tuple[str, ...] = ()  # where the bug was seen
    aliases: tuple[str, ...] = ()  # "R1"
    message: str = ""  # the commit message that sold an optimisation
    go: tuple[Lines, ...] = ()  # the same drift in Go; of a dropped check it is known without

    @property
    def protocol(self) -> str:
        return self.id.partition(".")[0]


@attrs.frozen
class Beyond:
    """A known bug that a protocol cannot have, since it lacks what the bug is in."""

    row: str  # "R11"
    title: str  # one sentence: what the drifted code does
    needs: str  # what the protocol lacks


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: "; the nearest are X and Y", or nothing."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.6)
    if not close:
        return ""
    return f"; the nearest are {', '.join(close[:-1])} and {close[-1]}" if close[1:] else f"; the nearest is {close[0]}"
