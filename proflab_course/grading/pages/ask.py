"""Let a student ask about a verdict from the feedback page, and show what was answered.

The page has no script and sends nothing: it offers a table, as a file inside the page, with a line
for each exercise. `proflab regrade` reads the tables that come back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from proflab_course.course.csv_table import csv_text
from proflab_course.course.settings import read_settings
from proflab_course.grading.pages.inert import readable
from proflab_course.regrade.log import Log

WHERE = "Hand the file in where you hand in your notebooks, or send it to your instructor."


@dataclass(frozen=True)
class Asked:
    """Hold a question, its answer, "" if there is none yet, and the exercise."""

    exercise: str
    question: str
    answer: str


@dataclass
class Ask:
    """Hold what the page shows: the table as an address, its file's name, where to hand it in.

    table: "" where the course takes no questions in this way.
    """

    table: str = ""
    file: str = ""
    where: str = ""
    asked: list[Asked] = field(default_factory=list)


def ask(root: Path, student: str, lesson: str, exercises: Iterable[str]) -> Ask:
    """Return what a student's page about a lesson shows; exercises: their names, essays included.

    A mistake in the course's settings raises CourseError; without them, questions are taken.
    """
    chosen = read_settings(root).regrade
    theirs = Log(root).of_student(student, lesson)
    asked = [Asked(r.exercise, readable(r.question), readable(r.answer)) for r in theirs]
    if chosen is False:
        return Ask(asked=asked)
    rows = [(student, lesson, name, "") for name in exercises]
    text = csv_text([("student", "lesson", "exercise", "question"), *rows])
    table = f"data:text/csv;charset=utf-8,{quote(text)}"
    return Ask(table, f"questions-{lesson}.csv", WHERE if chosen is True else chosen, asked)


def root_of(db_url: str) -> Path:
    """Return the folder of a course from the address of its gradebook.

    >>> root_of("sqlite:////home/ann/course/gradebook.db?timeout=60").as_posix()
    '/home/ann/course'
    """
    return Path(db_url.removeprefix("sqlite:///").partition("?")[0]).parent
