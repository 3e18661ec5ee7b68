"""What lesson 05 shows of its profiles: tables in print, the picture of three shares.

The numbers are the students' own: what may not enter is a formula, but for sums and quotients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proflab.lesson import plot

_FAMILIES = {
    "conv2d": "convolutions", "linear": "linear layers", "matmul": "matmul",
    "batch_norm": "norms", "layer_norm": "norms", "relu": "activations",
    "gelu": "activations", "softmax": "activations",
}  # fmt: skip
_VIEWS = {"ms": "self_ms", "FLOPs": "matmul_flops", "bytes read": "bytes_read"}


def three_shares(recorded: Mapping[str, Sequence[dict]], title: str = "") -> plot.Picture:
    """Draw three bars a recording: its time, FLOPs and bytes read, divided among kinds of ops.

    recorded: a name for each recording, and its rows.
    """
    shown = {
        f"{name}: {view}": family_sums(rows, key)
        for name, rows in recorded.items()
        for view, key in _VIEWS.items()
    }
    return plot.shares(shown, unit="that the pass took", title=title)


def family_sums(rows: Sequence[dict], key: str) -> dict[str, float]:
    """Return sums of the rows' values for a key, by kind of op; without a kind: "others"."""
    sums: dict[str, float] = dict.fromkeys([*_FAMILIES.values(), "others"], 0)
    for row in rows:
        sums[_FAMILIES.get(row["op"], "others")] += row[key]
    return sums


def print_pass(found: Mapping[str, Any], machine: str) -> None:
    """Print the dict of profile_forward_pass in two lines; machine: its name."""
    print(f"{found['parameters']:,} parameters, {found['flops']:,} FLOPs, on {machine}:")
    print(f"{found['latency_ms']:.3f} ms, {found['gflops_per_second']:.3f} GFLOP/s,", end=" ")
    print(f"{found['peak_memory_mb']:.2f} MB at the peak, limited by {found['bottleneck']}")


def print_limits(
    work: Mapping[Any, tuple[int, int]], machines: Sequence[Any], limit: Callable[..., str]
) -> None:
    """Print a line for each machine with limit(FLOPs, bytes, machine), below FLOPs by byte.

    work: (FLOPs, bytes) by the number of rows, a column each. machines: Hardware.
    """
    intensities = [flops / moved for flops, moved in work.values()]
    print(_line("rows", work, "{:>10}"))
    print(_line("FLOPs a byte", intensities, "{:>10.1f}"))
    for machine in machines:
        limits = [limit(*one, machine) for one in work.values()]
        print(_line(machine.name, limits, "{:>10}"))


def _line(head: str, cells: Any, form: str) -> str:
    return f"{head:<34}" + "".join(map(form.format, cells))


def print_functions(rows: Sequence[dict], by: str) -> None:
    """Print the rows of hot_functions, a line each: function, calls, tottime and cumtime in s."""
    print(f"by {by:<52}calls   tottime   cumtime")
    for row in rows:
        times = f"{row['tottime']:>9.3f}s{row['cumtime']:>9.3f}s"
        print(f"  {row['function'][:48]:<50}{row['calls']:>8,}{times}")


def architectures(rows: Sequence[dict]) -> plot.Picture:
    """Print the rows of compare_architectures as a table, and draw their FLOPs a second."""
    print(f"{'':<20}{'parameters':>13}{'FLOPs':>17}{'ms':>9}{'MB':>9}{'GFLOP/s':>10}")
    for row in rows:
        counts = f"{row['name']:<20}{row['parameters']:>13,}{row['flops']:>17,}"
        times = f"{row['latency_ms']:>9.2f}{row['peak_memory_mb']:>9.1f}"
        print(f"{counts}{times}{row['gflops_per_second']:>10.1f}")
    rates = {row["name"]: row["gflops_per_second"] for row in rows}
    return plot.bars(rates, unit="10⁹ FLOPs a second", title="Three architectures")


def overheads(ratios: Mapping[tuple[str, str], float]) -> plot.Picture:
    """Draw a bar for each (program, profiler): how many times as long the program takes with it."""
    rows = [
        {"name": f"{name}: {way}", "count": ratio, "way": way}
        for (name, way), ratio in ratios.items()
    ]
    return plot.bars(
        rows, group="way", unit="times the time without", title="What watching costs",
        show="{:.2f}".format,
    )  # fmt: skip


def between_tokens(rows: Sequence[dict], key: str, block: str = "blocks.0") -> float:
    """Return attention's own part of what a block's ops have for a key: between tokens.

    rows: of a recording of GPT-2; its attention's linear layers are modules of their own.
    """
    inside = [row for row in rows if row["module"].startswith(block)]
    own = [row for row in inside if row["module"] == f"{block}.attn"]
    return sum(row[key] for row in own) / sum(row[key] for row in inside)


def attention_curves(predicted: Mapping[int, float], measured: Mapping[int, float]) -> plot.Picture:
    """Print both parts by length in tokens, and draw them as two curves."""
    for length in measured:
        parts = f"{predicted[length]:>6.1%} of the FLOPs, {measured[length]:>6.1%} of the time"
        print(f"{length:>5} tokens: {parts}")
    curves = {"predicted, by FLOPs": predicted, "measured, by time": measured}
    return plot.curves(
        {name: list(curve.items()) for name, curve in curves.items()},
        x="tokens", y="between tokens, part of a block", log="x", show="{:.0%}".format,
        title="Attention between tokens, GPT-2 small's block",
    )  # fmt: skip
