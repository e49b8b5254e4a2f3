"""The filter of calls: that two workers which see one file cannot tell each other anything by it."""

import json
import platform
import re
import struct
import subprocess
from functools import cache
from pathlib import Path

import pytest

from protosim.adapters import enter, go, sandbox, seccomp
from protosim.adapters.sandbox import Level, Limits
from protosim.program import reference
from protosim.score.pool import Pool, bundle, python

OPEN: Level = "bubblewrap without seccomp"  # what the attempts are tried in to see that they are good ones
SYSTEMS = Path("/usr/bin/python3")  # everybody may read it, if it is there
PYTHON = str(SYSTEMS.resolve()) if SYSTEMS.exists() else sandbox.INTERPRETER
TOOLS = [Path(PYTHON)] if SYSTEMS.exists() else []
LET_THROUGH, FORBIDDEN, UNKNOWN = "let through", "forbidden", "unknown"
HERE = seccomp.MACHINES.get(platform.machine(), (0, 0))[0]  # the column of this machine's numbers

# Each is tried by `attempt`, which says how a call ended: call(name, arguments ...), or any OSError. SEEN is a file of
# the library, open; SPACE is memory.
ATTEMPTS = {
    "flock": "fcntl.flock(SEEN, fcntl.LOCK_EX)",
    "lock a record": "fcntl.lockf(SEEN, fcntl.LOCK_SH)",
    "ask for a record's lock": "fcntl.fcntl(SEEN, fcntl.F_GETLK, struct.pack('hhqqi4x', 1, 0, 0, 0, 0))",
    "lock a record, for as long as the file is open": "fcntl.fcntl(SEEN, 37, struct.pack('hhqqi4x', 0, 0, 0, 0, 0))",
    "lease": "fcntl.fcntl(SEEN, fcntl.F_SETLEASE, fcntl.F_RDLCK)",
    "notify": "fcntl.fcntl(os.open(os.path.dirname(os.__file__), os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)",
    "give a file an owner": "fcntl.fcntl(SEEN, fcntl.F_SETOWN, os.getpid())",
    "give a file a hint": "call('fcntl', SEEN, 1036, SPACE)",
    "size of a pipe": "fcntl.fcntl(os.pipe()[0], 1031, 1 << 16)",
    "flags of a file": "fcntl.ioctl(SEEN, 0x80086601, bytes(8))",
    "inotify": "call('inotify_init1', 0)",
    "keys": "call('keyctl', 0, -3, 1)",
    "shared memory": "call('shmget', 7, 4096, 0o1666)",
    "semaphores": "call('semget', 7, 1, 0o1666)",
    "messages": "call('msgget', 7, 0o1666)",
    "queues": "call('mq_open', b'note', 0o102, 0o666, None)",
    "socket": "socket.socket(socket.AF_UNIX)",
    "a pair of sockets": "socket.socketpair()",
    "futex on a file": "call('futex', SPACE, 1, 1, None, None, 0)",
    "priority": "os.nice(1)",
    "whose priority": "os.getpriority(os.PRIO_PROCESS, 0)",
    "processors": "os.sched_setaffinity(0, {0})",
    "another's processors": "os.sched_getaffinity(1)",
    "another's limits": "resource.prlimit(1, resource.RLIMIT_NOFILE)",
    "another's clock": "time.clock_gettime(~1 << 3 | 2)",
    "signals that queue up": "os.kill(os.getpid(), 60)",
    "a signal with a note": "call('rt_sigqueueinfo', os.getpid(), 0, SPACE)",
    "ptrace": "call('ptrace', 0, 0, 0, 0)",
    "another's memory": "call('process_vm_readv', os.getpid(), None, 0, None, 0, 0)",
    "a process as a file": "os.pidfd_open(os.getpid())",
    "group of processes": "os.setpgid(0, 0)",
    "times of a file": "os.utime(SEEN, (1, 1))",
    "mode of a file": "os.chmod(SEEN, 0o777)",
    "attributes of a file": "os.setxattr(SEEN, 'user.note', b'x')",
    "what is in memory": "call('mincore', SPACE, 4096, SPACE)",
    "how full the memory is": "call('sysinfo', SPACE)",
    "requests to a disk": "call('io_setup', 1, bytes(8))",
    "a timer of the kernel": "call('timer_create', 0, None, SPACE)",
    "io_uring": "call('io_uring_setup', 1, SPACE)",
    "memory as a file": "os.memfd_create('note')",
    "faults": "call('userfaultfd', 0)",
    "programs in the kernel": "call('bpf', 0, None, 0)",
    "counters": "call('perf_event_open', SPACE, 0, -1, -1, 0)",
    "namespaces": "call('unshare', 0x10000000)",
    "a process in a namespace": "call('clone', 0x10000000 | 17, None, None, None, None)",
}
NEWER = {"clone3": "call('clone3', SPACE, 88)", "the x32 ABI": "call(1 << 30 | 39)", "what is to come": "call(900)"}

