"""Liars: that they lie, how far they can go, and that nobody who watches believes them."""

import importlib
from typing import Any

import attrs
import pytest

from faults._lies import varied
from protosim.api import ModelSpec, Observer, applied, requested, restarted, sent, stored
from protosim.byzantine import Liars, Memory, Notary, Tactic
from protosim.counterexample import describe, load, save
from protosim.errors import UserError
from protosim.expression import read
from protosim.keys import Draw
from protosim.program import Program, from_source, modules, reference, spec_of
from protosim.run import LocalHost, make_world, run_to_end, simulate
from protosim.scenario import Choice, Scenario, Step
from protosim.script import ScriptedWorld
from protosim.shrink import record, shrink
from protosim.swarm import draw_lies
from protosim.transcript import perform
from protosim.values import Value, digest_of, from_wire, signatures, to_wire
from protosim.world import World

ECHO = reference("echo_broadcast")
RAFT = reference("raft")
LIES = [name for name in modules("faults") if hasattr(importlib.import_module(f"faults.{name}"), "LIES")]
NOBODY_TO_LIE_TO = "byzantine_false_replies"  # echo_broadcast has no clients that are nodes
PACE = 200_000


def scenario(*names: str, seed: int = 1, **params: int) -> Scenario:
    drawn = [importlib.import_module(f"faults.{name}").draw(Draw(seed), PACE) for name in names]
    faults = tuple(Choice(name, {**own, **params}) for name, own in zip(names, drawn, strict=True))
    return Scenario(protocol="echo_broadcast", seed=seed, nodes=4, faults=faults, scheduler=Choice("walk"))


def begin(wanted: Scenario, program: Program = ECHO, **more: Any) -> tuple[World, LocalHost]:
    return make_world(program, wanted, **more), LocalHost(program, wanted)


def mutant(before: str, after: str) -> Program:
    assert before in ECHO.source
    return from_source("echo_broadcast", ECHO.source.replace(before, after))


def tolerates_liars(protocol: str) -> bool:
    spec = spec_of(protocol)
    return not isinstance(spec, ModelSpec) and spec.liars(4) > 0


# -- They lie ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in LIES if name != NOBODY_TO_LIE_TO])
def test_a_liar_lies_in_its_way_and_correct_nodes_stay_right(name: str) -> None:
    runs = [simulate(ECHO, scenario(name, seed=seed)) for seed in range(6)]
    assert [(run.violation, run.failure) for run in runs] == [(None, "")] * 6
    assert sum(run.faults_fired.get(name, 0) for run in runs) > 20


def test_false_replies_are_told_to_clients_that_are_nodes() -> None:
    wanted = attrs.evolve(scenario(NOBODY_TO_LIE_TO), protocol="tendermint")
    run = simulate(reference("tendermint"), wanted)
    assert (run.violation, run.failure) == (None, "")
    assert run.faults_fired[NOBODY_TO_LIE_TO] > 5


@pytest.mark.parametrize("name", LIES)
def test_a_copy_of_a_run_with_liars_goes_on_alike(name: str) -> None:
    world, host = begin(scenario(name))
    for _ in range(400):
        assert world.advance()
        effects, refused = host.step(world)
        world.resume(effects, refused)
        effects.clear()
        refused.clear()
    twin, nodes = world.copy(), host.copy()
    run_to_end(world, host)
    run_to_end(twin, nodes)
    assert world.digest() == twin.digest()


def test_liars_go_on_lying_when_the_faults_have_ended() -> None:
    flattery = scenario("byzantine_flattery", per_mille=1000)
    healed = attrs.evolve(flattery, scheduler=Choice("fair"), heal=1, horizon=2_000_000, events=9_000)
    run = simulate(ECHO, healed)
    assert (run.violation, run.simulated_us) == (None, 2_000_000)
    assert run.faults_fired["byzantine_flattery"] > 50


