"""Is a task worth asking, and does its judge say what is true? Candidates whose verdicts are known are judged.

The reference solves the task, again and again by the same report, and takes little of the time that there is. What is
handed out scores nothing, nor does what does nothing; of what falls short the judge names exactly what is left.
`despite` of a recipe says whose runs fail by other bugs too: those may be named besides.

What falls short is judged by the runs of kind "kill" of all hidden tests: where one of them fails the test has failed,
whatever its other runs would say, and these alone say which bugs are left. What does nothing is judged without the
"live" runs, which are long where nothing happens. All else is judged by the whole suite.
"""

import contextlib
import importlib
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from pathlib import Path
from statistics import median
from typing import Any

import attrs
import cattrs

from mutations import catalogue
from protosim import files, kills, markdown, paths
from protosim import score as scoring
from protosim.adapters import go, sandbox
from protosim.errors import UserError
from protosim.pool import in_order
from protosim.score import gojudge
from protosim.score.batch import Used
from protosim.score.calibrate import calibrate
from protosim.score.candidates import LANGUAGES, Candidate, candidates, reference_of
from protosim.score.judge import LIMIT, WALL
from protosim.score.result import Result
from protosim.score.suite import Secret, Suite, Task, load_suite, load_task, secret

CERTIFICATE = "certificate.json"  # in the task's folder
REPEATS = 3  # of the reference's score
PART = 4  # one in so many of the limits is what the reference may take
MARGIN = 0.1  # what is handed out passes less than the least share of tests by that much
WRONG_BODIES = 5  # of an `impl` task, at least
JUDGED_BY = {"named": ("kill",), "inert": ("kill",), "idle": ("kill", "chaos")}  # kinds of runs; else by all
SECOND = {True: "solved", False: "not solved", None: ""}

Tick = Callable[[float, str], None]
"""(the share of the whole that is done now, what was done)"""


@attrs.frozen(kw_only=True)
class Verdict:
    """What the judge said of a candidate."""

    stage: str
    score: float
    pass_rate: float
    unfixed: tuple[str, ...] = ()
    regressed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()  # the invariants that its left bugs have broken
    runs: int  # that were played
    sentence: str = ""  # why it is that stage, where the score is not what is due
    second: str = ""  # of the Go suite, on a candidate in Go: "solved", "not solved", or why it says nothing
    disagreement: str = ""  # of the two verdicts
    report: str  # digest of all that was said, timings apart
    cpu: float  # seconds, of this process and its workers
    judge_cpu: float  # of this process alone, which has a limit
    wall: float


@attrs.frozen(kw_only=True)
class Measured:
    """In one language. `of` tells whether it is about the task as it stands."""

    of: str
    date: str
    machine: str
    tools: str
    isolation: str
    seeds: tuple[str, ...]  # the seed sets under which the reference was judged
    repeats: int  # of it under the first of them; all reports were equal, if no fault says otherwise
    cpu: float  # seconds of the reference's score: the median
    judge_cpu: float
    wall: float
    load: float  # processes that wanted a processor, on average over the last five minutes
    verdicts: dict[str, Verdict]  # by the candidate's name
    faults: tuple[str, ...]  # why the task is not to be trusted in this language; none, if it is


@attrs.frozen(kw_only=True)
class Drift:
    """How hard one bug is to see, where it is alone: its row in the table of kills."""

    kills: int  # hunts that it broke,
    hunts: int  # of so many
    schedules: float  # of a hunt until then, the median
    shortest: int  # events of its shortest story

    @property
    def rate(self) -> float:
        """Kills per 1,000 schedules, if half of all hunts end within the median."""
        return 1000 * (1 - math.exp2(-1 / self.schedules))


@attrs.frozen(kw_only=True)
class Certificate:
    task: str
    bugs: dict[str, Drift]
    languages: dict[str, Measured]

    @property
    def faults(self) -> list[str]:
        return [f"in {name}: {fault}" for name, found in self.languages.items() for fault in found.faults]


# -- One candidate -----------------------------------------------------------------------------------


