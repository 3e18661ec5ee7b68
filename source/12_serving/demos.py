"""Models of published sizes, loads of requests, and what lesson 12's demo cells draw."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import MultipleLocator

from proflab.lesson.demo import demo_size
from proflab.lesson.hardware import Hardware
from proflab.lesson.plot import COLOURS, FAINT, INK, QUIET, Picture, canvas

CONFIGS = json.loads((Path(__file__).parent / "served.json").read_text("utf-8"))

# Numbers that a pass reads: all parameters without a table of which a token reads one row; where
# a token is multiplied with a part of them, that part. Added up from the configuration files.
WEIGHTS = {
    "GPT-2 XL": (1_557_611_200, None),
    "Llama-3-8B": (7_504_924_672, None),
    "Llama-3-70B": (69_503_033_344, None),
    "DeepSeek-V3": (670_099_725_312, 36_625_603_584),
}
_SHEETS = {  # NVIDIA's data sheets: FLOP/s in 16 bits (the T4: in 32) and in 8, bytes/s, bytes
    "T4": (8.1e12, None, 320e9, 16e9),
    "H100": (989.5e12, 1979e12, 3350e9, 80e9),
    "H200": (989.5e12, 1979e12, 4800e9, 141e9),
    "B200": (2250e12, 4500e12, 8000e9, 180e9),
}
GOOD_FIRST_MS, GOOD_TOKEN_MS = 500, 10
PLACES = [  # a model, bits of its weights, and cards that have room for it
    ("GPT-2 XL", 32, "T4", 1),
    ("Llama-3-8B", 16, "H100", 1),
    ("Llama-3-8B", 8, "B200", 1),
    ("Llama-3-70B", 16, "H200", 2),
    ("DeepSeek-V3", 8, "H200", 8),
]
POLICIES = {  # of a server: continuous, chunk
    "static": (False, None),
    "continuous": (True, None),
    "chunks of 512": (True, 512),
}
FORMATS = {  # ways to store 4,096 numbers: block, format, rounded up
    "FP8, one scale": (4096, "mxfp8"),
    "MXFP8": (32, "mxfp8"),
    "MXFP8, rounded up": (32, "mxfp8", True),
    "FP4, one scale": (4096, "mxfp4"),
    "MXFP4": (32, "mxfp4"),
    "NVFP4": (16, "nvfp4"),
}
DEADLINES = (5, 5.5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50)


# ── models, machines, requests ───────────────────────────────────────────────────────────────


def served(name: str, bits: float, kv_bytes: Callable, kept_bits: int = 16) -> dict[str, Any]:
    """Return a model as `pass_ms` takes it: weights of `bits`, kept numbers of `kept_bits`.

    kv_bytes: the student's. With one latent vector for all heads, attention multiplies each head's
    query with it and its rotary part, and mixes it: 2 · layers · heads · (2 · rank + rotary).
    """
    config, (weights, active) = CONFIGS[name], WEIGHTS[name]
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    pairs = 4 * layers * config.get("head_dim", config["hidden_size"] // heads) * heads
    if rank := config.get("kv_lora_rank"):
        pairs = 2 * layers * heads * (2 * rank + config["qk_rope_head_dim"])
    token = kv_bytes(config, 1, kept_bits)
    model = {"weights": weights, "bits": bits, "kv_bytes": token, "pair_flops": pairs}
    return model | ({"active": active} if active else {})


def cards(name: str, number: int = 1, bits: int = 16) -> tuple[Hardware, float]:
    """Return so many cards as one machine, and its bytes of memory; their links cost nothing."""
    sixteen, eight, bandwidth, memory = _SHEETS[name]
    peak = eight if bits == 8 and eight else sixteen
    title = f"{number} × {name}" if number > 1 else name
    return Hardware(
        number * peak, number * bandwidth, title, "NVIDIA's data sheet"
    ), number * memory


def load(seed: int, per_second: float, count: int = 160) -> list[tuple[float, int, int]]:
    """Return made-up requests: prompts of 200 to 4,000 tokens, answers of 20 to 600.

    Prompts of each length are as likely, answers of each order of magnitude.
    """
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1000 / per_second, count)).tolist()
    prompts = rng.integers(200, 4001, count).tolist()
    answers = np.exp(rng.uniform(math.log(20), math.log(600), count)).astype(int).tolist()
    return list(zip(arrivals, prompts, answers, strict=True))


def waits(simulate: Callable, rate: float, step_ms: Callable, policy: tuple) -> list[dict]:
    """Return what the requests of some loads wait for on 32 slots."""
    loads = (load(seed, rate) for seed in range(demo_size(3, 1)))
    return [each for requests in loads for each in simulate(requests, 32, step_ms, *policy)]


def toy_ms(step: Sequence[tuple[int, int]]) -> float:
    """Return the ms of a step of section 3's tests: 2, and 1 for each new token."""
    return 2.0 + sum(new for _, new in step)


def p95(waits: Sequence[Mapping[str, float]], key: str) -> float:
    """Return the 95th percentile, by rank, of what `simulate_serving` says of each request."""
    values = sorted(each[key] for each in waits)
    return values[math.ceil(0.95 * len(values)) - 1]


def goodput(waits: Sequence[Mapping[str, float]]) -> float:
    """Return the percentage of requests whose first and further tokens came in time."""
    good = [
        each["first_ms"] <= GOOD_FIRST_MS and each["per_token_ms"] <= GOOD_TOKEN_MS
        for each in waits
    ]
    return 100 * sum(good) / len(good)


def drafting(xl: dict, t4: Hardware, llama: dict, h100: Hardware) -> list[tuple]:
    """Return what section 5 compares: name, model, card, tokens of each text."""
    return [("XL, 64 tokens", xl, t4, 64), ("8B, 2,048 tokens", llama, h100, 2048)]