def test_twins_are_two_nodes_of_one_name_and_each_speaks_with_some() -> None:
    world, host = begin(scenario("byzantine_twins", lasts=10**9))
    assert world.byzantine is not None
    assert world.ids == ("n1", "n2", "n3", "n4", *world.liars)
    run_to_end(world, host)
    assert {place for place, node in host.nodes.items() if node.me == world.liars[0]} == world.byzantine.places


def test_most_runs_of_a_protocol_that_tolerates_liars_have_some_and_each_way_is_drawn() -> None:
    drawn = [draw_lies(Draw(seed), PACE) for seed in range(400)]
    assert 280 <= sum(map(bool, drawn)) <= 360
    assert {choice.name for choices in drawn for choice in choices} == set(LIES)


# -- How far they can go -----------------------------------------------------------------------------


def is_readable(m: Any, program: Program) -> bool:
    """Whether a worker can read the message. Raises ValueError, with what is wrong with it."""
    return bool(from_wire(to_wire(m), program.classes) == m)


def test_a_pair_and_a_triple_in_what_a_liar_changes_stay_a_pair_and_a_triple() -> None:
    program = reference("pbft_store")
    state = program.classes["State"]((("x", 1), ("y", 2)), (("c1", 3, None), ("c2", 4, 5)))
    names = ("n1", "n2", "n3", "n4")
    others = [varied(state, bits, Memory(), names) for bits in range(4000)]
    assert all(is_readable(other, program) for other in others)
    assert {len(other.registers) for other in others} == {1, 2, 3}
    assert {key for other in others for key, _ in other.registers} == {"x", "y", "x?", "y?"}


@pytest.mark.parametrize("protocol", [name for name in modules("protocols") if tolerates_liars(name)])
def test_whatever_a_liar_says_a_worker_can_read(protocol: str) -> None:
    program, read = reference(protocol), 0
    for seed in range(3):
        wanted = scenario(*[name for name in LIES if name != "byzantine_silence"], seed=seed, per_mille=700)
        world, host = begin(attrs.evolve(wanted, protocol=protocol, events=600), program)
        while world.advance():
            effects, refused = host.step(world)
            if world.ids[world.at] in world.liars:
                assert world.byzantine is not None
                said = [e[2] for e in world.byzantine.copy().twist(world, world.at, effects) if e[0] == 0]
                assert all(is_readable(m, program) for m in said)
                read += len(said)
            world.resume(effects, refused)
            effects.clear()
            refused.clear()
    assert read > 300


def test_more_liars_than_a_protocol_tolerates_need_a_word_that_says_so() -> None:
    with pytest.raises(UserError, match=r"echo_broadcast with 4 nodes tolerates 1 liar, not 2: .*unrestricted=1"):
        simulate(ECHO, scenario("byzantine_silence", liars=2))
    with pytest.raises(UserError, match="raft with 3 nodes tolerates no liars, not 1"):
        simulate(RAFT, attrs.evolve(scenario("byzantine_silence"), protocol="raft", nodes=3))
    assert len(begin(scenario("byzantine_silence", liars=2, unrestricted=1))[0].liars) == 2


def test_the_first_node_lies_if_it_is_wanted_to() -> None:
    assert {begin(scenario("byzantine_silence", seed=seed, first=1))[0].liars for seed in range(9)} == {("n1",)}
    assert len({begin(scenario("byzantine_silence", seed=seed, first=0))[0].liars for seed in range(9)}) > 2


def test_no_signature_of_a_correct_node_reaches_another_unless_it_was_made() -> None:
    checked = 0
    for seed in range(4):
        world, host = begin(scenario("byzantine_garbling", "byzantine_replay", "byzantine_twins", seed=seed))
        made: set[bytes] = set()
        while world.advance():
            if world.pending[0] == 0 and world.ids[world.at] not in world.liars:
                for each in signatures(world.pending[2]):
                    checked += 1
                    assert not each.valid or each.signer in world.liars or each.encode() in made
            effects, refused = host.step(world)
            if world.ids[world.at] not in world.liars:
                own = [each for effect in effects if effect[0] == 0 for each in signatures(effect[2])]
                made |= {each.encode() for each in own if each.signer == world.ids[world.at]}
            world.resume(effects, refused)
            effects.clear()
            refused.clear()
    assert checked > 500


