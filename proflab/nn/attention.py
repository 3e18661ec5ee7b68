"""Attention as a layer, and the encoder layer built on it. torch's names and weights' shapes."""

from __future__ import annotations

import copy
import math

from proflab.creation import empty, zeros
from proflab.nn import functional as F
from proflab.nn import init
from proflab.nn.containers import ModuleList
from proflab.nn.layers import LayerNorm, Linear
from proflab.nn.module import Module
from proflab.nn.parameter import Parameter
from proflab.nn.shaping import Dropout
from proflab.tensor import Tensor

__all__ = ["MultiheadAttention", "TransformerEncoder", "TransformerEncoderLayer"]


def check_heads(owner: str, width: int, heads: int) -> int:
    """Return the width of one head; ValueError if the heads do not divide the width."""
    if heads <= 0 or width % heads:
        raise ValueError(f"{owner}: {heads} heads do not divide a width of {width}")
    return width // heads


class MultiheadAttention(Module):
    """Attention of `num_heads` heads (Vaswani et al. 2017). Self-attention with a query only.

    forward(query, key, value, …) returns (output, weights), the weights averaged over the heads,
    or None with need_weights=False, which is the fused path. Inputs are (length, batch, embed_dim),
    or (batch, length, embed_dim) with batch_first; the batch may be missing.
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout=0.0, bias=True, add_bias_kv=False,
                 add_zero_attn=False, kdim=None, vdim=None, batch_first=False, device=None,
                 dtype=None):  # fmt: skip
        if add_bias_kv or add_zero_attn:
            raise ValueError("MultiheadAttention: add_bias_kv and add_zero_attn are not there")
        self.head_dim = check_heads("MultiheadAttention", embed_dim, num_heads)
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.batch_first = batch_first
        like = {"device": device, "dtype": dtype}
        self._same_width = self.kdim == embed_dim and self.vdim == embed_dim
        if self._same_width:
            self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim, **like))
        else:
            self.q_proj_weight = Parameter(empty(embed_dim, embed_dim, **like))
            self.k_proj_weight = Parameter(empty(embed_dim, self.kdim, **like))
            self.v_proj_weight = Parameter(empty(embed_dim, self.vdim, **like))
        self.in_proj_bias = Parameter(zeros(3 * embed_dim, **like)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, **like)
        for name, parameter in self._parameters.items():
            if name.endswith("weight"):
                init.xavier_uniform_(parameter)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None,
                key_padding_mask: Tensor | None = None, need_weights: bool = True,
                attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        key = query if key is None else key
        value = key if value is None else value
        if is_causal and attn_mask is None:
            raise ValueError("MultiheadAttention: is_causal=True needs an attn_mask, as in torch")
        batched = query.dim() == 3
        q, k, v = self._project(query, key, value)
        if not batched:
            q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
        elif not self.batch_first:
            q, k, v = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)
        q, k, v = self._split_heads(q), self._split_heads(k), self._split_heads(v)
        mask = _merge_masks(attn_mask, key_padding_mask, q, k)
        p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(self.head_dim))
            if mask is not None:
                scores = scores + mask
            attention = F.softmax(scores, -1)
            weights = attention.mean(1) if average_attn_weights else attention
            out = F.dropout(attention, p, self.training) @ v
        else:
            out = F.scaled_dot_product_attention(q, k, v, mask, p)
        out = out.transpose(1, 2).flatten(2)
        if not batched:
            out = out.squeeze(0)
            weights = None if weights is None else weights.squeeze(0)
        elif not self.batch_first:
            out = out.transpose(0, 1)
        return self.out_proj(out), weights

    def _project(self, query, key, value) -> tuple[Tensor, ...]:
        if self._same_width:
            if query is key and key is value:  # one product in place of three
                return F.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        inputs = (query, key, value)
        return tuple(F.linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True))

    def _split_heads(self, x: Tensor) -> Tensor:
        """Return (batch, length, embed_dim) as (batch, heads, length, head_dim)."""
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, self.head_dim).transpose(1, 2)


def _merge_masks(attn_mask, key_padding_mask, q: Tensor, k: Tensor) -> Tensor | None:
    """Return one mask to add to scores (batch, heads, queries, keys); where boolean, True hides."""
    batch, heads = q.shape[:2]
    masks = []
    if attn_mask is not None:
        if attn_mask.dim() == 3:  # (batch · heads, queries, keys)
            attn_mask = attn_mask.reshape(batch, heads, *attn_mask.shape[1:])
        masks.append(attn_mask)
    if key_padding_mask is not None:
        masks.append(key_padding_mask.reshape(batch, 1, 1, k.shape[2]))
    merged = None
    for mask in masks:
        if mask.dtype.kind == "b":
            mask = zeros(mask.shape, device=mask.device).masked_fill(mask, -math.inf)
        merged = mask if merged is None else merged + mask
    return merged


class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward network, each with residual, dropout and LayerNorm."""

    def __init__(self, d_model: int, nhead: int, dim_feedforward=2048, dropout=0.1,
                 activation="relu", layer_norm_eps=1e-5, batch_first=False, norm_first=False,
                 bias=True, device=None, dtype=None):  # fmt: skip
        like = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, **like
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, **like)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **like)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **like)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **like)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        if isinstance(activation, str):
            if activation not in ("relu", "gelu"):
                raise ValueError(f"TransformerEncoderLayer: no activation {activation!r}")
            activation = getattr(F, activation)
        self.activation = activation

    def forward(self, src: Tensor, src_mask: Tensor | None = None,
                src_key_padding_mask: Tensor | None = None, is_causal=False) -> Tensor:  # fmt: skip
        masks = (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            x = src + self._attend(self.norm1(src), *masks)
            return x + self._feed_forward(self.norm2(x))
        x = self.norm1(src + self._attend(src, *masks))
        return self.norm2(x + self._feed_forward(x))

    def _attend(self, x, mask, padding_mask, is_causal: bool) -> Tensor:
        out, _ = self.self_attn(
            x, x, x, padding_mask, need_weights=False, attn_mask=mask, is_causal=is_causal
        )
        return self.dropout1(out)

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """A stack of copies of one encoder layer."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor=True, mask_check=True):  # fmt: skip
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src: Tensor, mask: Tensor | None = None,
                src_key_padding_mask: Tensor | None = None, is_causal=False) -> Tensor:  # fmt: skip
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)
