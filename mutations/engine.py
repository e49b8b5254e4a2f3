"""Text in, text out: applying mutants to a protocol's source.

Only this module and the operators import libcst; the catalogue and its data do without.
"""

import difflib
import functools
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from mutations import operators, replace
from mutations.entry import Edit, Mutation, Replace, Site
from mutations.syntax import (
    Scope,
    classes,
    definitions,
    exchange,
    form,
    full_name,
    functions,
    parse,
    short_name,
    why_not_python,
)
from protosim.errors import UserError


def apply(source: str, mutation: Mutation) -> str:
    """The source with the mutation's edits, each made on the result of the one before.

    All else stays byte for byte, and the result compiles. UserError: the source is not Python, or
    an edit does not find what it expects (which text, in which function, and the nearest there is).
    """
    parse(source)  # its own error is not the mutation's
    mutant = source
    for edit in mutation.edits:
        try:
            mutant = _edited(mutant, edit)
        except UserError as error:
            raise UserError(f"{mutation.id} no longer applies: {error}") from None
    why = why_not_python(mutant)
    if why:
        raise UserError(f"{mutation.id} makes a source that is not Python: {why}.")
    if mutant == source:
        raise UserError(f"{mutation.id} changes nothing.")
    return mutant


def _edited(source: str, edit: Edit) -> str:
    module = parse(source)
    scope = full_name(edit.function, [d.name for d in definitions(module)])
    match edit:
        case Site():
            change = _change(module, scope, edit)
            return exchange(module, "" if change.wide else scope, change.exchanges)
        case Replace():
            scopes: list[Scope] = [d.node for d in definitions(module) if d.name == scope]
            found = replace.exchanges(module, scopes or [module], edit)
            return exchange(module, scope, found)


# -- Several at once -------------------------------------------------------------------------------


def apply_all(source: str, mutations: Sequence[Mutation]) -> str:
    """The source with all of the mutations, which are a set: their order must not matter.

    UserError: one does not apply, or two conflict, which it names together with the function.
    """
    chosen = list(dict.fromkeys(mutations))
    forth = _in_order(source, chosen)
    if forth is None or forth != _in_order(source, chosen[::-1]):
        for mutation in chosen:
            apply(source, mutation)  # the fault may be its own
        raise UserError(_conflict(source, chosen))
    return forth


def _in_order(source: str, mutations: Sequence[Mutation]) -> str | None:
    try:
        for mutation in mutations:
            source = apply(source, mutation)
    except UserError:
        return None
    return source


def _conflict(source: str, mutations: Sequence[Mutation]) -> str:
    for a, b in itertools.combinations(mutations, 2):
        forth, back = _in_order(source, [a, b]), _in_order(source, [b, a])
        if forth is None or forth != back:
            where = " and ".join(_functions(a, b))
            why = "each changes what the other expects" if forth == back else "their order matters"
            return f"{a.id} and {b.id} both change {where}: {why}, so choose one of them."
    ids = ", ".join(mutation.id for mutation in mutations)
    return f"{ids} cannot be combined, although any two of them can: choose fewer."


def _functions(a: Mutation, b: Mutation) -> list[str]:
    """Where both change something, or else what they change."""
    mine, its = ([edit.function or "the module" for edit in m.edits] for m in (a, b))
    return list(dict.fromkeys([f for f in mine if f in its] or mine + its))


def diff(before: str, after: str, path: str) -> str:
    """A unified diff as git prints it; empty if the texts are equal."""
    old, new = (list(io.StringIO(text, newline="\n")) for text in (before, after))
    lines = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    open_end = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + open_end for line in lines)


# -- Operators -------------------------------------------------------------------------------------


def sites(source: str, operator: str = "") -> list[Site]:
    """Every site of an operator, or of all operators, in the order of the file.

    A site whose mutant has the compiled form of the source, or of a site before it, is no site.
    """
    module = parse(source)
    defined = [definition.name for definition in definitions(module)]
    found: list[Site] = []
    seen: dict[str, list[object]] = {}  # compiled forms by the function or class that was changed
    for chosen in [operator] if operator else operators.names():
        for name in dict.fromkeys(name for name, _ in _scopes(module, chosen)):
            for which, (scope, change) in _changes(module, name, chosen).items():
                forms = seen.setdefault(name, [form(module, scope)])
                changed = form(module, scope, change.exchanges)
                if change.wide or changed not in forms:
                    found.append(Site(short_name(name, defined), chosen, which))
                    forms.append(changed)
    return found


@functools.lru_cache(maxsize=16)  # they take a second, and are asked for once a mutant
def generated(protocol: str, source: str) -> Mapping[str, Mutation]:
    """By id, every mutant that the operators make of the source.

    A check is named once in its file, so the mutant without it is called after it: `raft.log_up_to_date`.
    The others are called by their site: `raft.start_election/drop-sync/1`.
    """
    found = sites(source)
    dropped = [site.which for site in found if site.operator == operators.DROP_CHECK]
    mutants = [made(protocol, site, dropped.count(site.which) == 1) for site in found]
    return {mutant.id: mutant for mutant in mutants}


def made(protocol: str, site: Site, unique: bool = False) -> Mutation:
    """The mutant of a site; called after the check that it drops, if that is the only one of its name."""
    operator = operators.load(site.operator)
    named = unique and site.operator == operators.DROP_CHECK
    return Mutation(
        id=f"{protocol}.{site.which if named else site}",
        title=operator.TITLE.format(function=site.function, which=site.which),
        kind=operator.KIND,
        edits=(site,),
        aliases=(str(site),) if named else (),
    )


def _scopes(module: cst.Module, operator: str) -> Iterator[tuple[str, cst.FunctionDef | cst.ClassDef]]:
    """What the operator is tried on, by dotted name."""
    return functions(module) if operators.load(operator).OVER == "function" else classes(module)


def _changes(
    module: cst.Module, name: str, operator: str
) -> dict[str, tuple[cst.FunctionDef | cst.ClassDef, operators.Change]]:
    """What the operator could do to the functions or classes of this dotted name, by the last part of
    the site's name, which is unique: one that comes again gets `#2`."""
    loaded = operators.load(operator)
    scopes = [scope for defined, scope in _scopes(module, operator) if defined == name]
    found: dict[str, tuple[cst.FunctionDef | cst.ClassDef, operators.Change]] = {}
    count: dict[str, int] = {}
    for scope in scopes:
        for change in loaded.changes(scope, module):
            count[change.which] = n = count.get(change.which, 0) + 1
            found[change.which if n == 1 else f"{change.which}#{n}"] = scope, change
    return found


def _change(module: cst.Module, scope: str, site: Site) -> operators.Change:
    there = _changes(module, scope, site.operator)
    if site.which not in there:
        has = f"it has {', '.join(there)}" if there else "it has none"
        raise UserError(f"{site.function} has no {site.operator} site {site.which}; {has}.")
    return there[site.which][1]
