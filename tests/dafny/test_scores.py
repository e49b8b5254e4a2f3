"""What an answer is worth: whole proofs, parts of proofs, and files that are none."""

import os
import shutil
from pathlib import Path

import pytest

from protosim.adapters import confined
from protosim.adapters.dafny import tool
from protosim.adapters.dafny.assembly import Answer
from protosim.errors import UserError
from protosim.proofs import judge as judging
from protosim.proofs import problem as problems
from protosim.score import proof, rescore, score
from tests.cli.conftest import Cli
from tests.dafny.conftest import TINY, Judge

SKELETON = (TINY / "skeleton.dfy").read_text("utf-8")
HARD = """
  lemma Hard(a: int, b: int, c: int)
    requires a > 2 && b > 2 && c > 2
    ensures a * a * a + b * b * b != c * c * c
  { }
"""
BREAKS_DAFNY = """
  function Odd(n: nat): int ensures false { (x => var g := Odd; g(x))(n) }
"""


def states(result: proof.ProofResult) -> dict[str, str]:
    return {lemma.name: lemma.state for lemma in result.lemmas}


def line_of(text: str, words: str) -> int:
    """The last one in which they stand."""
    return text[: text.rindex(words) + len(words)].rstrip().count("\n") + 1


def with_more(text: str, more: str) -> str:
    return f"{text.rstrip()[:-1]}{more}}}\n"


def read(text: str) -> Answer:
    answer = judging.read(problems.load(str(TINY)), text)
    assert isinstance(answer, Answer)
    return answer


# -- Proofs --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("dafny")
def test_the_reference_is_worth_1(judge: Judge, reference: str) -> None:
    result = judge(reference)
    assert (result.stage, result.score, result.solved, result.pass_rate) == ("scored", 1, True, 1)
    assert states(result) == {"StaysWithin": "proved", "Composes": "proved"}
    again = result.to_json()
    assert again["progress"]["lemmas"]["Composes"] == {"state": "proved", "sentence": "", "line": result.lemmas[1].line}
    assert rescore(str(TINY), {**again, "task": str(TINY)}).score == 1


@pytest.mark.parametrize("text", [SKELETON, "/* Proved. */" + SKELETON.replace("\n", "\n\n"), "\ufeff" + SKELETON])
def test_what_is_handed_out_is_worth_nothing_even_with_a_cosmetic_edit(text: str, judge: Judge) -> None:
    assert (judge(text).stage, judge(text).score) == ("unmodified", 0)


@pytest.mark.usefixtures("dafny")
def test_an_edit_that_proves_nothing_is_worth_nothing(judge: Judge) -> None:
    result = judge(with_more(SKELETON, "  lemma True() { }\n"))
    assert (result.stage, result.score) == ("scored", 0)
    assert states(result) == {"StaysWithin": "failed", "Composes": "failed"}


@pytest.mark.usefixtures("dafny")
def test_a_part_of_the_proof_is_worth_a_part_and_the_verifier_says_what_is_missing(
    judge: Judge, reference: str
) -> None:
    result = judge(reference.replace("WithinAfter(c, steps + more);", ""))
    assert (result.score, result.solved) == (0.3, False)
    lemma, other = result.lemmas
    promised = line_of(reference, "    ensures Within(RaisedOften(c, steps + more))")
    says = f"A postcondition might not hold on this return path (line {promised})"
    assert (lemma.state, lemma.sentence, lemma.line) == ("failed", says, promised + 1)
    assert other.state == "proved"


@pytest.mark.usefixtures("dafny")
def test_a_lemma_that_was_left_out_is_missing(judge: Judge, reference: str) -> None:
    result = judge(reference.replace("lemma Composes", "lemma Other").replace("Composes(", "Other("))
    assert (result.stage, result.score) == ("scored", 0.3)
    assert states(result) == {"StaysWithin": "proved", "Composes": "missing"}


@pytest.mark.usefixtures("dafny")
def test_all_lemmas_are_not_enough_where_something_else_in_the_file_is_wrong(judge: Judge, reference: str) -> None:
    result = judge(with_more(reference, "  lemma Wrong(n: nat) ensures n > 0 { }\n"))
    assert (result.score, result.solved, result.pass_rate) == (0.6, False, 1)
    assert "Wrong is not proved" in result.sentence


