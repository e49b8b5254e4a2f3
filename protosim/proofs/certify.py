"""Is a proof problem worth asking? Its reference proves it, what is handed out does not, and it means something.

A verifier looks at each lemma by itself, against what the others state. So the skeleton, where no required lemma has a
proof, tells of each of them at once that it needs one. And where the specification is weakened, the reference must
fail: a proof that does not notice says nothing about what was weakened.
"""

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from hashlib import blake2b

import attrs
import cattrs

from protosim import files, markdown
from protosim.adapters.dafny.tool import Dafny
from protosim.proofs.judge import Judgement, first_failure, judge
from protosim.proofs.problem import FILE, Problem, SpecMutant

CERTIFICATE = "certificate.json"  # in the problem's folder
FASTER_THAN = 60  # seconds of CPU, that a reference may take

Tick = Callable[[str], None]


@attrs.frozen(kw_only=True)
class Certificate:
    """What was measured of a problem, as its files were: `files` tells whether they still are."""

    problem: str
    files: str
    date: str
    verifier: str
    machine: str
    lemmas: int  # required
    seconds: float  # of CPU, for the reference, on this machine
    caught: dict[str, str]  # each mutant of the specification -> what fails first in the reference; "" if nothing does
    faults: tuple[str, ...]  # why the problem is not worth asking; none, if it is


def certify(problem: Problem, dafny: Dafny, tick: Tick, jobs: int = 1) -> Certificate:
    """Verify the reference, the skeleton, and the reference over each mutant of the specification: minutes of CPU."""
    of = fingerprint(problem)
    tick("the reference")
    started = _spent()
    whole = judge(problem, problem.reference, dafny)
    seconds = _spent() - started
    tick("the skeleton")
    empty = judge(problem, problem.skeleton, dafny)

    def first(mutant: SpecMutant) -> str:
        tick(mutant.name)
        return first_failure(problem, problem.mutated(mutant), dafny)

    with ThreadPoolExecutor(jobs) as workers:
        firsts = list(workers.map(first, problem.spec_mutants))
    caught = {mutant.name: name for mutant, name in zip(problem.spec_mutants, firsts, strict=True)}
    return Certificate(
        problem=problem.name,
        files=of,
        date=datetime.now(UTC).date().isoformat(),
        machine=markdown.machine(),
        verifier=f"Dafny {dafny.version}",
        lemmas=len(problem.required),
        seconds=round(seconds, 1),
        caught=caught,
        faults=tuple(_faults(whole, seconds, empty, caught)),
    )


def fingerprint(problem: Problem) -> str:
    """Of everything that a certificate is about."""
    digest = blake2b(digest_size=8)
    for name in ("spec.dfy", "skeleton.dfy", "reference.dfy", FILE):
        digest.update((problem.folder / name).read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def keep(problem: Problem, certificate: Certificate) -> None:
    """Write it beside the problem."""
    files.write(problem.folder / CERTIFICATE, json.dumps(attrs.asdict(certificate), indent=1) + "\n")


def kept(problem: Problem) -> Certificate | None:
    """The certificate that lies beside the problem, if it is about the files that are there now."""
    path = problem.folder / CERTIFICATE
    if not path.is_file():
        return None
    found = cattrs.structure(json.loads(path.read_text("utf-8")), Certificate)
    return found if found.files == fingerprint(problem) else None


def _spent() -> float:
    """Seconds of CPU that ended child processes took, and theirs."""
    times = os.times()
    return times.children_user + times.children_system


def _faults(whole: Judgement, seconds: float, empty: Judgement, caught: dict[str, str]) -> Iterator[str]:
    if not whole.clean:
        yield f"the reference does not prove it: {whole.sentence}"
    if seconds > FASTER_THAN:
        yield f"the reference takes {seconds:.0f} s of CPU"
    for lemma in empty.lemmas:
        if lemma.state == "proved":
            yield f"{lemma.name} needs no proof"
    for name, failed in caught.items():
        if not failed:
            yield f"the specification with {name} is proved just as well"
