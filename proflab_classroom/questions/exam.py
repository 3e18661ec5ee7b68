"""Make an examination on paper from what a lesson has: calls to work out, questions, functions.

Numbers of the calls and the order of options are drawn by a seed and the course's secret, and are
others than those of a build with this seed. The functions to write are among the exercises that
the class's track leaves out. A page with the keys goes to those who mark.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proflab.checks.diagnose import is_number
from proflab_classroom.questions.asked import Asked
from proflab_classroom.questions.concepts_file import read_concepts
from proflab_classroom.questions.pages import Files, page_title, render_page
from proflab_course.build.measures import docstrings
from proflab_course.build.overlay import apply_overlay, overlay_path
from proflab_course.cases.reader import split_cell
from proflab_course.course.exercises import exercise_of
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import (
    HIDDEN,
    SOLUTION,
    Cell,
    Lesson,
    read_module,
    replace_regions,
)
from proflab_course.course.secret import seeded_key, shuffled
from proflab_course.grading.own_numbers.cases import vary_cases
from proflab_course.tracks.read import Tracks

MOST_CALLS, MOST_CASES = 6, 5  # of a paper, and shown with a function to write
MOST_MINUTES = 90  # of an examination whose functions nobody chose
_LEAST, _MOST = 50, 10**7  # results that are worth a calculation, and can be made by hand
CALL_POINTS, QUESTION_POINTS = 2, 1
CALL_MINUTES, QUESTION_MINUTES = 3, 2
_MORE_LINES, _MOST_LINES = 4, 22  # to write on: more than the solution has, and at most


@dataclass(frozen=True)
class Call:
    """Hold a call to work out on paper: its function, what that does, and what it returns."""

    function: str
    text: str
    code: str
    value: str


@dataclass(frozen=True)
class Task:
    """Hold a function to write: what is given, some visible cases, its solution, all cases."""

    name: str
    points: float
    minutes: int
    given: str
    shown: tuple[str, ...]
    solution: str
    cases: str

    @property
    def lines(self) -> range:
        """Return a line to write on for each of the solution's, and some more."""
        written = len([line for line in self.solution.splitlines() if line.strip()])
        given = len([line for line in self.given.splitlines() if line.strip()])
        return range(min(_MOST_LINES, max(1, written - given) + _MORE_LINES))


@dataclass(frozen=True)
class Exam:
    """Hold the parts of an examination on one lesson."""

    lesson: str
    calls: tuple[Call, ...]
    questions: tuple[Asked, ...]
    tasks: tuple[Task, ...]

    @property
    def points(self) -> float:
        """Return the points of all parts."""
        rest = CALL_POINTS * len(self.calls) + QUESTION_POINTS * len(self.questions)
        return rest + sum(task.points for task in self.tasks)

    @property
    def minutes(self) -> int:
        """Return about how long it takes."""
        rest = CALL_MINUTES * len(self.calls) + QUESTION_MINUTES * len(self.questions)
        return rest + sum(task.minutes for task in self.tasks)


def exam_pages(course: Course, lesson: str, seed: int, wanted: Sequence[str] = ()) -> Files:
    """Yield the paper and the page with its keys.

    seed: for numbers and orders. wanted: the exercises to be written; by default some that the
    class's track leaves out, for MOST_MINUTES together.

    Raises CourseError for an exercise that the lesson does not have.
    """
    exam = make_exam(course, lesson, seed, wanted)
    values = {"exam": exam, "title": page_title(lesson), "seed": seed}
    values |= {"call_points": CALL_POINTS, "question_points": QUESTION_POINTS}
    for name, what, key in (
        (f"{lesson[:2]}-exam.html", "Paper to print, A4", False),
        (f"{lesson[:2]}-exam-key.html", "Keys, for those who mark", True),
    ):
        yield name, what, render_page("exam", {**values, "key": key})


