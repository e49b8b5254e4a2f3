"""Keyed decisions: every choice is a pure function of (seed, what it is about).

Nothing is drawn in sequence, so a protocol that sends one more message leaves every other choice as it was. One
integer mix gives 64 bits; a decision takes the bits that it needs.
"""

import functools
import math
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

import attrs

T = TypeVar("T")

MASK = (1 << 64) - 1


def mix(x: int) -> int:
    """64 well-mixed bits of a 64-bit key (the finalizer of splitmix64; the constants are its author's)."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


@functools.lru_cache(maxsize=4096)
def label(text: str) -> int:
    """A 64-bit number for a name: the same in every process, unlike `hash`."""
    raw = text.encode()
    return crc32(raw) << 32 | crc32(raw, 0x5EED)


def derive(seed: int, *about: int | str) -> int:
    """A seed for something that belongs to `seed`."""
    x = mix((seed + 0x9E3779B97F4A7C15) & MASK)
    for part in about:
        x = mix((x ^ (label(part) if isinstance(part, str) else part & MASK)) + 0x9E3779B97F4A7C15 & MASK)
    return x


@attrs.frozen
class Draw:
    """Named draws from one seed: `draw.choice("batch", (1, 2))` depends on the seed and the name, on no other draw."""

    seed: int

    def bits(self, name: str) -> int:
        return derive(self.seed, name)

    def choice(self, name: str, options: Sequence[T]) -> T:
        return options[self.bits(name) % len(options)]

    def chance(self, name: str, percent: int) -> bool:
        return self.bits(name) % 100 < percent

    def within(self, name: str, shortest: int, longest: int) -> int:
        return shortest + self.bits(name) % (longest - shortest + 1)


# -- Distributions as integer tables: 12 bits of a key choose an entry --------------------------------

SIZE = 4096
Table = tuple[int, ...]


@functools.lru_cache(maxsize=64)
def uniform(shortest: int, longest: int) -> Table:
    return tuple(shortest + (longest - shortest) * i // (SIZE - 1) for i in range(SIZE))


_UNIT_EXPONENTIAL = tuple(round(-math.log((i + 0.5) / SIZE) * (1 << 20)) for i in range(SIZE))


@functools.lru_cache(maxsize=64)
def exponential(mean: int) -> Table:
    """Rounded to the microsecond; never 0."""
    return tuple(max(1, (mean * e) >> 20) for e in _UNIT_EXPONENTIAL)


@functools.lru_cache(maxsize=64)
def heavy_tail(shortest: int, typical: int, longest: int) -> Table:
    """Nine in ten between shortest and typical; the last tenth doubles its way up to the longest."""
    bulk = SIZE * 9 // 10
    table = [shortest + (typical - shortest) * i // bulk for i in range(bulk)]
    for i in range(SIZE - bulk):
        doublings = (i << 12) // (SIZE - bulk)  # in 1/4096 of the way
        table.append(typical + ((longest - typical) * doublings * doublings >> 24))
    return tuple(table)


def share(per_mille: int) -> int:
    """A share in 1/1000 as a threshold for 12 bits."""
    return per_mille * SIZE // 1000
