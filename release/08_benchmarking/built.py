"""The course's own solutions of the exercises before 08_benchmarking.

Where mine.py holds functions of yours that pass their checks, those are used in place of these.

Made by `proflab assemble`.
"""

import functools
import math
import numpy as np
import os
import proflab
import psutil
import statistics
import time
import tracemalloc
from collections import Counter
from functools import cache
from proflab import Function, Tensor, autograd, dispatch, example_input, nn
from proflab.lesson import measuring, profiles
from proflab.lesson.demo import demo_size
from proflab.lesson.hardware import Hardware, this_machine
from proflab.lesson.inputs import real_inputs
from proflab.lesson.recorded import alike, median_rows, recorded_passes
from proflab.lesson.recording import (
    NO_ELEMENTWISE, Recorder, as_model, column, dtype_name, row_name, work_and_traffic,
)
from proflab.lesson.tensor_memory import TABLES, bytes_by_memory, memory_of, present
from proflab.lesson.tracebacks import own_function
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
    "saved_by",
    "optimizer_memory_mb",
    "training_memory",
    "MemoryProfiler",
    "find_leak",
    "recomputed_gradients",
    "Recompute",
    "checkpointed",
    "Checkpointed",
    "reflect_training_mb",
    "op_bytes",
    "op_elementwise",
    "op_facts",
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
    "profile_forward_pass",
    "profile_layer",
    "profile_backward_pass",
    "hot_functions",
    "profiling_overhead",
    "compare_architectures",
    "SUPPOSED",
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
    "roofline_points",
    "roofs",
    "passes_of",
    "measured_rows",
    "points_of",
    "classify",
    "inspect_step",
    "mfu",
    "amdahl",
    "reflect_relu",
]


# ── 01_parameters ─────────────────────────────────────────────────────────────────────────────


def linear_parameters(in_features, out_features, bias=True):
    """Return the number of parameters of a linear layer, an int.

    in_features, out_features: ints, at least 1. (Sizes of other types are not tested.)
    bias: True if the layer has a bias. The default is that of torch.nn.Linear.
    Raises ValueError when a size is below 1.
    """
    if min(in_features, out_features) < 1:
        raise ValueError(f"sizes must be at least 1, not {in_features} and {out_features}")
    return in_features * out_features + (out_features if bias else 0)


def conv2d_parameters(in_channels, out_channels, kernel_size, bias=True, groups=1):
    """Return the number of parameters of a 2-d convolution, an int: 9408, not 9408.0.

    in_channels, out_channels, groups: ints, at least 1.
    kernel_size: an int for a square kernel, or a tuple or list (height, width); each at least 1.
    bias: True if each output channel has a bias. The defaults are those of torch.nn.Conv2d.
    Raises ValueError when one of these numbers is below 1, when a tuple or list does not hold
    exactly two sizes, and when groups does not divide both in_channels and out_channels.
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
    Raises ValueError when d_model is below 1.
    """
    return 4 * linear_parameters(d_model, d_model, bias)


def count_parameters(model, trainable_only=False):
    """Return the number of parameters of a model, an int: all elements of its tensors.

    model: anything with .parameters(), which yields Tensors, perhaps the same object more than
        once: it counts once. Different tensors all count, even if they hold equal numbers.
        A bare Tensor is accepted, too; it has no .parameters(), and its count is 0.
    trainable_only: True leaves out frozen parameters, those whose requires_grad is False.
    Leave the model as it is. It may have changed when you are called again: count anew.
    Raises ValueError for anything else without .parameters().
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
    Raises ValueError when a size is below 1.
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
    Raises ValueError for an argument out of range.
    """
    if parameters < 1 or bytes_per_parameter <= 0 or memory_gb <= 0:
        raise ValueError("parameters, bytes_per_parameter and memory_gb must be positive")
    model_mb = parameters * bytes_per_parameter / 1024**2
    return {"model_mb": model_mb, "fits": model_mb <= memory_gb * 1024}


# ── 02_flops ──────────────────────────────────────────────────────────────────────────────────


def matmul_flops(m, k, n):
    """Return the FLOPs of a matrix product, (m, k) times (k, n).

    m, k, n: ints, at least 1. Returns an int. Raises ValueError when a size is below 1.
    """
    if min(m, k, n) < 1:
        raise ValueError(f"sizes must be at least 1, not {m}, {k} and {n}")
    return 2 * m * k * n


def linear_flops(input_shape, out_features):
    """Return the FLOPs of a linear layer on an input of this shape, without its bias.

    input_shape: (..., in_features), a tuple or a list with any number of leading dimensions, also
        none; all are counted. out_features: int, at least 1. Returns an int.
    Raises ValueError when the shape is empty, or a size is below 1.
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
    Raises ValueError when input_shape does not have four sizes; when one of them, out_channels, a
    kernel size, a stride or a dilation is below 1; when padding is negative; when a tuple or list
    is not a pair; and when the window does not fit into the padded image.
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
    Returns an int. Raises ValueError as conv2d_output_shape does, and for groups that do not fit.
    """
    output = conv2d_output_shape(input_shape, out_channels, kernel_size, stride, padding, dilation)
    channels = input_shape[1]
    if groups < 1 or channels % groups or out_channels % groups:
        raise ValueError(f"{channels} and {out_channels} channels do not make {groups} groups")
    return 2 * math.prod(output) * channels // groups * math.prod(pair(kernel_size))


def attention_flops(batch, seq, d_model, heads, causal=False):
    """Return the FLOPs of multi-head self-attention: four projections, scores, and mix.

    batch, seq (tokens), d_model (width), heads: ints, at least 1; heads divides d_model.
    causal: of scores and mix count only the pairs of a token with itself and those before it.
    Returns an int; no bias, no softmax. Raises ValueError unless all sizes are as said above.
    """
    if min(batch, seq, d_model, heads) < 1 or d_model % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d_model}, or a size is below 1")
    projections = 4 * linear_flops((batch, seq, d_model), d_model)
    pairs = seq * (seq + 1) // 2 if causal else seq * seq
    return projections + 2 * matmul_flops(batch * pairs, d_model, 1)

