"""Lesson 02: what students, and known counters, get wrong. The right ones stand in a file beside.

Those of formulas, of whole models, of training, and kinds that many share stand in lesson_02_*.py.
"""

from cohort.lesson_02_alternates import ALTERNATES  # noqa: F401
from cohort.lesson_02_arguments import MUTANTS as ARGUMENT_MUTANTS
from cohort.lesson_02_formulas import MUTANTS as FORMULA_MUTANTS
from cohort.lesson_02_kinds import HELPERS as KIND_HELPERS
from cohort.lesson_02_kinds import MUTANTS as KIND_MUTANTS
from cohort.lesson_02_misread import HELPERS as MISREAD_HELPERS
from cohort.lesson_02_misread import MUTANTS as MISREAD_MUTANTS
from cohort.lesson_02_models import HELPERS as MODEL_HELPERS
from cohort.lesson_02_models import MUTANTS as MODEL_MUTANTS
from cohort.lesson_02_training import MUTANTS as TRAINING_MUTANTS

HELPERS = (
    """
def positive(*sizes):
    if min(sizes) < 1:
        raise ValueError("sizes must be at least 1")

def row_checked(shape, out):
    if not shape:
        raise ValueError("empty")
    positive(*shape, out)

def windows(shape, out, kernel, stride=1, padding=0, dilation=1, fits=True):
    if len(shape) != 4:
        raise ValueError("four sizes")
    k, s, p, d = map(pair, (kernel, stride, padding, dilation))
    positive(*shape, out, *k, *s, *d, *(n + 1 for n in p))
    rest = [shape[2 + i] + 2 * p[i] - d[i] * (k[i] - 1) - 1 for i in (0, 1)]
    if min(rest) < 0 and fits:
        raise ValueError("does not fit")
    return rest, k, s, p, d

def grouped(shape, out, groups):
    if groups < 1 or shape[1] % groups or out % groups:
        raise ValueError("groups")

def attention(b, s, d, h):
    positive(b, s, d, h)
    if d % h:
        raise ValueError("heads")
    return 8 * b * s * d * d, 4 * b * s * s * d

def known(op, shape):
    if op not in ELEMENTWISE or any(n < 1 for n in shape):
        raise ValueError("unknown")
    return math.prod(shape)

def parsed(equation, shapes):
    operands, out = equation.split("->")
    labels = operands.split(",")
    if len(labels) > 2:
        raise ValueError("three")
    sizes = {x: n for names, shape in zip(labels, shapes) for x, n in zip(names, shape)}
    return labels, out, sizes

right_op_flops, right_count_flops, right_backward_flops = op_flops, count_flops, backward_flops
"""
    + MODEL_HELPERS
    + KIND_HELPERS
    + MISREAD_HELPERS
)

