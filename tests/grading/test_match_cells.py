"""A submission's cells find their place in the lesson, whatever happened to them."""

import copy

from grading_course import cell, release, solved, source, without_metadata
from nbformat.v4 import new_code_cell, new_markdown_cell

from proflab_course.grading.answer_key import make_key
from proflab_course.grading.match_cells import align

KEY = make_key("01_parameters", source())


def order(aligned):
    return [slot.key.grade_id for slot in aligned.slots if slot.key is not None]


EVERYTHING = [c.grade_id for c in KEY.cells if c.grade_id]


def test_the_release_notebook_is_the_lesson():
    aligned = align(release(), KEY)
    assert order(aligned) == EVERYTHING
    assert (aligned.recovered, aligned.changed, aligned.notes) == ([], [], [])


def test_locked_cells_are_the_graders_own():
    notebook = solved()
    cell(notebook, "test_linear_parameters").source = "pass"
    cell(notebook, "imports").source = "raise SystemExit"
    aligned = align(notebook, KEY)
    texts = {s.key.grade_id: s.cell.source for s in aligned.slots if s.key}
    assert "### BEGIN HIDDEN TESTS" in texts["test_linear_parameters"]
    assert "SystemExit" not in texts["imports"]
    assert aligned.changed == ["test_linear_parameters"]


def test_lost_metadata_is_recovered_by_text_name_and_place():
    notebook = without_metadata(solved())
    essay = next(c for c in notebook.cells if c.source == "YOUR ANSWER HERE")
    essay.source = "My answer."
    aligned = align(notebook, KEY)
    assert order(aligned) == EVERYTHING
    assert set(aligned.recovered) == set(EVERYTHING)
    assert aligned.changed == []
    manual = next(s for s in aligned.slots if s.key and s.key.kind == "manual")
    assert manual.cell.source == "My answer."


def test_recovery_works_where_an_exercise_does_not_parse():
    notebook = without_metadata(solved(linear_parameters="def linear_parameters(a, b:\n    return"))
    assert "linear_parameters" in align(notebook, KEY).recovered


def test_deleted_test_cells_are_put_back_behind_their_exercise():
    notebook = solved()
    notebook.cells = [c for c in notebook.cells if not is_test(c)]
    aligned = align(notebook, KEY)
    assert order(aligned) == EVERYTHING
    assert [note[-32:] for note in aligned.notes] == [" more were missing and were put back"[-32:]]
    assert aligned.changed == []


def is_test(each):
    return each.metadata.get("nbgrader", {}).get("grade_id", "").startswith("test_")


def test_an_empty_notebook_gets_all_cells():
    notebook = solved()
    notebook.cells = []
    assert order(align(notebook, KEY)) == EVERYTHING


def test_a_copied_cell_counts_once():
    notebook = solved()
    second = copy.deepcopy(cell(notebook, "linear_parameters"))
    second.source = "def linear_parameters(*_):\n    return 8"
    notebook.cells += [second, copy.deepcopy(cell(notebook, "test_linear_parameters"))]
    aligned = align(notebook, KEY)
    assert order(aligned).count("linear_parameters") == 1
    assert aligned.notes == [
        "cell linear_parameters stands there twice; both are executed",
        "cell test_linear_parameters stands there twice; the last counts",
    ]
    last = next(s for s in aligned.slots if s.key and s.key.grade_id == "linear_parameters")
    assert last.cell.source == second.source


def test_flipped_flags_and_edited_points_change_nothing():
    notebook = solved()
    cell(notebook, "test_linear_parameters").metadata.nbgrader["points"] = 1000
    cell(notebook, "test_conv2d_parameters").metadata.nbgrader["solution"] = True
    aligned = align(notebook, KEY)
    points = {
        s.key.grade_id: s.cell.metadata.nbgrader.get("points") for s in aligned.slots if s.key
    }
    assert points["test_linear_parameters"] == 6
    assert aligned.changed == ["test_linear_parameters", "test_conv2d_parameters"]


def test_a_students_own_cells_stay_where_they_are():
    notebook = solved()
    notebook.cells.insert(5, new_code_cell("mine = 1"))
    notebook.cells.insert(6, new_markdown_cell("a note"))
    aligned = align(notebook, KEY)
    assert [s.cell.source for s in aligned.slots[5:7]] == ["mine = 1", "a note"]
    assert aligned.notes == []


def test_a_picture_that_is_pasted_into_an_essay_stays():
    notebook, pasted = solved(), {"plot.png": {"image/png": "aGk="}}
    cell(notebook, "essay_parameters")["attachments"] = pasted
    [essay] = [s.cell for s in align(notebook, KEY).slots if s.key and s.key.kind == "manual"]
    assert essay["attachments"] == pasted


def test_trailing_blanks_are_no_change():
    notebook = solved()
    cell(notebook, "test_linear_parameters").source += "  \n\n"
    assert align(notebook, KEY).changed == []
