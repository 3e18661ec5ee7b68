"""Put names and counts into sentences: for messages, tables and pages alike."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them.

    >>> listed(["ann", "bo", "cy"]), listed(["ann"])
    ('ann, bo and cy', 'ann')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def many(number: int, what: str) -> str:
    """Return a count with its noun, which takes an s in the plural.

    >>> many(1, "op"), many(1000, "op")
    ('1 op', '1,000 ops')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def shortened(text: str, most: int = 100) -> str:
    """Return a text of at most so many characters, the last one "…" where it was longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
