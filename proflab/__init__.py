"""ProfLab: a tensor engine to profile, lessons that profile it, and the grader that marks them.

`import proflab` gives the engine, under torch's names, and imports numpy only. The core is six
files; read them in this order (docs/engine.md is a tour):

    tensor    what a tensor is                    graph     what a forward pass leaves behind
    meta      tensors without data                dispatch  the one point that every op passes
    shapes    broadcasting, strides               autograd  the walk back through the graph

ops/ holds the operations, nn/ the layers, models/ the models.
"""

import builtins as _builtins
import typing as _typing

import numpy as _numpy

from proflab import autograd as autograd
from proflab import dispatch as dispatch
from proflab import models as models
from proflab import nn as nn
from proflab import optim as optim
from proflab.autograd import Function as Function
from proflab.creation import *
from proflab.graph import enable_grad as enable_grad
from proflab.graph import is_grad_enabled as is_grad_enabled
from proflab.graph import no_grad as no_grad
from proflab.graph import saved_tensors as saved_tensors
from proflab.graph import set_grad_enabled as set_grad_enabled
from proflab.meta import meta as meta

# torch has these in both places
from proflab.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from proflab.nn.functional import avg_pool1d as avg_pool1d
from proflab.nn.functional import conv1d as conv1d
from proflab.nn.functional import conv2d as conv2d
from proflab.nn.functional import cosine_similarity as cosine_similarity
from proflab.nn.functional import log_softmax as log_softmax
from proflab.nn.functional import max_pool1d as max_pool1d
from proflab.nn.functional import pixel_shuffle as pixel_shuffle
from proflab.nn.functional import relu as relu
from proflab.nn.functional import softmax as softmax
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
from proflab.tensor import Tensor as Tensor
from proflab.tensor import bool_ as _bool
from proflab.tensor import float16 as float16
from proflab.tensor import float32 as float32
from proflab.tensor import float64 as float64
from proflab.tensor import int8 as int8
from proflab.tensor import int16 as int16
from proflab.tensor import int32 as int32
from proflab.tensor import int64 as int64
from proflab.tensor import uint8 as uint8
from proflab.tensor_methods import device as device

__version__ = "0.1.0"

inf, nan, pi = float32.type("inf").item(), float32.type("nan").item(), 3.141592653589793

bool, int, long, float, double = _bool, int32, int64, float32, float64
finfo, iinfo, inference_mode = _numpy.finfo, _numpy.iinfo, no_grad


def is_tensor(obj) -> _builtins.bool:
    """Return True if it is a Tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> _builtins.int:
    """Return the number of elements."""
    return input.numel()


if not _typing.TYPE_CHECKING:  # to a checker, what is not there is an error

    def __getattr__(name: str):
        raise AttributeError(f"proflab has no {name!r}; docs/torch.md lists what it has")
