"""Hand-ins of another track than the course's, and a change of the course's own track."""

import os

import nbformat
import pytest
from handed_in import WHOLE, filled, graded
from shop_course import TRACKS, declare_privately, make_shop

from proflab_course.build.command import build
from proflab_course.cli import main
from proflab_course.course.notebook import read_notebook
from proflab_course.course.release_stamp import STAMP
from proflab_course.grading.records.gradebook import Book

SHORTER = "a shorter track's notebook was handed in: "
NOTHING = {"test_tax": 0.0, "test_total": 40.0, "test_mean": 0.0, "test_discount": 0.0}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The course as its default track has it."""
    course = make_shop(tmp_path_factory.mktemp("shop"))
    build(course, audit="static")
    return course


@pytest.fixture(scope="module")
def whole(shop):
    """Lesson 01 as the instructor has it."""
    return read_notebook(shop.source("01_shop"), "01_shop")


@pytest.fixture
def full(shop, whole):
    """The whole lesson, solved."""
    return filled(read_notebook(shop.release("01_shop"), "01_shop"), whole)


@pytest.fixture
def hour(whole, tmp_path):
    """The notebook of the track "hour", solved: it gives `tax` and `mean`, and has no section 3."""
    course = make_shop(tmp_path / "hour")
    declare_privately(course, 'use = "hour"')
    build(course, ["01"], audit="static")
    return filled(read_notebook(course.release("01_shop"), "01_shop"), whole)


def found(notebook, shop, whole):
    return graded(notebook, whole.notebook, shop.release("01_shop").parent)


def cell(notebook, name):
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == name)


def test_what_a_shorter_track_gave_earns_nothing_and_one_sentence_says_so(hour, shop, whole):
    scores, _, notes = found(hour, shop, whole)
    assert scores == NOTHING
    told = "tax, mean were given in it and discount, the essay are not in it, which earns nothing"
    assert notes == [SHORTER + told]


def as_an_exercise(node):
    """As the course's own release marks an exercise."""
    node.metadata.nbgrader |= {"solution": True, "locked": False}
    del node.metadata["tags"], node.metadata["jupyter"]


@pytest.mark.parametrize("stamped", [True, False])
def test_no_flag_tag_or_stamp_makes_given_code_the_students(hour, shop, whole, stamped):
    for name in ("tax", "mean"):
        as_an_exercise(cell(hour, name))
    if not stamped:
        del hour.metadata[STAMP]
    assert found(hour, shop, whole)[0] == NOTHING


def test_nor_does_a_move_into_a_cell_of_ones_own_with_other_comments(hour, shop, whole):
    mean = cell(hour, "mean")
    own = nbformat.v4.new_code_cell(mean.source.replace("the mean", "my mean") + "  # mine")
    hour.cells[hour.cells.index(mean)] = own
    assert found(hour, shop, whole)[0] == NOTHING


def test_ones_own_code_counts_whatever_its_cell_is_called(full, shop, whole):
    tax = cell(full, "tax")
    tax.metadata["tags"] = ["given"]
    tax.metadata.nbgrader |= {"solution": False, "locked": True}
    scores, errors, notes = found(full, shop, whole)
    assert scores["test_tax"] == 30 and sum(scores.values()) == 100 and errors == []
    assert notes == ["cell tax's solution and locked was changed; the original counts"]


def test_who_writes_as_the_course_does_keeps_the_points(full, shop, whole):
    full.cells = [c for c in full.cells if "test_tax" not in str(c.metadata.get("nbgrader"))]
    scores, _, notes = found(full, shop, whole)
    assert scores["test_tax"] == 30 and "was missing" in notes[0]


def test_ones_own_function_in_place_of_a_given_one_counts(hour, shop, whole):
    cell(hour, "tax").source = "def tax(price):\n    return price / 4"
    scores, _, notes = found(hour, shop, whole)
    assert (scores["test_tax"], scores["test_mean"]) == (30, 0)
    assert any("mean was given in it and discount, the essay are not" in note for note in notes)


def test_an_older_release_with_every_exercise_is_graded_with_one_note(full, tmp_path):
    shorter = TRACKS.replace("except = {}", 'except = { 01_shop = ["mean", "discount"] }')
    course = make_shop(tmp_path, shorter)
    build(course, ["01"], audit="static")
    source = read_notebook(course.source("01_shop"), "01_shop")
    scores, errors, notes = graded(full, source.notebook, course.release("01_shop").parent)
    assert (scores, errors, notes) == ({"test_tax": 30.0, "test_total": 40.0}, [], [WHOLE])


def marked(course, essay=None):
    """Each test cell's points and the essay's mark, of the one student in the gradebook."""
    with Book(course.gradebook) as book:
        grades = book.gradebook.find_submission_notebook("01_shop", "01_shop", "ada").grades
        found = {grade.name: grade.score for grade in grades}
        if essay is not None:
            next(g for g in grades if g.name == "essay_shop").manual_score = essay
            book.gradebook.db.commit()
    return found


@pytest.mark.whole
def test_a_change_of_track_keeps_the_marks_of_both_and_loses_none(
    shop, full, tmp_path, monkeypatch, capsys
):
    course = make_shop(tmp_path)
    cell(full, "essay_shop").source = "The buyer."
    cell(full, "mean").source = "def mean(prices):\n    return 0.0"
    place = course.root / "submitted/ada/01_shop/01_shop.ipynb"
    place.parent.mkdir(parents=True)
    nbformat.write(full, place)
    monkeypatch.setenv("PATH", os.environ["PATH"])  # whoever opens a gradebook changes it
    monkeypatch.chdir(course.root)

    def grade_as(track):
        declare_privately(course, f'use = "{track}"')
        build(course, audit="static")
        capsys.readouterr()
        assert main(["grade", "01", "--no-sandbox"]) == 0
        return capsys.readouterr().out

    notes = [line for line in grade_as("term").splitlines() if line.startswith("note:")]
    assert [note for note in notes if "no due date is known" not in note] == []
    marked(course, essay=7.0)
    everything = marked(course)
    assert everything == {
        "test_tax": 30, "test_total": 40, "test_mean": 0, "test_discount": 20, "essay_shop": 7
    }  # fmt: skip
    out = grade_as("hour")
    assert "has lost essay_shop, test_discount, test_mean, test_tax; the gradebook keeps" in out
    assert marked(course) == {"test_total": 40} and "40 / 40" in out
    place.unlink()  # what is not graded again comes back as it was
    place.parent.rmdir()
    assert "has gained" in grade_as("day")
    assert marked(course) == {"test_tax": 30, "test_total": 40, "essay_shop": 7}
    grade_as("term")
    assert marked(course) == everything
