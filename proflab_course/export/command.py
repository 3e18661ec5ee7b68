"""`proflab export`: write grades into a platform's own file, or code for a similarity check."""

from __future__ import annotations

import argparse
from pathlib import Path

from proflab_course.course.files import replace_file
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.words import few
from proflab_course.export.platform_files import Points, fill
from proflab_course.export.student_code import write_code

PLATFORMS = ("canvas", "moodle", "brightspace")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("lesson", metavar="LESSON", help="01_parameters, or 01")
    what = parser.add_mutually_exclusive_group(required=True)
    for platform in PLATFORMS:
        help_ = f"the grade file that {platform.title()} has exported"
        what.add_argument(f"--{platform}", metavar="FILE", type=Path, help=help_)
    what.add_argument(
        "--code", metavar="DIR", type=Path, help="write one .py file for each student into DIR"
    )
    parser.add_argument(
        "--column", metavar="NAME", help="the lesson's column in the platform's file"
    )
    parser.add_argument(
        "--without-essay", action="store_true", help="write only the points for code"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the file to write (default: FILE_filled.csv)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Export; return 0, even if there are students without a grade."""
    course = Course.find()
    lesson = course.lesson(arguments.lesson, "source")
    if arguments.code:
        return _export_code(course, lesson, arguments.code)
    platform = next(name for name in PLATFORMS if getattr(arguments, name))
    path = getattr(arguments, platform)
    grades = _grades(course, lesson, arguments.without_essay)
    filled = fill(platform, path, grades, lesson, arguments.column)
    output = arguments.output or path.with_name(f"{path.stem}_filled.csv")
    if output.resolve() == path.resolve():
        raise CourseError(f"{output} is the platform's own file: choose another with -o")
    replace_file(output, filled.text.encode("utf-8"))
    print(f"{output}: {filled.filled} grades of {lesson}")
    if filled.unmarked:
        print("left blank because the essay has no mark yet (--without-essay leaves it out):")
        print("".join(f"  {student}\n" for student in filled.unmarked), end="")
    if filled.without:
        print("without a grade, left as they were:")
        print("".join(f"  {name}\n" for name in filled.without), end="")
    return 0


def _export_code(course: Course, lesson: str, target: Path) -> int:
    code = write_code(course, lesson, target)
    print(f"{target}: the code of {len(code.written)} students, one file each")
    for student, names in code.modules.items():
        print(f"  with modules of {student}'s own: {few(names)}")
    for student, reason in code.without.items():
        print(f"  no code of {student}: {reason}")
    return 0


def _grades(course: Course, lesson: str, without_essay: bool) -> dict[str, Points]:
    """Return each graded student's points after the penalty; None without a mark by hand."""
    from proflab_course.grading.points import total_points
    from proflab_course.grading.records.gradebook import Book

    if not course.gradebook.exists():
        raise CourseError(f"there is no {course.gradebook.name}: run `proflab grade {lesson}`")
    with Book(course.gradebook) as book:
        scores = book.scores(lesson)
        people = {s.id: (s.email or "", s.lms_user_id or "") for s in book.gradebook.students}
    if not scores:
        raise CourseError(f"nothing of {lesson} is graded: run `proflab grade {lesson}`")
    grades = {}
    for student, score in scores.items():
        unread = score["unread"] and not without_essay
        grade = None if unread else total_points(score, essay=not without_essay)
        grades[student] = Points(grade, tuple(filter(None, people.get(student, ()))))
    return grades
