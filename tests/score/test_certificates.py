"""The certificates of tasks that runs judge: about what stands there now, and made by a certifier that bites.

To measure all takes 24 minutes of CPU: `make certificates` does it. Here one hidden test of one task is tried.
"""

import re
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from protosim import score as scoring
from protosim.errors import UserError
from protosim.score import certify, taskpage
from protosim.score.candidates import Candidate, candidates, idle_go, inert_go, languages, reference_of, short
from protosim.score.certify import Certificate, Verdict
from protosim.score.suite import Task, load_task, tasks
from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli
from tests.score.candidates import shorten

TASK = "paxos_prepare"
IN_GO = [name for name in tasks() if "go" in languages(load_task(name))]


def certificate(name: str) -> Certificate:
    found = certify.read(name)
    assert found is not None, f"{name} has no certificate: {certify.renewal(name)}"
    return found


# -- Those that are committed ------------------------------------------------------------------------


@pytest.mark.parametrize("name", tasks())
def test_a_certificate_is_about_the_task_as_it_stands_and_found_nothing_wrong(name: str) -> None:
    task, found = load_task(name), certificate(name)
    assert certify.stale(found) == []  # or it is about another task: the sentence says what to do
    assert found.faults == []
    assert list(found.languages) == languages(task)
    assert list(found.bugs) == list(task.bugs)
    for measured in found.languages.values():
        assert {"reference", "handed out", "does nothing", *map(" + ".join, short(task))} < set(measured.verdicts)
        assert measured.repeats == 3
        assert measured.seeds[0] == "public"


def test_the_page_is_what_the_certificates_say() -> None:
    assert taskpage.PATH.read_text("utf-8") == taskpage.page(), "protosim task check TASK --write"


def test_a_certificate_of_another_suite_is_stale_and_says_which_command_renews_it() -> None:
    found = certificate(TASK)
    edited = {name: attrs.evolve(measured, of="another") for name, measured in found.languages.items()}
    first, *_ = certify.stale(attrs.evolve(found, languages=edited))
    assert first.endswith("protosim task check paxos_prepare --write")


