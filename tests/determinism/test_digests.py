"""One digest: under any hash seed, on every Python, in any process, in one go or by way of a copy."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from protosim.program import reference
from protosim.run import LocalHost, finish, make_world, run_to_end
from protosim.scenario import Scenario
from protosim.world import World
from tests.determinism.digests import SCENARIOS, digests

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GOLDEN = HERE / "digests.json"
OLDEST, NEWEST = 11, 14  # of Python 3


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a run needs and nothing else; all of it is pure Python."""
    folder = tmp_path_factory.mktemp("dependencies")
    for package in ("attr", "attrs", "simpy"):
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        (folder / package).symlink_to(Path(spec.origin).parent)
    return folder


def told(dependencies: Path, *names: str, python: str = sys.executable, hash_seed: str = "random") -> dict[str, str]:
    """The digests as another process prints them, which can import nothing but what it needs."""
    done = subprocess.run(
        [python, "-S", "-B", str(HERE / "digests.py"), *names],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join([str(ROOT), str(dependencies)])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["imported"] == []
    printed: dict[str, str] = answer["digests"]
    return printed


@pytest.fixture(scope="module")
def golden() -> dict[str, str]:
    expected: dict[str, str] = json.loads(GOLDEN.read_text("utf-8"))
    return expected


def test_the_digests_are_what_they_were(rewrite: bool) -> None:
    """If this fails alone, the encoding, a scheduler, a fault or the protocol has changed: say why in the commit."""
    now = digests(list(SCENARIOS))
    if rewrite:
        GOLDEN.write_text(json.dumps(now, indent=1) + "\n", "utf-8")
    assert now == json.loads(GOLDEN.read_text("utf-8"))
    assert len(set(now.values())) == len(SCENARIOS)


@pytest.mark.parametrize("hash_seed", ["0", "1", "56", "4294967295"])
def test_the_seed_of_pythons_hash_changes_nothing(golden: dict[str, str], dependencies: Path, hash_seed: str) -> None:
    assert told(dependencies, hash_seed=hash_seed) == golden


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_process_of_its_own_gives_the_same_digest(golden: dict[str, str], dependencies: Path, name: str) -> None:
    assert told(dependencies, name) == {name: golden[name]}


def test_the_order_of_the_runs_changes_nothing(golden: dict[str, str]) -> None:
    assert digests(list(reversed(SCENARIOS))) == golden


def pythons() -> Iterator[tuple[str, str]]:
    """(version, path) of each CPython that can be found and started, one a minor version, not this one's."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    seen = {sys.version_info[1]} if sys.implementation.name == "cpython" else set[int]()
    for minor in range(OLDEST, NEWEST + 1):
        for folder in folders:
            path = folder / f"python3.{minor}"
            if minor not in seen and path.exists() and _is_cpython(path, minor):
                seen.add(minor)
                yield f"3.{minor}", str(path)


def _is_cpython(path: Path, minor: int) -> bool:
    asked = "import sys; print(sys.implementation.name, sys.version_info[1])"
    try:
        done = subprocess.run([str(path), "-S", "-c", asked], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.split() == ["cpython", str(minor)]


def test_every_cpython_gives_the_same_digests(golden: dict[str, str], dependencies: Path) -> None:
    others = list(pythons())
    if not others:
        pytest.skip(f"Python 3.{sys.version_info[1]} is the only CPython from 3.{OLDEST} on here")
    for version, python in others:
        assert told(dependencies, python=python) == golden, f"Python {version} differs"


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("share", [1, 50, 99])
def test_a_copy_on_the_way_ends_as_its_original(golden: dict[str, str], name: str, share: int) -> None:
    world, host = started(SCENARIOS[name])
    total = sum(1 for _ in events(world, host))
    world, host = started(SCENARIOS[name])
    for number, _ in enumerate(events(world, host)):
        if number == total * share // 100:
            break
    twin, twin_host = world.copy(), host.copy()
    run_to_end(twin, twin_host)
    assert finish(twin).digest == golden[name]
    assert finish(world).digest != golden[name], "the original did not stand still"
    run_to_end(world, host)
    assert finish(world).digest == golden[name]


def started(scenario: Scenario) -> tuple[World, LocalHost]:
    program = reference("raft")
    return make_world(program, scenario), LocalHost(program, scenario)


def events(world: World, host: LocalHost) -> Iterator[None]:
    """Play one event after the other; stop between two of them."""
    while world.advance():
        effects, refused = host.step(world)
        world.resume(effects, refused)
        effects.clear()
        refused.clear()
        yield