def judged(name: str, candidate: Candidate, task: Task, using: Secret, suite: Suite | None) -> Verdict:
    """The judge's verdict: as everybody has it, or by this suite. UserError: the machine fails."""
    before, own, started = Used.until_now(), time.process_time(), time.monotonic()
    try:
        result = _as_everybody(candidate, task) if suite is None else _by(suite, candidate, task, using)
    except (OSError, MemoryError) as error:
        raise UserError(f"{name} cannot be judged: {type(error).__name__}: {error}. Try again.") from None
    if result.score is None:
        raise UserError(f"{name} cannot be judged: {result.sentence}. Try again.")
    wall, own = time.monotonic() - started, time.process_time() - own
    return _verdict(candidate, result, Used.until_now().cpu - before.cpu, own, wall)


def _as_everybody(candidate: Candidate, task: Task) -> Result:
    with tempfile.TemporaryDirectory(prefix="score-") as folder:
        file = Path(folder, f"candidate.{'go' if candidate.language == 'go' else 'py'}")
        file.write_text(candidate.source, "utf-8")
        return scoring.score(task.name, file)


def _by(suite: Suite, candidate: Candidate, task: Task, using: Secret) -> Result:
    return scoring._score(task, suite, using, candidate.language, candidate.source.encode(), None)


def _verdict(candidate: Candidate, result: Result, cpu: float, own: float, wall: float) -> Verdict:
    owed, second = 1.0 if candidate.due == "solved" else 0.0, result.go_suite
    broken = {failure["invariant"] for failure in result.failures if failure["bug"] in candidate.left}
    first = next((f"; {failure['run']}: {failure['sentence']}" for failure in result.failures), "")
    return Verdict(
        stage=result.stage,
        score=result.score or 0.0,
        pass_rate=result.pass_rate or 0.0,
        unfixed=tuple(bug for bug, state in result.bugs.items() if state == "unfixed"),
        regressed=tuple(bug for bug, state in result.bugs.items() if state == "regressed"),
        broken=tuple(sorted(filter(None, broken))),
        runs=len(result.runs),
        sentence="" if result.score == owed else result.sentence + first,
        second=SECOND[second.solved] or second.sentence if second else "",
        disagreement=result.disagreement,
        report=blake2b(json.dumps(untimed(result.to_json()), sort_keys=True).encode(), digest_size=8).hexdigest(),
        cpu=round(cpu, 2),
        judge_cpu=round(own, 2),
        wall=round(wall, 2),
    )


def untimed(raw: Any) -> Any:
    """A report without what it says of seconds."""
    if isinstance(raw, dict):
        return {name: untimed(value) for name, value in raw.items() if "seconds" not in name}
    return [untimed(item) for item in raw] if isinstance(raw, list | tuple) else raw


def drifts(task: Task) -> dict[str, Drift]:
    """By bug. UserError: the table of kills lacks one, or it has no story."""
    rows, found = kills.expected(task.protocol), dict[str, Drift]()
    for bug in task.bugs:
        row = rows.get(bug)
        if row is None or row.shrunk is None:
            raise UserError(f"{bug} has no story in the table of kills: protosim kills {task.protocol} --update.")
        found[bug] = Drift(kills=row.kills, hunts=row.hunts, schedules=row.runs, shortest=row.shrunk[0])
    return found


# -- A task ------------------------------------------------------------------------------------------

Named = tuple[str, Candidate, Secret, Suite | None]
"""(a name for the verdict, whom to judge, and by what)"""


def certify(task: Task, language: str, seeds: Sequence[str], jobs: int, tick: Tick) -> Certificate:
    """Judge every candidate in a language, `jobs` at a time: minutes of CPU.

    `seeds` names secrets beside the published one: for each a suite is made, which takes minutes more. What was
    measured in another language stays. Raises UserError where the language lacks a tool, or the machine fails.
    """
    if os.environ.get("PROTOSIM_SECRET"):
        raise UserError("A certificate is about the suite in the repository: run this without PROTOSIM_SECRET.")
    suites = {name: calibrate(task, seed_set(name), jobs) for name in seeds}
    bugs, found, before = drifts(task), _measured(task, language, suites, jobs, tick), read(task.name)
    both = {**(before.languages if before else {}), language: found}
    return Certificate(task=task.name, bugs=bugs, languages={name: both[name] for name in LANGUAGES if name in both})


def seed_set(name: str) -> Secret:
    """A secret that is made of a name."""
    return Secret("private", sha256(f"protosim: seeds {name}".encode()).digest())