def test_a_correct_node_that_signs_for_another_is_refused_and_both_are_named() -> None:
    forger = mutant("Echo(src, m.number, digest, self.me)", 'Echo(src, m.number, digest, "n2")')
    run = simulate(forger, scenario())
    assert "forged a signature of n2" in run.failure
    assert run.failure.startswith(("n1", "n3", "n4"))


def test_what_a_liar_makes_up_in_the_name_of_others_does_not_verify() -> None:
    classes = ECHO.classes
    echo = classes["Echo"]("n1", 1, digest_of(7), "n2")
    final = classes["Final"](1, 7, (echo,))
    notary = Notary()
    assert notary.sealed(final, ("n1",)).echoes[0].valid is False
    notary.sends("n2", echo)
    assert notary.sealed(final, ("n1",)) is final
    own = classes["Final"](1, 7, (classes["Echo"]("n1", 1, digest_of(7), "n1"),))
    assert Notary().sealed(own, ("n1",)) is own


def test_nobody_gets_to_see_a_message_for_which_it_has_no_handler() -> None:
    world, _ = begin(scenario("byzantine_silence", per_mille=0))
    assert world.byzantine is not None
    place = next(iter(world.byzantine.twins), world.index[world.liars[0]])
    part = ECHO.classes["Sent"](1, 1)
    world.at, world.pending = place, (1, "repeat")
    assert world.byzantine.twist(world, place, [(0, "n2", part)]) == []


def test_liars_whose_own_code_fails_harm_nobody() -> None:
    once = "        if m.number not in self.finals:\n"
    failing = mutant(once, f"        if self.me == 'n1':\n            1 / 0\n{once}")
    assert "ZeroDivisionError" in simulate(failing, scenario()).failure
    assert simulate(failing, scenario("byzantine_silence", per_mille=0, first=1)).failure == ""


# -- Nobody believes them ----------------------------------------------------------------------------


class Told(Observer):
    """Everybody about whom an observer hears."""

    heard: set[str]

    def begin(self) -> None:
        self.heard = set()

    @restarted
    def note_start(self, node: str) -> None:
        self.heard.add(node)

    @applied
    def note_apply(self, node: str, *_: Any) -> None:
        self.heard.add(node)

    @requested
    def note_request(self, node: str, *_: Any) -> None:
        self.heard.add(node)

    @stored("echoed")
    def note_echo(self, node: str, *_: Any) -> None:
        self.heard.add(node)

    @sent(*[ECHO.classes[name] for name in ("Send", "Echo", "Final")])
    def note_message(self, node: str, *_: Any) -> None:
        self.heard.add(node)


def test_observers_are_told_nothing_of_liars() -> None:
    world, host = begin(scenario("byzantine_twins"), observers=[Told])
    run_to_end(world, host)
    (told,) = world.observers
    assert isinstance(told, Told)
    assert told.heard == set(world.replicas) - set(world.liars)


# -- Stories -----------------------------------------------------------------------------------------

GULLIBLE = mutant("(self.cluster_size + tolerated(self.cluster_size)) // 2", "(self.cluster_size - 1) // 2")


def caught() -> Scenario:
    """A run in which a liar splits the others."""
    for seed in range(200):
        wanted = scenario("byzantine_twins", seed=seed, lasts=2_000_000)
        if simulate(GULLIBLE, wanted).violation is not None:
            return wanted
    raise AssertionError("a certificate of two of four is caught sooner")


def test_a_story_with_a_liar_has_its_messages_as_steps_and_breaks_the_same_invariant() -> None:
    wanted = caught()
    steps = record(GULLIBLE, wanted)
    liar = begin(wanted)[0].liars[0]
    assert {step.src for step in steps if step.do == "lie"} == {liar}
    assert not [step for step in steps if step.node == liar]
    story = attrs.evolve(wanted, scheduler=Choice("replay"), faults=(), script=steps)
    broken, again = simulate(GULLIBLE, wanted).violation, simulate(GULLIBLE, story).violation
    assert broken is not None
    assert again is not None
    assert (broken.invariant.name, broken.sentence) == (again.invariant.name, again.sentence)
    assert begin(story)[0].liars == (liar,)


