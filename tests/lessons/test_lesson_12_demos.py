"""Lesson 12's demo cells: what they count and simulate; what they time is the same work."""

from __future__ import annotations

import re
from statistics import median

import numpy as np
import pytest
from cohort.run import solved
from lesson_demos import beside as module_beside

from proflab import manual_seed, models, no_grad, randint
from proflab.lesson.race.trace import Tracer

NAME = "12_serving"


@pytest.fixture(scope="module")
def lesson():
    return solved("lesson_12").scope


@pytest.fixture(scope="module")
def beside():
    """The modules beside the lesson, by name."""
    return {name: module_beside(NAME, name) for name in ("demos", "machines", "stored", "timed")}


def test_a_step_counted_op_by_op(lesson, beside):
    """GPT-2 XL on a T4, 5 µs an op, without and with the engine's cat."""
    for users, kept, all_of_it in ((1, 24.69, 29.10), (32, 89.59, 215.90)):
        rows = beside["timed"].counted(lesson["op_facts"], 1023, users)
        without = [row for row in rows if row["op"] != "cat"]
        predict = solved("lesson_07").scope["predict_ms"]
        ms = [predict(each, lesson["T4"], 0.005) for each in (without, rows)]
        assert ms == pytest.approx([kept, all_of_it], abs=5e-3)
        overhead = ms[0] - predict(without, lesson["T4"], 0.0)
        assert overhead == pytest.approx(3.1, abs=0.05)


@pytest.mark.parametrize(
    ("texts", "tokens", "ms"), [(1, 1024, 551.6), (32, 1, 23.79), (1, 32, 24.693), (1, 1, 22.6)]
)
def test_lesson_07_counts_what_both_texts_say(texts, tokens, ms):
    scope = solved("lesson_07").scope
    rows = scope["rows_on_meta"](lambda: models.gpt2("xl"), (texts, tokens))
    assert scope["predict_ms"](rows, scope["T4"], 0.005) == pytest.approx(ms, rel=2e-3)


@pytest.mark.parametrize("users", [1, 3])
def test_a_preallocated_cache_gives_the_same_logits_to_the_last_bit(beside, users):
    timed = beside["timed"]
    manual_seed(12)
    model = models.GPT2(50, 24, 32, 2, 4)
    cache, tokens = timed.filled_cache(model, 20, users), randint(0, 50, (users, 1))
    with no_grad():
        by_cat = timed.by_cat(model, tokens, cache)
        in_place = timed.in_place(model, tokens, timed.preallocated(cache))
    assert (by_cat.numpy() == in_place.numpy()).all()
    assert cache[0]["k"].shape[2] == 20  # and another step may begin where this one did


def test_a_preallocated_cache_needs_no_cat(beside):
    timed, ops = beside["timed"], {}
    model = models.GPT2(50, 24, 32, 2, 4)
    for name, step in timed.steps(model, 20, [2]).items():
        with no_grad(), Tracer() as tracer:
            step()
        ops[name[0]] = [line[1] for line in tracer.tape if line[0] == "op"]
    assert "cat" not in ops["preallocated"]


def test_programs_run_in_the_order_that_is_given(beside):
    ran = []

    class Timer:
        elapsed_ms = 0.0

        def __enter__(self):
            return self

        def __exit__(self, *error):
            Timer.elapsed_ms += 1.0

    programs = {name: lambda name=name: ran.append(name) for name in "ab"}
    ms = beside["timed"].in_order(programs, "abba", Timer())
    assert "".join(ran) == "ab" + "abba" and ms == {"a": [1.0, 4.0], "b": [2.0, 3.0]}


def test_a_small_gpt2_as_it_is_served(lesson, beside):
    model = models.GPT2(50, 24, 32, 2, 4)
    served = beside["timed"].as_served(model, lesson["kv_bytes"])
    read = sum(p.numel() for p in model.parameters()) - 24 * 32  # of the table, a row is read
    assert served == {"weights": read, "bits": 32, "kv_bytes": 2 * 2 * 32 * 4, "pair_flops": 256}


