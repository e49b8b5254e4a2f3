"""The page to step through."""

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser

import attrs
from hypothesis import given

from protosim.show import page, svg
from protosim.story import Story
from tests.show.anything import stories
from tests.show.samples import crowd, forgotten_vote, two_votes
from tests.show.test_svg import NS, TAGS

PAGE_TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "p", "pre",
    "code", "main", "div", "section", "nav", "button", "span", "article", "ul", "li", "details",
    "summary", "table", "thead", "tbody", "tr", "th", "td", "mark", "del", "a", "script",
}  # fmt: skip


class Reader(HTMLParser):
    """What a browser sees: elements in order, and all that is not text of an element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.strange: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts.append(data)

    def handle_comment(self, data: str) -> None:
        self.strange.append(data)

    def unknown_decl(self, data: str) -> None:
        self.strange.append(data)

    def handle_pi(self, data: str) -> None:
        self.strange.append(data)


def article(story: Story, number: int) -> ET.Element:
    root = ET.fromstring(page.render(story))
    return next(e for e in root.iter("article") if e.get("id") == f"moment-{number}")


def shown(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def test_a_story_becomes_a_page(matches_golden: Callable[[str, str], None]) -> None:
    matches_golden("two_votes.html", page.render(two_votes()))


def test_every_moment_of_the_diagram_links_to_its_article() -> None:
    for story in (two_votes(), forgotten_vote(), crowd(7, 60)):
        root = ET.fromstring(page.render(story))
        links = [e.get("href") for e in root.iter(f"{NS}a")]
        assert links == [f"#moment-{m.number}" for m in story.moments]
        assert [f"#{e.get('id')}" for e in root.iter("article")] == links


def test_without_scripts_every_article_is_in_sight() -> None:
    root = ET.fromstring(page.render(two_votes()))
    assert [e.tag for e in root.iter() if "hidden" in e.attrib] == ["nav"]


def test_a_change_shows_the_old_value_and_the_new() -> None:
    changed = [e for e in article(two_votes(), 12).iter("td") if e.get("class") == "changed"]
    assert [[(e.tag, e.text) for e in cell] for cell in changed] == [
        [("del", "1"), ("mark", "2")],
        [("del", "-"), ("mark", "n2")],
    ]


def test_the_table_has_every_node_and_says_who_is_down() -> None:
    heads = [shown(e) for e in article(forgotten_vote(), 5).iter("th")]
    assert heads[:4] == ["field", "n1", "n2", "n3 (down)"]
    assert heads[4:] == ["disk.term", "disk.voted_for", "disk.log", "role", "commit", "votes"]


def test_it_tells_who_refused_what_and_why() -> None:
    text = page.render(two_votes())
    assert "n1 refuses RequestVote: log_up_to_date" in shown(article(two_votes(), 13))
    refusals = next(
        e for e in ET.fromstring(text).iter("section") if e.get("class") == "refusals"
    )
    assert [shown(e) for e in refusals.iter("li")] == [
        "11 n3 refuses RequestVote: current_term",
        "13 n1 refuses RequestVote: log_up_to_date",
    ]


def test_it_shows_the_lines_that_were_taken_out() -> None:
    assert 'class="drift"' not in page.render(two_votes())
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,2 @@\n holds(\n-    vote_once=a < b,  # §5.2\n )\n"
    root = ET.fromstring(page.render(attrs.evolve(two_votes(), drift=diff)))
    drift = next(e for e in root.iter("section") if e.get("class") == "drift")
    assert [shown(e) for e in drift.iter("span") if e.get("class") == "gone"] == ["- vote_once=a < b, # §5.2"]
    assert "x.py" not in shown(drift)


def test_only_the_last_moment_breaks_the_invariant() -> None:
    story = two_votes()
    told = f"Election Safety breaks: {story.sentence}"
    assert [told in shown(article(story, m.number)) for m in story.moments] == [False] * 15 + [True]


def test_the_head_gives_statement_sentence_and_command() -> None:
    story = two_votes()
    header = next(ET.fromstring(page.render(story)).iter("header"))
    for text in (story.statement, story.sentence, story.replay):
        assert text in shown(header)


def test_what_can_be_operated_has_a_name() -> None:
    root = ET.fromstring(page.render(forgotten_vote()))
    for element in root.iter():
        if element.tag in ("button", "a", f"{NS}a", "summary"):
            assert shown(element) or element.get("aria-label")
    ids = [e.get("id") for e in root.iter() if "id" in e.attrib]
    assert len(ids) == len(set(ids))
    labels = {e.get("aria-labelledby") for e in root.iter()} - {None}
    assert labels <= set(ids)


def test_the_script_finds_the_elements_it_asks_for() -> None:
    root = ET.fromstring(page.render(two_votes()))
    ids = {e.get("id") for e in root.iter()}
    steps = re.findall(r"^    (\w+): \(\) =>", page.SCRIPT, re.MULTILINE)
    assert steps == ["first", "previous", "next", "last"]
    assert {*steps, "position", "at-1", "arrow-5", "moment-1"} <= ids


def test_the_policy_allows_exactly_our_style_and_our_script() -> None:
    def allowed(text: str | None) -> str:
        digest = hashlib.sha256((text or "").encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"

    root = ET.fromstring(page.render(two_votes()))
    policy = next(
        e.get("content", "") for e in root.iter("meta") if e.get("http-equiv", "").startswith("Con")
    )
    styles, scripts = list(root.iter("style")), list(root.iter("script"))
    assert (len(styles), len(scripts)) == (1, 1)
    assert [rule.strip() for rule in policy.split(";")] == [
        "default-src 'none'",
        f"style-src {allowed(styles[0].text)}",
        f"script-src {allowed(scripts[0].text)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_it_asks_nothing_of_the_network() -> None:
    text = page.render(crowd(5, 40)).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)|\ssrc=", text)


@given(stories())
def test_no_text_breaks_out_of_the_page(story: Story) -> None:
    text = page.render(story)
    root = ET.fromstring(text.encode())
    tags = {e.tag for e in root.iter()}
    assert {t for t in tags if not t.startswith(NS)} <= PAGE_TAGS
    assert {t.removeprefix(NS) for t in tags if t.startswith(NS)} <= TAGS

    seen = Reader(text)
    assert seen.strange == []
    assert [tag for tag, _ in seen.elements] == [e.tag.removeprefix(NS) for e in root.iter()]
    assert "".join(seen.scripts) == page.SCRIPT
    for tag, attributes in seen.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert "href" not in attributes or re.fullmatch(r"#moment-\d+", attributes["href"] or "")
        assert tag == "svg" or "xmlns" not in attributes


def test_the_page_brings_the_style_of_the_diagram() -> None:
    assert page.STYLE.endswith(svg.STYLE)
