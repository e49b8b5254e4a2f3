"""What a program in a sandbox sees and can do, at every level that works here."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from protosim.adapters import enter, sandbox
from protosim.adapters.sandbox import Level, Limits
from protosim.program import reference
from protosim.score.pool import Pool, bundle, python
from tests.dafny.conftest import required

Says = Callable[..., str]
SHELL = "/bin/bash"  # its built-in commands need no other file
TOOLS = [Path(folder) for folder in ("/bin", "/usr/bin") if Path(folder).exists()]


def run(level: Level, script: str, limits: Limits = Limits()) -> subprocess.CompletedProcess[str]:  # noqa: B008
    command = sandbox.confine(level, [SHELL, "-c", script], Path("/"), TOOLS, limits)
    return subprocess.run(command, capture_output=True, text=True, cwd="/", env=enter.ENVIRONMENT, timeout=60)


@pytest.fixture(params=["bubblewrap", "landlock"])
def says(request: pytest.FixtureRequest) -> Says:
    """`says(script)`: what a shell in the sandbox prints, and what it complains about."""
    level: Level = request.param
    try:
        works = run(level, "exit 0").returncode == 0
    except OSError:
        works = False
    if not works and level == "bubblewrap" and required("bwrap"):
        pytest.fail("bubblewrap does not work here, and PROTOSIM_REQUIRE names it")
    if not works:
        pytest.skip(f"{level} does not work here")

    def answer(script: str, limits: Limits = Limits()) -> str:  # noqa: B008
        done = run(level, script, limits)
        return done.stdout + done.stderr

    return answer


def test_scores_are_made_in_bubblewrap_where_it_is_required() -> None:
    if required("bwrap"):
        assert sandbox.level() == "bubblewrap"
    assert sandbox.level() in sandbox.LEVELS
    assert sandbox.works(sandbox.level())


@pytest.mark.parametrize("path", ["/etc/passwd", str(sandbox.OURS / "protocols/raft.py"), "/proc/1/environ"])
def test_it_reads_no_file_but_those_it_was_given(says: Says, path: str) -> None:
    assert Path(path).exists()
    found = says(f"read -r line < {path} && echo READ; echo done")
    assert "READ" not in found
    assert "done" in found


def test_it_sees_nothing_of_ours_beside_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json/x.py", "site-packages/protosim/x.py", "site-packages/protocols/x.py", "zlib.so"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(sandbox, "OURS", tmp_path / "site-packages")
    monkeypatch.setattr(sandbox, "LIBRARIES", (str(tmp_path),))
    sandbox.libraries.cache_clear()
    try:
        found = sandbox.libraries()
    finally:
        sandbox.libraries.cache_clear()
    assert [path for path in found if path.startswith(str(tmp_path))] == [
        str(tmp_path / "json"), str(tmp_path / "zlib.so")
    ]  # fmt: skip


@pytest.mark.parametrize("folder", ["/tmp", "/", "/dev/shm", "/var/tmp", "/usr/bin"])
def test_it_writes_nowhere(says: Says, folder: str) -> None:
    mine = Path(folder, f"protosim-{os.getpid()}")
    found = says(f"true > {mine} && echo WROTE; echo done")
    assert "WROTE" not in found
    assert "done" in found
    assert not mine.exists()


def test_it_has_no_environment(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROTOSIM_SECRET", "/somewhere")
    names = {line.partition("=")[0] for line in says("export -p; compgen -e").split("\n") if "declare" not in line}
    assert names - {""} <= {"PYTHONHASHSEED", "PWD", "OLDPWD", "SHLVL", "_"}  # the shell's own, but for the first


def test_it_inherits_no_descriptor(says: Says, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        files = f"{{3..9}} {{11..63}} {secret.fileno()}"  # the shell uses the tenth
        probe = f"for n in {files}; do if {{ true >&$n; }} 2>/dev/null; then echo OPEN $n; fi; done"
        found = says(probe + "; echo done")
    assert "OPEN" not in found
    assert "done" in found


def test_it_reaches_no_network(says: Says) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()  # whoever is outside does
        found = says(f"true > /dev/tcp/127.0.0.1/{port} && echo REACHED; echo done")
    assert "REACHED" not in found
    assert "done" in found


def test_it_signals_nobody_outside(says: Says) -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        found = says(f"kill -9 {sleeper.pid} && echo KILLED; kill -9 {os.getpid()} && echo KILLED; echo done")
        assert "KILLED" not in found
        assert "done" in found
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


def test_it_starts_no_process_beyond_its_limit(says: Says) -> None:
    five = "exec /bin/sh -c 'for n in 1 2 3 4 5; do sleep 0.1 & done; wait; echo done'"
    assert "fork" in says(five)
    if os.geteuid() == 0:  # else all that this user runs may count
        assert "fork" in says(five, Limits(processes=5))
        assert says(five, Limits(processes=6)) == "done\n"


def test_it_has_a_user_of_its_own_where_root_starts_it(says: Says) -> None:
    if os.geteuid() == 0:
        one, other = says("echo $UID").strip(), says("echo $UID").strip()
        assert int(one) >= sandbox.FIRST_USER
        assert one != other


def test_nobody_is_given_the_user_of_a_worker_that_still_runs_however_many_were_started_since() -> None:
    held = sandbox._fresh_user()
    assert all(sandbox._fresh_user() != held for _ in range(5000))


@pytest.mark.parametrize(
    ("limits", "script"),
    [
        (Limits(cpu=1), "while true; do true; done"),
        (Limits(memory=64 << 20), "printf -v x '%0100000000d' 0; echo done"),
    ],
)
def test_it_keeps_its_limits(says: Says, limits: Limits, script: str) -> None:
    assert "done" not in says(script, limits)


def test_where_no_sandbox_works_limits_are_left() -> None:
    assert "File too large" in (done := run("not isolated", "echo x > /tmp/protosim-limits; ulimit -c")).stderr or (
        "write error" in done.stderr
    )
    Path("/tmp/protosim-limits").unlink(missing_ok=True)
    assert done.stdout.strip() == "0"


def test_a_sandbox_that_cannot_start_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Sequence[str]:
        return ["/bin/false"]

    monkeypatch.setattr(sandbox, "confine", broken)
    assert not sandbox.works("bubblewrap")
    monkeypatch.setattr(sandbox, "confine", lambda *_: ["/no/such/program"])
    assert not sandbox.works("bubblewrap")


NOTES = """
import os, socket, time
NAME = "protosim-note-{unique}"
found = []
for folder in (".", "..", "/tmp", "/var/tmp", "/dev/shm"):
    path = os.path.join(folder, NAME)
    if os.path.exists(path):
        found.append(path)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
    except OSError:
        pass
