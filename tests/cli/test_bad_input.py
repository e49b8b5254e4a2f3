"""Every mistake gets one clear sentence on stderr, exit code 3, and an object on stdout if one was asked for."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

import mutations
from mutations.entry import DriftKind, Mutation, Replace
from protosim.errors import UserError
from protosim.program import reference

from .conftest import MUTANT, Cli, Edited

HUGE = "9" * 5000


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["hnt", "raft"], "There is no command 'hnt': did you mean hunt?"),
        (["run", "rft"], "There is no protocol 'rft': did you mean raft, pbft or raft_whole?"),
        (["hunt", "paxso"], "There is no protocol 'paxso': did you mean paxos, multi_paxos or pbft_store?"),
        (["mutate", "rft", "x"], "There is no protocol 'rft': did you mean raft"),
        (["kills", "rft"], "There is no protocol 'rft': did you mean raft"),
        (["soak", "rft"], "There is no protocol 'rft': did you mean raft"),
        (["explore", "rft"], "There is no protocol 'rft': did you mean raft"),
        (["hunt"], "PROTOCOL is missing"),
        (["hunt", "raft", "paxos"], "'paxos' is one word too many"),
        (["hunt", "raft", "--sede", "1"], "there is no option --sede; did you mean --seed?"),
        (["hunt", "raft", "--seed"], "--seed needs a value"),
        (["hunt", "raft", "--mutant", "vote_once_per_trm"], "the nearest are raft.vote_once_per_term"),
        (["mutate", "raft", "vote_once_per_trm"], "the nearest are raft.vote_once_per_term"),
        (["kills", "raft", "vote_once_per_trm"], "the nearest are raft.vote_once_per_term"),
        (["kills", "raft", "--operators", "handle_vote/drop-sync/1"], "raft.handle_request_vote/drop-sync/1"),
        (["run", "raft", "--mutant", "zzz"], "raft has no mutant zzz; `protosim list mutations raft` has them."),
        (["run", "paxos", "--mutant", MUTANT], f"{MUTANT} is a mutant of raft, not of paxos."),
        (["run", "raft", "--scheduler", "wlk"], "There is no scheduler 'wlk': did you mean walk"),
        (["run", "raft", "--faults", "crahs"], "There is no fault 'crahs': did you mean crash"),
        (["run", "raft", "--faults", "crash:evry=3"], "did you mean every?"),
        (["run", "raft", "--faults", "loss:per_mille=1001"], "whole number from 0 to 1,000, not '1001'"),
        (["run", "raft", "--faults", "loss:per_mille=-1"], "whole number from 0 to 1,000, not '-1'"),
        (["run", "raft", "--faults", ""], "There is no fault ''"),
        (["run", "raft", "--set", "bach=1"], "There is no switch of raft 'bach': did you mean batch?"),
        (["run", "raft", "--set", "batch=many"], "The switch batch of raft cannot be 'many'"),
        (["run", "raft", "--set", "batch=-1"], "The switch batch of raft cannot be -1"),
        (["run", "raft", "--set", "batch=" + HUGE], "The switch batch of raft cannot be"),
        (["run", "raft", "--set", "batch"], "--set takes SWITCH=VALUE, not 'batch'"),
        (["list", "protocls"], "did you mean protocols?"),
        (["list", "mutations", "rft"], "did you mean raft"),
        (["list", "faults", "--write"], "--write is for `protosim list protocols`, not for faults."),
        (["run", "paxos", "--set", "batch=1"], "There is no switch of paxos 'batch': there is none."),
        (["score", "fix_raft_safty", "x.py"], "fix_raft_safety"),
    ],
)
def test_an_unknown_name_gets_the_nearest_one(words: list[str], says: str, cli: Cli) -> None:
    refused = cli(*words)
    assert refused.code == 3
    assert says in refused.err
    assert refused.out == ""
    assert len(refused.err.strip().splitlines()) == 1


@pytest.mark.parametrize("option", ["--seed", "--nodes", "--runs", "--events", "--jobs"])
@pytest.mark.parametrize("value", ["-1", "1.5", "many", "", HUGE, "0x10"])
@pytest.mark.parametrize("command", ["run", "hunt"])
def test_a_number_must_be_whole_and_within_bounds(command: str, option: str, value: str, cli: Cli) -> None:
    refused = cli(command, "raft", option, value)
    assert refused.code == 3
    assert f"{option} takes a whole number from" in refused.err
    assert len(refused.err) < 250


@pytest.mark.parametrize("option", ["--nodes", "--runs", "--events", "--jobs"])
def test_none_is_too_few(option: str, cli: Cli) -> None:
    assert f"{option} takes a whole number from 1" in cli("hunt", "raft", option, "0").err


@pytest.mark.parametrize("value", ["0", "-3", "nan", "inf", "soon", "1e300", ""])
def test_a_budget_is_a_positive_number_of_seconds(value: str, cli: Cli) -> None:
    refused = cli("hunt", "raft", "--budget", value)
    assert refused.code == 3
    assert "--budget takes a number of seconds above 0" in refused.err


def test_a_cluster_of_more_than_nine_is_refused(cli: Cli) -> None:
    assert "--nodes takes a whole number from 1 to 9" in cli("run", "raft", "--nodes", "10").err


@pytest.mark.parametrize("command", ["run", "hunt", "kills", "soak"])
def test_a_model_has_no_nodes_to_run(command: str, cli: Cli) -> None:
    refused = cli(command, "two_phase")
    assert refused.code == 3
    assert "two_phase is a model of shared state" in refused.err
    assert "`protosim explore two_phase`" in refused.err
    assert refused.out == ""


def test_a_cluster_that_a_protocol_cannot_run_with_is_refused_with_the_reason(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = attrs.evolve(reference("raft").spec, smallest=3, largest=5, note_sizes="others make no quorums")
    monkeypatch.setattr("protocols.raft.PROTOCOL", spec)
    for command in ("run", "hunt"):
        few = cli(command, "raft", "--nodes", "2")
        assert (few.code, few.err) == (3, "--nodes: raft needs 3 nodes or more: others make no quorums.\n")
        many = cli(command, "raft", "--nodes", "6")
        assert (many.code, many.err) == (3, "--nodes: raft runs with 5 nodes at most: others make no quorums.\n")


@pytest.mark.parametrize("command", ["run", "hunt", "mutate"])
def test_mutants_that_conflict_are_named_with_the_place(command: str, cli: Cli) -> None:
    ids = ["handle_request_vote/drop-sync/1", "handle_request_vote/swap-sync-and-send/1"]
    words = ids if command == "mutate" else [word for id in ids for word in ("--mutant", id)]
    refused = cli(command, "raft", *words)
    assert refused.code == 3
    assert refused.err.startswith(f"raft.{ids[0]} and raft.{ids[1]} both change handle_request_vote: ")
    assert refused.err.endswith("choose one of them.\n")
    assert refused.out == ""


def test_with_json_a_mistake_is_an_object_too(cli: Cli) -> None:
    refused = cli("hunt", "rft", "--json")
    assert refused.code == 3
    assert refused.data == {
        "schema": "protosim/hunt/1",
        "status": "error",
        "message": "There is no protocol 'rft': did you mean raft, pbft or raft_whole?",
    }
    assert cli("hnt", "--json").data["schema"] == "protosim/usage/1"


# -- Sources -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def broken(:\n", "line 1 does not parse"),
        ("x = 1\n", "lacks the entry point of a protocol: PROTOCOL"),
        ("PROTOCOL = 7\n", "lacks the entry point of a protocol: PROTOCOL"),
        ("import nothing_by_this_name\n", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(0)\n", "cannot be imported: SystemExit"),
        ("x = 1\0\n", "does not parse"),
        ("", "lacks the entry point"),
        ("(" * 3000 + "\n", "does not parse"),
    ],
)
@pytest.mark.parametrize("command", ["run", "hunt"])
def test_a_source_must_be_a_protocol(command: str, text: str, says: str, cli: Cli) -> None:
    Path("mine.py").write_text(text, "utf-8")
    refused = cli(command, "raft", "--source", "mine.py")
    assert refused.code == 3
    assert says in refused.err
    assert "mine.py" in refused.err
    assert "internal error" not in refused.err


def test_a_source_must_be_there(cli: Cli) -> None:
    assert cli("run", "raft", "--source", "gone.py").err == "gone.py cannot be read: No such file or directory\n"
    assert "cannot be read" in cli("run", "raft", "--source", ".").err
    Path("latin.py").write_bytes(b"# \xe9\n")
    assert "latin.py is not UTF-8 text" in cli("run", "raft", "--source", "latin.py").err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_candidate_that_is_a_pipe_is_refused_before_anybody_waits_for_it(cli: Cli) -> None:
    os.mkfifo("pipe.py")
    refused = cli("score", "fix_raft_safety", "pipe.py")
    sentence = "The candidate pipe.py is a device or a pipe, which may never end: name a file.\n"
    assert (refused.code, refused.err) == (3, sentence)


def test_a_mutant_that_does_not_apply_to_the_source_says_what_it_expected(cli: Cli, edited: Edited) -> None:
    source = edited("            vote_once_per_term=self.disk.voted_for in (None, src),  # receiver 2, §5.2\n", "")
    refused = cli("run", "raft", "--source", source, "--mutant", MUTANT)
    assert refused.code == 3
    assert "vote_once_per_term" in refused.err
    assert "no longer applies" in refused.err


def test_a_mutation_that_no_longer_applies_says_which_text_was_expected(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    drift = Mutation(
        id="raft.outdated",
        title="An edit of text that is gone.",
        kind=DriftKind.WRONG_COMPARISON,
        edits=(Replace("Raft.count_votes", "self.is_majority(self.ballots)", "True"),),
    )

    def find(protocol: str, name: str, source: str) -> Mutation:
        return drift

    monkeypatch.setattr(mutations, "find", find)
    refused = cli("mutate", "raft", "raft.outdated")
    assert refused.code == 3
    assert "raft.outdated no longer applies" in refused.err
    assert "self.is_majority(self.ballots)" in refused.err
    assert "count_votes" in refused.err


# -- Counterexample files ----------------------------------------------------------------------------


def _damage(path: Path, how: str) -> None:
    text = path.read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    if how == "truncated":
        path.write_text(text[: len(text) // 2], "utf-8")
    elif how == "edited":
        path.write_text(text.replace('"n1"', '"n2"', 1), "utf-8")
    elif how == "of another version":
        path.write_text(json.dumps({**data, "schema": "protosim/counterexample/99"}), "utf-8")
    elif how == "no counterexample":
        path.write_text("[]", "utf-8")
    elif how == "binary":
        path.write_bytes(b"\xff\xfe\x00")
    else:
        path.unlink()


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("truncated", "is cut short or damaged"),
        ("edited", "was edited"),
        ("of another version", "'protosim/counterexample/99'"),
        ("no counterexample", "is no counterexample file"),
        ("binary", "is not UTF-8 text"),
        ("gone", "cannot be read: No such file or directory"),
    ],
)
def test_a_counterexample_file_must_be_whole(how: str, says: str, cli: Cli, caught: Path) -> None:
    _damage(caught, how)
    for command in ("replay", "show"):
        refused = cli(command, caught)
        assert refused.code == 3
        assert says in refused.err
        assert str(caught) in refused.err


def test_the_source_that_something_was_found_in_may_be_gone(cli: Cli) -> None:
    cli("mutate", "raft", MUTANT, "-o", "mutant.py")
    assert cli("hunt", "raft", "--source", "mutant.py", "-o", "found.json").code == 1
    Path("mutant.py").unlink()
    again = cli("replay", "found.json")
    assert again.code == 1, "the file holds the code it was found in"
    assert "the same invariant breaks" in again.out
    assert cli("show", "found.json").code == 0
    refused = cli("replay", "found.json", "--source", "mutant.py")
    assert refused.code == 3
    assert "mutant.py cannot be read" in refused.err


# -- Where nothing can be written --------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["hunt", "raft", "-o", "file/found.json"],
        ["hunt", "raft", "-o", "."],
        ["mutate", "raft", MUTANT, "-o", "file/mutant.py"],
        ["replay", "caught.json", "-o", "file/again.json"],
        ["show", "caught.json", "--svg", "file/story.svg"],
        ["show", "caught.json", "--html", "file/story.html"],
        ["demo", "-o", "file"],
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(words: list[str], cli: Cli, caught: Path) -> None:
    Path("file").write_text("not a folder", "utf-8")
    refused = cli(*words)
    assert refused.code == 3
    assert "cannot be written" in refused.err or "is a folder" in refused.err
    assert refused.out == ""


# -- Our own faults ----------------------------------------------------------------------------------


def test_a_bug_of_ours_is_one_sentence(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("protosim.commands.run.program_of", fail)
    refused = cli("run", "raft")
    assert refused.code == 3
    assert refused.err.startswith("protosim: internal error: ZeroDivisionError: oops (this is a bug of protosim)")
    assert "Traceback" not in refused.err
    monkeypatch.setenv("PROTOSIM_TRACEBACK", "1")
    assert "Traceback" in cli("run", "raft").err


def test_a_user_error_is_never_called_a_bug(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise UserError("Mend this.")

    monkeypatch.setattr("protosim.commands.run.program_of", fail)
    assert cli("run", "raft").err == "Mend this.\n"


def test_a_reader_that_leaves_is_no_error() -> None:
    protosim = [sys.executable, "-m", "protosim", "run", "raft", "--events", "300"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(protosim, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) in (0, 2)
    assert said == ""


def test_a_terminal_without_unicode_gets_ascii(caught: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONIOENCODING": "ascii"}
    protosim = [sys.executable, "-m", "protosim", "show", str(caught)]
    done = subprocess.run(protosim, capture_output=True, env=environment, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Election Safety" in done.stdout
    done.stdout.decode("ascii")
