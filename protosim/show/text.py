"""The space-time diagram for a terminal: a column per node, time downwards, words on the right.

An arrow is drawn on the line of the delivery, from the sender's column; `#4` on it is the moment
in which the message was sent, where that was not the one just above.
"""

import textwrap
import unicodedata
from collections.abc import Iterable
from itertools import groupby

import attrs

from protosim.show import (
    Lost,
    Tone,
    brief,
    heading,
    headline,
    is_global,
    lost_at,
    notes,
    omitted,
    subject,
    up_after,
    visible,
    when,
)
from protosim.story import Moment, Story

NOTES_WIDTH = 44  # columns that the words get before the lanes may be wide
GAP = (6, 18)  # columns from lane to lane, at least and at most
NOTE_LINES = 4  # a longer note is cut: the page has it in full

BOLD, DIM, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN = "1", "2", "1;31", "32", "33", "34", "35", "36"
TONES: dict[Tone, str] = {
    "refused": YELLOW,
    "wrote": "",
    "changed": CYAN,
    "client": GREEN,
    "sent": DIM,
    "crash": MAGENTA,
}

ASCII_FOR = {"…": "~", "§": "sec. ", "→": "->", "≤": "<=", "≥": ">=", "≠": "!=", "·": "-"}


@attrs.frozen
class Glyphs:
    lane: str
    down: str
    line: str
    crossing: str
    fork_right: str
    fork_left: str
    dot: str
    right: str
    left: str
    refused_right: str
    refused_left: str
    born: str
    dead: str
    rule: str


UNICODE = Glyphs("│", "┊", "─", "┼", "├", "┤", "●", "►", "◄", "▷", "◁", "○", "✗", "╌")
ASCII = Glyphs("|", ":", "-", "|", "+", "+", "*", ">", "<", "!", "!", "o", "X", "=")

Row = list[tuple[str, str]]  # a cell per terminal column: what it shows, and its style


@attrs.frozen
class Sheet:
    """Where things go on the lines of one story."""

    glyphs: Glyphs
    lanes: dict[str, int]  # node to terminal column
    gap: int
    gutter: int
    edge: int  # first column of the words
    room: int  # columns for the words

    def row(self, up: frozenset[str]) -> Row:
        row: Row = [(" ", "")] * self.edge
        for node, x in self.lanes.items():
            row[x] = (self.glyphs.lane if node in up else self.glyphs.down, DIM)
        return row


# -- Lines ---------------------------------------------------------------------------------------


def cells(text: str) -> list[str]:
    """One string per terminal column: a wide character is followed by an empty cell."""
    result: list[str] = []
    for c in visible(text):
        if unicodedata.combining(c):
            result[-1:] = [(result[-1] if result else " ") + c]
        else:
            wide = unicodedata.east_asian_width(c) in "WF"
            result += [c, ""] if wide else [c]
    return result


def put(row: Row, x: int, text: str, style: str = "") -> None:
    """Write onto a row from column x, as far as the row goes."""
    fresh: Row = [(c, style) for c in cells(text)][: len(row) - x]
    row[x : x + len(fresh)] = fresh


def clip(text: str, room: int) -> str:
    """At most `room` columns of a text, the last an ellipsis if some are missing."""
    whole = cells(text)
    if len(whole) <= room:
        return "".join(whole)
    kept = whole[: max(0, room - 1)]
    if kept and whole[len(kept)] == "":  # half of a wide character
        kept[-1] = " "
    return "".join(kept) + "…"


def line(row: Row, color: bool) -> str:
    runs = [("".join(c for c, _ in run), style) for style, run in groupby(row, lambda c: c[1])]
    if not color:
        return "".join(text for text, _ in runs).rstrip()
    return "".join(f"\x1b[{style}m{text}\x1b[0m" if style else text for text, style in runs)


def styled(lines: Iterable[str], style: str, indent: str = "") -> list[Row]:
    return [[(c, style) for c in cells(indent + text)] for text in lines]


def wrapped(text: str, width: int) -> list[str]:
    """At most NOTE_LINES lines, all but the first indented."""
    layout = textwrap.TextWrapper(max(width, 16), subsequent_indent="  ")
    layout.max_lines, layout.placeholder = NOTE_LINES, " …"
    return layout.wrap(visible(text))