PROBE = """
import ctypes, errno, fcntl, json, os, resource, signal, socket, struct, sys, time
NUMBERS, ATTEMPTS = json.loads(sys.argv[1]), json.loads(sys.argv[2])
LIBC = ctypes.CDLL(None, use_errno=True)
SEEN = os.open(os.__file__, os.O_RDONLY)
SPACE = bytearray(1 << 16)
signal.signal(60, signal.SIG_IGN)
SPACE = (ctypes.c_char * len(SPACE)).from_buffer(SPACE)
def call(name, *arguments):
    number = name if isinstance(name, int) else NUMBERS[name]
    if LIBC.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
def attempt(code):
    try:
        exec(code)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
print(json.dumps({name: attempt(code) for name, code in ATTEMPTS.items()}))
"""


def numbers() -> dict[str, int]:
    rules = {name: rule.numbers for name, rule in seccomp.RULES.items()} | {"clone3": seccomp.CLONE3}
    return {name: number for name, each in (seccomp.REFUSED | rules).items() if (number := each[HERE]) is not None}


@cache
def ends(level: Level) -> dict[str, str]:
    """How each attempt ends in a sandbox of this level: "done", or the error's name."""
    if level in sandbox.FILTERED and not sandbox.forbidden():
        pytest.skip("no filter of calls is known for this machine")
    attempts = json.dumps(ATTEMPTS | NEWER)
    probe = [PYTHON, "-I", "-S", "-c", PROBE, json.dumps(numbers()), attempts]
    command = sandbox.confine(level, probe, Path("/"), TOOLS, Limits())
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=enter.ENVIRONMENT, timeout=60)
    if done.returncode and not sandbox.works(level):
        pytest.skip(f"{level} does not work here")
    assert (done.stderr, done.returncode) == ("", 0)
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("level", sandbox.FILTERED)
def test_a_worker_can_do_nothing_that_another_may_notice(level: Level) -> None:
    expected = dict.fromkeys(ATTEMPTS, "EPERM") | dict.fromkeys(NEWER, "ENOSYS")
    assert ends(level) == expected


def test_the_attempts_are_good_ones_where_no_filter_is() -> None:
    """The others are refused for another reason as well: a fresh user, namespaces, this kernel."""
    done = {what for what, how in ends(OPEN).items() if how == "done"}
    assert {"flock", "lock a record", "ask for a record's lock", "inotify", "shared memory", "semaphores"} <= done
    assert {"socket", "futex on a file", "priority", "another's clock", "how full the memory is"} <= done
    assert len(done) >= 20


NOTE = """
import fcntl, os, struct
SEEN = open(os.__file__)
def is_locked(lock):
    try:
        lock()
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False
def whole():
    fcntl.flock(SEEN, fcntl.LOCK_EX | fcntl.LOCK_NB)
def record():
    found = fcntl.fcntl(SEEN, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    if struct.unpack_from("h", found)[0] != fcntl.F_UNLCK:
        raise BlockingIOError
    fcntl.lockf(SEEN, fcntl.LOCK_SH)
if HOW:
    raise ValueError("NOTE")
"""


@pytest.mark.parametrize("how", ["is_locked(whole)", "is_locked(record)"])
def test_a_worker_finds_no_lock_of_another(how: str) -> None:
    """The first is still there when the second looks. Where no filter is, it finds the lock."""
    level = sandbox.level()
    if level not in sandbox.FILTERED:
        pytest.skip("no filter of calls works here")
    source = NOTE.replace("HOW", how) + reference("raft").source
    found = {}
    with bundle() as root:
        for each in (level, f"{level} without seccomp"):
            pool = Pool(python(root, source), each)  # type: ignore[arg-type]
            for number in (0, 1):
                pool.worker(number).post([])
                pool.worker(number).hear()
            found[each] = [pool.workers[number].dead for number in (0, 1)]
            pool.close()
    assert found[level] == ["", ""]
    first, second = found[f"{level} without seccomp"]
    assert first == ""
    assert "NOTE" in second


def test_where_no_filter_is_known_the_worker_starts_and_the_level_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    if not sandbox.works(OPEN):
        pytest.skip("bubblewrap does not work here")
    monkeypatch.setattr(sandbox, "forbidden", lambda: "")
    assert next(level for level in sandbox.LEVELS if sandbox.works(level)) == OPEN


