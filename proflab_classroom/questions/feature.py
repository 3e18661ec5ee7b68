"""Offer questions to the commands: a column, figures on a lesson's page, pages of votes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from proflab_course.course.features import (
    Building,
    Column,
    Command,
    Feature,
    Panel,
    Results,
    survey_named,
    survey_of,
)
from proflab_course.course.layout import Course, CourseError

_SUMMARY = "write the points of the concept questions (concept_points = 1 in your settings)"


class Questions(Feature):
    """The concept questions of a class, its guesses, and its votes in a lecture."""

    commands = {
        "questions": Command(
            "proflab_classroom.questions.command", "make a lecture's pages of questions"
        )
    }

    def building(self) -> Building:
        """Return the block of concept questions in a lesson, and the search for its answers."""
        from proflab_classroom.questions.block import BUILDING

        return BUILDING

    def columns(self) -> Sequence[Column]:
        """Return the column of concept points."""
        return [Column("concepts", "concept points", "concept", _SUMMARY, _points)]

    def panel(self, results: Results) -> Panel | None:
        """Return the figures of the concept questions that the class has answered."""
        from proflab_classroom.questions.concept_items import class_items, render_items

        items = class_items(results.course, results.lesson)
        if not items:
            return None
        return Panel(render_items(items, results.public), above="Misconceptions")

    def add_pages(self, parser: argparse.ArgumentParser) -> None:
        """Declare --votes, --answers and --csv."""
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--votes",
            type=Path,
            nargs="+",
            metavar="CSV",
            help="a page about guesses or votes in a lecture instead: tables of "
            "`proflab questions`",
        )
        parser.add_argument(
            "--answers",
            type=Path,
            metavar="NOTEBOOK",
            help="with --votes: your notebook, run and saved, whose outputs show the answers",
        )
        what.add_argument(
            "--csv",
            action="store_true",
            help="instead of the page, a table of answers to concept questions: students, letters",
        )

    def page(
        self, course: Course, lesson: str | None, arguments: argparse.Namespace
    ) -> tuple[str, str] | None:
        """Return the page about votes, or the table of answers."""
        if arguments.answers and not arguments.votes:
            raise CourseError("--answers belongs to --votes: add the tables of the lecture")
        if not (arguments.votes or arguments.csv):
            return None
        _refuse_what_has_none(lesson, arguments)
        if arguments.votes:
            return f"{lesson}.votes.html", _page_of_votes(course, str(lesson), arguments)
        from proflab_classroom.questions.concept_items import answers_csv

        name = f"{lesson}{'.public' if arguments.public else ''}"
        return f"{name}.concepts.csv", answers_csv(course, str(lesson), arguments.public)


def _refuse_what_has_none(lesson: str | None, arguments: argparse.Namespace) -> None:
    """Raise CourseError for the term and for a survey."""
    if lesson is None:
        if arguments.votes:
            raise CourseError("votes are about a lesson: proflab report LESSON --votes …")
        raise CourseError("answers are those of a lesson: proflab report LESSON --csv")
    if survey := survey_named(lesson) or survey_of(lesson):
        what = f"the {survey.name} has neither votes nor a table of concept questions"
        raise CourseError(what)


def _page_of_votes(course: Course, lesson: str, arguments: argparse.Namespace) -> str:
    from proflab_classroom.questions.rounds_page import read_rounds_page, render_rounds
    from proflab_classroom.questions.votes import has_letters
    from proflab_classroom.questions.votes_page import read_lecture, render_lecture

    if has_letters(arguments.votes):
        return render_rounds(read_rounds_page(course, lesson, arguments.votes))
    return render_lecture(read_lecture(course, lesson, arguments.votes, arguments.answers))


def _points(course: Course, lesson: str, percent: bool) -> dict[str, float]:
    """Return each graded student's right answers to concept questions, 0 without an answer."""
    from proflab_classroom.questions.answers import concept_points
    from proflab_course.course.settings import SETTINGS, read_settings
    from proflab_course.grading.answer_key import read_key
    from proflab_course.grading.records.gradebook import Book

    if read_settings(course.root).concept_points != 1:
        problem = f"right answers earn nothing here: write concept_points = 1 into {SETTINGS}"
        raise CourseError(f"{problem} first")
    asked = len(read_key(course.source(lesson)).questions)
    if not asked:
        raise CourseError(f"{lesson} has no concept questions")
    if not course.gradebook.exists():
        raise CourseError(f"there is no {course.gradebook.name}: run `proflab grade {lesson}`")
    right = concept_points(course, lesson)
    with Book(course.gradebook) as book:
        students = book.standings(lesson)
    part = 100 / asked if percent else 1.0
    return {student: round(part * right.get(student, 0), 2) for student in students}
