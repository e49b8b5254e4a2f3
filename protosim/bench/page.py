"""The report: sections of one table and one note each, as Markdown."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime

import attrs

from protosim.markdown import machine, python, table

Rows = tuple[tuple[str, ...], ...]
"""The first row has the headings."""


@attrs.frozen
class Section:
    """What was measured, the figures, and how to read them."""

    title: str
    rows: Rows
    note: str


@attrs.frozen
class About:
    """Where, when and how the figures were made."""

    command: str
    date: str
    python: str
    machine: str
    load: str  # the machine's, before the first figure

    @classmethod
    def here(cls, command: str) -> "About":
        load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
        return cls(
            command=command,
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            python=python(),
            machine=machine(),
            load=load,
        )

    def sentence(self) -> str:
        return f"`{self.command}`, {self.date}, {self.python}, {self.machine}, load {self.load} at the start."


def markdown(about: About, sections: Sequence[Section]) -> str:
    """The whole page."""
    lines = ["# Benchmarks", "", about.sentence(), ""]
    for section in sections:
        lines += [f"## {section.title}", "", *table(section.rows, 1), "", section.note, ""]
    return "\n".join(lines)
