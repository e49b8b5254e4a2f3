"""Each operator by its own examples, and all of them on protocols made up by hypothesis."""

import ast
import itertools
import textwrap
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mutations import Mutation, Site, operators
from mutations.engine import apply, apply_all, generated, sites
from protosim.errors import UserError

EXAMPLES = [(name, *pair) for name in operators.names() for pair in operators.load(name).EXAMPLES]


def mutate(source: str, site: Site) -> str:
    kind = operators.load(site.operator).KIND
    return apply(source, Mutation(id="p.m", title="", kind=kind, edits=(site,)))


@pytest.mark.parametrize(("operator", "before", "after"), EXAMPLES)
def test_an_operator_does_what_its_examples_say(operator: str, before: str, after: str) -> None:
    results = [mutate(before, site) for site in sites(before, operator)]
    assert after in results if after != before else results == []


def test_operators_are_found_by_their_files() -> None:
    files = Path(str(operators.__file__)).parent.glob("[!_]*.py")
    assert operators.names() == sorted(file.stem.replace("_", "-") for file in files)
    assert len(operators.names()) >= 12


@pytest.mark.parametrize("name", operators.names())
def test_an_operator_documents_itself(name: str) -> None:
    operator = operators.load(name)
    assert operator.__doc__
    assert len(operator.EXAMPLES) >= 2
    assert operator.TITLE.format(function="f", which="1").endswith(".")


def test_an_unknown_operator_gets_the_nearest_name() -> None:
    with pytest.raises(UserError, match="no operator drop-sink; the nearest are drop-sync"):
        operators.load("drop-sink")


# -- Cases that examples do not show ---------------------------------------------------------------


def changed(source: str, site: str) -> str:
    return mutate(textwrap.dedent(source), Site.parse(site))


def test_a_dropped_check_takes_its_comments_along_and_leaves_the_others() -> None:
    before = """\
        def f(self):
            return holds(  # open
                # above a
                a=1,  # beside a
                # above b
                b=2,  # beside b
                # at the end
            )
        """
    assert changed(before, "f/drop-check/a") == textwrap.dedent("""\
        def f(self):
            return holds(  # open
                # above b
                b=2,  # beside b
                # at the end
            )
        """)


def test_a_last_check_without_a_comma_leaves_none_behind() -> None:
    before = """\
        def f(self):
            return holds(
                a=1,  # beside a
                b=2  # beside b
            )
        """
    assert changed(before, "f/drop-check/b") == textwrap.dedent("""\
        def f(self):
            return holds(
                a=1  # beside a
            )
        """)


@pytest.mark.parametrize("before", ["holds(a=1, b=2)", "holds(a=1, b=2,)", "holds( a=1 , b=2)"])
def test_a_check_dropped_from_one_line_leaves_no_stray_layout(before: str) -> None:
    source = f"def f(self):\n    return {before} or 3\n"
    left = changed(source, "f/drop-check/b"), changed(source, "f/drop-check/a")
    assert [text.partition("return ")[2] for text in left] in (
        ["holds(a=1) or 3\n", "holds(b=2) or 3\n"],
        ["holds(a=1,) or 3\n", "holds(b=2,) or 3\n"],
        ["holds( a=1) or 3\n", "holds( b=2) or 3\n"],
    )


