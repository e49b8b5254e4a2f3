"""`python -m protosim` and the `protosim` command: first a guard, then the command line."""

import importlib.util
import sys
from pathlib import Path

SIBLINGS = ("protocols", "mutations", "schedulers", "faults")
HOME = Path(__file__).resolve().parent.parent


def stranger() -> str | None:
    """Name the first sibling package that Python would import from elsewhere, in one sentence.

    `python -m` puts the working directory first on the import path: a folder there that is called
    `schedulers` would silently take the place of ours.
    """
    for name in SIBLINGS:
        spec = importlib.util.find_spec(name)
        if spec is None:
            continue
        origin = spec.origin or next(iter(spec.submodule_search_locations or ()), "nowhere")
        if not Path(origin).resolve().is_relative_to(HOME / name):
            return (
                f"protosim: '{name}' would be imported from {origin} instead of {HOME / name}; "
                "run protosim from another folder, or rename the one in its way."
            )
    return None


def main() -> int:
    """Run the command line, and return its exit code (0 ok, 1 violation, 2 inconclusive, 3 error).

    Refuses to start (3) where a stranger's package stands in for one of ours.
    """
    if refusal := stranger():
        print(refusal, file=sys.stderr)
        return 3
    # Imported only now: the command line imports the siblings that the guard has just vetted.
    from protosim.cli import main as command_line

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
