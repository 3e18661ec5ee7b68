"""The page of exam questions: what each lesson offers for an examination, made of the lessons."""

from __future__ import annotations

from collections.abc import Iterator

from taken import read_lessons

from proflab_classroom.questions.concepts_file import read_concepts
from proflab_course.build.map_cell import purpose_of
from proflab_course.cases.reader import split_cell
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Lesson
from proflab_course.grading.own_numbers.cases import varying_cells
from proflab_course.tracks.read import Tracks

_PAGE = """\
# Exam questions

This page lists what each lesson offers for an examination: functions to write, numbers to work out,
and concept questions. [Teach with ProfLab](teaching.md#an-examination) says how to give them: on
paper, on computers without a network, on a screen, or in a conversation.
`proflab questions 02 --exam --seed 4711` makes an examination of a lesson.

- **Functions to write** are best taken from the exercises that your class's track leaves out. The
  last column names the shortest track whose students write the function, so that it suits an
  examination in all shorter ones. Minutes are those for writing at a computer.
- **Drawn** counts the hidden cases that get other numbers from a seed. Cases with plain numbers are
  also the calls to work out on paper.
- **Concept questions** get their options in another order.

The solutions of all of these are public.

{lessons}
"""


def exam_page(course: Course) -> str:
    """Return the page's Markdown."""
    read = read_lessons(course.root)
    parts = ["\n".join(_section(course, each, read.tracks)) for each in read.whole.values()]
    return _PAGE.format(lessons="\n\n".join(parts))


def _section(course: Course, lesson: Lesson, tracks: Tracks) -> Iterator[str]:
    title = lesson.cells[0].source.splitlines()[0].removeprefix("# ")
    asked = len(read_concepts(course, lesson.name))
    count = "no concept questions" if not asked else f"{asked} concept questions"
    yield from (f"## {title}", "", f"{count.capitalize()}.", "")
    yield "| function | what for | min | points | hidden cases | drawn | written from |"
    yield "|---|---|--:|--:|--:|--:|---|"
    times, drawn = tracks.times[lesson.name], varying_cells(lesson)
    tests_of = lesson.tests
    for cell in lesson.named("exercise"):
        tests = tests_of[cell.name]
        hidden = sum(is_hidden for t in tests for is_hidden, _ in split_cell(t).answers)
        vary = sum(len(drawn[t.name][1].expected) for t in tests if t.name in drawn)
        public = tracks.tracks.values()
        first = next(t for t in public if cell.name in t.exercises.get(lesson.name, ()))
        points = sum(test.points for test in tests)
        yield (
            f"| `{cell.name}` | {times.purposes.get(cell.name) or purpose_of(cell)}"
            f" | {times.minutes[cell.name]} | {points:g} | {hidden} | {vary or '–'}"
            f" | {first.name} |"
        )
