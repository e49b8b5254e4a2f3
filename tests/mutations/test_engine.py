"""Mutants are applied to text: what changes, what stays, and what is said when they do not apply."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mutations import DriftKind, Edit, Mutation, Replace, Site, catalogue, find, mutants
from mutations.engine import apply, apply_all, diff, generated, sites
from protosim.errors import UserError

ROOT = Path(__file__).parents[2]
RAFT = (ROOT / "protocols" / "raft.py").read_text(encoding="utf-8")
FIVE = (
    "vote_once_per_term",
    "log_up_to_date",
    "prev_log_matches",
    "vote_response_current",
    "commit_current_term",
)

SOURCE = '''\
"""A voter."""

MAJORITY = 2


class Voter(Node):
    votes: int = 0  # in this term

    def start(self):
        self.votes = 0

    def handle_vote(self, src, m):
        # A vote of an earlier term is void.
        if m.term != self.term:  # stale
            return
        counted = holds(current=m.term == self.term, granted=m.granted)
        if counted:
            self.disk.seen = src  # remember
            self.sync()
            self.votes += 1
        self.send(src, ("ok", self.votes))


class Other(Voter):
    def start(self):
        self.votes = 0
        self.sync()
'''


def mutation(*edits: Edit, id: str = "p.m") -> Mutation:
    return Mutation(id=id, title="It drifts.", kind=DriftKind.WRONG_COMPARISON, edits=edits)


def replaced(source: str, function: str, before: str, after: str, times: int = 1) -> str:
    return apply(source, mutation(Replace(function, before, after, times)))


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    lines = diff(before, after, "p.py").splitlines()[2:]
    gone = [line[1:].strip() for line in lines if line.startswith("-")]
    new = [line[1:].strip() for line in lines if line.startswith("+")]
    return gone, new


def fails(*edits: Edit) -> str:
    with pytest.raises(UserError) as caught:
        apply(SOURCE, mutation(*edits))
    return str(caught.value)


# -- Replace ---------------------------------------------------------------------------------------


def test_an_expression_is_replaced_and_nothing_else() -> None:
    after = replaced(SOURCE, "handle_vote", "m.granted", "not m.granted")
    assert after == SOURCE.replace("m.granted", "not m.granted")


@pytest.mark.parametrize(
    "before",
    [
        'self.send(src, ("ok", self.votes))',
        "self.send(src, ('ok', self.votes))",
        "self.send(\n    src,  # to whom\n    (('ok'), self.votes,),\n)",
        "\n    self.send( src,('ok',self . votes) )\n",
    ],
)
def test_layout_quotes_and_comments_of_the_expected_text_do_not_count(before: str) -> None:
    assert replaced(SOURCE, "handle_vote", before, "pass") == SOURCE.replace(
        'self.send(src, ("ok", self.votes))', "pass"
    )


def test_statements_are_replaced_at_their_indentation_and_keep_the_comment_above() -> None:
    after = replaced(
        SOURCE,
        "handle_vote",
        "if m.term != self.term: return",
        "if m.term < self.term:\n  if m.stale:  # why not\n    return\nself.seen = True",
    )
    assert after == SOURCE.replace(
        """\
        if m.term != self.term:  # stale
            return
""",
        """\
        if m.term < self.term:
            if m.stale:  # why not
                return
        self.seen = True
