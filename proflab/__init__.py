# ruff: noqa: F401  (a room that only shows what the others hold)
"""ProfLab: a tensor engine to profile, lessons that profile it, and the grader that marks them.

`import proflab` gives the engine, under torch's names, and imports numpy only.
"""

import builtins as _builtins

import numpy as _numpy

from proflab import autograd, dispatch, models, nn, optim
from proflab.autograd import (
    enable_grad,
    is_grad_enabled,
    no_grad,
    saved_tensors,
    set_grad_enabled,
)
from proflab.creation import (
    arange,
    as_tensor,
    empty,
    empty_like,
    example_input,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    manual_seed,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    tensor,
    zeros,
    zeros_like,
)
from proflab.function import Function
from proflab.ops.activation import log_softmax, relu, softmax
from proflab.ops.arithmetic import (
    add,
    clone,
    div,
    divide,
    mul,
    multiply,
    pow,
    rsub,
    sub,
    subtract,
    true_divide,
)
from proflab.ops.composite import (
    adaptive_avg_pool1d,
    avg_pool1d,
    cosine_similarity,
    hstack,
    lerp,
    max_pool1d,
    numel,
    pixel_shuffle,
    vstack,
)
from proflab.ops.concat import (
    cat,
    chunk,
    concat,
    concatenate,
    flip,
    meshgrid,
    narrow,
    repeat_interleave,
    roll,
    select,
    split,
    stack,
    tile,
    tril,
    triu,
    unbind,
)
from proflab.ops.conv import conv1d, conv2d
from proflab.ops.einsum import einsum
from proflab.ops.indexing import (
    gather,
    index_select,
    masked_select,
    nonzero,
    scatter,
    scatter_add,
    take_along_dim,
)
from proflab.ops.matmul import addmm, baddbmm, bmm, dot, matmul, mm, mv, outer
from proflab.ops.pointwise import (
    abs,
    absolute,
    arctan,
    atan,
    ceil,
    cos,
    eq,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    ge,
    gt,
    isfinite,
    isinf,
    isnan,
    le,
    log,
    log1p,
    log2,
    log10,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    ne,
    neg,
    negative,
    reciprocal,
    remainder,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
)
from proflab.ops.reduce import (
    all,
    allclose,
    amax,
    amin,
    any,
    argmax,
    argmin,
    cumsum,
    equal,
    logsumexp,
    mean,
    norm,
    prod,
    std,
    sum,
    var,
)
from proflab.ops.sort import argsort, max, min, sort, topk
from proflab.ops.views import (
    broadcast_to,
    flatten,
    moveaxis,
    movedim,
    permute,
    ravel,
    reshape,
    squeeze,
    swapaxes,
    swapdims,
    t,
    transpose,
    unflatten,
    unsqueeze,
)
from proflab.ops.where import clamp, clip, masked_fill, maximum, minimum, where
from proflab.tensor import (
    Tensor,
    device,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    meta,
    uint8,
)
from proflab.tensor import bool_ as bool
from proflab.tensor import float32 as float
from proflab.tensor import float64 as double
from proflab.tensor import int32 as int
from proflab.tensor import int64 as long
from proflab.tensor_methods import install

__version__ = "0.1.0"

inf, nan, pi = float32.type("inf").item(), float32.type("nan").item(), 3.141592653589793

finfo, iinfo, inference_mode = _numpy.finfo, _numpy.iinfo, no_grad


def is_tensor(obj) -> _builtins.bool:
    """Is it a Tensor?"""
    return isinstance(obj, Tensor)


install()


def __getattr__(name: str):
    raise AttributeError(f"proflab has no {name!r}; docs/torch.md lists what it has")
