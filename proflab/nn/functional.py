# ruff: noqa: F401  (a room that only shows what the others hold)
"""The functional forms of nn's layers, under torch's names."""

from proflab.ops.activation import (
    elu,
    gelu,
    hardsigmoid,
    hardswish,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    silu,
    softmax,
    softplus,
)
from proflab.ops.attention import scaled_dot_product_attention
from proflab.ops.composite import (
    adaptive_avg_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    cosine_similarity,
    glu,
    hardtanh,
    instance_norm,
    interpolate,
    logsigmoid,
    max_pool1d,
    mish,
    normalize,
    pixel_shuffle,
    prelu,
)
from proflab.ops.concat import pad
from proflab.ops.conv import conv1d, conv2d
from proflab.ops.indexing import embedding, one_hot
from proflab.ops.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from proflab.ops.matmul import linear
from proflab.ops.norm import batch_norm, group_norm, layer_norm, rms_norm
from proflab.ops.pointwise import sigmoid, tanh
from proflab.ops.pool import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from proflab.ops.random import dropout, dropout2d


def __getattr__(name: str):
    raise AttributeError(f"proflab.nn.functional has no {name!r}; docs/torch.md lists what it has")
