"""The cases of lesson 12: arguments, what they give, and what the lesson calls them."""

from __future__ import annotations

import math
from types import SimpleNamespace

from serving_again import DEEPSEEK_V3, GPT2_XL, LLAMA_8B, LLAMA_70B

TOY = SimpleNamespace(peak_flops=2e10, bandwidth=1e9)
T4 = SimpleNamespace(peak_flops=8.1e12, bandwidth=320e9)
H100 = SimpleNamespace(peak_flops=989.5e12, bandwidth=3350e9)
EIGHT_H100 = SimpleNamespace(peak_flops=8 * 989.5e12, bandwidth=8 * 3350e9)
EIGHT_H200_FP8 = SimpleNamespace(peak_flops=8 * 1979e12, bandwidth=8 * 4800e9)
SMALL = {"weights": 10**6, "bits": 16, "kv_bytes": 1000, "pair_flops": 2000}
SPARSE = SMALL | {"active": 250_000}


def config(layers, heads, hidden, **more):
    return {
        "num_hidden_layers": layers, "num_attention_heads": heads, "hidden_size": hidden, **more,
    }  # fmt: skip


LLAMA = config(32, 32, 4096, num_key_value_heads=8)
XL = config(48, 25, 1600)
V3 = config(61, 128, 7168, kv_lora_rank=512, qk_rope_head_dim=64)
V2 = config(60, 128, 5120, kv_lora_rank=512, qk_rope_head_dim=64)
DEEPSEEK_67B = config(95, 64, 8192, num_key_value_heads=8)
OSS = config(
    36, 64, 2880, num_key_value_heads=8, head_dim=64, sliding_window=128,
    layer_types=["sliding_attention", "full_attention"] * 18,
)  # fmt: skip
R = [(0, 4, 5), (0, 2, 2), (3, 3, 3), (3, 6, 1)]
HIDDEN = [(4, 5, 2), (0, 1, 4), (4, 2, 3), (30, 3, 1), (4, 1, 1)]
V = [12, 1, -2, 0.4, 0, 0, -0.25, 0.125]
TEXTS = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 9], [1, 2, 7, 8]]
LENGTHS = [[(n, i) for i in range(size)] for n, size in enumerate((13, 250, 1900, 40, 700))]
USERS = [["same"] * 1000 + [(user, i) for i in range(100)] for user in range(32)]
V3_EXPERTS = (16_190_954_496, 44_040_192, 58, 256, 8)
DAY = {
    "nodes": 226.75, "gpus_per_node": 8, "dollars_per_gpu_hour": 2, "input_tokens": 608e9,
    "hit_tokens": 342e9, "output_tokens": 168e9, "hit_price": 0.14, "miss_price": 0.55,
    "output_price": 2.19, "input_rate": 73_700, "output_rate": 14_800,
}  # fmt: skip
SECOND_DAY = {
    "nodes": 2, "gpus_per_node": 4, "dollars_per_gpu_hour": 1, "input_tokens": 8.64e9,
    "hit_tokens": 4.32e9, "output_tokens": 864e6, "hit_price": 0.01, "miss_price": 0.02,
    "output_price": 0.25, "input_rate": 200_000, "output_rate": 10_000,
}  # fmt: skip


def costs_by_tokens(sequences):
    return 2 + sum(new for _, new in sequences)


def costs_by_cached(sequences):
    new, cached = map(sum, zip(*((n, c) for c, n in sequences), strict=True))
    return max(5, new / 2) + cached / 10


def step(ms):
    return lambda n: ms


def named(names, *values):
    return dict(zip(names, values, strict=True))


LIMITS = ("compute", "cache", "memory")
PAGES = ("alone", "shared", "empty")
DRAFT = ("k", "tokens", "speedup")
MOE = ("total", "active", "touched")
BATCH = ("users", "step_ms", "tokens_per_second", "dollars_per_million", "joules_per_token")
BOOKS = ("cost", "income", "margin", "nodes_needed", "output_cost_per_million")
WAITS = ("first_ms", "per_token_ms", "done_ms")


def waits(**columns):
    """Return rows of some of the keys, from columns."""
    return [named(columns, *row) for row in zip(*columns.values(), strict=True)]


