"""A failed run of a repair in Go, played again."""

from pathlib import Path

from protosim import counterexample
from protosim.adapters import go
from protosim.score import handed_out
from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli
from tests.go.conftest import TASK


def test_a_failed_run_in_go_is_shown_again_and_replayed_with_its_program(cli: Cli, tool: go.Go) -> None:
    Path("candidate.go").write_text(handed_out(TASK, "go"), "utf-8")
    again = cli("score", TASK, "candidate.go", "--run", "1/votes_3/7", "-o", "story.json")
    assert again.code == 1
    assert "1/votes_3/7 fails: election_safety" in again.out
    assert counterexample.load("story.json").worker == (str(Path("story.worker").absolute()),)
    assert cli("replay", "story.json").code == 1


def test_what_does_not_pass_the_gate_plays_no_run(cli: Cli, tool: go.Go) -> None:
    Path("candidate.go").write_text('package raft\n\nimport "os"\n\nvar _ = os.Args\n', "utf-8")
    again = cli("score", TASK, "candidate.go", "--run", "1/votes_3/7")
    assert again.code == 3
    assert "candidate.go plays no run: tampered: line 3" in again.err
    assert list(Path().glob("*.worker")) == []
