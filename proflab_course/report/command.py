"""`proflab report`: write a page about a lesson's results, or about the term's."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import proflab_course.grading.lean  # noqa: F401  (first)
from proflab_course.course.files import replace_file
from proflab_course.course.inventory import HALVES, NAME
from proflab_course.course.layout import Course, CourseError
from proflab_course.questions.votes import has_letters
from proflab_course.report.concept_items import answers_csv
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
    parser.add_argument(
        "--votes",
        type=Path,
        nargs="+",
        metavar="CSV",
        help="a page about guesses or votes in a lecture instead: tables of `proflab questions`",
    )
    parser.add_argument(
        "--answers",
        type=Path,
        metavar="NOTEBOOK",
        help="with --votes: your notebook, run and saved, whose outputs show the answers",
    )
    parser.add_argument(
        "--csv",
        action="store_true",
        help="instead of the page, a table of answers to concept questions: students, letters",
    )
    parser.add_argument("--ids", action="store_true", help="show ids of students without names")


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
        _write_page(output.resolve(), page.encode())
    except OSError as error:
        raise CourseError(f"{output} cannot be written: {error.strerror}") from None
    print(f"{'Table' if arguments.csv else 'Report'}: {output}")
    return 0


def _make_page(course: Course, arguments: argparse.Namespace) -> tuple[str, str]:
    """Return the file's name and the page: of the given lesson, or of the term."""
    public, ids = arguments.public, arguments.ids
    if arguments.lesson is None:
        if arguments.votes:
            raise CourseError("votes are about a lesson: proflab report LESSON --votes …")
        if arguments.csv:
            raise CourseError("answers are those of a lesson: proflab report LESSON --csv")
        if public:
            raise CourseError("the page about the term names students: --public needs a lesson")
        return "term.html", render_term(read_term(course, ids))
    lesson = NAME
    if arguments.lesson != NAME:
        lesson = course.lesson(arguments.lesson, "source")
    if lesson in (NAME, *HALVES):
        if arguments.votes or arguments.csv:
            raise CourseError("the inventory has neither votes nor a table of concept questions")
        from proflab_course.report.inventory_page import read_report, render_inventory

        return f"{NAME}.html", render_inventory(read_report(course))
    if arguments.votes:
        from proflab_course.report.rounds_page import read_rounds_page, render_rounds
        from proflab_course.report.votes_page import read_lecture, render_lecture

        name = f"{lesson}.votes.html"
        if has_letters(arguments.votes):
            return name, render_rounds(read_rounds_page(course, lesson, arguments.votes))
        lecture = read_lecture(course, lesson, arguments.votes, arguments.answers)
        return name, render_lecture(lecture)
    name = f"{lesson}{'.public' if public else ''}"
    if arguments.csv:
        return f"{name}.concepts.csv", answers_csv(course, lesson, public)
    return f"{name}.html", render(read_summary(course, lesson, public, ids))


def _write_page(output: Path, page: bytes) -> None:
    """Write the page, whole or not at all unless `output` is a pipe or a terminal."""
    if output.exists() and not output.is_file():
        output.write_bytes(page)
    else:
        replace_file(output, page)
