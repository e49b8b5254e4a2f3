"""Go, if it is here; and candidates in it."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from protosim.adapters import go
from protosim.score import Result, gojudge, golang, score
from protosim.score.gates import Refusal
from protosim.score.golang import Workshop
from protosim.score.pool import Pool
from tests.dafny.conftest import required

TASK = "fix_raft_safety"

Judge = Callable[..., Result]
Worker = Callable[[str], Pool]


@pytest.fixture(scope="session")
def tool() -> go.Go:
    try:
        return go.find()
    except go.Missing as missing:
        if required("go"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def reference(tool: go.Go) -> str:
    return golang.reference("raft")


@pytest.fixture
def judge(judge_twice: Judge, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """The same without the second verdict, which takes its time."""

    def unasked(*_: object) -> gojudge.Verdict:
        return gojudge.Verdict(solved=None, sentence="it was not asked")

    monkeypatch.setattr(gojudge, "judge", unasked)
    return judge_twice


@pytest.fixture
def judge_twice(tool: go.Go, tmp_path: Path) -> Judge:
    """`judge_twice(text)`: the result of a repair in Go of fix_raft_safety; `judge_twice(text, task)`: of that one."""

    def run(text: str | bytes, task: str = TASK) -> Result:
        file = tmp_path / "candidate.go"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return score(task, file)

    return run


@pytest.fixture(scope="session")
def raft(tool: go.Go, reference: str) -> Iterator[Pool]:
    """The workers of the reference."""
    with golang.workshop("raft") as shop:
        assert not isinstance(shop.compiled(reference, shop.run / "worker"), Refusal)
        with contextlib.closing(Pool(shop.launch())) as pool:
            yield pool


@pytest.fixture
def shop(tool: go.Go) -> Iterator[Workshop]:
    with golang.workshop("raft") as made:
        yield made


@pytest.fixture
def worker(shop: Workshop) -> Iterator[Worker]:
    """`worker(text)`: the workers of a Raft in Go, whatever the gate says of it."""
    pools: list[Pool] = []

    def start(text: str) -> Pool:
        made = shop.compiled(text, shop.run / "worker")
        assert not isinstance(made, Refusal), made.sentence
        pools.append(Pool(shop.launch()))
        return pools[0]

    yield start
    for pool in pools:
        pool.close()
