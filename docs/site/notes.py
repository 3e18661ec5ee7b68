"""Write the speaker's note of each slide, of what the lesson has already (slides.py).

A note says what to ask or to show at its slide: the unit of a guess and the answer that came out,
a slip that the lesson's own tests name, the functions of the lab, the concept questions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from taken import read_lessons

from proflab_classroom.questions.block import for_track
from proflab_classroom.questions.concepts_file import read_concepts
from proflab_course.course.exercises import exercise_of
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Cell
from proflab_course.course.prose import split_sentences
from proflab_course.tracks.objectives import objectives, stated_objectives

# The functions that take wrong values by their causes, in a dict (proflab/checks/expect.py).
_EXPECT = ("expect", "expect_table")
_DOES = re.compile(r"(Draw|Print|Compare|Count|Time|Fit|Make|Store|Profile)s\b")


class Slips:
    """Hand out the slips that a lesson's visible cases name, each for one slide."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        """Read them; cells: those of the release."""
        names = [cell.name for cell in cells if cell.role == "exercise"]
        self.left: dict[str, list[str]] = {name: [] for name in names}
        for cell in (cell for cell in cells if cell.role == "test"):
            exercise = exercise_of(cell.name, names)
            self.left.setdefault(exercise, []).extend(_slips_of(cell))

    def ask(self, used: Iterable[str]) -> str:
        """Return a sentence about a slip in a function that a slide's cell uses, or ""."""
        names = [name for name, slips in self.left.items() if name in used and slips]
        if not names:
            return ""
        slip = self.left[names[-1]].pop(0)  # of the exercise that is nearest above
        return f"Ask what this slip in `{names[-1]}` would change here: *{slip}*."


def _slips_of(cell: Cell) -> Iterator[str]:
    """Yield the causes by which a test cell knows wrong values."""
    for statement in cell.statements():
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _EXPECT:
                for known in (each for each in ast.walk(node) if isinstance(each, ast.Dict)):
                    keys = [getattr(key, "value", None) for key in known.keys]
                    if all(isinstance(key, str) and " " in key for key in keys):
                        yield from keys


def at_goals(course: Course, lesson: str) -> str:
    """Return what to say of the goals: which functions of the lab try each of them."""
    read = read_lessons(course.root)
    taken = read.taken[read.tracks.track().name, lesson]
    found = objectives(read.whole[lesson], read.tracks.times[lesson], None, taken)
    stated = stated_objectives(taken.lesson.cells[0].source)
    tried = [
        f"goal {stated.index(each.text) + 1} by {', '.join(f'`{name}`' for name in each.exercises)}"
        for each in found
        if each.exercises
    ]
    return f"Say what the lab tries: {'; '.join(tried)}."


def at_predict(section: str, hints: Iterable[str], answers: Iterable[str]) -> str:
    """Return what to collect before one turns, and what came out; hints: how to answer."""
    wanted = "* and *".join(dict.fromkeys(hint.split(";")[0] for hint in hints if hint))
    written = f"the answer{'s' * ('* and *' in wanted)} (*{wanted}*)" if wanted else "an answer"
    asks = f"Section *{section}*. Everybody writes down {written}; ask two for their reasons."
    told = " ".join(f"{answer.rstrip('.')}." for answer in answers)
    return f"{asks} Then turn: {told}" if told else asks


def at_shown(caption: str, purpose: str, alt: str, slip: str) -> str:
    """Return what to say of what a demo cell shows, and what to ask.

    caption: the lesson's words below the cell. Without them: purpose, the cell's first line, and
    what the picture's description finds in it, behind its title.
    """
    if not caption:
        verb = "The cell" if _DOES.match(purpose) else "It shows"
        found = alt.split(". ")[1:2]
        seen = [f"Let somebody say what stands out: {found[0].rstrip('.')}."] if found else []
        caption = " ".join([f"{verb} {purpose[:1].lower()}{purpose[1:]}", *seen])
    return f"{caption} {slip}".rstrip()


def at_summary(course: Course, lesson: str) -> str:
    """Return which concept questions to vote on at the end, each by what it asks."""
    read = read_lessons(course.root)
    concepts, taken = read_concepts(course, lesson), read.taken[read.tracks.track().name, lesson]
    asked = [
        f"{each.number}, {_question(each.stem)}"
        for each in for_track(concepts, read.whole[lesson], taken)
    ]
    return f"Now vote, with `proflab questions {lesson[:2]}`: {' · '.join(asked)}"


def _question(stem: str) -> str:
    """Return what a stem asks: the last of its sentences with a question mark."""
    told = split_sentences(" ".join(stem.split())).split("\n")
    return next((each for each in reversed(told) if each.endswith("?")), told[-1])