def test_a_story_with_a_liar_is_short_saved_and_replayed(tmp_path: Any) -> None:
    wanted = caught()
    broken = simulate(GULLIBLE, wanted).violation
    assert broken is not None
    shrunk = shrink(GULLIBLE, wanted, broken.invariant.name)
    assert shrunk is not None
    assert len(shrunk.scenario.script or ()) <= 6
    run = simulate(GULLIBLE, shrunk.scenario)
    save(tmp_path / "story.json", describe(GULLIBLE, run, {}))
    kept = load(tmp_path / "story.json")
    assert kept.scenario == shrunk.scenario
    assert "byzantine" in kept.faults


def test_a_story_in_which_somebody_else_would_have_to_sign_is_not_told() -> None:
    echo = ["Echo", "n1", 1, ["bytes", digest_of(7).hex()], "n2", True]
    lie = Step("lie", "n3", 1000, src="n1", message="Final", lie=["Final", 1, 7, ["", echo]])
    world = make_world(ECHO, attrs.evolve(scenario(), scheduler=Choice("replay"), script=(lie,)))
    run_to_end(world, LocalHost(ECHO, world.scenario))
    assert isinstance(world, ScriptedWorld)
    assert world.skipped == [lie]


def test_a_transcript_has_its_liars_say_anything_but_in_the_name_of_others() -> None:
    text = """nodes n1 n2 n3 n4 liars=n1

lie n1 n2 n3 Send(number=1, content=7)
----

lie n1 n2 Final(number=1, content=7, echoes=(Echo("n1", 1, digest_of(7), "n4"),))
----

lie n1 n2 Final(1, 7, (ECHO"n1"), ECHO"n2"), ECHO"n3")))
----
""".replace("ECHO", 'Echo("n1", 1, digest_of(7), ')
    played = perform("echo_broadcast", text).text
    assert "n1 → n2 Send(number=1, content=7)" in played
    assert "n2 cannot get Final" in played
    assert "n2 applies 1: Delivered(sender=n1, number=1, content=7)" in played
    with pytest.raises(UserError, match="n2 is no liar: name the liars"):
        perform("echo_broadcast", text.replace("lie n1 n2 n3", "lie n2 n3"))


# -- Parts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Send(1, -2)", ECHO.classes["Send"](1, -2)),
        ("Send(number=1, content=2)", ECHO.classes["Send"](1, 2)),
        ('("a", b"x", True, None)', ("a", b"x", True, None)),
    ],
)
def test_values_are_read_from_text(text: str, made: Any) -> None:
    assert read(text, ECHO.classes) == made


@pytest.mark.parametrize("text", ["__import__('os')", "Send(1", "Send.__class__", "[1]", "Send(1, 2, 3)", "x", "1 + 1"])
def test_nothing_else_is_read_from_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"makes no value|is no expression"):
        read(text, ECHO.classes)


def test_a_memory_keeps_the_latest_of_each_class_parts_among_them() -> None:
    memory = Memory()
    for number in range(40):
        memory.add(ECHO.classes["Final"](number, 7, (ECHO.classes["Echo"]("n1", number, b"d", "n2"),)))
    assert [x.number for x in memory.values["Echo"].values()] == list(range(24, 40))
    assert [*memory.values["bytes"].values()] == [b"d"]
    kept: Value = memory.like(ECHO.classes["Echo"]("n9", 1, b"", "n9"), 3)
    assert kept in memory.values["Echo"].values()


def test_a_tactic_that_changes_nothing_is_a_correct_node() -> None:
    plain = Liars(("n1",), {0}, (Tactic({}),))
    world, _ = begin(scenario())
    world.pending = (1, "repeat")
    effect = (0, "n2", ECHO.classes["Send"](1, 2))
    assert plain.twist(world, 0, [(3,), effect]) == [(3,), effect]
