"""A class with a seed: its lesson's solution has all points, and another class's answers fail."""

import os
import shutil
import textwrap
from contextlib import chdir

import nbformat
import pytest
from handed_in import filled
from linked_course import ROOT, linked_course

from proflab_course.build.command import build
from proflab_course.build.draw import drawn
from proflab_course.cases.vary import varying
from proflab_course.cli import main
from proflab_course.course.notebook import read_notebook
from proflab_course.course.secret import PLACE, seeded_key
from proflab_course.grading.answer_key import read_key
from proflab_course.grading.records.gradebook import Book

ALONE = ["--no-sandbox"] if os.environ.get("PROFLAB_NO_SANDBOX_TESTS") else []
pytestmark = pytest.mark.whole("lessons/test_lesson_13.py")
SEED, OTHER, LESSON = 7, 8, "13_faster"


def own_course(root):
    """A course with a secret, whose lessons have not been built."""
    course = linked_course(root, "source", "release")
    (course.root / PLACE).parent.mkdir()
    (course.root / PLACE).write_bytes(bytes(range(32)))
    return course


def test_a_drawn_capstone_is_solved_by_its_own_solution_alone(tmp_path):
    course = own_course(tmp_path)
    lesson = course.module(LESSON).parent
    own, other = (drawn(lesson, seeded_key(course.root, "build", n)) for n in (SEED, OTHER))
    assert own.solutions["faster"] != other.solutions["faster"]
    with chdir(course.root):
        assert main(["build", LESSON, "--seed", str(SEED)]) == 0
        hand_in(course, "own")
        hand_in(course, "other", other.solutions["faster"])
        assert main(["grade", LESSON, "--jobs", "1", *ALONE]) == 0
    program = course.release(LESSON).with_name("program.py").read_text(encoding="utf-8")
    assert program == own.files["program.py"] != other.files["program.py"]
    with Book(course.gradebook) as book:
        scores = {s: row["auto"] for s, row in book.scores(LESSON).items()}
        failed = {case.cell for case in book.outcome(LESSON, "other").cases if not case.passed}
    assert scores["own"] == read_key(course.source(LESSON)).max_score
    assert "test_faster" in failed and scores["other"] <= scores["own"] - 55


@pytest.mark.parametrize("lesson", ["09_optimization", "12_serving"])
def test_drawn_numbers_leave_a_solution_right_and_change_an_answer_of_each_exercise(
    tmp_path, lesson
):
    """Take points in each exercise from those who learnt another class's answers by heart."""
    answers = []
    for seed in (OTHER, SEED):
        course = own_course(tmp_path / str(seed))
        folder = course.source(lesson).parent  # where the given programs' tapes are from
        shutil.copytree(ROOT / "source" / lesson, folder)
        drawn_from = read_key(course.source(lesson))
        build(course, [lesson], "static", seed=seed)
        key = read_key(course.source(lesson))
        answers.append({
            (cell, answer.label): repr(answer.expected)
            for cell, test in key.tests.items() for _, answer in test.answers
        })  # fmt: skip
    changed, drawn_cells = set(), set()
    for cell in (cell for cell in drawn_from.cells if cell.kind == "test"):
        found = varying(cell.master.source, cell.grade_id)
        for label in found.expected if found else ():
            exercise = cell.grade_id.rstrip("_0123456789")
            drawn_cells.add(exercise)
            other, own = (each[cell.grade_id, label] for each in answers)
            changed |= {exercise} if own != other else set()
    assert drawn_cells and changed == drawn_cells
    with chdir(course.root):
        hand_in(course, "own", lesson=lesson)
        assert main(["grade", lesson, "--jobs", "1", *ALONE]) == 0
    with Book(course.gradebook) as book:
        assert book.scores(lesson)["own"]["auto"] == key.max_score


def hand_in(course, student, faster="", lesson=LESSON):
    """Hand in the release, solved; faster: the body of a `faster` in the place of its own."""
    solved = read_notebook(course.source(lesson), lesson)
    notebook = filled(read_notebook(course.release(lesson), lesson), solved)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if faster and name == "faster":
            cell.source = f"def faster(model, tokens):\n{textwrap.indent(faster, '    ')}"
        if name.startswith("essay"):
            cell.source = "It fits, and it is fast enough: 42."
    place = course.root / "submitted" / student / lesson / f"{lesson}.ipynb"
    place.parent.mkdir(parents=True)
    nbformat.write(notebook, place)
