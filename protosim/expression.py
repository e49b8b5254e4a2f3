"""Values as text: `Prepare(view=0, number=1, digest=digest_of(Command("put", "x", 1)), signer="n1")`.

Only what makes values may stand there: classes by their names, Enum members, literals, tuples, and functions that the
caller names.
"""

import ast
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

Names = Mapping[str, Callable[..., Any]]


def read(text: str, names: Names) -> Any:
    """The value. Raises ValueError, with a sentence, for anything that makes none."""
    try:
        return _value(ast.parse(text, mode="eval").body, names)
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no expression: {error.msg}") from None
    except TypeError as error:
        raise ValueError(f"{text!r} makes no value: {error}") from None


def members(kind: Any) -> Mapping[str, Any]:
    """Of an Enum; nothing else has any."""
    return kind.__members__ if isinstance(kind, type) and issubclass(kind, Enum) else {}


def _value(node: ast.expr, names: Names) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | str() | bytes() | None as literal):
            return literal
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
        case ast.Tuple(elts=items):
            return tuple([_value(item, names) for item in items])
        case ast.Attribute(value=ast.Name(id=kind), attr=member) if member in members(names.get(kind)):
            return members(names.get(kind))[member]
        case ast.Call(func=ast.Name(id=called), args=given, keywords=named) if called in names:
            arguments = {keyword.arg or "": _value(keyword.value, names) for keyword in named}
            return names[called](*[_value(each, names) for each in given], **arguments)
        case _:
            raise ValueError(f"{ast.unparse(node)!r} makes no value; known: {', '.join(sorted(names))}")
