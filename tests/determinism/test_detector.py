"""Nondeterminism planted in a protocol is reported with the first event and handler that differ."""

import attrs
import pytest

from protosim.determinism import OVER, Difference, Line, between, compare
from protosim.program import Program, from_source, reference
from protosim.scenario import Choice, Scenario

CHAOS = (Choice("loss", {"per_mille": 50}), Choice("crash", {"every": 40_000, "down": 10_000, "aim": 10}))
SCENARIO = Scenario(protocol="raft", seed=3, nodes=3, scheduler=Choice("walk"), faults=CHAOS, events=400)

HEARTBEATS = """            for peer in self.peers:
                self.replicate(peer)"""
GRANT = "            self.disk.voted_for = src\n"
FIRST_TIMER = """        self.become_follower()
        self.set_timer(ELECTION, ELECTION_TIMEOUT)
"""


def planted(before: str, after: str, top: str = "") -> Program:
    source = reference("raft").source
    assert source.count(before) == 1, before
    return from_source("raft", source.replace(before, after).replace("import attrs\n", f"import attrs\n{top}\n"))


def found(program: Program, scenario: Scenario = SCENARIO) -> Difference:
    difference = compare(program, scenario)
    assert difference is not None
    return difference


def test_the_reference_is_deterministic() -> None:
    assert compare(reference("raft"), SCENARIO) is None


def test_the_order_of_a_set_is_found_in_the_first_handler_that_walks_it() -> None:
    difference = found(planted(HEARTBEATS, HEARTBEATS.replace("in self.peers", "in set(self.peers)")))
    assert difference.handler == "Raft.handle_vote_response"  # who wins an election sends heartbeats at once
    assert difference.what.startswith("Vote(term=")
    assert difference.first.startswith("send(n")
    assert difference.second.startswith("send(n")
    assert difference.first != difference.second
    assert difference.sentence.startswith(
        f"Raft.handle_vote_response is not deterministic: in event {difference.event}, {difference.node} handling Vote"
    )


def test_an_address_is_found_in_the_first_handler_that_uses_it() -> None:
    difference = found(
        planted(FIRST_TIMER, FIRST_TIMER.replace("ELECTION_TIMEOUT)", "(150 * MS, 300 * MS + id(self) % 1_000_003))"))
    )
    assert (difference.event, difference.node, difference.handler) == (1, "n1", "Raft.start")
    assert difference.first.startswith("set_timer(election, ")


def test_a_random_number_is_found_in_the_first_handler_that_draws_one() -> None:
    drawn = GRANT + "            self.disk.term = self.disk.term + int(random.random() * 1e9)\n"
    difference = found(planted(GRANT, drawn, "import random"))
    assert difference.handler == "Raft.handle_request_vote"
    assert difference.first.startswith("write(")


def test_a_global_that_survives_a_run_is_found_where_it_is_first_felt() -> None:
    program = planted(
        GRANT,
        GRANT + "            GRANTED.append(src)\n            self.cancel(f'granted {len(GRANTED)}')\n",
        "GRANTED: list[str] = []",
    )
    difference = found(program)
    assert difference.handler == "Raft.handle_request_vote"
    assert (difference.first, difference.second[:15]) == ("cancel(granted 1)", "cancel(granted ")
    assert difference.second != difference.first


def test_a_difference_is_reported_before_what_follows_from_it() -> None:
    """The event is the first: a shorter run that ends before it shows no difference, one that ends with it does."""
    program = planted(HEARTBEATS, HEARTBEATS.replace("in self.peers", "in set(self.peers)"))
    first = found(program).event
    assert compare(program, attrs.evolve(SCENARIO, events=first - 1)) is None
    assert found(program, attrs.evolve(SCENARIO, events=first)).event == first


def test_what_a_protocol_prints_is_no_difference() -> None:
    assert compare(planted(GRANT, GRANT + "            print(src, id(self))\n"), SCENARIO) is None


def test_a_protocol_that_fails_in_both_runs_alike_is_deterministic() -> None:
    assert compare(planted(GRANT, GRANT + "            raise ValueError(src)\n"), SCENARIO) is None


def test_a_protocol_that_fails_in_one_run_only_is_found() -> None:
    fails = "            if GRANTED:\n                raise ValueError(src)\n            GRANTED.append(src)\n"
    difference = found(planted(GRANT, fails + GRANT, "GRANTED: list[str] = []"))
    assert difference.handler == "Raft.handle_request_vote"
    assert "ValueError" in difference.second


def test_a_process_that_cannot_run_is_an_error_and_no_verdict() -> None:
    with pytest.raises(RuntimeError, match="a process that replayed a run ended with exit code 1: "):
        compare(reference("raft"), Scenario(protocol="raft", seed=1, scheduler=Choice("no such scheduler")))


def test_where_another_event_comes_after_the_same_past_no_handler_is_blamed() -> None:
    one: Line = [7, "n1", "Raft.start_election", "the timeout election"], []
    other: Line = [7, "n2", "Raft.start", "its start"], []
    blamed = between(one, other)
    assert (blamed.event, blamed.handler) == (7, "")
    assert (blamed.first, blamed.second) == ("the timeout election at n1", "its start at n2")
    assert between(one, OVER).sentence == (
        "Event 7 is not the same in two runs: the timeout election at n1, or the end of the run."
    )
