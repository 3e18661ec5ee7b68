"""Reads what a student's process may see of its own folder: regular files, not links, up to a size.

The folder is the student's: what looks like a file now may be a link, a pipe or a device when it is
opened, so everything is decided on the open descriptor.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath

from proflab.lesson.mine import FILE as MINE
from proflab_course.grading.plan import MB, Submission

MAX_BYTES = 64 * MB
MAX_FILES = 2_000
_MAX_ENTRIES = 20_000
_MAX_DEPTH = 16
_IMPORTABLE = (".py", ".pyc", ".pyw", ".so", ".pyd")
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)


def gather_files(submission: Submission) -> dict[str, bytes]:
    """Return the submission's files by relative path; the lesson's support files win.

    They also come first, so that they are there whatever room is left for the student's.
    """
    if submission.files is not None:
        return dict(submission.files)
    own = submission.folder
    mine = read_folder(own) if own is not None and own.is_dir() else {}
    return beside_support(submission.support, mine)


def beside_support(support: Path | None, own: dict[str, bytes]) -> dict[str, bytes]:
    """Return the lesson's support files and those of the student's own that are not in their way.

    A student's folder of a support file's name gives way, and the reverse; and so does what Python
    would import in a support module's place. mine.py, of which later lessons make use, is left out:
    what is graded rests on the course's own solutions. So is a module `built`, which holds those,
    in a lesson that has none of its own, too.
    """
    files = read_folder(support) if support is not None and support.is_dir() else {}
    modules = _modules(files) | {("built",)}
    mine = {
        path: data
        for path, data in own.items()
        if path != MINE and not _in_the_way(path, files) and not _shadows(path, modules)
    }
    return files | {path: data for path, data in mine.items() if path not in files}


def read_start(path: Path, most: int) -> bytes | None:
    """Return the first `most` bytes of a regular file, never waiting; None for anything else."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        try:
            return file.read(most)
        except OSError:
            return None


def _in_the_way(path: str, files: dict[str, bytes]) -> bool:
    return any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in files)


def _modules(files: Iterable[str]) -> set[tuple[str, ...]]:
    """Return the modules among support files, and the packages that they are in, as paths."""
    modules: set[tuple[str, ...]] = set()
    for path in map(PurePosixPath, files):
        if path.suffix in _IMPORTABLE:
            parts = (*path.parts[:-1], path.name.partition(".")[0])
            modules |= {parts[:length] for length in range(1, len(parts) + 1)}
    return modules


def _shadows(path: str, modules: set[tuple[str, ...]]) -> bool:
    """Return True if Python might import `path` in place of one of these modules, or of its part.

    `built/__init__.py`, `built.so` and `__pycache__/built.cpython-311.pyc` all shadow `built.py`.
    """
    parts = PurePosixPath(path).parts
    if "__pycache__" in parts:
        return True
    if PurePosixPath(path).suffix not in _IMPORTABLE:
        return False
    named = (*parts[:-1], parts[-1].partition(".")[0])
    return any(named[:length] in modules for length in range(1, len(named) + 1))


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return the regular files below `folder` that fit into the limits, notebooks left out."""
    files: dict[str, bytes] = {}
    left = MAX_BYTES
    for path, descriptor in regular_files(folder, lambda name: not name.endswith(".ipynb")):
        with open(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            if size > left or len(files) >= MAX_FILES:
                continue
            data = file.read(size)
        left -= len(data)
        files[path] = data
    return files


def regular_files(
    folder: Path, wanted: Callable[[str], bool], left_out: Collection[str] = ()
) -> Iterator[tuple[str, int]]:
    """Yield (relative path, open descriptor) of each that is wanted; the caller closes it.

    left_out: names of folders right below `folder` that are not entered.
    """
    owner = folder.stat().st_uid
    for parent, name, parent_fd in _entries(folder, left_out):
        if not wanted(name):
            continue
        try:
            descriptor = os.open(name, _FLAGS, dir_fd=parent_fd)
        except OSError:
            continue
        about = os.fstat(descriptor)
        # Another's file, linked to from here, is not the student's to read.
        foreign = about.st_nlink > 1 and about.st_uid != owner
        if stat.S_ISREG(about.st_mode) and not foreign:
            yield os.path.relpath(os.path.join(parent, name), folder), descriptor
        else:
            os.close(descriptor)


def _entries(folder: Path, left_out: Collection[str]) -> Iterator[tuple[str, str, int]]:
    """Yield (folder, name, the folder's descriptor) of what may be a file, within limits."""
    seen = 0
    try:
        for parent, folders, names, parent_fd in os.fwalk(folder, follow_symlinks=False):
            folders[:] = sorted(filter(_is_text, folders))
            if parent == str(folder):
                folders[:] = [name for name in folders if name not in left_out]
            seen += len(folders)
            if parent.count(os.sep) - str(folder).count(os.sep) >= _MAX_DEPTH:
                folders.clear()
            for name in sorted(filter(_is_text, names)):
                seen += 1
                if seen > _MAX_ENTRIES:
                    return
                yield parent, name, parent_fd
    except OSError:
        return  # a folder that vanished or cannot be entered


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_files(files: dict[str, bytes], place: Path) -> None:
    """Write gathered files below `place`; one whose name or size does not fit there is left out."""
    for path, data in files.items():
        target = place / path
        with contextlib.suppress(OSError):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