def test_where_the_kernel_takes_no_filter_the_level_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    if not sandbox.works(OPEN):
        pytest.skip("bubblewrap does not work here")
    monkeypatch.setattr(sandbox, "forbidden", lambda: "00" * 8)  # no such instruction
    assert next(level for level in sandbox.LEVELS if sandbox.works(level)) == OPEN


# -- The program, as the kernel would run it ---------------------------------------------------------


VERDICTS = dict(zip((seccomp.ALLOW, seccomp.FORBID, seccomp.UNKNOWN), (LET_THROUGH, FORBIDDEN, UNKNOWN), strict=True))


def verdict(machine: str, number: int, arguments: tuple[int, ...] = (), architecture: int | None = None) -> str:
    own = seccomp.MACHINES[machine][1] if architecture is None else architecture
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, own, 0, *[argument & (1 << 64) - 1 for argument in padded])
    code = [*struct.iter_unpack("=HBBI", seccomp.program(machine))]
    at = held = 0
    while True:
        what, then, otherwise, constant = code[at]
        at += 1
        if what == seccomp.RETURN:
            return VERDICTS[what, then, otherwise, constant]
        if what == seccomp.LOAD:
            held = struct.unpack_from("<I", data, constant)[0]
        else:
            test = {
                seccomp.EQUAL: held == constant,
                seccomp.AT_LEAST: held >= constant,
                seccomp.ANY_BIT: bool(held & constant),
            }
            at += then if test[what] else otherwise


@pytest.mark.parametrize(("machine", "named"), [("x86_64", "amd64"), ("aarch64", "arm64")])
def test_all_that_is_refused_has_the_numbers_that_go_knows_and_nothing_else_is_refused(
    machine: str, named: str
) -> None:
    try:
        root = go.find().root
    except go.Missing as missing:
        pytest.skip(str(missing))
    table = root / f"src/cmd/vendor/golang.org/x/sys/unix/zsysnum_linux_{named}.go"
    known = {name.lower(): int(n) for name, n in re.findall(r"SYS_(\w+)\s*=\s*(\d+)", table.read_text())}
    column = seccomp.MACHINES[machine][0]
    for name, each in (seccomp.REFUSED | {name: rule.numbers for name, rule in seccomp.RULES.items()}).items():
        assert known.get(name) == each[column], name
    for name, number in known.items():
        if name == "clone3" or number > seccomp.NEWEST:
            assert verdict(machine, number) == UNKNOWN
        elif name not in seccomp.RULES:
            assert verdict(machine, number) == (FORBIDDEN if name in seccomp.REFUSED else LET_THROUGH), name


@pytest.mark.parametrize("machine", seccomp.MACHINES)
@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("fcntl", [(3, 1), (3, 1030), (3, 1 << 32 | 1)], [(3, 6), (3, 1024), (3, 1031), (1, 1026), (3, -1)]),
        ("ioctl", [(0, 0x5401)], [(0, 0x5412), (1, 0)]),
        ("futex", [(0, 0x80), (0, 0x189)], [(0, 0), (0, 1), (0, 0x109)]),
        ("clone", [(17,), (0x3D0F00,)], [(0x10000000,), (0x20000 | 17,)]),
        ("prlimit64", [(0, 7)], [(1, 0), (-1, 0)]),
        ("clock_gettime", [(0,), (11,)], [(12,), (~1 << 3 | 2,)]),
        ("kill", [(1, 9)], [(1, 32), (1, 64)]),
        ("tgkill", [(1, 1, 23)], [(1, 1, 34)]),
    ],
)
def test_a_call_is_let_through_by_its_argument(
    machine: str, name: str, good: list[tuple[int, ...]], bad: list[tuple[int, ...]]
) -> None:
    number = seccomp.RULES[name].numbers[seccomp.MACHINES[machine][0]]
    assert number is not None
    assert {verdict(machine, number, arguments) for arguments in good} == {LET_THROUGH}
    assert {verdict(machine, number, arguments) for arguments in bad} == {FORBIDDEN}


def test_what_calls_by_another_architectures_numbers_is_refused() -> None:
    i386 = 0x40000003
    assert verdict("x86_64", 0, architecture=i386) == verdict("aarch64", 63, architecture=0) == FORBIDDEN
    assert verdict("x86_64", 0) == verdict("aarch64", 63) == LET_THROUGH  # read
    assert verdict("x86_64", 1 << 30) == UNKNOWN  # read of x32
