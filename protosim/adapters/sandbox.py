"""Sandboxes: what keeps a program in that may have been written by anybody.

    confine("bubblewrap", ["/tmp/x/host", "--flag"], Path("/tmp/x/empty"), [Path("/tmp/x")], Limits())

A sandbox is a longer command. Whatever the level, the environment is empty, and limits bind memory, CPU time, processes
and files.

    bubblewrap    its own process, network and mount namespaces; the system's libraries and what it is given to read are
                  all the files there are; nothing is writable; a user of its own where root starts it
    landlock      the same files; no TCP, no signals to others; a user of its own where root starts it. It sees that
                  other files and processes exist, and can tell what these do, by `stat`
    ... without seccomp
                  the same, but calls by which one process can notice another are not refused, such as locks on files
                  (`protosim.adapters.seccomp`): where the kernel takes no filter, or none is known for the machine.
                  Under Landlock, it has sockets as well
    not isolated  a process like any other, but for the limits
"""

import functools
import itertools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import attrs

from protosim import doctor
from protosim.adapters import enter, seccomp

Level = Literal["bubblewrap", "bubblewrap without seccomp", "landlock", "landlock without seccomp", "not isolated"]
LEVELS: tuple[Level, ...] = get_args(Level)  # the best first
FILTERED: tuple[Level, ...] = ("bubblewrap", "landlock")

OURS = Path(__file__).resolve().parents[2]  # never shown: protocols and tasks lie here
INTERPRETER = os.path.realpath(sys.executable)
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", str(Path(sys.base_prefix, "lib")))
FIRST_USER = 1 << 30  # nobody else has this number, nor the next so many
PROBE = 20.0  # seconds
_each = itertools.chain.from_iterable


@attrs.frozen
class Limits:
    memory: int = 1 << 30  # bytes of address space, each process
    cpu: int = 60  # seconds, each process
    processes: int = 1  # and threads, in all; a system may not count those of root
    files: int = 32  # open ones; so few pipes do not use up what all processes of a user may have

    def settings(self) -> dict[str, int]:
        """By the names of `resource`; nothing may be written into files."""
        most = {"AS": self.memory, "CPU": self.cpu, "NPROC": self.processes, "NOFILE": self.files}
        return {**most, "FSIZE": 0, "CORE": 0}


@functools.cache
def level() -> Level:
    """The best that works here."""
    return next(one for one in LEVELS if works(one))


def works(one: Level) -> bool:
    """Whether a program can be started so, the interpreter for one."""
    if one in FILTERED and not forbidden():
        return False
    command = confine(one, [INTERPRETER, "-I", "-S", "-c", ""], Path("/"), [], Limits())
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE, cwd="/", env=enter.ENVIRONMENT
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def confine(
    one: Level, command: Sequence[str], folder: Path, reads: Sequence[Path], limits: Limits
) -> list[str]:
    """The command that starts `command` in this folder, where it sees the system's libraries and `reads`.

    Its descriptors must be closed by whoever starts it.
    """
    root = os.geteuid() == 0
    seen = [*libraries(), *map(str, reads)]
    wrapped, locked = one.startswith("bubblewrap"), one.startswith("landlock")
    how: dict[str, Any] = {
        "limits": limits.settings(),
        "user": _fresh_user() if root and (wrapped or locked) else 0,
        "landlock": seen if locked else [],
        "seccomp": forbidden() if one in FILTERED else "",
    }
    shares_its_user = not wrapped and not (locked and root)
    if shares_its_user and limits.processes > 1:
        del how["limits"]["NPROC"]  # it counts all that this user runs
    inside = [INTERPRETER, "-I", "-S", "-B", enter.__file__, json.dumps(how), *command]
    return _bubblewrap(folder, seen, root) + inside if wrapped else inside


@functools.cache
def forbidden() -> str:
    """The filter of calls for this machine, in hexadecimal digits; empty where there is none."""
    return seccomp.program(platform.machine() if sys.platform == "linux" else "").hex()


def _bubblewrap(folder: Path, seen: Sequence[str], root: bool) -> list[str]:
    paths = [*seen, os.devnull]
    above = dict.fromkeys(str(parent) for path in paths for parent in reversed(Path(path).parents))
    privileges = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if root else ["--unshare-user"]
    return [
        doctor.which(doctor.BUBBLEWRAP) or "bwrap",
        *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--die-with-parent", "--cap-drop", "ALL", *privileges),
        *_each(("--perms", "0755", "--dir", path) for path in above),
        *_each(("--ro-bind", path, path) for path in seen),
        *("--dev-bind", os.devnull, os.devnull, "--remount-ro", "/", "--chdir", str(folder), "--"),
    ]


@functools.cache
def libraries() -> tuple[str, ...]:
    """What every program needs, and what `enter` does: files and folders, none of which holds anything of ours."""
    folders = [path for path in dict.fromkeys(LIBRARIES) if os.path.isdir(path)]
    beside = _each(_without_ours(Path(path)) for path in folders)
    return (*map(str, beside), INTERPRETER, enter.__file__)


def _without_ours(folder: Path) -> Iterator[Path]:
    """The folder, or where ours lies below it, all that lies beside ours."""
    real = folder.resolve()
    if not OURS.is_relative_to(real):
        yield folder
    elif real != OURS:
        for inner in sorted(folder.iterdir()):
            yield from _without_ours(inner)


def _fresh_user() -> int:
    """A user that has no other process: what it may start is counted, and it can signal nobody.

    By chance, since containers of one machine share their users and number their processes alike. A user that was given
    twice would have too many threads to begin.
    """
    return FIRST_USER + int.from_bytes(os.urandom(4)) % FIRST_USER
