"""Forgery: a liar makes up signatures of others, which do not verify. It hopes for somebody who does not look.

A share (`per_mille`) of what it says and hears it says again: in the name of another than who has signed it, or
rewritten, one number, digest or list for another in all places, so that the parts still fit together.

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
    return {"per_mille": draw.choice("per_mille", (100, 300, 700)), **common(draw)}


def fields(x: Any) -> Iterator[Field]:
    """Of the value and of all values in it: its numbers, digests and lists."""
    if isinstance(x, Value):
        for name, _ in x.FIELDS:
            content = getattr(x, name)
            if type(content) in (int, bytes, tuple):
                yield name, content
            yield from fields(content)
    elif type(x) is tuple:
        for item in x:
            yield from fields(item)


def replaced(x: Any, name: str, old: Any, new: Any) -> Any:
    """`x` with the new content in every field of that name which held the old one; all lists are alike."""
    if type(x) is tuple:
        return tuple([replaced(item, name, old, new) for item in x])
    if not isinstance(x, Value):
        return x
    contents = {each: replaced(getattr(x, each), name, old, new) for each, _ in x.FIELDS}
    if name in contents and (contents[name] == old or type(old) is tuple):
        contents[name] = new
    return attrs.evolve(x, **contents)  # type: ignore[misc]


def rewritten(x: Any, bits: int, memory: Memory) -> Any:
    """Once or twice one thing for another."""
    for _ in range(1 + (bits & 1)):
        bits = mix(bits)
        found = list(dict.fromkeys(fields(x)))
        name, old = found[bits % len(found)]
        other = (old + 1, old - 1, 0)[(bits >> 8) % 3] if type(old) is int else memory.like(old, bits >> 8)
        x = replaced(x, name, old, () if type(old) is tuple else other)
    return x


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
        bits >>= 10
        if bits & 1:
            return rewritten(m, bits >> 1, world.byzantine.memory)
        signer, other = signers[(bits >> 1) % len(signers)], world.replicas[(bits >> 8) % len(world.replicas)]
        return in_the_name_of(other, signer, m)


def make(params: dict[str, int]) -> Tactic:
    return Forgery({"per_mille": 300, **params})
