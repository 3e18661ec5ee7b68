"""The course's own solutions of the exercises before 10_cuda_roofline.

Where mine.py holds functions of yours that pass their checks, those are used in place of these.

Made by `proflab assemble`.
"""

import functools
import itertools
import math
import numpy as np
import proflab
import statistics
import time
import tracemalloc
from proflab import Tensor, autograd, dispatch, example_input, meta, nn, no_grad, stack
from proflab.lesson.machine import psutil
from proflab.lesson.recording import (
    Recorder, as_model, column, elementwise_kind, row_name, work_and_traffic,
)
from proflab.lesson.tensor_memory import TABLES, bytes_by_memory, each_op, memory_of
from proflab.lesson.tracebacks import own_function
from proflab.nn import functional as F
from statistics import mean, median, stdev

__all__ = [
    "linear_parameters",
    "conv2d_parameters",
    "attention_parameters",
    "count_parameters",
    "parameter_memory_mb",
    "parameter_table",
    "gpt2_parameters",
    "reflect_deployment",
    "matmul_flops",
    "linear_flops",
    "pair",
    "conv2d_output_shape",
    "conv2d_flops",
    "attention_flops",
    "ELEMENTWISE",
    "elementwise_flops",
    "einsum_flops",
    "NO_PRODUCTS",
    "as_matmuls",
    "op_flops",
    "meta_inputs",
    "count_flops",
    "gradient_flops",
    "tensors_in",
    "walk_back",
    "backward_flops",
    "training_flops",
    "reflect_6nd",
    "Timer",
    "timer_resolution_ms",
    "calibrate",
    "measure_latency",
    "latency_statistics",
    "latencies",
    "confidence_interval",
    "in_turns",
    "told_apart",
    "measurement_warnings",
    "throughput",
    "best_batch",
    "MB",
    "MemoryTracker",
    "measure_memory",
    "saved_activations",
    "optimizer_memory_mb",
    "training_memory",
    "memory_table",
    "MemoryProfiler",
    "find_leak",
    "recomputed_gradients",
    "Recompute",
    "checkpointed",
    "reflect_training_mb",
    "op_bytes",
    "op_elementwise",
    "op_facts",
    "self_times",
    "add_row",
    "record",
    "OpRecorder",
    "rows_of",
    "MEASURES",
    "top_operations",
    "print_top_operations",
    "ARGS",
    "chrome_trace",
    "find_bottleneck",
    "rows_at_ridge",
    "triage",
    "hot_functions",
    "profiling_overhead",
    "samples_needed",
    "profile_forward_pass",
    "profile_layer",
    "profile_backward_pass",
    "compare_architectures",
    "Profiler",
    "quick_profile",
    "profile",
    "arithmetic_intensity",
    "ridge_point",
    "attainable_flops",
    "matmul_bytes",
    "elementwise_bytes",
    "attention_bytes",
    "measure_peak_flops",
    "measure_bandwidth",
    "write_allocate",
    "roofline_points",
    "classify",
    "inspect_step",
    "slow_chain",
    "slow_experts",
    "slow_passes",
    "chain",
    "experts",
    "fewer_passes",
    "mfu",
    "amdahl",
    "reflect_relu",
    "local_exponents",
    "fit_cost",
    "holdout_error",
    "batch_cost",
    "predict_ms",
    "rows_on_meta",
    "op_factors",
    "predict_corrected_ms",
    "matmul_addresses",
    "cache_misses",
    "traffic_bound",
    "slow_order",
    "order",
    "set_misses",
    "speedup_steps",
    "slow_path",
    "slow_distances",
    "path",
    "distances",
    "reflect_crossover_tokens",
    "run_order",
    "rank_test",
    "speedup_interval",
    "gate",
    "runs_interval",
    "compare_results",
    "percentile_interval",
    "response_times",
    "quantize",
    "sparse_bytes",
    "pareto",
    "energy_joules",
    "audit_speedups",
    "audit_memory",
    "diagnose",
    "simulate_loader",
    "turn_by_turn",
    "loader_plan",
    "half_gradients",
    "scale_after",
    "single_ops",
    "accumulate",
    "blocks",
    "slow_recompute",
    "held_bytes",
    "recompute",
    "checkpoint_plan",
    "graph_of",
    "fuse",
    "graph_bytes",
    "attend",
    "merge",
    "slow_tiles",
    "slow_causal_tiles",
    "through_tiles",
    "fixed_step",
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


# ── 02_flops ──────────────────────────────────────────────────────────────────────────────────


def matmul_flops(m, k, n):
    """Return the FLOPs of a matrix product, (m, k) times (k, n).

    m, k, n: ints, at least 1. Returns an int.

    >>> matmul_flops(4, 6, 5)
    240
    """
    if min(m, k, n) < 1:
        raise ValueError(f"sizes must be at least 1, not {m}, {k} and {n}")
    return 2 * m * k * n


def linear_flops(input_shape, out_features):
    """Return the FLOPs of a linear layer on an input of this shape, without its bias.

    input_shape: (..., in_features), a tuple or a list with any number of leading dimensions, also
        none; all are counted. out_features: int, at least 1. Returns an int.
    Raises ValueError for an empty shape.

    >>> linear_flops((2, 3, 4), 5)
    240
    """
    *leading, in_features = input_shape or (0,)
    if min(in_features, out_features, *leading) < 1:
        raise ValueError(f"no linear layer to {out_features} takes the shape {input_shape}")
    return matmul_flops(math.prod(leading), in_features, out_features)


def pair(value):
    """Return an int for both directions, or (vertical, horizontal), as a tuple of two."""
    both = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(both) != 2:
        raise ValueError(f"{value} is neither a number nor a pair")
    return both


def conv2d_output_shape(input_shape, out_channels, kernel_size, stride=1, padding=0, dilation=1):
    """Return the shape of a 2-d convolution's output, (batch, out_channels, height, width).

    input_shape: (batch, channels, height, width), a tuple or a list. kernel_size, stride, padding,
        dilation: ints, or pairs (vertical, horizontal), tuples or lists. Returns a tuple of ints.
    Raises ValueError for what is no pair, or has not four sizes, and when the window does not fit
    into the padded image. Padding may be 0.

    >>> conv2d_output_shape((1, 3, 8, 8), 4, 3, stride=2, padding=1)
    (1, 4, 4, 4)
    """
    if len(input_shape) != 4:
        raise ValueError(f"{input_shape} is not (batch, channels, height, width)")
    kernel_size, stride, padding, dilation = map(pair, (kernel_size, stride, padding, dilation))
    if min(*input_shape, out_channels, *kernel_size, *stride, *dilation) < 1 or min(padding) < 0:
        raise ValueError("sizes, strides and dilations are at least 1, and padding at least 0")
    sides = input_shape[2:], kernel_size, stride, padding, dilation
    places = []
    for size, k, s, p, d in zip(*sides, strict=True):
        room = size + 2 * p - (d * (k - 1) + 1)
        if room < 0:
            raise ValueError(
                f"a kernel of {k} with dilation {d} does not fit into {size} + 2 · {p}"
            )
        places.append(room // s + 1)
    return (input_shape[0], out_channels, *places)


def conv2d_flops(input_shape, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1):
    """Return the FLOPs of a 2-d convolution on an input of this shape, batch included, no bias.

    Arguments as for conv2d_output_shape; groups: int, at least 1, divides both channel numbers.
    Returns an int. Raises ValueError as conv2d_output_shape does, and for groups that do not divide
    the channels.

    >>> conv2d_flops((1, 3, 8, 8), 4, 3, stride=2, padding=1)
    3456
    """
    output = conv2d_output_shape(input_shape, out_channels, kernel_size, stride, padding, dilation)
    channels = input_shape[1]
    if groups < 1 or channels % groups or out_channels % groups:
        raise ValueError(f"{channels} and {out_channels} channels do not make {groups} groups")
    return 2 * math.prod(output) * channels // groups * math.prod(pair(kernel_size))


def attention_flops(batch, seq, d_model, heads, causal=False):
    """Return the FLOPs of multi-head self-attention: four projections, scores, and mix.

    batch, seq (tokens), d_model (width), heads: ints, at least 1.
    causal: of scores and mix count only the pairs of a token with itself and those before it.
    Returns an int; no bias, no softmax. Raises ValueError if heads does not divide d_model.

    >>> attention_flops(1, 4, 6, 2)
    1536
    """
    if min(batch, seq, d_model, heads) < 1 or d_model % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d_model}, or a size is below 1")
    projections = 4 * linear_flops((batch, seq, d_model), d_model)
    pairs = seq * (seq + 1) // 2 if causal else seq * seq
    return projections + 2 * matmul_flops(batch * pairs, d_model, 1)

# This course's convention: FLOPs for each element of the op's result.
ELEMENTWISE = {
    "add": 1,
    "mul": 1,
    "relu": 1,
    "bias": 1,
    "gelu": 8,
    "softmax": 5,
    "layer_norm": 8,
    "batch_norm": 2,
    "batch_norm_train": 8,  # in eval it is one multiply-add
}


def elementwise_flops(op, shape):
    """Return the FLOPs of an elementwise op whose result has this shape, by the table ELEMENTWISE.

    op: a key of the table. shape: a tuple of ints, at least 1; () is a single number.
    Returns an int.

    >>> elementwise_flops("gelu", (2, 3))
    48
    """
    if op not in ELEMENTWISE or any(size < 1 for size in shape):
        raise ValueError(f"{op!r} on {shape}: the table has {', '.join(ELEMENTWISE)}")
    return ELEMENTWISE[op] * math.prod(shape)


def einsum_flops(equation, shapes):
    """Return the FLOPs of an einsum of one operand or two.

    equation: labels with "->", no spaces, no "...", no label twice in one part: "bij,jk->bik".
    shapes: a list of as many shapes as there are operands. Returns an int: 0 for one operand, and
    where no label that both have is summed. Raises ValueError for more than two operands.

    >>> einsum_flops("ij,jk->ik", [(4, 6), (6, 5)])
    240
    """
    operands, out = equation.split("->")
    first, *others = operands.split(",")
    if len(others) > 1:
        raise ValueError(f"{equation} has more than two operands")
    shared = set(first) & set("".join(others))
    if shared <= set(out):
        return 0
    sizes = {}
    for labels, shape in zip((first, *others), shapes, strict=True):
        sizes |= zip(labels, shape, strict=True)
    return 2 * math.prod(sizes[label] for label in shared | set(out))

# Ops that neither multiply matrices nor convolve: elementwise work, sums, choices, moved data.
NO_PRODUCTS = frozenset(
    """abs adaptive_avg_pool2d add all amax amin any argmax argmin argsort atan avg_pool2d
    batch_norm cat ceil clamp clone cos cumsum div dropout elu embedding eq erf exp exp2
    expand expm1 flip floor floor_divide gather ge gelu getitem group_norm gt hardswish index
    index_put isfinite isinf isnan layer_norm le leaky_relu log log10 log1p log2 log_softmax
    logical_and logical_not logical_or logical_xor logsumexp lt masked_fill max_pool2d maximum
    mean minimum mul ne neg nll_loss nonzero pad permute pow prod rdiv reciprocal relu relu6
    remainder reshape roll round rsqrt rsub scatter_add sigmoid sign silu sin softmax softplus
    split sqrt square sub sum tan tanh to tril triu trunc var where""".split()
)


def as_matmuls(shapes):
    """Return the shapes of the two products in fused attention: query @ keyᵀ, scores @ value."""
    query, key, value = shapes[:3]
    stack = np.broadcast_shapes(query[:-2], key[:-2])
    return (query, (*key[:-2], key[-1], key[-2])), ((*stack, query[-2], key[-2]), value)


def op_flops(op, shapes, attributes):
    """Return the FLOPs of one op in the forward pass.

    op: its name. shapes: a list of its inputs' shapes. attributes: a dict of its other arguments.
        matmul: two shapes of at least one dimension. linear: input, weight (out, in), perhaps bias.
        conv2d: input, weight (out, in / groups, height, width), perhaps bias; attributes stride,
        padding, dilation, groups. einsum: attribute equation. scaled_dot_product_attention: query,
        key, value, perhaps mask; counted in full also where it is causal.
    Returns an int, 0 for the ops in NO_PRODUCTS. Raises NotImplementedError with a message that
    names the op for any other.

    >>> op_flops("linear", [(2, 3), (4, 3)], {})
    48
    """
    if op in NO_PRODUCTS:
        return 0
    if op == "linear":
        return 2 * math.prod(shapes[0]) * shapes[1][0]
    if op == "matmul":
        a, b = shapes
        a, b = (1, *a)[-max(2, len(a)) :], b if len(b) > 1 else (*b, 1)
        return 2 * math.prod(np.broadcast_shapes(a[:-2], b[:-2])) * a[-2] * a[-1] * b[-1]
    if op == "conv2d":
        return conv2d_flops(shapes[0], shapes[1][0], shapes[1][2:], **attributes)
    if op == "einsum":
        return einsum_flops(attributes["equation"], shapes)
    if op == "scaled_dot_product_attention":
        return sum(op_flops("matmul", product, {}) for product in as_matmuls(shapes))
    raise NotImplementedError(f"op_flops has no rule for {op}")


def meta_inputs(model, input_shape, per_sample, requires_grad=False):
    """Return the model's inputs without data, a tuple; with per_sample, the batch of each is 1."""
    if not callable(model):
        raise ValueError(f"a {type(model).__name__} is not a model: it cannot be called")
    inputs = example_input(model, input_shape, meta=True)
    made = []
    for x in inputs if isinstance(inputs, tuple) else (inputs,):
        shape = (1, *x.shape[1:]) if per_sample and x.shape else x.shape
        leaf = Tensor.meta(shape, x.dtype, requires_grad and x.is_floating_point())
        made.append(leaf.clone())  # which the model may change in place, as in a larger model
    return tuple(made)


def count_flops(model, input_shape, per_sample=True):
    """Return the FLOPs of a model's forward pass: of its matrix products and convolutions.

    model: a Module, or anything that can be called; in the mode (train or eval) that it is in.
        A bare Tensor counts one FLOP for each of its elements, whatever the other arguments.
    input_shape: batch first; or a ready input, or a tuple of these for a model with several.
    per_sample: count one sample: each input has a batch of 1. False: count the whole batch.
    Returns an int. The model stays as it is. Raises NotImplementedError with a message that names
    an op for which there is no rule; ValueError if `model` or `input_shape` is not what it says.

    >>> count_flops(nn.Linear(6, 5), (4, 6))
    60
    """
    if isinstance(model, Tensor):
        return model.numel()
    total = 0

    def add(call):
        nonlocal total
        total += op_flops(call.op, [t.shape for t in call.inputs], call.attributes)
        return call()

    inputs = meta_inputs(model, input_shape, per_sample)
    with proflab.no_grad(), dispatch.hook(add):
        model(*inputs)
    return total


def gradient_flops(op, shapes, attributes, wanted):
    """Return the FLOPs of computing the gradients of one op's inputs.

    op, shapes, attributes: as for op_flops. wanted: a list of bools, one for each input, True if
        its gradient is computed. A bias and a mask have no product of their own; but where a mask
        is wanted, any(wanted[3:]), the scores of fused attention need a gradient.
    Returns an int. Raises NotImplementedError as op_flops does, whatever is wanted.

    >>> gradient_flops("linear", [(2, 3), (4, 3)], {}, [False, True])
    48
    """
    if op == "scaled_dot_product_attention":
        first, second = as_matmuls(shapes)
        scores = any(wanted[:2]) or any(wanted[3:])
        total = (wanted[0] + wanted[1]) * op_flops("matmul", first, {})
        return total + (scores + wanted[2]) * op_flops("matmul", second, {})
    return sum(wanted[:2]) * op_flops(op, shapes, attributes)


def tensors_in(output):
    """Return the tensors of a model's output: a Tensor, or a list, tuple or dict of outputs."""
    if isinstance(output, Tensor):
        return [output]
    if output is None or isinstance(output, (int, float)):
        return []
    parts = list(output.values()) if isinstance(output, dict) else output
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"no tensors can be found in a {type(output).__name__}")
    return [tensor for part in parts for tensor in tensors_in(part)]


def walk_back(model, output):
    """Run the backward pass from all tensors in `output`, to wherever they came from."""
    sums = [tensor.sum() for tensor in tensors_in(output) if tensor.requires_grad]
    if sums:
        parameters = model.parameters() if hasattr(model, "parameters") else ()
        autograd.grad(sum(sums), [p for p in parameters if p.requires_grad])


