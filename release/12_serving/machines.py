"""Published models and cards, as lesson 12's demo cells serve the ones on the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proflab.lesson.cuda.sheets import DATA_SHEETS
from proflab.lesson.hardware import Hardware

CONFIGS = json.loads((Path(__file__).parent / "served.json").read_text("utf-8"))

# Numbers of a model's weights, added up from the configuration files. Read: what a pass reads,
# without a table of which a token needs one row (of GPT-2 XL, its positions, 0.1 %, count as read).
# Active: where a token is multiplied by a part of them, that part. Held: what memory holds, tables
# included. Wide: those held in 16 bits, whatever the others have.
WEIGHTS = {
    "GPT-2 XL": {"read": 1_557_611_200, "held": 1_557_611_200},
    "Llama-3-8B": {"read": 7_504_924_672, "held": 8_030_261_248},
    "Llama-3-70B": {"read": 69_503_033_344, "held": 70_553_706_496},
    "DeepSeek-V3": {
        "read": 670_099_725_312,
        "active": 36_625_603_584,
        "held": 671_026_404_352,
    },
    "gpt-oss-120b": {
        "read": 116_250_023_232,
        "active": 5_132_849_472,
        "held": 116_829_156_672,
        "wide": 2_167_371_072,
    },
}
_CARDS = {  # their names in lesson 10's table of data sheets, and their bytes: a GB is 10⁹
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
    name: str, bits: float, kv_bytes: Callable, cache_bits: int = 16, context: int = 1
) -> dict[str, Any]:
    """Return a model as `pass_ms` takes it: weights of `bits`, a cache of `cache_bits`.

    bits: of all weights but those that stay in 16; the model's own "bits" are the mean of those
    that a pass reads. kv_bytes: the student's; where some layers forget, a token has the mean of a
    text's bytes. With one latent vector for all heads, attention multiplies each head's query by it
    and its rotary part, and mixes it: 2 · layers · heads · (2 · rank + rotary).
    """
    config, weights = CONFIGS[name], WEIGHTS[name]
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    pairs = 4 * layers * config.get("head_dim", config["hidden_size"] // heads) * heads
    if rank := config.get("kv_lora_rank"):
        pairs = 2 * layers * heads * (2 * rank + config["qk_rope_head_dim"])
    return {
        "weights": weights["read"],
        "bits": 8 * weight_bytes(name, bits, "read") / weights["read"],
        "kv_bytes": kv_bytes(config, context, cache_bits) / context,
        "pair_flops": pairs,
        "held_bytes": weight_bytes(name, bits),
    } | ({"active": weights["active"]} if "active" in weights else {})


def weight_bytes(name: str, bits: float, what: str = "held") -> float:
    """Return the bytes of a model's weights that memory holds, or that a pass reads."""
    weights = WEIGHTS[name]
    unread = weights["held"] - weights[what]
    wide = weights["wide"] - unread if "wide" in weights else 0
    return ((weights[what] - wide) * bits + 16 * wide) / 8


def cards(name: str, number: int = 1, bits: float = 16) -> tuple[Hardware, float]:
    """Return so many cards as one machine, and its bytes of memory; their links cost nothing."""
    sheet, memory = DATA_SHEETS[_CARDS[name][0]], _CARDS[name][1]
    kind = "float32" if bits == 32 else "float8" if bits == 8 and "float8" in sheet else "float16"
    title = f"{number} × {name}" if number > 1 else name
    peak, bandwidth = number * sheet[kind], number * sheet["dram"]
    return Hardware(peak, bandwidth, title, "NVIDIA's data sheet"), number * memory
