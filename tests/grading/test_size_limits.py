"""What one hand-in makes the grader write has a size, whatever it is made of."""

import json
from dataclasses import replace

import nbformat
import pytest
from grading_course import LESSON, copy_course, grade, hand_in, solved
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from proflab_course.grading.grade_notebook import CaseResult
from proflab_course.grading.limits import MB
from proflab_course.grading.records.write_notebook import notebook_text
from proflab_course.grading.size_limits import MAX_REASONS, cut_cases, cut_notebook, cut_text
from proflab_course.grading.submissions.read_notebook import parse_handin

ODD = "\x00\ud83d\ude00é"
DISPLAY = "publish = get_ipython().display_pub.publish\n"
HOSTILE = [
    DISPLAY + "for _ in range(3): publish({'k' * 99 + str(n): '' for n in range(15_000)})",
    "class Long(Exception):\n    def _render_traceback_(self): return [''] * 300_000\nraise Long",
    "print('\\x00' * 1_900_000)",
    DISPLAY + "publish({'application/json': {'k' * 99 + str(n): 1 for n in range(15_000)}})",
] * 6
WRONG = "def linear_parameters(*_):\n    return {'\\x00' * 3_900_000: 1}"


@pytest.mark.whole
def test_one_hand_in_leaves_little_in_files_and_gradebook(tmp_path):
    course = copy_course(tmp_path, [])
    notebook = solved(linear_parameters=WRONG)
    notebook.cells[1:1] = [new_code_cell(code) for code in HOSTILE]
    hand_in(course, "large", notebook)
    assert grade(course)["large"].score > 60
    written = course.root / "autograded" / "large" / LESSON / f"{LESSON}.ipynb"
    nbformat.validate(nbformat.read(written, as_version=4))
    assert written.stat().st_size < 20 * MB
    assert course.gradebook.stat().st_size < 2 * MB


def test_reasons_are_cut_and_have_a_budget_together():
    case = CaseResult("test", "label", False, False, "\x00" * 5_000)
    cases = cut_cases([replace(case) for _ in range(500)])
    assert len(cases[0].reason) == 2_000
    assert len(cases[-1].reason) == 100
    assert sum(len(json.dumps(c.reason)) for c in cases) < 2 * MAX_REASONS
    assert cut_cases([replace(case, reason="short")])[0].reason == "short"
    (odd,) = cut_cases([replace(case, reason="", diagnosis="a\ud800b" + "x" * 5_000)])
    assert odd.reason == "" and len(odd.diagnosis) <= 2_000
    assert odd.diagnosis.encode() and odd.diagnosis.endswith("(the rest was cut)")


def test_a_notebook_is_cut_only_as_far_as_it_must_be():
    small = new_code_cell("1", outputs=[new_output("stream", text="seen")])
    large = new_code_cell("2", outputs=[new_output("stream", text=ODD * 100_000)])
    picture = new_markdown_cell("3", attachments={"a.png": {"image/png": "x" * 300_000}})
    long = new_markdown_cell("4" * 300_000)
    for most, outputs, pictures, source in (
        (10 * MB, True, True, True),
        (MB, False, True, True),
        (400_000, False, False, True),
        (100_000, False, False, False),
    ):
        cells = json.loads(json.dumps([small, large, picture, long]))
        notebook = new_notebook(cells=[nbformat.from_dict(cell) for cell in cells])
        said = cut_notebook(notebook, most)
        assert bool(said) == (most < 10 * MB)
        assert len(notebook_text(notebook).encode()) < most + 1_000
        assert ("was cut" not in notebook.cells[1].outputs[0].text) == outputs
        assert ("attachments" in notebook.cells[2]) == pictures
        assert (len(notebook.cells[3].source) == 300_000) == source
        nbformat.validate(notebook)


def test_text_that_fits_stays_as_it_is():
    assert cut_text("x" * 2_000) == "x" * 2_000
    assert cut_text("x" * 2_001).endswith("(the rest was cut)")


def test_half_characters_are_replaced_where_they_are_read():
    pictures = {"\ud800": {"image/\udfff": "\ud83d", "image/png": "eA=="}}
    cells = [{"cell_type": "markdown", "source": "x", "attachments": pictures}]
    notebook = parse_handin(json.dumps({"cells": cells}), "x").notebook
    notebook_text(notebook).encode()
    assert notebook.cells[0].attachments == {"?": {"image/?": "?", "image/png": "eA=="}}
