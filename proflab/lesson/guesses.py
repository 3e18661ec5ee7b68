"""Compare a reader's guess with the answer, in a sentence, and keep the pair for later.

The pair travels in the cell's output, beside the sentence, under a MIME type of its own. So it is
saved with the notebook, and `proflab check` and `proflab report` can read it there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from numbers import Real

MIME = "application/vnd.proflab.guess+json"
_COMPARED: dict[str, str] = {}  # in this process: the sentence on each quantity that was guessed


def compare(what: str, guess: float | str | None, answer: float | str, unit: str = "") -> None:
    """Print the answer, and how far the guess is from it.

    what: names the quantity, e.g. "parameters of the layer"; one name a guess.
    guess: a number or a string; None where the reader made no guess.
    unit: of both, e.g. "ms"; printed after each number.
    """
    sentence = f"{what}: {_verdict(guess, answer, f' {unit}' if unit else '')}"
    if guess is not None and guess is not ...:
        _COMPARED[what] = sentence
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        print(sentence)
        return
    from IPython.display import display

    record = {"what": what, "guess": _plain(guess), "answer": _plain(answer), "unit": unit}
    display({"text/plain": sentence, MIME: record}, raw=True)


def sentences() -> list[str]:
    """Return the sentences on the guesses that were compared so far, one a quantity."""
    return list(_COMPARED.values())


def told(record: Mapping) -> str:
    """Return the sentence on a pair as `compare` records it in a cell's output."""
    unit = f" {record.get('unit')}" if record.get("unit") else ""
    return f"{record.get('what')}: {_verdict(record.get('guess'), record.get('answer'), unit)}"


def _verdict(guess: float | str | None, answer: float | str, unit: str) -> str:
    told = f"{_shown(answer)}{unit}"
    if guess is None or guess is ...:
        return f"{told} (you made no guess)"
    if not _is_number(answer):
        right = str(guess).strip().lower() == str(answer).strip().lower()
        return f"{told}, as you guessed" if right else f"{told}; you guessed {guess}"
    if not _is_number(guess):
        return f"{told}; your guess, {guess!r}, is not a number"
    if guess == answer:
        return f"{told}, exactly your guess"
    return f"{told}; you guessed {_shown(guess)}{unit}{_how_far(float(guess), float(answer))}"


def _how_far(guess: float, answer: float) -> str:
    if guess <= 0 or answer <= 0:
        return ""
    factor = max(guess / answer, answer / guess)
    side = "high" if guess > answer else "low"
    if factor < 1.095:
        return f", {100 * abs(guess / answer - 1):.1f} % too {side}"
    if factor < 2:
        return f", {100 * abs(guess / answer - 1):.0f} % too {side}"
    return (
        f", {factor:,.3g} times too {side}"
        if factor < 1000
        else f", {factor:,.0f} times too {side}"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _plain(value: object) -> float | int | str | None:
    """Return the value as JSON can hold it, without the last digits: machines differ in these."""
    if not _is_number(value):
        return None if value is None or value is ... else str(value)[:200]
    whole = value == int(value) and abs(value) < 2**53
    return int(value) if whole else float(f"{float(value):.9g}")


def _shown(value: object) -> str:
    if not _is_number(value):
        return str(value)
    number = float(value)
    return f"{number:,.0f}" if number == int(number) or abs(number) >= 1000 else f"{number:.4g}"
