"""The terminal's diagram."""

import re
from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protosim.show import text
from protosim.story import Moment, Story
from tests.show.anything import stories
from tests.show.samples import crowd, forgotten_vote, two_votes

Golden = Callable[[str, str], None]


def line_of(drawn: str, number: int) -> str:
    return next(line for line in drawn.splitlines() if re.match(rf" *{number}  ", line))


def test_a_double_vote_is_drawn(matches_golden: Golden) -> None:
    matches_golden("two_votes.txt", text.render(two_votes()))


def test_crashes_faults_and_lost_messages_are_drawn(matches_golden: Golden) -> None:
    matches_golden("forgotten_vote.txt", text.render(forgotten_vote()))


def test_it_can_be_drawn_in_ascii(matches_golden: Golden) -> None:
    matches_golden("forgotten_vote.ascii.txt", text.render(forgotten_vote(), unicode=False))


def test_five_nodes_and_forty_moments_stay_readable(matches_golden: Golden) -> None:
    matches_golden("crowd.txt", text.render(crowd(5, 40)))


def test_an_arrow_runs_from_sender_to_receiver() -> None:
    drawn = text.render(two_votes())
    assert "├─RequestVote─────►" in line_of(drawn, 5)
    assert "◄─────────────────┼────────────Vote─┤" in line_of(drawn, 16)


def test_an_arrow_says_when_its_message_was_sent_unless_just_before() -> None:
    drawn = text.render(two_votes())
    assert "RequestVote #4" in line_of(drawn, 11)
    assert "#" not in line_of(drawn, 5)


def test_a_number_without_room_on_the_arrow_is_said_beside_it() -> None:
    drawn = text.render(two_votes(), width=70)
    assert "#9" not in line_of(drawn, 12)
    told = drawn[drawn.index(line_of(drawn, 12)) : drawn.index(line_of(drawn, 13))]
    assert re.search(r"sent\s[│ ]*at\s9", told)


def test_a_refusal_names_the_check_and_has_a_hollow_arrowhead() -> None:
    drawn = text.render(two_votes())
    assert "n1 refuses RequestVote: log_up_to_date" in drawn
    assert "◁" in line_of(drawn, 13)


def test_the_end_gives_the_sentence_and_the_command() -> None:
    story = two_votes()
    assert text.render(story).splitlines()[-4:] == [
        "✗ Election Safety is violated",
        f"  {story.sentence}",
        f"  {story.statement}",
        f"  replay: {story.replay}",
    ]


def test_colour_changes_nothing_but_colour() -> None:
    story = forgotten_vote()
    plain = re.sub("\x1b\\[[0-9;]*m", "", text.render(story, color=True))
    assert [line.rstrip() for line in plain.splitlines()] == text.render(story).splitlines()
    assert "\x1b[33mn1 refuses" not in text.render(story)
    assert "\x1b[33m  n1 refuses" in text.render(story, color=True)


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("nodes", [2, 3, 5, 7])
def test_lines_keep_to_the_terminals_width(nodes: int, width: int) -> None:
    drawn = text.render(crowd(nodes, 40), width=width).splitlines()
    assert max(len(line) for line in drawn[3:]) <= width


def test_a_wide_character_moves_no_lane() -> None:
    story = attrs.evolve(two_votes(), moments=(Moment(1, 0, "n1", "timeout", "選挙"),))
    moment, names = text.render(story).splitlines()[4:6]
    # Each of the two characters takes two columns of a terminal but one of a Python string.
    assert moment.rindex("│") + 2 == names.index("n3")


@given(stories(), st.integers(20, 200), st.booleans())
def test_no_story_can_take_over_the_terminal(story: Story, width: int, unicode: bool) -> None:
    drawn = text.render(story, width, unicode=unicode)
    assert all(line.isprintable() for line in drawn.split("\n"))
    assert unicode or drawn.isascii()
