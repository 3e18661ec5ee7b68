"""Models written for torch run after nothing but their imports were changed."""

from pathlib import Path

import numpy as np
import pytest
from engine_cases import recorded
from layer_cases import fill_parameters, model_input
from ported_models import EXAMPLES, ported

import proflab
from proflab import Tensor

DATA = Path(__file__).parents[1] / "data"
TORCH = recorded(DATA / "torch_ported.npz")


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_ported_model_computes_what_it_did_in_torch(name):
    cls, arguments, shape = EXAMPLES[name]
    model = cls(*arguments)
    fill_parameters(proflab, model)
    out = model(model_input(proflab, name, shape))
    out.square().sum().backward()
    np.testing.assert_allclose(out.detach().numpy(), TORCH[f"{name}|out"], rtol=2e-4, atol=2e-5)
    grads = [0.0 if p.grad is None else p.grad.abs().sum().item() for p in model.parameters()]
    np.testing.assert_allclose(grads, TORCH[f"{name}|grads"], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_ported_model_runs_on_meta(name):
    cls, arguments, shape = EXAMPLES[name]
    expected = TORCH[f"{name}|out"].shape
    tokens = isinstance(shape[1], tuple)
    x = Tensor.meta(shape[1] if tokens else shape, "int64" if tokens else "float32")
    for under_meta in (False, True):
        if under_meta:
            with proflab.meta():
                model = cls(*arguments)
        else:
            model = cls(*arguments)
        out = model(x)
        assert out.is_meta and out.shape == expected
        out.sum().backward()
        assert all(p.grad is not None for p in model.parameters() if p.requires_grad)


def test_the_changed_source_mentions_torch_no_more():
    assert ported()["torch"] is proflab
