"""`protosim explore`: what it covered, what it found, why it gave up; models beside protocols."""

import sys
from pathlib import Path
from typing import Any

import pytest

from protosim.program import source_of

CliOf = Any  # conftest.Cli

FEW = ("--requests", 1, "--crashes", 0, "--timeouts", 1)


def test_a_finished_search_says_what_it_covered(cli: CliOf) -> None:
    result = cli("explore", "raft", *FEW)
    assert result.code == 0
    said = " ".join(result.out.split())
    assert "ok: every schedule of 3 nodes with at most 1 timeout, 1 request, 2 messages on their way;" in said
    assert "no crashes; no cuts; no duplications: exhausted, and nothing broke." in said
    assert "No schedule within these bounds reached leader_changed." in said


def test_the_object_has_every_figure(cli: CliOf) -> None:
    result = cli("explore", "raft", *FEW, "--json")
    data = result.data
    assert (result.code, data["schema"], data["status"]) == (0, "protosim/explore/1", "ok")
    assert data["bounds"]["timeouts"] == 1
    assert data["symmetry"]
    assert data["ended"] == "exhausted"
    assert data["missed"] == ["leader_changed"]
    assert data["states"] > 100
    assert data["steps"] > data["states"]
    assert data["invariant"] is None


def test_symmetry_can_be_left_out_and_there_are_more_states(cli: CliOf) -> None:
    few = cli("explore", "raft", *FEW, "--json").data
    many = cli("explore", "raft", *FEW, "--no-symmetry", "--json").data
    assert 5 * few["states"] < many["states"] < 6 * few["states"]


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        (("--states", 2000), "it may not keep more states"),
        (("--budget", "0.001"), "the budget ran out"),
        (("--memory", 64), "it may not use more memory"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="no figures of memory")
def test_a_search_that_gives_up_is_inconclusive_and_says_why(cli: CliOf, limit: tuple[object, ...], says: str) -> None:
    held = bytearray(80 << 20) if "--memory" in limit else b""
    result = cli("explore", "raft", *limit)
    assert result.code == 2
    assert says in " ".join(result.out.split())
    assert "exhausted" not in result.out
    del held


def test_an_interrupted_search_says_how_far_it_came(cli: CliOf, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("protosim.explore.space.Space.successors", interrupted)
    result = cli("explore", "raft", "--json")
    assert (result.code, result.data["ended"]) == (2, "interrupt")
    assert "it was interrupted" in result.data["message"]


def test_depth_is_part_of_what_is_covered(cli: CliOf) -> None:
    result = cli("explore", "raft", "--depth", 3)
    assert result.code == 0
    assert "3 events" in result.out


def test_what_breaks_is_saved_and_replays_and_is_drawn_like_any_other(cli: CliOf, tmp_path: Path) -> None:
    result = cli("explore", "raft", "--mutant", "vote_once_per_term", "-o", "found.json", "--json")
    assert result.code == 1
    assert result.data["invariant"] == "election_safety"
    assert result.data["shrunk"] == {"nodes": 3, "events": 6, "faults": []}
    again = cli("replay", "found.json", "--json")
    assert (again.code, again.data["outcome"], again.data["identical"]) == (1, "same", True)
    shown = cli("show", "found.json")
    assert "Election Safety" in shown.out


def test_a_handler_that_fails_is_an_error_with_its_story(cli: CliOf) -> None:
    result = cli("explore", "raft", "--mutant", "request_to_leader", "-o", "found.json", "--json")
    assert result.code == 3
    assert "KeyError" in result.data["message"]
    assert cli("replay", "found.json", "--json").data["outcome"] == "same"


def test_an_early_warning_stops_a_search_that_asks_for_it(cli: CliOf) -> None:
    words = ("explore", "raft", "--mutant", "vote_once_per_term", "--requests", 0, "--crashes", 0, "--depth", 4)
    assert cli(*words).code == 0
    result = cli(*words, "--warning", "one_vote_per_term", "--json")
    assert (result.code, result.data["invariant"]) == (1, "one_vote_per_term")


def test_requests_can_be_given_in_words(cli: CliOf) -> None:
    result = cli("explore", "raft", "--depth", 2, "--command", "put x 1", "--command", "get x")
    assert result.code == 0
    assert "requests are put x 1 or get x" in " ".join(result.out.split())


def test_a_clock_that_is_read_leaves_the_search_inconclusive(cli: CliOf, edited: Any) -> None:
    path = edited("        self.commit_index = 0\n", "        self.commit_index = 0 * self.now\n")
    result = cli("explore", "raft", "--source", path, *FEW)
    assert result.code == 2
    assert "nodes read their clocks" in " ".join(result.out.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("rafft",), "did you mean raft"),
        (("raft", "--mutant", "vote_twice"), "raft has no mutant vote_twice"),
        (("raft", "--set", "nop=true"), "did you mean no_op"),
        (("raft", "--timer", "electon=1"), "did you mean election"),
        (("raft", "--timer", "election"), "--timer takes NAME=N or NAME=any, not 'election'"),
        (("raft", "--warning", "one_vote"), "did you mean one_vote_per_term"),
        (("raft", "--command", "jump"), "--command: 'jump' is no command of raft"),
        (("raft", "--nodes", "0"), "--nodes takes a whole number from 1"),
        (("raft", "--symmetry", "--cuts", "1"), "--symmetry: not for raft: a crash within a broadcast"),
        (("raft", "--timeouts", "-1"), "--timeouts"),
        (("echo_broadcast",), "echo_broadcast has liars, which explorations know nothing of: protosim hunt"),
        (("pbft",), "pbft has clients that are nodes, which explorations know nothing of"),
        (("two_phase", "--timeouts", "2"), "--timeouts: two_phase is a model of shared state, which has none"),
        (("two_phase", "--set", "x=1"), "--set: two_phase is a model of shared state, which has none"),
        (("two_phase", "--nodes", "8"), "two_phase takes 7 nodes at most: seven participants make 296,448 states"),
    ],
)
def test_bad_input_is_one_sentence(cli: CliOf, words: tuple[str, ...], says: str) -> None:
    result = cli("explore", *words)
    assert (result.code, result.out) == (3, "")
    assert says in result.err


