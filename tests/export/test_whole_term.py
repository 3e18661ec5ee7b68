"""A term of two lessons and twelve students: from platforms' archives to platforms' grade files."""

from __future__ import annotations

import contextlib
import csv
import html
import io
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest
from grading_course import cell, command, warm_runner
from mini_course import make_course

from proflab.lesson.guesses import MIME
from proflab_course import cli
from proflab_course.build.command import build
from proflab_course.course.layout import Course
from proflab_course.grading.command import grade_class
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.table import ResultRow
from proflab_course.report.term_page import read_term

FIRST, SECOND = "01_first", "02_second"
NAMES = {
    "s01": ("Jörg", "Müller"), "s02": ("Siobhán", "O'Brien"), "s03": ("小明", "王"),
    "s04": ("Ann", "Lee"), "s05": ("Bo", "Chen"), "s06": ("Anna", "Schmidt"),
    "s07": ("Anna", "Schmidt"), "s08": ("Lars", "van der Berg"), "s09": ("Nia", "Adé"),
    "s10": ("Max", "Roth"), "s11": ("Ida", "Holm"), "s12": ("José", "Ruiz"),
}  # fmt: skip
AREA = """def area(width, height):
    if min(width, height) < 0:
        raise ValueError("a side is negative")
    return width * height"""
CIRCLE = "def circle(radius):\n    return math.pi * radius**2"
ROPE = "def circle(radius):\n    return 3 * math.pi * radius"
VOLUME = "def volume(width, height, depth):\n    return width * height * depth"
FLAT = "def volume(width, height, depth):\n    return width * height"
PENALTY = """
c.AssignLatePenalties.plugin_class = "proflab_course.grading.records.lateness.PenaltyPerDay"
c.PenaltyPerDay.per_day = 0.1
"""
# Zurich's clock, as Moodle's worksheet writes it; the files have the time of the download.
EARLY = "Saturday, 31 October 2026, 12:00 PM"
IN_TIME, LATE = "Sunday, 1 November 2026, 5:30 PM", "Tuesday, 3 November 2026, 9:00 AM"
DOWNLOAD = (2026, 11, 4, 8, 0, 0)
# Lesson 1 as points for code, essay's mark and penalty; then what the platform gets.
GRADES_1 = {
    "s01": "108", "s02": "", "s03": "100", "s04": "", "s05": "", "s06": "100", "s07": "60",
    "s08": "80", "s09": "100", "s10": "80", "s11": "100", "s12": "0",
}  # fmt: skip
GRADES_2 = dict.fromkeys(NAMES, "100") | {"s03": "", "s06": "0", "s09": "", "s10": "0"}


@dataclass
class Played:
    """What the term left behind: the course, what each command printed, and its exit status."""

    course: Course
    said: dict[str, str] = field(default_factory=dict)
    status: dict[str, int] = field(default_factory=dict)
    rows: dict[str, dict[str, ResultRow]] = field(default_factory=dict)

    def run(self, step: str, *words: object) -> None:
        """Run one command as in the course's folder."""
        out = io.StringIO()
        with contextlib.chdir(self.course.root), contextlib.redirect_stdout(out):
            self.status[step] = cli.main([str(word) for word in words])
        self.said[step] = out.getvalue()

    def grade(self, lesson: str) -> None:
        """Grade a lesson; the rows are those of the last time."""
        rows = grade_class(self.course, lesson, warm_runner(), progress=False)
        self.rows[lesson] = {row.student: row for row in rows}


def work(course: Course, lesson: str, guess: float | None = None, **cells: str) -> bytes:
    """The released notebook with these cells written, and with a guess that was compared."""
    notebook = nbformat.read(course.release(lesson), as_version=4)
    for name, text in cells.items():
        cell(notebook, name).source = text
    if guess is not None:
        data = {"what": "the field", "guess": guess, "answer": 10_800, "unit": "m²"}
        output = nbformat.v4.new_output("display_data", {MIME: data, "text/plain": ""})
        cell(notebook, "first_guess").outputs = [output]
    return nbformat.writes(notebook).encode()


def packed(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, DOWNLOAD), content)
    return data.getvalue()