""",
    )


def test_several_statements_in_a_row_are_one_match() -> None:
    after = replaced(
        SOURCE,
        "handle_vote",
        "self.disk.seen = src; self.sync()".replace("; ", "\n"),
        "# lazily\nself.seen = src",
    )
    assert after == SOURCE.replace(
        "self.disk.seen = src  # remember\n            self.sync()",
        "# lazily\n            self.seen = src",
    )


def test_the_expected_text_may_be_indented_as_a_whole() -> None:
    before = """
        if m.term != self.term:
            return
        counted = holds(current=m.term == self.term, granted=m.granted)
    """
    after = """
        counted = m.granted
    """
    gone, new = changed_lines(SOURCE, replaced(SOURCE, "handle_vote", before, after))
    assert len(gone) == 3
    assert new == ["counted = m.granted"]


def test_an_edit_of_a_function_reaches_the_functions_in_it() -> None:
    source = "def f():\n    def g():\n        return 1\n    return g\n"
    assert replaced(source, "f", "return 1", "return 2") == source.replace("1", "2")
    assert replaced(source, "g", "1", "2") == source.replace("1", "2")


def test_what_deletes_a_whole_block_leaves_pass() -> None:
    after = replaced(SOURCE, "Voter.start", "self.votes = 0", "")
    assert changed_lines(SOURCE, after) == (["self.votes = 0"], ["pass"])
    assert ": int" not in replaced(SOURCE, "Voter", "votes: int = 0", "")


def test_an_edit_reaches_its_function_only() -> None:
    after = replaced(SOURCE, "Other.start", "self.votes = 0", "self.votes = 1")
    head, other = SOURCE.split("class Other")
    assert after == head + "class Other" + other.replace("self.votes = 0", "self.votes = 1")


def test_a_class_and_the_whole_module_are_scopes_too() -> None:
    assert "votes: int = 1  # in this term" in replaced(SOURCE, "Voter", "votes: int = 0", (
        "votes: int = 1  # in this term"
    ))
    assert "MAJORITY = 1" in replaced(SOURCE, "", "MAJORITY = 2", "MAJORITY = 1")


def test_names_that_only_label_something_are_no_expressions() -> None:
    source = "def src(m, src=1):\n    return m.src, f(src=m), src\n"
    assert replaced(source, "src", "src", "x") == source.replace(", src\n", ", x\n")


def test_as_many_as_announced_are_replaced() -> None:
    after = replaced(SOURCE, "handle_vote", "self.votes", "self.v", times=2)
    assert after == SOURCE.replace("self.votes += 1", "self.v += 1").replace(
        '("ok", self.votes)', '("ok", self.v)'
    )


@pytest.mark.parametrize(
    ("source", "before", "after", "wanted"),
    [
        ("x = not a.b", "a.b", "a or b", "x = not (a or b)"),
        ("x = a + b * c", "b", "d + e", "x = a + (d + e) * c"),
        ("x = a and b", "b", "c == d", "x = a and c == d"),
        ("x = f(a)", "a", "b if c else d", "x = f(b if c else d)"),
        ("x = (a or b) and c", "a or b", "d or e", "x = (d or e) and c"),
        ("x = not(a)", "a", "b", "x = not(b)"),
        ("x = a, b", "a", "c, d", "x = (c, d), b"),
        ("x = a if(b)else c", "b", "(d)", "x = a if(d)else c"),
    ],
)
def test_an_expression_gets_parentheses_exactly_where_it_needs_them(
    source: str, before: str, after: str, wanted: str
) -> None:
    assert replaced(source, "", before, after) == wanted


def test_edits_apply_one_after_the_other() -> None:
    optimisation = mutation(
        Replace("Voter.start", "self.votes = 0", "self.votes = 0\nself.dirty = False"),
        Site("handle_vote", "drop-sync", "1"),
        Replace("handle_vote", "self.votes += 1", "self.votes += 1\nself.dirty = True"),
        Replace("handle_vote", "self.dirty = True", "self.dirty = self.votes > 1"),
    )
    gone, new = changed_lines(SOURCE, apply(SOURCE, optimisation))
    assert gone == ["self.sync()"]
    assert new == ["self.dirty = False", "self.dirty = self.votes > 1"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("\n", "\r\n"), ("    ", "\t"), ("    ", "  "), ("class", "\x0c\nclass")],
)
@pytest.mark.parametrize("end", ["\n", "", "\n\n    # the end"])
def test_line_ends_indentation_and_the_end_of_the_file_stay(old: str, new: str, end: str) -> None:
    edit = Replace("handle_vote", "self.votes += 1", "if m.granted:\n    self.votes += 2")
    source = SOURCE.rstrip("\n") + end
    wanted = source.replace("self.votes += 1", "if m.granted:\n                self.votes += 2")
    assert apply(source.replace(old, new), mutation(edit)) == wanted.replace(old, new)


def test_a_source_that_would_not_stay_as_it_is_is_refused() -> None:
    with pytest.raises(UserError, match="form feed"):
        apply(SOURCE.replace("class Other", "\x0cclass Other"), at("handle_vote/drop-sync/1"))


# -- When a mutation does not apply ----------------------------------------------------------------


def test_a_missing_text_is_quoted_with_the_nearest_one_and_the_function() -> None:
    message = fails(Replace("handle_vote", "if m.term > self.term:\n    return", "pass"))
    assert message == (
        "p.m no longer applies: handle_vote should contain `if m.term > self.term: return`; "
        "the nearest text there is `if m.term != self.term: return`."
    )


def test_a_missing_expression_is_quoted_with_the_nearest_one() -> None:
    assert "the nearest text there is `m.term == self.term`" in fails(
        Replace("handle_vote", "m.term >= self.term", "True")
    )
    assert "nothing there is like it" in fails(Replace("handle_vote", "zzzzzzzzzzzz", "True"))


def test_a_text_that_is_there_too_often_is_refused() -> None:
    message = fails(Replace("handle_vote", "self.term", "0"))
    assert "handle_vote should contain `self.term` once, but it is there 2 times" in message
    message = fails(Replace("handle_vote", "self.term", "0", times=3))
    assert "`self.term` 3 times, but it is there 2 times" in message


def test_an_unknown_function_gets_the_nearest_one() -> None:
    message = fails(Replace("handle_votes", "a", "b"))
    assert message.endswith("the source defines no handle_votes; the nearest is Voter.handle_vote.")


def test_a_bare_name_of_two_functions_is_refused() -> None:
    message = fails(Replace("start", "self.votes = 0", ""))
    assert message.endswith("start may be Voter.start or Other.start; name one of them.")


def test_a_missing_site_lists_those_that_there_are() -> None:
    message = fails(Site("handle_vote", "drop-check", "grante"))
    assert message.endswith("handle_vote has no drop-check site grante; it has current, granted.")
    message = fails(Site("handle_vote", "weaken-quorum", "1"))
    assert message.endswith("handle_vote has no weaken-quorum site 1; it has none.")


def test_an_unknown_operator_in_a_site_is_named() -> None:
    assert "no operator drop-checks; the nearest are drop-check" in fails(Site("handle_vote", "drop-checks", "1"))


def test_what_is_not_python_is_said_to_be_so() -> None:
    with pytest.raises(UserError, match=r"^the source is not Python: .*\(line 2\)\.$"):
        apply("x = 1\nif x\n", mutation(Replace("", "x", "y")))
    with pytest.raises(UserError, match=r"^the source is not Python: .*null bytes"):
        apply("x = 1\0\n", mutation(Replace("", "x", "y")))
    assert "`if` is not Python" in fails(Replace("handle_vote", "if", "x"))
    assert "`x =` is not Python" in fails(Replace("handle_vote", "return", "x = "))
    assert "makes a source that is not Python: 'break' outside loop (line 15)" in fails(
        Replace("handle_vote", "return", "break")
    )


def test_an_edit_names_what_it_replaces() -> None:
    with pytest.raises(ValueError, match="before"):
        Replace("handle_vote", "", "pass")
    with pytest.raises(ValueError, match="times"):
        Replace("handle_vote", "pass", "", times=0)


def test_an_edit_that_changes_nothing_is_refused() -> None:
    assert fails(Replace("handle_vote", "self.sync()", "self.sync()")) == "p.m changes nothing."


# -- Several at once -------------------------------------------------------------------------------


def at(site: str) -> Mutation:
    return mutation(Site.parse(site), id=f"p.{site}")


def test_all_checks_of_one_conjunction_can_be_dropped_together() -> None:
    both = [at("handle_vote/drop-check/current"), at("handle_vote/drop-check/granted")]
    left = apply_all(SOURCE, both)
    assert "holds" not in left.partition("def handle_vote")[2].partition("def ")[0]
    assert "counted" not in left


def test_mutants_are_a_set() -> None:
    once = at("handle_vote/drop-sync/1")
    assert apply_all(SOURCE, [once, once]) == apply(SOURCE, once)
    assert apply_all(SOURCE, []) == SOURCE


def test_a_conflict_names_both_mutants_and_the_function() -> None:
    a, b = at("handle_vote/drop-sync/1"), at("handle_vote/swap-sync-and-send/1")
    with pytest.raises(UserError) as caught:
        apply_all(SOURCE, [at("handle_vote/drop-check/granted"), a, b])
    assert str(caught.value).startswith(f"{a.id} and {b.id} both change handle_vote: ")


def test_a_conflict_names_the_functions_that_both_change() -> None:
    sync = Site("handle_vote", "drop-sync", "1")
    a = mutation(Replace("Voter.start", "self.votes = 0", "pass"), sync, id="p.a")
    b = mutation(sync, Site("Other.start", "drop-sync", "1"), id="p.b")
    with pytest.raises(UserError, match=r"^p\.a and p\.b both change handle_vote: each changes what"):
        apply_all(SOURCE, [a, b])


def test_sites_that_are_counted_never_silently_shift() -> None:
    source = "def f(self):\n" + "".join(f"    self.sync()\n    self.x = {i}\n" for i in "123")
    with pytest.raises(UserError, match="both change f: their order matters"):
        apply_all(source, [at("f/drop-sync/1"), at("f/drop-sync/2")])


def test_a_mutant_that_does_not_apply_by_itself_is_no_conflict() -> None:
    with pytest.raises(UserError, match=r"^p\.f/drop-sync/9 no longer applies: the source defines no f"):
        apply_all(SOURCE, [at("handle_vote/drop-sync/1"), at("f/drop-sync/9")])


# -- Diff ------------------------------------------------------------------------------------------


def test_equal_texts_have_no_diff() -> None:
    assert diff(SOURCE, SOURCE, "p.py") == ""


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("end", ["\n", "", "\n\x0c\n", "\r\n"])
def test_git_applies_the_diff(end: str, tmp_path: Path) -> None:
    before = SOURCE.rstrip("\n") + end
    after = apply(before, at("Other.start/drop-sync/1"))
    (tmp_path / "p.py").write_bytes(before.encode())
    patch = diff(before, after, "p.py").encode()
    subprocess.run(["git", "apply", "-"], input=patch, cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "p.py").read_bytes() == after.encode()


SHORT = st.text("ab\n\r\x0c", max_size=20).filter(lambda text: text.count("\n") < 4)


@settings(max_examples=50)
@given(SHORT, SHORT)
def test_a_diff_holds_both_texts(before: str, after: str) -> None:
    lines = diff(before, after, "p").replace("\n\\ No newline at end of file", "\\").split("\n")
    for text, sign in (before, "-"), (after, "+"):
        shown = "".join(f"{line[1:]}\n" for line in lines[3:] if line[:1] in (sign, " "))
        assert before == after or shown.replace("\\\n", "") == text


# -- Names -----------------------------------------------------------------------------------------


def test_a_site_is_spelled_and_read_back() -> None:
    site = Site("Raft.f", "drop-check", "a")
    assert str(site) == "Raft.f/drop-check/a"
    assert Site.parse(str(site)) == site
    for text in ("", "f", "f/drop-check", "f//a", "a/b/c/d"):
        with pytest.raises(UserError, match="names no site"):
            Site.parse(text)


def test_a_site_gives_its_class_only_where_the_bare_name_is_ambiguous() -> None:
    assert [str(site) for site in sites(SOURCE, "drop-sync")] == [
        "handle_vote/drop-sync/1",
        "Other.start/drop-sync/1",
    ]
    bare, dotted = at("handle_vote/drop-sync/1"), at("Voter.handle_vote/drop-sync/1")
    assert apply(SOURCE, bare) == apply(SOURCE, dotted)


def test_names_that_come_again_in_a_function_are_numbered() -> None:
    source = "def f(self):\n    return holds(a=1, b=1) or holds(a=2, b=2)\n"
    assert [site.which for site in sites(source)] == ["a", "b", "a#2", "b#2"]
    assert apply(source, at("f/drop-check/a#2")) == source.replace("a=2, ", "")


def test_a_mutant_of_a_check_is_called_after_the_check() -> None:
    made = generated("p", SOURCE)
    assert made["p.granted"].edits == (Site("handle_vote", "drop-check", "granted"),)
    assert made["p.granted"].aliases == ("handle_vote/drop-check/granted",)
    assert made["p.handle_vote/drop-sync/1"].kind is DriftKind.LOST_DURABILITY
    twice = "def f(self):\n    return holds(a=1)\ndef g(self):\n    return holds(a=1)\n"
    assert list(generated("p", twice)) == ["p.f/drop-check/a", "p.g/drop-check/a"]


@pytest.mark.parametrize(
    "name",
    ["p.granted", "granted", "handle_vote/drop-check/granted", "p.handle_vote/drop-check/granted"],
)
def test_a_mutant_is_found_by_any_of_its_names(name: str) -> None:
    assert find("p", name, SOURCE).id == "p.granted"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("p.grantd", "p.granted"),
        ("handle_vote/drop-sink/1", "p.handle_vote/drop-sync/1"),
    ],
)
def test_an_unknown_mutant_gets_the_nearest_name(name: str, near: str) -> None:
    with pytest.raises(UserError) as caught:
        find("p", name, SOURCE)
    assert re.match(rf"p has no mutant {name}; the nearest (is|are) {near}[., ]", str(caught.value))


def test_an_id_names_its_protocol() -> None:
    assert mutation(Site("f", "drop-sync", "1"), id="raft.x").protocol == "raft"
    for id in ("raft", "raft.", ".x"):
        with pytest.raises(ValueError, match=r"protocol\.name"):
            mutation(Site("f", "drop-sync", "1"), id=id)
    with pytest.raises(ValueError, match="edits"):
        mutation()


# -- The catalogue ---------------------------------------------------------------------------------

ENTRY = """
from mutations import DriftKind, Mutation, Replace
CATALOGUE = (
    Mutation(id="{0}.{1}", title="T.", kind=DriftKind.STALE_DATA_ACCEPTED, aliases=("R4",),
             breaks=("election_safety",), edits=(Replace("handle_vote", "m.granted", "True"),)),
    Mutation(id="{0}.{2}", title="T.", kind=DriftKind.WRONG_COMPARISON, aliases=("{3}",),
             edits=(Replace("handle_vote", "m.term", "0", 2),)),
)
"""


def listed(name: str, content: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    (folder / f"{name}.py").write_text(content.format(name, "granted", "other", "R5"))
    patch.setattr(catalogue, "__path__", [str(folder)])


def test_a_catalogue_is_found_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed("paper1", ENTRY, tmp_path, monkeypatch)
    assert catalogue.names() == ["paper1"]
    assert list(catalogue.load("paper1")) == ["paper1.granted", "paper1.other"]
    assert catalogue.load("paper2") == {}


def test_a_catalogued_mutant_comes_before_a_generated_one_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed("paper3", ENTRY, tmp_path, monkeypatch)
    for name in ("R4", "granted", "paper3.granted", "handle_vote/drop-check/granted"):
        assert find("paper3", name, SOURCE).breaks == ("election_safety",)
    known = mutants("paper3", SOURCE)
    assert list(known)[:2] == ["paper3.granted", "paper3.other"]
    assert "paper3.current" in known
    assert set(known) == {"paper3.other", *generated("paper3", SOURCE)}


def test_a_catalogue_uses_no_name_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed("paper4", ENTRY.replace("{3}", "R4"), tmp_path, monkeypatch)
    with pytest.raises(ValueError, match="R4 twice"):
        catalogue.load("paper4")


def test_the_catalogue_is_read_without_the_parser() -> None:
    script = "import sys, mutations; mutations.catalogue.load('raft'); print('libcst' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout == "False\n", ran.stderr


# -- Raft ------------------------------------------------------------------------------------------


def test_raft_has_the_five_named_checks_in_five_functions() -> None:
    chosen = [find("raft", f"raft.{name}", RAFT) for name in FIVE]
    places = [site.function for site in sites(RAFT, "drop-check") if site.which in FIVE]
    assert len(set(places)) == 5
    broken = apply_all(RAFT, chosen)
    assert broken == apply_all(RAFT, chosen[::-1])
    assert [str(s) for s in sites(broken, "drop-check")] == [
        str(s) for s in sites(RAFT, "drop-check") if s.which not in FIVE
    ]


