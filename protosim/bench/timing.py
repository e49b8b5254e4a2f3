"""CPU time of a piece of work, and the middle of several."""

import gc
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import TypeVar

T = TypeVar("T")


def cpu(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds of this process's CPU time, and what the work came to. Earlier garbage is not its bill."""
    gc.collect()
    started = time.process_time()
    result = work()
    return max(time.process_time() - started, 1e-9), result


def middle(figures: Sequence[float]) -> float:
    """The median; 0 of nothing."""
    return median(figures) if figures else 0.0
