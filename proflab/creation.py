"""Making tensors: of given values, of one value, of random numbers. torch's names and arguments.

Inside `with proflab.meta():`, or with device="meta", all of them have a shape and no data.
"""

from __future__ import annotations

import numpy as np

from proflab import dispatch
from proflab.meta import MetaArray, in_meta_context
from proflab.shapes import Shape
from proflab.tensor import Tensor, float32, int64, wrap
from proflab.tensor_methods import method, write_into

__all__ = [
    "arange", "as_tensor", "empty", "empty_like", "example_input", "eye", "from_numpy", "full",
    "full_like", "linspace", "manual_seed", "ones", "ones_like", "rand", "rand_like", "randint",
    "randn", "randn_like", "randperm", "tensor", "zeros", "zeros_like",
]  # fmt: skip

_generator = np.random.default_rng(0)


def manual_seed(seed: int) -> None:
    """Start the random numbers anew: the same seed gives the same numbers."""
    global _generator
    _generator = np.random.default_rng(seed)


def generator() -> np.random.Generator:
    """Return the source of all random numbers: initial weights, dropout, randn …"""
    return _generator


def _is_meta(device) -> bool:
    return in_meta_context() if device is None else str(device) == "meta"


def _sizes(size: tuple) -> Shape:
    """Return sizes given one by one, or as one tuple, as a tuple."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        return tuple(map(int, size[0]))
    return tuple(map(int, size))


def _make(make, shape: Shape, dtype, device, requires_grad: bool, value=None) -> Tensor:
    """Return a tensor of make(shape, dtype), which is not called for a meta tensor.

    value: the number that all elements are, where they are one: a race's tape keeps it alone
    """
    dtype = float32 if dtype is None else np.dtype(dtype)
    if min(shape, default=0) < 0:
        raise ValueError(f"negative size in the shape {shape}")
    if dispatch.tracer:
        tensor = wrap(dispatch.tracer.make(make, shape, dtype, value))
    else:
        tensor = wrap(MetaArray(shape, dtype) if _is_meta(device) else make(shape, dtype))
    return tensor.requires_grad_() if requires_grad else tensor


def tensor(data, *, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """Return a tensor with a copy of `data`. As in torch, tensors and arrays keep their dtype."""
    if dtype is None and isinstance(data, (Tensor, np.ndarray, np.generic)):
        dtype = data.dtype
    array = Tensor(data, dtype=dtype).array
    if _is_meta(device):
        array = MetaArray(array.shape, array.dtype)
    elif isinstance(array, np.ndarray):
        array = array.copy()
    return wrap(array).requires_grad_(requires_grad)


def as_tensor(data, dtype=None, device=None) -> Tensor:
    """Return `data` itself if it is a tensor of that dtype already, else a new one."""
    if isinstance(data, Tensor) and dtype in (None, data.dtype):
        return data
    return tensor(data, dtype=dtype, device=device)


def from_numpy(array: np.ndarray) -> Tensor:
    """Return a tensor that shares the array's memory."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy: a {type(array).__name__} is no numpy array: use tensor")
    return wrap(array)


