"""The same work in one process or in many: results come in the order of the calls."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

AHEAD = 2  # calls a process that are handed out before their results are asked for


def in_order(function: Callable[..., T], calls: Iterable[tuple[object, ...]], jobs: int) -> Generator[T]:
    """`function(*call)` for one call after the other; in `jobs` processes where these are more than one.

    The function must be a module's, and `calls` may be endless. Closing the generator ends the processes.
    """
    if jobs == 1:
        for call in calls:
            yield function(*call)
        return
    others = multiprocessing.active_children()
    start = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context(start), _be_silent)
    rest = iter(calls)
    pending: list[Future[T]] = []
    try:
        while True:
            with _interrupts_wait():
                pending += [pool.submit(function, *call) for call in islice(rest, jobs * AHEAD - len(pending))]
            if not pending:
                return
            yield pending.pop(0).result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()
        pool.shutdown(wait=True)  # or its thread would still hold a closed pipe when Python exits


def _be_silent() -> None:
    """In a worker: stdout is the first process's alone."""
    os.dup2(2, 1)


@contextlib.contextmanager
def _interrupts_wait() -> Generator[None]:
    """Ctrl-C reaches every process of a terminal, but is the first one's to answer: those started here never see it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
