"""Finding Python by its structure, for `Replace`.

Two texts are the same if they parse to the same syntax tree, so layout, comments, quotes and
redundant parentheses do not count.
"""

import ast
import contextlib
import difflib
import textwrap
from collections.abc import Iterator, Sequence

import attrs
import libcst as cst

from mutations.entry import Replace
from mutations.syntax import Exchange, Scope, label, nodes
from protosim.errors import UserError


@attrs.frozen
class Candidate:
    """An expression, or a run of statements of one block."""

    nodes: Sequence[cst.CSTNode]
    tree: str
    text: str


def exchanges(module: cst.Module, scopes: Sequence[Scope], edit: Replace) -> list[Exchange]:
    """What the edit changes in the scopes; a UserError unless it matches as often as it says."""
    before, after = (textwrap.dedent(text).strip() for text in (edit.before, edit.after))
    if _is_expression(before) and _is_expression(after):
        candidates = list(_expressions(module, scopes))
        want = _tree(f"({before}\n)")
    else:
        wanted = _parse(before)
        candidates = list(_runs(module, scopes, len(wanted.body)))
        want = "".join(_tree(wanted.code_for_node(statement)) for statement in wanted.body)
    matches = [candidate for candidate in candidates if candidate.tree == want]
    if len(matches) != edit.times:
        raise UserError(_mismatch(edit, before, len(matches), candidates))
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


def _tree(code: str) -> str:
    """The syntax tree as text; empty for a fragment that is no Python by itself."""
    try:
        return ast.dump(ast.parse(code))
    except SyntaxError:
        return ""


def _expressions(module: cst.Module, scopes: Sequence[Scope]) -> Iterator[Candidate]:
    for scope in scopes:
        below = nodes(scope, nested=True)
        labels = {label(node) for node in below}
        for node in below:
            if isinstance(node, cst.BaseExpression) and node not in labels:
                code = f"({module.code_for_node(node)}\n)"
                yield Candidate((node,), _tree(code), code)


def _runs(module: cst.Module, scopes: Sequence[Scope], length: int) -> Iterator[Candidate]:
    for scope in scopes:
        for block in nodes(scope, nested=True):
            if isinstance(block, cst.IndentedBlock | cst.Module):
                codes = [module.code_for_node(statement) for statement in block.body]
                trees = [_tree(code) for code in codes]
                for i in range(len(codes) - length + 1):
                    run = slice(i, i + length)
                    yield Candidate(block.body[run], "".join(trees[run]), "".join(codes[run]))


def _exchange(match: Candidate, after: str) -> Iterator[Exchange]:
    first, *rest = match.nodes
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


def _mismatch(edit: Replace, before: str, count: int, candidates: Sequence[Candidate]) -> str:
    where = edit.function or "the module"
    if count:
        times = "once" if edit.times == 1 else f"{edit.times} times"
        return f"{where} should contain `{_line(before)}` {times}, but it is there {count} times."
    lines = [_line(c.text) for c in candidates if len(c.text) < 4 * len(before) + 80]
    close = difflib.get_close_matches(_line(before), lines, n=1, cutoff=0.3)
    near = f"the nearest text there is `{close[0]}`" if close else "nothing there is like it"
    return f"{where} should contain `{_line(before)}`; {near}."


def _line(code: str) -> str:
    """Without comments and layout, on one line."""
    with contextlib.suppress(SyntaxError):
        code = ast.unparse(ast.parse(textwrap.dedent(code)))
    return textwrap.shorten(code, 200, placeholder=" ...")
