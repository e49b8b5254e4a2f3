"""Files that survive a crash: written beside, synced, renamed."""

import contextlib
import os
from pathlib import Path

from protosim.errors import UserError


def write(path: Path, text: str) -> None:
    """Replace the file's contents, all or nothing. Raises UserError where that is not possible."""
    _require_no_folder(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise UserError(f"{path} cannot be written: {error.strerror}. Name another file with -o.") from None


def require_writable(path: Path) -> None:
    """Raise UserError now rather than after the work, if the file could not be written."""
    _require_no_folder(path)
    probe = path.with_name(f".{path.name}.{os.getpid()}.probe")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}. Name another file with -o.") from None


def _require_no_folder(path: Path) -> None:
    if path.is_dir() or not path.name:
        raise UserError(f"{path} is a folder. Name a file with -o.")
