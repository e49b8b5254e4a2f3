"""Values: what crosses the network or lies on a disk. Immutable all the way down, with one canonical form.

A value has three forms. In a handler it is an attrs object. In a digest and in a fingerprint it is
its canonical bytes (`encode`), equal exactly when the values are. On a pipe it is plain JSON
(`to_wire`, `from_wire`).
"""

import functools
import inspect
import os
import reprlib
import struct
import sys
import types
import typing
from collections.abc import Callable, Iterable
from enum import Enum
from hashlib import blake2b
from typing import Any, ClassVar, TypeVar, dataclass_transform

import attrs

T = TypeVar("T")

_LENGTH = struct.Struct("<I").pack

STRICT = os.environ.get("PROTOSIM_STRICT", "") == "1"
"""In strict mode every value is frozen: slower, and an assignment to a field fails where it stands."""


class NoCanonicalForm(TypeError):
    """Something stands where only a value may stand: a list, a float, an int of more than 64 bits."""


_exact_type: Callable[[Any], Any] = type  # a name that checkers do not follow: what it is given stays Any


class Value:
    """Base of every value class; `@message` and `@value` add it."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[tuple[str, Any], ...]]  # (name, annotation), in order
    SIGNED: ClassVar[bool] = False
    CARRIES: ClassVar[tuple[str, ...]] = ()  # fields in which signed values may stand
    _encoded: bytes | None
    _signatures: tuple[Any, ...] | None

    def encode(self) -> bytes:
        """The canonical bytes, computed once."""
        raise NotImplementedError

    def fresh_encoding(self) -> bytes:
        """The canonical bytes as of now: different from `encode()` if somebody changed a field."""
        raise NotImplementedError


_MADE_ANEW = ("__dict__", "__weakref__", "__annotate__", "__annotate_func__", "__annotations_cache__")
"""Of a class's namespace; the last three since Python 3.14."""


@dataclass_transform(eq_default=True, order_default=True)
def value(cls: type[T]) -> type[T]:
    """Make `cls` an immutable value: compared and ordered by its fields, safe to share and to duplicate.

    Fields may be int, bool, str, bytes, None, Enum, other values, tuples of these, and unions of
    these; anything mutable is refused here, where the class is defined.
    Raises TypeError with a sentence that names the field.
    """
    annotations, declared = typing.get_type_hints(cls), inspect.get_annotations(cls)
    own = [name for name in declared if name[0] != "_"]
    for name in own:
        _require_immutable(annotations[name], f"{cls.__name__}.{name}")
    namespace = {k: v for k, v in cls.__dict__.items() if k not in _MADE_ANEW}
    cache = {"_encoded": Any, "_signatures": Any}
    namespace.update({name: attrs.field(init=False, default=None, eq=False, repr=False) for name in cache})
    namespace["__annotations__"] = {**declared, **cache}
    namespace["FIELDS"] = tuple((name, annotations[name]) for name in own)
    base = types.new_class(cls.__name__, (Value,), {}, lambda ns: ns.update(namespace))
    made: Any = attrs.define(slots=True, eq=True, order=True, unsafe_hash=True, frozen=STRICT)(base)
    made.CARRIES = tuple(name for name, kind in made.FIELDS if _may_carry(kind))
    made.encode, made.fresh_encoding = _encode_once, _encoder(made)
    made.__eq__, made.__ne__ = _or_identical(made.__eq__), object.__ne__
    return typing.cast("type[T]", made)


@dataclass_transform(eq_default=True, order_default=True)
def message(cls: type[T]) -> type[T]:
    """A value that is sent by itself. It does what `value` does: the second name is for the reader."""
    return value(cls)


@dataclass_transform(eq_default=True, order_default=True)
def signed(cls: type[T]) -> type[T]:
    """A value with the signature of the node that its field `signer` names; anybody may pass it on.

    Only the signer can make it: the kernel refuses a node that sends what its signer never sent to it. What a liar
    makes up in another's name is marked (a field `valid`, by default True), and `Node.verify` finds out.
    Raises TypeError where there is no field `signer`.
    """
    if "signer" not in inspect.get_annotations(cls):
        raise TypeError(f"{cls.__name__} is signed, so it needs a field `signer: NodeId`")
    cls.__annotations__ = {**inspect.get_annotations(cls), "valid": bool}
    cls.valid = True  # type: ignore[attr-defined]
    made: Any = value(cls)
    made.SIGNED = True
    return typing.cast("type[T]", made)


def altered(x: T, **fields: Any) -> T:
    """The value, but for these fields."""
    other: T = attrs.evolve(x, **fields)  # type: ignore[misc]
    return other


def signatures(x: Any) -> tuple[Any, ...]:
    """Every signed value in `x`, itself among them."""
    if isinstance(x, Value):
        found: tuple[Any, ...] | None = x._signatures
        if found is None:
            carried = [each for name in x.CARRIES for each in signatures(getattr(x, name))]
            found = (x, *carried) if x.SIGNED else tuple(carried)
            object.__setattr__(x, "_signatures", found)
        return found
    return tuple([each for item in x for each in signatures(item)]) if _exact_type(x) is tuple else ()


