"""Data-sheet figures of a few cards, to compare measurements with, and what multiprocessors hold.

Figures are dense (without sparsity), at boost clock, from NVIDIA's data sheets of the named
variants, in FLOP/s and bytes/s; those of the B200 are an eighth of the DGX B200's. A measured roof
is always below: 70 to 95 % is usual. One above its data sheet is a mistake of the measurement, or
a card that is not the one it is taken for.
"""

from __future__ import annotations

TERA, GIGA = 10**12, 10**9

# A part of the name that the driver gives the card → its roofs.
DATA_SHEETS: dict[str, dict[str, float]] = {
    "T4": {"float32": 8.1 * TERA, "float16": 65 * TERA, "dram": 320 * GIGA},
    "V100-SXM2-16GB": {"float32": 15.7 * TERA, "float16": 125 * TERA, "dram": 900 * GIGA},
    "V100-DGXS-32GB": {"float32": 15.7 * TERA, "float16": 125 * TERA, "dram": 900 * GIGA},
    "L4": {
        "float32": 30.3 * TERA,
        "tf32": 60 * TERA,
        "float16": 121 * TERA,
        "bfloat16": 121 * TERA,
        "dram": 300 * GIGA,
    },
    "A100-SXM4-40GB": {
        "float32": 19.5 * TERA,
        "tf32": 156 * TERA,
        "float16": 312 * TERA,
        "bfloat16": 312 * TERA,
        "dram": 1555 * GIGA,
    },
    "A100-SXM4-80GB": {
        "float32": 19.5 * TERA,
        "tf32": 156 * TERA,
        "float16": 312 * TERA,
        "bfloat16": 312 * TERA,
        "dram": 2039 * GIGA,
    },
    "H100 80GB HBM3": {
        "float32": 67 * TERA,
        "tf32": 494.5 * TERA,
        "float16": 989.5 * TERA,
        "bfloat16": 989.5 * TERA,
        "float8": 1979 * TERA,
        "dram": 3350 * GIGA,
    },
    "H200": {
        "float32": 67 * TERA,
        "tf32": 494.5 * TERA,
        "float16": 989.5 * TERA,
        "bfloat16": 989.5 * TERA,
        "float8": 1979 * TERA,
        "dram": 4800 * GIGA,
    },
    "B200": {
        "float16": 2250 * TERA,
        "bfloat16": 2250 * TERA,
        "float8": 4500 * TERA,
        "float4": 9000 * TERA,
        "dram": 8000 * GIGA,
    },
}

DATES = {  # the year of each data sheet
    "T4": 2019,
    "V100-SXM2-16GB": 2020,
    "L4": 2023,
    "A100-SXM4-40GB": 2021,
    "A100-SXM4-80GB": 2021,
    "H100 80GB HBM3": 2023,
    "H200": 2024,
    "B200": 2025,
}

# Compute capability → threads, blocks and bytes of shared memory for which a multiprocessor has
# room, from the CUDA programming guide ("Technical Specifications per Compute Capability").
MULTIPROCESSORS: dict[tuple[int, int], tuple[int, int, int]] = {
    (6, 0): (2048, 32, 64 * 1024),
    (7, 0): (2048, 32, 96 * 1024),
    (7, 5): (1024, 16, 64 * 1024),
    (8, 0): (2048, 32, 164 * 1024),
    (8, 6): (1536, 16, 100 * 1024),
    (8, 9): (1536, 24, 100 * 1024),
    (9, 0): (2048, 32, 228 * 1024),
    (10, 0): (2048, 32, 228 * 1024),
    (12, 0): (1536, 24, 100 * 1024),
}
_REGISTERS = 65_536  # of 32 bits; in all of them


def multiprocessor(card: dict) -> dict:
    """Return a card's `name`, and the threads, registers, shared (bytes), blocks it has room for.

    card: a document's. A card that is not in the table has the limits of the last one before it.
    Raises ValueError for one that is older than all of them.
    """
    capability = tuple(card["compute_capability"])
    known = [each for each in MULTIPROCESSORS if each <= capability]
    if not known:
        raise ValueError(f"nothing is known of multiprocessors of compute capability {capability}")
    threads, blocks, shared = MULTIPROCESSORS[max(known)]
    name = f"{card['name']}, compute capability {'.'.join(map(str, capability))}"
    limits = {"threads": threads, "registers": _REGISTERS, "shared": shared, "blocks": blocks}
    return {"name": name, **limits}


def data_sheet(name: str) -> dict[str, float]:
    """Return the roofs promised for the card of this name; empty where no sheet is here."""
    words = name.split()
    for part, sheet in DATA_SHEETS.items():
        if set(part.split()) <= set(words):
            return sheet
    return {}


def print_ratios(source: dict, roofs: dict) -> None:
    """Print a card's roofs beside its data sheet, one a line.

    source: where they are from, as `Record.source` returns it, or a whole document.
    roofs: {"flops": {dtype: FLOP/s}, "bandwidth": {level: bytes/s}}.
    """
    card = source["card"]
    name = card if isinstance(card, str) else card["name"]
    how = "constructed" if source["constructed"] else source["date"]
    print(f"{f'{name}, {how}':<24}{'here':>14}{'data sheet':>16}{'ratio':>8}")
    sheet = data_sheet(name)
    for roof, measured in (roofs["flops"] | roofs["bandwidth"]).items():
        unit = "FLOP/s" if roof in roofs["flops"] else "B/s"
        here = f"{measured / TERA:.3g} T{unit}"
        if roof not in sheet:
            print(f"{roof:<22}{here:>16}{'says nothing':>16}")
            continue
        promised, ratio = f"{sheet[roof] / TERA:.3g} T{unit}", measured / sheet[roof]
        note = "   more than it can" if ratio > 1 else ""
        print(f"{roof:<22}{here:>16}{promised:>16}{ratio:>8.2f}{note}")


def print_ridges(*names: str) -> None:
    """Print what the data sheets of these cards promise: TB/s, and by type TFLOP/s and the ridge.

    The ridge is peak over bandwidth, in FLOPs a byte (Williams et al., 2009).
    """
    for name in names:
        sheet = dict(DATA_SHEETS[name])
        bandwidth = sheet.pop("dram")
        print(f"{name}, NVIDIA's data sheet of {DATES[name]}: {bandwidth / TERA:.3g} TB/s")
        for dtype, peak in sheet.items():
            print(f"  {dtype:<10}{peak / TERA:>8,.4g} TFLOP/s, ridge at {peak / bandwidth:>6,.0f}")