def test_what_the_verifier_gives_up_on_is_timed_out_and_not_called_wrong(dafny: tool.Dafny, reference: str) -> None:
    text = with_more(reference.replace("if |more| == 0 {", "Hard(5, 6, |more| + 3);\n    if |more| == 0 {"), HARD)
    judgement = judging.verify(problems.load(str(TINY)), read(text), dafny, resources=2_000_000)
    assert judgement.stage == "timeout"
    assert "1 of 2" in judgement.sentence
    [_, lemma] = judgement.lemmas
    assert lemma.state == "timed out"
    assert lemma.sentence.startswith("it rests on Hard, which is not proved: the verifier gave up")
    assert "does not say that it is wrong" in lemma.sentence


def test_a_verifier_that_takes_too_long_is_stopped(dafny: tool.Dafny, reference: str) -> None:
    limits = confined.Limits(seconds=0.3)
    judgement = judging.verify(problems.load(str(TINY)), read(reference), dafny, limits=limits)
    assert judgement.stage == "timeout"
    assert {lemma.state for lemma in judgement.lemmas} == {"timed out"}


# -- Files that are no proofs --------------------------------------------------------------------------

NONE = {
    "empty": ("", "compile_error", "the candidate is empty"),
    "comments": ("// So it is proved.\n" * 10_000, "compile_error", "there is nothing in it"),
    "another module": ("module Other { }", "compile_error", "there is no module TinyProof: it has Other"),
    "no module": ("lemma StaysWithin() { }", "compile_error", "`lemma` stands where only `module NAME {`"),
    "not closed": (SKELETON.rstrip()[:-1], "compile_error", "is never closed"),
    "closed twice": (SKELETON + "}", "compile_error", "stands where only"),
    "closed wrongly": (SKELETON.replace("c: Counter,", "c: Counter},"), "compile_error", "} closes nothing"),
    "a comment without an end": (SKELETON + "/*", "compile_error", "a comment begins and does not end"),
    "NUL bytes": ("\0" * 1000, "compile_error", "U+0000"),
    "NUL bytes within": (SKELETON.replace("{ }", "{ \0 }"), "compile_error", "U+0000"),
    "not UTF-8": (b"\xff\xfe\x00", "tampered", "not UTF-8 text"),
    "another language": ("def prove():\n    return True\n", "compile_error", "`def` stands where only"),
    "deep": (SKELETON.replace("{ }", "{ assert " + "(" * 50_000), "compile_error", "closes nothing"),
}


@pytest.mark.parametrize("name", NONE)
def test_a_file_that_is_no_answer_is_told_so_in_one_line(name: str, judge: Judge) -> None:
    text, stage, words = NONE[name]
    result = judge(text)
    assert (result.stage, result.score, result.status) == (stage, 0, "violation")
    assert words in result.sentence
    assert "\n" not in result.sentence


def test_a_file_of_a_hundred_megabytes_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "large.dfy"
    with file.open("wb") as sparse:
        sparse.truncate(100 << 20)
    result = score(str(TINY), file)
    assert (result.stage, result.score) == ("tampered", 0)
    assert "are the most" in result.sentence


def test_a_file_that_is_not_there_is_no_score(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        score(str(TINY), tmp_path / "gone.dfy")
    with pytest.raises(UserError, match="is a folder"):
        score(str(TINY), tmp_path)


@pytest.mark.usefixtures("dafny")
@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (("if |more| == 0 {", "if |more| = 0 {"), "lbrace expected"),
        (("some, Shorter(more));\n", "some, Longer(more));\n"), "unresolved identifier: Longer"),
    ],
)
def test_a_mistake_is_quoted_with_its_line(edit: tuple[str, str], words: str, judge: Judge, reference: str) -> None:
    result = judge(reference.replace(*edit))
    assert (result.stage, result.score) == ("compile_error", 0)
    assert result.sentence == f"line {line_of(reference, edit[0])}: {words}"


