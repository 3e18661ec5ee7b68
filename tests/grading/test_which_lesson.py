"""A notebook is a lesson's by a share of its names or texts, not by one name that others use."""

import copy

import nbformat
import pytest
from grading_course import (
    LESSON,
    ROOT,
    read_key,
    release,
    solved,
    source,
    warm_runner,
    without_metadata,
)
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.utils import compute_checksum

from proflab_course.course.answer_cells import is_answer_cell
from proflab_course.grading.answer_key import make_key, meta
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.submissions.find_notebook import find_handin
from proflab_course.grading.submissions.which_lesson import Lessons

LATENCY = "03_latency"
COMMON = {
    "03_latency": "Timer",
    "05_profiler": "record",
    "06_roofline": "chain",
    "07_scaling": "order",
    "08_benchmarking": "gate",
    "09_optimization": "merge",
    "10_cuda_roofline": "place",
    "12_serving": "generate",
}


def lessons_for(lesson):
    return Lessons(read_key(ROOT / "source" / lesson / f"{lesson}.ipynb"), ROOT / "source")


def foreign_cells(*names):
    """The cells of another course, which nbgrader released, too, and which define these names."""
    marks = {"grade_id": "cell-3c4d", "grade": True, "solution": False, "locked": True, "points": 1}
    test = new_code_cell("assert 1 + 1 == 2", metadata={"nbgrader": marks | {"schema_version": 3}})
    test.metadata.nbgrader["checksum"] = compute_checksum(test)
    code = [new_code_cell(f"def {name}(items):\n    return items") for name in names]
    return [new_markdown_cell("# Recommender systems, lecture 4"), *code, test]


def foreign(*names):
    return new_notebook(cells=foreign_cells(*names))


def put(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, notebook in files.items():
        nbformat.write(notebook, folder / f"{name}.ipynb")


@pytest.mark.parametrize("lesson", COMMON)
def test_one_common_name_is_not_enough(lesson):
    assert lessons_for(lesson).lesson_of(foreign(COMMON[lesson])) == ""


def test_a_finished_lesson_counts_beside_a_notebook_with_one_of_its_names(tmp_path):
    folder = tmp_path / "submitted/me" / LATENCY
    finished = nbformat.read(ROOT / "source" / LATENCY / f"{LATENCY}.ipynb", as_version=4)
    put(folder, scratch=foreign("Timer"), finished=finished)
    found = find_handin(folder, lessons_for(LATENCY))
    assert found.outcome == "renamed"
    assert "finished.ipynb was graded" in found.sentence
    put(folder, **{LATENCY: foreign("Timer")})
    found = find_handin(folder, lessons_for(LATENCY))
    assert f"{LATENCY}.ipynb has hardly anything of the lesson; finished.ipynb" in found.sentence


def test_work_written_from_nothing_counts_beside_an_untouched_release(tmp_path):
    folder = tmp_path / "submitted/me" / LESSON
    put(folder, **{LESSON: foreign("linear_parameters"), "copy": release()})
    found = find_handin(folder, lessons_for(LESSON))
    assert found.outcome == "" and "linear_parameters" in found.notebook.cells[1].source


@pytest.mark.parametrize("name", [LESSON, "scratch"])
def test_another_courses_notebook_is_graded_under_no_name(tmp_path, name):
    put(tmp_path / "submitted/me" / LESSON, **{name: foreign("Timer")})
    found = find_handin(tmp_path / "submitted/me" / LESSON, lessons_for(LESSON))
    assert (found.outcome, found.notebook) == ("wrong lesson", None)
    assert "a notebook that belongs to no lesson" in found.sentence


def test_one_name_in_common_is_neither_an_older_release_nor_lost_metadata():
    key = make_key(LESSON, source())
    graded = grade_notebook(foreign("linear_parameters"), key, full=False, runner=warm_runner())
    assert (graded.status, graded.score) == ("graded", 0)
    said = "hardly anything in it is the lesson's: linear_parameters was recognised"
    assert said in graded.sentence and "older release" not in graded.sentence
    essay = next(c for c in graded.notebook.cells if meta(c).get("grade_id") == "essay_parameters")
    assert "Recommender" not in essay.source


@pytest.mark.parametrize("bare", [False, True], ids=["marked", "bare"])
def test_a_lesson_inside_another_courses_notebook_keeps_its_points(tmp_path, bare):
    notebook = without_metadata(solved()) if bare else solved()
    notebook.metadata.pop("proflab", None)
    notebook.cells = [*foreign_cells("Timer", "merge"), *notebook.cells, *foreign_cells("order")]
    put(tmp_path / "submitted/me" / LESSON, homework_4=notebook)
    found = find_handin(tmp_path / "submitted/me" / LESSON, lessons_for(LESSON))
    assert found.outcome == "renamed"
    key = make_key(LESSON, source())
    assert grade_notebook(found.notebook, key, full=False, runner=warm_runner()).score == 100


def short():
    """The lesson as a track has it that asks for one function."""
    notebook = copy.deepcopy(source())
    kept = ("linear_parameters", "test_linear_parameters", "test_linear_parameters_2")
    notebook.cells = [
        cell
        for cell in notebook.cells
        if (name := meta(cell).get("grade_id", "")) in kept
        or not (meta(cell).get("grade") or meta(cell).get("solution") or is_answer_cell(name))
    ]
    return notebook


@pytest.mark.parametrize("bare", [False, True], ids=["marked", "bare"])
def test_a_lesson_with_one_exercise_is_recognised(bare):
    lessons = Lessons(make_key(LESSON, short()), ROOT / "source")
    notebook = without_metadata(short()) if bare else short()
    notebook.metadata.pop("proflab", None)
    assert lessons.lesson_of(notebook) == LESSON
    assert lessons.lesson_of(foreign("linear_parameters")) == ""
