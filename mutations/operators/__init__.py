"""The drift operators, one file each: what one careless edit does to a protocol.

To add one, add a file. It is named as its mutants spell it (`drop_check.py` makes
`.../drop-check/...`), its docstring says what it does, and it holds

    KIND      what kind of drift it makes
    TITLE     a sentence about one mutant, with {function} and {which}
    EXAMPLES  (before, after) pairs, which are its tests: a site of `before` gives `after`; where
              the two are equal there is no site
    changes   (function, module) -> every change that it could make in the function, in order

Nothing here imports the parser before an operator is asked for.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, cast

import attrs

from mutations.entry import DriftKind, nearest
from protosim.errors import UserError

if TYPE_CHECKING:
    import libcst as cst

    from mutations.syntax import Exchange


@attrs.frozen
class Change:
    """One thing that an operator could do to a function."""

    which: str  # the name of the check, or which one in the function, from 1
    exchanges: "tuple[Exchange, ...]"


class Operator(Protocol):
    KIND: DriftKind
    TITLE: str
    EXAMPLES: tuple[tuple[str, str], ...]

    def changes(self, function: "cst.FunctionDef", module: "cst.Module") -> Iterator[Change]: ...


def names() -> list[str]:
    """Of all operators: "drop-check", ..."""
    return [module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)]


def load(name: str) -> Operator:
    if name not in names():
        raise UserError(f"there is no operator {name}{nearest(name, names())}.")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return cast(Operator, module)
