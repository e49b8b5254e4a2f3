"""The result of a score: its curve, its progress, its failures; made from the outcomes of a suite's runs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from protosim import paths
from protosim.api import Invariant
from protosim.score.gates import Refusal
from protosim.score.gojudge import Verdict
from protosim.score.judge import Outcome
from protosim.score.suite import SubRun, Suite, Task

SCHEMA = "protosim/score/1"
REPORT_IT = "One of them is wrong, which is a fault of protosim's: please report it, with the candidate's file."
OR_REPORT_IT = (
    "A repair that mends a bug in some cases alone, or breaks something else, may be the reason; if it is not, that is "
    "a fault of protosim's: please report it, with the candidate's file."
)


@attrs.frozen(kw_only=True)
class Result:
    """`to_json()` is what `protosim score --json` prints; all of it but `seconds` is the same every time."""

    task: str
    split: str
    language: str = ""  # of the candidate: python, go, dafny
    stage: str  # infra_error, compile_error, unmodified, tampered, timeout, below_min_pass_rate, scored
    sentence: str = ""  # why it is that stage
    score: float | None
    pass_rate: float | None = None
    solved: bool = False
    isolation: str = ""  # the level of the sandbox that its processes had
    bugs: Mapping[str, str] = attrs.field(factory=dict)
    invariants: Mapping[str, Mapping[str, int]] = attrs.field(factory=dict)
    tests: Mapping[str, bool] = attrs.field(factory=dict)
    failures: Sequence[Mapping[str, Any]] = ()
    runs: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    go_suite: Verdict | None = None  # the second verdict on a candidate in Go; the score is not its
    disagreement: str = ""  # of the two verdicts: which run shows it
    seconds: float = 0.0

    @property
    def status(self) -> str:
        if self.stage == "infra_error":
            return "error"
        return "ok" if self.solved else "violation"

    def to_json(self) -> dict[str, Any]:
        raw = attrs.asdict(self)
        raw["verdicts"] = {"simulator": {"solved": self.solved}} if self.runs else {}
        if (second := raw.pop("go_suite")) is not None:
            raw["verdicts"]["go_suite"] = second
        progress = {"bugs": raw.pop("bugs"), "invariants": raw.pop("invariants")}
        return {"schema": SCHEMA, "status": self.status, **raw, "progress": progress}


def curve(task: Task, passed: float) -> float:
    """From the share of hidden tests that passed to a score: 0 for none, exactly 1 for all."""

    def s(p: float) -> float:
        return 1 / (1 + math.exp(-task.steepness * (p - task.centre)))

    return round((s(passed) - s(0)) / (s(1) - s(0)), 6)


def refused(task: Task, split: str, refusal: Refusal) -> Result:
    """A gate decided."""
    return Result(
        task=task.name,
        split=split,
        stage=refusal.stage,
        sentence=refusal.sentence,
        score=0.0,
        pass_rate=0.0,
        bugs=dict.fromkeys(task.bugs, "unfixed"),
    )


def scored(
    task: Task, suite: Suite, invariants: Sequence[Invariant], outcomes: Mapping[str, Outcome], given_up: str
) -> Result:
    """What the outcomes mean. A run without an outcome has failed."""
    runs = {run.name: run for run in suite.runs}
    tests = {f"test_{n:02}": _passed(suite, n, outcomes) for n in range(1, task.tests + 1)}
    pass_rate = sum(tests.values()) / len(tests)
    stage, sentence = "scored", f"{sum(tests.values())} of {len(tests)} hidden tests passed"
    if given_up:
        stage, sentence = "timeout", given_up
    elif pass_rate < task.min_pass_rate:
        stage = "below_min_pass_rate"
        sentence += f"; {task.min_pass_rate:g} of them are the least"
    return Result(
        task=task.name,
        split=suite.split,
        stage=stage,
        sentence=sentence,
        score=curve(task, pass_rate) if stage == "scored" else 0.0,
        pass_rate=pass_rate,
        solved=stage == "scored" and pass_rate == 1,
        bugs={bug: _state(task, bug, runs, outcomes) for bug in task.bugs},
        invariants=_kept(task, invariants, runs, outcomes),
        tests=tests,
        failures=[_failure(task, runs[name], o) for name, o in outcomes.items() if o.ending != "passed"],
        runs={name: attrs.asdict(outcome) for name, outcome in outcomes.items()},
    )


def with_second(task: Task, first: Result, second: Verdict) -> Result:
    """The result with the Go suite's verdict beside it. Score and progress stay as they are."""
    return attrs.evolve(first, go_suite=second, disagreement=_disagreement(task, first, second))


