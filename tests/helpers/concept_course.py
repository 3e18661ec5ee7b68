"""A tiny course whose first lesson has three concept questions, for tests of building and grading.

course = concept_course(tmp_path)         # not yet built
hand_in(course, "ada", concept_01_1="C")  # the release, with these answers and all solutions
"""

from __future__ import annotations

import re

import nbformat
from mini_course import FIRST, SECOND, make_course
from nbformat import NotebookNode

from proflab_course.course.layout import Course

LESSON = "01_first"
SLIP = "both sides are added where they are to be multiplied"
WHY = "An area is the product of two sides, not the sum of them."
CONCEPTS = f"""\
[[question]]
id = "01_1"
after = "area"
stem = "A field is 3 m by 4 m. How large is it?"
options = {{ A = "7 m²", B = "14 m²", C = "12 m²", D = "none of these" }}
key = "C"
slips = {{ A = "{SLIP}", B = "the way around it is taken for its area, as a fence is" }}
why = "{WHY}"
line = "area(3, 4)"
value = 12
fixed = ["D"]

[[question]]
id = "01_2"
after = "circle"
stem = "A circle's radius doubles. Its area …"
options = {{ A = "doubles", B = "stays", C = "halves", D = "is four times as large" }}
key = "D"
slips = {{ A = "area grows with the side" }}
why = "The radius is squared."
line = "circle(2) / circle(1)"
value = 4.0

[[question]]
id = "01_A"
kind = "audit"
after = "first_demo"
stem = 'A page says "twice the fence, twice the field". What does it take for granted?'
options = {{ A = "a square", B = "one side that stays", C = "a circle", D = "nothing" }}
key = "B"
slips = {{ D = "the sentence is believed" }}
line = "area(6, 4) / area(3, 4)"
value = 2.0
source = "From [a page on fences](https://example.org/fences), read in 2026."
"""
RIGHT = {"concept_01_1": "C", "concept_01_2": "D", "concept_01_A": "B"}


def concept_course(root, text: str = CONCEPTS) -> Course:
    """Write the course with these questions into `root`."""
    course = make_course(root, {LESSON: FIRST, "02_second": SECOND})
    course.module(LESSON).with_name("concepts.toml").write_text(text, encoding="utf-8")
    return course


def cell_of(notebook: NotebookNode, name: str) -> NotebookNode:
    """Return the cell with this grade_id."""
    named = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    return named[name]


def released(course: Course) -> NotebookNode:
    """Return the students' notebook."""
    return nbformat.read(course.release(LESSON), as_version=4)


def shown_letter(notebook: NotebookNode, question: str, option: str) -> str:
    """Return the letter under which a notebook shows an option."""
    text = cell_of(notebook, f"concept_{question}_text").source
    return re.search(rf"^- \*\*(\w)\*\* · {re.escape(option)}$", text, re.MULTILINE)[1]


def hand_in(course: Course, student: str, notebook: NotebookNode | None = None, **answers: str):
    """Hand the release in, solved, with answers given as letters or, with "=", as code."""
    notebook = notebook or released(course)
    source = nbformat.read(course.source(LESSON), as_version=4)
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        name = marks.get("grade_id", "")
        if name in answers:
            code = answers[name]
            cell.source = code if "=" in code else f'{name} = "{code}"'
        elif marks.get("solution") and not marks.get("grade") and "concept" not in name:
            cell.source = cell_of(source, name).source
    path = course.root / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
