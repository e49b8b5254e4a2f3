"""Paxos and Multi-Paxos: each check is once the only reason to refuse; each invariant is broken by some mutant."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from protosim.plan import LIVENESS_EVERY, Wish, plan
from protosim.program import Program, load, reference
from protosim.run import simulate
from protosim.transcript import perform

STORIES = Path(__file__).parent.parent
BROKEN_BY = {
    "paxos": {
        "validity": "value_never_taken",
        "agreement": "client_told_its_own_value",
        "learned_only_chosen": "accepted_by_majority",
        "durability": "handle_accept/drop-sync/1",
        "unique_ballots": "round_forgotten_by_restart",
        "promise_monotonicity": "handle_prepare/drop-sync/1",
        "refusals_are_true": "refusal_tells_nothing",
        "p2b": "own_value",
        "votes_safe": "promised_by_majority",
        "one_value_per_ballot": "still_preparing",
        "progress_after_heal": "no_retry",
        "p1a": "accepts_below_its_promise",
        "p2a": "first_value_kept",
        "highest_accepted_kept": "accept_promises_nothing",
    },
    "multi_paxos": {
        "validity": "gaps_filled_with_writes",
        "agreement": "chosen_in_another_ballot",
        "learned_only_chosen": "accepted_by_majority",
        "durability": "handle_accept/drop-sync/1",
        "unique_ballots": "round_from_refusals",
        "promise_monotonicity": "promise/drop-sync/1",
        "refusals_are_true": "accepts_only_what_it_promised",
        "p2b": "own_votes_alone",
        "votes_safe": "promised_by_majority",
        "one_value_per_ballot": "still_candidate",
        "progress_after_heal": "nothing_is_sent_again",
        "p1a": "accept_not_below_promised",
        "p2a": "first_command_kept",
        "highest_accepted_kept": "votes_over_the_chosen",
        "order_of_execution": "executed_when_chosen",
        "executed_once": "gaps_filled_with_commands",
        "gaps_are_filled": "gaps_left",
        "learners_catch_up": "nobody_is_told",
    },
}
CASES = [(protocol, *pair) for protocol, pairs in BROKEN_BY.items() for pair in pairs.items()]
RUNS = 60


@pytest.mark.parametrize("protocol", BROKEN_BY)
def test_each_check_is_once_the_only_reason_to_refuse(protocol: str) -> None:
    text = perform(protocol, (STORIES / protocol / "each_check_refuses_by_itself.txt").read_text("utf-8")).text
    alone = set(re.findall(r"^  n\d refuses .*: (\w+)$", text, re.MULTILINE))
    assert alone == set(checks_of(reference(protocol).source))


def checks_of(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "holds":
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)


@pytest.mark.parametrize("protocol", BROKEN_BY)
def test_each_invariant_but_goals_has_a_mutant(protocol: str) -> None:
    modes = {invariant.name: invariant.mode for invariant in reference(protocol).spec.invariants()}
    assert [name for name, mode in modes.items() if mode != "sometimes"] == list(BROKEN_BY[protocol])


@pytest.mark.parametrize(("protocol", "invariant", "mutant"), CASES)
def test_the_mutant_breaks_the_invariant(protocol: str, invariant: str, mutant: str) -> None:
    mode = next(i.mode for i in reference(protocol).spec.invariants() if i.name == invariant)
    first, step = (LIVENESS_EVERY - 1, LIVENESS_EVERY) if mode == "eventually" else (0, 1)
    program = load(protocol, [f"{protocol}.{mutant}"])
    assert any(invariant in broken(program, index) for index in range(first, RUNS, step))


def broken(program: Program, index: int) -> list[str]:
    """What the run of a hunt breaks, a warning that came before the violation too."""
    run = simulate(program, plan(program, Wish(), index), digest=False)
    return [found.invariant.name for found in (run.violation, run.warning) if found is not None]
