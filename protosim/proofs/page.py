"""The page about the proof problems: what is asked, and what was measured of it."""

from protosim import markdown
from protosim.kills import ROOT
from protosim.proofs.certify import Certificate, kept
from protosim.proofs.problem import Problem, load, names

PATH = ROOT / "docs" / "proofs.md"


HEAD = ("problem", "what is proved", "measured", "lemmas", "reference, CPU s", "weakened specifications noticed")


def page() -> str:
    """Markdown, of all problems that have a certificate of what they are now."""
    problems = [load(name) for name in names()]
    pairs = [(problem, found) for problem in problems if (found := kept(problem))]
    rows = [
        (
            f"[{problem.name}](#{problem.name})",
            problem.title,
            found.date,
            str(found.lemmas),
            f"{found.seconds:.1f}",
            f"{sum(map(bool, found.caught.values()))} / {len(found.caught)}",
        )
        for problem, found in pairs
    ]
    return "\n".join(
        [
            "# Proof problems",
            "",
            "Written by `protosim task check --write`, from the folders of `dafny/` and the certificates in them. How",
            "answers are judged: [dafny.md](dafny.md).",
            "",
            *markdown.table([HEAD, *rows], 3),
            "",
            "The reference proves every lemma; none is proved with an empty body. A *weakened specification* has lost",
            "a guard or has a transition that does too much: it is noticed if the reference proof fails of it.",
            *(line for problem, found in pairs for line in _section(problem, found)),
            "",
        ]
    )


def _section(problem: Problem, found: Certificate) -> list[str]:
    lemmas = [("lemma", "what it guarantees"), *((name, problem.meanings.get(name, "")) for name in problem.required)]
    mutants = [("weakened specification", "what happens in it", "fails first")]
    for mutant in problem.spec_mutants:
        mutants.append((mutant.name, mutant.meaning, found.caught[mutant.name] or "nothing"))
    return [
        *("", f"## {problem.name}", "", f"{problem.title}. {problem.source}.", ""),
        *(f"Measured on {found.date} with {found.verifier} ({found.machine}).", ""),
        *markdown.table(lemmas),
        "",
        *markdown.table(mutants),
        *([""] if found.faults else []),
        *(f"**{fault}.**" for fault in found.faults),
    ]
