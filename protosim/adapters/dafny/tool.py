"""Dafny, found and run: 2.x as Debian ships it, or 4.x.

    verify({"answer.dfy": text}, dafny=find()).outcomes["TinyProof", "TwiceIsMore"]

Nothing is compiled. The verdict's limit is Z3's resource count, which does not depend on how busy the machine is; the
clock is only there for what that does not count.
"""

import re
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import attrs

from protosim import doctor
from protosim.adapters import confined
from protosim.adapters.dafny import outcomes as said

RESOURCES = 40_000_000  # of Z3, for each lemma: about ten seconds of CPU
PATIENCE = 1000  # seconds a lemma, which only a machine that stands still needs
LIMITS = confined.Limits(seconds=3600)
LOG = "outcomes"


class Missing(Exception):
    """There is no Dafny here that works: a sentence that says how to get one."""


@attrs.frozen
class Dafny:
    executable: str
    version: str
    z3: str | None  # None: the one that Dafny finds by itself

    @property
    def pinned(self) -> bool:
        """Whether it uses the z3 of this Python's environment, which is the one that limits were measured with."""
        return self.z3 is not None and Path(self.z3) == _own_z3()

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])

    def command(self, files: list[str], resources: int) -> list[str]:
        if self.major < 4:
            return self._command_2(files, resources)
        return [
            *(self.executable, "verify", "--cores=1", "--allow-warnings", "--error-limit=1"),
            *(f"--resource-limit={resources}", f"--verification-time-limit={PATIENCE}"),
            *("--log-format", f"json;LogFileName={LOG}"),
            *files,
        ]

    def _command_2(self, files: list[str], resources: int) -> list[str]:
        # With noCheating what is claimed needs a body, and `assume` proves nothing.
        return [
            *(self.executable, "/nologo", "/compile:0", "/noCheating:1", "/verifyAllModules", "/errorLimit:1"),
            *(f"/rlimit:{resources}", f"/timeLimit:{PATIENCE}", f"/xml:{LOG}"),
            *([f"/z3exe:{self.z3}"] if self.z3 else []),
            *files,
        ]


def find() -> Dafny:
    """The Dafny of this machine. Raises Missing."""
    tool = next(tool for tool in doctor.EXTERNALS if tool.name == "dafny")
    found = doctor.diagnose(tool)
    executable = doctor.which(tool)
    if not found.found or executable is None:
        raise Missing(f"Dafny is needed and was not found. {found.advice}")
    if int(found.version.partition(".")[0]) not in (2, 4):
        raise Missing(f"Dafny {found.version} was found, and only 2.x and 4.x are understood. {tool.advice}")
    return Dafny(executable, found.version, str(_own_z3()) if _own_z3().is_file() else shutil.which("z3"))


def _own_z3() -> Path:
    return Path(sysconfig.get_path("scripts")) / "z3"


@attrs.frozen
class Verdict:
    """What Dafny said of a program."""

    ended: str  # verified, rejected (it does not parse or resolve), stopped, crashed
    outcomes: Mapping[said.Name, str] = attrs.field(factory=dict)  # correct, errors, timedout, outofresource, ...
    messages: tuple[said.Message, ...] = ()
    output: str = ""


def verify(
    files: Mapping[str, str],
    dafny: Dafny,
    resources: int = RESOURCES,
    limits: confined.Limits = LIMITS,
    stop_at: re.Pattern[str] | None = None,
) -> Verdict:
    """Let Dafny judge these files as one program, or until this is in its output. Raises OSError if it cannot start."""
    done = confined.run(dafny.command(list(files), resources), files, [LOG], limits, stop_at)
    errors = said.messages(done.output)
    if done.code is None:
        return Verdict("stopped", messages=errors, output=done.output)
    log = done.files.get(LOG, "")
    try:
        found = said.from_xml(log) if dafny.major < 4 else said.from_json(log)
    except said.Unreadable:
        found = None
    if done.code == 2 or (dafny.major >= 4 and not found and said.rejects(done.output)):
        return Verdict("rejected", messages=errors, output=done.output)
    if done.code not in (0, 4) or found is None:
        return Verdict("crashed", messages=errors, output=done.output)
    return Verdict("verified", found, errors, done.output)
