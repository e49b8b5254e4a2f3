"""What is proved in an answer: one state for each required lemma, and why.

An outcome of the verifier is worth what it rests on: a lemma whose proof calls one that is not proved is not proved.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs

from protosim.adapters.confined import Limits
from protosim.adapters.dafny import assembly, outcomes, tool
from protosim.adapters.dafny.assembly import Answer
from protosim.adapters.dafny.declarations import Declaration
from protosim.adapters.dafny.outcomes import Message
from protosim.adapters.dafny.tokens import Unreadable
from protosim.adapters.dafny.tool import Dafny, Verdict
from protosim.proofs.problem import Problem

TIME_OUTS = ("timedout", "outofresource")
FAILURE = re.compile(rf"(?m)^{re.escape(assembly.ANSWER_FILE)}\(\d+,\d+\): (?:Error|Timed out on)\b.*\n.*\n")
GAVE_UP = "the verifier gave up within its limits, which does not say that it is wrong"


@attrs.frozen
class Lemma:
    """`state`: proved, failed, timed out, missing, weakened, cheated; or unchecked, where something else decided."""

    name: str
    state: str
    sentence: str = ""
    line: int = 0  # of the answer


@attrs.frozen
class Judgement:
    stage: str  # compile_error, tampered, timeout, scored
    sentence: str
    lemmas: tuple[Lemma, ...]
    clean: bool = False  # every required lemma is proved, and nothing else in the file is wrong

    def proved(self) -> int:
        return sum(lemma.state == "proved" for lemma in self.lemmas)


class Broken(Exception):
    """The verifier does not work here: no verdict on anybody's answer."""


def read(problem: Problem, text: str) -> Answer | Judgement:
    """An answer that may be verified, or what its text alone tells: that it is none, or cheats."""
    try:
        answer = assembly.read(text, problem.interface)
    except Unreadable as error:
        stage = "tampered" if error.refused else "compile_error"
        return _unchecked(problem, stage, f"line {error.line}: {error.sentence}")
    return _cheated(problem, answer) if answer.offences else answer


def verify(
    problem: Problem,
    answer: Answer,
    dafny: Dafny,
    *,
    spec: str | None = None,
    resources: int = tool.RESOURCES,
    limits: Limits = tool.LIMITS,
) -> Judgement:
    """Judge an answer; over another specification than the problem's, to see whether it is missed.

    Raises Broken where the verifier fails on the problem's own files as well, OSError where it cannot be started.
    """
    against = problem.interface
    asked = [required for required in against.required if _same_parameters(answer, required)]
    wrapped, owners = assembly.wrapper(against, asked)
    files = assembly.program(answer, problem.spec if spec is None else spec, wrapped)
    verdict = tool.verify(files, dafny, resources, limits)
    if verdict.ended == "crashed":
        _require_sound(problem, dafny)
        says = "the verifier breaks down over it, and not over the problem's own files"
        return _unchecked(problem, "compile_error", says)
    if verdict.ended == "stopped":
        return _unchecked(problem, "timeout", f"{GAVE_UP}: {limits.seconds:g} s in all", "timed out")
    if verdict.ended == "rejected":
        return _rejected(problem, verdict, owners)
    return _Reading(problem, answer, verdict).judgement()


def judge(problem: Problem, text: str, dafny: Dafny, *, spec: str | None = None) -> Judgement:
    """Both of it."""
    answer = read(problem, text)
    return answer if isinstance(answer, Judgement) else verify(problem, answer, dafny, spec=spec)


def first_failure(problem: Problem, spec: str, dafny: Dafny) -> str:
    """What fails first in the reference over another specification; "" if nothing does.

    Raises Broken if that specification does not resolve.
    """
    answer = read(problem, problem.reference)
    if isinstance(answer, Judgement):
        raise Broken(f"the reference of {problem.name} is refused: {answer.sentence}")
    wrapped, _ = assembly.wrapper(problem.interface, problem.interface.required)
    verdict = tool.verify(assembly.program(answer, spec, wrapped), dafny, stop_at=FAILURE)
    if verdict.ended in ("rejected", "crashed"):
        raise Broken(f"a mutant of the specification of {problem.name} is no Dafny: {_first_line(verdict.output)}")
    for message in verdict.messages:
        for declaration in answer.module.declarations:
            if message.file == assembly.ANSWER_FILE and declaration.spans(message.line, message.column):
                return declaration.name
    failed = [name for (_, name), outcome in verdict.outcomes.items() if outcome != "correct"]
    return failed[0] if failed else ""