def zeros(*size, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Return a tensor of zeros: zeros(2, 3) or zeros((2, 3))."""
    return _make(np.zeros, _sizes(size), dtype, device, requires_grad, 0)


def ones(*size, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Return a tensor of ones: ones(2, 3) or ones((2, 3))."""
    return _make(np.ones, _sizes(size), dtype, device, requires_grad, 1)


def empty(*size, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Return a tensor whose elements are whatever lies in its memory."""
    return _make(np.empty, _sizes(size), dtype, device, requires_grad, 0)  # in a race's tape, 0


def full(size, fill_value, *, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Return a tensor of one value; an integer gives int64, True or False bool."""
    if dtype is None and isinstance(fill_value, (bool, int)):
        dtype = np.dtype(type(fill_value))
    return _make(
        lambda s, d: np.full(s, fill_value, d), _sizes((size,)), dtype, device, requires_grad,
        fill_value,
    )  # fmt: skip


def randn(*size, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Return normal random numbers of mean 0 and standard deviation 1."""

    def make(shape, dtype):
        return _generator.standard_normal(shape, np.float32).astype(dtype, copy=False)

    return _make(make, _sizes(size), dtype, device, requires_grad)


def rand(*size, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Return random numbers, uniform in [0, 1)."""

    def make(shape, dtype):
        return _generator.random(shape, np.float32).astype(dtype, copy=False)

    return _make(make, _sizes(size), dtype, device, requires_grad)


def randint(low: int, high=None, size=None, *, dtype=int64, device=None) -> Tensor:
    """Return random integers in [low, high); randint(high, size) starts at 0."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    return _make(
        lambda s, d: _generator.integers(low, high, s).astype(d), tuple(size), dtype, device, False
    )


def randperm(n: int, *, device=None) -> Tensor:
    """Return the numbers from 0 to n - 1 in random order, int64."""
    return _make(lambda s, d: _generator.permutation(n).astype(int64), (n,), int64, device, False)


def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Return the numbers from start (0 if only one is given) up to, not including, end."""
    if end is None:
        start, end = 0, start
    if dtype is None:
        dtype = int64 if all(isinstance(n, (int, np.integer)) for n in (start, end, step)) else None
    if step == 0:
        raise ValueError(f"arange: by steps of 0 nothing comes from {start} to {end}")
    length = max(0, int(np.ceil((end - start) / step)))

    def make(shape, dtype):
        # numpy's arange of floats may round to one number more than a meta tensor would have.
        return (start + step * np.arange(length, dtype=int64)).astype(dtype)

    return _make(make, (length,), dtype, device, requires_grad)


def linspace(start, end, steps: int, *, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Return `steps` numbers from start to end, both included, equally far apart."""
    return _make(
        lambda s, d: np.linspace(start, end, steps).astype(d),
        (steps,),
        dtype,
        device,
        requires_grad,
    )


def eye(n: int, m=None, *, dtype=None, device=None) -> Tensor:
    """Return (n, m) zeros with ones on the diagonal; square without m."""
    m = n if m is None else m
    return _make(lambda s, d: np.eye(n, m, dtype=d), (n, m), dtype, device, False)


def _like(make):
    """Return the `_like` form of a function: shape, dtype and device of another tensor."""

    def like(input: Tensor, *, dtype=None, device=None, requires_grad=False) -> Tensor:
        return make(
            input.shape,
            dtype=dtype or input.dtype,
            device=device or input.device,
            requires_grad=requires_grad,
        )

    like.__name__ = like.__qualname__ = f"{make.__name__}_like"
    like.__doc__ = f"Return `{make.__name__}` of the shape, dtype and device of `input`."
    return like


zeros_like, ones_like, empty_like = _like(zeros), _like(ones), _like(empty)
randn_like, rand_like = _like(randn), _like(rand)


def full_like(input: Tensor, fill_value, *, dtype=None, device=None) -> Tensor:
    """Return a tensor of one value, of the shape, dtype and device of `input`."""
    return full(input.shape, fill_value, dtype=dtype or input.dtype, device=device or input.device)


# Methods of a tensor that make others like it, or write one value into it


def _like_self(make) -> None:
    """Give Tensor the method `new_<name>`: its dtype and device unless told otherwise."""

    def new(input: Tensor, *args, dtype=None, device=None, requires_grad=False) -> Tensor:
        return make(
            *args, dtype=dtype or input.dtype, device=device or input.device,
            requires_grad=requires_grad,
        )  # fmt: skip

    new.__name__ = new.__qualname__ = f"new_{make.__name__}"
    new.__doc__ = f"Return `{make.__name__}` of the dtype and device of this tensor."
    method(new)


for _function in (zeros, ones, empty, full, tensor):
    _like_self(_function)


@method
def fill_(input: Tensor, value) -> Tensor:
    """Write one value into every element, and return the tensor."""
    return write_into(input, full_like(input, value), "fill_")


@method
def zero_(input: Tensor) -> Tensor:
    """Write 0 into every element, and return the tensor."""
    return fill_(input, 0)


def example_input(model, input_shape, meta: bool = False):
    """Return an input for `model`, the same at every call: the one way from a shape to a tensor.

    input_shape: a shape, batch first; or a ready input, or a tuple of them, handed through
    meta:        without data, also what was handed in with it

    The dtype is `model.input_dtype`, float32 if it has none; integers lie below
    `model.vocab_size`. ValueError for a shape that is not made of positive integers.

    >>> proflab.example_input(models.LeNet5(), (2, 1, 32, 32)).shape
    (2, 1, 32, 32)
    >>> with proflab.meta():
    ...     model = models.gpt2()
    >>> proflab.example_input(model, (1, 8), meta=True)
    Tensor.meta((1, 8), dtype=int64)
    """
    if isinstance(input_shape, (Tensor, np.ndarray)):
        ready = input_shape if isinstance(input_shape, Tensor) else Tensor(input_shape)
        return Tensor.meta(ready.shape, ready.dtype, ready.requires_grad) if meta else ready
    if isinstance(input_shape, (int, np.integer)):
        input_shape = (input_shape,)
    if any(isinstance(part, (Tensor, np.ndarray, tuple, list)) for part in input_shape):
        return tuple(example_input(model, part, meta) for part in input_shape)
    if not all(isinstance(n, (int, np.integer)) and n > 0 for n in input_shape):
        raise ValueError(f"input_shape {input_shape!r} is not a tuple of positive integers")
    shape = tuple(int(n) for n in input_shape)
    dtype = np.dtype(getattr(model, "input_dtype", None) or float32)
    if meta:
        return Tensor.meta(shape, dtype)
    rng = np.random.default_rng(0)
    if dtype.kind in "iu":
        return wrap(rng.integers(0, getattr(model, "vocab_size", 2), shape).astype(dtype))
    return wrap(rng.standard_normal(shape, np.float32).astype(dtype, copy=False))