def _disagreement(task: Task, first: Result, second: Verdict) -> str:
    """What one verdict says and the other denies, by the case that shows it; nothing if they agree.

    Where both see that it is not solved, they may do so by other runs. Which bugs of a `fix` task are left both say
    alike of every partial repair; a wrong body of an `impl` task may break the runs of others.
    """
    if second.solved is None:
        return ""
    if first.solved and not second.solved:
        says = f"the simulator finds it solved, and the Go suite does not: {_case(second.failures) or second.sentence}"
    elif second.solved and not first.solved:
        says = f"the Go suite finds it solved, and the simulator does not: {_case(first.failures) or first.sentence}"
    elif differing := task.kind == "fix" and _differing(first, second):
        return f"Two verdicts name other bugs: {differing}. {OR_REPORT_IT}"
    else:
        return ""
    return f"Two verdicts disagree: {says}. {REPORT_IT}"


def _differing(first: Result, second: Verdict) -> str:
    """Bugs that one calls fixed and the other left. A story that fails otherwise, in a panic say, calls none fixed."""
    failed = [run.get("bug") for run in second.failures]
    missed = [bug for bug in second.bugs if first.bugs[bug] == "fixed"]
    invented = [bug for bug in second.told if first.bugs[bug] == "unfixed" and bug not in (*second.bugs, *failed)]
    return "; ".join(
        [f"{bug} is fixed for the simulator, and left for the Go suite" for bug in missed]
        + [f"{bug} is left for the simulator, and fixed for the Go suite" for bug in invented]
    )


def _case(failures: Sequence[Mapping[str, Any]]) -> str:
    """The first one."""
    for run in failures[:1]:
        return f"{run.get('run') or run['name']}: {run['sentence']}".rstrip(".")
    return ""


def _passed(suite: Suite, test: int, outcomes: Mapping[str, Outcome]) -> bool:
    return all(
        run.name in outcomes and outcomes[run.name].ending == "passed" for run in suite.runs if run.test == test
    )


def _state(task: Task, bug: str, runs: Mapping[str, SubRun], outcomes: Mapping[str, Outcome]) -> str:
    """fixed, unfixed, or regressed: its runs fail otherwise than by this bug, or no client ever got an answer."""
    recipes = task.recipes()
    ended = [(runs[name], outcome) for name, outcome in outcomes.items()]
    own = [(run, o) for run, o in ended if recipes[run.recipe].kills == bug and o.ending != "passed"]
    if any(outcome.invariant in run.breaks for run, outcome in own):
        return "unfixed"
    alive = any(outcome.answers for outcome in outcomes.values())
    return "fixed" if alive and not own else "regressed"


def _kept(
    task: Task, invariants: Sequence[Invariant], runs: Mapping[str, SubRun], outcomes: Mapping[str, Outcome]
) -> dict[str, dict[str, int]]:
    """For each invariant: how many runs judge it, and in how many of these it was kept."""
    recipes = task.recipes()
    kept: dict[str, dict[str, int]] = {}
    for invariant in invariants:
        judging, good = list(runs), {"passed", "goal", "violation"}
        if invariant.mode == "eventually":
            judging = [name for name, run in runs.items() if recipes[run.recipe].heal is not None]
            good = {"passed", "goal"}
        elif invariant.mode != "always":
            continue
        ended = [outcomes[name] for name in judging if name in outcomes]
        passed = sum(o.ending in good and o.invariant != invariant.name for o in ended)
        kept[invariant.name] = {"passed": passed, "expected": len(judging)}
    return kept


def _failure(task: Task, run: SubRun, outcome: Outcome) -> dict[str, Any]:
    """One failed run, for a person; with the shortest known story of the bug that it detects, where there is one."""
    bug = task.recipes()[run.recipe].kills
    story = f"counterexamples/{bug}.json"
    there = bool(bug) and (paths.data("tasks") / task.name / story).is_file()
    return {
        "test": f"test_{run.test:02}",
        "run": run.name,
        "bug": bug,
        "ending": outcome.ending,
        "invariant": outcome.invariant,
        "sentence": outcome.sentence,
        "events": outcome.events,
        "counterexample": story if there and outcome.invariant in run.breaks else None,
    }
