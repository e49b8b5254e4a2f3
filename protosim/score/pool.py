"""Worker processes, seen from the parent.

What they send is bytes; what they do wrong is a sentence, never an exception.

A worker has a folder to import from that holds the vocabulary and the host loop (`bundle`), an
empty environment, an empty working folder, two pipes, and limits. That keeps mistakes in, not
malice: a candidate can still read this machine's files, reach its network, signal its user's
processes, start many and leave some behind. So results say ISOLATION until a sandbox is used.
"""

import compileall
import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable
from pathlib import Path

import attr
import attrs

from protosim.errors import UserError
from protosim.score import step

ISOLATION = "not isolated"
SILENCE = 60.0  # seconds without an answer after which a worker is given up; a starved machine is slow
LARGEST_ANSWER = 8 << 20  # bytes of a frame from a worker
NOTHING_WRONG = b'""'  # the answer to a source that could be loaded
FIXED = {"PYTHONHASHSEED": "0"}  # a worker's whole environment


@contextlib.contextmanager
def bundle() -> Generator[Path]:
    """A read-only folder: all that a worker imports beside the standard library, and its script."""
    if os.name != "posix":
        raise UserError("Scoring runs candidates in POSIX processes with limits; use Linux or macOS for it.")
    ours = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory(prefix="score-") as folder:
        root = Path(folder)
        for package in (attr, attrs):
            shutil.copytree(Path(str(package.__file__)).parent, root / package.__name__)
        (root / "protosim/score").mkdir(parents=True)
        (root / "empty").mkdir()
        for name in ("api.py", "values.py", "score/step.py"):
            shutil.copy2(ours / name, root / "protosim" / name)
        for empty in ("protosim/__init__.py", "protosim/score/__init__.py"):
            (root / empty).touch()
        shutil.copy2(ours / "score/worker.py", root)
        compileall.compile_dir(root, quiet=2)
        _change_modes(root, 0o500)
        try:
            yield root
        finally:
            _change_modes(root, 0o700)


def _change_modes(root: Path, mode: int) -> None:
    for folder, _, _ in os.walk(root):
        os.chmod(folder, mode)


class Worker:
    """One process. `dead` says what it did wrong; a dead worker is never used again."""

    def __init__(self, root: Path, source: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-S", "-B", str(root / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=root / "empty",
            env=FIXED,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.to, self.back = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.to, False)
        os.set_blocking(self.back, False)
        self.outbox, self.inbox = bytearray(), bytearray()
        self.owed = 0  # answers
        self.loaded = False
        self.silent = False
        self.dead = ""
        self.post(source)

    def post(self, content: object) -> None:
        """Send a frame, or as much of it as the pipe takes; `flush` sends the rest."""
        if not self.dead:
            self.owed += 1
            self.outbox += step.pack(content)
            self.flush()

    def flush(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                while self.outbox and not self.dead:
                    del self.outbox[: os.write(self.to, self.outbox)]
            except BrokenPipeError:
                self.kill("it stopped to listen")

    def receive(self) -> None:
        """Take what has come, but not much more than is owed."""
        if self.dead:
            return
        try:
            data = os.read(self.back, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self.kill("it ended without an answer")
        self.inbox += data
        if len(self.inbox) > self.owed * LARGEST_ANSWER:
            self.kill(f"it sent more than {LARGEST_ANSWER} bytes")

    def answer(self) -> bytes | None:
        """The next answer to events, if it is there."""
        if not self.loaded:
            loaded = self._frame()
            if loaded is None:
                return None
            self.loaded = True
            if loaded != NOTHING_WRONG:
                self.kill(_sentence(loaded))
        return self._frame()

    def _frame(self) -> bytes | None:
        header = step.LENGTH.size
        if self.dead or len(self.inbox) < header:
            return None
        end = header + step.LENGTH.unpack_from(self.inbox)[0]
        if end > LARGEST_ANSWER:
            self.kill(f"it announced a frame of {end} bytes")
        if self.dead or len(self.inbox) < end:
            return None
        body = bytes(self.inbox[header:end])
        del self.inbox[:end]
        self.owed -= 1
        if self.inbox and not self.owed:
            self.kill("it sent more than was asked for")
            return None
        return body

    def kill(self, why: str) -> None:
        """End the process with whatever it started, as far as that has stayed in its session."""
        if not self.dead:
            self.dead = why
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(OSError):
                    assert pipe is not None
                    pipe.close()


def _sentence(loaded: bytes) -> str:
    """Why a candidate could not be loaded, in the worker's words."""
    try:
        return str(step.decode(loaded[:10_000]))
    except ValueError:
        return "its first answers are no frames"


class Pool:
    """The workers of one candidate, by number; they are started when they are first asked for."""

    def __init__(self, root: Path, source: str) -> None:
        self.root, self.source = root, source
        self.workers: dict[int, Worker] = {}
        self.started = 0

    def worker(self, number: int) -> Worker:
        """The worker of this number, a new one if it is dead."""
        found = self.workers.get(number)
        if found is None or found.dead:
            found = self.workers[number] = Worker(self.root, self.source)
            self.started += 1
        return found

    def load(self) -> str:
        """Try the candidate in worker 0: why it cannot be loaded, or nothing."""
        worker = self.worker(0)
        worker.post([])
        if self.collect([worker]).get(worker) != b"[]":
            worker.kill("its first answers are no frames")
        return worker.dead

    def collect(self, workers: Iterable[Worker]) -> dict[Worker, bytes]:
        """One answer of each; of a worker that is dead afterwards, none."""
        answers: dict[Worker, bytes] = {}
        waiting = [worker for worker in workers if not self._taken(worker, answers)]
        deadline = time.monotonic() + SILENCE
        while waiting and time.monotonic() < deadline:
            _wait(waiting, deadline - time.monotonic())
            waiting = [worker for worker in waiting if not self._taken(worker, answers)]
        for worker in waiting:
            worker.silent = True
            worker.kill(f"it was silent for {SILENCE:g} s")
        return answers

    def _taken(self, worker: Worker, answers: dict[Worker, bytes]) -> bool:
        body = worker.answer()
        if body is not None:
            answers[worker] = body
        return body is not None or bool(worker.dead)

    def close(self) -> None:
        for worker in self.workers.values():
            worker.kill("the score is done")


def _wait(workers: list[Worker], seconds: float) -> None:
    """Until one of them has said something or can be told the rest of a frame; move the bytes."""
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.back, selectors.EVENT_READ, worker.receive)
            if worker.outbox:
                selector.register(worker.to, selectors.EVENT_WRITE, worker.flush)
        for key, _ in selector.select(max(seconds, 0)):
            key.data()