# This course's convention: FLOPs for each element of the op's result.
ELEMENTWISE = {
    "add": 1, "mul": 1, "relu": 1, "bias": 1, "gelu": 8, "softmax": 5, "layer_norm": 8,
    "batch_norm": 2, "batch_norm_train": 8,  # in eval it is one multiply-add
}  # fmt: skip


def elementwise_flops(op, shape):
    """Return the FLOPs of an elementwise op whose result has this shape, by the table ELEMENTWISE.

    op: a key of the table. shape: a tuple of ints, at least 1; () is a single number.
    Returns an int. Raises ValueError for an op that is not in the table, and for a size below 1.
    """
    if op not in ELEMENTWISE or any(size < 1 for size in shape):
        raise ValueError(f"{op!r} on {shape}: the table has {', '.join(ELEMENTWISE)}")
    return ELEMENTWISE[op] * math.prod(shape)


def einsum_flops(equation, shapes):
    """Return the FLOPs of an einsum of one operand or two.

    equation: labels with "->", no spaces, no "...", no label twice in one part: "bij,jk->bik".
    shapes: a list of as many shapes as there are operands. Returns an int: 0 for one operand, and
    where no label that both have is summed. Raises ValueError for more than two operands.
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
    """abs adaptive_avg_pool2d add all amax amin any argmax argmin argsort atan avg_pool2d batch_norm
    cat ceil clamp clone cos cumsum div dropout elu embedding eq erf exp exp2 expand expm1 flip floor
    floor_divide gather ge gelu getitem group_norm gt hardswish index index_put isfinite isinf isnan
    layer_norm le leaky_relu log log10 log1p log2 log_softmax logical_and logical_not logical_or
    logical_xor logsumexp lt masked_fill max_pool2d maximum mean minimum mul ne neg nll_loss nonzero
    pad permute pow prod rdiv reciprocal relu relu6 remainder reshape roll round rsqrt rsub
    scatter_add sigmoid sign silu sin softmax softplus split sqrt square sub sum tan tanh to tril triu
    trunc var where""".split()
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
    per_sample: count one sample. False: count the whole batch of input_shape.
    Returns an int. The model stays as it is. Raises NotImplementedError with a message that names
    an op for which there is no rule; ValueError if `model` or `input_shape` is not what it says.
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
    its gradient is computed. A bias and a mask have no product of their own.
    Returns an int. Raises NotImplementedError as op_flops does, whatever is wanted.
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
    Returns an int. The model stays as it is. Raises as count_flops does.
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
    """
    forward = count_flops(model, input_shape, per_sample)
    return forward + backward_flops(model, input_shape, input_grad, per_sample)


def reflect_6nd(parameters, tokens):
    """Return the FLOPs of training a language model by the 6 · N · D rule.

    parameters (N), tokens (D): ints, at least 1. Returns an int, exact.
    Raises ValueError when one is below 1.
    """
    if min(parameters, tokens) < 1:
        raise ValueError(f"parameters and tokens must be at least 1, not {parameters}, {tokens}")
    return 6 * parameters * tokens


# ── 03_latency ────────────────────────────────────────────────────────────────────────────────


class Timer:
    """A stopwatch: `with Timer() as timer: …`, or start and stop by hand; then timer.elapsed_ms.

    Used again, it measures anew. The time is right also when what it measures raises.
    """

    elapsed_ms = 0.0  # the last time measured, in milliseconds
    began = None  # None: not running

    def start(self):
        """Begin to measure; also anew, when it is running already."""
        self.began = time.perf_counter()

    def stop(self):
        """Set elapsed_ms to the time since start, a float. RuntimeError when it is not running."""
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
    """The smallest step by which the clock was seen to move, in ms.

    samples: int, at least 1: how many of its steps are looked at, in as many readings as that
    takes; two equal readings are no step. Returns a float above 0. Raises ValueError below 1.
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
    """How many calls of fn, timed together, make a sample that is long enough.

    fn: a function without arguments. Its very first call is made and not timed, for it is cold.
    min_time_ms: above 0. Returns an int: the first of 1, 2, 4, 8, … for which so many calls in a
    row were seen to take min_time_ms or more. Raises ValueError when min_time_ms is not above 0.
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
    """The median time in ms of calls model(x), each timed by itself.

    model: called with x, warmup + iterations times, not once more, in the mode (train or eval)
    that it is in and stays in. warmup: calls that are made first and do not count, 0 or more.
    iterations: calls that are timed, 1 or more. Returns a float, not rounded. Raises ValueError when one of the two is below that.
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
    """What many times amount to.

    times_ms: times in ms, a list, at least one, in any order; it is left as it is.
    Returns a dict of floats in ms: mean, median, std (over n − 1; 0.0 for a single time), min, max,
    p50, p95, p99 (interpolated in proportion, as above), none of them rounded. Raises ValueError
    when there is no time.
    """
    if len(times_ms) == 0:
        raise ValueError("there are no times to sum up")
    p50, p95, p99 = np.percentile(times_ms, [50, 95, 99]).tolist()
    std = statistics.stdev(times_ms) if len(times_ms) > 1 else 0.0
    found = {"mean": statistics.fmean(times_ms), "median": p50, "std": std}
    return found | {"min": min(times_ms), "max": max(times_ms), "p50": p50, "p95": p95, "p99": p99}


def latencies(model, x, iterations=100, warmup=10):
    """The times in ms of so many calls, in order: your own function, asked for one at a time."""
    first = measure_latency(model, x, warmup, iterations=1)
    return [first] + [measure_latency(model, x, 0, 1) for _ in range(iterations - 1)]


def confidence_interval(times_ms, confidence=0.95):
    """An interval that holds the true median with a probability of at least `confidence`.

    times_ms: a list in any order, also of thousands; it is left as it is. confidence: above 0 and
    below 1. Returns (low, high), the l-th smallest and the l-th largest time, for the largest l
    that is good enough, by the exact binomial distribution. Raises ValueError where none is (below
    6 times at 95 %), and for a confidence out of range.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, which {confidence} does not")
    n, rank, missed = len(times_ms), 0, 1
    while 1 - 2 * missed / 2**n >= confidence:
        rank += 1
        missed += math.comb(n, rank)
    if rank == 0:
        raise ValueError(f"{n} times are too few for a confidence of {confidence}")
    ordered = sorted(times_ms)
    return ordered[rank - 1], ordered[n - rank]


