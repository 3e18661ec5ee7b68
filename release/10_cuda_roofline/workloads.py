"""The parts of a Transformer that a lesson measures, each as a function of tensors.

One function works on proflab's tensors, where it is counted, and on torch's, where it is timed:
F is `proflab.nn.functional` or `torch.nn.functional`. What may not enter: a count of FLOPs or
bytes.
"""

from __future__ import annotations

from typing import Any


def chain(F: Any, x: Any) -> Any:
    """Return x after four elementwise ops."""
    return F.relu(x * 0.5 + 1.0) * x


def naive_attention(F: Any, q: Any, k: Any, v: Any) -> Any:
    """Return attention as it is written down: scores, scaling, softmax, mix."""
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    return F.softmax(scores, dim=-1) @ v


def fused_attention(F: Any, q: Any, k: Any, v: Any) -> Any:
    """Return the same from one kernel."""
    return F.scaled_dot_product_attention(q, k, v)


def softmax(F: Any, x: Any) -> Any:
    """Return the softmax over the last dimension."""
    return F.softmax(x, dim=-1)


def layer_norm(F: Any, x: Any) -> Any:
    """Return x normalized over the last dimension."""
    return F.layer_norm(x, x.shape[-1:])


def block(F: Any, x: Any, qkv: Any, out: Any, up: Any, down: Any) -> Any:
    """Return what a block of GPT-2 makes of x, by its four matrices, with heads of 64."""
    b, s, d = x.shape
    three = F.linear(F.layer_norm(x, (d,)), qkv).split(d, dim=-1)
    heads = (part.reshape(b, s, d // 64, 64).transpose(1, 2) for part in three)
    mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
    x = x + F.linear(mixed.transpose(1, 2).reshape(b, s, d), out)
    return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (d,)), up)), down)


FUSED_CHAIN = """
extern "C" __global__ void chain(float *out, const float *in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = fmaxf(in[i] * 0.5f + 1.0f, 0.0f) * in[i];
}
"""  # the same as chain, in one kernel

_BLOCK = [(2304, 768), (768, 768), (3072, 768), (768, 3072)]
TABLE = {  # name: what it does, shapes of its inputs, data type
    "chain": (chain, [(2**26,)], "float32"),
    "chain, fused": (chain, [(2**26,)], "float32"),
    "softmax": (softmax, [(2**14, 4096)], "float32"),
    "layer norm": (layer_norm, [(2**14, 4096)], "float32"),
    "attention": (naive_attention, [(8, 12, 1024, 64)] * 3, "float16"),
    "attention, fused": (fused_attention, [(8, 12, 1024, 64)] * 3, "float16"),
    "Transformer block": (block, [(8, 1024, 768), *_BLOCK], "float16"),
}
