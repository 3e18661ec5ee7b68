"""What is exported decides its column, and its file's name: nothing takes the place of grades."""

import csv

import pytest
from grading_course import LESSON, copy_course, grade

from proflab_classroom.questions import answers as concepts
from proflab_course.cli import main
from proflab_course.course.settings import SETTINGS

COLUMNS = {"canvas": "{} (55)", "brightspace": "{} Points Grade <Numeric MaxPoints:110>"}
STARTS = {
    "canvas": ("Student,ID,SIS User ID,SIS Login ID", "C,101,S1,complete", ""),
    "brightspace": ("OrgDefinedId,Username", "#1,#complete", ",End-of-Line Indicator"),
}
MOODLE = "Identifier,Full name,Email address,Grade,Maximum Grade,Feedback comments\r\n"
OWN = ("Lesson 01", "01 Parameters", "01_parameters")
PARTS = {"--viva": "3", "--concepts": "2"}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with one graded hand-in, its viva's marks, and two right answers to questions."""
    course = copy_course(tmp_path_factory.mktemp("course"), ["complete"])
    grade(course)
    (course.root / "private/viva").mkdir(parents=True)
    (course.root / f"private/viva/{LESSON}.csv").write_text("student,q1,q2,q3\ncomplete,1,1,1\n")
    (course.root / SETTINGS).write_text("[course]\nconcept_points = 1\n")
    return course


@pytest.fixture
def export(course, tmp_path, monkeypatch):
    """Return a function that exports into a file with these columns: the status, and the files."""
    monkeypatch.setattr(concepts, "concept_points", lambda *_: {"complete": 2})

    def run(columns, *words, platform="canvas", lesson="01"):
        monkeypatch.chdir(course.root)
        head, row, end = STARTS[platform]
        named = [COLUMNS[platform].format(name) for name in columns]
        text = f"{','.join([head, *named])}{end}\n{row}{',' * len(named)}{',#' * bool(end)}\n"
        (tmp_path / "grades.csv").write_text(text)
        options = ["--without-essay"] if not words or words[0] not in PARTS else []
        file = str(tmp_path / "grades.csv")
        status = main(["export", lesson, f"--{platform}", file, *options, *words])
        return status, filled(tmp_path)

    return run


def filled(folder):
    """Each written file's grade of the one student, by column."""
    found = {}
    for path in folder.glob("*_filled.csv"):
        header, row = csv.reader(path.read_text().splitlines())
        found[path.name] = dict(zip(header, row, strict=True))
    return found


@pytest.mark.parametrize("platform", COLUMNS)
@pytest.mark.parametrize("column", OWN)
@pytest.mark.parametrize("part", PARTS)
def test_without_a_column_of_its_own_nothing_is_written(export, capsys, platform, column, part):
    for chosen in ([], ["--column", column]):
        status, files = export([column, "Homework"], part, *chosen, platform=platform)
        said = capsys.readouterr().err
        assert (status, files) == (2, {}), files
        assert said.count("\n") == 1
        if chosen:
            assert "is the column of the grades of 01_parameters, not" in said
        else:
            assert f"choose one with --column ({COLUMNS[platform].format('Homework')!r})" in said


@pytest.mark.parametrize("platform", COLUMNS)
@pytest.mark.parametrize("name", ["{} 01", "Lesson 1: {}", "01 Parameters {}", "{} of lesson 01"])
def test_each_part_finds_its_column_beside_the_lessons(export, platform, name):
    columns = [name.format(word) for word in ("Grades", "Viva", "Concepts")]
    columns[0] = "Lesson 01"
    for place, (part, points) in enumerate(PARTS.items(), start=1):
        status, files = export(columns, part, platform=platform)
        own = f"grades_01_{part[2:]}_filled.csv"
        assert status == 0 and files[own][COLUMNS[platform].format(columns[place])] == points
        assert COLUMNS[platform].format("Lesson 01") not in files[own]
    status, files = export(columns, platform=platform)
    assert status == 0 and len(files) == 3
    assert files["grades_filled.csv"][COLUMNS[platform].format("Lesson 01")] == "100"


def test_the_sum_of_the_term_takes_no_lessons_and_no_midterms_column(export, capsys):
    for columns in (["Lesson 01", "Midterm"], ["Mid-term exam"], ["Lesson 02"]):
        status, files = export(columns, lesson="term")
        assert (status, files) == (2, {})
        assert "no column for the term: choose one with --column" in capsys.readouterr().err
    status, files = export(["Lesson 01"], "--column", "Lesson 01", lesson="term")
    assert (status, files) == (2, {})
    said = "'Lesson 01 (55)' is the column of the grades of 01_parameters, not of the term"
    assert said in capsys.readouterr().err
    status, files = export(["Lesson 01", "Term total"], lesson="term")
    assert status == 0 and files["grades_term_filled.csv"]["Term total (55)"] == "100"


def test_moodles_one_column_is_the_lessons_unless_it_is_named(
    course, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(concepts, "concept_points", lambda *_: {"complete": 2})
    monkeypatch.chdir(course.root)
    path = tmp_path / "grades.csv"
    comment = '- "good", = start;=x'
    quoted = comment.replace('"', '""')
    path.write_text(f'{MOODLE}Participant 1,=Ada,complete,,110.00,"{quoted}"\r\n', newline="")
    for words in (["01", "--viva"], ["01", "--concepts"], ["term"]):
        assert main(["export", *words, "--moodle", str(path)]) == 2
        assert "add --column Grade" in capsys.readouterr().err
    assert not list(tmp_path.glob("*_filled.csv"))
    assert main(["export", "01", "--viva", "--moodle", str(path), "--column", "Grade"]) == 0
    with (tmp_path / "grades_01_viva_filled.csv").open(newline="") as file:
        _, row = csv.reader(file)
    # Moodle stores the comments that it gets: what others wrote stays as it is.
    assert row == ["Participant 1", "=Ada", "complete", "3", "110.00", comment]


@pytest.mark.parametrize("option", [["--viva"], ["--concepts"], ["--percent"], ["--column", "x"]])
def test_what_would_be_ignored_is_refused(course, monkeypatch, tmp_path, capsys, option):
    monkeypatch.chdir(course.root)
    assert main(["export", "01", "--code", str(tmp_path / "code"), *option]) == 2
    assert f"{option[0]} is about a platform's file" in capsys.readouterr().err
    assert not (tmp_path / "code").exists()
