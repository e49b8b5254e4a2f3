"""Many answers to one task: a folder of files, each judged by itself."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from protosim.errors import UserError
from protosim.proofs import problem
from protosim.run import printable
from protosim.score import score
from protosim.score.judge import Progress
from protosim.score.pool import Worker
from protosim.score.suite import load_task


@attrs.frozen(kw_only=True)
class Row:
    """What became of one answer. `score` is None if it could not be judged."""

    name: str
    stage: str
    sentence: str
    score: float | None = None
    pass_rate: float | None = None
    solved: bool = False
    bugs: Mapping[str, str] = attrs.field(factory=dict)
    disagreement: str = ""  # of two verdicts
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        return "no score" if self.score is None else f"{self.score:g}"


def answers(task: str, folder: Path) -> list[str]:
    """The names of the folder's answers, in order. Raises UserError for an unknown task, or where there is none."""
    endings = (".dfy",) if problem.given(task) else (".py", ".go")
    if endings != (".dfy",):
        load_task(task)
    try:
        with os.scandir(folder) as entries:
            names = sorted(x.name for x in entries if x.name.endswith(endings) and not x.name.startswith("."))
    except OSError as error:
        raise UserError(f"The folder {folder} cannot be read: {error.strerror}.") from None
    if not names:
        raise UserError(f"The folder {folder} holds no answer: they end in {' or '.join(endings)}.")
    return names


def known(verdict: Mapping[str, Any] | None) -> Row | None:
    """The row of a verdict that was kept; None where there was none, or the machine failed then."""
    if verdict is None or verdict.get("score") is None:
        return None
    try:
        return Row(**{field.name: verdict[field.name] for field in attrs.fields(Row)})
    except KeyError:
        return None  # another version's


def row(task: str, answer: Path, progress: Progress | None = None) -> Row:
    """Judge one answer."""
    try:
        found = score(task, answer, progress=progress)
    except UserError as error:
        return Row(name=answer.name, stage="error", sentence=printable(str(error)))
    kept = {field.name: getattr(found, field.name) for field in attrs.fields(Row) if field.name != "name"}
    return Row(name=answer.name, **kept)


@attrs.frozen
class Used:
    """Seconds by the clock, and of CPU time in this process and in all that it started and that have ended."""

    wall: float
    cpu: float

    @classmethod
    def until_now(cls) -> "Used":
        return cls(round(time.monotonic(), 3), round(sum(os.times()[:4]) + Worker.spent, 3))

    def since(self) -> "Used":
        now = self.until_now()
        return Used(round(now.wall - self.wall, 3), round(now.cpu - self.cpu, 3))

    def rate(self, count: int) -> float:
        """So many in an hour, if one core were busy with nothing else."""
        return round(count * 3600 / max(self.cpu, 0.001), 1)
