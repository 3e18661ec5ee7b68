"""`proflab report`: write a page about a lesson's results, or about the term's."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from proflab_course.course.features import features, survey_named, survey_of
from proflab_course.course.files import replace_file, what_is_wrong
from proflab_course.course.layout import Course, CourseError
from proflab_course.report.lesson_page import read_summary, render
from proflab_course.report.minutes import minutes_patch
from proflab_course.report.term_page import read_term, render_term


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab report`."""
    parser.add_argument(
        "lesson", nargs="?", help="the lesson: 01_parameters, 01 or 1 (default: the whole term)"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="the page to write (default: LESSON.html or term.html in reports/)",
    )
    parser.add_argument("--public", action="store_true", help="leave out names, ids, hidden cases")
    parser.add_argument(
        "--minutes",
        action="store_true",
        help="print a patch of modules/tracks.toml by the minutes that students wrote down",
    )
    parser.add_argument("--ids", action="store_true", help="show ids of students without names")
    for feature in features():
        feature.add_pages(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the page and print the name of its file."""
    course = Course.find()
    if arguments.minutes:
        patch, told = minutes_patch(course)
        print("\n".join(told), file=sys.stderr)
        print(patch, end="")
        return 0
    name, page = _make_page(course, arguments)
    output = arguments.output or course.root / "reports" / name
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        # A pipe such as /dev/stdout has no name that its link could be resolved to.
        replace_file(output if output.is_fifo() else output.resolve(), page.encode())
    except OSError as error:
        raise CourseError(f"{output} cannot be written: {what_is_wrong(error)}") from None
    print(f"{'Table' if name.endswith('.csv') else 'Report'}: {output}")
    return 0


def _make_page(course: Course, arguments: argparse.Namespace) -> tuple[str, str]:
    """Return the file's name and the page: of the given lesson, or of the term."""
    public, ids = arguments.public, arguments.ids
    lesson = arguments.lesson
    if lesson is not None and not survey_named(lesson):
        lesson = course.lesson(lesson, "source")
    for feature in features():
        if page := feature.page(course, lesson, arguments):
            return page
    if lesson is None:
        if public:
            raise CourseError("the page about the term names students: --public needs a lesson")
        return "term.html", render_term(read_term(course, ids))
    if survey := survey_named(lesson) or survey_of(lesson):
        return f"{survey.name}.html", survey.page(course)
    name = f"{lesson}{'.public' if public else ''}"
    return f"{name}.html", render(read_summary(course, lesson, public, ids))
