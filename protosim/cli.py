"""The command line: which command, its options, and one clear sentence for whatever goes wrong.

A command is a file in `commands/` with a docstring (its help), `options(parser)` that says what it takes, and
`run(args, out)` that does it and returns an Answer. Only the command that was asked for is imported.
"""

import argparse
import contextlib
import importlib
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Never

from protosim import __version__
from protosim.errors import UserError
from protosim.output import Answer, Output, table

COMMANDS = {
    "list": "what there is: protocols, mutations, invariants, schedulers, faults, tasks",
    "run": "run a protocol under chaos and judge what happened",
    "hunt": "run until an invariant breaks; shorten and save what broke it",
    "explore": "go through every schedule within bounds; the shortest story of what breaks",
    "replay": "run a saved counterexample again, perhaps on edited code",
    "show": "draw a saved counterexample, in the terminal, as SVG, or as a page",
    "mutate": "print a protocol's source with bugs put in",
    "score": "judge a repair against a task's hidden tests, or a proof by its verifier",
    "task": "make proof tasks by machine, and check that proof tasks are worth asking",
    "bench": "measure speed beside its peers",
    "doctor": "what this machine has of the tools that protosim uses",
    "demo": "the whole idea in a minute",
    "kills": "hunt every known mutant and compare with what is expected",
    "soak": "millions of events of the unbroken protocol, which must be clean",
}

HELP = """\
protosim {version}: protocols as state machines, tortured by schedules and faults drawn from one seed

usage: protosim COMMAND ...          protosim COMMAND --help says what a command takes

{commands}

Every command takes --json: one object on stdout, with `schema` and `status`; all else on stderr.
Exit codes: 0 ok, 1 violation, 2 inconclusive, 3 error."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, with the nearest option that there is."""

    def error(self, message: str) -> Never:
        raise UserError(f"{self.prog}: {self._sentence(message)}")

    def _sentence(self, message: str) -> str:
        if match := re.fullmatch(r"unrecognized arguments: (.*)", message, re.DOTALL):
            return self._unknown(match[1].split()[0])
        if match := re.fullmatch(r"the following arguments are required: (.*)", message):
            return f"{match[1]} is missing; see {self.prog} --help."
        if match := re.fullmatch(r"argument ([^:]+): (.*)", message, re.DOTALL):
            option, wrong = match[1].split("/")[0], match[2]
            return f"{option} {'needs a value' if wrong.startswith('expected') else wrong.rstrip('.')}."
        return f"{message}; see {self.prog} --help."

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"{word!r} is one word too many; see {self.prog} --help."
        options = [option for action in self._actions for option in action.option_strings]
        close = get_close_matches(word.partition("=")[0], options, n=1, cutoff=0.5)
        return f"there is no option {word}; " + (
            f"did you mean {close[0]}?" if close else f"see {self.prog} --help."
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. Never raises, never shows a traceback unasked."""
    words = list(sys.argv[1:] if argv is None else argv)
    known = bool(words) and words[0] in COMMANDS
    _heed_termination()
    out = Output(words[0] if known else "usage", json="--json" in words)
    try:
        return out.answer(_obey(words, out) if known else _introduce(words, out))
    except UserError as error:
        return _refuse(out, "error", str(error))
    except KeyboardInterrupt:
        return _refuse(out, "inconclusive", "Interrupted before there was anything to tell.")
    except BaseException as error:
        if os.environ.get("PROTOSIM_TRACEBACK") == "1":
            traceback.print_exc()
        says = f"internal error: {type(error).__name__}: {error} (this is a bug of protosim)"
        return _refuse(out, "error", f"protosim: {says}; PROTOSIM_TRACEBACK=1 shows where")


def _heed_termination() -> None:
    """Being told to end is an interrupt like Ctrl-C: what was started is ended, what was found is told."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _refuse(out: Output, status: Any, sentence: str) -> int:
    out.note(sentence)
    return out.answer(Answer(status, {"message": sentence}))


def _obey(words: list[str], out: Output) -> Answer:
    command: Any = importlib.import_module(f"protosim.commands.{words[0]}")
    parser = Parser(
        prog=f"protosim {words[0]}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    try:
        args = parser.parse_intermixed_args(words[1:])
    except SystemExit:  # --help has been printed, and is the answer
        out.json = False
        return Answer("ok")
    with contextlib.redirect_stdout(sys.stderr):  # what a protocol prints is no answer of ours
        answer: Answer = command.run(args, out)
    return answer


def _introduce(words: list[str], out: Output) -> Answer:
    """No command: the help, the version, or the nearest command."""
    asked = [word for word in words if word != "--json"]
    if not asked or asked[0] in ("-h", "--help", "help"):
        rows = [(name, says) for name, says in COMMANDS.items()]
        lines = "\n".join(f"  {line}" for line in table(rows, 98))
        out.say(HELP.format(version=__version__, commands=lines))
    elif asked[0] in ("-V", "--version"):
        out.say(f"protosim {__version__}")
    else:
        close = get_close_matches(asked[0], COMMANDS, n=1, cutoff=0.4)
        advice = f"did you mean {close[0]}?" if close else f"there are: {', '.join(COMMANDS)}."
        raise UserError(f"There is no command {asked[0]!r}: {advice}")
    return Answer("ok", {"version": __version__, "commands": dict(COMMANDS)})
