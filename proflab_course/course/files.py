"""Write files whole or not at all, and explain in a sentence why one cannot be written."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


def replace_file(target: Path, data: bytes) -> None:
    """Write `data` beside `target`, sync it and rename it into place; write to a pipe or device.

    If it raises an OSError, this names `target`.
    """
    if target.is_file() and target.stat().st_size == len(data) and target.read_bytes() == data:
        return  # its time stays, by which others see what has changed
    try:
        if _is_no_place_for_a_file(target):
            with suppress(BrokenPipeError):  # its reader has seen enough, as in cli.py
                target.write_bytes(data)
            return
        # In the same folder: a rename is atomic only within one file system.
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    except OSError as error:
        error.filename = str(target)
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp gives its file to the owner alone; what is written here is for others, too.
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            # The message (`what_is_wrong`) must not name the hidden file, which is gone.
            error.filename, error.filename2 = str(target), None
        raise


def _is_no_place_for_a_file(target: Path) -> bool:
    """Return True for a pipe or device, and for a link such as /dev/stdout, also if to a file."""
    link = target.is_symlink() and Path("/dev") in target.absolute().parents
    return link or (target.exists() and not target.is_file() and not target.is_dir())


def sync_folder(place: Path) -> None:
    """Make renames in a folder durable, so that after a power cut no row is without its file."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_IN_THE_WAY = {
    errno.EEXIST: "there is a file in place of the folder {}: choose another",
    errno.ENOTDIR: "a folder in {} is a file: choose another",
    errno.EISDIR: "{} is a folder: choose a file",
    errno.EBUSY: "{} is a folder, or in use: choose a file",  # of `.`, `..` and `/`
}
# Reasons that lie with the disk or its rights; any other error is a fault of ours.
_CANNOT_WRITE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO}
_CANNOT_WRITE |= {errno.EFBIG, errno.ENOENT, errno.ENAMETOOLONG, *_IN_THE_WAY}


def is_of_a_file(error: OSError) -> bool:
    """Return True if the cause is a file or folder of the user, not the program."""
    return error.errno in _CANNOT_WRITE or isinstance(error, shutil.Error)


def what_is_wrong(error: OSError) -> str:
    """Return the reason why a file cannot be written, and a remedy, as a part of a sentence."""
    # shutil combines the errors of a folder's files into one without an errno.
    full = os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT)
    if any(reason in str(error) for reason in full):
        return "the disk is full: make room"
    if error.errno in _IN_THE_WAY and error.filename:
        return _IN_THE_WAY[error.errno].format(error.filename)
    if error.errno == errno.ENOENT and error.filename:
        folder = os.path.dirname(os.path.abspath(error.filename))
        there = f"{error.filename} is not there: put it there"
        return there if os.path.isdir(folder) else f"there is no folder {folder}: make it"
    return f"{error.strerror or error}: see that {error.filename or 'it'} can be written"
