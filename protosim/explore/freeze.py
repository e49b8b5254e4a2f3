"""Frozen state: what a node or an observer holds, as one hashable value; and back.

Equal states freeze to equal values. Lists, dicts and sets become tagged tuples, objects their class and fields; what
cannot change (numbers, texts, Enums, values) stays itself. Dicts keep their order, since a handler may walk them;
where nodes are interchangeable, dicts by node are put in the nodes' order, so that a renamed state is like any other.
"""

import types
from collections.abc import Mapping
from enum import Enum
from typing import Any

import attrs

from protosim.api import NodeId
from protosim.errors import UserError
from protosim.values import Value

Frozen = Any
Names = Mapping[str, NodeId]


@attrs.frozen(eq=False)
class Tag:
    """The first item of a frozen container; no protocol has one."""

    name: str


LIST, DICT, SET, OBJECT, TUPLE = map(Tag, ("list", "dict", "set", "object", "tuple"))
_ATOMS = (int, str, bytes, bool, type(None), Enum, type, types.FunctionType)


def freeze(x: Any, where: str, ids: tuple[NodeId, ...] = ()) -> Frozen:
    """`where` names the field for the error's sentence; `ids` are the nodes by whose order dicts are put in order."""
    kind = type(x)
    if kind in (int, str, bool) or x is None or isinstance(x, (Value, *_ATOMS)):
        return x
    if kind is list:
        return (LIST, *[freeze(item, where, ids) for item in x])
    if kind is tuple:
        return (TUPLE, *[freeze(item, where, ids) for item in x])
    if kind is dict:
        items = [(freeze(k, where, ids), freeze(v, where, ids)) for k, v in x.items()]
        return (DICT, *in_order(items, ids))
    if kind is set or kind is frozenset:
        return (SET, kind, frozenset(freeze(item, where, ids) for item in x))
    fields = _fields(x)
    if fields is None:
        raise UserError(f"{where} holds a {kind.__name__}, which an exploration cannot compare with another one.")
    return (OBJECT, kind, *[(name, freeze(content, f"{where}.{name}", ids)) for name, content in fields.items()])


def _fields(x: Any) -> dict[str, Any] | None:
    """What an object of a class of the protocol's own holds; None for anything else."""
    if isinstance(x, (list, dict, set, frozenset, tuple)) or type(x).__module__ == "builtins":
        return None
    if attrs.has(type(x)):
        return {field.name: getattr(x, field.name) for field in attrs.fields(type(x))}
    return getattr(x, "__dict__", None)


def in_order(items: list[tuple[Any, Any]], ids: tuple[NodeId, ...]) -> list[tuple[Any, Any]]:
    """A dict's items: as they are, or by node."""
    if len(items) > 1 and ids and all(key in ids for key, _ in items):
        items.sort(key=lambda item: ids.index(item[0]))
    return items


def thaw(x: Frozen) -> Any:
    """What was frozen, with containers of its own."""
    if type(x) is not tuple:
        return x
    tag, *items = x
    if tag is LIST:
        return [thaw(item) for item in items]
    if tag is TUPLE:
        return tuple([thaw(item) for item in items])
    if tag is DICT:
        return {thaw(k): thaw(v) for k, v in items}
    if tag is SET:
        return items[0](map(thaw, items[1]))
    made = object.__new__(items[0])
    for name, content in items[1:]:
        object.__setattr__(made, name, thaw(content))
    return made


def rename(x: Any, names: Names, ids: tuple[NodeId, ...]) -> Any:
    """The same frozen state, value or plain tuple with every node under another name."""
    kind = type(x)
    if kind is str:
        return names.get(x, x)
    if kind is tuple:
        renamed = [rename(item, names, ids) for item in x]
        if x and x[0] is DICT:
            renamed[1:] = in_order(renamed[1:], ids)
        return tuple(renamed)
    if kind is frozenset:
        return frozenset(rename(item, names, ids) for item in x)
    if isinstance(x, Value):
        return _rename_value(x, names, ids)
    return x


def _rename_value(x: Any, names: Names, ids: tuple[NodeId, ...]) -> Any:
    fields = [getattr(x, name) for name, _ in x.FIELDS]
    renamed = [rename(content, names, ids) for content in fields]
    if all(a is b or a == b for a, b in zip(fields, renamed, strict=True)):
        return x
    return type(x)(*renamed)
