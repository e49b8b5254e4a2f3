"""Soak: millions of events of the unbroken protocol, under the portfolio and under each scheduler alone.

An invariant or a warning that fires here is wrong, or the protocol is. What was covered is counted as well, since a
million heartbeats prove nothing: distinct abstract states, and how often each check was the sole reason to refuse.
"""

import contextlib
from collections.abc import Callable, Iterator

import attrs

from protosim import checks, markdown
from protosim.plan import Wish
from protosim.program import Program, modules
from protosim.survey import Seen, Total, survey

PORTFOLIO = "portfolio"
SHARE = 10  # each scheduler alone gets a tenth of the portfolio's events


def schedulers() -> list[str]:
    """All but `replay`, which has no schedule of its own."""
    return [name for name in modules("schedulers") if name != "replay"]


@attrs.frozen
class Soaked:
    """What one scheduler's runs amount to."""

    scheduler: str
    total: Total

    @property
    def clean(self) -> bool:
        total = self.total
        return total.violation is None and not total.warnings and total.failed is None


def soak(
    program: Program, seed: int, events: int, jobs: int, progress: Callable[[str, Seen], None]
) -> Iterator[Soaked]:
    """The portfolio first, then each scheduler. A scheduler's runs end where something fires."""
    yield _soak(program, PORTFOLIO, Wish(seed=seed), events, jobs, progress)
    for name in schedulers():
        yield _soak(program, name, Wish(seed=seed, scheduler=name), max(1, events // SHARE), jobs, progress)


def _soak(
    program: Program, name: str, wish: Wish, events: int, jobs: int, progress: Callable[[str, Seen], None]
) -> Soaked:
    soaked = Soaked(name, Total())
    with contextlib.closing(survey(program, wish, None, jobs)) as runs:
        for seen in runs:
            soaked.total.add(seen)
            progress(name, seen)
            if not soaked.clean or soaked.total.events >= events:
                break
    return soaked


# -- The report --------------------------------------------------------------------------------------


def figures(soaked: list[Soaked]) -> list[tuple[str, ...]]:
    """A row a scheduler, below a row of headings."""
    rows: list[tuple[str, ...]] = [("scheduler", "runs", "events", "abstract states", "outcome")]
    for each in soaked:
        total = each.total
        outcome = "clean" if each.clean else sentence(each)
        rows.append((each.scheduler, f"{total.runs:,}", f"{total.events:,}", f"{len(total.states):,}", outcome))
    return rows


def sole_refusals(source: str, soaked: list[Soaked]) -> list[tuple[str, ...]]:
    """A row a check, below a row of schedulers: how often it alone refused. All checks of the protocol's own file are
    there, and those that it inherits and that refused something."""
    refused = {check for each in soaked for check in each.total.refused}
    rows: list[tuple[str, ...]] = [("check", *(each.scheduler for each in soaked))]
    for check in sorted(refused | set(checks.names(source))):
        rows.append((check, *(f"{each.total.refused_alone[check]:,}" for each in soaked)))
    return rows


def sentence(each: Soaked) -> str:
    """What fired, and in which run of the scheduler."""
    total = each.total
    number = total.runs - 1
    if total.failed is not None:
        return f"run {number}: the protocol failed: {total.failed.run.failure}"
    broken = total.violation or total.warnings[0]
    return f"run {number}: {broken.invariant.title}: {broken.sentence}"


def page(program: Program, soaked: list[Soaked], about: str) -> str:
    """The report as Markdown."""
    total = sum(each.total.events for each in soaked)
    return "\n".join(
        [
            f"# Soak of {program.name}",
            "",
            f"{total:,} events of the unbroken protocol; nothing may fire. {about}",
            "",
            *markdown.table(figures(soaked), 1),
            "",
            "How often each check was the sole reason to refuse (0: this scheduler does not test it):",
            "",
            *markdown.table(sole_refusals(program.source, soaked), 1),
            "",
        ]
    )
