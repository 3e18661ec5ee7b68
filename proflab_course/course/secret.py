"""Keep the course's secret, private/secret, and draw whole numbers from it that nobody can guess.

The same secret and words give the same number on every machine and in every version of Python, so
that what was drawn for a student need not be stored. All that a course draws follows from this one
secret by HMAC, with words for each use; a `--seed` is a further word. So whatever students see of
what was drawn, they can compute nothing else from it, not even the seed.
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
        # A link, for unlike a rename it fails where the file is there.
        with contextlib.suppress(FileExistsError):  # another command was first: its secret holds
            os.link(name, path)
    finally:
        os.unlink(name)


def seeded_key(root: Path, use: str, seed: int) -> bytes:
    """Return the 32 bytes that a command's `--seed` draws from: the secret decides them as well.

    use: what is drawn, such as "build"; the same seed draws something else for another use.
    """
    return _hmac(course_secret(root), "key", use, f"seed {seed}")


def digest(secret: bytes) -> str:
    """Return sixteen hexadecimal digits that tell secrets apart and do not give them away."""
    return _hmac(secret, "digest").hex()[:16]


def draw(secret: bytes, *words: str, low: int, high: int) -> int:
    """Return a whole number from low to high, both included, that the secret and words decide.

    It is low + value mod (high - low + 1), where value is the first 16 bytes, read as a big-endian
    integer, of HMAC-SHA256 (RFC 2104) over the words in UTF-8, joined by a NUL byte.

    Raises ValueError if low is above high or a word holds a NUL.
    """
    if low > high:
        raise ValueError(f"there is no whole number from {low} to {high}")
    # With 128 bits the modulo bias is negligible.
    value = int.from_bytes(_hmac(secret, *words)[:16], "big")
    return low + value % (high - low + 1)


def shuffled(secret: bytes, *words: str, items: Sequence[T]) -> list[T]:
    """Return the items in an order that the secret and words decide (Fisher and Yates)."""
    mixed = list(items)
    for last in range(len(mixed) - 1, 0, -1):
        other = draw(secret, *words, f"place {last}", low=0, high=last)
        mixed[last], mixed[other] = mixed[other], mixed[last]
    return mixed


def _hmac(secret: bytes, *words: str) -> bytes:
    if any("\0" in word for word in words):
        raise ValueError("a word holds a NUL, which would make it two")
    return hmac.new(secret, "\0".join(words).encode(), hashlib.sha256).digest()
