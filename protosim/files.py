"""Files that survive a crash: written beside, synced, renamed."""

import contextlib
import os
from pathlib import Path

from protosim.errors import UserError


def write(path: Path, text: str) -> None:
    """Replace the contents, all or nothing; a device gets them directly. Raises UserError where it is not possible."""
    _require_no_folder(path)
    path = path.resolve()
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, "utf-8", "backslashreplace")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
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
    if path.exists() and not path.is_file():
        return
    probe = path.with_name(f".{path.name}.{os.getpid()}.probe")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}. Name another file with -o.") from None


def _require_no_folder(path: Path) -> None:
    try:
        folder = path.is_dir() or not path.name
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}. Name another file with -o.") from None
    if folder:
        raise UserError(f"{path} is a folder. Name a file with -o.")
