"""Right functions score wherever they stand; a stub is put back only where nobody defines it."""

import copy
import textwrap

import pytest
import sample_class
from grading_course import cell, release, solved, source, warm_runner, without_metadata
from nbformat.v4 import new_code_cell

from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.match_cells import align

KEY = make_key("01_parameters", source())
NAMES = list(sample_class.COMPLETE)
CODE = {name: textwrap.dedent(text).strip() for name, text in sample_class.COMPLETE.items()}


def graded(notebook):
    return grade_notebook(notebook, KEY, full=False, runner=warm_runner())


def without(notebook, *names):
    """The notebook with these cells deleted."""
    gone = [id(cell(notebook, name)) for name in names]
    notebook.cells = [c for c in notebook.cells if id(c) not in gone]
    return notebook


def in_front_of(notebook, name, code):
    """The notebook with a cell of the student's own before the cell `name`."""
    notebook.cells.insert(notebook.cells.index(cell(notebook, name)), new_code_cell(code))
    return notebook


def stubs(notebook):
    """The exercises that are released stubs in what is graded."""
    texts = {c.released.source for c in KEY.cells if c.is_exercise}
    return [s.key.grade_id for s in align(notebook, KEY).slots if s.cell.source in texts]


def one_cell():
    """All functions in one cell of the student's own, the exercises' cells deleted."""
    notebook = in_front_of(release(), "linear_parameters", "\n\n\n".join(CODE.values()))
    return without(notebook, *NAMES)


def merged():
    """Two exercises merged into the cell of the first."""
    notebook = without(solved(), "conv2d_parameters")
    both = f"{CODE['linear_parameters']}\n\n\n{CODE['conv2d_parameters']}"
    cell(notebook, "linear_parameters").source = both
    return notebook


def split():
    """One exercise split in two, each half with the metadata; nbgrader itself stops at that."""
    notebook = solved(linear_parameters=f"bits = 8\n\n\n{CODE['linear_parameters']}")
    first = cell(notebook, "linear_parameters")
    second = copy.deepcopy(first)
    first.source, second.source = first.source.split("\n\n\n")
    notebook.cells.insert(notebook.cells.index(first) + 1, second)
    return notebook


def function_above():
    """A function in a new cell above the exercise's, which is left empty."""
    notebook = solved(count_parameters="")
    return in_front_of(notebook, "count_parameters", CODE["count_parameters"])


def emptied():
    """A function in the cell of the exercise before, its own cell empty."""
    both = f"{CODE['parameter_table']}\n\n\n{CODE['gpt2_parameters']}"
    return solved(parameter_table=both, gpt2_parameters="")


def swapped():
    """Two functions written into each other's cells, tested after both."""
    notebook = solved(
        linear_parameters=CODE["conv2d_parameters"], conv2d_parameters=CODE["linear_parameters"]
    )
    for name in ("test_linear_parameters_2", "test_linear_parameters"):
        tests = cell(notebook, name)
        notebook.cells.remove(tests)
        notebook.cells.insert(notebook.cells.index(cell(notebook, "conv2d_parameters")) + 1, tests)
    return notebook


def markdown_and_back():
    """A cell that was markdown for a while: code again, without what a code cell had."""
    notebook = solved()
    each = cell(notebook, "linear_parameters")
    each.metadata.pop("deletable", None)
    each.outputs, each.execution_count = [], None
    return notebook


def left_as_markdown():
    """An exercise's cell that has stayed markdown."""
    notebook = solved()
    each = cell(notebook, "linear_parameters")
    each.cell_type = "markdown"
    del each["outputs"], each["execution_count"]
    return notebook


FORMS = [
    one_cell, merged, split, function_above, emptied, swapped, markdown_and_back, left_as_markdown
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_right_functions_score_wherever_they_stand(form):
    result = graded(form())
    assert (result.score, result.status) == (100, "graded")


def test_all_in_one_cell_scores_without_metadata_too():
    result = graded(without_metadata(one_cell()))
    assert (result.score, result.status) == (100, "metadata recovered")


def test_a_test_that_was_deleted_too_is_put_back_behind_the_functions():
    notebook = release()
    notebook.cells.append(new_code_cell("\n\n\n".join(CODE.values())))
    tests = [c.grade_id for c in KEY.cells if c.kind == "test"]
    result = graded(without(notebook, *NAMES, *tests))
    assert (result.score, result.status) == (100, "graded")
    assert "were missing and were put back" in result.sentence


@pytest.mark.parametrize(
    "code",
    [
        "if True:\n    {}",
        "try:\n    {}\nexcept ZeroDivisionError:\n    pass",
        "from mine import linear_parameters",
        "from mine import work as linear_parameters",
        "def work(*_): return 8\n\nlinear_parameters = work",
        "class linear_parameters: pass",
    ],
)
def test_a_stub_is_not_put_back_where_its_name_is_defined(code):
    body = "def linear_parameters(*_): return 8"
    notebook = in_front_of(solved(), "linear_parameters", code.format(body))
    assert stubs(without(notebook, "linear_parameters")) == []


def test_a_stub_is_put_back_where_nobody_defines_its_name():
    notebook = in_front_of(solved(), "linear_parameters", "def other(): linear_parameters = 1")
    result = graded(without(notebook, "linear_parameters"))
    assert stubs(notebook) == ["linear_parameters"]
    assert result.scores["test_linear_parameters"] == 0
    assert result.scores["test_conv2d_parameters"] == 6
    assert "cell linear_parameters was missing and was put back" in result.sentence


@pytest.mark.parametrize(
    "code",
    [
        "globals()['linear' + '_parameters'] = work",
        "exec('linear' + '_parameters = work')",
        "import sys, types\nmine = sys.modules['mine'] = types.ModuleType('mine')\n"
        "mine.linear_parameters = work\nfrom mine import *",
    ],
)
def test_a_name_that_is_defined_unseen_is_not_overwritten(code):
    work = CODE["linear_parameters"].replace("linear_parameters", "work")
    notebook = in_front_of(solved(), "linear_parameters", f"{work}\n{code}")
    assert graded(without(notebook, "linear_parameters")).score == 100


def test_a_copied_test_cell_is_no_tampering():
    notebook = solved()
    notebook.cells.append(copy.deepcopy(cell(notebook, "test_linear_parameters")))
    assert graded(notebook).status == "graded"
    notebook.cells[-1].source = "10"
    assert graded(notebook).status == "tampered"
