"""Making tensors: of given values, of one value, of random numbers. torch's names and arguments.

Inside `with proflab.meta():`, or with device="meta", all of them have a shape and no data.
"""

from __future__ import annotations

import numpy as np

from proflab import tensor as _tensor
from proflab.shapes import MetaArray, Shape
from proflab.tensor import Tensor, float32, int64, wrap

_generator = np.random.default_rng(0)


def manual_seed(seed: int) -> None:
    """Start the random numbers anew."""
    global _generator
    _generator = np.random.default_rng(seed)


def generator() -> np.random.Generator:
    """The source of all random numbers: initial weights, dropout, randn …"""
    return _generator


def _is_meta(device) -> bool:
    return _tensor.meta_depth > 0 if device is None else str(device) == "meta"


def _sizes(size: tuple) -> Shape:
    """Sizes given one by one, or as one tuple."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    return tuple(int(n) for n in size)


def _make(make, shape: Shape, dtype, device, requires_grad: bool) -> Tensor:
    """A tensor from make(shape, dtype), which is not called for a meta tensor."""
    dtype = float32 if dtype is None else np.dtype(dtype)
    if any(n < 0 for n in shape):
        raise ValueError(f"negative size in the shape {shape}")
    array = MetaArray(shape, dtype) if _is_meta(device) else make(shape, dtype)
    return wrap(array, False).requires_grad_(requires_grad)


def tensor(data, *, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of `data`. As in torch, numpy arrays keep their dtype."""
    if dtype is None and isinstance(data, (np.ndarray, np.generic)):
        dtype = data.dtype
    array = Tensor(data, dtype=dtype).array
    if _is_meta(device):
        array = MetaArray(array.shape, array.dtype)
    elif isinstance(array, np.ndarray):
        array = array.copy()
    return wrap(array).requires_grad_(requires_grad)


def as_tensor(data, dtype=None, device=None) -> Tensor:
    """`data` itself if it is a tensor of that dtype already, else a new one."""
    if isinstance(data, Tensor) and dtype in (None, data.dtype):
        return data
    return tensor(data, dtype=dtype, device=device)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory."""
    return wrap(array)


def zeros(*size, dtype=None, device=None, requires_grad=False) -> Tensor:
    return _make(np.zeros, _sizes(size), dtype, device, requires_grad)


def ones(*size, dtype=None, device=None, requires_grad=False) -> Tensor:
    return _make(np.ones, _sizes(size), dtype, device, requires_grad)


def empty(*size, dtype=None, device=None, requires_grad=False) -> Tensor:
    return _make(np.empty, _sizes(size), dtype, device, requires_grad)


def full(size, fill_value, *, dtype=None, device=None, requires_grad=False) -> Tensor:
    if dtype is None and isinstance(fill_value, (bool, int)):
        dtype = np.dtype(type(fill_value))
    return _make(
        lambda s, d: np.full(s, fill_value, d), _sizes((size,)), dtype, device, requires_grad
    )


def randn(*size, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Normal random numbers of mean 0 and standard deviation 1."""

    def make(shape, dtype):
        return _generator.standard_normal(shape, np.float32).astype(dtype, copy=False)

    return _make(make, _sizes(size), dtype, device, requires_grad)


def rand(*size, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Random numbers, uniform in [0, 1)."""

    def make(shape, dtype):
        return _generator.random(shape, np.float32).astype(dtype, copy=False)

    return _make(make, _sizes(size), dtype, device, requires_grad)


def randint(low: int, high=None, size=None, *, dtype=int64, device=None) -> Tensor:
    """Random integers in [low, high); randint(high, size) starts at 0."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    return _make(
        lambda s, d: _generator.integers(low, high, s).astype(d), tuple(size), dtype, device, False
    )


def randperm(n: int, *, device=None) -> Tensor:
    return _make(lambda s, d: _generator.permutation(n), (n,), int64, device, False)


def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False) -> Tensor:
    """Numbers from start (0 if only one is given) up to, not including, end."""
    if end is None:
        start, end = 0, start
    if dtype is None:
        dtype = int64 if all(isinstance(n, (int, np.integer)) for n in (start, end, step)) else None
    length = max(0, int(np.ceil((end - start) / step)))

    def make(shape, dtype):
        return (start + step * np.arange(length)).astype(dtype)

    return _make(make, (length,), dtype, device, requires_grad)


def linspace(start, end, steps: int, *, dtype=None, device=None, requires_grad=False) -> Tensor:
    return _make(
        lambda s, d: np.linspace(start, end, steps).astype(d),
        (steps,),
        dtype,
        device,
        requires_grad,
    )


def eye(n: int, m=None, *, dtype=None, device=None) -> Tensor:
    m = n if m is None else m
    return _make(lambda s, d: np.eye(n, m, dtype=d), (n, m), dtype, device, False)


def _like(make):
    """The `_like` form of a function: shape, dtype and device of another tensor."""

    def like(input: Tensor, *, dtype=None, device=None, requires_grad=False) -> Tensor:
        return make(
            input.shape,
            dtype=dtype or input.dtype,
            device=device or input.device,
            requires_grad=requires_grad,
        )

    like.__name__ = like.__qualname__ = f"{make.__name__}_like"
    like.__doc__ = f"`{make.__name__}` of the shape, dtype and device of `input`."
    return like


zeros_like, ones_like, empty_like = _like(zeros), _like(ones), _like(empty)
randn_like, rand_like = _like(randn), _like(rand)


def full_like(input: Tensor, fill_value, *, dtype=None, device=None) -> Tensor:
    return full(input.shape, fill_value, dtype=dtype or input.dtype, device=device or input.device)


def example_input(model, input_shape, meta: bool = False):
    """An input for `model`: the one way to turn a shape into a tensor. The same at every call.

    input_shape: a shape, batch first; or a ready input, or a tuple of them, handed through.
    meta: without data, also what was handed in with it.
    The dtype is `model.input_dtype`, float32 if it has none; integers lie below
    `model.vocab_size`. ValueError for a shape that is not made of positive integers.
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