def make_exam(course: Course, name: str, seed: int, wanted: Sequence[str] = ()) -> Exam:
    """Return an examination on a lesson; the same seed and secret give the same one."""
    name = course.lesson(name)  # source/ has halves of the inventory, too
    key = seeded_key(course.root, "exam", seed)
    lesson = read_module(course.module(name), name)
    apply_overlay(lesson, overlay_path(course.root, name))
    exercises = [cell.name for cell in lesson.named("exercise")]
    tracks = Tracks.read(course.root)
    tracks = tracks and tracks.with_lessons({name: exercises})
    if unknown := sorted(set(wanted) - set(exercises)):
        raise CourseError(f"{name} has no exercise {unknown[0]}: it has {', '.join(exercises)}")
    asked = read_concepts(course, name)
    room = MOST_MINUTES - CALL_MINUTES * MOST_CALLS - QUESTION_MINUTES * len(asked)
    left_out = tracks.left_out(tracks.track(), name) if tracks else []
    minutes = tracks.times[name].minutes if tracks else {}
    written = list(wanted) or _fitting(shuffled(key, "tasks", name, items=left_out), minutes, room)
    before = {cell.name: _codes(cell) for cell in lesson.named("test")}
    vary_cases(lesson, key, course.source(name).parent)
    concepts = [Asked(each, each.order(key)) for each in asked]
    return Exam(
        name,
        tuple(_calls(lesson, before, written, key)),
        tuple(concepts),
        tuple(_tasks(lesson, written, tracks)),
    )


def _fitting(names: Iterable[str], minutes: Mapping[str, int], room: int) -> list[str]:
    """Return the exercises, as they come, that can be written in so many minutes together."""
    found: list[str] = []
    for name in names:
        if sum(minutes[each] for each in (*found, name)) <= room:
            found.append(name)
    return found


# ── calls to work out ────────────────────────────────────────────────────────────────────────


def _calls(
    lesson: Lesson, before: Mapping[str, set[str]], written: Iterable[str], key: bytes
) -> Iterator[Call]:
    """Yield for some exercises a call with drawn numbers, in the order of the lesson."""
    exercises = {cell.name: cell for cell in lesson.named("exercise")}
    found: dict[str, list[tuple[str, Any]]] = {}
    for cell in lesson.named("test"):
        name = exercise_of(cell.name, exercises)
        for code, value in _plain_calls(cell, name, hidden=True):
            # A call that no seed has changed can be looked up in the course's own repository.
            if is_number(value) and code not in before[cell.name] and name not in written:
                found.setdefault(name, []).append((code, value))
    chosen = shuffled(key, "calls", lesson.name, items=sorted(found))[:MOST_CALLS]
    for name in (each for each in found if each in chosen):
        fit = [pair for pair in found[name] if _LEAST <= abs(pair[1]) < _MOST]
        code, value = shuffled(key, "call", lesson.name, name, items=fit or found[name])[0]
        text = " ".join(next(iter(docstrings(exercises[name])), "").split("\n\n")[0].split())
        yield Call(_signature(exercises[name], name), text, code, _shown(value))


def _codes(cell: Cell) -> set[str]:
    return {step.code for block in split_cell(cell).blocks for step in block.steps}


def _plain_calls(cell: Cell, name: str, hidden: bool) -> Iterator[tuple[str, Any]]:
    """Yield the cases that call the exercise with literals: the call, and what it returns."""
    for block in split_cell(cell).blocks:
        for step, answer in zip(block.steps, block.answers, strict=True):
            if block.hidden is hidden and answer is not None and answer.call == "expect":
                if _is_plain(step.code, name):
                    yield step.code, answer.expected


def _is_plain(code: str, name: str) -> bool:
    call = ast.parse(code, mode="eval").body
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == name):
        return False
    try:
        for value in (*call.args, *(keyword.value for keyword in call.keywords)):
            ast.literal_eval(value)
    except ValueError:
        return False
    return True


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _signature(cell: Cell, name: str) -> str:
    """Return the first line of a function as its cell has it."""
    for node in cell.statements():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return f"{name}({ast.unparse(node.args)})"
    return name


# ── functions to write ───────────────────────────────────────────────────────────────────────


def _tasks(lesson: Lesson, names: Iterable[str], tracks: Tracks | None) -> Iterator[Task]:
    """Yield a task for each of these exercises, in the order of the lesson."""
    names, tests_of = set(names), lesson.tests
    minutes = tracks.times[lesson.name].minutes if tracks else {}
    for cell in lesson.named("exercise"):
        if cell.name not in names:
            continue
        tests = tests_of[cell.name]
        plain = [each for test in tests for each in _plain_calls(test, cell.name, hidden=False)]
        yield Task(
            cell.name,
            sum(test.points for test in tests),
            minutes.get(cell.name, 0),
            replace_regions(cell.source, SOLUTION, ()).strip(),
            tuple(f"{code}  →  {value!r}" for code, value in plain[:MOST_CASES]),
            _without_marks(cell.source),
            "\n\n".join(_without_marks(test.source) for test in tests),
        )


def _without_marks(source: str) -> str:
    marks = {*SOLUTION, *HIDDEN}
    return "\n".join(line for line in source.splitlines() if line.strip() not in marks).strip()
