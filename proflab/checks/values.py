"""Plain data: what a test case may yield, and the bytes in which it crosses a process boundary.

`to_plain_data` turns numpy scalars, subclasses and 0-d arrays into None, bool, int, float, complex,
str, list, tuple, dict and numpy arrays of numbers, and refuses everything else. It reads values
through their base type's own methods, so an object's `__eq__`, `__iter__` or `__array__` gets no
say. `dumps` and `loads` are the reply format: JSON with tagged values, exact to the last bit and
without pickle, so that reading a stranger's reply runs none of the stranger's code.
"""

from __future__ import annotations

import base64
import json
import math
import re
from typing import Any

import numpy as np

MAX_DEPTH = 8  # lists and dicts inside each other
MAX_BYTES = 16 * 1024**2  # of memory that a value takes, about
# What an item of a list, or a number that an array holds or has a place for, takes as an object.
ITEM_BYTES, CELL_BYTES = 56, 8
# Keys other than text can be chosen so that all collide, which makes a dict's cost quadratic.
_MAX_KEYS = 2_000
_MAX_INT_DIGITS = 256  # hexadecimal ones: 1,000 bits and the prefix
_MAX_DIMENSIONS = 32
_ARRAY_KINDS = "biufc"  # numpy's letters of booleans and numbers
_ARRAY_DTYPE = re.compile(r"[<|][biufc]\d{1,2}")  # little-endian, as they are written
_decode = json.JSONDecoder().decode
_quoted = json.encoder.encode_basestring_ascii
# What taking apart a malformed reply may raise.
_MALFORMED = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, MemoryError)


class NotPlainData(ValueError):
    """A value that no test case may yield; the sentence says what it is."""


def to_plain_data(value: Any) -> Any:
    """Return `value` as plain data; raise NotPlainData, with one sentence, for anything else."""
    return _plain(value, 0, [MAX_BYTES])


def _spend(budget: list[int], size: int) -> None:
    budget[0] -= size
    if budget[0] < 0:
        raise NotPlainData(f"the value is larger than {MAX_BYTES // 1024**2} MB")