def backward_flops(model, input_shape, input_grad=False, per_sample=True):
    """Return the FLOPs of a model's backward pass, from all of its outputs.

    model, input_shape, per_sample: as for count_flops; 0 for a bare Tensor.
    input_grad: whether the gradient of the model's input is computed too, as in the middle of a
        larger model; integer inputs have none.
    An op that runs forward during the backward pass counts as op_flops says.
    Returns an int. The model stays as it is. Raises as count_flops does.

    >>> backward_flops(nn.Linear(6, 5), (4, 6))
    60
    """
    if isinstance(model, Tensor):
        return 0
    total = 0

    def add(call):
        nonlocal total
        seen = call.op, [t.shape for t in call.inputs], call.attributes
        if call.phase == "backward":
            total += gradient_flops(*seen, [t.requires_grad for t in call.inputs])
        else:
            total += op_flops(*seen)
        return call()

    inputs = meta_inputs(model, input_shape, per_sample, requires_grad=input_grad)
    output = model(*inputs)
    with dispatch.hook(add):
        walk_back(model, output)
    return total


def training_flops(model, input_shape, input_grad=False, per_sample=True):
    """Return the FLOPs of a forward and a backward pass; all arguments as for backward_flops.

    Returns an int. Raises as count_flops does.

    >>> training_flops(nn.Linear(6, 5), (4, 6))
    120
    """
    forward = count_flops(model, input_shape, per_sample)
    return forward + backward_flops(model, input_shape, input_grad, per_sample)


def reflect_6nd(parameters, tokens):
    """Return the FLOPs of training a language model by the 6 · N · D rule.

    parameters (N), tokens (D): ints, at least 1. Returns an int, exact.

    >>> reflect_6nd(100, 2_000)
    1200000
    """
    if min(parameters, tokens) < 1:
        raise ValueError(f"parameters and tokens must be at least 1, not {parameters}, {tokens}")
    return 6 * parameters * tokens


# ── 03_latency ────────────────────────────────────────────────────────────────────────────────


class Timer:
    """Measure time: `with Timer() as timer: …`, or start and stop by hand; then timer.elapsed_ms.

    A timer can be used again, and then measures anew. The time is right even if the body raises.

    >>> clock, timer = doubles.Clock(), Timer()
    >>> clock.run(lambda: doubles.timed(timer, doubles.Model(clock, ms=[250.0])))
    250.0
    """

    elapsed_ms = 0.0  # the last time measured, in milliseconds
    began = None  # None: not running

    def start(self):
        """Begin to measure, or begin anew if the timer is already running."""
        self.began = time.perf_counter()

    def stop(self):
        """Set elapsed_ms to the time since start, a float. Raises RuntimeError if not running."""
        now = time.perf_counter()
        if self.began is None:
            raise RuntimeError("start the timer before you stop it")
        self.elapsed_ms = 1000 * (now - self.began)
        self.began = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()


def timer_resolution_ms(samples=100):
    """Return the smallest step by which the clock was seen to move, in ms: a float above 0.

    samples: int, at least 1: how many steps to look at. Two equal readings are no step, so that
    many steps may take many more readings.

    >>> doubles.Clock(tick_ns=50_000, read_ns=1_000).run(timer_resolution_ms)
    0.05
    """
    if samples < 1:
        raise ValueError(f"at least one step must be looked at, not {samples}")
    steps = []
    for _ in range(samples):
        before = now = time.perf_counter_ns()
        while now == before:
            now = time.perf_counter_ns()
        steps.append(now - before)
    return min(steps) / 1e6


def calibrate(fn, min_time_ms):
    """Return how many calls of fn, timed together, make a sample that is long enough: an int.

    It is the first of 1, 2, 4, 8, … for which that many calls in a row took min_time_ms or more.
    fn: a function without arguments. It is called once, untimed, before the first sample, because
    its first call is cold. A min_time_ms of 0 raises ValueError, too.

    >>> clock = doubles.Clock()
    >>> clock.run(calibrate, doubles.Model(clock, ms=[2.0]), 5.0)
    4
    """
    if not min_time_ms > 0:
        raise ValueError(f"min_time_ms must be above 0, not {min_time_ms}")
    fn()
    calls = 1
    while True:
        with Timer() as timer:
            for _ in range(calls):
                fn()
        if timer.elapsed_ms >= min_time_ms:
            return calls
        calls *= 2


def measure_latency(model, x, warmup=10, iterations=100):
    """Return the median time in ms of calls model(x), each timed by itself: a float, not rounded.

    model: called with x exactly warmup + iterations times. Its mode (train or eval) stays as it is.
    warmup: how many calls to make first, untimed; at least 0. iterations: how many calls to time;
    at least 1. What is out of range is refused before any call.

    >>> clock = doubles.Clock()
    >>> model = doubles.Model(clock, ms=[125.0, 250.0, 4000.0], cold_ms=[9000.0])
    >>> clock.run(measure_latency, model, "x", warmup=1, iterations=3)
    250.0
    """
    if warmup < 0 or iterations < 1:
        raise ValueError(f"a warm-up of {warmup} and {iterations} timed calls cannot be made")
    for _ in range(warmup):
        model(x)
    samples = []
    for _ in range(iterations):
        with Timer() as timer:
            model(x)
        samples.append(timer.elapsed_ms)
    return statistics.median(samples)


def latency_statistics(times_ms):
    """Return a dict that sums up many times: mean, median, std, min, max, p50, p95, p99.

    times_ms: a list of times in ms, at least one, in any order. The function does not change it.
    All values are floats in ms, not rounded. std divides by n − 1, and is 0.0 for a single time;
    percentiles are interpolated as above, which is how np.percentile does it.

    >>> latency_statistics([30, 10, 50, 20, 40])["p95"]
    48.0
    """
    if len(times_ms) == 0:
        raise ValueError("there are no times to sum up")
    p50, p95, p99 = np.percentile(times_ms, [50, 95, 99]).tolist()
    std = statistics.stdev(times_ms) if len(times_ms) > 1 else 0.0
    found = {"mean": statistics.fmean(times_ms), "median": p50, "std": std}
    return found | {"min": min(times_ms), "max": max(times_ms), "p50": p50, "p95": p95, "p99": p99}


def latencies(model, x, iterations=100, warmup=10):
    """Return the times in ms of single calls, in order, each measured by your own function."""
    first = measure_latency(model, x, warmup, iterations=1)
    return [first] + [measure_latency(model, x, 0, 1) for _ in range(iterations - 1)]


def confidence_interval(times_ms, confidence=0.95):
    """Return an interval that holds the true median with a probability of at least `confidence`.

    times_ms: a list in any order, perhaps of thousands. The function does not change it.
    confidence: above 0 and below 1.
    Returns (low, high), the l-th smallest and the l-th largest time, for the largest l that
    suffices by the exact binomial distribution. Raises ValueError when no l suffices (fewer than 6
    times at 95 %), when confidence is out of range, and for a time that is NaN.

    >>> confidence_interval([2.5, 2.9, 2.4, 2.6, 9.0, 2.7, 2.8, 2.3])
    (2.3, 9.0)
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, which {confidence} does not")
    if any(math.isnan(ms) for ms in times_ms):
        raise ValueError("NaN is no time: it is neither above nor below the median")
    n, rank, missed = len(times_ms), 0, 1
    while 1 - 2 * missed / 2**n >= confidence:
        rank += 1
        missed += math.comb(n, rank)
    if rank == 0:
        raise ValueError(f"{n} times are too few for a confidence of {confidence}")
    ordered = sorted(times_ms)
    return ordered[rank - 1], ordered[n - rank]


def in_turns(cases, rounds):
    """Return the times in ms of cases {name: (model, x)}: each round warms up and times each."""
    times = {name: [] for name in cases}
    for _ in rounds:
        for name, (model, x) in cases.items():
            times[name].append(measure_latency(model, x, warmup=1, iterations=1))
    return times


def told_apart(name, times_ms, other, other_ms):
    """Return a sentence on which of two is faster, if their 95 % intervals do not overlap."""
    (low, high), (other_low, other_high) = map(confidence_interval, (times_ms, other_ms))
    median, others = map(statistics.median, (times_ms, other_ms))
    said = f"{name} {median:.3g} ms, {other} {others:.3g} ms: "
    if low <= other_high and other_low <= high:
        return said + "the intervals overlap, so this rule cannot tell them apart"
    faster, shorter = (name, median) if median < others else (other, others)
    if shorter == 0:
        return said + f"{faster} is faster, by a factor that a time of 0 does not give"
    return said + f"{faster} is {max(median, others) / shorter:.2f} times as fast"


def measurement_warnings(times_ms, resolution_ms):
    """Return the warnings that a measurement earns: codes of the table above, in its order.

    times_ms: a list of times in ms, in the order of measurement. resolution_ms: the clock's step.
    The thirds for `drift` are the first and the last n // 3 of n times; the difference of their
    medians is compared with the median of the first. Fewer than 3 times show no drift.
    Returns a list of str, empty if all is well. A step of 0 raises ValueError, too.

    >>> measurement_warnings([10.0, 10.5, 10.0, 18.0, 10.2, 10.1, 10.4], 0.0001)
    ['spread', 'outliers']
    """
    if not resolution_ms > 0:
        raise ValueError(f"a clock's step is above 0, not {resolution_ms}")
    said, third = latency_statistics(times_ms), max(1, len(times_ms) // 3)
    first, last = statistics.median(times_ms[:third]), statistics.median(times_ms[-third:])
    checks = {
        "spread": said["std"] >= 0.1 * said["mean"],
        "outliers": said["min"] <= 0.5 * said["mean"] or said["max"] >= 1.5 * said["mean"],
        "drift": len(times_ms) >= 3 and abs(last - first) > 0.1 * first,
        "too_short": said["median"] < 100 * resolution_ms,
    }
    return [code for code, holds in checks.items() if holds]


def throughput(batch_size, latency_ms):
    """Return the number of samples processed in a second, a float.

    batch_size: int, at least 1. latency_ms: how long the whole batch takes. A latency of 0 raises
    ValueError, too.

    >>> throughput(8, 4.0)
    2000.0
    """
    if batch_size < 1 or not latency_ms > 0:
        raise ValueError(f"{batch_size} samples in {latency_ms} ms is not possible")
    return 1000 * batch_size / latency_ms


def best_batch(sizes, latencies_ms, rule):
    """Return the batch size to choose, one of those that were measured.

    sizes: a list of batch sizes, in any order. latencies_ms: how long each takes.
    rule: "throughput" chooses the most samples a second, "latency" the shortest time, "efficiency"
    the smallest size that reaches 90 % of the best throughput. A tie goes to the smallest size.
    A time of 0 raises ValueError, too. The lists stay as they are.

    >>> best_batch([16, 32], [14, 26], "efficiency")
    16
    """
    if len(sizes) == 0 or len(sizes) != len(latencies_ms):
        raise ValueError(f"{len(sizes)} sizes and {len(latencies_ms)} latencies do not match")
    measured = sorted(zip(sizes, latencies_ms, strict=True))
    rates = {size: throughput(size, latency) for size, latency in measured}
    if rule == "throughput":
        return max(rates, key=rates.get)
    if rule == "latency":
        return min(measured, key=lambda pair: pair[1])[0]
    if rule == "efficiency":
        return next(size for size, rate in rates.items() if rate >= 0.9 * max(rates.values()))
    raise ValueError(f"there is no rule {rule!r}: throughput, latency or efficiency")


# ── 04_memory ─────────────────────────────────────────────────────────────────────────────────

MB = 1024**2  # bytes, as everywhere in this course


class MemoryTracker:
    """Measure what a block of code allocates: `with MemoryTracker() as tracker: …`.

    peak_mb: the most that was allocated at any moment, and current_mb: what is allocated at the
        end (negative if more was freed), both over what was allocated at the start; floats in MB
        of 1024² bytes, not rounded, set by `stop`.
    Trackers may be nested, to any depth, the inner one stops first: each finds what it would find
    alone. They may be used again. Tracing that was on stays on; if it was off, it is off again.
    frames: how many frames of the call stack tracemalloc records with each block.

    >>> with MemoryTracker() as tracker:
    ...     kept = [doubles.block(3), doubles.block(5)].pop(0)
    >>> round(tracker.peak_mb), round(tracker.current_mb)
    (8, 3)
    """

    running = []  # the trackers that have started and not yet stopped, the outermost first

    def __init__(self, frames=1):
        self.frames = frames

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    def start(self):
        """Begin to measure; start tracing, with `frames`, if it is off."""
        self.started = not tracemalloc.is_tracing()
        if self.started:
            tracemalloc.start(self.frames)
        self.before, peak = tracemalloc.get_traced_memory()
        for tracker in self.running:
            tracker.peak = max(tracker.peak, peak)
        tracemalloc.reset_peak()
        self.peak = self.before
        self.running.append(self)

    def stop(self):
        """Set peak_mb and current_mb, and leave `running`; end the tracing that `start` began."""
        current, peak = tracemalloc.get_traced_memory()
        for tracker in self.running:
            tracker.peak = max(tracker.peak, peak)
        self.running.remove(self)
        if self.started:
            tracemalloc.stop()
        self.peak_mb = (self.peak - self.before) / MB
        self.current_mb = (current - self.before) / MB


def measure_memory(model, input_shape):
    """Return what one forward pass of a model takes, measured.

    model: a Module with data; it is called once, in its mode (train or eval).
    input_shape: batch first, or what else example_input takes (for several inputs it returns a
        tuple). Inputs do not count.
    Returns a dict of floats, not rounded, the first three in MB of 1024² bytes:
        parameter_memory_mb: all of the model's parameters (lesson 01), frozen ones too
        activation_memory_mb: what is allocated after the pass over what was before it, while
            the output is held, and with it the graph
        peak_memory_mb: the parameters, plus the pass's peak over what was allocated before
        memory_efficiency: parameters and activations together, divided by the peak
    Raises ValueError for what is not a model and for what is not a shape.

    >>> model = doubles.Allocating(parameters_mb=1, graph_mb=2, output_mb=3, scratch_mb=5)
    >>> round(measure_memory(model, (8, 8))["peak_memory_mb"])
    11
    """
    parameters, inputs = parameter_memory_mb(model), example_input(model, input_shape)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    with MemoryTracker() as tracker:
        output = model(*inputs)  # noqa: F841  held while it is measured
    peak = parameters + tracker.peak_mb
    return {
        "parameter_memory_mb": parameters,
        "activation_memory_mb": tracker.current_mb,
        "peak_memory_mb": peak,
        "memory_efficiency": (parameters + tracker.current_mb) / peak,
    }


def saved_activations(model, input_shape):
    """Return the bytes that a forward pass keeps for the backward pass.

    model: a Module, with data or on meta, or any other callable; it stays in the mode (train or
        eval) that it is in, and its parameters stay frozen or not, as they are.
    input_shape: batch first, counted in full.
    Each storage counts once, and as a whole even if only a part of it is kept. Storages of the
    inputs and of the model's parameters, frozen or not, and buffers do not count.
    Returns an int. Runs on meta inputs (lesson 02's meta_inputs, per_sample=False), so that
    nothing is computed. Raises ValueError for what cannot be called and for what is not a shape.

    >>> saved_activations(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), (10, 4))
    320
    """
    inputs = meta_inputs(model, input_shape, per_sample=False)
    known = {tensor.storage for tensor in inputs}
    for tensors in ("parameters", "buffers"):
        known |= {tensor.storage for tensor in getattr(model, tensors, list)()}
    kept = set()

    def pack(tensor):
        kept.add(tensor.storage)
        return tensor

    with proflab.saved_tensors(pack, lambda tensor: tensor):
        model(*inputs)
    return sum(storage.nbytes for storage in kept - known)


def optimizer_memory_mb(model, optimizer):
    """Return the memory of an optimizer's state, in MB of 1024² bytes.

    model: as for count_parameters (lesson 01): a bare Tensor has no parameters. Only parameters
        that are trained (requires_grad) have a state, each once, at its own dtype.
    optimizer: "sgd" (no state), "momentum" (the parameters once), "adam" or "adamw" (twice).
    Returns a float. Raises ValueError for any other optimizer and for what is not a model.

    >>> optimizer_memory_mb(nn.Linear(1023, 256), "adam")  # 1 MB of parameters
    2.0
    """
    copies = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}
    if optimizer not in copies:
        raise ValueError(f"{optimizer!r} is none of {', '.join(copies)}")
    if count_parameters(model, trainable_only=True) == 0:
        return 0.0
    trained = {id(p): p.nbytes for p in model.parameters() if p.requires_grad}
    return copies[optimizer] * sum(trained.values()) / MB


def training_memory(model, input_shape, optimizer, activation_mb=None):
    """Return what training a model takes, by its parts.

    model, input_shape: as for saved_activations, in the mode that the model is in; optimizer: as
        for optimizer_memory_mb.
    activation_mb: the memory of the activations if it is known, at least 0; input_shape is not
        used then. None: count it.
    Returns a dict of floats in MB of 1024² bytes: parameter_mb (of all parameters), gradient_mb
    (of those that are trained), optimizer_mb, activation_mb, and total_mb, their sum.
    Raises ValueError as these two functions do, and for a negative activation_mb.

    >>> training_memory(nn.Linear(1023, 256), None, "adam", activation_mb=3)["total_mb"]
    7.0
    """
    if activation_mb is None:
        activation_mb = saved_activations(model, input_shape) / MB
    if activation_mb < 0:
        raise ValueError(f"activations cannot take {activation_mb} MB")
    parts = {
        "parameter_mb": parameter_memory_mb(model),
        "gradient_mb": optimizer_memory_mb(model, "momentum"),  # one number each, as here
        "optimizer_mb": optimizer_memory_mb(model, optimizer),
        "activation_mb": float(activation_mb),
    }
    return parts | {"total_mb": sum(parts.values())}


def memory_table(snapshots):
    """Return what a process's resident memory was over time, a row for each snapshot.

    snapshots: a list of (label, second, bytes) tuples, at least one, in the order in which they
        were taken; a label may come again. The clock may begin anywhere; seconds do not fall.
    Returns a list of dicts with label; seconds, since the first snapshot; rss_mb, in MB of 1024²
    bytes; delta_mb, the growth since the snapshot before, 0.0 for the first; and mb_per_s, this
    growth by the seconds in which it came, 0.0 for the first and where no time has passed. All but
    the labels are floats, not rounded.

    >>> memory_table([("start", 100.0, 20 * MB), ("loaded", 102.0, 35 * MB)])[1]["mb_per_s"]
    7.5
    """
    rows = []
    _, first, size = snapshots[0]
    before = first
    for label, second, resident in snapshots:
        delta, passed = (resident - size) / MB, second - before
        row = {"label": label, "seconds": float(second - first), "rss_mb": resident / MB}
        row |= {"delta_mb": delta, "mb_per_s": delta / passed if passed else 0.0}
        rows.append(row)
        before, size = second, resident
    return rows


class MemoryProfiler:
    """Note this process's resident memory, and when it was so, at moments that have a name."""

    def __init__(self):
        self.snapshots = []

    def snapshot(self, label):
        rss = psutil.Process().memory_info().rss
        self.snapshots.append((label, time.perf_counter(), rss))

    def report(self):
        """Print the table of `memory_table`, and return it."""
        rows = memory_table(self.snapshots)
        for row in rows:
            print("{seconds:9.3f} s {rss_mb:9.1f} MB {delta_mb:+9.1f} MB  {label}".format(**row))
        return rows