ALONE = "    {}\n    self.end()\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if not holds(a=m.a):\n        return", ""),
        ("if holds(a=m.a):  # why\n        # inside\n        self.go()", "# inside\n    self.go()"),
        ("if holds(a=m.a):\n        self.go()\n    else:\n        self.stay()", "self.go()"),
        ("if not holds(a=m.a):\n        self.go()\n    else:\n        self.stay()", "self.stay()"),
        ("if not holds(a=m.a):\n        self.go()\n    elif m:\n        self.stay()", "if m:\n        self.stay()"),
        ("if m:\n        self.go()\n    elif holds(a=m.a):  # why\n        self.stay()",
         "if m:\n        self.go()\n    else:\n        self.stay()"),
        ("if m:\n        self.go()\n    elif not holds(a=m.a):\n        self.stay()", "if m:\n        self.go()"),
        ("if m or not holds(a=m.a):\n        self.go()", "if m:\n        self.go()"),
        ("if m and holds(a=m.a):\n        self.go()", "if m:\n        self.go()"),
        ("if holds(a=m.a) or m:\n        self.go()", "self.go()"),
        ("x = m if holds(a=m.a) else None\n    self.go(x)", "x = m\n    self.go(x)"),
        ("ok = holds(a=m.a)\n    if not ok:\n        return", ""),
        ("ok = holds(a=m.a)\n    self.go(ok, self.ok)", "self.go(True, self.ok)"),
        ("ok = m and holds(a=m.a)\n    if ok:\n        self.go()", "ok = m\n    if ok:\n        self.go()"),
        ("x = self.has.get(m)\n    if holds(a=x == m):\n        self.go()", "self.go()"),
        ("x = self.has.pop(m)\n    if holds(a=x == m):\n        self.go()", "x = self.has.pop(m)\n    self.go()"),
    ],
)  # fmt: skip
def test_what_rests_on_the_only_check_goes_with_it(before: str, after: str) -> None:
    given, expected = (f"def f(self, m):\n{ALONE.format(text)}" for text in (before, after))
    assert changed(given, "f/drop-check/a") == expected.replace("    \n", "")


def test_what_is_never_reached_without_the_check_goes_with_it() -> None:
    given = "def f(self, m):\n    if holds(a=m.a):\n        return 1\n    self.end()\n"
    assert changed(given, "f/drop-check/a") == "def f(self, m):\n    return 1\n"


def test_a_variable_that_is_set_twice_is_left() -> None:
    given = "def f(self, m):\n    ok = holds(a=m.a)\n    if m:\n        ok = False\n    return ok\n"
    assert changed(given, "f/drop-check/a") == given.replace("holds(a=m.a)", "True")


def test_checks_of_observers_are_no_sites() -> None:
    source = """
class Figure3(Observer):
    def election_safety(self):
        return holds(a=self.leaders >= self.facts.majority)

class Stricter(Figure3):
    def more(self):
        self.sync()
"""
    assert sites(source) == []


def test_only_what_the_parts_of_the_spec_come_to_has_sites() -> None:
    source = """
def effect(x):
    return x > 1

def workload(op, bits):
    return bits > 3

class Bank:
    def apply(self, x):
        if effect(x):
            return x

    def __str__(self):
        return "rich" if self.sum > 5 else "poor"

class Node1(Node):
    def f(self, m):
        return m.x > 7

class Judge(Figure3):
    def f(self, m):
        return m.x > 9

PROTOCOL = ProtocolSpec(name="p", node=Node1, application=Bank, workload=workload, observers=(Judge,))
"""
    assert [str(s) for s in sites(source)] == [
        "apply/invert-decision/1",
        "effect/loosen-comparison/1",
        "Node1.f/loosen-comparison/1",
    ]


def test_a_sync_in_a_nested_function_belongs_to_that_function() -> None:
    source = "def f(self):\n    def g():\n        self.sync()\n        return\n    self.sync()\n"
    assert [str(s) for s in sites(source, "drop-sync")] == ["f/drop-sync/1", "g/drop-sync/1"]
    assert changed(source, "g/drop-sync/1") == source.replace("        self.sync()\n", "")


def test_a_sync_does_not_move_past_another_that_would_cover_its_write() -> None:
    source = "def f(self):\n    self.sync()\n    self.sync()\n    self.send(m)\n"
    assert [s.which for s in sites(source, "swap-sync-and-send")] == ["2"]


