"""A memory for attention by tiles, which counts each number that passes.

What may not enter: how many numbers should pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from proflab.lesson.doubles.double import Double

# Functions whose results are scores where they come from q and k alone; so are those of `@`, `exp`.
_PRODUCTS = {"dot", "einsum", "inner", "matmul", "outer", "tensordot", "vdot"}
_NOTED_UFUNCS = {"matmul", "vecdot", "exp", "exp2"}


class SlowMemoryScript:
    """The rows of q, k and v, what was stored in "o", and how many numbers passed.

    In a hidden test the grader holds it, so that what passes is counted there.
    """

    ASKED = ("size", "load", "store")
    LOOKUPS = ("moved", "output", "error", "causal_error")

    def __init__(
        self,
        seq: int,
        width: int,
        block_q: int,
        block_k: int,
        dtype: str = "float32",
        largest: float = 1.0,
        seed: int = 0,
    ) -> None:
        rng = np.random.default_rng(seed)
        self._sizes = {"seq": seq, "width": width}
        self._most = {"q": block_q, "o": block_q, "k": block_k, "v": block_k}
        drawn = rng.uniform(-largest, largest, (3, seq, width)).astype(dtype)
        self._rows = dict(zip("qkv", drawn, strict=True))
        self.output = np.full((seq, width), np.nan, dtype)
        self._stored = np.zeros(seq, bool)
        self.moved = 0

    def size(self, name: str) -> int:
        """Return "seq" or "width"."""
        return self._sizes[name]

    def load(self, name: str, low: int, high: int) -> np.ndarray:
        """Return the rows low to high - 1; raise ValueError for what cannot be loaded."""
        if name not in self._rows:
            raise ValueError(f"there is no {name!r} to load: it is 'q', 'k' or 'v'")
        self._check(name, low, high)
        rows = self._rows[name][low:high].copy()
        self.moved += rows.size
        return rows

    def store(self, name: str, low: int, rows: np.ndarray) -> None:
        """Put rows into "o"; raise ValueError for what cannot be stored."""
        rows, width = np.asarray(rows), self._sizes["width"]
        if name != "o":
            raise ValueError(f"{name!r} cannot be stored: only 'o' can")
        if rows.ndim != 2 or rows.shape[1] != width:
            raise ValueError(f"rows of o are (n, {width}), not {rows.shape}")
        self._check(name, low, low + len(rows))
        if self._stored[low : low + len(rows)].any():
            raise ValueError(f"some of the rows {low} to {low + len(rows) - 1} are stored already")
        self.output[low : low + len(rows)] = rows
        self._stored[low : low + len(rows)] = True
        self.moved += rows.size

    @property
    def error(self) -> float:
        """Return the largest difference from attention in float64; inf if something is missing."""
        return self._worst(causal=False)

    @property
    def causal_error(self) -> float:
        """Return the same for attention in which row i sees the keys 0 to i."""
        return self._worst(causal=True)

    def _worst(self, causal: bool) -> float:
        q, k, v = (self._rows[name].astype(np.float64) for name in "qkv")
        scores = q @ k.T / math.sqrt(self._sizes["width"])
        if causal:
            scores[np.triu_indices(len(q), 1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        plain = weights @ v / weights.sum(axis=1, keepdims=True)
        worst = float(np.abs(self.output - plain).max())
        return worst if math.isfinite(worst) else math.inf

    def _check(self, name: str, low: int, high: int) -> None:
        seq, most = self._sizes["seq"], self._most[name]
        if not 0 <= low < high <= seq:
            raise ValueError(f"there are rows 0 to {seq - 1}, not {low} to {high - 1}")
        if high - low > most >= 1:
            raise ValueError(f"{high - low} rows of {name} do not fit: at most {most} at a time")


class SlowMemory(Double):
    """Holds q, k and v of (seq, width), drawn from `seed`, each number from -largest to largest.

    At most block_q rows of q and o, and block_k rows of k and v, pass at a time; one below 1 limits
    nothing, so that who refuses such tiles is the student's function.
    moved: the numbers loaded and stored so far. output: what was stored, (seq, width); NaN where
    nothing was. error: the largest difference from attention in float64, causal_error: from causal
    attention; inf where something is missing. largest_scores: the elements of the largest array of
    scores that a product made, or that went through exp, as far as what was loaded can be followed.

    >>> memory = SlowMemory(seq=4, width=2, block_q=2, block_k=1)
    >>> memory.load("q", 0, 2).shape, memory.load("k", 3, 4).shape, memory.moved
    ((2, 2), (1, 2), 6)
    >>> memory.store("o", 0, np.ones((2, 2)))
    >>> memory.output[:3, 0].tolist(), memory.moved
    ([1.0, 1.0, nan], 10)
    >>> memory.load("v", 0, 2)
    Traceback (most recent call last):
    ValueError: 2 rows of v do not fit: at most 1 at a time
    """

    Script = SlowMemoryScript
    largest_scores = 0

    def load(self, name: str, low: int, high: int) -> np.ndarray:
        """Return a copy of the rows low to high - 1 of "q", "k" or "v".

        Raises ValueError for another name, rows that are not there, and more than fit.
        """
        rows = np.asarray(self._script.load(name, low, high))
        return _followed(rows, frozenset(name), self._note)

    def store(self, name: str, low: int, rows: Any) -> None:
        """Put rows (n, width) into "o", from row low on.

        Raises ValueError for another name or width, rows out of range, rows that were stored
        before, and more than fit.
        """
        self._script.store(name, low, np.asarray(rows).view(np.ndarray))

    seq = property(lambda self: self._script.size("seq"))
    width = property(lambda self: self._script.size("width"))
    moved = property(lambda self: self._script.moved)
    output = property(lambda self: self._script.output)
    error = property(lambda self: self._script.error)
    causal_error = property(lambda self: self._script.causal_error)

    def _note(self, size: int) -> None:
        self.largest_scores = max(self.largest_scores, size)


class _Followed(np.ndarray):
    """An array that knows which of q, k and v it comes from, as far as numpy carries it on."""

    of: frozenset[str] = frozenset()
    note: Callable[[int], None] | None = None

    def __array_finalize__(self, source: Any) -> None:
        self.of = getattr(source, "of", frozenset())
        self.note = getattr(source, "note", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out")
        result = getattr(ufunc, method)(*_plain(inputs), **_plain(options))
        noted = ufunc.__name__ in _NOTED_UFUNCS or method == "outer"
        made = self._carried(result, (inputs, options), noted)
        return outs[0] if outs and len(outs) == 1 else made

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        result = function(*_plain(inputs), **_plain(options))
        return self._carried(result, (inputs, options), function.__name__ in _PRODUCTS)

    def dot(self, other: Any, out: Any = None) -> Any:
        """Return the product, noted as that of `@` is."""
        return np.dot(self, other, out=out)

    def _carried(self, result: Any, given: Any, noted: bool) -> Any:
        of = frozenset().union(*(array.of for array in _arrays(given)))
        note = next(array.note for array in _arrays(given) if array.note is not None)
        if noted and of == {"q", "k"}:
            note(np.size(result))
        if isinstance(result, (tuple, list)):
            return type(result)([self._carried(part, given, False) for part in result])
        return _followed(result, of, note) if isinstance(result, np.ndarray) else result


def _followed(rows: np.ndarray, of: frozenset[str], note: Callable[[int], None]) -> _Followed:
    array = rows.view(_Followed)
    array.of, array.note = of, note
    return array


def _plain(value: Any) -> Any:
    """Return the value with plain arrays in it."""
    if isinstance(value, _Followed):
        return value.view(np.ndarray)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return type(value)([_plain(v) for v in value]) if type(value) in (list, tuple) else value


def _arrays(value: Any) -> Iterable[_Followed]:
    """Yield the followed arrays in a value."""
    if isinstance(value, _Followed):
        yield value
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _arrays(item)
