"""Predictions are not spoiled: no cell above a guess, and no cover, holds the answer's digits."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache

import pytest
from cohort.run import ROOT, solved
from lesson_cells import show
from lesson_demos import demos_of

from proflab.lesson import guesses
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Lesson, read_module
from proflab_course.course.sections import sections

COURSE = Course(ROOT)
NUMBER = re.compile(r"(?<![\w.,^/])\d[\d,]*(?:\.\d+)?(?!\w)")
# Demos whose answer depends on the machine or on how much they do: no text can hold it.
MEASURED = re.compile(
    r"demo_size|rounds\(|noise\.|show_load|tell_ratios|samples_of|Timer|perf_counter|best_time"
)


@cache
def read(name: str) -> Lesson:
    return read_module(COURSE.module(name), name)


def answers(name: str) -> dict[str, float]:
    """Return the answer to each guess of a lesson that the same code answers on every machine."""
    lesson, folder = read(name), ROOT / "modules" / name
    scope = dict(solved(f"lesson_{name[:2]}").scope)
    found: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFLAB_DEMO", "small")
        if (folder / "demos.py").exists():
            patch.setitem(sys.modules, "demos", demos_of(name))
        patch.syspath_prepend(str(folder))
        patch.syspath_prepend(str(COURSE.release(name).parent))  # for built
        patch.delitem(sys.modules, "built", raising=False)
        patch.chdir(folder)
        said: dict[str, object] = {}

        def note(what: str, guess: object, answer: object, *rest: object, **options: object):
            said[what] = answer

        patch.setattr(guesses, "compare", note)
        for cell in lesson.named("demo"):
            if "guesses.compare" in cell.source and not MEASURED.search(cell.source):
                said.clear()
                show(cell, scope)
                asked = re.findall(r"\bguess_\w+", cell.source)
                found |= dict(zip(dict.fromkeys(asked), said.values(), strict=False))
    return {guess: float(a) for guess, a in found.items() if isinstance(a, (int, float))}


def spoilers(lesson: Lesson, guess: str, answer: float) -> Iterator[str]:
    """Yield the places above a guess, or on the cover, that hold the answer's digits."""
    for section in sections(lesson):
        for at, cell in enumerate(section.cells):
            if re.search(rf"^{guess} = ", cell.source, re.MULTILINE):
                above = section.cells[:at]
    for place, cells in {"cover": lesson.cells[:1], "section": above}.items():
        for cell in cells:
            for found in NUMBER.finditer(cell.source):
                if same_digits(found[0], answer, 2 if cell.role == "text" else 3):
                    around = cell.source[max(0, found.start() - 40) : found.end() + 20]
                    yield f"{place}: … {' '.join(around.split())} …"


def same_digits(text: str, answer: float, digits: int) -> bool:
    """Return True if a text is the answer, plain or in millions, in so many digits or more."""
    decimals, value = len(text.partition(".")[2]), float(text.replace(",", ""))
    telling = len(re.sub(r"\D", "", text).strip("0")) >= digits
    return telling and value in (round(answer, decimals), round(answer / 1e6, decimals))


@pytest.mark.whole
@pytest.mark.parametrize("name", COURSE.lessons())
def test_no_answer_stands_above_its_guess(name):
    found = {
        guess: list(spoilers(read(name), guess, answer)) for guess, answer in answers(name).items()
    }
    assert found  # at least one prediction is the same on every machine
    spoiled = [f"{guess}: {place}" for guess, places in found.items() for place in places]
    assert not spoiled, "\n".join(spoiled)


@pytest.mark.parametrize(
    ("text", "answer", "same"),
    [
        ("2,362,368", 2_362_368, True),
        ("2.36", 2_362_368, True),
        ("147.2", 147.2373, True),
        ("147.3", 147.2373, False),
        ("87", 87.148, True),
        ("2", 2.0, False),
    ],
)
def test_digits_are_those_of_the_answer(text, answer, same):
    assert same_digits(text, answer, 2) == same
