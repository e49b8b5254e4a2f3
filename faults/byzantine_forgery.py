"""Forgery: a liar makes up signatures of others, which do not verify, and changes what it has signed itself.

A share (`per_mille`) of what it says and hears it says again: in the name of another than who has signed it, or
rewritten, one number, digest or list for another in all places, so that the parts still fit together. It rewrites
everything, and hopes for somebody who does not look at signatures; or its own parts, beside which it shows those of
others, which say something else, or which it has signed all itself.

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
from operator import is_not
from typing import Any
from zlib import crc32

from faults._lies import common, in_the_name_of, signed_by
from protosim.byzantine import Memory, Sends, Tactic, heard
from protosim.keys import Draw, mix
from protosim.values import Value, altered, signatures

LIES = UNRESTRICTED = True

Field = tuple[str, Any]  # its name, and what it holds
COMPOSED = (Value, tuple)


def draw(draw: Draw, pace: int) -> dict[str, int]:
    return {"per_mille": draw.choice("per_mille", (300, 700)), **common(draw)}


def fields(x: Any, me: str | None) -> Iterator[Field]:
    """Of the value and of all values in it: its numbers, digests and lists; but for what others than `me` signed."""
    if type(x) is tuple:
        for item in x:
            if isinstance(item, COMPOSED):
                yield from fields(item, me)
    elif not is_foreign(x, me):
        for name, _ in x.FIELDS:
            content = getattr(x, name)
            if type(content) in (int, bytes, tuple):
                yield name, content
            if isinstance(content, COMPOSED):
                yield from fields(content, me)


def is_foreign(x: Value, me: str | None) -> bool:
    return me is not None and x.SIGNED and x.signer != me  # type: ignore[attr-defined]


def replaced(x: Any, field: Field, new: Any, me: str | None) -> Any:
    """`x` with the new content in every such field; all lists of one name are alike."""
    if type(x) is tuple:
        items = [replaced(item, field, new, me) if isinstance(item, COMPOSED) else item for item in x]
        return tuple(items) if any(map(is_not, x, items)) else x
    if is_foreign(x, me):
        return x
    name, old = field
    changed = {}
    for each, _ in x.FIELDS:
        content = before = getattr(x, each)
        if isinstance(content, COMPOSED):
            content = replaced(content, field, new, me)
        if each == name and (content == old or type(old) is tuple):
            content = new
        if content is not before:
            changed[each] = content
    return altered(x, **changed) if changed else x


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
        said: Sends = []
        for to, m in sends:
            lie, alone = self.forged(world, world.ids[at], to, m)
            said += [(to, each) for each in ((lie,) if alone else (m, lie)) if each is not None]
        for src, m in heard(world):
            for to in (src, world.replicas[self.bits(world, src) % len(world.replicas)]):
                lie, _ = self.forged(world, world.ids[at], to, m)
                said += [(to, lie)] if lie is not None and to != world.ids[at] else []
        return said

    def forged(self, world: Any, me: str, to: str, m: Any) -> tuple[Any, bool]:
        """What the peer gets, or None, and whether instead of the message. What proves something always has a rival."""
        bits = mix(self.bits(world, f"{me}/{to}") ^ crc32(m.encode()))
        signers = [each.signer for each in signatures(m)]
        proves = len(set(signers)) > 1
        if not signers or (bits % 1000 >= self.params["per_mille"] and not proves):
            return None, False
        self.count(world, "byzantine_forgery")
        way, bits, memory = (bits >> 10) % 4, bits >> 12, world.byzantine.memory
        if way == 0:
            lie = rewritten(m, bits, memory)
        elif way == 1:
            signer, other = signers[(bits >> 1) % len(signers)], world.replicas[(bits >> 8) % len(world.replicas)]
            lie = in_the_name_of(other, signer, rewritten(m, bits, memory) if bits & 1 else m)
        else:
            lie = rewritten(signed_by(me, m) if way == 2 else m, bits, memory, me)
        return lie, proves and bool(bits >> 40 & 1)


def make(params: dict[str, int]) -> Tactic:
    return Forgery({"per_mille": 300, **params})
