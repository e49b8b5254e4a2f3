"""`docs/explore.md` is what `make explore` writes: every line of the collection, with counts that still are so."""

from pathlib import Path

import pytest

from protosim.explore import page

ROOT = Path(__file__).resolve().parent.parent.parent
TLC = {3: "288", 4: "1,568", 5: "8,832", 6: "50,816", 7: "296,448"}
LINES = [line for section in page.SECTIONS for line in section.lines]


def written() -> dict[str, list[str]]:
    """The rows of the page, by command line."""
    text = (ROOT / "docs" / "explore.md").read_text("utf-8")
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines() if row.startswith("| `")]
    return {cells[0].strip("`"): cells for cells in rows}


def test_the_page_has_every_line_of_the_collection() -> None:
    assert list(written()) == LINES


@pytest.mark.parametrize("size", TLC)
def test_the_page_counts_as_many_states_of_two_phase_as_tlc(size: int) -> None:
    line = f"two_phase --nodes {size}" + " --no-liveness" * (size > 5)
    assert written()[line][1:3] == ["exhausted", TLC[size]]


def test_the_page_has_figure_8_and_nothing_like_it_in_the_reference() -> None:
    rows = written()
    assert rows[f"raft --mutant commit_current_term {page.FIGURE_8}"][1] == "leader_completeness, 21 events"
    assert rows[f"raft {page.FIGURE_8}"][1] == "exhausted"


@pytest.mark.parametrize("line", ["two_phase --nodes 3 --symmetry", "raft --mutant replicated_on_majority"])
def test_what_is_measured_again_is_what_the_page_says(line: str) -> None:
    assert list(page.row(line, page.measure(line)))[:5] == [f"`{line}`", *written()[line][1:5]]