def _measured(task: Task, language: str, suites: Mapping[str, Suite], jobs: int, tick: Tick) -> Measured:
    of, those = fingerprint(task, language), list(to_judge(task, language, suites))
    verdicts: list[Verdict] = []
    with contextlib.closing(in_order(judged, ((n, c, task, using, s) for n, c, using, s in those), jobs)) as answers:
        for (name, *_), verdict in zip(those, answers, strict=True):
            verdicts.append(verdict)
            tick(1 / len(those), f"{task.name} in {language}: {name}")
    repeats, told = verdicts[:REPEATS], list(zip(those, verdicts, strict=True))
    return Measured(
        of=of,
        date=datetime.now(UTC).date().isoformat(),
        machine=markdown.machine(),
        tools=f"Go {go.find().version}, {markdown.python()}" if language == "go" else markdown.python(),
        isolation=sandbox.level(),
        seeds=("public", *suites),
        repeats=REPEATS,
        cpu=round(median(v.cpu for v in repeats), 1),
        judge_cpu=round(median(v.judge_cpu for v in repeats), 1),
        wall=round(median(v.wall for v in repeats), 1),
        load=round(os.getloadavg()[1], 1),
        verdicts={name: verdict for (name, *_), verdict in (told[0], *told[REPEATS:])},
        faults=tuple(_faults(task, [(name, candidate, verdict) for (name, candidate, *_), verdict in told])),
    )


def to_judge(task: Task, language: str, suites: Mapping[str, Suite]) -> Iterator[Named]:
    """Whom to judge: the reference a few times, then under other secrets, then the others."""
    public = secret()
    whole = load_suite(task.name, public)
    first, *others = candidates(task, language)
    yield first.name, first, public, None
    for again in range(2, REPEATS + 1):
        yield f"{first.name}, again ({again})", first, public, None
    for name, suite in suites.items():
        yield f"{first.name}, seeds {name}", first, seed_set(name), suite
    for other in others:
        yield other.name, other, public, part(task, whole, JUDGED_BY[other.due]) if other.due in JUDGED_BY else None


def part(task: Task, suite: Suite, kinds: Sequence[str]) -> Suite:
    """The suite's runs of these kinds, of all hidden tests."""
    recipes = task.recipes()
    return attrs.evolve(suite, runs=tuple(run for run in suite.runs if recipes[run.recipe].kind in kinds))


# -- What is wrong -----------------------------------------------------------------------------------

Judged = tuple[str, Candidate, Verdict]


def _faults(task: Task, those: Sequence[Judged]) -> Iterator[str]:
    reports = {verdict.report for _, _, verdict in those[:REPEATS]}
    if len(reports) > 1:
        yield f"{REPEATS} scores of the reference gave {len(reports)} different reports"
    if (seconds := median(v.judge_cpu for _, c, v in those if c.due == "solved")) > LIMIT / PART:
        yield f"the judge takes {seconds:.0f} s of CPU for the reference, more than {LIMIT / PART:g}"
    if (seconds := median(v.cpu for _, c, v in those if c.due == "solved")) > WALL / PART:
        yield f"the reference takes {seconds:.0f} s on one processor, more than {WALL / PART:g}"
    if task.kind == "impl" and len(task.bugs) < WRONG_BODIES:
        yield f"there are {len(task.bugs)} wrong bodies; {WRONG_BODIES} are the least"
    for name, candidate, verdict in those:
        for says in _wrong(task, candidate, verdict):
            yield f"{name}: {says}"


def _wrong(task: Task, candidate: Candidate, verdict: Verdict) -> Iterator[str]:
    """Where the verdict is not what is due."""
    if verdict.disagreement:
        yield verdict.disagreement
    if verdict.second not in ("", *SECOND.values()) and gojudge.folder(task.name).is_dir():
        yield f"the second verdict is missing: {verdict.second}"
    if candidate.due == "solved":
        if (verdict.stage, verdict.score) != ("scored", 1.0):
            yield f"it is not solved: {verdict.stage}, score {verdict.score}: {verdict.sentence}"
        return
    if verdict.score != 0:
        yield f"it scores {verdict.score}: {verdict.stage}: {verdict.sentence}"
    elif verdict.pass_rate > task.min_pass_rate - MARGIN:
        yield f"it passes {verdict.pass_rate:g} of the hidden tests, too near to {task.min_pass_rate:g}"
    if candidate.due == "unmodified" and verdict.stage != "unmodified":
        yield f"it is {verdict.stage}, and should be unmodified"
    if candidate.due == "inert" and task.kind == "fix" and set(verdict.unfixed) != set(task.bugs):
        yield f"not all bugs are called unfixed: {_listed(verdict.unfixed)}"
    if candidate.due == "named":
        yield from _misnamed(task, candidate, verdict)


