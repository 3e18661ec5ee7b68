"""A small lesson of four exercises with known wrong solutions, and a class of hand-ins for it.

    course = make_course(tmp_path, {"ada": {}, "ben": {"fence": "def fence(w, h): …"}})
    lesson = Lesson(course, read_key(course.source(LESSON)))
    known = lesson.all_known(Local())

`Local` executes calls in this process, without a sandbox, for code that the tests wrote.
"""

from __future__ import annotations

import copy
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

import jupytext
import nbformat
from mini_course import HEADER, ROOT, exercise, given, graded

from proflab_classroom.viva.execute import Notebook, Run, Sandbox
from proflab_classroom.viva.seen import Outcome
from proflab_course.course.database import CONFIGURATION
from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import read_key

LESSON = "01_small"
SOLUTIONS = {
    "rectangle": """
        def rectangle(width, height):
            \"\"\"The area of a rectangle; ValueError for a negative side.\"\"\"
            if min(width, height) < 0:
                raise ValueError("a side is negative")
            return width * height
    """,
    "box": """
        def box(width, height, depth):
            \"\"\"The volume of a box.

            >>> box(2, 3, 4)
            24
            \"\"\"
            ground = width * depth
            return ground * height
    """,
    "fence": """
        def fence(width, height):
            \"\"\"The length of a fence around a field.\"\"\"
            return 2 * (width + height)
    """,
    "tiles": """
        def tiles(length, size):
            \"\"\"How many tiles of a size cover a length.\"\"\"
            full = length // size
            return full + 1 if length % size > 0 else full
    """,
}
TESTS = {
    "rectangle": (30, """
        expect("three by four", rectangle(3, 4), 12)
        expect("a long one", rectangle(2, 50), 100)
        expect_raises("a negative side", lambda: rectangle(-1, 2), ValueError)
        ### BEGIN HIDDEN TESTS
        expect("the secret one", rectangle(6, 7919), 47514)
        ### END HIDDEN TESTS
    """),
    "box": (25, """
        expect("a cube", box(2, 2, 2), 8)
        side = 3
        expect("with a name", box(side, 4, 5), 60)
    """),
    "fence": (20, """
        expect("a field", fence(90, 120), 420)
        expect("a square", fence(4, 4), 16)
    """),
    "tiles": (25, """
        expect("just so", tiles(12, 4), 3)
        expect("one more", tiles(13, 4), 4)
    """),
}  # fmt: skip
WRONG = {
    "rectangle": """
wrong (value): the sides are added
    return width + height

wrong (value): a square on the width
    return product(width, width)

wrong (value): half of it
    return width * height / 2

wrong (rounding): rounded to whole numbers
    return round(width * height + 0.4)

wrong (type): a float for an int
    return float(width * height)
""",
    "box": """
wrong (value): the depth is left out
    return width * height

wrong (value): the sides are added
    return width + height + depth

wrong (value): the width twice
    return width * height * width

wrong (value): a cube on the depth
    return depth**3
""",
    "fence": """
wrong (value): two sides
    return width + height

wrong (value): the area
    return width * height

wrong (value): one side more
    return 2 * width + 3 * height

wrong (value): squares have no top
    return 3 * width if width == height else 2 * (width + height)
""",
    "tiles": """
wrong (value): the rest is left out
    return length // size

wrong (value): always one more
    return length // size + 1

wrong (value): the rest alone
    return length % size
""",
}
HELPERS = "def product(one, other):\n    return one * other\n"


def lesson_text() -> str:
    """The lesson in percent format."""
    parts = [HEADER, given("from proflab.lesson import expect, expect_raises", "imports")]
    for name, solution in SOLUTIONS.items():
        points, tests = TESTS[name]
        head, *body = textwrap.dedent(solution).strip().splitlines()
        ends = max(n for n, line in enumerate(body) if '"""' in line) + 1
        marked = [*body[:ends], "    ### BEGIN SOLUTION", *body[ends:], "    ### END SOLUTION"]
        parts.append(exercise("\n".join([head, *marked]), name))
        parts.append(graded(textwrap.dedent(tests), f"test_{name}", points))
    return "\n".join(parts)


def make_course(root: Path, students: dict[str, dict[str, str] | None]) -> Course:
    """Write the course with its hand-ins: student → the exercises written in another way.

    None in place of code leaves the exercise as released; None in place of the dict leaves all.
    """
    notebook = jupytext.reads(lesson_text(), fmt="py:percent")
    source = root / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    nbformat.write(notebook, source)
    for configuration in CONFIGURATION:
        shutil.copy(ROOT / configuration, root)
    (root / "private").mkdir()
    course = Course(root)
    write_wrong(course, WRONG, HELPERS)
    for student, codes in students.items():
        hand_in(course, student, codes)
    return course


def write_wrong(course: Course, wrong: dict[str, str], helpers: str = "") -> None:
    """Write the lesson's text, and these known wrong solutions in the place of others."""
    folder = course.module(LESSON).parent / "wrong"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    course.module(LESSON).write_text(lesson_text())
    for name, text in wrong.items():
        (folder / f"{name}.txt").write_text(text)
    (folder / "helpers.py").write_text(helpers)


def hand_in(course: Course, student: str, codes: dict[str, str] | None) -> None:
    """Write a hand-in."""
    key = read_key(course.source(LESSON))
    cells = []
    for cell in key.cells:
        made = copy.deepcopy(cell.released)
        if cell.kind == "solution" and codes is not None:
            code = codes.get(cell.grade_id, SOLUTIONS[cell.grade_id])
            made.source = made.source if code is None else textwrap.dedent(code).strip()
        cells.append(made)
    path = course.root / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=key.metadata), path)


class Local(Sandbox):
    """Executes in this process. apart_gives: call → what it returns in a process of its own."""

    def __init__(self, apart_gives: dict[str, object] | None = None) -> None:
        self.apart_gives = apart_gives or {}
        self.close = lambda: None

    def run(
        self, notebook: Notebook, runs: Sequence[Run], turn: int = 0, apart: bool = False
    ) -> list[Outcome | None]:
        """Return the outcomes; no limits hold."""
        found: list[Outcome | None] = []
        for run in runs:
            scope: dict[str, object] = {}
            if apart and not run.code and run.one.call in self.apart_gives:
                found.append(Outcome(self.apart_gives[run.one.call]))
                continue
            try:
                for text in (*notebook.cells, run.code, *run.one.setup):
                    exec(text, scope)
                found.append(Outcome(eval(run.one.call, scope)))
            except NotImplementedError:
                found.append(None)
            except Exception as error:
                found.append(Outcome(raised=type(error).__name__))
        return found
