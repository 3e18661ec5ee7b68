"""Read the files of an archive or a folder: path, size, time, and content when asked for."""

from __future__ import annotations

import datetime
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from proflab_course.course.layout import CourseError

MAX_FILE = 64 * 1024**2
_MAX_ENTRIES = 200_000
_UTF_8 = 0x800
_IGNORED = ("__MACOSX", ".ipynb_checkpoints", "__pycache__")


@dataclass(frozen=True)
class Entry:
    """One file. `at`: when it was last changed, by the clock of whoever packed it."""

    path: str
    size: int
    at: datetime.datetime
    read: Callable[[], bytes]


def read_entries(source: Path) -> list[Entry]:
    """Return the regular files of a zip archive or a folder, by path.

    Links, caches, hidden files and paths that lead elsewhere are left out. Raises CourseError
    where `source` is neither, or is damaged.
    """
    if source.is_dir():
        found = _folder_entries(source)
    elif zipfile.is_zipfile(source):
        found = _archive_entries(source)
    elif source.exists():
        raise CourseError(f"{source} is neither a folder nor a zip archive: unpack it first")
    else:
        raise CourseError(f"there is no {source}: give the archive or folder to collect from")
    try:
        return sorted(found, key=lambda entry: entry.path)
    except (zipfile.BadZipFile, OSError) as error:
        raise CourseError(f"{source} cannot be read ({error}): download it again") from None


def _folder_entries(folder: Path) -> Iterator[Entry]:
    for path in folder.rglob("*"):
        about = path.lstat()
        if stat.S_ISREG(about.st_mode) and (safe := _safe(path.relative_to(folder).as_posix())):
            # Unpacking keeps what the archive's clock showed, by the clock of this machine.
            at = datetime.datetime.fromtimestamp(int(about.st_mtime))
            yield Entry(safe, about.st_size, at, path.read_bytes)


def _archive_entries(source: Path) -> Iterator[Entry]:
    archive = zipfile.ZipFile(source)
    members = archive.infolist()
    if len(members) > _MAX_ENTRIES:
        raise CourseError(f"{source} holds more than {_MAX_ENTRIES:,} files: collect it in parts")
    for member in members:
        regular = stat.S_IFMT(member.external_attr >> 16) in (0, stat.S_IFREG)
        safe = _safe(_member_name(member))
        if member.is_dir() or not regular or not safe:
            continue
        yield Entry(safe, member.file_size, _member_time(member), _reader(archive, member))


def _reader(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        with archive.open(member) as file:  # what the archive says of its size may be a lie
            return file.read(MAX_FILE + 1)

    return read


def _member_name(member: zipfile.ZipInfo) -> str:
    """Return a member's name; packers that forget to say that it is UTF-8 are seen through."""
    name = member.filename
    if not member.flag_bits & _UTF_8:
        try:
            return name.encode("cp437").decode("utf-8")
        except UnicodeError:
            return name
    return name


def _member_time(member: zipfile.ZipInfo) -> datetime.datetime:
    try:
        return datetime.datetime(*member.date_time)
    except ValueError:
        return datetime.datetime(1980, 1, 1)  # zip's word for "not known"


def _safe(path: str) -> str:
    """Return a path in Unicode's composed form; empty if it is of no use or leads elsewhere."""
    path = "".join(map(_visible, unicodedata.normalize("NFC", path.replace("\\", "/"))))
    parts = PurePosixPath(path).parts
    odd = not parts or parts[0] == "/" or ".." in parts
    unwanted = any(part in _IGNORED or part.startswith(".") for part in parts)
    return "" if odd or unwanted or len(parts) > 16 else "/".join(parts)


def _visible(letter: str) -> str:
    """Return a letter, a plain space for another space, nothing for a mark that is not seen."""
    if letter.isprintable():
        return letter
    return " " if letter.isspace() else ""
