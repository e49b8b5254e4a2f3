"""The verdicts on answers, kept in a file as they are made: what was judged once is known, whatever ended the work.

A line a verdict, and lines are only ever added. One that was cut short, by a full disk or a lost machine, is passed
over when the file is read, and the next one begins on a line of its own.
"""

import contextlib
import json
import os
from hashlib import blake2b
from pathlib import Path
from typing import Any

import attrs

from protosim import __version__
from protosim.errors import UserError
from protosim.program import reference
from protosim.proofs import problem
from protosim.score import gates, gojudge, golang
from protosim.score.proof import LARGEST_ANSWER
from protosim.score.suite import load_suite, load_task, secret, suite_path

SCHEMA = "protosim/verdict/1"
HEAD = f'{{"schema": "{SCHEMA}"'  # how each line begins


def judged_by(task: str) -> str:
    """A digest of what decides about an answer to the task: its files, its suite, the references, this version.

    Raises UserError for an unknown task, or a suite that is missing.
    """
    if problem.given(task):
        found = problem.load(task)
        parts = [(found.folder / problem.FILE).read_bytes(), found.spec.encode(), found.skeleton.encode()]
    else:
        what, using = load_task(task), secret()
        load_suite(task, using)  # it is there, and is this task's
        parts = [repr(what).encode(), suite_path(task, using).read_bytes(), reference(what.protocol).source.encode()]
        parts += [golang.reference(what.protocol).encode()] if golang.is_known(what.protocol) else []
        parts += [second.read_bytes()] if (second := gojudge.suite_path(task, using)).is_file() else []
    return _digest(task.encode(), __version__.encode(), *parts)


def key(judge: str, candidate: Path) -> str:
    """What a verdict is known by: who judges, and what the file holds. "" for what can be no answer: judge it again."""
    try:
        raw = gates.fetch(candidate, LARGEST_ANSWER)
    except UserError:
        return ""
    return _digest(judge.encode(), candidate.suffix.encode(), raw) if isinstance(raw, bytes) else ""


def _digest(*parts: bytes) -> str:
    whole = blake2b(digest_size=16)
    for part in parts:
        whole.update(len(part).to_bytes(8, "little") + part)
    return whole.hexdigest()


@attrs.frozen
class Log:
    path: Path

    def read(self) -> dict[str, dict[str, Any]]:
        """The verdicts by their keys; the last one counts. Raises UserError for a file that is no log."""
        try:
            text = self.path.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UserError(f"{self.path} cannot be read: {error.strerror}. Name another file with -o.") from None
        if not (text.startswith(HEAD) or HEAD.startswith(text)):
            raise UserError(f"{self.path} holds something else than verdicts. Name another file with -o.")
        found: dict[str, dict[str, Any]] = {}
        for line in text.splitlines():
            with contextlib.suppress(ValueError):  # cut short
                verdict = json.loads(line)
                found[verdict.pop("key")] = verdict
        return found

    def add(self, key: str, verdict: dict[str, Any]) -> None:
        """One more, on the disk when this returns. Raises UserError where that is not possible."""
        line = json.dumps({"schema": SCHEMA, "key": key, **verdict})
        try:
            with self.path.open("ab+") as file:
                file.seek(0, os.SEEK_END)
                torn = False
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    torn = file.read(1) != b"\n"
                file.write(b"\n" * torn + line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror}. Name another file with -o.") from None
