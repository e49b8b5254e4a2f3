"""Started as a script in a worker's process: it gives up what a worker does not need, and becomes that program.

    python enter.py '{"limits": {"AS": 1073741824}, "user": 70000, "landlock": ["/usr/lib"], "seccomp": "2000..."}' \
        PROGRAM ARGUMENT ...

It imports the standard library and nothing else. The Linux numbers are those of <linux/landlock.h>, <linux/prctl.h> and
<linux/seccomp.h>. What it cannot give up ends it.
"""

import contextlib
import ctypes
import json
import os
import resource
import struct
import sys
from collections.abc import Sequence

ENVIRONMENT = {"PYTHONHASHSEED": "0"}  # of every worker, whole
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # on every architecture
VERSION, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
ALL_FILES, ALL_TCP, ALL_SCOPES = (1 << 16) - 1, 3, 3
LEAST = 6  # version of Landlock: files, TCP, signals and abstract sockets
NO_NEW_PRIVILEGES, SECCOMP, BY_FILTER = 38, 22, 2


def main() -> None:
    how, program, *arguments = sys.argv[1:]
    given = json.loads(how)
    for name, most in given["limits"].items():
        if (limit := getattr(resource, f"RLIMIT_{name}", None)) is not None:
            with contextlib.suppress(OSError, ValueError):  # not every system has every limit
                resource.setrlimit(limit, (most, most))
    if given["landlock"]:
        lock(given["landlock"])
    if given["user"]:
        os.setgroups([])
        os.setgid(given["user"])
        os.setuid(given["user"])
    if given["seccomp"]:
        refuse(bytes.fromhex(given["seccomp"]))
    os.execve(program, [program, *arguments], ENVIRONMENT)


def lock(paths: Sequence[str]) -> None:
    """From here on this process reads and runs what lies below these, and writes nowhere but to /dev/null."""
    if (version := _call(CREATE_RULESET, None, 0, VERSION)) < LEAST:
        raise OSError(f"this is version {version} of Landlock; {LEAST} is the least")
    rules = _call(CREATE_RULESET, struct.pack("<QQQ", ALL_FILES, ALL_TCP, ALL_SCOPES), 24, 0)
    for path in paths:
        _allow(rules, path, EXECUTE | READ_FILE | (READ_DIR if os.path.isdir(path) else 0))
    _allow(rules, os.devnull, READ_FILE | WRITE_FILE)
    _give_up_privileges()
    _call(RESTRICT_SELF, rules, 0)
    os.close(rules)


def refuse(program: bytes) -> None:
    """From here on the kernel refuses this process, and what it becomes, the calls that the filter names."""
    _give_up_privileges()
    code = ctypes.create_string_buffer(program, len(program))
    instructions = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    if ctypes.CDLL(None).prctl(SECCOMP, BY_FILTER, instructions, 0, 0):
        raise OSError("this kernel takes no filter of calls")


def _give_up_privileges() -> None:
    if ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError("new privileges cannot be given up")


def _allow(rules: int, path: str, access: int) -> None:
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    _call(ADD_RULE, rules, PATH_BENEATH, struct.pack("<Qi", access, file), 0)
    os.close(file)


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    found: int = libc.syscall(number, *arguments)
    if found < 0:
        raise OSError(ctypes.get_errno(), "Landlock")
    return found


if __name__ == "__main__":
    main()
