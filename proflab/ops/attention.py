"""Attention in one op: softmax(q @ k.T · scale) @ v without keeping the scores.

Kept are query, key, value, the result and one number a query; backward makes the scores again.
That is what saves memory in fused attention; composing it of matmuls and softmax keeps them.
"""

from __future__ import annotations

import math

import numpy as np

from proflab.creation import ones
from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.comparison import logical_not
from proflab.ops.concat import triu
from proflab.ops.matmul import one_dtype, product
from proflab.ops.random import dropout
from proflab.ops.where import masked_fill
from proflab.shapes import broadcast, unbroadcast
from proflab.tensor import Tensor

__all__ = ["scaled_dot_product_attention"]


def _scores(query, key, mask, is_causal: bool, scale: float) -> np.ndarray:
    scores = product(query, key.swapaxes(-1, -2))
    scores *= scale
    if is_causal:
        hidden = np.triu(np.ones(scores.shape[-2:], bool), 1)
        np.copyto(scores, -np.inf, where=hidden)
    if mask is not None:
        if mask.dtype.kind == "b":
            np.copyto(scores, -np.inf, where=~mask)
        else:
            scores += mask
    return scores


@register
class _Attention(Op):
    """query (…, l, e), key (…, s, e), value (…, s, v), and a mask that broadcasts to (…, l, s)"""

    name = "scaled_dot_product_attention"
    suppress_warnings = True
    extras = True

    @staticmethod
    def check(query, key, value, mask) -> None:
        one_dtype(query, key, value)
        q, k, v = query.shape, key.shape, value.shape
        if min(len(q), len(k), len(v)) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
            raise ValueError("query, key and value do not fit one another")
        stack = broadcast(q[:-2], k[:-2], v[:-2])
        if mask is not None and broadcast(mask.shape, (*stack, q[-2], k[-2])) != (
            *stack, q[-2], k[-2],
        ):  # fmt: skip
            raise ValueError("the mask does not broadcast to the scores")

    def shape(self, query, key, value, mask=None, *, is_causal, scale):
        self.check(query, key, value, mask)
        stack = broadcast(query.shape[:-2], key.shape[:-2], value.shape[:-2])
        rows = (*broadcast(query.shape[:-2], key.shape[:-2]), query.shape[-2], 1)
        out = (*stack, query.shape[-2], value.shape[-1])
        return MetaArray(out, query.dtype), MetaArray(rows, query.dtype)

    def forward(self, query, key, value, mask=None, *, is_causal, scale):
        self.check(query, key, value, mask)
        scores = _scores(query, key, mask, is_causal, scale)
        top = scores.max(axis=-1, keepdims=True, initial=-np.inf)  # there may be no keys
        top = np.where(np.isfinite(top), top, 0).astype(scores.dtype)  # a row that sees nothing
        scores -= top
        np.exp(scores, out=scores)
        total = scores.sum(axis=-1, keepdims=True)
        out = product(scores, value)
        out /= total
        return out, np.log(total) + top

    def save_for_backward(self, need, out, query, key, value, mask=None, **settings):
        return query, key, value, mask, *out

    def backward(self, node, grad, is_causal, scale):
        # grad, out: (…, l, v) · query: (…, l, e) · key: (…, s, e) · value: (…, s, v) → their shapes
        query, key, value, mask, out, logsum = node.saved
        share = _scores(query, key, mask, is_causal, scale)
        share -= logsum
        np.exp(share, out=share)
        grads: list[np.ndarray | None] = [None] * len(node.need)
        if node.need[2]:
            grads[2] = unbroadcast(product(share.swapaxes(-1, -2), grad), value.shape)
        # of the scores: share · (grad @ v.T - Σ grad · out), row by row
        inner = product(grad, value.swapaxes(-1, -2))
        inner -= (grad * out).sum(axis=-1, keepdims=True)
        inner *= share
        if len(grads) > 3 and node.need[3]:
            grads[3] = unbroadcast(inner, mask.shape)
        inner = inner * scale  # not in place: it may be the mask's gradient
        if node.need[0]:
            grads[0] = unbroadcast(product(inner, key), query.shape)
        if node.need[1]:
            grads[1] = unbroadcast(product(inner.swapaxes(-1, -2), query), key.shape)
        return tuple(grads)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor,
                                 attn_mask: Tensor | None = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:  # fmt: skip
    """Return softmax(query @ key.T · scale + mask) @ value (Vaswani et al. 2017).

    query:     (…, queries, width)
    key:       (…, keys, width)
    value:     (…, keys, value width); the result is (…, queries, value width)
    attn_mask: broadcasts to (…, queries, keys); boolean: True where to look; else it is added
    is_causal: no query sees a later key
    scale:     1 / √width if left out

    One op, but for dropout: that is composed of matmul, softmax and dropout.
    """
    if is_causal and attn_mask is not None:
        raise ValueError("scaled_dot_product_attention: attn_mask and is_causal exclude each other")
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if not dropout_p:
        inputs = (query, key, value) if attn_mask is None else (query, key, value, attn_mask)
        return apply(_Attention, inputs, is_causal=bool(is_causal), scale=float(scale))
    scores = query @ key.transpose(-2, -1) * scale
    if is_causal:
        attn_mask = logical_not(triu(ones(scores.shape[-2:], dtype=bool, device=query.device), 1))
    if attn_mask is not None and attn_mask.dtype.kind == "b":
        scores = masked_fill(scores, logical_not(attn_mask), -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return dropout(scores.softmax(-1), dropout_p) @ value
