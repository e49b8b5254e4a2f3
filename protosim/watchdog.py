"""A timer on CPU time: a handler that loops for ever becomes a failure of the protocol instead of a silent hang."""

import contextlib
import signal
import threading
from collections.abc import Callable, Generator
from typing import Any

TICK = 0.5  # seconds of CPU time
PATIENCE = 4  # ticks without a new event


class Looping(BaseException):
    """A handler used up its CPU time. No `except Exception` in a protocol swallows it."""


@contextlib.contextmanager
def watched(world: Any) -> Generator[None]:
    """Within this block the world must count a new event every two seconds of CPU time, or Looping is raised.

    Works in a main thread where the system has interval timers (not on Windows); elsewhere it does nothing.
    """
    seen, idle = -1, 0

    def tick(*_: Any) -> None:
        nonlocal seen, idle
        idle = idle + 1 if world.events == seen else 0
        seen = world.events
        if idle >= PATIENCE:
            from protosim.run import spell_event

            raise Looping(
                f"{world.ids[world.at]} used {TICK * PATIENCE:g} s of CPU time on one event, "
                f"{spell_event(world.pending)}: it seems to loop for ever"
            )

    with _ticking(tick):
        yield


@contextlib.contextmanager
def limited(seconds: float, error: Exception) -> Generator[None]:
    """Within this block no more than so many seconds of CPU time pass, or the error is raised."""
    ticks = 0

    def tick(*_: Any) -> None:
        nonlocal ticks
        ticks += 1
        if ticks * TICK >= seconds:
            raise error

    with _ticking(tick):
        yield


@contextlib.contextmanager
def _ticking(tick: Callable[..., None]) -> Generator[None]:
    """Call `tick` after every TICK of CPU time, where that is possible."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, tick)
    signal.setitimer(signal.ITIMER_VIRTUAL, TICK, TICK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
