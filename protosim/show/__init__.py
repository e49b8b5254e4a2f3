"""Show: a short story as a space-time diagram: in the terminal, as SVG, as a page to step through.

Each renderer is a pure function from a Story to a str. Here is what they share: the words for a
moment, who is up when, and markup that cannot be broken out of.
"""

import html
from itertools import groupby
from typing import Literal, NewType

import attrs

from protosim.story import CRASHED_AND_RESTARTED, DURABLE, FEW_LOST, Moment, Story
from protosim.words import plural

Tone = Literal["refused", "wrote", "changed", "client", "sent", "crash"]


@attrs.frozen
class Note:
    """One consequence of a moment, in words."""

    tone: Tone
    text: str


@attrs.frozen
class Lost:
    """Messages of one kind, sent by one moment, that never arrived; drawn on one side."""

    what: str
    to: tuple[str, ...]
    rightwards: bool


# -- Words ---------------------------------------------------------------------------------------


def when(at: int) -> str:
    """Simulated microseconds as milliseconds: 153204 -> "153.2"."""
    return f"{at // 1000}.{at % 1000 // 100}"


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, the last an ellipsis if some are missing."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def visible(text: str) -> str:
    """Newlines, control codes, lone surrogates and direction marks, written as escapes.

    So a story's strings can neither move a terminal's cursor nor be characters XML forbids.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def subject(story: Story) -> str:
    """What the story is about: "raft, mutated: raft.vote_once_per_term"."""
    return ", mutated: ".join(filter(None, (story.protocol, ", ".join(story.mutants))))


def heading(story: Story, node: str) -> str:
    """What stands above a node's lane."""
    return f"{node} lies" if node in story.liars else node


def brief(m: Moment) -> str:
    """What happened, in a word or two, for the diagram."""
    return m.kind if m.kind in ("start", "crash") else m.what


def headline(m: Moment, route: bool = True) -> str:
    """What happened, in one sentence without its full stop.

    Without `route` it leaves out what an arrow shows: where a message came from, and when.
    """
    match m.kind:
        case "start":
            return f"{m.node} starts"
        case "deliver":
            sender = f" from {m.peer}" if m.peer and route else ""
            sending = f", sent at {m.cause}" if m.cause is not None and route else ""
            return f"{m.node} receives {m.detail or m.what}{sender}{sending}"
        case "timeout":
            return f"{m.node} times out: {m.what}"
        case "request":
            return f"{m.node} gets a client's request: {m.detail or m.what}"
        case "crash":
            return f"{m.node} crashes"
        case "restart":
            return f"{m.node} {'crashes and ' * (m.what == CRASHED_AND_RESTARTED)}restarts"
        case "fault":
            return f"fault: {m.detail or m.what}"


def notes(m: Moment) -> tuple[Note, ...]:
    """What the node did about it, in the order: refused, wrote, changed, applied, sent, crashed."""
    found: list[Note] = []

    def note(tone: Tone, text: str) -> None:
        found.append(Note(tone, text))

    if m.refused:
        note("refused", refusal(m))
    if m.wrote:
        note("wrote", f"writes {', '.join(m.wrote)}; {'synced' if m.synced else 'not synced'}")
    state = dict(m.state)
    volatile = [f for f in m.changed if not f.startswith(DURABLE) and f in state]
    if volatile:
        note("changed", ", ".join(f"{f} = {state[f]}" for f in volatile))
    if m.applied:
        note("client", f"applies {'; '.join(m.applied)}")
    if m.replied:
        note("client", f"replies {'; '.join(m.replied)}")
    for detail in dict.fromkeys(detail for _, detail in m.sent):
        note("sent", f"sends {detail} to {', '.join(to for to, d in m.sent if d == detail)}")
    if m.back:
        note("crash", f"comes back with {', '.join(m.back)}")
    if m.cut:
        note("crash", m.cut)
    return tuple(found)


def refusal(m: Moment) -> str:
    """Which checks did not hold, and whether that was all: "n1 refuses Vote: vote_granted"."""
    return f"{f'{m.node} refuses {m.what}' if m.refuses else 'does not hold'}: {', '.join(m.refused)}"


