"""From a seed to the shortest story: plans, forks, scripts, shrinking, replays."""

import attrs
import pytest

from protosim.counterexample import Counterexample, source_digest
from protosim.hunt import hunt, try_run
from protosim.plan import LIVENESS_EVERY, PORTFOLIO, Wish, plan
from protosim.program import Program, load, reference
from protosim.replay import replay
from protosim.run import LocalHost, make_world, run_to_end, simulate
from protosim.scenario import Choice, Scenario
from protosim.script import ScriptedWorld
from protosim.shrink import LONG, broken_name, record, shrink

FIVE = {
    "raft.vote_once_per_term": {"election_safety", "log_matching", "leader_completeness"},
    "raft.log_up_to_date": {"leader_completeness"},
    "raft.prev_log_matches": {"log_matching", "durability", "state_machine_safety", "leader_completeness"},
    "raft.vote_response_current": {"election_safety", "leader_completeness", "log_matching"},
    "raft.commit_current_term": {"leader_completeness"},
}
RAFT = reference("raft")


def caught(mutant: str, seed: int) -> tuple[Program, Scenario, str]:
    program = load("raft", [mutant])
    found = hunt(program, Wish(seed=seed), events=400_000)
    assert found.trial is not None
    assert found.status == "violation"
    return program, found.trial.run.scenario, broken_name(found.trial.run)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("mutant", FIVE)
def test_each_named_mutant_is_caught_and_its_story_is_short(mutant: str, seed: int) -> None:
    program, scenario, invariant = caught(mutant, seed)
    assert invariant in FIVE[mutant]
    shrunk = shrink(program, scenario, invariant, wish=Wish(seed=seed))
    assert shrunk is not None
    short = shrunk.scenario
    assert short.script is not None
    assert len(short.script) <= LONG
    assert short.nodes <= 5
    run = simulate(program, short)
    assert broken_name(run) in FIVE[mutant]
    assert simulate(program, short).digest == run.digest


def test_shrinking_is_deterministic() -> None:
    program, scenario, invariant = caught("raft.prev_log_matches", 5)
    assert shrink(program, scenario, invariant) == shrink(program, scenario, invariant)


def test_a_plan_depends_on_seed_and_number_alone_and_keeps_what_was_asked_for() -> None:
    wish = Wish(seed=7, nodes=4, switches={"batch": 3}, faults=(Choice("loss", {"per_mille": 1}),))
    plans = [plan(RAFT, wish, i) for i in range(24)]
    assert plans == [plan(RAFT, wish, i) for i in range(24)]
    assert {p.nodes for p in plans} == {4}
    assert {p.switches["batch"] for p in plans} == {3}
    assert all(p.faults == (Choice("loss", {"per_mille": 1}),) for p in plans)
    assert {p.scheduler.name for p in plans} == {*PORTFOLIO, "fair"}
    assert [i for i, p in enumerate(plans) if p.heal is not None] == [LIVENESS_EVERY - 1, 2 * LIVENESS_EVERY - 1]


def test_a_warning_that_is_searched_on_becomes_a_scenario_that_repeats() -> None:
    program = load("raft", ["raft.vote_once_per_term"])
    for index in range(60):
        trial = try_run(program, plan(program, Wish(seed=1), index), index)
        if trial.caught and trial.run.scenario.forks:
            again = simulate(program, trial.run.scenario)
            assert broken_name(again) == broken_name(trial.run)
            assert (again.events, again.digest) == (trial.run.events, trial.run.digest)
            return
    pytest.fail("no violation was found by a fork in 60 runs")


@pytest.mark.parametrize("index", range(10))
def test_a_recorded_script_leads_to_the_same_disks(index: int) -> None:
    scenario = attrs.evolve(plan(RAFT, Wish(seed=3, events=600), index), heal=None)
    world = make_world(RAFT, scenario)
    run_to_end(world, LocalHost(RAFT, scenario))
    scripted = attrs.evolve(scenario, script=record(RAFT, scenario), faults=(), scheduler=Choice("replay"))
    twin = make_world(RAFT, scripted)
    run_to_end(twin, LocalHost(RAFT, scripted))
    assert isinstance(twin, ScriptedWorld)
    assert not twin.skipped
    assert [d.contents() for d in twin.disks] == [d.contents() for d in world.disks]


def saved(program: Program, scenario: Scenario) -> Counterexample:
    run = simulate(program, scenario)
    assert run.violation is not None
    return Counterexample(
        scenario=scenario,
        mutants=program.mutants,
        source_digest=source_digest(program),
        invariant=run.violation.invariant.name,
        message=run.violation.sentence,
        digest=run.digest,
        events=run.events,
    )


def test_a_replay_is_identical_gone_or_diverged() -> None:
    program, scenario, invariant = caught("raft.commit_current_term", 2)
    short = shrink(program, scenario, invariant)
    assert short is not None
    story = saved(program, short.scenario)

    same = replay(story, program)
    assert (same.outcome, same.identical, same.same_source) == ("same", True, True)

    gone = replay(story, RAFT)
    assert (gone.outcome, gone.applied) == ("gone", gone.steps)

    elsewhere = replay(story, load("raft", ["raft.votes_from_majority"]))
    assert elsewhere.outcome in ("other", "same", "diverged")

    lazy = load("raft", ["raft.request_vote_current"])
    assert replay(story, lazy).sentence


def test_hunting_in_two_processes_finds_the_same_as_in_one() -> None:
    program = load("raft", ["raft.vote_response_current"])
    one = hunt(program, Wish(seed=4), runs=64)
    two = hunt(program, Wish(seed=4), runs=64, jobs=2)
    assert one.trial is not None
    assert two.trial is not None
    assert (one.runs, one.events, one.trial.index) == (two.runs, two.events, two.trial.index)
    assert one.trial.run.digest == two.trial.run.digest
