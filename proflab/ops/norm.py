"""Normalisation: to mean 0 and variance 1 over some of the dimensions, then scale and shift.

All keep their input and one mean and one 1/σ a group, from which backward makes the rest again.
"""

from __future__ import annotations

import math

import numpy as np

from proflab.creation import ones, zeros
from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.parts import cached_parts
from proflab.shapes import Shape
from proflab.tensor import Tensor, float32

__all__ = ["batch_norm", "group_norm", "layer_norm", "rms_norm"]


def _standardize(rows: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (normalised, mean, 1/σ) of each row of a matrix."""
    mean = rows.sum(axis=-1, keepdims=True, dtype=rows.dtype) / max(1, rows.shape[-1])
    out = rows - mean
    variance = np.vecdot(out, out)[..., None] / max(1, rows.shape[-1])
    rstd = (1 / np.sqrt(variance + eps)).astype(rows.dtype, copy=False)
    out *= rstd
    return out, mean, rstd


def _standardize_backward(rows, mean, rstd, grad) -> np.ndarray:
    """Return the gradient of rows from that of the normalised ones."""
    normal = (rows - mean) * rstd
    along = np.vecdot(grad, normal)[..., None] / max(1, rows.shape[-1])
    normal *= -along
    normal += grad
    normal -= grad.mean(axis=-1, keepdims=True)
    normal *= rstd
    return normal


def _check_affine(expected: tuple, *arrays) -> None:
    for array in arrays:
        if array is not None and array.shape != expected:
            raise ValueError(f"weight and bias must have the shape {expected}")


def _on_meta(input: MetaArray, groups: Shape) -> tuple[MetaArray, ...]:
    """Return what an op here returns without data: the result, and each group's mean and 1/σ."""
    return tuple(MetaArray(shape, input.dtype) for shape in (input.shape, groups, groups))


@register
class _LayerNorm(Op):
    """Over the last dimensions, those of `normalized_shape`"""

    name = "layer_norm"
    extras = True

    @staticmethod
    def check(input, weight, bias, normalized_shape) -> None:
        if input.shape[len(input.shape) - len(normalized_shape) :] != normalized_shape:
            raise ValueError(f"the last dimensions are not {normalized_shape}")
        _check_affine(normalized_shape, weight, bias)

    def shape(self, input, weight=None, bias=None, *, normalized_shape, eps):
        self.check(input, weight, bias, normalized_shape)
        kept = len(input.shape) - len(normalized_shape)
        return _on_meta(input, (*input.shape[:kept], *(1,) * len(normalized_shape)))

    def forward(self, input, weight=None, bias=None, *, normalized_shape, eps):
        self.check(input, weight, bias, normalized_shape)
        size = math.prod(normalized_shape)
        out, mean, rstd = _standardize(input.reshape(-1, size), eps)
        if weight is not None:
            out *= weight.reshape(-1)
        if bias is not None:
            out += bias.reshape(-1)
        kept = len(input.shape) - len(normalized_shape)
        stat = (*input.shape[:kept], *(1,) * len(normalized_shape))
        return out.reshape(input.shape), mean.reshape(stat), rstd.reshape(stat)

    def save_for_backward(self, need, out, input, weight=None, bias=None, **settings):
        return input, weight if need[0] else None, out[1], out[2]

    def backward(self, node, grad, normalized_shape, eps):
        # grad, input: (…, *normalized) · weight: normalized · mean, rstd: (…, 1)
        # → (…, *normalized), normalized, normalized
        input, weight, mean, rstd = node.saved
        size = math.prod(normalized_shape)
        rows, grad = input.reshape(-1, size), grad.reshape(-1, size)
        mean, rstd = mean.reshape(-1, 1), rstd.reshape(-1, 1)
        grads: list[np.ndarray | None] = [None] * len(node.need)
        if node.need[0]:
            inner = grad if weight is None else grad * weight.reshape(-1)
            grads[0] = _standardize_backward(rows, mean, rstd, inner).reshape(input.shape)
        if len(grads) > 1 and node.need[1]:
            normal = (rows - mean) * rstd
            normal *= grad
            grads[1] = normal.sum(axis=0).reshape(normalized_shape)
        if len(grads) > 2 and node.need[2]:
            grads[2] = grad.sum(axis=0).reshape(normalized_shape)
        return tuple(grads)


@register
class _GroupNorm(Op):
    """Over groups of channels: (batch, channels, …)"""

    name = "group_norm"
    extras = True

    @staticmethod
    def check(input, weight, bias, num_groups) -> None:
        if len(input.shape) < 2 or num_groups < 1 or input.shape[1] % num_groups:
            raise ValueError(f"{num_groups} groups do not divide the channels")
        _check_affine(input.shape[1:2], weight, bias)

    def shape(self, input, weight=None, bias=None, *, num_groups, eps):
        self.check(input, weight, bias, num_groups)
        return _on_meta(input, (input.shape[0], num_groups))

    def forward(self, input, weight=None, bias=None, *, num_groups, eps):
        self.check(input, weight, bias, num_groups)
        batch, channels = input.shape[:2]
        rows = input.reshape(batch * num_groups, -1) if input.size else input.reshape(0, 1)
        out, mean, rstd = _standardize(rows, eps)
        out = out.reshape(batch, channels, -1) if input.size else out.reshape(input.shape)
        if weight is not None and input.size:
            out *= weight[:, None]
        if bias is not None and input.size:
            out += bias[:, None]
        stat = (batch, num_groups)
        if not input.size:
            mean, rstd = np.zeros(stat, input.dtype), np.zeros(stat, input.dtype)
        return out.reshape(input.shape), mean.reshape(stat), rstd.reshape(stat)

    def save_for_backward(self, need, out, input, weight=None, bias=None, **settings):
        return input, weight if need[0] else None, out[1], out[2]

    def backward(self, node, grad, num_groups, eps):
        # grad, input: (b, c, …) · weight: (c,) · mean, rstd: (b, groups) → (b, c, …), (c,), (c,)
        input, weight, mean, rstd = node.saved
        batch, channels = input.shape[:2]
        grads: list[np.ndarray | None] = [None] * len(node.need)
        if not input.size:
            return tuple(np.zeros(shape, dtype) for shape, dtype in node.specs)
        groups = (batch, num_groups, -1)
        rows, mean, rstd = input.reshape(groups), mean[..., None], rstd[..., None]
        flat = grad.reshape(batch, channels, -1)
        if node.need[0]:
            inner = flat if weight is None else flat * weight[:, None]
            inner = inner.reshape(groups)
            grads[0] = _standardize_backward(rows, mean, rstd, inner).reshape(input.shape)
        if len(grads) > 1 and node.need[1]:
            normal = ((rows - mean) * rstd).reshape(flat.shape)
            grads[1] = (normal * flat).sum(axis=(0, 2))
        if len(grads) > 2 and node.need[2]:
            grads[2] = flat.sum(axis=(0, 2))
        return tuple(grads)


@register
class _BatchNorm(Op):
    """Each channel over batch and places in training, by the running statistics otherwise.

    In training it also moves the running statistics, in place, as torch does."""

    name = "batch_norm"
    extras = True

    @staticmethod
    def check(input, *others) -> None:
        if len(input.shape) < 2:
            raise ValueError("the input has not two dimensions")
        for array in others:
            if array is not None and array.shape != input.shape[1:2]:
                raise ValueError("weight, bias and statistics must have one number a channel")

    def shape(self, input, mean, var, weight=None, bias=None, *, training, momentum, eps):
        self.check(input, mean, var, weight, bias)
        return _on_meta(input, input.shape[1:2])

    def forward(self, input, mean, var, weight=None, bias=None, *, training, momentum, eps):
        self.check(input, mean, var, weight, bias)
        x = input.reshape(*input.shape[:2], -1)
        count = x.shape[0] * x.shape[2]
        if training:
            if count <= 1:
                raise ValueError("one value a channel has no variance to train with")
            batch_mean = x.mean(axis=2, dtype=x.dtype).mean(axis=0)
            out = x - batch_mean[:, None]
            batch_var = np.vecdot(out, out).sum(axis=0) / count
            mean += momentum * (batch_mean - mean)
            var += momentum * (batch_var * (count / (count - 1)) - var)
            rstd = (1 / np.sqrt(batch_var + eps)).astype(x.dtype, copy=False)
            scale = rstd if weight is None else rstd * weight
            for part in cached_parts(x.shape, x.itemsize):
                out[part] *= scale[:, None]
                if bias is not None:
                    out[part] += bias[:, None]
            return out.reshape(input.shape), batch_mean, rstd
        rstd = (1 / np.sqrt(var + eps)).astype(x.dtype, copy=False)
        scale = rstd if weight is None else rstd * weight
        shift = -mean * scale if bias is None else bias - mean * scale
        out = np.empty(x.shape, np.result_type(x, scale, shift))
        for part in cached_parts(x.shape, x.itemsize):
            np.multiply(x[part], scale[:, None], out=out[part])
            out[part] += shift[:, None]
        return out.reshape(input.shape), mean.copy(), rstd

    def save_for_backward(
        self, need, out, input, mean, var, weight=None, bias=None, *, training, **settings
    ):
        kept = input if training or any(need[3:4]) else None  # 3: the weight's place
        return kept, weight if need[0] else None, out[1], out[2]

    def backward(self, node, grad, training, momentum, eps):
        # grad, input: (b, c, …) · weight, mean, rstd: (c,) → (b, c, …), None, None, (c,), (c,)
        input, weight, mean, rstd = node.saved
        shape = node.shape(0)
        grads: list[np.ndarray | None] = [None] * len(node.need)
        flat = (*shape[:2], -1) if grad.size else (*shape[:2], 0)
        grad = grad.reshape(flat)
        total = grad.sum(axis=(0, 2))
        scale = rstd if weight is None else rstd * weight
        along = None
        if input is not None:
            x = input.reshape(flat)
            # Σ grad·(x - mean)·rstd, without an array of the normalised x
            along = np.vecdot(np.ascontiguousarray(grad), np.ascontiguousarray(x)).sum(axis=0)
            along = (along - mean * total) * rstd
        if node.need[0]:
            if training:
                count = grad.shape[0] * grad.shape[2]
                # scale · (grad - mean(grad) - normalised · mean(grad · normalised))
                slope = -scale * rstd * along / count
                constant = -scale * total / count - slope * mean
                out = np.empty(grad.shape, np.result_type(x, slope, grad, scale))
                for part in cached_parts(grad.shape, grad.itemsize):
                    np.multiply(x[part], slope[:, None], out=out[part])
                    out[part] += constant[:, None]
                    out[part] += grad[part] * scale[:, None]
            else:
                out = grad * scale[:, None]
            grads[0] = out.reshape(shape)
        if len(grads) > 3 and node.need[3]:
            grads[3] = along
        if len(grads) > 4 and node.need[4]:
            grads[4] = total
        return tuple(grads)


def layer_norm(input: Tensor, normalized_shape, weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Return input with its last dimensions brought to mean 0 and variance 1 (Ba et al. 2016).

    normalized_shape: those dimensions; weight and bias, of that shape, scale and shift the result
    """
    shape = normalized_shape if isinstance(normalized_shape, (tuple, list)) else [normalized_shape]
    inputs = _inputs(input, weight, bias)
    return apply(_LayerNorm, inputs, normalized_shape=tuple(shape), eps=eps)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Return (batch, channels, …), each group of channels at mean 0, variance 1 (Wu, He 2018)."""
    return apply(_GroupNorm, _inputs(input, weight, bias), num_groups=num_groups, eps=eps)


def _inputs(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, ...]:
    if weight is None and bias is not None:  # of operands of an op, only the last may be left out
        weight = ones(bias.shape, dtype=bias.dtype, device=bias.device)
    return (input, *(tensor for tensor in (weight, bias) if tensor is not None))


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
               weight: Tensor | None = None, bias: Tensor | None = None, training=False,
               momentum: float = 0.1, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Return (batch, channels, …) with each channel at mean 0, variance 1 (Ioffe, Szegedy 2015).

    training: over the batch, which also moves the running statistics; else by those
    """
    if running_mean is None or running_var is None:
        if not training:
            raise ValueError(
                f"batch_norm: no running statistics to normalise {input.shape} by in eval"
            )
        like = {"dtype": input.dtype, "device": input.device}
        running_mean, running_var = zeros(input.shape[1], **like), ones(input.shape[1], **like)
    inputs = (input, running_mean, running_var, *_inputs(input, weight, bias)[1:])
    return apply(_BatchNorm, inputs, training=bool(training), momentum=momentum, eps=eps)


def rms_norm(input: Tensor, normalized_shape, weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:  # fmt: skip
    """Return input · weight over the root mean square of the last dimensions (Zhang 2019)."""
    shape = normalized_shape if isinstance(normalized_shape, (tuple, list)) else [normalized_shape]
    if input.shape[-len(shape) :] != tuple(shape):
        raise ValueError(f"rms_norm: the last dimensions of {input.shape} are not {tuple(shape)}")
    if eps is None:
        eps = float(np.finfo(input.dtype if input.dtype.kind == "f" else float32).eps)
    mean_square = (input * input).mean(tuple(range(-len(shape), 0)), keepdim=True)
    out = input * (mean_square + eps).rsqrt()
    return out if weight is None else out * weight
