"""Layers, and small models written in torch's style, against what torch 2.13.0 computed."""

from pathlib import Path

import numpy as np
import pytest
from engine_cases import Maker, recorded
from layer_cases import LAYERS, fill

import proflab
from proflab import Tensor

TORCH = recorded(Path(__file__).parents[1] / "data" / "torch_layers.npz")


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", LAYERS)
def test_layer_is_torchs(name, mode):
    make, inputs, settings = LAYERS[name]
    module = make(proflab)
    getattr(module, mode)()
    # Values that the first of torch's two modes left behind do not matter: fill sets them anew.
    fill(proflab, module)
    tensors = [proflab.tensor(x) for x in inputs(Maker(name))]
    for tensor in tensors:
        tensor.requires_grad_(tensor.is_floating_point())
    out = module(*tensors, **settings(proflab))
    out = out[0] if isinstance(out, tuple) else out
    out.square().sum().backward()
    expected = TORCH[f"{name}|{mode}|out"]
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-4, atol=1e-5)
    if tensors[0].grad is not None:
        grad = TORCH[f"{name}|{mode}|grad"]
        np.testing.assert_allclose(tensors[0].grad.numpy(), grad, rtol=1e-3, atol=1e-4)
    sums = [p.grad.abs().sum().item() for p in module.parameters()]
    np.testing.assert_allclose(sums, TORCH[f"{name}|{mode}|parameters"], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_on_meta_has_the_same_shapes(name):
    make, inputs, settings = LAYERS[name]
    real = [proflab.tensor(x) for x in inputs(Maker(name))]
    out = make(proflab)(*real, **settings(proflab))
    with proflab.meta():
        module = make(proflab)
    assert all(p.is_meta for p in module.parameters())
    result = module(*(Tensor.meta(x.shape, x.dtype) for x in real), **settings(proflab))
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (out, result)), strict=True):
        assert (a is None and b is None) or (a.shape == b.shape and a.dtype == b.dtype)
        assert b is None or b.is_meta
