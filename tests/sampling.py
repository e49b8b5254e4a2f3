"""Heavy tests with many cases: some of them on every run, chosen by their places; the others are `make thorough`."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[tuple[Any, ...]], every: int = 4) -> list[Any]:
    """The cases, of which one in so many runs always."""
    return [
        pytest.param(*case, id=_id(case), marks=[pytest.mark.thorough] if place % every else [])
        for place, case in enumerate(cases)
    ]


def _id(case: tuple[Any, ...]) -> str:
    return "-".join(part if isinstance(part, str) else "+".join(part) for part in case)
