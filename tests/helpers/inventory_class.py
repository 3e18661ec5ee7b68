"""Simulated classes that take the inventory, and the notebooks that they hand in.

A student of ability t is right in an item of difficulty b and slope a with probability
0.25 + 0.75 / (1 + exp(1.7 a (b - t))): the three-parameter model (A. Birnbaum, 1968) with guessing
0.25.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import nbformat

from proflab_classroom.inventory.answers import Half
from proflab_classroom.inventory.items import HALVES, LETTERS, Item, of_form

GUESSING = 0.25


def chance(ability: float, difficulty: float, slope: float = 1.0) -> float:
    """Return the probability of a right answer."""
    return GUESSING + (1 - GUESSING) / (1 + math.exp(-1.7 * slope * (ability - difficulty)))


def answered(
    items: list[Item], student: str, half: str, form: int, ability: float, draw: random.Random
) -> Half:
    """Return a half of a student of this ability; about one answer in thirty stays open."""
    letters, sure = {}, {}
    for item in of_form(items, form):
        if draw.random() < 1 / 30:
            continue
        right = draw.random() < chance(ability, (item.pair - 6.5) / 4)
        wrong = [letter for letter in LETTERS if letter != item.key]
        letters[item.id] = item.key if right else draw.choice(wrong)
        if draw.random() < 0.9:
            sure[item.id] = min(4, max(1, round(2.5 + ability / 2 + draw.gauss(0, 1))))
    return Half(student, half, form, draw.random() < 0.7, letters, sure)


def simulated(
    items: list[Item],
    size: int,
    growth: float,
    seed: int,
    form_of: Callable[[str], int] | None = None,
) -> list[Half]:
    """Return the halves of a class whose abilities grow by `growth`; a tenth miss one half.

    form_of: the form that a student takes first; by default it is drawn.
    """
    draw, halves = random.Random(seed), []
    for number in range(size):
        student, ability = f"s{number:03}", draw.gauss(-0.5, 1)
        first = form_of(student) if form_of else draw.choice((1, 2))
        for half, form, more in (("before", first, 0), ("after", 3 - first, growth)):
            if draw.random() >= 0.05:
                halves.append(answered(items, student, half, form, ability + more, draw))
    return halves


def hand_in(root: Path, items: list[Item], half: Half, place: str = "submitted") -> Path:
    """Write a half into the notebook that the build made for its form; returns the file."""
    lesson = next(name for name, when in HALVES.items() if when == half.half)
    given = root / "release" / lesson / f"form_{half.form}" / f"{lesson}.ipynb"
    notebook = nbformat.read(given, as_version=4)
    values = {"consent": half.consent}
    for item in of_form(items, half.form):
        if item.id in half.letters:
            seen = {letter: shown for shown, letter in item.shown.items()}
            values[f"answer_{item.id}"] = seen[half.letters[item.id]]
        if item.id in half.sure:
            values[f"sure_{item.id}"] = half.sure[item.id]
    for cell in notebook.cells:
        for name, value in values.items():
            cell.source = cell.source.replace(f"{name} = None", f"{name} = {value!r}")
    path = root / place / half.student / lesson / f"{lesson}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path