def moodle_archives(course: Course) -> tuple[bytes, bytes]:
    """Lesson 1 a day before it is due, with one hand-in, and at the end."""
    full = work(course, FIRST, area=AREA, circle=CIRCLE)
    essay = work(course, FIRST, 9_000, area=AREA, circle=CIRCLE, essay_area="A rope is short.")

    def place(student: str, name: str = f"{FIRST}.ipynb") -> str:
        number = 4700 + int(student[1:])
        return f"{' '.join(NAMES[student])}_{number}_assignsubmission_file/{name}"

    early = {place("s11"): work(course, FIRST)}
    files = {
        place("s01"): essay,
        place("s02", "my work (1).ipynb"): essay,
        place("s03", "homework.zip"): packed({"inner.zip": packed({f"deep/{FIRST}.ipynb": full})}),
        place("s04", "areas.pdf"): b"%PDF-1.7",
        place("s06"): full,
        place("s07"): work(course, FIRST, area=AREA),
        place("s08"): full,
        place("s09"): full,
        place("s10"): work(course, FIRST, area=AREA, circle=ROPE),
        place("s11"): full,
        place("s12"): work(course, FIRST),
    }
    return packed(early), packed(files)


def worksheet(times: dict[str, str]) -> bytes:
    """Moodle's worksheet; who is not in `times` has handed in nothing."""
    columns = "Identifier,Full name,ID number,Email address,Grade,Maximum Grade"
    lines = (
        f"Participant {4700 + int(s[1:])},{first} {last},{s},{s}@example.org,,110.00,"
        f'"{times.get(s, "-")}"\r\n'
        for s, (first, last) in NAMES.items()
    )
    text = f"{columns},Last modified (submission)\r\n{''.join(lines)}"
    return text.encode("utf-8-sig")


def canvas_archive(course: Course) -> bytes:
    full = work(course, SECOND, volume=VOLUME)

    def name(student: str, file: str = f"{SECOND}.ipynb", late: str = "", at: int = 0) -> str:
        first, last = NAMES[student]
        who = re.sub(r"[^\w]", "", f"{last}{first}").lower()
        number = int(student[1:])
        return f"{who}_{late}{100 + number}_{9000 + number + at}_{file}"

    files = {name(student): full for student in NAMES if student not in ("s08", "s09", "s12")}
    files |= {
        name("s03"): work(course, SECOND, volume=VOLUME, essay_volume="A measure."),
        name("s06"): work(course, SECOND),
        name("s08", late="LATE_"): full,
        name("s10"): work(course, SECOND, volume=FLAT),
        name("s11"): work(course, SECOND, volume=FLAT),
        name("s11", f"{SECOND}-1.ipynb", at=50): full,
        name("s12", "Untitled.ipynb"): full,
    }
    return packed(files)


def canvas_gradebook() -> str:
    head = "Student,ID,SIS User ID,SIS Login ID,Section,Quiz (3),01 First (4),02 Second (5)\n"
    lines = (
        f'"{last}, {first}",{100 + int(s[1:])},,{s},A,5,,\n' for s, (first, last) in NAMES.items()
    )
    end = '"Student, Test",199,,f00,A,,,\n'
    return f"{head}    Points Possible,,,,,10,110,110\n{''.join(lines)}{end}"


def brightspace_gradebook() -> str:
    head = "OrgDefinedId,Username,Last Name,First Name,02 Second Points Grade <MaxPoints:110>,"
    lines = (f"#1{s[1:]},#{s},{last},{first},,#\n" for s, (first, last) in NAMES.items())
    return f"{head}End-of-Line Indicator\n{''.join(lines)}"


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """The whole term, as an instructor does it; the tests look at what it left."""
    root = tmp_path_factory.mktemp("term")
    course = make_course(root / "course")
    config = course.root / "jupyter_config.py"
    config.write_text(config.read_text() + PENALTY)
    build(course, audit="static")
    (course.root / "extensions.csv").write_text(f"student,lesson,due,days\ns09,{FIRST},,3\n")
    early, at_the_end = moodle_archives(course)
    files = {
        "early.zip": early,
        "first.zip": at_the_end,
        "second.zip": canvas_archive(course),
        "early.csv": worksheet({"s11": EARLY}),
        "first.csv": worksheet(dict.fromkeys(NAMES, IN_TIME) | {"s08": LATE, "s09": LATE}),
        "canvas.csv": canvas_gradebook().encode(),
        "brightspace.csv": brightspace_gradebook().encode(),
    }
    for name, data in files.items():
        (root / name).write_bytes(data)
    played = Played(course)
    zone = ["--timezone", "Europe/Zurich"]
    for step in ("early", "first"):
        played.run(
            step, "collect", root / f"{step}.zip", "01", "--roster", root / f"{step}.csv", *zone
        )
    with Book(course.gradebook) as book, book.transaction() as gradebook:
        gradebook.update_or_create_assignment(FIRST, duedate="2026-11-01 17:00:00 UTC")
    played.grade(FIRST)
    with Book(course.gradebook) as book, book.transaction() as gradebook:
        mark = gradebook.find_grade("essay_area", FIRST, FIRST, "s01")
        mark.manual_score, mark.needs_manual_grade = 8, False  # as formgrader does
    played.run("second", "collect", root / "second.zip", "02", "--roster", root / "canvas.csv")
    played.grade(SECOND)
    for step in (("report", "01"), ("report", "02"), ("report",)):
        played.run(" ".join(step), *step)
    played.run("moodle", "export", "01", "--moodle", root / "first.csv")
    played.run("canvas 1", "export", "01", "--canvas", root / "canvas.csv", "-o", root / "c1.csv")
    played.run("canvas 2", "export", "02", "--canvas", root / "canvas.csv", "-o", root / "c2.csv")
    played.run("brightspace", "export", "02", "--brightspace", root / "brightspace.csv")
    return played


