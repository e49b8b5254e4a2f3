"""The space-time diagram as SVG: a line per node, time downwards, a slanting arrow per message.

Rows are evenly spaced, one moment each, so that no two words share a place: a message is named in
the row of its delivery, on the side away from its sender, where its arrow cannot cross the name.
Times stand in the gutter.
"""

import textwrap
from collections.abc import Iterable
from itertools import accumulate, groupby, pairwise
from math import hypot

import attrs

from protosim.show import (
    Markup,
    brief,
    element,
    heading,
    headline,
    lost_at,
    notes,
    omitted,
    raw,
    shorten,
    subject,
    up_after,
    when,
    words,
)
from protosim.story import Moment, Story

# Lengths are in px, the SVG's user unit.
ROW = 38  # from one moment to the next, at least
STUB = 18  # what each lost message adds to it
LINE = 15  # from one line of words to the next
LETTER = 6.7  # width of a character of 11 px monospace, a little generously
SCREENFUL = 18  # moments; in a longer diagram the nodes' names stand below as well
RADIUS = 11  # of a moment
GUTTER = 76  # for the times
LANES = (128, 190)  # from lane to lane, at least and at most
LANES_TOGETHER = 900  # what they share before each gets less than it asks for
CAPTION = 62  # characters in a line of the words on the right
CAPTION_WIDTH = 490

LIGHT = {
    "paper": "#ffffff", "ink": "#1f2328", "faint": "#6e7781", "lane": "#8c959f", "line": "#0a58ca",
    "refused": "#9a5b00", "crash": "#8250a8", "client": "#1a7f37", "broken": "#cf222e",
    "tint": "#0a58ca",
}  # fmt: skip
DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "faint": "#9198a1", "lane": "#6e7681", "line": "#6cb6ff",
    "refused": "#e3b341", "crash": "#d2a8ff", "client": "#56d364", "broken": "#ff7b72",
    "tint": "#6cb6ff",
}  # fmt: skip

# No CSS variables for colours: converters of stand-alone SVG (librsvg, Inkscape) ignore them.
SHAPE = """
.st text { font: 13px system-ui, sans-serif; }
.st .label, .st .time, .st .replay { font: 11px ui-monospace, "DejaVu Sans Mono", monospace; }
.st .replay { font-size: 12px; }
.st .label { stroke-width: 4px; stroke-linejoin: round; paint-order: stroke; }
.st .name, .st .head { font-weight: 600; }
.st .title { font-size: 17px; font-weight: 600; }
.st .number { font-size: 11px; font-weight: 600; text-anchor: middle; }
.st .arrow, .st .stub { stroke-width: 1.6px; fill: none; }
.st .arrow.refused { stroke-dasharray: 5 3; }
.st .lane { stroke-width: 1.4px; }
.st .fault { stroke-width: 1.6px; stroke-dasharray: 2 4; }
.st .box { fill: none; }
.st .band { fill-opacity: 0; }
.st a:hover .band { fill-opacity: 0.08; }
.st .now .band { fill-opacity: 0.15; }
.st .arrow.now { stroke-width: 3px; }
.st a { cursor: pointer; }
.st a:focus-visible { outline: none; }
.st a:focus-visible .band { fill-opacity: 0.08; stroke-width: 2px; }
"""
COLOURS = """
.st .paper, .st .dot { fill: %(paper)s; }
.st text { fill: %(ink)s; }
.st .label { stroke: %(paper)s; fill: %(line)s; }
.st .time { fill: %(faint)s; }
.st .lane, .st .box { stroke: %(lane)s; }
.st .dot, .st .arrow { stroke: %(line)s; }
.st .dot { stroke-width: 2px; }
.st .tip { fill: %(line)s; }
.st .wrote { fill: %(ink)s; } .st .changed { fill: %(line)s; } .st .client { fill: %(client)s; }
.st .arrow.refused, .st .dot.refused { stroke: %(refused)s; }
.st text.refused, .st .tip.refused { fill: %(refused)s; }
.st .stub, .st .dot.crash, .st .fault { stroke: %(crash)s; }
.st text.crash { fill: %(crash)s; }
.st .dot.broken, .st .box.broken { stroke: %(broken)s; }
.st text.broken, .st .dot.broken { fill: %(broken)s; }
.st .number.broken { fill: %(paper)s; }
.st .band { fill: %(tint)s; stroke: %(tint)s; stroke-width: 0; }
"""
STYLE = (
    SHAPE + COLOURS % LIGHT + "@media (prefers-color-scheme: dark) {" + COLOURS % DARK + "}\n"
    # A page that shows both schemes itself, and printers, want no surprise.
    "@media print {" + COLOURS % LIGHT + "}\n"
)