def in_turns(cases, rounds):
    """Times in ms of cases {name: (model, x)}: a call of each a round, one to warm up before it."""
    times = {name: [] for name in cases}
    for _ in rounds:
        for name, (model, x) in cases.items():
            times[name].append(measure_latency(model, x, warmup=1, iterations=1))
    return times


def told_apart(name, times_ms, other, other_ms):
    """A sentence: which of two takes less time, if their 95 % intervals can tell."""
    (low, high), (other_low, other_high) = map(confidence_interval, (times_ms, other_ms))
    median, others = map(statistics.median, (times_ms, other_ms))
    said = f"{name} {median:.3g} ms, {other} {others:.3g} ms: "
    if low <= other_high and other_low <= high:
        return said + "the intervals overlap, so these times cannot tell them apart"
    faster = name if median < others else other
    return said + f"{faster} is faster, {max(median, others) / min(median, others):.2f} times"


def measurement_warnings(times_ms, resolution_ms):
    """What speaks against a measurement: codes of the table above, in its order.

    times_ms: times in ms, a list, in the order of measurement. resolution_ms: the clock's step.
    The thirds for `drift` are the first and the last n // 3 of n times; what they differ by is
    compared with the median of the first. Below 3 times there is no drift.
    Returns a list of str, empty when nothing does. Raises ValueError for no times, and for a step
    that is not above 0.
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
    """Samples a second.

    batch_size: int, at least 1. latency_ms: how long the whole batch takes, above 0.
    Returns a float. Raises ValueError when an argument is out of range.
    """
    if batch_size < 1 or not latency_ms > 0:
        raise ValueError(f"{batch_size} samples in {latency_ms} ms is not possible")
    return 1000 * batch_size / latency_ms


def best_batch(sizes, latencies_ms, rule):
    """The batch size to choose, of those that were measured.

    sizes: a list of batch sizes, in any order. latencies_ms: how long each takes.
    rule: "throughput", the most samples a second; "latency", the shortest time; "efficiency", the
    smallest that reaches 90 % of the best throughput. Of equally good ones the smallest.
    Returns one of sizes. Raises ValueError for empty lists, lists of different lengths, an unknown
    rule, and a size or a time that throughput does not accept.
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
    """Measures what a block of code allocates: `with MemoryTracker() as tracker: …`.

    peak_mb: the most that was allocated at one time, over what was there at the start.
    current_mb: what is allocated at the end, over what was there at the start; negative where more
        was freed. Both are floats in MB of 1024² bytes, not rounded, and there after `stop`.
    Trackers may be nested, the inner one ends first: each finds what it would find alone. They may
    be used again. Tracing goes on afterwards if it was on before, and is off if it was off.
    frames: how much of the call stack tracemalloc writes down with each block.
    """

    running = []  # the trackers that have been started and not yet stopped, the outermost first

    def __init__(self, frames=1):
        self.frames = frames

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    def start(self):
        """Begin to measure; start tracing, with `frames`, where it is off."""
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
        """Stop measuring: set peak_mb and current_mb, and stop tracing if this one started it."""
        current, peak = tracemalloc.get_traced_memory()
        for tracker in self.running:
            tracker.peak = max(tracker.peak, peak)
        self.running.remove(self)
        if self.started:
            tracemalloc.stop()
        self.peak_mb = (self.peak - self.before) / MB
        self.current_mb = (current - self.before) / MB


def measure_memory(model, input_shape):
    """What one forward pass of a model takes, measured.

    model: a Module with data; it is called once, as it is. input_shape: batch first, counted in
        full; or whatever else example_input takes. The input is not counted.
    Returns a dict of floats, not rounded, in MB of 1024² bytes but for the last:
        parameter_memory_mb: all of the model's parameters (lesson 01)
        activation_memory_mb: what is allocated after the pass, over what was allocated before it,
            while its output is held, and by it the graph for backward
        peak_memory_mb: the parameters, and the most that was allocated during the pass, over what
            was allocated before it
        memory_efficiency: parameters and activations, divided by the peak
    Raises ValueError for what is no model, and for what is no shape.
    """
    parameters, inputs = parameter_memory_mb(model), real_inputs(model, input_shape)
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
    """The bytes that a forward pass keeps for the backward pass.

    model: a Module, with data or on meta, or anything else that can be called; in the mode (train
        or eval) that it is in. input_shape: batch first, counted in full.
    Counted is each storage once, and as a whole, also where only a part of it is looked at; but no
    storage of the inputs, and none of the parameters and buffers that the model has.
    Returns an int. Runs on meta inputs (lesson 02's meta_inputs, per_sample=False), so that
    nothing is computed. Raises ValueError for what cannot be called, and for what is no shape.
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


def saved_by(model, shape, part):
    """Saved bytes by the part of the model that kept them first; `part` maps a module's path."""
    inputs = meta_inputs(model, shape, per_sample=False)
    seen = {t.storage for t in (*inputs, *model.parameters(), *model.buffers())}
    found = Counter()

    def pack(tensor):
        if tensor.storage not in seen:
            seen.add(tensor.storage)
            found[part(dispatch.module_path())] += tensor.storage.nbytes
        return tensor

    # While a hook is on, proflab knows which module is being called.
    with dispatch.hook(lambda call: call()), proflab.saved_tensors(pack, lambda tensor: tensor):
        model(*inputs)
    return found


