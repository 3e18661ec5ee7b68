"""Some two hundred expressions from torch programs: value, shape and dtype are torch's."""

from pathlib import Path

import numpy as np
import pytest
from engine_cases import recorded
from expression_cases import EXPRESSIONS, names

import proflab
from proflab import Tensor

TORCH = {
    key.rpartition("|")[0]: (key.rpartition("|")[2], value)
    for key, value in recorded(Path(__file__).parents[1] / "data" / "torch_expressions.npz").items()
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_is_torchs(text):
    value = eval(text, names(proflab))
    dtype, expected = TORCH[text]
    if isinstance(value, Tensor):
        assert str(value.dtype) == dtype
        value = value.detach().numpy()
    value = np.asarray(value)
    assert value.shape == expected.shape
    np.testing.assert_allclose(value.astype(np.float32), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_has_the_same_shape_on_meta(text):
    inputs = names(proflab)
    for name in "abci":
        inputs[name] = inputs[name].to("meta")
    inputs["img"] = inputs["img"].to("meta")
    dtype, expected = TORCH[text]
    try:
        value = eval(text, inputs)
    except (RuntimeError, ValueError) as error:
        assert "data" in str(error)  # what depends on data says so
        return
    if isinstance(value, Tensor):
        assert value.shape == expected.shape and str(value.dtype) == dtype
