"""A class with a seed: its own solution has all points of a race, and another class's has none."""

import os
import textwrap
from contextlib import chdir

import nbformat
import pytest
from handed_in import filled
from linked_course import linked_course

from proflab_course.build.draw import drawn
from proflab_course.cli import main
from proflab_course.course.notebook import read_notebook
from proflab_course.course.secret import PLACE, seeded_key
from proflab_course.grading.answer_key import read_key
from proflab_course.grading.records.gradebook import Book

ALONE = ["--no-sandbox"] if os.environ.get("PROFLAB_NO_SANDBOX_TESTS") else []
pytestmark = pytest.mark.whole("lessons/test_lesson_13.py")
SEED, OTHER, LESSON = 7, 8, "13_faster"


def test_a_drawn_capstone_is_solved_by_its_own_solution_alone(tmp_path):
    course = linked_course(tmp_path, "source", "release")
    (course.root / PLACE).parent.mkdir()
    (course.root / PLACE).write_bytes(bytes(range(32)))
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
        scores = book.auto_scores(LESSON)
        failed = {case.cell for case in book.outcome(LESSON, "other").cases if not case.passed}
    assert scores["own"] == read_key(course.source(LESSON)).max_score
    assert "test_faster" in failed and scores["other"] <= scores["own"] - 55


def hand_in(course, student, faster=""):
    """Hand in the release, solved; faster: the body of a `faster` in the place of its own."""
    solved = read_notebook(course.source(LESSON), LESSON)
    notebook = filled(read_notebook(course.release(LESSON), LESSON), solved)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if faster and name == "faster":
            cell.source = f"def faster(model, tokens):\n{textwrap.indent(faster, '    ')}"
        if name.startswith("essay"):
            cell.source = "It fits, and it is fast enough: 42."
    place = course.root / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    place.parent.mkdir(parents=True)
    nbformat.write(notebook, place)
