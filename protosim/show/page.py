"""The story as one HTML page that needs nothing else: the diagram, and each moment explained.

Every moment is written out as an article, so a reader without scripts has the whole list, and
each moment of the diagram links to its article. The script, all of it below, only shows one
article at a time. No story data reaches it but the numbers of moments: there is no JSON to escape.
The content security policy names the style and the script by their hashes and forbids the rest.
The page is also well-formed XML.
"""

import base64
import hashlib
from collections.abc import Iterable

from protosim.show import (
    Markup,
    element,
    headline,
    is_global,
    notes,
    omitted,
    raw,
    refusal,
    subject,
    svg,
    up_after,
    when,
    words,
)
from protosim.story import Moment, Story

COLOURS = """
:root { color-scheme: light dark; --paper: %(paper)s; --ink: %(ink)s; --faint: %(faint)s;
  --lane: %(lane)s; --line: %(line)s; --refused: %(refused)s; --crash: %(crash)s;
  --client: %(client)s; --broken: %(broken)s; }
"""
STYLE = (
    COLOURS % svg.LIGHT + "@media (prefers-color-scheme: dark) {" + COLOURS % svg.DARK + "}"
    """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem 1.5rem 3rem; max-width: 110rem; overflow-wrap: break-word;
  font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.05rem; margin: 0 0 0.5rem; }
h3 { font-size: 1.1rem; line-height: 1.35; margin: 0; }
header p { margin: 0.35rem 0; max-width: 60rem; }
code, pre, td, th { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 0.85rem; }
td, th { font-size: 0.8rem; max-width: 14rem; }
h1, h3, p, li { overflow-wrap: anywhere; }
pre { margin: 0.75rem 0; padding: 0.6rem 0.8rem; border: 1px solid var(--lane);
  border-radius: 6px; white-space: pre-wrap; }
a { color: var(--line); }
.broken { color: var(--broken); font-weight: 600; }
.faint { color: var(--faint); }
.both { display: grid; grid-template-columns: minmax(0, max-content) minmax(28rem, 1fr);
  gap: 1.5rem; align-items: start; margin-top: 1rem; }
.scroll { overflow-x: auto; }
svg { display: block; max-width: 100%; height: auto; }
.side { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 0.5rem 0; }
nav { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; margin-bottom: 0.75rem; }
nav[hidden], article[hidden] { display: none; }
button { font: inherit; padding: 0.25rem 0.8rem; color: inherit; background: transparent;
  border: 1px solid var(--lane); border-radius: 6px; cursor: pointer; }
button:disabled { opacity: 0.4; cursor: default; }
button:focus-visible, a:focus-visible, summary:focus-visible { outline: 2px solid var(--line); }
article { padding: 0 0 1rem; margin-bottom: 1rem; border-bottom: 1px solid var(--lane); }
article p { margin: 0.15rem 0 0.4rem; }
article ul, .refusals ul { margin: 0.4rem 0; padding-left: 1.2rem; }
li.refused, .refusals li { color: var(--refused); } li.changed { color: var(--line); }
li.client { color: var(--client); } li.crash { color: var(--crash); }
summary { cursor: pointer; font-weight: 600; }
.refusals, .drift { margin-top: 1rem; }
.drift span { display: block; min-height: 1.2em; }
.drift .gone { color: var(--broken); } .drift .new { color: var(--client); }
table { border-collapse: collapse; margin-top: 0.5rem; }
th, td { border: 1px solid var(--lane); padding: 0.2rem 0.5rem; text-align: left;
  vertical-align: top; }
th:first-child { position: sticky; left: 0; background: var(--paper); }
thead th.actor { border-bottom: 3px solid var(--line); }
td.down, th.down { color: var(--faint); }
mark { color: inherit; background: color-mix(in srgb, var(--line) 25%, transparent);
  font-weight: 600; border-radius: 3px; padding: 0 0.2rem; }
del { color: var(--faint); margin-right: 0.4rem; }
@media (max-width: 60rem) { .both { grid-template-columns: minmax(0, 1fr); }
  svg { max-width: none; }
  .side { position: static; max-height: none; } }
@media print { .side { position: static; max-height: none; } nav { display: none; } }
"""
    + svg.STYLE
)