def test_a_sync_moves_past_an_early_refusal_to_the_send_after_it() -> None:
    before = """\
        def f(self):
            self.sync()
            if not granted:
                self.send(no)
                return
            self.send(yes)
        """
    assert changed(before, "f/swap-sync-and-send/1") == textwrap.dedent("""\
        def f(self):
            if not granted:
                self.send(no)
                return
            self.send(yes)
            self.sync()
        """)


@pytest.mark.parametrize("last", ["return", "raise E", "return self.send(m)"])
def test_a_sync_never_moves_to_where_it_cannot_be_reached(last: str) -> None:
    source = f"def f(self):\n    if a:\n        self.sync()\n        {last}\n    self.send(m)\n"
    assert sites(source, "swap-sync-and-send") == []


def test_mutual_calls_of_methods_end_and_count_as_sends_if_one_sends() -> None:
    source = """
def a(self):
    self.b()

def b(self):
    self.a()
    self.c()

def c(self):
    self.reply(1)

def f(self):
    self.sync()
    self.a()
"""
    assert [str(s) for s in sites(source, "swap-sync-and-send")] == ["f/swap-sync-and-send/1"]


@pytest.mark.parametrize(
    ("quorum", "weaker"),
    [
        ("len(v) > self.cluster_size // 2", "len(v) >= self.cluster_size // 2"),
        ("len(v) <= len(self.nodes) // 2", "len(v) < len(self.nodes) // 2"),
        ("self.cluster_size // 2 < len(v)", "self.cluster_size // 2 <= len(v)"),
        ("self.cluster_size // 2 >= len(v)", "self.cluster_size // 2 > len(v)"),
        ("len(v) >= self.cluster_size // 2 + 1", "len(v) >= self.cluster_size // 2"),
        ("len(v) >= self.majority", "len(v) >= self.majority - 1"),
        ("not quorum > n", "not quorum - 1 > n"),
        ("x == self.is_majority(v)", "x == (len(set(v)) >= self.cluster_size // 2)"),
        ("self.is_majority(n for n in v)", "len(set(n for n in v)) >= self.cluster_size // 2"),
    ],
)
def test_a_weaker_quorum(quorum: str, weaker: str) -> None:
    result = changed(f"def f(self):\n    return {quorum}\n", "f/weaken-quorum/1")
    assert result == f"def f(self):\n    return {weaker}\n"


