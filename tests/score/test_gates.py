"""Gates compare what code does; they never run it."""

import pytest

from protosim.score import gates
from protosim.score.gates import Refusal, behaviour, check, schema_changes
from tests.score.candidates import BUGS, REFERENCE, drifted, with_bugs

SOURCE = '''
class A:
    """Says something."""

    def f(self, x: int, y: int = 2) -> int:
        """Adds."""
        total = x + y
        try:
            seen = {"a", "b"}
            return [total for part in seen if part in ("a", "b")][0]
        except ValueError:
            pass
        return lambda other: other + total
'''

COSMETIC = {
    "a comment": ("total = x + y", "total = x + y  # the sum"),
    "layout": ("total = x + y", "total = (\n            x\n            + y\n        )"),
    "quotes": ('"a"', "'a'"),
    "a docstring": ('"""Adds."""', '"""Subtracts."""'),
    "no docstring": ('"""Says something."""\n', "\n"),
    "a local's name": ("total", "sum_of_both"),
    "a parameter's name": ("other", "number"),
    "annotations": ("x: int, y: int = 2) -> int", "x, y=2)"),
    "a blank line": ("total = x", "\n\n        total = x"),
    "a pass": ("total = x + y", "pass\n        total = x + y"),
}

REAL = {
    "a constant": ("y: int = 2", "y: int = 3"),
    "a constant's type": ("y: int = 2", "y: int = 2.0"),
    "a string": ('("a", "b")', '("a", "c")'),
    "an operator": ("x + y", "x - y"),
    "a swap": ("x + y", "y + x"),
    "an exception": ("ValueError", "TypeError"),
    "a default": ("y: int = 2", "y: int"),
    "a method's name": ("def f", "def g"),
    "what a closure reads": ("other + total", "other + x"),
}


@pytest.mark.parametrize(("before", "after"), COSMETIC.values(), ids=list(COSMETIC))
def test_a_cosmetic_edit_changes_no_behaviour(before: str, after: str) -> None:
    assert before in SOURCE
    assert behaviour(SOURCE.replace(before, after)) == behaviour(SOURCE)


@pytest.mark.parametrize(("before", "after"), REAL.values(), ids=list(REAL))
def test_a_real_edit_changes_behaviour(before: str, after: str) -> None:
    assert before in SOURCE
    assert behaviour(SOURCE.replace(before, after)) != behaviour(SOURCE)


def test_the_handed_out_source_is_refused_and_every_repair_of_one_bug_is_not() -> None:
    refusal = check("# Repaired!\n" + drifted(), drifted(), REFERENCE)
    assert refusal is not None
    assert refusal.stage == "unmodified"
    for bug in BUGS:
        assert check(with_bugs(*[b for b in BUGS if b != bug]), drifted(), REFERENCE) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    term: Term\n    granted: bool\n", "    term: Term\n    granted: bool\n    why: int\n"),
        ("class Vote:", "class Ballot:"),
        ("@message\nclass Vote:", "class Vote:"),
        ("    term: Term = 0\n", "    term: Term = 1\n"),
    ],
)
def test_messages_and_disks_belong_to_the_task(before: str, after: str) -> None:
    assert REFERENCE.count(before) == 1
    [sentence, *_] = schema_changes(REFERENCE.replace(before, after), REFERENCE)
    assert "Vote" in sentence or "RaftDisk" in sentence


def test_other_classes_may_come_and_go() -> None:
    assert not list(schema_changes(REFERENCE + "\n\nclass Mine:\n    x: int\n", REFERENCE))


@pytest.mark.parametrize(
    ("raw", "stage"), [(b"\xff\xfe", "tampered"), (b"", "compile_error"), (b"\n", "compile_error")]
)
def test_what_is_no_text_is_refused(raw: bytes, stage: str) -> None:
    refusal = gates.read(raw)
    assert isinstance(refusal, Refusal)
    assert refusal.stage == stage


@pytest.mark.parametrize("source", ["def f(:", "x = '\0'", "x = " + "(" * 5000 + ")" * 5000])
def test_what_does_not_compile_is_a_compile_error(source: str) -> None:
    refusal = check(source, drifted(), REFERENCE)
    assert refusal is not None
    assert refusal.stage == "compile_error"