for family, address in ((socket.AF_UNIX, "\\0" + NAME), (socket.AF_INET, ("127.0.0.1", {port}))):
    try:
        with socket.socket(family) as there:
            there.connect(address)
        found.append(str(family))
    except OSError:
        pass
    try:
        mine = socket.socket(family)
        mine.bind(address)
        mine.listen()
        globals()[str(family)] = mine
    except OSError:
        pass
if found:
    raise ValueError("NOTE " + " ".join(found))
"""


@pytest.mark.skipif(sandbox.level() != "bubblewrap", reason="bubblewrap does not work here")
def test_a_worker_leaves_no_note_for_another(tmp_path: Path) -> None:
    """By a file, a socket with a name, a port. The first worker is still there when the second looks."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    code = NOTES.replace("{unique}", tmp_path.name + str(os.getpid())).replace("{port}", str(port))
    with bundle() as root:
        pool = Pool(python(root, code + reference("raft").source))
        first, second = pool.worker(0), pool.worker(1)
        for worker in (first, second):
            worker.post([])
            assert worker.hear() == b"[]", worker.dead
        pool.close()
        # The notes are good ones: without a sandbox they are found.
        if os.geteuid() != 0:
            return
        bare = Pool(python(root, code + reference("raft").source), "not isolated")
        for number in (0, 1):
            bare.worker(number).post([])
            bare.worker(number).hear()
        assert bare.workers[0].dead == ""
        assert "NOTE" in bare.workers[1].dead
        bare.close()
    for folder in (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")):
        (folder / f"protosim-note-{tmp_path.name}{os.getpid()}").unlink(missing_ok=True)