# Free of '<' and '&', as `raw` asks.
SCRIPT = """
"use strict";
(() => {
  const articles = [...document.querySelectorAll("article")];
  if (articles.length === 0) return;
  const nav = document.querySelector("nav");
  const position = document.getElementById("position");
  const button = (name) => document.getElementById(name);
  const last = articles.length - 1;
  let current = 0;

  const number = (index) => articles[index].id.slice("moment-".length);
  const mark = (index, on) => {
    for (const part of ["at-", "arrow-"]) {
      const shape = document.getElementById(part + number(index));
      if (shape !== null) shape.classList.toggle("now", on);
    }
  };
  const show = (index, scroll) => {
    mark(current, false);
    current = Math.max(0, Math.min(index, last));
    mark(current, true);
    articles.forEach((article, i) => { article.hidden = i !== current; });
    position.textContent = `Moment ${current + 1} of ${articles.length}`;
    for (const name of ["first", "previous"]) button(name).disabled = current === 0;
    for (const name of ["next", "last"]) button(name).disabled = current === last;
    if (scroll !== null) history.replaceState(null, "", "#" + articles[current].id);
    const row = document.getElementById("at-" + number(current));
    if (scroll) row.scrollIntoView({ block: "nearest", inline: "nearest" });
    const actor = articles[current].querySelector("th.actor");
    const box = articles[current].querySelector(".scroll");
    if (actor !== null) box.scrollLeft = actor.offsetLeft + actor.offsetWidth - box.clientWidth;
  };
  const fromAddress = () => articles.findIndex((a) => "#" + a.id === location.hash);

  const steps = {
    first: () => 0,
    previous: () => current - 1,
    next: () => current + 1,
    last: () => last,
  };
  const keys = {
    ArrowLeft: "previous", ArrowUp: "previous", ArrowRight: "next", ArrowDown: "next",
    Home: "first", End: "last",
  };
  for (const name of Object.keys(steps)) {
    button(name).addEventListener("click", () => show(steps[name](), true));
  }
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (!(event.key in keys)) return;
    event.preventDefault();
    show(steps[keys[event.key]](), true);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    const target = link === null ? null : link.getAttribute("href");
    const index = articles.findIndex((a) => "#" + a.id === target);
    if (index === -1) return;
    event.preventDefault();
    show(index, link.closest("svg") === null);
  });
  window.addEventListener("hashchange", () => show(fromAddress(), true));

  for (const article of articles) article.querySelector("details").open = true;
  nav.hidden = false;
  show(fromAddress(), null);  // the address stays as it came, so that the page opens at its heading
})();
"""


def fingerprint(text: str) -> str:
    """A hash as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; style-src {fingerprint(STYLE)}; script-src {fingerprint(SCRIPT)};"
    " base-uri 'none'; form-action 'none'"
)

States = dict[str, dict[str, str]]  # node, then field, to value


# -- Parts ---------------------------------------------------------------------------------------


def cell(m: Moment, node: str, field: str, old: States, new: States, down: bool) -> Markup:
    """A field's value; where this moment changed it, the old value is struck out before it."""
    value, before = new[node].get(field, ""), old[node].get(field, "")
    if node != m.node or field not in m.changed:
        return element("td", words(value), class_="down" if down else "up")
    struck = [element("del", words(before))] if before and before != value else []
    return element("td", *struck, element("mark", words(value)), class_="changed")


def table(story: Story, m: Moment, old: States, new: States, up: frozenset[str]) -> Markup:
    """The state of every node after a moment: a row per field, a column per node."""
    fields = list(dict.fromkeys(field for node in story.nodes for field in new[node]))
    heads = [element("th", words("field"), scope="col")]
    for node in story.nodes:
        kind = "actor" if node == m.node else "up" if node in up else "down"
        name = node if node in up else f"{node} (down)"
        heads.append(element("th", words(name), scope="col", class_=kind))
    body = [
        element(
            "tr",
            element("th", words(field), scope="row"),
            *(cell(m, node, field, old, new, node not in up) for node in story.nodes),
        )
        for field in fields
    ]
    return element("table", element("thead", element("tr", *heads)), element("tbody", *body))