def _require_sound(problem: Problem, dafny: Dafny) -> None:
    verdict = tool.verify({assembly.SPEC_FILE: problem.spec}, dafny)
    if verdict.ended != "verified":
        says = f"Dafny {dafny.version} fails on the specification of {problem.name}"
        raise Broken(f"{says}: {_first_line(verdict.output)}")


def _first_line(output: str) -> str:
    return next((line.strip()[:200] for line in output.splitlines() if line.strip()), "it said nothing")


def _same_parameters(answer: Answer, required: Declaration) -> bool:
    own = answer.module.find(required.name)
    return own is not None and own.kind == "lemma" and own.parameters() == required.parameters()


# -- Before the verifier has said anything of any lemma ----------------------------------------------------------------


def _all(problem: Problem, state: Callable[[str], Lemma]) -> tuple[Lemma, ...]:
    return tuple(state(name) for name in problem.required)


def _unchecked(problem: Problem, stage: str, sentence: str, state: str = "unchecked") -> Judgement:
    return Judgement(stage, sentence, _all(problem, lambda name: Lemma(name, state)))


def _cheated(problem: Problem, answer: Answer) -> Judgement:
    """Something in the answer is believed or skipped rather than proved, so nothing in it is verified."""

    def state(name: str) -> Lemma:
        own = answer.module.find(name)
        if own is None:
            return Lemma(name, "missing")
        for offence in answer.offences:
            if own.tokens[0].line <= offence.line <= own.tokens[-1].line:
                return Lemma(name, "cheated", offence.sentence, offence.line)
        return Lemma(name, "unchecked", line=own.line)

    first = answer.offences[0]
    more = f" (and {len(answer.offences) - 1} more)" if answer.offences[1:] else ""
    return Judgement("tampered", f"line {first.line}: {first.sentence}{more}", _all(problem, state))


def _rejected(problem: Problem, verdict: Verdict, owners: Mapping[int, str]) -> Judgement:
    """It does not parse or resolve. Raises Broken if that is not the answer's fault."""
    own = [message for message in verdict.messages if message.file == assembly.ANSWER_FILE]
    if own:
        return _unchecked(problem, "compile_error", f"line {own[0].line}: {own[0].text}")
    for message in verdict.messages:
        if message.file == assembly.WRAPPER_FILE and message.line in owners:
            says = f"{owners[message.line]} cannot be called as it was required: {message.text}"
            return _unchecked(problem, "tampered", says)
    raise Broken(f"the files of {problem.name} are rejected: {_first_line(verdict.output)}")


# -- What the verifier said --------------------------------------------------------------------------------------------


