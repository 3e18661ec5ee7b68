"""Make rows as lesson 05's recorder has them, with figures of the test's own."""

from __future__ import annotations

from typing import Any


def forward_row(
    op: str,
    module: str,
    self_ms: float,
    matmul_flops: int = 0,
    elementwise_flops: int = 0,
    bytes_read: int = 0,
    bytes_written: int = 0,
    ms: float | None = None,
) -> dict[str, Any]:
    """Return the row of one forward op on float32; ms is self_ms where it is not given.

    >>> row = forward_row("linear", "fc", 1.5, 12, 3, bytes_read=64, bytes_written=16)
    >>> row["op"], row["ms"], row["matmul_flops"], row["bytes_read"]
    ('linear', 1.5, 12, 64)
    """
    return {
        "op": op, "module": module, "phase": "forward", "start_ms": 7.0,
        "ms": self_ms if ms is None else ms, "self_ms": self_ms, "depth": 0,
        "input_shapes": [(2, 3)], "output_shape": (2, 3), "dtype": "float32",
        "matmul_flops": matmul_flops, "elementwise_flops": elementwise_flops,
        "bytes_read": bytes_read, "bytes_written": bytes_written,
    }  # fmt: skip


def made_up(keys: str, *rows: tuple) -> list[dict]:
    """Return rows for trying things out, from values for these keys, of which the first is op.

    "region loading" is a region called "loading", and "module a.b" a module; "m" is the module of
    all others. What is not among the keys is 0, but phase is "forward".
    """
    names = "start_ms ms self_ms depth matmul_flops elementwise_flops bytes_read bytes_written"
    made = []
    for row in rows:
        values = dict.fromkeys(names.split(), 0) | dict(zip(keys.split(), row, strict=True))
        op, _, module = values["op"].partition(" ")
        made.append({"phase": "forward"} | values | {"op": op, "module": module or "m"})
    return made
