"""Known wrong solutions beside a lesson are in nothing that the build makes."""

import pytest
from mini_course import FIRST, make_course

from proflab_course.build.class_tree import class_tree
from proflab_course.build.command import build
from proflab_course.course.layout import CourseError

ENTRY = "wrong (value): the sides are added\n    return a + b\n"


@pytest.fixture
def course(tmp_path):
    made = make_course(tmp_path, {"01_first": FIRST})
    folder = made.module("01_first").parent / "wrong"
    folder.mkdir()
    (folder / "area.txt").write_text(ENTRY)
    (folder / "helpers.py").write_text("def added(a, b):\n    return a + b\n")
    (folder / "failing.json").write_text('{"area": {"cases": [], "fails": {}}}\n')
    return made


def made_files(root):
    return [path for path in root.rglob("*") if path.is_file()]


def test_neither_source_nor_release_has_them(course):
    build(course, audit="static")
    for folder in ("source", "release"):
        files = made_files(course.root / folder)
        assert files and not [path for path in files if "wrong" in path.parts]
        assert not [path for path in files if "the sides are added" in path.read_text("utf-8")]


def test_neither_has_the_tree_of_a_class(course, tmp_path):
    class_tree(course, None, tmp_path / "class", "static")
    files = made_files(tmp_path / "class")
    assert files and not [path for path in files if "wrong" in path.parts]
    assert not [path for path in files if b"the sides are added" in path.read_bytes()]


@pytest.mark.parametrize("name", ["notes.txt", "data/rows.csv"])
def test_a_copy_of_them_beside_the_lesson_is_refused(course, name):
    copy = course.module("01_first").parent / name
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(f"# an old copy\n\n{ENTRY}")
    with pytest.raises(CourseError) as error:
        build(course, audit="static")
    assert str(error.value) == (
        f"release/01_first/{name} shows students known wrong solutions: leave it out"
    )
    assert not (course.root / "release").exists()


def test_a_copy_of_them_in_a_cell_is_refused(course):
    path = course.module("01_first")
    path.write_text(path.read_text("utf-8") + f'\n# %%\nNOTES = """\n{ENTRY}"""\n', "utf-8")
    with pytest.raises(CourseError, match="01_first.ipynb shows students known wrong solutions"):
        build(course, audit="static")


def test_a_file_of_them_that_nobody_can_read_is_named_by_the_build(course):
    path = course.module("01_first").parent / "wrong" / "area.txt"
    path.write_text(ENTRY.replace("value", "valeu"))
    with pytest.raises(CourseError, match="01_first/wrong/area.txt, line 1: there is no kind"):
        build(course, audit="static")
