"""Who learns alone is told the answers to concept questions; nobody in a graded class is."""

import nbformat
import pytest
from concept_course import LESSON, RIGHT, SLIP, WHY, concept_course, hand_in, released
from run_all import run_all, shown

from proflab_classroom.questions.block import told_concepts
from proflab_course.build.class_tree import class_tree
from proflab_course.build.command import build

TRACKS = """
self_study = true

[track.term]
title = "A term"
text = "All of it."
hours = 1
except = {}
"""


def course_of(root, tracks=TRACKS):
    course = concept_course(root)
    (course.root / "modules/tracks.toml").write_text(tracks, encoding="utf-8")
    return course


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = course_of(tmp_path_factory.mktemp("course"))
    build(course, audit="static")
    return course


def last_cell(course, **answers):
    """Return what the last cell of a solved notebook shows with these answers."""
    hand_in(course, "ada", **answers)
    path = course.root / "submitted/ada" / LESSON / f"{LESSON}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    return shown(run_all(course.release(LESSON).parent, notebook)["where_am_i"])


def test_the_last_cell_tells_the_answers_once_all_are_answered(course):
    told = last_cell(course, **{**RIGHT, "concept_01_2": "A"})
    assert "Concept questions: 3 of 3 answered" in told
    assert max(map(len, told.split("\n"))) <= 100  # or JupyterLab breaks a line inside of a word
    told = " ".join(told.split())
    assert f"01.1: C, as you answered. {WHY}" in told
    assert "01.2: D, you answered A. The radius is squared." in told
    assert SLIP not in told


def test_it_tells_none_before(course):
    told = last_cell(course, concept_01_1="C", concept_01_2="D")
    assert "Concept questions: 2 of 3 answered" in told
    assert WHY not in told and "as you answered" not in told


def test_the_block_says_when_it_tells(course):
    sources = "\n".join(cell.source for cell in released(course).cells)
    assert "once you have answered all, the lesson's last cell says which one is right" in sources


def releases(root):
    """Yield the folder of a class's release, made in three ways."""
    own = course_of(root / "own")
    (own.root / "private").mkdir()
    build(own, audit="static")
    yield own.release(LESSON).parent
    seeded = course_of(root / "seeded")
    build(seeded, audit="static", seed=7)
    yield seeded.release(LESSON).parent
    tree = root / "tree"
    class_tree(course_of(root / "source"), None, tree, "static")
    yield tree / "release" / LESSON


def test_no_class_s_release_tells_an_answer(tmp_path):
    for folder in releases(tmp_path):
        for path in (path for path in folder.rglob("*") if path.is_file()):
            text = path.read_text("utf-8")
            assert WHY not in text and '"answers"' not in text, path
        assert "is told after grading" in (folder / f"{LESSON}.ipynb").read_text("utf-8")


def test_a_class_s_release_that_has_the_answers_is_refused(course):
    folder = course.release(LESSON).parent
    told = list(told_concepts(folder, [], "release/01_first"))
    assert told == [
        "release/01_first/lesson.json has the answers to concept questions: build the class's "
        "release again"
    ]
    assert list(told_concepts(folder, [], "release/01_first", self_study=True)) == []
