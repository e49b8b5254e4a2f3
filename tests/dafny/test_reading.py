"""What is read without the verifier: its logs and messages, the text of answers, the tool's limits."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from protosim import doctor
from protosim.adapters import confined
from protosim.adapters.dafny import allowed, assembly, outcomes, tokens, tool
from protosim.adapters.dafny.declarations import parse
from protosim.adapters.dafny.tokens import Unreadable

XML = """<?xml version="1.0" encoding="utf-8"?>
<boogie version="2.3.0.10506">
  <fileFragment name="answer.dfy" />
  <method name="CheckWellformed$$_2_TinyProof.Pos"><conclusion outcome="correct" /></method>
  <method name="CheckWellformed$$_2_TinyProof.__default.Is__it_q"><conclusion outcome="correct" /></method>
  <method name="Impl$$_2_TinyProof.__default.Is__it_q"><conclusion outcome="errors" /></method>
  <method name="Impl$$_2_TinyProof.__default.B__c_k"><conclusion outcome="timedout" /></method>
  <method name="Impl$$_2_TinyProof.__default.Cut"></method>
</boogie>"""

# As Dafny 4's own writer of this log spells it; 4.x itself was not at hand.
JSON = """{"verificationResults": [
  {"name": "Impl$$TinyProof.__default.StaysWithin", "outcome": "Correct", "vcResults": []},
  {"name": "Impl$$TinyProof.__default.Composes", "outcome": "OutOfResource", "vcResults": []},
  {"name": "TinyProof.Shorter (well-formedness)", "outcome": "Errors", "vcResults": []}
]}"""

OUTPUT = """answer.dfy(13,29): Warning: /!\\ No terms found to trigger on.
answer.dfy(9,2): Error BP5003: A postcondition might not hold on this return path.
answer.dfy(8,14): Related location: This is the postcondition that might not hold.
Execution trace:
    (0,0): anon0
    answer.dfy(22,19): anon3_Else
answer.dfy(23,8): Verification of 'Impl$$_2_TinyProof.__default.Slow' timed out after 30 seconds
answer.dfy(23,101): Timed out on BP5003: A postcondition might not hold on this return path.
required.dfy(4,0): Error: assertion violation

