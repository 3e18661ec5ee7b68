"""What lesson 12's text claims of bounds, limits and a published day, by a second program."""

from __future__ import annotations

import pytest
import serving_again as again
from cohort.run import ROOT, solved
from lesson_demos import beside as module_beside
from serving_again import LLAMA_8B
from serving_cases import H100, V3_EXPERTS

from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module


@pytest.fixture(scope="module")
def lesson():
    return solved("lesson_12").scope


def test_two_parts_that_overlap_take_less_than_pass_ms(lesson):
    """200 users of 1,024 tokens and 512 tokens of a prompt: Llama-3-8B on an H100."""
    mixed, card = [(1023, 1)] * 200 + [(0, 512)], lesson["H100"]
    for function in (lesson["bound_ms"], again.bound_ms):
        assert function(LLAMA_8B, mixed, card) == pytest.approx(12.5136, rel=1e-5)
    assert lesson["pass_ms"](LLAMA_8B, mixed, card) == pytest.approx(18.8334, rel=1e-5)
    assert "take 18.8 ms one part after the other; the bound is 12.5 ms" in text_of_lesson()
    decode = [(8191, 1)] * 59  # one wall for both parts: nothing to overlap
    assert lesson["bound_ms"](LLAMA_8B, decode, card) == pytest.approx(
        lesson["pass_ms"](LLAMA_8B, decode, card), rel=1e-9
    )


def test_the_texts_up_to_which_compute_is_the_first_limit(lesson):
    """The first length at which caches or memory come before compute, by a second program."""
    machines = module_beside("12_serving", "machines")
    for name, bits, card, said in (
        ("Llama-3-8B", 16, ("H100", 1), 388),
        ("Llama-3-70B", 16, ("H200", 2), 2058),
        ("DeepSeek-V3", 8, ("H200", 8), 1724),
    ):
        hardware, memory = machines.cards(*card, bits)
        model = machines.served(name, bits, lesson["kv_bytes"])
        firsts = {}
        for context in (said - 1, said):
            found = again.batch_limits(model, context, hardware, memory)
            firsts[context] = found["compute"] <= min(found["cache"], found["memory"])
        assert firsts == {said - 1: True, said: False}, name
        assert f"{said:,}" in text_of_lesson()


def test_what_memory_holds_is_not_what_a_pass_reads(lesson):
    """Both counts of Llama-3-8B, at 80 · 10⁹ bytes and at the 79.6 GiB that the card has."""
    for read_alone, memory, users in ((0, 80e9, 59), (1, 80e9, 60), (0, 81_559 * 2**20, 64)):
        model = dict(LLAMA_8B)
        if read_alone:
            del model["held_bytes"]
        for function in (lesson["batch_limits"], again.batch_limits):
            assert function(model, 8192, lesson["H100"], memory)["memory"] == users
    assert 128_256 * 4096 * 2 / 1e9 == pytest.approx(1.05, abs=5e-3)  # its table of words


def test_gpt_oss_holds_what_is_published(lesson):
    machines = module_beside("12_serving", "machines")
    assert machines.weight_bytes("gpt-oss-120b", 4.25) / 2**30 == pytest.approx(60.8, abs=0.05)
    oss = machines.served("gpt-oss-120b", 4.25, lesson["kv_bytes"])
    table = 201_088 * 2880 * 2  # of words, in 16 bits: a pass reads a row for each token
    assert oss["held_bytes"] - oss["weights"] * oss["bits"] / 8 == pytest.approx(table)
    assert oss["held_bytes"] / 1e9 == pytest.approx(65.2, abs=0.05)


def test_a_published_day_is_possible(lesson):
    """Bytes and FLOPs of a card by DeepSeek's page: 2 routed experts of 58 layers, shared parts."""
    step_ms, card = 1000 / 21, H100
    shared, expert, layers, *_ = V3_EXPERTS
    weights_ms = 1e3 * (shared + 2 * layers * expert) / card.bandwidth
    assert (shared + 2 * layers * expert) / 1e9 == pytest.approx(21.3, abs=0.05)
    assert weights_ms == pytest.approx(6.4, abs=0.05)
    users = 14_800 / 8 / 21
    cache_ms = 1e3 * users * 4_989 * 70_272 / card.bandwidth
    assert (users, cache_ms) == (pytest.approx(88, abs=0.5), pytest.approx(9.2, abs=0.05))
    shares = [100 * (cache_ms + n * weights_ms) / step_ms for n in (1, 2)]
    assert shares == pytest.approx([33, 46], abs=0.5)
    assert 100 * (157 / 989 + 135 / 1979) == pytest.approx(23, abs=0.5)
    for words in ("33 to 46 %", "together 23 %", "21.3 GB in FP8, 6.4 ms"):
        assert words in text_of_lesson()


@pytest.mark.whole
def test_magnitudes_of_e4m3_and_no_more(lesson):
    codes = {lesson["round_to"]([n * 2.0**-9], 4, 3, 1)[0] for n in range(1, 448 * 512 + 1)}
    assert len(codes - {0.0}) == 126 and "0 and 126 magnitudes" in text_of_lesson()


def text_of_lesson():
    """Return all that a student reads in the lesson's text cells."""
    course = Course(ROOT)
    cells = read_module(course.module("12_serving"), "12_serving").cells
    return "\n".join(cell.source for cell in cells if cell.role == "text")
