"""`--worker`: nodes in a program of one's own, in Python and in Java."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from protosim.errors import UserError
from protosim.program import load, reference
from protosim.projection import parse

from .conftest import MUTANT, Cli

JAVA = Path(__file__).parents[2] / "examples/java"
HOST = """
import sys
from protosim.score import worker

class Host(worker.Host):
    def load(self, source):
        return super().load(open(sys.argv[1]).read())

worker.Host = Host
worker.serve(sys.stdin.buffer, sys.stdout.buffer)
"""


@pytest.fixture
def host(tmp_path: Path) -> str:
    """The command of a program that holds the nodes of the Python file which is named after it."""
    (tmp_path / "host.py").write_text(HOST, "utf-8")
    return f"{sys.executable} {tmp_path / 'host.py'}"


@pytest.mark.parametrize("protocol", ["raft", "percolator", "pbft"])  # with clients that are nodes, and with liars
def test_a_run_is_the_same_in_another_program(cli: Cli, host: str, tmp_path: Path, protocol: str) -> None:
    (tmp_path / "nodes_of_its_own.py").write_text(reference(protocol).source, "utf-8")
    options = ("run", protocol, "--runs", 2, "--json")
    here, there = cli(*options), cli(*options, "--worker", f"{host} nodes_of_its_own.py")
    for field in ("status", "digest", "events", "checks_refused", "faults_fired", "missed"):
        assert here.data[field] == there.data[field]


def test_a_hunt_finds_what_is_wrong_and_a_replay_tells_whether_it_is_gone(
    cli: Cli, host: str, tmp_path: Path
) -> None:
    (tmp_path / "raft.py").write_text(load("raft", [MUTANT]).source, "utf-8")
    worker = f"{host} raft.py"
    found = cli("hunt", "raft", "--worker", worker, "--runs", 3, "-o", "story.json", "--json")
    assert (found.code, found.data["invariant"]) == (1, "election_safety")
    assert found.data["shrunk"]["events"] < 20
    again = cli("replay", "story.json", "--json")
    assert (again.code, again.data["identical"], again.data["same_source"]) == (1, True, True)
    (tmp_path / "raft.py").write_text(reference("raft").source, "utf-8")
    repaired = cli("replay", "story.json", "--worker", worker, "--json")
    assert repaired.code != 1
    assert not repaired.data["same_source"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--worker", "no-such-program"], "no-such-program cannot be started: No such file"),
        (["--worker", "/bin/false"], "/bin/false does not speak the step protocol: it "),
        (["--worker", "echo 'unclosed"], "is no command line"),
        (["--worker", " "], "--worker needs a command"),
        (["--project", "map.toml"], "name the program with --worker"),
        (["--worker", "x", "--mutant", MUTANT], "does not go together with --mutant"),
        (["--worker", "x", "--project", "gone.toml"], "gone.toml cannot be read"),
    ],
)
def test_what_is_no_worker_is_said_in_a_sentence(cli: Cli, words: list[str], says: str) -> None:
    refused = cli("hunt", "raft", *words)
    assert (refused.code, refused.out) == (3, "")
    assert says in refused.err


ANSWERS = {
    "ends": ("sys.exit(0)", "the program has ended"),
    "complains": ("answer(['it is broken'])", "the program says: it is broken, while n1 handled its start"),
    "sends too few": ("answer([])", "does not answer 1 event,"),
    "sends what is no answer": ("answer([7])", "an answer is a list of effects and a list of refusals"),
    "sends what is no effect": ("answer([[[[99]], []]])", "(99,) is no effect, while n1 handled its start"),
    "writes what the disk does not have": (
        "answer([[[[1, ['', ['', 'currentTerm', 1]]]], []]])",
        "is no effect: the disk has no field 'currentTerm', while n1 handled its start",
    ),
    "stores what the disk does not have": (
        "answer([[[[2, 'entries', 0, ['']]], []]])",
        "is no effect: the disk has no field 'entries', while n1 handled its start",
    ),
    "sends an unknown message": ("answer([[[[0, 'n2', ['Veto', 1]]], []]])", "there is no message or value 'Veto'"),
}


@pytest.mark.parametrize(("code", "says"), ANSWERS.values(), ids=list(ANSWERS))
def test_a_program_that(cli: Cli, tmp_path: Path, code: str, says: str) -> None:
    (tmp_path / "host.py").write_text(
        "import sys\n"
        "from protosim.score import step\n"
        "def answer(x):\n"
        "    sys.stdout.buffer.write(step.pack(x))\n"
        "    sys.stdout.buffer.flush()\n"
        "def receive():\n"
        "    size = step.LENGTH.unpack(sys.stdin.buffer.read(4))[0]\n"
        "    return step.decode(sys.stdin.buffer.read(size))\n"
        "answer(receive())\n"
        "while True:\n"
        "    events = receive()\n"
        f"    if events == []: answer([])\n"
        f"    else: {code}\n",
        "utf-8",
    )
    failed = cli("run", "raft", "--worker", f"{sys.executable} host.py")
    assert failed.code == 3
    assert says in " ".join(failed.err.split())
    assert "Traceback" not in failed.err


PROJECTION = """
[values]
RequestVote = ["Ask", "last_log_term", 7, "@sender", "term", "=x", "last_log_index", "@receiver", true]
[disk]
term = "epoch"
"""


def test_a_projection_goes_there_and_back() -> None:
    projection = parse(PROJECTION, reference("raft"))
    ours = ["", ["RequestVote", 1, 2, 3], ["Vote", 1, True], None]
    theirs = ["", ["Ask", 3, 7, "n1", 1, "x", 2, "n2", True], ["Vote", 1, True], None]
    assert projection.to_theirs(ours, "n1", "n2") == theirs
    assert projection.to_ours(theirs, "n1", "n2") == ours
    assert (projection.disk_to_theirs("term"), projection.disk_to_ours("epoch")) == ("epoch", "term")
    with pytest.raises(ValueError, match="field 3 of Ask is 'n1' where the projection says 'n3'"):
        projection.to_ours(theirs, "n3", "n2")
    with pytest.raises(ValueError, match="field 8 of Ask is 1 where the projection says True"):
        projection.to_ours(["Ask", 3, 7, "n1", 1, "x", 2, "n2", 1], "n1", "n2")
    with pytest.raises(ValueError, match="Ask has 8 fields, not 1"):
        projection.to_ours(["Ask", 3])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("values", "is no TOML"),
        ("[messages]", "has a section 'messages'"),
        ("[values]\nVeto = ['V']", "There is no message or value of raft 'Veto': did you mean Vote"),
        ("[values]\nVote = ['V', 'term']", "each of term, granted once"),
        ("[values]\nVote = ['V', 'term', 'term', 'granted']", "each of term, granted once"),
        ("[values]\nVote = ['V', 'term', 'granted', 'why']", "each of term, granted once"),
        ("[values]\nVote = 'V'", "first its name in the program"),
        ("[disk]\nepoch = 'term'", "There is no durable field of raft 'epoch'"),
        ("[disk]\nterm = 1", "disk.term is the name of the program's field"),
    ],
)
def test_a_projection_that_does_not_fit_is_refused(text: str, says: str) -> None:
    with pytest.raises(UserError) as refused:
        parse(text, reference("raft"))
    assert says in str(refused.value)


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The command of the example, compiled."""
    if shutil.which("javac") is None:
        pytest.skip("there is no javac here: install Debian's default-jdk-headless")
    folder = tmp_path_factory.mktemp("java")
    subprocess.run(
        ["javac", "-Xlint:all", "-Werror", "-d", str(folder), str(JAVA / "Election.java")], check=True, timeout=300
    )
    return f"java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp {folder} Election"


def test_the_example_in_java_is_short_and_elects_one_leader_a_term(cli: Cli, java: str) -> None:
    assert len((JAVA / "Election.java").read_text("utf-8").splitlines()) <= 120
    options = ("--project", JAVA / "election.toml", "--events", 6000, "--json")
    found = cli("hunt", "raft", "--worker", java, *options)
    assert found.data["failures"] == 0
    assert "leader_elected" not in found.data["missed"]
    assert "command_committed" in found.data["missed"]  # it refuses its clients


def test_the_example_in_java_that_forgets_its_votes_elects_two(cli: Cli, java: str) -> None:
    options = ("--project", JAVA / "election.toml", "--runs", 20, "-o", "story.json", "--json")
    found = cli("hunt", "raft", "--worker", f"{java} --forgetful", *options)
    assert (found.code, found.data["invariant"]) == (1, "election_safety")
    assert cli("replay", "story.json").code == 1
