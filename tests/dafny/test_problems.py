"""Every proof problem: it is proved by its reference, by nothing less, and its specification is not too weak.

Here each problem is certified with a few of the ways to weaken its specification, which take turns from day to day of
no clock but of the file: `make proofs` goes through all of them and writes docs/proofs.md.
"""

import re
import tomllib

import pytest

from protosim import paths
from protosim.adapters.dafny import tokens, tool
from protosim.adapters.dafny.declarations import parse
from protosim.commands import score as command
from protosim.keys import label
from protosim.proofs.certify import Certificate, certify
from protosim.proofs.problem import load, names
from protosim.score import handed_out

SAMPLED = 1  # mutants of each specification; each costs as much as the reference


def test_there_are_four() -> None:
    assert {
        "verify_log_compaction",
        "verify_replicated_kv",
        "verify_two_phase_commit",
        "verify_distributed_lock",
    } <= set(names())


@pytest.mark.parametrize("name", names())
def test_a_problem_is_proved_by_its_reference_and_by_nothing_less(name: str, dafny: tool.Dafny) -> None:
    problem = load(name)
    ordered = sorted(problem.spec_mutants, key=lambda mutant: label(mutant.name + problem.reference))
    found: Certificate = certify(problem, dafny, lambda says: None, ordered[:SAMPLED])
    assert not found.faults
    assert found.lemmas == len(problem.required) == len(load(name).meanings)


@pytest.mark.parametrize("name", names())
def test_a_specification_could_be_weaker_in_ten_ways(name: str) -> None:
    problem = load(name)
    assert len(problem.spec_mutants) >= 10
    assert len({mutant.name for mutant in problem.spec_mutants}) == len(problem.spec_mutants)
    specs = {re.sub(r"\s+", " ", problem.mutated(mutant)) for mutant in problem.spec_mutants}
    assert len(specs) == len(problem.spec_mutants)
    assert all(parse(spec) for spec in specs)


@pytest.mark.parametrize("name", names())
def test_a_specification_claims_nothing(name: str) -> None:
    """What it says are definitions: nothing in it is to be believed."""
    [module] = parse(load(name).spec)
    for declaration in module.declarations:
        assert declaration.kind in ("datatype", "type", "function", "predicate"), declaration.name
        if declaration.kind in ("function", "predicate"):
            assert declaration.body is not None, declaration.name
            assert "ensures" not in {token.text for token in declaration.statement}, declaration.name
    assert not {"assume", "axiom", "extern", "verify"} & {token.text for token in tokens.read(bare(name))}


def bare(name: str) -> str:
    return tokens.without_comments(load(name).spec)


@pytest.mark.parametrize("name", names())
def test_what_is_handed_out_has_every_required_lemma_without_a_proof(name: str) -> None:
    problem = load(name)
    [module] = parse(handed_out(name))
    lemmas = [d for d in module.declarations if d.kind == "lemma"]
    assert [lemma.name for lemma in lemmas] == list(problem.required)
    assert all([t.text for t in lemma.tokens[lemma.body :]] == ["{", "}"] for lemma in lemmas if lemma.body)


@pytest.mark.parametrize("name", names())
def test_a_problem_is_a_task_with_a_ticket(name: str) -> None:
    folder = paths.data("tasks") / name
    task = tomllib.loads((folder / "task.toml").read_text("utf-8"))
    assert (task["name"], task["kind"]) == (name, "proof")
    ticket = (folder / "ticket.md").read_text("utf-8")
    assert ticket.startswith("# ")
    assert command.__doc__
    reference = parse(load(name).reference)[0]
    helpers = {d.name for d in reference.declarations} - {*load(name).required, ""}
    told = [helper for helper in sorted(helpers) if f"`{helper}`" in ticket]
    assert not told, f"the ticket names what the proof uses: {told}"