def test_who_is_served_in_time_at_12_5_requests_a_second(lesson, beside, monkeypatch):
    """The made-up loads: goodput in %, p95 of a token and of the first one in ms."""
    monkeypatch.delenv("PROFLAB_DEMO", raising=False)
    demos, found = beside["demos"], {}
    step_ms = lambda step: lesson["pass_ms"](lesson["LLAMA"], step, lesson["H100"], 0.5)  # noqa: E731
    for name, policy in demos.POLICIES.items():
        waits = demos.waits(lesson["simulate_serving"], 12.5, step_ms, policy)
        assert len(waits) == 480
        late = [demos.p95(waits, key) for key in ("per_token_ms", "first_ms")]
        found[name] = [demos.goodput(waits), *late]
    assert found["static"] == pytest.approx([2.5, 6.94, 9245], rel=0.01)
    assert found["continuous"] == pytest.approx([89, 12.8, 108], rel=0.01)
    assert found["chunks of 512"] == pytest.approx([100, 8.3, 123], rel=0.01)
    factor = found["chunks of 512"][1] / found["continuous"][1]
    assert round(factor, 2) == 0.65


def test_chunks_help_the_first_token_where_whole_prompts_queue(lesson, beside, monkeypatch):
    """At 15 requests a second: the p95 of the first token, in ms."""
    monkeypatch.delenv("PROFLAB_DEMO", raising=False)
    demos, firsts = beside["demos"], {}
    step_ms = lambda step: lesson["pass_ms"](lesson["LLAMA"], step, lesson["H100"], 0.5)  # noqa: E731
    for name in ("continuous", "chunks of 512"):
        waits = demos.waits(lesson["simulate_serving"], 15, step_ms, demos.POLICIES[name])
        firsts[name] = demos.p95(waits, "first_ms")
    assert firsts == {
        "continuous": pytest.approx(592, abs=0.6),
        "chunks of 512": pytest.approx(168, abs=0.6),
    }


def test_loads_are_as_the_text_says(beside):
    load = beside["demos"].load(3, 10.0, 4000)
    assert {prompt for _, prompt, _ in load} == {200, 500, 1000, 4000}
    assert {answer for _, _, answer in load} == {20, 60, 200, 600}
    gaps = np.diff([0.0, *(arrival for arrival, _, _ in load)])
    assert np.mean(gaps) == pytest.approx(100, rel=0.05) == pytest.approx(np.std(gaps), rel=0.05)


def test_a_row_of_the_picture_is_one_request(lesson, beside):
    demos, requests = beside["demos"], [(0, 2, 6), (0, 3, 3), (2, 6, 3)]
    rows = {}
    for name, policy in {"static": (False,), "continuous": (), "chunks": (True, 2)}.items():
        steps = []
        lesson["simulate_serving"](requests, 2, demos.noting(lesson["toy_ms"], steps), *policy)
        rows[name] = list(demos.rows_of(steps, requests))
        for request, (_, prompt, new) in enumerate(requests):
            held = [
                pair
                for step, row in zip(steps, rows[name], strict=True)
                for pair, n in zip(step, row, strict=True)
                if n == request
            ]
            assert sum(n for _, n in held) == prompt + new - 1
            assert [c for c, _ in held] == [sum(n for _, n in held[:k]) for k in range(len(held))]
    assert rows["static"] == [[0, 1]] * 3 + [[0]] * 3 + [[2]] * 3
    assert rows["continuous"][3:] == [[0, 2]] * 3


def test_drafting_leaves_the_text_as_it_is(lesson, beside):
    target, draft = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    rate, residual = lesson["draft_acceptance"](target, draft)
    shares, accepted = beside["demos"].drawn(target, draft, residual, 20_000)
    assert shares == pytest.approx(target, abs=0.01)
    assert accepted == pytest.approx(rate, abs=0.01)
    other, _ = beside["demos"].drawn(target, draft, target, 20_000)  # not the residual
    assert other != pytest.approx(target, abs=0.01)


