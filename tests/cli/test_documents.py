"""What the documents say is so: the story on the first screen, the files that they name."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
MADE = re.compile(r"NAME|PROTOCOL|TASK|my_raft|counterexample|story\\.html|candidate")


def test_the_story_on_the_first_screen_is_what_the_command_prints(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    printed = cli("hunt", "raft", "--mutant", "raft.vote_once_per_term", "--seed", "3").out
    story = printed[printed.index("        n1") : printed.index("  replay:")]
    shown = "\n".join(f"    {line}".rstrip() for line in story.split("\n")).rstrip()
    assert shown in (ROOT / "README.md").read_text("utf-8"), f"README.md should show:\n{shown}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_that_a_document_names_exists(document: str) -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_.-]*)`", (ROOT / document).read_text("utf-8"))
    assert named
    missing = [path for path in named if not MADE.search(path) and not (ROOT / path).exists()]
    assert not missing, f"{document} names what does not exist: {', '.join(missing)}"


def test_every_module_has_its_place_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    modules = [p.name for p in (ROOT / "protosim").glob("*.py") if not p.name.startswith("__")]
    folders = [f"{p.name}/" for p in (ROOT / "protosim").iterdir() if (p / "__init__.py").exists()]
    assert not [name for name in sorted(modules + folders) if f"{name}`" not in text and f"/{name}`" not in text]