def find_leak(step, steps):
    """Return how much more memory each step leaves allocated, and which function allocates it.

    step: a function without arguments. It is called once, already traced, for what only the first
        call makes and keeps (a cache, an optimizer's state), then `steps` times (at least 1).
    Returns a dict: bytes_per_step (float), the growth in those `steps` calls, on average (what a
    step frees or replaces is no growth); and function, the name of the function (by own_function)
    whose allocations grew most, all its lines together, or None if less than a page, 4,096 bytes,
    is left in a step. Raises ValueError for steps below 1. Tracing that was off is off afterwards,
    even when step raises; if it was on, it goes on, also for a tracker around the call.

    >>> step = fake.LeakyStep(kept={"remember": 1}, freed={"work": 9})  # two functions, in MB
    >>> find_leak(step, 4)["function"]
    'remember'
    """
    if steps < 1:
        raise ValueError(f"a leak shows over at least one step, not over {steps}")
    with MemoryTracker(frames=25):
        step()  # traced, so that what it allocates and a later step replaces is no growth
        before = tracemalloc.take_snapshot()
        for _ in range(steps):
            step()
        rows = tracemalloc.take_snapshot().compare_to(before, "traceback")
    grown = {}
    for row in rows:
        name = own_function(row.traceback)
        grown[name] = grown.get(name, 0) + row.size_diff
    rate = sum(grown.values()) / steps
    worst = max(grown, key=grown.get) if rate >= 4096 else None
    return {"bytes_per_step": rate, "function": worst}


def recomputed_gradients(run, x, parameters, grad):
    """Return the gradients of a segment of a model, by running the segment once more.

    run: the segment, a function of x; it is called once. x: its input, a leaf. parameters: tensors,
        each once, that run may use and that may require a gradient. grad: that of run(x).
    Returns a list of Tensors: the gradient of x, then those of the parameters, in order; None for
    each tensor that requires none or that run does not use. Every `.grad` stays as it is. Works
    also where nothing is recorded, as in a backward pass, and leaves that as it is.

    >>> x = Tensor([3.0], requires_grad=True)
    >>> recomputed_gradients(lambda x: x * x, x, [], grad=Tensor([1.0]))[0].tolist()
    [6.0]
    """
    tensors = [x, *parameters]
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    if not wanted:
        return [None] * len(tensors)
    with proflab.enable_grad():
        y = run(x)
    found = iter(autograd.grad(y, wanted, grad))
    return [next(found) if tensor.requires_grad else None for tensor in tensors]


class Recompute(proflab.Function):
    """Recompute.apply(run, x, *parameters) is run(x), of which only x is kept."""

    @staticmethod
    def forward(ctx, run, x, *parameters):
        ctx.run, ctx.parameters = run, parameters
        ctx.save_for_backward(x)
        return run(x)  # nothing of it is recorded

    @staticmethod
    def backward(ctx, grad):
        (kept,) = ctx.saved_tensors
        x = kept.detach().requires_grad_(ctx.needs_input_grad[1])
        return None, *recomputed_gradients(ctx.run, x, ctx.parameters, grad)


def checkpointed(layers, every):
    """Return a function that computes what the layers compute in a row, with less memory.

    layers: a list of Modules that draw no random numbers; one Module may stand in it several times.
    every: int, at least 1: so many layers make a segment; the last segment may be shorter.
    Returns a function of one tensor. Of each segment only its input is kept for the backward pass,
    which runs each segment once more. The gradients are those that the layers give without it, for
    whatever requires one: parameters, and the input. (So each segment's parameters go to
    Recompute, each of them once.) Raises ValueError if there are no layers or `every` is below 1.

    >>> run = checkpointed([nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)], every=2)
    >>> run(proflab.ones(3, 4)).shape
    (3, 2)
    """
    if every < 1 or not len(layers):
        raise ValueError(f"{len(layers)} layers cannot be run {every} at a time")
    segments = [nn.Sequential(*layers[i : i + every]) for i in range(0, len(layers), every)]

    def run(x):
        for segment in segments:
            x = Recompute.apply(segment, x, *segment.parameters())
        return x

    return run


def reflect_training_mb(parameters, copies, activation_mb, unit=1024**2, rounded_to=1):
    """Return the memory of training as a report may have computed it, in MB of `unit` bytes.

    parameters: int, at least 1; rounded to the nearest multiple of rounded_to (int, at least 1):
        with 10**6, 124,439,808 become 124 million. Each copy of a parameter takes 4 bytes.
    copies: int, at least 1: 4 for Adam (parameter, gradient, two of state).
    activation_mb: at least 0, in the report's own MB, added as it is. unit: int, at least 1.
    Returns a float, not rounded. Raises ValueError for any argument that is out of range.

    >>> reflect_training_mb(2_600_000, 4, 10, unit=10**6, rounded_to=10**6)
    58.0
    """
    if min(parameters, copies, unit, rounded_to) < 1 or activation_mb < 0:
        raise ValueError("activation_mb must be at least 0, and all others at least 1")
    taken = round(parameters / rounded_to) * rounded_to
    return 4 * copies * taken / unit + activation_mb


# ── 05_profiler ───────────────────────────────────────────────────────────────────────────────


def op_bytes(call, result):
    """Return the bytes that one op has to move: (read, written), two ints.

    >>> each_op(op_bytes, lambda: Tensor([1.0, 2.0]) + Tensor([3.0, 4.0]))
    [(16, 8)]

    call: what a hook gets. result: what call() returned, a Tensor or a tuple of Tensors and None.
    written: the bytes of the result, without memory that is read. If nothing is written, return
        (0, 0).
    read: forward, the bytes of call.inputs, but an op in TABLES reads as much of its table as it
        writes. Backward, the bytes of call.grad (like result, one or several) and call.saved.
    """
    forward = call.phase == "forward"
    read = bytes_by_memory(call.inputs if forward else tensors_in(call.grad) + call.saved)
    written = 0
    for memory, size in bytes_by_memory(tensors_in(result)).items():
        if memory not in read:
            written += size
    if not written:
        return 0, 0
    if forward and call.op in TABLES:
        read[memory_of(call.inputs[TABLES[call.op]])] = written
    return sum(read.values()), written


def op_elementwise(call, shape):
    """Return an op's elementwise FLOPs, by our convention; `shape` is its forward result's."""
    kind = elementwise_kind(call)  # its row in lesson 02's table
    if kind is None:
        return 0
    size = math.prod(shape)
    if call.op == "scaled_dot_product_attention":  # a softmax over keys for each row of the result
        size = size // shape[-1] * call.inputs[1].shape[-2]
    if kind in ELEMENTWISE:
        return ELEMENTWISE[kind] * size
    return max(size, *[t.numel() for t in call.inputs])  # an op that the table does not have


def op_facts(call, result):
    """Return what is known of one op apart from its time, as a dict of plain data.

    >>> each_op(op_facts, lambda: Tensor([1.0, 2.0]).exp())[0]["output_shape"]
    (2,)

    call, result: as for op_bytes. The keys are op, module (call.module_path), phase: strings;
    input_shapes: a list of tuples; output_shape, dtype: a tuple, and a string such as "float32", of
        the result, or backward of call.grad; of several, those of the first that is a Tensor;
    matmul_flops: as op_flops counts, or backward gradient_flops; elementwise_flops, bytes_read,
        bytes_written: as op_elementwise and op_bytes count.
    Raises NotImplementedError as op_flops does.
    """
    shapes = [t.shape for t in call.inputs]
    if call.phase == "forward":
        output = tensors_in(result)[0]
        flops = op_flops(call.op, shapes, call.attributes)
    else:
        output = tensors_in(call.grad)[0]
        wanted = [t.requires_grad for t in call.inputs]
        flops = gradient_flops(call.op, shapes, call.attributes, wanted)
    shape = output.shape
    read, written = op_bytes(call, result)
    return {
        "op": call.op,
        "module": call.module_path,
        "phase": call.phase,
        "input_shapes": shapes,
        "output_shape": shape,
        "dtype": str(output.dtype),
        "matmul_flops": flops,
        "elementwise_flops": op_elementwise(call, shape),
        "bytes_read": read,
        "bytes_written": written,
    }


def self_times(spans):
    """Return what is left of each span's time without the spans directly inside it.

    >>> self_times([(1, 4), (6, 8), (0, 9)])
    [3.0, 2.0, 4.0]

    spans: (start, end) pairs of numbers, in any order, of what ran in one thread: any two lie
        apart, touch, or one holds the other. Of two equal ones the first holds the second.
    Returns floats in the order of spans, in the same unit; their sum is the time in which anything
    ran. Raises ValueError if a span ends before it starts, and if two cross, as (0, 5) and (3, 8).
    """
    own, running = [], []
    for start, end in spans:
        if end < start:
            raise ValueError(f"the span from {start} to {end} ends before it starts")
        own.append(float(end - start))
    for i in sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1])):
        start, end = spans[i]
        while running and spans[running[-1]][1] <= start:
            running.pop()
        if running:
            around = spans[running[-1]]
            if end > around[1]:
                raise ValueError(f"{around} and {(start, end)} cross: neither holds the other")
            own[running[-1]] -= end - start
        running.append(i)
    return own


def add_row(rows, start, end, facts):
    """Append the row of something that has ended, and note its span; return nothing.

    rows: a Rows, whose depth no longer counts it. start, end: what time.perf_counter_ns() showed.
    """
    times = {"start_ms": (start - rows.start) / 1e6, "ms": (end - start) / 1e6, "self_ms": None}
    rows.add({**facts, **times, "depth": rows.depth}, start, end)


def record(call, rows):
    """Run call() as a hook, add its row to `rows`, and return what call() returned.

    >>> profiled.recorded(record, lambda: Tensor([1.0]).exp().log())[1]["op"]
    'log'

    rows: a Rows. Its depth is 1 more while call() runs, and as before afterwards, also if call()
        raises; then no row is added, and the exception goes on.
    The row is that of add_row, with the facts of op_facts, and the time of call() alone, by
    time.perf_counter_ns. Raises NotImplementedError as op_facts does.
    """
    start = time.perf_counter_ns()
    rows.depth += 1
    try:
        result = call()
    finally:
        end = time.perf_counter_ns()
        rows.depth -= 1
    add_row(rows, start, end, op_facts(call, result))
    return result


class OpRecorder(Recorder):
    """Record each op inside `with OpRecorder() as recorder:`, and each `with region("a name"):`."""

    def watch(self, call):  # each op
        return record(call, self.rows)

    def end_region(self, first, start, end, facts):
        add_row(self.rows, start, end, facts)

    def finish(self):  # the recording has ended
        for rows, spans in self.rows.by_thread():
            for row, ns in zip(rows, self_times(spans), strict=True):
                row["self_ms"] = ns / 1e6


def rows_of(function):
    """Return the rows of what function() runs."""
    with OpRecorder() as recorder:
        function()
    return recorder.rows

MEASURES = ("ms", "matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")


def top_operations(rows, n, by="ms"):
    """Return the n names with the largest shares, as a list of dicts, the largest share first.

    >>> top_operations(doubles.made_up("op self_ms", ("exp", 1.0), ("tanh", 3.0)), 1)
    [{'name': 'tanh', 'ms': 3.0, 'share': 0.75}]

    by: one of MEASURES, of which the shares are. "ms" means self_ms, so that no time counts twice.
    The keys are name (row_name), ms (the name's sum of self_ms, whatever `by` is) and share (the
    name's part of the sum over all rows; 0.0 if that sum is 0). Equal shares stay in the order in
    which their names first occur.
    Raises ValueError for no rows, for n below 1, and for a `by` that is not in MEASURES.
    """
    if not rows or n < 1 or by not in MEASURES:
        raise ValueError(f"no top {n} of {len(rows)} rows by {by!r}: measures are {MEASURES}")
    key = "self_ms" if by == "ms" else by
    total = sum(column(rows, key))
    groups = {}
    for row in rows:
        name = row_name(row)
        group = groups.setdefault(name, {"name": name, "ms": 0.0, "share": 0.0})
        group["ms"] += row["self_ms"]
        group["share"] += row[key] / total if total else 0.0
    return sorted(groups.values(), key=lambda group: group["share"], reverse=True)[:n]


def print_top_operations(rows, n=5, by="ms"):
    """Print the top operations in a line: 45 % matmul, 23 % attention, …"""
    tops = top_operations(rows, n, by) if rows else []
    print(", ".join(f"{100 * top['share']:.0f} % {top['name']}" for top in tops) or "no ops")

ARGS = ("module", "matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")


def chrome_trace(rows):
    """Return a recording in the trace event format: {"traceEvents": [...]}, an event for each row.

    >>> rows = doubles.made_up("op start_ms ms", ("exp", 0.25, 1.5))
    >>> [(event["ts"], event["dur"]) for event in chrome_trace(rows)["traceEvents"]]
    [(250.0, 1500.0)]

    An event has name (row_name), cat (phase), ph ("X"), ts and dur (start_ms and ms, as floats in
    µs), pid and tid (both 1), and args: a dict of the row's values for the keys in ARGS. Events are
    ordered by ts; of those that begin together, the one of less depth is first.
    Raises ValueError if there are no rows.
    """
    if not rows:
        raise ValueError("there are no rows, so there is no trace")
    events = [
        {
            "name": row_name(row),
            "cat": row["phase"],
            "ph": "X",
            "ts": row["start_ms"] * 1000,
            "dur": row["ms"] * 1000,
            "pid": 1,
            "tid": 1,
            "args": {key: row[key] for key in ARGS},
        }
        for row in sorted(rows, key=lambda row: (row["start_ms"], row["depth"]))
    ]
    return {"traceEvents": events}