ERRORS = {  # 60 times as large, and like the rest
    "FP8, one scale": (0.026, 0.027),
    "MXFP8": (0.032, 0.029),
    "MXFP8, rounded up": (0.024, 0.027),
    "FP4, one scale": (0.28, 0.112),
    "MXFP4": (0.14, 0.115),
    "NVFP4": (0.056, 0.095),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_stored_numbers(lesson, beside, name):
    stored = beside["stored"]
    for factor, expected in zip((60, 1), ERRORS[name], strict=True):
        found = [one_error(lesson, stored, name, factor, seed) for seed in range(12)]
        assert median(found) == pytest.approx(expected, abs=0.0051 if expected > 0.1 else 5.1e-4)


def one_error(lesson, stored, name, factor, seed):
    values = np.array(stored.outliers(seed, factor))
    found = lesson["block_scaled"](values.tolist(), *stored.FORMATS[name])["values"]
    return float(np.linalg.norm(found - values) / np.linalg.norm(values))


def test_blocks_make_fp8_worse_in_each_draw_and_help_beside_100_000(lesson, beside, monkeypatch):
    stored = beside["stored"]
    worse = [
        one_error(lesson, stored, "MXFP8", 60, seed)
        / one_error(lesson, stored, "FP8, one scale", 60, seed)
        for seed in range(12)
    ]
    assert min(worse) > 1 and median(worse) == pytest.approx(1.17, abs=0.05)
    monkeypatch.delenv("PROFLAB_DEMO", raising=False)
    for name, expected in (("FP8, one scale", 0.289), ("MXFP8", 0.061)):
        way = stored.FORMATS[name]
        off = stored.errors(lesson["block_scaled"], 1e5, *way, ordinary=True)
        assert off == pytest.approx(expected, abs=5e-4)


def test_the_digits_in_five_formats(lesson, beside):
    quantize = solved("lesson_08").scope["quantize"]
    found = {
        name: (round(360 * right), size)
        for name, right, size in beside["stored"].digits_stored(lesson["block_scaled"], quantize)
    }
    assert found == {
        "float32": (354, 68_096),
        "int8": (354, 17_832),
        "MXFP8": (354, 17_556),
        "MXFP4": (349, 9_044),
        "NVFP4": (351, 9_588),
    }


def test_published_models_on_cards(lesson, beside):
    machines = beside["machines"]
    llama = machines.served("Llama-3-8B", 16, lesson["kv_bytes"])
    assert llama == lesson["LLAMA"]
    xl = machines.served("GPT-2 XL", 32, lesson["kv_bytes"], 32)
    assert xl == lesson["XL"] | {"held_bytes": 4 * lesson["XL"]["weights"]}
    deepseek = machines.served("DeepSeek-V3", 8, lesson["kv_bytes"])
    assert deepseek["pair_flops"] / deepseek["kv_bytes"] == pytest.approx(241.8, abs=0.05)
    oss = machines.served("gpt-oss-120b", 4.25, lesson["kv_bytes"], 16, 8192)
    assert oss["kv_bytes"] * 8192 == 306_708_480  # half of its layers keep 128 tokens
    hardware, memory = machines.cards("H200", 8, 8)
    assert (hardware.peak_flops, memory) == (8 * 1979e12, 8 * 141e9)
    assert machines.cards("T4", 1, 32)[0].peak_flops == lesson["T4"].peak_flops
    assert machines.cards("H100")[0].bandwidth == lesson["H100"].bandwidth


def test_sources_of_the_configurations_are_links(beside):
    for config in beside["machines"].CONFIGS.values():
        assert re.match(r"https://huggingface\.co/[\w./-]+/config\.json", config["source"])
