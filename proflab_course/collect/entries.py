"""Read the files of an archive or a folder: path, size, time, and content when asked for."""

from __future__ import annotations

import datetime
import lzma
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from proflab_course.course.layout import CourseError

MAX_FILE = 64 * 1024**2
_MAX_ENTRIES = 200_000
_MAX_DEPTH = 16
_LONGEST = 255  # bytes that a file's name may have
# What reading a file of a damaged, encrypted or unusual archive raises.
DAMAGES = (
    OSError,
    RuntimeError,
    NotImplementedError,
    EOFError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
_UTF_8 = 0x800
_IGNORED = ("__MACOSX", ".ipynb_checkpoints", "__pycache__")


@dataclass(frozen=True)
class Entry:
    """One file, by its path in a form that can be compared and printed.

    raw: the path as it was packed. at: when it was last changed, by the packer's clock.
    """

    path: str
    raw: str
    size: int
    at: datetime.datetime
    read: Callable[[], bytes]

    @property
    def top(self) -> str:
        """The outermost name, which the platform or the instructor gave."""
        return self.path.partition("/")[0]

    @property
    def raw_top(self) -> str:
        """The outermost name as it was packed: two that differ may have one `top`."""
        return self.raw.partition("/")[0]

    def inside(self) -> Entry:
        """Return the file as it is seen from inside the outermost folder."""
        path, raw = (text.partition("/")[2] for text in (self.path, self.raw))
        return replace(self, path=path, raw=raw)


def read_entries(source: Path) -> tuple[list[Entry], dict[str, str]]:
    """Return the regular files of a zip archive or a folder, by path; and what was refused, why.

    Links, caches and hidden files are passed over. Raises CourseError where `source` is neither
    an archive nor a folder, or is damaged.
    """
    refused: dict[str, str] = {}
    if source.is_dir():
        found = _folder_entries(source, refused)
    elif zipfile.is_zipfile(source):
        found = _archive_entries(source, refused)
    elif source.exists():
        raise CourseError(f"{source} is neither a folder nor a zip archive: unpack it first")
    else:
        raise CourseError(f"there is no {source}: give the archive or folder to collect from")
    try:
        return sorted(found, key=lambda entry: entry.path), refused
    except (zipfile.BadZipFile, OSError) as error:
        raise CourseError(f"{source} cannot be read ({error}): download it again") from None


def _folder_entries(folder: Path, refused: dict[str, str]) -> Iterator[Entry]:
    for path in folder.rglob("*"):
        about = path.lstat()
        if stat.S_ISREG(about.st_mode):
            # Unpacking keeps what the archive's clock showed, by the clock of this machine.
            at = datetime.datetime.fromtimestamp(int(about.st_mtime))
            name = path.relative_to(folder).as_posix()
            yield from _entry(name, about.st_size, at, path.read_bytes, refused)


def _archive_entries(source: Path, refused: dict[str, str]) -> Iterator[Entry]:
    archive = zipfile.ZipFile(source)
    members = archive.infolist()
    if len(members) > _MAX_ENTRIES:
        raise CourseError(f"{source} holds more than {_MAX_ENTRIES:,} files: collect it in parts")
    for member in members:
        regular = stat.S_IFMT(member.external_attr >> 16) in (0, stat.S_IFREG)
        if not member.filename.endswith("/") and regular:
            size, at = member.file_size, _member_time(member)
            yield from _entry(_member_name(member), size, at, _reader(archive, member), refused)


def _entry(
    name: str,
    size: int,
    at: datetime.datetime,
    read: Callable[[], bytes],
    refused: dict[str, str],
) -> Iterator[Entry]:
    """Yield the file, unless it is of no use; note in `refused` a path that cannot be taken."""
    raw = "/".join(PurePosixPath(name.replace("\\", "/")).parts)
    path = "".join(map(_visible, unicodedata.normalize("NFC", raw)))
    parts = path.split("/")
    if any(part in _IGNORED or (part[:1] == "." and part != "..") for part in parts):
        return
    if "" in parts or ".." in parts or len(parts) > _MAX_DEPTH:
        refused[path or "a file"] = "has a path that leads elsewhere, is too deep, or has no name"
    elif any(len(part.encode()) > _LONGEST for part in parts):
        refused[f"{path[:80]}…"] = "has too long a name"
    else:
        yield Entry(path, raw, size, at, read)


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


def _visible(letter: str) -> str:
    """Return a letter, a plain space for another space, nothing for a mark that is not seen."""
    if letter.isprintable():
        return letter
    return " " if letter.isspace() else ""