def find_bottleneck(flops, bytes_moved, hardware):
    """Return what limits work of so many FLOPs and bytes: "compute" or "memory".

    >>> find_bottleneck(3e9, 5e8, Hardware(peak_flops=2e11, bandwidth=2e10))
    'memory'

    hardware: a Hardware, with peak_flops in FLOP/s and bandwidth in bytes/s; or None.
    It is "compute" if calculating at the peak takes at least as long as moving at full bandwidth,
    else "memory"; and None if hardware is None.
    Raises ValueError for a negative number, and if both are 0, also without hardware.
    """
    if min(flops, bytes_moved) < 0 or flops == bytes_moved == 0:
        raise ValueError(f"{flops} FLOPs and {bytes_moved} bytes are no work")
    if hardware is None:
        return None
    slower = flops / hardware.peak_flops >= bytes_moved / hardware.bandwidth
    return "compute" if slower else "memory"


def rows_at_ridge(in_features, out_features, hardware, itemsize=4):
    """Return the least number of rows from which on calculation limits a linear layer.

    >>> rows_at_ridge(768, 3072, Hardware(peak_flops=2e11, bandwidth=2e10))
    21

    The layer has no bias. It reads n rows and all weights and writes n rows, of numbers that have
    itemsize bytes; a multiply-add is two FLOPs. Calculation limits if it takes at least as long as
    moving, as for find_bottleneck. The result is an int, or None if memory limits any n.
    Raises ValueError for in_features, out_features or itemsize below 1.
    """
    if min(in_features, out_features, itemsize) < 1:
        raise ValueError(f"no layer from {in_features} to {out_features}, {itemsize} bytes each")
    weights, peak, bandwidth = in_features * out_features, hardware.peak_flops, hardware.bandwidth
    gain = 2 * weights * bandwidth - itemsize * (in_features + out_features) * peak
    return math.ceil(itemsize * weights * peak / gain) if gain > 0 else None


def triage(run, disk_rate):
    """Return what limited a program's run: "gpu", "cpu", "disk" or "waiting"; None if unknown.

    >>> run = {"real_s": 10.0, "user_s": 1.0, "sys_s": 1.0, "bytes_read": 6e9, "gpu_busy": None}
    >>> triage(run, disk_rate=1e9)
    'disk'

    run: a dict with real_s, user_s and sys_s, in s; bytes_read, from the disk; gpu_busy, the share
        of real_s in which the card worked, from 0 to 1. All but real_s may be None: not measured.
    disk_rate: what the disk gives, in bytes/s.
    The first of these that holds: "gpu" if gpu_busy is at least 0.8; None if user_s, sys_s or
    bytes_read is None; "cpu" if user_s and sys_s are at least 0.8 of real_s, together; "disk" if
    the disk takes at least half of the rest of real_s to read the bytes; else "waiting".
    Raises ValueError unless real_s and disk_rate are above 0.
    """
    if not (run["real_s"] > 0 and disk_rate > 0):
        raise ValueError(f"no run takes {run['real_s']} s, no disk gives {disk_rate} bytes/s")
    if run["gpu_busy"] is not None and run["gpu_busy"] >= 0.8:
        return "gpu"
    if None in (run["user_s"], run["sys_s"], run["bytes_read"]):
        return None
    worked = run["user_s"] + run["sys_s"]
    if worked >= 0.8 * run["real_s"]:
        return "cpu"
    reading = run["bytes_read"] / disk_rate
    return "disk" if reading >= (run["real_s"] - worked) / 2 else "waiting"


def hot_functions(stats, n, by="tottime"):
    """Return the n functions with the most of `by` in a cProfile run, as dicts, largest first.

    >>> stats = pstats.Stats()
    >>> stats.stats = {("/a/f.py", 7, "f"): (1, 2, 0.5, 0.75, {})}
    >>> hot_functions(stats, 1)[0]["function"]
    'f.py:7(f)'

    stats: a pstats.Stats, whose own `stats` maps (file, line, name) to (calls that were not
        recursive, all calls, tottime, cumtime, callers); a file "~" is not Python's.
    by: "calls", "tottime" or "cumtime"; equal ones stay in the order in which stats has them.
    The keys are function: "file.py:12(name)", the file without its folders, or the name alone for
    a file "~"; calls: int, with recursive ones; tottime, cumtime: floats, in s.
    Raises ValueError for n below 1, for any other `by`, and for stats without functions.
    """
    import os

    if n < 1 or by not in ("calls", "tottime", "cumtime") or not stats.stats:
        raise ValueError(f"no top {n} by {by!r} of {len(stats.stats)} functions")
    rows = []
    for (file, line, name), (_, calls, tottime, cumtime, _) in stats.stats.items():
        place = name if file == "~" else f"{os.path.basename(file)}:{line}({name})"
        rows.append({"function": place, "calls": calls, "tottime": tottime, "cumtime": cumtime})
    return sorted(rows, key=lambda row: row[by], reverse=True)[:n]


def profiling_overhead(fn, profiled, rounds=11):
    """Return how many times as long profiled() takes as fn(): 1.05 is an overhead of 5 %.

    >>> clock = doubles.Clock()
    >>> bare, watched = doubles.Model(clock, ms=[2.0]), doubles.Model(clock, ms=[2.5])
    >>> round(clock.run(profiling_overhead, bare, watched, 3), 6)
    1.25

    In each round fn() is called once, then profiled() once, and both are timed; one more round
    before these warms up and does not count. The float is the median time of profiled divided by
    the median time of fn. Raises ValueError for rounds below 1.
    """
    if rounds < 1:
        raise ValueError(f"nothing can be compared in {rounds} rounds")
    times = ([], [])
    for _ in range(rounds + 1):
        for function, taken in zip((fn, profiled), times, strict=True):
            with Timer() as timer:
                function()
            taken.append(timer.elapsed_ms)
    bare, watched = (statistics.median(taken[1:]) for taken in times)
    return watched / bare


def samples_needed(share, error):
    """Return how many samples find a function's share of the time within ±error in 95 of 100 runs.

    >>> samples_needed(0.2, 0.05)
    246

    It is the least n with 1.96·√(share·(1 − share) / n) ≤ error, an int. share, error: floats, of
    the whole time; samples are independent.
    Raises ValueError unless both are above 0 and below 1.
    """
    if not (0 < share < 1 and 0 < error < 1):
        raise ValueError(f"a share of {share} within ±{error}: both lie between 0 and 1")
    return math.ceil(share * (1 - share) * (1.96 / error) ** 2)


def profile_forward_pass(model, x, hardware, warmup=3, iterations=10):
    """Return what one forward pass, model(x), costs, as a dict.

    >>> profile_forward_pass(nn.Linear(8, 4), Tensor(np.ones((16, 8))), None)["flops"]
    1024

    model: a Module, or a bare Tensor, which counts as in lessons 01 and 02 and runs as
        as_model(tensor). x: its input, a Tensor, batch first. hardware: a Hardware, or None.
    parameters, flops: as count_parameters and count_flops count, for the whole of x. latency_ms,
        peak_memory_mb: as measure_latency (with this warmup and these iterations) and
        measure_memory measure. gflops_per_second: float, 10⁹ of these FLOPs a second.
    bottleneck: find_bottleneck of all FLOPs, elementwise ones too, and all bytes, read and written,
        of the pass's ops (record them); None also if nothing moves.
    The model keeps its mode, and its parameters get no gradients. Raises what its parts raise.
    """
    flops, runs = count_flops(model, x, per_sample=False), as_model(model)
    latency = measure_latency(runs, x, warmup, iterations)
    work, moved = work_and_traffic(rows_of(lambda: runs(x)))
    return {
        "parameters": count_parameters(model),
        "flops": flops,
        "latency_ms": latency,
        "peak_memory_mb": measure_memory(runs, x)["peak_memory_mb"],
        "gflops_per_second": flops / (latency * 1e6),
        "bottleneck": find_bottleneck(work, moved, hardware) if moved else None,
    }


def profile_layer(layer, input_shape, hardware=None):
    """Return what a forward pass through one layer costs: the dict of profile_forward_pass.

    >>> profile_layer(nn.Linear(8, 4), (16, 8))["flops"]
    1024

    input_shape: batch first, all of it is run; example_input makes the input.
    Raises ValueError for an impossible shape.
    """
    return profile_forward_pass(layer, example_input(layer, input_shape), hardware)


def profile_backward_pass(model, x, hardware, warmup=1, iterations=5):
    """Return what a forward and a backward pass cost, from the sum of all outputs. (Optional.)

    >>> layer, x = nn.Linear(8, 4, bias=False), Tensor(np.ones((16, 8)))
    >>> profile_backward_pass(layer, x, None)["flops"]
    2048

    model: a Module; its own .grad stay as they are. Others: as for profile_forward_pass.
    forward_memory_mb, gradient_memory_mb, total_memory_mb: measure_memory's peak_memory_mb, the
        size of all gradients that the backward pass gave to parameters (0.0 where it trains
        none, and so has no backward pass), and the sum of the two.
    optimizer_memory_estimates: {"sgd", "momentum", "adam", "adamw": optimizer_memory_mb of it}.
    flops: int, of the products of both passes. latency_ms: float, of both. gflops_per_second,
        bottleneck: of these, as in profile_forward_pass. Raises what its parts raise.
    """
    trained = list({id(p): p for p in model.parameters() if p.requires_grad}.values())

    def step(x):
        sums = [t.sum() for t in tensors_in(model(x)) if t.requires_grad]
        return autograd.grad(sum(sums), trained) if sums else ()

    gradients = []
    rows = rows_of(lambda: gradients.extend(step(x)))
    flops, (work, moved) = sum(column(rows, "matmul_flops")), work_and_traffic(rows)
    latency = measure_latency(step, x, warmup, iterations)
    forward_mb = measure_memory(model, x)["peak_memory_mb"]
    gradient_mb = sum(g.nbytes for g in gradients if g is not None) / MB
    optimizers = ("sgd", "momentum", "adam", "adamw")
    return {
        "forward_memory_mb": forward_mb,
        "gradient_memory_mb": gradient_mb,
        "total_memory_mb": forward_mb + gradient_mb,
        "optimizer_memory_estimates": {o: optimizer_memory_mb(model, o) for o in optimizers},
        "flops": flops,
        "latency_ms": latency,
        "gflops_per_second": flops / (latency * 1e6),
        "bottleneck": find_bottleneck(work, moved, hardware) if moved else None,
    }


def compare_architectures(models, inputs):
    """Return what a forward pass of each model costs: a row each, in the order of `models`.

    >>> compare_architectures({"fc": nn.Linear(8, 4)}, {"fc": (16, 8)})[0]["flops"]
    1024

    models: a dict from names to Modules. inputs: one with the same names, of what example_input
        takes.
    A row is a dict with name, and from profile_forward_pass, without a machine, parameters, flops,
    latency_ms, peak_memory_mb and gflops_per_second.
    Raises ValueError if there are no models, or if the names of the two dicts differ.
    """
    if not models or models.keys() != inputs.keys():
        raise ValueError(f"models {list(models)} and inputs {list(inputs)} do not belong together")
    rows = []
    for name, model in models.items():
        found = profile_forward_pass(model, example_input(model, inputs[name]), None)
        rows.append({"name": name} | {k: v for k, v in found.items() if k != "bottleneck"})
    return rows


class Profiler(OpRecorder):
    """Lessons 01 to 05 in one object; `with Profiler() as profiler:` records what runs inside."""

    count_parameters, count_flops = staticmethod(count_parameters), staticmethod(count_flops)
    measure_memory = staticmethod(
        lambda model, input_shape: measure_memory(as_model(model), input_shape)
    )

    def __init__(self, hardware=None):
        super().__init__()
        self.hardware = hardware

    def measure_latency(self, model, x, warmup=10, iterations=100):
        return measure_latency(as_model(model), x, warmup, iterations)

    def profile_layer(self, layer, input_shape):
        return profile_layer(layer, input_shape, self.hardware)

    def profile_forward_pass(self, model, x, warmup=3, iterations=10):
        return profile_forward_pass(model, x, self.hardware, warmup, iterations)

    def profile_backward_pass(self, model, x, warmup=1, iterations=5):
        return profile_backward_pass(model, x, self.hardware, warmup, iterations)

    def print_top_operations(self, n=5, by="ms"):
        print_top_operations(self.rows, n, by)


def quick_profile(model, x, hardware=None):
    """Print what one forward pass costs and where its time goes; return the dict of it."""
    found = profile_forward_pass(model, x, hardware, warmup=1, iterations=5)
    print(f"{found['parameters']:,} parameters, {found['flops']:,} FLOPs,", end=" ")
    print(f"{found['latency_ms']:.3f} ms, {found['gflops_per_second']:.3f} GFLOP/s,")
    print(f"{found['peak_memory_mb']:.2f} MB at the peak,", end=" ")
    limit = hardware and f"limited by {found['bottleneck']} on {hardware.name}"
    print(limit or "no verdict on what limits it: measure the machine's roofs (lesson 06)")
    print_top_operations(rows_of(lambda: as_model(model)(x)))
    return found


def profile(function):
    """Print at each call of a function, `@profile` above it, where its time went; keep .rows."""

    @functools.wraps(function)
    def watched(*args, **options):
        with OpRecorder() as recorder:
            result = function(*args, **options)
        watched.rows = recorder.rows
        print(f"{function.__name__}: {sum(column(watched.rows, 'self_ms')):.2f} ms", end="; ")
        print_top_operations(watched.rows)
        return result

    return watched


# ── 06_roofline ───────────────────────────────────────────────────────────────────────────────


def arithmetic_intensity(flops, bytes_moved):
    """Return the FLOPs that a computation does for each byte that it moves, a float.

    flops: at least 0. bytes_moved: above 0.

    >>> arithmetic_intensity(300, 24)
    12.5
    """
    if flops < 0 or bytes_moved <= 0:
        raise ValueError(f"no computation does {flops} FLOPs on {bytes_moved} bytes")
    return flops / bytes_moved


def ridge_point(peak_flops, bandwidth):
    """Return the FLOPs a byte at which a machine computes as long as it moves, a float.

    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0.

    >>> ridge_point(200e9, 20e9)
    10.0
    """
    if peak_flops <= 0 or bandwidth <= 0:
        raise ValueError(f"roofs must be positive, not {peak_flops} and {bandwidth}")
    return peak_flops / bandwidth


def attainable_flops(intensity, peak_flops, bandwidth):
    """Return the most FLOP/s that a computation of this intensity can reach on a machine, a float.

    intensity: FLOPs a byte, at least 0; math.inf for a computation that moves nothing.
    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0.

    >>> attainable_flops(4, 200e9, 20e9)
    80000000000.0
    """
    if intensity < 0 or peak_flops <= 0 or bandwidth <= 0:
        raise ValueError(f"no roof of {peak_flops} and {bandwidth} at an intensity of {intensity}")
    return float(min(peak_flops, intensity * bandwidth))


def matmul_bytes(m, k, n, itemsize):
    """Return the unique bytes of a matrix product, an int: two matrices are read, one is written.

    The matrices are (m, k) and (k, n), and their product is (m, n).
    m, k, n: ints, at least 1. itemsize: bytes of a number, at least 1.

    >>> matmul_bytes(2, 2, 2, 4)
    48
    """
    if min(m, k, n, itemsize) < 1:
        raise ValueError(f"sizes must be at least 1, not {m}, {k}, {n} and {itemsize}")
    return (m * k + k * n + m * n) * itemsize


def elementwise_bytes(shape, inputs, itemsize):
    """Return the unique bytes of an elementwise op, an int: inputs are read, one result is written.

    shape: a tuple of ints, at least 1, of the result and of each input; () is a single number.
    inputs: how many tensors are read, at least 0. itemsize: bytes of a number, at least 1.

    >>> elementwise_bytes((3, 5), 2, 4)
    180
    """
    if any(size < 1 for size in shape) or inputs < 0 or itemsize < 1:
        raise ValueError(f"{inputs} inputs of {shape} and {itemsize} bytes cannot be")
    return (inputs + 1) * math.prod(shape) * itemsize


