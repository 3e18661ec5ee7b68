"""Open a handed-in zip archive in memory, within limits, and write nothing to the disk."""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from proflab_course.grading.limits import MB
from proflab_course.grading.submissions.decode_text import ZIP

MAX_MEMBERS = 2_000
MAX_UNPACKED = 64 * MB
_ENTRY = b"PK\x01\x02"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError)


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
    """The files of an archive by their path in it; `problem` names what could not be opened."""

    files: dict[str, bytes] = field(default_factory=dict)
    problem: str = ""


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
            _read_members(archive, name, found, room)
    except _BROKEN:
        found.problem = found.problem or f"{name} is a damaged zip archive"
    except RuntimeError:  # zipfile needs a password
        found.problem = _locked(name)
    if nested:
        _open_nested(found, name, room)
    return found


def _read_members(archive: zipfile.ZipFile, name: str, found: Unpacked, room: Room) -> None:
    for member in archive.infolist():
        path = _safe_path(member.filename)
        if not path or not _is_regular(member):
            continue
        if member.flag_bits & 1:
            found.problem = _locked(name)
            continue
        if member.compress_type not in _METHODS:
            found.problem = f"{name} is packed in a way that is not read: make a plain zip"
            continue
        # The archive may state a wrong size.
        with archive.open(member) as file:
            data = file.read(max(0, room.bytes) + 1)
        room.bytes -= len(data)
        if room.bytes < 0:
            found.problem = room.exceeded_by(name, f"{MAX_UNPACKED // MB} MB")
            return
        found.files.setdefault(path, data)


def _open_nested(found: Unpacked, name: str, room: Room) -> None:
    """Add the files of archives in an archive to its own, one level deep."""
    for path, data in list(found.files.items()):
        if not data.startswith(ZIP) or path.endswith((".docx", ".xlsx", ".pptx")):
            continue
        inner = unpack(data, f"{path} in {name}", room, nested=False)
        found.problem = found.problem or inner.problem
        del found.files[path]
        for below, content in inner.files.items():
            found.files.setdefault(f"{path}/{below}", content)


def _safe_path(name: str) -> str:
    """Return a member's path below the archive's root; empty if it leads elsewhere."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    odd = not parts or parts[0].startswith("/") or ".." in parts or ":" in parts[0]
    fits = all(part.isprintable() and len(part.encode("utf-8", "replace")) < 256 for part in parts)
    return "" if odd or not fits or len(parts) > 16 else "/".join(parts)


def _is_regular(member: zipfile.ZipInfo) -> bool:
    kind = stat.S_IFMT(member.external_attr >> 16)
    return not member.is_dir() and kind in (0, stat.S_IFREG)


def _locked(name: str) -> str:
    return f"{name} is encrypted: hand it in without a password"
