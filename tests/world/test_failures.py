"""What no protocol may do becomes one sentence about it; what it keeps is its own in every copy of the world."""

import pytest

from protosim import api, counterexample
from protosim.errors import UserError
from protosim.program import Program, from_source, reference
from protosim.run import LocalHost, make_world, run_to_end, simulate
from protosim.scenario import Choice, Scenario

RAFT = reference("raft")
WALK = Scenario(protocol="raft", seed=3, events=300, scheduler=Choice("walk"))
HANDLER = '        """HandleRequestVoteRequest."""\n'


def with_line(line: str) -> Program:
    return from_source("raft", RAFT.source.replace(HANDLER, f"{HANDLER}        {line}\n", 1))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("raise BaseException('gone')", "BaseException: gone, in handle_request_vote"),
        ("raise SystemExit(0)", "SystemExit: 0, in handle_request_vote"),
        ("self.set_timer(ELECTION, (5, 1))", "set election to a range of 5 to 1 microseconds"),
        ("self.set_timer(ELECTION, (0, 1))", "set election to a range of 0 to 1 microseconds"),
        ("self.send(src, 5)", "sent a int, which is no message"),
        ("self.send('n9', m)", "to 'n9', which is no node of"),
        ("self.send([], m)", "cannot be carried out: TypeError"),
        ("self.reply(99, None)", "answered operation 99, which no client asked of it"),
        ("self.disk.log.append(5)", "AttributeError: 'int' object has no attribute 'term'"),
        ("self.disk.write(colour=1)", "has no field 'colour' to write"),
    ],
)
def test_what_no_protocol_may_do_is_one_sentence(line: str, sentence: str) -> None:
    run = simulate(with_line(line), WALK)
    assert sentence in run.failure
    assert run.status == "error"


def test_a_failed_run_leaves_no_refusals_to_the_next() -> None:
    simulate(with_line("holds(never=False); self.send('n9', m)"), WALK)
    clean = simulate(RAFT, WALK)
    assert "never" not in clean.checks_refused
    assert not api.refusals


def test_a_copied_node_shares_nothing_that_can_change() -> None:
    source = RAFT.source.replace("class Raft(Node[RaftDisk]):", "class Bag:\n    pass\n\n\nclass Raft(Node[RaftDisk]):")
    source = source.replace(
        '        """Restart."""\n',
        '        """Restart."""\n'
        "        self.bag = Bag()\n        self.bag.seen = [0]\n        self.mine = self.disk.log\n",
    )
    source = source.replace(HANDLER, f"{HANDLER}        self.bag.seen[0] += 1\n")
    program = from_source("raft", source)
    world, host = make_world(program, WALK), LocalHost(program, WALK)
    run_to_end(world, host)
    twin = host.copy()
    for node, other in zip(host.nodes.values(), twin.nodes.values(), strict=True):
        assert other.__dict__["bag"].seen == node.__dict__["bag"].seen
        assert other.__dict__["bag"].seen is not node.__dict__["bag"].seen
        assert other.__dict__["mine"] is other.disk.log


def test_forks_of_a_node_with_objects_do_not_disturb_each_other() -> None:
    world, host = make_world(RAFT, WALK), LocalHost(RAFT, WALK)
    for _ in range(100):
        assert world.advance()
        effects, refused = host.step(world)
        world.resume(effects, refused)
        effects.clear()
        refused.clear()
    digests: list[str] = []
    for _ in range(2):
        twin, nodes = world.copy(), host.copy()
        run_to_end(twin, nodes)
        digests.append(twin.digest())
    assert digests[0] == digests[1] == simulate(RAFT, WALK).digest


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes": 10**9}, "a cluster of 1,000,000,000 nodes"),
        ({"seed": -1}, "seed -1 is out of range"),
        ({"scheduler": Choice("pct", {"depth": 10**12})}, "pct:depth=1000000000000 is out of range"),
    ],
)
def test_a_counterexample_file_with_nonsense_is_refused(
    change: dict[str, object], reason: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("nonsense") / "x.json"
    scenario = Scenario(**{"protocol": "raft", "seed": 1, **change})  # type: ignore[arg-type]
    counterexample.save(
        path, counterexample.Counterexample(scenario=scenario, invariant="", message="", digest="", events=1)
    )
    with pytest.raises(UserError, match=reason):
        counterexample.load(path)
