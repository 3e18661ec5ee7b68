"""Compare a reader's guess with the answer, in a sentence, and keep the pair for later.

The pair travels in the cell's output, beside the sentence, under a MIME type of its own. So it is
saved with the notebook, and `proflab check` and `proflab report` can read it there. A guess is
judged no more exactly than the answer was measured, and not at all by what nobody measured.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from proflab.lesson.noise import TOO_NOISY, Measured, shown
from proflab.lesson.run_all import current_record

MIME = "application/vnd.proflab.guess+json"
_COMPARED: dict[str, str] = {}  # in this process: the sentence on each quantity that was guessed


def compare(
    what: str,
    guess: float | str | None,
    answer: float | str,
    unit: str = "",
    *,
    document: Mapping | None = None,
) -> None:
    """Print the answer, and how far the guess is from it.

    what: names the quantity, e.g. "parameters of the layer"; one name a guess.
    guess: a number or a string; None where the reader made no guess.
    answer: a Measured (proflab.lesson.noise) where it has an interval.
    unit: of both, e.g. "ms"; printed after each number.
    document: the measurements that the answer comes from; of a constructed one it is an assumption.
    """
    record: dict[str, Any] = {"what": what, "guess": _plain(guess), "answer": _plain(answer)}
    record["unit"] = unit
    if isinstance(answer, Measured):
        record |= {"low": _plain(answer.low), "high": _plain(answer.high), "busy": answer.busy}
    if document is not None and document.get("constructed"):
        record["assumed"] = True
    if failing := _failing():
        record["failing"] = failing
    sentence = f"{what}: {_verdict(record, guess, answer)}"
    if guess is not None and guess is not ...:
        _COMPARED[what] = sentence
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        print(sentence)
        return
    from IPython.display import display

    display({"text/plain": sentence, MIME: record}, raw=True)


def sentences() -> list[str]:
    """Return the sentences on the guesses that were compared so far, one a quantity."""
    return list(_COMPARED.values())


def told(record: Mapping, failing: Sequence[str] = ()) -> str:
    """Return the sentence on a pair as `compare` records it in a cell's output.

    failing: the exercises that are now known to fail, on which the answer rests.
    """
    record = dict(record) | ({"failing": list(failing)} if failing else {})
    guess, answer = record.get("guess"), record.get("answer")
    ends = [record.get("low"), record.get("high")]
    if _is_number(answer) and all(map(_is_number, ends)):
        answer = Measured(answer, *ends, busy=bool(record.get("busy")))
    return f"{record.get('what')}: {_verdict(record, guess, answer)}"


def _failing() -> list[str]:
    """Return the exercises that the running cell needs and that do not pass their checks."""
    record = current_record()
    return [exercise.name for exercise in record.failing(record.current)] if record else []


def _verdict(record: Mapping, guess: object, answer: object) -> str:
    after = f" {record['unit']}" if record.get("unit") else ""
    made = guess is not None and guess is not ...
    yours = f"you guessed {_shown(guess)}{after if _is_number(guess) else ''}"
    if record.get("assumed"):
        rests = f"the document assumes {_shown(answer)}{after}, nobody measured it"
        return f"{rests}; {yours}" if made else rests
    measured = isinstance(answer, Measured)
    result = shown(answer, record.get("unit", "")) if measured else f"{_shown(answer)}{after}"
    if names := record.get("failing"):
        own = " and ".join(f"`{name}`" for name in names)
        rests = f"{result}, but {own} does not pass its checks"
        return f"{rests}: your guess is judged when it does" if made else rests
    if not made:
        return f"{result} (you made no guess)"
    if not _is_number(answer):
        right = str(guess).strip().lower() == str(answer).strip().lower()
        return f"{result}, as you guessed" if right else f"{result}; {yours}"
    if slip := _slip(guess, float(answer), record.get("unit", "")):
        return f"{result}; {slip}"
    if measured:
        return f"{result}; {yours}{_judged(float(guess), answer)}"
    if guess == answer:
        return f"{result}, exactly your guess"
    return f"{result}; {yours}{_how_far(float(guess), float(answer))}"


def _slip(guess: object, answer: float, unit: str) -> str:
    """Return a sentence on a guess that was not written as a number is; empty if it was."""
    if not _is_number(guess):
        meant = _meant(guess, unit)
        return f"your guess, {guess!r}, is not a number" + (f": write {meant}" if meant else "")
    share = unit == "%" and 0 <= answer <= 100
    if share and 0 < guess <= 1 and answer > 10 * guess:
        return f"you guessed {_shown(guess)} %: did you mean {_shown(100 * guess)}?"
    if share and not 0 <= guess <= 100:
        return f"your guess, {_shown(guess)} %, does not lie between 0 and 100"
    if guess < 0 < answer:
        return f"your guess, {_shown(guess)}, is below 0, which this never is"
    return ""


def _meant(guess: object, unit: str) -> str:
    """Return the number that was meant by "50%", "3 ms" or 2,362,368; empty if none is seen."""
    if isinstance(guess, Sequence) and not isinstance(guess, str) and len(guess) > 1:
        whole = all(isinstance(part, int) and 0 <= part < 1000 for part in guess[1:])
        if whole and isinstance(guess[0], int):
            return "_".join([str(guess[0]), *(f"{part:03d}" for part in guess[1:])])
    found = re.fullmatch(r"([-+]?[\d,_]*\.?\d+(?:e[-+]?\d+)?)\s*(\S*)", str(guess).strip())
    known = found and found[2] in ("", "%", "x", "×", unit)
    return found[1].replace(",", "_") if known else ""


def _judged(guess: float, answer: Measured) -> str:
    """Return how far a guess lies outside an interval: no more exactly than it was measured."""
    if answer.holds(guess) and answer.spread <= TOO_NOISY:
        return ", within what can be measured"
    if answer.trouble:
        return f": {answer.trouble}"
    end = answer.low if guess < answer.low else answer.high
    return _how_far(guess, end, "at least ", digits=2)


def _how_far(guess: float, answer: float, least: str = "", digits: int = 3) -> str:
    if guess <= 0 or answer <= 0:
        return ""
    factor = max(guess / answer, answer / guess)
    side = "high" if guess > answer else "low"
    if factor < 2:
        decimals = 1 if factor < 1.095 and not least else 0
        return f", {least}{100 * abs(guess / answer - 1):.{decimals}f} % too {side}"
    times = f"{factor:,.{digits}g}" if factor < 10**digits else f"{factor:,.0f}"
    return f", {least}{times} times too {side}"


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
