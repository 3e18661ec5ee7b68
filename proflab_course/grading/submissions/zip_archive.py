"""Opens a zip archive that a student handed in: in memory, up to limits, never onto the disk."""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from proflab_course.grading.plan import MB
from proflab_course.grading.submissions.decode_text import ZIP

_MAX_MEMBERS = 2_000
MAX_UNPACKED = 64 * MB
_ENTRY = b"PK\x01\x02"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError)


@dataclass
class Unpacked:
    """The files of an archive by their path in it; `problem` says what could not be opened."""

    files: dict[str, bytes] = field(default_factory=dict)
    problem: str = ""


def unpack(data: bytes, name: str, nested: bool = True) -> Unpacked:
    """Return the regular files of a zip archive, and with `nested` those of archives in it."""
    found = Unpacked()
    # Counted before they are read, which takes ten times the room.
    if data.count(_ENTRY) > _MAX_MEMBERS:
        found.problem = f"{name} holds more than {_MAX_MEMBERS:,} files"
        return found
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _read_members(archive, name, found)
    except _BROKEN:
        found.problem = found.problem or f"{name} is a damaged zip archive"
    except RuntimeError:  # what zipfile raises for want of a password
        found.problem = _locked(name)
    if nested:
        _open_nested(found, name)
    return found


def _read_members(archive: zipfile.ZipFile, name: str, found: Unpacked) -> None:
    left = MAX_UNPACKED
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
        # What the archive says of a member's size may be a lie.
        with archive.open(member) as file:
            data = file.read(left + 1)
        left -= len(data)
        if left < 0:
            found.problem = f"{name} holds more than {MAX_UNPACKED // MB} MB"
            return
        found.files.setdefault(path, data)


def _open_nested(found: Unpacked, name: str) -> None:
    """Put the files of archives in an archive beside its own; go no deeper."""
    left = MAX_UNPACKED - sum(map(len, found.files.values()))
    for path, data in list(found.files.items()):
        if not data.startswith(ZIP) or path.endswith((".docx", ".xlsx", ".pptx")):
            continue
        inner = unpack(data, f"{path} in {name}", nested=False)
        found.problem = found.problem or inner.problem
        left -= sum(map(len, inner.files.values()))
        if left < 0:
            found.problem = f"{name} holds more than {MAX_UNPACKED // MB} MB"
            return
        del found.files[path]
        for below, content in inner.files.items():
            found.files.setdefault(f"{path}/{below}", content)


def _safe_path(name: str) -> str:
    """Return a member's path below where it is unpacked; empty if it leads elsewhere."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    odd = not parts or parts[0].startswith("/") or ".." in parts or ":" in parts[0]
    fits = all(part.isprintable() and len(part.encode("utf-8", "replace")) < 256 for part in parts)
    return "" if odd or not fits or len(parts) > 16 else "/".join(parts)


def _is_regular(member: zipfile.ZipInfo) -> bool:
    kind = stat.S_IFMT(member.external_attr >> 16)
    return not member.is_dir() and kind in (0, stat.S_IFREG)


def _locked(name: str) -> str:
    return f"{name} is encrypted: hand it in without a password"
