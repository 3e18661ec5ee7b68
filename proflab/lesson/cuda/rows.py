"""Stand in for Triton: what a kernel for rows takes from triton.language, computed by NumPy.

It is stricter than a card, which may let a mistake pass: an address outside of a matrix raises, a
number that no mask let in is nan, and so is one that was not written. Numbers are float32. What may
not enter: a function that Triton does not have, and expected values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np


def by_rows(kernel: Callable, x: Sequence[Sequence[float]], block: int) -> dict[str, Any]:
    """Launch kernel(out, x, columns, block) once for each row of x, the last row first.

    x: (rows, columns), taken as float32; it stays. block: a power of two, at least `columns`.
    Returns {"out": what the kernel wrote, (rows, columns), as lists, nan where it wrote nothing;
    "read": bytes loaded; "written": bytes stored}.
    Raises IndexError for an address outside of a matrix, ValueError for a store to x and for two
    stores to one place, and TypeError for what is no operation of Triton's on a block.
    """
    data = np.array(x, dtype=np.float32)
    source = _Matrix("x", data)
    out = _Matrix("out", np.full_like(data, np.nan))
    with np.errstate(all="ignore"):  # inf and nan are what a card makes of such numbers, too
        for row in reversed(range(len(data))):
            bound = on_language(kernel, _Language(row))
            bound(_Pointer(out, 0), _Pointer(source, 0), _Block(np.int32(data.shape[1])), block)
    return {"out": out.data.tolist(), "read": source.bytes_read, "written": out.bytes_written}


def on_language(kernel: Callable, language: Any) -> Callable:
    """Return the kernel with another module under its name `tl`."""
    kernel = getattr(kernel, "fn", kernel)  # of a function that triton.jit decorated
    bound = FunctionType(
        kernel.__code__,
        {**kernel.__globals__, "tl": language},
        kernel.__name__,
        kernel.__defaults__,
        kernel.__closure__,
    )
    bound.__annotations__ = kernel.__annotations__
    return bound


class _Matrix:
    """Numbers in memory, in a row, with what was moved."""

    def __init__(self, name: str, data: np.ndarray):
        self.name, self.data, self.flat = name, data, data.reshape(-1)
        self.stored = np.zeros(data.size, bool)
        self.bytes_read = self.bytes_written = 0

    def places(self, where: np.ndarray, verb: str) -> np.ndarray:
        outside = where[(where < 0) | (where >= self.flat.size)]
        if outside.size:
            place = f"element {outside[0]} of {self.name}, which has {self.flat.size}"
            raise IndexError(f"the kernel {verb} {place}: mask what lies outside of the row")
        return where


class _Block:
    """Hold one number or a block of them; nothing but Triton's operators works on it."""

    __iter__ = None  # Python's sum and max refuse it

    def __array_ufunc__(self, function: np.ufunc, *rest: Any, **more: Any) -> Any:
        raise TypeError(f"Triton has no np.{function.__name__}: take what `tl` has")

    def __init__(self, data: Any):
        data = np.asarray(data)
        self.data = data.astype(np.float32) if data.dtype.kind == "f" else data

    def __index__(self) -> int:
        return operator.index(self.data[()])  # one number: a loop's bound, say

    def __bool__(self) -> bool:
        if self.data.ndim:
            raise TypeError("a block has many truth values: take tl.where")
        return bool(self.data)

    def __neg__(self) -> _Block:
        return _Block(-self.data)

    def __invert__(self) -> _Block:
        return _Block(~self.data)


class _Pointer:
    """Point at one number of a matrix, or at a block of them."""

    __array_ufunc__ = _Block.__array_ufunc__

    def __init__(self, matrix: _Matrix, place: Any):
        self.matrix, self.place = matrix, np.asarray(place)

    def __add__(self, other: Any) -> _Pointer:
        return _Pointer(self.matrix, self.place + _whole(other))

    def __sub__(self, other: Any) -> _Pointer:
        return _Pointer(self.matrix, self.place - _whole(other))

    __radd__ = __add__


def _data(value: Any) -> Any:
    if isinstance(value, _Block):
        return value.data
    if isinstance(value, bool | int | float):
        return value
    raise TypeError(f"Triton computes with blocks and numbers, not with a {type(value).__name__}")


def _whole(value: Any) -> np.ndarray:
    data = np.asarray(_data(value))
    if data.dtype.kind not in "iu":
        raise TypeError("what is added to a pointer are whole numbers")
    return data