# -- Facts ---------------------------------------------------------------------------------------


def up_after(story: Story) -> tuple[frozenset[str], ...]:
    """The nodes that are up before the first moment, then after each: one more than moments.

    A node that acts is up, so a story may begin in the middle of a run.
    """
    first = {m.node: m for m in reversed(story.moments) if m.kind != "fault"}
    down = {node for node, m in first.items() if m.kind == "restart" and m.what != CRASHED_AND_RESTARTED}
    up = {node: node not in down for node in story.nodes}
    result = [frozenset(node for node in story.nodes if up[node])]
    for m in story.moments:
        if m.kind == "fault":
            up |= {m.node: False} if m.cut and m.node in up else {}
        else:
            up[m.node] = m.kind != "crash" and m.cut is None
        result.append(frozenset(node for node in story.nodes if up[node]))
    return tuple(result)


def is_global(story: Story, m: Moment) -> bool:
    """Whether a moment concerns no single node: a fault of the network."""
    return m.node not in story.nodes


def last_words(story: Story) -> frozenset[int]:
    """The numbers of the moments that were their nodes' last before a crash."""
    last: dict[str, int] = {}
    found: set[int] = set()
    for m in story.moments:
        if m.kind in ("crash", "restart") and m.node in last:
            found.add(last.pop(m.node))
        if m.cut and m.kind != "restart":
            found.add(m.number)
        last[m.node] = m.number
    return frozenset(found)


def lost_at(story: Story, m: Moment) -> tuple[Lost, ...]:
    """What this moment sent in vain, grouped as it is drawn; if the story lost much, only what was a last word."""
    if len(story.lost) > FEW_LOST and m.number not in last_words(story):
        return ()
    here = [(to, what) for number, to, what in story.lost if number == m.number]
    if not here:
        return ()
    place = story.nodes.index(m.node)
    right = story.nodes[place + 1 :]
    placed = [(place == 0 or to in right, what, to) for to, what in here]
    groups = groupby(sorted(placed), key=lambda x: x[:2])
    return tuple(Lost(what, tuple(to for *_, to in g), right) for (right, what), g in groups)


def omitted(story: Story) -> str:
    """Says how many lost messages are not drawn, and which nodes; "" if all are."""
    said = []
    drawn = last_words(story) if len(story.lost) > FEW_LOST else {m.number for m in story.moments}
    if hidden := sum(number not in drawn for number, *_ in story.lost):
        which = plural(hidden, "message that was", "messages that were")
        said.append(f"{which} never delivered {'is' if hidden == 1 else 'are'} not drawn.")
    if story.idle:
        *others, last = story.idle
        names = f"{', '.join(others)} and {last}" if others else last
        said.append(f"{names} take{'s' * (not others)} no part.")
    return " ".join(said)


# -- Markup --------------------------------------------------------------------------------------

Markup = NewType("Markup", str)  # well-formed, as HTML and as XML; only the functions below make it

VOID = ("meta", "br")  # what HTML closes by itself


def words(text: str) -> Markup:
    """Text that means only itself."""
    return Markup(html.escape(visible(text)))


def element(tag: str, *children: Markup, **attributes: str | int) -> Markup:
    """`<tag attributes>children</tag>`; `class_` is class, `text_anchor` is text-anchor."""
    named = "".join(
        f' {name.strip("_").replace("_", "-")}="{words(str(value))}"'
        for name, value in attributes.items()
    )
    if tag in VOID:
        return Markup(f"<{tag}{named} />")
    return Markup(f"<{tag}{named}>{''.join(children)}</{tag}>")


def raw(tag: str, text: str) -> Markup:
    """A style or script element. HTML reads its text raw and XML does not, so for `text`, always
    one of our constants, to mean the same in both it must have none of XML's special characters.
    """
    if set(text) & set("<&"):
        raise ValueError(f"A {tag} element must be free of '<' and '&'.")
    return Markup(f"<{tag}>{text}</{tag}>")
