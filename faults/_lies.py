"""What the ways of lying share: their common parameters, and variations of a message.

A varied message differs from the original in one place: a number by one or by a lot, a name, a digest, an entry of a
tuple left out or doubled, a part replaced by another value of the same class that a liar has seen. Its fields are of
the declared types, and a pair stays a pair: what is not so is no message, and no worker could read it.

>>> from protosim.api import message
>>> @message
... class Vote:
...     term: int
...     granted: bool
>>> vote = Vote(term=3, granted=True)
>>> sorted({str(varied(vote, bits, Memory(), ("n1", "n2"))) for bits in range(100)})[:2]
['Vote(term=-1, granted=True)', 'Vote(term=0, granted=True)']
"""

from enum import Enum
from typing import Any, get_args, get_origin

from protosim.byzantine import Memory
from protosim.keys import Draw, mix
from protosim.values import Value, altered, conforms, plain_alternatives

FAR = 1 << 40
FARTHEST = 1 << 62


def common(draw: Draw) -> dict[str, int]:
    """How many lie (0: as many as the protocol tolerates), whether n1 does, whether more may than are tolerated."""
    return {"liars": 0, "first": draw.choice("first", (0, 1)), "unrestricted": 0}


def varied(m: Any, bits: int, memory: Memory, names: tuple[str, ...]) -> Any:
    """The value, changed in one place that the bits choose."""
    fields = [name for name, _ in m.FIELDS if name != "valid" for _ in range(_weight(getattr(m, name)))]
    if not fields:
        return m
    name = fields[bits % len(fields)]
    return altered(m, **{name: _other(getattr(m, name), dict(m.FIELDS)[name], mix(bits), memory, names)})


def _weight(x: Any) -> int:
    """How often a field is chosen: a part has many fields of its own."""
    return 3 if isinstance(x, Value) or (type(x) is tuple and x) else 1


def _other(x: Any, kind: Any, bits: int, memory: Memory, names: tuple[str, ...]) -> Any:
    """Something of the same type, which is annotated so."""
    if isinstance(x, Value):
        return memory.like(x, bits >> 1) if bits & 1 else varied(x, bits >> 1, memory, names)
    if isinstance(x, bool):
        return not x
    if isinstance(x, int):
        return (x + 1, x - 1, x + FAR if x < FARTHEST else 0, 0, -1)[bits % 5]
    if isinstance(x, str):
        return names[bits % len(names)] if x in names else f"{x}?"
    if isinstance(x, bytes):
        return memory.like(x, bits >> 1) if bits & 1 else x[:-1] + bytes([(x[-1] if x else 0) ^ 1])
    if isinstance(x, Enum):
        return list(type(x))[bits % len(type(x))]
    return _other_items(x, kind, bits, memory, names) if type(x) is tuple and x else x


def _other_items(x: tuple[Any, ...], kind: Any, bits: int, memory: Memory, names: tuple[str, ...]) -> tuple[Any, ...]:
    """One less, one twice, or one replaced; where the type says how many there are, only the last."""
    tuples = [each for each in plain_alternatives(kind) if get_origin(each) is tuple and conforms(x, each)]
    if not tuples:
        return x  # a node that broke its own type's word: nobody will read it
    kinds = get_args(tuples[0])
    any_length = kinds[1:] == (...,)
    place = (bits >> 4) % len(x)
    before, item, after = x[:place], x[place], x[place + 1 :]
    if any_length and bits & 3 == 0:
        return (*before, *after)
    if any_length and bits & 3 == 1:
        return (*before, item, item, *after)
    return (*before, _other(item, kinds[0] if any_length else kinds[place], bits >> 8, memory, names), *after)


def in_the_name_of(me: str, src: str, x: Any) -> Any:
    """What `src` has signed, or what holds it, with the signature of `me` instead; no signed value changes inside.

    >>> from protosim.api import signed, value
    >>> @signed
    ... class Echo:
    ...     signer: str
    >>> @value
    ... class Final:
    ...     echoes: tuple[Echo, ...]
    >>> in_the_name_of("n3", "n1", Final((Echo("n1"), Echo("n2")))) == Final((Echo("n3"), Echo("n2")))
    True
    """
    if type(x) is tuple:
        return tuple([in_the_name_of(me, src, item) for item in x])
    if not isinstance(x, Value):
        return x
    if x.SIGNED:
        return altered(x, signer=me) if getattr(x, "signer", "") == src else x
    return altered(x, **{name: in_the_name_of(me, src, getattr(x, name)) for name in x.CARRIES})


def signed_by(me: str, x: Any) -> Any:
    """`x`, with nobody's signatures but those of `me`, inside of what is signed as well: a certificate, say."""
    if type(x) is tuple:
        return tuple([signed_by(me, item) for item in x])
    if not isinstance(x, Value):
        return x
    contents = {name: signed_by(me, getattr(x, name)) for name in x.CARRIES}
    return altered(x, **contents, **({"signer": me} if x.SIGNED else {}))
