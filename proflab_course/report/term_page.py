"""Make one page about the term, from the gradebook: `proflab report` without a lesson.

It shows students by lessons with their trend, the exercises that most students failed, the accuracy
of the class's guesses, and what waits for a person.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from proflab_course.course.csv_table import csv_text
from proflab_course.course.dates import Dates
from proflab_course.course.features import counted
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.words import amount
from proflab_course.grading.answer_key import read_key
from proflab_course.grading.records.opened import graded_book
from proflab_course.report.class_guesses import Prediction
from proflab_course.report.lesson_page import StudentLine, environment, full_label, summarise
from proflab_course.tracks.read import PUBLIC, WEIGHTS, Track, Tracks

_MOST_EXERCISES = 12
_NEAR = 1.2  # the factor of "Within 20 %" in term.html.j2


@dataclass(frozen=True)
class TermLesson:
    """One lesson's line: the median score of those who handed in.

    weight: what it counts in the percent of all lessons, its points or its minutes. due: the due
    date and who was late, "" where no date is known.
    """

    name: str
    most: float
    weight: float
    median: float
    count: int
    time: str = ""
    due: str = ""


@dataclass
class TermStudent:
    """One student's line; `points` in the order of the lessons, None without a submission."""

    name: str
    points: list[float | None]
    trend: str = ""
    percent: float = 0.0

    @property
    def absent(self) -> bool:
        """True for a student without any submission."""
        return all(points is None for points in self.points)

    @property
    def sum(self) -> float:
        """All points together."""
        return sum(points or 0.0 for points in self.points)

    def grade(self, percent: bool) -> float:
        """Return the sum of points, or the percent."""
        return self.percent if percent else self.sum


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
    """All figures of the page.

    weight: what lessons count by in a percent; left_out: graded lessons that the track has not.
    waiting, again: lesson and student of an essay without a mark, and with that of an earlier one.
    """

    lessons: list[TermLesson] = field(default_factory=list)
    students: list[TermStudent] = field(default_factory=list)
    hardest: list[TermExercise] = field(default_factory=list)
    guesses: list[TermGuesses] = field(default_factory=list)
    waiting: list[tuple[str, str]] = field(default_factory=list)
    again: list[tuple[str, str]] = field(default_factory=list)
    unusual: list[tuple[str, str, str, str]] = field(default_factory=list)
    people: dict[str, str] = field(default_factory=dict)
    track: str = ""
    weight: str = WEIGHTS[0]
    left_out: list[str] = field(default_factory=list)

    @property
    def most(self) -> float:
        """Return the points of all lessons together."""
        return sum(lesson.most for lesson in self.lessons)

    def percent(self, points: Iterable[float | None]) -> float:
        """Return points in the lessons as a grade from 0 to 100; nothing handed in counts 0."""
        lessons = [lesson for lesson in self.lessons if lesson.most]
        earned = dict(zip((lesson.name for lesson in self.lessons), points, strict=True))
        shares = (e.weight * (earned[e.name] or 0.0) / e.most for e in lessons)
        return 100 * sum(shares) / (sum(lesson.weight for lesson in lessons) or 1)

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


def read_term(course: Course, ids: bool = False, essay: bool = True) -> Term:
    """Return the figures of all graded lessons; raise CourseError if there is none.

    ids: without the names of students; essay: count the points given by hand.
    """
    from proflab_course.grading.points import total_points
    from proflab_course.grading.records.deadline import read_deadline

    term, totals, dates = Term(), {}, Dates.read(course)
    tracks = Tracks.read(course.root)
    track = tracks.track() if tracks else None
    term.weight = track.weight if track else term.weight
    exercises: list[TermExercise] = []
    unusual: list[tuple[int, float, str, StudentLine]] = []
    with graded_book(course) as book:
        known = book.people()
        for name in counted(course.lessons("source")):
            outcomes, scores = book.outcomes(name), book.scores(name)
            if not outcomes:
                continue
            if tracks and track and not tracks.has(track, name):
                term.left_out.append(name)
                continue
            key = read_key(course.source(name))
            summary = summarise(key, outcomes, scores, list(known), public=False)
            points = {student: total_points(scores[student], essay) for student in outcomes}
            most = key.max_score + (key.points_by_hand if essay else 0.0)
            median = statistics.median(points.values())
            weight = most
            if tracks and track and track.weight == "minutes":
                weight = _minutes(tracks, track, name)
            deadline = read_deadline(book, name, dates)
            due = deadline.told[0] if deadline.due else ""
            found = TermLesson(name, most, weight, median, len(points), summary.time, due)
            term.lessons.append(found)
            totals[name] = points
            term.track = term.track or summary.track
            exercises += [
                TermExercise(name, each.name, each.passed, each.attempted, each.rate)
                for each in summary.exercises
            ]
            term.waiting += [(name, s) for s in sorted(outcomes) if scores[s]["unread"]]
            term.again += [(name, s) for s in sorted(outcomes) if scores[s]["again"]]
            least = summary.max_score
            # By points lost, for lessons have different numbers of them.
            unusual += [(s.urgency, s.score - least, name, s) for s in summary.unusual]
            term.guesses += _guesses(name, summary.predictions)
    if not term.lessons:
        raise CourseError("no lesson is graded yet: run `proflab grade LESSON` first")
    term.people = {} if ids else known
    term.unusual = [
        (lesson, student.name, student.status, student.sentence)
        for _, _, lesson, student in sorted(unusual, key=lambda found: found[:3])
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
        term.students.append(TermStudent(student, line, trend(shares), term.percent(line)))
    return term


def term_csv(term: Term) -> str:
    """Return the table of the page as CSV: each lesson's points and weight stand in its heading."""
    total = sum(lesson.weight for lesson in term.lessons if lesson.most) or 1
    heads = [
        f"{lesson.name} (of {lesson.most:g}, weight {100 * lesson.weight / total:.1f} %)"
        for lesson in term.lessons
    ]
    rows = [["student", "name", *heads, f"sum (of {term.most:g})", "percent", "still to mark"]]
    waits = Counter(student for _, student in term.waiting)
    for student in term.students:
        points = ["" if each is None else f"{each:g}" for each in student.points]
        both = ["", ""] if student.absent else [f"{student.sum:g}", f"{student.percent:.2f}"]
        state = amount(waits[student.name], "essay") if waits[student.name] else ""
        state = "nothing handed in" if student.absent else state
        names = [student.name, term.people.get(student.name, "")]
        rows.append([*names, *points, *both, state])
    return csv_text(rows)


def _minutes(tracks: Tracks, track: Track, lesson: str) -> float:
    """Return a lesson's minutes in the track that weighs by them."""
    if minutes := tracks.minutes(track, lesson):
        return minutes
    what = f'track {track.name} says weight = "minutes", and {PUBLIC} gives {lesson} none'
    raise CourseError(f"{track.file}: {what}")


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
