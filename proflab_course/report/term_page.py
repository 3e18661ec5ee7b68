"""Make one page about the term, from the gradebook: `proflab report` without a lesson.

It shows students by lessons with their trend, the exercises that most students failed, the accuracy
of the class's guesses, and what waits for a person.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field

from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.answer_key import read_key
from proflab_course.report.class_guesses import Prediction
from proflab_course.report.lesson_page import (
    Exercise,
    Student,
    environment,
    full_label,
    summarise,
)

_MOST_EXERCISES = 12
_NEAR = 1.2


@dataclass(frozen=True)
class TermLesson:
    """One lesson's line: the median score of those who handed in."""

    name: str
    most: float
    median: float
    count: int


@dataclass
class TermStudent:
    """One student's line; `points` in the order of the lessons, None without a submission."""

    name: str
    points: list[float | None]
    trend: str = ""

    @property
    def absent(self) -> bool:
        """True for a student without any submission."""
        return all(points is None for points in self.points)

    @property
    def sum(self) -> float:
        """All points together."""
        return sum(points or 0.0 for points in self.points)


@dataclass(frozen=True)
class TermExercise:
    """An exercise of any lesson, and the number of students who passed it."""

    lesson: str
    name: str
    passed: int
    attempted: int
    rate: float


@dataclass(frozen=True)
class TermGuesses:
    """The guesses of a lesson: the typical factor between guess and answer."""

    lesson: str
    count: int
    factor: float
    near: float


@dataclass
class Term:
    """All figures of the page."""

    lessons: list[TermLesson] = field(default_factory=list)
    students: list[TermStudent] = field(default_factory=list)
    hardest: list[TermExercise] = field(default_factory=list)
    guesses: list[TermGuesses] = field(default_factory=list)
    waiting: list[tuple[str, str]] = field(default_factory=list)
    unusual: list[tuple[str, str, str, str]] = field(default_factory=list)
    people: dict[str, str] = field(default_factory=dict)
    track: str = ""

    def who(self, student: str) -> str:
        """Return a student's name and id; the id alone if no name is known or wanted."""
        return full_label(student, self.people)

    @property
    def waiting_by_lesson(self) -> dict[str, list[str]]:
        """Return the students who wait for a mark, by lesson."""
        found: dict[str, list[str]] = defaultdict(list)
        for lesson, student in self.waiting:
            found[lesson].append(student)
        return found


def read_term(course: Course, ids: bool = False) -> Term:
    """Return the figures of all graded lessons; raise CourseError if there is none.

    ids: without the names of students.
    """
    from proflab_course.grading.points import total_points
    from proflab_course.grading.records.gradebook import Book

    if not course.gradebook.exists():
        raise CourseError("nothing is graded yet: run `proflab grade LESSON` first")
    term, totals = Term(), {}
    exercises: list[TermExercise] = []
    unusual: list[tuple[int, str, Student]] = []
    with Book(course.gradebook) as book:
        known = book.people()
        for name in course.lessons("source"):
            outcomes, scores = book.outcomes(name), book.scores(name)
            if not outcomes:
                continue
            key = read_key(course.source(name))
            summary = summarise(key, outcomes, scores, list(known), public=False)
            points = {student: total_points(scores[student]) for student in outcomes}
            most = key.max_score + key.points_by_hand
            median = statistics.median(points.values())
            term.lessons.append(TermLesson(name, most, median, len(points)))
            totals[name] = points
            term.track = term.track or summary.track
            exercises += [_exercise(name, exercise) for exercise in summary.exercises]
            term.waiting += [(name, s) for s in sorted(outcomes) if scores[s]["unread"]]
            unusual += [(s.urgency, name, s) for s in summary.unusual]
            term.guesses += _guesses(name, summary.predictions)
    if not term.lessons:
        raise CourseError("no lesson is graded yet: run `proflab grade LESSON` first")
    term.people = {} if ids else known
    term.unusual = [
        (lesson, student.name, student.status, student.sentence)
        for _, lesson, student in sorted(unusual, key=lambda found: found[:2])
    ]
    failed = [exercise for exercise in exercises if exercise.passed < exercise.attempted]
    term.hardest = sorted(failed, key=lambda e: (e.rate, e.lesson, e.name))[:_MOST_EXERCISES]
    medians = {lesson.name: lesson.median for lesson in term.lessons}
    for student in sorted({*known, *(s for points in totals.values() for s in points)}):
        line = [totals[lesson.name].get(student) for lesson in term.lessons]
        shares = [
            100 * points / medians[lesson.name]
            for lesson, points in zip(term.lessons, line, strict=True)
            if points is not None and medians[lesson.name]
        ]
        term.students.append(TermStudent(student, line, trend(shares)))
    return term


def _exercise(lesson: str, exercise: Exercise) -> TermExercise:
    return TermExercise(lesson, exercise.name, exercise.passed, exercise.attempted, exercise.rate)


def _guesses(lesson: str, predictions: list[Prediction]) -> list[TermGuesses]:
    """Return one line for the guesses that are numbers and have an answer to compare with."""
    factors = [max(ratio, 1 / ratio) for each in predictions for ratio in each.ratios]
    if not factors:
        return []
    near = sum(factor <= _NEAR for factor in factors) / len(factors)
    return [TermGuesses(lesson, len(factors), statistics.median(factors), near)]


def trend(shares: list[float]) -> str:
    """Return the trend of a student's shares, in percent of the class's median.

    It compares the mean of the later half with that of the earlier; below four it is empty.
    """
    if len(shares) < 4:
        return ""
    half = len(shares) // 2
    change = statistics.mean(shares[-half:]) - statistics.mean(shares[:half])
    if abs(change) < 10:
        return "steady"
    return f"{'↗' if change > 0 else '↘'} {change:+.0f} %"


def render_term(term: Term) -> str:
    """Return the page as HTML that needs no other file."""
    return environment().get_template("term.html.j2").render(t=term)
