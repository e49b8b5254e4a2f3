"""Strategies: any story at all, with the strings least likely to be meant well."""

from typing import get_args

import hypothesis.strategies as st

from protosim.story import Kind, Moment, Story

NASTY = (
    "",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    "<!-- ]]> <![CDATA[ &amp; &#x0; &",
    "</style></title></svg></text>",
    "javascript:alert(1)",
    "two\nlines\r\n\x00\x1b[2J\x07\u2028",
    "\u202eright to left\ufeff\ufffe\ud800",
    "👩‍🚀 漢字 e\u0301",
    "w" * 3000,
    "many words " * 300,
)

strings = st.sampled_from(NASTY) | st.text(st.characters(), max_size=12)
kinds = st.sampled_from(get_args(Kind))


def some(each: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(each, max_size=3).map(tuple)


@st.composite
def moments(draw: st.DrawFn, nodes: tuple[str, ...], earlier: list[Moment]) -> Moment:
    """A moment that may follow these."""
    kind = draw(kinds)
    node = draw(strings if kind == "fault" else st.sampled_from(nodes))
    cause = draw(st.none() | st.sampled_from(earlier)) if earlier else None
    state = tuple(zip(draw(some(strings)), draw(some(strings)), strict=False))
    return Moment(
        number=(earlier[-1].number if earlier else 0) + draw(st.integers(1, 99)),
        at=draw(st.integers(0, 10**13)),
        node=node,
        kind=kind,
        what=draw(strings),
        detail=draw(strings),
        peer=cause.node if cause else draw(st.none() | strings),
        cause=cause.number if cause else None,
        refused=draw(some(strings)),
        wrote=draw(some(strings)),
        synced=draw(st.booleans()),
        sent=tuple((draw(strings), detail) for detail in draw(some(strings))),
        applied=draw(some(strings)),
        replied=draw(some(strings)),
        state=state,
        changed=draw(some(st.sampled_from([f for f, _ in state]))) if state else (),
        back=draw(some(strings)),
        cut=draw(st.none() | strings),
    )


@st.composite
def stories(draw: st.DrawFn) -> Story:
    nodes = tuple(draw(st.lists(strings, min_size=1, max_size=7, unique=True)))
    told: list[Moment] = []
    for _ in range(draw(st.integers(0, 6))):
        told.append(draw(moments(nodes, told)))
    senders = [m.number for m in told if m.node in nodes]
    lost = st.tuples(st.sampled_from(senders or [0]), strings, strings)
    return Story(
        protocol=draw(strings),
        mutants=draw(some(strings)),
        nodes=nodes,
        moments=tuple(told),
        invariant=draw(strings),
        title=draw(strings),
        statement=draw(strings),
        sentence=draw(strings),
        replay=draw(strings),
        lost=tuple(draw(st.lists(lost, max_size=10 if senders else 0))),
        drift=draw(strings),
    )
