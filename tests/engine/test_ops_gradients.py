"""Gradients against finite differences, and meta tensors against real ones, on drawn shapes."""

import numpy as np
import pytest
from engine_cases import CASES, Maker, layouts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import proflab
from proflab import Tensor

# Their slope jumps or their case detaches one input: finite differences see another function.
WITHOUT_SLOPE = {"remainder", "floor divide"}
FEW = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def drawn(data, name: str):
    """A case whose sizes hypothesis chose, its inputs' layouts, and a seed for weights."""
    maker = Maker(
        data.draw(st.integers(0, 99), "seed"),
        lambda low, high: data.draw(st.integers(low, high)),
    )
    arrays, function = CASES[name](maker)
    kinds = [data.draw(st.integers(0, 3), "layout") for _ in arrays]
    return arrays, lambda *t: function(
        proflab, *(layouts(x, kind) for x, kind in zip(t, kinds, strict=True))
    )


@pytest.mark.parametrize("name", [n for n in CASES if n not in WITHOUT_SLOPE])
@FEW
@given(data=st.data())
def test_gradient_is_the_finite_difference(name, data):
    arrays, function = drawn(data, name)
    leaves = [Tensor(a, requires_grad=True, dtype="float64") for a in arrays]
    out = function(*leaves)
    weights = Maker("weights").values(*out.shape)

    def objective() -> float:
        with proflab.no_grad():
            return float((function(*leaves).numpy() * weights).sum())

    if out.requires_grad:
        out.backward(Tensor(weights, dtype="float64"))
    step = 1e-6
    for leaf in leaves:
        grad = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy()
        assert grad.shape == leaf.shape
        flat = leaf.array.reshape(-1)
        for i in range(min(flat.size, 6)):  # a few elements find a wrong rule as well as all
            before = flat[i]
            flat[i] = before + step
            above = objective()
            flat[i] = before - step
            below = objective()
            flat[i] = before
            slope = (above - below) / (2 * step)
            assert grad.reshape(-1)[i] == pytest.approx(slope, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", [n for n in CASES if n not in {"index by mask"}])
@FEW
@given(data=st.data())
def test_meta_agrees_with_data(name, data):
    arrays, function = drawn(data, name)
    seen = {}
    for meta in (False, True):
        events, kept, storages = [], [], set()

        def h(call, events=events):
            result = call()
            for t in result if isinstance(result, tuple) else (result,):
                if t is not None:
                    events.append((call.op, call.phase, t.shape, t.dtype, t.is_contiguous()
                                   if call.phase == "forward" else None))  # fmt: skip
            return result

        def pack(t, kept=kept, storages=storages):
            kept.append((t.shape, t.dtype))
            storages.add(t.storage)
            return t

        leaves = [
            Tensor.meta(a.shape, "float64", True)
            if meta
            else Tensor(a, requires_grad=True, dtype="float64")
            for a in arrays
        ]
        with proflab.dispatch.hook(h), proflab.saved_tensors(pack, lambda t: t):
            out = function(*leaves)
            if out.requires_grad:
                out.sum().backward()
        grads = [t.grad is None or (t.grad.shape, t.grad.dtype) for t in leaves]
        seen[meta] = events, kept, sorted(s.nbytes for s in storages), grads
        assert out.is_meta is meta or not arrays
    assert seen[True] == seen[False]
