"""Entries made from a right body by one change each."""

from __future__ import annotations

import textwrap


def edited(body: str, changes: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Return sentence → code: the body with each old text replaced by the new one beside it.

    changes: sentence → (old, new, old, new, …). Raises ValueError for a text that is not there.
    """
    body, entries = textwrap.dedent(body).strip("\n"), {}
    for sentence, pairs in changes.items():
        code = body
        for old, new in zip(pairs[::2], pairs[1::2], strict=True):
            if old not in code:
                raise ValueError(f"{sentence}: {old!r} is not in the body")
            code = code.replace(old, new)
        entries[sentence] = code
    return entries
