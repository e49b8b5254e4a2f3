"""docs/step-protocol.md is exact: its dialogue is what a worker says, and its tables are the code's."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protosim import api
from protosim.program import reference
from protosim.projection import parse
from protosim.score import step
from protosim.score.pool import Pool, bundle, python

PAGE = Path(__file__).parents[2] / "docs/step-protocol.md"
TEXT = PAGE.read_text("utf-8")
KINDS = "SEND WRITE STORE SYNC SET_TIMER CANCEL APPLY REPLY REFUSE RESTORE RESET"
NUMBERED = {name: getattr(api, name) for name in KINDS.split()}
EVENTS = {name: getattr(step, name) for name in ("DELIVER", "TIMEOUT", "REQUEST", "START")}


def dialogue() -> Iterator[tuple[Any, Any]]:
    """The page's frames: what the parent sends, and what the worker answers."""
    [block] = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    spoken = [line.split(None, 1) for line in block.splitlines()]
    assert [who for who, _ in spoken] == ["parent", "worker"] * (len(spoken) // 2)
    frames = [json.loads(said) for _, said in spoken]
    yield from zip(frames[::2], frames[1::2], strict=True)


def test_the_dialogue_is_what_a_worker_with_raft_says() -> None:
    trusted = reference("raft")
    (first, welcome), *rest = dialogue()
    assert (first, welcome) == ("", "")
    assert len(rest) >= 4
    with bundle() as root:
        pool = Pool(python(root, trusted.source))
        assert pool.load() == ""
        worker = pool.workers[0]
        for events, answers in rest:
            worker.post(events)
            body = worker.hear()
            assert body is not None
            assert step.decode(body) == answers
        pool.close()


def test_the_parent_can_read_every_answer_of_the_dialogue() -> None:
    trusted = reference("raft")
    reader = step.Reader(trusted.classes, trusted.spec.disk)
    for events, answers in list(dialogue())[1:]:
        assert len(events) == len(answers)
        for answer in answers:
            effects, _ = reader.read(answer, ("n1", "n2", "n3"))
            assert effects


@pytest.mark.parametrize("numbers", [NUMBERED, EVENTS], ids=["effects", "events"])
def test_the_tables_number_every_kind(numbers: dict[str, int]) -> None:
    for name, number in numbers.items():
        assert re.search(rf"^\| {number} \| {name}\b", TEXT, re.MULTILINE), name


def test_the_projection_on_the_page_is_one() -> None:
    [block] = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert len(parse(block, reference("raft")).shapes) == 2


def test_the_limits_on_the_page_are_the_codes() -> None:
    from protosim.adapters.sandbox import Limits
    from protosim.score import golang, judge, pool
    from protosim.values import DEEPEST

    said = " ".join(TEXT.split())
    assert f"silence for {pool.SILENCE:g} seconds" in said
    assert f"more than {pool.LARGEST_ANSWER >> 20} MB" in said
    assert f"after {judge.LARGEST_SCORE >> 20} MB of answers" in said
    assert f"after {judge.WALL:g} seconds" in said
    assert judge.STRIKES == 3
    assert f"{Limits().cpu} s of CPU time" in said
    assert (Limits().memory, golang.LIMITS.memory) == (1 << 30, 2 << 30)
    assert f"{DEEPEST} deep" in said
    assert f"at most {step.LONGEST_NAME} ASCII characters" in said
    assert step.LONGEST_TIMER == 10**12
