"""List and copy the files of an archive or a folder, in a process with limited time and memory.

A class's archive holds what strangers have packed. This process never opens it: the limited ones
(`grading/limited_process.py`) list it, read the beginnings of files, and copy a student's files
piece by piece to where they are wanted, within a sum for each attempt.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from proflab_course.collect.copy_files import copy_all, digests_below
from proflab_course.course.layout import CourseError
from proflab_course.course.words import few
from proflab_course.grading.limited_process import (
    Answer,
    LimitedProcesses,
    TooMuchToRead,
    Unreadable,
)
from proflab_course.grading.limits import MB
from proflab_course.grading.run.student_files import READ_FLAGS
from proflab_course.grading.submissions.file_names import fitting, is_hidden
from proflab_course.grading.submissions.zip_archive import (
    DAMAGES,
    Member,
    clean_path,
    list_files,
)

MAX_FILE = 64 * MB
MAX_ATTEMPT, MAX_ATTEMPT_FILES = 128 * MB, 2_000
_MAX_ENTRIES = 200_000
_LATEST = 250_000_000_000  # seconds, in the year 9892


@dataclass(frozen=True)
class Entry:
    """One file, by its path in a form that can be compared and printed.

    raw: the path as packed; size: in bytes; at: the time of its last change, by the packing
    machine's clock; key: where it is in its source.
    """

    path: str
    raw: str
    size: int
    at: datetime.datetime
    key: int | str
    source: Source = field(compare=False, repr=False)

    @property
    def top(self) -> str:
        """The outermost name, given by the platform or the instructor."""
        return self.path.partition("/")[0]

    @property
    def raw_top(self) -> str:
        """The outermost name as packed; two different ones may have the same `top`."""
        return self.raw.partition("/")[0]

    def inside(self) -> Entry:
        """Return the file with its path from inside the outermost folder."""
        path, raw = (text.partition("/")[2] for text in (self.path, self.raw))
        return replace(self, path=path, raw=raw)

    def read(self, most: int) -> bytes:
        """Return the first `most` bytes; raise Unreadable if there is a reason for none."""
        return self.source.start_of(self.key, most)


@dataclass
class Copied:
    """Files that were copied: the digest of each by its path, and sentences about the others."""

    digests: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Source:
    """A zip archive or a folder of hand-ins; close it after use.

    entries: its regular files by path, links, caches and hidden files left out; refused: paths that
    cannot be taken, with the reasons; twice: paths of which an earlier file does not count. Raises
    CourseError if it is neither an archive nor a folder, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._processes = LimitedProcesses(
            {
                "list": functools.partial(_answer_list, path),
                "start": functools.partial(_answer_start, path),
                "copy": functools.partial(_answer_copy, path),
                "digests": _answer_digests,
            }
        )
        if not path.exists():
            raise CourseError(f"there is no {path}: give the archive or folder to collect from")
        if not path.is_dir() and not zipfile.is_zipfile(path):
            raise CourseError(f"{path} is neither a folder nor a zip archive: unpack it first")
        self.entries, self.refused, self.twice = self._listed()

    def start_of(self, key: int | str, most: int) -> bytes:
        """Return the first `most` bytes of an entry's file; raise Unreadable."""
        _, [start] = self._processes.call("start", key, most)
        return start

    def copy(self, files: Mapping[str, Entry], target: Path) -> Copied:
        """Copy an attempt's files to their paths below `target`, within the sum for an attempt.

        Raises OSError if they cannot be written, Unreadable if nothing can be read.
        """
        copied = Copied()
        folders = {str(parent) for path in files for parent in Path(path).parents}
        wanted = {}
        for path, entry in files.items():
            if entry.size > MAX_FILE:
                copied.problems.append(
                    f"{path} is larger than {MAX_FILE // MB} MB and was left out"
                )
            elif path in folders:
                copied.problems.append(f"{path} is also the name of a folder and was left out")
            else:
                wanted[path] = entry
        sizes = {path: entry.size for path, entry in wanted.items()}
        kept = fitting(sizes, MAX_ATTEMPT, MAX_ATTEMPT_FILES)
        if left_out := sorted(sizes.keys() - set(kept)):
            most = f"{MAX_ATTEMPT // MB} MB or {MAX_ATTEMPT_FILES:,} files"
            copied.problems.append(f"it holds more than {most}: left out are {few(left_out)}")
        items = [[path, wanted[path].key, wanted[path].size] for path in kept]
        answer, _ = self._processes.call("copy", items, str(target))
        if answer["errno"]:
            raise OSError(answer["errno"], os.strerror(answer["errno"]), answer["written"])
        copied.digests |= answer["digests"]
        copied.problems += answer["problems"]
        return copied

    def digests(self, folder: Path) -> dict[str, str]:
        """Return the digest of each regular file below a folder by path; raise Unreadable."""
        return self._processes.call("digests", str(folder))[0]

    def close(self) -> None:
        """End the processes."""
        self._processes.close()

    def _listed(self) -> tuple[list[Entry], dict[str, str], list[str]]:
        try:
            found, _ = self._processes.call("list")
        except Unreadable as error:
            self.close()
            what = f"cannot be read ({error.reason}): download it again"
            if isinstance(error, TooMuchToRead):
                most = f"{_MAX_ENTRIES:,} files"
                what = f"holds more than is read at once ({most}): collect it in parts"
            raise CourseError(f"{self.path} {what}") from None
        entries = [
            Entry(path, raw, size, datetime.datetime(*at), key, self)
            for path, raw, size, at, key in found["files"]
        ]
        return sorted(entries, key=lambda entry: entry.path), found["refused"], found["twice"]


