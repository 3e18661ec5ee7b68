"""The course's own solutions of the exercises before 02_flops.

Where mine.py holds functions of yours that pass their checks, those are used in place of these.

Made by `proflab assemble`.
"""

import numpy as np
from proflab import Tensor

__all__ = [
    "linear_parameters",
    "conv2d_parameters",
    "attention_parameters",
    "count_parameters",
    "parameter_memory_mb",
    "parameter_table",
    "gpt2_parameters",
    "reflect_deployment",
]


# ── 01_parameters ─────────────────────────────────────────────────────────────────────────────


def linear_parameters(in_features, out_features, bias=True):
    """Return the number of parameters of a linear layer, an int.

    in_features, out_features: ints, at least 1. (Sizes of other types are not tested.)
    bias: True if the layer has a bias. The default is that of torch.nn.Linear.

    >>> linear_parameters(10, 4, bias=False)
    40
    """
    if min(in_features, out_features) < 1:
        raise ValueError(f"sizes must be at least 1, not {in_features} and {out_features}")
    return in_features * out_features + (out_features if bias else 0)


def conv2d_parameters(in_channels, out_channels, kernel_size, bias=True, groups=1):
    """Return the number of parameters of a 2-d convolution, an int: 9408, not 9408.0.

    in_channels, out_channels, groups: ints, at least 1.
    kernel_size: an int for a square kernel, or a tuple or list (height, width); each at least 1.
    bias: True if each output channel has a bias. The defaults are those of torch.nn.Conv2d.
    Raises ValueError also when a tuple or list does not hold exactly two sizes, and when groups
    does not divide both in_channels and out_channels.

    >>> conv2d_parameters(3, 8, (1, 5))
    128
    """
    pair = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
    if len(pair) != 2 or min(in_channels, out_channels, groups, *pair) < 1:
        raise ValueError("all sizes must be at least 1, and a kernel has two: height and width")
    if in_channels % groups or out_channels % groups:
        raise ValueError(f"{in_channels} and {out_channels} channels do not make {groups} groups")
    filter_size = in_channels // groups * pair[0] * pair[1]
    return out_channels * (filter_size + (1 if bias else 0))


def attention_parameters(d_model, bias=True):
    """Return the number of parameters of multi-head self-attention, an int.

    These are the parameters of its four linear layers: query, key, value and output.
    d_model: int, at least 1, the width of a token's vector.
    bias: True if each of the four layers has a bias.

    >>> attention_parameters(2)
    24
    """
    return 4 * linear_parameters(d_model, d_model, bias)


