"""Rafts that break, one for each method of Figure3: a mutant, or an edit of the source, and the runs to look for it in."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from protocols.raft import Figure3
from protosim.api import Observer
from protosim.program import Program, from_source, load, reference
from protosim.run import Run, simulate
from protosim.scenario import Choice, Scenario

GOLDEN = Path(__file__).parent / "broken.json"
SEEDS = range(400)  # to search for a run, when the golden file is refilled

EDITS = {
    "a candidate does not begin a new term": (
        "self.disk.write(term=self.disk.term + 1, voted_for=self.me)",
        "self.disk.write(term=max(1, self.disk.term), voted_for=self.me)",
    ),
    "a node of a new term keeps only what it knows to be committed": (
        "        self.disk.write(term=term, voted_for=None)\n",
        "        self.disk.write(term=term, voted_for=None)\n        self.disk.log.store(self.commit_index, ())\n",
    ),
    "everything after the previous entry is replaced": (
        "            if self.term_at(prev + offset + 1) != entry.term:\n",
        "            if True:\n",
    ),
    "entries are written one by one": (
        "                self.disk.log.store(prev + offset, entries[offset:])\n",
        "                for place in range(offset, len(entries)):\n"
        "                    self.disk.log.store(prev + place, entries[place : place + 1])\n",
    ),
    "a candidate gives up after one election": (
        "        self.votes = {self.me}\n        self.set_timer(ELECTION, ELECTION_TIMEOUT)\n",
        "        self.votes = {self.me}\n",
    ),
    "nothing": ("", ""),
}

# Method of Figure3 -> what breaks by it first.
BREAKS = {
    "election_safety": "raft.vote_once_per_term",
    "leader_completeness": "raft.log_up_to_date",
    "leader_append_only": "raft.append_entries_current",
    "log_matching": "raft.prev_log_matches",
    "log_matching_after_restart": "entries are written one by one",
    "state_machine_safety": "raft.prev_log_matches",
    "later_leader_completeness": "raft.advance_commit_index/weaken-quorum/1",
    "durability": "raft.replicated_on_majority",
    "durability_after_restart": "a node of a new term keeps only what it knows to be committed",
    "one_vote_per_term": "raft.start_election/drop-sync/1",
    "candidate_votes_for_itself": "a candidate does not begin a new term",
    "committed_is_safe": "raft.commit_current_term",
    "committed_is_safe_after_restart": "raft.append_entry/drop-sync/1",
    "committed_is_kept": "everything after the previous entry is replaced",
    "leader_elected": "nothing",
    "command_committed": "nothing",
    "leader_changed": "nothing",
    "progress_after_heal": "a candidate gives up after one election",
    "count_progress": "nothing",
}


@cache
def program(name: str) -> Program:
    if name not in EDITS:
        return load("raft", (name,))
    before, after = EDITS[name]
    source = reference("raft").source
    assert not before or source.count(before) == 1, f"the edit {name!r} does not fit protocols/raft.py any more"
    return from_source("raft", source.replace(before, after) if before else source)


def scenario(method: str, seed: int) -> Scenario:
    if method in ("progress_after_heal", "count_progress"):
        return Scenario(
            protocol="raft",
            seed=seed,
            faults=(Choice("loss", {"per_mille": 300}),),
            events=5000,
            heal=2_000_000,
            horizon=6_000_000,
        )
    faults = (
        Choice("loss", {"per_mille": 50}),
        Choice("duplication", {"per_mille": 50}),
        Choice("reordering", {"per_mille": 200, "times": 20}),
        Choice("crash", {"every": 20_000, "down": 10_000, "aim": 30}),
    )
    return Scenario(
        protocol="raft",
        seed=seed,
        nodes=5 if seed % 4 == 3 else 3,
        scheduler=Choice("walk"),
        faults=faults,
        events=400,
        switches={"batch": (1, 2, 64)[seed % 3], "no_op": seed % 5 == 0},
    )


def run(method: str, seed: int, observer: type[Observer] = Figure3) -> Run:
    """The run of a method's broken Raft under this seed."""
    return simulate(program(BREAKS[method]), scenario(method, seed), observers=(observer,), digest=False)


@attrs.frozen
class Outcome:
    """What the observers said of a run."""

    violation: str
    warning: str
    missed: tuple[str, ...]


def outcome(told: Run) -> Outcome:
    said = (f"{b.invariant.name} in event {b.event}: {b.sentence}" if b else "" for b in (told.violation, told.warning))
    return Outcome(*said, told.missed)


def without(method: str) -> type[Observer]:
    """Figure3, whose method does what it does but never reports; one that reports nothing is not called at all."""
    members: dict[str, Any] = {k: v for k, v in vars(Figure3).items() if k not in ("__dict__", "__weakref__")}
    whole = members[method]

    def silent(self: Observer, *details: Any) -> None:
        if hasattr(whole, "_invariant"):
            whole(self, *details)

    silent.__dict__.update(whole.__dict__)
    members[method] = silent
    return type("Figure3", Figure3.__bases__, members)


def search(method: str) -> dict[str, Any]:
    """The first seed under which the method's silence would go unnoticed by nobody."""
    mute = without(method)
    for seed in SEEDS:
        told = outcome(run(method, seed))
        if told != outcome(run(method, seed, mute)):
            return {"seed": seed, **attrs.asdict(told)}
    raise LookupError(f"no run of {BREAKS[method]!r} under {len(SEEDS)} seeds breaks by {method} first")


def golden() -> dict[str, dict[str, Any]]:
    """Method -> the seed of its run, and what the observers said of it."""
    kept: dict[str, dict[str, Any]] = json.loads(GOLDEN.read_text("utf-8"))
    return kept
