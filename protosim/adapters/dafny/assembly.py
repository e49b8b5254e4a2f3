"""What Dafny is given: the answer without its comments, the trusted specification, and the required lemmas once more.

The wrapper restates each required lemma in a module of its own, over the trusted specification alone, and proves it by
calling the answer's. So a lemma that asks for more, or promises less, than was required proves nothing.
"""

import re
from collections.abc import Iterator, Sequence

import attrs

from protosim.adapters.dafny import allowed, tokens
from protosim.adapters.dafny.declarations import Declaration, Module, modules, parse
from protosim.adapters.dafny.tokens import Unreadable

INFINITE = {"iset", "imap"}  # Dafny 2.3 lets a type contain all its own subsets, and so proves `false`
WRAPPER, ALIAS = "RequiredLemmas", "TheAnswer"
ANSWER_FILE, SPEC_FILE, WRAPPER_FILE = "answer.dfy", "specification.dfy", "required.dfy"


@attrs.frozen
class Answer:
    """A candidate's file, read: `text` is what Dafny will see of it, line for line."""

    text: str
    module: Module
    offences: tuple[allowed.Offence, ...]


@attrs.frozen
class Interface:
    """What answers are held against."""

    spec_module: str
    spec_names: frozenset[str]  # what the specification declares
    proof_module: str
    required: tuple[Declaration, ...] = attrs.field(repr=False)
    source: str = attrs.field(repr=False)  # the text that `required` was read from, without its comments

    def statement(self, lemma: Declaration) -> str:
        return self.source[lemma.tokens[0].start : lemma.statement[-1].start + len(lemma.statement[-1].text)]


def interface(spec: str, skeleton: str, required: Sequence[str]) -> Interface:
    """Read from trusted files. Raises Unreadable where they are not what they must be."""
    [trusted] = parse(spec)
    source = tokens.without_comments(skeleton)
    [proof] = modules(tokens.read(source))
    lemmas = {d.name: d for d in proof.declarations if d.kind == "lemma"}
    for name in required:
        if name not in lemmas:
            raise Unreadable(1, f"the required lemma {name} is not in the skeleton")
    names = frozenset(d.name for d in trusted.declarations)
    return Interface(trusted.name, names, proof.name, tuple(lemmas[name] for name in required), source)


def read(text: str, against: Interface) -> Answer:
    """Read an answer. Raises Unreadable where it is no module of that name in the language of proofs."""
    bare = without_module(tokens.without_comments(text), against.spec_module)
    found = tokens.read(bare)
    if not found:
        raise Unreadable(1, f"there is nothing in it but blanks and comments: no module {against.proof_module}")
    offences = allowed.offences(found)
    try:
        parts = modules(found)
    except Unreadable as error:
        raise _first(error, offences) from None
    module = next((part for part in parts if part.name == against.proof_module), None)
    if module is None:
        raise Unreadable(1, f"there is no module {against.proof_module}: it has {', '.join(p.name for p in parts)}")
    more = [*_strangers(parts, module), *_misplaced(module, against)]
    return Answer(bare, module, (*offences, *more))


def _first(error: Unreadable, offences: Sequence[allowed.Offence]) -> Unreadable:
    """What is refused by name says more than that the rest does not parse."""
    if offences and offences[0].line <= error.line:
        return Unreadable(offences[0].line, offences[0].sentence, refused=True)
    return error


def without_module(bare: str, name: str) -> str:
    """The text with blanks for each module of that name, whatever is in it."""
    parts: list[str] = []
    at = 0
    while head := re.compile(rf"\bmodule\s+{name}\s*\{{").search(bare, at):
        end = _closed(bare, head.end())
        parts += [bare[at : head.start()], re.sub(r"[^\n]", " ", bare[head.start() : end])]
        at = end
    return "".join([*parts, bare[at:]])


def _closed(bare: str, at: int) -> int:
    """Behind the brace that closes one that is open here; the end, if none does."""
    depth = 1
    for brace in re.compile(r"[{}]").finditer(bare, at):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return len(bare)


def _strangers(parts: Sequence[Module], proof: Module) -> Iterator[allowed.Offence]:
    for part in parts:
        if part is not proof:
            line = part.declarations[0].line if part.declarations else 1
            says = f"module {part.name} was not asked for: an answer is the module {proof.name} alone"
            yield allowed.Offence(line, says)


def _misplaced(module: Module, against: Interface) -> Iterator[allowed.Offence]:
    """Declarations that are in the language and still must not be there."""
    for d in module.declarations:
        header = [token.text for token in d.tokens]
        if d.kind == "import" and header not in (
            ["import", "opened", against.spec_module],
            ["import", "opened", against.spec_module, ";"],
        ):
            yield allowed.Offence(d.line, f"only `import opened {against.spec_module}` may be imported")
        elif d.kind == "module":
            yield allowed.Offence(d.line, f"a module within {module.name} was not asked for")
        elif d.kind != "import" and d.name in against.spec_names:
            says = f"{d.name} is declared anew, and the specification declares it: choose another name"
            yield allowed.Offence(d.line, says)
        elif d.kind in ("lemma", "function", "predicate") and d.body is None:
            yield allowed.Offence(d.line, f"the {d.kind} {d.name} has no body")
        elif d.kind in ("datatype", "type"):
            yield from _within_a_type(d)


def _within_a_type(d: Declaration) -> Iterator[allowed.Offence]:
    words = [token for token in d.tokens if token.text in (*allowed.DECLARE, *INFINITE)]
    for token in words[1:]:  # the first is its own kind
        says = f"{token.text} within the {d.kind} {d.name}"
        why = "such a type can contradict itself" if token.text in INFINITE else "declare it beside it"
        yield allowed.Offence(token.line, f"{says}: {why}")


def wrapper(against: Interface, lemmas: Sequence[Declaration]) -> tuple[str, dict[int, str]]:
    """The module that restates these lemmas, and which of its lines belong to which lemma."""
    lines = [f"module {WRAPPER} {{", f"import opened {against.spec_module}", f"import {ALIAS} = {against.proof_module}"]
    owners: dict[int, str] = {}
    for lemma in lemmas:
        parameters, results = lemma.arguments()
        call = f"{ALIAS}.{lemma.name}({', '.join(parameters)});"
        body = f"{{ {', '.join(results)} := {call} }}" if results else f"{{ {call} }}"
        text = [*against.statement(lemma).split("\n"), body]
        owners |= {len(lines) + n: lemma.name for n in range(1, len(text) + 1)}
        lines += text
    return "\n".join([*lines, "}", ""]), owners


def program(answer: Answer, spec: str, wrapped: str) -> dict[str, str]:
    return {ANSWER_FILE: answer.text, SPEC_FILE: spec, WRAPPER_FILE: wrapped}