def optimizer_memory_mb(model, optimizer):
    """The memory of an optimizer's state, in MB of 1024² bytes.

    model: as for count_parameters (lesson 01). Only parameters that are trained have a state
        (requires_grad), each once, at its own dtype.
    optimizer: "sgd" (nothing), "momentum" (once the parameters), "adam" or "adamw" (twice).
    Returns a float. Raises ValueError for another optimizer, and for what is no model.
    """
    copies = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}
    if optimizer not in copies:
        raise ValueError(f"{optimizer!r} is none of {', '.join(copies)}")
    if count_parameters(model, trainable_only=True) == 0:
        return 0.0
    trained = {id(p): p.nbytes for p in model.parameters() if p.requires_grad}
    return copies[optimizer] * sum(trained.values()) / MB


def training_memory(model, input_shape, optimizer, activation_mb=None):
    """What training a model takes, by its parts.

    model, input_shape: as for saved_activations; optimizer: as for optimizer_memory_mb.
    activation_mb: the memory of the activations where it is known, at least 0; None: count it.
        Where it is given, input_shape is not used.
    Returns a dict of floats in MB of 1024² bytes: parameter_mb, gradient_mb (of what is trained),
    optimizer_mb, activation_mb, and total_mb, their sum.
    Raises ValueError as these two do, and for a negative activation_mb.
    """
    if activation_mb is None:
        activation_mb = saved_activations(model, input_shape) / MB
    if activation_mb < 0:
        raise ValueError(f"activations cannot take {activation_mb} MB")
    parts = {
        "parameter_mb": parameter_memory_mb(model),
        "gradient_mb": optimizer_memory_mb(model, "momentum"),  # a number for each, as here
        "optimizer_mb": optimizer_memory_mb(model, optimizer),
        "activation_mb": float(activation_mb),
    }
    return parts | {"total_mb": sum(parts.values())}


class MemoryProfiler:
    """The resident memory of this process at moments with a name."""

    def __init__(self):
        self.snapshots = []

    def snapshot(self, label):
        """Note this process's resident memory now, by psutil's memory_info().rss.

        label: a string that is not empty; the same one may come again. Raises ValueError for "".
        """
        if not label:
            raise ValueError("a snapshot needs a label")
        self.snapshots.append((label, psutil.Process().memory_info().rss / MB))

    def report(self):
        """What was noted: a row for each snapshot, in order.

        Returns a list of dicts: label, rss_mb (float, MB of 1024² bytes, not rounded), delta_mb
        (float, over the snapshot before it; 0.0 for the first). Prints a line for each that has the
        label, and both numbers with one decimal; what else it prints is open. May be asked for
        again.
        Raises ValueError where there is no snapshot.
        """
        if not self.snapshots:
            raise ValueError("there is no snapshot to report")
        rows, before = [], self.snapshots[0][1]
        for label, rss in self.snapshots:
            rows.append({"label": label, "rss_mb": rss, "delta_mb": rss - before})
            before = rss
            print(f"{label:<16}{rss:>10.1f} MB {rows[-1]['delta_mb']:>+10.1f}")
        return rows


def find_leak(step, steps):
    """What a step leaves behind, each time it runs, and who allocates it.

    step: a function without arguments. It is called once for what only the first call makes and
        keeps (a cache, an optimizer's state), then `steps` times (an int, at least 1), which are
        compared.
    Returns a dict: bytes_per_step (float), by how much more is allocated, on average over the
    steps (what a step replaces or frees is no growth); and function, the name of the function
    (see own_function) that allocated most of what has grown, on whatever lines; None where a
    step leaves less than a page, 4,096 bytes. Raises ValueError for steps below 1.
    Tracing is off afterwards if it was off before, also where step raises.
    """
    if steps < 1:
        raise ValueError(f"a leak shows over at least one step, not over {steps}")
    with MemoryTracker(frames=25):
        step()  # traced, so that what it allocates and a later step replaces is no growth
        before = tracemalloc.take_snapshot()
        for _ in range(steps):
            step()
        rows = tracemalloc.take_snapshot().compare_to(before, "traceback")
    grown = Counter()
    for row in rows:
        if row.size_diff:
            grown[own_function(row.traceback)] += row.size_diff
    rate = sum(grown.values()) / steps
    worst = max(grown, key=grown.get) if rate >= 4096 else None
    return {"bytes_per_step": rate, "function": worst}


def recomputed_gradients(run, x, parameters, grad):
    """The gradients of a piece of a model, which is run for that once more.

    run: a function of x, the piece. x: its input, a leaf. parameters: the tensors, each once, that
        it uses and that may require a gradient. grad: the gradient of run(x), a Tensor.
    Returns a list of Tensors: the gradient of x, and those of the parameters, in order; None for
    each that requires none or that run does not use. Every `.grad` stays as it is. Works also
    where no graph is being recorded, as in a backward pass.
    """
    tensors = [x, *parameters]
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    if not wanted:
        return [None] * len(tensors)
    with proflab.enable_grad():
        y = run(x)
    found = iter(autograd.grad(y, wanted, grad))
    return [next(found) if tensor.requires_grad else None for tensor in tensors]


class Recompute(Function):
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
    """A function that computes what the layers compute, one after another, with less memory.

    layers: a list of Modules that draw no random numbers.
    every: int, at least 1: so many layers make a segment; the last one may be shorter.
    Returns a function of one tensor. Of each segment only its input is kept for the backward pass,
    which runs each segment once more. Gradients are those that the layers give without it, of
    what requires one: parameters, and the input. (So each segment's parameters go to Recompute.)
    Raises ValueError where there are no layers, and for `every` below 1.
    """
    if every < 1 or not len(layers):
        raise ValueError(f"{len(layers)} layers cannot be run {every} at a time")
    segments = [nn.Sequential(*layers[i : i + every]) for i in range(0, len(layers), every)]

    def run(x):
        for segment in segments:
            x = Recompute.apply(segment, x, *segment.parameters())
        return x

    return run


class Checkpointed(nn.Module):
    """Layers as a model with checkpoints."""

    def __init__(self, layers, every):
        self.layers = nn.ModuleList(layers)
        self.run = checkpointed(list(self.layers), every)

    def forward(self, x):
        return self.run(x)


