"""Print tables in a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any


def tolerate(output: Any) -> None:
    """Have an output show ? for what its encoding lacks, as Windows's pipes lack arrows."""
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="replace")


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print an empty line and the rows: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print()
    for first, *others in rows:
        cells = [f"  {cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        print(first.ljust(widths[0]) + "".join(cells).rstrip())
