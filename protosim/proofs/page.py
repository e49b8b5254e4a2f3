"""The page about the proof problems: what is asked, and what was measured of it."""

from collections.abc import Sequence
from datetime import UTC, datetime

from protosim import markdown
from protosim.kills import ROOT
from protosim.proofs.certify import Certificate
from protosim.proofs.problem import Problem

PATH = ROOT / "docs" / "proofs.md"


def page(problems: Sequence[Problem], certificates: Sequence[Certificate]) -> str:
    """Markdown."""
    pairs = list(zip(problems, certificates, strict=True))
    rows = [("problem", "what is proved", "lemmas", "reference, CPU s", "weakened specifications noticed")]
    rows += [
        (
            f"[{problem.name}](#{problem.name})",
            problem.title,
            str(found.lemmas),
            f"{found.seconds:.1f}",
            f"{sum(bool(lemmas) for lemmas in found.caught.values())} / {len(found.caught)}",
        )
        for problem, found in pairs
    ]
    return "\n".join(
        [
            "# Proof problems",
            "",
            f"Written by `protosim task check --write` on {datetime.now(UTC).date()} from the folders of `dafny/`,",
            f"with {certificates[0].verifier} ({markdown.machine()}). How answers are judged: [dafny.md](dafny.md).",
            "",
            *markdown.table(rows, 2),
            "",
            "The reference proves every lemma; none is proved with an empty body. A *weakened specification* has lost",
            "a guard or has a transition that does too much: it is noticed if the reference proof fails of it.",
            *(line for problem, found in pairs for line in _section(problem, found)),
            "",
        ]
    )


def _section(problem: Problem, found: Certificate) -> list[str]:
    lemmas = [("lemma", "what it guarantees"), *((name, problem.meanings.get(name, "")) for name in problem.required)]
    mutants = [("weakened specification", "what happens in it", "lemmas that fail")]
    for mutant in problem.spec_mutants:
        mutants.append((mutant.name, mutant.meaning, ", ".join(found.caught.get(mutant.name, ())) or "none"))
    return [
        *("", f"## {problem.name}", "", f"{problem.title}. {problem.source}.", ""),
        *markdown.table(lemmas),
        "",
        *markdown.table(mutants),
        *([""] if found.faults else []),
        *(f"**{fault}.**" for fault in found.faults),
    ]
