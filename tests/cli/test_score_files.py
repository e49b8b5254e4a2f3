"""The command `score` with files that are none, and with a folder of answers."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from protosim.errors import UserError
from protosim.program import reference
from protosim.score import handed_out, verdicts
from protosim.score.result import Result
from protosim.score.verdicts import Log
from tests.score.candidates import shorten

from .conftest import Cli

TASK = "fix_raft_safety"


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each of these tests the temporary folder is as empty as before, and no process works in it."""
    assert tmp_path  # made before, elsewhere: workers have users of their own, who cannot enter it
    folder = Path(tempfile.mkdtemp(prefix="protosim-test-"))
    folder.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    try:
        yield
        assert list(folder.iterdir()) == []
        assert _at_work_in(folder) == []
    finally:
        shutil.rmtree(folder)


def _at_work_in(folder: Path) -> list[str]:
    """The command lines of living processes that name the folder."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words:
            found.append(words)
    return found


def make_missing(path: Path) -> None:
    assert not path.exists()


def make_folder(path: Path) -> None:
    path.mkdir()
    for n in range(10_000):
        (path / f"{n}.py").touch()


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100 << 20)


def make_link(path: Path) -> None:
    target = path.with_name("reference.py")
    target.write_text(reference("raft").source, "utf-8")
    path.symlink_to(target)


def make_dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def make_binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)))


def make_nul(path: Path) -> None:
    path.write_bytes(b"x = 1\0")


def make_empty(path: Path) -> None:
    path.touch()


def make_device(path: Path) -> None:
    os.mkfifo(path)


MALFORMED = {
    "missing": (make_missing, 3, "", "cannot be read: No such file or directory"),
    "a folder of 10,000 files": (make_folder, 3, "", "is a folder: name a file in it"),
    "100 MB": (make_huge, 1, "tampered", "has 104857600 bytes; 262144 are the most"),
    "a link to the reference": (make_link, 1, "tampered", "is a symbolic link: hand in the file itself"),
    "a link to nothing": (make_dangling, 1, "tampered", "is a symbolic link"),
    "binary": (make_binary, 1, "tampered", "is not UTF-8 text"),
    "with a zero byte": (make_nul, 1, "compile_error", "null bytes"),
    "empty": (make_empty, 1, "compile_error", "the candidate is empty"),
    "a pipe": (make_device, 3, "", "is a device or a pipe, which may never end"),
}


@pytest.mark.parametrize("ending", [".py", ".go"])
@pytest.mark.parametrize(("make", "code", "stage", "says"), MALFORMED.values(), ids=list(MALFORMED))
def test_a_candidate_that_is(
    cli: Cli, tmp_path: Path, make: object, code: int, stage: str, says: str, ending: str
) -> None:
    assert callable(make)
    make(tmp_path / f"candidate{ending}")
    if ending == ".go" and stage == "compile_error":
        pytest.skip("the Go compiler's words: see tests/go")
    done = cli("score", TASK, f"candidate{ending}")
    assert done.code == code
    words = " ".join((done.out + done.err).split())
    assert says in words
    assert words.count(says) == 1
    if stage:
        answer = cli("score", TASK, f"candidate{ending}", "--json")
        assert (answer.code, answer.data["stage"], answer.data["score"]) == (1, stage, 0)
    else:
        assert done.out == ""
        assert done.err.count("\n") == 1


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a solution, the handed-out source, and one that does not parse; the suite is one killing run."""
    shorten(monkeypatch, 1, ("kill",))
    monkeypatch.setattr("protosim.score.batch.load_task", lambda name: name)
    folder = tmp_path / "answers"
    folder.mkdir()
    (folder / "a.py").write_text(reference("raft").source, "utf-8")
    (folder / "b.py").write_text("# Repaired.\n" + handed_out(TASK), "utf-8")
    (folder / "c.py").write_text("def f(:", "utf-8")
    (folder / "notes.txt").touch()
    return folder


def test_a_folder_of_answers_is_judged_one_by_one(cli: Cli, answers: Path) -> None:
    (answers / "d.py").mkdir()
    done = cli("score", TASK, "--batch", answers, "--json")
    rows = {row["name"]: (row["stage"], row["score"]) for row in done.data["answers"]}
    assert rows == {
        "a.py": ("scored", 1.0), "b.py": ("unmodified", 0.0), "c.py": ("compile_error", 0.0), "d.py": ("error", None)
    }  # fmt: skip
    assert (done.code, done.data["status"]) == (3, "error")
    (answers / "d.py").rmdir()
    done = cli("score", TASK, "--batch", answers, "--out", "another.jsonl")
    assert done.code == 1
    assert "1 of 3 answers solves the task" in " ".join(done.out.split())
    assert "answers an hour and core" in " ".join(done.out.split())
    for name in "bc":
        (answers / f"{name}.py").unlink()
    assert cli("score", TASK, "--batch", answers, "--json").code == 0


