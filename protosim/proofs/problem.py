"""A proof problem: its files, its required lemmas, and the ways to weaken its specification.

    dafny/NAME/spec.dfy        trusted: datatypes, predicates, transition functions; nothing to prove
    dafny/NAME/skeleton.dfy    what is handed out: the required lemmas, without proofs
    dafny/NAME/reference.dfy   the same with proofs
    dafny/NAME/problem.toml    what the lemmas mean, and how the specification could be too weak

A folder of these four is a problem wherever it lies, so that derived ones need not be in the repository.
"""

import functools
import tomllib
from pathlib import Path
from typing import Any

import attrs
import cattrs

from protosim import paths
from protosim.adapters.dafny.assembly import Interface, interface
from protosim.adapters.dafny.tokens import Unreadable
from protosim.errors import UserError
from protosim.program import nearest

FILE = "problem.toml"

_convert = cattrs.Converter(forbid_extra_keys=True)


@attrs.frozen(kw_only=True)
class SpecMutant:
    """A specification with a guard dropped or a transition weakened: then the reference proof must fail."""

    name: str
    before: str  # occurs once in spec.dfy
    after: str
    meaning: str


@attrs.frozen(kw_only=True)
class Weights:
    """Of the score: the share of required lemmas that are proved, and that all are and nothing else is wrong."""

    share: float = 0.6
    clean: float = 0.4


@attrs.frozen(kw_only=True)
class Problem:
    """`problem.toml`, and where it lies."""

    title: str
    source: str  # the paper, with its section
    required: tuple[str, ...]  # lemmas, in order
    kept: tuple[str, ...] = ()  # lemmas that are handed out with their proofs, and must stay proved
    meanings: dict[str, str]  # of each required or kept lemma, what it guarantees, in one line
    weights: Weights = Weights()
    derived: dict[str, Any] = attrs.field(factory=dict)  # from which problem, and what was dropped
    spec_mutants: tuple[SpecMutant, ...] = ()
    folder: Path = Path()

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def spec(self) -> str:
        return _text(self.folder / "spec.dfy")

    @property
    def skeleton(self) -> str:
        return _text(self.folder / "skeleton.dfy")

    @property
    def reference(self) -> str:
        return _text(self.folder / "reference.dfy")

    @functools.cached_property
    def interface(self) -> Interface:
        try:
            return interface(self.spec, self.skeleton, [*self.required, *self.kept])
        except Unreadable as error:
            raise UserError(f"{self.folder}: line {error.line}: {error.sentence}.") from None

    def mutated(self, mutant: SpecMutant) -> str:
        """The specification with this mutant."""
        if self.spec.count(mutant.before) != 1:
            says = f"what {mutant.name} changes does not occur exactly once in spec.dfy"
            raise UserError(f"{self.folder / FILE}: {says}.")
        return self.spec.replace(mutant.before, mutant.after)


def names() -> list[str]:
    """The problems of the repository."""
    return sorted(path.parent.name for path in paths.data("dafny").glob(f"*/{FILE}"))


def given(name: str) -> Path | None:
    """The folder of a proof problem, by its name or its path; None if it is neither."""
    shipped = paths.data("dafny") / name
    for folder in (shipped, Path(name)):
        if (folder / FILE).is_file():
            return folder.resolve()
    return None


def load(name: str) -> Problem:
    """The problem of that name, or in that folder. Raises UserError."""
    folder = given(name)
    if folder is None:
        raise nearest(name, names(), "proof problem")
    path = folder / FILE
    try:
        problem: Problem = _convert.structure({**tomllib.loads(_text(path)), "folder": folder}, Problem)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is damaged: {error}.") from None
    except Exception as error:
        raise UserError(f"{path}: {'; '.join(cattrs.transform_error(error))}.") from None
    return problem


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
