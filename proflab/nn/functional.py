"""The functional forms of nn's layers, under torch's names: `__all__` of the files below."""

from typing import TYPE_CHECKING

from proflab.ops.activation import *
from proflab.ops.attention import *
from proflab.ops.composite import *
from proflab.ops.conv import *
from proflab.ops.embedding import *
from proflab.ops.linear import *
from proflab.ops.loss import *
from proflab.ops.norm import *
from proflab.ops.pad import *
from proflab.ops.pointwise import sigmoid as sigmoid
from proflab.ops.pointwise import tanh as tanh
from proflab.ops.pool import *
from proflab.ops.random import *

if not TYPE_CHECKING:  # to a checker, what is not there is an error

    def __getattr__(name: str):
        raise AttributeError(
            f"proflab.nn.functional has no {name!r}; docs/torch.md lists what it has"
        )
