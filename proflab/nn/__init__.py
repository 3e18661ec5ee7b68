"""Layers and models' building blocks, under torch's names."""

from typing import TYPE_CHECKING

from proflab.nn import functional as functional
from proflab.nn import init as init
from proflab.nn import utils as utils
from proflab.nn.activations import *
from proflab.nn.attention import *
from proflab.nn.containers import *
from proflab.nn.layers import *
from proflab.nn.losses import *
from proflab.nn.module import Module as Module
from proflab.nn.parameter import Parameter as Parameter
from proflab.nn.shaping import *

if not TYPE_CHECKING:  # to a checker, what is not there is an error

    def __getattr__(name: str):
        raise AttributeError(f"proflab.nn has no {name!r}; docs/torch.md lists what it has")
