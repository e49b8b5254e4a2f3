"""Applying mutants to the Go source of a protocol: text in, text out.

What is replaced are whole lines, as gofmt lays them out. In Go a check is one line as well, `step.Check("name", ...)`,
so the mutant that drops it needs no entry of its own.
"""

import contextlib
import re
from collections.abc import Sequence

from mutations.entry import Lines, Mutation, Site
from mutations.operators import DROP_CHECK
from protosim.errors import UserError
from protosim.words import plural

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|`[^`]*`|//.*|\s+|.')
"""A text, a comment, white space, or one other character."""


def has(mutation: Mutation) -> bool:
    """Whether it is known what the mutant looks like in Go."""
    return bool(mutation.go) or all(isinstance(e, Site) and e.operator == DROP_CHECK for e in mutation.edits)


def apply_all(source: str, mutations: Sequence[Mutation]) -> str:
    """The source with all of the mutations. UserError: one does not apply exactly once, or is not known in Go."""
    for mutation in mutations:
        source = apply(source, mutation)
    return source


def apply(source: str, mutation: Mutation) -> str:
    """The source with the mutation's edits, each made on the result of the one before."""
    if not has(mutation):
        raise UserError(f"{mutation.id} is not known in Go: its entry in the catalogue has no lines of Go.")
    dropped = [] if mutation.go else [site.which for site in mutation.edits if isinstance(site, Site)]
    try:
        for edit in mutation.go:
            source = _replaced(source, edit)
        for check in dropped:
            source = _dropped(source, check)
    except UserError as error:
        raise UserError(f"{mutation.id} no longer applies to Go: {error}") from None
    return source


def without_bodies(source: str, functions: Sequence[str]) -> str:
    """The source with nothing but a panic in these functions, which are called as in Python."""
    lines = source.splitlines()
    for name in functions:
        first, *rest = name.rpartition(".")[2].split("_")
        start, end = _span(lines, first + "".join(word.capitalize() for word in rest))
        lines[start + 1 : end - 1] = ['\tpanic("to be written")']
    return "\n".join(lines) + "\n"


def _dropped(source: str, check: str) -> str:
    lines = source.splitlines(keepends=True)
    found = [i for i, line in enumerate(lines) if line.lstrip().startswith(f'step.Check("{check}",')]
    if len(found) != 1:
        raise UserError(f'{len(found)} lines begin with step.Check("{check}", and there must be one.')
    at = found[0]
    if not (lines[at - 1].rstrip().endswith(".Holds(") and lines[at + 1].strip() == ")"):
        del lines[at]
    elif lines[at - 1].lstrip().startswith("return "):
        lines[at - 1 : at + 2] = [lines[at - 1].partition("return ")[0] + "return true\n"]
    else:
        _settle(lines, at)
    return "".join(lines)


def _settle(lines: list[str], at: int) -> None:
    """Where the only check of a conjunction is dropped nothing asks any more: what was done if it held is done."""
    asked = re.match(r"(\s*)(\w+) := \w+\.Holds\($", lines[at - 1])
    decides = asked and re.match(rf"{asked[1]}if (!?){asked[2]} {{$", lines[at + 2])
    if not asked or not decides:
        raise UserError(f"the check on line {at + 1} is alone, and it is not clear what it decides.")
    end = otherwise = lines.index(f"{asked[1]}}}\n", at)
    with contextlib.suppress(ValueError):
        otherwise = lines.index(f"{asked[1]}}} else {{\n", at, end)
    done = lines[otherwise + 1 : end] if decides[1] else lines[at + 3 : otherwise]
    lines[at - 1 : end + 1] = [line.removeprefix("\t") for line in done]


def _replaced(source: str, edit: Lines) -> str:
    lines = source.splitlines()
    start, end = _span(lines, edit.function)
    wanted = [_bare(line) for line in edit.before.strip("\n").splitlines()]
    places = range(start, end - len(wanted) + 1)
    found = [i for i in places if [_bare(line) for line in lines[i : i + len(wanted)]] == wanted]
    if len(found) != 1:
        where = edit.function or "the file"
        raise UserError(f"`{edit.before.strip()}` is {plural(len(found), 'time')} in {where}, and must be there once.")
    indent = re.match(r"\s*", lines[found[0]])
    assert indent is not None
    after = [indent[0] + line for line in _dedented(edit.after)]
    lines[found[0] : found[0] + len(wanted)] = after
    return "\n".join(lines) + "\n"


def _span(lines: Sequence[str], name: str) -> tuple[int, int]:
    """The lines of a function or type: from its first to the bracket in the first column that ends it."""
    if not name:
        return 0, len(lines)
    begin = re.compile(rf"func (\([^)]*\) )?{re.escape(name)}[\[(]|type {re.escape(name)}\b")
    starts = [i for i, line in enumerate(lines) if begin.match(line)]
    if len(starts) != 1:
        raise UserError(f"there are {len(starts)} functions or types {name}, and there must be one.")
    if not lines[starts[0]].endswith(("{", "(")):
        return starts[0], starts[0] + 1
    return starts[0], next(i for i in range(starts[0], len(lines)) if lines[i].startswith(("}", ")"))) + 1


def _bare(line: str) -> str:
    """Without comments and white space."""
    return "".join(x for x in _TOKEN.findall(line) if not x.startswith("//") and not x.isspace())


def _dedented(text: str) -> list[str]:
    lines = text.strip("\n").splitlines()
    common = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[common:] for line in lines]