def attention_bytes(batch, heads, seq, head_dim, itemsize, fused):
    """Return the bytes that attention moves at least, an int; optional, no points.

    batch, heads, seq (tokens), head_dim (width of a head), itemsize: ints, at least 1.
    fused: True if scores stay in the cache. If not, they are written by the first product and read
        by the softmax, whose results are written, and read by the second product.
    Query, key and value, each (batch, heads, seq, head_dim), are read once, and an output of that
    shape is written.

    >>> attention_bytes(1, 1, 2, 4, 4, fused=True)
    128
    """
    if min(batch, heads, seq, head_dim, itemsize) < 1:
        raise ValueError("batch, heads, seq, head_dim and itemsize must be at least 1")
    row = 4 * head_dim + (0 if fused else 4 * seq)
    return batch * heads * seq * row * itemsize


def measure_peak_flops(matmul=np.matmul, sizes=(384, 512, 768, 1024), dtype=np.float32, repeats=20):
    """Return the most FLOP/s that a matrix product reaches, a float: the best of all timed calls.

    matmul: called as matmul(a, b) or matmul(a, b, out=c), with arrays of n rows and n columns.
    sizes: a list or tuple of the n to try, at least one of them, in this order; ints, at least 1.
        It stays as it is. dtype: of all arrays.
    repeats: int, at least 1. For each n, one product is not timed; then `repeats` are, one by one.

    >>> measure_peak_flops(sizes=[64, 128], repeats=3) > 1e8
    True
    """
    if not len(sizes) or min(*sizes, repeats) < 1:
        raise ValueError(f"sizes and repeats must be at least 1, not {sizes} and {repeats}")
    best = 0.0
    for n in sizes:
        left, right, out = (np.ones((n, n), dtype) for _ in range(3))
        matmul(left, right, out=out)
        for _ in range(repeats):
            start = time.perf_counter()
            matmul(left, right, out=out)
            best = max(best, matmul_flops(n, n, n) / (time.perf_counter() - start))
    return best


def measure_bandwidth(working_set, copy=np.copyto, repeats=20):
    """Return the most bytes/s that a copy reads and writes, a float: those of the best timed call.

    working_set: bytes of source and destination together, a multiple of 16; half for each.
    copy: called as copy(destination, source), with one-dimensional arrays of the same size and
        dtype. Fill both before the first copy, with numbers that are not all 0.
    repeats: int, at least 1. One copy is not timed; then `repeats` are, one by one.
    Raises ValueError for a working_set below 16.

    >>> measure_bandwidth(2**20, repeats=3) > 1e7
    True
    """
    if working_set < 16 or repeats < 1:
        raise ValueError(f"no copy of {working_set} bytes, {repeats} times")
    read = np.ones(working_set // 16)
    written = np.full_like(read, 2.0)
    copy(written, read)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        copy(written, read)
        times.append(time.perf_counter() - start)
    return 2 * read.nbytes / min(times)


def write_allocate(copy, one_in, two_in):
    """Return which stores a copy used, "plain" or "non-temporal"; optional, no points.

    copy, one_in, two_in: rates above 0, all in one unit, of the copy and of two programs that read
        one and two arrays and store plainly. They count the arrays' bytes, not what a store reads.
    On one bus one_in and two_in reach 2/3 and 3/4 of the rate of a copy by non-temporal stores,
    1 and 9/8 of that of a plain one. The answer is the nearer pair, by the sum of the two absolute
    differences; "plain" if both are equally near.

    >>> write_allocate(20, 20, 22)
    'plain'
    """
    if min(copy, one_in, two_in) <= 0:
        raise ValueError(f"rates must be above 0, not {copy}, {one_in} and {two_in}")
    one, two = one_in / copy, two_in / copy
    past = abs(one - 2 / 3) + abs(two - 3 / 4)
    return "non-temporal" if past < abs(one - 1) + abs(two - 9 / 8) else "plain"


def roofline_points(rows, hardware):
    """Return the place of each recorded row under a machine's roof, a list of dicts in their order.

    rows: a list of dicts with at least op, module (strings), self_ms (what the op took itself),
        matmul_flops, elementwise_flops, bytes_read and bytes_written. Leave them as they are.
    hardware: has peak_flops, in FLOP/s, and bandwidth, in bytes/s.
    The keys of a result:
        name: op and module with a space between, or op alone where module is "".
        intensity: all FLOPs of the row for each byte read or written.
        flops_per_second: what it reached. attainable: what the roof allows at its intensity.
        efficiency: the former over the latter; above 1 where the data came from a cache.
    A row without FLOPs, bytes or time has no place on logarithmic axes and is left out.

    >>> row = doubles.forward_row("gelu", "", 1.0, 0, 10**6, 4 * 10**6, 4 * 10**6)
    >>> roofline_points([row], Hardware(1e11, 1e10))[0]["efficiency"]
    0.8
    """
    points = []
    for row in rows:
        flops = row["matmul_flops"] + row["elementwise_flops"]
        moved = row["bytes_read"] + row["bytes_written"]
        if not (flops and moved and row["self_ms"]):
            continue
        intensity = arithmetic_intensity(flops, moved)
        reached = flops / (row["self_ms"] / 1000)
        attainable = attainable_flops(intensity, hardware.peak_flops, hardware.bandwidth)
        points.append(
            {
                "name": f"{row['op']} {row['module']}".strip(),
                "intensity": intensity,
                "flops_per_second": reached,
                "attainable": attainable,
                "efficiency": reached / attainable,
            }
        )
    return points


def classify(flops, bytes_moved, seconds, peak_flops, bandwidth):
    """Return the wall that a measured computation is at, a string.

    flops, bytes_moved: at least 0. seconds: what it took, above 0.
    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0.
    Of flops / peak_flops and bytes_moved / bandwidth, T is the longer time. The wall is
        "overhead" when it took more than 4 · T, else
        "ridge" when T is at most 1.2 times the shorter time, else
        "compute" or "memory", by which time is T.

    >>> classify(10**9, 10**6, 0.01, 200e9, 20e9)
    'compute'
    """
    if min(flops, bytes_moved) < 0 or min(seconds, peak_flops, bandwidth) <= 0:
        raise ValueError("seconds and roofs are positive, FLOPs and bytes not negative")
    computing, moving = flops / peak_flops, bytes_moved / bandwidth
    longer, shorter = max(computing, moving), min(computing, moving)
    if seconds > 4 * longer:
        return "overhead"
    if longer <= 1.2 * shorter:
        return "ridge"
    return "compute" if computing > moving else "memory"


def inspect_step(step):
    """Return the first of four questions to which a step's answer is no, a string.

    step: a dict, which stays as it is, with
        times_ms: what the step took, in each of at least 3 runs
        busy_ms: how much of a step of median time was spent in operations
        matmul_ms, matmul_flops: how much of that in matrix products, and their FLOPs
        peak_flops: the roof, FLOP/s
    The answer is "unstable" when the times' standard deviation (n − 1) is at least 10 %
    of their mean, else "idle" when busy_ms is under 80 % of their median, else "other work" when
    matmul_ms is under 50 % of busy_ms, else "slow matmuls" when these reach under 50 % of the peak,
    else "near peak". Raises ValueError for fewer than 3 times.

    >>> step = {"times_ms": [10, 10, 10], "busy_ms": 5, "matmul_ms": 4, "matmul_flops": 10**6}
    >>> inspect_step(step | {"peak_flops": 1e9})
    'idle'
    """
    times = step["times_ms"]
    if len(times) < 3:
        raise ValueError(f"{len(times)} times do not show whether a step is stable")
    if stdev(times) >= 0.1 * mean(times):
        return "unstable"
    if step["busy_ms"] < 0.8 * median(times):
        return "idle"
    if step["matmul_ms"] < 0.5 * step["busy_ms"]:
        return "other work"
    reached = step["matmul_flops"] / (step["matmul_ms"] / 1000)
    return "slow matmuls" if reached < 0.5 * step["peak_flops"] else "near peak"


def slow_chain(a, b, c, d, x):
    """Return (ab + cd)x."""
    return (a @ b + c @ d) @ x


def slow_experts(x, w, b):
    """Return the ReLU of x[e] @ w[e] + b[e] for each expert e."""
    return proflab.stack([F.relu(x[e] @ w[e] + b[e]) for e in range(x.shape[0])])


def slow_passes(x, gain, bias):
    """Return the GELU, by tanh, of the rows of x after a layer norm."""
    x = x.to(np.float64)
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    y = (x - mean) / (variance + 1e-5).sqrt() * gain + bias
    inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)
    return (0.5 * y * (1 + inner.tanh())).to(np.float32)


def chain(a, b, c, d, x):
    """Return what slow_chain does, (n, m), at the least cost on DESK.

    >>> chain(*[proflab.full((1, 1), 2.0)] * 5)
    Tensor([[16.]])

    a, b, c, d: (n, n). x: (n, m), of few columns.
    """
    return a @ (b @ x) + c @ (d @ x)


def experts(x, w, b):
    """Return what slow_experts does, (experts, rows, out), at the least cost on T4.

    >>> experts(proflab.ones(1, 1, 1), proflab.ones(1, 1, 1), proflab.ones(1, 1))
    Tensor([[[2.]]])

    x: (experts, rows, in). w: (experts, in, out). b: (experts, out).
    """
    return F.relu(x @ w + b[:, None])


def fewer_passes(x, gain, bias):
    """Return what slow_passes does, (rows, width), at the least cost on DESK.

    >>> fewer_passes(proflab.ones(1, 2), proflab.ones(2), proflab.zeros(2))
    Tensor([[0., 0.]])

    x: (rows, width). gain, bias: (width,).
    """
    y = F.layer_norm(x, (x.shape[-1],), gain, bias)
    return F.gelu(y, approximate="tanh")


def mfu(flops, seconds, peak_flops):
    """Return the model FLOPs utilization: the share of a machine's peak that was reached, 0 to 1.

    flops: at least 0. seconds, peak_flops (FLOP/s): above 0.

    >>> mfu(10**12, 4, 10**12)
    0.25
    """
    if flops < 0 or seconds <= 0 or peak_flops <= 0:
        raise ValueError(f"no use of {peak_flops} FLOP/s by {flops} FLOPs in {seconds} s")
    return flops / seconds / peak_flops


def amdahl(fraction, speedup):
    """Return how many times as fast a program is when a part of it is, a float.

    fraction: of the time before, 0 to 1, that the part took. speedup: of the part, above 0; below 1
        it is slower, and math.inf is a part that takes no time any more.
    The result is math.inf where no time is left.

    >>> amdahl(0.75, 3)
    2.0
    """
    if not 0 <= fraction <= 1 or speedup <= 0:
        raise ValueError(f"no part is {fraction} of the time and {speedup} times as fast")
    left = 1 - fraction + fraction / speedup
    return 1 / left if left else math.inf


def reflect_relu(elements, itemsize, peak_flops, bandwidth):
    """Return what a ReLU, one FLOP an element, takes if it does only what its wall demands: a dict.

    elements, itemsize (bytes of a number): ints, at least 1. The ReLU writes a new tensor.
    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0.
    The dict's keys are ms, the least time, and share, its FLOP/s as a share of the peak, 0 to 1.

    >>> reflect_relu(1000, 4, 1e9, 1e9)
    {'ms': 0.008, 'share': 0.125}
    """
    moved = elementwise_bytes((elements,), 1, itemsize)
    intensity = arithmetic_intensity(elements, moved)
    seconds = elements / attainable_flops(intensity, peak_flops, bandwidth)
    return {"ms": seconds * 1000, "share": mfu(elements, seconds, peak_flops)}


# ── 07_scaling ────────────────────────────────────────────────────────────────────────────────


def local_exponents(sizes, values):
    """Return the power by which a cost grows, between each size and the next.

    sizes: a list of numbers above 0, each larger than the one before; at least two.
    values: the cost at each size, numbers above 0.
    Returns a list of floats, one fewer than there are sizes: ln(v2 / v1) / ln(s2 / s1). A cost that
    stays the same has the exponent 0, and one that falls has a negative one.
    Raises ValueError for fewer than two sizes, and for sizes that do not rise.

    >>> local_exponents([1, 2, 4], [3, 6, 24])
    [1.0, 2.0]
    """
    if len(sizes) < 2 or len(sizes) != len(values):
        raise ValueError(f"{len(sizes)} sizes and {len(values)} values give no exponent")
    if min(*sizes, *values) <= 0:
        raise ValueError("sizes and values must be above 0")
    points = list(zip(sizes, values, strict=True))
    if any(small >= large for small, large in itertools.pairwise(sizes)):
        raise ValueError(f"sizes must rise, and {sizes} do not")
    return [
        math.log(v2 / v1) / math.log(s2 / s1) for (s1, v1), (s2, v2) in itertools.pairwise(points)
    ]


def fit_cost(sizes, times_ms, powers):
    """Return the prices c of a cost that is the sum of c · n**power over all powers.

    sizes: a list of numbers above 0, no two alike, in any order.
    times_ms: the time at each size, numbers above 0.
    powers: a list or tuple of numbers, no two alike, in any order; at least one.
    Returns a list of floats, one for each power, in the order of `powers`: those that make the sum
    of the squared relative errors, (fitted - measured) / measured, least. A price may be negative.
    Raises ValueError for no powers, for fewer sizes than powers, and for a size or a power that is
    there twice.

    >>> [round(price, 3) for price in fit_cost([10, 20], [9, 17], (0, 1))]
    [1.0, 0.8]
    """
    if not len(powers) or len(sizes) < len(powers) or len(sizes) != len(times_ms):
        raise ValueError(f"{len(sizes)} sizes do not fit {len(powers)} powers")
    if len(set(sizes)) < len(sizes) or len(set(powers)) < len(powers):
        raise ValueError("no size and no power may be there twice")
    if min(*sizes, *times_ms) <= 0:
        raise ValueError("sizes and times must be above 0")
    n, times = np.array(sizes, float), np.array(times_ms, float)
    columns = np.stack([n**power / times for power in powers], axis=1)
    units = columns.max(axis=0)  # columns of about one size, so that large powers stay exact
    prices, *_ = np.linalg.lstsq(columns / units, np.ones(len(n)), rcond=None)
    return (prices / units).tolist()


def holdout_error(sizes, times_ms, powers):
    """Return how far a fit that has not seen the largest size is off there.

    sizes, times_ms, powers: as for fit_cost; but the largest size, wherever it stands in the list,
    is left out of the fit, so that one size more than there are powers is needed.
    Returns a float, promised time / measured time - 1, both at the largest size: negative where
    the fit promises too little. The lists stay as they are.
    Raises ValueError as fit_cost does, and where too few sizes are left.

    >>> round(holdout_error([1, 2, 4], [2, 3, 4], (0, 1)), 6)
    0.25
    """
    if len(sizes) != len(times_ms) or len(sizes) <= len(powers):
        raise ValueError(f"{len(sizes)} sizes leave too few for {len(powers)} powers")
    *kept, (largest, measured) = sorted(zip(sizes, times_ms, strict=True))
    if measured <= 0 or any(largest == size for size, _ in kept):
        raise ValueError("times must be above 0, and no size may be there twice")
    prices = fit_cost([size for size, _ in kept], [ms for _, ms in kept], powers)
    promised = sum(c * largest**power for c, power in zip(prices, powers, strict=True))
    return promised / measured - 1


def batch_cost(sizes, latencies_ms):
    """Return what a batch costs, as a sum of an overhead and a price for each sample.

    sizes: batch sizes, as for fit_cost, at least two. latencies_ms: of a whole batch, each above 0.
    Returns a dict of floats:
        overhead_ms, per_sample_ms: fitted as in fit_cost, with the powers 0 and 1.
        most_per_second: the samples a second that no batch exceeds, by this fit.
        half_batch: the batch that reaches half of it; negative where the overhead is.
    Raises ValueError as fit_cost does, and where the price of a sample is not above 0.

    >>> round(batch_cost([1, 3], [4.0, 6.0])["half_batch"], 6)
    3.0
    """
    overhead, price = fit_cost(sizes, latencies_ms, (0, 1))
    if price <= 0:
        raise ValueError("the latency does not grow with the batch, so a sample has no price")
    return {
        "overhead_ms": overhead,
        "per_sample_ms": price,
        "most_per_second": 1000 / price,
        "half_batch": overhead / price,
    }


