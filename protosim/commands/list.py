"""List what there is: protocols, mutations, invariants, schedulers, faults, tasks.

Protocols, schedulers and faults are described by the first line of their file.
"""

import argparse
import ast
import importlib
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from protosim import paths
from protosim.api import ProtocolSpec
from protosim.output import Answer, Output
from protosim.program import modules, nearest, source_of, spec_of

Row = dict[str, Any]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", nargs="?", help=f"one of {', '.join(KINDS)}")
    parser.add_argument("protocol", metavar="PROTOCOL", nargs="?", help="of mutations and invariants: only its own")


def run(args: argparse.Namespace, out: Output) -> Answer:
    if args.kind is None:
        out.table([(f"protosim list {name}", kind.says) for name, kind in KINDS.items()])
        return Answer("ok", {"kinds": list(KINDS)})
    if args.kind not in KINDS:
        raise nearest(args.kind, KINDS, "kind of thing to list")
    protocols = modules("protocols")
    if args.protocol is not None and args.protocol not in protocols:
        raise nearest(args.protocol, protocols, "protocol")
    kind = KINDS[args.kind]
    rows = kind.rows([args.protocol] if args.protocol else protocols)
    out.table([kind.columns, *([_cell(row[column]) for column in kind.columns] for row in rows)])
    return Answer("ok", {"kind": args.kind, args.kind: rows})


def _cell(content: str | list[str]) -> str:
    return content if isinstance(content, str) else ", ".join(content)


# -- What there is -----------------------------------------------------------------------------------


def _described(package: str) -> list[Row]:
    """The modules of a package, none of which is imported."""
    folder = Path(str(importlib.import_module(package).__file__)).parent
    return [{"name": name, "description": _first_line(folder / f"{name}.py")} for name in modules(package)]


def _first_line(path: Path) -> str:
    if not path.exists():  # a protocol that is a folder
        path = path.with_suffix("") / "__init__.py"
    doc = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return doc.partition("\n")[0]


def _mutations(protocols: Sequence[str]) -> list[Row]:
    """The catalogue, then what the operators make of the protocol's source."""
    import mutations

    rows: list[Row] = []
    for protocol in protocols:
        catalogued = mutations.catalogue.load(protocol)
        for mutation in mutations.mutants(protocol, source_of(protocol)).values():
            rows.append(
                {
                    "id": mutation.id,
                    "aliases": list(mutation.aliases),
                    "breaks": list(mutation.breaks),
                    "title": mutation.title,
                    "clause": mutation.clause,
                    "kind": str(mutation.kind),
                    "catalogued": mutation.id in catalogued,
                }
            )
    return rows


def _invariants(protocols: Sequence[str]) -> list[Row]:
    from protosim.history import LINEARIZABILITY

    rows: list[Row] = []
    for protocol in protocols:
        spec = spec_of(protocol)
        judged = isinstance(spec, ProtocolSpec) and spec.history is not None
        for invariant in (*spec.invariants(), *([LINEARIZABILITY] if judged else [])):
            fields = attrs.asdict(invariant, filter=attrs.filters.exclude("when"))
            rows.append({"protocol": protocol, **fields})
    return rows


def _tasks(protocols: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for file in sorted(paths.data("tasks").glob("*/task.toml")):
        task = tomllib.loads(file.read_text("utf-8"))
        rows.append({"name": file.parent.name, "description": str(task.get("title", ""))})
    return rows


@attrs.frozen
class Kind:
    rows: Callable[[Sequence[str]], list[Row]]
    columns: tuple[str, ...]
    says: str


DESCRIBED = ("name", "description")
KINDS = {
    "protocols": Kind(lambda _: _described("protocols"), DESCRIBED, "what can be run"),
    "mutations": Kind(_mutations, ("id", "aliases", "breaks", "title"), "bugs that can be put in"),
    "invariants": Kind(_invariants, ("name", "mode", "source", "statement"), "what must hold"),
    "schedulers": Kind(lambda _: _described("schedulers"), DESCRIBED, "who decides what happens next"),
    "faults": Kind(lambda _: _described("faults"), DESCRIBED, "what can go wrong around the nodes"),
    "tasks": Kind(_tasks, DESCRIBED, "broken protocols to repair, with hidden tests"),
}
