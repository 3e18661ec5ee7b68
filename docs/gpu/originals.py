"""Read the published files of which the measured documents of lessons 10 and 11 are made."""

from __future__ import annotations

import hashlib
from pathlib import Path


def read(path: Path, digits: str, where: str) -> bytes:
    """Return a file's bytes; SystemExit with a sentence unless it is the one that was reduced.

    digits: the first of its SHA-256, or all; where: it can be fetched.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}; it is in {where}") from None
    if not hashlib.sha256(data).hexdigest().startswith(digits):
        raise SystemExit(f"{path} is another file than the one that was reduced")
    return data
