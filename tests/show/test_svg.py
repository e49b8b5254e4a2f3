"""The diagram as SVG."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from hypothesis import given

from protosim.show import svg
from protosim.story import Story
from tests.show.anything import stories
from tests.show.samples import crowd, forgotten_vote, two_votes

NS = "{http://www.w3.org/2000/svg}"
TAGS = {
    "svg", "title", "desc", "style", "defs", "marker", "path", "rect", "line", "circle", "text",
    "g", "a",
}  # fmt: skip


def classed(root: ET.Element, name: str) -> list[ET.Element]:
    return [e for e in root.iter() if name in e.get("class", "").split()]


def by_id(root: ET.Element, name: str) -> ET.Element:
    return next(e for e in root.iter() if e.get("id") == name)


def test_a_story_is_drawn(matches_golden: Callable[[str, str], None]) -> None:
    matches_golden("forgotten_vote.svg", svg.render(forgotten_vote()))


def test_every_delivery_has_an_arrow() -> None:
    story = two_votes()
    ids = {e.get("id") for e in classed(ET.fromstring(svg.render(story)), "arrow")}
    arrived = {f"arrow-{m.number}" for m in story.moments if m.kind in ("deliver", "request")}
    assert ids == arrived


def test_arrows_slant_from_sending_to_delivery() -> None:
    story = two_votes()
    at = svg.layout(story, top=92, captions=True)
    path = by_id(ET.fromstring(svg.render(story)), "arrow-11").get("d", "").split()
    x1, y1, x2, y2 = (float(path[i]) for i in (1, 2, 4, 5))
    assert abs(x1 - at.x["n1"]) < 2 * svg.RADIUS
    assert abs(y1 - at.y[4]) < 2 * svg.RADIUS
    assert abs(x2 - at.x["n3"]) < 2 * svg.RADIUS
    assert abs(y2 - at.y[11]) < 2 * svg.RADIUS


def test_a_crash_leaves_a_gap_in_the_line() -> None:
    story = forgotten_vote()
    at = svg.layout(story, top=92, captions=True)
    lines = classed(ET.fromstring(svg.render(story)), "lane")
    n3 = [e for e in lines if e.get("x1") == str(at.x["n3"])]
    ends = [(int(e.get("y1", "")), int(e.get("y2", ""))) for e in n3]
    assert ends == [(at.top, at.y[4]), (at.y[6], at.bottom)]


def test_only_the_last_moment_is_marked_as_the_violation() -> None:
    root = ET.fromstring(svg.render(two_votes()))
    assert [e for e in root.iter(f"{NS}circle") if "broken" in e.get("class", "")] == [
        by_id(root, "at-16").find(f"{NS}circle")
    ]


def test_refused_messages_name_the_check() -> None:
    refused = [e.text for e in classed(ET.fromstring(svg.render(two_votes())), "refused")]
    assert "✗ log_up_to_date" in refused
    assert "✗ current_term" in refused


def test_words_of_different_moments_keep_apart() -> None:
    for story in (two_votes(), forgotten_vote(), crowd(5, 40), crowd(7, 60)):
        labels = classed(ET.fromstring(svg.render(story)), "label")
        places = Counter((e.get("x"), e.get("y")) for e in labels)
        assert max(places.values()) == 1
        at = svg.layout(story, top=92, captions=True)
        rows = sorted(at.y.values())
        assert min(b - a for a, b in pairwise(rows)) >= svg.ROW


def test_both_colour_schemes_have_every_colour() -> None:
    assert svg.LIGHT.keys() == svg.DARK.keys()
    assert "prefers-color-scheme: dark" in svg.render(two_votes())


@given(stories())
def test_any_story_is_well_formed_and_only_a_picture(story: Story) -> None:
    drawn = svg.render(story)
    root = ET.fromstring(drawn.encode())
    assert {e.tag.removeprefix(NS) for e in root.iter()} <= TAGS - {"a"}
    assert [e.text for e in root.iter(f"{NS}style")] == [svg.STYLE]
    assert not [name for e in root.iter() for name in e.attrib if name.startswith("on")]
    assert "href" not in drawn.split("</style>")[0]
    assert not [name for e in root.iter() for name in e.attrib if "href" in name]
