"""What Raft's transcripts prove (`tests/test_stories.py` plays them), and the language of transcripts."""

import inspect
from functools import cache
from pathlib import Path

import pytest

import protocols.raft
from protosim import checks
from protosim.errors import UserError
from protosim.transcript import Performance, perform
from tests.biting import sole_refusals

HERE = Path(__file__).parent
STORIES = sorted(HERE.glob("*.txt"), key=lambda path: path.name)

# The story in which a mutant breaks the invariant that its entry names, beside a reference that does not.
BROKEN_BY = {
    "raft.vote_once_per_term": ("a_node_votes_once_in_a_term", "election_safety"),
    "raft.log_up_to_date": ("a_candidate_without_the_committed_entries_is_refused", "leader_completeness"),
    "raft.prev_log_matches": ("entries_after_a_gap_are_refused", "log_matching"),
    "raft.vote_response_current": ("a_stale_vote_is_not_counted", "election_safety"),
    "raft.commit_current_term": (
        "that_a_majority_holds_an_entry_of_an_old_term_does_not_commit_it",
        "leader_completeness",
    ),
    "raft.longer_log_wins": ("a_longer_log_of_an_older_term_is_behind", "leader_completeness"),
    "raft.votes_are_a_count": ("a_duplicate_vote_counts_once", "election_safety"),
    "raft.truncates_without_conflict": ("a_delayed_append_entries_cuts_nothing", "leader_completeness"),
    "raft.reads_from_local_state": ("a_reader_of_the_old_leader_waits", "linearizability"),
    "raft.handle_request_vote/drop-sync/1": ("a_vote_is_on_disk_before_it_is_sent", "election_safety"),
    "raft.store_entries/drop-sync/1": ("an_entry_is_on_disk_before_it_is_acknowledged", "durability"),
}


@cache
def played(story: str) -> Performance:
    return perform("raft", (HERE / f"{story}.txt").read_text("utf-8"))


@pytest.mark.parametrize("mutant", BROKEN_BY)
def test_without_its_check_or_sync_the_story_breaks_the_invariant(mutant: str) -> None:
    story, invariant = BROKEN_BY[mutant]
    assert played(story).violated == {"": "", mutant: invariant}


def test_every_mutant_of_a_story_breaks_an_invariant() -> None:
    beside = {
        (mutant, path.stem)
        for path in STORIES
        for line in path.read_text("utf-8").splitlines()
        if line.startswith("beside ")
        for mutant in line.split()[1:]
    }
    assert beside == {(mutant, story) for mutant, (story, _) in BROKEN_BY.items()}


def test_each_check_is_once_the_only_reason_to_refuse() -> None:
    text = played("each_check_refuses_by_itself").text
    assert sole_refusals(text) == set(checks.names(inspect.getsource(protocols.raft)))


# -- The language of transcripts ---------------------------------------------------------------------


def answer(*commands: str) -> str:
    """What the last command is answered, in a cluster of three."""
    text = "\n\n".join(["nodes n1 n2 n3", *commands])
    return perform("raft", text).text.rstrip("\n").split("----\n")[-1]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("shout n1", "There is no command 'shout'"),
        ("timeout n7 election", "There is no node 'n7'"),
        ("deliver n1 n7", "There is no node 'n7'"),
        ("deliver n1", "2 words are needed"),
        ("deliver n1 n2 crashing between send", "say before or after one of"),
        ("deliver n1 n2 keeping everything", "`deliver n1 n2 keeping everything`"),
        ("request n1 put x much", "`request n1 put x much`"),
        ("nodes n1 n3", "nodes are named n1, n2, n3, ..."),
        ("beside raft.vote_twice", "vote_twice"),
    ],
)
def test_a_mistake_is_answered_by_its_block_and_a_sentence(command: str, sentence: str) -> None:
    commands = [command] if command.startswith("nodes") else ["nodes n1 n2 n3", command, "nodes n1 n2 n3"]
    with pytest.raises(UserError, match=r"^block ") as raised:
        perform("raft", "\n\n".join(commands))
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("commands", "sentence"),
    [
        (["timeout n1 heartbeat"], "n1 has set no timer heartbeat"),
        (["deliver n1 n2"], "no such message is on its way from n1 to n2"),
        (["again n1 n2"], "no such message has arrived from n1 at n2"),
        (["stabilize n1 n2"], "nothing is on its way between them"),
        (["drop"], "nothing is on its way"),
        (["restart n1"], "n1 is up"),
        (["crash n1", "crash n1"], "n1 is down"),
        (["crash n1", "request n1 get x"], "n1 is down"),
        (
            ["timeout n1 election", "crash n2", "deliver n1 n2"],
            "n1 → n2 RequestVote(term=1, last_log_index=0, last_log_term=0) is lost: n2 is down",
        ),
    ],
)
def test_what_cannot_happen_is_answered_and_changes_nothing(commands: list[str], sentence: str) -> None:
    assert answer(*commands) == sentence


def test_old_answers_are_replaced_and_all_else_is_kept() -> None:
    text = "# A comment.\n\nnodes n1\n\n# Another.\n\n# And one more.\ntimeout n1 election\n"
    once = perform("raft", text).text
    stale = once.replace("the election timer fires", "something else happens")
    assert stale != once
    assert perform("raft", stale).text == once
    assert [line for line in once.splitlines() if line in text.splitlines()] == text.splitlines()


def test_a_crash_between_two_effects_carries_out_what_came_before() -> None:
    told = answer("timeout n1 election", "deliver n1 n3 crashing after write 2 keeping 1")
    assert "n3 writes voted_for = n1" in told
    assert "sends" not in told
    assert "n3 crashed after 3 of 6 effects; of the unsynced writes it kept 1" in told


def test_a_crash_where_there_is_no_such_effect_does_not_happen() -> None:
    assert "crashed" not in answer("timeout n1 election", "deliver n1 n3 crashing before apply")
