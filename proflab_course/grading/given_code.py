"""Find the exercises of a hand-in that the track of a shorter notebook gave, with their code.

A class's track may give an exercise that this course has students write. Handed in here, its code
is the lesson's own and earns nothing. Flags and tags of the student's file do not decide that, but
texts: a cell has the lesson's code, comments and docstrings apart, and with it the line that the
build writes above given code; or the hand-in has none of the exercise's test cells, which go where
an exercise is given, and the code is too long to be the same by chance. Code that was copied into a
full notebook is not found here; `proflab export --code` writes files for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from proflab_course.course.exercises import exercise_of
from proflab_course.course.notebook import GIVEN_LINE
from proflab_course.course.words import few
from proflab_course.grading.answer_key import Key
from proflab_course.grading.defined_names import code_of

_MOST = 2_000_000  # characters of a hand-in that are searched
_BY_CHANCE = 40  # words and signs of a solution that two people may well write alike


def test_of(key: Key) -> dict[str, str]:
    """Return the exercise that each test cell is for."""
    exercises = {cell.grade_id for cell in key.cells if cell.is_exercise}
    return {test: exercise_of(test, exercises) for test in key.tests}


def given_code(texts: Iterable[str], tests: set[str], marked: bool, key: Key) -> list[str]:
    """Return the exercises whose code a track has given, in the lesson's order.

    texts: of the hand-in's code cells; tests: the lesson's test cells among them; marked: whether
    the hand-in has kept any of nbgrader's metadata.
    """
    tested = {test_of(key)[test] for test in tests}
    left, codes = _MOST, list[tuple[str, str]]()
    for text in texts:
        left -= len(text)
        if left > 0:
            codes.append((text, code_of(text)))
    found = []
    for name, (own, is_long) in _codes(key).items():
        having = [text for text, code in codes if own in code]
        kept = not is_long or name in tested
        kept = kept or (not marked and _is_checked(name, codes, having))
        if having and (not kept or any(map(GIVEN_LINE.search, having))):
            found.append(name)
    return found


def _is_checked(name: str, codes: list[tuple[str, str]], having: list[str]) -> bool:
    """Return True if a cell that has lost its name checks an exercise, as a test cell does."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    others = (code for text, code in codes if text not in having)
    return any("expect" in code and word.search(code) for code in others)


def _codes(key: Key) -> Mapping[str, tuple[str, bool]]:
    """Return the lesson's own code of each exercise, and whether there is much of it.

    Computed once for the whole class.
    """
    if "codes" not in key.derived:
        key.derived["codes"] = {
            cell.grade_id: _solution(text, cell.released.source)
            for cell, text in zip(key.cells, key.solved, strict=False)
            if cell.is_exercise
        }
    return key.derived["codes"]


def _solution(text: str, stub: str) -> tuple[str, bool]:
    code = code_of(text)
    return code, code.count(" ") - code_of(stub).count(" ") > _BY_CHANCE


def sentence(given: list[str], missing: list[str]) -> str:
    """Return what a student is told of the exercises that were given and of those not there."""
    parts = [f"{few(given)} {'was' if len(given) == 1 else 'were'} given in it"] if given else []
    parts += [f"{few(missing)} {'is' if len(missing) == 1 else 'are'} not in it"] if missing else []
    what = "a shorter track's notebook" if given else "a release without all of today's exercises"
    return f"{what} was handed in: {' and '.join(parts)}, which earns nothing"