def _may_carry(annotation: Any) -> bool:
    """Whether signed values may stand in what is annotated so."""
    for kind in plain_alternatives(annotation):
        if typing.get_origin(kind) is tuple:
            if any(map(_may_carry, typing.get_args(kind))):
                return True
        elif isinstance(kind, type) and issubclass(kind, Value) and (kind.SIGNED or kind.CARRIES or kind is Value):
            return True
    return False


def digest_of(x: Any) -> bytes:
    """D(x): eight bytes that nothing else has."""
    return blake2b(encode(x), digest_size=8).digest()


def _or_identical(by_fields: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Equality by fields, which a value and itself need not be asked for."""

    def __eq__(self: Any, other: Any) -> bool:
        return self is other or by_fields(self, other)

    return __eq__


def _encode_once(self: Any) -> bytes:
    encoded: bytes | None = self._encoded
    if encoded is not None:
        return encoded
    fresh: bytes = self.fresh_encoding()
    object.__setattr__(self, "_encoded", fresh)
    return fresh


def _encoder(cls: Any) -> Callable[[Any], bytes]:
    """A function for the class, written out: all its numbers in one `struct.pack`, the rest field by field."""
    numbers = [f"self.{name}" for name, kind in cls.FIELDS if kind is int or kind is bool]
    others = [f"self.{name}" for name, kind in cls.FIELDS if kind is not int and kind is not bool]
    parts = ["tag"]
    if numbers:
        parts.append(f"pack({', '.join(numbers)})")
    parts += [f"ENCODERS[type({field})]({field})" for field in others]
    scope: dict[str, Any] = {
        "tag": b"v" + _text(cls.__name__),
        "pack": struct.Struct("<" + "q" * len(numbers)).pack,
        "ENCODERS": ENCODERS,
        "NO_NUMBER": struct.error,
        "refuse": _refuse,
    }
    exec(_FRESH_ENCODING.format(bytes=" + ".join(parts)), scope)
    encoder: Callable[[Any], bytes] = scope["fresh_encoding"]
    return encoder


_FRESH_ENCODING = """
def fresh_encoding(self):
    try:
        return {bytes}
    except (NO_NUMBER, TypeError) as error:
        refuse(self, error)
"""


def _refuse(x: Any, error: Exception) -> None:
    fields = ", ".join(f"{name}={shown(getattr(x, name))}" for name, _ in x.FIELDS)
    raise NoCanonicalForm(f"{type(x).__name__}({fields}) has no canonical form: {error}") from None


def shown(x: Any) -> str:
    """For an error's sentence: short, whatever it is."""
    try:
        return reprlib.repr(x)
    except ValueError:  # an int of thousands of digits
        return f"a {type(x).__name__}"


def _text(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return _LENGTH(len(raw)) + raw


def encode(x: Any) -> bytes:
    """Canonical bytes of anything that a value may hold. Raises NoCanonicalForm for anything else."""
    try:
        return ENCODERS[type(x)](x)
    except struct.error:
        raise NoCanonicalForm(f"{shown(x)} holds a number that does not fit in 64 bits") from None


@functools.lru_cache(maxsize=4096)
def _encode_text(x: str) -> bytes:
    return b"s" + _text(x)


def _encode_bytes(x: bytes) -> bytes:
    return b"b" + _LENGTH(len(x)) + x


def _encode_tuple(x: tuple[Any, ...]) -> bytes:
    if not x:
        return _NOTHING
    return head(len(x)) + b"".join([ENCODERS[type(item)](item) for item in x])


head: Callable[[int], bytes] = functools.partial(struct.Struct("<cI").pack, b"(")
"""How the bytes of a tuple of so many items begin."""

_NOTHING = head(0)


def _encode_member(x: Enum) -> bytes:
    return b"e" + _text(type(x).__name__) + _text(x.name)


def _encode_nothing_else(x: Any) -> bytes:
    raise NoCanonicalForm(f"{shown(x)} is a {type(x).__name__}, which no message or disk can hold")


class _Encoders(dict[type, Callable[[Any], bytes]]):
    """By type, which is faster than asking for one after the other. Values and Enums join when they are first met."""

    def __missing__(self, kind: type) -> Callable[[Any], bytes]:
        if not issubclass(kind, (Value, Enum)):
            return _encode_nothing_else
        self[kind] = encoder = kind.encode if issubclass(kind, Value) else _encode_member
        return encoder


ENCODERS = _Encoders(
    {
        int: functools.partial(struct.Struct("<cq").pack, b"i"),
        bool: {False: b"F", True: b"T"}.__getitem__,
        str: _encode_text,
        bytes: _encode_bytes,
        tuple: _encode_tuple,
        type(None): {None: b"N"}.__getitem__,
    }
)


def plain_alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation alone."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def _holds_values(x: Any) -> bool:
    """Whether this is a class of values, or an Enum."""
    return isinstance(x, type) and issubclass(x, (Value, Enum))


def _require_immutable(annotation: Any, where: str) -> None:
    for kind in plain_alternatives(annotation):
        if kind in (int, bool, str, bytes, None, type(None)):
            continue
        if typing.get_origin(kind) is tuple:
            for item in typing.get_args(kind):
                if item is not Ellipsis:
                    _require_immutable(item, where)
            continue
        if _holds_values(kind):
            continue
        raise TypeError(
            f"{where} is a {getattr(kind, '__name__', kind)}: a value holds only int, bool, str, bytes, None, "
            "Enum, other values and tuples of these, so that it can be shared and duplicated safely"
        )


# -- JSON for pipes and files ------------------------------------------------------------------------


def to_wire(x: Any) -> Any:
    """Plain JSON: a value becomes ["ClassName", field, ...], a tuple ["", item, ...]."""
    if x is None or type(x) in (int, str, bool):
        return x
    if _exact_type(x) is tuple:
        return ["", *map(to_wire, x)]
    if isinstance(x, Value):
        return [type(x).__name__, *(to_wire(getattr(x, name)) for name, _ in x.FIELDS)]
    if isinstance(x, Enum):
        return ["enum", type(x).__name__, x.name]
    if type(x) is bytes:
        return ["bytes", x.hex()]
    raise NoCanonicalForm(f"{shown(x)} is a {type(x).__name__}, which no message or disk can hold")


DEEPEST = 32
"""Of values in values, on the wire."""


def from_wire(raw: Any, classes: dict[str, Any], depth: int = 0) -> Any:
    """The value that `to_wire` wrote. Raises ValueError with a sentence; believes nothing it reads."""
    if raw is None or type(raw) in (int, str, bool):
        if type(raw) is int and not -(2**63) <= raw < 2**63:
            raise ValueError(f"{shown(raw)} does not fit in 64 bits")
        return raw
    if _exact_type(raw) is not list or not raw or type(raw[0]) is not str:
        raise ValueError(f"{shown(raw)} is no value")
    if depth == DEEPEST:
        raise ValueError(f"values stand in values {DEEPEST} deep, and deeper")
    tag: str = raw[0]
    items = raw[1:]
    if tag == "":
        return tuple(from_wire(item, classes, depth + 1) for item in items)
    if tag == "bytes" and len(items) == 1 and type(items[0]) is str:
        return bytes.fromhex(items[0])
    if tag == "enum" and len(items) == 2 and type(items[0]) is str:
        return _enum_member(classes.get(items[0]), items[1])
    cls = classes.get(tag)
    if cls is None or not issubclass(cls, Value):
        raise ValueError(f"there is no message or value {shown(tag)}; known: {', '.join(sorted(classes))}")
    if len(items) != len(cls.FIELDS):
        raise ValueError(f"{tag} has {len(cls.FIELDS)} fields, not {len(items)}")
    fields = [from_wire(item, classes, depth + 1) for item in items]
    for (name, annotation), field in zip(cls.FIELDS, fields, strict=True):
        if not conforms(field, annotation):
            raise ValueError(f"{tag}.{name} is {shown(field)}, which is not {_spell(annotation)}")
    return cls(*fields)


def _enum_member(cls: Any, name: Any) -> Any:
    if isinstance(cls, type) and issubclass(cls, Enum) and type(name) is str and name in cls.__members__:
        return cls[name]
    raise ValueError(f"{shown(name)} is no member of {cls}")


def conforms(x: Any, annotation: Any) -> bool:
    """Whether `x` is of the annotated type, all the way down."""
    if type(x) is annotation:
        return True  # most are
    for kind in plain_alternatives(annotation):
        if kind is None or kind is type(None):
            if x is None:
                return True
        elif typing.get_origin(kind) is tuple:
            if _exact_type(x) is tuple and _conforms_tuple(x, typing.get_args(kind)):
                return True
        elif type(x) is kind or (kind is Value and isinstance(x, Value)):
            return True
    return False


def _conforms_tuple(x: tuple[Any, ...], kinds: tuple[Any, ...]) -> bool:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return all(conforms(item, kinds[0]) for item in x)
    return len(kinds) == len(x) and all(map(conforms, x, kinds))


def _spell(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def classes_of(node: type) -> dict[str, Any]:
    """By name, every value and Enum class that a node may meet: those that the modules name of its class, and of what
    that extends."""
    return value_classes([sys.modules[each.__module__] for each in reversed(node.__mro__)])


def value_classes(modules: Iterable[Any]) -> dict[str, Any]:
    """Every value and Enum class that the modules name, by name: the schema of their messages."""
    named = [x for module in modules for x in module.__dict__.values()]
    return {x.__name__: x for x in named if _holds_values(x) and x not in (Value, Enum)}
