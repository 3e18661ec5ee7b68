"""Writes the constructed document of lesson 10: what its device cells might say of a T4.

    python docs/gpu/construct.py

No card was measured for it. The device cells run as on a card, but for the card: a model stands
in for it, which knows the data sheet of a T4 and the factors in ASSUMED, and adds noise from a
fixed seed. The same script writes the same bytes. For a measured one, see record.py beside it.
"""

from __future__ import annotations

import os
from unittest.mock import MagicMock

import numpy as np
from solved import CONSTRUCTED, ROOFLINE, measures, solved

from proflab.lesson.cuda.sheets import DATA_SHEETS

CARD = {
    "name": "Tesla T4",
    "compute_capability": [7, 5],
    "multiprocessors": 40,
    "l2_bytes": 4 * 1024**2,
    "memory_bytes": 16 * 1024**3,
}
# Nobody measured these. A data sheet says 70 W, 320 GB/s and so on; how much of it is reached,
# and everything that no data sheet has, is made up, in sizes that are not implausible.
ASSUMED = {
    "share of the float32 peak, at 1,245 MHz": 0.76,
    "share of the float16 peak": 0.40,
    "share of the memory's bandwidth": 0.81,
    "L2 bandwidth, GB/s": 1200.0,
    "µs of the shortest kernel": 4.0,
    "µs of a launch": 4.5,
    "µs of a launch in a graph": 1.3,
    "µs of waiting": 11.0,
    "GB/s from pinned memory": 12.0,
    "GB/s from pageable memory": 5.5,
    "µs of a copy": 10.0,
    "GFLOP/s of the CPU": 95.0,
    "µs of a call on the CPU": 1.5,
    "n at which half the float32 peak is reached": 500.0,
    "n at which half the float16 peak is reached": 1100.0,
    "share of the roof reached by attention": 0.72,
    "share of the roof reached by fused attention": 0.35,
    "share of the roof reached by the other workloads": 0.90,
    "noise": 0.01,
}
MEASURED = ("in_flight", "sweep")  # kinds that cards.json has real curves of
EMPTY_MS = 0.0025
NOTE = (
    "Constructed, not measured: data-sheet figures of a T4, the assumed factors under model, and "
    "seeded noise. No card ran anything for this document."
)


