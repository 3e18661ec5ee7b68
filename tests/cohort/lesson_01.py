"""Lesson 01: what students of parameters get wrong. The right ones stand in a file beside.

The mutants of whole models stand in lesson_01_models.py, kinds that many share in _kinds.py.
"""

from cohort.kinds import nameless
from cohort.lesson_01_alternates import ALTERNATES  # noqa: F401
from cohort.lesson_01_kinds import HELPERS as KIND_HELPERS
from cohort.lesson_01_kinds import MUTANTS as KIND_MUTANTS
from cohort.lesson_01_models import MUTANTS as MODEL_MUTANTS

HELPERS = """
def positive(*sizes):
    if min(sizes) < 1:
        raise ValueError("sizes must be at least 1")

def checked(in_channels, out_channels, kernel_size, groups):
    pair = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
    positive(in_channels, out_channels, groups, *pair)
    if len(pair) != 2 or in_channels % groups or out_channels % groups:
        raise ValueError("a pair of kernel sizes, and groups that divide the channels")
    return pair

def yielded(model, method="parameters"):
    if isinstance(model, Tensor):
        return []
    if not hasattr(model, method):
        raise ValueError("no model")
    return list(getattr(model, method)())

def distinct(model):
    return list({id(p): p for p in yielded(model)}.values())

def itemsize(dtype):
    try:
        return None if dtype is None else np.dtype(dtype).itemsize
    except TypeError:
        raise ValueError("dtype") from None

def rows_of(model):
    named = {}
    for name, p in yielded(model, "named_parameters"):
        named.setdefault(id(p), (name, p))
    total = sum(p.numel() for _, p in named.values())
    return [
        {"name": name, "shape": p.shape, "count": p.numel(), "share": p.numel() / total}
        for name, p in named.values()
    ]

def largest_first(rows):
    return sorted(rows, key=lambda row: -row["count"])
"""

MUTANTS = {
    "linear_parameters": {
        "the bias is left out": """
            positive(in_features, out_features)
            return in_features * out_features
        """,
        "a bias is counted where there is none": """
            positive(in_features, out_features)
            return in_features * out_features + out_features
        """,
        "one bias for each input": """
            positive(in_features, out_features)
            return in_features * out_features + (in_features if bias else 0)
        """,
        "a single bias": """
            positive(in_features, out_features)
            return in_features * out_features + int(bias)
        """,
        "sizes added, not multiplied": """
            positive(in_features, out_features)
            return in_features + out_features + (out_features if bias else 0)
        """,
        "the visible answers written in": """
            positive(in_features, out_features)
            return {(2, True): 8, (3072, True): 2362368}.get((out_features, bias), 2359296)
        """,
        "two for each multiply-add, as in FLOPs": """
            positive(in_features, out_features)
            return 2 * in_features * out_features + (out_features if bias else 0)
        """,
        "32-bit overflow": """
            positive(in_features, out_features)
            with np.errstate(all="ignore"):
                return np.int32(in_features) * np.int32(out_features) + out_features * bias
        """,
        "zero passes for a size": """
            if in_features < 0 or out_features < 0:
                raise ValueError("negative")
            return in_features * out_features + (out_features if bias else 0)
        """,
        "only the first size is checked": """
            positive(in_features)
            return in_features * out_features + (out_features if bias else 0)
        """,
        "only the product is checked": """
            positive(in_features * out_features)
            return in_features * out_features + (out_features if bias else 0)
        """,
        "an assert for a ValueError": """
            assert in_features > 0 and out_features > 0
            return in_features * out_features + (out_features if bias else 0)
        """,
        "the error is returned": """
            if min(in_features, out_features) < 1:
                return ValueError("size")
            return in_features * out_features + (out_features if bias else 0)
        """,
        "the count is printed": """
            positive(in_features, out_features)
            print(in_features * out_features + (out_features if bias else 0))
        """,
    },
    "conv2d_parameters": {
        "the bias is left out": """
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return out_channels * (in_channels // groups) * h * w
        """,
        "groups are ignored": """
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return out_channels * (in_channels * h * w + bias)
        """,
        "both numbers of channels are divided": """
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return out_channels // groups * (in_channels // groups) * h * w + out_channels * bias
        """,
        "only the output channels are divided, and their biases": """
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return out_channels // groups * (in_channels * h * w + bias)
        """,
        "the kernel's height is taken for its width": """
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return out_channels * (in_channels // groups * h * h + bias)
        """,
        "the kernel's width is taken for its height": """
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return out_channels * (in_channels // groups * w * w + bias)
        """,
        "the kernel's sizes are added": """
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return out_channels * (in_channels // groups * (h + w) + bias)
        """,
        "a list is no pair: raises": """
            checked(in_channels, out_channels, kernel_size, groups)
            h, w = kernel_size if isinstance(kernel_size, tuple) else (kernel_size, kernel_size)
            return out_channels * (in_channels // groups * h * w + bias)
        """,
        "one bias for each input channel": """
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return out_channels * (in_channels // groups) * h * w + in_channels * bias
        """,
        "no filter of its own for each output": """
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return in_channels // groups * h * w + out_channels * bias
        """,
        "output channels need not fit the groups": """
            h, w = checked(in_channels, groups, kernel_size, groups)
            positive(out_channels)
            return out_channels * (in_channels // groups * h * w + bias)
        """,
        "input channels need not fit the groups": """
            h, w = checked(groups, out_channels, kernel_size, groups)
            positive(in_channels)
            return out_channels * (in_channels // groups * h * w + bias)
        """,
        "a third kernel size is dropped": """
            pair = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size,) * 2
            h, w = checked(in_channels, out_channels, pair[:2], groups)
            return out_channels * (in_channels // groups * h * w + bias)
        """,
        "ZeroDivisionError for no groups": """
            if in_channels % groups:
                raise ValueError("groups")
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return out_channels * (in_channels // groups * h * w + bias)
        """,
        "a kernel of one number less": """
            if kernel_size == 0 or isinstance(kernel_size, (tuple, list)) and 0 in kernel_size:
                return out_channels * bias
            h, w = checked(in_channels, out_channels, kernel_size, groups)
            return out_channels * (in_channels // groups * h * w + bias)
        """,
    },
    "attention_parameters": {
        "the output layer is left out": """
            return 3 * linear_parameters(d_model, d_model, bias)
        """,
        "one matrix only": "return linear_parameters(d_model, d_model, bias)",
        "biases are left out": "return 4 * linear_parameters(d_model, d_model, False)",
        "biases are always counted": "return 4 * linear_parameters(d_model, d_model)",
        "only the output layer has a bias": """
            return 3 * d_model**2 + linear_parameters(d_model, d_model, bias)
        """,
        "every head has matrices of the full width": """
            return 12 * 4 * linear_parameters(d_model, d_model, bias)
        """,
        "the LayerNorm is counted too": """
            return 4 * linear_parameters(d_model, d_model, bias) + 2 * d_model
        """,
        "the feed-forward layers are counted too": """
            return 12 * d_model**2 + (9 * d_model if bias else 0)
        """,
        "no check of the width": "return 4 * (d_model * d_model + (d_model if bias else 0))",
        "zero passes for a width": """
            positive(d_model + 1)
            return 4 * (d_model * d_model + (d_model if bias else 0))
        """,
    },
} | MODEL_MUTANTS

HELPERS += KIND_HELPERS
MUTANTS = {name: entries | KIND_MUTANTS[name] for name, entries in MUTANTS.items()}
for exercise in ("parameter_memory_mb", "gpt2_parameters", "reflect_deployment"):
    MUTANTS[exercise] |= nameless(exercise)