# -- Layout --------------------------------------------------------------------------------------


@attrs.frozen
class Layout:
    """Where things go. `y` has a row for each moment; words start at `captions`, if any."""

    x: dict[str, int]
    y: dict[int, int]
    lane: int
    top: int
    bottom: int
    captions: int | None
    width: int


def caption(m: Moment) -> list[tuple[str, str]]:
    """The words beside a moment: (class, line). What it sent is drawn where it arrives."""
    said = [("head", headline(m, route=False))]
    said += [(note.tone, note.text) for note in notes(m) if note.tone != "sent"]
    return [
        (tone, part)
        for tone, text in said
        for part in textwrap.wrap(text, CAPTION, max_lines=2, placeholder=" …") or [""]
    ]


def height(story: Story, m: Moment, captions: bool) -> int:
    stubs = STUB * len(lost_at(story, m))
    texts = LINE * (len(caption(m)) - 1) + 24 if captions else 0
    return max(ROW + stubs, texts)


def layout(story: Story, top: int, captions: bool) -> Layout:
    longest = max(
        (len(word) for m in story.moments for word in (m.what, "✗ " + ", ".join(m.refused))),
        default=0,
    )
    fair = LANES_TOGETHER // (len(story.nodes) + 1)
    lane = min(int(longest * LETTER) + 2 * RADIUS + 16, LANES[1], max(fair, LANES[0]))
    lane = max(lane, LANES[0])
    x = {node: GUTTER + (i + 1) * lane - RADIUS for i, node in enumerate(story.nodes)}
    heights = [height(story, m, captions) for m in story.moments]
    ys = list(accumulate(heights, initial=top + ROW - 8))
    y = {m.number: at for m, at in zip(story.moments, ys, strict=False)}
    edge = max(x.values(), default=GUTTER) + lane + RADIUS
    return Layout(
        x, y, lane, top, ys[-1], edge if captions else None,
        edge + CAPTION_WIDTH if captions else edge,
    )  # fmt: skip


# -- Parts ---------------------------------------------------------------------------------------


def text(x: float, y: float, content: str, class_: str, anchor: str = "start") -> Markup:
    place = {"x": f"{x:g}", "y": f"{y:g}", "text_anchor": anchor}
    return element("text", words(content), class_=class_, **place)


def names(story: Story, at: Layout, y: int) -> Iterable[Markup]:
    """A box per node."""
    room = at.lane - 14
    for node in story.nodes:
        name = shorten(heading(story, node), int(room / 8))
        width = max(40, min(room, 9 * len(name) + 16))
        yield element(
            "rect", x=at.x[node] - width // 2, y=y - 17, width=width, height=25, rx=5, class_="box"
        )
        yield text(at.x[node], y, name, "name", "middle")


def lifelines(story: Story, at: Layout) -> Iterable[Markup]:
    """Each node's line, with a gap where it is down."""
    spans = list(pairwise([at.top, *at.y.values(), at.bottom]))
    for node, x in at.x.items():
        upness = zip(spans, (node in up for up in up_after(story)), strict=True)
        for up, run in groupby(upness, lambda span_up: span_up[1]):
            whole = [span for span, _ in run]
            if up:
                y1, y2 = whole[0][0], whole[-1][1]
                yield element("line", x1=x, y1=y1, x2=x, y2=y2, class_="lane")


def arrow(at: Layout, m: Moment, src: int) -> Markup:
    """From the moment of sending, or from just above where that is not known."""
    x, y = at.x[m.node], at.y[m.number]
    kind = "arrow refused" if m.refuses else "arrow"
    tip = "url(#tip-refused)" if m.refuses else "url(#tip)"
    start = at.y[m.cause] if m.cause is not None else y - ROW // 2
    if src == x:  # to itself: a loop on the right
        path = f"M {x + 8} {start + 8} C {x + 52} {start + 8} {x + 52} {y - 8} {x + 11} {y - 6}"
    else:
        length = hypot(x - src, y - start)
        dx, dy = (x - src) / length, (y - start) / length
        gap = RADIUS + 3
        path = (
            f"M {src + dx * RADIUS:.1f} {start + dy * RADIUS:.1f}"
            f" L {x - dx * gap:.1f} {y - dy * gap:.1f}"
        )
    return element("path", d=path, class_=kind, marker_end=tip, id=f"arrow-{m.number}")


