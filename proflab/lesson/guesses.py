"""Compare a reader's first guess with the answer, in a sentence, and keep the pair for later.

The pair travels in the cell's output, beside the sentence, under a MIME type of its own. So it is
saved with the notebook, and `proflab check` and `proflab report` can read it there. A guess is
judged no more exactly than the answer was measured, and not at all by what nobody measured.
Which guess was the first one is known to first_guess.py.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from proflab.checks.diagnose import is_number
from proflab.lesson.first_guess import MIME, PREFIX, SKIP, Kept, as_meant, lock
from proflab.lesson.kernel_record import current_record, kernel_shell
from proflab.lesson.noise import TOO_NOISY, Measured, shown

__all__ = ["MIME", "compare", "lock", "sentences", "told"]

OVERLOOKED = "overlooked_"  # grading/submissions/read_guesses.py finds the answer by it
_THEY = {True: "it does", False: "they do"}
_COMPARED: dict[str, str] = {}  # in this process: the sentence on each quantity that was guessed


def compare(
    what: str,
    guess: float | str | None,
    answer: float | str,
    unit: str = "",
    *,
    document: Mapping | None = None,
    name: str = "",
) -> None:
    """Print the answer, and how far the first guess is from it.

    what: names the quantity, e.g. "parameters of the layer"; one name a guess.
    guess: a number or a string; None where the reader made no guess, "skip" to make none.
    answer: a Measured (proflab.lesson.noise) where it has an interval.
    unit: of both, e.g. "ms"; printed after each number.
    document: the measurements that the answer comes from; of a constructed one it is an assumption.
    name: of the guess, such as "guess_layer"; in a notebook the lock gives it.
    """
    kept = _kept(name, what, guess, unit)
    guess = as_meant(guess, unit) if kept is None else kept.now
    record: dict[str, Any] = {"what": what, "guess": _plain(guess), "answer": _plain(answer)}
    record |= _about(kept) if kept else {}
    record["unit"] = unit
    if isinstance(answer, Measured):
        record |= {"low": _plain(answer.low), "high": _plain(answer.high), "busy": answer.busy}
    if document is not None and document.get("constructed"):
        record["assumed"] = True
    if failing := _failing():
        record["failing"] = failing
    sentence = f"{what}: {_verdict(record, guess, answer)}"
    if guess is not None or kept is not None:
        _COMPARED[what] = sentence
    sentence += _asked_what_was_overlooked(record, answer)
    # Not `kernel_shell`: the grader's shell is no kernel's, and its outputs hold the pair, too.
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
    low, high = record.get("low"), record.get("high")
    if is_number(answer) and is_number(low) and is_number(high):
        answer = Measured(answer, low, high, busy=bool(record.get("busy")))
    return f"{record.get('what')}: {_verdict(record, guess, answer)}"


def _kept(name: str, what: str, guess: object, unit: str) -> Kept | None:
    """Return what is known of a guess; before the cell ran, the lock has seen one with a name."""
    record = current_record()
    if record is not None and name in record.guesses:
        return record.guesses[name]
    return lock(name or what, guess, unit)


def _about(kept: Kept) -> dict[str, Any]:
    found: dict[str, Any] = {"name": kept.name, "first": kept.first, "n": kept.n}
    found |= {"edited": True} if kept.edited else {}
    return found if kept.meant else found | {"meant": False}


def _asked_what_was_overlooked(record: Mapping, answer: object) -> str:
    """Return a line that asks what a guess left out that is far off; empty for any other.

    The reader answers below the guess, in its own cell, so that no lesson needs a cell for it.
    """
    name, guess, shell = record.get("name", ""), record.get("first"), kernel_shell()
    judged = not record.get("assumed") and not record.get("failing")
    if shell is None or not judged or guess == SKIP or not str(name).startswith(PREFIX):
        return ""
    if is_number(answer) and is_number(guess):
        low, high = getattr(answer, "low", answer), getattr(answer, "high", answer)
        far = low > 0 and not low / 2 < guess < 2 * high  # more than that is no slip of the pen
    else:
        far = not is_number(answer) and not _same(guess, answer)
    asked = name.replace(PREFIX, OVERLOOKED, 1)
    if not far or shell.user_ns.get(asked):
        return ""
    return f'\nWhat did your guess leave out? Add a line below it: {asked} = "…"'


def _failing() -> list[str]:
    """Return the exercises that the running cell needs and that return wrong values."""
    record = current_record()
    return [exercise.name for exercise in record.failing(record.current)] if record else []


def _verdict(record: Mapping, guess: object, answer: object) -> str:
    after = f" {record['unit']}" if record.get("unit") else ""
    first = record.get("first", guess)
    skipped = first == SKIP
    made = first is not None and first is not ... and not skipped
    yours = f"you guessed {_with_unit(first, after)}"
    if made and guess != first:
        now = "" if guess is None or guess is ... else f"; now {_with_unit(guess, after)}"
        yours = f"your first guess was {_with_unit(first, after)}{now}"
    if record.get("assumed"):
        rests = f"the document assumes {_shown(answer)}{after}, nobody measured it"
        return f"{rests}; {yours}" if made else rests
    if isinstance(answer, Measured):
        result = shown(answer, record.get("unit", ""))
    else:
        result = f"{_shown(answer)}{after}"
    if names := record.get("failing"):
        own = " and ".join(f"`{name}`" for name in names)
        alone = len(names) == 1
        passes = "does not pass its checks" if alone else "do not pass their checks"
        rests = f"{result}, but {own} {passes}"
        return f"{rests}: your guess is judged when {_THEY[alone]}" if made else rests
    if not made:
        return f"{result} (you {'skipped the' if skipped else 'made no'} guess)"
    if not is_number(answer):
        return f"{result}, as you guessed" if _same(first, answer) else f"{result}; {yours}"
    if slip := _slip(first, float(answer), record):
        return f"{result}; {slip}"
    if isinstance(answer, Measured):
        return f"{result}; {yours}{_judged(float(first), answer)}"
    if first == answer and guess == first:
        return f"{result}, as you guessed"
    return f"{result}; {yours}{_how_far(float(first), float(answer))}"


def _same(guess: object, answer: object) -> bool:
    return str(guess).strip().lower() == str(answer).strip().lower()


def _slip(guess: object, answer: float, record: Mapping) -> str:
    """Return a sentence on a guess that was not written as a number is; empty if it was."""
    if not is_number(guess):
        return f"your guess, {guess!r}, is not a number"
    share = record.get("unit", "")[:1] == "%" and 0 <= answer <= 100
    unclear = record.get("meant") is False or "first" not in record
    if share and unclear and 0 < guess <= 1 and answer > 10 * guess:
        meant = _shown(100 * guess)
        asked = f"you guessed {_shown(guess)} %: did you mean {meant}?"
        return f"{asked} Write it, or run the cell again if not." if "first" in record else asked
    if share and not 0 <= guess <= 100:
        return f"your guess, {_shown(guess)} %, does not lie between 0 and 100"
    if guess < 0 < answer:
        return f"your guess, {_shown(guess)}, is below 0, which this never is"
    return ""


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
        decimals = 1 if factor < 1.095 and not least else 0  # 9.4 %, but 10 %
        return f", {least}{100 * abs(guess / answer - 1):.{decimals}f} % too {side}"
    times = f"{factor:,.{digits}g}" if factor < 10**digits else f"{factor:,.0f}"
    return f", {least}{times} times too {side}"


def _with_unit(guess: object, after: str) -> str:
    return f"{_shown(guess)}{after if is_number(guess) else ''}"


def _plain(value: object) -> float | int | str | None:
    """Return the value as JSON can hold it, without the last digits: machines differ in these."""
    if is_number(value):
        return as_meant(value)
    return None if value is None or value is ... else str(value)[:200]


def _shown(value: object) -> str:
    if not is_number(value):
        return str(value)
    number = float(value)
    return f"{number:,.0f}" if number == int(number) or abs(number) >= 1000 else f"{number:.4g}"
