"""Finding Python by its structure, for `Replace`.

Two texts are the same if they parse to the same syntax tree, so layout, comments, quotes and
redundant parentheses do not count.
"""

import ast
import contextlib
import difflib
import textwrap
from collections.abc import Iterator, Sequence

import libcst as cst

from mutations.entry import Replace
from mutations.syntax import Exchange, Scope, label, nodes
from protosim.errors import UserError
from protosim.words import plural

Candidate = Sequence[cst.CSTNode]
"""An expression, or a run of statements of one block."""


def exchanges(module: cst.Module, scopes: Sequence[Scope], edit: Replace) -> list[Exchange]:
    """What the edit changes in the scopes; a UserError unless it matches as often as it says."""
    before, after = (textwrap.dedent(text).strip() for text in (edit.before, edit.after))
    if _is_expression(before) and _is_expression(after):
        given = cst.Module([])
        wanted: Candidate = [cst.parse_expression(before)]
        candidates = list(_expressions(scopes))
    else:
        given = _parse(before)
        wanted = given.body
        candidates = list(_runs(scopes, len(wanted)))
    kinds = [type(node) for node in wanted]
    want = _tree(given, wanted)
    alike = [candidate for candidate in candidates if [type(node) for node in candidate] == kinds]
    matches = [candidate for candidate in alike if _tree(module, candidate) == want]
    if len(matches) != edit.times:
        texts = [_text(module, candidate) for candidate in candidates]
        raise UserError(_mismatch(edit, before, len(matches), texts))
    return [e for match in matches for e in _exchange(match, after)]


def _parse(text: str) -> cst.Module:
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise UserError(f"the edit's own text `{text}` is not Python: {error.msg}.") from None
    return cst.parse_module(text)


def _is_expression(text: str) -> bool:
    try:
        cst.parse_expression(text)
    except cst.ParserSyntaxError:
        return False
    return True


def _text(module: cst.Module, candidate: Candidate) -> str:
    code = "".join(module.code_for_node(node) for node in candidate)
    return f"({code}\n)" if isinstance(candidate[0], cst.BaseExpression) else code


def _tree(module: cst.Module, candidate: Candidate) -> str:
    """The syntax tree as text; empty for a fragment that is no Python by itself."""
    try:
        return ast.dump(ast.parse(_text(module, candidate)))
    except SyntaxError:
        return ""


def _expressions(scopes: Sequence[Scope]) -> Iterator[Candidate]:
    for scope in scopes:
        below = nodes(scope, nested=True)
        labels = {label(node) for node in below}
        yield from ([n] for n in below if isinstance(n, cst.BaseExpression) and n not in labels)


def _runs(scopes: Sequence[Scope], length: int) -> Iterator[Candidate]:
    for scope in scopes:
        for block in nodes(scope, nested=True):
            if isinstance(block, cst.IndentedBlock | cst.Module):
                yield from (block.body[i : i + length] for i in range(len(block.body) - length + 1))


def _exchange(match: Candidate, after: str) -> Iterator[Exchange]:
    first, *rest = match
    if isinstance(first, cst.BaseExpression):
        yield first, cst.parse_expression(after)
        return
    yield first, cst.FlattenSentinel(_new_statements(first, after))
    for statement in rest:
        yield statement, cst.RemovalSentinel.REMOVE


def _new_statements(first: cst.CSTNode, after: str) -> list[cst.BaseStatement]:
    """`after` with the comments that stood above what it replaces."""
    parsed = _parse(after)
    if not parsed.body:
        return []
    head, *tail = parsed.body
    assert isinstance(first, cst.SimpleStatementLine | cst.BaseCompoundStatement)
    above = [*first.leading_lines, *parsed.header, *head.leading_lines]
    return [head.with_changes(leading_lines=above), *tail]


# -- Why it does not apply -------------------------------------------------------------------------


def _mismatch(edit: Replace, before: str, count: int, texts: Sequence[str]) -> str:
    where = edit.function or "the module"
    if count:
        times = "once" if edit.times == 1 else plural(edit.times, "time")
        return f"{where} should contain `{_line(before)}` {times}, but it is there {plural(count, 'time')}."
    lines = [_line(text) for text in texts if len(text) < 4 * len(before) + 80]
    close = difflib.get_close_matches(_line(before), lines, n=1, cutoff=0.3)
    near = f"the nearest text there is `{close[0]}`" if close else "nothing there is like it"
    return f"{where} should contain `{_line(before)}`; {near}."


def _line(code: str) -> str:
    """Without comments and layout, on one line."""
    with contextlib.suppress(SyntaxError):
        code = ast.unparse(ast.parse(textwrap.dedent(code)))
    return textwrap.shorten(code, 200, placeholder=" ...")
