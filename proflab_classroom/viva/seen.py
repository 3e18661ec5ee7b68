"""Compare and show values as a person sees them who has only the printed sheet.

Two values differ if the five leading digits of some number in them differ, or their shape, or a
word. A type does not count (8 and 8.0, an array and a list), nor which error was raised. Between
"the same" and "different" lies a gap, and a question whose values fall into it is not asked.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

# Two numbers are different from the first share on, and the same up to the second.
DIFFERENT, SAME = 1e-4, 1e-9
LARGEST = 10**12  # nobody compares longer numbers in five minutes
MOST_SHOWN = 70  # characters of a value that is an option
_MOST_ITEMS = 10_000  # of an array that is looked at
_NUMBER = re.compile(r"[-+]?\d[\d_,]*\.?\d*(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Outcome:
    """Hold what a call gave: a value, or the name of the exception that it raised."""

    value: Any = None
    raised: str = ""

    def __hash__(self) -> int:  # values may be lists
        return hash((self.raised, repr(self.value)))


def parts(outcome: Outcome) -> tuple[str, list[float | int]]:
    """Return what an outcome looks like without its numbers, and the numbers in order."""
    if outcome.raised:
        return "raises", []
    numbers: list[float | int] = []
    return _outline(outcome.value, numbers), numbers


def _outline(value: Any, numbers: list[float | int]) -> str:
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size <= _MOST_ITEMS else [value.shape, str(value.dtype)]
    if isinstance(value, complex):
        numbers += [value.real, value.imag]
        return "#,#i"
    if isinstance(value, (bool, int, float)):
        numbers.append(value)
        return "#"
    if isinstance(value, str):
        return repr(_NUMBER.sub(lambda found: _word(found[0], numbers), " ".join(value.split())))
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_outline(item, numbers) for item in value)}]"
    if isinstance(value, dict):  # its order is not seen as a difference
        items = sorted(value.items(), key=lambda item: repr(item[0]))
        inside = (f"{_outline(k, numbers)}:{_outline(v, numbers)}" for k, v in items)
        return f"{{{','.join(inside)}}}"
    return repr(value)


def _word(text: str, numbers: list[float | int]) -> str:
    try:
        numbers.append(float(text.replace(",", "").replace("_", "")))
    except ValueError:
        return text
    return "#"


def differ(one: Outcome, other: Outcome) -> bool:
    """Return True if a person sees that two outcomes differ."""
    return _compared(one, other) == "different"


def agree(one: Outcome, other: Outcome) -> bool:
    """Return True if nobody can tell two outcomes apart."""
    return _compared(one, other) == "same"


def _compared(one: Outcome, other: Outcome) -> str:
    (outline, numbers), (other_outline, others) = parts(one), parts(other)
    if outline != other_outline:
        return "different"
    if any(abs(x) > LARGEST for x in (*numbers, *others) if not _is_odd(x)):
        return "unclear"
    scale = max((abs(x) for x in (*numbers, *others) if not _is_odd(x)), default=0.0)
    verdicts = {_numbers(a, b, scale) for a, b in zip(numbers, others, strict=True)}
    if "different" in verdicts:
        return "different"
    return "unclear" if "unclear" in verdicts else "same"


def _is_odd(number: float | int) -> bool:
    return isinstance(number, float) and not math.isfinite(number)


def _numbers(one: float | int, other: float | int, scale: float) -> str:
    if _is_odd(one) or _is_odd(other):
        return "same" if repr(one) == repr(other) else "different"
    gap, size = abs(one - other), max(abs(one), abs(other))
    whole = isinstance(one, int) and isinstance(other, int)  # each of its digits is seen
    # Beside the largest number (scale), a tiny one may be what rounding has left of nothing.
    if gap == 0 or (not whole and gap <= max(SAME * size, 1e-3 * SAME * scale)):
        return "same"
    return "different" if gap > max(DIFFERENT * size, SAME * scale, SAME) else "unclear"


def shown(outcome: Outcome) -> str:
    """Return an outcome as the sheet prints it: floats to six digits, arrays as lists."""
    if outcome.raised:
        return f"it raises {outcome.raised}"
    value = outcome.value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        if value.size > _MOST_ITEMS:
            return f"an array of shape {value.shape}"
        value = value.tolist()
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(k)}: {_text(v)}' for k, v in value.items())}}}"
    return repr(value)


def _float(value: float) -> str:
    if not math.isfinite(value):
        return repr(value)
    text = f"{value:.6g}"
    if "e" in text and 1e-4 <= abs(value) < 1e16:
        text = f"{float(text):.1f}"
    return text if any(sign in text for sign in ".en") else f"{text}.0"


def is_readable(outcome: Outcome) -> bool:
    """Return True if an outcome is short enough to be an option."""
    return len(shown(outcome)) <= MOST_SHOWN
