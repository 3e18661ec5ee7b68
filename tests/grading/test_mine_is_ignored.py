"""mine.py is for students alone: grading rests on the course's own solutions, in every mode."""

import nbformat
import pytest
from grading_course import STOCK, command
from mini_course import FIRST, SECOND, make_course
from run_all import filled, run_all, shown
from sandboxes import needs_sandbox

from proflab_course.build.command import build
from proflab_course.cli import main
from proflab_course.grading.records.gradebook import Book

LESSON = "02_second"
MINE = "# Made by ProfLab\n# ── 01_first: area ──\ndef area(width, height):\n    return 0\n"
VOLUME = "def volume(width, height, depth):\n    return area(width, depth) * height"


@pytest.fixture
def course(tmp_path):
    """A class of one, who hands in a mine.py that would cost all points; so lies one elsewhere."""
    course = make_course(tmp_path, {"01_first": FIRST, LESSON: SECOND})
    build(course, audit="static")
    place = course.root / "submitted/ada" / LESSON
    place.mkdir(parents=True)
    nbformat.write(filled(course.release(LESSON).parent, volume=VOLUME), place / f"{LESSON}.ipynb")
    for folder in (place, place.parent, course.root / "release", course.root / "source"):
        (folder / "mine.py").write_text(MINE)
    return course


def points(course) -> float:
    with Book(course.gradebook) as book:
        return book.scores(LESSON)["ada"]["auto"]


def test_a_student_would_have_used_it(course):
    folder = course.release(LESSON).parent
    cells = run_all(folder, filled(folder, volume=VOLUME))
    assert shown(cells["test_volume"]).startswith("❌ a cube: got 0, expected 8")


def test_native_grading_does_not_see_it(course, monkeypatch):
    monkeypatch.chdir(course.root)
    assert main(["grade", LESSON, "--no-sandbox"]) == 0
    assert points(course) == 100


@pytest.mark.whole
@needs_sandbox
@pytest.mark.parametrize("mode", ["configured", "stock"])
def test_nbgrader_does_not_see_it(course, mode):
    if mode == "stock":
        config = course.root / "jupyter_config.py"
        config.write_text(config.read_text() + STOCK)
    for words in (["generate_assignment", LESSON, "--force"], ["autograde", LESSON]):
        done = command(course, "nbgrader", *words)
        assert done.returncode == 0, done.stderr
    assert points(course) == 100
    assert (course.root / "submitted/ada/mine.py").read_text() == MINE
    assert not (course.root / "autograded/ada/mine.py").exists()
