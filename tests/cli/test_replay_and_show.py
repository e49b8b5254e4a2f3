"""Counterexample files: their three outcomes, and their drawings."""

import xml.etree.ElementTree as ET
from pathlib import Path

from protosim.commands.show import last
from protosim.counterexample import load
from protosim.narrate import tell
from protosim.program import load as load_program

from .conftest import MUTANT, Cli, Edited


def test_a_replay_on_the_same_code_is_identical(cli: Cli, caught: Path) -> None:
    again = cli("replay", caught, "--json")
    assert again.code == 1
    data = again.data
    assert data["schema"] == "protosim/replay/1"
    assert (data["status"], data["outcome"]) == ("violation", "same")
    assert data["identical"] is True
    assert data["same_source"] is True
    assert data["digest"] == load(caught).digest
    assert data["steps_taken"] == data["steps"]
    words = cli("replay", caught).out
    assert "the same invariant breaks: Election Safety" in words
    assert "the recorded one" in words


def test_a_replay_on_repaired_code_finds_it_gone_or_diverges(cli: Cli, caught: Path, edited: Edited) -> None:
    repaired = cli("replay", caught, "--source", edited(), "--json")
    assert repaired.data["outcome"] in ("gone", "diverged")
    assert repaired.code == {"gone": 0, "diverged": 2}[repaired.data["outcome"]]
    assert repaired.data["same_source"] is False
    assert 0 < repaired.data["schedule_preserved"] <= 1
    assert "of the schedule happened" in cli("replay", caught, "--source", edited()).out


def test_a_replay_on_code_that_does_something_else_diverges(cli: Cli, caught: Path, edited: Edited) -> None:
    silent = edited("        self.send(src, Vote(self.disk.term, granted))\n", "")
    diverged = cli("replay", caught, "--source", silent, "--json")
    assert diverged.code == 2
    assert (diverged.data["status"], diverged.data["outcome"]) == ("inconclusive", "diverged")
    assert diverged.data["steps_taken"] < diverged.data["steps"]
    steps = f"{diverged.data['steps_taken']} of {diverged.data['steps']} steps"
    assert steps in cli("replay", caught, "--source", silent).out


def test_a_replay_on_an_unrelated_edit_still_breaks(cli: Cli, caught: Path) -> None:
    mutant = cli("mutate", "raft", MUTANT).out
    Path("other.py").write_text(mutant.replace('"""Restart."""', '"""Begin."""'), "utf-8")
    again = cli("replay", caught, "--source", "other.py", "--json")
    assert again.code == 1
    assert again.data["outcome"] == "same"
    assert again.data["schedule_preserved"] == 1


def test_a_replay_can_be_saved(cli: Cli, caught: Path) -> None:
    Path("mutant.py").write_text(cli("mutate", "raft", MUTANT).out, "utf-8")
    again = cli("replay", caught, "--source", "mutant.py", "-o", "again.json", "--json")
    assert again.data["counterexample"] == "again.json"
    assert load(Path("again.json")).source == "mutant.py"
    assert cli("replay", "again.json", "--json").data["identical"] is True


def test_a_replay_in_which_nothing_breaks_is_not_saved(cli: Cli, caught: Path, edited: Edited) -> None:
    again = cli("replay", caught, "--source", edited(), "-o", "again.json", "--json")
    assert again.data["counterexample"] is None
    assert "Nothing broke, so again.json was not written" in again.err
    assert not Path("again.json").exists()


def test_a_counterexample_is_drawn_three_ways(cli: Cli, caught: Path) -> None:
    words = cli("show", caught)
    assert words.code == 0
    assert "Election Safety is violated" in words.out
    assert cli("show", caught, "--svg", "story.svg", "--html", "story.html").code == 0
    assert ET.parse("story.svg").getroot().tag.endswith("svg")
    page = Path("story.html").read_text("utf-8")
    assert "Content-Security-Policy" in page
    assert "-            vote_once_per_term=" in page  # the check that the mutant lacks
    shown = cli("show", caught, "--json")
    assert shown.data["schema"] == "protosim/show/1"
    assert shown.data["story"]["invariant"] == "election_safety"


def test_a_repair_in_place_does_not_lose_the_story(cli: Cli) -> None:
    mutant = cli("mutate", "raft", MUTANT).out
    Path("mutant.py").write_text(mutant, "utf-8")
    cli("hunt", "raft", "--source", "mutant.py", "-o", "found.json")
    story = cli("show", "found.json").out
    Path("mutant.py").write_text(cli("mutate", "raft", "raft.still_candidate").out, "utf-8")
    assert cli("show", "found.json").out == story
    assert cli("replay", "found.json", "--source", "mutant.py").code in (0, 2)


def test_the_end_of_a_long_story_is_a_story(caught: Path) -> None:
    saved = load(caught)
    _, story = tell(load_program("raft", saved.mutants), saved.scenario, "replay it")
    assert last(story, len(story.moments)) is story
    end = last(story, 3)
    assert end.moments[-1] == story.moments[-1]
    assert len(end.moments) == 3
    assert all(m.cause is None or m.cause >= end.moments[0].number for m in end.moments)