@pytest.mark.parametrize("what", ["the reference", "a bug"])
def test_what_a_certificate_is_about_changes_with_the_task(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    task = load_task(TASK)
    before = certify.fingerprint(task, "python")
    assert before != certify.fingerprint(task, "go")
    if what == "a bug":
        assert before != certify.fingerprint(attrs.evolve(task, bugs=task.bugs[1:]), "python")
        return
    monkeypatch.setattr(certify, "reference_of", lambda *_: "another reference")
    assert before != certify.fingerprint(task, "python")


# -- The certifier -----------------------------------------------------------------------------------


def test_one_hidden_test_is_certified_and_a_repair_that_passes_for_a_wrong_one_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shorten(monkeypatch, 1, ("kill",), TASK)

    def few(task: Task, language: str) -> Iterator[Candidate]:
        first, *others = [c for c in candidates(task, language) if c.due in ("solved", "refused", "named")][:3]
        yield from (first, *others)
        yield attrs.evolve(first, name="no drift at all", due="named", left=task.bugs[:1])

    monkeypatch.setattr(certify, "load_suite", scoring.load_suite)
    monkeypatch.setattr(certify, "candidates", few)
    said: list[str] = []
    made = certify.certify(short_task(), "python", [], 1, lambda _, says: said.append(says))
    found = made.languages["python"]
    assert list(found.verdicts) == ["reference", "empty", "paxos.round_forgotten_by_restart", "no drift at all"]
    assert len(said) == 6
    assert found.verdicts["paxos.round_forgotten_by_restart"].unfixed == ("paxos.round_forgotten_by_restart",)
    assert found.verdicts["paxos.round_forgotten_by_restart"].broken == ("unique_ballots",)
    assert [fault.partition(":")[0] for fault in found.faults] == ["no drift at all"] * 3
    assert 0 < found.judge_cpu < found.cpu
    assert made.bugs["paxos.promises_are_a_count"].rate < 2 < made.bugs["paxos.refusal_tells_nothing"].rate == 500


def short_task() -> Task:
    return attrs.evolve(load_task(TASK), tests=1)


def test_a_certificate_is_written_and_read_again_as_it_was(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = certificate(TASK)
    monkeypatch.setattr(certify, "path_of", lambda _: tmp_path / "certificate.json")
    assert certify.read(TASK) is None
    certify.keep(found)
    assert certify.read(TASK) == found
    (tmp_path / "certificate.json").write_text('{"task": 3')
    with pytest.raises(UserError, match="task check paxos_prepare --write"):
        certify.read(TASK)


def test_a_machine_that_fails_makes_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise OSError("no process can be started")

    first = next(candidates(load_task(TASK), "python"))
    monkeypatch.setattr(scoring, "_score", failing)
    for suite in (None, scoring.load_suite(TASK, scoring.secret())):
        with pytest.raises(UserError, match=r"reference cannot be judged: .*no process can be started\. Try again"):
            certify.judged("reference", first, load_task(TASK), scoring.secret(), suite)


def test_a_secret_of_the_user_s_own_makes_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROTOSIM_SECRET", "/nowhere")
    with pytest.raises(UserError, match="without PROTOSIM_SECRET"):
        certify.certify(load_task(TASK), "python", [], 1, lambda *_: None)


@pytest.mark.parametrize(("faults", "code"), [((), 0), (("does nothing: it scores 1.0",), 1)])
def test_the_command_says_what_is_wrong_and_exits_accordingly(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, faults: tuple[str, ...], code: int
) -> None:
    found = certificate(TASK)
    those = {name: attrs.evolve(measured, faults=faults) for name, measured in found.languages.items()}
    monkeypatch.setattr(certify, "certify", lambda *_: attrs.evolve(found, languages=those))
    done = cli("task", "check", TASK, "--language", "python")
    assert done.code == code
    assert f"{TASK} in python: 13 candidates" in done.out
    assert all(fault in done.out for fault in faults)


def test_what_cannot_be_certified_is_said_in_a_sentence(cli: Cli) -> None:
    assert "did you mean paxos_prepare?" in cli("task", "check", "paxos_prepar").err
    refused = cli("task", "check", "implement_consistent_broadcast", "--language", "go")
    assert (refused.code, "There is no echo_broadcast in Go yet" in refused.err) == (3, True)


# -- What is due -------------------------------------------------------------------------------------

FIX = load_task("fix_raft_safety")
LEFT = FIX.bugs[:1]
SOLVED = Verdict(stage="scored", score=1.0, pass_rate=1.0, runs=190, report="a", cpu=9, judge_cpu=4, wall=9)
FAILED = attrs.evolve(SOLVED, stage="below_min_pass_rate", score=0.0, pass_rate=0.0)
NAMED = attrs.evolve(FAILED, unfixed=LEFT, broken=("election_safety",))

# (what is due, what is wrong with it, the verdict)
WRONG: list[tuple[str, str, Verdict]] = [
    ("solved", "it is not solved", attrs.evolve(SOLVED, score=0.9)),
    ("solved", "the two judges differ", attrs.evolve(SOLVED, disagreement="the two judges differ")),
    ("solved", "the second verdict is missing: it broke", attrs.evolve(SOLVED, second="it broke")),
    ("solved", "s of CPU for the reference, more than 50", attrs.evolve(SOLVED, judge_cpu=51)),
    ("solved", "the reference takes 226 s on one processor, more than 225", attrs.evolve(SOLVED, cpu=226)),
    ("unmodified", "it is scored, and should be unmodified", attrs.evolve(FAILED, stage="scored")),
    ("inert", "it scores 0.2", attrs.evolve(FAILED, score=0.2, unfixed=FIX.bugs)),
    ("inert", "not all bugs are called unfixed", attrs.evolve(FAILED, unfixed=FIX.bugs[1:])),
    ("idle", "too near to 0.4", attrs.evolve(FAILED, pass_rate=0.31)),
    ("named", "it passes 0.1 of the hidden tests", attrs.evolve(NAMED, pass_rate=0.1)),
    ("named", "not called unfixed: raft.vote_once_per_term", attrs.evolve(NAMED, unfixed=())),
    ("named", "called unfixed, and are not there", attrs.evolve(NAMED, unfixed=FIX.bugs[:2])),
    ("named", "called regressed, and are not there", attrs.evolve(NAMED, regressed=FIX.bugs[1:2])),
    ("named", "it breaks durability, and its entry names", attrs.evolve(NAMED, broken=("durability",))),
]


def faults(due: Any, verdict: Verdict) -> list[str]:
    """Of a task whose reference is judged thrice, and one other candidate."""
    first = Candidate(name="reference", language="python", source="", due="solved")
    other = Candidate(name="other", language="python", source="", due=due, left=LEFT if due == "named" else ())
    thrice = [("reference", first, verdict if due == "solved" else SOLVED)] * 3
    return list(certify._faults(FIX, [*thrice, *([] if due == "solved" else [("other", other, verdict)])]))


@pytest.mark.parametrize(("due", "says", "verdict"), WRONG, ids=[says for _, says, _ in WRONG])
def test_a_verdict_that_is_not_due_is_a_fault(due: str, says: str, verdict: Verdict) -> None:
    assert any(says in fault for fault in faults(due, verdict)), faults(due, verdict)


RIGHT = {
    "solved": attrs.evolve(SOLVED, wall=800),  # a busy machine is nobody's fault
    "unmodified": attrs.evolve(FAILED, stage="unmodified"),
    "inert": attrs.evolve(FAILED, unfixed=FIX.bugs),
    "idle": FAILED,
    "refused": attrs.evolve(FAILED, stage="compile_error"),
    "named": NAMED,
}


@pytest.mark.parametrize(("due", "verdict"), RIGHT.items())
def test_a_verdict_that_is_due_is_none(due: str, verdict: Verdict) -> None:
    assert faults(due, verdict) == []


def test_three_reports_that_differ_are_a_fault() -> None:
    first = Candidate(name="reference", language="python", source="", due="solved")
    those = [("reference", first, attrs.evolve(SOLVED, report=report)) for report in "aab"]
    assert list(certify._faults(FIX, those)) == ["3 scores of the reference gave 2 different reports"]


def test_a_report_differs_by_more_than_the_seconds_that_it_took() -> None:
    report = {"score": 1, "seconds": 3, "verdicts": [{"wall_seconds": 2, "solved": True}]}
    assert certify.untimed(report) == {"score": 1, "verdicts": [{"solved": True}]}


# -- Candidates --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", IN_GO)
def test_a_source_in_go_is_made_idle_and_inert(name: str) -> None:
    source = reference_of(load_task(name), "go")
    assert inert_go(source).count('panic("none")') == 1
    handlers = re.findall(r"^func \(.*\) (?:Receive|Request|Timeout)\(.*$", source, re.MULTILINE)
    empty = re.findall(r"^func \(.*\) (?:Receive|Request|Timeout)\(.*\) \{(?:\}|\n\tif true)", idle_go(source), re.M)
    assert len(handlers) == len(empty) >= 3


def test_a_fix_falls_short_in_every_proper_way_and_a_body_is_wrong_by_itself() -> None:
    assert len(short(FIX)) == 2**5 - 2
    assert short(load_task(TASK)) == [(bug,) for bug in load_task(TASK).bugs]
