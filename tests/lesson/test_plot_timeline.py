"""Timelines: modules around their ops, always nested, and the picture of them."""

from __future__ import annotations

import pytest

from proflab.lesson.plot_timeline import spans, timeline, with_modules


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


def test_names_that_do_not_fit_are_shortened_or_left_out():
    rows = [row("exp", "a.very.long.name.that.ends", 0, 5), row("exp", "b", 5, 95)]
    drawn = spans(rows, name=lambda r: r["module"], group=lambda r: r["op"], title="Names")
    assert [text.get_text() for text in drawn.figure.axes[0].texts] == ["ends", "b"]
    rows[0]["ms"] = 0.5
    drawn = spans(rows, name=lambda r: r["module"], group=lambda r: r["op"])
    assert [text.get_text() for text in drawn.figure.axes[0].texts] == ["b"]


def test_more_kinds_than_colours_are_others():
    rows = [row(f"op{i}", "", i, 1) for i in range(12)]
    picture = spans(rows, name=lambda r: r["op"], group=lambda r: r["op"], most=3)
    legend = [text.get_text() for text in picture.figure.axes[0].get_legend().get_texts()]
    assert legend == ["op0", "op1", "op2", "others"]
