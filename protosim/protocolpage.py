"""The page about all protocols: what each is made from, what judges it, and what was measured of it."""

from collections.abc import Iterable, Sequence
from statistics import median

import attrs

from protosim import checks, kills, markdown, operatorkills
from protosim.api import ModelSpec, ProtocolSpec
from protosim.kills import KILLED, ROOT, Row
from protosim.program import modules, source_of, spec_of

PATH = ROOT / "docs" / "protocols.md"

HEAD = (
    "protocol", "paper", "checks", "safety", "warnings", "goals", "liveness", "mutants killed", "of operators",
    "median kill: events", "CPU s", "nodes", "switches",
)  # fmt: skip


def page() -> str:
    """Markdown."""
    rows = [_row(spec_of(name)) for name in modules("protocols")]
    return "\n".join(
        [
            "# Protocols",
            "",
            "Written by `protosim list protocols --write` from the modules of `protocols/` and the tables of",
            "`mutations/expected/`.",
            "",
            *markdown.table([HEAD, *rows]),
            "",
            "*Checks* are the named conjuncts of `holds(...)` in the protocol's own file. *Safety*, *warnings*,",
            "*goals* and *liveness* count its invariants (`always`, `warning`, `sometimes`, `eventually`); client",
            "histories are judged beside them. *Mutants killed* are those of its catalogue, *of operators* those that",
            "operators make of its file, one hunt each; the protocol's page says why the others survive, and those of",
            "which nobody knows it are counted here as unexplained. A *median kill* is the median, over the killed",
            "mutants of the catalogue, of each one's median over its hunts.",
            "",
        ]
    )


def _row(spec: ProtocolSpec | ModelSpec) -> Sequence[str]:
    entries = list(kills.expected(spec.name).values())
    killed = [row for row in entries if row.outcome == KILLED]
    modes = [invariant.mode for invariant in spec.invariants()]
    switches = [field.name for field in attrs.fields(spec.switches)] if isinstance(spec, ProtocolSpec) else []
    return (
        f"[{spec.name}]({spec.name}-mutants.md)" if entries else spec.name,
        spec.paper,
        str(len(checks.names(source_of(spec.name)))),
        *(str(modes.count(mode)) for mode in ("always", "warning", "sometimes", "eventually")),
        f"{len(killed)} / {len(entries)}" if entries else "",
        _operators(spec.name, entries),
        f"{median(row.events for row in killed):,.0f}" if killed else "",
        f"{median(row.cpu for row in killed):.2f}" if killed else "",
        _sizes(spec),
        ", ".join(switches),
    )


def _operators(protocol: str, entries: Iterable[Row]) -> str:
    table = operatorkills.expected(protocol)
    if not table.ids:
        return ""
    share = operatorkills.share(table, {row.id: row for row in entries})
    unexplained = f", {share.unexplained} unexplained" if share.unexplained else ""
    return f"{share.killed} / {share.all}{unexplained}"


def _sizes(spec: ProtocolSpec | ModelSpec) -> str:
    """Those that hunts draw from, and those that there can be."""
    drawn = ", ".join(map(str, spec.sizes))
    return f"{drawn} ({spec.smallest} to {spec.largest})" if spec.largest else f"{drawn} ({spec.smallest} or more)"
