"""Benchmarks: every figure beside its peer, measured in the same run, as a ratio, since machines differ and are shared.

    python -m protosim.bench            # or `protosim bench`, or `make bench`, which also writes docs/benchmarks.md

Times are CPU time of this process and medians of several rounds; wall time only where processes work side by side.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from protosim import files
from protosim.bench import edits, judge, kills, page, scaling, speed, workers
from protosim.bench.sizes import FULL, Sizes
from protosim.output import Answer, Output

REPORT = Path("docs", "benchmarks.md")
"""Below the current folder."""


@attrs.frozen(kw_only=True)
class Judge:
    """The figures of scores, and of the workers in them."""

    scores: judge.Judged
    workers: workers.Workers

    def sections(self) -> list[page.Section]:
        return [workers.section(self.workers), judge.section(self.scores)]


@attrs.frozen(kw_only=True)
class Report:
    """All figures of one run."""

    about: page.About
    speed: speed.Speeds
    kills: tuple[kills.Kill, ...]
    edits: tuple[edits.Preserved, ...]
    scaling: scaling.Scaling
    judge: Judge | None

    def sections(self) -> list[page.Section]:
        made = [speed.section(self.speed), kills.section(self.kills), edits.section(self.edits)]
        made.append(scaling.section(self.scaling))
        if self.judge is not None:
            made += self.judge.sections()
        return made


def measure(sizes: Sizes, command: str, progress: Callable[[str], None]) -> Report:
    """Measure everything; `progress` hears what is being measured."""
    about = page.About.here(command)
    judged = measure_judge(sizes, progress) if sizes.score else None  # first: it needs a suite that is up to date
    return Report(
        about=about,
        speed=speed.measure(sizes, progress),
        kills=kills.measure(sizes, progress),
        edits=edits.measure(sizes, progress),
        scaling=scaling.measure(sizes, progress),
        judge=judged,
    )


def measure_judge(sizes: Sizes, progress: Callable[[str], None]) -> Judge:
    """Raises UserError where the task's suite is missing."""
    scores = judge.measure(progress)
    return Judge(scores=scores, workers=workers.measure(sizes, scores, progress))


def run(out: Output, *, write: bool = False, sizes: Sizes = FULL) -> Answer:
    """Measure, tell, and perhaps write the report."""
    if write:
        files.require_writable(REPORT)
    with out.progress() as tick:
        report = measure(sizes, f"protosim bench{' --write' * write}", lambda says: tick(0, says))
    _tell(report.sections(), out)
    if write:
        _write(page.markdown(report.about, report.sections()), out)
    return Answer("ok", as_data(report))


def run_judge(out: Output, *, write: bool = False, sizes: Sizes = FULL) -> Answer:
    """The judge alone: measure, tell, and perhaps refill its sections of the report."""
    if write:
        files.require_writable(REPORT)
    about = page.About.here(f"protosim bench --judge{' --write' * write}")
    with out.progress() as tick:
        judged = measure_judge(sizes, lambda says: tick(0, says))
    _tell(judged.sections(), out)
    if write:
        there = REPORT.read_text("utf-8") if REPORT.is_file() else page.markdown(about, [])
        _write(page.refilled(there, about, judged.sections()), out)
    return Answer("ok", {"about": attrs.asdict(about), "judge": attrs.asdict(judged)})


def _tell(sections: Sequence[page.Section], out: Output) -> None:
    for section in sections:
        out.heading(section.title)
        out.table(section.rows, "  ")
        out.prose(section.note)


def _write(text: str, out: Output) -> None:
    files.write(REPORT, text)
    out.say(f"Wrote {REPORT}.")


def main(write: bool = False, json_: bool = False) -> int:
    """The command without a command line; returns its exit code."""
    out = Output("bench", json=json_)
    return out.answer(run(out, write=write))


def as_data(report: Report) -> dict[str, Any]:
    """Plain data for JSON."""
    return attrs.asdict(report)
