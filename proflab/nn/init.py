"""Initial weights, in place. Names, defaults and formulas are torch's."""

from __future__ import annotations

import math

import numpy as np

from proflab.creation import generator
from proflab.tensor import Tensor
from proflab.tensor_methods import check_writable, method


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with uniform random numbers in [a, b), and return the tensor."""
    if isinstance(tensor.array, np.ndarray):
        values = _drawn(generator().random, tensor.array)
        values *= b - a
        values += a
        if values is not tensor.array:
            tensor.array[...] = values
    return tensor


def _drawn(draw, array: np.ndarray) -> np.ndarray:
    """Return an array of random float32, which is `array` itself where it can hold them."""
    if array.dtype == np.float32 and array.flags.c_contiguous:
        return draw(dtype=np.float32, out=array)
    return draw(array.shape, np.float32)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill with normal random numbers, and return the tensor."""
    if isinstance(tensor.array, np.ndarray):
        values = _drawn(generator().standard_normal, tensor.array)
        values *= std
        values += mean
        if values is not tensor.array:
            tensor.array[...] = values
    return tensor


def trunc_normal_(tensor: Tensor, mean=0.0, std=1.0, a=-2.0, b=2.0) -> Tensor:
    """Fill with normal random numbers, those outside [a, b] drawn again; return the tensor."""
    if not max(a, mean - 5 * std) <= min(b, mean + 5 * std) or a == b:  # drawn for ever
        raise ValueError(f"trunc_normal_: of mean {mean} and std {std}, none is from {a} to {b}")
    normal_(tensor, mean, std)
    array = tensor.array
    if isinstance(array, np.ndarray):
        while (outside := (array < a) | (array > b)).any():
            again = generator().standard_normal(int(outside.sum()), np.float32)
            array[outside] = again * std + mean
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value, and return the tensor."""
    if isinstance(tensor.array, np.ndarray):
        tensor.array[...] = val
    return tensor


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0, and return the tensor."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1, and return the tensor."""
    return constant_(tensor, 1.0)


def fans(tensor: Tensor) -> tuple[int, int]:
    """Return (fan in, fan out): how many inputs an output has, and the other way round.

    ValueError for fewer than two dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError(f"no fan in or out: a tensor of shape {tensor.shape} has no two sides")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _fan(tensor: Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode is {mode!r}, neither 'fan_in' nor 'fan_out'")
    return fans(tensor)[mode == "fan_out"]


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that makes up for a nonlinearity; ValueError if it is not known."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"linear": 1.0, "conv2d": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2)}
    if nonlinearity not in gains:
        raise ValueError(f"calculate_gain: no gain is known for {nonlinearity!r}")
    return gains[nonlinearity]


def kaiming_uniform_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu") -> Tensor:
    """Fill uniformly in ±gain · √(3 / fan), and return the tensor (He et al. 2015)."""
    fan = _fan(tensor, mode)
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3 / max(fan, 1))
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu") -> Tensor:
    """Fill with normal numbers of σ = gain / √fan, and return the tensor (He et al. 2015)."""
    fan = _fan(tensor, mode)
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1)))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill uniformly in ±gain · √(6 / (fan in + fan out)) (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6 / max(sum(fans(tensor)), 1))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with normal numbers of σ = gain · √(2 / (fan in + fan out)) (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / max(sum(fans(tensor)), 1)))


def bias_uniform_(bias: Tensor, weight: Tensor) -> Tensor:
    """Fill uniformly in ±1 / √fan in of `weight`: torch's default for Linear and Conv2d."""
    if bias.is_meta:
        return bias
    bound = 1 / math.sqrt(max(fans(weight)[0], 1))  # what kaiming_uniform_(a=√5) comes to
    return uniform_(bias, -bound, bound)


def _as_method(fill) -> None:
    """Give Tensor the method of a function above that fills it with random numbers."""

    def draw(input: Tensor, *args, **kwargs) -> Tensor:
        check_writable(input, fill.__name__)
        return fill(input, *args, **kwargs)

    draw.__name__ = draw.__qualname__ = fill.__name__
    draw.__doc__ = f"{fill.__doc__} RuntimeError for a leaf in the graph."
    method(draw)


_as_method(normal_)
_as_method(uniform_)
