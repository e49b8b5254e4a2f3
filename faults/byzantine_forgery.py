"""Forgery: a liar makes up signatures of others, which do not verify, and changes what it has signed itself.

A share (`per_mille`) of what it says and hears it says again: in the name of another than who has signed it, or
rewritten, one number, digest or list for another in all places, so that the parts still fit together. It rewrites
everything, and hopes for somebody who does not look at signatures; or its own parts, beside which it shows those of
others, that say something else, or none but its own, over and over.

>>> from protosim.api import signed, value
>>> from protosim.byzantine import Memory
>>> @signed
... class Vote:
...     view: int
...     signer: str
>>> @value
... class Certificate:
...     view: int
...     votes: tuple[Vote, ...]
>>> certificate = Certificate(3, (Vote(3, "n1"), Vote(3, "n2")))
>>> rewritten(certificate, 0, Memory()) == Certificate(4, (Vote(4, "n1"), Vote(4, "n2")))
True
"""

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import attrs

from faults._lies import common, in_the_name_of
from protosim.byzantine import Memory, Sends, Tactic, heard
from protosim.keys import Draw, mix
from protosim.values import Value, signatures

LIES = UNRESTRICTED = True

Field = tuple[str, Any]  # its name, and what it holds


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"per_mille": draw.choice("per_mille", (300, 700)), **common(draw)}


def fields(x: Any, me: str | None) -> Iterator[Field]:
    """Of the value and of all values in it: its numbers, digests and lists; but for what others than `me` signed."""
    if isinstance(x, Value) and not is_foreign(x, me):
        for name, _ in x.FIELDS:
            content = getattr(x, name)
            if type(content) in (int, bytes, tuple):
                yield name, content
            yield from fields(content, me)
    elif type(x) is tuple:
        for item in x:
            yield from fields(item, me)


def is_foreign(x: Value, me: str | None) -> bool:
    return me is not None and x.SIGNED and x.signer != me  # type: ignore[attr-defined]


def replaced(x: Any, field: Field, new: Any, me: str | None) -> Any:
    """`x` with the new content in every such field; all lists of one name are alike."""
    if type(x) is tuple:
        return tuple([replaced(item, field, new, me) for item in x])
    if not isinstance(x, Value) or is_foreign(x, me):
        return x
    contents = {each: replaced(getattr(x, each), field, new, me) for each, _ in x.FIELDS}
    name, old = field
    if name in contents and (contents[name] == old or type(old) is tuple):
        contents[name] = new
    return attrs.evolve(x, **contents)  # type: ignore[misc]


def alone(x: Any, me: str) -> Any:
    """`x` with a signature of `me` in the place of each other's in a list, or with none where it has none there."""
    if type(x) is tuple:
        own = [alone(item, me) for item in x if not (isinstance(item, Value) and is_foreign(item, me))]
        return tuple([own[0]] * len(x) if own and isinstance(own[0], Value) and own[0].SIGNED else own)
    if not isinstance(x, Value) or is_foreign(x, me):
        return x
    contents = {name: alone(getattr(x, name), me) for name in x.CARRIES}
    return attrs.evolve(x, **contents)  # type: ignore[misc]


def rewritten(x: Any, bits: int, memory: Memory, me: str | None = None) -> Any:
    """One thing for another, but not in what others than `me` signed."""
    kind = (int, bytes, tuple)[(bits >> 32) % 3]
    found = list(dict.fromkeys(fields(x, me)))
    found = [field for field in found if type(field[1]) is kind] or found
    if not found:
        return x
    name, old = found[bits % len(found)]
    other = (old + 1, old - 1, 0)[(bits >> 8) % 3] if type(old) is int else memory.like(old, bits >> 8)
    return replaced(x, (name, old), () if type(old) is tuple else other, me)


class Forgery(Tactic):
    def lie(self, world: Any, at: int, sends: Sends) -> Sends:
        """What it says, and what it has just heard: that it tells to whom it heard it from, and to somebody else."""
        told = [*sends]
        for src, m in heard(world):
            told += [(src, m), (world.replicas[self.bits(world, src) % len(world.replicas)], m)]
        forged = [(to, self.forged(world, world.ids[at], to, m)) for to, m in told if to != world.ids[at]]
        return [*sends, *((to, m) for to, m in forged if m is not None)]

    def forged(self, world: Any, me: str, to: str, m: Any) -> Any:
        """What the peer gets, or None."""
        bits = mix(self.bits(world, f"{me}/{to}") ^ crc32(m.encode()))
        signers = [each.signer for each in signatures(m)]
        if not signers or bits % 1000 >= self.params["per_mille"]:
            return None
        self.count(world, "byzantine_forgery")
        way, bits, memory = (bits >> 10) % 4, bits >> 12, world.byzantine.memory
        if way == 0:
            return rewritten(m, bits, memory)
        if way > 1:
            return rewritten(m if way == 2 else alone(m, me), bits, memory, me)
        m = rewritten(m, bits, memory) if bits & 1 else m
        signer, other = signers[(bits >> 1) % len(signers)], world.replicas[(bits >> 8) % len(world.replicas)]
        return in_the_name_of(other, signer, m)


def make(params: dict[str, int]) -> Tactic:
    return Forgery({"per_mille": 300, **params})