@attrs.frozen
class _Reading:
    """An answer beside the verdict on it."""

    problem: Problem
    answer: Answer
    verdict: Verdict

    def judgement(self) -> Judgement:
        lemmas = tuple(self.lemma(name) for name in self.problem.required)
        kept = tuple(self.lemma(name) for name in self.problem.kept)
        weak = next((lemma for lemma in (*lemmas, *kept) if lemma.state == "weakened"), None)
        if weak is not None:
            return Judgement("tampered", f"line {weak.line}: {weak.name}: {weak.sentence}", lemmas)
        open_ = [lemma for lemma in (*lemmas, *kept) if lemma.state != "proved"]
        wrong = next(self._wrong(), None)
        done = f"{sum(lemma.state == 'proved' for lemma in lemmas)} of {len(lemmas)} required lemmas are proved"
        if open_ and all(lemma.state == "timed out" for lemma in open_):
            return Judgement("timeout", f"{done}; on the others {GAVE_UP}", lemmas)
        if not open_ and wrong is not None:
            done += f"; but {wrong}"
        return Judgement("scored", done, lemmas, clean=not open_ and wrong is None)

    def lemma(self, name: str) -> Lemma:
        own = self.answer.module.find(name)
        required = next(d for d in self.problem.interface.required if d.name == name)
        if own is None or own.kind != "lemma":
            return Lemma(name, "missing", "there is no such lemma in the answer")
        if own.parameters() != required.parameters():
            says = f"its parameters are ({own.parameters()}), and ({required.parameters()}) are required"
            return Lemma(name, "weakened", says, own.line)
        if (outcome := self.outcome(own)) != "correct":
            return self._unproved(own, own, outcome)
        for other in self._below(own):
            if (outcome := self.outcome(other)) != "correct":
                return self._unproved(own, other, outcome)
        if (stray := next(self._strays(), None)) is not None:
            return Lemma(name, "failed", f"it may rest on {stray}, which is no declaration of the answer", own.line)
        restated = self.verdict.outcomes.get((assembly.WRAPPER, name), "missing")
        if restated in TIME_OUTS:
            return Lemma(name, "timed out", f"it is proved; whether it is what was required, {GAVE_UP}", own.line)
        if restated != "correct":
            return Lemma(name, "weakened", "it asks for more, or promises less, than was required", own.line)
        return Lemma(name, "proved", line=own.line)

    def outcome(self, declaration: Declaration) -> str:
        """What was found of it. Nothing is found of what claims nothing."""
        claims = declaration.kind == "lemma" and any(token.text == "ensures" for token in declaration.statement)
        nothing = "unverified" if claims else "correct"
        return self.verdict.outcomes.get((self.answer.module.name, declaration.name), nothing)

    def _below(self, declaration: Declaration) -> Iterator[Declaration]:
        """Every other declaration that it rests on: what it names, directly or not, and what is known unasked.

        That is every type and function: the verifier believes `function Absurd(): nat { -1 }` in all that comes later.
        """
        known = {d.name: d for d in self.answer.module.declarations if d.kind != "import"}
        todo = [declaration, *(d for d in known.values() if d.kind != "lemma")]
        seen = {d.name for d in todo}
        yield from todo[1:]
        while todo:
            for name in sorted(todo.pop().words() & known.keys() - seen):
                seen.add(name)
                todo.append(known[name])
                yield known[name]

    def _strays(self) -> Iterator[str]:
        """What is not proved beside the declarations that were read in the answer: nobody knows who rests on it."""
        for (module, name), outcome in self.verdict.outcomes.items():
            if module == self.answer.module.name and outcome != "correct" and self.answer.module.find(name) is None:
                yield name

    def _unproved(self, lemma: Declaration, culprit: Declaration, outcome: str) -> Lemma:
        on = "" if culprit is lemma else f"it rests on {culprit.name}, which is not proved: "
        message = next(self._messages(culprit), None)
        line = message.line if message else culprit.line
        if outcome in TIME_OUTS:
            return Lemma(lemma.name, "timed out", f"{on}{GAVE_UP}", line)
        why = spelled(message) if message else f"the verifier says: {outcome}"
        return Lemma(lemma.name, "failed", on + why, line)

    def _messages(self, declaration: Declaration) -> Iterator[Message]:
        for message in self.verdict.messages:
            if message.file == assembly.ANSWER_FILE and declaration.spans(message.line, message.column):
                yield message

    def _wrong(self) -> Iterator[str]:
        """What is wrong in the file beside its required lemmas."""
        for (module, name), outcome in self.verdict.outcomes.items():
            if module != assembly.WRAPPER and outcome != "correct":
                yield f"{name} is not proved: {outcome}"
        for declaration in self.answer.module.declarations:
            if self.outcome(declaration) != "correct":
                yield f"{declaration.name} is not proved"
        if outcomes.bodyless(self.verdict.output):
            yield "something in it claims without a body"


def spelled(message: Message) -> str:
    """The verifier's words, and the line that they are about if it is another one."""
    about = [place.line for place in message.related if place.line != message.line]
    text = message.text.rstrip(".")
    return f"{text} (line {about[0]})" if about else text


def summary(lemmas: Sequence[Lemma]) -> dict[str, dict[str, str | int]]:
    """As data: for each lemma its state, and why."""
    return {lemma.name: {"state": lemma.state, "sentence": lemma.sentence, "line": lemma.line} for lemma in lemmas}
