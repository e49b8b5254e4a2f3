"""Protocols driven by hand: each text in `tests/PROTOCOL/` is a scenario, and what the cluster does in it."""

import re
from functools import cache
from pathlib import Path

import pytest

from mutations import catalogue
from protosim.program import modules
from protosim.transcript import Performance, perform

HERE = Path(__file__).parent
STORIES = [
    pytest.param(protocol, path, id=f"{protocol}-{path.stem}")
    for protocol in modules("protocols")
    for path in sorted((HERE / protocol).glob("*.txt"))
]


@cache
def played(protocol: str, path: Path) -> Performance:
    return perform(protocol, path.read_text("utf-8"))


@pytest.mark.parametrize(("protocol", "path"), STORIES)
def test_the_cluster_does_what_the_transcript_says(protocol: str, path: Path, rewrite: bool) -> None:
    told = played(protocol, path)
    if rewrite:
        path.write_text(told.text, "utf-8")
    assert told.text == path.read_text("utf-8"), f"{path.name} differs; was it meant? pytest --rewrite, and read it"
    assert told.violated[""] == "", "the reference broke an invariant"


@pytest.mark.parametrize(("protocol", "path"), STORIES)
def test_every_mutant_beside_the_reference_breaks_an_invariant_that_its_entry_names(protocol: str, path: Path) -> None:
    known = catalogue.load(protocol)
    for mutant, invariant in played(protocol, path).violated.items():
        assert not mutant or invariant in known[mutant].breaks, f"{mutant} broke {invariant or 'nothing'}"


@pytest.mark.parametrize(("protocol", "path"), STORIES)
def test_each_story_begins_with_a_sentence_about_the_protocol(protocol: str, path: Path) -> None:
    title = path.read_text("utf-8").splitlines()[0]
    assert re.fullmatch(r"# [A-Z].*[.]", title), f"{path.name}: begin with `# A sentence.`"
