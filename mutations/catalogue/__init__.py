"""Drift seen in real systems, one file a protocol.

To add an entry, add a `Mutation` to the tuple CATALOGUE in the protocol's file; to add a protocol,
add its file. Nothing is registered by hand. A file may have a tuple BEYOND as well: the known bugs that
the protocol cannot have.
"""

import importlib
import pkgutil

from mutations.entry import Beyond, Mutation


def names() -> list[str]:
    """The protocols that have a catalogue."""
    return [module.name for module in pkgutil.iter_modules(__path__)]


def load(protocol: str) -> dict[str, Mutation]:
    """The protocol's CATALOGUE by id; empty if it has none."""
    if protocol not in names():
        return {}
    module = importlib.import_module(f"{__name__}.{protocol}")
    entries: tuple[Mutation, ...] = module.CATALOGUE
    labels = [label for entry in entries for label in (entry.id, *entry.aliases)]
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"{module.__name__} uses the name {label} twice")
    return {entry.id: entry for entry in entries}


def beyond(protocol: str) -> tuple[Beyond, ...]:
    """The protocol's BEYOND; empty if it has none."""
    if protocol not in names():
        return ()
    found: tuple[Beyond, ...] = getattr(importlib.import_module(f"{__name__}.{protocol}"), "BEYOND", ())
    return found
