"""A program: a protocol as it is to be run, from its module or from edited source text.

What judges it (observers, workload) always comes from the reference in `protocols/`.
"""

import difflib
import functools
import importlib
import linecache
import pkgutil
import sys
import types
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import attrs

from protosim.api import ModelSpec, ProtocolSpec
from protosim.errors import UserError
from protosim.values import classes_of
from protosim.watchdog import limited

NAMED = 24  # names that an error lists, where none is like the one that was given


@attrs.frozen(eq=False)
class Program:
    """A protocol that can be run in this process."""

    name: str
    source: str
    spec: ProtocolSpec  # the reference's, with this source's node, disk, switches and application
    classes: dict[str, Any]  # every value class of the module, by name
    mutants: tuple[str, ...] = ()
    origin: str = ""  # the file that --source named, or the command of --worker
    worker: tuple[str, ...] = ()  # the command of a program that holds the nodes: see protosim.remote
    project: str = ""  # the text of its projection


@functools.cache
def modules(package: str) -> tuple[str, ...]:
    """The names of a package's modules, sorted: one a protocol, scheduler, fault, operator."""
    found = importlib.import_module(package)
    return tuple(sorted(m.name for m in pkgutil.iter_modules(found.__path__) if not m.name.startswith("_")))


def nearest(name: str, known: Iterable[str], what: str) -> UserError:
    """The error for an unknown name, with the closest known ones."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    if close:
        advice = f"did you mean {', '.join(close[:-1])}{' or ' if close[1:] else ''}{close[-1]}?"
    else:
        more = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
        advice = f"there are: {', '.join(known[:NAMED])}{more}." if known else "there is none."
    return UserError(f"There is no {what} {name!r}: {advice}")


def module_of(name: str) -> Any:
    """The protocol's module. Raises UserError if there is none."""
    if name not in modules("protocols"):
        raise nearest(name, modules("protocols"), "protocol")
    return importlib.import_module(f"protocols.{name}")


def spec_of(name: str) -> ProtocolSpec | ModelSpec:
    """What the module of a protocol, or of a model, says of it."""
    spec: ProtocolSpec | ModelSpec = module_of(name).PROTOCOL
    return spec


def source_of(name: str) -> str:
    """The text of the protocol's module."""
    return Path(str(module_of(name).__file__)).read_text("utf-8")


def reference(name: str) -> Program:
    """The protocol as it stands in `protocols/`. Raises UserError for a model, which has no nodes to run."""
    spec = spec_of(name)
    if isinstance(spec, ModelSpec):
        says = f"{name} is a model of shared state, without nodes that could run"
        raise UserError(f"{says}: `protosim explore {name}` goes through all its states.")
    return Program(name, source_of(name), spec, classes_of(spec.node))


IMPORT_SECONDS = 5  # of CPU time, for a source that --source names
_LOADED: dict[tuple[str, str], Program] = {}


def from_source(name: str, source: str, *, mutants: Sequence[str] = (), origin: str = "") -> Program:
    """The protocol as edited: `source` is a whole module like `protocols/<name>.py`."""
    key = (name, source)
    if key in _LOADED:
        return attrs.evolve(_LOADED[key], mutants=tuple(mutants), origin=origin)
    trusted = reference(name)
    module = _execute(name, source, origin or f"<{'+'.join(mutants) or name}>")
    spec = getattr(module, "PROTOCOL", None)
    if not isinstance(spec, ProtocolSpec) or spec.name != name:
        raise UserError(
            f"{origin or 'The source'} lacks the entry point of a protocol: PROTOCOL = ProtocolSpec(name={name!r}, ...)"
        )
    nodes = {part: getattr(spec, part) for part in ("node", "client", "disk", "switches", "application")}
    spec = attrs.evolve(trusted.spec, **nodes)
    program = Program(name, source, spec, classes_of(spec.node), tuple(mutants), origin)
    _LOADED[key] = program
    return program


@attrs.frozen(eq=False)
class StateProgram:
    """A model that can be explored in this process."""

    name: str
    source: str
    spec: ModelSpec
    mutants: tuple[str, ...] = ()
    origin: str = ""  # the file that --source named


def load_model(name: str, mutants: Sequence[str] = (), source: str | None = None) -> StateProgram:
    """The model as it stands in `protocols/`, or the edited file `source`, with the mutants applied."""
    spec = spec_of(name)
    assert isinstance(spec, ModelSpec)
    text = source_of(name) if source is None else read_source(source)
    if not mutants and source is None:
        return StateProgram(name, text, spec)
    import mutations
    from mutations import engine

    drift = [mutations.find(name, mutant, text) for mutant in mutants]
    text = engine.apply_all(text, drift)
    ids = tuple(m.id for m in drift)
    edited = getattr(_execute(name, text, source or f"<{'+'.join(ids)}>"), "PROTOCOL", None)
    if not isinstance(edited, ModelSpec) or edited.name != name:
        says = f"PROTOCOL = ModelSpec(name={name!r}, ...)"
        raise UserError(f"{source or 'The source'} lacks the entry point of a model: {says}")
    return StateProgram(name, text, attrs.evolve(spec, model=edited.model), ids, source or "")


def _execute(name: str, source: str, title: str) -> types.ModuleType:
    unique = f"protosim_{name}_{blake2b(source.encode(), digest_size=6).hexdigest()}"
    module = types.ModuleType(unique)
    module.__file__ = title
    linecache.cache[title] = (len(source), None, source.splitlines(keepends=True), title)
    sys.modules[unique] = module
    try:
        code = compile(source, title, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        raise UserError(f"{title}{where} does not parse: {getattr(error, 'msg', error)}") from None
    endless = UserError(f"{title} used {IMPORT_SECONDS} s of CPU time while it was imported: it seems to loop for ever")
    try:
        with limited(IMPORT_SECONDS, endless):
            exec(code, module.__dict__)
    except UserError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UserError(f"{title} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def read_source(path: str) -> str:
    """The text of a source file. Raises UserError if there is none."""
    try:
        return Path(path).read_text("utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text, so it is no Python source") from None


def load(name: str, mutants: Sequence[str] = (), source: str | None = None) -> Program:
    """The reference, or the edited file `source`, with the mutants applied."""
    program = reference(name) if source is None else from_source(name, read_source(source), origin=source)
    if not mutants:
        return program
    import mutations
    from mutations import engine

    drift = [mutations.find(name, mutant, program.source) for mutant in mutants]
    text = engine.apply_all(program.source, drift)
    return from_source(name, text, mutants=tuple(m.id for m in drift), origin=source or "")
