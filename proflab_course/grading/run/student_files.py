"""Read the files that a student's process may see: regular files, no links, up to a size.

The folder belongs to the student. A file may be replaced by a link, a pipe or a device before it is
opened, so every check is made on the open descriptor.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import py_compile
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from proflab.lesson.mine import FILE as MINE
from proflab_course.grading.limits import MAX_ENTRIES, MAX_FILES, MAX_FILES_SIZE, MAX_FOLDERS
from proflab_course.grading.plan import Submission

_IMPORTABLE = (".py", ".pyc", ".pyw", ".so", ".pyd")
# No link is followed, and a pipe to which nobody writes is not waited for.
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)


def gather_files(submission: Submission) -> dict[str, bytes]:
    """Return the submission's files by relative path; the lesson's support files win.

    Support files also come first, so that they are written before the scratch space is full.
    """
    if submission.files is not None:
        return dict(submission.files)
    own = submission.folder
    mine = read_folder(own) if own is not None and own.is_dir() else {}
    return beside_support(submission.support, mine, bytecode=True)


def beside_support(
    support: Path | None, own: dict[str, bytes], bytecode: bool = False
) -> dict[str, bytes]:
    """Return the lesson's support files, and the student's files that do not conflict with them.

    A conflict is a folder with a support file's name, a file with a support folder's name, or a
    module that Python would import in place of a support module. mine.py is always left out, since
    grading uses the course's solutions for earlier lessons; so is any module `built`, which holds
    them, even in a lesson without one.
    """
    files = read_folder(support) if support is not None and support.is_dir() else {}
    modules = _modules(files) | {("built",)}
    mine = {
        path: data
        for path, data in own.items()
        if path != MINE and not _in_the_way(path, files) and not _shadows(path, modules)
    }
    theirs = {path: data for path, data in mine.items() if path not in files}
    return files | (compiled(files) if bytecode else {}) | theirs


def compiled(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the bytecode of the course's own modules, by the paths at which Python looks for it.

    No session has to compile them anew then. What is no Python is left out.
    """
    found = {}
    for path, data in files.items():
        if path.endswith(".py") and (code := _compiled(path, data)):
            found[importlib.util.cache_from_source(path)] = code
    return found


@lru_cache(maxsize=64)
def _compiled(path: str, data: bytes) -> bytes:
    """Return a module's bytecode as a file that holds for this very text; b"" for no Python."""
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    with tempfile.TemporaryDirectory(prefix="proflab-") as place:
        source, target = f"{place}/source.py", f"{place}/code.pyc"
        Path(source).write_bytes(data)
        try:
            py_compile.compile(source, target, dfile=path, doraise=True, invalidation_mode=mode)
            return Path(target).read_bytes()
        except (py_compile.PyCompileError, ValueError, RecursionError):
            return b""


def read_start(path: Path, most: int) -> bytes | None:
    """Return the first `most` bytes of a regular file, or None for anything else; never wait."""
    try:
        descriptor = os.open(path, READ_FLAGS)
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
    """Return the modules among support files, and their packages, as paths."""
    modules: set[tuple[str, ...]] = set()
    for path in map(PurePosixPath, files):
        if path.suffix in _IMPORTABLE:
            parts = (*path.parts[:-1], path.name.partition(".")[0])
            modules |= {parts[:length] for length in range(1, len(parts) + 1)}
    return modules


def _shadows(path: str, modules: set[tuple[str, ...]]) -> bool:
    """Return True if Python might import `path` in place of one of these modules or its parts.

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
    """Return the regular files below `folder` that fit into the limits, without notebooks."""
    files: dict[str, bytes] = {}
    left = MAX_FILES_SIZE
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
    """Yield (relative path, open descriptor) of each wanted file; the caller closes it.

    left_out: names of folders directly below `folder` that are not entered.
    """
    owner = folder.stat().st_uid
    for parent, name, parent_fd in _entries(folder, left_out):
        if not wanted(name):
            continue
        try:
            descriptor = os.open(name, READ_FLAGS, dir_fd=parent_fd)
        except OSError:
            continue
        about = os.fstat(descriptor)
        # A hard link to a file of another owner: the student may not be allowed to read it.
        foreign = about.st_nlink > 1 and about.st_uid != owner
        if stat.S_ISREG(about.st_mode) and not foreign:
            yield os.path.relpath(os.path.join(parent, name), folder), descriptor
        else:
            os.close(descriptor)


def _entries(folder: Path, left_out: Collection[str]) -> Iterator[tuple[str, str, int]]:
    """Yield (folder, name, the folder's descriptor) of each possible file, within the limits."""
    seen = 0
    try:
        for parent, folders, names, parent_fd in os.fwalk(folder, follow_symlinks=False):
            folders[:] = sorted(filter(_is_text, folders))
            if parent == str(folder):
                folders[:] = [name for name in folders if name not in left_out]
            seen += len(folders)
            if parent.count(os.sep) - str(folder).count(os.sep) >= MAX_FOLDERS:
                folders.clear()
            for name in sorted(filter(_is_text, names)):
                seen += 1
                if seen > MAX_ENTRIES:
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
    """Write gathered files below `place`; leave out those whose name or size does not fit."""
    for path, data in files.items():
        target = place / path
        with contextlib.suppress(OSError):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