def _plain(value: Any, depth: int, budget: list[int]) -> Any:
    kind = type(value)
    _spend(budget, 8)
    if issubclass(kind, (list, tuple, dict)):
        _not_too_deep(depth)
        return _plain_container(value, kind, depth + 1, budget)
    if value is None or kind in (bool, float, complex):
        return value
    if issubclass(kind, str):  # before np.generic: numpy's strings are both
        _spend(budget, 4 * str.__len__(value))
        return str.__str__(value)
    if issubclass(kind, np.generic):
        return _plain_array(np.asarray(value), budget)
    if issubclass(kind, int):
        _spend(budget, int.bit_length(value) // 8)
        return int.__pos__(value)
    if issubclass(kind, float):
        return float.__pos__(value)
    if issubclass(kind, complex):
        return complex.__pos__(value)
    if issubclass(kind, np.ndarray):
        return _plain_array(np.array(value, subok=False), budget)
    raise NotPlainData(f"a value of type {kind.__name__} is not plain data (a number, a string, …)")


def _plain_container(value: Any, kind: type, depth: int, budget: list[int]) -> Any:
    base = list if issubclass(kind, list) else tuple if issubclass(kind, tuple) else dict
    _spend(budget, ITEM_BYTES * base.__len__(value))  # before it is walked through
    if base is not dict:
        items, of_integers = [], 0
        for item in base.__iter__(value):
            if type(item) is int:  # here, as a plan is some hundred thousand of them by threes
                of_integers += 8 + item.bit_length() // 8
            else:
                item = _plain(item, depth, budget)
            items.append(item)
        _spend(budget, of_integers)
        return items if base is list else tuple(items)
    result = {}
    for key, item in dict.items(value):
        key = _plain(key, depth, budget)
        if isinstance(key, (list, dict, np.ndarray)):
            raise NotPlainData(f"a {type(key).__name__} cannot be a dictionary key")
        try:
            result[key] = _plain(item, depth, budget)
        except TypeError:
            raise NotPlainData("a dictionary key is not hashable") from None
    return result


def _plain_array(array: np.ndarray, budget: list[int]) -> Any:
    if array.ndim == 0 and array.dtype.kind == "U":
        return _plain(array.item(), 0, budget)
    if array.dtype.kind not in _ARRAY_KINDS:
        raise NotPlainData(f"an array of dtype {array.dtype} holds no numbers")
    cells = math.prod(max(1, int(size)) for size in array.shape)  # of (2, 10**8, 0), too
    _spend(budget, max(array.nbytes, CELL_BYTES * cells if array.ndim else 0))
    if array.ndim == 0:
        number = {"f": float, "c": complex}.get(array.dtype.kind)  # item() leaves long ones numpy's
        return number(array) if number else array.item()
    return array


def dumps(value: Any) -> bytes:
    """Return plain data in the reply format; raise NotPlainData for anything else."""
    return _written(value, 0, [MAX_BYTES]).encode()


def loads(data: bytes) -> Any:
    """Return the plain data in `data`; raise NotPlainData when it is not the reply format."""
    if len(data) > 4 * MAX_BYTES:  # tags and base64 make it longer than what it says
        raise NotPlainData("the reply is too large")
    try:
        return _untag(_decode(data.decode()), 0, _Remaining())
    except NotPlainData:
        raise
    except _MALFORMED as error:
        raise NotPlainData(
            f"the reply is not in the reply format ({type(error).__name__})"
        ) from None


def _written(value: Any, depth: int, budget: list[int]) -> str:
    """Return a value in the reply format; what tapes are made of is walked through once."""
    kind = type(value)
    if kind is int:  # in hexadecimal: to read a long decimal takes quadratic time
        _spend(budget, 8 + value.bit_length() // 8)
        return f'["i","{value:#x}"]'
    if kind is str:
        _spend(budget, 8 + 4 * len(value))
        return _quoted(value)
    if value is None or kind is bool:
        _spend(budget, 8)
        return "null" if value is None else "true" if value else "false"
    if issubclass(kind, (list, tuple)):
        _not_too_deep(depth)
        base = list if issubclass(kind, list) else tuple
        _spend(budget, 8 + ITEM_BYTES * base.__len__(value))  # before it is walked through
        items = ",".join([_written(item, depth + 1, budget) for item in base.__iter__(value)])
        return f'["l",[{items}]]' if base is list else f'["t",[{items}]]'
    if kind is dict and all(type(key) is str for key in value):
        _not_too_deep(depth)
        _spend(budget, 8 + ITEM_BYTES * len(value))
        pairs = [
            f"[{_written(key, depth, budget)},{_written(item, depth + 1, budget)}]"
            for key, item in value.items()
        ]
        return f'["d",[{",".join(pairs)}]]'
    return _written_rarer(_plain(value, depth, budget))


def _not_too_deep(depth: int) -> None:
    if depth == MAX_DEPTH:
        raise NotPlainData(f"the value is nested more than {MAX_DEPTH} levels deep")


def _written_rarer(value: Any) -> str:
    """Return in the reply format what is plain already, and so within all limits."""
    match value:
        case float():
            return f'["f","{value.hex()}"]'
        case complex():
            return f'["c","{value.real.hex()}","{value.imag.hex()}"]'
        case dict():
            pairs = (",".join(_written(each, 0, [MAX_BYTES]) for each in p) for p in value.items())
            return f'["d",[{",".join(f"[{pair}]" for pair in pairs)}]]'
        case np.ndarray():
            little = value.astype(value.dtype.newbyteorder("<"), copy=False)
            data = base64.b64encode(np.ascontiguousarray(little).tobytes()).decode()
            return f'["a","{little.dtype.str}",[{",".join(map(str, value.shape))}],"{data}"]'
    return _written(value, 0, [MAX_BYTES])  # what was of a subclass, as a numpy integer


class _Remaining:
    """What a reply may still hold: `budget`, as `_spend` has it, and `keys` that are no text."""

    def __init__(self) -> None:
        self.budget, self.keys = [MAX_BYTES], _MAX_KEYS


def _untag(data: Any, depth: int, left: _Remaining) -> Any:
    """Return a tagged value, read and limited in one walk, as `to_plain_data` limits it.

    The commonest come first: a tape is tens of thousands of small lists of text and integers.
    """
    kind = type(data)
    if kind is str:
        _spend(left.budget, 8 + 4 * len(data))
        return data
    if data is None or kind is bool:
        _spend(left.budget, 8)
        return data
    if kind is list and len(data) == 2:
        tag, part = data
        if type(part) is str and tag == "i":
            if len(part) > _MAX_INT_DIGITS:
                raise NotPlainData("the value holds an integer of more than 1,000 bits")
            _spend(left.budget, 8 + len(part) // 2)
            return int(part, 16)
        if type(part) is str and tag == "f":
            _spend(left.budget, 8)
            return float.fromhex(part)
        if type(part) is list and tag in ("l", "t", "d"):
            return _untag_container(tag, part, depth + 1, left)
    match data:
        case ["c", str(real), str(imag)]:
            _spend(left.budget, 8)
            return complex(float.fromhex(real), float.fromhex(imag))
        case ["a", str(dtype), list(shape), str(text)]:
            return _plain_array(_array(dtype, shape, text), left.budget)
    raise NotPlainData("the reply holds something that is not in the reply format")


def _untag_container(tag: str, items: list, depth: int, left: _Remaining) -> Any:
    if depth > MAX_DEPTH:
        raise NotPlainData(f"the reply is nested more than {MAX_DEPTH} levels deep")
    _spend(left.budget, 8 + ITEM_BYTES * len(items))  # before it is walked through
    if tag == "l":
        return [_untag(item, depth, left) for item in items]
    if tag == "t":
        return tuple([_untag(item, depth, left) for item in items])
    left.keys -= sum(not isinstance(key, str) for key, _ in items)
    if left.keys < 0:
        raise NotPlainData(f"the value has more than {_MAX_KEYS:,} keys that are no text")
    return {_untag(key, depth, left): _untag(item, depth, left) for key, item in items}


def _array(dtype: str, shape: list, text: str) -> np.ndarray:
    # numpy would read far more than this as a dtype, by `ast.literal_eval` among others.
    fits = len(shape) <= _MAX_DIMENSIONS and all(type(n) is int and n >= 0 for n in shape)
    if not fits or not _ARRAY_DTYPE.fullmatch(dtype):
        raise NotPlainData("the reply holds an array that is not of numbers")
    return np.frombuffer(base64.b64decode(text, validate=True), dtype).reshape(shape).copy()