def checking(pass_ms: Callable, model: dict, card: Hardware, context: int, users: int) -> Callable:
    """Return a function of n: the ms of a pass over n new tokens of each user."""
    return lambda n: pass_ms(model, [(context - 1, n)] * users, card)


# ── formats ──────────────────────────────────────────────────────────────────────────────────


def outliers(seed: int, factor: float) -> list[float]:
    """Return 4,096 normal numbers, each 256th of them times a factor."""
    values = np.random.default_rng(seed).normal(size=4096)
    values[::256] *= factor
    return values.tolist()


def errors(block_scaled: Callable, factor: float, *way: Any) -> float:
    """Return the median relative error of stored numbers, over some draws.

    Of one draw it is the norm of all differences over the norm of the numbers.
    """
    found = []
    for seed in range(demo_size(12, 3)):
        values = outliers(seed, factor)
        differences = np.subtract(block_scaled(values, *way)["values"], values)
        found.append(np.linalg.norm(differences) / np.linalg.norm(values))
    return float(np.median(found))


# ── pictures ─────────────────────────────────────────────────────────────────────────────────


def gantt(runs: Mapping[str, Sequence[Sequence[tuple[int, int]]]], step_ms: Callable) -> Picture:
    """Draw what the steps of some runs hold, a row for each place in a step, on an axis of ms."""
    said = "; ".join(f"{name}: {len(steps)} steps" for name, steps in runs.items())
    depth = max(len(step) for steps in runs.values() for step in steps)
    with canvas(8.2, 0.9 + 0.45 * depth * len(runs), f"Steps of a server. {said}") as (
        picture,
        axes,
    ):
        ticks = {}
        for number, (name, steps) in enumerate(runs.items()):
            top, now = number * (depth + 0.7), 0.0
            ticks[top + depth / 2 - 0.5] = name
            for step in steps:
                ms = step_ms(step)
                for row, (cached, new) in enumerate(step):
                    paint = COLOURS[1] if cached == 0 or new > 1 else COLOURS[0]
                    axes.barh(top + row, ms, left=now, height=0.85, color=paint, edgecolor="white")
                    label = f"+{new}" if new > 1 else ""
                    axes.text(now + ms / 2, top + row, label, ha="center", va="center", size=8)
                now += ms
        for label, paint in {"reads a prompt": COLOURS[1], "writes a token": COLOURS[0]}.items():
            axes.barh([0], [0], color=paint, label=label)
        axes.set_yticks(list(ticks), list(ticks.values()))
        axes.set(xlabel="ms", ylim=(len(runs) * (depth + 0.7) - 0.7, -0.8))
        axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1, 1))
        axes.set_title("Four requests on two slots", loc="left")
    return picture


def pages(sequences: Sequence[Sequence], page: int) -> Picture:
    """Draw texts cut into pages: one that is shared has one colour wherever it stands."""
    known: dict[tuple, int] = {}
    for text in sequences:
        for end in range(page, len(text) + 1, page):
            known[tuple(text[:end])] = known.get(tuple(text[:end]), 0) + 1
    shared = [key for key, texts in known.items() if texts > 1]
    alt = f"{len(sequences)} texts in pages of {page}; {len(shared)} pages are shared"
    with canvas(7.5, 0.8 + 0.42 * len(sequences), alt) as (picture, axes):
        for row, text in enumerate(sequences):
            for start in range(0, len(text), page):
                key = tuple(text[: start + page])
                paint = COLOURS[shared.index(key) % len(COLOURS)] if key in shared else FAINT
                axes.barh(row, page, left=start, height=0.8, color=paint, edgecolor=INK, lw=0.6)
            for place, token in enumerate(text):
                axes.text(place + 0.5, row, str(token), ha="center", va="center", size=9)
        axes.xaxis.set_major_locator(MultipleLocator(page))
        axes.set(yticks=[], xlabel="place in the text", ylim=(len(sequences) - 0.4, -0.6))
        axes.set_title(f"Pages of {page}: those of one colour are kept once; grey ones alone")
    return picture


def frontier(lines: Mapping[str, Sequence[Mapping[str, float]]], title: str = "") -> Picture:
    """Draw dollars a million tokens against tokens a second for one user, a line for each text.

    lines: what `cheapest_batch` returned at several deadlines; the last of each, a ring, is full.
    """
    said = "; ".join(
        f"{name}: from ${points[0]['dollars_per_million']:.2f} with {points[0]['users']} users to "
        f"${points[-1]['dollars_per_million']:.2f} with {points[-1]['users']:,}"
        for name, points in lines.items()
    )
    alt = f"{title or 'The price of a token'}: dollars against tokens a second a user. {said}"
    with canvas(7.5, 3.9, alt) as (picture, axes):
        for (name, points), paint in zip(lines.items(), COLOURS, strict=False):
            speeds = [1000 / each["step_ms"] for each in points]
            prices = [each["dollars_per_million"] for each in points]
            axes.plot(speeds, prices, color=paint, marker="o", ms=3.5)
            axes.plot(speeds[-1], prices[-1], "o", ms=9, mfc="none", color=paint)
            axes.annotate(
                name, (speeds[0], prices[0]), (6, 0), textcoords="offset points", color=paint
            )
        axes.set(xscale="log", yscale="log", xlabel="tokens a second for one user")
        axes.set_ylabel("dollars a million tokens")
        axes.set_xticks([40, 60, 80, 100, 150, 200], ["40", "60", "80", "100", "150", "200"])
        axes.set_xticks([], minor=True)
        axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.15g}")
        axes.set_xlim(32, 400)
        axes.set_title(title)
        axes.grid(color=QUIET, alpha=0.3)
    return picture