def handed_in(course: Course, lesson: str) -> set[str]:
    return {path.parent.name for path in (course.root / "submitted").glob(f"*/{lesson}")}


@pytest.mark.proves
def test_lesson_1_is_collected_from_moodle(term):
    said = term.said["first"]
    assert term.status == {**term.status, "early": 0, "first": 1}
    assert handed_in(term.course, FIRST) == set(NAMES) - {"s04", "s05"}
    assert "areas.pdf (there is no notebook, but areas.pdf; areas.pdf is a PDF: " in said
    assert "  s04  Ann Lee\n  s05  Bo Chen\n" in said.partition("without a hand-in")[2]
    assert f"my work (1).ipynb was stored as {FIRST}.ipynb" in said
    assert "the attempt of 2026-10-31 11:00:00 UTC is now in downloaded/" in said
    stamps = {
        s: (term.course.root / "submitted" / s / FIRST / "timestamp.txt").read_text()
        for s in ("s01", "s08")
    }
    assert stamps == {"s01": "2026-11-01 16:30:00 UTC\n", "s08": "2026-11-03 08:00:00 UTC\n"}


def test_lesson_2_is_collected_from_canvas(term):
    said = term.said["second"]
    assert term.status["second"] == 0
    assert handed_in(term.course, SECOND) == set(NAMES) - {"s09"}
    assert "  s09  Nia Adé\n" in said.partition("without a hand-in")[2]
    assert re.search(r"s08 +taken +Lars van der Berg  marked late by Canvas", said)
    assert f"holmida_111_9011_{SECOND}.ipynb is an earlier attempt" in said
    assert f"Untitled.ipynb was stored as {SECOND}.ipynb" in said


def test_the_points_of_lesson_1(term):
    rows = term.rows[FIRST]
    code = {s: (rows[s].score, rows[s].penalty) for s in handed_in(term.course, FIRST)}
    assert code == {
        "s01": (100, 0), "s02": (100, 0), "s03": (100, 0), "s06": (100, 0), "s07": (60, 0),
        "s08": (100, 20), "s09": (100, 0), "s10": (80, 0), "s11": (100, 0), "s12": (0, 0),
    }  # fmt: skip
    assert {s for s, row in rows.items() if row.status not in ("graded", "missing")} <= {"s03"}


def test_names_are_those_of_the_class_list(term):
    with Book(term.course.gradebook) as book:
        found = {s.id: (s.first_name, s.last_name) for s in book.gradebook.students}
        emails = {s.email for s in book.gradebook.students}
    assert {s: " ".join(names) for s, names in found.items()} == {
        s: " ".join(names) for s, names in NAMES.items()
    }
    assert emails == {f"{student}@example.org" for student in NAMES}


def text_of(page: Path) -> str:
    text = re.sub(r"<style.*?</style>", "", page.read_text("utf-8"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text)))


def test_the_report_of_a_lesson(term):
    text = text_of(term.course.root / "reports" / f"{FIRST}.html")
    assert "10 handed in" in text
    assert "known, but nothing handed in 2" in text and "Ann Lee (s04), Bo Chen (s05)" in text
    assert "1 essay waits for a mark: Siobhán O'Brien (s02)" in text
    assert "late, −20" in text and "essay 8" in text
    assert "the field 2 of 2" in text and "circle" in text


