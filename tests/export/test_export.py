"""Grades into the files that platforms have exported, and students' code for a comparison."""

import ast
import csv
import io
import re
import zipfile

import nbformat
import pytest
from grading_course import LESSON, copy_course, grade

from proflab_course import cli
from proflab_course.export.columns import Wanted
from proflab_course.export.platform_files import Points, fill
from proflab_course.grading.records.gradebook import Book

STUDENTS = ["complete", "half_done", "empty", "not_json", "lost_metadata"]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A course in which five were graded, and one essay has a mark."""
    place = tmp_path_factory.mktemp("course")
    course = copy_course(place, STUDENTS)
    grade(course)
    with Book(course.gradebook) as book:
        essays = book.scores(LESSON)
        assert essays["complete"]["unread"] and not essays["empty"]["unread"]
        with book.transaction() as gradebook:
            gradebook.update_or_create_student("half_done", email="half@example.org")
            gradebook.update_or_create_student("empty", lms_user_id="4713")
            notebook = gradebook.find_submission_notebook(LESSON, LESSON, "complete")
            essay = next(g for g in notebook.grades if g.cell_type != "code")
            essay.manual_score = 7.25
    return course


def export(course, monkeypatch, *arguments):
    monkeypatch.chdir(course.root)
    return cli.main(["export", "01", *map(str, arguments)])


def rows(path):
    return list(csv.reader(io.StringIO(path.read_text("utf-8"))))


CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Other (1),01 Parameters (55),Final (read only)\n"
    "    Points Possible,,,,,10,110,\n"
    '"Complete, C",101,S1,complete,A,3,,\n'
    '"=HYPERLINK(""http://x"")",102,S2,HALF_DONE,A,4,,\n'
    '"Empty, E",103,S3,empty,A,,,\n'
    '"Json, N",104,S4,not_json,A,,,\n'
    '"Lost, L",105,S5,lost_metadata,A,,12,\n'
    '"Nobody, N",106,S6,nobody,A,,5,\n'
)


def test_canvas(graded, monkeypatch, tmp_path, capsys):
    (tmp_path / "grades.csv").write_text(CANVAS)
    assert export(graded, monkeypatch, "--canvas", tmp_path / "grades.csv") == 0
    out = capsys.readouterr().out
    assert (tmp_path / "grades.csv").read_text() == CANVAS
    table = rows(tmp_path / "grades_filled.csv")
    assert table[0] == [
        "Student",
        "ID",
        "SIS User ID",
        "SIS Login ID",
        "Section",
        "01 Parameters (55)",
    ]
    grades = {row[3]: row[5] for row in table[2:]}
    assert grades["complete"] == "107.25" and grades["empty"] == "0"
    # An essay that nobody has read is not worth 0: what is there stays.
    assert grades["lost_metadata"] == "12"
    assert "lost_metadata" in out.partition("has no mark yet")[2]
    assert 0 < float(grades["HALF_DONE"]) < 100
    assert grades["nobody"] == "5" and "Nobody, N" in out.partition("without a grade")[2]
    assert table[3][0] == '\'=HYPERLINK("http://x")'


def test_points_for_code_alone(graded, monkeypatch, tmp_path):
    (tmp_path / "grades.csv").write_text(CANVAS)
    options = ["--without-essay", "-o", tmp_path / "code.csv"]
    assert export(graded, monkeypatch, "--canvas", tmp_path / "grades.csv", *options) == 0
    grades = {row[3]: row[5] for row in rows(tmp_path / "code.csv")[2:]}
    assert grades["complete"] == "100" and 0 < float(grades["HALF_DONE"]) < 100


MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Feedback comments\n"
    "Participant 4711,C,complete,Submitted,,110.00,\n"
    "Participant 4712,H,half@example.org,Submitted,,110.00,\n"
    "Participant 4713,E,x@example.org,Submitted,,110.00,\n"
    "Participant 4714,N,not_json,Submitted,,110.00,\n"
    "Participant 4715,L,lost_metadata,Submitted,,110.00,-\n"
)


def test_moodle(graded, monkeypatch, tmp_path):
    full = MOODLE.replace("complete,Submitted,,110.00", "complete,Submitted,,100.00")
    full = full.replace("not_json,Submitted,,110.00,", "not_json,Submitted")  # as spreadsheets save
    (tmp_path / "sheet.csv").write_text(full, "utf-8-sig")
    assert export(graded, monkeypatch, "--moodle", tmp_path / "sheet.csv", "--without-essay") == 0
    table = rows(tmp_path / "sheet_filled.csv")
    assert table[0] == MOODLE.splitlines()[0].split(",")
    assert [row[4] for row in table[1:4]] == ["100", table[2][4], "0"]
    assert float(table[2][4]) > 0


def test_of_two_students_with_one_name_neither_has_a_grade_by_it(graded, monkeypatch, tmp_path):
    lines = MOODLE.splitlines()[:2] + [
        "Participant 5001,empty,one@example.org,Submitted,,110.00,",
        "Participant 5002,Empty,two@example.org,Submitted,,110.00,",
        "Participant 5003,not_json,three@example.org,Submitted,,110.00,",
    ]
    (tmp_path / "sheet.csv").write_text("\n".join(lines) + "\n", "utf-8-sig")
    assert export(graded, monkeypatch, "--moodle", tmp_path / "sheet.csv", "--without-essay") == 0
    grades = [row[4] for row in rows(tmp_path / "sheet_filled.csv")[1:]]
    assert grades == ["100", "", "", "0"]


BRIGHTSPACE = (
    "OrgDefinedId,Username,Last Name,First Name,Email,"
    "Parameters Points Grade <Numeric MaxPoints:110 Weight:10>,End-of-Line Indicator\n"
    "#1,#complete,C,C,c@x,,#\n#2,#half_done,H,H,h@x,,#\n#3,#empty,E,E,e@x,,#\n"
    "#4,#not_json,N,N,n@x,,#\n#5,#lost_metadata,L,L,l@x,,#\n"
)


def test_brightspace(graded, monkeypatch, tmp_path):
    (tmp_path / "grades.csv").write_text(BRIGHTSPACE)
    options = ["--column", "Parameters", "--without-essay"]
    assert export(graded, monkeypatch, "--brightspace", tmp_path / "grades.csv", *options) == 0
    table = rows(tmp_path / "grades_filled.csv")
    assert table[1] == ["#1", "#complete", "C", "C", "c@x", "100", "#"]


GERMAN = (
    'ID,"Vollständiger Name",E-Mail-Adresse,Status,Bewertung,Bestwertung,"Feedback als Kommentar"\n'
)
FRENCH = 'Identifiant,"Nom complet","Adresse de courriel",Statut,Note,"Note maximale",Feedback\n'


@pytest.mark.parametrize(
    ("header", "participant"), [(GERMAN, "Teilnehmer/in"), (FRENCH, "Participant")]
)
def test_moodle_in_another_language(graded, monkeypatch, tmp_path, capsys, header, participant):
    lines = MOODLE.replace("110.00", '"110,00"').replace("Participant ", participant).splitlines()
    text = header + "\n".join(lines[1:]) + "\n"
    (tmp_path / "sheet.csv").write_text(text, "utf-8-sig")
    assert export(graded, monkeypatch, "--moodle", tmp_path / "sheet.csv", "--without-essay") == 0
    table = rows(tmp_path / "sheet_filled.csv")
    assert table[0] == next(csv.reader([header]))
    assert [row[4] for row in table[1:4]] == ["100", table[2][4], "0"]
    (tmp_path / "sheet.csv").write_text(text.replace("110,00", "10,00"))
    assert export(graded, monkeypatch, "--moodle", tmp_path / "sheet.csv") == 2
    assert "complete has 107.25 points" in capsys.readouterr().err


def test_moodle_in_a_language_that_is_not_known(graded, monkeypatch, tmp_path, capsys):
    text = "Id,Naam,Cijfer\nDeelnemer4711,C,\nDeelnemer4712,H,\n"
    (tmp_path / "sheet.csv").write_text(text)
    assert export(graded, monkeypatch, "--moodle", tmp_path / "sheet.csv") == 2
    assert "change Moodle's language to English and download it again" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["Lesson 01 (55501)", "lesson 1 (7)", "Lesson 01: sizes (3)"])
def test_canvas_names_its_assignments_with_a_number(graded, monkeypatch, tmp_path, column):
    text = CANVAS.replace("Other (1)", "Quiz 1 (01)").replace("01 Parameters (55)", column)
    (tmp_path / "grades.csv").write_text(text)
    assert export(graded, monkeypatch, "--canvas", tmp_path / "grades.csv") == 0
    assert rows(tmp_path / "grades_filled.csv")[0][-1] == column


def test_a_number_in_brackets_is_no_lesson(graded, monkeypatch, tmp_path, capsys):
    """And what Canvas does not take back is not offered: its sums, and columns without a number."""
    text = CANVAS.replace("01 Parameters (55)", "Quiz (01)").replace(
        "Final (read only)", "Current Score"
    )
    (tmp_path / "grades.csv").write_text(text)
    assert export(graded, monkeypatch, "--canvas", tmp_path / "grades.csv") == 2
    assert "choose one with --column ('Other (1)', 'Quiz (01)')" in capsys.readouterr().err
    sums = text.replace("10,110,", "10,110,(read only)").replace("Current Score", "Sum (9)")
    (tmp_path / "grades.csv").write_text(sums)
    assert export(graded, monkeypatch, "--canvas", tmp_path / "grades.csv", "--column", "Sum") == 2
    assert "no column for Sum" in capsys.readouterr().err


def test_at_most_ten_names_in_a_sentence(graded, monkeypatch, tmp_path, capsys):
    names = ",".join(f"Lab {n} ({n})" for n in range(1, 40))
    header = f"Student,ID,SIS User ID,SIS Login ID,Section,{names}\n"
    (tmp_path / "grades.csv").write_text(header)
    assert export(graded, monkeypatch, "--canvas", tmp_path / "grades.csv") == 2
    said = capsys.readouterr().err
    assert "'Lab 10 (10)' and 29 more" in said and "Lab 11" not in said


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            re.sub("(complete|HALF_DONE|empty|not_json|lost_metadata),A", "other,A", CANVAS),
            [],
            "has no line for complete, empty, half_done, lost_metadata, not_json: export it again",
        ),
        (CANVAS.replace("01 Parameters", "Lesson one"), [], "no column for 01_parameters"),
        (CANVAS, ["--column", "other lab"], "no column for other lab: choose one with --column ("),
        (CANVAS, ["--column", "er"], "several columns for er: choose one with --column"),
        ("a,b\n1,2\n", [], "is not a grade file of Canvas: it lacks Student and ID"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    graded, monkeypatch, tmp_path, capsys, text, options, said
):
    (tmp_path / "grades.csv").write_text(text)
    assert export(graded, monkeypatch, "--canvas", tmp_path / "grades.csv", *options) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["grades.csv"]


def test_a_student_who_left_the_course_is_named_and_holds_nobody_up(
    graded, monkeypatch, tmp_path, capsys
):
    (tmp_path / "grades.csv").write_text(CANVAS.replace("lost_metadata", "other"))
    assert export(graded, monkeypatch, "--canvas", tmp_path / "grades.csv") == 0
    said = capsys.readouterr().out
    assert "without a line in grades.csv (have they left the course?):\n  lost_metadata\n" in said
    grades = {row[3]: row[5] for row in rows(tmp_path / "grades_filled.csv")}
    assert grades["complete"] == "107.25" and grades["other"] == "12"


def test_the_courses_id_goes_before_a_platforms_number(tmp_path):
    head = "Student,ID,SIS User ID,SIS Login ID,Section,01 Parameters (55)\n"
    (tmp_path / "grades.csv").write_text(head + '"Lee, Ann",9,,7,A,\n"Chen, Bo",7,,bo,A,\n')
    grades = {"bo": Points(2.0, ("7",)), "7": Points(1.0)}
    filled = fill("canvas", tmp_path / "grades.csv", grades, Wanted(LESSON), None)
    assert [line[-1] for line in filled.text.splitlines()[1:]] == ["1", "2"]


def test_a_grade_above_the_platforms_maximum_is_refused(graded, monkeypatch, tmp_path, capsys):
    (tmp_path / "sheet.csv").write_text(MOODLE.replace("110.00", "10.00"))
    assert export(graded, monkeypatch, "--moodle", tmp_path / "sheet.csv") == 2
    assert "complete has 107.25 points" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["01 --canvas grades.csv", "term --csv term.csv"])
def test_before_anything_is_graded_it_says_so(tmp_path, monkeypatch, capsys, words):
    course = copy_course(tmp_path, [])
    (tmp_path / "grades.csv").write_text(CANVAS)
    course.gradebook.unlink()
    monkeypatch.chdir(course.root)
    assert cli.main(["export", *words.split()]) == 2
    assert "nothing is graded yet: run `proflab grade " in capsys.readouterr().err


def test_a_platforms_file_is_not_overwritten(graded, monkeypatch, tmp_path, capsys):
    (tmp_path / "grades.csv").write_text(CANVAS)
    options = ["--canvas", tmp_path / "grades.csv", "-o", tmp_path / "grades.csv"]
    assert export(graded, monkeypatch, *options) == 2
    assert "is the platform's own file" in capsys.readouterr().err


def test_code_for_a_comparison(graded, monkeypatch, tmp_path, capsys):
    notebook = graded.root / "submitted" / "half_done" / LESSON / f"{LESSON}.ipynb"
    before = notebook.read_text()
    node = nbformat.reads(before, as_version=4)
    extra = ["%timeit 1\n!pip list\nmine = 42", "this is (no Python"]
    node.cells += map(nbformat.v4.new_code_cell, extra)
    nbformat.write(node, notebook)
    try:
        assert export(graded, monkeypatch, "--code", tmp_path / "code") == 0
    finally:
        notebook.write_text(before)
    out = capsys.readouterr().out
    files = {path.stem: path.read_text() for path in (tmp_path / "code").iterdir()}
    assert set(files) == {"complete", "half_done", "lost_metadata"}
    for text in files.values():
        ast.parse(text)
        assert "def linear_parameters" in text
        assert "expect(" not in text and "import" not in text.partition("def ")[0]
    assert "# %timeit 1\n# !pip list\nmine = 42" in files["half_done"]
    assert "# this is (no Python" in files["half_done"]
    assert files["half_done"].count("NotImplementedError") == 0
    assert "no code of empty: nothing is written in it" in out and "no code of not_json" in out


HELPER = "def trick():\n    return 7\n"


@pytest.mark.parametrize("packed", [False, True])
def test_modules_of_ones_own_are_code_too(graded, monkeypatch, tmp_path, capsys, packed):
    """A copy of the solutions under another name; what grading leaves out is left out here, too."""
    folder = graded.root / "submitted" / "half_done" / LESSON
    notebook = folder / f"{LESSON}.ipynb"
    before = notebook.read_bytes()
    files = {
        "helper.py": HELPER,
        "deep/more.py": "x = (\n",
        "built.py": "y = 1",
        "mine.py": "z = 1",
    }
    if packed:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr(notebook.name, before)
            for name, text in files.items():
                archive.writestr(name, text)
        notebook.unlink()
        (folder / "all.zip").write_bytes(data.getvalue())
    else:
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
    try:
        assert export(graded, monkeypatch, "--code", tmp_path / "code") == 0
    finally:
        (folder / "all.zip").unlink(missing_ok=True)
        for name in files:
            (folder / name).unlink(missing_ok=True)
        notebook.write_bytes(before)
    text = (tmp_path / "code" / "half_done.py").read_text()
    ast.parse(text)
    assert "def linear_parameters" in text
    assert f"# helper.py\n{HELPER}" in text and "# deep/more.py\n# x = (" in text
    assert "y = 1" not in text and "z = 1" not in text
    assert "modules of half_done's own: deep/more.py, helper.py" in capsys.readouterr().out
