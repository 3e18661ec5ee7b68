"""Reduce published tables of microbenchmarks of real cards to the document of them in lesson 10.

    python docs/gpu/reduce_benches.py FOLDER

FOLDER holds the tables by the names in TABLES, each checked by its SHA-256. They are results of
gpu-benches (https://github.com/RRZE-HPC/gpu-benches at commit 1038c5d0, February 2025); carried
over are the figures alone.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import originals
from solved import CARDS, ROOFLINE

SOURCE = {
    "repository": "https://github.com/RRZE-HPC/gpu-benches",
    "commit": "1038c5d0",
    "date": "2025-02",
    "licence": "GPL-3.0",
}
NOTE = (
    "Measured by others and published with gpu-benches; carried over are figures alone, of tables "
    "of its results. A point of a roofline is the median over the cards of a table (eight of the "
    "A100), of small kernels the best of its block sizes."
)
A100_40, A100_80, V100 = "A100-SXM4-40GB", "A100-SXM4-80GB", "V100"
# kind, card, table, the first digits of its SHA-256.
TABLES = (
    ("roofline", A100_40, "gpu-roofline_alex_a100_40.txt", "29ca332388189546"),
    ("roofline", "H200", "gpu-roofline_h200.txt", "8d16c4af367573bc"),
    ("roofline", "MI300X", "gpu-roofline_mi300x.txt", "83d702b6876c31d3"),
    ("occupancy", V100, "gpu-stream_v100.txt", "a70ec0ceb4a59820"),
    ("occupancy", A100_40, "gpu-stream_a100_40.txt", "2a084339d5e45f2c"),
    ("occupancy", "H100 PCIe", "gpu-stream_h100_pcie.txt", "e95ad6c4091cfdaa"),
    ("occupancy", "GH200", "gpu-stream_gh200.txt", "d79ee7a00c31ca39"),
    ("cache", V100, "gpu-cache_v100.txt", "3ea07427466d6222"),
    ("cache", A100_80, "gpu-cache_a100_80.txt", "8f3e0ada445630d4"),
    ("cache", "H200", "gpu-l2-cache_h200.txt", "31e5dc8c1bb5c8bc"),
    ("latency", V100, "gpu-latency_v100.txt", "2a159aff5f8e84f5"),
    ("latency", A100_80, "gpu-latency_a100_80.txt", "6fefb7dccae64dab"),
    ("latency", "GH200", "gpu-latency_gh200.txt", "66a8dd5d8fa6dad0"),
    ("one by one", A100_80, "gpu-small-kernels_a100_80.txt", "1876c4738c010c4c"),
    ("in a graph", A100_80, "gpu-small-kernels_a100_80_graph.txt", "a57ee44f745e798b"),
    ("one by one", "H200", "gpu-small-kernels_h200.txt", "acda313577b17d59"),
    ("in a graph", "H200", "gpu-small-kernels_h200_graph.txt", "18e32f952dad5bc9"),
)
_ELEMENT = 16  # bytes that a small kernel moves for each element: it reads and writes a float64
_SMALL = re.compile(r"(?:\d+:)?(\d+) +\d+kB +(.*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def read(folder: Path, name: str, digits: str) -> str:
    """Return a table's text; SystemExit with a sentence unless it is that very file."""
    where = f"{SOURCE['repository']} at {SOURCE['commit']}"
    return originals.read(folder / f"benches_{name}", digits, where).decode("utf-8")


def roofline(text: str) -> list[list[float]]:
    """Return rows of FLOPs a byte, GB/s, GFLOP/s and W, the medians over the cards of a table."""
    pattern = r"([\d.]+) Fl/B +(\d+) GB/s +(\d+) GF/s +\d+ Mhz +(\d+) W"
    found = sorted([*map(float, row)] for row in re.findall(pattern, text))
    rows = []
    for _, same in groupby(found, key=lambda row: row[0]):
        rows.append([statistics.median(column) for column in zip(*same, strict=True)])
    return rows


def occupancy(text: str) -> list[list[float]]:
    """Return rows of occupancy in percent and the GB/s of a triad (two reads, one write)."""
    rows = []
    for line in text.splitlines():
        if "%" in line and "GB/s:" in line:
            occupancy = line.split("%")[0].split()[-1]
            rows.append([float(occupancy), float(line.split("GB/s:")[1].split()[3])])
    return rows


def cache(text: str) -> list[list[float]]:
    """Return rows of kB that are read again and again, and GB/s."""
    rows = []
    for line in text.splitlines():
        if " kB " in line:
            size, rate = re.findall(r"(\d+) kB", line)[-1], re.findall(r"([\d.]+) GB/s", line)[0]
            rows.append([float(size), float(rate)])
    return rows


def latency(text: str) -> list[list[float]]:
    """Return rows of kB through which a pointer runs, and clocks from one load to the next."""
    lines = (line.split() for line in text.splitlines() if line.startswith(" "))
    return [[float(line[2]), float(line[-1])] for line in lines if len(line) > 5]


def launches(text: str) -> list[list[float]]:
    """Return rows of bytes that a small kernel moves, and µs, by the best of its block sizes.

    A line that was cut off, with fewer block sizes than the others, is left out.
    """
    lines = [match for line in text.splitlines() if (match := _SMALL.match(line))]
    rates = [list(map(float, _NUMBER.findall(match[2]))) for match in lines]
    whole = max(map(len, rates))
    moved = [_ELEMENT * int(match[1]) for match in lines]
    return [
        [size, round(size / max(each) / 1e3, 3)]
        for size, each in zip(moved, rates, strict=True)
        if len(each) == whole
    ]


READERS: dict[str, Callable[[str], list[list[float]]]] = {
    "roofline": roofline,
    "occupancy": occupancy,
    "cache": cache,
    "latency": latency,
    "one by one": launches,
    "in a graph": launches,
}


def document(folder: Path) -> dict[str, Any]:
    """Return the document of a folder with all tables: one row for each."""
    rows: dict[str, list] = {}
    for kind, card, table, digits in TABLES:
        points = READERS[kind](read(folder, table, digits))
        path = re.sub("_", "/", table, count=1)
        source = {**SOURCE, "path": path, "card": card}
        rows.setdefault(kind, []).append({"points": points, "source": source})
    head = {
        "constructed": False,
        "note": NOTE,
        "command": "python docs/gpu/reduce_benches.py FOLDER",
    }
    unknown = {"driver": None, "versions": {}, "cpu": None, "card": None, "empty_ms": None}
    return {**head, "date": "2026-11-23", **unknown, "rows": rows}


def main() -> None:
    """Write the document from the folder on the command line, beside the lesson's text."""
    if len(sys.argv) != 2:
        raise SystemExit("Usage: python docs/gpu/reduce_benches.py FOLDER")
    ROOFLINE.save(document(Path(sys.argv[1])), CARDS)
    print(f"{CARDS}: {CARDS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
