"""The score of a proof: what the verifier says of an answer to a proof problem, as a result.

A task of kind "proof" has a problem in `dafny/` by its name, and no suite: the lemmas that are required are known to
everybody. The answer is data for the verifier; nothing of it is run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from protosim.adapters.dafny import declarations, tokens, tool
from protosim.adapters.dafny.tokens import Unreadable
from protosim.errors import UserError
from protosim.proofs import judge as judging
from protosim.proofs import problem as problems
from protosim.proofs.judge import Broken, Judgement, Lemma
from protosim.proofs.problem import Problem
from protosim.score import gates
from protosim.score.result import SCHEMA, Result

LARGEST_ANSWER = 1 << 20  # bytes
ISOLATION = "not run: the verifier reads it"


@attrs.frozen(kw_only=True)
class ProofResult(Result):
    """`pass_rate` is the share of the required lemmas that are proved."""

    lemmas: tuple[Lemma, ...] = ()
    clean: bool = False
    verifier: str = ""  # which decided: its name and version

    def to_json(self) -> dict[str, Any]:
        raw = super().to_json()
        raw["progress"] = {"lemmas": judging.summary(self.lemmas)}
        del raw["lemmas"]
        return raw


def score(task: str, candidate: Path) -> ProofResult:
    """The answer's result. Raises UserError for a file that cannot be read, or a damaged problem."""
    problem = problems.load(task)
    text = _read(candidate)
    if isinstance(text, Judgement):
        return _result(problem, attrs.evolve(text, lemmas=_unchecked(problem)), "")
    if _same(text, problem.skeleton):
        says = "the answer is what is handed out, but for comments and layout"
        return _result(problem, Judgement("unmodified", says, _unchecked(problem)), "")
    answer = judging.read(problem, text)
    if isinstance(answer, Judgement):
        return _result(problem, answer, "")
    try:
        dafny = tool.find()
        judgement = judging.verify(problem, answer, dafny)
    except (tool.Missing, Broken, OSError, MemoryError) as error:
        return _failed(problem, str(error) or type(error).__name__)
    return _result(problem, judgement, f"Dafny {dafny.version}")


def rescore(task: str, saved: Mapping[str, Any]) -> ProofResult:
    """The result of a saved one by the problem's present weights. Nothing is verified again."""
    problem = problems.load(task)
    lemmas = tuple(Lemma(name, **about) for name, about in saved.get("progress", {}).get("lemmas", {}).items())
    if saved.get("schema") != SCHEMA or saved.get("task") != task or {x.name for x in lemmas} != {*problem.required}:
        raise UserError(f"This is no saved result of {task} as it is now: score the answer again.")
    judgement = Judgement(saved["stage"], saved["sentence"], lemmas, saved["clean"])
    return _result(problem, judgement, saved["verifier"])


def handed_out(task: str) -> str:
    return problems.load(task).skeleton


def _read(candidate: Path) -> str | Judgement:
    """The answer's text, or why it is none."""
    raw = gates.fetch(candidate, LARGEST_ANSWER)
    text = gates.read(raw) if isinstance(raw, bytes) else raw
    return text if isinstance(text, str) else Judgement(text.stage, text.sentence, ())


def _same(text: str, skeleton: str) -> bool:
    def bare(source: str) -> str:
        return declarations.spaced(tokens.read(tokens.without_comments(source)))

    try:
        return bare(text) == bare(skeleton)
    except Unreadable:
        return False


def _unchecked(problem: Problem) -> tuple[Lemma, ...]:
    return tuple(Lemma(name, "unchecked") for name in problem.required)


def _result(problem: Problem, judgement: Judgement, verifier: str) -> ProofResult:
    share = judgement.proved() / len(problem.required)
    counts = judgement.stage in ("scored", "timeout")
    worth = problem.weights.share * share + problem.weights.clean * judgement.clean
    return ProofResult(
        task=problem.name,
        split="public",
        language="dafny",
        stage=judgement.stage,
        sentence=judgement.sentence,
        score=round(worth, 6) if counts else 0.0,
        pass_rate=share,
        solved=counts and judgement.clean,
        isolation=ISOLATION,
        lemmas=judgement.lemmas,
        clean=judgement.clean,
        verifier=verifier,
    )


def _failed(problem: Problem, sentence: str) -> ProofResult:
    """The scoring machine failed, so there is no score."""
    return ProofResult(
        task=problem.name,
        split="public",
        language="dafny",
        stage="infra_error",
        sentence=sentence,
        score=None,
        isolation=ISOLATION,
        lemmas=_unchecked(problem),
    )
