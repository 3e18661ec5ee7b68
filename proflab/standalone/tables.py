"""Add up rows, and print tables in a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any


def tolerate(output: Any) -> None:
    """Have an output show ? for what its encoding lacks, as Windows's pipes lack arrows."""
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="replace")


def add_up(rows: Iterable[dict], same: Sequence[str], counts: Sequence[str]) -> list[dict]:
    """Return one row for all that are equal in the keys `same`, with the sums of their counts."""
    groups: dict[tuple, dict] = {}
    for row in rows:
        key = tuple(str(row[name]) for name in same)
        if key not in groups:
            groups[key] = dict(row)
            continue
        for count in counts:
            groups[key][count] += row[count]
    return list(groups.values())


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print an empty line and the rows: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print()
    for first, *others in rows:
        cells = [f"  {cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        print(first.ljust(widths[0]) + "".join(cells).rstrip())