# -- Drawing -------------------------------------------------------------------------------------


def label(m: Moment, room: int) -> str:
    """What an arrow says of its message: the name, and if it is not obvious, when it was sent."""
    full = f"{m.what} #{m.cause}"
    far = m.cause is not None and m.cause != m.number - 1
    return full if far and len(cells(full)) <= room else clip(m.what, room)


def arrow(sheet: Sheet, row: Row, m: Moment, src: int) -> None:
    """From the sender's lane to the node's own, with the message's name beside the sender."""
    g, dst = sheet.glyphs, sheet.lanes[m.node]
    rightwards, style = src < dst, YELLOW if m.refuses else BLUE
    for x in range(min(src, dst) + 1, max(src, dst)):
        put(row, x, g.crossing if x in sheet.lanes.values() else g.line, style)
    put(row, src, g.fork_right if rightwards else g.fork_left, style)
    if m.refuses:
        put(row, dst, g.refused_right if rightwards else g.refused_left, style)
    else:
        put(row, dst, g.right if rightwards else g.left, style)
    room = abs(dst - src) - 1
    said = label(m, room)
    spare = 1 if len(cells(said)) < room else 0
    put(row, src + 1 + spare if rightwards else src - spare - len(cells(said)), said, style)


def sign(g: Glyphs, m: Moment) -> tuple[str, str]:
    """What marks a moment without a message: (glyph, style)."""
    match m.kind:
        case "start" | "restart":
            return g.born, GREEN
        case "crash":
            return g.dead, MAGENTA
        case "fault":
            return g.dot, MAGENTA
        case _:
            return g.dot, BOLD


def mark(sheet: Sheet, row: Row, m: Moment) -> None:
    """A sign on the node's lane, and a word beside it: what happened there without a message."""
    x = sheet.lanes[m.node]
    glyph, style = sign(sheet.glyphs, m)
    put(row, x, glyph, style)
    word = clip(brief(m), sheet.gap - 3)
    last = x == max(sheet.lanes.values()) and len(sheet.lanes) > 1
    put(row, x - 1 - len(cells(word)) if last else x + 2, word, style)


def rule(sheet: Sheet, row: Row, m: Moment) -> None:
    """A fault of the network, across all lanes."""
    xs = sheet.lanes.values()
    for x in range(min(xs), max(xs) + 1):
        put(row, x, sheet.glyphs.rule, MAGENTA)
    put(row, min(xs) + 2, f" {clip(m.what, max(xs) - min(xs) - 6)} ", MAGENTA)


def stub(sheet: Sheet, row: Row, m: Moment, lost: Lost) -> None:
    """A message that leaves and never arrives."""
    g, x = sheet.glyphs, sheet.lanes[m.node]
    what = clip(lost.what, sheet.gap - 5)
    if lost.rightwards:
        put(row, x, f"{g.fork_right}{g.line}{what} {g.dead}", MAGENTA)
    else:
        put(row, x - len(cells(what)) - 3, f"{g.dead} {what}{g.line}{g.fork_left}", MAGENTA)


def sender(sheet: Sheet, m: Moment) -> int | None:
    """The lane that a message comes from, if it comes from another."""
    return sheet.lanes.get(m.peer or "") if m.kind == "deliver" and m.peer != m.node else None


def drawing(story: Story, sheet: Sheet, m: Moment, up: frozenset[str]) -> Row:
    """The line on which a moment happens, without its words."""
    row = sheet.row(up | {m.node})
    put(row, 0, f"{f'{m.number}  {when(m.at)}':>{sheet.gutter - 2}}", DIM)
    src = sender(sheet, m)
    if is_global(story, m):
        rule(sheet, row, m)
    elif src is None:
        mark(sheet, row, m)
    else:
        arrow(sheet, row, m, src)
        if m.cut:
            put(row, sheet.lanes[m.node], sheet.glyphs.dead, MAGENTA)
    return row


