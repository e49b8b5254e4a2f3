"""A story is data: it travels as JSON, and says what does not fit together."""

import json

import attrs
import cattrs
import pytest
from hypothesis import given

from protosim import show
from protosim.show import headline, lost_at, notes, omitted, up_after, visible, when
from protosim.story import CRASHED_AND_RESTARTED, FEW_LOST, REFUSED, Moment, Story
from tests.show.anything import stories
from tests.show.samples import crowd, forgotten_vote, two_votes


@given(stories())
def test_a_story_survives_json(story: Story) -> None:
    text = json.dumps(cattrs.unstructure(story))
    assert cattrs.structure(json.loads(text), Story) == story


def test_two_nodes_may_not_have_one_name() -> None:
    with pytest.raises(ValueError, match="nodes must differ"):
        attrs.evolve(two_votes(), nodes=("n1", "n2", "n3", "n1"))


def test_numbers_rise_from_one() -> None:
    story = two_votes()
    with pytest.raises(ValueError, match="numbered upwards, from 1"):
        attrs.evolve(story, moments=tuple(reversed(story.moments)))
    with pytest.raises(ValueError, match="numbered upwards, from 1"):
        attrs.evolve(story, moments=(attrs.evolve(story.moments[0], number=0),))


def test_only_a_fault_may_happen_nowhere() -> None:
    story = two_votes()
    crash = Moment(99, 0, "n9", "crash", "crash")
    with pytest.raises(ValueError, match="Moment 99 is at 'n9', not a node of the story"):
        attrs.evolve(story, moments=(*story.moments, crash))
    fault = attrs.evolve(crash, kind="fault")
    assert attrs.evolve(story, moments=(*story.moments, fault)).moments[-1] == fault


@pytest.mark.parametrize("cause", [99, 100, 2])
def test_a_message_was_sent_earlier_and_by_its_sender(cause: int) -> None:
    story = two_votes()
    late = Moment(99, 0, "n2", "deliver", "Vote", peer="n1", cause=cause)
    with pytest.raises(ValueError, match=f"'n1' caused it at moment {cause}, which is not"):
        attrs.evolve(story, moments=(*story.moments, late))


def test_what_was_lost_was_sent_by_a_node() -> None:
    with pytest.raises(ValueError, match="Moment 77, said to have sent 'Vote', is at no node"):
        attrs.evolve(two_votes(), lost=((77, "n1", "Vote"),))


def test_a_node_is_down_from_its_crash_to_its_restart() -> None:
    ups = up_after(forgotten_vote())
    down = [number for number, up in enumerate(ups) if "n3" not in up]
    assert down == [4, 5]  # cut short in moment 4, restarted in moment 6
    assert "n1" not in ups[13]
    assert "n1" not in ups[14]


def test_a_node_that_first_restarts_was_down_before() -> None:
    story = attrs.evolve(two_votes(), moments=(Moment(1, 0, "n2", "restart", "restart"),))
    assert [sorted(up) for up in up_after(story)] == [["n1", "n3"], ["n1", "n2", "n3"]]


def test_words_say_what_was_refused_written_and_sent() -> None:
    story = two_votes()
    assert headline(story.moments[12]) == (
        "n1 receives RequestVote(term=2, last=(0, 0)) from n2, sent at 9"
    )
    assert [note.text for note in notes(story.moments[12])] == [
        "n1 refuses RequestVote: log_up_to_date",
        "sends Vote(term=2, granted=False) to n2",
    ]
    assert [note.text for note in notes(story.moments[3])] == [
        "writes term = 1, voted_for = n1; synced",
        "role = candidate, votes = {n1}",
        "sends RequestVote(term=1, last=(0, 0)) to n2, n3",
    ]
    assert notes(forgotten_vote().moments[3])[0].text.endswith("; not synced")


def test_a_last_word_is_drawn_however_much_is_lost() -> None:
    few = forgotten_vote()
    lost = (*few.lost, *((2, "n3", f"Ping{i}") for i in range(FEW_LOST)), (4, "n1", "Vote"))
    story = attrs.evolve(few, lost=lost)
    assert [each.what for each in lost_at(story, story.moments[3])] == ["Vote"]  # n3 crashes in moment 4
    assert lost_at(story, story.moments[1]) == ()
    assert omitted(story) == f"{len(lost) - 1} messages that were never delivered are not drawn."


def test_what_a_crash_takes_is_said_where_the_node_comes_back() -> None:
    back = Moment(1, 0, "n2", "restart", CRASHED_AND_RESTARTED, back=("term = 0", "voted_for = none"))
    assert headline(back) == "n2 crashes and restarts"
    assert [note.text for note in notes(back)] == ["comes back with term = 0, voted_for = none"]
    assert show.brief(back) == "crash, restart"


def test_lost_messages_are_drawn_if_few_and_counted_if_many() -> None:
    few, many = forgotten_vote(), crowd(5, 40)
    assert [lost.to for lost in lost_at(few, few.moments[4])] == [("n2", "n3")]
    assert omitted(few) == ""
    assert len(many.lost) > FEW_LOST
    assert not any(lost_at(many, m) for m in many.moments)
    assert omitted(many) == "12 messages that were never delivered are not drawn."


def test_who_takes_no_part_is_named_and_not_drawn() -> None:
    alone, more = (attrs.evolve(forgotten_vote(), idle=idle) for idle in (("n4",), ("n4", "c1", "c2")))
    assert omitted(alone) == "n4 takes no part."
    assert omitted(more) == "n4, c1 and c2 take no part."


def test_times_are_milliseconds() -> None:
    assert [when(at) for at in (0, 99, 100, 153_204, 2_000_000)] == [
        "0.0", "0.0", "0.1", "153.2", "2000.0",
    ]  # fmt: skip


def test_what_cannot_be_printed_is_spelled_out() -> None:
    assert visible("a\nb\x1b[2J\u202e\ud800é漢") == "a\\nb\\x1b[2J\\u202e\\ud800é漢"


def test_a_check_that_does_not_hold_is_a_refusal_only_if_that_was_all() -> None:
    vote = Moment(1, 1000, "n1", "deliver", "Vote", peer="n2", refused=("votes_from_majority",))
    assert show.refusal(vote) == "n1 refuses Vote: votes_from_majority"
    assert attrs.evolve(vote, sent=(("n2", "Nack()"),)).refuses  # whom it came from hears of it
    assert attrs.evolve(vote, replied=(f"put x 1{REFUSED}",)).refuses
    went_on = [
        attrs.evolve(vote, changed=("votes",)),  # it counts, though it makes no majority
        attrs.evolve(vote, wrote=("term = 2",)),
        attrs.evolve(vote, applied=("1: put x 1",)),
        attrs.evolve(vote, sent=(("n3", "Commit()"),)),
        attrs.evolve(vote, replied=("put x 1 → 1",)),
        attrs.evolve(vote, cut="crashed after 1 of 2 effects"),
        attrs.evolve(vote, kind="timeout"),
    ]
    assert {show.refusal(m) for m in went_on} == {"does not hold: votes_from_majority"}
    assert not attrs.evolve(vote, refused=()).refuses
