"""Tables and sentences about memory that was measured or counted elsewhere. Bytes, or MB of 1024².

What may not enter: a measurement, or a count that a student is to make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


def table(corner: str, columns: Mapping[str, str], rows: Mapping[str, Sequence[float]]) -> None:
    """Print a line for each row, its numbers below the columns' names.

    columns: name → format of its numbers, such as ",.1f"; each is as wide as its name at least.
    """
    first = max(map(len, (corner, *rows)))
    shown = [
        [format(n, form) for n, form in zip(row, columns.values(), strict=True)]
        for row in rows.values()
    ]
    widths = [
        max(map(len, (name, *(row[i] for row in shown)))) + 3 for i, name in enumerate(columns)
    ]
    for name, cells in zip((corner, *rows), (list(columns), *shown), strict=True):
        print(f"{name:<{first}}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True)))


def print_passes(rows: Mapping[str, Mapping[str, float]]) -> None:
    """Print the rows of measure_memory as a table, one a model."""
    columns = {"parameters": ".1f", "activations": ".1f", "peak": ".1f", "efficiency": ".0%"}
    keys = [f"{part}_memory_mb" for part in ("parameter", "activation", "peak")]
    keys.append("memory_efficiency")
    table("MB", columns, {name: [row[key] for key in keys] for name, row in rows.items()})


def print_saved(document: Mapping, saved: Callable[[str, tuple[int, ...]], int]) -> None:
    """Print saved bytes that torch recorded beside those that `saved(model, input_shape)` gives.

    document: rows (model, input_shape, bytes), and differences (model, op, bytes, reason), of which
    the bytes are those that torch keeps and proflab does not.
    """
    rows = {}
    for row in document["rows"]:
        name, shape, torch = row["model"], tuple(row["input_shape"]), row["bytes"]
        ours = saved(name, shape)
        less = sum(d["bytes"] for d in document["differences"] if d["model"] == name)
        rows[f"{name} {shape}"] = ours, torch, ours - torch, -less
    columns = dict.fromkeys(("yours", "torch", "difference", "explained"), ",")
    table("bytes", columns, rows)
    for difference in document["differences"]:
        print(f"\n{difference['model']}, {difference['op']}: {difference['reason']}")


def print_leaks(found: Mapping[str, Mapping]) -> None:
    """Print what find_leak says of each step: KB a step and who allocates, or that none leaks."""
    width = max(map(len, found))
    for name, row in found.items():
        rate = f"{row['bytes_per_step'] / 1024:,.0f} KB a step, by {row['function']}"
        print(f"{name:<{width}}   {rate if row['function'] else 'no leak'}")
