"""Losses. All are compositions but for the choice of the right class's log-probability."""

from __future__ import annotations

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.activation import log_softmax, softplus
from proflab.ops.where import where
from proflab.tensor import Tensor

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div",
    "l1_loss", "mse_loss", "nll_loss", "smooth_l1_loss",
]  # fmt: skip


@register
class _NllLoss(Op):
    """-input[target] over the classes in dimension 1, weighted; "mean" divides by the weights"""

    name = "nll_loss"
    suppress_warnings = True

    @staticmethod
    def check(input, target) -> None:
        if target.dtype.kind not in "iu":
            raise TypeError(f"the classes are {target.dtype}, not integers")
        one = len(input.shape) == 1
        if target.shape != (() if one else (*input.shape[:1], *input.shape[2:])):
            raise ValueError("the classes' shape is not the input's without dimension 1")

    def shape(self, input, target, weight=None, *, ignore_index, reduction):
        self.check(input, target)
        return MetaArray(target.shape if reduction == "none" else (), input.dtype)

    def forward(self, input, target, weight=None, *, ignore_index, reduction):
        self.check(input, target)
        picks, weights = self.choose(input.shape, target, weight, ignore_index, input.dtype)
        losses = -input[picks] * weights
        if reduction == "none":
            return losses
        return losses.sum() / (weights.sum() if reduction == "mean" else 1)

    @staticmethod
    def choose(shape, target, weight, ignore_index, dtype):
        """Return (index of the right classes, weight of each): 0 for a class that is ignored."""
        classes = shape[0] if len(shape) == 1 else shape[1]
        heard = target != ignore_index
        safe = np.where(heard, target, 0)
        if target.size and (safe.min() < 0 or safe.max() >= classes):
            raise ValueError(f"a class outside 0 to {classes - 1}")
        weights = heard.astype(dtype) if weight is None else heard * weight[safe]
        if len(shape) == 1:
            return (safe,), weights
        grid = np.ogrid[tuple(map(slice, target.shape))]
        return (grid[0], safe, *grid[1:]), weights

    def save_for_backward(self, need, out, input, target, weight=None, *, ignore_index, reduction):
        return target, weight

    def backward(self, node, grad, ignore_index, reduction):
        # grad: () or (batch, …) · target: (batch, …) · weight: (classes,)
        # → (batch, classes, …), None
        target, weight = node.saved
        shape = node.shape(0)
        picks, weights = self.choose(shape, target, weight, ignore_index, grad.dtype)
        out = np.zeros(shape, grad.dtype)
        out[picks] = -grad * weights / (weights.sum() if reduction == "mean" else 1)
        return out, *(None,) * (len(node.need) - 1)


def _check_reduction(name: str, reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{name}: reduction is {reduction!r}, not 'none', 'mean' or 'sum'")


def _reduce(loss: Tensor, reduction: str, name: str) -> Tensor:
    _check_reduction(name, reduction)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of the right classes.

    input:  log-probabilities (batch, classes, …)
    target: class numbers (batch, …), integers; those equal to ignore_index do not count
    weight: (classes,), by which "mean" divides, too
    """
    _check_reduction("nll_loss", reduction)
    inputs = (input, target) if weight is None else (input, target, weight)
    return apply(_NllLoss, inputs, ignore_index=ignore_index, reduction=reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return nll_loss of log_softmax(input).

    input:  logits (batch, classes, …)
    target: class numbers (batch, …), or probabilities of the input's shape

    >>> F.cross_entropy(Tensor([[0.0, 0.0]]), proflab.tensor([1]))  # log 2
    Tensor(0.6931)
    """
    _check_reduction("cross_entropy", reduction)
    dim = 0 if input.ndim == 1 else 1
    logs = log_softmax(input, dim)
    classes = input.shape[dim]
    if target.dtype.kind == "f":
        if target.shape != input.shape:
            raise ValueError(
                f"cross_entropy: probabilities of shape {target.shape} for logits {input.shape}"
            )
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        terms = logs * target
        if weight is not None:
            terms = terms * weight.reshape([-1 if i == dim else 1 for i in range(input.ndim)])
        loss = -terms.sum(dim)
        if reduction == "mean":
            return loss.sum() / (loss.numel() or 1)
        return _reduce(loss, reduction, "cross_entropy")
    right = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return right
    if weight is not None:
        raise ValueError("cross_entropy: label_smoothing together with weight is not there")
    heard = (target != ignore_index).to(input.dtype)
    spread = -logs.mean(dim) * heard
    if reduction == "mean":
        spread = spread.sum() / heard.sum()
    elif reduction == "sum":
        spread = spread.sum()
    return right * (1 - label_smoothing) + spread * label_smoothing


def _same_shape(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise ValueError(f"{name}: the shapes {input.shape} and {target.shape} differ")


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """Return (input - target)², its mean or its sum; ValueError unless the shapes are equal."""
    _same_shape("mse_loss", input, target)
    return _reduce((input - target).square(), reduction, "mse_loss")


def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """Return |input - target|, its mean or its sum; ValueError unless the shapes are equal."""
    _same_shape("l1_loss", input, target)
    return _reduce((input - target).abs(), reduction, "l1_loss")


def smooth_l1_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Return a loss that is quadratic within beta and linear beyond (Girshick 2015)."""
    _same_shape("smooth_l1_loss", input, target)
    distance = (input - target).abs()
    loss = where(distance < beta, distance.square() * (0.5 / beta), distance - 0.5 * beta)
    return _reduce(loss, reduction, "smooth_l1_loss")


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Return the loss of probabilities; their logarithms are held above -100, as in torch."""
    _same_shape("binary_cross_entropy", input, target)
    logs, others = input.log().clamp(min=-100), (1 - input).log().clamp(min=-100)
    loss = -(target * logs + (1 - target) * others)
    return _reduce(loss if weight is None else loss * weight, reduction, "binary_cross_entropy")


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the loss of logits: log(1 + exp(-x)) for 1, log(1 + exp(x)) for 0."""
    name = "binary_cross_entropy_with_logits"
    _same_shape(name, input, target)
    negative = softplus(-input)  # -log(sigmoid(input))
    if pos_weight is None:
        loss = (1 - target) * input + negative
    else:
        loss = (1 - target) * input + (1 + (pos_weight - 1) * target) * negative
    return _reduce(loss if weight is None else loss * weight, reduction, name)


def kl_div(input: Tensor, target: Tensor, *, reduction="mean", log_target: bool = False) -> Tensor:
    """Return target · (log target - input), input being logarithms; also reduction "batchmean"."""
    logs = target if log_target else where(target > 0, target, 1.0).log()
    loss = (target.exp() if log_target else target) * (logs - input)
    if reduction == "batchmean":
        return loss.sum() / input.shape[0]
    return _reduce(loss, reduction, "kl_div")
