"""Golden files: what a renderer should have drawn, for a reader to review."""

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def matches_golden(rewrite: bool) -> Callable[[str, str], None]:
    """Fails unless the file of that name holds exactly that text; `--rewrite` refills it."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if rewrite:
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.read_text(encoding="utf-8").splitlines() == text.splitlines(), (
            f"{name} would be drawn differently now; if you meant that, run pytest --rewrite"
        )

    return check
