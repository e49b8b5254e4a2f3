"""The long commands, on a small scale."""

from pathlib import Path

import attrs
import pytest

from protosim import kills, operatorkills, soak
from protosim.commands import demo
from protosim.hunt import Found
from protosim.output import Output
from protosim.program import load

from .conftest import MUTANT, Cli


def test_a_soak_covers_the_portfolio_and_every_scheduler(cli: Cli) -> None:
    soaked = cli("soak", "--events", "3000", "--json", "--write")
    assert soaked.code == 0
    assert soaked.data["schema"] == "protosim/soak/1"
    rows = soaked.data["schedulers"]
    assert [row["scheduler"] for row in rows] == ["portfolio", *soak.schedulers()]
    assert all(row["clean"] and row["events"] and row["states"] for row in rows)
    page = Path("docs/soak/raft.md").read_text("utf-8")
    assert "protosim soak raft --events 3000 --seed 1 --write" in page
    assert "| vote_once_per_term |" in page


def test_a_soak_says_which_run_was_not_clean() -> None:
    broken = load("raft", [MUTANT])
    soaked = list(soak.soak(broken, 1, 3000, 1, lambda name, seen: None))
    assert not soaked[0].clean
    assert soak.sentence(soaked[0]).startswith("run 0: ")
    assert "not" not in dict(zip(soak.figures(soaked)[0], soak.figures(soaked)[1], strict=True))["outcome"]
    assert "both lead term" in soak.page(broken, soaked, "A test.") or "voted for" in soak.page(broken, soaked, "")


def test_the_demo_goes_as_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the scores, which have tests of their own."""
    monkeypatch.setattr(demo, "EVENTS", 20_000)
    out = Output("demo")
    for chapter in (demo.unbroken(out), demo.broken(out), demo.caught(tmp_path, out)):
        assert list(chapter) == []
    assert (tmp_path / "counterexample.json").exists()
    assert "<html" in (tmp_path / "counterexample.html").read_text("utf-8")


def test_the_demo_says_what_did_not_go_as_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(*_: object) -> Found:
        return Found(None)

    monkeypatch.setattr(demo, "search", find_nothing)
    assert list(demo.caught(tmp_path, Output("demo"))) == ["the hunt came to inconclusive"]


def test_kills_of_chosen_mutants_are_compared_with_what_is_expected(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("kills", "raft", MUTANT, "--seeds", "2", "--events", "60000", "--json")
    row = kills.measure("raft", [MUTANT], [1], events=60_000, shorten=False)[0]
    monkeypatch.setattr(kills, "expected", lambda protocol: {MUTANT: row})  # pyright: ignore[reportUnknownLambdaType]
    killed = cli(*words)
    assert killed.code == 0
    assert killed.data["findings"] == []
    (measured,) = killed.data["mutants"]
    assert (measured["id"], measured["outcome"], measured["kills"]) == (MUTANT, "killed", 2)
    assert measured["shrunk"][0] <= 10
    survivor = attrs.evolve(row, outcome="survives", because="nobody looks.")
    monkeypatch.setattr(kills, "expected", lambda protocol: {MUTANT: survivor})  # pyright: ignore[reportUnknownLambdaType]
    found = cli(*words)
    assert found.code == 1
    assert "nobody looks." in found.data["findings"][0]


def test_kills_are_the_same_in_two_processes() -> None:
    one, two = (kills.measure("raft", [MUTANT], [1, 2], events=60_000, jobs=jobs)[0] for jobs in (1, 2))
    assert attrs.evolve(one, cpu=0, worst_cpu=0) == attrs.evolve(two, cpu=0, worst_cpu=0)


def test_kills_of_operator_mutants_are_compared_with_their_table(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = ["raft.Raft/keep-volatile/log", "raft.handle_append_entries/loosen-comparison/1"]
    table = operatorkills.Table(killed={ids[0]: "durability"}, survives={ids[1]: "Equal."})
    monkeypatch.setattr(operatorkills, "expected", lambda protocol: table)  # pyright: ignore[reportUnknownLambdaType]
    words = ("kills", "raft", *ids, "--operators", "--events", "3000", "--json")
    killed = cli(*words)
    assert killed.code == 0
    assert [row["outcome"] for row in killed.data["mutants"]] == ["killed", "survives"]
    assert killed.data["operators"] == {"all": 2, "killed": 1, "explained": 1, "unexplained": 0}
    swapped = operatorkills.Table(killed={ids[1]: "durability"}, survives={ids[0]: ""})
    monkeypatch.setattr(operatorkills, "expected", lambda protocol: swapped)  # pyright: ignore[reportUnknownLambdaType]
    found = cli(*words)
    assert found.code == 1
    assert len(found.data["findings"]) == 2
