"""Hand-ins of releases that have a cell for each concept question keep their answers."""

import nbformat
import pytest
from concept_course import LESSON, answered, concept_course, older_form, released, solved
from grading_course import warm_runner
from nbformat import NotebookNode

from proflab_course.build.command import build
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import grade_notebook

LETTERS = {"concept_01_1": "C", "concept_01_2": "A", "concept_01_A": "B"}
KEPT = {"01_1": ("C", True), "01_2": ("A", False), "01_A": ("B", True)}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = concept_course(tmp_path_factory.mktemp("course"))
    build(course, [LESSON], audit="static")
    return course


def name_of(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def without_marks(notebook):
    """Take nbgrader's metadata off all cells, as some platforms do."""
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
    return notebook


def half_and_half(notebook):
    """Ask for one answer in the older form, and for the others in today's."""
    older = {name_of(cell): cell for cell in older_form(notebook).cells}
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if name_of(cell) == "concept_01":
            cell.source = cell.source.replace("concept_01_2 = None\n", "")
            cells += [older["concept_01_2"], older["test_concept_01_2"]]
    return NotebookNode(notebook, cells=cells)


def graded(course, notebook, source=None, **answers):
    source = source or nbformat.read(course.source(LESSON), as_version=4)
    for cell in notebook.cells:
        cell.source = answered(cell.source, answers) if cell.cell_type == "code" else cell.source
    return grade_notebook(notebook, make_key(LESSON, source), runner=warm_runner())


def letters(found):
    return {name: (each.letter, each.right) for name, each in found.answers.items()}


FORMS = {
    "today's": lambda notebook: notebook,
    "older": older_form,
    "half": half_and_half,
    "today's, bare": without_marks,
    "older, bare": lambda notebook: without_marks(older_form(notebook)),
    "half, bare": lambda notebook: without_marks(half_and_half(notebook)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_hand_in_has_the_same_answers_and_points(course, form):
    notebook = FORMS[form](solved(course, released(course)))
    found = graded(course, notebook, **LETTERS)
    assert letters(found) == KEPT and found.score == 100
    hidden = ["the answer to 01.2"]  # its letter is a wrong one
    assert [message for _, _, message in found.errors] == hidden
    assert "concept" not in found.sentence or "bare" in form
    assert found.status == ("metadata recovered" if "bare" in form else "graded")


@pytest.mark.parametrize("form", ["older", "older, bare"])
def test_an_open_question_of_an_older_release_is_shown_as_no_error(course, form):
    found = graded(course, FORMS[form](solved(course, released(course))), concept_01_1="C")
    assert letters(found) == {"01_1": ("C", True)}
    assert all(
        output.output_type != "error"
        for cell in found.notebook.cells
        for output in cell.get("outputs", [])
        if name_of(cell) != "test_concept_01"
    )


def test_a_slip_in_one_cell_of_an_older_release_costs_no_other_answer(course):
    notebook = older_form(solved(course, released(course)))
    found = graded(course, notebook, **{**LETTERS, "concept_01_1": "concept_01_1 = D"})
    assert letters(found) == {name: KEPT[name] for name in ("01_2", "01_A")}


@pytest.mark.parametrize("form", FORMS)
def test_a_course_that_is_not_built_again_grades_every_form(course, form):
    today = nbformat.read(course.source(LESSON), as_version=4)
    notebook = FORMS[form](solved(course, released(course)))
    found = graded(course, notebook, source=older_source(today), **LETTERS)
    assert letters(found) == KEPT and found.score == 100


def older_source(source):
    """Return an instructor's notebook as older releases have it."""
    keys = {"1": "C", "2": "D", "A": "B"}
    source = older_form(source)
    for cell in source.cells:
        number = name_of(cell).rpartition("_")[2]
        if name_of(cell).startswith("concept_01_") and cell.cell_type == "code":
            answer = f'{name_of(cell)} = "{keys[number]}"'
            cell.source = f"### BEGIN SOLUTION\n{answer}\n### END SOLUTION"
        elif name_of(cell).startswith("test_concept"):
            name = f"concept_01_{number}"
            key = f'expect("the answer to 01.{number}", choice({name}), "{keys[number]}")'
            cell.source += f"\n### BEGIN HIDDEN TESTS\n{key}\n### END HIDDEN TESTS"
    return source


def test_feedback_of_an_older_grading_says_the_same(course):
    from proflab_course.grading.pages.feedback import hide_answers
    from proflab_course.grading.pages.overview import ANSWER

    source = older_source(nbformat.read(course.source(LESSON), as_version=4))
    notebook = older_form(solved(course, released(course)))
    found = graded(course, notebook, source=source, concept_01_1="C").notebook
    tests = [cell for cell in found.cells if name_of(cell).startswith("test_concept")]
    for cell in tests:
        hide_answers(cell, explain=False)
    assert [cell.outputs[0].text for cell in tests] == [
        "01.1: answered\n",
        "01.2: not answered\n",
        "01.A: not answered\n",
    ]
    assert sum(cell.metadata[ANSWER]["asked"] for cell in tests) == 3
    assert sum(cell.metadata[ANSWER]["right"] for cell in tests) == 1
