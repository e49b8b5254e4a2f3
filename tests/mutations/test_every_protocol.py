"""The operators on the protocols as they are: what they make can be loaded, and does something else.

Per protocol and operator one site is tried; `protosim kills PROTOCOL --operators` takes all.
"""

from collections.abc import Mapping

import pytest

from mutations import Mutation, engine, operators
from mutations.syntax import compiled
from protosim.api import ProtocolSpec
from protosim.program import from_source, modules, reference, spec_of

PROTOCOLS = [name for name in modules("protocols") if isinstance(spec_of(name), ProtocolSpec)]  # the others are models


def made(protocol: str) -> Mapping[str, Mutation]:
    return engine.generated(protocol, reference(protocol).source)


def sample(protocol: str) -> list[Mutation]:
    by_operator: dict[str, list[Mutation]] = {}
    for mutation in made(protocol).values():
        by_operator.setdefault(str(mutation.edits[0]).split("/")[1], []).append(mutation)
    return [some[len(some) // 2] for some in by_operator.values()]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_operator_makes_protocols_that_can_be_loaded_and_are_not_the_same(protocol: str) -> None:
    source = reference(protocol).source
    forms = [compiled(compile(source, "", "exec", dont_inherit=True))]
    for mutation in sample(protocol):
        mutant = from_source(protocol, engine.apply(source, mutation), mutants=(mutation.id,))
        assert mutant.spec.node is not reference(protocol).spec.node, mutation.id
        form = compiled(compile(mutant.source, "", "exec", dont_inherit=True))
        assert form not in forms, mutation.id
        forms.append(form)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_most_operators_find_something(protocol: str) -> None:
    found = {str(mutation.edits[0]).split("/")[1] for mutation in made(protocol).values()}
    assert len(found) >= len(operators.names()) / 3
    assert "drop-check" in found
