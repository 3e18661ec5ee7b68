"""The tape: a program of Tensors as a list of plain instructions, and the check that it is one.

Values are numbered in the order in which they are made. The instructions:

    ["in", name, shape, dtype]                  an input
    ["const", array]                            numbers that the program brings
    ["fill", shape, dtype, number]              zeros, ones, full, empty
    ["op", name, operands, attributes, need]    an op; need: which operands want gradients, or None
    ["vjp", at, gradients]                      the backward of the op that is instruction `at`
    ["write", target, source]                   in place: x[i] = …, x += …
    ["out", values]                             the results; the last instruction

Slices, … and dtypes among attributes are `{"%slice": (a, b, c)}`, `{"%ellipsis": True}` and
`{"%dtype": "float32"}`. A tape comes from a stranger: `check` looks at all of it before anything in
it is run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

import numpy as np

from proflab import dispatch

MAX_INSTRUCTIONS = 10_000
MAX_VALUES = 100_000
MAX_CONSTANT_BYTES = 1 << 20
MAX_FILLED_BYTES = 2 << 30  # of all fills together: they cost nothing, but have to be written
_MAX_INT = 1 << 62
_MAX_DIMENSIONS = 32
_DTYPES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool",
)  # fmt: skip
_EQUATION = re.compile(r"[A-Za-z.,>\- ]{1,200}")


class Refused(ValueError):
    """A program that cannot be traced, or a tape that is none; the sentence is for the student.

    at: the instruction that it is about, if it is one's. alive: where memory is full, the bytes
    that are alive there, by the instruction that has made them.
    """

    def __init__(
        self, sentence: str, at: int | None = None, alive: Mapping[int, int] | None = None
    ) -> None:
        super().__init__(sentence)
        self.at, self.alive = at, dict(alive or {})


# ── attributes, as plain data and back ───────────────────────────────────────────────────────


def encode(value: Any) -> Any:
    """Return an op's attributes as plain data."""
    if type(value) in (int, float, bool, str, NoneType):  # as nearly all are
        return value
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(encode(item) for item in value)
    if isinstance(value, slice):
        return {"%slice": (value.start, value.stop, value.step)}
    if value is ...:
        return {"%ellipsis": True}
    if isinstance(value, np.dtype):
        return {"%dtype": str(value)}
    return value.item() if isinstance(value, np.generic) else value


def decode(value: Any) -> Any:
    """Return what `encode` was given, from a tape that `check` has passed."""
    if isinstance(value, dict):
        if "%slice" in value:
            return slice(*value["%slice"])
        if "%ellipsis" in value:
            return ...
        if "%dtype" in value:
            return np.dtype(value["%dtype"])
        return {key: decode(item) for key, item in value.items()}
    return tuple(map(decode, value)) if isinstance(value, (tuple, list)) else value


# ── the schema: each op's operands and attributes ────────────────────────────────────────────


def _is_int(value: Any) -> bool:
    return type(value) is int and abs(value) < _MAX_INT


def _is_number(value: Any) -> bool:
    return _is_int(value) or type(value) in (float, bool)


def _is_ints(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) <= _MAX_DIMENSIONS and all(map(_is_int, value))


def _is_pairs(value: Any) -> bool:
    short = isinstance(value, tuple) and len(value) <= _MAX_DIMENSIONS
    return short and all(_is_ints(pair) and len(pair) == 2 for pair in value)


def _is_one_of(value: Any, names: tuple[str, ...]) -> bool:
    return type(value) is str and value in names


def _is_dtype(value: Any) -> bool:
    known = isinstance(value, dict) and [*value] == ["%dtype"]
    return known and _is_one_of(value["%dtype"], _DTYPES)


def _is_ellipsis(part: Any) -> bool:
    return isinstance(part, dict) and [*part] == ["%ellipsis"] and part["%ellipsis"] is True


def _is_part(part: Any) -> bool:
    if isinstance(part, dict) and [*part] == ["%slice"]:
        ends = part["%slice"]
        known = isinstance(ends, tuple) and len(ends) == 3
        return known and all(end is None or _is_int(end) for end in ends)
    return part is None or _is_int(part) or _is_ellipsis(part)


def _is_index(value: Any) -> bool:
    short = isinstance(value, tuple) and len(value) <= _MAX_DIMENSIONS
    return short and all(map(_is_part, value)) and sum(map(_is_ellipsis, value)) <= 1


def _is_merged(value: Any) -> bool:
    """Return True for an index with True in the places of tensors."""
    parts = value if isinstance(value, tuple) else [value]
    return _is_index(tuple(part for part in parts if part is not True))


