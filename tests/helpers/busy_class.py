"""A class whose people do what the documents ask for between the commands that they print.

course = make_class(tmp_path)                # hand-ins that are not graded yet
for step in BEFORE.get(command, []): step(course)
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import nbformat
from archives import zipped
from inventory_class import hand_in

from proflab_classroom.inventory.answers import Half
from proflab_classroom.inventory.items import read_inventory
from proflab_course.course.csv_table import csv_text, read_csv
from proflab_course.course.layout import Course
from proflab_course.course.rubric import read_rubric

ROOT = Path(__file__).parents[2]
LESSONS = ("01_parameters", "03_latency", "05_profiler", "07_scaling")
STUDENTS = ("ann", "bob", "cyd", "dee", "eva")


# ── the class ────────────────────────────────────────────────────────────────────────────────


def solved(lesson: str, student: str) -> str:
    """Return a notebook as a student hands it in: code, an essay, an answer, minutes."""
    source, release = (
        nbformat.read(ROOT / room / lesson / f"{lesson}.ipynb", as_version=4)
        for room in ("source", "release")
    )
    solutions = {cell.id: cell.source for cell in source.cells}
    for cell in release.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade") and marks.get("solution"):
            cell.source = f"An essay by {student}." if student in ("ann", "bob") else cell.source
        elif marks.get("solution") and not marks["grade_id"].startswith("concept"):
            cell.source = solutions[cell.id]
        cell.source = re.sub(r"^(minutes_\d\d) = None", r"\1 = 100", cell.source, flags=re.M)
        cell.source = re.sub(r"^(concept_07_1) = None", r'\1 = "C"', cell.source, flags=re.M)
    return nbformat.writes(release)


def make_class(place: Path) -> Path:
    """Write a course with hand-ins, all of lesson 01 and of the others two students'."""
    course = place / "course"
    (course / "private").mkdir(parents=True)
    for name in ("nbgrader_config.py", "jupyter_config.py", "pyproject.toml"):
        shutil.copy(ROOT / name, course)
    for name in ("source", "release", "modules"):
        shutil.copytree(ROOT / name, course / name)
    for name in ("tests", "docs"):
        (course / name).symlink_to(ROOT / name)
    (course / "private/course.toml").write_text("[course]\nconcept_points = 1\n")
    for lesson in LESSONS:
        for student in STUDENTS if lesson == LESSONS[0] else STUDENTS[:2]:
            path = course / "submitted" / student / lesson / f"{lesson}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text(solved(lesson, student), encoding="utf-8")
    return course


# ── what people do before a command ──────────────────────────────────────────────────────────


def pack_archives(course: Path) -> None:
    """Moodle's archive of lesson 01, the class list, and the files that platforms export."""
    files = {
        f"{who.title()} {who[0].upper()}_{n}_assignsubmission_file_/01_parameters.ipynb": (
            course / f"submitted/{who}/01_parameters/01_parameters.ipynb"
        ).read_bytes()
        for n, who in enumerate(STUDENTS, start=1)
    }
    (course.parent / "Downloads").mkdir()
    archive = zipped(files, at=(2026, 11, 20, 18, 0, 0), days_apart=1)
    (course.parent / "Downloads/lesson-01.zip").write_bytes(archive)
    people = [[who, who.title(), who[0].upper(), f"{who}@x.org"] for who in STUDENTS]
    table = csv_text([["student_id", "first_name", "last_name", "email"], *people])
    for name in ("class.csv", "roster.csv", "students.csv"):
        (course / name).write_text(table)


CANVAS = ["Lesson 01 (1)", "Lesson 05 (2)", "Viva 05 (3)", "Term (4)", "07 concepts (5)", "07 (6)"]


def canvas(name: str):
    """Return a step that writes Canvas's export."""
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *CANVAS]]
    rows += [[who, n, f"S{n}", who, "A", *[""] * 6] for n, who in enumerate(STUDENTS, start=1)]
    return lambda course: (course / name).write_text(csv_text(rows, line_end="\n"))


