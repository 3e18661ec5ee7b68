"""Inputs with data for a model that is to be measured. Goes into an assembled profiler."""

from __future__ import annotations

from typing import Any

from proflab import Tensor, example_input


def real_inputs(model: Any, input_shape: Any) -> tuple[Tensor, ...]:
    """Return inputs with data for a model, as a tuple; input_shape as for example_input."""
    inputs = example_input(model, input_shape)
    return inputs if isinstance(inputs, tuple) else (inputs,)
