"""Writes the constructed document of lesson 11: what the cells of its lab might say of a T4.

    python docs/gpu/construct_train.py

No card was measured for it. A model makes the numbers from the factors in ASSUMED and adds noise
from a fixed seed; the same script writes the same bytes. `record.py 11` beside it measures a card.
"""

from __future__ import annotations

import math

import numpy as np
from solved import ROOT, TRAINING

CONSTRUCTED = ROOT / "modules" / TRAINING.LESSON / "constructed_train.json"
CARD = {
    "name": "Tesla T4",
    "compute_capability": [7, 5],
    "multiprocessors": 40,
    "l2_bytes": 4 * 1024**2,
    "memory_bytes": 16 * 1024**3,
}
# Nobody measured these. They are made up, in sizes that are not implausible for a T4.
ASSUMED = {
    "ms as written, batch 128": 400.0,
    "ms with a loader of four workers": 290.0,
    "ms in mixed precision and channels-last": 170.0,
    "ms with checkpoints, batch 256": 388.0,
    "ms compiled": 150.0,
    "ms with all that helped": 136.0,
    "ms in mixed precision": 185.0,
    "spread of a step": 0.02,
    "s to compile": {"default": 38.0, "reduce-overhead": 45.0, "max-autotune": 165.0},
    "ms compiled by mode": {"default": 150.0, "reduce-overhead": 147.0, "max-autotune": 143.0},
    "times a new shape is compiled before torch gives up": 8,
}
FAULTS = ["item", "transfer", "shape"]
NOTE = (
    "Constructed, not measured: the assumed factors under model, and seeded noise. No card ran "
    "anything for this document."
)
_SWITCHES = {
    "workers": 0,
    "pin": False,
    "amp": False,
    "channels_last": False,
    "compile": False,
    "checkpoint": False,
    "fused_optimizer": False,
}
# name, assumed ms, batch, compared with, switches that are on, faults that are left
_PARTS = (
    ("as written", "as written, batch 128", 128, None, {}, FAULTS),
    ("data loading", "with a loader of four workers", 128, "as written",
     {"workers": 4, "pin": True}, FAULTS),
    ("AMP", "in mixed precision", 128, "data loading",
     {"workers": 4, "pin": True, "amp": True}, FAULTS),
    ("channels-last", "in mixed precision and channels-last", 128, "AMP",
     {"workers": 4, "pin": True, "amp": True, "channels_last": True}, FAULTS),
    ("checkpointing", "with checkpoints, batch 256", 256, "channels-last",
     {"workers": 4, "pin": True, "amp": True, "channels_last": True, "checkpoint": True}, FAULTS),
    ("compile, one shape", "compiled", 128, "channels-last",
     {"workers": 4, "pin": True, "amp": True, "channels_last": True, "compile": True},
     ["item", "transfer"]),
    ("all that helped", "with all that helped", 128, "compile, one shape",
     {"workers": 4, "pin": True, "amp": True, "channels_last": True, "compile": True,
      "fused_optimizer": True}, []),
)  # fmt: skip


def steps(random) -> list[dict]:
    """Return the lab's parts."""
    rows, per_image = [], {}
    for name, assumed, batch, against, switches, faults in _PARTS:
        ms = ASSUMED[f"ms {assumed}"]
        per_image[name] = ms / batch
        before = per_image[against] * batch if against else None
        pairs = [
            [round(_noisy(random, before), 2), round(_noisy(random, ms), 2)]
            for _ in range(12 if against else 0)
        ]
        after = sorted(pair[1] for pair in pairs) or [ms]
        half = len(after) // 2
        rows.append(
            {
                "name": name,
                "batch": batch,
                "ms": round((after[half] + after[~half]) / 2, 2),
                "against": against,
                "pairs": pairs,
                "losses": _losses(random, 50, 0.002 if switches.get("amp") else 0.0),
                "peak_bytes": None,
                "switches": _SWITCHES | switches | {"faults": faults},
            }
        )
    return rows


def compiled() -> list[dict]:
    """Return the modes of torch.compile, and two loops whose every batch has another shape.

    By default the second shape is compiled for all sizes; with dynamic=False each is, and after
    eight torch gives up.
    """
    eager = ASSUMED["ms in mixed precision and channels-last"]
    seconds, ms = ASSUMED["s to compile"], ASSUMED["ms compiled by mode"]
    again = ASSUMED["times a new shape is compiled before torch gives up"]
    rows = [{"name": "eager", "compile_s": 0.0, "ms": eager, "recompiles": 0}]
    rows += [{"name": m, "compile_s": seconds[m], "ms": ms[m], "recompiles": 0} for m in ms]
    once, lost = 2 * seconds["default"], again * seconds["default"]
    return [
        *rows,
        {
            "name": "many shapes, by default",
            "compile_s": once,
            "ms": ms["default"],
            "recompiles": 1,
        },
        {"name": "many shapes, dynamic=False", "compile_s": lost, "ms": eager, "recompiles": again},
    ]


def construct() -> dict:
    """Return the document."""
    random = np.random.default_rng(11)
    return {
        "constructed": True,
        "note": NOTE,
        "command": "python docs/gpu/construct_train.py",
        "date": "2026-11-22",
        "driver": "none: constructed",
        "versions": {},
        "cpu": "none: constructed",
        "card": CARD,
        "model": ASSUMED,
        "empty_ms": 0.0025,
        "rows": {
            "step": steps(random),
            "compile": compiled(),
        },
    }


def _noisy(random, ms: float) -> float:
    return ms * (1 + abs(float(random.normal(0, ASSUMED["spread of a step"]))))


def _losses(random, count: int, other: float) -> list[float]:
    """Return losses of a run that learns a thousand classes; `other` adds a little noise."""
    start, rate = math.log(1000), 0.011
    noise = np.random.default_rng(3).normal(0, 0.05, count)  # the same batches in all runs
    noise += random.normal(0, other, count) if other else 0
    return [round(start * math.exp(-rate * n) + float(noise[n]), 4) for n in range(count)]


def main() -> None:
    """Write it beside the lesson's text."""
    TRAINING.save(construct(), CONSTRUCTED)
    print(f"{CONSTRUCTED.name} is constructed; no card was measured")


if __name__ == "__main__":
    main()
