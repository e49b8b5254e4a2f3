"""Gates: what a candidate must be before its score means anything. Source text is compiled here, never run."""

import ast
import dis
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import attrs

from protosim.errors import UserError

LARGEST_SOURCE = 256 << 10  # bytes


@attrs.frozen
class Refusal:
    stage: str  # compile_error, unmodified, tampered
    sentence: str


def fetch(candidate: Path, most: int = LARGEST_SOURCE) -> bytes | Refusal:
    """The candidate's bytes. A link is refused: it may lead to the reference.

    Raises UserError for what is no file, or cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if candidate.is_symlink():
            return Refusal("tampered", "the candidate is a symbolic link: hand in the file itself")
        if candidate.is_dir():
            raise UserError(f"The candidate {candidate} is a folder: name a file in it, or score all with --batch.")
        with open(candidate, "rb", opener=lambda path, _: os.open(path, flags)) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise UserError(f"The candidate {candidate} is a device or a pipe, which may never end: name a file.")
            raw = file.read(most + 1)
    except OSError as error:
        raise UserError(f"The candidate {candidate} cannot be read: {error.strerror}.") from None
    if len(raw) > most:
        return Refusal("tampered", f"the candidate has {about.st_size} bytes; {most} are the most")
    return raw


def read(raw: bytes) -> str | Refusal:
    """The candidate's text."""
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        return Refusal("tampered", f"the candidate is not UTF-8 text: {error.reason} at byte {error.start}")
    return text if text.strip() else Refusal("compile_error", "the candidate is empty")


def check(source: str, handed_out: str, reference: str) -> Refusal | None:
    """The gate that the candidate does not pass. Its source has been compiled in a worker before, so it can be here."""
    try:
        same = behaviour(source) == behaviour(handed_out)
        changes = [] if same else list(schema_changes(source, reference))
    except SyntaxError as error:
        return Refusal("compile_error", f"line {error.lineno} does not parse: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Refusal("compile_error", f"the candidate cannot be compiled: {error}")
    if same:
        return Refusal("unmodified", "the candidate does exactly what the handed-out source does")
    return Refusal("tampered", changes[0]) if changes else None


# -- What code does ----------------------------------------------------------------------------------


def behaviour(source: str) -> Any:
    """What the code does, for comparison: its instructions with their constants.

    Comments, layout, docstrings, the names of locals and the annotations of functions do not count.
    Raises what `compile` raises.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        _strip(node)
    return _instructions(compile(tree, "candidate", "exec", dont_inherit=True))


def _strip(node: ast.AST) -> None:
    """Remove what changes no behaviour here: docstrings, line numbers, the annotations of functions."""
    body = getattr(node, "body", None)
    if isinstance(body, list):
        body[:] = [statement for statement in body if not _is_text(statement)] or [ast.Pass(lineno=1, col_offset=0)]
    for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
        if hasattr(node, name):
            setattr(node, name, 1 if name.endswith("lineno") else 0)
    if isinstance(node, ast.arg):
        node.annotation = None
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.returns = None


def _is_text(statement: Any) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _instructions(code: CodeType) -> Any:
    found = [i for i in dis.get_instructions(code) if i.opname not in ("NOP", "MAKE_CELL")]
    place = {instruction.offset: n for n, instruction in enumerate(found)}
    parameters = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    locals_ = {name: n for n, name in enumerate(code.co_varnames[:parameters])}
    return (
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_exceptiontable,
        tuple((i.opname, _argument(i, place, locals_)) for i in found),
    )


def _argument(instruction: dis.Instruction, place: dict[int, int], locals_: dict[str, int]) -> Any:
    """An instruction's argument, by what it means."""
    argument: Any = instruction.argval
    if isinstance(argument, CodeType):
        return _instructions(argument)
    if instruction.opcode in dis.hasconst:
        return _constant(argument)
    if instruction.opcode in dis.haslocal or instruction.opcode in dis.hasfree:
        names = argument if isinstance(argument, tuple) else (argument,)
        return tuple(locals_.setdefault(name, len(locals_)) for name in names)
    if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
        return place.get(argument, argument)
    return argument


def _constant(x: Any) -> Any:
    """Equal only if type and value are: 1, 1.0 and True are three constants."""
    if isinstance(x, tuple):
        return ("tuple", *map(_constant, x))
    if isinstance(x, frozenset):
        return ("frozenset", *sorted(map(repr, x)))
    return (type(x).__name__, repr(x))


# -- The task's API ----------------------------------------------------------------------------------


def schema_changes(source: str, reference: str) -> Iterator[str]:
    """What the candidate changed about messages and durable state, which belong to the task and not to the repair."""
    theirs = _schema(source)
    for name, fields in _schema(reference).items():
        if name not in theirs:
            yield f"{name} is gone, which is part of the task's interface"
            continue
        line, own = theirs[name]
        if own != fields[1]:
            yield f"line {line}: {name} has other fields than the handed-out source, or another base or decorator"


def _schema(source: str) -> dict[str, tuple[int, list[str]]]:
    """Each decorated class and each disk: its line, and its bases, decorators and fields."""
    found: dict[str, tuple[int, list[str]]] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            outside = [ast.dump(x) for x in (*node.bases, *node.decorator_list)]
            if node.decorator_list or any("'Disk'" in base for base in outside):
                fields = [ast.dump(x) for x in node.body if isinstance(x, ast.AnnAssign | ast.Assign)]
                found[node.name] = (node.lineno, outside + fields)
    return found
