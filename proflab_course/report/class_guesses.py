"""Gather a class's guesses: for each prediction of a lesson, the guesses beside the answer.

The list of predictions is read from the lesson, never from submissions.
"""

from __future__ import annotations

import ast
import math
import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from proflab_course.grading.answer_key import Key
from proflab_course.grading.submissions.read_guesses import Guess

_DECADES = 2  # the plot shows ratios from a hundredth to a hundredfold


@dataclass
class Prediction:
    """One prediction of a lesson, with the guesses of the class.

    pattern: matches its name in hand-ins; may_assume: True if the answer comes from a document,
    which may be constructed; shown: hand-ins that show the answer; words, right: guesses in words,
    and those of them that equal the answer.
    """

    name: str
    pattern: re.Pattern
    may_assume: bool = False
    shown: int = 0
    unit: str = ""
    guesses: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    words: int = 0
    right: int = 0

    def add(self, guess: Guess) -> None:
        """Count one hand-in's guess."""
        self.shown += 1
        self.unit = self.unit or guess.unit
        if isinstance(guess.answer, str):
            self.words += guess.guess is not None
            self.right += _same(guess.guess, guess.answer)
            return
        self.answers.append(guess.answer)
        if isinstance(guess.guess, (int, float)):
            self.guesses.append(guess.guess)
            if guess.guess > 0 and guess.answer > 0:
                self.ratios.append(guess.guess / guess.answer)

    @property
    def made(self) -> int:
        """Return the number of guesses."""
        return len(self.guesses) + self.words

    @property
    def median(self) -> str:
        """Return the median guess, as text."""
        return f"{number(statistics.median(self.guesses))} {self.unit}" if self.guesses else ""

    @property
    def answer(self) -> str:
        """Return the answer as text, the median of the measured ones."""
        return f"{number(statistics.median(self.answers))} {self.unit}" if self.answers else ""

    @property
    def quartiles(self) -> list[float]:
        """Return the quartiles of guess over answer; a single value three times."""
        if len(self.ratios) < 2:
            return self.ratios * 3
        return statistics.quantiles(self.ratios, n=4, method="inclusive")

    @property
    def spread(self) -> str:
        """Return guess over answer in words: its median and its middle half."""
        if not self.ratios:
            return ""
        low, middle, high = (number(each) for each in self.quartiles)
        return f"{middle} (half of them from {low} to {high})"

    @property
    def places(self) -> list[float]:
        """Return the positions of the quartiles on a logarithmic axis, in percent of its length."""
        half = 50 / _DECADES
        return [min(100.0, max(0.0, 50 + half * math.log10(each))) for each in self.quartiles]


def predictions(key: Key, hand_ins: Iterable[list[Guess]]) -> list[Prediction]:
    """Return the lesson's predictions, in its order, with the guesses of these hand-ins counted.

    One that only a constructed document answers is left out, because no answer was measured.
    """
    found: dict[str, Prediction] = {}
    for cell in key.cells:
        if cell.master.cell_type == "code" and "guesses.compare" in cell.master.source:
            found |= {each.name: each for each in _written_in(cell.master.source)}
    for guesses in hand_ins:
        for prediction in found.values():
            fitting = (guess for guess in guesses if prediction.pattern.fullmatch(guess.what))
            if guess := next(fitting, None):
                prediction.add(guess)
    return [each for each in found.values() if each.shown or not each.may_assume]


def _written_in(source: str) -> list[Prediction]:
    """Return the predictions that a cell compares with their answers."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # a magic
        return []
    calls = (node for node in nodes if isinstance(node, ast.Call) and node.args)
    named = [call for call in calls if ast.unparse(call.func) == "guesses.compare"]
    named.sort(key=lambda node: node.lineno)
    return [_prediction(call) for call in named]


def _prediction(call: ast.Call) -> Prediction:
    what = call.args[0]
    may_assume = any(keyword.arg == "document" for keyword in call.keywords)
    return Prediction(_name(what), re.compile(_name(what, pattern=True)), may_assume)


def _name(node: ast.expr, pattern: bool = False) -> str:
    """Return the name of a prediction with … for inserted values, or a pattern for it."""
    keep = re.escape if pattern else str
    if isinstance(node, ast.Constant):
        return keep(str(node.value))
    if isinstance(node, ast.JoinedStr):
        return "".join(_name(part, pattern) for part in node.values)
    return ".{1,100}" if pattern else "…"


def _same(guess: object, answer: str) -> bool:
    return isinstance(guess, str) and guess.strip().lower() == answer.strip().lower()


def number(value: float) -> str:
    """Return a number as text: three digits, or all digits before the point."""
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    whole = abs(value) >= 100 or value == int(value)
    return f"{value:,.0f}" if whole else f"{value:.3g}"
