"""Files written whole or not at all, and a sentence for those that cannot be."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path


def replace_file(target: Path, data: bytes) -> None:
    """Write `data` beside `target`, sync it and rename it into place."""
    if _is_already(target, data):
        return
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _is_already(target: Path, data: bytes) -> bool:
    """Return True if the file is there with just this content."""
    try:
        return target.stat().st_size == len(data) and target.read_bytes() == data
    except FileNotFoundError:
        return False


def sync_folder(place: Path) -> None:
    """Make renames in a folder durable: a row must not outlive, in a power cut, its file."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def what_is_wrong(error: OSError) -> str:
    """Return why a file cannot be written, and what to do, as a part of a sentence."""
    # shutil gathers the errors of a folder's files in one, without a number.
    full = os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT)
    if any(reason in str(error) for reason in full):
        return "the disk is full: make room"
    return f"{error.strerror or error}: see that {error.filename or 'it'} can be written"
