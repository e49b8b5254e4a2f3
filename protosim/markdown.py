"""What our pages share: tables of Markdown, and the machine that the figures are from."""

import os
import platform
from collections.abc import Iterable, Sequence


def table(rows: Iterable[Sequence[str]], figures: int | None = None) -> list[str]:
    """Its lines. The first row has the headings; columns from number `figures` on, counted from 0, are figures."""
    head, *rest = rows
    words = len(head) if figures is None else figures
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in (head, rule, *rest)]


def python() -> str:
    """ "CPython 3.12.1" """
    return f"{platform.python_implementation()} {platform.python_version()}"


def machine() -> str:
    """ "Linux x86_64, 2 processors" """
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