def _misnamed(task: Task, candidate: Candidate, verdict: Verdict) -> Iterator[str]:
    left, unfixed = set(candidate.left), set(verdict.unfixed)
    besides = {recipe.kills for recipe in task.recipe if not left.isdisjoint(recipe.despite)}
    if verdict.pass_rate:
        yield f"it passes {verdict.pass_rate:g} of the hidden tests"
    if missing := left - unfixed:
        yield f"not called unfixed: {_listed(missing)}"
    if more := unfixed - left - besides:
        yield f"called unfixed, and are not there: {_listed(more)}"
    if task.kind == "fix" and (more := set(verdict.regressed) - besides):
        yield f"called regressed, and are not there: {_listed(more)}"
    if len(left) == 1 and left <= unfixed:
        breaks = catalogue.load(task.protocol)[candidate.left[0]].breaks
        if not set(breaks) & set(verdict.broken):
            yield f"it breaks {_listed(verdict.broken)}, and its entry names {_listed(breaks)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


# -- Files -------------------------------------------------------------------------------------------


def fingerprint(task: Task, language: str) -> str:
    """Of everything that the measures in a language are about: task, suites, reference, the bugs' edits."""
    digest = blake2b(digest_size=8)
    folder = paths.data("tasks") / task.name
    texts = [(folder / name).read_text("utf-8") for name in ("task.toml", "suite.json")]
    texts.append(reference_of(task, language))
    if language == "python":
        texts += [Path(str(importlib.import_module(name).__file__)).read_text("utf-8") for name in task.library]
    if language == "go" and (second := gojudge.folder(task.name) / "suite.json").is_file():
        texts.append(second.read_text("utf-8"))
    known = catalogue.load(task.protocol)
    for bug in task.bugs:
        texts.append(f"{bug}: {known[bug].go if language == 'go' else known[bug].edits}")
    for text in texts:
        digest.update(text.replace("\r\n", "\n").encode() + b"\0")
    return digest.hexdigest()


def path_of(task: str) -> Path:
    return paths.data("tasks") / task / CERTIFICATE


def read(task: str) -> Certificate | None:
    """The certificate that lies beside the task, whatever it is about. UserError: it cannot be read."""
    path = path_of(task)
    if not path.is_file():
        return None
    try:
        return cattrs.structure(json.loads(path.read_text("utf-8")), Certificate)
    except Exception as error:
        says = f"{path} is damaged ({type(error).__name__}: {error})"
        raise UserError(f"{says}. Remove it and make it anew: {renewal(task)}") from None


def renewal(task: str) -> str:
    """The command."""
    return f"protosim task check {task} --write"


def stale(certificate: Certificate) -> list[str]:
    """A sentence for each part that is not about the task as it stands."""
    task = load_task(certificate.task)
    return [
        f"What is measured of {task.name} in {language} is not about what stands there now: {renewal(task.name)}"
        for language, found in certificate.languages.items()
        if found.of != fingerprint(task, language)
    ]


def keep(certificate: Certificate) -> None:
    """Write it beside the task: a line a verdict."""
    raw = attrs.asdict(certificate)
    lines: list[str] = []
    for language, found in raw["languages"].items():
        verdicts = found.pop("verdicts")
        block = ",\n".join(f"    {json.dumps(name)}: {json.dumps(verdict)}" for name, verdict in verdicts.items())
        lines.append(f'  "{language}": {json.dumps(found, indent=3)[:-2]},\n   "verdicts": {{\n{block}\n   }}\n  }}')
    bugs = ",\n".join(f"  {json.dumps(bug)}: {json.dumps(about)}" for bug, about in raw["bugs"].items())
    head = f'{{\n "task": {json.dumps(raw["task"])},\n "bugs": {{\n{bugs}\n }},\n "languages": {{\n'
    files.write(path_of(certificate.task), head + ",\n".join(lines) + "\n }\n}\n")
