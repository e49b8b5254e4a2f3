"""A task's hidden suite: which runs judge a candidate.

`task.toml` is written by a person: the bugs, the recipes (scenarios without a seed), the score's parameters.
`suite.json` is made from it by `protosim.score.calibrate`: for each run the recipe, a counter and a length, found by
search. A run's seed is

    HMAC(secret, task, split, recipe, counter)

so the file tells nobody who lacks the secret what will happen. The public split has a published secret; a private one
lies in the file that PROTOSIM_SECRET names, with its suite beside it as `<task>.suite.json`.
"""

import hmac
import json
import os
import tomllib
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import attrs
import cattrs

from protosim import paths
from protosim.errors import UserError
from protosim.keys import derive
from protosim.program import nearest
from protosim.scenario import Choice, Scenario
from protosim.words import plural

SCHEMA = "protosim/suite/1"
PUBLIC_SECRET = b"protosim: the secret of every public split"

Kind = Literal["kill", "chaos", "live"]

_convert = cattrs.Converter(forbid_extra_keys=True, omit_if_default=True)


@attrs.frozen(kw_only=True)
class Recipe:
    """A scenario without its seed and its length, and what runs made by it are for."""

    name: str
    kind: Kind
    kills: str = ""  # kill: the bug that its runs detect
    cause: str = ""  # a mutant that fails in its runs too: kill: a part of that bug; else: what a repair may get wrong
    sleeps: tuple[int, ...] = ()  # in µs: they fail too where the check that the cause drops holds for so long first
    despite: tuple[str, ...] = ()  # kill: bugs of an `impl` task that break nearly every run, and so its runs too
    per_test: int = 1
    nodes: int = 3
    switches: dict[str, Any] = attrs.field(factory=dict)  # of a list each run draws one
    scheduler: dict[str, Any]  # name, parameters
    faults: tuple[dict[str, Any], ...] = ()
    events: int  # at most
    horizon: int = 10**12
    heal: int | None = None
    goals: tuple[str, ...] = ()  # `sometimes` goals that each of its runs must reach
    answers: int = 30  # chaos, live: that the reference's clients must get at least

    def scenario(self, protocol: str, seed: int, events: int) -> Scenario:
        return Scenario(
            protocol=protocol,
            seed=seed,
            nodes=self.nodes,
            switches={name: _drawn(value, derive(seed, "switch", name)) for name, value in self.switches.items()},
            scheduler=_choice(self.scheduler),
            faults=tuple(_choice(fault) for fault in self.faults),
            events=events,
            horizon=self.horizon,
            heal=self.heal,
        )


def _drawn(value: Any, bits: int) -> Any:
    return value[bits % len(value)] if isinstance(value, list) else value


def _choice(raw: dict[str, Any]) -> Choice:
    return Choice(raw["name"], {name: value for name, value in raw.items() if name != "name"})


@attrs.frozen(kw_only=True)
class Task:
    """What `task.toml` says."""

    name: str
    title: str
    kind: Literal["fix", "impl"]
    protocol: str
    library: tuple[str, ...] = ()  # modules of ours that a candidate may import, beside the vocabulary
    families: str
    bugs: tuple[str, ...]  # ids of mutants. fix: what the handed-out source has; impl: wrong bodies, each by itself
    removed: tuple[str, ...] = ()  # impl: the functions that are handed out without their bodies
    tests: int  # hidden tests
    min_pass_rate: float
    steepness: float = 12.0  # k of the score's curve
    centre: float = 0.7  # c
    recipe: tuple[Recipe, ...]

    def recipes(self) -> dict[str, Recipe]:
        return {recipe.name: recipe for recipe in self.recipe}

    def fingerprint(self) -> str:
        """Of what a suite depends on."""
        parts = (self.name, self.protocol, self.bugs, self.tests, self.recipe, *filter(None, [self.removed]))
        raw = json.dumps(_convert.unstructure(parts), sort_keys=True).encode()
        return blake2b(raw, digest_size=8).hexdigest()


@attrs.frozen(kw_only=True)
class SubRun:
    """One run of a hidden test."""

    test: int  # from 1
    recipe: str
    counter: int  # of its seed
    events: int  # at most
    breaks: tuple[str, ...] = ()  # kill: the invariants that its bug breaks in it
    answers: int = 0  # that clients must get at least

    @property
    def name(self) -> str:
        return f"{self.test}/{self.recipe}/{self.counter}"


