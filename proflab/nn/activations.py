"""Activations and softmax as layers."""

from __future__ import annotations

from proflab.nn import functional as F
from proflab.nn.module import Module
from proflab.tensor import Tensor

__all__ = [
    "ELU",
    "GELU",
    "GLU",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "Identity",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "ReLU",
    "ReLU6",
    "Sigmoid",
    "SiLU",
    "Softmax",
    "Softplus",
    "Tanh",
]


class Identity(Module):
    """Returns its input; takes and forgets any arguments."""

    def __init__(self, *args: object, **kwargs: object):
        pass

    def forward(self, input: Tensor) -> Tensor:
        return input


class _InPlace(Module):
    """Common base of activations whose one setting is whether the input takes the result."""

    _function: str  # of functional, looked up at each call: a program may replace it there

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.inplace)


class ReLU(_InPlace):
    """max(x, 0)"""

    _function = "relu"


class ReLU6(_InPlace):
    """min(max(x, 0), 6)"""

    _function = "relu6"


class LeakyReLU(Module):
    """x, or negative_slope · x below 0."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ELU(Module):
    """x, or alpha · (exp(x) - 1) below 0."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class GELU(Module):
    """x · Φ(x); approximate: "none" is exact (by erf), "tanh" the approximation that GPT-2 uses."""

    def __init__(self, approximate: str = "none"):
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class SiLU(_InPlace):
    """x · sigmoid(x)"""

    _function = "silu"


class Hardswish(_InPlace):
    """x · min(max(x + 3, 0), 6) / 6"""

    _function = "hardswish"


class Hardsigmoid(_InPlace):
    """min(max(x / 6 + 1/2, 0), 1)"""

    _function = "hardsigmoid"


class Softplus(Module):
    """log(1 + exp(beta · x)) / beta; x itself where beta · x exceeds the threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Hardtanh(Module):
    """min(max(x, min_val), max_val)"""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class Mish(_InPlace):
    """x · tanh(softplus(x))"""

    _function = "mish"


class GLU(Module):
    """One half of the input along `dim` times the sigmoid of the other."""

    def __init__(self, dim: int = -1):
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class LogSigmoid(Module):
    """log(sigmoid(x))"""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x))"""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Softmax(Module):
    """exp(x) over its sum along `dim`."""

    def __init__(self, dim: int | None = None):
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """log(softmax(x)) along `dim`."""

    def __init__(self, dim: int | None = None):
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)