def article(story: Story, m: Moment, old: States, new: States, up: frozenset[str]) -> Markup:
    said = [element("li", words(note.text), class_=note.tone) for note in notes(m)]
    if m is story.moments[-1]:
        broken = f"{story.title} breaks: {story.sentence}"
        said.append(element("li", words(broken), class_="broken"))
    where = "everywhere" if is_global(story, m) else f"at {m.node}"
    return element(
        "article",
        element("h3", words(f"{m.number}. {headline(m)}"), id=f"head-{m.number}"),
        element("p", words(f"{when(m.at)} ms, {where}"), class_="faint"),
        element("ul", *said) if said else Markup(""),
        element(
            "details",
            element("summary", words("State of every node afterwards")),
            element("div", table(story, m, old, new, up), class_="scroll"),
        ),
        id=f"moment-{m.number}",
        aria_labelledby=f"head-{m.number}",
    )


def articles(story: Story) -> Iterable[Markup]:
    """Every moment, each with the state of every node afterwards."""
    states: States = {node: {} for node in story.nodes}
    for m, up in zip(story.moments, up_after(story)[1:], strict=True):
        old = states
        if m.state and m.node in states:
            states = states | {m.node: dict(m.state)}
        yield article(story, m, old, states, up)


def buttons() -> Markup:
    labels = {"first": "⇤ First", "previous": "← Back", "next": "Next →", "last": "Last ⇥"}
    return element(
        "nav",
        *(element("button", words(s), type="button", id=name) for name, s in labels.items()),
        element("span", id="position", class_="faint", role="status", aria_live="polite"),
        hidden="hidden",
        aria_label="Step through the story; arrow keys do the same",
    )


def refusals(story: Story) -> Markup:
    """Which checks did not hold where, and what was refused for it, over the whole story."""
    found = [
        element(
            "li",
            element("a", words(f"{m.number}"), href=f"#moment-{m.number}"),
            words(f" {'' if m.refuses else f'{m.node}, {m.what}: '}{refusal(m)}"),
        )
        for m in story.moments
        if m.refused
    ]
    if not found:
        return element("p", words("Every check held in this story."), class_="faint")
    return element(
        "section", element("h2", words("Checks that did not hold")), element("ul", *found), class_="refusals"
    )


def drift(story: Story) -> Markup:
    """The lines that the code lacks, and those that it has instead."""
    if not story.drift:
        return Markup("")
    lines = story.drift.splitlines()[2:]  # without the names of the files
    kinds = {"-": "gone", "+": "new", "@": "faint"}
    marked = [element("span", words(line), class_=kinds.get(line[:1], "kept")) for line in lines]
    title = words(f"What differs from protocols/{story.protocol}.py")
    return element("section", element("h2", title), element("pre", element("code", *marked)), class_="drift")


def heading(story: Story) -> Markup:
    left_out = omitted(story)
    return element(
        "header",
        element("h1", words(f"{story.title} broken in {subject(story)}")),
        element("p", words(story.sentence), class_="broken"),
        element("p", words(story.statement)),
        element("pre", element("code", words(story.replay)), aria_label="Command that replays it"),
        element("p", words(left_out), class_="faint") if left_out else Markup(""),
    )


# -- The whole -----------------------------------------------------------------------------------


def render(story: Story) -> str:
    """One HTML page, complete in itself, that the network cannot reach and text cannot break."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", words(f"{story.title} broken in {subject(story)}")),
        raw("style", STYLE),
    )
    diagram = element("div", svg.linked(story), class_="scroll")
    side = element(
        "section", buttons(), *articles(story), class_="side", aria_label="Moments of the story"
    )
    main = element("main", element("div", diagram, side, class_="both"), refusals(story), drift(story))
    body = element("body", heading(story), main, raw("script", SCRIPT))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"
