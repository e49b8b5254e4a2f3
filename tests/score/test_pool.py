"""Workers: what a candidate finds there, and what becomes of one that misbehaves."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from protosim.adapters import sandbox
from protosim.adapters.sandbox import Limits
from protosim.score import pool as pools
from protosim.score.pool import Pool, bundle, python
from tests.score.candidates import REFERENCE


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with bundle() as folder:
        yield folder


def load(root: Path, source: str) -> str:
    """Why a worker does not load the source."""
    pool = Pool(python(root, source))
    try:
        return pool.load()
    finally:
        pool.close()


def test_the_reference_can_be_loaded(root: Path) -> None:
    assert load(root, REFERENCE) == ""


def test_a_source_without_a_protocol_cannot(root: Path) -> None:
    assert "PROTOCOL" in load(root, "x = 1\n")


@pytest.mark.parametrize("module", ["protocols.raft", "protosim.world", "simpy", "mutations", "pytest"])
def test_a_worker_imports_the_vocabulary_and_nothing_else_of_ours(root: Path, module: str) -> None:
    assert "ModuleNotFoundError" in load(root, f"import {module}\n{REFERENCE}")


def test_a_worker_has_no_environment_and_an_empty_folder(root: Path) -> None:
    found = load(root, "import os\nraise ValueError([dict(os.environ), os.listdir('.'), os.getcwd()])\n")
    assert "[{'PYTHONHASHSEED': '0'" in found
    assert "}, [], " in found
    assert "/empty" in found


@pytest.mark.skipif(sandbox.level() == "not isolated" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_worker_cannot_write_into_its_folders(root: Path) -> None:
    for folder in (".", "../protosim"):
        assert "Error: [Errno" in load(root, f"import os\nos.mkdir('{folder}/x')\n")


def test_a_worker_cannot_write_bytes_into_a_file(root: Path, tmp_path: Path) -> None:
    code = f"with open({str(tmp_path / 'x')!r}, 'w') as f:\n    f.write('x')\n"
    assert "Error: [Errno" in load(root, code)
    assert not (tmp_path / "x").exists() or not (tmp_path / "x").read_bytes()


def test_what_a_candidate_prints_goes_nowhere(root: Path) -> None:
    code = "import os\nprint('\"\"')\nos.write(1, b'forged')\nos.write(2, b'forged')\nos.write(0, b'x')\n"
    assert load(root, code + REFERENCE) == ""


TO_EVERY_FILE = """
import os
for fd in range(3, 64):
    try:
        os.write(fd, {})
    except OSError:
        pass
"""

ENDS = {
    "exits": ("import os; os._exit(0)", "ended without an answer"),
    "raises SystemExit": ("raise SystemExit(0)", "SystemExit"),
    "kills itself": ("import os; os.kill(os.getpid(), 9)", "ended without an answer"),
    "closes every file": ("import os; os.closerange(0, 100)", "ended without an answer"),
    "loops": ("while True: pass", "loop for ever"),
    "sleeps": ("import time; time.sleep(100)", "silent"),
    "ignores its alarm": (
        "import signal; signal.signal(signal.SIGVTALRM, signal.SIG_IGN)\nwhile True: pass", "silent"
    ),
    "takes all memory": ("x = bytearray(1 << 31)", "MemoryError"),
    "recurses": ("def f(): return f()\nf()", "RecursionError"),
    "raises what cannot be told": (
        "class E(Exception):\n def __str__(self): raise E\nraise E", "cannot be described"
    ),
    "sends a forged frame": (TO_EVERY_FILE.format(r"b'\2\0\0\0xx'"), "no frames"),
    "announces a huge frame": (
        TO_EVERY_FILE.format(r"b'\xff\xff\xff\x7f'"), "announced a frame"
    ),
    "floods the pipe": (TO_EVERY_FILE.format(r"b'\0\0\x7f\0' + b'x' * (1 << 24)"), "no frames"),
}


@pytest.mark.parametrize(("code", "sentence"), ENDS.values(), ids=list(ENDS))
def test_a_worker_that(root: Path, monkeypatch: pytest.MonkeyPatch, code: str, sentence: str) -> None:
    if sentence == "silent":
        monkeypatch.setattr(pools, "SILENCE", 4.0)
    assert sentence in load(root, code + "\n" + REFERENCE)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_no_process_is_left_behind_in_a_workers_session(root: Path) -> None:
    code = "import os, time\nif os.fork() == 0:\n    time.sleep(100)\n    os._exit(0)\n"
    launch = attrs.evolve(python(root, code + REFERENCE), limits=Limits(processes=1000))
    pool = Pool(launch, "not isolated")
    assert pool.load() == ""
    session = pool.workers[0].process.pid
    assert len(living(session)) == 2
    pool.close()
    for _ in range(100):
        if not living(session):
            return
        time.sleep(0.05)
    pytest.fail("the child lives on")


def living(session: int) -> list[int]:
    """The processes of a session that are not dead yet."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, its = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(its) == session and state != "Z":
            found.append(int(folder.name))
    return found


def test_a_worker_that_stops_listening_is_found_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "SILENCE", 1.0)
    pool = Pool(python(root, REFERENCE))
    assert pool.load() == ""
    worker = pool.workers[0]
    os.killpg(worker.process.pid, signal.SIGSTOP)
    worker.post(["x" * (1 << 20)])  # more than a pipe holds
    assert worker.hear() is None
    assert worker.silent
    assert worker.dead
    pool.close()


def test_a_dead_worker_is_replaced_by_a_new_process(root: Path) -> None:
    pool = Pool(python(root, REFERENCE))
    first = pool.worker(3)
    first.kill("for the test")
    second = pool.worker(3)
    assert second is not first
    second.post([])
    assert (first.hear(), second.hear()) == (None, b"[]")
    pool.close()
