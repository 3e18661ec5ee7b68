"""The doubles for memory do what they say: exactly so many bytes, and nothing left behind."""

from __future__ import annotations

import tracemalloc

import pytest
from lesson_demos import beside

import proflab
from proflab import Tensor, nn
from proflab.lesson import doubles

fake = beside("04_memory", "memory_doubles")

MB = 1024**2


@pytest.mark.parametrize("sizes", [(4, 3, 2, 7), (0.5, 11, 6, 0), (1, 0, 0, 0.25)])
def test_allocating_allocates_what_it_says(sizes):
    model, x = doubles.Allocating(*sizes), Tensor([1.0])
    weights, graph, output, scratch = sizes
    assert sum(p.nbytes for p in model.parameters()) == weights * MB
    tracemalloc.start()
    result = model(x)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held == pytest.approx((graph + output) * MB, abs=MB / 100)
    assert peak == pytest.approx((graph + output + scratch) * MB, abs=MB / 100)
    assert result.requires_grad and model.shapes == [(1,)]
    with proflab.no_grad():
        assert fake.traced_mb(model, x) == pytest.approx(graph + output + scratch, abs=0.01)


def kept_by(step, steps):
    step()
    tracemalloc.start()
    for _ in range(steps):
        step()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held / MB / steps


@pytest.mark.parametrize(
    "kind, rate",
    [("kept", 1), ("kept_by_halves", 1), ("kept_by_lines", 1), ("kept_in_pieces", 1)]
    + [("through_numpy", 1), ("once", 0), ("freed", 0)],
)
def test_a_step_leaves_what_it_says(kind, rate):
    step = fake.LeakyStep(**{kind: {"something": 1}})
    assert kept_by(step, 5) == pytest.approx(rate, abs=0.01)
    assert step.calls == 6


def test_what_is_replaced_does_not_grow():
    step = fake.LeakyStep(replaced={"buffer": 4})
    assert kept_by(step, 4) == pytest.approx(1, abs=0.01)  # 4 MB, whatever the steps
    assert kept_by(step, 8) == pytest.approx(0.5, abs=0.01)


def test_functions_have_their_names_and_files_of_their_own():
    step = fake.LeakyStep(freed={"augment": 1}, kept={"remember": 1})
    functions = [function for function, _ in step.functions]
    assert [f.__name__ for f in functions] == ["augment", "remember"]
    assert len({f.__code__.co_filename for f in functions}) == 2


def test_a_step_fails_when_it_is_told_to():
    step = fake.LeakyStep(fails_at=2)
    step()
    with pytest.raises(KeyError, match="step 2"):
        step()


def test_holding_holds():
    step = fake.holding("keep", lambda mb: bytearray(mb * MB), 2)
    assert step.__name__ == "keep" and kept_by(step, 3) == pytest.approx(2, abs=0.01)


def test_held_is_what_is_there_while_the_result_is():
    kept = []
    largest = fake.held_mb(lambda: [doubles.block(3), doubles.block(9)][1])
    assert largest == pytest.approx(9, 0.01)
    assert fake.held_mb(lambda: kept.append(doubles.block(2))) == pytest.approx(2, 0.01)
    assert not tracemalloc.is_tracing()


def test_traced():
    assert fake.traced_mb(bytearray, 5 * MB) == pytest.approx(5, abs=0.01)
    assert not tracemalloc.is_tracing()


def test_furthest_is_the_largest_difference_of_any_gradient():
    layers = [nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)]
    x = Tensor([[1.0, -2.0, 0.5]], requires_grad=True)
    plain = nn.Sequential(*layers)
    assert fake.furthest(plain, layers, x) == 0.0
    right = fake.gradients(plain, x, [layers[2].bias])
    assert [g.shape for g in right] == [(1, 3), (2,)]
    off = fake.furthest(lambda x: plain(x) * 2, layers, x)  # each gradient four times as large
    largest = max(abs(g).max() for g in fake.gradients(plain, x, list(plain.parameters())))
    assert off == pytest.approx(3 * largest, rel=1e-5)
    x.requires_grad = False
    layers[0].weight.requires_grad = False
    assert fake.furthest(plain, layers, x) == 0.0


def test_a_tracker_measures_one_block_and_leaves_tracing_as_it_was():
    with fake.Tracker(frames=5) as tracker:
        kept = [doubles.block(2)]
        doubles.block(3)
        depth = tracemalloc.get_traceback_limit()
    assert [tracker.peak_mb, tracker.current_mb] == pytest.approx([5, 2], abs=0.01)
    assert depth == 5 and not tracemalloc.is_tracing()
    tracemalloc.start(7)
    with pytest.raises(KeyError), fake.Tracker():
        kept.append(doubles.block(1))
        raise KeyError
    assert tracemalloc.get_traceback_limit() == 7
    tracemalloc.stop()


def test_using_replaces_names_for_one_call_alone():
    scope = {"double": lambda n: n * 3}
    exec("def run(n):\n    return double(n) if n else unknown()", scope)
    right = doubles.using(scope["run"], double=lambda n: n * 2, unknown=lambda: "known")
    assert [right(4), right(0), scope["run"](4)] == [8, "known", 12]
    assert "unknown" not in scope
    with pytest.raises(TypeError):
        right("x", 1)
    assert scope["double"](1) == 3
