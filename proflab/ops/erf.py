"""The error function for arrays: numpy has none.

A quotient of two polynomials in x², times x, on [-4, 4] (beyond, erf is 1 in float32). The
coefficients are those of Eigen's `erf` for float, a minimax fit. The tests hold the error
against Python's exact `math.erf`.
"""

from __future__ import annotations

import math

import numpy as np

_ABOVE = (
    -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
    -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02,
)  # fmt: skip
_BELOW = (
    -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
    -1.42647390514189e-02,
)  # fmt: skip

_exact = np.vectorize(math.erf, otypes=[np.float64])


def erf(x: np.ndarray) -> np.ndarray:
    """erf of every element; float64 is exact and slow, everything else is within 5e-7."""
    if x.dtype == np.float64:
        return _exact(x) if x.size else x.copy()
    return in_blocks(_erf_float32, x)


def _erf_float32(x: np.ndarray) -> np.ndarray:
    x = np.clip(x, -4, 4)
    x2 = x * x
    x *= horner(_ABOVE, x2)
    x /= horner(_BELOW, x2)
    return x


def horner(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    """The polynomial with these coefficients, highest power first."""
    result = x * coefficients[0]
    for c in coefficients[1:-1]:
        result += c
        result *= x
    result += coefficients[-1]
    return result


def in_blocks(function, *arrays: np.ndarray, block: int = 1 << 14) -> np.ndarray:
    """An elementwise function of arrays of one shape, applied to pieces that fit in the cache.

    A formula of ten steps passes ten times over its array; from main memory that is what it
    costs, from the cache almost nothing.
    """
    first = arrays[0]
    if not first.shape:  # numpy would hand its functions scalars, which cannot be written to
        return function(*(a.reshape(1) for a in arrays)).reshape(())
    if first.size <= block:
        return function(*arrays)
    flat = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
    out = np.empty(first.size, first.dtype)
    for start in range(0, first.size, block):
        stop = start + block
        out[start:stop] = function(*(a[start:stop] for a in flat))
    return out.reshape(first.shape)
