"""Rows of several recorded passes, put together."""

from proflab.lesson import machine
from proflab.lesson.recorded import median_rows


def test_each_row_gets_the_median_of_its_times():
    passes = [
        (9.0, [{"op": "a", "self_ms": ms}, {"op": "b", "self_ms": 2 * ms}])
        for ms in (1.0, 7.0, 2.0)
    ]
    rows = median_rows(passes)
    assert [(row["op"], row["self_ms"]) for row in rows] == [("a", 2.0), ("b", 4.0)]
    assert passes[0][1][0]["self_ms"] == 1.0  # what was recorded stays


def test_where_a_clock_has_long_steps_the_mean_counts_and_no_row_has_taken_no_time(monkeypatch):
    monkeypatch.setattr(machine, "TICK", 1e-4)  # as in a browser
    passes = [(9.0, [{"self_ms": ms}, {"self_ms": 0.0}]) for ms in (0.0, 0.1, 0.0, 0.1)]
    assert [row["self_ms"] for row in median_rows(passes)] == [0.05, 0.025]