class ModelCard:
    """Stands where a `Gpu` would, and asks a model for times in place of launching anything."""

    device = "cuda"

    def __init__(self, scope: dict) -> None:
        self.card, self.kind, self.scope = CARD, "", scope
        self.cupy, self.torch = MagicMock(), MagicMock()
        self.random = np.random.default_rng(10)
        sheet = DATA_SHEETS["T4"]
        self.peaks = {
            "float32": sheet["float32"] * ASSUMED["share of the float32 peak, at 1,245 MHz"],
            "float16": sheet["float16"] * ASSUMED["share of the float16 peak"],
        }
        self.bandwidth = sheet["dram"] * ASSUMED["share of the memory's bandwidth"]

    def dtypes(self) -> list[str]:
        return list(self.peaks)

    def wait(self) -> None:
        pass

    def row(self, what: dict, launch, repeats: int = 25, flush: bool = True) -> dict:
        ms = EMPTY_MS + getattr(self, f"_{self.kind}_ms")(what)
        return {**what, "events": self._events(self._noisy(ms, repeats)), **self._conditions()}

    def host_row(self, what: dict, action, repeats: int = 25) -> dict:
        ms = getattr(self, f"_{self.kind}_ms")(what)
        return {**what, "host_ms": self._noisy(ms, repeats), **self._conditions()}

    def both_row(self, what: dict, launch, repeats: int = 10, synchronize: bool = True) -> dict:
        events = self._noisy(max(self._trial_ms(what), EMPTY_MS), repeats)
        if what["name"] == "fresh kernel":
            events[0] += 180.0  # compiled while the device waits
        launching = (ASSUMED["µs of a launch"] + 8) / 1e3
        waits = ASSUMED["µs of waiting"] / 1e3
        host = [launching + (waits + ms if synchronize else 0) for ms in events]
        noisy = [round(ms + abs(self.random.normal(0, 0.001)), 5) for ms in host]
        return {**what, "host_ms": noisy, "events": self._events(events), **self._conditions()}

    # ── times of one launch, in ms ───────────────────────────────────────────────────────────

    def _moving(self, nbytes: float) -> float:
        return 1e3 * nbytes / self.bandwidth

    def _computing(self, flops: float, dtype: str, share: float = 1.0) -> float:
        return 1e3 * flops / self.peaks[dtype] / share

    def _stream_ms(self, what: dict) -> float:
        buffers = what["reads"] + what["writes"]
        moved = what["elements"] * buffers * what["itemsize"]
        hit = min(1.0, 0.8 * CARD["l2_bytes"] / moved) ** 2
        cached = 1e3 * moved / ASSUMED["L2 bandwidth, GB/s"] / 1e9
        once = hit * cached + (1 - hit) * self._moving(moved)
        return what["passes"] * (once + 2e-5)

    def _fma_ms(self, what: dict) -> float:
        flops = self.scope["fma_flops"](what["threads"], what["fmas"], what["accumulators"])
        warps = what["threads"] / CARD["multiprocessors"] / 32 / 4  # for each of four schedulers
        waiting = warps * what["accumulators"] * 2 / 4  # two cycles to issue, four to finish
        return self._computing(flops, "float32", min(1.0, waiting) * (1 - 0.02 / waiting))

    def _gemm_ms(self, what: dict) -> float:
        n, dtype = what["n"], what["dtype"]
        half = ASSUMED[f"n at which half the {dtype} peak is reached"]
        flops = self.scope["matmul_flops"](n, n, n)
        moved = 3 * n * n * (2 if dtype == "float16" else 4)
        walls = self._computing(flops, dtype, n**2 / (n**2 + half**2)), self._moving(moved)
        return ASSUMED["µs of the shortest kernel"] / 1e3 + max(walls)

    def _workload_ms(self, what: dict) -> float:
        """Return the sum of what its kernels take, one after another."""
        names = "op_flops", "ELEMENTWISE", "elementwise_flops"
        rules = (self.scope[each] for each in names)
        parts = self.scope["demos"].parts_of(what["name"], *rules)
        share = {"attention": "attention"}.get(what["name"], "the other workloads")
        others = ASSUMED[f"share of the roof reached by {share}"]
        fused = ASSUMED["share of the roof reached by fused attention"]
        return sum(
            max(
                self._computing(part["products"] or part["elementwise"], what["dtype"]),
                self._moving(part["bytes"]),
            )
            / (fused if part["op"] == "scaled_dot_product_attention" else others)
            for part in parts
        )

    def _copy_ms(self, what: dict) -> float:
        rate = ASSUMED[f"GB/s from {'pinned' if what['pinned'] else 'pageable'} memory"]
        slower = 0.9 if what.get("direction") == "from" else 1.0
        return ASSUMED["µs of a copy"] / 1e3 + what["bytes"] / rate / slower / 1e6

    def _crossover_ms(self, what: dict) -> float:
        n = what["n"]
        flops = self.scope["matmul_flops"](n, n, n)
        if what["where"] == "cpu":
            call = ASSUMED["µs of a call on the CPU"] / 1e3
            return call + flops / ASSUMED["GFLOP/s of the CPU"] / 1e6
        alone = self._gemm_ms({"n": n, "dtype": "float32"}) + ASSUMED["µs of a launch"] / 1e3
        if what["where"] == "gpu":
            return alone
        return alone + sum(
            self._copy_ms({"bytes": size * n * n, "pinned": False}) for size in (8, 4)
        )

    def _launch_ms(self, what: dict) -> float:
        each = "µs of a launch in a graph" if what["graph"] else "µs of a launch"
        return (ASSUMED["µs of waiting"] + what["launches"] * ASSUMED[each]) / 1e3

    def _trial_ms(self, what: dict) -> float:
        kernel = ASSUMED["µs of the shortest kernel"] / 1e3
        name = what["name"]
        if name == "cached result":
            return 0.0
        if name == "warm cache":
            return 1e3 * what["bytes"] / ASSUMED["L2 bandwidth, GB/s"] / 1e9
        if name == "fresh kernel":
            return self._moving(what["bytes"])
        n = round((what["flops"] / 2) ** (1 / 3))
        return kernel + self._gemm_ms({"n": n, "dtype": what["dtype"]})

    # ── what makes numbers look measured ─────────────────────────────────────────────────────

    def _noisy(self, ms: float, repeats: int) -> list[float]:
        cold = 1 + 0.5 * np.exp(-np.arange(repeats) / 1.2)  # the clock has yet to rise
        noise = 1 + np.abs(self.random.normal(0, ASSUMED["noise"], repeats))
        return [round(float(length), 5) for length in ms * cold * noise]

    def _events(self, lengths: list[float]) -> list[list[float]]:
        now, pairs = 0.25, []
        for length in lengths:
            pairs.append([round(now, 5), round(now + length, 5)])
            now += length + 0.25
        return pairs

    def _conditions(self) -> dict:
        busy = self.kind in ("fma", "gemm", "workload", "trial")
        mhz, watts, celsius = (1245, 69.5, 71) if busy else (1440, 52.0, 64)
        watts += float(self.random.uniform(-0.5, 0.5))
        return {"sm_mhz": mhz, "watts": round(watts, 1), "celsius": celsius}


def construct() -> dict:
    """Return the document, from the lesson's own device cells and the model."""
    os.environ.pop("PROFLAB_DEMO", None)  # all sizes
    scope = solved()
    card, rows = ModelCard(scope), {}
    for kind, measure in measures(scope).items():
        if kind in MEASURED:
            continue
        card.kind = kind
        rows[kind] = list(measure(card))
    return {
        "constructed": True,
        "note": NOTE,
        "command": "python docs/gpu/construct.py",
        "date": "2026-11-21",
        "driver": "none: constructed",
        "versions": {},
        "cpu": "none: constructed",
        "card": CARD,
        "model": ASSUMED,
        "empty_ms": EMPTY_MS,
        "rows": rows,
    }


def main() -> None:
    """Write it beside the lesson's text."""
    ROOFLINE.save(construct(), CONSTRUCTED)
    print(f"{CONSTRUCTED.name} is constructed; no card was measured")


if __name__ == "__main__":
    main()