def test_names_of_answers_hold_nothing_that_a_terminal_obeys(cli: Cli, tmp_path: Path) -> None:
    for name in ("a\x1b[2J.py", "b\n\r.py", f"{'c' * 200}.py", "d\udcff.py"):
        (tmp_path / name).write_bytes(b"\xff")
    (tmp_path / "e\x1b[2J.py").mkdir()
    told = cli("score", TASK, "--batch", tmp_path)
    assert told.code == 3
    assert all(line.isprintable() for line in told.out.splitlines())
    assert "a?[2J.py" in told.out


def test_an_interrupted_batch_keeps_its_verdicts_and_goes_on_with_the_rest(
    cli: Cli, answers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = ["c.py"]

    def judged(task: str, candidate: Path, **how: object) -> Result:
        if candidate.name in until:
            raise KeyboardInterrupt
        solved = candidate.read_text("utf-8") == reference("raft").source
        return Result(task=task, split="public", stage="scored", score=float(solved), solved=solved)

    monkeypatch.setattr("protosim.score.batch.score", judged)
    first = cli("score", TASK, "--batch", answers, "--json")
    assert (first.code, first.data["status"], first.data["left"]) == (2, "inconclusive", 1)
    assert [row["name"] for row in first.data["answers"]] == ["a.py", "b.py"]
    log = answers.with_name("answers.verdicts.jsonl")
    assert first.data["log"] == str(log)
    assert [json.loads(line)["name"] for line in log.read_text("utf-8").splitlines()] == ["a.py", "b.py"]

    (answers / "a.py").rename(answers / "d.py")  # what counts is what it holds
    until.clear()
    again = cli("score", TASK, "--batch", answers, "--json")
    assert [(row["name"], row["score"]) for row in again.data["answers"]] == [("b.py", 0), ("c.py", 0), ("d.py", 1)]
    assert (again.data["known"], again.data["left"]) == (2, 0)
    assert len(log.read_text("utf-8").splitlines()) == 3

    words = " ".join(cli("score", TASK, "--batch", answers).out.split())
    assert "1 of 3 answers solves the task, 3 of them judged before." in words


def test_a_verdict_is_known_only_to_the_same_judge_of_the_same_bytes(answers: Path) -> None:
    judge = verdicts.judged_by(TASK)
    assert judge == verdicts.judged_by(TASK)
    key = verdicts.key(judge, answers / "a.py")
    assert key == verdicts.key(judge, answers / "a.py")
    (answers / "a.go").write_bytes((answers / "a.py").read_bytes())
    (answers / "link.py").symlink_to("a.py")
    others = [verdicts.key(judge, answers / "b.py"), verdicts.key(judge, answers / "a.go")]
    others.append(verdicts.key(verdicts.judged_by("paxos_prepare"), answers / "a.py"))
    assert len({key, *others}) == 4
    assert verdicts.key(judge, answers / "link.py") == ""


def test_a_log_of_verdicts_survives_a_line_that_was_cut_short(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    assert log.read() == {}
    log.add("one", {"score": 1.0})
    whole = log.path.read_bytes()
    log.add("two", {"score": 0.5})
    log.path.write_bytes(log.path.read_bytes()[: len(whole) + 40])
    assert set(log.read()) == {"one"}
    log.add("three", {"score": 0.0})
    assert {key: verdict["score"] for key, verdict in log.read().items()} == {"one": 1.0, "three": 0.0}
    log.path.write_text("my notes\n", "utf-8")
    with pytest.raises(UserError, match="holds something else than verdicts"):
        log.read()


def test_a_batch_needs_a_task_and_a_folder_with_answers(cli: Cli) -> None:
    Path("empty").mkdir()
    assert "cannot be read: No such file" in cli("score", TASK, "--batch", "gone").err
    assert "holds no answer: they end in .py or .go" in cli("score", TASK, "--batch", "empty").err
    assert "holds no answer: they end in .dfy" in cli("score", "verify_log_compaction", "--batch", "empty").err
    assert "did you mean fix_raft_safety" in cli("score", "fix_raft_safty", "--batch", "empty").err
    assert cli("score", TASK, "a.py", "--batch", "empty").code == 3
    assert "-o is for --batch and --run" in cli("score", TASK, "a.py", "--out", "log").err


@pytest.mark.parametrize("name", ["raft.txt", "Raft.GO", "raft"])
def test_a_file_whose_ending_names_no_language_has_no_score_and_nothing_is_written_to_it(name: str, cli: Cli) -> None:
    shown = cli("score", TASK, "--handout", name)
    assert (shown.code, Path(name).exists()) == (3, False)
    Path(name).write_text(reference("raft").source, "utf-8")
    shown = cli("score", TASK, name)
    assert shown.code == 3
    assert f"{name} ends in neither .py nor .go" in shown.err
