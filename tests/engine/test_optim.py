"""Optimizers against the steps that torch 2.13.0 took."""

from pathlib import Path

import numpy as np
import pytest
from engine_cases import recorded
from layer_cases import OPTIMIZERS, run_optimizer

import proflab
from proflab import nn, optim

TORCH = recorded(Path(__file__).parents[1] / "data" / "torch_optimizers.npz")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_torchs(name):
    track = run_optimizer(proflab, *OPTIMIZERS[name])
    np.testing.assert_allclose(track, TORCH[name], rtol=1e-3, atol=1e-5)


def test_each_group_of_parameters_moves_by_its_own_settings():
    model = nn.Linear(2, 1)
    before = [p.detach().clone() for p in model.parameters()]
    groups = [{"params": model.weight, "lr": 0.5}, {"params": [model.bias]}]
    optimizer = optim.SGD(groups, lr=0.1)
    model(proflab.ones(3, 2)).sum().backward()  # three ones add up in each gradient
    optimizer.step()
    moved = [old - p for old, p in zip(before, model.parameters(), strict=True)]
    assert [each.mean().item() for each in moved] == pytest.approx([1.5, 0.3])


def test_parameters_without_gradient_stay_and_bad_settings_are_refused():
    model = nn.Linear(2, 1)
    before = model.weight.detach().clone()
    optim.SGD(model.parameters(), lr=1.0).step()
    assert proflab.equal(before, model.weight.detach())
    with pytest.raises(ValueError, match="lr is -1"):
        optim.SGD(model.parameters(), lr=-1)
    with pytest.raises(ValueError, match="no parameters"):
        optim.Adam([])
    with pytest.raises(AttributeError, match="LBFGS"):
        optim.LBFGS  # noqa: B018


def test_gradients_are_clipped_to_a_norm():
    p = nn.Parameter(proflab.zeros(4))
    p.grad = proflab.tensor([3.0, 0.0, 4.0, 0.0])
    assert nn.utils.clip_grad_norm_([p], 1.0).item() == pytest.approx(5)
    assert p.grad.norm().item() == pytest.approx(1, rel=1e-5)
