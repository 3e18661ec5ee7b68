"""Partial credit: a cell's share of hidden cases, the same wherever points are shown or read."""

import csv
import re

import nbformat
import pytest
from grading_course import (
    LESSON,
    cell,
    command,
    copy_course,
    grade,
    hand_in,
    release,
    solved,
    source,
    warm_runner,
)
from nbgrader.utils import determine_grade
from sandboxes import needs_sandbox

from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.records.gradebook import Book
from proflab_course.report.lesson_page import read_summary

KEY = make_key(LESSON, source()).with_partial_credit()
NO_BIAS = "def linear_parameters(i, o, bias=True):\n    return i * o"
TEST = "test_linear_parameters"


def graded(notebook, key=KEY):
    return grade_notebook(notebook, key, full=False, runner=warm_runner())


def share(cases, name: str, points: float) -> tuple[int, float]:
    """How many hidden cases of a cell passed, and the points of its share."""
    cases = [case for case in cases if case.cell == name]
    hidden = [case.passed for case in cases if case.hidden]
    failed = sum(not case.passed and not case.hidden for case in cases)
    return sum(hidden), round(points * sum(hidden) / (len(hidden) + failed), 2)


def test_a_cell_gives_its_share_of_hidden_cases():
    result = graded(solved(linear_parameters=NO_BIAS))
    points = KEY.cell(TEST).points
    passed, expected = share(result.cases, TEST, points)
    assert 0 < passed and 0 < expected < points
    assert result.scores[TEST] == expected
    assert graded(solved(linear_parameters=NO_BIAS), make_key(LESSON, source())).scores[TEST] == 0


def test_what_is_unwritten_or_wrong_throughout_earns_nothing_and_what_is_right_all():
    empty = graded(release())
    assert empty.score == 0 and set(empty.scores.values()) == {0.0}
    wrong = graded(solved(linear_parameters="def linear_parameters(*a, **k):\n    return 'many'"))
    assert wrong.scores[TEST] == 0
    assert graded(solved()).score == KEY.max_score


SMALL = """
expect("two", double(2), 4)
expect_raises("text", lambda: double("a"), TypeError)
### BEGIN HIDDEN TESTS
expect("three", double(3), 6)
expect_between("a half", double(0.5), 0.9, 1.1)
expect_raises("a word", lambda: double("no"), TypeError)
expect_raises("a letter", lambda: double("b"), TypeError)
### END HIDDEN TESTS
"""


@pytest.mark.parametrize(
    "solution, set_up, expected",
    [
        ("return 2 * n + 0", "", 10),
        ("raise NotImplementedError()", "", 0),
        ("raise TypeError", "", 0),  # both errors, and no value beside them
        ("if n == 2: return 4\n    raise TypeError", "", 0),  # the visible answers, copied
        ("if n in (2, 0.5): return 2 * n\n    raise TypeError", "", 7.5),  # 3 of 4 hidden ones
        ("return 2 * n", "", 4),  # 2 of 4, and a visible case that failed
        ("return 6 if n != 'b' else 2 + n", "", 3.33),  # "three", "b", and 2 visible ones failed
        ("return 4", "", 0),
        ("return 2 * n + 0", "1 / 0", 0),  # nothing is reached
    ],
)
def test_shares_of_a_small_cell(solution, set_up, expected):
    double = f"def double(n):\n    {solution}"
    result = small(double, f"{set_up}\n{SMALL}")
    assert result.scores == {"test_double": expected}
    assert determine_grade(cell(result.notebook, "test_double")) == (expected, 10)


def test_set_up_that_fails_behind_the_last_case_costs_nothing():
    right = "def double(n):\n    return 2 * n + 0"
    result = small(right, SMALL.replace("### END", "1 / 0\n### END"))
    assert determine_grade(cell(result.notebook, "test_double")) == (10, 10)
    assert result.scores == {"test_double": 10}


def small(solution: str, test: str):
    """Grade a lesson of one exercise with partial credit."""

    def noted(text, name, **flags):
        kept = {"grade": False, "locked": False, "solution": False, "schema_version": 3}
        metadata = {"nbgrader": kept | {"grade_id": name, "task": False, **flags}}
        return nbformat.v4.new_code_cell(text, metadata=metadata)

    given = noted("from proflab.lesson import expect, expect_raises", "imports", locked=True)
    stub = noted("def double(n):\n    raise NotImplementedError()", "double", solution=True)
    graded_cell = noted(test, "test_double", grade=True, locked=True, points=10)
    lesson = nbformat.v4.new_notebook(cells=[given, stub, graded_cell])
    handed = nbformat.from_dict(lesson)
    handed.cells[1] = noted(solution, "double", solution=True)
    return graded(handed, make_key("small", lesson).with_partial_credit())


