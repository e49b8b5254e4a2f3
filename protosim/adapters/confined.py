"""Run a tool within limits: a process group of its own, a clock, a share of memory, a folder that goes with it.

What the tool reads may have been written by anybody; the tool itself is trusted. It sees an empty working folder with
the files it was given, and nothing of it outlives the call.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

POLL = 0.25  # seconds between looks at the output
LARGEST_FILE = 64 << 20  # bytes of anything that the tool writes, its output included


@attrs.frozen
class Limits:
    seconds: float  # wall clock of the whole run
    cpu: int = 1200  # seconds of CPU, each process
    memory: int = 4 << 30  # bytes of address space, each process; nothing is limited where there is no POSIX shell


@attrs.frozen
class Done:
    """How the tool ended. `code` is None if it was stopped."""

    code: int | None
    output: str  # stdout and stderr
    files: Mapping[str, str]  # what was asked for and is there


def run(
    command: Sequence[str],
    files: Mapping[str, str],
    wanted: Sequence[str],
    limits: Limits,
    until: re.Pattern[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run it in a new folder with these files, and return what it said and wrote. Raises OSError if it cannot start.
    Its environment is ours, or the one that is given.

    It is stopped when its time is up, and as soon as `until` is found in its output.
    """
    folder = Path(tempfile.mkdtemp(prefix="protosim-"))
    try:
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8", newline="\n")
        with (folder / "output").open("wb") as output:
            named = os.environ if environment is None else environment
            code = _run(_limited(command, limits), folder, output.fileno(), limits.seconds, until, named)
        found = {name: _text(folder / name) for name in wanted if (folder / name).is_file()}
        return Done(code, _text(folder / "output"), found)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    command: Sequence[str],
    folder: Path,
    output: int,
    seconds: float,
    until: re.Pattern[str] | None,
    environment: Mapping[str, str],
) -> int | None:
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
    deadline = time.monotonic() + seconds
    try:
        while (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(min(left, POLL) if until else left)
            if until and until.search(_text(folder / "output")):
                break
        return None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the whole group: a prover outlives the verifier that started it. And all who left the group, as a suite's
    workers do."""
    others: list[int] = []
    if hasattr(os, "killpg"):
        if process.returncode is None:
            _signal(process.pid, signal.SIGSTOP)  # or it might start another one meanwhile
            others = descendants(process.pid)
        _signal(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    for other in others:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(other, signal.SIGKILL)


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def descendants(process: int) -> list[int]:
    """The processes that it has started, through any of its threads, and theirs; none without /proc."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return [one for child in found for one in (child, *descendants(child))]


def _limited(command: Sequence[str], limits: Limits) -> Sequence[str]:
    if os.name != "posix":
        return command
    # Where a system knows no such limit, the clock alone is left.
    wanted = {"v": limits.memory >> 10, "f": LARGEST_FILE >> 9, "t": limits.cpu}
    script = "".join(f"ulimit -{letter} {most} 2>/dev/null; " for letter, most in wanted.items())
    return ["/bin/sh", "-c", script + 'exec "$@"', "sh", *command]


def _text(path: Path) -> str:
    return path.read_text("utf-8-sig", "replace")
