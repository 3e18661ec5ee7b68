"""Gather a class's guesses: for each prediction of a lesson, the guesses beside the answer.

The list of predictions is read from the lesson, never from submissions.
"""

from __future__ import annotations

import ast
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from proflab_course.grading.answer_key import Key
from proflab_course.grading.submissions.read_guesses import Guess

_DECADES = 2  # the plot shows ratios from a hundredth to a hundredfold


@dataclass
class Prediction:
    """One prediction of a lesson, with the first guesses of the class.

    guess: the name that it has in the lesson, such as "guess_linear"; pattern: matches what is
    predicted, in hand-ins without that name; may_assume: True if the answer comes from a document,
    which may be constructed; shown: hand-ins that show the answer, or a sentence in its place;
    skipped, again: those that skipped it, and that tried several values; words, right: guesses in
    words, and those of them that equal the answer; overlooked: what students say that they
    overlooked, in no order of theirs.
    """

    name: str
    pattern: re.Pattern
    may_assume: bool = False
    guess: str = ""
    shown: int = 0
    skipped: int = 0
    again: int = 0
    edited: int = 0
    unit: str = ""
    guesses: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    words: int = 0
    right: int = 0
    overlooked: list[str] = field(default_factory=list)

    def add_unanswered(self, value: object) -> None:
        """Count a guess whose answer is not known."""
        self.shown += 1
        if isinstance(value, (int, float)):
            self.guesses.append(value)
        else:
            self.words += 1

    def fits(self, guess: Guess) -> bool:
        """Return True if a hand-in's guess is one of this prediction."""
        if guess.name and self.guess:
            return guess.name == self.guess
        return self.pattern.fullmatch(guess.what) is not None

    def add(self, guess: Guess) -> None:
        """Count one hand-in's guess."""
        self.shown += 1
        self.skipped += guess.state == "skipped"
        self.edited += guess.edited
        self.overlooked = sorted({*self.overlooked, *filter(None, [guess.overlooked])})
        if guess.state:
            return
        self.again += guess.n > 1
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
        return self._median(self.guesses)

    @property
    def answer(self) -> str:
        """Return the answer as text, the median of the measured ones."""
        return self._median(self.answers)

    def _median(self, values: list[float]) -> str:
        return f"{number(statistics.median(values))} {self.unit}".strip() if values else ""

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
        return self.on_axis(self.quartiles)

    def on_axis(self, ratios: Iterable[float]) -> list[float]:
        """Return the positions of ratios on a logarithmic axis, in percent of its length."""
        half = 50 / _DECADES
        return [min(100.0, max(0.0, 50 + half * math.log10(each))) for each in ratios]


def predictions(key: Key, hand_ins: Iterable[list[Guess]]) -> list[Prediction]:
    """Return the lesson's predictions, in its order, with the guesses of these hand-ins counted.

    One that only a constructed document answers is left out, because no answer was measured.
    """
    found: dict[str, Prediction] = {}
    for cell in key.cells:
        if cell.master.cell_type == "code" and "guesses.compare" in cell.master.source:
            for each in written_in(cell.master.source):
                found[each.guess or each.name] = each
    for guesses in hand_ins:
        for prediction in found.values():
            fitting = (guess for guess in guesses if prediction.fits(guess))
            if guess := next(fitting, None):
                prediction.add(guess)
    return [each for each in found.values() if each.shown or not each.may_assume]


def written_in(source: str) -> list[Prediction]:
    """Return the predictions that a cell compares with their answers."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # a magic
        return []
    calls = (node for node in nodes if isinstance(node, ast.Call) and node.args)
    named = [call for call in calls if ast.unparse(call.func) == "guesses.compare"]
    named.sort(key=lambda node: node.lineno)
    values = dict(_assigned(nodes))
    return [_prediction(call, values) for call in named]


def _assigned(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield names with what is assigned to them, also in `what, unit = "one step", "ms"`."""
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            yield from ((name.id, value) for name, value in pairs if isinstance(name, ast.Name))


def _prediction(call: ast.Call, values: Mapping[str, ast.expr]) -> Prediction:
    what = call.args[0]
    if isinstance(what, ast.Name):
        what = values.get(what.id, what)
    guess = call.args[1].id if len(call.args) > 1 and isinstance(call.args[1], ast.Name) else ""
    may_assume = any(keyword.arg == "document" for keyword in call.keywords)
    return Prediction(_name(what), re.compile(_name(what, pattern=True)), may_assume, guess)


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
