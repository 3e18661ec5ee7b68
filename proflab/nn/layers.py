"""Layers that hold weights: Linear, convolutions, embedding, norms."""

from __future__ import annotations

from proflab.creation import empty, full, ones, zeros
from proflab.nn import functional as F
from proflab.nn import init
from proflab.nn.module import Module
from proflab.nn.parameter import Parameter
from proflab.ops.conv import Sizes
from proflab.tensor import Tensor, elements, int64

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "Embedding",
    "GroupNorm",
    "InstanceNorm2d",
    "LayerNorm",
    "Linear",
    "PReLU",
    "RMSNorm",
]


def _positive(owner: str, **sizes) -> None:
    """ValueError unless all of these are positive integers."""
    for name, size in sizes.items():
        if type(size) is int and size > 0:  # as nearly all are
            continue
        for n in size if isinstance(size, (tuple, list)) else (size,):
            if isinstance(n, bool) or not hasattr(n, "__index__") or n <= 0:
                raise ValueError(f"{owner}: {name} is {size!r}, not a positive integer")


class Linear(Module):
    """x @ weight.T + bias, over the last dimension: (…, in_features) to (…, out_features).

    >>> layer = nn.Linear(128, 64)
    >>> layer.weight.shape, layer.bias.shape
    ((64, 128), (64,))
    >>> layer(Tensor.meta((32, 128)))
    Tensor.meta((32, 64), dtype=float32, requires_grad=True)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device=None,
                 dtype=None):  # fmt: skip
        _positive("Linear", in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, device=device, dtype=dtype))
        self.bias = Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.bias_uniform_(self.weight, self.weight)
        if self.bias is not None:
            init.bias_uniform_(self.bias, self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class _Conv(Module):
    """Common base of Conv1d and Conv2d; `dims` is the number of spatial dimensions."""

    dims = 2

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1,
                 padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device=None, dtype=None):  # fmt: skip
        name = type(self).__name__
        _positive(name, in_channels=in_channels, out_channels=out_channels, kernel_size=kernel_size,
                 stride=stride, dilation=dilation, groups=groups)  # fmt: skip
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{name}: {groups} groups do not divide {in_channels} and {out_channels} channels"
            )
        if padding_mode != "zeros":
            raise ValueError(f"{name}: padding_mode {padding_mode!r} is not there, only 'zeros'")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = self._each(kernel_size)
        self.stride, self.dilation = self._each(stride), self._each(dilation)
        self.padding = padding if isinstance(padding, str) else self._each(padding)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.bias = Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def _each(self, value) -> tuple[int, ...]:
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * self.dims

    def reset_parameters(self) -> None:
        init.bias_uniform_(self.weight, self.weight)
        if self.bias is not None:
            init.bias_uniform_(self.bias, self.weight)

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"groups={self.groups}, bias={self.bias is not None}"
        )


class Conv2d(_Conv):
    """(batch, in_channels, h, w) to (batch, out_channels, h', w'); ints or pairs, or "same".

    >>> layer = nn.Conv2d(3, 8, 3, stride=2, padding=1)
    >>> layer.weight.shape, layer(Tensor.meta((1, 3, 32, 32))).shape
    ((8, 3, 3, 3), (1, 8, 16, 16))
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.conv2d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class Conv1d(_Conv):
    """(batch, in_channels, length) to (batch, out_channels, length')."""

    dims = 1

    def forward(self, input: Tensor) -> Tensor:
        return F.conv1d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class Embedding(Module):
    """Rows of a table by their numbers: (…) int64 to (…, embedding_dim)."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 device=None, dtype=None):  # fmt: skip
        _positive("Embedding", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        self.weight = Parameter(empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None and not self.weight.is_meta:
            elements(self.weight, "Embedding")[self.padding_idx] = 0

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class _BatchNormLayer(Module):
    """Each channel to mean 0 and variance 1, over the batch in training, remembered in eval."""

    dims: tuple[int, ...] = ()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
                 affine: bool = True, track_running_stats: bool = True, device=None,
                 dtype=None):  # fmt: skip
        _positive(type(self).__name__, num_features=num_features)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        like = {"device": device, "dtype": dtype}
        self.weight = Parameter(ones(num_features, **like)) if affine else None
        self.bias = Parameter(zeros(num_features, **like)) if affine else None
        track = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **like) if track else None)
        self.register_buffer("running_var", ones(num_features, **like) if track else None)
        self.register_buffer(
            "num_batches_tracked", zeros((), dtype=int64, device=device) if track else None
        )

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in self.dims:
            raise ValueError(
                f"{type(self).__name__}: an input of shape {input.shape} has not "
                f"{' or '.join(map(str, self.dims))} dimensions"
            )
        momentum = self.momentum
        meta = input.is_meta or self.track_running_stats and self.num_batches_tracked.is_meta
        if self.training and self.track_running_stats and not meta:
            self.num_batches_tracked.array += 1
            if momentum is None:  # a plain average over all batches
                momentum = 1.0 / self.num_batches_tracked.item()
        return F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            # None is left where nothing is averaged: in eval, and without data.
            self.training or not self.track_running_stats, momentum or 0.0, self.eps,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm2d(_BatchNormLayer):
    """(batch, num_features, h, w): each channel over batch, height and width."""

    dims = (4,)


class BatchNorm1d(_BatchNormLayer):
    """(batch, num_features) or (batch, num_features, length)."""

    dims = (2, 3)


class LayerNorm(Module):
    """The last dimensions, those of `normalized_shape`, to mean 0 and variance 1."""

    def __init__(self, normalized_shape: Sizes, eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True, device=None, dtype=None):  # fmt: skip
        _positive("LayerNorm", normalized_shape=normalized_shape)
        shape = normalized_shape
        self.normalized_shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        self.eps = eps
        like = {"device": device, "dtype": dtype}
        affine = elementwise_affine
        self.weight = Parameter(ones(self.normalized_shape, **like)) if affine else None
        self.bias = Parameter(zeros(self.normalized_shape, **like)) if affine and bias else None

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class RMSNorm(Module):
    """The last dimensions to root mean square 1: LayerNorm without the mean."""

    def __init__(self, normalized_shape: Sizes, eps: float | None = None,
                 elementwise_affine: bool = True, device=None, dtype=None):  # fmt: skip
        _positive("RMSNorm", normalized_shape=normalized_shape)
        shape = normalized_shape
        self.normalized_shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        self.eps = eps
        like = {"device": device, "dtype": dtype}
        affine = elementwise_affine
        self.weight = Parameter(ones(self.normalized_shape, **like)) if affine else None

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    """Channels in groups, each group to mean 0 and variance 1."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
                 device=None, dtype=None):  # fmt: skip
        _positive("GroupNorm", num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: {num_groups} groups do not divide {num_channels}")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        like = {"device": device, "dtype": dtype}
        self.weight = Parameter(ones(num_channels, **like)) if affine else None
        self.bias = Parameter(zeros(num_channels, **like)) if affine else None

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}"


class InstanceNorm2d(Module):
    """Each channel of each sample to mean 0 and variance 1; without running statistics."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1,
                 affine: bool = False, track_running_stats: bool = False, device=None,
                 dtype=None):  # fmt: skip
        _positive("InstanceNorm2d", num_features=num_features)
        if track_running_stats:
            raise ValueError("InstanceNorm2d: track_running_stats=True is not there")
        self.num_features, self.eps = num_features, eps
        like = {"device": device, "dtype": dtype}
        self.weight = Parameter(ones(num_features, **like)) if affine else None
        self.bias = Parameter(zeros(num_features, **like)) if affine else None

    def forward(self, input: Tensor) -> Tensor:
        return F.instance_norm(input, weight=self.weight, bias=self.bias, eps=self.eps)


class PReLU(Module):
    """The input, or a learnt multiple of it below 0: one for all, or one a channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None):
        _positive("PReLU", num_parameters=num_parameters)
        start = full((num_parameters,), init, device=device, dtype=dtype)
        self.weight = Parameter(start)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)
