"""The drift operators, one file each: what one careless edit does to a protocol.

To add one, add a file. It is named as its mutants spell it (`drop_check.py` makes
`.../drop-check/...`), its docstring says what it does, and it holds

    KIND      what kind of drift it makes
    TITLE     a sentence about one mutant, with {function} and {which}
    OVER      what it is tried on, one at a time: each "function" or each "class" of a protocol
    EXAMPLES  (before, after) pairs, which are its tests: a site of `before` gives `after`; where
              the two are equal there is no site
    changes   (function or class, module) -> every change that it could make there, in order

Nothing here imports the parser before an operator is asked for.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import attrs

from mutations.entry import DriftKind, nearest
from protosim.errors import UserError

if TYPE_CHECKING:
    import libcst as cst

    from mutations.syntax import Exchange


DROP_CHECK = "drop-check"

Over = Literal["function", "class"]


@attrs.frozen
class Change:
    """One thing that an operator could do to a function or class."""

    which: str  # the name of the check or field, or which one in the function, from 1
    exchanges: "tuple[Exchange, ...]"
    wide: bool = False  # some of them are elsewhere in the module


def numbered(found: "Iterable[tuple[str, tuple[Exchange, ...]]]") -> Iterator[Change]:
    """Changes of what is found, each by its name; those without one are counted from 1."""
    count = 0
    for name, exchanges in found:
        count += not name
        yield Change(name or str(count), exchanges)


class Operator(Protocol):
    KIND: DriftKind
    TITLE: str
    OVER: Over
    EXAMPLES: tuple[tuple[str, str], ...]

    def changes(self, scope: Any, module: "cst.Module") -> Iterator[Change]: ...


def names() -> list[str]:
    """Of all operators: "drop-check", ..."""
    return [module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)]


def load(name: str) -> Operator:
    if name not in names():
        raise UserError(f"there is no operator {name}{nearest(name, names())}.")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return cast(Operator, module)
