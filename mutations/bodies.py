"""Taking bodies out of functions: what is left for somebody to write."""

import libcst as cst

from mutations.syntax import Exchange, definitions, exchange, full_name, parse

NOTHING_YET = cst.parse_statement("raise NotImplementedError\n")


def without_bodies(source: str, functions: tuple[str, ...]) -> str:
    """The source in which these functions have their signature and docstring, and raise NotImplementedError.

    A name is bare or dotted. UserError: there is no such function.
    """
    module = parse(source)
    defined = definitions(module)
    exchanges: list[Exchange] = []
    for name in functions:
        whole = full_name(name, [d.name for d in defined])
        exchanges += [(d.node.body, _empty(d.node)) for d in defined if d.name == whole]
    return exchange(module, "", exchanges)


def _empty(node: cst.FunctionDef | cst.ClassDef) -> cst.BaseSuite:
    """The body's docstring, if it has one, and what says that the rest is missing."""
    body = node.body
    assert isinstance(body, cst.IndentedBlock)
    first = body.body[:1] if node.get_docstring(clean=False) is not None else ()
    return body.with_changes(body=[*first, NOTHING_YET])
