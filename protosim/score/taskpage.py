"""The page about the tasks that runs judge: what is asked, and what was measured of it."""

from collections.abc import Iterator

from protosim import markdown
from protosim.kills import ROOT
from protosim.score.candidates import short
from protosim.score.certify import PART, REPEATS, Certificate, Measured, read
from protosim.score.judge import LIMIT, WALL
from protosim.score.suite import Task, load_suite, load_task, secret, tasks

PATH = ROOT / "docs" / "tasks.md"

HEAD = ("task", "kind", "protocol", "language", "measured", "bugs", "rate", "story",
        "fall short", "named", "CPU s", "clock s", "load")  # fmt: skip

INTRODUCTION = f"""
# Tasks

Written by `protosim task check TASK --write`, from the folders of `tasks/` and the certificates in them. Proofs have
[a page of their own](proofs.md).

In each language the reference scores 1, {REPEATS} times by the same report; what is handed out scores 0, with an edit
that repairs nothing or without; so does a repair whose nodes do nothing. What *falls short* is every proper subset of
the fixes, or of an `impl` task every wrong body: each scores 0. It is *named* if the judge calls unfixed exactly what
is left, by an invariant that it breaks, and besides at most bugs in whose runs `task.toml` lets it fail (`despite`).
It is judged by the runs that detect bugs, of all hidden tests: where one of these fails the test has failed. So is the
edit that repairs nothing; what does nothing is judged without the runs that ask for progress, all else by the whole
suite.

How hard a bug is to see where it is alone, by the tables of kills (`docs/PROTOCOL-mutants.md`): the median of the
schedules that a hunt needs for it, the *rate* per 1,000 schedules that this comes to if half of all hunts end within
the median, and the events of its shortest story. The hardest figures of a task stand in the first table.

CPU time is the judge's and its workers' for one score of the reference; the time by the clock depends on what else the
machine did: *load* is how many processes wanted its processors. The judge gives up after {LIMIT:g} s of CPU time of its
own, or {WALL:g} s by the clock; the reference may take one in {PART} of that, if one processor does nothing else.
"""


def page() -> str:
    """Markdown, of all tasks that have a certificate."""
    pairs = [(load_task(name), found) for name in tasks() if (found := read(name))]
    rows = [row for task, found in pairs for row in _rows(task, found)]
    sections = [line for task, found in pairs for line in _section(task, found)]
    return "\n".join([INTRODUCTION.strip(), "", *markdown.table([HEAD, *rows], 5), *sections, ""])


def _rows(task: Task, found: Certificate) -> Iterator[tuple[str, ...]]:
    rarest = min(about.rate for about in found.bugs.values())
    longest = max(about.shortest for about in found.bugs.values())
    for language, measured in found.languages.items():
        yield (
            f"[{task.name}](#{task.name})",
            task.kind,
            task.protocol,
            language,
            measured.date,
            str(len(task.bugs)),
            f"{rarest:.0f}",
            str(longest),
            str(len(short(task))),
            str(_named(task, measured)),
            f"{measured.cpu:.1f}",
            f"{measured.wall:.1f}",
            f"{measured.load:.1f}",
        )


def _named(task: Task, measured: Measured) -> int:
    """How many candidates that fall short have no fault."""
    names = [" + ".join(left) for left in short(task)]
    return sum(not any(fault.startswith(f"{name}: ") for fault in measured.faults) for name in names)


def _section(task: Task, found: Certificate) -> Iterator[str]:
    suite = load_suite(task.name, secret())
    yield from ("", f"## {task.name}", "", f"{task.title}. {task.tests} hidden tests of {len(suite.runs)} runs.", "")
    for language, measured in found.languages.items():
        seeds = ", ".join(measured.seeds)
        yield f"In {language}: {measured.tools}, {measured.machine}, sandbox {measured.isolation}; seed sets: {seeds}."
    rows = [("bug", "breaks", "schedules", "rate", "story", "hunts that found it")]
    for bug, about in found.bugs.items():
        broken = {name for measured in found.languages.values() for name in measured.verdicts[bug].broken}
        found_by = f"{about.kills} / {about.hunts}"
        figures = (f"{about.schedules:g}", f"{about.rate:.0f}", str(about.shortest), found_by)
        rows.append((f"`{bug}`", ", ".join(sorted(broken)), *figures))
    yield from ("", *markdown.table(rows, 2))
    for fault in found.faults:
        yield from ("", f"**{fault}.**")
