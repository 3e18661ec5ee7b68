"""What measuring a machine takes: turns, threads, sizes that caches hold or do not."""

import numpy as np
import pytest

from proflab.lesson import measuring
from proflab.lesson.hardware import Cache
from proflab.lesson.measuring import beyond_caches, called, copy_on, drops, on_threads

CACHE = Cache(2, 2**20)


def test_measurements_take_turns():
    order, values = [], iter([3.0, 10.0, 1.0, 30.0, 2.0, 20.0])

    def measure(name):
        order.append(name)
        return next(values)

    found = measuring.in_turns(measure, {"a": "a", "b": "b"}, 3)
    assert order == list("ababab")
    assert found == {"a": (1.0, 2.0, 3.0), "b": (10.0, 20.0, 30.0)}


def test_one_measurement_is_taken_of_many_things_in_turns(monkeypatch):
    asked = []
    found = measuring.in_turns(
        lambda *case: asked.append(case) or 1.0, {"a": (1,), "b": (2, 3)}, rounds=3
    )
    assert asked == [(1,), (2, 3)] * 3 and found == {"a": (1.0, 1.0, 1.0), "b": (1.0, 1.0, 1.0)}
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    asked.clear()
    measuring.in_turns(lambda *case: asked.append(case) or 1.0, {"a": (1,)})
    assert asked == [(1,)] * 2


def test_the_best_time_is_that_of_the_fastest_call(monkeypatch):
    now = iter([0.0, 5.0, 10.0, 12.0, 20.0, 23.0])
    monkeypatch.setattr(measuring.time, "perf_counter", lambda: next(now))
    calls = []
    assert measuring.best_time(lambda: calls.append(1), 3) == 2.0 and len(calls) == 3


def test_there_are_two_rounds_even_when_time_is_up(monkeypatch):
    monkeypatch.setattr(measuring, "_SECONDS", 0.0)
    calls = []
    measuring.in_turns(lambda: calls.append(1) or 1.0, {"a": ()}, 9)
    assert len(calls) == 2


def test_where_threads_cannot_be_set_nothing_claims_a_number(monkeypatch):
    monkeypatch.setattr(measuring, "blas_threads", lambda: None)
    assert measuring.thread_counts() == [1] and called(1) == "threads unknown"
    with on_threads(4):
        pass


def test_threads_are_counted(monkeypatch):
    for count, counts in ((1, [1]), (8, [1, 8])):
        monkeypatch.setattr(measuring, "blas_threads", lambda count=count: count)
        assert measuring.thread_counts() == counts
    assert [called(1), called(8)] == ["1 thread", "8 threads"]


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_a_copy_in_pieces_copies_everything(threads):
    source, destination = np.arange(1001.0), np.zeros(1001)
    copy_on(threads)(destination, source)
    assert (source == destination).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_pieces_are_written_by_the_copy_that_is_given(threads):
    source, destination = np.arange(1001.0), np.zeros(1001)
    copy_on(threads, lambda to, of: np.multiply(of, 2, out=to))(destination, source)
    assert (destination == 2 * source).all()


@pytest.mark.parametrize(
    "caches, size",
    [
        ((), 2**28),
        ((Cache(3, 2**20),), 2**26),
        ((Cache(2, 2**20), Cache(3, 50 * 2**20)), 400 * 2**20),
        ((Cache(3, 2**29),), 2**29),
    ],
)
def test_working_sets_for_main_memory(caches, size):
    assert beyond_caches(caches, 2**29) == size


def test_a_drop_exceeds_the_spread_or_is_none():
    clear = [(2**17, 6e9, 9e9, 9e9), (2**19, 7e9, 8e9, 9e9), (2**22, 1e9, 2e9, 5e9)]
    assert drops(clear, [CACHE]) == [(CACHE, 8.5e9, 2e9, True)]
    noisy = [(2**17, 4e9, 9e9, 9e9), *clear[1:]]
    assert drops(noisy, [CACHE]) == [(CACHE, 8.5e9, 2e9, False)]


def test_sets_near_a_caches_size_and_of_other_caches_do_not_count():
    near = [(2**20, 9e9, 9e9, 9e9), (2**21 - 1, 1e9, 1e9, 1e9)]
    assert drops(near, [CACHE]) == [] and drops([], [CACHE]) == [] and drops(near, []) == []
    levels = [Cache(1, 2**15), CACHE, Cache(3, 2**25)]
    points = [(2**k, 1e9 * (30 - k), 1e9 * (30 - k), 1e9 * (30 - k)) for k in range(12, 30)]
    found = drops(points, levels)
    assert [row[0].level for row in found] == [1, 2, 3] and all(row[3] for row in found)
    # In L2: 2¹⁶ to 2¹⁹. Beyond it, and not yet beyond L3: 2²¹ to 2²⁵.
    assert found[1][1:3] == (12.5e9, 7e9)
