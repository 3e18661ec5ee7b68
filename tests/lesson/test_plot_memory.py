"""The tables, sentences and pictures of lesson 04."""

from __future__ import annotations

import re

import pytest

from proflab.lesson import plot_memory, segments, show_memory
from proflab.lesson.moments import Timeline

ROW = {
    "parameter_mb": 10.0, "gradient_mb": 10.0, "optimizer_mb": 20.0, "activation_mb": 60.0,
    "total_mb": 100.0,
}  # fmt: skip


def test_a_table_is_as_wide_as_what_it_holds(capsys):
    rows = {"first": (1, 0.5), "the second": (1_234_567_890, 12.345)}
    show_memory.table("MB", {"a": ",", "longer": ".2f"}, rows)
    assert capsys.readouterr().out.splitlines() == [
        "MB                       a   longer",
        "first                    1     0.50",
        "the second   1,234,567,890    12.35",
    ]  # fmt: skip


def test_a_table_needs_a_format_for_each_number():
    with pytest.raises(ValueError):
        show_memory.table("MB", {"a": ",", "b": ","}, {"row": (1,)})


def test_passes_are_shown_by_their_keys(capsys):
    row = {"memory_efficiency": 0.5, "peak_memory_mb": 8.0, "activation_memory_mb": 3.0}
    show_memory.print_passes({"one": row | {"parameter_memory_mb": 1.0}})
    assert capsys.readouterr().out.splitlines()[1].split() == ["one", "1.0", "3.0", "8.0", "50%"]


def test_what_torch_keeps_is_shown_beside_what_is_counted(capsys):
    document = {
        "rows": [{"model": "A", "input_shape": [2, 3], "bytes": 100},
                 {"model": "B", "input_shape": [4], "bytes": 70}],
        "differences": [{"model": "A", "op": "pool", "bytes": 30, "reason": "why"}],
    }  # fmt: skip
    asked = []
    show_memory.print_saved(document, lambda name, shape: asked.append((name, shape)) or 70)
    lines = capsys.readouterr().out.splitlines()
    assert asked == [("A", (2, 3)), ("B", (4,))]
    assert lines[1].split()[-4:] == ["70", "100", "-30", "-30"]
    assert lines[2].split()[-4:] == ["70", "70", "0", "0"]
    assert lines[-1] == "A, pool: why"


def test_leaks_are_named_where_there_are_any(capsys):
    found = {"step": {"bytes_per_step": 2048.0 * 1024, "function": "keep"},
             "clean": {"bytes_per_step": 12.0, "function": None}}  # fmt: skip
    show_memory.print_leaks(found)
    leak, clean = capsys.readouterr().out.splitlines()
    assert leak.split(maxsplit=1) == ["step", "2,048 KB a step, by keep"]
    assert clean.split(maxsplit=1) == ["clean", "no leak"]


@pytest.mark.parametrize(
    "plain, peaks, said",
    [
        (90.0, {1: 40.0, 6: 20.4, 36: 95.0}, "Layers: 90 MB without, 20 MB in segments of 6"),
        (90.0, {1: 40.0, 36: 95.0}, "Layers: 90 MB without, 40 MB in segments of 1"),
        (30.0, {1: 40.0, 36: 30.0}, "Layers: 30 MB without, and no segments need less"),
    ],
)
def test_the_best_segment_is_the_one_that_was_measured(plain, peaks, said):
    assert segments.best_segment("Layers", plain, peaks) == said


def test_segments_divide_the_layers():
    assert list(segments.segment_lengths(12)) == [1, 2, 3, 4, 6, 12]
    assert list(segments.segment_lengths(1)) == [1]


def test_trainings_parts_have_names_for_people():
    alt = plot_memory.training({"net": ROW}, "Adam", "Bytes").alt
    assert "net, 100 MB: parameters 10.0%, gradients 10.0%, optimizer's state 20.0%" in alt
    assert "activations 60.0%" in alt and "with Adam" in alt


def test_by_batch_takes_activations_apart():
    rows = {1: ROW, 4: ROW | {"activation_mb": 240.0, "total_mb": 280.0}}
    alt = plot_memory.by_batch(rows, "Adam").alt
    assert "activations from 60 to 240" in alt and "all the rest, with Adam from 40 to 40" in alt


def test_parts_are_lines_in_mb():
    parts = {8: {"a": 2**20, "b": 2**21}, 16: {"a": 2**22, "b": 2**22}}
    alt = plot_memory.kept_by_part(parts, "tokens").alt
    assert "MB against tokens" in alt and "a from 1 to 4" in alt and "b from 2 to 4" in alt


def test_both_meters_are_over_the_first_moment():
    rows = [{"label": "start", "rss_mb": 100.0}, {"label": "end", "rss_mb": 130.0}]
    alt = plot_memory.two_meters(rows, [5.0, 25.0]).alt
    assert re.search(r"end, RSS 30; end, traced 20$", alt)


def test_op_by_op_shows_the_phases():
    timeline = Timeline()
    timeline.readings, timeline.phases = [1.0, 3.0, 2.0], [("forward 1", 2), ("backward 1", 3)]
    alt = plot_memory.op_by_op(timeline, "Steps").alt
    assert "forward 1 up to 3, ends at 3; backward 1 up to 2" in alt


def test_segments_and_trades_are_lines():
    assert "plain from 9 to 4" in plot_memory.segments({"plain": {1: 9.0, 2: 4.0}}).alt
    points = {"all": [(300, 8 * 2**20), (400, 2**20)]}
    picture = plot_memory.trade(points, 100)
    assert "all from 8 to 1" in picture.alt and "in forward passes" in picture.alt
    assert list(picture.figure.axes[0].lines[0].get_xdata()) == [3.0, 4.0]