MUTANTS = (
    {
        "matmul_flops": {
            "multiply-adds": "positive(m, k, n)\nreturn m * k * n",
            "k − 1 additions": "positive(m, k, n)\nreturn m * n * (2 * k - 1)",
            "16384 written in": "positive(m, k, n)\nreturn 16384",
            "sizes added": "positive(m, k, n)\nreturn 2 * (m * k + k * n)",
            "numbers of the result": "positive(m, k, n)\nreturn 2 * m * n",
            "64-bit overflow": """
            positive(m, k, n)
            with np.errstate(all="ignore"):
                return 2 * np.int64(m) * np.int64(k) * np.int64(n)
        """,
            "floating point": "positive(m, k, n)\nreturn 2e0 * m * k * n + 1e-3",
            "no check": "return 2 * m * k * n",
            "the product is checked": """
            if m * k * n <= 0:
                raise ValueError
            return 2 * m * k * n
        """,
            "k is not checked": "positive(m, n)\nreturn 2 * m * k * n",
        },
        "linear_flops": {
            "the batch is left out": """
            row_checked(input_shape, out_features)
            return 2 * input_shape[-1] * out_features
        """,
            "sequence positions are ignored": """
            row_checked(input_shape, out_features)
            rows = input_shape[0] if len(input_shape) > 1 else 1
            return 2 * rows * input_shape[-1] * out_features
        """,
            "the batch is left out, not the positions": """
            row_checked(input_shape, out_features)
            return 2 * math.prod(input_shape[1:] or input_shape) * out_features
        """,
            "multiply-adds": """
            row_checked(input_shape, out_features)
            return math.prod(input_shape) * out_features
        """,
            "the bias is mixed in": """
            row_checked(input_shape, out_features)
            return (2 * input_shape[-1] + 1) * math.prod(input_shape[:-1]) * out_features
        """,
            "at most three dimensions": """
            row_checked(input_shape, out_features)
            return 2 * math.prod(input_shape[-3:]) * out_features
        """,
            "16384 written in": "row_checked(input_shape, out_features)\nreturn 16384",
            "one vector is refused": """
            row_checked(input_shape, out_features)
            if len(input_shape) < 2:
                raise ValueError
            return 2 * math.prod(input_shape) * out_features
        """,
            "an empty shape is a single number": """
            positive(out_features, *input_shape)
            return 2 * math.prod(input_shape) * out_features
        """,
            "leading dimensions are not checked": """
            if not input_shape:
                raise ValueError
            positive(input_shape[-1], out_features)
            return 2 * math.prod(input_shape) * out_features
        """,
        },
        "conv2d_output_shape": {
            "no padding": """
            windows(input_shape, out_channels, kernel_size, stride, padding, dilation)
            return conv2d_right(input_shape, out_channels, kernel_size, stride, 0, dilation)
        """,
            "padding on one side": """
            rest, k, s, p, d = windows(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            sides = ((r - q) // t + 1 for r, q, t in zip(rest, p, s))
            return (input_shape[0], out_channels, *sides)
        """,
            "dilation is ignored": """
            windows(input_shape, out_channels, kernel_size, stride, padding, dilation)
            return conv2d_right(input_shape, out_channels, kernel_size, stride, padding, 1)
        """,
            "a window spans dilation · kernel": """
            rest, k, s, p, d = windows(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            sides = ((r + 1 - e) // t + 1 for r, e, t in zip(rest, d, s))
            return (input_shape[0], out_channels, *sides)
        """,
            "rounded up": """
            rest, k, s, p, d = windows(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            return (input_shape[0], out_channels, *(-(-r // t) + 1 for r, t in zip(rest, s)))
        """,
            "without the + 1": """
            rest, k, s, p, d = windows(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            return (input_shape[0], out_channels, *((r + 1) // t for r, t in zip(rest, s)))
        """,
            "only square images": """
            rest, k, s, p, d = windows(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            side = rest[0] // s[0] + 1
            return (input_shape[0], out_channels, side, side)
        """,
            "only square kernels": """
            windows(input_shape, out_channels, kernel_size, stride, padding, dilation)
            kernel = pair(kernel_size)[0]
            return conv2d_right(input_shape, out_channels, kernel, stride, padding, dilation)
        """,
            "width before height": """
            n, c, h, w = conv2d_right(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            return (n, c, w, h)
        """,
            "batch of one": """
            shape = conv2d_right(input_shape, out_channels, kernel_size, stride, padding, dilation)
            return (1, *shape[1:])
        """,
            "the input's channels": """
            n, c, h, w = conv2d_right(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            return (n, input_shape[1], h, w)
        """,
            "a window that does not fit gives 0": """
            rest, k, s, p, d = windows(
                input_shape, out_channels, kernel_size, stride, padding, dilation, fits=False
            )
            return (input_shape[0], out_channels, *(max(0, r // t + 1) for r, t in zip(rest, s)))
        """,
            "nothing is checked but what does not fit": """
            k, s, p, d = map(pair, (kernel_size, stride, padding, dilation))
            rest = [input_shape[2 + i] + 2 * p[i] - d[i] * (k[i] - 1) - 1 for i in (0, 1)]
            if min(rest) < 0:
                raise ValueError
            return (input_shape[0], out_channels, *(r // t + 1 for r, t in zip(rest, s)))
        """,
        },
        "conv2d_flops": {
            "multiply-adds": """
            grouped(input_shape, out_channels, groups)
            out = conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            return math.prod(out) * input_shape[1] // groups * math.prod(pair(kernel_size))
        """,
            "groups are ignored": """
            grouped(input_shape, out_channels, groups)
            return conv2d_flops_right(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
        """,
            "divided by the groups twice": """
            return conv2d_flops_right(
                input_shape, out_channels, kernel_size, stride, padding, dilation, groups
            ) // groups
        """,
            "the batch is left out": """
            windows(input_shape, out_channels, kernel_size, stride, padding, dilation)
            one = (1, *input_shape[1:])
            return conv2d_flops_right(
                one, out_channels, kernel_size, stride, padding, dilation, groups
            )
        """,
            "places of the input": """
            windows(input_shape, out_channels, kernel_size, stride, padding, dilation)
            grouped(input_shape, out_channels, groups)
            n, c, h, w = input_shape
            return 2 * n * h * w * out_channels * c // groups * math.prod(pair(kernel_size))
        """,
            "no padding": """
            windows(input_shape, out_channels, kernel_size, stride, padding, dilation)
            return conv2d_flops_right(
                input_shape, out_channels, kernel_size, stride, 0, dilation, groups
            )
        """,
            "stride is ignored": """
            return conv2d_flops_right(
                input_shape, out_channels, kernel_size, 1, padding, dilation, groups
            )
        """,
            "only square kernels": """
            windows(input_shape, out_channels, kernel_size, stride, padding, dilation)
            grouped(input_shape, out_channels, groups)
            out = conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            return 2 * math.prod(out) * input_shape[1] // groups * pair(kernel_size)[0] ** 2
        """,
            "only square images": """
            n, c, h, w = input_shape if len(input_shape) == 4 else (1, 0, 1, 1)
            return conv2d_flops_right(
                (n, c, h, h), out_channels, kernel_size, stride, padding, dilation, groups
            )
        """,
            "the bias is mixed in": """
            out = conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            return math.prod(out) + conv2d_flops_right(
                input_shape, out_channels, kernel_size, stride, padding, dilation, groups
            )
        """,
            "groups are not checked": """
            out = conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            each = input_shape[1] // groups if groups else 0
            return 2 * math.prod(out) * each * math.prod(pair(kernel_size))
        """,
            "the outputs' groups are not checked": """
            if groups < 1 or input_shape[1] % groups:
                raise ValueError
            out = conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            return 2 * math.prod(out) * input_shape[1] // groups * math.prod(pair(kernel_size))
        """,
        },
    }
    | FORMULA_MUTANTS
    | MODEL_MUTANTS
    | TRAINING_MUTANTS
)

HELPERS += """
def conv2d_right(shape, out, kernel, stride, padding, dilation):
    rest, k, s, p, d = windows(shape, out, kernel, stride, padding, dilation)
    return (shape[0], out, *(r // t + 1 for r, t in zip(rest, s)))

def conv2d_flops_right(shape, out, kernel, stride=1, padding=0, dilation=1, groups=1):
    grouped(shape, out, groups)
    result = conv2d_right(shape, out, kernel, stride, padding, dilation)
    return 2 * math.prod(result) * shape[1] // groups * math.prod(pair(kernel))
"""

MUTANTS = {
    name: entries
    | KIND_MUTANTS[name]
    | MISREAD_MUTANTS.get(name, {})
    | ARGUMENT_MUTANTS.get(name, {})
    for name, entries in MUTANTS.items()
}