@attrs.frozen(kw_only=True)
class Suite:
    task: str
    split: str
    key: str  # tells secrets apart
    recipes: str  # fingerprint of the task that it was made from
    runs: tuple[SubRun, ...]


# -- Secrets and seeds -------------------------------------------------------------------------------


@attrs.frozen
class Secret:
    split: str
    value: bytes = attrs.field(repr=False)
    folder: Path | None = None  # where a private suite lies

    def bits(self, *about: str | int) -> int:
        message = "/".join(map(str, about)).encode()
        return int.from_bytes(hmac.digest(self.value, message, "sha256")[:8], "little")

    def seed(self, task: str, recipe: str, counter: int) -> int:
        return self.bits("seed", task, self.split, recipe, counter)

    @property
    def key(self) -> str:
        return f"{self.bits('key'):016x}"


def secret() -> Secret:
    """The public one, or the one in the file that PROTOSIM_SECRET names."""
    named = os.environ.get("PROTOSIM_SECRET", "")
    if not named:
        return Secret("public", PUBLIC_SECRET)
    try:
        value = Path(named).read_bytes().strip()
    except OSError as error:
        raise UserError(f"PROTOSIM_SECRET names {named}, which cannot be read: {error.strerror}.") from None
    if len(value) < 16:
        raise UserError(f"The secret in {named} has {plural(len(value), 'byte')}; that can be guessed: use 16 or more.")
    return Secret("private", value, Path(named).resolve().parent)


# -- Files -------------------------------------------------------------------------------------------


def tasks() -> list[str]:
    """The names of all tasks that runs judge: proofs have no suite."""
    files = paths.data("tasks").glob("*/task.toml")
    return sorted(p.parent.name for p in files if tomllib.loads(p.read_text("utf-8")).get("kind") != "proof")


def load_task(name: str) -> Task:
    if name not in tasks():
        raise nearest(name, tasks(), "task")
    path = paths.data("tasks") / name / "task.toml"
    task: Task = _structure(path, tomllib.loads(path.read_text("utf-8")), Task)
    return task


def suite_path(task: str, using: Secret) -> Path:
    if using.folder is not None:
        return using.folder / f"{task}.suite.json"
    return paths.data("tasks") / task / "suite.json"


def load_suite(task: str, using: Secret) -> Suite:
    path = suite_path(task, using)
    advice = f"Make it with `python -m protosim.score.calibrate {task}`."
    try:
        raw = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"The suite {path} cannot be read: {error.strerror}. {advice}") from None
    except ValueError as error:
        raise UserError(f"The suite {path} is damaged: {error}. {advice}") from None
    if not isinstance(raw, dict) or raw.pop("schema", None) != SCHEMA:
        raise UserError(f"The suite {path} is not of the schema {SCHEMA}. {advice}")
    suite: Suite = _structure(path, raw, Suite)
    if (suite.task, suite.split, suite.key) != (task, using.split, using.key):
        raise UserError(f"The suite {path} was made for another task or secret. {advice}")
    if suite.recipes != load_task(task).fingerprint():
        raise UserError(f"The suite {path} was made before task.toml was changed. {advice}")
    return suite


def dump_suite(suite: Suite) -> str:
    raw = _convert.unstructure(suite)
    runs = ",\n  ".join(json.dumps(run) for run in raw.pop("runs"))
    head = json.dumps({"schema": SCHEMA, **raw}, indent=1)
    return f'{head[:-2]},\n "runs": [\n  {runs}\n ]\n}}\n'


def _structure(path: Path, raw: Any, kind: Any) -> Any:
    try:
        return _convert.structure(raw, kind)
    except Exception as error:
        raise UserError(f"{path}: {'; '.join(cattrs.transform_error(error))}.") from None


@attrs.frozen
class Trial:
    """A run as it is to be played."""

    run: SubRun
    scenario: Scenario
    goals: tuple[str, ...]


def trials(task: Task, suite: Suite, using: Secret) -> list[Trial]:
    """The suite's runs with what their recipes and the secret make of them."""
    recipes = task.recipes()
    return [
        Trial(
            run,
            recipes[run.recipe].scenario(
                task.protocol, using.seed(task.name, run.recipe, run.counter), run.events
            ),
            recipes[run.recipe].goals,
        )
        for run in suite.runs
    ]


def twice(task: Task, whole: Sequence[Trial]) -> list[Trial]:
    """The runs that are played once more, to see whether they go the same way: the long ones of the first test."""
    recipes = task.recipes()
    return [trial for trial in whole if trial.run.test == 1 and recipes[trial.run.recipe].kind != "kill"]
