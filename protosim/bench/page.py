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
        return cls(
            command=command,
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            python=python(),
            machine=machine(),
            load=load(),
        )

    def sentence(self) -> str:
        return f"`{self.command}`, {self.date}, {self.python}, {self.machine}, load {self.load} at the start."


def load() -> str:
    """The machine's, over the last minute."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def markdown(about: About, sections: Sequence[Section]) -> str:
    """The whole page."""
    return "\n".join(["# Benchmarks", "", about.sentence(), "", *(_block(section) for section in sections)])


def refilled(text: str, about: About, sections: Sequence[Section]) -> str:
    """The page with these sections in the place of those of their titles; one that it lacked comes last.

    Each says how it was made, since the page's head speaks of the others.
    """
    for section in sections:
        block = _block(Section(section.title, section.rows, f"{section.note} Made by {about.sentence()}"))
        before, there, rest = text.partition(f"## {section.title}\n")
        if there:
            text = before + block + "".join(rest.partition("\n## ")[1:])
        else:
            text += f"\n{block}"
    return text


def _block(section: Section) -> str:
    return "\n".join([f"## {section.title}", "", *table(section.rows, 1), "", section.note, ""])
