"""`proflab questions`: make the pages of a lesson's questions for a lecture."""

from __future__ import annotations

import argparse
from pathlib import Path

from proflab_course.course.files import replace_file
from proflab_course.course.layout import Course, CourseError
from proflab_course.questions.guesses import asked_guesses
from proflab_course.questions.pages import write_pages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab questions`."""
    parser.add_argument("lesson", metavar="LESSON", help="the lesson: 01_parameters, 01 or 1")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument(
        "--guesses", action="store_true", help="what the lesson lets its readers guess"
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="the folder for the pages (default: reports/)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the pages and print the names of their files."""
    course = Course.find()
    lesson = course.lesson(arguments.lesson, "source")
    questions = asked_guesses(course.source(lesson))
    if not questions:
        raise CourseError(f"lesson {lesson} asks for no guess")
    folder = arguments.output or course.root / "reports"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, what, page in write_pages(lesson, "guesses", questions):
            replace_file((folder / name).resolve(), page.encode())
            print(f"{what}: {folder / name}")
    except OSError as error:
        raise CourseError(f"{folder} cannot be written: {error.strerror}") from None
    read = f"proflab report {lesson[:2]} --votes FILE.csv"
    print(f"\nAfterwards, of the table or of what phones have saved: {read}")
    return 0
