"""`proflab export`: write grades into a platform's file or a table, or code to compare.

The grades are of one lesson, or of all lessons of the track together.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from proflab_course.course.features import Column, Survey, survey_named, survey_of, surveys
from proflab_course.course.files import replace_file
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.words import amount, few
from proflab_course.export.code_for_comparison import write_code
from proflab_course.export.columns import TERM, Wanted, parts
from proflab_course.export.platform_files import Points, fill
from proflab_course.grading.records.opened import graded_book, opened_book

if TYPE_CHECKING:
    from proflab_course.grading.records.gradebook import Book

PLATFORMS = ("canvas", "moodle", "brightspace")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    names = [survey.name for survey in surveys()]
    more = "".join(f"; {name}: its answers" for name in names)
    help_ = f"01_parameters, or 01; {TERM}: all lessons together{more}"
    parser.add_argument("lesson", metavar="LESSON", help=help_)
    what = parser.add_mutually_exclusive_group()
    for platform in PLATFORMS:
        help_ = f"the grade file that {platform.title()} has exported"
        what.add_argument(f"--{platform}", metavar="FILE", type=Path, help=help_)
    what.add_argument(
        "--code", metavar="DIR", type=Path, help="write one .py file for each student into DIR"
    )
    what.add_argument(
        "--csv",
        metavar="FILE",
        type=Path,
        help=f"with {TERM}: write a table of students and lessons, with points and weights",
    )
    parser.add_argument("--ids", action="store_true", help="with --csv: leave out names")
    parser.add_argument(
        "--column",
        metavar="NAME",
        help="the column in the platform's file (default: the one that names what is exported)",
    )
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--without-essay", action="store_true", help="write only the points for code")
    parser.set_defaults(part=None)  # where no feature is there
    for column in parts():
        part.add_argument(
            f"--{column.name}", action="store_const", dest="part", const=column, help=column.summary
        )
    parser.add_argument(
        "--percent", action="store_true", help="write grades from 0 to 100 instead of points"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the file to write (default: FILE_filled.csv, FILE_01_viva_filled.csv"
        f"{''.join(f', {name}.csv' for name in names)})",
    )
    if names:
        help_ = f"with {' or '.join(names)}: what the class is called there"
        parser.add_argument("--label", default="", metavar="TEXT", help=help_)


def run(arguments: argparse.Namespace) -> int:
    """Export; return 0, even if there are students without a grade."""
    course = Course.find()
    chosen = [name for name in PLATFORMS if getattr(arguments, name)]
    if survey := survey_named(arguments.lesson):
        if chosen or arguments.code or arguments.csv:
            raise _no_marks(survey, "no platform's file takes its answers")
        survey.export(course, arguments)
        return 0
    if not (chosen or arguments.code or arguments.csv):
        choices = ", ".join(f"--{name} FILE" for name in PLATFORMS)
        raise CourseError(f"say what to write: {choices}, --csv FILE or --code DIR")
    term = arguments.lesson == TERM
    lesson = TERM if term else course.lesson(arguments.lesson, "source")
    if survey := survey_of(lesson):
        raise _no_marks(survey, f"`proflab export {survey.name}` writes its answers")
    _refuse_what_does_not_apply(arguments, term)
    if arguments.code:
        return _export_code(course, lesson, arguments.code)
    if arguments.csv:
        return _export_table(course, lesson, arguments)
    [platform] = chosen
    return _export_grades(course, platform, lesson, arguments)


def _no_marks(survey: Survey, instead: str) -> CourseError:
    return CourseError(f"the {survey.name} has no marks: {instead}")


def _refuse_what_does_not_apply(arguments: argparse.Namespace, term: bool) -> None:
    """Raise CourseError for options that would be ignored."""
    part: Column | None = arguments.part
    if arguments.code and term:
        raise CourseError("--code DIR writes the code of one lesson: name it")
    if part and term:
        raise CourseError(f"--{part.name} writes the {part.called} of one lesson: name it")
    table = "--code" if arguments.code else "--csv" if arguments.csv else ""
    options = {"--column": arguments.column, "--percent": arguments.percent, "-o": arguments.output}
    given = [f"--{part.name}"] if part else []
    given += [option for option, value in options.items() if value]
    if table and given:
        raise CourseError(f"{given[0]} is about a platform's file: leave it out with {table}")


def _export_grades(
    course: Course, platform: str, lesson: str, arguments: argparse.Namespace
) -> int:
    essay, percent = not arguments.without_essay, arguments.percent
    wanted = Wanted(lesson, arguments.part, tuple(course.lessons("source")))
    if wanted.part:
        grades = _grades_of_part(course, lesson, wanted.part, percent)
    elif lesson == TERM:
        grades = _term_grades(course, essay, percent)
    else:
        grades = _lesson_grades(course, lesson, essay, percent)
    path = getattr(arguments, platform)
    filled = fill(platform, path, grades, wanted, arguments.column)
    output = arguments.output or path.with_name(f"{path.stem}{wanted.ending}.csv")
    if output.resolve() == path.resolve():
        raise CourseError(f"{output} is the platform's own file: choose another with -o")
    replace_file(output, filled.text.encode("utf-8"))
    print(f"{output}: {filled.filled} {_told(wanted)}")
    if filled.unmarked:
        print("left blank because the essay has no mark yet (--without-essay leaves it out):")
        print("".join(f"  {student}\n" for student in filled.unmarked), end="")
    if again := [student for student, points in grades.items() if points.again]:
        print("whose mark was given before they handed in another essay, or none:")
        print("".join(f"  {student}\n" for student in again), end="")
    if filled.absent:
        print(f"graded, but without a line in {path.name} (have they left the course?):")
        print("".join(f"  {student}\n" for student in filled.absent), end="")
    if filled.without:
        print("without a grade, left as they were:")
        print("".join(f"  {name}\n" for name in filled.without), end="")
    return 0


def _told(wanted: Wanted) -> str:
    if wanted.part:
        return f"students' {wanted.part.called} of {wanted.lesson}"
    return f"grades of {'all lessons' if wanted.lesson == TERM else wanted.lesson}"


def _export_table(course: Course, lesson: str, arguments: argparse.Namespace) -> int:
    from proflab_course.report.term_page import read_term, term_csv

    if lesson != TERM:
        raise CourseError(f"--csv writes all lessons together: proflab export {TERM} --csv FILE")
    term = read_term(course, arguments.ids, essay=not arguments.without_essay)
    output = arguments.csv
    replace_file(output, b"\xef\xbb\xbf" + term_csv(term).encode("utf-8", "replace"))
    print(f"{output}: {amount(len(term.students), 'student')}")
    return 0


def _export_code(course: Course, lesson: str, target: Path) -> int:
    code = write_code(course, lesson, target)
    print(f"{target}: the code of {len(code.written)} students, one file each")
    for student, names in code.modules.items():
        print(f"  with modules of {student}'s own: {few(names)}")
    for student, reason in code.without.items():
        print(f"  no code of {student}: {reason}")
    return 0


def _lesson_grades(course: Course, lesson: str, essay: bool, percent: bool) -> dict[str, Points]:
    """Return each graded student's points after the penalty; None without a mark by hand."""
    from proflab_course.grading.answer_key import read_key
    from proflab_course.grading.points import total_points

    with graded_book(course, lesson) as book:
        scores, names = book.scores(lesson), _other_names(book)
    if not scores:
        raise CourseError(f"nothing of {lesson} is graded: run `proflab grade {lesson}`")
    part = 1.0
    if percent:
        key = read_key(course.source(lesson))
        part = 100 / ((key.max_score + (key.points_by_hand if essay else 0.0)) or 1)
    grades = {}
    for student, score in scores.items():
        unread = score["unread"] and essay
        grade = None if unread else round(part * total_points(score, essay=essay), 2)
        grades[student] = Points(grade, names.get(student, ()), essay and score["again"])
    return grades


def _grades_of_part(course: Course, lesson: str, part: Column, percent: bool) -> dict[str, Points]:
    points = part.points(course, lesson, percent)
    with opened_book(course) as book:
        names = _other_names(book) if book else {}
    return {student: Points(each, names.get(student, ())) for student, each in points.items()}


def _term_grades(course: Course, essay: bool, percent: bool) -> dict[str, Points]:
    """Return each student's points of all graded lessons; None while an essay has no mark."""
    from proflab_course.report.term_page import read_term

    term = read_term(course, essay=essay)
    if term.weight == "minutes" and not percent:
        raise CourseError('the track says weight = "minutes", and points have none: add --percent')
    with graded_book(course) as book:
        names = _other_names(book)
    unread = {student for _, student in term.waiting if essay}
    again = {student for _, student in term.again if essay}
    return {
        student.name: Points(
            None if student.name in unread else round(student.grade(percent), 2),
            names.get(student.name, ()),
            student.name in again,
        )
        for student in term.students
        if not student.absent
    }


def _other_names(book: Book) -> dict[str, tuple[str, ...]]:
    """Return the other names by which a platform's file may call a student."""
    students = book.gradebook.students
    return {s.id: tuple(filter(None, (s.email, s.lms_user_id))) for s in students}
