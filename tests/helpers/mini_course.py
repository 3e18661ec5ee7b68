"""A tiny course of two lessons, made in a temporary folder, for tests of building and grading.

    course = make_course(tmp_path)                   # two lessons, 100 + 10 points each
    course = make_course(tmp_path, {"01_first": FIRST.replace("width * height", "0")})

The lessons use `proflab.lesson` only. Lesson 02 starts from what lesson 01 built.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from proflab_course.course.database import CONFIGURATION
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Lesson, read_module

ROOT = Path(__file__).parents[2]

HEADER = """\
# ---
# jupyter:
#   jupytext:
#     formats: modules///py:percent,source///ipynb
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---
"""

PYPROJECT = """\
[project]
name = "mini"
version = "0.3.0"

[project.urls]
Repository = "https://github.com/someone/mini-course"
"""


def code(body: str, name: str = "", tags: tuple[str, ...] = (), **flags) -> str:
    """A code cell in percent format; with a name it carries nbgrader's metadata."""
    head = f" tags={json.dumps(list(tags))}" if tags else ""
    return f"# %%{head}{_metadata(name, flags)}\n{body.strip()}\n"


def markdown(body: str, name: str = "", **flags) -> str:
    """A markdown cell in percent format."""
    lines = "\n".join(f"# {line}".rstrip() for line in body.strip().splitlines())
    return f"# %% [markdown]{_metadata(name, flags)}\n{lines}\n"


def _metadata(name: str, flags: dict) -> str:
    if not name:
        return ""
    fields = {"grade": False, "grade_id": name, "locked": False, "schema_version": 3}
    fields |= {"solution": False, "task": False, **flags}
    return f" nbgrader={json.dumps(fields, sort_keys=True)}"


def given(body: str, name: str, tags: tuple[str, ...] = ()) -> str:
    """A locked cell: imports, a given class, a demo."""
    return code(body, name, tags, locked=True)


def exercise(body: str, name: str) -> str:
    """A solution cell."""
    return code(body, name, solution=True)


def graded(body: str, name: str, points: float) -> str:
    """A test cell (not named for pytest to collect)."""
    return code(body, name, grade=True, locked=True, points=points)


def essay(name: str, scheme: str, points: float = 10) -> str:
    """A cell that is graded by hand, with its mark scheme."""
    body = f"An answer.\n\n=== BEGIN MARK SCHEME ===\n{scheme}\n=== END MARK SCHEME ==="
    return markdown(body, name, grade=True, solution=True, points=points)


GUESSED = """
from proflab.lesson import guesses

guesses.compare("the field", guess_field, area(90, 120), unit="m²")
"""

FIRST = "\n".join([
    HEADER,
    markdown("# 01 · Areas\n\nHow large is it? ![a plane](plane.svg)"),
    given("import math\n\nfrom proflab.lesson import expect, expect_raises", "first_imports"),
    markdown("## 1 · Rectangles · 10 min\n\nWidth times height. How large is a field?"),
    code("guess_field = None  # your guess: its area", tags=("guess",)),
    exercise('''
def area(width, height):
    """The area of a rectangle; ValueError for a negative side."""
    ### BEGIN SOLUTION
    if min(width, height) < 0:
        raise ValueError("a side is negative")
    surface = width * height
    return surface
    ### END SOLUTION
''', "area"),
    graded('''
expect("three by four", area(3, 4), 12)
### BEGIN HIDDEN TESTS
long_side = 7_919
expect("a long thin one", area(long_side, 2), 15_838)
expect_raises("a negative height", lambda: area(1, -2), ValueError)
### END HIDDEN TESTS
''', "test_area", 60),
    given('for side in (1, 2, 3):\n    print(side, area(side, side))', "first_demo", ("demo",)),
    given(GUESSED, "first_guess", ("demo",)),
    given('print(f"pi is {math.pi:.4f}")', "first_shown", ("nbval-check-output",)),
    given("class Sheet:\n    sides = 2", "sheet"),
    markdown("## 2 · Circles · 25 min\n\nA rope around a field."),
    exercise('''
def circle(radius):
    """The area of a circle."""
    ### BEGIN SOLUTION
    return math.pi * radius**2
    ### END SOLUTION
''', "circle"),
    graded('expect("radius 2", circle(2), 4 * math.pi)', "test_circle", 20),
    graded('expect("radius 0", circle(0), 0.0)', "test_circle_2", 20),
    markdown("## Reflect"),
    markdown("Why do circles win?"),
    essay("essay_area", "Five points for the isoperimetric inequality."),
])  # fmt: skip

SECOND = "\n".join([
    HEADER,
    markdown("# 02 · Volumes"),
    given("from built import area, circle\nfrom proflab.lesson import expect", "second_imports"),
    exercise('''
def volume(width, height, depth):
    """The volume of a box."""
    ### BEGIN SOLUTION
    ground = area(width, depth)
    return ground * height
    ### END SOLUTION
''', "volume"),
    graded('''
expect("a cube", volume(2, 2, 2), 8)
### BEGIN HIDDEN TESTS
expect("a brick", volume(2, 3, 5), 30)
### END HIDDEN TESTS
''', "test_volume", 100),
    markdown("What is a volume?"),
    essay("essay_volume", "Ten points for naming the measure."),
])  # fmt: skip

LESSONS = {"01_first": FIRST, "02_second": SECOND}
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><circle r="4"/></svg>'


def make_course(root: Path, lessons: dict[str, str] | None = None) -> Course:
    """Write a course into `root`, by default of the two lessons; returns it, not yet built."""
    for name, lesson in (LESSONS if lessons is None else lessons).items():
        write_lesson(root, name, lesson)
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "README.md").write_text("# A mini course\n")
    for configuration in CONFIGURATION:
        shutil.copy(ROOT / configuration, root)
    return Course(root)


def write_lesson(root: Path, name: str, lesson: str) -> None:
    """Write one lesson's text and its picture into modules/."""
    folder = root / "modules" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(lesson)
    (folder / "plane.svg").write_text(SVG)


def read_lesson(root: Path, source: str, name: str = "01_first") -> Lesson:
    """Write a course of this one lesson and read it, as the build does, without its stamp."""
    course = make_course(root, {name: source})
    return read_module(course.module(name), name, f"modules/{name}/{name}.py")


def changed(old: str, new: str, source: str = FIRST) -> str:
    """The first lesson with one thing changed."""
    assert old in source
    return source.replace(old, new, 1)
