"""What only lesson 06 shows: recorded models, roofs, and pictures of both."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lesson_demos import demos_of
from matplotlib.colors import to_hex

from proflab.lesson import plot
from proflab.lesson.hardware import Cache, Hardware

ONE, TWO = Hardware(100e9, 20e9, "1 thread"), Hardware(190e9, 30e9, "2 threads")


@pytest.fixture(scope="module")
def demos():
    return demos_of("06_roofline")


class Recorder:
    """Counts how often it is entered; its rows say which time it was."""

    entered = 0

    def __enter__(self):
        type(self).entered += 1
        self.rows = [{"self_ms": float(self.entered)}]
        return self

    def __exit__(self, *error):
        return None


def row(op, module, ms, products=0, shapes=((2, 3),)):
    return {
        "op": op, "module": module, "input_shapes": list(shapes), "self_ms": ms, "depth": 0,
        "matmul_flops": products, "elementwise_flops": 1, "bytes_read": 8, "bytes_written": 4,
        "output_shape": (2, 5),
    }  # fmt: skip


def point(name, intensity, speed, share=0.1):
    return {"name": name, "intensity": intensity, "flops_per_second": speed, "share": share}


# ── what is recorded and measured ────────────────────────────────────────────────────────────


def test_rates_count_two_arrays_of_a_copy_and_three_of_a_sum(demos, monkeypatch):
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    monkeypatch.setattr(demos.time, "perf_counter", iter(range(1000)).__next__)
    copied, one_in, two_in = demos.stream_rates()  # each program takes a second
    assert copied == one_in == 2 * two_in / 3 == 2**26


def test_products_are_measured_on_one_thread_and_on_all(demos, monkeypatch):
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    monkeypatch.setattr(demos.measuring, "thread_counts", lambda: [1, 2])
    found = demos.peaks(lambda sizes, dtype, repeats: float(len(dtype)))
    names = [f"{kind}, {n}" for kind in ("float32", "float64") for n in ("1 thread", "2 threads")]
    assert list(found) == [*names, "float16, 1 thread", "int32, 1 thread"]
    assert found["float64, 2 threads"] == (7.0, 7.0, 7.0)


def test_additions_are_drawn_in_thousands_and_microseconds(demos):
    assert demos.addition_seconds(16) > 0
    picture = demos.additions({"measured": {1000: 2e-6, 4000: 3e-6}}, guess=250_000)
    axes = picture.figure.axes[0]
    drawn = [line.get_xydata().tolist() for line in axes.lines]
    assert drawn[0] == [[1.0, 2.0], [4.0, pytest.approx(3.0)]]
    assert drawn[-1] == [[1.0, 4.0]]  # the guess: 4 µs each


@pytest.mark.parametrize("name", ["GPT-2", "ResNet-18"])
def test_each_pass_is_recorded_alone_and_only_once(demos, name, monkeypatch):
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    Recorder.entered = 0
    passes = demos.recorded_passes(name, Recorder, 1, seconds=0)
    assert [rows for _, rows in passes] == [[{"self_ms": n}] for n in (1.0, 2.0, 3.0)]
    assert all(ms > 0 for ms, _ in passes)
    assert demos.recorded_passes(name, Recorder, 1, seconds=0) is passes


def test_other_models_are_not_there(demos):
    with pytest.raises(ValueError, match="'BERT'"):
        demos.recorded_passes("BERT", Recorder, 1)


def test_rows_that_differ_in_numbers_of_modules_are_one_and_no_two_have_one_label(demos):
    rows = [
        row("add", "blocks.0.attn", 1.0),
        row("add", "blocks.11.attn", 2.0),
        row("add", "blocks.0.mlp", 4.0),
        row("mul", "blocks.0.attn", 2.0),
        row("add", "blocks.3.attn", 1.0, shapes=((9, 7),)),
    ]
    found = demos.alike(rows)
    assert [(r["op"], r["module"], r["self_ms"], r["share"]) for r in found] == [
        ("add", "blocks.*.attn", 3.0, 0.3),
        ("add", "blocks.*.mlp", 4.0, 0.4),
        ("mul", "blocks.*.attn", 2.0, 0.2),
        ("add", "blocks.*.attn", 1.0, 0.1),
    ]
    assert [r["label"] for r in found][::3] == [
        "add blocks.*.attn 3 → 5",
        "add blocks.*.attn 7 → 5",
    ]
    assert found[0]["bytes_read"] == 16 and found[0]["bytes_written"] == 8
    assert found[0]["elementwise_flops"] == 2 and rows[0]["self_ms"] == 1.0


def test_products_are_told_from_the_rest(demos):
    rows = [row("linear", "", 3.0, products=9), row("add", "", 1.5), row("matmul", "", 1.0, 1)]
    assert demos.products_and_rest(rows) == (4.0, 1.5)


def test_points_keep_the_share_of_all_time(demos):
    rows = [row("linear", "fc", 3.0, products=9), row("view", "", 1.0)]
    points = demos.points_with_shares(
        rows,
        lambda rows, roof: [{"name": rows[0]["op"], "roof": roof}][: rows[0]["matmul_flops"]],
        ONE,
    )
    assert points == [{"name": "linear", "roof": ONE, "share": 0.75}]


def test_a_step_is_what_its_passes_say(demos, monkeypatch):
    rows = [row("linear", "", 3.0, products=9), row("add", "", 1.0)]
    monkeypatch.setattr(demos, "recorded_passes", lambda *of: [(5.0, rows), (7.0, rows)])
    assert demos.recorded_step("GPT-2", Recorder) == {
        "times_ms": [5.0, 7.0],
        "busy_ms": 4.0,
        "matmul_ms": 3.0,
        "matmul_flops": 9,
    }


def test_roofs_are_measured_by_the_student_with_plain_writes_first(demos, monkeypatch):
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    monkeypatch.setattr(demos.measuring, "thread_counts", lambda: [1, 2])
    monkeypatch.setattr(demos.measuring, "called", lambda n: f"{n} threads")
    copies = []

    def bandwidth(size, copy, repeats):
        copies.append(copy)
        return 1e9 * len(copies)

    roofs = demos.measured_roofs(lambda sizes: 5e9, bandwidth)
    assert [(roof.name, roof.bandwidth) for roof in roofs] == [
        ("1 threads", 1e9),
        ("1 threads, np.copyto", 2e9),
        ("2 threads", 3e9),
    ]
    assert copies[:2] == [demos.times_one, np.copyto]
    source, destination = np.arange(7.0), np.zeros(7)
    copies[2](destination, source)
    assert (destination == source).all()


def test_titles_are_read_off_the_rows(demos):
    first = {"output_shape": (1, 128, 768), "input_shapes": [(1, 128)]}
    rows = [first, {"input_shapes": [(1, 128, 768)]}]
    assert demos.title_of("GPT-2", rows) == "GPT-2 small, 1 text of 128 tokens"
    rows = [first | {"output_shape": (1, 32, 48)}, {"input_shapes": [(1, 32, 48)]}]
    assert demos.title_of("GPT-2", rows) == "GPT-2 of width 48, 1 text of 32 tokens"
    rows = [{"input_shapes": [(1, 3, 32, 64)], "output_shape": (1, 64, 16, 32)}] * 2
    assert demos.title_of("ResNet-18", rows) == "ResNet-18, 1 image of 32 × 64"


# ── pictures ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "value, text",
    [(27.4e9, "27.4 GB/s"), (2e12, "2 TB/s"), (999, "999 B/s"), (1e3, "1 kB/s"), (1e15, "1 PB/s"),
     (999_700, "1 MB/s")],
)  # fmt: skip
def test_rates_are_said_in_units_of_1000(demos, value, text):
    assert demos.rate(value, "B/s") == text and demos.flops(312e12) == "312 TFLOP/s"


@pytest.mark.parametrize("guess", [None, "ten", True, -3, 0, float("nan")])
def test_a_guess_that_is_no_number_above_0_is_not_drawn(demos, guess):
    assert math.isnan(demos.number(guess)) and demos.number(40) == 40.0
    series = {"a": [(1, 2.0), (8, 3.0)]}
    picture = demos.lines(series, "x", "y", "T", guess=(8, demos.number(guess)))
    assert not picture.figure.axes[0].get_legend()
    picture = demos.lines(series, "x", "y", "T", guess=(8, 2.5))
    assert list(picture.figure.axes[0].lines[-1].get_ydata()) == [2.5]
    assert picture.alt == "T: y against x. a rises from 2 at 1 to 3 at 8"
    large = demos.lines({"a": [(1, 682.667), (8, 123456.7)]}, "x", "y", "T")
    assert large.alt.endswith("a rises from 682.7 at 1 to 123,457 at 8")


def test_names_of_lines_that_end_together_do_not_overlap(demos):
    lines = {"a": [(1, 1.0), (64, 60.0)], "b": [(1, 64.0), (64, 64.0)], "c": [(1, 1.0), (64, 2.0)]}
    picture = demos.lines(lines, "x", "y", "Tiles")
    picture.png(72)
    drawn = {text.get_text(): text.get_window_extent() for text in picture.figure.axes[0].texts}
    assert not drawn["a"].overlaps(drawn["b"]) and drawn["a"].y1 < drawn["b"].y1
    offsets = {text.get_text(): text.xyann[1] for text in picture.figure.axes[0].texts}
    assert offsets["b"] == offsets["c"] == 0  # what has room stays at its line


def test_a_roofline_says_its_roofs_and_its_points(demos):
    points = [point("linear a.b", 50.0, 8e10, 0.5), point("add", 1 / 12, 1e9)]
    picture = demos.operations(points, [ONE, TWO], "T")
    assert picture.alt == (
        "T; area: share of the time. "
        "Roofs: 1 thread: 100 GFLOP/s and 20 GB/s, meeting at 5 FLOPs a byte; "
        "2 threads: 190 GFLOP/s and 30 GB/s, meeting at 6.33 FLOPs a byte. "
        "Points: linear a.b 80 GFLOP/s at 50; add 1 GFLOP/s at 0.0833."
    )
    axes = picture.figure.axes[0]
    areas = {dots.get_label(): dots.get_sizes()[0] for dots in axes.collections}
    assert areas == {"linear": 275.0, "add": 75.0} and picture.png(50)
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named[:2] == ["1 thread:\n100 GFLOP/s, 20 GB/s", "2 threads:\n190 GFLOP/s, 30 GB/s"]
    assert named[2:] == ["linear", "add"]


@pytest.mark.whole
def test_many_points_of_many_kinds_are_named_up_to_twelve(demos):
    points = [point(f"kind{i} m", 10.0 ** (i % 4 - 1), 1e8 * 2**i) for i in range(20)]
    picture = demos.operations(points, [ONE], "T")
    assert "; and 8 more." in picture.alt and picture.png(50)


def test_points_and_corners_lie_inside_the_axes(demos):
    points = [point("a", 1e-4, 1e5), point("b", 2e4, 5e11)]
    axes = demos.operations(points, [ONE, TWO], "T").figure.axes[0]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert left < 1e-4 and right > 2e4 and low < 1e5 and high > 5e11


def test_copies_are_shown_with_the_call_only_where_it_would_hide_them(demos):
    rates = {2**12: (1e9, 2e9, 3e9), 2**20: (8e9, 9e9, 9e9)}
    picture = demos.sweep(rates, [Cache(1, 2**15)], call=1e-6)
    copies = "a copy rises from 2 GB/s at 4 KB to 9 GB/s at 1 MB"
    assert picture.alt == f"Copies by their size, read and written: {copies}"
    labels = [text.get_text() for text in picture.figure.axes[0].get_legend().get_texts()]
    assert labels == ["np.copyto, one thread", "if the call were all"] and picture.png(50)
    axes = demos.sweep(rates, [], call=1e-9).figure.axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == labels[:1]


def test_ranges_say_middle_and_ends_and_show_the_guess_in_its_row(demos):
    rows = {"a": (1e9, 2e9, 3e9), "b": (4e6, 4e6, 4e6)}
    picture = demos.ranges(rows, unit="FLOP/s", title="R", guess=("b", 5e9))
    assert picture.alt == (
        "R: a 2 GFLOP/s (1 GFLOP/s to 3 GFLOP/s); b 4 MFLOP/s (4 MFLOP/s to 4 MFLOP/s)"
    )
    axes = picture.figure.axes[0]
    assert [list(xy) for xy in axes.lines[-1].get_data()] == [[5e9], [1]]
    assert axes.get_xlim()[1] > 5e9 and picture.png(50)
    plain = demos.ranges(rows, unit="FLOP/s", title="R", guess=("b", math.nan))
    assert len(plain.figure.axes[0].lines) == len(axes.lines) - 1


def test_time_is_divided_by_wall_in_one_order(demos):
    rows = [
        {"wall": "memory", "self_ms": 1.0},
        {"wall": "compute", "self_ms": 2.0},
        {"wall": "memory", "self_ms": 1.0},
    ]
    picture = demos.time_by_wall({"A": rows, "B": [{"wall": "ridge", "self_ms": 5.0}]})
    assert "A, 4: compute 50.0%, ridge 0.0%, memory 50.0%, overhead 0.0%" in picture.alt
    assert "B, 5: compute 0.0%, ridge 100.0%" in picture.alt and picture.png(50)


def test_an_op_has_the_same_colour_as_in_other_lessons(demos):
    points = [
        {"name": f"{op} 3·4", "intensity": 2.0, "flops_per_second": 3e9, "share": 0.3}
        for op in ("softmax", "linear", "add")
    ]
    picture = demos.operations(points, [Hardware(1e11, 1e10, "here")], "A model")
    handles = picture.figure.axes[0].get_legend().legend_handles
    shown = {
        handle.get_label(): to_hex(handle.get_facecolor()[0])
        for handle in handles
        if hasattr(handle, "set_sizes")
    }
    assert shown == {op: plot.OP_COLOURS[op].lower() for op in ("softmax", "linear", "add")}