# -- Models ------------------------------------------------------------------------------------------


def test_a_model_is_explored_for_ever(cli: CliOf) -> None:
    result = cli("explore", "two_phase")
    assert result.code == 0
    assert "288 distinct" in result.out
    assert "every behaviour of 3 participants, for ever: exhausted" in " ".join(result.out.split())


def test_a_models_story_is_its_actions(cli: CliOf) -> None:
    result = cli("explore", "two_phase", "--mutant", "any_prepared", "--json")
    assert (result.code, result.data["invariant"]) == (1, "ac3_unanimity")
    assert [act for act, _ in result.data["story"]] == ["", "rm_prepare(1)", "tm_rcv_prepared(1)", "tm_commit"]
    assert "commit_sent = True" in result.data["story"][-1][1]


def test_a_models_loop_says_where_it_begins(cli: CliOf) -> None:
    result = cli("explore", "two_phase", "--mutant", "working_before_prepare", "--json")
    assert (result.code, result.data["invariant"], result.data["loop_begins_after"]) == (1, "ac5_termination", 4)
    assert cli("explore", "two_phase", "--mutant", "working_before_prepare", "--no-liveness").code == 0


def test_a_models_action_that_fails_is_an_error_with_the_way_there(cli: CliOf, tmp_path: Path) -> None:
    source, title = source_of("two_phase"), '"""RMRcvCommitMsg(rm)."""'
    path = tmp_path / "edited.py"
    path.write_text(source.replace(title, f"{title}\n        assert not s.commit_sent"), "utf-8")
    result = cli("explore", "two_phase", "--source", path, "--nodes", 1, "--json")
    assert (result.code, result.data["message"]) == (3, "AssertionError, in rm_rcv_commit_msg(1)")
    assert [act for act, _ in result.data["story"]] == ["", "rm_prepare(1)", "tm_rcv_prepared(1)", "tm_commit"]


@pytest.mark.parametrize("command", ["run", "hunt", "soak", "kills"])
def test_other_commands_say_that_a_model_is_explored(cli: CliOf, command: str) -> None:
    result = cli(command, "two_phase")
    assert (result.code, result.out) == (3, "")
    assert result.err == (
        "two_phase is a model of shared state, without nodes that could run: "
        "`protosim explore two_phase` goes through all its states.\n"
    )


def test_a_model_is_listed_like_a_protocol(cli: CliOf) -> None:
    assert "Lamport's TwoPhase" in " ".join(cli("list", "protocols").out.split())
    assert {row["name"] for row in cli("list", "invariants", "two_phase", "--json").data["invariants"]} == {
        "tc_consistent",
        "tc_type_ok",
        "ac3_unanimity",
        "ac5_termination",
    }
    assert "two_phase.all_prepared" in cli("list", "mutations", "two_phase").out
    assert "-            all_prepared" in cli("mutate", "two_phase", "all_prepared", "--diff").out
