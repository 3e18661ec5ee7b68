"""What lesson 05 draws and watches: timelines, shares, overheads, a sampler."""

from __future__ import annotations

import threading
import time

import pytest
from lesson_demos import demos_of

from proflab.lesson import doubles

demos = demos_of("05_profiler")
timeline, with_modules = demos.timeline, demos.with_modules


def row(op, module, start, ms, depth=0, phase="forward"):
    counts = dict.fromkeys(("matmul_flops", "elementwise_flops"), 7)
    return counts | {
        "op": op, "module": module, "phase": phase, "start_ms": start, "ms": ms, "self_ms": ms,
        "depth": depth, "bytes_read": 5, "bytes_written": 3,
    }  # fmt: skip


def short(rows):
    return {
        (r["op"], r["module"], r["start_ms"], r["start_ms"] + r["ms"], r["depth"]) for r in rows
    }


def assert_nested(rows):
    """Each row lies within one that is one less deep, and beside those of its own depth."""
    for inner in rows:
        begin, end = inner["start_ms"], inner["start_ms"] + inner["ms"]
        around = [r for r in rows if r["depth"] == inner["depth"] - 1]
        within = [r for r in around if r["start_ms"] <= begin and end <= r["start_ms"] + r["ms"]]
        assert inner["depth"] == 0 or len(within) == 1, inner
        for other in rows:
            if other is not inner and other["depth"] == inner["depth"]:
                assert other["start_ms"] + other["ms"] <= begin or end <= other["start_ms"]


ROWS = [
    row("linear", "blocks.0.attn.qkv", 0, 2),
    row("matmul", "blocks.0.attn", 2, 1),
    row("gelu", "blocks.0.mlp", 4, 1),
    row("linear", "blocks.1.attn.qkv", 5, 2),
    row("mean", "", 8, 1),
]


def test_printed_columns_stay_apart_whatever_an_op_is_called_and_takes(capsys):
    long = row("scaled_dot_product_attention", "blocks.0.attn.qkv", 777.224, 1696.036)
    demos.print_rows([long], 1)
    assert capsys.readouterr().out.splitlines()[1].split() == [
        "scaled_dot_product_attention", "blocks.0.attn.qkv", "forward", "777.224", "1696.036",
        "1696.036", "0",
    ]  # fmt: skip


def test_each_stretch_of_a_module_gets_a_row_around_its_ops():
    modules = [r for r in with_modules(ROWS) if r["op"] == "module"]
    assert short(modules) == {
        ("module", "blocks.0", 0, 5, 0),
        ("module", "blocks.0.attn", 0, 3, 1),
        ("module", "blocks.0.attn.qkv", 0, 2, 2),
        ("module", "blocks.0.mlp", 4, 5, 1),
        ("module", "blocks.1", 5, 7, 0),
        ("module", "blocks.1.attn", 5, 7, 1),
        ("module", "blocks.1.attn.qkv", 5, 7, 2),
    }
    assert all(r["matmul_flops"] == r["bytes_read"] == 0 for r in modules)


def test_ops_move_below_their_modules_and_stay_otherwise():
    ops = [r for r in with_modules(ROWS) if r["op"] != "module"]
    assert [r["depth"] for r in ops] == [3, 2, 2, 3, 0]
    assert [r | {"depth": 0} for r in ops] == ROWS
    assert_nested(with_modules(ROWS))


def test_a_region_and_another_phase_end_a_stretch():
    rows = [
        row("exp", "a", 0, 1),
        row("exp", "a", 2, 1, depth=1),
        row("exp", "a", 3, 1, depth=1),
        row("region", "inside a", 1.5, 3),
        row("exp", "a", 5, 1),
        row("exp", "a", 6, 1, phase="backward"),
        row("exp", "a", 7, 1, depth=1),
        row("region", "another", 7, 1),
        row("exp", "a", 8, 1, depth=1),
        row("region", "the next", 8, 1),
    ]
    made = with_modules(rows)
    assert_nested(made)
    assert len([r for r in made if r["op"] == "module"]) == 6


def test_no_rows_have_no_modules():
    assert with_modules([]) == []
    with pytest.raises(ValueError, match="no rows"):
        timeline([])


def test_a_timeline_is_drawn_and_described():
    picture = timeline([*ROWS, row("region", "all of it", 0, 10)], title="A pass")
    assert picture.alt == (
        "A pass: 13 bars in 4 lanes, 10 ms. linear 57%, matmul 14%, gelu 14%, mean 14%"
    )
    assert picture.png(dpi=50).startswith(b"\x89PNG")
    texts = [text.get_text() for text in picture.figure.axes[0].texts]
    assert "blocks.0" in texts and "linear" in texts and "all of it" in texts


