"""The nonlinearities of neural networks."""

from __future__ import annotations

import math

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.pointwise import Pointwise, erf_array, in_blocks, sigmoid_array
from proflab.ops.where import clamp
from proflab.shapes import normalize_dim
from proflab.tensor import Tensor
from proflab.tensor_methods import become, in_place, method

__all__ = [
    "elu", "gelu", "hardsigmoid", "hardswish", "leaky_relu", "log_softmax", "relu", "relu6",
    "silu", "softmax", "softplus",
]  # fmt: skip


_ZEROS = np.zeros(1 << 14, np.float32)  # so few that they stay in the cache


class _Activation(Op):
    """One element in, one out, with settings; keeps its input unless it says otherwise."""

    suppress_warnings = True

    def shape(self, input, **settings):
        return MetaArray(input.shape, input.dtype)

    def save_for_backward(self, need, out, input, **settings):
        return (input,)


@register
class _Relu(Pointwise):
    """max(x, 0)"""

    name = "relu"
    suppress_warnings = False
    keeps = "result"

    def forward(self, input):
        if input.size <= _ZEROS.size or input.dtype != np.float32:
            return np.maximum(input, 0)
        # numpy compares an array with zeros in the cache in half the time that it takes with a 0
        flat = np.ascontiguousarray(input).reshape(-1)
        out = np.empty_like(flat)
        for start in range(0, flat.size, _ZEROS.size):
            part = flat[start : start + _ZEROS.size]
            np.maximum(part, _ZEROS[: part.size], out=out[start : start + part.size])
        return out.reshape(input.shape)

    def backward(self, node, grad):
        # grad: (…) · out: (…) → (…)
        (out,) = node.saved
        return (grad * (out > 0),)


@register
class _Relu6(_Activation):
    """min(max(x, 0), 6)"""

    name = "relu6"

    def forward(self, input):
        return np.minimum(np.maximum(input, 0), 6)

    def save_for_backward(self, need, out, input, **settings):
        return (out,)

    def backward(self, node, grad):
        # grad: (…) · out: (…) → (…)
        (out,) = node.saved
        return (grad * ((out > 0) & (out < 6)),)


@register
class _LeakyRelu(_Activation):
    """x, or negative_slope · x below 0"""

    name = "leaky_relu"

    def forward(self, input, negative_slope):
        return np.where(input > 0, input, input * negative_slope)

    def backward(self, node, grad, negative_slope):
        # grad: (…) · input: (…) → (…)
        (input,) = node.saved
        return (np.where(input > 0, grad, grad * negative_slope),)


@register
class _Elu(_Activation):
    """x, or alpha · (exp(x) - 1) below 0"""

    name = "elu"

    def forward(self, input, alpha):
        return np.where(input > 0, input, alpha * np.expm1(np.minimum(input, 0)))

    def backward(self, node, grad, alpha):
        # grad: (…) · input: (…) → (…)
        (input,) = node.saved
        return (np.where(input > 0, grad, grad * alpha * np.exp(np.minimum(input, 0))),)


_C = math.sqrt(2 / math.pi)


def _gelu_tanh(x):
    # x · (1 + tanh(u)) / 2, where u = √(2/π) · (x + 0.044715 x³).
    # (1 + tanh(u)) / 2 is 1 / (1 + exp(-2u)), and numpy's exp is faster than its tanh.
    out = x * x
    out *= -2 * 0.044715 * _C
    out -= 2 * _C
    out *= x
    np.exp(out, out=out)
    out += 1
    return np.divide(x, out, out=out)


def _gelu_exact(x):
    out = erf_array(x * math.sqrt(0.5))
    out += 1
    out *= x
    out *= 0.5
    return out


def _gelu_tanh_backward(x, grad):
    x2 = x * x
    t = np.tanh(x * (_C + 0.044715 * _C * x2))
    slope = (1 - t * t) * (_C + 3 * 0.044715 * _C * x2)
    slope *= x
    slope += 1 + t
    slope *= grad
    slope *= 0.5
    return slope


def _gelu_exact_backward(x, grad):
    # The slope of x · Φ(x) is x · φ(x) + Φ(x), φ the density exp(-x²/2) / √(2π).
    slope = np.exp(x * x * -0.5)
    slope *= x
    slope *= 1 / math.sqrt(2 * math.pi)
    slope += 0.5 * (1 + erf_array(x * math.sqrt(0.5)))
    slope *= grad
    return slope


@register
class _Gelu(_Activation):
    """x · Φ(x), Φ the normal distribution: exact by erf ("none") or its "tanh" approximation"""

    name = "gelu"

    def forward(self, input, approximate):
        return in_blocks(_gelu_tanh if approximate == "tanh" else _gelu_exact, input)

    def backward(self, node, grad, approximate):
        # grad: (…) · input: (…) → (…)
        (input,) = node.saved
        rule = _gelu_tanh_backward if approximate == "tanh" else _gelu_exact_backward
        return (in_blocks(rule, input, grad),)


@register
class _Silu(_Activation):
    """x · sigmoid(x)"""

    name = "silu"

    def forward(self, input):
        return input * sigmoid_array(input)

    def backward(self, node, grad):
        # grad: (…) · input: (…) → (…)
        (input,) = node.saved
        s = sigmoid_array(input)
        return (grad * (s * (1 + input * (1 - s))),)


