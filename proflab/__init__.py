"""ProfLab: a tensor engine to profile, lessons that profile it, and the grader that marks them.

`import proflab` gives the engine, under torch's names, and imports numpy only. The core is six
files; read them in this order (docs/engine.md is a tour):

    tensor    what a tensor is                    graph     what a forward pass leaves behind
    meta      tensors without data                dispatch  the one point that every op passes
    shapes    broadcasting, strides               autograd  the walk back through the graph

ops/ holds the operations, nn/ the layers, models/ the models.
"""

import builtins as _builtins

import numpy as _numpy

from proflab import autograd, dispatch, models, nn, optim
from proflab.autograd import Function
from proflab.creation import *
from proflab.graph import (
    enable_grad,
    is_grad_enabled,
    no_grad,
    saved_tensors,
    set_grad_enabled,
)
from proflab.meta import meta
from proflab.nn.functional import (  # torch has these in both places
    adaptive_avg_pool1d,
    avg_pool1d,
    conv1d,
    conv2d,
    cosine_similarity,
    log_softmax,
    max_pool1d,
    pixel_shuffle,
    relu,
    softmax,
)
from proflab.ops.arithmetic import *
from proflab.ops.comparison import *
from proflab.ops.concat import *
from proflab.ops.convert import *
from proflab.ops.einsum import *
from proflab.ops.indexing import *
from proflab.ops.matmul import *
from proflab.ops.pointwise import *
from proflab.ops.reduce import *
from proflab.ops.sort import *
from proflab.ops.views import *
from proflab.ops.where import *
from proflab.tensor import (
    Tensor,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from proflab.tensor import bool_ as bool
from proflab.tensor import float32 as float
from proflab.tensor import float64 as double
from proflab.tensor import int32 as int
from proflab.tensor import int64 as long
from proflab.tensor_methods import device

__version__ = "0.1.0"

inf, nan, pi = float32.type("inf").item(), float32.type("nan").item(), 3.141592653589793

finfo, iinfo, inference_mode = _numpy.finfo, _numpy.iinfo, no_grad


def is_tensor(obj) -> _builtins.bool:
    """Return True if it is a Tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> _builtins.int:
    """Return the number of elements."""
    return input.numel()


def __getattr__(name: str):
    raise AttributeError(f"proflab has no {name!r}; docs/torch.md lists what it has")
