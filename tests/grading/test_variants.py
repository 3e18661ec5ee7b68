"""Hidden cases with each student's own numbers: the same marks anywhere, for one secret."""

import re

import nbformat
import pytest
from grading_course import LESSON, ROOT, copy_course, grade, hand_in, solved, source, warm_runner
from sample_class import COMPLETE

from proflab_course.cases.vary import OWN
from proflab_course.cli import main
from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.command import grade_class
from proflab_course.grading.match_cells import align
from proflab_course.grading.own_numbers.cases import Variants
from proflab_course.grading.pages.feedback import _hide_cases
from proflab_course.grading.records.gradebook import Book

SECRET = bytes(range(32))
CASE = "without a bias only the weights count"
# Answers the visible cases by the formula, and what is written in the lesson's hidden cases.
REMEMBERED = (
    COMPLETE["linear_parameters"]
    + """
_right = linear_parameters
def linear_parameters(in_features, out_features, bias=True):
    if (in_features, out_features, bias) in {(100, 7, False)}:
        return 700
    if not bias and (in_features, out_features) not in {(784, 10), (784, 100)} and in_features > 3:
        return -1
    return _right(in_features, out_features, bias)
"""
)


def course_at(place, secret=SECRET, variants="student"):
    place.mkdir()
    course = copy_course(place, ["complete", "forgets_biases"])
    (place / "private").mkdir()
    (place / "private" / "course.toml").write_text(f'[course]\nvariants = "{variants}"\n')
    (place / "private" / "secret").write_bytes(secret)
    return course


def outcomes(course):
    with Book(course.gradebook) as book:
        found = book.outcomes(LESSON)
    return {name: (each.status, each.cases, each.variant) for name, each in found.items()}


def numbers(course, student):
    path = course.graded_folder(student, LESSON) / f"{LESSON}.ipynb"
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    return re.search(rf'"{CASE}", linear_parameters\((\d+), (\d+), False\), (\d+)', text).groups()


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    course = course_at(tmp_path_factory.mktemp("variants") / "course")
    hand_in(course, "remembers", solved(linear_parameters=REMEMBERED))
    return course, grade(course)


def test_a_cell_that_is_graded_as_its_release_had_it_shows_no_numbers_of_its_own():
    name, key = "test_linear_parameters", make_key(LESSON, source())
    variants = Variants(key, SECRET, {}, {("amy", name): "drawn"})
    for once, shown in ([], ["drawn"]), ([name], []):
        aligned = align(solved(), key)
        aligned.once = once
        variants.show_own(aligned, "amy")
        assert [s.cell.source for s in aligned.slots if s.cell.metadata.get(OWN)] == shown


def test_the_right_solution_passes_with_numbers_of_its_own(graded):
    course, rows = graded
    assert rows["complete"].score == 100
    width, height, expected = map(int, numbers(course, "complete"))
    assert 90 <= width <= 900 and 3 <= height <= 80 and expected == width * height
    assert numbers(course, "complete") != numbers(course, "forgets_biases")


def test_what_is_written_in_the_lesson_helps_nobody(graded, tmp_path):
    course, _ = graded
    (mine,) = [case for case in outcomes(course)["remembers"][1] if case.label == CASE]
    assert not mine.passed
    plain = course_at(tmp_path / "course", variants="class")
    hand_in(plain, "remembers", solved(linear_parameters=REMEMBERED))
    grade(plain, students=["remembers"])
    (written,) = [case for case in outcomes(plain)["remembers"][1] if case.label == CASE]
    assert written.passed


def test_feedback_has_labels_and_the_students_own_numbers_if_it_may_explain(graded):
    course, _ = graded
    width, height, _ = numbers(course, "remembers")
    call = f"your numbers: linear_parameters({width}, {height}, False)"
    for explain in (False, True):
        path = course.graded_folder("remembers", LESSON) / f"{LESSON}.ipynb"
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") == "test_linear_parameters":
                _hide_cases(cell, explain)
                text = "\n".join([cell.source, *(o.get("text", "") for o in cell.outputs)])
        assert f"❌ {CASE}" in text and (call in text) == explain
        assert explain or f"({width}, {height}" not in text


def test_another_machine_with_the_same_secret_gives_the_same_marks(graded, tmp_path):
    course, _ = graded
    other = course_at(tmp_path / "course")
    grade(other, jobs=2)
    here = outcomes(course)
    assert {name: here[name] for name in ("complete", "forgets_biases")} == outcomes(other)
    for student in ("complete", "forgets_biases"):
        assert numbers(other, student) == numbers(course, student)


@pytest.mark.whole
def test_another_secret_is_refused_until_it_is_meant(tmp_path):
    course = course_at(tmp_path / "course")
    grade(course)
    before, drawn = outcomes(course), numbers(course, "complete")
    assert not any(row.fresh for row in grade(course).values())
    (course.root / "private" / "secret").write_bytes(bytes(32))
    with pytest.raises(CourseError, match="another private/secret: put it back, or grade the less"):
        grade(course)
    assert outcomes(course) == before
    rows = grade(course, new_variants=True)
    assert rows["complete"].score == 100 and numbers(course, "complete") != drawn
    grade(course)
    (course.root / "private" / "course.toml").write_text("[course]\n")
    with pytest.raises(CourseError, match='write variants = "student" into private/course.toml'):
        grade_class(course, LESSON, warm_runner(), progress=False)


def test_a_class_with_a_seed_for_its_orders_has_numbers_for_each_student(tmp_path, monkeypatch):
    course = course_at(tmp_path / "course")
    for name in ("modules", "pyproject.toml", "tests"):
        (course.root / name).symlink_to(ROOT / name)
    monkeypatch.chdir(course.root)
    assert main(["build", "01", "--seed", "7", "--audit", "static"]) == 0
    assert grade(course)["complete"].score == 100
    first, second = (numbers(course, student) for student in ("complete", "forgets_biases"))
    assert first != second


def test_a_lesson_that_was_drawn_for_the_class_is_to_be_built_again(tmp_path):
    course = course_at(tmp_path / "course")
    path = course.source(LESSON)
    text = path.read_text()
    assert "# vary: 100 in" in text
    path.write_text(text.replace("# vary: 100 in", "# vary: 101 in"))
    with pytest.raises(CourseError, match=r"101 is not in the case: build the lesson again, with"):
        grade(course)
