"""Stand for the exercise `merge` in test cells of what uses it, so that one slip costs once."""

from __future__ import annotations

import decimal
import math

import numpy as np

Partial = tuple[np.ndarray, np.ndarray, np.ndarray]  # highest, total, values


def any_merge(one: Partial, two: Partial) -> Partial:
    """Return two partial softmaxes as one, on a scale of its own: values / total is right.

    Stands for a right `merge` in tests of what uses it, and is none: its first array is the next
    multiple of 8 above the highest score, to which total and values belong. Computed in decimal
    numbers so large that nothing overflows.

    >>> low, high = ([2.0], [1.5], [[1.0]]), ([5.0], [1.0], [[4.0]])
    >>> scale, total, values = any_merge(low, high)
    >>> scale.tolist(), (values / total[:, None]).round(4).tolist()
    ([8.0], [[3.7684]])
    """
    kind = np.asarray(one[0]).dtype
    parts = [[np.asarray(part, np.float64).tolist() for part in side] for side in (one, two)]
    with decimal.localcontext(prec=30, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        rows = [_merged_row(*row) for row in zip(*parts[0], *parts[1], strict=True)]
    scale, total, values = zip(*rows, strict=True)
    return np.array(scale, kind), np.array(total, kind), np.array(values, kind)


def _merged_row(highest, total, values, highest2, total2, values2) -> tuple:
    if not total and not total2:  # neither has scores
        return -math.inf, 0.0, values
    tops = [top if sum_ else -math.inf for top, sum_ in ((highest, total), (highest2, total2))]
    new = 8.0 * math.ceil(max(tops) / 8)
    shares = [(decimal.Decimal(top) - decimal.Decimal(new)).exp() for top in tops]

    def together(a: float, b: float) -> float:
        return float(decimal.Decimal(a) * shares[0] + decimal.Decimal(b) * shares[1])

    merged = [together(a, b) for a, b in zip(values, values2, strict=True)]
    return new, together(total, total2), merged
