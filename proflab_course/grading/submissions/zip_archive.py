"""Read zip archives within limits: the one reader of them, for a class's and for a student's.

It says which members are files, by which path, and which of two with one path counts: the later
one, as programs that unpack archives have it. A process with limited time and memory does this
(`limited_process.py`). Nothing is unpacked onto the disk here.
"""

from __future__ import annotations

import datetime
import io
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO

from proflab_course.course.words import few
from proflab_course.grading.limits import MB
from proflab_course.grading.submissions.file_names import fitting, is_archive, is_hidden

MAX_MEMBERS = 2_000
MAX_UNPACKED = 64 * MB  # of all archives of a hand-in together, as are the members
# Exceptions from reading a file of a damaged, encrypted or unusual archive.
DAMAGES = (
    OSError,
    RuntimeError,
    NotImplementedError,
    EOFError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
_ENTRY = b"PK\x01\x02"  # before each member in the list at an archive's end
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UTF_8 = 0x800  # a member's flag: its name is in UTF-8
_MAX_DEPTH = 16  # folders in a member's name
_LONGEST = 255  # bytes in a file's name


@dataclass(frozen=True)
class MemberPath:
    """A file's path in a form that can be compared and printed, and as it was packed.

    problem: why a file with this path cannot be taken; empty for one that can.
    """

    shown: str
    raw: str
    problem: str = ""


@dataclass(frozen=True)
class Member:
    """One file of an archive. size: its bytes, which reading it never exceeds."""

    path: MemberPath
    info: zipfile.ZipInfo

    @property
    def size(self) -> int:
        """The bytes of the file, as the archive states them."""
        return self.info.file_size

    @property
    def at(self) -> datetime.datetime:
        """The time of the last change, by the packing machine's clock; 1980 if it is not known."""
        try:
            return datetime.datetime(*self.info.date_time)
        except ValueError:
            return datetime.datetime(1980, 1, 1)  # zip's own value for that

    @property
    def problem(self) -> str:
        """The reason why the file is not read; empty for one that is."""
        if self.info.flag_bits & 1:
            return "is encrypted: hand it in without a password"
        if self.info.compress_type not in _METHODS:
            return "is packed in a way that is not read: make a plain zip"
        return ""

    def open(self, archive: zipfile.ZipFile) -> IO[bytes]:
        """Return the file's content, to be read piece by piece."""
        return archive.open(self.info)


@dataclass
class Listing:
    """An archive's files: those that count, and paths that cannot be taken with their reasons.

    twice: the paths of which an earlier member does not count.
    """

    members: list[Member] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    twice: list[str] = field(default_factory=list)


def list_files(archive: zipfile.ZipFile) -> Listing:
    """Return an archive's regular files; hidden ones, folders and links are left out."""
    found = Listing()
    members: dict[str, Member] = {}
    for info in archive.infolist():
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.filename.endswith("/") or kind not in (0, stat.S_IFREG):
            continue
        path = clean_path(_member_name(info))
        if is_hidden(path.shown):
            continue
        if path.problem:
            found.refused[path.shown or "a file"] = path.problem
            continue
        if members.pop(path.raw, None) is not None:
            found.twice.append(path.shown)
        members[path.raw] = Member(path, info)
    found.members = list(members.values())
    return found


def clean_path(name: str) -> MemberPath:
    """Return the path of a file that is packed, or lies in a folder, under this name."""
    raw = "/".join(PurePosixPath(name.replace("\\", "/")).parts)
    shown = "".join(map(_visible, unicodedata.normalize("NFC", raw)))
    parts = shown.split("/")
    drive = len(parts[0]) == 2 and parts[0][1] == ":"
    if "" in parts or ".." in parts or len(parts) > _MAX_DEPTH or drive:
        problem = "has a path that leads elsewhere, is too deep, or has no name"
        return MemberPath(shown, raw, problem)
    if any(len(part.encode("utf-8", "replace")) > _LONGEST for part in parts):
        return MemberPath(f"{shown[:80]}…", raw, "has too long a name")
    return MemberPath(shown, raw)


def _visible(letter: str) -> str:
    """Return a letter, a plain space for another space, nothing for an invisible character."""
    if letter.isprintable():
        return letter
    return " " if letter.isspace() else ""


def _member_name(info: zipfile.ZipInfo) -> str:
    """Return a member's name, decoded as UTF-8 even if the archive does not declare it."""
    if not info.flag_bits & _UTF_8:
        try:
            # zipfile reads names without that flag as cp437, which is undone here.
            return info.filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return info.filename


# ── a student's archive, in memory ───────────────────────────────────────────────────────────


class Room:
    """The room left for the archives of one hand-in, all of them together."""

    def __init__(self) -> None:
        self.bytes, self.members = MAX_UNPACKED, MAX_MEMBERS
        self.archives = 0

    def exceeded_by(self, name: str, what: str) -> str:
        """Return the sentence about the archive that exceeds the limits."""
        if self.archives == 1:
            return f"{name} holds more than {what}"
        return f"{name} and the archives before it hold more than {what} together"


@dataclass
class Unpacked:
    """The files of an archive by their path in it; `problem` names what could not be opened.

    twice: the paths of which an earlier member does not count.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    problem: str = ""
    twice: list[str] = field(default_factory=list)


def unpack(data: bytes, name: str, room: Room, nested: bool = True) -> Unpacked:
    """Return the regular files of a zip archive, and with `nested` those of archives in it."""
    found = Unpacked()
    room.archives += nested
    # Counted first, because reading the list takes ten times the memory.
    room.members -= data.count(_ENTRY)
    if room.members < 0:
        found.problem = room.exceeded_by(name, f"{MAX_MEMBERS:,} files")
        return found
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for path, content in _contents(archive, name, found, room):
                if path in found.files:
                    found.twice.append(path)
                found.files[path] = content
    except DAMAGES:
        found.problem = found.problem or f"{name} is a damaged zip archive"
    if nested:
        _open_nested(found, name, room)
    return found


def _contents(
    archive: zipfile.ZipFile, name: str, found: Unpacked, room: Room
) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of each file that fits; sizes are added up before the first."""
    listed = list_files(archive)
    found.twice += listed.twice
    for member in listed.members:
        if member.problem:
            found.problem = f"{name} {member.problem}"
    members = {m.path.raw: m for m in listed.members if not m.problem}
    kept = fitting({raw: m.size for raw, m in members.items()}, room.bytes, MAX_MEMBERS)
    if len(kept) < len(members):
        found.problem = room.exceeded_by(name, f"{MAX_UNPACKED // MB} MB")
    room.bytes -= sum(members[raw].size for raw in kept)
    for raw in kept:
        with members[raw].open(archive) as file:
            yield members[raw].path.shown, file.read(members[raw].size + 1)


def _open_nested(found: Unpacked, name: str, room: Room) -> None:
    """Add the files of archives in an archive to its own, one level deep."""
    for path, data in list(found.files.items()):
        if not is_archive(path, data):
            continue
        inner = unpack(data, f"{path} in {name}", room, nested=False)
        found.problem = found.problem or inner.problem
        found.twice += [f"{path}/{below}" for below in inner.twice]
        del found.files[path]
        found.files |= {f"{path}/{below}": content for below, content in inner.files.items()}


def note_on_twice(twice: list[str], where: str) -> str:
    """Return the sentence about paths that stand twice in an archive; empty if none does.

    >>> note_on_twice(["a/x.ipynb"], "work.zip")
    'a/x.ipynb is in work.zip twice: the later one counts'
    """
    paths = list(dict.fromkeys(twice))
    if not paths:
        return ""
    be, ones = ("is", "one counts") if len(paths) == 1 else ("are", "ones count")
    return f"{few(paths)} {be} in {where} twice: the later {ones}"
