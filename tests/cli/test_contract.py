"""What outside scripts build on: schemas, statuses, exit codes, and stdout for nothing else."""

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import protosim.commands
from protosim.cli import COMMANDS, main

from .conftest import MUTANT, Cli, Edited

HUNT = {
    "status", "warning", "protocol", "mutants", "invariant", "message", "runs", "events", "seconds", "seed",
    "scheduler", "counterexample", "digest", "shrunk",
}  # fmt: skip
RUN = {"status", "events", "simulated_us", "digest", "violations", "faults_fired", "checks_refused", "states"}


def test_every_command_is_a_file_and_every_file_a_command() -> None:
    files = {module.name for module in pkgutil.iter_modules(protosim.commands.__path__)}
    assert set(COMMANDS) == files


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, cli: Cli) -> None:
    helped = cli(command, "--help")
    assert helped.code == 0
    assert f"usage: protosim {command}" in helped.out
    assert "--json" in helped.out


def test_without_a_command_the_commands_are_explained(cli: Cli) -> None:
    for words in ((), ("--help",), ("-h",)):
        helped = cli(*words)
        assert helped.code == 0
        assert all(command in helped.out for command in COMMANDS)
    assert cli("--version").out.startswith("protosim 0.")


def test_a_clean_run_is_ok(cli: Cli) -> None:
    ran = cli("run", "raft", "--json")
    assert ran.code == 0
    assert ran.data["schema"] == "protosim/run/1"
    assert ran.data["status"] == "ok"
    assert set(ran.data) >= RUN | {"warnings", "scheduler", "faults", "nodes", "seed"}
    assert ran.data["violations"] == []
    assert ran.data["events"] == 1500
    assert ran.data["states"] > 100
    assert ran.data["checks_refused"]["vote_once_per_term"]["alone"] > 0
    assert ran.err == ""


def test_a_run_says_what_happened_in_words(cli: Cli) -> None:
    ran = cli("run", "raft")
    assert ran.code == 0
    assert "distinct abstract states" in ran.out
    assert "ok: no invariant broke" in ran.out


def test_a_run_that_breaks_an_invariant_is_a_violation(cli: Cli) -> None:
    ran = cli("run", "raft", "--mutant", MUTANT, "--runs", "20", "--json")
    assert ran.code == 1
    (violation,) = ran.data["violations"]
    assert violation["invariant"] == "election_safety"
    assert "both lead term" in violation["message"]
    assert ran.data["runs"] < 20


def test_a_run_that_achieves_nothing_is_inconclusive(cli: Cli) -> None:
    ran = cli("run", "raft", "--events", "5", "--json")
    assert ran.code == 2
    assert ran.data["status"] == "inconclusive"
    assert "command_committed" in ran.data["missed"]


def test_a_run_whose_budget_runs_out_is_inconclusive(cli: Cli) -> None:
    ran = cli("run", "raft", "--runs", "1000000", "--budget", "0.1", "--json")
    assert ran.code == 2
    assert ran.data["cut_short"] == "the budget ran out"
    assert ran.data["runs"] >= 1


def test_the_options_of_a_run_decide_it(cli: Cli) -> None:
    ran = cli(
        "run", "raft", "--json", "--nodes", "5", "--seed", "7", "--scheduler", "pct", "--events", "400",
        "--faults", "loss:per_mille=100,crash", "--set", "batch=2", "--set", "no_op=true",
    ).data  # fmt: skip
    assert (ran["nodes"], ran["seed"], ran["scheduler"], ran["events"]) == (5, 7, "pct", 400)
    assert ran["switches"] == {"batch": 2, "no_op": True}
    loss, crash = ran["faults"]
    assert loss == "loss:per_mille=100"
    assert crash.startswith("crash:every=")
    assert cli("run", "raft", "--json", "--faults", "none").data["faults"] == []


def test_a_scheduler_with_a_guarantee_prints_it(cli: Cli) -> None:
    assert "1 in " in cli("run", "raft", "--scheduler", "pct").out


