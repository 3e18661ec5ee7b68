"""An import of what the grader has not costs the points of what uses it, and no others."""

import pytest
from grading_course import (
    LESSON,
    cell,
    copy_course,
    grade,
    hand_in,
    solved,
    source,
    warm_runner,
)
from nbformat.v4 import new_code_cell

from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.records.gradebook import Book

USED = "linear_parameters"
# Below the import stand the exercise and what is here; `error` is the student's own.
WRITTEN = {
    "unused": "import torch\n{}",
    "parts of it": "error = 3\nfrom torch import nn as tnn, optim\nassert error == 3\n{}",
    "after it": "{}\nimport torch\n",
    "two": "import torch\nimport no_such_module.part\nimport math\nmath.pi\n{}",
    "own folder": "import sys\nsys.path.append('x')\nimport this_is_not_here\n{}",
    "used": "{}\nimport torch\ndef linear_parameters(*_):\n    return torch.zeros(3)",
    "used at once": "import torch\ntorch.manual_seed(0)\n{}",
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The class that has written its imports so, graded; and its course."""
    course = copy_course(tmp_path_factory.mktemp("course"), [])
    for name, text in WRITTEN.items():
        notebook = solved()
        exercise = cell(notebook, USED)
        exercise.source = text.format(exercise.source)
        hand_in(course, name.replace(" ", "-"), notebook)
    return grade(course), course


@pytest.mark.parametrize("name", WRITTEN)
def test_only_what_uses_the_module_loses_points(rows, name):
    row = rows[0][name.replace(" ", "-")]
    assert row.status == "graded"
    assert row.score == 100 if "used" not in name or name == "unused" else row.score < 100


def test_the_graded_notebook_shows_the_error(rows):
    course = rows[1]
    with Book(course.gradebook) as book:
        assert set(book.outcomes(LESSON)) == {name.replace(" ", "-") for name in WRITTEN}
    for student in ("unused", "parts-of-it", "two"):
        path = course.root / "autograded" / student / LESSON / f"{LESSON}.ipynb"
        text = path.read_text("utf-8")
        assert "No module named 'torch'" in text and "_missing" not in text.partition("source")[0]


FINDER = """
import sys

class Finder:
    def find_spec(name, *_):
        1 / (name != "far_away")

sys.meta_path.append(Finder)
"""


def test_a_finder_that_raises_costs_nothing_above_its_import():
    notebook = solved()
    notebook.cells.insert(0, new_code_cell(FINDER))
    cell(notebook, USED).source += "\nimport far_away"
    result = grade_notebook(notebook, source(), runner=warm_runner())
    assert (result.score, result.errors[0][1]) == (100, "ZeroDivisionError")