def reflect_training_mb(parameters, copies, activation_mb, unit=1024**2, rounded_to=1):
    """The memory of training as a report may have calculated it, in MB of `unit` bytes.

    parameters: int, at least 1; taken as its nearest multiple of rounded_to (int, at least 1):
        with 10**6, 124,439,808 are 124 million. Each copy of a parameter has 4 bytes.
    copies: int, at least 1: 4 for Adam (parameter, gradient, two of state).
    activation_mb: at least 0, in the report's MB, added as it is. unit: int, at least 1.
    Returns a float. Raises ValueError for an argument out of range.
    """
    if min(parameters, copies, unit, rounded_to) < 1 or activation_mb < 0:
        raise ValueError("activation_mb must be at least 0, and all others at least 1")
    taken = round(parameters / rounded_to) * rounded_to
    return 4 * copies * taken / unit + activation_mb


# ── 05_profiler ───────────────────────────────────────────────────────────────────────────────


def op_bytes(call, result):
    """The bytes that one op has to move: (read, written), two ints.

    call: what a hook gets, with op, phase, inputs, grad and saved. grad is a Tensor, or a list of
        Tensors and None for an op with many results.
    result: what call() returned: a Tensor, or a tuple of Tensors and None.
    Returns (0, 0) for a view, where nothing is written. Else
    written: what the result has in memory that is not read.
    read: in the forward pass the inputs; but of its table an op in TABLES reads as much as it
        writes. In the backward pass the gradient, and what was saved.
    """
    forward = call.phase == "forward"
    read = bytes_by_memory(call.inputs if forward else present(call.grad) + call.saved)
    made = bytes_by_memory(present(result))
    for memory in read:
        made.pop(memory, None)
    written = sum(made.values())
    if not written:
        return 0, 0
    if forward and call.op in TABLES:
        read[memory_of(call.inputs[TABLES[call.op]])] = written
    return sum(read.values()), written


def op_elementwise(call, shape):
    """The elementwise FLOPs of one op whose forward result has this shape, by our convention."""
    op, inputs = call.op, call.inputs
    if op in NO_ELEMENTWISE:
        return 0
    size = math.prod(shape)
    if op in ("linear", "conv2d"):
        return ELEMENTWISE["bias"] * size if len(inputs) == 3 else 0
    if op == "scaled_dot_product_attention":  # a softmax over keys for each row of the result
        return ELEMENTWISE["softmax"] * size // shape[-1] * inputs[1].shape[-2]
    if op == "batch_norm" and call.attributes["training"]:
        op = "batch_norm_train"
    if op in ELEMENTWISE:
        return ELEMENTWISE[op] * size
    return max([size, *[t.numel() for t in inputs]])


def op_facts(call, result):
    """What is known of one op apart from its time.

    call, result: as for op_bytes. Returns a dict of plain data:
        op, module, phase: strings; module is call.module_path.
        input_shapes: a list of tuples. output_shape: a tuple, dtype: a string such as "float32", of
            the forward's result; in the backward pass that is what the gradient has. Of many
            results, the first that is a Tensor.
        matmul_flops: as op_flops counts, in the backward pass as gradient_flops.
        elementwise_flops: as op_elementwise counts. bytes_read, bytes_written: as op_bytes.
    Raises NotImplementedError as op_flops does.
    """
    shapes = [t.shape for t in call.inputs]
    if call.phase == "forward":
        output = present(result)[0]
        flops = op_flops(call.op, shapes, call.attributes)
    else:
        output = present(call.grad)[0]
        wanted = [t.requires_grad for t in call.inputs]
        flops = gradient_flops(call.op, shapes, call.attributes, wanted)
    read, written = op_bytes(call, result)
    return {
        "op": call.op, "module": call.module_path, "phase": call.phase,
        "input_shapes": shapes, "output_shape": output.shape, "dtype": dtype_name(output.dtype),
        "matmul_flops": flops, "elementwise_flops": op_elementwise(call, output.shape),
        "bytes_read": read, "bytes_written": written,
    }  # fmt: skip


def add_row(rows, first, start, end, facts):
    """Append to `rows` the row of something that has ended; returns nothing.

    rows: a Rows; its depth no longer counts it. first: len(rows) as it was when it began.
    start, end: what time.perf_counter_ns() showed then, and when it ended: ints, in ns.
    facts: a dict, which stays as it is. The row has its keys and values, and
        start_ms: float, in ms after rows.start. ms: float, from start to end.
        self_ms: float, ms less the ms of what ran right inside it: of the rows since `first` those
            that are one deeper. depth: int, how many were running around it.
    """
    ms, depth = (end - start) / 1e6, rows.depth
    inside = sum([row["ms"] for row in rows[first:] if row["depth"] == depth + 1])
    times = {"start_ms": (start - rows.start) / 1e6, "ms": ms, "self_ms": ms - inside}
    rows.append({**facts, **times, "depth": depth})


def record(call, rows):
    """The hook that records: runs call(), adds its row, returns what call() returned.

    rows: a Rows. Its depth is 1 more while call() runs, and as before when record has ended, also
        when call() raises; then no row is added.
    The row is that of add_row, with the facts of op_facts and the time of call() alone, by
    time.perf_counter_ns. Raises what call() raises, and NotImplementedError as op_facts does.
    """
    first, start = len(rows), time.perf_counter_ns()
    rows.depth += 1
    try:
        result = call()
    finally:
        end = time.perf_counter_ns()
        rows.depth -= 1
    add_row(rows, first, start, end, op_facts(call, result))
    return result


class OpRecorder(Recorder):
    """`with OpRecorder() as recorder:` records every op inside; then they are in recorder.rows.

    Entered again, it begins anew. What is inside may raise: what was recorded until then is there.
    `with region("data loading"):` inside adds a row of op "region", whose module is that name.
    """

    def watch(self, call):
        return record(call, self.rows)

    def end_region(self, first, start, end, facts):
        add_row(self.rows, first, start, end, facts)


def rows_of(function):
    """The rows of what function() runs."""
    with OpRecorder() as recorder:
        function()
    return recorder.rows

MEASURES = ("ms", "matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")


