"""Counterexample files: a scenario, what it broke, and what it was found in. Readable JSON with a checksum."""

import json
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import attrs
import cattrs

from protosim import files
from protosim.errors import UserError
from protosim.program import Program, from_source, reference
from protosim.program import load as load_program
from protosim.run import Run
from protosim.scenario import Scenario
from protosim.values import from_wire
from protosim.words import plural

LARGEST = 2**64
SCHEMA = "protosim/counterexample/1"

_convert = cattrs.Converter(forbid_extra_keys=True, omit_if_default=True)


@attrs.frozen(kw_only=True)
class Counterexample:
    scenario: Scenario
    mutants: tuple[str, ...] = ()
    source: str = ""  # the file that --source named, if it was not the protocol's own
    worker: tuple[str, ...] = ()  # the command of --worker, run where it was run
    project: str = ""  # the text of its projection
    code: str = ""  # that file's text with the mutants applied, so that a repair in place does not lose the story
    source_digest: str = ""  # of the text that was run, mutants applied
    invariant: str
    message: str
    digest: str  # of the run
    events: int
    found: dict[str, Any] = attrs.field(factory=dict)  # seed, run, scheduler, faults, events of the unshortened run

    @property
    def faults(self) -> tuple[str, ...]:
        """What the story needs of its world beyond messages in some order."""
        script = self.scenario.script
        if script is None:
            return tuple(choice.name for choice in self.scenario.faults)
        crashes = any(step.do in ("crash", "reboot") or step.cut is not None for step in script)
        delivered = [(s.src, s.node, s.fingerprint, s.repeat) for s in script if s.do == "deliver"]
        twice = len(set(delivered)) < len(delivered)
        lies = any(step.do == "lie" for step in script)
        return ("byzantine",) * lies + ("crash",) * crashes + ("duplication",) * twice


def recorded_program(saved: Counterexample) -> Program:
    """The code in which it was found: the saved text, or the protocol's own with its mutants."""
    protocol = saved.scenario.protocol
    if saved.worker:
        from protosim import remote

        return remote.load(protocol, saved.worker, saved.project)
    if saved.code:
        return from_source(protocol, saved.code, mutants=saved.mutants, origin=saved.source)
    return load_program(protocol, saved.mutants)


def describe(program: Program, run: Run, found: dict[str, Any]) -> Counterexample:
    """A run as a counterexample; one in which a handler failed has no invariant."""
    broken = run.violation or run.warning
    return Counterexample(
        scenario=run.scenario,
        mutants=program.mutants,
        source="" if program.worker else program.origin,
        worker=program.worker,
        project=program.project,
        code=program.source if program.origin and not program.worker else "",
        source_digest=source_digest(program),
        invariant=broken.invariant.name if broken else "",
        message=broken.sentence if broken else run.failure,
        digest=run.digest,
        events=run.events,
        found=found,
    )


def source_digest(program: Program) -> str:
    return blake2b(program.source.encode(), digest_size=16).hexdigest()


def save(path: Path, counterexample: Counterexample) -> None:
    body = _convert.unstructure(counterexample)
    data = {"schema": SCHEMA, "checksum": _checksum(body), **body}
    files.write(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def _checksum(body: Any) -> str:
    return blake2b(json.dumps(body, sort_keys=True, separators=(",", ":")).encode(), digest_size=16).hexdigest()


def load(path: Path | str) -> Counterexample:
    """Raises UserError, with a sentence, for a file that is missing, cut short, edited, or of another version."""
    path = Path(path)
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text, so it is no counterexample file.") from None
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"{path} is cut short or damaged: it is not whole JSON ({error}).") from None
    return _parse(path, data)


def _parse(path: Path, data: Any) -> Counterexample:
    if not isinstance(data, dict) or not isinstance(data.get("schema"), str):
        raise UserError(f"{path} is no counterexample file: it has no schema.")
    schema, checksum = data.pop("schema"), data.pop("checksum", None)
    if schema != SCHEMA:
        raise UserError(f"{path} has the schema {schema!r}; this version of protosim reads {SCHEMA!r}.")
    if checksum != _checksum(data):
        raise UserError(f"{path} was edited: its checksum does not fit its contents. Hunt again for a fresh one.")
    try:
        found = _convert.structure(data, Counterexample)
    except Exception as error:
        reasons = cattrs.transform_error(error)
        raise UserError(f"{path} does not hold a counterexample: {reasons[0]}.") from None
    wrong = next(_nonsense(found.scenario), "")
    if wrong:
        raise UserError(f"{path} does not hold a counterexample: {wrong}.")
    return found


def _nonsense(scenario: Scenario) -> Iterator[str]:
    """What no hunt has ever written."""
    if not 1 <= scenario.nodes <= 99:
        yield f"a cluster of {plural(scenario.nodes, 'node')}"
    for name in ("seed", "events", "horizon"):
        if not 0 <= getattr(scenario, name) < LARGEST:
            yield f"{name} {getattr(scenario, name)} is out of range"
    for choice in (scenario.scheduler, *scenario.faults):
        for name, number in choice.params.items():
            if not 0 <= number <= 10**9:
                yield f"{choice.name}:{name}={number} is out of range"
    for place, step in enumerate(scenario.script or (), 1):
        numbers = (step.at, step.fingerprint, step.repeat, step.age, step.op, step.clock or 0, step.cut or 0)
        kept = [n + 1 for pair in step.kept for n in pair]
        if not all(0 <= number < LARGEST for number in (*numbers, *kept)):
            yield f"step {place} has a number out of range"
        if step.do == "lie" and step.src not in scenario.node_ids():
            yield f"step {place} is a lie of {step.src!r}, which is no node"
        if step.do in ("request", "lie"):
            try:
                from_wire(step.lie if step.do == "lie" else step.command, reference(scenario.protocol).classes)
            except ValueError as error:
                yield f"step {place}: {error}"
