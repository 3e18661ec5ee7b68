"""Reduce published tables of microbenchmarks of real cards to one small document for lesson 10.

    python docs/gpu/reduce_benches.py FOLDER

FOLDER holds the tables by the names in TABLES, each checked by its SHA-256. They are results of
gpu-benches (https://github.com/RRZE-HPC/gpu-benches at commit 1038c5d0, February 2025); carried
over are the figures alone.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import originals

MEASURED = Path(__file__).parent / "measured"
SOURCE = {
    "repository": "https://github.com/RRZE-HPC/gpu-benches",
    "commit": "1038c5d0",
    "date": "2025-02",
    "licence": "figures from a repository under GPL-3.0",
}
A100_40, A100_80, V100 = "A100-SXM4-40GB", "A100-SXM4-80GB", "V100"
# kind, card, table, the first digits of its SHA-256.
TABLES = (
    ("roofline", A100_40, "gpu-roofline_alex_a100_40.txt", "29ca332388189546"),
    ("roofline", "H200", "gpu-roofline_h200.txt", "8d16c4af367573bc"),
    ("roofline", "MI300X", "gpu-roofline_mi300x.txt", "83d702b6876c31d3"),
    ("stream", V100, "gpu-stream_v100.txt", "a70ec0ceb4a59820"),
    ("stream", A100_40, "gpu-stream_a100_40.txt", "2a084339d5e45f2c"),
    ("stream", "H100 PCIe", "gpu-stream_h100_pcie.txt", "e95ad6c4091cfdaa"),
    ("stream", "GH200", "gpu-stream_gh200.txt", "d79ee7a00c31ca39"),
    ("cache", V100, "gpu-cache_v100.txt", "3ea07427466d6222"),
    ("cache", A100_80, "gpu-cache_a100_80.txt", "8f3e0ada445630d4"),
    ("cache", "H200", "gpu-l2-cache_h200.txt", "31e5dc8c1bb5c8bc"),
    ("latency", V100, "gpu-latency_v100.txt", "2a159aff5f8e84f5"),
    ("latency", A100_80, "gpu-latency_a100_80.txt", "6fefb7dccae64dab"),
    ("latency", "GH200", "gpu-latency_gh200.txt", "66a8dd5d8fa6dad0"),
    ("launch", A100_80, "gpu-small-kernels_a100_80.txt", "1876c4738c010c4c"),
    ("graph", A100_80, "gpu-small-kernels_a100_80_graph.txt", "a57ee44f745e798b"),
    ("launch", "H200", "gpu-small-kernels_h200.txt", "acda313577b17d59"),
    ("graph", "H200", "gpu-small-kernels_h200_graph.txt", "18e32f952dad5bc9"),
)
_ELEMENT = 16  # bytes that a small kernel moves for each element: it reads and writes a float64
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


def stream(text: str) -> list[list[float]]:
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
    """Return rows of bytes that a small kernel moves, and µs, by the best of its block sizes."""
    rows = []
    for line in text.splitlines():
        match = re.match(r"(?:\d+:)?(\d+) +\d+kB +(.*)", line)
        if match:
            moved = _ELEMENT * int(match[1])
            best = max(map(float, _NUMBER.findall(match[2])))
            rows.append([moved, round(moved / best / 1e3, 3)])
    return rows


READERS: dict[str, Callable[[str], list[list[float]]]] = {
    "roofline": roofline,
    "stream": stream,
    "cache": cache,
    "latency": latency,
    "launch": launches,
    "graph": launches,
}


def document(folder: Path) -> dict[str, Any]:
    """Return the document: where its figures are from, and kind → a list of cards with rows."""
    rows: dict[str, list] = {kind: [] for kind in READERS}
    for kind, card, table, digits in TABLES:
        found = READERS[kind](read(folder, table, digits))
        columns = re.match(r"Return rows of (.*?)[.;]", READERS[kind].__doc__ or "")
        what = columns[1] if columns else ""
        rows[kind].append({"card": card, "table": table, "columns": what, "rows": found})
    return {"source": SOURCE, **rows}


def main() -> None:
    """Write the document from the folder on the command line."""
    if len(sys.argv) != 2:
        raise SystemExit("Usage: python docs/gpu/reduce_benches.py FOLDER")
    path = MEASURED / "cards.json"
    text = json.dumps(document(Path(sys.argv[1])), separators=(",", ":"), ensure_ascii=False)
    path.write_text(text.replace('{"card"', '\n{"card"') + "\n", encoding="utf-8")
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
