"""Worker processes, seen from the parent.

What they send is bytes; what they do wrong is a sentence, never an exception.

A worker has a folder to import from that holds the vocabulary and the host loop (`bundle`), an empty environment, an
empty working folder, two pipes, limits, and the best sandbox there is (`protosim.adapters.sandbox`). Without one a
candidate can read this machine's files, reach its network, signal its user's processes: results name the level.
"""

import compileall
import contextlib
import importlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import attr
import attrs

from protosim.adapters import confined, enter, sandbox
from protosim.adapters.sandbox import Level, Limits
from protosim.errors import UserError
from protosim.score import step

TRUSTED: Literal["trusted"] = "trusted"  # no sandbox, no limits, and its complaints are seen
SILENCE = 60.0  # seconds without an answer after which a worker is given up; a starved machine is slow
LARGEST_ANSWER = 8 << 20  # bytes of a frame from a worker
NOTHING_WRONG = b'""'  # the answer to a source that could be loaded


@contextlib.contextmanager
def bundle(library: Sequence[str] = ()) -> Generator[Path]:
    """A read-only folder: all that a worker imports beside the standard library, and its script. The library is
    protocols that the candidate's extends: "protocols.raft"."""
    if os.name != "posix":
        raise UserError("Scoring runs candidates in POSIX processes with limits; use Linux or macOS for it.")
    ours = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory(prefix="score-") as folder:
        root = Path(folder)
        for package in (attr, attrs):
            shutil.copytree(Path(str(package.__file__)).parent, root / package.__name__)
        (root / "protosim/score").mkdir(parents=True)
        (root / "empty").mkdir()
        for name in ("api.py", "linearizability.py", "values.py", "score/step.py"):
            shutil.copy2(ours / name, root / "protosim" / name)
        for empty in ("protosim/__init__.py", "protosim/score/__init__.py"):
            (root / empty).touch()
        shutil.copy2(ours / "score/worker.py", root)
        for module in library:
            (root / "protocols").mkdir(exist_ok=True)
            (root / "protocols/__init__.py").touch()
            source = importlib.import_module(module).__file__
            shutil.copy2(str(source), root / "protocols")
        compileall.compile_dir(root, quiet=2)
        protect(root)
        try:
            yield root
        finally:
            for inner, _, _ in os.walk(root):
                os.chmod(inner, 0o700)


def protect(root: Path) -> None:
    """From now on everybody may read and run what is in the folder, and nobody changes it."""
    for folder, _, files in os.walk(root):
        os.chmod(folder, 0o555)
        for name in files:
            path = Path(folder, name)
            path.chmod(path.stat().st_mode & 0o111 | 0o444)


@attrs.frozen
class Launch:
    """What a worker is started from: any program that speaks the step protocol."""

    command: Sequence[str]  # a program by its whole path, and its arguments
    folder: Path  # where it works: an empty one
    first: object  # the content of the first frame; "" if the candidate is part of the program
    reads: tuple[Path, ...] = ()  # the files and folders that it needs, beside the system's libraries
    limits: Limits = attrs.field(factory=Limits)


def python(root: Path, source: str) -> Launch:
    """A Python candidate, from a bundle."""
    command = (sandbox.INTERPRETER, "-P", "-s", "-S", "-B", str(root / "worker.py"))
    return Launch(command, root / "empty", source, (root,))


