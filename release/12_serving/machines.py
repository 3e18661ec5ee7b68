"""Published models and cards, as lesson 12's demo cells serve the ones on the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proflab.lesson.cuda.sheets import DATA_SHEETS
from proflab.lesson.hardware import Hardware

CONFIGS = json.loads((Path(__file__).parent / "served.json").read_text("utf-8"))

# Numbers that a pass reads: all parameters without a table of which a token reads one row; where
# a token is multiplied with a part of them, that part. Added up from the configuration files.
WEIGHTS = {
    "GPT-2 XL": (1_557_611_200, None),
    "Llama-3-8B": (7_504_924_672, None),
    "Llama-3-70B": (69_503_033_344, None),
    "DeepSeek-V3": (670_099_725_312, 36_625_603_584),
    "gpt-oss-120b": (116_250_023_232, 5_132_849_472),
}
_CARDS = {  # their names in lesson 10's table of data sheets, and bytes of memory
    "T4": ("T4", 16e9),
    "H100": ("H100 80GB HBM3", 80e9),
    "H200": ("H200", 141e9),
    "B200": ("B200", 180e9),
}
PLACES = [  # a model, bits of its weights, and cards that have room for it
    ("GPT-2 XL", 32, "T4", 1),
    ("Llama-3-8B", 16, "H100", 1),
    ("Llama-3-8B", 8, "B200", 1),
    ("gpt-oss-120b", 4.25, "H100", 1),
    ("Llama-3-70B", 16, "H200", 2),
    ("DeepSeek-V3", 8, "H200", 8),
]


def served(
    name: str, bits: float, kv_bytes: Callable, kept_bits: int = 16, context: int = 1
) -> dict[str, Any]:
    """Return a model as `pass_ms` takes it: weights of `bits`, kept numbers of `kept_bits`.

    kv_bytes: the student's; where some layers forget, a token has the mean of a text's bytes.
    With one latent vector for all heads, attention multiplies each head's query with it and its
    rotary part, and mixes it: 2 · layers · heads · (2 · rank + rotary).
    """
    config, (weights, active) = CONFIGS[name], WEIGHTS[name]
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    pairs = 4 * layers * config.get("head_dim", config["hidden_size"] // heads) * heads
    if rank := config.get("kv_lora_rank"):
        pairs = 2 * layers * heads * (2 * rank + config["qk_rope_head_dim"])
    token = kv_bytes(config, context, kept_bits) / context
    model = {"weights": weights, "bits": bits, "kv_bytes": token, "pair_flops": pairs}
    return model | ({"active": active} if active else {})


def cards(name: str, number: int = 1, bits: float = 16) -> tuple[Hardware, float]:
    """Return so many cards as one machine, and its bytes of memory; their links cost nothing."""
    sheet, memory = DATA_SHEETS[_CARDS[name][0]], _CARDS[name][1]
    kind = "float32" if bits == 32 else "float8" if bits == 8 and "float8" in sheet else "float16"
    title = f"{number} × {name}" if number > 1 else name
    peak, bandwidth = number * sheet[kind], number * sheet["dram"]
    return Hardware(peak, bandwidth, title, "NVIDIA's data sheet"), number * memory
