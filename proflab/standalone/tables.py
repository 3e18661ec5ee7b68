"""Print tables in a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print an empty line and the rows: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print()
    for first, *others in rows:
        cells = [f"  {cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        print(first.ljust(widths[0]) + "".join(cells).rstrip())


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters, the last one "…" where it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
