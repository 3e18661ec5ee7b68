"""Build a lesson whose draw.py draws for each student, and a folder for each to be handed out.

What the grader needs of each lies in private/by_student (`grading/own_numbers/program.py`). Every
program that was drawn is tried: the lesson's solution has to win each race against it.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from proflab_course.build import draw
from proflab_course.build.trial import execute, solved_run
from proflab_course.collect.roster import Roster, is_student_id
from proflab_course.course.jobs import default_jobs
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_notebook
from proflab_course.grading.own_numbers.program import place_of, write_own
from proflab_course.grading.races import as_metadata


def students_of(course: Course, name: str, roster: Path) -> list[str]:
    """Return the ids of a class list, for a lesson that draws for each student.

    Raises CourseError for a lesson without a draw.py, and for an id that cannot be a folder.
    """
    if not (course.module(name).parent / draw.FILE).exists():
        raise CourseError(f"{name} draws nothing for a student: modules/{name} has no {draw.FILE}")
    students = [student.id for student in Roster.read(roster).students]
    if strange := [student for student in students if not is_student_id(student)]:
        raise CourseError(f"{roster}: {strange[0]!r} cannot be a student's id")
    return students


def write_students(course: Course, name: str, students: list[str], secret: bytes) -> None:
    """Write, for a lesson that has just been built, what each student gets and the grader needs.

    Raises CourseError where the lesson's solution does not win a race that was drawn.
    """
    place = course.module(name).parent
    found = {student: draw.drawn(place, secret, student) for student in students}
    races = _races_of(course, name, list(found.values()))
    for student, own in found.items():
        path = place_of(course.root, name, student)
        write_own(path, own.files, races[tuple(own.files.items())])
        given = path.parent / name
        shutil.rmtree(given, ignore_errors=True)
        shutil.copytree(course.root / "release" / name, given)
        draw.write(own, given)


def _races_of(course: Course, name: str, drawn: list[draw.Drawn]) -> dict[tuple, list[list[str]]]:
    """Return the given programs' tapes for each set of files, once each has been tried."""
    source = course.source(name)
    different = {tuple(each.files.items()): each for each in drawn}
    with tempfile.TemporaryDirectory() as scratch:
        runs = []
        for number, each in enumerate(different.values()):
            folder = Path(scratch) / str(number)
            shutil.copytree(source.parent, folder)
            draw.write(each, folder)
            lesson = read_notebook(source, name)
            draw.put_solutions(lesson, each)
            runs.append(solved_run(lesson, folder))
        done = list(execute(runs, default_jobs()))
    found = {}
    for key, run in zip(different, done, strict=True):
        graded = run.conclude()
        if graded.score != run.key.max_score:
            told = "; ".join(message for _, _, message in graded.errors) or "it earns less"
            raise CourseError(f"{name}: the solution does not win a race as drawn: {told}")
        found[key] = as_metadata(run.given)
    return found