def sender(at: Layout, m: Moment) -> int | None:
    """The lane that a delivery comes from."""
    return at.x.get(m.peer) if m.kind == "deliver" and m.peer is not None else None


def sides(story: Story, at: Layout) -> dict[int, tuple[int, bool]]:
    """For each moment, where its words go: left (-1) or right (1), and whether raised a little.

    Away from the sender, or outwards; raised where a message that it sent sets off downwards.
    """
    leaving = {
        (m.cause, at.x[m.node] > src)
        for m in story.moments
        if m.cause is not None and (src := sender(at, m)) is not None
    }
    result: dict[int, tuple[int, bool]] = {}
    for m in story.moments:
        x, src = at.x.get(m.node, 0), sender(at, m)
        first = x == min(at.x.values(), default=0)
        leftwards = first if src is None or src == x else src > x
        result[m.number] = (-1 if leftwards else 1, (m.number, not leftwards) in leaving)
    return result


def labels(at: Layout, m: Moment, side: int, raised: bool) -> Iterable[Markup]:
    """What happened, in a word or two, and the checks that did not hold."""
    if m.node not in at.x:
        yield from everywhere(at, m)
        return
    room = int((at.lane - 2 * RADIUS - 8) / LETTER)
    x, y = at.x[m.node] + side * (RADIUS + 6), at.y[m.number] + (-5 if raised else 4)
    anchor = "end" if side < 0 else "start"
    if m.kind == "request":
        yield element(
            "path", d=f"M {x + side * 24} {y - 4} H {x}", class_="arrow",
            marker_end="url(#tip)", id=f"arrow-{m.number}",
        )  # fmt: skip
        x, room = x + side * 30, room - 5
    tone = "crash" if m.kind in ("crash", "restart", "fault") else "refused" if m.refuses else ""
    yield text(x, y, shorten(brief(m), room), f"label {tone}".strip(), anchor)
    if m.refused:
        checks = shorten("✗ " + ", ".join(m.refused), room)
        yield text(x, y + 12, checks, "label refused", anchor)


def everywhere(at: Layout, m: Moment) -> Iterable[Markup]:
    """A fault of the network, across all lanes; its name in the margin, or over it where longer."""
    y, xs = at.y[m.number], at.x.values()
    left, right = min(xs, default=GUTTER) - 30, max(xs, default=GUTTER) + RADIUS
    yield element("line", x1=left, y1=y, x2=right, y2=y, class_="fault")
    if len(m.what) <= int((at.lane - 8) / LETTER):
        yield text(right + 6, y + 4, m.what, "label crash")
    else:
        what = shorten(m.what, int((right + at.lane - left - 8) / LETTER))
        yield text(left, y - 5, what, "label crash")


def stubs(story: Story, at: Layout, m: Moment) -> Iterable[Markup]:
    """Messages that leave and never arrive, each in a row of its own below the moment."""
    for i, lost in enumerate(lost_at(story, m)):
        side = 1 if lost.rightwards else -1
        x, y = at.x[m.node], at.y[m.number] + ROW - 8 + STUB * i
        end = x + side * 28
        yield element("path", d=f"M {x} {y} H {end}", class_="stub")
        cross = f"M {end - 4} {y - 4} l 8 8 m 0 -8 l -8 8"
        yield element("path", d=cross, class_="stub")
        what = shorten(f"{lost.what} → {', '.join(lost.to)}", int((at.lane - 30) / LETTER))
        yield text(end + side * 9, y + 4, what, "label crash", "start" if side > 0 else "end")


def dot(story: Story, at: Layout, m: Moment) -> Iterable[Markup]:
    """The moment itself: its number in a circle, red if the invariant broke here."""
    y, x = at.y[m.number], at.x.get(m.node, GUTTER)
    if m is story.moments[-1]:
        tone = "broken"
    elif m.cut is not None or m.kind in ("crash", "restart", "fault"):
        tone = "crash"
    else:
        tone = "refused" if m.refuses else ""
    yield element("circle", cx=x, cy=y, r=RADIUS, class_=f"dot {tone}".strip())
    yield text(x, y + 4, str(m.number), f"number {tone}".strip(), "middle")


