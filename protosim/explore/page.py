"""What explorations have come to: `docs/explore.md`. Each is a command line, run in a process of its own."""

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from protosim import markdown
from protosim.errors import UserError
from protosim.words import plural

FIGURE_8 = "--timeouts 4 --timer heartbeat=0 --requests 2 --crashes 0 --messages 1"
NEAR_FIGURE_8 = "--timeouts 3 --timer heartbeat=0 --requests 2 --crashes 0 --messages 2 --warning committed_is_safe"


@attrs.frozen
class Section:
    title: str
    about: str
    lines: tuple[str, ...]


SECTIONS = (
    Section(
        "Lamport's TwoPhase",
        "TLC finds 288, 1,568, 8,832, 50,816 and 296,448 states for three to seven participants. With `--symmetry`\n"
        "participants have no names.",
        (
            *(f"two_phase --nodes {size}" for size in (3, 4, 5)),
            *(f"two_phase --nodes {size} --no-liveness" for size in (6, 7)),
            *(f"two_phase --nodes {size} --symmetry" for size in range(3, 8)),
        ),
    ),
    Section(
        "Raft",
        "The reference within several bounds. Where nothing else is said, nodes have no names.",
        (
            "raft",
            "raft --timeouts 3 --requests 1",
            "raft --timeouts 2 --requests 2 --crashes 2",
            "raft --timeouts 2 --requests 1 --duplications 1",
            "raft --timeouts 2 --requests 1 --cuts 1",
            "raft --timeouts 2 --requests 1 --crashes 0 --messages 4",
            "raft --timeouts 2 --requests 1 --crashes 0 --messages 4 --no-symmetry",
            "raft --nodes 5 --timeouts 2 --requests 1 --crashes 0",
            "raft --timeouts 1 --requests 1 --crashes 0 --messages 4 --timer heartbeat=any --liveness",
        ),
    ),
    Section(
        "Figure 8",
        "An entry of an old term that a majority holds is taken for committed, and a later leader overwrites it. The\n"
        "shortest story, and the shortest way to where it cannot be averted any more (the early warning).",
        (
            f"raft --mutant commit_current_term {FIGURE_8}",
            f"raft {FIGURE_8}",
            f"raft --mutant commit_current_term {NEAR_FIGURE_8}",
            f"raft {NEAR_FIGURE_8}",
        ),
    ),
    Section(
        "Shortest stories of other drift in Raft",
        "Nothing breaks in fewer events within the bounds.",
        (
            "raft --mutant vote_once_per_term",
            "raft --mutant vote_response_current --timeouts 3 --requests 0",
            "raft --mutant log_up_to_date",
            "raft --mutant prev_log_matches --timeouts 3 --crashes 0",
            "raft --mutant replicated_on_majority",
            "raft --mutant truncates_without_conflict",
            "raft --mutant handle_request_vote/drop-sync/1",
            "raft --mutant handle_request_vote/swap-sync-and-send/1 --requests 0 --crashes 0 --cuts 1",
        ),
    ),
    Section(
        "Other protocols",
        "Their nodes are told apart. What none of their schedules reached is said by the commands themselves.",
        (
            "paxos --nodes 3 --timeouts 1 --requests 1 --crashes 0",
            "paxos --nodes 3 --timeouts 0 --requests 2 --crashes 0",
            "multi_paxos --nodes 3 --timeouts 1 --requests 2 --crashes 0",
            "two_phase_commit --requests 1 --messages 3 --command 'write 1 2' --command 'write 1 2 refused 2'",
            "two_phase_commit --requests 1 --mutant acks_are_a_count --command 'write 1 2'",
            "transactions --requests 1",
            "raft_snapshots --requests 1",
        ),
    ),
)


def measure(line: str) -> dict[str, Any]:
    """The object that `protosim explore` prints for the line. Raises UserError if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        output = () if line.startswith("two_phase ") else ("-o", str(Path(folder, "found.json")))
        words = [sys.executable, "-m", "protosim", "explore", *shlex.split(line), "--json", *output]
        said = subprocess.run(words, capture_output=True, text=True, check=False)
    data: dict[str, Any] = json.loads(said.stdout or "{}")
    if data.get("status") not in ("ok", "violation", "inconclusive"):
        raise UserError(f"`protosim explore {line}` failed: {said.stderr.strip()}")
    return data


def outcome(data: dict[str, Any]) -> str:
    """ "exhausted", or what broke and how soon."""
    if data["status"] == "violation":
        steps = len(data["story"]) - 1 if data["story"] else data["shrunk"]["events"]
        return f"{data['invariant']}, {plural(steps, 'event')}"
    return str(data["ended"]) if data["status"] == "ok" else f"given up: {data['ended']}"


HEAD = ("protosim explore …", "outcome", "states", "steps", "depth", "states/s", "bytes a state", "CPU s")


def row(line: str, data: dict[str, Any]) -> tuple[str, ...]:
    big = data["states"] >= 100_000  # the peak of a small search is that of Python
    return (
        f"`{line}`",
        outcome(data),
        f"{data['states']:,}",
        f"{data['steps']:,}",
        f"{data['depth']}",
        f"{data['states_a_second']:,}" if big else "",
        f"{data['bytes_a_state']:,}" if big else "",
        f"{data['cpu']:,.1f}",
    )


def page(rows: dict[str, tuple[str, ...]], about: str) -> str:
    """Markdown."""
    return "\n".join(["# Explorations", "", f"Written by {about}", "", *_sections(rows)])


def _sections(rows: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for section in SECTIONS:
        measured = [rows[line] for line in section.lines]
        yield from (f"## {section.title}", "", section.about, "", *markdown.table([HEAD, *measured], 2), "")
