"""Pictures of walls: what they say in words, and that they can be drawn."""

from proflab.lesson import plot_walls
from proflab.lesson.hardware import Cache, Hardware


def test_copies_are_shown_with_the_call_only_where_it_would_hide_them():
    rates = {2**12: (1e9, 2e9, 3e9), 2**20: (8e9, 9e9, 9e9)}
    picture = plot_walls.levels(rates, [Cache(1, 2**15)], call=1e-6)
    assert picture.alt == (
        "How far away: read and written against working set, both arrays. "
        "np.copyto, one thread: 4 KB 2 GB/s, 1 MB 9 GB/s; if the call were all: 4 KB 4.1 GB/s"
    )
    assert picture.png(50)
    assert "if the call were all" not in plot_walls.levels(rates, [], call=1e-9).alt


def test_operations_stand_under_the_first_roof_and_the_busiest_is_named():
    roofs = [Hardware(100e9, 20e9, "1 thread"), Hardware(190e9, 30e9, "2 threads")]
    points = [
        {"name": "add", "intensity": 0.1, "flops_per_second": 1e9, "share": 0.2},
        {"name": "linear fc", "intensity": 50.0, "flops_per_second": 8e10, "share": 0.7},
    ]
    picture = plot_walls.operations(points, roofs, "A model")
    assert picture.alt.startswith("A model; area: share of the time. Roofs: 1 thread: 100 GFLOP/s")
    texts = [text.get_text() for text in picture.figure.axes[0].texts]
    assert "linear fc" in texts and "add" not in texts
    assert any("2 threads" in text for text in texts) and picture.png(50)
    alike = plot_walls.operations([points[1], points[1] | {"share": 0.1}], roofs, "A model")
    assert "linear fc" not in [text.get_text() for text in alike.figure.axes[0].texts]


def test_additions_are_drawn_in_thousands_and_microseconds():
    picture = plot_walls.additions([(16, 2e-6, 1e-9, "overhead"), (4000, 3e-6, 1e-6, "memory")])
    assert picture.alt.endswith("took from 2 to 3; the roof's time from 0.001 to 1")
    assert [list(line.get_xdata()) for line in picture.figure.axes[0].lines] == [[0.016, 4.0]] * 2


def test_time_is_divided_by_wall_in_one_order():
    rows = [
        {"wall": "memory", "self_ms": 1.0}, {"wall": "compute", "self_ms": 2.0},
        {"wall": "memory", "self_ms": 1.0},
    ]  # fmt: skip
    picture = plot_walls.time_by_wall({"A": rows, "B": [{"wall": "ridge", "self_ms": 5.0}]})
    assert "A, 4: compute 50.0%, ridge 0.0%, memory 50.0%, overhead 0.0%" in picture.alt
    assert "B, 5: compute 0.0%, ridge 100.0%" in picture.alt and picture.png(50)


def test_lines_are_said_in_their_units():
    best = plot_walls.at_best({"A": [(1.0, 2e12), (8.0, 312e12)]}, "Sheets")
    assert best.alt.endswith("A from 2 TFLOP/s to 312 TFLOP/s")
    whole = plot_walls.speedups({"50%": [(1.0, 1.0), (128.0, 1.984)]}, "the part")
    assert whole.alt.endswith("the whole against the part. 50% from 1 to 1.98")


def test_names_of_lines_that_end_together_do_not_overlap():
    lines = {"a": [(1, 1.0), (64, 60.0)], "b": [(1, 64.0), (64, 64.0)], "c": [(1, 1.0), (64, 2.0)]}
    picture = plot_walls.tiles(lines, "Tiles")
    picture.png(72)
    drawn = {text.get_text(): text.get_window_extent() for text in picture.figure.axes[0].texts}
    assert not drawn["a"].overlaps(drawn["b"]) and drawn["a"].y1 < drawn["b"].y1
    offsets = {text.get_text(): text.xyann[1] for text in picture.figure.axes[0].texts}
    assert offsets["b"] == offsets["c"] == 0  # what has room stays at its line