@register
class _Hardswish(_Activation):
    """x · min(max(x + 3, 0), 6) / 6"""

    name = "hardswish"

    def forward(self, input):
        return input * np.clip(input + 3, 0, 6) / 6

    def backward(self, node, grad):
        # grad: (…) · input: (…) → (…)
        (input,) = node.saved
        slope = np.where(input < -3, 0, np.where(input > 3, 1, (2 * input + 3) / 6))
        return (grad * slope.astype(grad.dtype),)


@register
class _Softplus(_Activation):
    """log(1 + exp(beta · x)) / beta; x itself where beta · x exceeds the threshold"""

    name = "softplus"

    def forward(self, input, beta, threshold):
        scaled = input * beta
        soft = np.log1p(np.exp(np.minimum(scaled, threshold))) / beta
        return np.where(scaled > threshold, input, soft)

    def backward(self, node, grad, beta, threshold):
        # grad: (…) · input: (…) → (…)
        (input,) = node.saved
        return (grad * np.where(input * beta > threshold, 1, sigmoid_array(input * beta)),)


class _OverDim(Op):
    """Normalises over one dimension; keeps its result."""

    suppress_warnings = True

    def shape(self, input, dim):
        normalize_dim(dim, len(input.shape))
        return MetaArray(input.shape, input.dtype)

    def save_for_backward(self, need, out, input, dim):
        return (out,)


@register
class _Softmax(_OverDim):
    """exp(x) / sum(exp(x)); the largest is subtracted first, so that exp cannot overflow"""

    name = "softmax"

    def forward(self, input, dim):
        if not input.size:
            return input.copy()
        out = input - input.max(axis=dim, keepdims=True)
        np.exp(out, out=out)
        out /= out.sum(axis=dim, keepdims=True)
        return out

    def backward(self, node, grad, dim):
        # grad: (…) · out: (…) → (…); of each row: out · (grad - Σ grad · out)
        (out,) = node.saved
        product = grad * out
        product -= out * product.sum(axis=dim, keepdims=True)
        return (product,)


@register
class _LogSoftmax(_OverDim):
    """log(softmax(x)), without ever forming a softmax that could round to 0"""

    name = "log_softmax"

    def forward(self, input, dim):
        if not input.size:
            return input.copy()
        out = input - input.max(axis=dim, keepdims=True)
        out -= np.log(np.exp(out).sum(axis=dim, keepdims=True))
        return out

    def backward(self, node, grad, dim):
        # grad: (…) · out: (…) → (…); of each row: grad - exp(out) · Σ grad
        (out,) = node.saved
        result = np.exp(out)
        result *= -grad.sum(axis=dim, keepdims=True)
        result += grad
        return (result,)


@in_place
@method
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return max(input, 0)."""
    return _maybe_inplace(apply(_Relu, (input,)), input, inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return min(max(input, 0), 6)."""
    return _maybe_inplace(apply(_Relu6, (input,)), input, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return input where it is positive, and negative_slope · input elsewhere."""
    out = apply(_LeakyRelu, (input,), negative_slope=negative_slope)
    return _maybe_inplace(out, input, inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return input where it is positive, and alpha · (exp(input) - 1) elsewhere."""
    return _maybe_inplace(apply(_Elu, (input,), alpha=alpha), input, inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return input · sigmoid(input)."""
    return _maybe_inplace(apply(_Silu, (input,)), input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return input · min(max(input + 3, 0), 6) / 6."""
    return _maybe_inplace(apply(_Hardswish, (input,)), input, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return min(max(input / 6 + 1/2, 0), 1)."""
    return _maybe_inplace(clamp(input / 6 + 0.5, 0.0, 1.0), input, inplace)


def _maybe_inplace(out: Tensor, input: Tensor, inplace: bool) -> Tensor:
    """Return the result; inplace=True: the input, too, stands for it from now on."""
    return become(input, out) if inplace else out


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Return input · Φ(input), Φ the normal distribution function (Hendrycks and Gimpel 2016).

    approximate: "none" is exact, by erf; "tanh" the approximation that GPT-2 uses
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate is {approximate!r}, neither 'none' nor 'tanh'")
    return apply(_Gelu, (input,), approximate=approximate)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return log(1 + exp(beta · input)) / beta, and input itself where beta · input > threshold."""
    return apply(_Softplus, (input,), beta=beta, threshold=threshold)


@method
def softmax(input: Tensor, dim: int | None = None, dtype=None) -> Tensor:
    """Return exp(input) over its sum along `dim`: positive numbers whose sum is 1."""
    return apply(_Softmax, (_prepared(input, dim, dtype, "softmax"),), dim=dim)


@method
def log_softmax(input: Tensor, dim: int | None = None, dtype=None) -> Tensor:
    """Return log(softmax(input)) along `dim`, exact also where softmax rounds to 0."""
    return apply(_LogSoftmax, (_prepared(input, dim, dtype, "log_softmax"),), dim=dim)


def _prepared(input: Tensor, dim, dtype, name: str) -> Tensor:
    if dim is None:
        raise TypeError(f"{name}: no dim is given for an input of shape {input.shape}")
    return input if dtype is None else input.to(dtype)