def test_several_runs_are_the_same_in_two_processes(cli: Cli) -> None:
    one = cli("run", "raft", "--runs", "6", "--events", "300", "--json").data
    two = cli("run", "raft", "--runs", "6", "--events", "300", "--json", "--jobs", "2").data
    assert one == two
    assert one["runs"] == 6


def test_a_hunt_that_finds_something_is_a_violation(cli: Cli) -> None:
    found = cli("hunt", "raft", "--mutant", MUTANT, "--json")
    assert found.code == 1
    data = found.data
    assert set(data) >= HUNT
    assert data["schema"] == "protosim/hunt/1"
    assert data["mutants"] == [MUTANT]
    assert data["invariant"] == "election_safety"
    assert data["warning"] is None
    assert data["shrunk"]["nodes"] == 3
    assert data["shrunk"]["events"] <= 10
    assert data["counterexample"] == "counterexample-raft-vote_once_per_term-1.json"
    saved = json.loads(Path(data["counterexample"]).read_text("utf-8"))
    assert saved["digest"] == data["digest"]
    assert found.err == ""


def test_a_hunt_tells_the_story(cli: Cli) -> None:
    found = cli("hunt", "raft", "--mutant", MUTANT)
    assert found.code == 1
    assert "Election Safety is violated" in found.out
    assert "both lead term" in found.out
    assert "replay counterexample-raft-vote_once_per_term-1.json" in found.out
    assert "\x1b" not in found.out


def test_a_hunt_that_finds_nothing_is_ok(cli: Cli) -> None:
    found = cli("hunt", "raft", "--runs", "10", "--json")
    assert found.code == 0
    assert set(found.data) >= HUNT
    assert found.data["runs"] == 10
    assert found.data["counterexample"] is None
    assert not list(Path().iterdir())


def test_a_hunt_whose_budget_runs_out_is_inconclusive(cli: Cli) -> None:
    found = cli("hunt", "raft", "--budget", "0.2", "--json")
    assert found.code == 2
    assert found.data["ended_by"] == "budget"


def test_a_hunt_by_events_ends_there(cli: Cli) -> None:
    found = cli("hunt", "raft", "--events", "4000", "--json")
    assert 4000 <= found.data["events"] < 4000 + 1500


def test_a_hunt_finds_the_same_in_two_processes(cli: Cli) -> None:
    words = ("hunt", "raft", "--mutant", "raft.vote_response_current", "--json")
    one, two = (cli(*words, "--jobs", jobs).data for jobs in (1, 2))
    for data in (one, two):
        del data["seconds"]
    assert one == two
    assert one["status"] == "violation"


@pytest.mark.parametrize("kind", ["protocols", "mutations", "invariants", "schedulers", "faults"])
def test_what_there_is_can_be_listed(kind: str, cli: Cli) -> None:
    listed = cli("list", kind, "--json")
    assert listed.code == 0
    assert listed.data["schema"] == "protosim/list/1"
    rows = listed.data[kind]
    assert rows
    words = cli("list", kind).out
    assert all(row.get("name", row.get("id")) in words for row in rows)


def test_a_list_describes_what_it_lists(cli: Cli) -> None:
    faults = {row["name"]: row["description"] for row in cli("list", "faults", "--json").data["faults"]}
    assert faults["loss"].startswith("Loss: ")
    mutants = {row["id"]: row for row in cli("list", "mutations", "raft", "--json").data["mutations"]}
    assert "election_safety" in mutants[MUTANT]["breaks"]
    invariants = {row["name"]: row for row in cli("list", "invariants", "--json").data["invariants"]}
    assert invariants["election_safety"]["mode"] == "always"
    assert invariants["linearizability"]["source"]


@pytest.mark.parametrize("kind", ["protocols", "mutations", "invariants", "schedulers", "faults", "tasks"])
def test_a_list_fits_a_hundred_columns(kind: str, cli: Cli) -> None:
    lines = cli("list", kind).out.splitlines()
    assert [line for line in lines if len(line) > 100] == []