def test_the_page_about_the_term(term):
    found = read_term(term.course)
    points = {s.name: s.points for s in found.students}
    expected = {
        student: [
            None if student not in handed_in(term.course, lesson) else float(grades[student] or 100)
            for lesson, grades in ((FIRST, GRADES_1), (SECOND, GRADES_2))
        ]
        for student in NAMES
    }
    assert points == expected
    assert found.waiting == [(FIRST, "s02"), (SECOND, "s03")]
    # Of those who wrote the exercise: one of nine wrong at circle, one of ten at volume.
    assert [(e.lesson, e.name) for e in found.hardest] == [(FIRST, "circle"), (SECOND, "volume")]
    (guesses,) = found.guesses
    assert (guesses.lesson, guesses.count) == (FIRST, 2) and guesses.factor == pytest.approx(1.2)
    text = text_of(term.course.root / "reports" / "term.html")
    assert "(s01) 108 100 208" in text and "(s05) – 100 100" in text and "(s09) 100 – 100" in text
    assert f"{FIRST}: 1 essay waits for a mark: Siobhán O'Brien (s02)" in text


def test_feedback_says_what_counted(term):
    course = term.course
    done = command(course, "nbgrader", "generate_feedback", FIRST, "--student", "s08")
    assert done.returncode == 0, done.stderr
    (page,) = (course.root / "feedback").glob("*/*/*.html")
    assert page.parts[-3:] == ("s08", FIRST, f"{FIRST}.html")
    text = text_of(page)
    assert "80 of 110 points. A late hand-in cost 20 of them." in text
    assert "a long thin one" in text and "15_838" not in page.read_text()  # of a hidden case


def column(path: Path, who: str, points: str) -> dict[str, str]:
    """A file's grades by student, as its platform would read them back."""
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"), newline="")))
    return {row[who].lstrip("#"): row[points] for row in rows if row[who] and row[who] != "f00"}


@pytest.mark.parametrize(
    ("step", "file", "who", "points", "grades"),
    [
        ("moodle", "first_filled.csv", "ID number", "Grade", GRADES_1),
        ("canvas 1", "c1.csv", "SIS Login ID", "01 First (4)", GRADES_1),
        ("canvas 2", "c2.csv", "SIS Login ID", "02 Second (5)", GRADES_2),
        (
            "brightspace",
            "brightspace_filled.csv",
            "Username",
            "02 Second Points Grade <MaxPoints:110>",
            GRADES_2,
        ),
    ],
)
def test_grades_go_back(term, step, file, who, points, grades):
    assert term.status[step] == 0, term.said[step]
    assert column(term.course.root.parent / file, who, points) == grades
    unread = "s02" if grades is GRADES_1 else "s03"
    assert f"  {unread}\n" in term.said[step].partition("has no mark yet")[2]


def test_the_quiz_of_another_teacher_is_not_touched(term):
    for name in ("c1.csv", "c2.csv"):
        assert "Quiz" not in (term.course.root.parent / name).read_text()


def test_all_of_it_again_changes_nothing(term):
    root = term.course.root.parent
    before = {p: p.read_bytes() for p in (term.course.root / "submitted").rglob("*") if p.is_file()}
    term.run("again", "collect", root / "second.zip", "02", "--roster", root / "canvas.csv")
    assert "11 unchanged" in term.said["again"]
    term.grade(SECOND)
    assert not any(row.fresh for row in term.rows[SECOND].values())
    after = {p: p.read_bytes() for p in (term.course.root / "submitted").rglob("*") if p.is_file()}
    assert after == before


def test_a_mark_that_is_given_later_reaches_the_platform(term, tmp_path):
    with Book(term.course.gradebook) as book, book.transaction() as gradebook:
        gradebook.find_grade("essay_volume", SECOND, SECOND, "s03").manual_score = 6
    output = tmp_path / "again.csv"
    term.run(
        "later", "export", "02", "--canvas", term.course.root.parent / "canvas.csv", "-o", output
    )
    found = column(output, "SIS Login ID", "02 Second (5)")
    assert found == GRADES_2 | {"s03": "106"}
    assert "has no mark yet" not in term.said["later"]