def brightspace(course: Path) -> None:
    head = "OrgDefinedId,Username,Lesson 01 Points Grade <Numeric MaxPoints:110>"
    rows = [f"#{n},#{who},,#" for n, who in enumerate(STUDENTS, start=1)]
    (course / "grades.csv").write_text("\n".join([f"{head},End-of-Line Indicator", *rows, ""]))


def moodle(course: Path) -> None:
    head = "Identifier,Full name,Username,Grade,Maximum Grade,Feedback comments"
    rows = [
        f"Participant {n},{who.title()} {who[0].upper()},{who},,110.00,= ok"
        for n, who in enumerate(STUDENTS)
    ]
    (course / "worksheet.csv").write_text("\n".join([head, *rows, ""]))


def repository(course: Path) -> None:
    for words in (["init", "--quiet"], ["add", "modules"]):
        subprocess.run(["git", *words], cwd=course, check=True)


def pack_inventory(course: Path) -> None:
    """Five who agree have taken form 1 before the course."""
    items, files = read_inventory(Course(course)), {}
    for student in STUDENTS:
        half = Half(student, "before", 1, True, {each.id: each.key for each in items}, {})
        path = hand_in(course, items, half, "handed_in")
        files[str(path.relative_to(course / "handed_in"))] = path.read_bytes()
    (course / "inventory.zip").write_bytes(zipped(files))


def guess(course: Path) -> None:
    (course / "votes.csv").write_text("question,guess,count\nguess_half_batch,2,30\n")


def vote(course: Path) -> None:
    (course / "votes.csv").write_text("question,round,A,B,C,D\n07_1,1,3,4,5,6\n07_1,2,1,1,15,1\n")


def mark(course: Path) -> None:
    """Both mark the two answers as the scheme does, and give each essay two points."""
    rubric = read_rubric(Course(course), LESSONS[-1])
    for name in ("anna", "ben"):
        path = course / f"essays/{LESSONS[-1]}/{name}.csv"
        header, *rows = read_csv(path).rows
        for row in rows:
            earned = rubric.anchor_marks.get(row[0], {1, 2})
            for place, title in enumerate(header):
                if title[:1].isdigit():
                    row[place] = int(int(title.split(":")[0]) in earned)
        path.write_text(csv_text([header, *rows]), encoding="utf-8")


def viva(course: Path) -> None:
    (course / "viva.csv").write_text("student,q1,q2,q3,q4\nann,1,1,1,0\nbob,1,0,1,0\n")


def asked(who: str) -> str:
    return csv_text(
        [
            ["student", "lesson", "exercise", "question"],
            [who, "01", "linear_parameters", f"Why of {who}?"],
        ]
    )


def ask(course: Path) -> None:
    (course / "submitted/ann/01_parameters/questions-01.csv").write_text(asked("ann"))
    (course / "questions.zip").write_bytes(zipped({"bob/questions-01.csv": asked("bob")}))
    (course / "class.csv").write_text(asked("cyd"))


def answer(course: Path) -> None:
    for path in (course / "regrades").glob("*.csv"):
        header, *rows = read_csv(path).rows
        answers = [[*row[:-1], f"Because of {row[1]}."] for row in rows]
        path.write_text(csv_text([header, *answers]), encoding="utf-8")


BEFORE = {
    "proflab collect ~/Downloads/lesson-01.zip 01 --roster class.csv --timezone Europe/Zurich": [
        pack_archives
    ],
    "git apply minutes.patch": [repository],
    "proflab report 07 --votes votes.csv": [guess, vote],
    "proflab essays 07": [mark],
    "proflab export 07 --concepts --canvas FILE": [canvas("FILE")],
    "proflab collect inventory.zip 00_inventory --roster students.csv": [pack_inventory],
    "proflab viva 05 --marks viva.csv": [viva],
    'proflab export 05 --canvas grades.csv --viva --column "Viva 05"': [canvas("grades.csv")],
    "proflab regrade collect": [ask],
    "proflab regrade answer": [answer],
    "proflab export 01 --canvas grades.csv": [canvas("grades.csv")],
    "proflab export 01 --moodle worksheet.csv": [moodle],
    "proflab export 01 --brightspace grades.csv": [brightspace],
    "proflab export term --percent --canvas grades.csv": [canvas("grades.csv")],
}
