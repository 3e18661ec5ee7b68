"""Lesson 12's numbers come out of its solutions and of other algorithms for the same.

The second implementations are in tests/helpers/serving_again.py. Each number below stands in the
lesson, in a case or in its text.
"""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
import serving_again as again
from cohort.run import solved
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
        ((LLAMA_8B, 8192, H100, 80 * 10**9), named(LIMITS, 295.3731, 13.979012, 60)),
        ((LLAMA_8B, 1024, H100, 80 * 10**9), named(LIMITS, 295.3731, 111.832, 484)),
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
        (([[1, 2, 3, 4, 5], [1, 2, 3, 4, 9], [7, 7], [1, 2, 3, 4]], 2, 2), [0, 4, 0, 2]),
        (([[1, 2, 3, 4, 5], [1, 2, 3, 4, 9], [7, 7], [1, 2, 3, 4]], 2, 3), [0, 4, 0, 4]),
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
                (50, 60, 2_530.39, 0.219553),
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
ROUGH = {19.7: 0.05, 19.5: 0.05, 413.7: 0.05}  # as the text rounds them


@pytest.fixture(scope="module")
def lesson():
    return solved("lesson_12").scope


def same(found, expected):
    """Say whether a result is what is expected, to the digits that the lesson gives."""
    if isinstance(expected, dict):
        return all(same(found[key], value) for key, value in expected.items())
    if isinstance(expected, (list, tuple)):
        if isinstance(found, dict):
            found = [found["scales"], found["values"], found["bits"]]
        pairs = zip(found, expected, strict=True)
        return all(same(one, other) for one, other in pairs)
    if expected is None or isinstance(expected, int):
        return found == expected
    return found == pytest.approx(expected, rel=3e-6, abs=ROUGH.get(expected, 1e-12))


CASES = [(name, n) for name, rows in TABLE.items() for n in range(len(rows))]


@pytest.mark.parametrize(("name", "row"), CASES)
def test_a_number_comes_out_of_the_lesson_and_of_another_algorithm(name, row, lesson):
    arguments, expected = TABLE[name][row]
    for function in (getattr(again, name), lesson[name]):
        found = function(*arguments)
        assert same(found, expected), (function.__module__, found)


def drawn(rng):
    """Return arguments for each function, small enough to be counted one by one."""
    heads = rng.choice([1, 2, 4, 8])
    layers = rng.randint(1, 5)
    kinds = [rng.choice(["full_attention", "sliding_attention"]) for _ in range(layers)]
    shape = config(layers, heads, heads * rng.randint(1, 40))
    for key, value in (
        ("num_key_value_heads", rng.choice([1, heads])), ("head_dim", rng.randint(1, 70)),
        ("layer_types", kinds), ("kv_lora_rank", rng.randint(1, 99)),
    ):  # fmt: skip
        if rng.random() < 0.4:
            shape[key] = value
    shape |= {"sliding_window": rng.randint(1, 9), "qk_rope_head_dim": rng.randint(1, 9)}
    model = {
        "weights": rng.randint(10**3, 10**7), "bits": rng.choice([4, 8, 16, 32]),
        "kv_bytes": rng.randint(1, 5000), "pair_flops": rng.randint(1, 9000),
    }  # fmt: skip
    if rng.random() < 0.5:
        model["active"] = rng.randint(1, model["weights"])
    card = SimpleNamespace(peak_flops=rng.uniform(1e8, 1e11), bandwidth=rng.uniform(1e7, 1e10))
    pairs = [(rng.randint(0, 60), rng.randint(1, 30)) for _ in range(rng.randint(1, 6))]
    context = rng.randint(1, 900)
    room = model["weights"] * model["bits"] // 8 + rng.randint(1, 40 * context * model["kv_bytes"])
    requests = [
        (rng.randint(0, 40), rng.randint(1, 9), rng.randint(1, 6)) for _ in range(rng.randint(1, 8))
    ]
    texts = [[rng.randint(0, 1) for _ in range(rng.randint(1, 12))] for _ in range(6)]
    experts = rng.randint(1, 9)
    p = [rng.random() for _ in range(4)]
    q = [rng.random() for _ in range(4)]
    values = [rng.choice([0.0, rng.gauss(0, 1), rng.gauss(0, 90)]) for _ in range(20)]
    fast = lambda n: 5 + 0.3 * n  # noqa: E731
    return {
        "kv_bytes": (shape, rng.randint(0, 30), rng.randint(1, 33)),
        "generation_flops": (*(rng.randint(1, 9) for _ in range(5)), rng.random() < 0.5),
        "pass_ms": (model, pairs, card, rng.choice([0.0, 0.5])),
        "batch_limits": (model, context, card, room),
        "simulate_serving": (
            requests, rng.randint(1, 4), rng.choice([costs_by_tokens, costs_by_cached]),
            rng.random() < 0.6, rng.choice([None, None, 1, 3, 7]),
        ),
        "shared_pages": (texts, rng.randint(1, 5)),
        "prefix_hits": (texts, rng.randint(1, 4), rng.randint(1, 9)),
        "best_draft": (rng.random(), rng.uniform(0, 2), fast, rng.randint(1, 16)),
        "draft_acceptance": ([each / sum(p) for each in p], [each / sum(q) for each in q]),
        "moe_parameters": (
            rng.randint(0, 99), rng.randint(1, 9), rng.randint(1, 4), experts,
            rng.randint(1, experts), rng.randint(1, 7),
        ),
        "round_to": (values, rng.randint(1, 6), rng.randint(0, 6), rng.choice([0, 1])),
        "block_scaled": (
            values, rng.randint(1, 9), rng.choice(["mxfp8", "mxfp4"]), rng.random() < 0.5,
        ),
        "cheapest_batch": (
            model, context, card, room, rng.uniform(0.1, 9e3), rng.uniform(0.1, 9),
            rng.uniform(1, 999),
        ),
    }  # fmt: skip


