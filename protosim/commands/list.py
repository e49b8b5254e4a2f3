"""List what there is: protocols, mutations, invariants, schedulers, faults, tasks.

Protocols, schedulers and faults are described by the first line of their file.
"""

import argparse
import ast
import importlib
import tomllib
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import attrs

from protosim import files, paths
from protosim.errors import UserError
from protosim.output import Answer, Output
from protosim.program import modules, nearest, source_of, spec_of

Row = dict[str, Any]


def options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("kind", metavar="KIND", nargs="?", help=f"one of {', '.join(KINDS)}")
    add("protocol", metavar="PROTOCOL", nargs="?", help="of mutations and invariants: only its own")
    add("--all", action="store_true", help="of mutations: with what each breaks, and those that operators make")
    add("--write", action="store_true", help="of protocols: write what was measured of each to docs/protocols.md")


def run(args: argparse.Namespace, out: Output) -> Answer:
    if args.kind is None:
        out.table([(f"protosim list {name}", kind.says) for name, kind in KINDS.items()])
        return Answer("ok", {"kinds": list(KINDS)})
    if args.kind not in KINDS:
        raise nearest(args.kind, KINDS, "kind of thing to list")
    protocols = modules("protocols")
    if args.protocol is not None and args.protocol not in protocols:
        raise nearest(args.protocol, protocols, "protocol")
    if args.write and args.kind != "protocols":
        raise UserError(f"--write is for `protosim list protocols`, not for {args.kind}.")
    if args.all and args.kind != "mutations":
        raise UserError(f"--all is for `protosim list mutations`, not for {args.kind}.")
    kind = KINDS[args.kind]
    rows = kind.rows([args.protocol] if args.protocol else protocols)
    if args.all:
        _show_mutations(rows, out, everything=True)
    else:
        kind.show(rows, out)
    if args.write:
        _write(out)
    return Answer("ok", {"kind": args.kind, args.kind: rows})


def _write(out: Output) -> None:
    from protosim import protocolpage

    files.write(protocolpage.PATH, protocolpage.page())
    out.say(f"Wrote {protocolpage.PATH}.")


# -- On a page of a hundred columns ------------------------------------------------------------------


def _show_described(rows: list[Row], out: Output) -> None:
    out.table([(row["name"], row["description"]) for row in rows])


def _show_mutations(rows: list[Row], out: Output, everything: bool = False) -> None:
    """By kind of drift: what each entry of a catalogue does, and how many mutants operators make; `everything` has what
    breaks, too, and the ids of the latter, which say what they are."""
    for protocol, some in groupby(rows, lambda row: row["id"].partition(".")[0]):
        mine = list(some)
        out.heading(protocol)
        for kind, entries in _by_kind(row for row in mine if row["catalogued"]).items():
            out.say(f"  {kind} ({len(entries)})")
            out.table([(row["id"], f"{_says(row)}{_breaks(row) if everything else ''}") for row in entries], "    ")
        made = _by_kind(row for row in mine if not row["catalogued"])
        counts = ", ".join(f"{kind} ({len(ids)})" for kind, ids in made.items())
        if made and not everything:
            out.prose(f"made by operators, and listed with --all: {counts}", "  ")
        for kind, ids in made.items() if everything else ():
            out.say(f"  made by operators: {kind} ({len(ids)})")
            out.say("\n".join(f"    {row['id']}" for row in ids))


def _by_kind(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["kind"], []).append(row)
    return found


def _says(row: Row) -> str:
    names = f"{', '.join(row['aliases'])}: " if row["aliases"] else ""
    return f"{names}{row['title']}"


def _breaks(row: Row) -> str:
    return f" Breaks {', '.join(row['breaks'])}." if row["breaks"] else ""


def _show_invariants(rows: list[Row], out: Output) -> None:
    for protocol, some in groupby(rows, lambda row: row["protocol"]):
        out.heading(protocol)
        out.table([(row["name"], row["mode"], f"{row['statement']} {row['source']}".rstrip()) for row in some], "  ")


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
    """The catalogues; of one protocol, what the operators make of its source as well."""
    import mutations

    rows: list[Row] = []
    for protocol in protocols:
        catalogued = mutations.catalogue.load(protocol)
        known = catalogued if protocols[1:] else mutations.mutants(protocol, source_of(protocol))
        for mutation in known.values():
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
    from protosim.history import judged

    rows: list[Row] = []
    for protocol in protocols:
        for invariant in judged(spec_of(protocol)):
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
    show: Callable[[list[Row], Output], None]
    says: str


KINDS = {
    "protocols": Kind(lambda _: _described("protocols"), _show_described, "what can be run"),
    "mutations": Kind(_mutations, _show_mutations, "bugs that can be put in"),
    "invariants": Kind(_invariants, _show_invariants, "what must hold"),
    "schedulers": Kind(lambda _: _described("schedulers"), _show_described, "who decides what happens next"),
    "faults": Kind(lambda _: _described("faults"), _show_described, "what can go wrong around the nodes"),
    "tasks": Kind(_tasks, _show_described, "broken protocols to repair, with hidden tests, and proofs to find"),
}
