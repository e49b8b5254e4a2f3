"""What a command says: words for a person or one JSON object on stdout, and all else on stderr."""

import contextlib
import importlib
import json
import os
import shlex
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, TextIO

import attrs

from protosim.errors import UserError

Status = Literal["ok", "violation", "inconclusive", "error"]
EXIT: dict[Status, int] = {"ok": 0, "violation": 1, "inconclusive": 2, "error": 3}
_STYLE: dict[Status, str] = {"ok": "32", "violation": "1;31", "inconclusive": "33", "error": "31"}

COLUMN = 22  # characters of a middle cell before it is wrapped
EVERY = 10.0  # seconds from one word about the progress to the next, where there is no bar

Tick = Callable[[float, str], None]
"""(how much more is done, what to say about it)"""


@attrs.frozen
class Answer:
    """How a command ended, and the fields of its JSON object beside `schema` and `status`."""

    status: Status
    data: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.define
class Output:
    """Where one command's words go. With `json` the words for a person are dropped."""

    command: str
    json: bool = False
    stdout: TextIO = attrs.field(factory=lambda: sys.stdout)  # whatever `sys.stdout` becomes
    deaf: bool = False  # nobody reads stdout any more (`protosim ... | head`): work on, say nothing
    bar: Any = None  # the bar on stderr, while there is one

    def say(self, text: str = "") -> None:
        """Words for a person, on stdout."""
        if not self.json:
            self._print(text)

    def note(self, text: str) -> None:
        """A warning, or what went wrong, on stderr."""
        with contextlib.suppress(BrokenPipeError):
            print(_fit(text, sys.stderr), file=sys.stderr, flush=True)

    def verdict(self, status: Status, text: str) -> None:
        """The outcome, its first word coloured."""
        first, *rest = textwrap.wrap(f"{status}: {text}", self.width) or [status]
        word = self.style(status, _STYLE[status])
        self.say("\n".join([first.replace(status, word, 1), *rest]))

    def answer(self, answer: Answer) -> int:
        """Print the object, if it was asked for, and return the exit code."""
        if self.json:
            schema = f"protosim/{self.command}/1"
            self._print(json.dumps({"schema": schema, "status": answer.status, **answer.data}))
        return EXIT[answer.status]

    def _print(self, text: str) -> None:
        if self.deaf:
            return
        if self.bar is not None:
            self.bar.clear()  # or the words would stand behind it; it comes back with its next tick
        try:
            print(_fit(text, self.stdout), file=self.stdout, flush=True)
        except BrokenPipeError:
            self.deaf = True
            # What Python still holds for stdout goes nowhere, quietly, when it exits.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.stdout.fileno())
        except OSError as error:
            self.deaf = True
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.stdout.fileno())
            raise UserError(f"The output cannot be written: {error.strerror}.") from None

    # -- The terminal --------------------------------------------------------------------------------

    @property
    def color(self) -> bool:
        allowed = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return allowed and not self.json and self.stdout.isatty()

    @property
    def unicode(self) -> bool:
        return (self.stdout.encoding or "ascii").lower().startswith("utf")

    @property
    def width(self) -> int:
        """Columns of the terminal; 100 where there is none."""
        return max(40, shutil.get_terminal_size((100, 24)).columns)

    def style(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def prose(self, text: str, indent: str = "") -> None:
        """Words for a person, wrapped to the terminal."""
        self.say(textwrap.fill(text, self.width, initial_indent=indent, subsequent_indent=indent))

    def heading(self, text: str) -> None:
        self.say()
        self.say(self.style(text, "1"))

    def table(self, rows: Sequence[Sequence[str]], indent: str = "") -> None:
        """Columns as wide as their widest cell; the last one is wrapped to the terminal."""
        for line in table(rows, self.width - len(indent)):
            self.say(f"{indent}{line}")

    @contextlib.contextmanager
    def progress(self, total: float | None = None) -> Generator[Tick]:
        """A bar on stderr, if that is a terminal and the work takes over a second; elsewhere a line now and then."""
        if not sys.stderr.isatty():
            with self._lines(total) as say_so:
                yield say_so
            return
        bars: Any = importlib.import_module("tqdm").tqdm
        bars.monitor_interval = 0  # no thread that outlives the bar
        layout = "{percentage:3.0f}%|{bar}| {elapsed} {desc}" if total else "{elapsed} {desc}"
        with bars(total=total, delay=1, leave=False, file=sys.stderr, bar_format=layout) as bar:

            def tick(done: float, says: str) -> None:
                bar.set_description_str(says, refresh=False)
                bar.update(done)

            self.bar = bar
            try:
                yield tick
            finally:
                self.bar = None

    @contextlib.contextmanager
    def _lines(self, total: float | None) -> Generator[Tick]:
        """What was said last, every ten seconds: a log shows that the work goes on, whatever one piece of it takes."""
        started, over = time.monotonic(), threading.Event()
        done, last = 0.0, ""

        def tick(more: float, says: str) -> None:
            nonlocal done, last
            done, last = done + more, says

        def speak() -> None:
            if hasattr(signal, "pthread_sigmask"):  # Ctrl-C is the main thread's to answer
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
            while not over.wait(EVERY):
                share = f", {min(done / total, 1):.0%}" if total and done else ""
                self.note(f"{self.command}: {time.monotonic() - started:.0f} s{share}{f': {last}' * bool(last)}")

        thread = threading.Thread(target=speak, daemon=True)
        thread.start()
        try:
            yield tick
        finally:
            over.set()
            thread.join()


def _fit(text: str, stream: TextIO) -> str:
    """The text as the stream's encoding can carry it."""
    encoding = stream.encoding or "ascii"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Rows of as many cells each, as lines: the last column gets what the others leave of the width."""
    if not rows:
        return []
    longest = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    wide = [size if i == 0 else min(COLUMN, size) for i, size in enumerate(longest)]  # names stay whole
    wide.append(max(24, width - sum(wide) - 2 * len(wide)))
    lines: list[str] = []
    for row in rows:
        cells = [
            textwrap.wrap(cell, size, break_on_hyphens=False) or [""] for cell, size in zip(row, wide, strict=True)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            lines.append("  ".join(f"{part:<{size}}" for part, size in zip(parts, wide, strict=True)).rstrip())
    return lines


def command(*words: str) -> str:
    """A command line of ours, for a person to copy: it works where this process was started."""
    return f"{_program()} {shlex.join(words)}"


def _program() -> str:
    """The `protosim` beside this Python, as briefly as the shell would find it."""
    script = Path(sys.executable).with_name("protosim")
    found = shutil.which("protosim")
    if found is not None and Path(found).absolute() == script.absolute():
        return "protosim"
    if not script.exists():
        return "python -m protosim"
    near = os.path.relpath(script)
    return shlex.quote(near if not near.startswith("..") else str(script))
