"""Passes under a recorder, and their rows put together."""

import pytest

from proflab.lesson import recorded


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
    }  # fmt: skip


@pytest.mark.parametrize("name", ["GPT-2", "ResNet-18"])
def test_each_pass_is_recorded_alone(name, monkeypatch):
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    Recorder.entered = 0
    passes = recorded.recorded_passes(name, Recorder, 1, seconds=0)
    assert [rows for _, rows in passes] == [[{"self_ms": n}] for n in (1.0, 2.0, 3.0)]
    assert all(ms > 0 for ms, _ in passes)


def test_other_models_are_not_there():
    with pytest.raises(ValueError, match="'BERT'"):
        recorded.recorded_passes("BERT", Recorder, 1)


def test_each_row_gets_the_median_of_its_times():
    passes = [(9.0, [row("a", "", ms), row("b", "", 2 * ms)]) for ms in (1.0, 7.0, 2.0)]
    rows = recorded.median_rows(passes)
    assert [(r["op"], r["self_ms"]) for r in rows] == [("a", 2.0), ("b", 4.0)]
    assert passes[0][1][0]["self_ms"] == 1.0  # what was recorded stays


def test_rows_that_differ_in_numbers_of_modules_are_one():
    rows = [
        row("add", "blocks.0.attn", 1.0), row("add", "blocks.11.attn", 2.0),
        row("add", "blocks.0.mlp", 4.0), row("mul", "blocks.0.attn", 2.0),
        row("add", "blocks.3.attn", 1.0, shapes=((9,),)),
    ]  # fmt: skip
    found = recorded.alike(rows)
    assert [(r["op"], r["module"], r["self_ms"], r["share"]) for r in found] == [
        ("add", "blocks.*.attn", 3.0, 0.3),
        ("add", "blocks.*.mlp", 4.0, 0.4),
        ("mul", "blocks.*.attn", 2.0, 0.2),
        ("add", "blocks.*.attn", 1.0, 0.1),
    ]
    assert found[0]["bytes_read"] == 16 and found[0]["bytes_written"] == 8
    assert found[0]["elementwise_flops"] == 2 and rows[0]["self_ms"] == 1.0


def test_products_are_told_from_the_rest():
    rows = [row("linear", "", 3.0, products=9), row("add", "", 1.5), row("matmul", "", 1.0, 1)]
    assert recorded.products_and_rest(rows) == (4.0, 1.5)