_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "number": _is_number,
    "bool": lambda value: type(value) is bool,
    "ints": _is_ints,
    "sizes": lambda value: isinstance(value, tuple) and all(map(_is_int, value)),
    "pairs": _is_pairs,
    "dtype": _is_dtype,
    "index": _is_index,
    "merged": _is_merged,
    "equation": lambda value: type(value) is str and bool(_EQUATION.fullmatch(value)),
    "gelu": lambda value: _is_one_of(value, ("none", "tanh")),
    "reduction": lambda value: _is_one_of(value, ("none", "mean", "sum")),
}
# An op, or several; how many operands; attributes with their kinds. ?: may be None or missing.
# Every op of proflab/ops/ has a place here, so that a race can use it: a new one needs its row.
_TABLE = """
to                                                  1    dtype=dtype
clone neg exp exp2 log log2 log10 log1p expm1       1
sqrt rsqrt reciprocal square abs sign floor ceil    1
round trunc sin cos tan atan tanh sigmoid erf       1
relu relu6 silu hardswish                           1
logical_not isnan isinf isfinite                    1
add sub rsub mul div rdiv pow floor_divide          1-2  other=number?
remainder eq ne lt le gt ge                         1-2  other=number?
maximum minimum logical_and logical_or logical_xor  2
where                                               3
masked_fill                                         2    value=number
clamp                                               1    min=number? max=number?
leaky_relu                                          1    negative_slope=number
elu                                                 1    alpha=number
gelu                                                1    approximate=gelu
softplus                                            1    beta=number threshold=number
softmax log_softmax cumsum                          1    dim=int
reshape expand                                      1    shape=ints
permute                                             1    dims=ints
getitem                                             1    index=index
index                                               2-   index=merged
index_put                                           2-   index=merged
gather                                              2    dim=int
scatter_add                                         3    dim=int
nonzero                                             1
cat                                                 1-   dim=int
split                                               1    sizes=sizes dim=int
tril triu                                           1    diagonal=int
flip                                                1    dims=ints
roll                                                1    shifts=ints dims=ints
matmul                                              2
dropout                                             1    p=number shared=ints?
scaled_dot_product_attention                        3-4  is_causal=bool scale=number?
pad                                                 1    widths=pairs value=number
conv2d                                              2-3  stride=ints padding=ints dilation=ints groups=int
layer_norm                                          1-3  normalized_shape=ints eps=number
group_norm                                          1-3  num_groups=int eps=number
batch_norm                                          3-5  training=bool momentum=number eps=number
max_pool2d                                          1    kernel_size=ints stride=ints padding=ints dilation=ints ceil_mode=bool
avg_pool2d                                          1    kernel_size=ints stride=ints padding=ints ceil_mode=bool count_include_pad=bool divisor=number?
adaptive_avg_pool2d                                 1    output_size=ints
sum mean prod amax amin logsumexp any all           1    dim=ints? keepdim=bool
argmax argmin                                       1    dim=ints? keepdim=bool
var                                                 1    dim=ints? keepdim=bool correction=number?
embedding                                           2    padding_idx=int?
linear                                              2-3
nll_loss                                            2-3  ignore_index=int reduction=reduction
einsum                                              1-   equation=equation
argsort                                             1    dim=int descending=bool
"""  # noqa: E501


_ROW = r"^([a-z_\d ]+?) +(\d-?\d?)(?: +(.*))?$"


def _rows() -> dict[str, tuple[int, float, dict[str, str]]]:
    """Return the table: each op's least and most operands, and the kinds of its attributes."""
    found: dict[str, tuple[int, float, dict[str, str]]] = {}
    for names, count, kinds in re.findall(_ROW, _TABLE, re.MULTILINE):
        least, dash, most = count.partition("-")
        bounds = int(least), float(most or (math.inf if dash else least))
        attributes = dict(part.split("=") for part in kinds.split())
        found |= {name: (*bounds, attributes) for name in names.split()}
    return found


SCHEMA = _rows()
RANDOM = ("dropout",)


# ── the check ────────────────────────────────────────────────────────────────────────────────


def _want(holds: Any, sentence: str, *about: Any) -> None:
    """Raise Refused unless it holds; `about` is put into the sentence only then."""
    if not holds:
        raise Refused(sentence.format(*about))


