"""Lesson 12's numbers come out of its solutions and of other algorithms for the same.

The cases are in tests/helpers/serving_cases.py, and beside it, in serving_again.py, the second
implementations. Each number stands in the lesson, in a case or in its text.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import serving_again as again
from cohort.run import solved
from serving_again import DEEPSEEK_V3, GPT2_XL, LLAMA_8B
from serving_cases import (
    DEEPSEEK_67B,
    EIGHT_H200_FP8,
    H100,
    LLAMA,
    T4,
    TABLE,
    USERS,
    V2,
    V3_EXPERTS,
    R,
    config,
    costs_by_cached,
    costs_by_tokens,
    step,
)

from proflab.lesson.hardware import Hardware

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
        "weights": rng.randint(10**3, 10**7), "bits": rng.choice([4, 4.25, 8, 16, 32]),
        "kv_bytes": rng.randint(1, 5000), "pair_flops": rng.randint(1, 9000),
    }  # fmt: skip
    if rng.random() < 0.5:
        model["active"] = rng.randint(1, model["weights"])
    if rng.random() < 0.5:
        model["held_bytes"] = int(model["weights"] * model["bits"] / 8) + rng.randint(0, 999)
    card = Hardware(peak_flops=rng.uniform(1e8, 1e11), bandwidth=rng.uniform(1e7, 1e10))
    pairs = [(rng.randint(0, 60), rng.randint(1, 30)) for _ in range(rng.randint(1, 6))]
    context = rng.randint(1, 900)
    room = model["weights"] * model["bits"] / 8 + rng.randint(1, 40 * context * model["kv_bytes"])
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
        "bound_ms": (model, pairs, card),
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
    limits = [
        lesson["batch_limits"](model, 8192, EIGHT_H200_FP8, 10**12)["compute"]
        for model in (dense, DEEPSEEK_V3)
    ]
    assert limits == pytest.approx([206, 3_772], abs=0.5)
    assert limits[1] / limits[0] == pytest.approx(18, abs=0.5)
    mixtral = (1_474_564_096 + 131_072_000, 176_160_768, 32, 8, 2, 1)  # with its table of words
    found = lesson["moe_parameters"](*mixtral)
    assert (found["total"], found["active"]) == (46_702_792_704, 12_879_925_248)


def test_bytes_of_published_weights_and_joules_of_a_prompt(lesson):
    bits = lesson["block_scaled"]([1.0] * 1024, 32, "mxfp4")["bits"]
    size = 114_661_785_600 * bits / 8 + 2_167_371_072 * 2
    assert size / 2**30 == pytest.approx(60.77, abs=5e-3)
    batch = lesson["cheapest_batch"](LLAMA_8B, 8192, H100, 80 * 10**9, 50, 2, 700)
    assert batch["joules_per_token"] == pytest.approx(0.277523, abs=1e-6)
    assert 0.24 * 3600 / batch["joules_per_token"] == pytest.approx(3113, abs=1)


def test_the_books_are_possible():
    """The figures after the last exercise."""
    nodes = [168e9 / 86_400 / 14_800, 608e9 / 86_400 / 73_700]
    assert nodes == pytest.approx([131.4, 95.5], abs=0.1)
    assert sum(nodes) / 226.75 == pytest.approx(1.0005, abs=1e-4)
    assert [16 / 3600 / rate * 1e6 for rate in (14_800, 73_700)] == pytest.approx(
        [0.30, 0.06], abs=5e-3
    )
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