def predict_ms(rows, hardware, overhead_ms):
    """Return how many ms these operations take on a machine, one after another.

    rows: a list of dicts, as lesson 05's op_facts and recorder make them; used are matmul_flops,
        elementwise_flops, bytes_read and bytes_written, and no time that a row may have.
    hardware: has peak_flops, in FLOP/s, and bandwidth, in bytes/s.
    overhead_ms: what each operation costs besides, at least 0.
    An operation takes the longer of all its FLOPs at the peak and all its bytes at the bandwidth,
    and the overhead on top. A row without any FLOPs and bytes costs nothing, not even overhead.
    Returns a float. Raises ValueError for no rows, and for an overhead below 0.

    >>> add = doubles.forward_row("add", "", 9.0, 0, 10**6, bytes_read=8 * 10**6, bytes_written=0)
    >>> predict_ms([add], Hardware(peak_flops=1e9, bandwidth=2e9), overhead_ms=0.5)
    4.5
    """
    if not len(rows) or overhead_ms < 0:
        raise ValueError(f"{len(rows)} rows with an overhead of {overhead_ms} ms have no time")
    total = 0.0
    for row in rows:
        flops = row["matmul_flops"] + row["elementwise_flops"]
        moved = row["bytes_read"] + row["bytes_written"]
        if flops or moved:
            seconds = max(flops / hardware.peak_flops, moved / hardware.bandwidth)
            total += 1000 * seconds + overhead_ms
    return total


def rows_on_meta(make, input_shape):
    """Return op_facts of each op of a forward pass of make(), in order; nothing is computed."""
    with meta(), no_grad():
        model = make().eval()
        return each_op(op_facts, lambda: model(example_input(model, input_shape, meta=True)))


def op_factors(rows, hardware, overhead_ms):
    """Return {op: measured / predicted} of recorded rows: how far each kind is from its bound."""
    took, least = {}, {}
    for row in rows:
        if bound := predict_ms([row], hardware, overhead_ms):
            took[row["op"]] = took.get(row["op"], 0.0) + row["self_ms"]
            least[row["op"]] = least.get(row["op"], 0.0) + bound
    return {op: took[op] / least[op] for op in least}


def predict_corrected_ms(rows, hardware, overhead_ms, factors):
    """Return predict_ms, each row times the factor of its kind of op, 1 where there is none."""
    bounds = [(row["op"], predict_ms([row], hardware, overhead_ms)) for row in rows]
    return sum(bound * factors.get(op, 1.0) for op, bound in bounds)


def matmul_addresses(n, order, tile=None):
    """Return the addresses that C += A · B touches, for three n × n matrices, in order.

    A is stored at 0, B at n², C at 2 n², all row-major; an address counts numbers.
    order: the loops from the outermost to the innermost, a permutation of "ijk". For each
        multiply-add come the addresses of A[i, k], B[k, j] and C[i, j], in this order.
    tile: the side of blocks, an int; None: no blocks. The blocks of i are the outermost loop, then
        those of j, then those of k; inside each block the loops run in `order`. Where tile does not
        divide n, a loop's last block is shorter.
    Returns a list of 3 n³ ints. Raises ValueError for n or tile below 1, and another order.

    >>> matmul_addresses(2, "ikj")[:6]
    [0, 4, 8, 0, 5, 9]
    """
    tile = n if tile is None else tile
    if min(n, tile) < 1 or sorted(order) != ["i", "j", "k"]:
        raise ValueError(f"no product of {n} × {n} in the order {order!r} and tiles of {tile}")
    addresses = []
    for starts in itertools.product(range(0, n, tile), repeat=3):
        ranges = {
            name: range(start, min(start + tile, n))
            for name, start in zip("ijk", starts, strict=True)
        }
        for values in itertools.product(*(ranges[name] for name in order)):
            at = dict(zip(order, values, strict=True))
            i, j, k = at["i"], at["j"], at["k"]
            addresses += [i * n + k, n * n + k * n + j, 2 * n * n + i * n + j]
    return addresses


def cache_misses(addresses, line, lines):
    """Return how many lines are fetched when these addresses are asked for, one by one.

    addresses: a list of ints, at least 0, which count numbers; an empty one has no misses.
    line: how many numbers a line holds: line 0 the first `line` numbers, line 1 those behind them.
    lines: how many lines the cache holds. It is empty at first and may hold any lines (it is
        *fully associative*); when it is full, the least recently used line goes.
    Returns an int. Raises ValueError for line or lines below 1.

    >>> cache_misses([0, 3, 4, 0], line=4, lines=2)
    2
    """
    if min(line, lines) < 1:
        raise ValueError(f"a cache of {lines} lines of {line} holds nothing")
    held, misses = {}, 0
    for address in addresses:
        wanted = address // line
        if wanted in held:
            del held[wanted]
        else:
            misses += 1
            if len(held) == lines:
                del held[next(iter(held))]
        held[wanted] = True  # the most recent one is the last
    return misses


def traffic_bound(n, capacity):
    """Return a lower bound on the numbers that an n × n product moves between memory and cache.

    n: int, at least 1. capacity: how many numbers (not bytes, not lines) the cache holds, an int,
        at least 1.
    It holds for every order of the multiply-adds: 2 n³ / √capacity - 2 capacity, a float, or 0.0
    where that is negative and says nothing.
    Raises ValueError for an argument below 1.

    >>> traffic_bound(100, 100)
    199800.0
    """
    if min(n, capacity) < 1:
        raise ValueError(f"n and capacity must be at least 1, not {n} and {capacity}")
    return max(0.0, 2 * n**3 / math.sqrt(capacity) - 2 * capacity)


def slow_order(n, lines, line):
    """Return every (i, j, k) below n once, (n³, 3), in the order ijk."""
    return np.indices((n, n, n)).reshape(3, -1).T


def order(n, lines, line):
    """Return every (i, j, k) below n once, (n³, 3), in an order that fetches few lines.

    In this order multiply-adds C[i, j] += A[i, k] · B[k, j] run, stored and touched as in
    matmul_addresses. The cache holds `lines` lines of `line` numbers, as in cache_misses.
    n is a multiple of line, which is at least 2; lines is at least 3.
    Returns an array or a list of whole numbers, within a second.

    >>> len(order(4, 8, 2))
    64
    """
    # A block of C stays while k runs, beside a column of A and two rows of B as high and wide.
    fit = [
        (rows, columns)
        for rows, columns in itertools.product(range(1, n + 1), range(line, n + 1, line))
        if rows + (rows + 2) * columns // line <= lines
    ]
    rows, columns = min(
        fit or [(1, line)],
        key=lambda block: math.ceil(n / block[0]) + math.ceil(n / block[1]),
    )
    return [
        (i, j, k)
        for top, left in itertools.product(range(0, n, rows), range(0, n, columns))
        for k in range(n)
        for i in range(top, min(top + rows, n))
        for j in range(left, min(left + columns, n))
    ]


