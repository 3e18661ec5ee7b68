"""The functional forms of nn's layers, under torch's names: `__all__` of the files below."""

from proflab.ops.activation import *
from proflab.ops.attention import *
from proflab.ops.composite import *
from proflab.ops.conv import *
from proflab.ops.embedding import *
from proflab.ops.linear import *
from proflab.ops.loss import *
from proflab.ops.norm import *
from proflab.ops.pad import *
from proflab.ops.pointwise import sigmoid, tanh
from proflab.ops.pool import *
from proflab.ops.random import *


def __getattr__(name: str):
    raise AttributeError(f"proflab.nn.functional has no {name!r}; docs/torch.md lists what it has")
