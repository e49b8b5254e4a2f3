"""Benchmarks: every figure beside its peer, measured in the same run, as a ratio, since machines differ and are shared.

    python -m protosim.bench            # or `protosim bench`, or `make bench`, which also writes docs/benchmarks.md

Times are CPU time of this process and medians of several rounds; wall time only where processes work side by side.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from protosim import files
from protosim.bench import edits, kills, page, scaling, speed, workers
from protosim.bench.sizes import FULL, Sizes
from protosim.output import Answer, Output

REPORT = Path("docs", "benchmarks.md")
"""Below the current folder."""


@attrs.frozen(kw_only=True)
class Report:
    """All figures of one run."""

    about: page.About
    speed: speed.Speeds
    kills: tuple[kills.Kill, ...]
    edits: tuple[edits.Preserved, ...]
    scaling: scaling.Scaling
    workers: workers.Workers | None

    def sections(self) -> list[page.Section]:
        made = [speed.section(self.speed), kills.section(self.kills), edits.section(self.edits)]
        made.append(scaling.section(self.scaling))
        if self.workers is not None:
            made += [workers.section(self.workers), workers.scored_section(self.workers)]
        return made


def measure(sizes: Sizes, command: str, progress: Callable[[str], None]) -> Report:
    """Measure everything; `progress` hears what is being measured."""
    about = page.About.here(command)
    scored = workers.measure(sizes, progress)  # first, since it needs a suite that is up to date
    return Report(
        about=about,
        speed=speed.measure(sizes, progress),
        kills=kills.measure(sizes, progress),
        edits=edits.measure(sizes, progress),
        scaling=scaling.measure(sizes, progress),
        workers=scored,
    )


def run(out: Output, *, write: bool = False, sizes: Sizes = FULL) -> Answer:
    """Measure, tell, and perhaps write the report."""
    if write:
        files.require_writable(REPORT)
    with out.progress() as tick:
        report = measure(sizes, "protosim bench --write" if write else "protosim bench", lambda says: tick(0, says))
    for section in report.sections():
        out.heading(section.title)
        out.table(section.rows, "  ")
        out.prose(section.note)
    if write:
        files.write(REPORT, page.markdown(report.about, report.sections()))
        out.say(f"Wrote {REPORT}.")
    return Answer("ok", as_data(report))


def main(write: bool = False, json_: bool = False) -> int:
    """The command without a command line; returns its exit code."""
    out = Output("bench", json=json_)
    return out.answer(run(out, write=write))


def as_data(report: Report) -> dict[str, Any]:
    """Plain data for JSON."""
    return attrs.asdict(report)
