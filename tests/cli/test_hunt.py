"""Hunts that do not go smoothly: warnings, liveness, failures, nondeterminism, and interruptions."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from protosim import shrink
from protosim.commands import hunt as hunt_command
from protosim.counterexample import load
from protosim.hunt import try_run
from protosim.plan import Wish, plan
from protosim.program import load as load_program
from protosim.scenario import Scenario

from .conftest import MUTANT, Cli, Edited

ROOT = Path(__file__).parents[2]
START = '        """Restart."""\n'
VOTE_ONCE = "            vote_once_per_term=self.disk.voted_for in (None, src),  # receiver 2, §5.2\n"
GRANT = "            self.disk.voted_for = src\n"


def _seed_that_warns_first(mutant: str) -> tuple[int, int]:
    """A seed whose first run that is not clean only warns, and how many runs that takes."""
    program = load_program("raft", [mutant])
    for seed in range(1, 30):
        for index in range(8):
            run = try_run(program, plan(program, Wish(seed=seed), index), index).run
            if run.violation is not None:
                break
            if run.warning is not None:
                return seed, index + 1
    pytest.fail("no seed warns without a violation")


def test_a_warning_alone_is_inconclusive(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protosim.hunt.FORKS", 0)  # nobody searches on from a warning
    mutant = "raft.commit_current_term"
    seed, runs = _seed_that_warns_first(mutant)
    found = cli("hunt", "raft", "--mutant", mutant, "--seed", seed, "--runs", runs, "--json", "-o", "warned.json")
    assert found.code == 2
    assert found.data["status"] == "inconclusive"
    assert found.data["warning"]["invariant"].startswith("committed_is_")
    assert found.data["invariant"] is None
    assert found.data["counterexample"] == "warned.json"
    assert cli("replay", "warned.json", "--json").data["outcome"] == "same"
    assert "came near a violation" in found.data["message"]


def test_a_liveness_violation_is_kept_as_it_was_found(cli: Cli, edited: Edited) -> None:
    """A node that never starts an election: nothing unsafe, and nothing else either."""
    idle = edited("        if self.role is Role.LEADER:\n            return\n", "        return\n")
    found = cli("hunt", "raft", "--source", idle, "--json", "-o", "idle.json")
    assert found.code == 1
    assert found.data["invariant"] == "progress_after_heal"
    assert found.data["shrunk"] is None
    assert load(Path("idle.json")).scenario.heal is not None
    assert cli("replay", "idle.json").code == 1
    assert cli("show", "idle.json", "--html", "idle.html").code == 0


def test_a_handler_that_raises_is_reported_and_the_hunt_goes_on(cli: Cli, edited: Edited) -> None:
    source = edited(GRANT, GRANT + "            assert src != 'n2', 'n2 again'\n")
    found = cli("hunt", "raft", "--source", source, "--runs", "5", "--json", "-o", "failed.json")
    assert found.code == 3
    assert found.data["status"] == "error"
    assert found.data["runs"] == 5
    assert found.data["failures"] > 1
    assert "AssertionError: n2 again, in handle_request_vote, line" in found.data["message"]
    assert "RequestVote" in found.data["message"]
    assert "Traceback" in found.err
    assert "assert src != 'n2'" in found.err
    again = cli("replay", "failed.json", "--json")
    assert again.data["identical"] is True
    assert again.data["outcome"] == "same"


def test_a_handler_that_raises_is_an_error_of_a_run(cli: Cli, edited: Edited) -> None:
    source = edited(GRANT, GRANT + "            raise SystemExit(0)\n")
    ran = cli("run", "raft", "--source", source, "--json")
    assert ran.code == 3
    assert "SystemExit" in ran.data["message"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer on CPU time on this system")
def test_a_handler_that_loops_for_ever_is_stopped(cli: Cli, edited: Edited) -> None:
    source = edited(GRANT, GRANT + "            while True:\n                pass\n")
    found = cli("hunt", "raft", "--source", source, "--runs", "1", "--json")
    assert found.code == 3
    assert "it seems to loop for ever" in found.data["message"]
    assert "RequestVote" in found.data["message"]


def test_nondeterminism_is_reported_instead_of_a_counterexample(cli: Cli, edited: Edited) -> None:
    source = Path(edited(VOTE_ONCE, ""))
    timer = "            self.set_timer(ELECTION, ELECTION_TIMEOUT)  # followers 2, §5.2\n        self.send(src, Vote"
    text = source.read_text("utf-8")
    assert timer in text
    wait = "(__import__('random').randrange(10**5), 3 * 10**5)"
    source.write_text(text.replace(timer, timer.replace("ELECTION_TIMEOUT", wait)), "utf-8")
    found = cli("hunt", "raft", "--source", source, "--json")
    assert found.code == 3
    assert "The protocol is not deterministic" in found.data["message"]
    assert "Raft.handle_request_vote is not deterministic" in found.data["message"]
    assert not list(Path().glob("*.json"))


def test_nondeterminism_between_processes_is_reported_too(cli: Cli, edited: Edited) -> None:
    source = Path(edited(VOTE_ONCE, ""))
    text = source.read_text("utf-8")
    before = "            for peer in self.peers:\n                self.replicate(peer)"
    assert before in text
    source.write_text(text.replace(before, before.replace("self.peers", "set(self.peers)")), "utf-8")
    found = cli("hunt", "raft", "--source", source, "--json", "--nodes", "5")
    assert found.code == 3
    assert "The protocol is not deterministic" in found.data["message"]


def test_an_interrupt_while_shortening_keeps_what_was_found(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hunt_command, "shrink", interrupted)
    found = cli("hunt", "raft", "--mutant", MUTANT, "--json")
    assert found.code == 1
    assert found.data["shrunk"] is None
    assert "Interrupted while shortening" in found.err
    assert cli("replay", found.data["counterexample"]).code == 1


def test_an_interrupt_keeps_the_shortest_story_so_far(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = shrink.Shrinker.breaks
    attempts: list[Scenario] = []

    def interrupted(self: shrink.Shrinker, scenario: Scenario) -> Scenario | None:
        attempts.append(scenario)
        if len(attempts) == 12:
            raise KeyboardInterrupt
        return plain(self, scenario)

    monkeypatch.setattr(shrink.Shrinker, "breaks", interrupted)
    monkeypatch.setattr(shrink, "SEARCH", 0)  # no shorter run in its place
    found = cli("hunt", "raft", "--mutant", MUTANT, "--json")
    assert found.code == 1
    whole = len(attempts[0].script or ())
    assert 6 < found.data["shrunk"]["events"] < whole
    assert cli("replay", found.data["counterexample"]).code == 1


def test_an_interrupt_before_shortening_keeps_what_was_found(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hunt_command, "require_determinism", interrupted)
    found = cli("hunt", "raft", "--mutant", MUTANT, "--json")
    assert found.code == 1
    assert "Interrupted before it was clear that the run can be repeated" in found.err
    assert cli("replay", found.data["counterexample"]).code == 1


def test_the_budget_bounds_shortening_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    full = cli("hunt", "raft", "--mutant", MUTANT, "--json").data["shrunk"]["events"]
    monkeypatch.setattr(hunt_command, "FLOOR", 0.0)
    found = cli("hunt", "raft", "--mutant", MUTANT, "--budget", "0.000001", "--json")
    assert found.code == 1
    assert found.data["shrunk"] is None or found.data["shrunk"]["events"] > 10 * full  # no time to leave out anything
    assert cli("replay", found.data["counterexample"]).code == 1
    monkeypatch.setattr(hunt_command, "FLOOR", 60.0)
    found = cli("hunt", "raft", "--mutant", MUTANT, "--budget", "0.000001", "--json")
    assert found.data["shrunk"]["events"] == full


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize(("jobs", "told"), [("1", signal.SIGINT), ("2", signal.SIGINT), ("1", signal.SIGTERM)])
def test_ctrl_c_or_the_word_to_end_ends_a_hunt_with_what_it_has(
    jobs: str, told: signal.Signals, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "protosim", "hunt", "raft", "--runs", "1000000", "--json", "--jobs", jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs in the background ignores it
    )
    try:
        time.sleep(4)
        os.killpg(process.pid, told)  # as a terminal does: to every process of the group
        out, err = process.communicate(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 2, err
    data = json.loads(out)
    assert data["status"] == "inconclusive"
    assert data["ended_by"] == "interrupt"
    assert data["runs"] > 0 or jobs == "2"  # whose first chunk may take longer on a busy machine
    assert "Traceback" not in err


def test_ctrl_c_elsewhere_is_one_sentence(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("protosim.commands.run.program_of", interrupted)
    stopped = cli("run", "raft", "--json")
    assert stopped.code == 2
    assert stopped.data["status"] == "inconclusive"
    assert stopped.err == "Interrupted before there was anything to tell.\n"


def test_the_default_name_says_what_and_which_seed(cli: Cli) -> None:
    mutant = "raft.handle_request_vote/drop-sync/1"
    found = cli("hunt", "raft", "--mutant", mutant, "--mutant", MUTANT, "--seed", "3", "--json")
    assert found.data["counterexample"] == (
        "counterexample-raft-handle_request_vote-drop-sync-1-vote_once_per_term-3.json"
    )


def test_no_colour_where_nobody_sees_it_or_wants_it(cli: Cli) -> None:
    assert "\x1b" not in cli("run", "raft", "--mutant", MUTANT, "--runs", "9").out