def moment(story: Story, at: Layout, m: Moment, linked: bool) -> Markup:
    """A row: everything of a moment that a reader may point at."""
    y = at.y[m.number]
    parts = [
        element("title", words(headline(m))),
        element("rect", x=0, y=y - ROW // 2, width=at.width, height=ROW, class_="band"),
        *dot(story, at, m),
    ]
    name = f"at-{m.number}"
    if linked:
        label = f"Moment {m.number}: {headline(m)}"
        return element("a", *parts, id=name, href=f"#moment-{m.number}", aria_label=label)
    return element("g", *parts, id=name)


def marker(name: str, class_: str) -> Markup:
    return element(
        "marker",
        element("path", d="M 0 0 L 10 5 L 0 10 z", class_=class_),
        id=name, viewBox="0 0 10 10", refX=9, refY=5, markerWidth=10, markerHeight=10,
        markerUnits="userSpaceOnUse", orient="auto",
    )  # fmt: skip


def diagram(story: Story, at: Layout, linked: bool) -> Iterable[Markup]:
    """Everything between the names and the verdict. Later parts lie over earlier ones."""
    yield element("defs", marker("tip", "tip"), marker("tip-refused", "tip refused"))
    yield from names(story, at, at.top - 8)
    yield from lifelines(story, at)
    arrows = [(m, src) for m in story.moments if (src := sender(at, m)) is not None]
    yield from (arrow(at, m, src) for m, src in arrows)
    where = sides(story, at)
    for m in story.moments:
        yield text(GUTTER - 22, at.y[m.number] + 4, when(m.at), "time", "end")
        yield from labels(at, m, *where[m.number])
        yield from stubs(story, at, m)
    if at.captions is not None:
        for m in story.moments:
            for i, (tone, part) in enumerate(caption(m)):
                yield text(at.captions, at.y[m.number] + 4 + LINE * i, part, tone)
    if len(story.moments) > SCREENFUL:
        yield from names(story, at, at.bottom + 8)
    yield from (moment(story, at, m, linked) for m in story.moments)


def verdict(story: Story, at: Layout) -> tuple[list[Markup], int]:
    """The broken invariant under the diagram, and the y where it ends."""
    per_line = max(30, (at.width - 60) // 7)
    said = [("title broken", f"✗ {story.title} is violated")]
    for class_, content in (
        ("broken", story.sentence), ("wrote", story.statement), ("time", omitted(story)),
    ):  # fmt: skip
        parts = textwrap.wrap(content, per_line, max_lines=6, placeholder=" …")
        said += [(class_, part) for part in parts]
    said.append(("replay", shorten(story.replay, int((at.width - 40) / 7.4))))
    top = at.bottom + 30
    lines = [text(24, top + 28 + 20 * i, part, class_) for i, (class_, part) in enumerate(said)]
    size = 20 * len(said) + 20
    frame = element(
        "rect", x=10, y=top, width=at.width - 20, height=size, rx=6, class_="box broken"
    )
    return [frame, *lines], top + size + 12


# -- The whole -----------------------------------------------------------------------------------


def picture(story: Story, at: Layout, bottom: int, parts: Iterable[Markup], role: str) -> Markup:
    title = f"Space-time diagram: {story.title} broken in {subject(story)}"
    return element(
        "svg",
        element("title", words(title)),
        element("desc", words(story.sentence)),
        *parts,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {at.width} {bottom}", width=at.width,
        height=bottom, class_="st", role=role, aria_label=title,
    )  # fmt: skip


def linked(story: Story) -> Markup:
    """The diagram for a page that brings STYLE and explains each moment at `#moment-<number>`."""
    at = layout(story, top=36, captions=False)
    return picture(story, at, at.bottom + 22, diagram(story, at, linked=True), "group")


def render(story: Story) -> str:
    """A stand-alone SVG with every moment told beside it, light or dark as the reader's screen."""
    at = layout(story, top=92, captions=True)
    ending, bottom = verdict(story, at)
    room = at.width // 9
    parts = [
        raw("style", STYLE),
        element("rect", x=0, y=0, width=at.width, height=bottom, class_="paper"),
        text(24, 34, shorten(f"{story.title} broken in {subject(story)}", room), "title"),
        *diagram(story, at, linked=False),
        *ending,
    ]
    return picture(story, at, bottom, parts, "img") + "\n"
