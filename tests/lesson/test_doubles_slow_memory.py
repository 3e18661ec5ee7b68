"""A slow memory counts what passes, refuses what does not fit, and sees scores that are too large.

The attention here is written for these tests; what the lesson's own does, its cohort shows.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from lesson_demos import beside

from proflab.lesson.doubles import Pixels, SlowMemory

any_merge = beside("09_optimization", "merging").any_merge


def attend(memory: SlowMemory, block_q: int, block_k: int, whole: bool = False) -> None:
    """Attention with two passes over the keys; `whole`: all scores of a row of tiles at once."""
    for low in range(0, memory.seq, block_q):
        q = memory.load("q", low, min(low + block_q, memory.seq))
        places = [(at, min(at + block_k, memory.seq)) for at in range(0, memory.seq, block_k)]
        keys = [memory.load("k", *place) for place in places]
        keys = [np.concatenate(keys)] if whole else keys
        scores = np.concatenate([q @ key.T / math.sqrt(memory.width) for key in keys], axis=1)
        scores = np.array(scores, subok=False)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        values = np.concatenate([memory.load("v", *place) for place in places])
        memory.store("o", low, weights @ values / weights.sum(axis=1, keepdims=True))


def test_it_counts_each_number_loaded_and_stored():
    memory = SlowMemory(100, 8, 32, 16)
    attend(memory, 32, 16)
    assert memory.moved == 2 * 100 * 8 * (1 + 4)
    assert memory.error < 1e-6 and memory.largest_scores == 32 * 16


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_keep_their_dtype(dtype):
    memory = SlowMemory(6, 3, 4, 4, dtype=dtype)
    rows = memory.load("q", 0, 4)
    assert (rows @ rows.T).dtype == rows.dtype == memory.output.dtype == np.dtype(dtype)
    attend(memory, 4, 4)
    assert memory.error < {"float32": 1e-6, "float64": 1e-14}[dtype]


def test_numbers_are_as_large_as_asked_and_drawn_from_the_seed():
    one, same, other = (SlowMemory(50, 4, 50, 50, largest=100.0, seed=s) for s in (1, 1, 2))
    drawn = [memory.load("k", 0, 50) for memory in (one, same, other)]
    assert 90 < np.abs(drawn[0]).max() <= 100
    assert (drawn[0] == drawn[1]).all() and (drawn[0] != drawn[2]).any()


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_more_rows_than_the_tile_has_are_refused(name):
    memory = SlowMemory(12, 2, 3, 5)
    most = 3 if name == "q" else 5
    assert memory.load(name, 0, most).shape == (most, 2)
    with pytest.raises(ValueError, match=f"{most + 1} rows of {name} do not fit"):
        memory.load(name, 0, most + 1)
    assert memory.moved == 2 * most


def test_a_tile_below_1_refuses_nothing_itself():
    for block in (0, -3):
        assert SlowMemory(12, 2, block, block).load("q", 0, 12).shape == (12, 2)


@pytest.mark.parametrize("rows", [(-1, 1), (3, 3), (4, 3), (11, 13)])
def test_rows_that_are_not_there_are_refused(rows):
    with pytest.raises(ValueError, match="there are rows 0 to 11"):
        SlowMemory(12, 2, 4, 4).load("v", *rows)


def test_only_q_k_and_v_are_loaded_and_only_o_is_stored():
    memory = SlowMemory(4, 2, 4, 4)
    with pytest.raises(ValueError, match="'o'"):
        memory.load("o", 0, 1)
    with pytest.raises(ValueError, match="only 'o'"):
        memory.store("q", 0, np.ones((1, 2)))


def test_rows_are_stored_once_and_whole():
    memory = SlowMemory(4, 2, 2, 2)
    for rows, message in [(np.ones((1, 3)), r"\(n, 2\)"), (np.ones((3, 2)), "do not fit")]:
        with pytest.raises(ValueError, match=message):
            memory.store("o", 0, rows)
    memory.store("o", 2, np.ones((2, 2)))
    with pytest.raises(ValueError, match="stored already"):
        memory.store("o", 1, np.ones((2, 2)))
    assert memory.error == math.inf  # two rows are missing


def test_loaded_rows_are_copies():
    memory = SlowMemory(4, 2, 4, 4)
    memory.load("q", 0, 4)[:] = 9
    assert (memory.load("q", 0, 4) < 2).all()


WAYS = {
    "@": lambda q, k: q @ k.T,
    "dot": lambda q, k: q.dot(k.T),
    "np.dot": lambda q, k: np.dot(q, k.transpose()),
    "matmul into an array": lambda q, k: np.matmul(q, k.T, out=np.empty((4, 6), np.float32)),
    "einsum": lambda q, k: np.einsum("ik,jk->ij", q, k),
    "tensordot": lambda q, k: np.tensordot(q, k, axes=(1, 1)),
    "inner": lambda q, k: np.inner(q * 2, k),
    "one by one, then exp": lambda q, k: np.exp(np.stack([(q * key).sum(1) for key in k], 1)),
}


@pytest.mark.parametrize("way", WAYS)
def test_scores_are_seen_however_they_are_made(way):
    memory = SlowMemory(6, 2, 4, 6)
    WAYS[way](memory.load("q", 0, 4), memory.load("k", 0, 6))
    assert memory.largest_scores == 24


def test_scores_of_several_tiles_at_once_are_seen():
    memory = SlowMemory(32, 4, 8, 8)
    attend(memory, 8, 8, whole=True)
    assert memory.error < 1e-6 and memory.largest_scores == 8 * 32


def test_weights_times_values_are_no_scores():
    memory = SlowMemory(6, 5, 2, 2)
    scores = memory.load("q", 0, 2) @ memory.load("k", 0, 2).T
    mixed = scores @ memory.load("v", 0, 2)
    assert mixed.shape == (2, 5) and memory.largest_scores == 4


def test_arrays_behave_as_ordinary_ones():
    memory = SlowMemory(4, 3, 4, 4)
    rows = memory.load("q", 0, 4)
    scores = rows @ rows.T
    scores /= math.sqrt(3)
    scores[np.triu_indices(4, 1)] = -np.inf
    highest = np.maximum(scores.max(axis=1), np.full(4, -1.0, np.float32))
    np.subtract(scores, highest[:, None], out=scores)
    assert np.where(scores > -1, scores, 0).shape == (4, 4) and np.isneginf(scores).sum() == 6
    assert [part.shape for part in np.split(rows, 2)] == [(2, 3), (2, 3)]
    assert isinstance(float(np.sum(rows)), float) and rows.tolist() == np.array(rows).tolist()


def test_the_stand_in_for_merge_neither_overflows_nor_rounds():
    low = np.array([-1e4, 1e4, 0.0]), np.ones(3), np.array([[1.0], [2.0], [3.0]])
    high = np.array([1e4, -1e4, 0.0]), np.full(3, 2.0), np.array([[6.0], [8.0], [5.0]])
    scale, total, values = any_merge(low, high)
    assert scale.tolist() == [1e4, 1e4, 0.0]
    assert total.tolist() == [2.0, 1.0, 3.0] and values.tolist() == [[6.0], [2.0], [8.0]]


def test_the_stand_in_takes_the_other_where_there_are_no_scores():
    none = tuple(np.array(part, np.float32) for part in ([-np.inf], [0], [[0, 0]]))
    some = tuple(np.array(part, np.float32) for part in ([-3], [2], [[1, 4]]))
    for pair in ((none, some), (some, none)):
        scale, total, values = any_merge(*pair)
        assert scale.tolist() == [0.0] and (values / total).tolist() == [[0.5, 2.0]]
        assert {part.dtype for part in (scale, total, values)} == {np.dtype(np.float32)}
    assert [part.tolist() for part in any_merge(none, none)] == [[-math.inf], [0], [[0, 0]]]


def test_a_hundred_merges_stay_on_one_scale():
    part = tuple(np.array(item, np.float32) for item in ([3.5], [1], [[2]]))
    whole = part
    for _ in range(99):
        whole = any_merge(whole, part)
    assert whole[0].tolist() == [8.0]
    assert float(whole[2][0, 0] / whole[1][0]) == pytest.approx(2, rel=1e-6)
    assert float(whole[1][0]) == pytest.approx(100 * math.exp(-4.5), rel=1e-6)


def test_a_memory_whose_numbers_the_grader_holds_counts_there():
    given = {"seq": 20, "width": 4, "block_q": 8, "block_k": 8, "seed": 3}
    script, memory = SlowMemory.Script(**given), SlowMemory.held("memory")
    memory._script = script  # as the grader answers
    attend(memory, 8, 8)
    assert (script.moved, script.error < 1e-6) == (2 * 20 * 4 * (1 + 3), True)
    with pytest.raises(AttributeError):
        memory.moved = 7


def test_pixels_come_from_their_name_and_their_seed():
    one, other = Pixels(seed=1), Pixels(seed=2)
    first = one.read("7/012.png")
    assert first.shape == (32, 32) and first.dtype == np.uint8 and first.max() <= 240
    assert (one.read("7/012.png") == first).all() and (one.read("7/013.png") != first).any()
    assert (other.read("7/012.png") != first).any()
    assert (one.reads, one.read_again, other.read_again) == (3, 1, 0)