def top_operations(rows, n, by="ms"):
    """The n names of which there is most, as a list of dicts, the largest share first.

    rows: of a recording, at least one. Those of one row_name belong together, whatever else.
    n: int, at least 1; where there are fewer names, there are fewer dicts.
    by: one of MEASURES: what shares are of. "ms" means self_ms, so that no time counts twice.
    Returns dicts with name (str), ms (float: the sum of self_ms, whatever `by` is) and share
    (float: the part that the name has of the sum over all rows; 0.0 where that sum is 0). Equal
    shares stay in the order in which the names came first.
    Raises ValueError for no rows, n below 1, and a `by` that is not in MEASURES.
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
    tops = top_operations(rows, n, by)
    print(", ".join(f"{100 * top['share']:.0f} % {top['name']}" for top in tops))

ARGS = ("module", "matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")


def chrome_trace(rows):
    """A recording in the trace event format, for viewers.

    Returns {"traceEvents": [...]}, with an event for each row: a dict of name (row_name), cat
    (phase), ph ("X"), ts and dur (start_ms and ms, as floats in µs), pid and tid (both 1), and
    args: a dict of the row's values for the keys in ARGS.
    Events are in the order of their ts; of those that begin together the one of less depth is first.
    Raises ValueError where there are no rows.
    """
    if not rows:
        raise ValueError("there are no rows, so there is no trace")
    events = [
        {
            "name": row_name(row), "cat": row["phase"], "ph": "X", "ts": row["start_ms"] * 1000,
            "dur": row["ms"] * 1000, "pid": 1, "tid": 1, "args": {key: row[key] for key in ARGS},
        }
        for row in sorted(rows, key=lambda row: (row["start_ms"], row["depth"]))
    ]  # fmt: skip
    return {"traceEvents": events}


def find_bottleneck(flops, bytes_moved, hardware):
    """What limits work of so many FLOPs and bytes: "compute" or "memory".

    flops, bytes_moved: ints, at least 0, not both 0. hardware: a Hardware, with peak_flops in
        FLOP/s and bandwidth in bytes/s; or None.
    Returns "compute" where calculating at the peak takes at least as long as moving at full
    bandwidth, "memory" where it does not, and None where hardware is None.
    Raises ValueError for a negative number, and where there is neither.
    """
    if min(flops, bytes_moved) < 0 or flops == bytes_moved == 0:
        raise ValueError(f"{flops} FLOPs and {bytes_moved} bytes are no work")
    if hardware is None:
        return None
    slower = flops / hardware.peak_flops >= bytes_moved / hardware.bandwidth
    return "compute" if slower else "memory"


def profile_forward_pass(model, x, hardware, warmup=3, iterations=10):
    """What one forward pass, model(x), costs.

    model: a Module; or a bare Tensor, which counts as in lessons 01 and 02, and is run as
        as_model(tensor). x: its input, a Tensor, batch first. hardware: a Hardware, or None.
    Returns a dict:
        parameters: int. flops: int, as count_flops has it, for the whole of x.
        latency_ms: float, measure_latency with this warmup and these iterations.
        peak_memory_mb: float, as measure_memory has it.
        gflops_per_second: float, 10⁹ FLOPs a second: these FLOPs in that time.
        bottleneck: find_bottleneck of all FLOPs, elementwise ones too, and all bytes, read and
            written, of the pass's ops (record them); None also where nothing moves.
    The model runs in the mode that it is in. Raises what its parts raise.
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
    """What a forward pass through one layer costs.

    layer: a Module. input_shape: batch first, all of it is run; example_input makes the input.
    hardware: as for profile_forward_pass, which makes the dict that is returned.
    Raises ValueError for what is no shape.
    """
    return profile_forward_pass(layer, example_input(layer, input_shape), hardware)


def profile_backward_pass(model, x, hardware, warmup=1, iterations=5):
    """What a forward and a backward pass cost, from the sum of all elements of all outputs.

    model: a Module. x, hardware, warmup, iterations: as for profile_forward_pass.
    The gradients are computed, of the parameters that require one; the model's own .grad stay.
    Raises what its parts raise. Returns a dict:
        forward_memory_mb: float, the peak_memory_mb of measure_memory.
        gradient_memory_mb: float, of all gradients that the backward pass gave to parameters.
        total_memory_mb: float, the sum of these two.
        optimizer_memory_estimates: a dict, for "sgd", "momentum", "adam", "adamw" the float that
            optimizer_memory_mb has.
        flops: int, of the products of both passes. latency_ms: float, of both.
        gflops_per_second, bottleneck: of these, as in profile_forward_pass.
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


def hot_functions(stats, n, by="tottime"):
    """The n functions of which there is most in a cProfile run, as a list of dicts, largest first.

    stats: a pstats.Stats. n: int, at least 1. by: "calls", "tottime" or "cumtime"; equal ones stay
        in the order in which stats has them.
    Returns dicts with function: "file.py:12(name)", the file without its folders, and the name
    alone for a file "~"; calls: int, recursive ones included; tottime, cumtime: floats, in s.
    Raises ValueError for n below 1, another `by`, and stats without functions.
    """
    if n < 1 or by not in ("calls", "tottime", "cumtime") or not stats.stats:
        raise ValueError(f"no top {n} by {by!r} of {len(stats.stats)} functions")
    rows = []
    for (file, line, name), (_, calls, tottime, cumtime, _) in stats.stats.items():
        place = name if file == "~" else f"{os.path.basename(file)}:{line}({name})"
        rows.append({"function": place, "calls": calls, "tottime": tottime, "cumtime": cumtime})
    return sorted(rows, key=lambda row: row[by], reverse=True)[:n]


def profiling_overhead(fn, profiled, rounds=11):
    """How many times as long profiled() takes as fn(): 1.05 is an overhead of 5 %.

    fn, profiled: functions without arguments, of which the second does the same under a profiler.
    rounds: int, at least 1. In each round fn is called once and then profiled once, both timed; a
        round before these, not counted, warms up.
    Returns a float, the median time of profiled divided by the median time of fn.
    Raises ValueError for rounds below 1.
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


