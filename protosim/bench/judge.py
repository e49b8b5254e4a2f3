"""The judge: what it takes to score an answer to a task, in each language.

Three answers make a batch: the reference, a repair that leaves one bug, what was handed out. The reference was scored
once before, unmeasured: what is compiled once and kept is there then.
"""

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

import mutations
from mutations import engine
from mutations import golang as mutated
from protosim.adapters import go
from protosim.bench.page import Section, load
from protosim.bench.timing import cpu
from protosim.program import reference
from protosim.run import simulate
from protosim.score import candidates, handed_out, score
from protosim.score.batch import Used
from protosim.score.result import Result
from protosim.score.suite import Task, load_suite, load_task, secret, trials

TASK = "fix_raft_safety"
WHOLE = "the reference"
NAMES = {"python": "Python", "go": "Go"}


@attrs.frozen(kw_only=True)
class Scored:
    """The score of one answer; all times in seconds, by the clock unless it says otherwise."""

    language: str
    answer: str
    score: float
    events: int  # of the suite's runs; those that the Go suite adds, and what is played twice, do not count
    wall: float
    cpu: float  # CPU time, of this process and of all that it started
    runs: float  # of `wall`: while the runs were played
    after: float  # of `wall`: then

    @property
    def before(self) -> float:
        """Of `wall`: until all runs had their first event answered. Gate and compiler are here."""
        return self.wall - self.runs - self.after


@attrs.frozen(kw_only=True)
class Judged:
    scored: tuple[Scored, ...]  # the answers of a batch, language after language
    missing: str  # why there is no Go, or nothing
    runs: int  # of the suite
    here: float  # events of the reference in Python a second of CPU time, when its nodes are in this process
    load: str  # of the machine, before the first score
    processors: int

    def languages(self) -> list[str]:
        return list(dict.fromkeys(each.language for each in self.scored))

    def of(self, language: str) -> list[Scored]:
        return [each for each in self.scored if each.language == language]


def measure(progress: Callable[[str], None]) -> Judged:
    """Raises UserError where the suite is missing."""
    task, at_first, missing = load_task(TASK), load(), _missing()
    found: list[Scored] = []
    for language in candidates.languages(task):
        if language == "go" and missing:
            continue
        progress(f"the judge: {TASK} in {NAMES[language]}, to warm up")
        _scored(language, WHOLE, candidates.reference_of(task, language))
        for answer, source in answers(task, language).items():
            progress(f"the judge: {TASK} in {NAMES[language]}, {answer}")
            found.append(_scored(language, answer, source))
    progress(f"the judge: {TASK} in this process")
    runs, rate = _here(task)
    processors = os.cpu_count() or 1
    return Judged(
        scored=tuple(found), missing=missing, runs=runs, here=rate, load=at_first, processors=processors
    )


def answers(task: Task, language: str) -> dict[str, str]:
    """The sources of a batch, by what they are."""
    whole, left = candidates.reference_of(task, language), task.bugs[0]
    bug = mutations.find(task.protocol, left, reference(task.protocol).source)
    partial = mutated.apply_all(whole, [bug]) if language == "go" else engine.apply_all(whole, [bug])
    return {WHOLE: whole, f"all repaired but {left}": partial, "as handed out": handed_out(task.name, language)}


def _missing() -> str:
    try:
        go.find()
    except go.Missing as missing:
        return str(missing)
    return ""


def _scored(language: str, answer: str, source: str) -> Scored:
    """Raises RuntimeError if the reference does not solve the task, by both verdicts where there are two."""
    calls: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        candidate = Path(folder, f"candidate.{'go' if language == 'go' else 'py'}")
        candidate.write_text(source, "utf-8")
        started = Used.until_now()
        result = score(TASK, candidate, progress=lambda *_: calls.append(time.monotonic()))
        used, ended = started.since(), time.monotonic()
    _require_sound(result, answer)
    first, last = (calls[0], calls[-1]) if calls else (ended, ended)
    return Scored(
        language=language,
        answer=answer,
        score=result.score or 0.0,
        events=sum(run["events"] for run in result.runs.values()),
        wall=used.wall,
        cpu=used.cpu,
        runs=round(last - first, 3),
        after=round(ended - last, 3),
    )


def _require_sound(result: Result, answer: str) -> None:
    second = result.go_suite
    agreed = result.score is not None and not result.disagreement and (second is None or second.solved is not None)
    if not agreed or result.solved != (answer == WHOLE):
        says = result.disagreement or (second.sentence if second and second.solved is None else result.sentence)
        raise RuntimeError(f"{answer} has not the score that it is due, {result.score}: {says}")


def _here(task: Task) -> tuple[int, float]:
    """The suite's runs, and events a second of CPU time."""
    using, program = secret(), reference(task.protocol)
    whole = trials(task, load_suite(task.name, using), using)
    seconds, events = cpu(lambda: sum(simulate(program, trial.scenario).events for trial in whole))
    return len(whole), round(events / seconds)


def per_hour_and_core(scored: list[Scored]) -> float:
    """So many answers in an hour, if one core were busy with nothing else."""
    return Used(0.0, sum(each.cpu for each in scored)).rate(len(scored))


def section(judged: Judged) -> Section:
    head = ("answer", "score", "takes, s", "CPU, s", "gate, s", "runs, s", "then, s", "events/s", "an hour and core")
    rows: list[tuple[str, ...]] = [head]
    for language in judged.languages():
        those = judged.of(language)
        rows += [
            (f"{NAMES[language]}: {each.answer}", f"{each.score:g}", *_times([each]), _rate(each), _hourly([each]))
            for each in those
        ]
        rows.append((f"{NAMES[language]}: all of these", "", *_times(those), "", _hourly(those)))
    note = (
        f"{TASK}: the gate, the {judged.runs} runs of the suite, then some of them again, and for Go its second "
        "verdict. What is compiled once and kept was there. The gate has the compiler in it, and goes to the first "
        "answered event; `then` has the Go suite in it. Times are by the clock, but for CPU time, which is that of "
        "all processes. Events are those of the runs, a second of all that a score takes. "
        f"{judged.processors} processors, load {judged.load} at the start."
    )
    return Section("The judge", tuple(rows), f"{note} Go was left out: {judged.missing}" if judged.missing else note)


def _times(scored: list[Scored]) -> tuple[str, ...]:
    columns = [(each.wall, each.cpu, each.before, each.runs, each.after) for each in scored]
    return tuple(f"{sum(column):.1f}" for column in zip(*columns, strict=True))


def _rate(each: Scored) -> str:
    return f"{each.events / each.wall:,.0f}" if each.events else ""


def _hourly(scored: list[Scored]) -> str:
    return f"{per_hour_and_core(scored):,.0f}"


def rates(judged: Judged) -> Mapping[str, float]:
    """By language: events a second of the reference, while its runs were played."""
    whole = [each for each in judged.scored if each.answer == WHOLE]
    return {each.language: round(each.events / each.runs) for each in whole}