class Worker:
    """One process. `dead` says what it did wrong; a dead worker is never used again."""

    spent: ClassVar[float] = 0.0  # seconds of CPU time that this process will not be told of: behind a sandbox

    def __init__(self, launch: Launch, level: Level | Literal["trusted"]) -> None:
        trusted = level == TRUSTED
        self.process = subprocess.Popen(
            launch.command
            if level == TRUSTED
            else sandbox.confine(level, launch.command, launch.folder, launch.reads, launch.limits),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if trusted else subprocess.DEVNULL,
            cwd=launch.folder,
            env=None if trusted else enter.ENVIRONMENT,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.to, self.back = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.to, False)
        os.set_blocking(self.back, False)
        self.outbox, self.inbox = bytearray(), bytearray()
        self.owed = 0  # answers
        self.deadline = 0.0  # for these
        self.loaded = False
        self.silent = False
        self.looped = False
        self.dead = ""
        self.post(launch.first)

    def post(self, content: object) -> None:
        """Send a frame, or as much of it as the pipe takes; `hear` sends the rest."""
        if not self.dead:
            self.owed += 1
            self.deadline = time.monotonic() + SILENCE
            self.outbox += step.pack(content)
            self._send()

    def hear(self) -> bytes | None:
        """The next answer to events. None if the worker is dead, or dead now for what it did."""
        if not self.loaded:
            loaded = self._frame()
            self.loaded = True
            if loaded is not None and loaded != NOTHING_WRONG:
                self.kill(_sentence(loaded))
        return self._frame()

    def _frame(self) -> bytes | None:
        header = step.LENGTH.size
        self._await(header)
        end = header
        if not self.dead:
            end += step.LENGTH.unpack_from(self.inbox)[0]
            if end > LARGEST_ANSWER:
                self.kill(f"it announced a frame of {end} bytes")
        self._await(end)
        if self.dead:
            return None
        body = bytes(self.inbox[header:end])
        del self.inbox[:end]
        self.owed -= 1
        if self.inbox and not self.owed:
            self.kill("it sent more than was asked for")
            return None
        return body

    def _await(self, size: int) -> None:
        """Move bytes both ways until so many have come."""
        while len(self.inbox) < size and not self.dead:
            self._send()
            if not self._receive() and not self._ready(self.deadline - time.monotonic()):
                self.silent = True
                self.kill(f"it was silent for {SILENCE:g} s")

    def _ready(self, seconds: float) -> bool:
        """Whether within this time there is something to read, or room for the rest of a frame."""
        poll = select.poll()
        poll.register(self.back, select.POLLIN)
        if self.outbox:
            poll.register(self.to, select.POLLOUT)
        return bool(poll.poll(max(seconds, 0) * 1000))

    def _send(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                while self.outbox and not self.dead:
                    del self.outbox[: os.write(self.to, self.outbox)]
            except BrokenPipeError:
                self.kill("it no longer listens")

    def _receive(self) -> bool:
        """Take some of what has come; whether it was anything."""
        if self.dead:
            return True
        try:
            data = os.read(self.back, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self.kill("it ended without an answer")
        self.inbox += data
        return True

    def kill(self, why: str) -> None:
        """End the process with whatever it started; outside bubblewrap, as far as that has stayed in its session."""
        if not self.dead:
            self.dead = why
            used, counted = cpu_of(self.process.pid), _waited()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            Worker.spent += max(used - (_waited() - counted), 0)
            for pipe in (self.process.stdin, self.process.stdout):
                assert pipe is not None
                with contextlib.suppress(OSError):
                    pipe.close()


def cpu_of(process: int) -> float:
    """Seconds of CPU time of a process and of all that descend from it, whom nobody may wait for; 0 without /proc."""
    return sum(map(_own_cpu_of, (process, *confined.descendants(process))))


def _own_cpu_of(process: int) -> float:
    try:
        numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, numbers[11:15])) / os.sysconf("SC_CLK_TCK")


def _waited() -> float:
    """Seconds of CPU time of all processes that this one has started and waited for."""
    times = os.times()
    return times.children_user + times.children_system


def _sentence(loaded: bytes) -> str:
    """Why a candidate could not be loaded, in the worker's words."""
    try:
        return str(step.decode(loaded[:10_000]))
    except ValueError:
        return "its first answers are no frames"


class Pool:
    """The workers of one candidate, by number; they are started when they are first asked for."""

    def __init__(self, launch: Launch, level: Level | Literal["trusted"] | None = None) -> None:
        self.launch = launch
        self.level: Level | Literal["trusted"] = level or sandbox.level()
        self.workers: dict[int, Worker] = {}

    def worker(self, number: int) -> Worker:
        """The worker of this number, a new one if it is dead."""
        found = self.workers.get(number)
        if found is None or found.dead:
            found = self.workers[number] = Worker(self.launch, self.level)
        return found

    def load(self) -> str:
        """Try the candidate in worker 0: why it cannot be loaded, or nothing."""
        worker = self.worker(0)
        worker.post([])
        if worker.hear() != b"[]":
            worker.kill("its first answers are no frames")
        return worker.dead

    def close(self) -> None:
        for worker in self.workers.values():
            worker.kill("the score is done")
