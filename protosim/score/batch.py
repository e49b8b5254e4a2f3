"""Many answers to one task: a folder of files, each judged by itself."""

import os
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

import attrs

from protosim.errors import UserError
from protosim.proofs import problem
from protosim.score import score
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


def rows(task: str, folder: Path, names: Sequence[str]) -> Generator[Row]:
    for name in names:
        try:
            found = score(task, folder / name)
        except UserError as error:
            yield Row(name=name, stage="error", sentence=str(error))
            continue
        kept = {field.name: getattr(found, field.name) for field in attrs.fields(Row) if field.name != "name"}
        yield Row(name=name, **kept)


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
