"""Every op's result and gradients against those that torch 2.13.0 computed."""

from pathlib import Path

import numpy as np
import pytest
from engine_cases import CASES, Maker, recorded

import proflab
from proflab import Tensor, dispatch

TORCH = recorded(Path(__file__).parents[1] / "data" / "torch_ops.npz")


def torchs(name: str, sample: int, what: str) -> np.ndarray:
    """Return what torch computed for a case: "out", or "grad0" and so on."""
    if f"{name}|0|out" not in TORCH:
        pytest.skip(
            f"torch's values of the case {name!r} are not recorded: where torch is installed, run "
            "`python tests/data/record_torch.py`"
        )
    return TORCH[f"{name}|{sample}|{what}"]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("sample", [0, 1])
def test_result_and_gradients_are_torchs(name, sample):
    arrays, function = CASES[name](Maker(f"{name} {sample}"))
    tensors = [Tensor(a, requires_grad=True, dtype="float64") for a in arrays]
    out = function(proflab, *tensors)
    weights = Maker("weights").values(*out.shape)
    (out * Tensor(weights, dtype="float64")).sum().backward()
    expected = torchs(name, sample, "out")
    assert out.shape == expected.shape
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    for i, tensor in enumerate(tensors):
        grad = np.zeros(tensor.shape) if tensor.grad is None else tensor.grad.numpy()
        np.testing.assert_allclose(
            grad, torchs(name, sample, f"grad{i}"), rtol=1e-4, atol=1e-5, err_msg=f"input {i}"
        )


@pytest.mark.parametrize("name", CASES)
def test_float32_stays_float32(name):
    arrays, function = CASES[name](Maker(f"{name} 0"))
    tensors = [Tensor(a, requires_grad=True) for a in arrays]
    out = function(proflab, *tensors)
    if name == "convert":
        return
    assert out.dtype == proflab.float32
    out.sum().backward()
    for tensor in tensors:
        assert tensor.grad is None or tensor.grad.dtype == proflab.float32
    np.testing.assert_allclose(out.detach().numpy(), torchs(name, 0, "out"), rtol=2e-4, atol=2e-5)


def test_every_op_has_a_case():
    seen = set()

    def h(call):
        seen.add(call.op)
        return call()

    for name, build in CASES.items():
        for sample in range(8):
            arrays, function = build(Maker(f"{name} {sample}"))
            with dispatch.hook(h):
                function(proflab, *(Tensor(a, requires_grad=True, dtype="float64") for a in arrays))
    # Random, or without a gradient: these have tests of their own.
    assert set(dispatch.OPS) - seen == {"dropout", "nonzero"}
