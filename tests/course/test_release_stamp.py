"""An older release is told from a changed one by the stamp that the build puts into it."""

import copy

import nbformat
import pytest
from chosen import chosen
from grading_course import LESSON, ROOT, cell, release, solved, source, warm_runner

from proflab_course.course.features import counted
from proflab_course.course.layout import Course
from proflab_course.course.release_stamp import STAMP, make_stamp, read_stamp, release_digest
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.submissions.read_notebook import parse_handin

KEY = make_key(LESSON, source())


def graded(notebook):
    """A notebook graded as it is when it was handed in as a file."""
    handed_in = parse_handin(nbformat.writes(notebook), "x.ipynb").notebook
    return grade_notebook(handed_in, KEY, full=False, runner=warm_runner())


def checksums(notebook):
    """Write nbgrader's checksums, as a release has them."""
    from nbgrader.preprocessors import ComputeChecksums

    return ComputeChecksums().preprocess(notebook, {})[0]


def older(change):
    """A solved notebook of a release in which `change` had been different."""
    notebook = solved()
    change(notebook)
    notebook.metadata[STAMP] = make_stamp(LESSON, notebook.cells)
    return checksums(notebook)


def other_points(notebook):
    cell(notebook, "test_linear_parameters").metadata.nbgrader.points = 12


def other_text(notebook):
    cell(notebook, "test_conv2d_parameters").source = "expect('768 → 3072', 1, 1)"


def other_setup(notebook):
    cell(notebook, "imports").source += "\nimport math"
    cell(notebook, "test_conv2d_parameters").source = "expect('768 → 3072', 1, 1)"


def one_test_less(notebook):
    notebook.cells.remove(cell(notebook, "test_conv2d_parameters_2"))


def another_name(notebook):
    cell(notebook, "test_conv2d_parameters").metadata.nbgrader.grade_id = "test_convolution"


CHANGES = [other_points, other_text, other_setup, one_test_less, another_name]


@pytest.mark.parametrize("lesson", counted(Course(ROOT).lessons("release")))
def test_every_release_carries_the_digest_of_its_own_cells(lesson):
    notebook = nbformat.read(ROOT / "release" / lesson / f"{lesson}.ipynb", as_version=4)
    stamp = read_stamp(notebook.metadata)
    assert stamp == {"lesson": lesson, "release": release_digest(notebook.cells)}


def test_the_graders_key_has_the_digest_of_the_release():
    released = release_digest(c.released for c in KEY.cells)
    assert released == read_stamp(release().metadata)["release"]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_an_older_release_is_called_so_and_graded_by_todays_tests(change):
    result = graded(older(change))
    assert (result.status, result.score) == ("older release", 100)
    assert "an older release of the lesson, unchanged: 1 graded cell differs" in result.sentence
    assert "was changed" not in result.sentence


def uses_what_was_given(notebook):
    given = "import operator\nfrom no_such_package import gone\nfrom functools import reduce\n"
    cell(notebook, "imports").source = given + cell(notebook, "imports").source
    body = "    return operator.mul(i, o) + reduce(max, [0, o * bias])"
    cell(notebook, "linear_parameters").source = f"def linear_parameters(i, o, bias=True):\n{body}"


def test_an_import_that_an_older_release_gave_is_still_there(tmp_path):
    result = graded(older(uses_what_was_given))
    own = [name for name in result.scores if name.startswith("test_linear_parameters")]
    assert result.scores[own[0]] == KEY.cell(own[0]).points
    today = solved()
    uses_what_was_given(today)  # under today's stamp nobody was given this
    assert graded(today).scores[own[0]] == 0


@pytest.mark.parametrize("change", [other_points, other_text], ids=lambda change: change.__name__)
def test_it_is_known_by_nbgraders_checksums_when_a_tool_dropped_the_stamp(change):
    notebook = older(change)
    del notebook.metadata[STAMP]
    notebook.metadata["colab"] = {"provenance": []}
    assert graded(notebook).status == "older release"


@pytest.mark.parametrize(
    "points", [10**400, "ten", None, []], ids=["large", "word", "none", "list"]
)
def test_points_that_are_no_number_make_no_older_release(points):
    notebook = checksums(solved())
    del notebook.metadata[STAMP]
    cell(notebook, "test_linear_parameters").metadata.nbgrader.points = points
    result = graded(notebook)
    assert result.status in ("graded", "tampered") and result.score == 100


@pytest.mark.parametrize("stamped", chosen([True, False], {True}))
@pytest.mark.parametrize("change", CHANGES[:4], ids=lambda change: change.__name__)
def test_a_change_to_todays_or_an_older_release_is_tampering(change, stamped):
    notebook = older(other_text)
    later = solved()
    for each in (notebook, later):
        if not stamped:
            each.metadata.pop(STAMP, None)
        change(each)
        cell(each, "test_count_parameters").source = "10"
    assert graded(notebook).status == graded(later).status == "tampered"
    assert "test_count_parameters was changed; the original counts" in graded(later).sentence


def test_a_students_own_work_does_not_change_the_digest():
    notebook, moved = release(), solved()
    cell(moved, "essay_parameters").source = "My answer."
    moved.cells.append(nbformat.v4.new_code_cell("mine = 1"))
    moved.cells.append(copy.deepcopy(cell(moved, "imports")))
    moved.cells.reverse()
    for each in moved.cells:
        each.source += "  \n\n"
    assert release_digest(moved.cells) == release_digest(notebook.cells)


@pytest.mark.parametrize(
    "stamp",
    [None, 3, [], {}, {"lesson": "x"}, {"lesson": "x", "release": "y"}, {"lesson": 1, "release": 2}]
    + [{"lesson": "../x", "release": "0" * 64}, {"lesson": "x", "release": "0" * 64 + "\n"}],
)
def test_what_is_no_stamp_is_none(stamp):
    assert read_stamp({STAMP: stamp}) == {}
    notebook = solved()
    notebook.metadata[STAMP] = stamp
    assert graded(notebook).status == "graded"
