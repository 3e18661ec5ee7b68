"""What the lessons before 02_flops built: the solutions of their exercises.

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
    """The number of parameters of a linear layer, torch.nn.Linear in shape and default.

    in_features, out_features: ints, at least 1. bias: whether the layer has one.
    Returns an int. Raises ValueError when a size is below 1. (Sizes of other types are not tested.)
    """
    if min(in_features, out_features) < 1:
        raise ValueError(f"sizes must be at least 1, not {in_features} and {out_features}")
    return in_features * out_features + (out_features if bias else 0)


def conv2d_parameters(in_channels, out_channels, kernel_size, bias=True, groups=1):
    """The number of parameters of a 2-d convolution, torch.nn.Conv2d in shape and default.

    in_channels, out_channels, groups: ints, at least 1.
    kernel_size: an int for a square kernel, or (height, width), each at least 1.
    Returns an int: 9408, not 9408.0. Raises ValueError when one of these is below 1, when a kernel
    given as a tuple or list has not two sizes, and when groups does not divide both channels.
    """
    pair = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
    if len(pair) != 2 or min(in_channels, out_channels, groups, *pair) < 1:
        raise ValueError("all sizes must be at least 1, and a kernel has two: height and width")
    if in_channels % groups or out_channels % groups:
        raise ValueError(f"{in_channels} and {out_channels} channels do not make {groups} groups")
    filter_size = in_channels // groups * pair[0] * pair[1]
    return out_channels * (filter_size + (1 if bias else 0))


def attention_parameters(d_model, bias=True):
    """The number of parameters of multi-head self-attention: query, key, value and output layers.

    d_model: int, at least 1, the width of a token's vector, which the heads share out.
    bias: whether each of the four has one. Returns an int. Raises ValueError for d_model below 1.
    """
    return 4 * linear_parameters(d_model, d_model, bias)


def count_parameters(model, trainable_only=False):
    """The number of parameters of a model: the elements of its tensors, each tensor once.

    model: anything with .parameters(), which yields Tensors, perhaps the same object more than
        once. (Different tensors all count, also equal ones.) A bare Tensor has none: 0.
    trainable_only: leave out frozen ones, whose requires_grad is False.
    Returns an int. The model stays as it is, and may be another the next time. Raises ValueError for what is neither a Tensor nor has .parameters().
    """
    if isinstance(model, Tensor):
        return 0
    if not hasattr(model, "parameters"):
        raise ValueError(f"a {type(model).__name__} is no model: it has no .parameters()")
    once = {id(p): p for p in model.parameters()}.values()
    return sum(p.numel() for p in once if p.requires_grad or not trainable_only)


def parameter_memory_mb(model, dtype=None):
    """The memory that a model's parameters take, in MB of 1024² bytes; each tensor once.

    model: as for count_parameters; 0.0 for a bare Tensor and for a model without parameters.
    dtype: None, and each parameter counts at its own dtype; or the one in which all would be
        stored, as numpy takes it: "float16", np.float16, np.dtype("int8").
    Returns a float, not rounded. Raises ValueError for a dtype that numpy does not know
    ("float17"), and for what is no model.
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
    """Where a model's parameters are: a row for each tensor, the largest first.

    model: anything with .named_parameters(), which yields (name, Tensor), perhaps the same object
        under several names: it has one row, under the first. A bare Tensor: [].
    Returns a list of dicts with keys name, shape (tuple), count (int), share (float, of all, 0 to
    1). Rows of the same count stay in the order in which they were yielded.
    Raises ValueError for what is neither a Tensor nor has .named_parameters().
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
    """The number of parameters of a GPT-2 of these sizes, its shared matrix counted once.

    vocab_size, context (positions), d_model (width), layers (blocks): ints, at least 1.
    Returns an int. Raises ValueError when a size is below 1.
    """
    if min(vocab_size, context, d_model, layers) < 1:
        raise ValueError("vocab_size, context, d_model and layers must be at least 1")
    norm = 2 * d_model
    feed_forward = linear_parameters(d_model, 4 * d_model) + linear_parameters(4 * d_model, d_model)
    block = attention_parameters(d_model) + feed_forward + 2 * norm
    return (vocab_size + context) * d_model + layers * block + norm


def reflect_deployment(parameters, bytes_per_parameter, memory_gb):
    """Whether a model's weights fit into a device's memory.

    parameters: int, at least 1. bytes_per_parameter: above 0; 0.5 is 4 bits.
    memory_gb: above 0, in GB of 1024³ bytes.
    Returns a dict: model_mb (float, in MB of 1024² bytes, not rounded) and fits (bool; True also
        when they fill the memory to the last byte). Raises ValueError for an argument out of range.
    """
    if parameters < 1 or bytes_per_parameter <= 0 or memory_gb <= 0:
        raise ValueError("parameters, bytes_per_parameter and memory_gb must be positive")
    model_mb = parameters * bytes_per_parameter / 1024**2
    return {"model_mb": model_mb, "fits": model_mb <= memory_gb * 1024}
