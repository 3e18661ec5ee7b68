"""Gather what a class answered to its concept questions: figures for pages, letters for a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proflab_classroom.items.figures import Figures, figures_of
from proflab_classroom.questions.answers import read_answers
from proflab_classroom.questions.asked import Asked, Option, asked_concepts
from proflab_course.course.csv_table import csv_text
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.words import figure
from proflab_course.grading.records.opened import opened_book
from proflab_course.report.lesson_page import environment

Answers = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class ConceptItem:
    """Hold a question with its figures; counts are by the letters of concepts.toml."""

    asked: Asked
    item: Figures

    def percent(self, option: Option) -> float:
        """Return the share of answers with an option, in percent."""
        return 100 * (self.item.share(option.home) or 0.0)

    def chosen(self, option: Option) -> int:
        """Return how many chose an option."""
        return self.item.counts.get(option.home, 0)

    @property
    def told(self) -> str:
        """Return p with its interval, and r, in words; r is a dash where it is not known."""
        low, high = self.item.interval
        r = figure(self.item.r, signed=True)
        return f"p {self.item.p or 0.0:.2f} ({low:.2f} to {high:.2f}), r {r}"


def concept_items(
    asked: Sequence[Asked], answers: Answers, points: Mapping[str, float]
) -> list[ConceptItem]:
    """Return the figures of each question; points: each student's of the lesson, for the code.

    Points for concept questions are not among them, so they are those without the question.
    """
    return [
        ConceptItem(
            each,
            figures_of(
                [
                    (theirs[each.id], points[student])
                    for student, theirs in answers.items()
                    if each.id in theirs and student in points
                ],
                each.concept.key,
            ),
        )
        for each in asked
    ]


def class_items(course: Course, lesson: str) -> list[ConceptItem]:
    """Return the figures of a lesson's questions; none before anybody's answer is graded."""
    answers = read_answers(course, lesson)
    if not answers:
        return []
    return concept_items(asked_concepts(course, lesson), answers, _points(course, lesson))


def _points(course: Course, lesson: str) -> dict[str, float]:
    """Return each graded student's points for code."""
    with opened_book(course) as book:
        scores = book.scores(lesson) if book else {}
    return {student: each["auto"] for student, each in scores.items()}


def render_items(items: Sequence[ConceptItem], public: bool) -> str:
    """Return the figures as a section of the page about a lesson, in HTML."""
    template = environment("proflab_classroom.questions").get_template("concepts.html.j2")
    return template.render(items=items, public=public).strip()


def answers_csv(course: Course, lesson: str, public: bool = False) -> str:
    """Return students × questions: the letters as the class sees them, below those of the key.

    public: without ids, in the order of points and then of letters. Raises CourseError if nobody
    has answered.
    """
    asked, answers = asked_concepts(course, lesson), read_answers(course, lesson)
    if not asked:
        raise CourseError(f"lesson {lesson} has no concept questions")
    if not answers:
        what = "grade hand-ins that a build with concepts.toml released"
        raise CourseError(f"no graded answer to a concept question of {lesson}: {what}")
    graded = _points(course, lesson)
    points = {student: graded[student] for student in answers if student in graded}
    told = {s: (-each, sorted(answers[s].items())) for s, each in points.items()}
    order = sorted(points, key=told.__getitem__ if public else None)
    rows = [["student", "points", *(each.id for each in asked)]]
    rows.append(["(key)", "", *(each.key for each in asked)])
    for number, student in enumerate(order, start=1):
        theirs = answers[student]
        letters = [each.shown(theirs[each.id]) if each.id in theirs else "" for each in asked]
        name = f"submission {number}" if public else student
        rows.append([name, f"{points[student]:g}", *letters])
    return csv_text(rows)
