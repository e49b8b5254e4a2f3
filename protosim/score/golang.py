"""A candidate in Go: the gate that it must pass, the program that it is compiled to, and how that becomes a worker.

Only the candidate's one file is taken. It stands in the place of the reference's in a module that is otherwise ours,
and the gate refuses what would let it name another file. Nothing of it runs before it is a worker in a sandbox.
"""

import contextlib
import json
import re
import tempfile
from collections.abc import Generator, Sequence
from hashlib import blake2b
from pathlib import Path

import attrs

from mutations import Mutation
from mutations import golang as mutated
from protosim import paths
from protosim.adapters import confined, go
from protosim.adapters.sandbox import Limits
from protosim.errors import UserError
from protosim.run import printable
from protosim.score.gates import Refusal
from protosim.score.pool import Launch, Pool, protect
from protosim.score.suite import Task

SUFFIX = ".go"
LIMITS = Limits(memory=2 << 30, processes=64)  # Go reserves half of it and uses little; it has threads of its own
GATE = confined.Limits(seconds=60)
ERRORS = 3  # of the compiler, in a sentence


def package_of(protocol: str) -> str:
    return protocol.replace("_", "")


def is_known(protocol: str) -> bool:
    """Whether there is a reference in Go."""
    return _path(protocol).is_file()


def source_path(protocol: str) -> Path:
    """The reference's one file. Raises UserError where there is none in Go."""
    if not is_known(protocol):
        raise UserError(f"There is no {protocol} in Go yet: answer in Python.")
    return _path(protocol)


def _path(protocol: str) -> Path:
    return paths.data("go") / package_of(protocol) / f"{package_of(protocol)}.go"


def reference(protocol: str) -> str:
    return source_path(protocol).read_text("utf-8")


def handed_out(task: Task, bugs: Sequence[Mutation]) -> str:
    """The reference with the task's bugs, or without the bodies that are to be written. Raises UserError."""
    source = reference(task.protocol)
    edited = mutated.without_bodies(source, task.removed) if task.kind == "impl" else mutated.apply_all(source, bugs)
    return go.find().format(edited)


@contextlib.contextmanager
def workshop(protocol: str) -> Generator["Workshop"]:
    """A folder in which a candidate is compiled. Raises UserError where Go is missing."""
    found = go.find()
    with tempfile.TemporaryDirectory(prefix="score-") as folder:
        made = Workshop(found, protocol, Path(folder))
        made.run.mkdir()
        (made.run / "empty").mkdir()
        try:
            yield made
        finally:
            for inner in (made.run, made.run / "empty"):
                inner.chmod(0o700)


@attrs.frozen
class Workshop:
    go: go.Go
    protocol: str
    folder: Path

    @property
    def run(self) -> Path:
        """What a worker sees: its program, and the empty folder in which it works."""
        return self.folder / "run"

    def worker(self, source: str, handed_out: str) -> Launch | Refusal:
        """The worker that a candidate is compiled to, or the gate that it does not pass.

        Raises OSError where this machine is to blame.
        """
        plain = self.gate(source)
        if isinstance(plain, Refusal):
            return plain
        built = self.compiled(source, self.run / "worker")
        if isinstance(built, Refusal):
            self.require_health()
            return built
        if self._same(plain, handed_out):
            return Refusal("unmodified", "the candidate does exactly what the handed-out source does")
        return self.launch()

    def launch(self) -> Launch:
        self.folder.chmod(0o755)
        protect(self.run)
        return Launch((str(self.run / "worker"),), self.run / "empty", "", (self.run,), LIMITS)

    def gate(self, source: str) -> str | Refusal:
        """The candidate's code without comments and layout, or why it is refused."""
        texts = {"reference.go": reference(self.protocol), "candidate.go": source}
        environment = self.go.environment() | {"PATH": str(self.go.root / "bin")}
        command = [str(self._gate()), "-module", str(paths.data("go")), *texts]
        done = confined.run(command, texts, [], GATE, environment=environment)
        if done.code is None or not done.output.startswith("{"):
            return Refusal("compile_error", "the candidate cannot be read by Go's own parser and type checker")
        verdict = json.loads(done.output)
        line = f"line {verdict['line']}: " if verdict.get("line") else ""
        if verdict.get("stage") == "infra_error":
            raise OSError(f"the reference cannot be compiled: {line}{verdict['rule']}")
        if "stage" in verdict:
            return Refusal(verdict["stage"], printable(line + verdict["rule"]))
        return str(verdict["plain"])

    def compiled(self, source: str, into: Path, *flags: str) -> Path | Refusal:
        """The program with this source in the reference's place."""
        own = source_path(self.protocol)
        text = self.folder / own.name
        text.write_text(source, "utf-8", newline="\n")
        package = f"cmd/{package_of(self.protocol)}"
        try:
            errors = self.go.build(paths.data("go"), package, into, {own: text}, flags)
        except TimeoutError as late:  # a source can see to that; a machine that is too slow fails the reference as well
            return Refusal("compile_error", str(late))
        return Refusal("compile_error", _sentence(errors)) if errors else into

    def require_health(self) -> None:
        """Raise OSError unless the reference can be compiled and started."""
        into = self.run / "worker"
        self.run.chmod(0o700)
        if isinstance(wrong := self.compiled(reference(self.protocol), into), Refusal):
            raise OSError(f"the reference cannot be compiled: {wrong.sentence}")
        with contextlib.closing(Pool(self.launch())) as pool:
            if failed := pool.load():
                raise OSError(f"a worker cannot run the reference: {failed}")

    def _same(self, plain: str, handed_out: str) -> bool:
        """Whether both are compiled to the same program, but for the names of locals."""
        other = self.gate(handed_out)
        if plain == other:
            return True
        forms: list[bytes] = []
        for text in (plain, other):
            assert isinstance(text, str)
            built = self.compiled(text, self.folder / "plain", go.STRIPPED)
            if isinstance(built, Refusal):
                return False
            forms.append(blake2b(built.read_bytes()).digest())
        return forms[0] == forms[1]

    def _gate(self) -> Path:
        """The gate's program, which is kept from run to run."""
        root = paths.data("go")
        sources = (root / "gate").glob("*.go")
        return self.go.kept("gate", sources, lambda into: self.go.build(root, "gate", into, {}))


def _sentence(errors: str) -> str:
    """The compiler's first errors."""
    found = re.findall(r"\.go:(\d+)(?::\d+)?: (.*)", errors)
    lines = [f"line {line}: {what}" for line, what in found if what != "too many errors"]
    return printable("; ".join(lines[:ERRORS]) or errors.strip().splitlines()[-1])