def count_parameters(model, trainable_only=False):
    """Return the number of parameters of a model, an int: all elements of its tensors.

    model: anything with .parameters(), which yields Tensors, perhaps the same object more than
        once: it counts once. Different tensors all count, even if they hold equal numbers.
        A bare Tensor is accepted, too; it has no .parameters(), and its count is 0.
    trainable_only: True leaves out frozen parameters, those whose requires_grad is False.
    Do not change the model, and do not keep results: it may have changed before the next call.
    Raises ValueError for anything else without .parameters().

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    if isinstance(model, Tensor):
        return 0
    if not hasattr(model, "parameters"):
        raise ValueError(f"a {type(model).__name__} is no model: it has no .parameters()")
    once = {id(p): p for p in model.parameters()}.values()
    return sum(p.numel() for p in once if p.requires_grad or not trainable_only)


def parameter_memory_mb(model, dtype=None):
    """Return the memory that a model's parameters take, in MB of 1024² bytes: a float, not rounded.

    model: as for count_parameters. Each tensor counts once, frozen ones included. A bare Tensor
        and a model without parameters take 0.0.
    dtype: None counts each parameter at its own dtype. Anything else is the dtype in which all of
        them would be stored, in any form that numpy takes: "float16", np.float16, np.dtype("int8").
    Raises ValueError for a dtype that numpy does not know ("float17"), and for anything that is
    not a model.

    >>> parameter_memory_mb(nn.Linear(1023, 1024), "int8")
    1.0
    """
    try:
        itemsize = np.dtype(dtype).itemsize if dtype is not None else None
    except TypeError:
        raise ValueError(f"numpy knows no dtype {dtype!r}") from None
    if count_parameters(model) == 0:
        return 0.0
    once = {id(p): p for p in model.parameters()}.values()
    return sum(p.numel() * (itemsize or p.dtype.itemsize) for p in once) / 1024**2


def parameter_table(model):
    """Return where a model's parameters are: a list of rows, one for each tensor, largest first.

    model: anything with .named_parameters(), which yields (name, Tensor), perhaps the same object
        under several names: it has one row, under its first name. A bare Tensor has no rows: [].
    A row is a dict with the keys name, shape (a tuple), count (an int) and share (a float from 0
        to 1: the part of all parameters, not rounded). Rows with equal counts stay in the order in
        which the model yields them. Frozen tensors have rows, too.
    Raises ValueError for anything else without .named_parameters().

    >>> parameter_table(nn.Linear(4, 1, bias=False))
    [{'name': 'weight', 'shape': (1, 4), 'count': 4, 'share': 1.0}]
    """
    if isinstance(model, Tensor):
        return []
    if not hasattr(model, "named_parameters"):
        raise ValueError(f"a {type(model).__name__} is no model: it has no .named_parameters()")
    rows = {}
    for name, p in model.named_parameters():
        rows.setdefault(id(p), {"name": name, "shape": p.shape, "count": p.numel()})
    total = sum(row["count"] for row in rows.values())
    for row in rows.values():
        row["share"] = row["count"] / total
    return sorted(rows.values(), key=lambda row: row["count"], reverse=True)


def gpt2_parameters(vocab_size, context, d_model, layers):
    """Return the number of parameters of a GPT-2 of these sizes, an int.

    vocab_size, context (positions), d_model (width), layers (blocks): ints, at least 1.
    The matrix that token vectors and output layer share counts once.

    >>> gpt2_parameters(1, 1, 2, 1)
    82
    """
    if min(vocab_size, context, d_model, layers) < 1:
        raise ValueError("vocab_size, context, d_model and layers must be at least 1")
    norm = 2 * d_model
    feed_forward = linear_parameters(d_model, 4 * d_model) + linear_parameters(4 * d_model, d_model)
    block = attention_parameters(d_model) + feed_forward + 2 * norm
    return (vocab_size + context) * d_model + layers * block + norm


def reflect_deployment(parameters, bytes_per_parameter, memory_gb):
    """Return how large a model's weights are, and if they fit into a device's memory: a dict.

    parameters: int, at least 1. bytes_per_parameter: above 0; 0.5 stands for 4 bits.
    memory_gb: above 0, in GB of 1024³ bytes.
    The dict's keys are model_mb (a float, in MB of 1024² bytes, not rounded) and fits (a bool, also
        True when the weights fill the memory to the last byte).

    >>> reflect_deployment(2**20, 2, 1)
    {'model_mb': 2.0, 'fits': True}
    """
    if parameters < 1 or bytes_per_parameter <= 0 or memory_gb <= 0:
        raise ValueError("parameters, bytes_per_parameter and memory_gb must be positive")
    model_mb = parameters * bytes_per_parameter / 1024**2
    return {"model_mb": model_mb, "fits": model_mb <= memory_gb * 1024}

# ── yours, where there are any ──

from proflab.lesson.mine import use_mine as _use_mine

_use_mine(
    globals(),
    "02_flops",
    {'01_parameters': ['linear_parameters', 'conv2d_parameters', 'attention_parameters',
                       'count_parameters', 'parameter_memory_mb', 'parameter_table',
                       'gpt2_parameters', 'reflect_deployment']},
)