@pytest.mark.usefixtures("dafny")
def test_ten_thousand_lines_of_comments_change_nothing_but_the_lines(judge: Judge, reference: str) -> None:
    result = judge(("// \u201equote\u201c \U0001f600 { /* assume\n" * 10_000 + reference).replace("\n", "\r\n"))
    assert (result.score, result.lemmas[0].line) == (1, 10_004)


# -- A machine that cannot tell ------------------------------------------------------------------------


def test_without_dafny_there_is_no_score(
    judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = judge(reference)
    assert (result.stage, result.score, result.status) == ("infra_error", None, "error")
    assert result.sentence.startswith("Dafny is needed and was not found. Install Debian's dafny")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
def test_a_dafny_that_is_neither_2_nor_4_is_not_trusted(
    judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "dafny").write_text("#!/bin/sh\necho Dafny 3.1.0\n")
    (tmp_path / "dafny").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "only 2.x and 4.x are understood" in judge(reference).sentence


def test_a_dafny_whose_prover_is_gone_gives_no_score(
    dafny: tool.Dafny, judge: Judge, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "find", lambda: tool.Dafny(dafny.executable, dafny.version, "/nowhere/z3"))
    result = judge(reference)
    assert (result.stage, result.score) == ("infra_error", None)
    assert "Cannot find prover" in result.sentence


def test_an_answer_that_breaks_the_verifier_is_no_reason_for_no_score(
    dafny: tool.Dafny, judge: Judge, reference: str
) -> None:
    if dafny.major > 2:
        pytest.skip("what breaks Dafny 2.3")
    result = judge(with_more(reference, BREAKS_DAFNY))
    assert (result.stage, result.score) == ("compile_error", 0)
    assert "breaks down over it" in result.sentence


# -- The command ---------------------------------------------------------------------------------------


def test_the_command_hands_out_and_says_what_is_missing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert cli("score", TINY, "--handout", "answer.dfy").code == 0
    assert Path("answer.dfy").read_text("utf-8") == SKELETON
    unmodified = cli("score", TINY, "answer.dfy")
    assert (unmodified.code, unmodified.err) == (1, "")
    assert "not solved, score 0 (unmodified" in unmodified.out
    assert "not isolated" not in unmodified.out
    Path("answer.dfy").write_text(SKELETON.replace("{ }", "{ assume false; }", 1), "utf-8")
    cheated = cli("score", TINY, "answer.dfy")
    assert cheated.code == 1
    assert "StaysWithin  cheated    line 10: `assume` takes for granted what is to be proved" in cheated.out
    assert cli("score", TINY, "answer.dfy", "--json").data["progress"]["lemmas"]["Composes"]["state"] == "unchecked"
    Path("answer.dfy").write_text(SKELETON.replace("{ }", "{ assert true; }"), "utf-8")
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    missing = cli("score", TINY, "answer.dfy")
    assert (missing.code, missing.out.count("\n")) == (3, 0)
    assert missing.err.startswith("No score: infra_error: Dafny is needed and was not found. Install Debian's dafny")
    assert missing.err.count("\n") == 1


def test_proofs_are_listed_among_the_tasks(cli: Cli) -> None:
    assert set(problems.names()) <= {row["name"] for row in cli("list", "tasks", "--json").data["tasks"]}


def test_a_task_that_there_is_not_is_told_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean verify_log_compaction"):
        score("verify_log_compation", tmp_path)


def test_a_saved_result_of_another_problem_is_not_scored_again(judge: Judge) -> None:
    saved = judge("").to_json()
    with pytest.raises(UserError, match="no saved result"):
        rescore(str(TINY), {**saved, "task": "other"})


def test_a_damaged_problem_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    shutil.copytree(TINY, tmp_path / "tiny")
    file = tmp_path / "tiny" / "problem.toml"
    whole = file.read_text("utf-8")
    for damaged, words in (
        (whole.replace('"Composes"]', '"Compose"]'), "the required lemma Compose is not in the skeleton"),
        (whole.replace("title", "titel", 1), "titel"),
        (whole.replace("[", "", 1), "is damaged"),
    ):
        file.write_text(damaged, "utf-8")
        with pytest.raises(UserError, match=words):
            score(str(tmp_path / "tiny"), TINY / "reference.dfy")