def compare_architectures(models, inputs):
    """A row for each model, in the order of `models`: what a forward pass costs.

    models: a dict from names to Modules, at least one. inputs: a dict from the same names to what
        example_input takes, such as a shape, batch first.
    Returns a list of dicts: name, and of profile_forward_pass, without a machine: parameters,
    flops, latency_ms, peak_memory_mb, gflops_per_second.
    Raises ValueError where there are no models, or the names of the two differ.
    """
    if not models or models.keys() != inputs.keys():
        raise ValueError(f"models {list(models)} and inputs {list(inputs)} do not belong together")
    rows = []
    for name, model in models.items():
        found = profile_forward_pass(model, example_input(model, inputs[name]), None)
        rows.append({"name": name} | {k: v for k, v in found.items() if k != "bottleneck"})
    return rows

SUPPOSED = Hardware(1e11, 2e10, "a computer as one would suppose", "a guess; lesson 06 measures")


class Profiler(OpRecorder):
    """All of lessons 01 to 05 for one machine: what a model weighs, computes, takes and needs.

    `with Profiler() as profiler:` records what runs inside; then profiler.rows has the rows, and
    print_top_operations prints what took longest. hardware: as for profile_forward_pass.
    """

    count_parameters, count_flops = staticmethod(count_parameters), staticmethod(count_flops)

    def __init__(self, hardware=SUPPOSED):
        super().__init__()
        self.hardware = hardware

    def measure_memory(self, model, input_shape):
        return measure_memory(as_model(model), input_shape)

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


def quick_profile(model, x, hardware=SUPPOSED):
    """Print what one forward pass costs and where its time goes; returns the dict of it."""
    found = profile_forward_pass(model, x, hardware, warmup=1, iterations=5)
    profiles.print_pass(found, hardware.name)
    if rows := rows_of(lambda: as_model(model)(x)):
        print_top_operations(rows)
    return found


def profile(function):
    """`@profile` above a function: each call prints where its time went, as your recorder sees it.

    The rows of the last call are in function.rows.
    """

    @functools.wraps(function)
    def watched(*args, **options):
        with OpRecorder() as recorder:
            result = function(*args, **options)
        watched.rows = rows = recorder.rows
        print(f"{function.__name__}: {sum(column(rows, 'self_ms')):.2f} ms", end="; ")
        print_top_operations(rows) if rows else print("no ops")
        return result

    return watched


# ── 06_roofline ───────────────────────────────────────────────────────────────────────────────


def arithmetic_intensity(flops, bytes_moved):
    """FLOPs for each byte that is moved.

    flops: at least 0. bytes_moved: above 0. Returns a float.
    Raises ValueError for an argument out of range.
    """
    if flops < 0 or bytes_moved <= 0:
        raise ValueError(f"no computation does {flops} FLOPs on {bytes_moved} bytes")
    return flops / bytes_moved


def ridge_point(peak_flops, bandwidth):
    """The intensity, in FLOPs a byte, at which a machine computes as long as it moves.

    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0. Returns a float.
    Raises ValueError for an argument out of range.
    """
    if peak_flops <= 0 or bandwidth <= 0:
        raise ValueError(f"roofs must be positive, not {peak_flops} and {bandwidth}")
    return peak_flops / bandwidth


def attainable_flops(intensity, peak_flops, bandwidth):
    """The most FLOP/s that a computation of this intensity can reach on a machine.

    intensity: FLOPs a byte, at least 0; math.inf for one that moves nothing.
    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0. Returns a float.
    Raises ValueError for an argument out of range.
    """
    if intensity < 0 or peak_flops <= 0 or bandwidth <= 0:
        raise ValueError(f"no roof of {peak_flops} and {bandwidth} at an intensity of {intensity}")
    return float(min(peak_flops, intensity * bandwidth))


def matmul_bytes(m, k, n, itemsize):
    """The unique bytes of a matrix product, (m, k) times (k, n): two matrices read, one written.

    m, k, n: ints, at least 1. itemsize: bytes of a number, at least 1. Returns an int.
    Raises ValueError for an argument below 1.
    """
    if min(m, k, n, itemsize) < 1:
        raise ValueError(f"sizes must be at least 1, not {m}, {k}, {n} and {itemsize}")
    return (m * k + k * n + m * n) * itemsize


def elementwise_bytes(shape, inputs, itemsize):
    """The unique bytes of an elementwise op: its inputs are read, and one result written.

    shape: a tuple of ints, at least 1, of the result and of each input; () is a single number.
    inputs: how many tensors are read, at least 0. itemsize: bytes of a number, at least 1.
    Returns an int. Raises ValueError for an argument out of range.
    """
    if any(size < 1 for size in shape) or inputs < 0 or itemsize < 1:
        raise ValueError(f"{inputs} inputs of {shape} and {itemsize} bytes cannot be")
    return (inputs + 1) * math.prod(shape) * itemsize


def attention_bytes(batch, heads, seq, head_dim, itemsize, fused):
    """The bytes that attention moves between query, key, value and output; optional, no points.

    batch, heads, seq (tokens), head_dim (width of a head), itemsize: ints, at least 1.
    fused: whether scores stay in the cache. If not, they are written by the first product and read
        by the softmax, whose results are written, and read by the second product.
    Query, key and value, each (batch, heads, seq, head_dim), are read once, which is the least (a
    fused kernel reads keys and values anew for each tile of queries), and an output of that shape
    is written. Returns an int. Raises ValueError for an argument below 1.
    """
    if min(batch, heads, seq, head_dim, itemsize) < 1:
        raise ValueError("batch, heads, seq, head_dim and itemsize must be at least 1")
    row = 4 * head_dim + (0 if fused else 4 * seq)
    return batch * heads * seq * row * itemsize


