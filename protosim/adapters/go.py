"""Go, found and run: offline, with an environment and a build cache of its own.

    find().build(paths.data("go"), "cmd/raft", into / "host", overlay={reference: candidate})
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import attrs

from protosim import doctor
from protosim.adapters import confined
from protosim.errors import UserError

OLDEST = (1, 22)
LIMITS = confined.Limits(seconds=300)  # the first build on a machine compiles Go's own library: half a minute
STRIPPED = "-ldflags=-s -w -buildid="  # without the names of locals, and without anything that says when and where
FIXED = {
    "CGO_ENABLED": "0",
    "GOENV": "off",
    "GOFLAGS": "-trimpath -buildvcs=false",
    "GOPROXY": "off",
    "GOSUMDB": "off",
    "GOTELEMETRY": "off",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}


class Missing(UserError):
    """There is no Go here that works: a sentence that says how to get one."""


@attrs.frozen
class Go:
    root: Path  # GOROOT
    version: str

    def program(self, name: str) -> str:
        return str(self.root / "bin" / name)

    def build(
        self, module: Path, package: str, into: Path, overlay: Mapping[Path, Path], flags: Sequence[str] = ()
    ) -> str:
        """Compile a command of the module, with other files in the place of some of its own. Nothing of it is run.

        Returns what the compiler finds wrong, or nothing. Raises OSError if Go does not start, TimeoutError if it does
        not end.
        """
        swaps = json.dumps({"Replace": {str(old): str(new) for old, new in overlay.items()}})
        with tempfile.TemporaryDirectory(prefix="protosim-") as folder:
            named = Path(folder, "overlay.json")
            named.write_text(swaps, "utf-8")
            command = [self.program("go"), "-C", str(module), "build", "-overlay", str(named), *flags]
            done = self._run([*command, "-o", str(into), f"./{package}"])
        if done.code is None:
            raise TimeoutError(f"Go did not compile {package} within {LIMITS.seconds:g} s")
        return "" if done.code == 0 else done.output

    def build_tests(self, module: Path, package: str, into: Path) -> str:
        """Compile the tests of a package of the module, as `build` does a command."""
        command = [self.program("go"), "-C", str(module), "test", "-c", STRIPPED, "-o", str(into), f"./{package}"]
        done = self._run(command)
        if done.code is None:
            raise OSError(f"Go did not compile the tests of {package} within {LIMITS.seconds:g} s")
        return "" if done.code == 0 else done.output

    def kept(self, name: str, sources: Iterable[Path], build: Callable[[Path], str]) -> Path:
        """The program that `build` makes of these sources of ours: made once, and kept in the cache.

        Raises OSError where it cannot be made.
        """
        key = blake2b(self.version.encode(), digest_size=8)
        for path in sorted(sources):
            key.update(path.name.encode() + path.read_bytes())
        kept = cache() / f"{name}-{key.hexdigest()}"
        if not kept.is_file():
            with tempfile.TemporaryDirectory(prefix="protosim-") as folder:
                made = Path(folder, name)
                if errors := build(made):
                    raise OSError(f"{name} cannot be compiled: {errors.strip()}")
                beside = kept.with_name(f".{kept.name}.{Path(folder).name}")
                shutil.copy(made, beside)
                beside.replace(kept)
        return kept

    def format(self, source: str) -> str:
        """The source as gofmt lays it out. Raises UserError where it does not parse."""
        command = [self.program("gofmt"), "-w", "source.go"]
        done = confined.run(command, {"source.go": source}, ["source.go"], LIMITS)
        if done.code != 0:
            raise UserError(f"gofmt cannot read this source: {done.output.strip()}")
        return done.files["source.go"]

    def _run(self, command: Sequence[str]) -> confined.Done:
        return confined.run(command, {}, [], LIMITS, environment=self.environment())

    def environment(self) -> dict[str, str]:
        """Go's whole environment."""
        kept = cache()
        folders = {"GOROOT": self.root, "GOCACHE": kept / "go-build", "GOPATH": kept / "go-path", "HOME": kept}
        return FIXED | {name: str(path) for name, path in folders.items()} | {"PATH": os.defpath}


def find() -> Go:
    """What PROTOSIM_GO names, what the locked wheel brings, or what is on PATH. Raises Missing."""
    tool = next(tool for tool in doctor.EXTERNALS if tool.name == "go")
    found, executable = doctor.diagnose(tool), doctor.which(tool)
    if not found.found or executable is None:
        raise Missing(f"Go is needed and was not found. {found.advice}")
    if tuple(map(int, re.findall(r"\d+", found.version)[:2])) < OLDEST:
        raise Missing(f"Go {found.version} was found, and 1.22 is the oldest that will do. {tool.advice}")
    root = confined.run([executable, "env", "GOROOT"], {}, [], LIMITS).output.strip()
    return Go(Path(root), found.version)


def cache() -> Path:
    """Where builds are kept from run to run: PROTOSIM_CACHE, or a folder of the user's."""
    named = os.environ.get("PROTOSIM_CACHE", "")
    folder = Path(named or os.environ.get("XDG_CACHE_HOME", "") or "~/.cache", "" if named else "protosim")
    try:
        folder = folder.expanduser().resolve()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        says = f"{folder} cannot be used to keep what was built: {error}"
        raise UserError(f"{says}. PROTOSIM_CACHE names another.") from None
    return folder