@pytest.mark.parametrize("size", range(1, 8))
def test_a_weakened_quorum_needs_exactly_one_fewer_than_a_majority(size: int) -> None:
    weaker = changed("def f(self):\n    return self.is_majority(self.v)\n", "f/weaken-quorum/1")
    scope: dict[str, object] = {}
    exec(weaker, scope)
    for votes in range(size + 1):
        self = type("Node", (), {"cluster_size": size, "v": range(votes)})
        assert scope["f"](self) == (votes + 1 > size // 2)  # type: ignore[operator]


@pytest.mark.parametrize("harmless", ["len(v) > 2", "a // 2 > b", "len(v) == n // 2", "1 < x < 2"])
def test_a_comparison_with_no_quorum_is_no_site(harmless: str) -> None:
    assert sites(f"def f(self):\n    return {harmless}\n", "weaken-quorum") == []


AMONG_LIARS = ("check-first", "count-signatures", "forget-in-key", "quorum-from-n")


@pytest.mark.parametrize(("operator", "before"), [example[:2] for example in EXAMPLES if example[0] in AMONG_LIARS])
def test_what_goes_wrong_among_liars_only_is_not_tried_where_nobody_lies(operator: str, before: str) -> None:
    assert sites(before.replace(", liars=most_liars", ""), operator) == []


@pytest.mark.parametrize(
    "quorum",
    [
        "len(v) >= 2 * self.f + 1",
        "len(v) > 2 * f",
        "len(v) >= self.cluster_size - f",
        "len(v) > (self.cluster_size + most(self.cluster_size)) // 2",
    ],
)
def test_a_majority_is_the_quorum_of_four_and_one_fewer_than_that_of_seven(quorum: str) -> None:
    spec = "PROTOCOL = ProtocolSpec(node=Pbft, liars=most)\n"
    source = f"class Pbft(Node):\n    def f(self, v, f):\n        return {quorum}\n\n{spec}"
    mutant = changed(source, "f/quorum-from-n/1")
    for size, f, weaker in ((4, 1, 3), (7, 2, 4)):
        scope: dict[str, object] = {"Node": object, "ProtocolSpec": dict, "most": lambda size: (size - 1) // 3}
        exec(mutant, scope)
        node = type("Node", (), {"cluster_size": size, "f": f})
        enough = [votes for votes in range(size + 1) if scope["Pbft"].f(node, range(votes), f)]  # type: ignore[attr-defined]
        assert min(enough) == weaker


# -- Protocols made up -----------------------------------------------------------------------------
# Every statement bears a number of its own, so that no two mutants are equal by accident.


@st.composite
def protocols(draw: st.DrawFn) -> str:
    number = itertools.count(1)
    lines = ['"""A protocol."""', ""]
    for owner in draw(st.sampled_from([["Raft(Node)"], ["Raft(Node)", "Other(Raft)"]])):
        lines += ["", f"class {owner}:"]
        for method in draw(st.lists(st.sampled_from("fgh"), min_size=1, max_size=3)):
            lines += [f"    def {method}(self, m):  # {next(number)}"]
            lines += [f"    {line}" for line in draw(blocks(number, depth=2))]
            lines += [""]
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


@st.composite
def blocks(draw: st.DrawFn, number: "itertools.count[int]", depth: int) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["assign", "sync", "send", "call", "check", "count"] + ["branch", "loop"] * (depth > 0)
        kind = draw(st.sampled_from(kinds))
        if draw(st.booleans()):
            lines += [f"# above {next(number)}"]
        lines += draw(statements(kind, number, depth))
    return [f"    {line}" for line in [*lines, f"self.end = {next(number)}"]]


@st.composite
def statements(draw: st.DrawFn, kind: str, number: "itertools.count[int]", depth: int) -> list[str]:
    n = next(number)
    match kind:
        case "sync":
            return [f"self.sync()  # beside {n}"]
        case "send":
            return [f"self.send(m, {n})"]
        case "call":
            return [f"self.{draw(st.sampled_from('fgh'))}({n})"]
        case "check":
            return draw(checks(number))
        case "count":
            counts = ["self.is_majority(self.v{})", "len(self.v{}) <= self.cluster_size // 2"]
            return [f"return {n}, not {draw(st.sampled_from(counts)).format(n)}"]
        case "branch":
            other = draw(st.sampled_from([[], ["else:"]]))
            after = draw(blocks(number, depth - 1)) if other else []
            return [f"if self.a == {n}:", *draw(blocks(number, depth - 1)), *other, *after]
        case "loop":
            return [f"for self.b in {n}, m:", *draw(blocks(number, depth - 1))]
        case _:
            return [f"self.disk.x = {n}"]


@st.composite
def checks(draw: st.DrawFn, number: "itertools.count[int]") -> list[str]:
    """`holds(...)` in any layout. A comment says whose it is."""
    labels = [f"c{next(number)}" for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        return [f"x = not holds({', '.join(f'{c}=m.{c}' for c in labels)})  # beside"]
    lines = ["if holds("]
    for c in labels:
        lines += [f"    # of {c}"] * draw(st.booleans())
        beside = f"  # of {c}" if draw(st.booleans()) else ""
        last = c == labels[-1] and draw(st.booleans())
        lines += [f"    {c}=m.{c},{beside}" if not last else f"    {c}=m.{c}{beside}"]
    return [*lines, "):", "    pass"]


def comments(source: str) -> list[str]:
    return [line.partition("#")[2] for line in source.splitlines() if "#" in line]


def code_lines(source: str) -> list[str]:
    """Without comments and `pass`, which a block that has nothing else needs."""
    lines = [line.partition("#")[0].strip() for line in source.splitlines()]
    return [line for line in lines if line not in ("", "pass")]


def segments(source: str) -> list[str]:
    """The methods, and last the text without them."""
    found = [
        ast.get_source_segment(source, node) or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    ]
    rest = source
    for method in found:
        rest = rest.replace(method, "", 1)
    return [*found, rest]


@settings(deadline=None, max_examples=10)
@given(protocols())
def test_every_mutant_compiles_and_is_unlike_the_original_and_the_others(source: str) -> None:
    found = sites(source)
    results = [mutate(source, site) for site in found]  # `apply` compiles
    assert len({str(site) for site in found}) == len(found)
    assert len({source, *results}) == len(found) + 1


@settings(deadline=None, max_examples=10)
@given(protocols())
def test_a_mutant_differs_from_the_original_in_one_function_only(source: str) -> None:
    for site in sites(source):
        if site.operator != "postpone-sync":  # which may leave the sync to those that call the function
            before, after = segments(source), segments(mutate(source, site))
            assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
            assert before[-1] == after[-1]


@settings(deadline=None, max_examples=10)
@given(protocols())
def test_dropping_one_of_several_checks_is_deleting_its_keyword_and_comments(source: str) -> None:
    wanted: dict[str, str] = {}
    for call in ast.walk(tree := ast.parse(source)):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "holds" and len(call.keywords) > 1:
            for keyword in (keywords := call.keywords):
                call.keywords = [k for k in keywords if k is not keyword]
                wanted[str(keyword.arg)] = ast.dump(tree)
            call.keywords = keywords
    found = {site.which: site for site in sites(source, "drop-check")}
    for which, tree_without in wanted.items():
        mutant = mutate(source, found[which])
        assert ast.dump(ast.parse(mutant)) == tree_without
        assert comments(mutant) == [c for c in comments(source) if c != f" of {which}"]


@settings(deadline=None, max_examples=20)
@given(protocols())
def test_dropping_the_only_check_leaves_no_trace_of_it(source: str) -> None:
    for site in sites(source, "drop-check"):
        mutant = ast.parse(mutate(source, site))
        calls = [node for node in ast.walk(mutant) if isinstance(node, ast.Call)]
        assert all(call.keywords for call in calls if getattr(call.func, "id", "") == "holds")
        assert site.which not in [keyword.arg for call in calls for keyword in call.keywords]


@settings(deadline=None, max_examples=10)
@given(protocols())
def test_moving_a_sync_neither_loses_nor_adds_anything(source: str) -> None:
    for site in (*sites(source, "swap-sync-and-send"), *sites(source, "postpone-sync")):
        before, after = sorted(code_lines(source)), sorted(code_lines(mutate(source, site)))
        more = len(after) - len(before)  # a postponed sync is there for each that calls the function
        assert sorted([*before, *["self.sync()"] * more]) == after
        assert more == 0 or site.operator == "postpone-sync"


@settings(deadline=None, max_examples=10)
@given(protocols(), st.data())
def test_two_mutants_combine_in_either_order_or_not_at_all(source: str, data: st.DataObject) -> None:
    mutants = list(generated("p", source).values())
    assume(len(mutants) >= 2)
    a, b = data.draw(st.permutations(mutants))[:2]
    forth, back = (_combined(source, pair) for pair in ([a, b], [b, a]))
    if isinstance(forth, UserError):
        assert isinstance(back, UserError)
        assert f"{a.id} and {b.id} both change" in str(forth)
    else:
        assert forth == back
        assert forth not in (source, apply(source, a), apply(source, b))


def _combined(source: str, mutants: list[Mutation]) -> str | UserError:
    try:
        return apply_all(source, mutants)
    except UserError as conflict:
        return conflict
