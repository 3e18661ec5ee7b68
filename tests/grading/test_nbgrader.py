"""The course works with nbgrader's own commands, and they agree with ours.

Its autograding starts a kernel a hand-in, so some of the sample class are graded, without the cells
that only show something; `make soak` grades all of them whole.
"""

import csv

import nbformat
import pytest
import sample_class
from chosen import chosen
from grading_course import LESSON, ROOT, command, copy_course, grade, hand_in, solved
from nbformat.v4 import new_code_cell
from sandboxes import needs_sandbox

from proflab_course.grading.records.gradebook import Book

# Parity is promised for work that keeps its metadata, is a notebook in its place in UTF-8, whose
# time is an ISO date, and that writes nothing to stderr in a test cell.
UNLIKE = ("utf16", "wrong_date")
GRADED = [s for s, (status, _, _) in sample_class.EXPECTED.items() if status == "graded"]
ALIKE = [student for student in GRADED if student not in UNLIKE]
# Two of them in `make test`, three more after it.
SOME = {"two": ["empty", "one_cell"], "three": ["complete", "rearranged", "syntax_error"]}
RIGHT = {"complete", "one_cell", "rearranged"}


def scores(course):
    with Book(course.gradebook) as book:
        return {student: row["auto"] for student, row in book.scores(LESSON).items()}


@pytest.fixture(
    scope="module", params=[*chosen(SOME, {"two"}), pytest.param("all", marks=pytest.mark.soak)]
)
def students(request):
    return SOME.get(request.param, ALIKE)


def copy_class(place, students, stock=False):
    """A course with these hand-ins; of some of the class, without demo cells."""
    course = copy_course(place, students, stock)
    for student in () if students is ALIKE else students:
        path = course.root / "submitted" / student / LESSON / f"{LESSON}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        notebook.cells = [c for c in notebook.cells if "demo" not in c.metadata.get("tags", [])]
        hand_in(course, student, notebook)
    return course


@pytest.fixture(scope="module")
def stock(tmp_path_factory, students):
    """A class released, graded, fed back and exported by nbgrader alone."""
    course = copy_class(tmp_path_factory.mktemp("stock"), students, stock=True)
    for words in (
        ["generate_assignment", LESSON, "--force"],
        ["autograde", LESSON],
        ["generate_feedback", LESSON],
        ["export"],
    ):
        done = command(course, "nbgrader", *words)
        assert done.returncode == 0, done.stderr
    return course


@pytest.mark.proves
def test_generate_assignment_makes_the_release_that_is_committed(stock):
    for path in sorted((ROOT / "release" / LESSON).iterdir()):
        assert (stock.root / "release" / LESSON / path.name).read_bytes() == path.read_bytes()


@pytest.mark.proves
def test_the_same_scores_as_nbgrader_autograde(stock, students, tmp_path):
    course = copy_class(tmp_path, students)
    grade(course, full=students is ALIKE, jobs=2)
    assert scores(course) == scores(stock)
    assert {scores(stock)[student] for student in RIGHT.intersection(students)} == {100}
    assert len(ALIKE) >= 8 and {*SOME["two"], *SOME["three"]} < {*ALIKE}


def test_feedback_and_export_of_nbgraders_own_grading(stock, students):
    for student in students:
        assert (stock.root / "feedback" / student / LESSON / f"{LESSON}.html").exists()
    with (stock.root / "grades.csv").open() as file:
        rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert {rows[student] for student in RIGHT.intersection(students)} == {100}
    assert rows.get("empty", 0) == 0


@pytest.mark.whole
@needs_sandbox
def test_autograde_as_configured_isolates_recovers_and_agrees(tmp_path):
    course = copy_course(tmp_path, ["complete", "forgets_biases", "lost_metadata"])
    code = sample_class.textwrap.dedent(sample_class.COMPLETE["linear_parameters"]).strip()
    # Only a hidden case notices that it overflows.
    overflows = code.replace("in_features * out_features", "in_features * out_features % 2**32")
    notebook = solved(linear_parameters=overflows)
    (tmp_path / "secret.txt").write_text("the exam")
    spy = f"open({str(tmp_path / 'secret.txt')!r}).read()"
    notebook.cells.append(
        new_code_cell(f"try:\n    print({spy})\nexcept OSError:\n    print('no')")
    )
    hand_in(course, "spy", notebook)
    talkative = "import sys; print('hm', file=sys.stderr); sys.displayhook(1000)\n"
    inside = code.replace("weights =", f"{talkative}    weights =")
    hand_in(course, "talkative", solved(linear_parameters=inside))
    for words in (["generate_assignment", LESSON, "--force"], ["autograde", LESSON]):
        done = command(course, "nbgrader", *words)
        assert done.returncode == 0, done.stderr
    expected = {"complete": 100, "forgets_biases": 67, "lost_metadata": 100}
    assert scores(course) == expected | {"spy": 94, "talkative": 100}
    graded = course.root / "autograded" / "spy" / LESSON / f"{LESSON}.ipynb"
    assert "the exam" not in graded.read_text("utf-8")
    assert [o.text for o in nbformat.read(graded, 4).cells[-1].outputs] == ["no\n"]


@pytest.mark.whole
@needs_sandbox
def test_autograde_grades_those_behind_a_hand_in_with_another_schema(tmp_path):
    course = copy_course(tmp_path, [])
    for student, version in {"alice": 1, "bob": 99, "carol": None}.items():
        notebook = solved()
        if version:
            notebook.cells.append(new_code_cell("pass", metadata={"nbgrader": {}}))
            for each in notebook.cells:
                if "nbgrader" in each.metadata:
                    each.metadata.nbgrader["schema_version"] = version
        hand_in(course, student, notebook)
    done = command(course, "nbgrader", "autograde", LESSON)
    assert done.returncode == 0, done.stderr
    assert scores(course) == {"alice": 100, "bob": 100, "carol": 100}


@pytest.mark.whole
@needs_sandbox
def test_nbgrader_goes_on_with_a_gradebook_of_ours(tmp_path):
    course = copy_course(tmp_path, ["complete", "not_json"])
    grade(course)
    for words in (["generate_feedback", LESSON], ["export"], ["db", "student", "list"]):
        done = command(course, "nbgrader", *words)
        assert done.returncode == 0, done.stderr
    page = course.root / "feedback" / "not_json" / LESSON / f"{LESSON}.html"
    assert "is cut off" in page.read_text("utf-8")
    hand_in(course, "second", solved())
    done = command(course, "nbgrader", "autograde", LESSON, "--student", "second")
    assert done.returncode == 0, done.stderr
    assert scores(course) == {"complete": 100, "not_json": 0, "second": 100}
