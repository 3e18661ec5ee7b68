"""A tree for a class at lesson N: all that students need, and nothing later."""

import shutil

import pytest
from mini_course import make_course

from proflab_course.cli import main


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("course"))
    (course.root / "docs").mkdir()
    (course.root / "docs/students.md").write_text("# For students\n")
    (course.root / "binder").mkdir()
    (course.root / "binder/postBuild").write_text("true\n")
    return course


@pytest.fixture(scope="module")
def tree(course, tmp_path_factory):
    output = tmp_path_factory.mktemp("class") / "tree"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(course.root)
        arguments = ["build", "--through", "1", "-o", str(output), "--audit", "static"]
        assert main(arguments) == 0
    return output


def test_the_tree_holds_what_students_need(tree):
    top = {path.name for path in tree.iterdir()}
    assert top == {
        "README.md",
        "binder",
        "docs",
        "proflab",
        "proflab_course",
        "pyproject.toml",
        "release",
    }
    assert (tree / "README.md").read_text() == "# For students\n"
    assert (tree / "release/01_first/01_first.ipynb").exists()
    assert (tree / "proflab/checks/expect.py").exists()
    assert not list(tree.rglob("__pycache__"))


def test_nothing_later_is_in_the_tree(tree):
    assert [path.name for path in (tree / "release").iterdir()] == ["01_first"]
    for path in tree.rglob("*"):
        if path.is_file():
            text = path.read_bytes()
            assert b"02_second" not in text and b"def volume" not in text, path


def test_the_course_itself_is_not_changed(course, tree):
    assert not (course.root / "release").exists() and not (course.root / "source").exists()
    assert tree.exists()


def test_a_folder_that_holds_something_is_not_overwritten(course, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.txt").write_text("keep")
    monkeypatch.chdir(course.root)
    assert main(["build", "--through", "1", "-o", str(tmp_path)]) == 2
    assert "is not empty: give -o a new folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_failed_tree_leaves_nothing_behind(course, tmp_path, monkeypatch):
    shutil.copytree(course.root, tmp_path / "course")
    lesson = tmp_path / "course/modules/01_first/01_first.py"
    lesson.write_text(lesson.read_text().replace("### END SOLUTION", ""))
    monkeypatch.chdir(tmp_path / "course")
    assert main(["build", "--through", "1", "-o", str(tmp_path / "tree")]) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"course"}