def test_nbgrader_reads_the_same_points_from_the_outputs():
    result = graded(solved(linear_parameters=NO_BIAS))
    nbformat.validate(result.notebook)
    for name, score in result.scores.items():
        tested = cell(result.notebook, name)
        tested.metadata.nbgrader.setdefault("points", KEY.cell(name).points)
        assert determine_grade(tested) == (score, KEY.cell(name).points), name
    shown = "".join(o.get("text", "") for o in cell(result.notebook, TEST).outputs)
    assert "❌ " in shown and "got" in shown and "Partial credit: " in shown


# ── a class ──────────────────────────────────────────────────────────────────────────────────


def give_partial_credit(course, listed: str = '["01"]') -> None:
    path = course.root / "jupyter_config.py"
    former = re.sub(r"\nc\.SandboxedExecute\.partial_credit = .*", "", path.read_text())
    path.write_text(f"{former}\nc.SandboxedExecute.partial_credit = {listed}\n")


def made_class(place):
    """A course with one hand-in that is right, one that is half right, and one not written."""
    course = copy_course(place, ["complete"])
    hand_in(course, "no_bias", solved(linear_parameters=NO_BIAS))
    hand_in(course, "unwritten", release())
    return course


def run(course, *words: str) -> None:
    done = command(course, *words)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.whole
def test_grades_feedback_report_and_export_follow_the_list(tmp_path):
    course = made_class(tmp_path)
    before = grade(course)
    give_partial_credit(course)
    after = grade(course)
    with Book(course.gradebook) as book:
        cases = book.outcomes(LESSON)["no_bias"].cases
        _, part = share(cases, TEST, KEY.cell(TEST).points)
        assert book.gradebook.find_grade(TEST, LESSON, LESSON, "no_bias").score == part > 0
    assert all(row.fresh for row in after.values())
    assert not any(row.fresh for row in grade(course).values())
    assert (after["complete"].score, after["unwritten"].score) == (100, 0)
    total = after["no_bias"].score
    assert total == sum(share(cases, n, t.points)[1] for n, t in KEY.tests.items())
    assert total >= before["no_bias"].score + part

    run(course, "nbgrader", "generate_feedback", LESSON)
    page = (course.root / f"feedback/no_bias/{LESSON}/{LESSON}.html").read_text()
    exercise, cells = TEST.removeprefix("test_"), (TEST, f"{TEST}_2")
    earned = sum(share(cases, name, KEY.cell(name).points)[1] for name in cells)
    assert f"{exercise}: {part:g} of {KEY.cell(TEST).points:g} points" in page
    [mend] = re.findall(
        rf">{exercise}</a></td><td[^>]*>{earned:g} of [^<]*</td><td>([^<]+)</td>", page
    )
    assert "expected" in mend and "Partial credit" not in mend
    assert (
        f"Partial credit: {part:g} of {KEY.cell(TEST).points:g} points" in page
        and "\x1b" not in page
    )
    assert f"{total:g} of 110 points" in page
    run(course, "nbgrader", "export", "--to", "grades.csv")
    with (course.root / "grades.csv").open() as file:
        rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert rows == {"complete": 100, "no_bias": total, "unwritten": 0}
    assert {s.name: s.score for s in read_summary(course, LESSON).students} == rows

    give_partial_credit(course, "[]")
    again = grade(course)
    assert {name: row.score for name, row in again.items()} == {
        name: row.score for name, row in before.items()
    }


@pytest.mark.whole
@needs_sandbox
def test_nbgrader_autograde_as_configured_gives_the_same(tmp_path):
    course = made_class(tmp_path)
    give_partial_credit(course, f'["{LESSON}"]')
    expected = {name: row.score for name, row in grade(course).items()}
    (course.root / "gradebook.db").unlink()
    run(course, "nbgrader", "generate_assignment", LESSON, "--force")
    run(course, "nbgrader", "autograde", LESSON, "--force")
    with Book(course.gradebook) as book:
        given = {name: row["auto"] for name, row in book.scores(LESSON).items()}
    assert given == expected
    assert 0 < given["no_bias"] % 1  # a share, not whole cells


@pytest.mark.parametrize("listed", ['["07_typo"]', "[1]", "3"])
def test_a_list_that_cannot_be_followed_stops_with_a_sentence(tmp_path, listed):
    course = copy_course(tmp_path, ["complete"])
    give_partial_credit(course, listed)
    with pytest.raises(CourseError, match=r"^jupyter_config\.py.*partial_credit.*") as error:
        grade(course)
    assert "\n" not in str(error.value)