def measure_peak_flops(matmul=np.matmul, sizes=(384, 512, 768, 1024), dtype=np.float32, repeats=20):
    """The most FLOP/s that a matrix product reaches: the best of all timed calls.

    matmul: called as matmul(a, b) or matmul(a, b, out=c), with arrays of n rows and n columns.
    sizes: a list or tuple of the n to try, in this order; ints, at least 1. dtype: of all arrays.
    repeats: int, at least 1. Of each n, one product is not timed; then `repeats` are, one by one.
    Returns a float, FLOP/s. Raises ValueError for no sizes, and for a size or repeats below 1.
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
    """The most bytes that a copy reads and writes in a second: the best of all timed calls.

    working_set: bytes of source and destination together, a multiple of 16; half for each.
    copy: called as copy(destination, source), with one-dimensional arrays of the same size and
        dtype. Both have been written before, with numbers that are not all 0.
    repeats: int, at least 1. One copy is not timed; then `repeats` are, one by one.
    Returns a float, bytes/s. Raises ValueError for a working_set below 16, or repeats below 1.
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


def roofline_points(rows, hardware):
    """The place of each recorded row under a machine's roof.

    rows: a list of dicts with at least op, module (strings), self_ms (what the op took itself),
        matmul_flops, elementwise_flops, bytes_read and bytes_written.
    hardware: has peak_flops, in FLOP/s, and bandwidth, in bytes/s.
    Returns a list of dicts, in the order of the rows:
        name: op and module with a space between, or op alone where module is "".
        intensity: all FLOPs of the row for each byte read or written.
        flops_per_second: what it reached. attainable: what the roof allows at its intensity.
        efficiency: the former over the latter; above 1 where the data came from a cache.
    A row without any FLOPs, bytes or time has no place on logarithmic axes and is left out.
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
        points.append({
            "name": f"{row['op']} {row['module']}".strip(),
            "intensity": intensity,
            "flops_per_second": reached,
            "attainable": attainable,
            "efficiency": reached / attainable,
        })  # fmt: skip
    return points


@cache
def roofs():
    """This machine's roofs as you measure them, once: on one thread, and on all."""
    size = measuring.beyond_caches(this_machine().caches, demo_size(2**29, 2**26))
    found = []
    for threads in measuring.thread_counts():
        with measuring.on_threads(threads):
            peak = measure_peak_flops(sizes=demo_size((384, 512, 1024), (128,)))
        bandwidth = measure_bandwidth(size, measuring.copy_on(threads), repeats=demo_size(20, 3))
        found.append(Hardware(peak, bandwidth, measuring.called(threads), "measured here"))
    return found


@cache
def passes_of(name, threads):
    """Forward passes of "GPT-2" or "ResNet-18", each recorded: a list of (ms, rows)."""
    return recorded_passes(name, OpRecorder, threads)


def measured_rows(name, threads=1):
    """The rows of a pass, each with the median of its times."""
    return median_rows(passes_of(name, threads))


def points_of(name):
    """A model's operations under one thread's roof, each with its share of the time."""
    rows, roof = alike(measured_rows(name)), roofs()[0]
    return [p | {"share": row["share"]} for row in rows for p in roofline_points([row], roof)]


def classify(flops, bytes_moved, seconds, peak_flops, bandwidth):
    """The wall that a measured computation is at.

    flops, bytes_moved: at least 0. seconds: what it took, above 0.
    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0.
    Of flops / peak_flops and bytes_moved / bandwidth, T is the longer time. Returns
        "overhead" when it took more than 4 · T, else
        "ridge" when T is at most 1.2 times the shorter time, else
        "compute" or "memory", by which time is T.
    Raises ValueError for an argument out of range.
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
    """The first of four questions to which a step's answer is no; optional, no points.

    step: a dict with
        times_ms: what the step took, in each of at least 3 runs
        busy_ms: how much of a step of median time was spent in operations
        matmul_ms, matmul_flops: how much of that in matrix products, and their FLOPs
        peak_flops: the roof, FLOP/s
    Returns "unstable" when the times' standard deviation (n − 1) is at least 10 % of their mean,
    else "idle" when busy_ms is under 80 % of their median, else "other work" when matmul_ms is under
    50 % of busy_ms, else "slow matmuls" when these reach under 50 % of the peak, else "near peak".
    Raises ValueError for fewer than 3 times.
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


def mfu(flops, seconds, peak_flops):
    """Model FLOPs utilization: the share of a machine's peak that a computation reached, 0 to 1.

    flops: at least 0. seconds, peak_flops (FLOP/s): above 0. Returns a float.
    Raises ValueError for an argument out of range.
    """
    if flops < 0 or seconds <= 0 or peak_flops <= 0:
        raise ValueError(f"no use of {peak_flops} FLOP/s by {flops} FLOPs in {seconds} s")
    return flops / seconds / peak_flops


def amdahl(fraction, speedup):
    """How many times as fast a program is when a part of it is.

    fraction: of the time before, 0 to 1, that the part took. speedup: of the part, above 0; below 1
        it is slower, and math.inf is a part that takes no time any more.
    Returns a float, math.inf where nothing is left. Raises ValueError for an argument out of range.
    """
    if not 0 <= fraction <= 1 or speedup <= 0:
        raise ValueError(f"no part is {fraction} of the time and {speedup} times as fast")
    left = 1 - fraction + fraction / speedup
    return 1 / left if left else math.inf


def reflect_relu(elements, itemsize, peak_flops, bandwidth):
    """A ReLU, one FLOP an element, that does nothing but what its wall demands.

    elements, itemsize (bytes of a number): ints, at least 1. peak_flops: FLOP/s. bandwidth: bytes/s.
    Both above 0. The result is a new tensor.
    Returns a dict: ms, the least time that it takes, and share, its FLOP/s as a share of the peak.
    Raises ValueError for an argument out of range.
    """
    moved = elementwise_bytes((elements,), 1, itemsize)
    intensity = arithmetic_intensity(elements, moved)
    seconds = elements / attainable_flops(intensity, peak_flops, bandwidth)
    return {"ms": seconds * 1000, "share": mfu(elements, seconds, peak_flops)}

# ── yours, where there are any ──

from proflab.lesson.mine import use_mine as _use_mine

_use_mine(globals(), "08_benchmarking")
