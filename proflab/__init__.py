# ruff: noqa: F401  (a room that only shows what the others hold)
"""ProfLab: a tensor engine to profile, lessons that profile it, and the grader that marks them.

`import proflab` gives the engine, under torch's names, and imports numpy only.
"""

from proflab import autograd, dispatch, models, nn
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

__version__ = "0.1.0"


def __getattr__(name: str):
    raise AttributeError(f"proflab has no {name!r}; docs/torch.md lists what it has")