def test_names_that_do_not_fit_are_shortened_or_stand_above_a_region():
    def named(ms):
        rows = [row("region", "a.very.long.name.that.ends", 0, ms), row("exp", "", 5, 95)]
        texts = timeline(rows).figure.axes[0].texts
        return [(text.get_text(), text.get_va()) for text in texts]

    assert named(ms=5) == [("ends", "center"), ("exp", "center")]
    assert named(ms=0.5) == [("ends", "bottom"), ("exp", "center")]  # a region's above its bar


def test_more_kinds_than_colours_are_others():
    rows = [row(f"op{i}", "", i, 1) for i in range(12)]
    picture = timeline(rows, most=3)
    legend = [text.get_text() for text in picture.figure.axes[0].get_legend().get_texts()]
    assert legend == ["op0", "op1", "op2", "others"]


KINDS = doubles.made_up(
    "op self_ms matmul_flops bytes_read",
    ("conv2d", 2.0, 70, 5),
    ("gelu", 1.0, 0, 1),
    ("relu", 1.5, 0, 1),
    ("warp", 4.0, 0, 3),
)


def test_each_kind_of_op_has_its_sum_and_what_has_no_kind_is_among_others():
    sums = demos.family_sums(KINDS, "self_ms")
    assert sums["activations"] == 2.5 and sums["others"] == 4.0 and sums["norms"] == 0
    assert sum(sums.values()) == 8.5
    picture = demos.three_shares({"A": KINDS, "B": KINDS}, "Seen")
    assert picture.alt.startswith(
        "Seen (of all that one pass needs). The largest part is others in A"
    )
    assert ". A: time, ms, 8.5: conv" in picture.alt
    assert "B: bytes read, 10: " in picture.alt and "others 30.0%" in picture.alt


def test_overheads_are_drawn_with_their_spread_and_the_guess():
    ratios = {("tiny", "sampler"): [1.0, 1.02, 1.1], ("tiny", "cProfile"): [3.1, 3.456, 4.0]}
    picture = demos.overheads(ratios, guess=("tiny", "cProfile", 2.5))
    assert "tiny, sampler 1.02 (1.00 to 1.10); tiny, cProfile 3.46 (3.10 to 4.00)" in picture.alt
    axes = picture.figure.axes[0]
    [guess] = [line for line in axes.lines if line.get_label() == "your guess"]
    assert (guess.get_xdata()[0], guess.get_ydata()[0]) == (2.5, 1)
    drawn = [list(line.get_xdata()) for line in axes.lines]
    assert [1.0, 1.1] in drawn and [3.1, 4.0] in drawn
    assert axes.get_xscale() == "log"  # so that a round of 120 times leaves the others apart
    silent = demos.overheads(ratios, guess=("tiny", "cProfile", None)).figure.axes[0]
    assert "your guess" not in [line.get_label() for line in silent.lines]


def test_each_way_is_compared_five_times_with_each_program():
    asked = []

    def overhead(fn, watched, rounds):
        asked.append((fn, watched, rounds))
        return 5.0 - len(asked)

    found = demos.compare_ways({"plain": lambda run: run()}, lambda once, min_time_ms: 1, overhead)
    assert list(found) == [(name, "plain") for name in ("30 tiny layers", "2 layers", "ResNet-18")]
    assert found["30 tiny layers", "plain"] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert {rounds for _, _, rounds in asked} == {2}


def test_between_tokens_is_what_attention_does_itself():
    places = (("wte", 50), ("blocks.0.attn", 3), ("blocks.0.attn.qkv", 4), ("blocks.0", 5),
              ("blocks.0.attn", 3), ("blocks.1.attn", 9), ("", 70))  # fmt: skip
    rows = [{"module": module, "ms": ms} for module, ms in places]
    assert demos.between_tokens(rows, "ms") == 6 / 15
    picture = demos.attention_curves({64: 0.02, 128: 0.04}, {64: 0.1, 128: 0.25}, guess=30)
    assert "predicted, by FLOPs rises from 2% at 64 to 4% at 128" in picture.alt
    assert "measured, by time rises from 10% at 64 to 25% at 128" in picture.alt
    [guess] = [x for x in picture.figure.axes[0].lines if x.get_label() == "your guess"]
    assert (guess.get_xdata()[0], guess.get_ydata()[0]) == (128, 0.3)


def test_a_sampler_sees_what_runs_and_stops_when_it_raises():
    def busy():
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            pass

    tries = (demos.sampled(busy) for _ in range(100))  # on a busy machine one may see nothing
    seen = next(names for names in tries if names)
    assert any("(busy)" in name for name in seen)
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        demos.sampled(lambda: 1 / 0)
    assert threading.active_count() == before


def test_repeated_calls_as_often_as_it_says():
    calls = []
    assert demos.repeated(lambda: calls.append(1), 3)() is None and len(calls) == 3


@pytest.mark.parametrize("half", [demos.run_a_loop, demos.multiply_matrices])
def test_both_halves_of_the_sampled_program_take_the_time_that_they_are_given(half):
    begun = time.perf_counter()
    half(0.01)
    assert time.perf_counter() - begun >= 0.01
