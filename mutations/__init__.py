"""Drift, made on purpose: known ways in which implementations stray from their specification.

A mutant is data (`Mutation`): edits of a protocol's source. Some are written down in
`mutations/catalogue`, because the bug was seen in a real system; the others are made from the
source by `mutations/operators`. `mutations.engine` applies them; it is imported when it is needed,
since it brings libcst along.
"""

from mutations import catalogue
from mutations.entry import DriftKind, Edit, Mutation, Replace, Site, nearest
from protosim.errors import UserError

__all__ = ["DriftKind", "Edit", "Mutation", "Replace", "Site", "catalogue", "find", "mutants"]


def mutants(protocol: str, source: str) -> dict[str, Mutation]:
    """By id, all that is known: the catalogue, then what the operators make of the source."""
    from mutations import engine

    known = catalogue.load(protocol)
    return {**known, **engine.generated(protocol, source), **known}  # in front, and in charge


def find(protocol: str, name: str, source: str) -> Mutation:
    """The mutant by its id, an alias ("R1") or its site, with or without "protocol." before it.

    UserError: there is none; says the nearest names.
    """
    bare = name.removeprefix(f"{protocol}.")
    known = catalogue.load(protocol)
    for mutation in known.values():
        if bare in (mutation.id.removeprefix(f"{protocol}."), *mutation.aliases):
            return mutation
    from mutations import engine

    made = engine.generated(protocol, source)
    for mutation in made.values():
        if bare in (mutation.id.removeprefix(f"{protocol}."), *mutation.aliases):
            return known.get(mutation.id, mutation)
    other = name.partition(".")[0]
    if name in catalogue.load(other):
        raise UserError(f"{name} is a mutant of {other}, not of {protocol}.")
    near = nearest(f"{protocol}.{bare}", dict.fromkeys((*known, *made)))
    raise UserError(f"{protocol} has no mutant {name}{near or f'; `protosim list mutations {protocol}` has them'}.")
