"""The benchmarks run, and what they print is what was measured. How fast anything is, no test says."""

import gc
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep
from typing import Any

import attrs
import pytest

from protosim import bench, cli
from protosim.adapters import go
from protosim.bench import edits, judge, kills, page, speed, workers
from protosim.bench.sizes import QUICK
from protosim.errors import UserError
from protosim.program import modules, reference
from protosim.run import simulate
from protosim.score.judge import Progress
from protosim.score.result import Result
from protosim.score.suite import Trial, trials
from tests.dafny.conftest import required

TINY = attrs.evolve(QUICK, peer_events=500, events=300, hunt_events=300, scaling_runs=2)


@pytest.fixture(scope="module")
def report() -> Iterator[bench.Report]:
    gc.collect()
    gc.freeze()  # each figure collects garbage first, which would go through what all other tests have left
    yield bench.measure(TINY, "protosim bench", lambda says: None)
    gc.unfreeze()


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
    assert set(told) >= {"about", "speed", "kills", "edits", "scaling", "judge"}
    assert (tmp_path / bench.REPORT).read_text("utf-8").startswith("# Benchmarks\n")


# -- The judge ---------------------------------------------------------------------------------------

ANSWER = judge.Scored(
    language="go", answer=judge.WHOLE, score=1.0, events=120_000, wall=20.0, cpu=36.0, runs=12.0, after=5.0
)
REFUSED = attrs.evolve(ANSWER, answer="as handed out", score=0.0, events=0, wall=2.0, cpu=4.0, runs=0.0, after=0.0)
JUDGED = judge.Judged(scored=(ANSWER, REFUSED), missing="", runs=190, here=80_000.0, load="0.4", processors=2)


def test_a_score_is_split_and_a_batch_is_the_sum_of_its_answers() -> None:
    made = judge.section(JUDGED)
    assert made.rows[1:] == (
        ("Go: the reference", "1", "20.0", "36.0", "3.0", "12.0", "5.0", "6,000", "100"),
        ("Go: as handed out", "0", "2.0", "4.0", "2.0", "0.0", "0.0", "", "900"),
        ("Go: all of these", "", "22.0", "40.0", "5.0", "12.0", "5.0", "", "180"),
    )
    assert "load 0.4" in made.note


def test_a_page_without_go_says_why() -> None:
    alone = attrs.evolve(JUDGED, scored=(attrs.evolve(ANSWER, language="python"),), missing="Go is needed.")
    assert judge.section(alone).note.endswith("Go was left out: Go is needed.")
    assert alone.languages() == ["python"]


def test_the_judged_rate_is_that_of_the_reference_while_its_runs_are_played() -> None:
    assert judge.rates(JUDGED) == {"go": 10_000}
    made = workers.section(workers.Workers(here=80_000, judged={"go": 10_000}, carried={"go": 40_000}, events=9))
    assert made.rows[1:] == (
        ("in this process", "80,000", "1.00"),
        ("in workers in Go", "10,000", "0.12"),
        ("one worker in Go, the pipe by itself", "40,000", "0.50"),
    )


def test_a_pipe_to_go_carries_all_events_of_a_run() -> None:
    try:
        go.find()
    except go.Missing as missing:
        if required("go"):
            raise
        pytest.skip(str(missing))
    events = workers.recorded(QUICK.carried_events)
    assert len(events) >= QUICK.carried_events
    assert workers.carried(["go"], events, lambda says: None)["go"] > 0


def some(*args: Any) -> list[Trial]:
    return trials(*args)[:3]


def score(solved: bool = True, disagreement: str = "") -> Callable[..., Result]:
    """A judge that takes no time."""

    def judged(task: str, candidate: Path, *, progress: Progress) -> Result:
        progress(0, 1)
        sleep(0.01)
        progress(1, 1)
        runs = {"1/a/1": {"events": 10}}
        right = solved and candidate.read_text("utf-8") == reference("raft").source
        return Result(
            task=task, split="public", stage="scored", score=1.0, solved=right, runs=runs, disagreement=disagreement
        )

    return judged


def test_a_judge_that_is_wrong_has_no_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (score(solved=False), score(disagreement="Two verdicts disagree")):
        monkeypatch.setattr(judge, "score", wrong)
        with pytest.raises(RuntimeError, match="the reference has not the score that it is due"):
            judge.measure(lambda says: None)


def test_the_judge_alone_refills_its_sections_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> go.Go:
        raise go.Missing("Go is needed and was not found.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(judge, "score", score())
    monkeypatch.setattr(judge, "trials", some)
    monkeypatch.setattr(go, "find", missing)
    before = "# Benchmarks\n\nHead.\n\n## Step protocol\n\nold\n\n## Speed\n\nkept\n"
    Path("docs").mkdir()
    bench.REPORT.write_text(before, "utf-8")
    assert cli.main(["bench", "--judge", "--quick", "--write", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["judge"]["scores"]["scored"]) == 3
    after = bench.REPORT.read_text("utf-8")
    assert "old" not in after
    assert after.startswith("# Benchmarks\n\nHead.\n\n## Step protocol\n\n| nodes | events/s | ratio |\n")
    assert "\n\n## Speed\n\nkept\n\n## The judge\n\n| answer |" in after
    assert after.endswith("\n")
    assert after.count("Made by `protosim bench --judge --write`, 20") == 2
    again = page.refilled(after, page.About.here("again"), [page.Section("Step protocol", (("a",),), "b")])
    assert "## Step protocol\n\n| a |\n| --- |\n\nb Made by `again`" in again
    assert again.partition("## Speed")[2] == after.partition("## Speed")[2]
