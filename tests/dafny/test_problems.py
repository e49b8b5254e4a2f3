"""Every proof problem: its reference proves it, nothing less does, and its specification is not too weak.

To try all of this takes minutes of CPU: `make proofs` does it, and writes certificates. Here they are checked to be
about the files that are there. The references are verified anew, and one weakened specification of them all.
"""

import tomllib

import pytest

from protosim import paths
from protosim.adapters.dafny import tokens, tool
from protosim.adapters.dafny.declarations import parse, spaced
from protosim.keys import label
from protosim.proofs import page
from protosim.proofs.certify import kept
from protosim.proofs.judge import first_failure, judge
from protosim.proofs.problem import load, names
from protosim.score import handed_out


def test_there_are_four() -> None:
    assert {
        "verify_log_compaction",
        "verify_replicated_kv",
        "verify_two_phase_commit",
        "verify_distributed_lock",
    } <= set(names())


# What takes longer has a certificate, which is tested to be about the files that stand there.
LONG = ("verify_distributed_lock", "verify_replicated_kv", "verify_two_phase_commit")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.thorough) if name in LONG else name for name in names()]
)
def test_the_reference_proves_the_problem(name: str, dafny: tool.Dafny) -> None:
    problem = load(name)
    judgement = judge(problem, problem.reference, dafny)
    assert judgement.clean, (judgement.sentence, judgement.lemmas)


def test_a_weakened_specification_is_noticed(dafny: tool.Dafny) -> None:
    """Another one whenever the proof is edited."""
    drawn = [(label(load(name).reference + m.name), name, m) for name in names() for m in load(name).spec_mutants]
    _, name, mutant = min(drawn, key=lambda row: row[0])
    problem = load(name)
    assert first_failure(problem, problem.mutated(mutant), dafny), (name, mutant.name)


@pytest.mark.parametrize("name", names())
def test_a_problem_has_a_certificate_without_faults(name: str) -> None:
    problem = load(name)
    found = kept(problem)
    assert found, f"what is measured of {name} is not about its files as they are: make proofs"
    assert found.faults == ()
    assert list(found.caught) == [mutant.name for mutant in problem.spec_mutants]
    assert all(found.caught.values())
    assert set(problem.meanings) == set(problem.required)


def test_the_page_is_what_the_certificates_say() -> None:
    assert page.PATH.read_text("utf-8") == page.page(), "protosim task check --write"


@pytest.mark.parametrize("name", names())
def test_a_specification_could_be_weaker_in_ten_ways(name: str) -> None:
    problem = load(name)
    assert len(problem.spec_mutants) >= 10
    assert len({mutant.name for mutant in problem.spec_mutants}) == len(problem.spec_mutants)
    specs = {spaced(tokens.read(tokens.without_comments(problem.mutated(m)))) for m in problem.spec_mutants}
    assert len(specs | {spaced(tokens.read(bare(name)))}) == len(problem.spec_mutants) + 1


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
    [reference] = parse(load(name).reference)
    helpers = {d.name for d in reference.declarations if d.kind != "import"} - set(load(name).required)
    told = [helper for helper in sorted(helpers) if f"`{helper}`" in ticket]
    assert not told, f"the ticket names what the proof uses: {told}"
