"""Keep the course's secret, private/secret, and draw whole numbers from it that nobody can guess.

The same secret and words give the same number on every machine and in every version of Python, so
that what was drawn for a student need not be stored.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from proflab_course.course.layout import CourseError

PLACE = "private/secret"
LENGTH = 32
T = TypeVar("T")


def course_secret(root: Path) -> bytes:
    """Return the 32 bytes of private/secret; the first command that needs them makes the file.

    Only the owner may read it (mode 600). Commands that make it at once agree on one secret.

    Raises CourseError if the file holds anything else than 32 bytes.
    """
    path = root / PLACE
    if not path.exists():
        _make(path)
    found = path.read_bytes()
    if len(found) != LENGTH:
        raise CourseError(
            f"{PLACE} has {len(found)} bytes in place of {LENGTH}: put your copy of it back, or "
            "delete it, and all that is drawn from it will be drawn anew"
        )
    return found


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".secret")  # mode 600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(LENGTH))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):  # another command was first: its secret holds
            os.link(name, path)
    finally:
        os.unlink(name)


def digest(secret: bytes) -> str:
    """Return sixteen hexadecimal digits that tell secrets apart and do not give them away."""
    return hmac.new(secret, b"digest", hashlib.sha256).hexdigest()[:16]


def draw(secret: bytes, *words: str, low: int, high: int) -> int:
    """Return a whole number from low to high, both included, that the secret and words decide.

    It is low + value mod (high - low + 1), where value is the first 16 bytes, read as a big-endian
    integer, of HMAC-SHA256 (RFC 2104) over the words in UTF-8, joined by a NUL byte.

    Raises ValueError if low is above high or a word holds a NUL.
    """
    if low > high:
        raise ValueError(f"there is no whole number from {low} to {high}")
    if any("\0" in word for word in words):
        raise ValueError("a word holds a NUL, which would make it two")
    message = "\0".join(words).encode()
    value = int.from_bytes(hmac.new(secret, message, hashlib.sha256).digest()[:16], "big")
    return low + value % (high - low + 1)


def shuffled(secret: bytes, *words: str, items: Sequence[T]) -> list[T]:
    """Return the items in an order that the secret and words decide (Fisher and Yates)."""
    mixed = list(items)
    for last in range(len(mixed) - 1, 0, -1):
        other = draw(secret, *words, f"place {last}", low=0, high=last)
        mixed[last], mixed[other] = mixed[other], mixed[last]
    return mixed