def test_the_mutants_of_one_protocol_are_its_catalogue_and_what_operators_make(cli: Cli) -> None:
    rows = cli("list", "mutations", "raft", "--json").data["mutations"]
    ids = {row["id"]: row["catalogued"] for row in rows}
    assert ids[MUTANT]
    assert not ids["raft.Raft/keep-volatile/log"]
    made = [row for row in rows if not row["catalogued"] and row["kind"] == "lost durability"]
    brief = cli("list", "mutations", "raft").out
    assert f"lost durability ({len(made)})" in brief.partition("made by operators")[2]
    assert "keep-volatile" not in brief
    whole = cli("list", "mutations", "raft", "--all").out
    assert f"made by operators: lost durability ({len(made)})\n    raft.Raft/keep-volatile/" in whole
    assert "Breaks election_safety" in whole
    assert "--all is for `protosim list mutations`, not for faults." in cli("list", "faults", "--all").err


def test_kinds_of_lists_are_listed(cli: Cli) -> None:
    assert cli("list", "--json").data["kinds"][0] == "protocols"
    assert "protosim list faults" in cli("list").out


def test_a_mutant_is_printed_or_written(cli: Cli) -> None:
    diff = cli("mutate", "raft", MUTANT, "--diff")
    assert diff.code == 0
    assert diff.out.startswith("--- a/protocols/raft.py\n+++ b/protocols/raft.py\n")
    assert "\n-            vote_once_per_term=" in diff.out
    source = cli("mutate", "raft", MUTANT).out
    assert "vote_once_per_term=" not in source
    assert cli("mutate", "raft", MUTANT, "-o", "mutant.py").code == 0
    assert Path("mutant.py").read_text("utf-8") == source
    assert cli("mutate", "raft", MUTANT, "--json").data["mutated"] == source


def test_a_mutant_given_as_source_is_the_mutant(cli: Cli) -> None:
    cli("mutate", "raft", MUTANT, "-o", "mutant.py")
    by_id = cli("hunt", "raft", "--mutant", MUTANT, "--json").data
    by_source = cli("hunt", "raft", "--source", "mutant.py", "--json").data
    assert by_source["digest"] == by_id["digest"]
    assert by_source["counterexample"] == "counterexample-raft-mutant-1.json"


def test_the_doctor_reports_every_tool(cli: Cli) -> None:
    report = cli("doctor", "--json")
    assert report.code == 0
    assert {"python", "simpy", "go"} <= {tool["name"] for tool in report.data["tools"]}


def test_what_a_protocol_prints_is_not_on_stdout(cli: Cli, edited: Edited) -> None:
    chatty = edited('        """Restart."""\n', '        print("hello")\n')
    for jobs in ("1", "2"):
        ran = cli("run", "raft", "--source", chatty, "--json", "--jobs", jobs, "--runs", "2", "--events", "50")
        assert ran.data["events"] == 100


def test_verify_compares_the_run_with_two_more(cli: Cli, edited: Edited) -> None:
    assert cli("run", "raft", "--verify", "--events", "200", "--json").data["verified"] is True
    heartbeats = "for peer in self.peers:\n                self.replicate(peer)\n\n    def append_entry"
    unstable = edited(heartbeats, heartbeats.replace("self.peers", "set(self.peers)"))
    ran = cli("run", "raft", "--source", unstable, "--nodes", "5", "--verify")
    assert ran.code == 3
    assert "is not deterministic: in event" in ran.err


@pytest.mark.parametrize("words", [["list", "faults"], ["--help"]])
def test_looking_around_is_quick_and_does_not_load_the_parser_of_mutants(words: list[str]) -> None:
    code = (
        "import sys; from protosim.cli import main; main(sys.argv[1:]); "
        "assert not {'libcst', 'tqdm', 'cattrs', 'simpy'} & set(sys.modules), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_a_run_without_mutants_does_not_load_the_parser_of_mutants() -> None:
    code = (
        "import sys; from protosim.cli import main; main(['run', 'raft', '--events', '50']); "
        "assert 'libcst' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_main_returns_and_never_exits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    assert main(["run"]) == 3
