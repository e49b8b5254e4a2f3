"""What is said where: streams, colours, tables, bars."""

import io
import sys
import time

import pytest

from protosim import output
from protosim.options import Bounds
from protosim.output import Answer, Output, command, table
from protosim.words import plural


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_table_lines_up_and_wraps_its_last_column() -> None:
    lines = table([("a", "one two three four five six"), ("long name", "x")], 36)
    assert lines == [
        "a          one two three four five",
        "           six",
        "long name  x",
    ]
    assert table([], 80) == []


def test_colour_is_for_terminals_and_for_who_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Output("run", stdout=Terminal()).style("x", "1") == "\x1b[1mx\x1b[0m"
    assert Output("run", stdout=io.StringIO()).style("x", "1") == "x"
    assert Output("run", json=True, stdout=Terminal()).style("x", "1") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Output("run", stdout=Terminal()).style("x", "1") == "x"


def test_a_verdict_colours_its_first_word_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    Output("run", stdout=terminal).verdict("ok", "all is ok")
    assert terminal.getvalue() == "\x1b[32mok\x1b[0m: all is ok\n"


def test_with_json_only_the_object_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output("run", json=True)
    out.say("words")
    out.note("a warning")
    assert out.answer(Answer("inconclusive", {"x": 1})) == 2
    captured = capsys.readouterr()
    assert captured.out == '{"schema": "protosim/run/1", "status": "inconclusive", "x": 1}\n'
    assert captured.err == "a warning\n"


def test_a_bar_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Output("run").progress(10) as tick:
        tick(5, "half")
    assert terminal.getvalue().strip("\r ") == ""  # it took less than a second
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    with Output("run").progress(10) as tick:
        tick(5, "half")
    assert plain.getvalue() == ""


def _wait_for(text: str, stream: io.StringIO) -> None:
    for _ in range(10_000):
        if text in stream.getvalue():
            return
        time.sleep(0.001)
    raise AssertionError(f"{text!r} is never said: {stream.getvalue()!r}")


def test_where_there_is_no_terminal_a_line_now_and_then_says_that_the_work_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    monkeypatch.setattr(output, "EVERY", 0.01)
    with Output("hunt").progress(10) as tick:
        _wait_for("\n", plain)  # before anything is done, too
        tick(5, "half")
        _wait_for("half", plain)
    lines = plain.getvalue().splitlines()
    assert lines[0] == "hunt: 0 s"
    assert lines[-1] == "hunt: 0 s, 50%: half"
    time.sleep(0.05)
    assert plain.getvalue().splitlines() == lines  # it ends with the work


def test_characters_that_a_stream_cannot_carry_are_spelled_out() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "ascii", write_through=True)
    Output("run", stdout=stream).say("§5.2 → n1")
    assert raw.getvalue() == b"\\xa75.2 \\u2192 n1\n"


def test_one_is_no_plural() -> None:
    assert [plural(count, "run") for count in (0, 1, 2, 1_000)] == ["0 runs", "1 run", "2 runs", "1,000 runs"]
    assert str(Bounds(runs=1, events=1_000_000, budget=0.5)) == "1 run, 1,000,000 events, 0.5 s"


def test_a_command_line_to_copy_is_quoted() -> None:
    assert command("replay", "a file.json").endswith(" replay 'a file.json'")
