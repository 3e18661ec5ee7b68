"""Writes the constructed document of lesson 11: what its device cells might say of a T4.

    python docs/gpu/construct_train.py

No card was measured for it. A model makes the numbers from the factors in ASSUMED and adds noise
from a fixed seed; the same script writes the same bytes. `record.py 11` beside it measures a card.
"""

from __future__ import annotations

import math

import numpy as np
from constructed_memory import training_step
from constructed_trace import LAYERS, trace
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
    "watts of a product of zeros, ones, random numbers": {
        "zeros": 46.0,
        "ones": 51.0,
        "random": 69.5,
    },
    "MHz of a product of zeros, ones, random numbers": {
        "zeros": 1590,
        "ones": 1560,
        "random": 1245,
    },
    "ms of a product at 1,590 MHz": 6.1,
}
TRACED = {  # a step of 16 images in mixed precision
    "noise": 0.01,
    "µs of a launch": 6.0,
    "µs from a launch to its start": 4.0,
    "µs of a wait that is over": 12.0,
    "µs of an op on the host": 14.0,
    "µs to ask for memory": 7.0,
    "µs of a layer's kernels, forward": dict(
        zip(LAYERS, (420.0, 900.0, 700.0, 600.0, 640.0), strict=True)
    ),
    "µs of the loss": 35.0,
    "µs of an optimizer's kernel": 180.0,
    "µs to copy a batch from pinned memory": 820.0,
    "µs to copy a batch from pageable memory": 1750.0,
    "µs to copy the classes' weights": 9.0,
    "µs to write the loss down": 700.0,
    "µs to wait for a batch": {"starved": 34_000.0, "synchronous": 90.0, "good": 90.0},
}
FAULTS = ["item", "transfer", "shape"]
NOTE = (
    "Constructed, not measured: the assumed factors under model, a small model of a queue and of "
    "an allocator, and seeded noise. No card ran anything for this document."
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
                "peak_bytes": _peak(batch, switches),
                "switches": _SWITCHES | switches | {"faults": faults},
            }
        )
    return rows


def traces(random) -> list[dict]:
    """Return three traces of the same three steps."""
    wait = TRACED["µs to wait for a batch"]
    kinds = {
        "starved": {"workers": 0, "pin": False, "faults": ()},
        "synchronous": {"workers": 4, "pin": False, "faults": ("item", "transfer")},
        "good": {"workers": 4, "pin": True, "faults": ()},
    }
    return [
        {"name": name, "steps": 3, "trace": trace(TRACED, random, 3, loader_us=wait[name], **how)}
        for name, how in kinds.items()
    ]


def memories() -> list[dict]:
    """Return what the allocator did in a step of 128 images, without checkpoints and with."""
    rows = []
    for name, checkpoint in (("plain", False), ("checkpoint", True)):
        allocator = training_step(128, checkpoint)
        row = {"history": allocator.history, "segments": allocator.listed()}
        rows.append({"name": name, "batch": 128, **row})
    return rows


def powers() -> list[dict]:
    """Return a product of two 4,096² matrices of float16 with other numbers in them."""
    watts = ASSUMED["watts of a product of zeros, ones, random numbers"]
    mhz = ASSUMED["MHz of a product of zeros, ones, random numbers"]
    at = ASSUMED["ms of a product at 1,590 MHz"] * 1590
    return [
        {
            "name": name,
            "dtype": "float16",
            "n": 4096,
            "watts": watts[name],
            "sm_mhz": mhz[name],
            "ms": round(at / mhz[name], 3),
        }
        for name in watts
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
        "model": ASSUMED | {"a traced step of 16 images": TRACED},
        "empty_ms": 0.0025,
        "rows": {
            "step": steps(random),
            "trace": traces(random),
            "memory": memories(),
            "power": powers(),
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


def _peak(batch: int, switches: dict) -> int:
    """Return the most bytes that were allocated at once."""
    live, peak, held = 0, 0, {}
    allocator = training_step(batch, switches.get("checkpoint", False), switches.get("amp", False))
    for event in allocator.history:
        if event["action"] == "alloc":
            held[event["addr"]] = -(-event["size"] // 512) * 512
            live += held[event["addr"]]
        else:
            live -= held.pop(event["addr"])
        peak = max(peak, live)
    return peak


def main() -> None:
    """Write it beside the lesson's text."""
    TRAINING.save(construct(), CONSTRUCTED)
    print(f"{CONSTRUCTED.name} is constructed; no card was measured")


if __name__ == "__main__":
    main()