def sentence(sheet: Sheet, m: Moment) -> str:
    """The headline, without what the arrow beside it says already."""
    src = sender(sheet, m)
    if src is None:
        return headline(m)
    unsaid = "" if m.cause in (None, m.number - 1) else f", sent at {m.cause}"
    drawn = label(m, abs(src - sheet.lanes[m.node]) - 1)
    return (m.detail or m.what) + ("" if drawn.endswith(f" #{m.cause}") else unsaid)


def said(sheet: Sheet, m: Moment) -> list[Row]:
    """The words beside a moment. What it sent is drawn where it arrives."""
    told = styled(wrapped(sentence(sheet, m), sheet.room), BOLD)
    for note in notes(m):
        if note.tone != "sent":
            told += styled(wrapped(note.text, sheet.room - 2), TONES[note.tone], "  ")
    return told


def rows(story: Story, sheet: Sheet) -> Iterable[Row]:
    """All lines between the two rows of names."""
    ups = up_after(story)
    for m, before, after in zip(story.moments, ups, ups[1:], strict=False):
        parts = [(drawing(story, sheet, m, before), said(sheet, m))]
        for lost in lost_at(story, m):
            row = sheet.row(after)
            stub(sheet, row, m, lost)
            words = f"never delivered: {lost.what} to {', '.join(lost.to)}"
            parts.append((row, styled(wrapped(words, sheet.room - 2), MAGENTA, "  ")))
        for row, told in parts:
            yield row + (told[0] if told else [])
            yield from (sheet.row(after) + more for more in told[1:])


def names(story: Story, sheet: Sheet) -> Row:
    row: Row = [(" ", "")] * sheet.edge
    for node, x in sheet.lanes.items():
        name = clip(heading(story, node), sheet.gap - 1)
        put(row, max(0, x - (len(cells(name)) - 1) // 2), name, BOLD)
    return row


# -- The whole -----------------------------------------------------------------------------------


def sheet_for(story: Story, width: int, glyphs: Glyphs) -> Sheet:
    gutter = 2 + max((len(f"{m.number}  {when(m.at)}") for m in story.moments), default=0)
    others = max(1, len(story.nodes) - 1)
    gap = min(max((width - gutter - NOTES_WIDTH - 3) // others, GAP[0]), GAP[1])
    lanes = {node: gutter + i * gap for i, node in enumerate(story.nodes)}
    edge = max(lanes.values(), default=0) + (gap if len(story.nodes) == 1 else 3)
    return Sheet(glyphs, lanes, gap, gutter, edge, width - edge)


def legend(g: Glyphs) -> str:
    return (
        f"{g.right} receives  {g.refused_right} receives and refuses  {g.dot} acts  {g.born} starts"
        f"  {g.dead} crashes  {g.down} is down  #4 sent at moment 4"
    )


def verdict(story: Story, width: int, dead: str) -> list[Row]:
    """The broken invariant, how it broke, what it says, and how to see it again."""
    told = styled([f"{dead} {story.title} is violated"], RED)
    for style, text in ((RED, story.sentence), ("", story.statement), (DIM, omitted(story))):
        told += styled(textwrap.wrap(visible(text), max(width - 2, 16)), style, "  ")
    # Never wrapped: it is there to be copied.
    return [*told, *styled([story.replay], BOLD, "  replay: ")]


def render(story: Story, width: int = 100, color: bool = False, unicode: bool = True) -> str:
    """Lines of text, about `width` columns wide, each ended by a newline.

    Narrower than the lanes need, lines grow beyond `width`. `color` adds ANSI styles; without
    `unicode` every character is ASCII.
    """
    sheet = sheet_for(story, width, UNICODE if unicode else ASCII)
    lines = [
        *styled([f"{story.title} broken in {subject(story)}"], BOLD),
        *styled([legend(sheet.glyphs), ""], DIM),
        names(story, sheet),
        *(rows(story, sheet) if story.nodes else ()),
        names(story, sheet),
        [],
        *verdict(story, width, sheet.glyphs.dead),
    ]
    text = "".join(f"{line(row, color)}\n" for row in lines)
    return text if unicode else ascii_only(text)


def ascii_only(text: str) -> str:
    return "".join(ASCII_FOR.get(c, c) for c in text).encode("ascii", "backslashreplace").decode()