class _Check:
    """The state of one check: how many values there are, and what they add up to."""

    def __init__(self) -> None:
        self.count = self.constants = self.filled = 0
        self.inputs: list[tuple] = []
        self.ops: dict[int, list] = {}

    def is_value(self, number: Any) -> bool:
        """Return True for the number of a value made so far."""
        return type(number) is int and 0 <= number < self.count

    def are_values(self, numbers: Any) -> bool:
        """Return True for a list of such numbers."""
        return isinstance(numbers, (list, tuple)) and all(map(self.is_value, numbers))

    def instruction(self, at: int, line: Any) -> None:
        """Check one instruction, and count the values that it makes."""
        _want(isinstance(line, (list, tuple)) and line, "no instruction")
        kind, rest = line[0], line[1:]
        known = _SIZES.get(kind) if type(kind) is str else None
        _want(known is not None, "there is no instruction {!r}", str(kind)[:40])
        _want(len(rest) == known, "an instruction {!r} of {} parts", kind, len(rest))
        # A name of _SIZES, so that no stranger's word reaches another method.
        self.count += getattr(self, f"_{kind}")(at, *rest)
        _want(self.count <= MAX_VALUES, "a program has at most {:,} values", MAX_VALUES)

    def _in(self, at: int, name: Any, shape: Any, dtype: Any) -> int:
        _want(
            type(name) is str and _is_shape(shape) and _is_one_of(dtype, _DTYPES),
            "an unknown input",
        )
        self.inputs.append((name, tuple(shape), dtype))
        return 1

    def _const(self, at: int, array: Any) -> int:
        plain = type(array) is np.ndarray and array.dtype.name in _DTYPES
        _want(plain, "a constant is an array")
        self.constants += array.nbytes
        _want(self.constants <= MAX_CONSTANT_BYTES, "a program has at most 1 MB of constants")
        return 1

    def _fill(self, at: int, shape: Any, dtype: Any, value: Any) -> int:
        fine = _is_shape(shape) and _is_one_of(dtype, _DTYPES) and _is_number(value)
        _want(fine, "a fill has a shape, a dtype and a number")
        self.filled += math.prod(shape) * np.dtype(dtype).itemsize
        _want(self.filled <= MAX_FILLED_BYTES, "a program fills at most 2 GB")
        return 1

    def _op(self, at: int, name: Any, operands: Any, attributes: Any, need: Any) -> int:
        known = type(name) is str and name in SCHEMA and name in dispatch.OPS
        _want(known, "there is no operation {!r}", str(name)[:40])
        _want(name not in RANDOM, "{} is random: two runs cannot be compared", name)
        least, most, kinds = SCHEMA[name]
        _want(self.are_values(operands), "{}: an operand that is not there", name)
        _want(least <= len(operands) <= most, "{}: {} operands", name, len(operands))
        _want(isinstance(attributes, dict) and {*attributes} <= {*kinds}, "{}: attributes", name)
        for key, kind in kinds.items():
            value = attributes.get(key)
            fine = value is None if kind.endswith("?") else False
            _want(fine or _KINDS[kind.rstrip("?")](value), "{}: {} is no {}", name, key, kind)
        flags = isinstance(need, (list, tuple)) and len(need) == len(operands)
        flags = flags and all(type(flag) is bool for flag in need) and any(need)
        _want(need is None or flags, "{}: a flag for each operand", name)
        if name in ("index", "index_put"):
            places = sum(part is True for part in attributes["index"])
            _want(places == len(operands) - least + (name == "index"), "{}: its places", name)
        self.ops[at] = [] if need is None else list(need)
        return len(attributes["sizes"]) if name == "split" else 1

    def _vjp(self, at: int, op: Any, gradients: Any) -> int:
        _want(type(op) is int and self.ops.get(op), "backward of no operation")
        given = isinstance(gradients, (list, tuple)) and len(gradients) > 0
        some = given and all(g is None or self.is_value(g) for g in gradients)
        _want(some and any(g is not None for g in gradients), "a gradient that is not there")
        return sum(self.ops[op])

    def _write(self, at: int, target: Any, source: Any) -> int:
        _want(self.are_values([target, source]), "a write of what is not there")
        return 0

    def _out(self, at: int, values: Any) -> int:
        _want(self.are_values(values) and len(values) > 0, "a program without a result")
        return 0


_SIZES = {"in": 3, "const": 1, "fill": 3, "op": 4, "vjp": 2, "write": 2, "out": 1}


def _is_shape(shape: Any) -> bool:
    return (
        _is_ints(tuple(shape) if isinstance(shape, list) else shape) and min(shape, default=0) >= 0
    )


def check(tape: Any, inputs: list | None = None) -> None:
    """Raise Refused unless the tape is well-formed plain data; nothing in it is run.

    inputs: (name, shape, dtype) of each input that it has to have, in order; None: any
    """
    _want(isinstance(tape, list) and tape, "a program without a result")
    too_long = "a program has at most {:,} operations, this one {:,}"
    _want(len(tape) <= MAX_INSTRUCTIONS, too_long, MAX_INSTRUCTIONS, len(tape))
    state = _Check()
    for at, line in enumerate(tape):
        try:
            state.instruction(at, line)
        except Refused as refused:
            refused.at = at
            raise
        _want((line[0] == "out") == (at == len(tape) - 1), "a program without a result")
    if inputs is not None:
        fits = sorted(state.inputs) == sorted((n, tuple(s), d) for n, s, d in inputs)
        _want(fits, "it was traced with other inputs than this case has")


def inputs_of(tape: list) -> list[tuple[str, tuple[int, ...], str]]:
    """Return (name, shape, dtype) of each input of a tape."""
    return [(line[1], tuple(line[2]), line[3]) for line in tape if line[0] == "in"]