def set_misses(addresses, line, sets, ways):
    """Return how many lines a set-associative cache fetches; optional, no points.

    addresses, line: as for cache_misses. A line may stand only in the set of its own number modulo
    `sets`. Each set holds `ways` lines; when it is full, its least recently used one goes.
    Returns an int. Raises ValueError for line, sets or ways below 1.

    >>> set_misses([0, 16, 0], line=8, sets=2, ways=1)
    3
    """
    if min(line, sets, ways) < 1:
        raise ValueError(f"a cache of {sets} sets of {ways} lines of {line} holds nothing")
    groups = [[] for _ in range(sets)]
    for address in addresses:
        groups[address // line % sets].append(address)
    return sum(cache_misses(group, line, ways) for group in groups)


def speedup_steps(seconds):
    """Return the steps of a series of improvements, from the first program to the last.

    seconds: a dict from a program's name to its time, above 0, in the order in which the programs
        were made; at least two.
    Returns a list of dicts, one for each program but the first:
        name: of the program. step: how many times as fast as the one before it.
        total: how many times as fast as the first one.
        share: its part of the way in logarithms, ln(step) / ln(the last total). Shares sum to 1,
            and a step that made it slower has a negative one.
    Raises ValueError for fewer than two programs, and where the last takes as long as the first, so
    that there is no way to share.

    >>> speedup_steps({"loops": 12.0, "tiles": 3.0})[0]["step"]
    4.0
    """
    names, times = list(seconds), list(seconds.values())
    if len(times) < 2 or min(times) <= 0 or times[0] == times[-1]:
        raise ValueError(f"{seconds} are no steps: give two times or more, the last another one")
    way = math.log(times[0] / times[-1])
    return [
        {
            "name": name,
            "step": before / after,
            "total": times[0] / after,
            "share": math.log(before / after) / way,
        }
        for name, before, after in zip(names[1:], times, times[1:], strict=False)
    ]


def slow_path(a, b, c, d):
    """Return the sum of a[i, j, k] b[k, l] c[l, m] d[j, n] over j, k and l, for all i, m and n."""
    return (a @ b @ c).mT @ d


def slow_distances(x, y):
    """Return the squared distance of each row of x from each row of y."""
    gaps = x[:, None] - y
    return (gaps * gaps).sum(-1)


def path(a, b, c, d):
    """Return what slow_path does, (i, m, n), at the least cost on DESK.

    a: (i, j, k). b: (k, l). c: (l, m). d: (j, n). m and n are small.

    >>> path(*[proflab.ones(*s) for s in ((1, 2, 2), (2, 2), (2, 1), (2, 1))])
    Tensor([[[8.]]])
    """
    return (a @ (b @ c)).mT @ d


def distances(x, y):
    """Return what slow_distances does, (rows, others), at the least cost on DESK.

    x: (rows, width). y: (others, width). Errors up to 0.00002 of the largest distance are allowed:
    distances of close rows lose digits by cancellation.

    >>> distances(proflab.zeros(1, 2), proflab.ones(3, 2))
    Tensor([[2., 2., 2.]])
    """
    xx, yy = (proflab.square(each).sum(1, keepdim=True) for each in (x, y))
    return xx + yy.mT - 2 * (x @ y.mT)


def reflect_crossover_tokens(d_model, share=0.5):
    """Return the tokens at which scores and mix are this share of a Transformer block's FLOPs.

    All pairs of tokens count, also those that a causal mask hides.
    d_model: int, at least 1. share: of 24·s·d² + 4·s²·d, the part 4·s²·d; above 0 and below 1.
    Returns a float, not rounded. Raises ValueError for an argument out of range.

    >>> reflect_crossover_tokens(1024)
    6144.0
    """
    if d_model < 1 or not 0 < share < 1:
        raise ValueError(f"no length of a text has the share {share} at a width of {d_model}")
    return 6 * d_model * share / (1 - share)


# ── 08_benchmarking ───────────────────────────────────────────────────────────────────────────


def run_order(names, rounds):
    """Return the order in which to call programs, each once a round, as a list of names.

    names: a list of strings, no two alike; at least one. The list stays as it is.
    rounds: an even int, at least 2. Rounds 1, 3, 5 … go through the names forwards, rounds
    2, 4, 6 … backwards.
    Raises ValueError for no names, for a name that is there twice, and for rounds that are odd or
    below 2.

    >>> run_order(["old", "new"], 2)
    ['old', 'new', 'new', 'old']
    """
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{names} is not a list of different names")
    if rounds < 2 or rounds % 2:
        raise ValueError(f"rounds must be even and at least 2, not {rounds}")
    return [*names, *reversed(names)] * (rounds // 2)


def rank_test(a, b):
    """Return the exact rank test of two lists of times, two-sided, as a dict.

    a, b: lists of numbers in any order, 1 to 20 each, not necessarily as many; ties are allowed.
    The dict's keys:
        u: a float, the pairs in which a's time is the larger one; a tie counts one half
        p: of all choices of len(a) of the times, the share whose u is at least as far from
            len(a) * len(b) / 2 as this u is; with ties, by mid-ranks
        smaller: 1 - u / (len(a) * len(b)), the share of pairs in which a's time is smaller
    Raises ValueError for an empty list, for more than 20 times on a side, and for NaN.

    >>> rank_test([1, 3], [2, 4])
    {'u': 1.0, 'p': 0.6666666666666666, 'smaller': 0.75}
    """
    n, m = len(a), len(b)
    if not (1 <= n <= 20 and 1 <= m <= 20):
        raise ValueError(f"each side needs 1 to 20 times, not {n} and {m}")
    pooled = [*a, *b]
    if any(math.isnan(ms) for ms in pooled):
        raise ValueError("NaN is no time: it has no rank")
    doubled = [sum((y < x) + (y <= x) for y in pooled) + 1 for x in pooled]
    ways = [{0: 1}] + [{} for _ in range(n)]
    for rank in doubled:
        for size in range(n - 1, -1, -1):
            for total, count in ways[size].items():
                ways[size + 1][total + rank] = ways[size + 1].get(total + rank, 0) + count
    seen, middle = sum(doubled[:n]), n * (n + m + 1)
    far = sum(c for total, c in ways[n].items() if abs(total - middle) >= abs(seen - middle))
    u = (seen - n * (n + 1)) / 2
    return {"u": u, "p": far / math.comb(n + m, n), "smaller": 1 - u / (n * m)}


def speedup_interval(before, after, confidence=0.95):
    """Return the speed-up from paired times, and an interval for its median, as a dict.

    before, after: lists of times above 0; those at one place are of one round.
    confidence: above 0 and below 1.
    The dict's keys: speedup, the median of the ratios before / after (above 1: after is faster),
    and low, high, the confidence_interval of these ratios.
    Raises ValueError for lists of different lengths, for a time that is not above 0, as NaN is not,
    and where confidence_interval does: for too few pairs, and for a confidence out of range.

    >>> speedup_interval([2, 4, 6, 8, 10, 12], [2] * 6)
    {'speedup': 3.5, 'low': 1.0, 'high': 6.0}
    """
    if len(before) != len(after) or not all(ms > 0 for ms in [*before, *after]):
        raise ValueError("before and after need as many times, all above 0")
    ratios = [old / new for old, new in zip(before, after, strict=True)]
    low, high = confidence_interval(ratios, confidence)
    return {"speedup": statistics.median(ratios), "low": low, "high": high}


def gate(before, after, tolerance, comparisons=1):
    """Return the verdict on a change: "same", "faster", "slower" or "unclear".

    before, after: paired times, as for speedup_interval.
    tolerance: at least 0, a share: 0.05 for 5 %.
    comparisons: int, at least 1: how many gates share the 5 % of false alarms.
    By the interval of speedup_interval at 1 - 0.05 / comparisons: "same" where it lies within
    1 / (1 + tolerance) and 1 + tolerance, both included; else "faster" where all of it is above 1,
    "slower" where all of it is below 1; else "unclear".
    Raises ValueError for a tolerance or comparisons out of range, as NaN is, and where
    speedup_interval does.

    >>> gate([4.0] * 6, [3.0] * 6, tolerance=0.1)
    'faster'
    """
    if not (tolerance >= 0 and comparisons >= 1):
        raise ValueError(f"no gate has the tolerance {tolerance} and {comparisons} comparisons")
    found = speedup_interval(before, after, 1 - 0.05 / comparisons)
    if 1 / (1 + tolerance) <= found["low"] and found["high"] <= 1 + tolerance:
        return "same"
    if found["low"] > 1:
        return "faster"
    return "slower" if found["high"] < 1 else "unclear"


def runs_interval(runs, confidence=0.95):
    """Return the interval (low, high) of the median, from the times of several fresh runs.

    runs: a list of lists of times, one list for each run of the program; they may differ in length.
    confidence: above 0 and below 1.
    Takes the median of each run, and of these the confidence_interval.
    Raises ValueError for a run without times, for NaN in a run, and where confidence_interval does:
    below 6 runs at 95 %, while at a lower confidence fewer may be enough.

    >>> runs_interval([[2, 9, 3], [4], [5], [1], [6], [7]])
    (1, 7)
    """
    if any(len(run) == 0 for run in runs):
        raise ValueError("each run needs at least one time")
    if any(math.isnan(ms) for run in runs for ms in run):
        raise ValueError("NaN is no time: a run that has one has no median")
    return confidence_interval([statistics.median(run) for run in runs], confidence)


def compare_results(before, after, tolerance):
    """Return the verdict on two stored results, and what speaks against it, as a dict.

    before, after: dicts with "times", as for gate, and "environment", a dict with the keys of
        HERE, each None where it is not known; load is the share of the processors that other
        programs took.
    The dict's keys, the first two lists of strings:
        differs: of "machine", "threads", "seed", "versions", in this order, those that are not
            equal in both environments, or not known in one
        doubtful: "governor" if it is not "performance" in both, then "load" if it is above 0.1
            or not known in one
        verdict: "not compared" if anything differs, whatever the times are; else gate's
    Raises ValueError where gate does.

    >>> days = [{"times": [ms] * 6, "environment": HERE} for ms in (4.0, 3.0)]
    >>> compare_results(*days, tolerance=0.1)["verdict"]
    'faster'
    """
    both = [before["environment"], after["environment"]]
    differs = []
    for key in ("machine", "threads", "seed", "versions"):
        old, new = (environment[key] for environment in both)
        if old is None or new is None or old != new:
            differs.append(key)
    doubtful = ["governor"] if any(e["governor"] != "performance" for e in both) else []
    if any(e["load"] is None or e["load"] > 0.1 for e in both):
        doubtful.append("load")
    if differs:
        verdict = "not compared"
    else:
        verdict = gate(before["times"], after["times"], tolerance)
    return {"differs": differs, "doubtful": doubtful, "verdict": verdict}


def percentile_interval(times, percent, confidence=0.95):
    """Return the interval (low, high) of a percentile of independent times. (Optional.)

    times: a list in any order. percent: above 0 and below 100. confidence: above 0 and below 1.
    Each time is below the true percentile with probability percent / 100. Returns the l-th and the
    h-th smallest time: l is the largest rank, h the smallest, with which the percentile lies below
    the l-th with a probability of at most (1 - confidence) / 2, and above the h-th likewise.
    Raises ValueError where there is no such rank, for a number out of range, and for NaN.

    >>> percentile_interval(range(1, 21), 50)
    (6, 15)
    """
    if not 0 < percent < 100 or not 0 < confidence < 1:
        raise ValueError("percent and confidence lie between 0 and 100, and between 0 and 1")
    if any(math.isnan(time) for time in times):
        raise ValueError("NaN is no time: it has no rank")
    n, tail, share = len(times), (1 - confidence) / 2, percent / 100
    odds = [
        math.exp(
            math.lgamma(n + 1)
            - math.lgamma(k + 1)
            - math.lgamma(n - k + 1)
            + k * math.log(share)
            + (n - k) * math.log(1 - share)
        )
        for k in range(n + 1)
    ]
    low = sum(total <= tail for total in np.cumsum(odds))  # ranks l with P(fewer than l) <= tail
    high = n + 1 - sum(total <= tail for total in np.cumsum(odds[::-1]))
    if low < 1 or high > n:
        raise ValueError(f"{n} times are too few for this percentile")
    ordered = sorted(times)
    return ordered[low - 1], ordered[high - 1]


def response_times(arrivals_ms, service_ms):
    """Return how long each request takes from its arrival to its answer, in ms, as a list.

    arrivals_ms: when each request arrives, numbers of any sign that do not fall; several may
    arrive at once.
    service_ms: how long the server works on each, numbers above 0.
    One server takes them in their order, one at a time; a request waits until those before it are
    answered, and an idle server waits for the next request.
    Raises ValueError for no requests, lists of different lengths, arrivals that fall, and a service
    time that is not above 0, as NaN is not.

    >>> response_times([0, 4, 30], [10, 10, 10])
    [10, 16, 10]
    """
    if not len(arrivals_ms) or len(arrivals_ms) != len(service_ms):
        raise ValueError("each request needs an arrival and a service time")
    if not all(service > 0 for service in service_ms):
        raise ValueError("the server works on each request for more than 0 ms")
    if not all(a <= b for a, b in zip(arrivals_ms, arrivals_ms[1:], strict=False)):
        raise ValueError("arrivals must not fall")
    waits, free = [], -math.inf
    for arrival, service in zip(arrivals_ms, service_ms, strict=True):
        free = max(free, arrival) + service
        waits.append(free - arrival)
    return waits


def quantize(weights, axis=None):
    """Return the weights as int8 and their scale: a tuple (q, scale), weights ≈ q * scale.

    weights: an array of finite floats, not empty, or nested lists of them.
    axis: None for one scale, a float; or an axis along which the largest magnitude is taken, which
    scale keeps with length 1: for a matrix, axis=1 gives a scale of shape (rows, 1).
    scale is the largest magnitude / 127, and 1 where that is 0. q is weights / scale, rounded (half
    to even), from -127 to 127, an array of dtype int8 in the shape of the weights.
    Raises ValueError for no weights, for NaN and for infinity. Computes in float64.

    >>> q, scale = quantize([254.0, -3.0])
    >>> q.tolist(), scale
    ([127, -2], 2.0)
    """
    weights = np.asarray(weights, np.float64)
    if not weights.size or not np.isfinite(weights).all():
        raise ValueError("weights must be finite, and there must be some")
    scale = np.abs(weights).max(axis=axis, keepdims=axis is not None) / 127
    scale = np.where(scale == 0, 1.0, scale)
    q = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
    return q, (float(scale) if axis is None else scale)


def sparse_bytes(shape, nonzeros, itemsize=4):
    """Return the bytes of a matrix in CSR format, an int.

    shape: (rows, columns), each at least 1. nonzeros: int, 0 to rows * columns.
    itemsize: bytes of a number, at least 1.
    CSR keeps each nonzero number, its column in 4 bytes, and for each row the place at which it
    begins, in 4 bytes, with one more for the end.
    Raises ValueError for an argument out of range.

    >>> sparse_bytes((2, 3), 4)
    44
    """
    rows, columns = shape
    if min(rows, columns, itemsize) < 1 or not 0 <= nonzeros <= rows * columns:
        raise ValueError(f"no matrix of {rows} × {columns} has {nonzeros} nonzeros")
    return nonzeros * (itemsize + 4) + (rows + 1) * 4


def pareto(rows, smaller, larger=()):
    """Return the names of the rows that no other row beats, in their order, as a list.

    rows: a list of dicts with "name" and numbers, at least one; no two of one name.
    smaller, larger: lists or tuples of keys; of these values less is better, or more is.
    One row beats another if it is at least as good in all these keys and better in at least one.
    So rows that are equal in all of them do not beat each other.
    Raises ValueError for no rows, for no keys at all, and for a key that a row does not have.

    >>> pareto([{"name": "old", "ms": 5}, {"name": "new", "ms": 3}], ["ms"])
    ['new']
    """
    keys = [*smaller, *larger]
    if not rows or not keys or any(key not in row for row in rows for key in keys):
        raise ValueError(f"there must be rows, and keys that each row has, not {keys}")
    costs = [[row[k] for k in smaller] + [-row[k] for k in larger] for row in rows]

    def beaten(mine):
        return any(
            other != mine and all(o <= m for o, m in zip(other, mine, strict=True))
            for other in costs
        )

    return [row["name"] for row, cost in zip(rows, costs, strict=True) if not beaten(cost)]


def energy_joules(samples, idle_watts=0.0):
    """Return the energy of a run in joules, a float, from samples of its power. (Optional.)

    samples: (second, watts) pairs, at least two; seconds, of any sign, rise; watts are not below 0.
    idle_watts: at least 0; what the machine draws without the run, subtracted for all of it.
    Between two samples the power runs in a straight line. The result may be negative, where the
    samples lie below idle_watts.
    Raises ValueError for fewer than two samples, for seconds that do not rise, for negative power,
    and for NaN.

    >>> energy_joules([(0, 100), (3, 200)])
    450.0
    """
    seconds, watts = [second for second, _ in samples], [power for _, power in samples]
    if len(samples) < 2 or any(not power >= 0 for power in [idle_watts, *watts]):
        raise ValueError("energy needs two samples or more, of power that is not negative")
    steps = [
        (seconds[at + 1] - seconds[at], watts[at], watts[at + 1]) for at in range(len(watts) - 1)
    ]
    if any(not step > 0 for step, *_ in steps):  # as NaN is not
        raise ValueError("the samples' seconds must rise")
    return float(sum(step * ((one + two) / 2 - idle_watts) for step, one, two in steps))


def audit_speedups(rows, base):
    """Return for each row of a published table whether its speed-up and its minutes agree.

    rows: (name, claimed, minutes) tuples, at least one. claimed: the speed-up over base, above 0,
    rounded to one decimal, so up to 0.05 off. minutes: at least 1, rounded to whole minutes, so up
    to 0.5 off.
    base: the minutes of the baseline, above 0, exact.
    Returns a list of dicts: name; minutes, which the claimed speed-up gives; speedup, over the
    base, which the printed minutes give; step, the speed-up of the printed minutes over those of
    the row before (of the first row: over base); holds, True if some speed-up and some minutes
    within the rounding agree (bounds included).
    Raises ValueError for no rows and for a number out of range.

    >>> audit_speedups([("cached", 2.0, 40)], base=80)[0]["holds"]
    True
    """
    if not rows or base <= 0 or any(claimed <= 0 or minutes < 1 for _, claimed, minutes in rows):
        raise ValueError("there must be rows, speed-ups above 0, and a minute at least")
    found, last = [], base
    for name, claimed, minutes in rows:
        slowest, fastest = base / (minutes + 0.5), base / (minutes - 0.5)
        row = {"name": name, "minutes": base / claimed, "speedup": base / minutes}
        row["step"] = last / minutes
        row["holds"] = slowest <= claimed + 0.05 and fastest >= claimed - 0.05
        found.append(row)
        last = minutes
    return found


def audit_memory(parameters, rows, gb=10**9):
    """Return for each row whether the memory claimed holds what each parameter needs. (Optional.)

    parameters: int, at least 1.
    rows: (name, bytes_per_parameter, claimed_gb) tuples, at least one; bytes above 0; claimed_gb at
    least 0, rounded to whole GB, so up to 0.5 off.
    gb: how many bytes a GB has, in rows and in the result: 10**9 or 1024**3.
    Returns a list of dicts: name; floor_gb, the GB that the parameters take at least; holds, True
    unless the claim is below that by more than its rounding.
    Raises ValueError for no rows, for a number out of range, and for another gb.

    >>> audit_memory(10**9, [("float32", 4, 3)])
    [{'name': 'float32', 'floor_gb': 4.0, 'holds': False}]
    """
    if not rows or parameters < 1 or any(size <= 0 or claim < 0 for _, size, claim in rows):
        raise ValueError("there must be rows, parameters, and bytes for each of them")
    if gb not in (10**9, 1024**3):
        raise ValueError(f"a GB has 10**9 or 1024**3 bytes, not {gb}")
    floors = [parameters * size / gb for _, size, _ in rows]
    return [
        {"name": name, "floor_gb": floor, "holds": floor <= claimed + 0.5}
        for (name, _, claimed), floor in zip(rows, floors, strict=True)
    ]


# ── 09_optimization ───────────────────────────────────────────────────────────────────────────


def diagnose(rows, hardware):
    """Return for each name how much faster the whole would be if that name ran at its roof.

    rows: dicts of lesson 05's recorder. row_name(row) is a row's name, row["self_ms"]
        its time, and work_and_traffic([row]) its FLOPs and bytes.
    hardware: has peak_flops, in FLOP/s, and bandwidth, in bytes/s.
    At its roof a row takes the larger of FLOPs / peak_flops and bytes / bandwidth, but never longer
    than it took.
    Returns a list of dicts: name; share, the name's part of all self_ms; best, the sum of all
    self_ms over what it would be with this name's rows at their roofs (math.inf if that is 0). The
    largest best comes first; equal ones stay in the order in which the names first occur.
    Raises ValueError if all self_ms are 0.

    >>> act, add = doubles.forward_row("relu", "act", 3.0), doubles.forward_row("add", "m", 1.0)
    >>> diagnose([act, add], Hardware(peak_flops=1e9, bandwidth=1e9))[0]
    {'name': 'relu', 'share': 0.75, 'best': 4.0}
    """
    total = sum(row["self_ms"] for row in rows)
    if not total:
        raise ValueError("there is no time to divide: no rows, or none that took any")
    spent, saved = {}, {}
    for row in rows:
        flops, moved = work_and_traffic([row])
        roof = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
        name = row_name(row)
        spent[name] = spent.get(name, 0.0) + row["self_ms"]
        saved[name] = saved.get(name, 0.0) + max(0.0, row["self_ms"] - roof)
    found = [
        {
            "name": name,
            "share": ms / total,
            "best": total / (total - saved[name]) if total > saved[name] else math.inf,
        }
        for name, ms in spent.items()
    ]
    return sorted(found, key=lambda row: row["best"], reverse=True)


def simulate_loader(load_ms, step_ms, workers, prefetch=2):
    """Return how long an epoch takes, and how long the training waits for data, as a dict.

    load_ms: the ms that each batch takes to load. step_ms: those of a step. Above 0.
    workers: at least 0; with 0 the main program loads each batch itself, before its step.
    prefetch: at least 1.
    Worker w of W loads batch w and each W-th after it, in order, one at a time, once asked for:
    the first W * prefetch batches at the start, one more each time that the main program
    takes one. It takes them in order, each as soon as it is loaded and the step before has ended.
    Keys: total_ms, until the last step ends; wait_ms, in which no step runs.
    Numbers out of range raise ValueError.

    >>> simulate_loader([30, 30], 10, workers=1)
    {'total_ms': 70, 'wait_ms': 50}
    """
    if not len(load_ms) or min(*load_ms, step_ms) <= 0 or workers < 0 or prefetch < 1:
        raise ValueError("an epoch has batches, each with a time above 0; prefetch is at least 1")
    if workers == 0:
        return {"total_ms": sum(load_ms) + len(load_ms) * step_ms, "wait_ms": sum(load_ms)}
    now = wait = 0
    free, taken = [0] * workers, []
    for number, ms in enumerate(load_ms):
        ahead = number - workers * prefetch
        asked = taken[ahead] if ahead >= 0 else 0
        worker = number % workers
        free[worker] = max(free[worker], asked) + ms
        taken.append(max(now, free[worker]))
        wait += taken[-1] - now
        now = taken[-1] + step_ms
    return {"total_ms": now, "wait_ms": wait}


def turn_by_turn(load_ms, workers, room, step_ms):
    """Return the worker of each batch, as torch's loader chooses it."""
    return [batch % workers for batch in range(len(load_ms))]


def loader_plan(load_ms, workers, room, step_ms):
    """Return which worker loads each batch, so that the epoch ends as early as possible.

    load_ms: the ms that each batch takes to load. workers: at least 1. step_ms: those of a step.
    room: how many batches may be loading or waiting at once.
    A worker loads its batches in order, one at a time. Batch i is begun when its worker is free and
    batch i - room has been taken. The main program takes the batches in order, each as soon as it
    is loaded and the step before has ended.
    Returns a list of ints, from 0 to workers - 1.

    >>> loader_plan([20], workers=1, room=1, step_ms=9)
    [0]
    """
    free, taken, owners, now = [0.0] * workers, [], [], 0.0
    for batch, ms in enumerate(load_ms):
        worker = free.index(min(free))
        begun = max(free[worker], taken[batch - room] if batch >= room else 0.0)
        free[worker] = begun + ms
        taken.append(max(now, free[worker]))
        now = taken[-1] + step_ms
        owners.append(worker)
    return owners


def half_gradients(gradients, scale):
    """Return gradients as they come out of a backward pass in float16 with a scaled loss, or None.

    gradients: a float32 array of any shape. It stays as it is.
    scale: a number above 0, by which the loss, and so each gradient, is multiplied.
    Multiplies by scale in float32, rounds to float16, goes back to float32, and divides by scale.
    Returns a float32 array of the same shape; None if any scaled gradient is infinite or NaN in
    float16. Warns of nothing. Raises ValueError for a scale that is not above 0.

    >>> half_gradients(np.array([2.0**-25, 0.5], np.float32), 1).tolist()
    [0.0, 0.5]
    """
    if not scale > 0:
        raise ValueError(f"the scale must be above 0, not {scale}")
    scale = np.float32(scale)
    with np.errstate(over="ignore", invalid="ignore"):
        half = (gradients * scale).astype(np.float16)
    if not np.isfinite(half).all():
        return None
    return half.astype(np.float32) / scale


def scale_after(overflows, scale=2**16, growth=2, backoff=0.5, interval=2000):
    """Return the loss scale after each step, as a list of numbers.

    overflows: for each step, in order, True (or 1) if a gradient overflowed; may be empty.
    scale: before the first step, above 0. growth: above 1. backoff: above 0 and below 1.
    interval: int, at least 1.
    A step that overflows multiplies the scale by backoff. The last of `interval` steps in a row
    without overflow multiplies it by growth. After either, counting begins anew at 0.
    Numbers out of range raise ValueError.

    >>> scale_after([1, 0, 0], scale=64, interval=2)
    [32.0, 32.0, 64.0]
    """
    if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
        raise ValueError("scale above 0, growth above 1, backoff between 0 and 1, interval from 1")
    scales, good = [], 0
    for overflow in overflows:
        good = 0 if overflow else good + 1
        if overflow:
            scale *= backoff
        elif good == interval:
            scale, good = scale * growth, 0
        scales.append(scale)
    return scales


def single_ops(ops, x):
    """Return which ops of a loss have to run in float32, as (name, count) pairs, in their order.

    ops: (name, function) pairs; each function gets what the op before returned, the first one x,
        and returns an array or a numpy number of the same dtype. x: a float32 array; it stays as
        it is.
    Each op first runs in float16, on what it gets rounded to float16. If all of the result is
    finite, it goes on with that. Otherwise the op runs in float32, on what it gets, unrounded, and
    goes on with this result; count, an int, is how many entries were infinite or NaN in float16.
    Warns of nothing.

    >>> single_ops([("square", np.square), ("root", np.sqrt)], np.array([2.0, 300.0], np.float32))
    [('square', 1), ('root', 1)]
    """
    found = []
    with np.errstate(all="ignore"):
        for name, op in ops:
            half = op(x.astype(np.float16))
            bad = int(np.sum(~np.isfinite(half)))
            if bad:
                found.append((name, bad))
                half = op(x.astype(np.float32))
            x = half
    return found


def accumulate(model, loss, batches):
    """Leave in `.grad` the gradients of the mean loss over all samples; return that loss, a float.

    model: a Module. It is called with x, once for each batch, in order; only its gradients change.
    loss: loss(model(x), y) is a scalar Tensor, the mean over the samples of the batch.
    batches: a list of pairs (x, y), at least one; len(x) is the number of samples, at least 1 and
        not the same in each batch.
    Gradients from before are dropped. Each batch has a backward pass of its own, before
    the next forward pass.
    Raises ValueError for no batches and for a batch without samples.

    >>> one, model = Tensor([[1.0]]), nn.Linear(1, 1)
    >>> pairs = [(Tensor([[1.0], [2.0]]), 6 * one), (Tensor([[3.0]]), 3 * one)]
    >>> accumulate(model, lambda output, y: 0 * output.mean() + y.mean(), pairs)
    5.0
    """
    sizes = [len(x) for x, _ in batches]
    if not sizes or min(sizes) < 1:
        raise ValueError("there must be batches, each with samples")
    model.zero_grad()
    mean = 0.0
    for (x, y), size in zip(batches, sizes, strict=True):
        part = loss(model(x), y) * (size / sum(sizes))
        part.backward()
        mean += part.item()
    return mean


def blocks(count, width):
    """Return a function that makes a model of so many blocks."""

    def block():
        up, down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        return nn.Sequential(nn.LayerNorm(width), up, nn.GELU(), down)

    return lambda: nn.Sequential(*[block() for _ in range(count)])


def slow_recompute(model, x):
    """Return the loss and the gradients of a step that runs each block again."""
    loss = checkpointed(list(model), 1)(x).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def held_bytes(model, x, again):
    """Return about how many bytes are alive when backward begins, if so many blocks run again.

    A recomputed block keeps its input; any other keeps its input and 9 tensors of that size. The
    weights, x and 5 such tensors, which the first backward ops need, are always there.
    """
    weights = sum(p.nbytes for p in model.parameters())
    return weights + x.nbytes * (10 * len(list(model)) - 9 * again + 6)


def recompute(model, x, memory):
    """Return the mean of the squares of model(x), and its gradients, at the least cost on DESK.

    model: a Sequential of blocks, as `blocks` makes them. x: (rows, width).
    memory: the bytes of the machine; a step that has more alive at once is refused. Alive are x,
        the parameters, what is kept for backward, and what an op reads and writes.
    Returns a list: the loss, then the gradient of each parameter, in the order of
    model.parameters().

    >>> len(recompute(nn.Sequential(nn.Linear(2, 2)), proflab.ones(1, 2), memory=10**6))
    3
    """
    layers = list(model)
    fits = (n for n in range(len(layers)) if held_bytes(model, x, n) <= memory)
    again = next(fits, len(layers))
    if again:
        x = checkpointed(layers[:again], 1)(x)
    for layer in layers[again:]:
        x = layer(x)
    loss = x.square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def checkpoint_plan(kept, inputs):
    """Return where to begin segments so that the peak is lowest, as a dict. (Optional.)

    kept: for each layer, in order, the bytes that it keeps for backward, its own input included.
    inputs: for each layer the bytes of its input, at most those kept, above 0.
    Segments are runs of layers, together all of them. All segments' inputs stay. Backward runs each
    segment once more, which then keeps what its layers keep; its own input is there already.
    The peak: the sum of the segments' inputs, plus the most that one keeps without its own input.
    Keys: peak, in bytes; starts, the list of the segments' first layers, from 0 (of any best plan).
    Raises ValueError for no layers, and for lists of different lengths.

    >>> checkpoint_plan([5, 5, 5], [1, 1, 1])
    {'peak': 7, 'starts': [0, 1, 2]}
    """
    layers = len(kept)
    if not layers or layers != len(inputs):
        raise ValueError("each layer needs the bytes that it keeps, and those of its input")
    sums = [0, *itertools.accumulate(kept)]

    def size(first, end):
        return sums[end] - sums[first] - inputs[first]

    best = {"peak": math.inf}
    spans = [(a, b) for a in range(layers) for b in range(a + 1, layers + 1)]
    for most in sorted({size(*span) for span in spans}):
        least = [(0, [])] + [(math.inf, [])] * layers  # the inputs' sum, and starts, for a prefix
        for first, end in sorted(spans, key=lambda span: span[1]):
            cost = least[first][0] + inputs[first]
            if size(first, end) <= most and cost < least[end][0]:
                least[end] = cost, [*least[first][1], first]
        if least[-1][0] + most < best["peak"]:
            best = {"peak": least[-1][0] + most, "starts": least[-1][1]}
    return best


def graph_of(*lines, **kinds):
    """Return a graph from lines "name: its inputs"; kinds says which are not elementwise."""
    nodes = [line.split(": ") for line in lines]
    return [(name, inputs.split(), kinds.get(name, "elementwise")) for name, inputs in nodes]


def fuse(graph):
    """Return the nodes of a graph in groups, each to be computed in one pass over memory.

    graph: a list of nodes (name, inputs, kind) in the order of computation. name: of the tensor
        computed. inputs: names of tensors computed before or from outside, such as weights. kind:
        "elementwise" or another word.
    An elementwise node joins the group of its first input that a node computes and no other node
    reads (reading a tensor twice makes no second user). Any other node begins a group, which later
    nodes may join.
    Returns lists of names in the graph's order; the groups in that of their first nodes.
    Raises ValueError also for a name that is there twice, and for an input that only the node
    itself or a later one computes.

    >>> fuse(graph_of("fc: x w", "act: fc", "sum: act", fc="product", sum="reduction"))
    [['fc', 'act'], ['sum']]
    """
    names = [name for name, _, _ in graph]
    if not graph or len(set(names)) < len(names):
        raise ValueError("a graph has nodes, and no two of one name")
    users = {name: sum(name in inputs for _, inputs, _ in graph) for name in names}
    groups = {}
    for at, (name, inputs, kind) in enumerate(graph):
        if set(inputs) & set(names[at:]):
            raise ValueError(f"{name} reads what is computed only later")
        alone = [tensor for tensor in inputs if users.get(tensor) == 1]
        groups[name] = groups[alone[0]] if kind == "elementwise" and alone else []
        groups[name].append(name)
    return [group for name, group in groups.items() if group[0] == name]


def graph_bytes(graph, sizes, groups):
    """Return the bytes that a graph moves between memory and processor, computed in these groups.

    graph: as for fuse. sizes: a dict, the bytes of each tensor, computed or from outside, by name.
    groups: lists of names, each node of the graph in exactly one.
    Each group reads each tensor that one of its nodes reads and none of its nodes computes, once;
    and writes, once, each tensor that it computes and that a node of another group reads, or that
    no node reads.
    Raises ValueError if a node is in no group or in two, if a group has a name of no node, and if
    sizes lacks a tensor.

    >>> graph_bytes(graph_of("a: x", "b: a"), {"x": 8, "a": 4, "b": 2}, [["a"], ["b"]])
    18
    """
    names = [name for name, _, _ in graph]
    if sorted(name for group in groups for name in group) != sorted(names):
        raise ValueError("each node belongs to exactly one group")
    missing = {tensor for name, inputs, _ in graph for tensor in (name, *inputs)} - set(sizes)
    if missing:
        raise ValueError(f"sizes lacks {sorted(missing)}")
    total = 0
    for group in map(set, groups):
        read = {tensor for name, inputs, _ in graph if name in group for tensor in inputs}
        inside = {t for name, inputs, _ in graph if name in group for t in inputs}
        outside = {t for name, inputs, _ in graph if name not in group for t in inputs}
        written = {name for name in group if name in outside or name not in inside}
        total += sum(sizes[tensor] for tensor in (read - group)) + sum(map(sizes.get, written))
    return total


def attend(q, k, v):
    """Return what the slow script's attention returns, at the least cost on T4.

    q, k, v: (batch, heads, tokens, width).

    >>> attend(*[proflab.ones(1, 1, 2, 4)] * 3).shape
    (1, 1, 2, 4)
    """
    return F.scaled_dot_product_attention(q, k, v)


def merge(one, two):
    """Return the partial softmax over two blocks of keys together, from those over each.

    one, two: tuples (highest, total, values) of arrays of one floating type: highest (rows,), the
        largest score of each row in the block; total (rows,), the sum of exp(score - highest);
        values (rows, width), the sum of exp(score - highest) * value. They stay as they are.
    Returns such a tuple of the same type. A row whose scores in a block are all masked has highest
    -inf, total 0 and values 0 there, and the result has what the other block has. Warns of nothing,
    and nothing overflows, however far apart the scores are.

    >>> part = np.array([0.0]), np.array([1.0]), np.array([[2.0]])
    >>> merge(part, part)
    (array([0.]), array([2.]), array([[4.]]))
    """
    highest = np.maximum(one[0], two[0])
    base = np.where(np.isneginf(highest), 0, highest).astype(highest.dtype)
    first, second = np.exp(one[0] - base), np.exp(two[0] - base)
    total = one[1] * first + two[1] * second
    return highest, total, one[2] * first[:, None] + two[2] * second[:, None]


def slow_tiles(q, k, v, causal=False):
    """Return the attention of one head by tiles of 16 rows. causal: row i sees the keys 0 to i."""
    tokens, width = q.shape
    out = proflab.zeros(tokens, width)
    for low in range(0, tokens, 16):
        queries = q[low : low + 16].clone() / math.sqrt(width)
        places = proflab.arange(low, low + len(queries))[:, None]
        highest, total = proflab.full((len(queries), 1), -math.inf), proflab.zeros(len(queries), 1)
        mixed = proflab.zeros(len(queries), width)
        for start in range(0, low + 16 if causal else tokens, 16):
            keys, values = k[start : start + 16].clone(), v[start : start + 16].clone()
            scores = queries @ keys.T
            if causal:
                later = proflab.arange(start, start + len(keys)) > places
                scores = scores.masked_fill(later, -math.inf)
            new = proflab.maximum(highest, scores.max(-1, keepdim=True)[0])
            shrink, weights = (highest - new).exp(), (scores - new).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            mixed, highest = mixed * shrink + weights @ values, new
        out[low : low + 16] = mixed / total
    return out


def slow_causal_tiles(q, k, v):
    return slow_tiles(q, k, v, causal=True)


def through_tiles(q, k, v, causal=False):
    """Return what slow_tiles returns, with the fewest bytes between the two memories.

    q, k, v: (tokens, width); width is even, and at least 32. They, and the tensor that is returned,
        lie in the slow memory: `clone` of a part of q, k or v loads it, and
        `out[low:high] = rows` stores rows. Nothing else may read q, k or v, and nothing out.
    causal: row i sees the keys 0 to i.
    All other tensors lie in the fast memory, which has as many bytes as q; it may never hold more.

    >>> through_tiles(*[proflab.ones(3, 32)] * 3).sum().item()
    96.0
    """
    tokens, width = q.shape
    size, out = -(-tokens // 3), proflab.zeros(tokens, width)
    for low in range(0, tokens, size):
        queries = q[low : low + size].clone()
        queries /= math.sqrt(width)
        count = len(queries)
        places = proflab.arange(low, low + count)[:, None]
        highest, total = proflab.full((count, 1), -math.inf), proflab.zeros(count, 1)
        mixed = proflab.zeros(count, width)
        last = low + count if causal else tokens
        for start in range(0, last, 8):
            end = min(start + 8, last)
            scores = queries @ k[start:end].clone().T
            if causal and end > low:
                scores.masked_fill_(proflab.arange(start, end) > places, -math.inf)
            new = proflab.maximum(highest, scores.max(-1, keepdim=True)[0])
            highest -= new
            highest.exp_()
            total *= highest
            mixed *= highest
            highest = new
            scores -= new
            scores.exp_()
            total += scores.sum(-1, keepdim=True)
            for half in (slice(0, width // 2), slice(width // 2, width)):
                mixed[:, half] += scores @ v[start:end, half].clone()
        mixed /= total
        out[low : low + size] = mixed
    return out


def fixed_step(model, batch, state):
    """Train on one batch as slow_step does, without its three faults; return the same loss."""
    images, known = state["images"], state.setdefault("known", {})
    for name in batch:
        if name not in known:  # each file is read and decoded once, not in each epoch
            known[name] = images.tokens(Tensor(images.read(name)))
    inputs = stack([known[name] for name in batch])
    labels = Tensor([images.label(name) for name in batch])
    state["optimizer"].zero_grad()
    loss = F.cross_entropy(model(inputs, attend), labels)  # your attention
    loss.backward()
    state["optimizer"].step()
    state["losses"].append(loss.item())  # a number, which keeps no graph alive
    return state["losses"][-1]

# ── yours, where there are any ──

from proflab.lesson.mine import use_mine as _use_mine

_use_mine(
    globals(),
    "10_cuda_roofline",
    {'01_parameters': ['linear_parameters', 'conv2d_parameters', 'attention_parameters',
                       'count_parameters', 'parameter_memory_mb', 'parameter_table',
                       'gpt2_parameters', 'reflect_deployment'],
     '02_flops': ['matmul_flops', 'linear_flops', 'conv2d_flops', 'attention_flops', 'count_flops',
                  'gradient_flops', 'reflect_6nd'],
     '03_latency': ['Timer', 'calibrate', 'measure_latency', 'latency_statistics',
                    'confidence_interval', 'best_batch'],
     '04_memory': ['MemoryTracker', 'measure_memory', 'saved_activations', 'optimizer_memory_mb',
                   'training_memory', 'memory_table', 'find_leak', 'recomputed_gradients'],
     '05_profiler': ['op_bytes', 'self_times', 'record', 'top_operations', 'find_bottleneck',
                     'rows_at_ridge', 'triage', 'profiling_overhead', 'samples_needed',
                     'profile_forward_pass', 'profile_backward_pass'],
     '06_roofline': ['arithmetic_intensity', 'attainable_flops', 'matmul_bytes', 'attention_bytes',
                     'measure_peak_flops', 'measure_bandwidth', 'write_allocate',
                     'roofline_points', 'classify', 'inspect_step', 'chain', 'experts',
                     'fewer_passes', 'mfu', 'amdahl'],
     '07_scaling': ['local_exponents', 'fit_cost', 'holdout_error', 'predict_ms', 'cache_misses',
                    'order', 'set_misses', 'path', 'distances', 'reflect_crossover_tokens'],
     '08_benchmarking': ['run_order', 'rank_test', 'speedup_interval', 'gate', 'runs_interval',
                         'compare_results', 'percentile_interval', 'response_times', 'quantize',
                         'sparse_bytes', 'pareto', 'energy_joules', 'audit_speedups',
                         'audit_memory'],
     '09_optimization': ['diagnose', 'simulate_loader', 'loader_plan', 'half_gradients',
                         'single_ops', 'accumulate', 'recompute', 'checkpoint_plan', 'fuse',
                         'attend', 'merge', 'through_tiles']},
)