TABLE = {
    "kv_bytes": [
        ((LLAMA, 1), 131_072),
        ((XL, 1024, 32), 629_145_600),
        ((XL, 1024), 314_572_800),
        ((config(2, 4, 32, num_key_value_heads=1, sliding_window=4), 10, 8), 320),
        ((config(1, 64, 2880, num_key_value_heads=8, head_dim=64), 1), 2_048),
        ((V3, 1), 70_272),
        ((OSS, 8192), 306_708_480),
        ((config(1, 1, 1), 1, 3), 1),
        ((config(2, 1, 1), 5, 5), 13),
        ((V3, 200_000), 14_054_400_000),
        (({"text_config": config(2, 4, 32, head_dim=None, layer_types=None)}, 10), 2_560),
        ((V3, 131_072, 8), 4_605_345_792),
        ((V2, 1), 69_120),
        ((V2, 1, 6), 25_920),
        ((LLAMA, 0), 0),
        ((OSS, 1), 73_728),
        ((config(80, 64, 8192, num_key_value_heads=8), 1), 327_680),
        ((config(126, 128, 16_384, num_key_value_heads=8), 1), 516_096),
        ((config(40, 40, 5120), 1), 819_200),
        ((DEEPSEEK_67B, 1), 389_120),
    ],
    "generation_flops": [
        ((12, 768, 50_257, 32, 32, False), 263_433_732_096),
        ((12, 768, 50_257, 32, 32, True), 13_264_601_088),
        ((12, 768, 50_257, 128, 128, False), 4_353_200_947_200),
        ((12, 768, 50_257, 128, 128, True), 54_700_474_368),
    ],
    "pass_ms": [
        ((SMALL, [(999, 1)], TOY), 3.0),
        ((SMALL, [(999, 1)] * 4, TOY), 6.0),
        ((SMALL, [(0, 100)], TOY), 10.505),
        ((SMALL, [(900, 100)], TOY), 19.505),
        ((SMALL, [(999, 1), (0, 50)], TOY), 6.15),
        ((SPARSE, [(0, 50)], TOY), 2.1275),
        ((SMALL, [(999, 1)], TOY, 0.25), 3.25),
        ((SMALL | {"bits": 4}, [(99, 1)] * 3, TOY), 0.8),
        ((GPT2_XL, [(1023, 1)], T4), 21.43622),
        ((GPT2_XL, [(1023, 1)] * 32, T4), 82.3847),
        ((LLAMA_8B, [(8191, 1)], H100), 4.80107199045),
        ((LLAMA_8B, [(0, 8192)], H100), 142.046507685),
        ((GPT2_XL, [(0, 51)], T4), 19.7),
        ((GPT2_XL, [(0, 1)], T4), 19.5),
        ((GPT2_XL, [(0, 1024)], T4), 413.7),
    ],
    "batch_limits": [
        ((SMALL, 500, TOY, 10**7), named(LIMITS, 20.0, 4.0, 16)),
        ((SMALL | {"bits": 8}, 250, TOY, 4 * 10**6), named(LIMITS, 10.0, 4.0, 12)),
        ((SPARSE, 500, TOY, 9_900_000), named(LIMITS, 80.0, 4.0, 15)),
        ((GPT2_XL, 1024, T4, 16 * 10**9), named(LIMITS, 50.625, 9.903025, 15)),
        ((LLAMA_8B, 8192, H100, 80 * 10**9), named(LIMITS, 295.3731, 13.979012, 59)),
        ((LLAMA_8B, 1024, H100, 80 * 10**9), named(LIMITS, 295.3731, 111.832, 476)),
        (
            (DEEPSEEK_V3, 8192, EIGHT_H200_FP8, 8 * 141 * 10**9),
            named(LIMITS, 3_771.631, 1_164.038, 795),
        ),
    ],
    "simulate_serving": [
        (([(0, 4, 3)], 2, costs_by_tokens), [named(WAITS, 6.0, 3.0, 12.0)]),
        (
            (R, 2, costs_by_tokens),
            waits(
                first_ms=[8, 8, 15, 31],
                per_token_ms=[4.5, 4.0, 4.0, 0.0],
                done_ms=[26, 12, 23, 31],
            ),
        ),
        (([(9, 1, 1), (0, 1, 1)], 1, costs_by_tokens), waits(first_ms=[3.0, 3.0])),
        (
            (R, 2, costs_by_tokens, False),
            waits(first_ms=[8, 8, 29, 29], per_token_ms=[3.25, 4.0, 3.0, 0.0]),
        ),
        (
            ([(0, 2, 2), (100, 2, 2)], 2, costs_by_tokens, False),
            waits(first_ms=[4.0, 4.0]),
        ),
        (
            ([(0, 2, 6), (5, 20, 2)], 2, costs_by_tokens, True, 4),
            waits(first_ms=[4, 36], per_token_ms=[6.2, 3.0]),
        ),
        (
            ([(0, 2, 6), (5, 20, 2)], 2, costs_by_tokens),
            waits(first_ms=[4, 25], per_token_ms=[7.2, 4.0]),
        ),
        ((R, 2, costs_by_tokens, True, 4), waits(first_ms=[6, 11, 18, 33])),
        ((HIDDEN, 3, costs_by_cached), waits(first_ms=[6.1, 5.0, 6.1, 5.0, 17.6])),
        ((HIDDEN, 3, costs_by_cached, False), waits(first_ms=[21.6, 5.0, 21.6, 11.6, 21.6])),
        ((HIDDEN, 3, costs_by_cached, True, 2), waits(first_ms=[17.2, 5.0, 22.8, 12.5, 22.8])),
        ((HIDDEN, 3, costs_by_cached, False, 3), waits(first_ms=[26.9, 5.0, 32.5, 22.0, 32.5])),
    ],
    "shared_pages": [
        ((TEXTS, 2), named(PAGES, 8, 5, 1)),
        ((TEXTS, 4), named(PAGES, 5, 4, 5)),
        ((TEXTS, 1), named(PAGES, 15, 9, 0)),
        (([[1, 2, 3, 4], [5, 6, 3, 4]], 2), named(PAGES, 4, 4, 0)),
        (([[1, 2, 3]] * 4, 2), named(PAGES, 8, 5, 4)),
        ((LENGTHS, 16), named(PAGES, 183, 183, 25)),
        ((LENGTHS, 2048), named(PAGES, 5, 5, 7_337)),
        ((USERS, 16), named(PAGES, 2_208, 286, 128)),
    ],
    "prefix_hits": [
        (([[1, 2, 3, 4, 5], [1, 2, 3, 4, 9], [7, 7], [1, 2, 3, 4, 8]], 2, 2), [0, 4, 0, 2]),
        (([[1, 2, 3, 4, 5], [1, 2, 3, 4, 9], [7, 7], [1, 2, 3, 4, 8]], 2, 3), [0, 4, 0, 4]),
        (([[1, 2, 3, 4], [1, 2, 3, 4]], 2, 9), [0, 2]),
    ],
    "best_draft": [
        ((0.5, 1, step(10)), named(DRAFT, 2, 1.75, 1.4583333)),
        ((0.8, 1, step(10)), named(DRAFT, 6, 3.951424, 2.46964)),
        ((0.8, 1, step(10), 4), named(DRAFT, 4, 3.3616, 2.4011429)),
        ((1, 1, step(10), 5), named(DRAFT, 5, 6.0, 4.0)),
        ((0.8, 1, lambda n: max(10, 4 * n)), named(DRAFT, 2, 2.44, 1.7428571)),
        ((0.8, 1, lambda n: 10 * n), named(DRAFT, 0, 1.0, 1.0)),
        ((0.85, 0.28, step(10), 1), named(DRAFT, 1, 1.85, 1.7996109)),
        ((0.6, 0.5, lambda n: 8 + n, 8), named(DRAFT, 2, 1.96, 1.47)),
        ((0.3, 2, lambda n: 20 + n / 2, 6), named(DRAFT, 1, 1.3, 1.1586957)),
        ((0, 1, step(10)), named(DRAFT, 0, 1.0, 1.0)),
        (
            (1, 0.01, lambda n: 10 + 10 * math.ceil(n / 64), 150),
            named(DRAFT, 127, 128.0, 81.867605),
        ),
    ],
    "draft_acceptance": [
        (([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), (0.7, [1, 0, 0])),
        (([1.0, 0.0], [0.0, 1.0]), (0.0, [1, 0])),
        (([0.25, 0.75], [0.25, 0.75]), (1.0, None)),
    ],
    "moe_parameters": [
        ((100, 10, 2, 4, 1, 1), named(MOE, 180, 120, 120.0)),
        ((100, 10, 2, 4, 1, 2), named(MOE, 180, 120, 135.0)),
        ((100, 10, 2, 4, 1, 3), named(MOE, 180, 120, 146.25)),
        ((100, 10, 2, 4, 2, 3), named(MOE, 180, 140, 170.0)),
        ((0, 1, 1, 8, 8, 5), named(MOE, 8, 8, 8.0)),
        (
            (*V3_EXPERTS, 32),
            named(MOE, 670_099_725_312, 36_625_603_584, 433_348_596_146.97),
        ),
        (
            (1_474_564_096, 176_160_768, 32, 8, 2, 4),
            named(MOE, 46_571_720_704, 12_748_853_248, 32_302_698_496.0),
        ),
        (
            (1_548_424_512, 24_891_840, 36, 128, 4, 1),
            named(MOE, 1_548_424_512 + 114_701_598_720, 5_132_849_472, 5_132_849_472.0),
        ),
    ],
    "round_to": [
        (([0.2, 0.25, 0.75, 1.25, 2.5, 5], 2, 1), [0, 0, 1, 1, 2, 4]),
        (([6.9, -5.1, -100], 2, 1), [6, -6, -6]),
        (
            ([1.0625, 1.1875, 17, 19, 0.3, -0.07], 4, 3, 1),
            [1, 1.25, 16, 20, 0.3125, -0.0703125],
        ),
        (([470, 1000], 4, 3, 1), [448, 448]),
        (([0.0019, 0.00098, 0.0009], 4, 3, 1), [0.001953125, 0.001953125, 0]),
        (([60_000, 0.3, 1.1875], 5, 2, 4), [57_344, 0.3125, 1.25]),
        (([0.1, 65_519], 5, 10, 1024), [0.0999755859375, 65_504]),
        (([0.1, 7.6, -0.3, 3.3], 2, 3), [0.125, 7.5, -0.25, 3.25]),
        (([0.1, 29, -0.3, 3.3], 3, 2), [0.125, 28, -0.3125, 3.5]),
    ],
    "block_scaled": [
        (([500, 3], 2, "mxfp8"), ([1.0], [448, 3], 12.0)),
        (([500, 3], 2, "mxfp8", True), ([2.0], [512, 3], 12.0)),
        ((V, 4, "mxfp4"), ([2.0, 0.0625], [12, 1, -2, 0, 0, 0, -0.25, 0.125], 6.0)),
        (
            (V, 4, "nvfp4"),
            (
                [2.0, 0.0401785714286],
                [12, 1, -2, 0, 0, 0, -0.241071428571, 0.120535714286],
                10.0,
            ),
        ),
        (([0, 0, 7], 2, "mxfp4"), ([1.0, 1.0], [0, 0, 6], 9.3333333)),
        (([2688, 1, 0.0001], 2, "nvfp4"), ([448.0, 0.0], [2688, 0, 0], 20.0)),
        (([2688, 6, -3, 0.5], 2, "nvfp4"), ([448, 0.5], [2688, 0, -3, 0.5], 16.0)),
        (
            (V, 4, "mxfp8"),
            ([2**-5, 2**-10], [12, 1, -2, 0.40625, 0, 0, -0.25, 0.125], 10.0),
        ),
    ],
    "cheapest_batch": [
        ((SMALL, 500, TOY, 10**7, 4.2, 3.6, 100), named(BATCH, 4, 4.0, 1000.0, 1.0, 0.1)),
        ((SMALL, 500, TOY, 10**7, 100, 3.6, 100), named(BATCH, 16, 10.0, 1600.0, 0.625, 0.0625)),
        ((SMALL, 500, TOY, 10**7, 2.4, 3.6, 100), None),
        (
            (SMALL, 1000, TOY, 10**7, 7.5, 7.2, 50),
            named(BATCH, 5, 7.0, 714.285714, 2.8, 0.07),
        ),
        ((SMALL, 500, TOY, 10**6, 4.2, 3.6, 100), None),
        *[
            (
                (LLAMA_8B, 8192, H100, 80 * 10**9, deadline, 2, 700),
                named(BATCH, users, users / speed * 1000, speed, price, 700 / speed),
            )
            for deadline, users, speed, price in (
                (10, 17, 1_712.09, 0.324490),
                (20, 48, 2_416.25, 0.229925),
                (50, 59, 2_522.31, 0.220256),
                (5, 1, 208.2868, 2.667262),
            )
        ],
        (
            (LLAMA_70B, 8192, EIGHT_H100, 640 * 10**9, 20, 16, 5600),
            named(BATCH, 147, 147 / 7.38297, 7_382.97, 0.601986, 5600 / 7382.97),
        ),
    ],
    "reflect_service": [
        ((DAY,), named(BOOKS, 87_072.0, 562_100.0, 5.455577, 226.863566, 0.300300)),
        ((SECOND_DAY,), named(BOOKS, 192.0, 345.6, 0.8, 1.5, 0.111111)),
        ((SECOND_DAY | {"hit_tokens": 0},), named(BOOKS, 192.0, 388.8, 1.025, 1.5, 0.111111)),
    ],
}  # fmt: skip