def _operators() -> None:
    """Give _Block its operators of two, from both sides."""

    def forward(apply: Callable) -> Callable:
        return lambda self, other: (
            NotImplemented
            if isinstance(other, _Pointer)
            else _Block(apply(self.data, _data(other)))
        )

    def backward(apply: Callable) -> Callable:
        return lambda self, other: _Block(apply(_data(other), self.data))

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and_", "or_"):
        apply, plain = getattr(operator, name), name.rstrip("_")
        setattr(_Block, f"__{plain}__", forward(apply))
        setattr(_Block, f"__r{plain}__", backward(apply))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(_Block, f"__{name}__", forward(getattr(operator, name)))


_operators()


class _Language:
    """Be `tl` within one program of a launch."""

    class constexpr:
        """Mark an argument that is known when a kernel is compiled."""

    def __init__(self, program: int | None = None):
        self._program = program

    def __getattr__(self, name: str) -> Any:
        known = ", ".join(n for n in vars(_Language) if not n.startswith("_"))
        raise AttributeError(f"tl.{name} is not among what this lesson takes from Triton: {known}")

    def program_id(self, axis: int) -> _Block:
        """Return the number of this program; there is one axis of them, 0."""
        if self._program is None:
            raise RuntimeError("a kernel runs where it is launched: by_rows(kernel, x, block)")
        return _Block(np.int32(self._program if axis == 0 else 0))

    def arange(self, start: int, end: int) -> _Block:
        """Return the block start, …, end - 1; both are known at compile time."""
        if not isinstance(start, int) or not isinstance(end, int):
            raise TypeError("arange's bounds are known when the kernel is compiled, as block is")
        length = end - start
        if length < 1 or length & (length - 1):
            raise ValueError(f"arange's length must be a power of two, not {length}")
        return _Block(np.arange(start, end, dtype=np.int32))

    def load(self, pointer: _Pointer, mask: Any = None, other: Any = None) -> _Block:
        """Return the numbers at the pointers that the mask lets in, elsewhere `other`."""
        matrix, where, inside = _addressed(pointer, mask)
        found = np.full(where.shape, np.nan if other is None else _data(other), np.float32)
        found[inside] = matrix.flat[matrix.places(where[inside], "reads")]
        matrix.bytes_read += int(inside.sum()) * matrix.flat.itemsize
        return _Block(found)

    def store(self, pointer: _Pointer, value: Any, mask: Any = None) -> None:
        """Write the numbers at the pointers that the mask lets in."""
        matrix, where, inside = _addressed(pointer, mask)
        if matrix.name != "out":
            raise ValueError(f"the kernel writes into {matrix.name}: only out is written")
        places = matrix.places(where[inside], "writes")
        if matrix.stored[places].any():
            twice = places[matrix.stored[places]][0]
            raise ValueError(f"element {twice} of out is written twice, by whichever comes last")
        matrix.stored[places] = True
        matrix.flat[places] = np.broadcast_to(_data(value), where.shape)[inside]
        matrix.bytes_written += int(inside.sum()) * matrix.flat.itemsize

    def max(self, block: _Block, axis: int | None = None) -> _Block:
        """Return the largest number of a block."""
        return _Block(_data(block).max(axis))

    def sum(self, block: _Block, axis: int | None = None) -> _Block:
        """Return the sum of a block."""
        return _Block(_data(block).sum(axis))

    def exp(self, block: _Block) -> _Block:
        """Return e to the power of each number."""
        return _Block(np.exp(_data(block)))

    def where(self, condition: _Block, then: Any, otherwise: Any) -> _Block:
        """Return `then` where the condition holds, elsewhere `otherwise`."""
        return _Block(np.where(_data(condition), _data(then), _data(otherwise)))


def _addressed(pointer: Any, mask: Any) -> tuple[_Matrix, np.ndarray, np.ndarray]:
    """Return a pointer's matrix, the places it points at, and which of them a mask lets in."""
    if not isinstance(pointer, _Pointer):
        raise TypeError("load and store take a pointer: out or x, plus whole numbers")
    allowed = np.asarray(True if mask is None else _data(mask), bool)
    where, inside = np.broadcast_arrays(pointer.place, allowed)
    return pointer.matrix, where, inside


tl = _Language()  # what a kernel's signature and a reader see; each program of a launch has its own