def test_both_agree_on_arguments_that_nobody_chose(lesson):
    rng = random.Random(12)
    for _ in range(40):
        for name, arguments in drawn(rng).items():
            found, expected = lesson[name](*arguments), getattr(again, name)(*arguments)
            assert alike(found, expected), (name, arguments, found, expected)


def alike(found, expected):
    """Say whether two results are equal, to nine digits."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(alike(found[k], expected[k]) for k in found)
    if isinstance(expected, (list, tuple)):
        return all(alike(*pair) for pair in zip(found, expected, strict=True))
    return found == (expected and pytest.approx(expected, rel=1e-9, abs=1e-12))


# ── what the text says besides ──────────────────────────────────────────────────────────────────


def test_formats_are_those_of_numpy_and_of_their_tables(lesson):
    assert lesson["round_to"]([0, 0.5, 1, 1.5, 2, 3, 4, 6], 2, 1) == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    codes = [2.0**-9 * n for n in range(8)]
    codes += [(8 + m) / 8 * 2.0 ** (e - 7) for e in range(1, 16) for m in range(8)][:-1]
    assert len(codes) == 127 and codes[-1] == 448
    assert lesson["round_to"](codes, 4, 3, 1) == codes
    numbers = np.random.default_rng(3).normal(0, 300, 2000)
    halves = numbers.astype(np.float16).astype(float).tolist()
    assert lesson["round_to"](numbers.tolist(), 5, 10, 1024) == halves


@pytest.mark.parametrize(
    ("format", "block", "bits"), [("mxfp8", 32, 8.25), ("mxfp4", 32, 4.25), ("nvfp4", 16, 4.53125)]
)
def test_bits_of_a_thousand_numbers(format, block, bits, lesson):
    assert lesson["block_scaled"]([1.0] * 1024, block, format)["bits"] == bits


def test_the_audits_of_section_1(lesson):
    kv_bytes = lesson["kv_bytes"]
    assert 1 - kv_bytes(V2, 1) / kv_bytes(DEEPSEEK_67B, 1) == pytest.approx(0.822, abs=5e-4)
    assert 1 - kv_bytes(V2, 1, 6) / kv_bytes(DEEPSEEK_67B, 1) == pytest.approx(0.933, abs=5e-4)
    assert 516.096 / 70.272 == pytest.approx(7.34, abs=5e-3)
    opt = kv_bytes(config(40, 40, 5120), 2048)
    assert (opt / 1e9, opt / 2**30) == pytest.approx((1.68, 1.56), abs=5e-3)
    weights = 2 * LLAMA_8B["weights"]
    assert kv_bytes(LLAMA, 114_517) >= weights > kv_bytes(LLAMA, 114_516)
    assert weights / 1e9 == pytest.approx(15.01, abs=5e-3)


def test_factors_of_the_guesses(lesson):
    pass_ms, flops = lesson["pass_ms"], lesson["generation_flops"]
    gpt2 = (12, 768, 50_257)
    for size, factor in ((32, 19.9), (128, 79.6)):
        without, cached = (flops(*gpt2, size, size, kept) for kept in (False, True))
        assert without / cached == pytest.approx(factor, abs=0.05)
    ms = [pass_ms(GPT2_XL, [(1023, 1)] * users, T4) for users in (1, 32)]
    assert ms[1] / ms[0] == pytest.approx(3.84, abs=5e-3)
    weights, caches = 19.47014, 62.91456
    assert weights + caches == pytest.approx(ms[1], rel=1e-6)
    assert pass_ms(GPT2_XL, [(0, 1)], T4) - 1e3 * 614_400 / 320e9 == pytest.approx(
        weights, rel=1e-6
    )


def test_n_half_of_lesson_07_is_the_cache_limit(lesson):
    ms = [lesson["pass_ms"](LLAMA_8B, [(8191, 1)] * users, H100) for users in (1, 2, 4)]
    fitted = (
        lesson["batch_cost"] if "batch_cost" in lesson else solved("lesson_07").scope["batch_cost"]
    )
    assert fitted([1, 2, 4], ms)["half_batch"] == pytest.approx(13.979012, rel=1e-6)


def test_attention_of_a_prompt_is_what_lesson_02_counts():
    attention_flops = solved("lesson_02").scope["attention_flops"]
    counted = 48 * (attention_flops(1, 1024, 1600, 25, causal=True) - 8 * 1024 * 1600**2)
    pairs = 1024 * 1025 // 2 * GPT2_XL["pair_flops"]
    assert counted == pairs == 161_218_560_000


def test_what_each_step_holds(lesson):
    held = []

    def noted(sequences):
        held.append(list(sequences))
        return costs_by_tokens(sequences)

    lesson["simulate_serving"](R, 2, noted)
    assert held == [
        [(0, 4), (0, 2)], [(4, 1), (2, 1)], [(5, 1), (0, 3)], [(6, 1), (3, 1)], [(7, 1), (4, 1)],
        [(0, 6)],
    ]  # fmt: skip
    held.clear()
    lesson["simulate_serving"]([(0, 2, 6), (5, 20, 2)], 2, noted, True, 4)
    assert held == [
        [(0, 2)], [(2, 1)], [(3, 1), (0, 4)], [(4, 1), (4, 4)], [(5, 1), (8, 4)], [(6, 1), (12, 4)],
        [(16, 4)], [(20, 1)],
    ]  # fmt: skip


def test_pages_of_32_users(lesson):
    for page, gigabytes in ((16, 0.60), (256, 2.25)):
        pages = lesson["shared_pages"](USERS, page)
        assert pages["shared"] * page * 131_072 / 1e9 == pytest.approx(gigabytes, abs=5e-3)
    pages = lesson["shared_pages"](USERS, 16)
    assert pages["alone"] * 16 * 131_072 / 1e9 == pytest.approx(4.63, abs=5e-3)
    assert 1 - pages["shared"] / pages["alone"] == pytest.approx(0.87, abs=5e-3)


@pytest.mark.parametrize(
    ("model", "card", "context", "known"),
    [
        (GPT2_XL, T4, 64, {1: (6, 2.47), 8: (5, 2.45), 32: (1, 1.36), 64: (0, 1.00)}),
        (
            LLAMA_8B, H100, 2048,
            {1: (6, 2.47), 8: (6, 2.47), 32: (6, 2.47), 64: (4, 2.33), 128: (None, 1.94)},
        ),
    ],
)  # fmt: skip
def test_how_many_tokens_to_draft(model, card, context, known, lesson):
    for users, (k, speedup) in known.items():
        step_ms = lambda n, u=users: lesson["pass_ms"](model, [(context - 1, n)] * u, card)  # noqa: E731
        best = lesson["best_draft"](0.8, step_ms(1) / 10, step_ms)
        assert best["speedup"] == pytest.approx(speedup, abs=6e-3), users
        assert k is None or best["k"] == k, users


def test_a_second_token_pays_if_its_head_is_cheap(lesson):
    for accept, share in ((0.85, 0.028), (0.9, 0.056)):
        assert lesson["best_draft"](accept, 10 * share, step(10.0), 1)["speedup"] == pytest.approx(
            1.8, abs=2e-3
        )


def test_experts_of_a_batch(lesson):
    touched = [
        lesson["moe_parameters"](0, 1, 1, 256, 8, n)["touched"] for n in (1, 8, 32, 128, 512)
    ]
    assert [round(each) for each in touched] == [8, 57, 163, 252, 256]
    gigabytes = [
        lesson["moe_parameters"](*V3_EXPERTS, n)["touched"] / 1e9 for n in (1, 8, 32, 128, 512)
    ]
    assert gigabytes == pytest.approx([36.6, 162.9, 433.3, 658.9, 670.1], abs=0.06)
    assert gigabytes[1] / gigabytes[0] == pytest.approx(4.4, abs=0.06)
    each = [n * 8 / many for n, many in zip((1, 8, 32, 128, 512), touched, strict=True)]
    assert each == pytest.approx([1.0, 1.1, 1.6, 4.1, 16], abs=0.06)
    assert again.drawn_twice(5, 2, 3) == pytest.approx(
        lesson["moe_parameters"](0, 1, 1, 5, 2, 3)["touched"]
    )
    read = [DEEPSEEK_V3 | {"weights": int(gb * 1e9)} for gb in gigabytes]
    ms = [
        lesson["pass_ms"](model, [(4988, 1)] * n, EIGHT_H200_FP8)
        for model, n in zip(read, (1, 8, 32, 128, 512), strict=True)
    ]
    assert ms == pytest.approx([0.96, 4.31, 11.58, 18.33, 22.12], abs=0.012)
    dense = DEEPSEEK_V3 | {"weights": DEEPSEEK_V3["active"]}
    ms = [lesson["pass_ms"](dense, [(4988, 1)] * n, EIGHT_H200_FP8) for n in (1, 8, 32, 128, 512)]
    assert ms == pytest.approx([0.96, 1.03, 1.25, 2.12, 7.04], abs=0.012)
    assert lesson["batch_limits"](dense, 8192, EIGHT_H200_FP8, 10**12)["compute"] == pytest.approx(
        206, abs=0.5
    )


def test_bytes_of_published_weights_and_joules_of_a_prompt(lesson):
    bits = lesson["block_scaled"]([1.0] * 1024, 32, "mxfp4")["bits"]
    size = 114_661_785_600 * bits / 8 + 2_167_371_072 * 2
    assert size / 2**30 == pytest.approx(60.77, abs=5e-3)
    batch = lesson["cheapest_batch"](LLAMA_8B, 8192, H100, 80 * 10**9, 50, 2, 700)
    assert batch["joules_per_token"] == pytest.approx(0.276637, abs=1e-6)
    assert 0.24 * 3600 / batch["joules_per_token"] == pytest.approx(3123, abs=1)


def test_blocks_help_four_bits_and_not_eight(lesson):
    """Normal numbers, each 256th times 60: the median of the relative errors of seeds."""
    errors = {name: [] for name in ("one", "mxfp8", "up", "fp4", "mxfp4", "nvfp4")}
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=4096)
        x[::256] *= 60
        stored = {
            "one": lesson["block_scaled"](x.tolist(), 4096, "mxfp8", True),
            "mxfp8": lesson["block_scaled"](x.tolist(), 32, "mxfp8"),
            "up": lesson["block_scaled"](x.tolist(), 32, "mxfp8", True),
            "fp4": lesson["block_scaled"](x.tolist(), 4096, "mxfp4", True),
            "mxfp4": lesson["block_scaled"](x.tolist(), 32, "mxfp4"),
            "nvfp4": lesson["block_scaled"](x.tolist(), 16, "nvfp4"),
        }
        for name, found in stored.items():
            errors[name].append(np.linalg.norm(np.array(found["values"]) - x) / np.linalg.norm(x))
    median = {name: float(np.median(found)) for name, found in errors.items()}
    assert median["mxfp8"] > median["one"] > 0.9 * median["up"]
    assert median["fp4"] > 1.5 * median["mxfp4"] > 3 * median["nvfp4"]
    known = {"one": 0.026, "mxfp8": 0.032, "up": 0.024, "fp4": 0.28, "mxfp4": 0.14, "nvfp4": 0.056}
    assert median == pytest.approx(known, rel=0.1)


def test_the_books_are_possible():
    """The figures after the last exercise."""
    nodes = [168e9 / 86_400 / 14_800, 608e9 / 86_400 / 73_700]
    assert nodes == pytest.approx([131.4, 95.5], abs=0.1)
    users = 14_800 / 8 / 21
    assert users == pytest.approx(88, abs=0.2)
    cache = 88 * 4_989 * 70_272
    assert cache / 1e9 == pytest.approx(30.9, abs=0.06)
    assert 1e3 * cache / 3350e9 == pytest.approx(9.2, abs=0.06)
    assert 1e3 / 21 == pytest.approx(47.6, abs=0.06)
    attention = 14_800 / 8 * 4_989 * DEEPSEEK_V3["pair_flops"] / 1e12
    assert attention == pytest.approx(157, abs=1)
    assert 14_800 / 8 * 2 * DEEPSEEK_V3["active"] / 1e12 == pytest.approx(135, abs=1)


def test_lesson_07s_sentence():
    """A T4, GPT-2 XL: texts of one token and of 1,024."""
    weights, text = 4 * 1_557_611_200, 1024 * 614_400
    assert 1e3 * weights / 320e9 == pytest.approx(19.47, abs=5e-3)
    assert [1e3 * n * text / 320e9 for n in (1, 32)] == pytest.approx([1.966, 62.915], abs=5e-4)
    assert [text / 1e9, 32 * text / 1e9, weights / 1e9] == pytest.approx(
        [0.63, 20.1, 6.2], abs=0.04
    )
    assert math.floor((16e9 - weights) / text) == 15
