"""Which known wrong solutions a viva takes from the files beside a lesson: their kind decides."""

import ast
import shutil

import pytest
from cohort.run import ROOT
from viva_class import HELPERS, LESSON, Local, make_course, write_wrong

from proflab_classroom.viva.command import Lesson
from proflab_course.cli import main
from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import read_key

WRONG = {
    "rectangle": """
wrong (value): the result is checked and rounded, an error
    return width + height

wrong (rounding): half of it
    return width * height / 2

wrong (order): turned by a quarter
diagnosis: the width is squared
    return product(width, width)

right: the other way round
    return height * width
""",
    "tiles": """
wrong (refusal): one more
    return length // size + 1
""",
}


@pytest.fixture
def lesson(tmp_path):
    course = make_course(tmp_path, {})
    write_wrong(course, WRONG, HELPERS)
    made = Lesson(course, read_key(course.source(LESSON)))
    made.secret = bytes(32)
    return made


def test_the_kind_decides_and_not_the_words_of_the_sentence(lesson):
    found = {name: [v.sentence for v in of] for name, of in lesson.mutants.items()}
    told = ["the result is checked and rounded, an error", "the width is squared"]
    assert found == {"rectangle": told, "tiles": []}


def test_they_are_executed_with_the_helpers_that_they_need(lesson):
    known = lesson.all_known(Local())["rectangle"]
    assert known.mutants and all(map(all, known.wrong))
    assert "def product" in known.mutants[1].shown


def test_a_file_with_a_mistake_is_named_with_its_line(lesson):
    path = lesson.course.module(LESSON).parent / "wrong" / "tiles.txt"
    path.write_text("wrong (valeu): one more\n    return 1\n")
    with pytest.raises(CourseError, match=f"{LESSON}/wrong/tiles.txt, line 1: there is no kind"):
        lesson.mutants  # noqa: B018


def test_a_course_without_them_is_told_so(lesson, capsys, monkeypatch):
    shutil.rmtree(lesson.course.module(LESSON).parent / "wrong")
    monkeypatch.chdir(lesson.course.root)
    assert main(["viva", "01"]) == 2
    said = capsys.readouterr().err
    assert f"modules/{LESSON}/wrong/, which holds" in said
    assert "is not there" in said and len(said.splitlines()) == 1


def test_the_package_never_imports_a_test():
    """What is installed has no tests/."""
    tests = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()} | {"tests"}
    for path in sorted((ROOT / "proflab_course").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                named = [node.module or ""]
            elif isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            else:
                named = []
            own = {name.partition(".")[0] for name in named}
            assert not own & (tests - {"site", "build"}), f"{path}: {own}"
