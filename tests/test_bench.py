"""The benchmarks run, and what they print is what was measured. How fast anything is, no test says."""

import json
from pathlib import Path

import attrs
import pytest

from protosim import bench, cli
from protosim.bench import edits, kills, page, speed
from protosim.bench.sizes import QUICK
from protosim.errors import UserError
from protosim.program import modules, reference
from protosim.run import simulate

TINY = attrs.evolve(QUICK, peer_events=500, events=300, hunt_events=300, scaling_runs=2)


@pytest.fixture(scope="module")
def report() -> bench.Report:
    return bench.measure(TINY, "protosim bench", lambda says: None)


def test_every_part_has_its_figures(report: bench.Report) -> None:
    assert [section.title for section in report.sections()] == [
        "Speed",
        "Events to kill",
        "Schedule preserved after an edit",
        "Processes",
    ]
    for section in report.sections():
        assert len({len(row) for row in section.rows}) == 1, f"{section.title}: a row lacks a cell"
    assert {(kill.mutant, kill.scheduler) for kill in report.kills} == {
        (mutant, scheduler) for mutant in kills.MUTANTS for scheduler in kills.SCHEDULERS
    }
    assert report.scaling.runs == TINY.scaling_runs


def test_the_four_ways_to_run_raft_handle_the_same_events(report: bench.Report) -> None:
    events = [each.events for each in report.speed.contenders if each.name.startswith("Raft")]
    assert events == [TINY.events] * 4


def test_a_ratio_is_the_median_of_the_rounds_and_not_of_the_sums() -> None:
    assert speed.middle_ratio([10.0, 30.0, 5.0], [100.0, 100.0, 10.0]) == 0.3


def test_the_heapq_loop_is_the_measure_of_all_others(report: bench.Report) -> None:
    assert report.speed.named(speed.LEAST).ratio == 1
    assert report.speed.named(speed.BARE).share_of_bare == 1
    assert all(each.per_second > 0 and each.ratio > 0 for each in report.speed.contenders)


def test_the_committed_scenario_is_a_minute_of_chaos_without_a_violation() -> None:
    chaos = speed.scenario(10**9)
    assert (chaos.protocol, chaos.nodes, chaos.horizon) == ("raft", 5, 60_000_000)
    assert {choice.name for choice in chaos.faults} <= set(modules("faults"))
    run = simulate(reference("raft"), chaos)
    assert run.status == "ok"
    assert run.simulated_us == chaos.horizon
    assert {"loss", "duplication", "reordering", "crash", "partition"} <= set(run.faults_fired)


def test_what_an_edit_preserves_is_counted_once_each() -> None:
    a, b, c = (0, 0, "n1", 1), (0, 1, "n1", 2), (2, 0, 7)
    assert edits.share([a, b, c], [a, b, c]) == 1
    assert edits.share([a, b], [a, a]) == 0.5
    assert edits.share([a, b], [c]) == 0
    assert edits.first_difference([a, b, c], [a, c]) == 1
    assert edits.first_difference([a, b], [a, b]) == 2


def test_a_comment_preserves_all_and_another_seed_nearly_nothing(report: bench.Report) -> None:
    shares = {(each.edit, each.scheduler): each.share for each in report.edits}
    for scheduler in edits.SCHEDULERS:
        assert shares["a comment", scheduler] == 1
        assert shares[edits.CHANCE, scheduler] < 0.5


def test_an_edit_that_no_longer_applies_is_told() -> None:
    with pytest.raises(UserError, match="'a comment' no longer applies"):
        edits.edited("nothing of Raft", "a comment")


def test_a_hunt_that_killed_nothing_has_no_median() -> None:
    kill = kills.Kill(mutant="m", scheduler="walk", hunts=5, killed=0, events=0, runs=0, cpu=0)
    assert kills.cell(kill) == "(0 of 5)"
    assert kills.cell(attrs.evolve(kill, killed=5, events=1200, runs=3, cpu=0.014)) == "1,200, 3, 0.01 s"
    assert kills.cell(attrs.evolve(kill, killed=4, events=1200, runs=3, cpu=0.014)).endswith("(4 of 5)")


def test_the_page_says_where_when_and_how(report: bench.Report) -> None:
    text = page.markdown(report.about, report.sections())
    assert text.startswith("# Benchmarks\n\n`protosim bench`, 20")
    assert "| heapq loop | " in text


def test_the_command_writes_its_report_and_prints_one_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], report: bench.Report
) -> None:
    def measured(*_: object) -> bench.Report:
        return report

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "measure", measured)
    assert cli.main(["bench", "--write", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["status"]) == ("protosim/bench/1", "ok")
    assert set(told) >= {"about", "speed", "kills", "edits", "scaling", "workers"}
    assert (tmp_path / bench.REPORT).read_text("utf-8").startswith("# Benchmarks\n")