Dafny program verifier finished with 4 verified, 11 errors, 1 time out
"""


def test_the_log_of_dafny_2_says_the_worst_of_each_declaration() -> None:
    assert outcomes.from_xml(XML) == {
        ("TinyProof", "Pos"): "correct",
        ("TinyProof", "Is_it?"): "errors",
        ("TinyProof", "B_c'"): "timedout",
        ("TinyProof", "Cut"): "unfinished",
    }


def test_the_log_of_dafny_4_says_the_same() -> None:
    assert outcomes.from_json(JSON) == {
        ("TinyProof", "StaysWithin"): "correct",
        ("TinyProof", "Composes"): "outofresource",
        ("TinyProof", "Shorter"): "errors",
    }


@pytest.mark.parametrize("text", ["", "<boogie>", "[]", '{"verificationResults": [{}]}', '{"verificationResults": 3}'])
def test_a_log_that_is_cut_off_is_no_verdict(text: str) -> None:
    for read in (outcomes.from_xml, outcomes.from_json):
        with pytest.raises(outcomes.Unreadable):
            read(text)


def test_messages_are_errors_with_their_places() -> None:
    first, second, third = outcomes.messages(OUTPUT)
    assert (first.line, first.column, first.text) == (9, 2, "A postcondition might not hold on this return path.")
    assert [place.line for place in first.related] == [8]
    assert (second.line, second.column) == (23, 101)
    assert (third.file, third.text) == ("required.dfy", "assertion violation")


def test_dafny_4_is_asked_in_its_own_words() -> None:
    command = tool.Dafny("dafny", "4.11.0", None).command(["a.dfy"], 7)
    assert command[:2] == ["dafny", "verify"]
    assert "--resource-limit=7" in command
    assert "/compile:0" in tool.Dafny("dafny", "2.3.0", "z3").command(["a.dfy"], 7)


# -- The text of answers -------------------------------------------------------------------------------


def test_comments_become_blanks_and_nothing_moves() -> None:
    text = "module M { // a { /*\n  lemma /* b /* c */\n } */ L() { } }"
    bare = tokens.without_comments(text)
    assert (len(bare), bare.count("\n")) == (len(text), text.count("\n"))
    assert [token.text for token in tokens.read(bare)] == ["module", "M", "{", "lemma", "L", "(", ")", "{", "}", "}"]
    assert [(token.line, token.column) for token in tokens.read(bare)][-1] == (3, text.split("\n")[2].rindex("}"))


@pytest.mark.parametrize("text", ["/*", "/* /* */", "*/ /*"])
def test_a_comment_that_does_not_end_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable, match="does not end"):
        tokens.without_comments(text)


@pytest.mark.parametrize("character", [*"\0\x0b\x0c\r\u00a0\u2028\u2200", *"#\\`$~^@\"'?&"])
def test_only_plain_characters_are_tokens(character: str) -> None:
    with pytest.raises(Unreadable):
        tokens.read(f"module M {{ {character} }}")


BODIES = [
    ("lemma L()", False),
    ("lemma L() { }", True),
    ("lemma L<T>(t: T) returns (n: nat) ensures n > 0 { n := 1; }", True),
    ("function F(): seq<int> { [] }", True),
    ("function F(): set<int> ensures F() == {}", False),
    ("function F(s: set<int>): int requires |s| == 1 { 0 }", True),
    ("predicate P(n: nat) ensures true { false }", True),
    ("predicate P(n: nat) ensures n == 0", False),
    ("predicate {:opaque} P(n: nat)", False),
    ("lemma L() ensures forall i {:trigger f(i)} :: f(i)", False),
]


@pytest.mark.parametrize(("text", "has_one"), BODIES)
def test_a_declaration_without_a_body_is_told(text: str, has_one: bool) -> None:
    for more in ("", " lemma Next() { }", " ghost predicate Next() { true }"):
        [module] = parse(f"module M {{ {text}{more} }}")
        assert (module.declarations[0].body is not None) == has_one


def test_a_statement_is_restated_and_calls_the_answers_lemma() -> None:
    spec = "module S { predicate P(n: nat) { n > 3 } }"
    skeleton = (
        "module Q { import opened S\n  lemma {:induction n} L<T>(n: nat, m: map<T, nat>) returns (r: nat, s: T) // x\n"
        "    requires P(n) ensures r !in {n} { } }"
    )
    against = assembly.interface(spec, skeleton, ["L"])
    text, owners = assembly.wrapper(against, against.required)
    assert "lemma {:induction n} L<T>(n: nat, m: map<T, nat>) returns (r: nat, s: T)" in text
    assert "requires P(n) ensures r !in {n}\n{ r, s := TheAnswer.L(n, m); }" in text
    assert {text.split("\n")[line - 1].strip() for line, name in owners.items() if name == "L"} >= {
        "{ r, s := TheAnswer.L(n, m); }"
    }


def test_every_attribute_but_the_harmless_is_refused() -> None:
    for name in ("axiom", "extern", "verify", "rlimit", "only", "fuels", "Trigger", "", "1"):
        [offence, *_] = allowed.offences(tokens.read(f"lemma {{:{name} }} L"))
        assert f"{{:{name}}}" in offence.sentence or name in ("", "1")
    assert not allowed.offences(tokens.read("lemma {:induction x} {:fuel F, 2} L() { assert x * 2 == |s| * 3; }"))


# -- The tool's limits ---------------------------------------------------------------------------------

POSIX = pytest.mark.skipif(os.name != "posix", reason="process groups")


@POSIX
def test_what_a_tool_leaves_behind_is_ended_with_it(tmp_path: Path) -> None:
    for script, seconds in (("sleep 60 & echo $!", 30.0), ("sleep 60 & echo $!; sleep 60", 0.5)):
        started = time.monotonic()
        done = confined.run(["sh", "-c", script], {}, [], confined.Limits(seconds=seconds))
        assert time.monotonic() - started < 20
        assert (done.code is None) == (seconds < 1)
        assert _ended(int(done.output))


def _ended(process: int) -> bool:
    """Whether it is gone, or dead and only not yet collected."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@POSIX
def test_a_tool_has_a_folder_of_its_own_that_goes_with_it() -> None:
    script = "pwd; cat in; echo out > out; echo $TMPDIR"
    done = confined.run(["sh", "-c", script], {"in": "text\n"}, ["out", "none"], confined.Limits(seconds=30))
    folder, text, temporary = done.output.split()
    assert (text, folder, dict(done.files)) == ("text", temporary, {"out": "out\n"})
    assert not Path(folder).exists()


@POSIX
def test_a_tool_that_takes_all_memory_or_disk_is_stopped() -> None:
    limits = confined.Limits(seconds=30, memory=256 << 20)
    greedy = confined.run(["python3", "-c", "x = bytearray(1 << 30)"], {}, [], limits)
    assert greedy.code not in (0, None)
    loud = confined.run(["sh", "-c", "yes"], {}, [], limits)
    assert loud.code not in (0, None)


# -- What is required ----------------------------------------------------------------------------------


def test_dafny_is_looked_for_by_the_doctor() -> None:
    advice = {external.name: external.advice for external in doctor.EXTERNALS}
    assert "Debian's dafny" in advice["dafny"]
    assert "z3-solver (4.8.5.0" in advice["z3"]


@pytest.mark.parametrize(("names", "ends"), [("", "1 skipped"), ("dafny,z3", "1 error")])
def test_where_dafny_is_required_its_absence_is_no_reason_to_skip(names: str, ends: str, tmp_path: Path) -> None:
    one = "tests/dafny/test_scores.py::test_the_reference_is_worth_1"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", one],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PATH": str(tmp_path), "PROTOSIM_REQUIRE": names},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ends in ran.stdout, ran.stdout
    assert "Install Debian's dafny" in ran.stdout
