"""Copy files piece by piece, so that no file is in memory as a whole; runs in limited processes."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from proflab_course.grading.submissions.zip_archive import DAMAGES

_PIECE = 1 << 20  # bytes in memory at a time


class _DiskFailed(Exception):
    """A file cannot be written, for the reason in `error`."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def copy_all(
    opened: Callable[[Any], IO[bytes]], items: Iterable[tuple[str, Any, int]], target: Path
) -> dict[str, Any]:
    """Copy the files to their paths below `target`, none of more than its size.

    items: the path, the key for `opened` and the size of each. Returns the digests by path,
    sentences on files that cannot be read, and where the disk failed if it did.
    """
    found: dict[str, Any] = {"digests": {}, "problems": [], "errno": 0, "written": ""}
    for path, key, size in items:
        place = target / path
        try:
            with opened(key) as file:
                found["digests"][path] = _copy(file, place, size)
        except _DiskFailed as failed:
            return found | {"errno": failed.error.errno, "written": str(place)}
        except DAMAGES as error:
            with contextlib.suppress(OSError):
                place.unlink()
            reason = str(error) or type(error).__name__
            found["problems"].append(f"{path} cannot be read ({reason}) and was left out")
    return found


def _copy(file: IO[bytes], place: Path, size: int) -> str:
    """Write a file, and return the digest of its content."""
    digest = hashlib.sha256()
    with _writing():
        place.parent.mkdir(parents=True, exist_ok=True)
        output = open(place, "wb")
    with output:
        while piece := file.read(min(_PIECE, size + 1)):
            size -= len(piece)
            if size < 0:
                raise ValueError("it is larger than it says")
            digest.update(piece)
            with _writing():
                output.write(piece)
        with _writing():
            output.flush()
    return digest.hexdigest()


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    """Tell what the disk refuses from what cannot be read."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise ValueError("its path is too long") from None
        raise _DiskFailed(error) from None


def digests_below(folder: Path) -> dict[str, str]:
    """Return the digest of each regular file below a folder by path; links are left out."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                found[path.relative_to(folder).as_posix()] = digest
    return found
