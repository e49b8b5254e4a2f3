"""n > 3f: fewer nodes are refused, more liars need a word and then break what they must not; nor may anybody forge."""

from pathlib import Path

import pytest

from protosim.api import ProtocolSpec
from protosim.cli import main
from protosim.errors import UserError
from protosim.hunt import trials
from protosim.plan import Wish
from protosim.program import Program, from_source, modules, reference, spec_of
from protosim.scenario import Choice, Scenario
from protosim.score.again import played
from protosim.score.suite import SubRun, Trial, load_task, secret, suite_path, tasks
from protosim.transcript import perform
from tests.score.candidates import judge, shorten


def tolerant() -> list[str]:
    """The protocols that four nodes run with one liar."""
    specs = {name: spec_of(name) for name in modules("protocols")}
    return [name for name, spec in specs.items() if isinstance(spec, ProtocolSpec) and spec.liars(4) == 1]


def forging(protocol: str, before: str, after: str) -> Program:
    source = reference(protocol).source
    assert before in source
    return from_source(protocol, source.replace(before, after, 1))


@pytest.mark.parametrize("protocol", tolerant())
@pytest.mark.parametrize("command", ["run", "hunt"])
@pytest.mark.parametrize("liars", ["liars=1", "liars=1:unrestricted=1"])
def test_three_nodes_with_a_liar_are_refused_in_one_sentence(
    protocol: str, command: str, liars: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, protocol, "--nodes", "3", "--faults", f"byzantine_silence:{liars}"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"--nodes: {protocol} needs 4 nodes or more: n ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("protocol", tolerant())
@pytest.mark.parametrize(("nodes", "most"), [(4, "1 liar"), (7, "2 liars")])
def test_one_liar_too_many_is_refused_in_one_sentence_that_says_how_to_have_it(
    protocol: str, nodes: int, most: str, capsys: pytest.CaptureFixture[str]
) -> None:
    f = (nodes - 1) // 3
    assert main(["run", protocol, "--nodes", str(nodes), "--faults", f"byzantine_twins:liars={f + 1}"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{protocol} with {nodes} nodes tolerates {most}, not {f + 1}: add the parameter unrestricted=1" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("liar", ["c1", "n5", "n0", "n"])
def test_who_lies_in_a_story_is_one_of_its_replicas(liar: str) -> None:
    with pytest.raises(UserError, match=f"{liar} is no liar: liars are replicas, and these are n1, n2"):
        perform("tendermint", f"nodes n1 n2 n3 n4 liars={liar}\n\ncrash n1\n----\n")


TIGHT = [  # (protocol, how its liars lie, what breaks)
    ("pbft", ("byzantine_twins",), "agreement_across_views"),
    ("tendermint", ("byzantine_equivocation", "byzantine_flattery"), "agreement"),
    ("bracha_broadcast", ("byzantine_equivocation", "byzantine_flattery"), "ready_by_quorum"),
]


@pytest.mark.parametrize(("protocol", "ways", "broken"), TIGHT)
def test_one_liar_more_than_is_tolerated_breaks_what_one_less_does_not(
    protocol: str, ways: tuple[str, ...], broken: str
) -> None:
    flattery = {"per_mille": 1000}
    for count, found in ((2, broken), (1, "")):
        params = {"liars": count, "unrestricted": 1}
        lies = [Choice(way, params | (flattery if way == "byzantine_flattery" else {})) for way in ways]
        hunt = trials(reference(protocol), Wish(nodes=4, faults=tuple(lies)))
        runs = [next(hunt).run for _ in range(8)]
        hunt.close()
        assert next((run.violation.invariant.name for run in runs if run.violation), "") == found


FORGERS = [
    ("echo_broadcast", "Echo(src, m.number, digest, self.me)", 'Echo(src, m.number, digest, "n2")', "n2"),
    ("pbft", "m = Prepare(p.view, p.number, p.digest, self.me)", 'm = Prepare(p.view, p.number, p.digest, "n2")', "n2"),
    ("pbft", "digest_of(request), self.me)", 'digest_of(request), "n3")', "n3"),
    ("pbft_store", "m.signer, result, self.me)", 'm.signer, result, "n2")', "n2"),
    ("tendermint", "Prevote(self.disk.height, self.disk.round, id, self.me)",
     'Prevote(self.disk.height, self.disk.round, id, "n4")', "n4"),
    ("tendermint", "tuple(self.pending.values())[: self.switches.batch]",
     'tuple(Request(99, each.command, "c1") for each in self.pending.values())', "c1"),
]  # fmt: skip


@pytest.mark.parametrize("lying", [(), (Choice("byzantine_silence", {"first": 1}),)], ids=["no liar", "a liar"])
@pytest.mark.parametrize(("protocol", "before", "after", "victim"), FORGERS)
def test_a_candidate_that_signs_for_another_fails_before_anybody_gets_it_and_both_are_named(
    protocol: str, before: str, after: str, victim: str, lying: tuple[Choice, ...]
) -> None:
    scenario = Scenario(protocol=protocol, seed=3, nodes=4, faults=lying, scheduler=Choice("walk"), events=600)
    trial = Trial(SubRun(test=1, recipe="forger", counter=1, events=600), scenario, ())
    assert played(reference(protocol), trial).ending == "passed"
    outcome = played(forging(protocol, before, after), trial)
    assert outcome.ending == "failure"
    forger = outcome.sentence.partition(" ")[0]
    assert outcome.sentence.startswith(f"{forger} forged a signature of {victim}: {forger} never received ")
    assert forger in {"n1", "n2", "n3", "n4"} - {victim}


AMONG_LIARS = [
    name for name in tasks() if load_task(name).protocol in tolerant() and suite_path(name, secret()).exists()
]


@pytest.mark.parametrize("name", AMONG_LIARS)
def test_a_candidate_that_signs_for_another_scores_nothing_and_both_are_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = load_task(name).protocol
    _, before, after, victim = next(each for each in FORGERS if each[0] == protocol)
    shorten(monkeypatch, 1, ("chaos", "live"), name)
    result = judge(forging(protocol, before, after).source, tmp_path, name)
    assert (result.score, result.solved) == (0, False)
    assert any(f"forged a signature of {victim}" in failure["sentence"] for failure in result.failures)