# ── in the processes ─────────────────────────────────────────────────────────────────────────


@functools.lru_cache(maxsize=1)
def _archive(path: Path) -> zipfile.ZipFile:
    """Return the open archive, whose list is read once in a process."""
    return zipfile.ZipFile(path)


@contextlib.contextmanager
def _damage_told() -> Iterator[None]:
    """Raise Unreadable with the reason where what strangers have packed cannot be read."""
    try:
        yield
    except DAMAGES as error:
        raise Unreadable(str(error) or type(error).__name__) from None


def _answer_list(source: Path) -> Answer:
    found: dict[str, Any] = {"files": [], "refused": {}, "twice": []}
    with _damage_told():
        if source.is_dir():
            files = _files_in(source, found["refused"])
            found["files"] = list(itertools.islice(files, _MAX_ENTRIES + 1))
        else:
            listed = list_files(_archive(source))
            # The caller gets a member's place in the list: two may have one name.
            places = {id(info): place for place, info in enumerate(_archive(source).infolist())}
            found |= {"refused": listed.refused, "twice": listed.twice}
            found["files"] = [
                (m.path.shown, m.path.raw, m.size, m.at.timetuple()[:6], places[id(m.info)])
                for m in listed.members
            ]
    if len(found["files"]) > _MAX_ENTRIES:
        raise TooMuchToRead
    return found, []


def _files_in(folder: Path, refused: dict[str, str]) -> Iterator[tuple]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = os.path.join(parent, name)
            about, below = os.lstat(file), os.path.relpath(file, folder)
            path = clean_path(below)
            if not stat.S_ISREG(about.st_mode) or is_hidden(path.shown):
                continue
            if path.problem:
                refused[path.shown or "a file"] = path.problem
                continue
            # Unpacking keeps the archive's local times, as local times of this machine.
            at = datetime.datetime.fromtimestamp(min(max(0, int(about.st_mtime)), _LATEST))
            yield path.shown, path.raw, about.st_size, at.timetuple()[:6], below


def _opened(source: Path, key: int | str) -> IO[bytes]:
    """Return a file of the source; raise one of DAMAGES if it cannot be opened."""
    if isinstance(key, str):
        return open(os.open(source / key, READ_FLAGS), "rb")
    info = _archive(source).infolist()[key]
    if problem := Member(clean_path(info.filename), info).problem:
        raise ValueError(problem)
    return _archive(source).open(info)


def _answer_start(source: Path, key: int | str, most: int) -> Answer:
    with _damage_told(), _opened(source, key) as file:
        return {}, [file.read(most)]


def _answer_copy(source: Path, items: Iterable[tuple], target: str) -> Answer:
    return copy_all(functools.partial(_opened, source), items, Path(target)), []


def _answer_digests(folder: str) -> Answer:
    return digests_below(Path(folder)), []
