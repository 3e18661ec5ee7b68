"""A tiny course whose first lesson has three concept questions, for tests of building and grading.

course = concept_course(tmp_path)         # not yet built
hand_in(course, "ada", concept_01_1="C")  # the release, with these answers and all solutions
older_form(notebook)                      # the same with a cell for each answer, as once released
"""

from __future__ import annotations

import re

import nbformat
from mini_course import FIRST, SECOND, make_course
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from proflab_classroom.questions.block import HEADING
from proflab_course.course.answer_cells import open_answers
from proflab_course.course.layout import Course
from proflab_course.course.notebook import nbgrader_marks

LESSON = "01_first"
QUESTION = re.compile(r"^(?=\*\*(?:Question|Audit) \d\d\.)", re.MULTILINE)
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


def questions_in(notebook: NotebookNode) -> dict[str, str]:
    """Return the text of each concept question, with its options, by its id, such as "01_1"."""
    texts = (cell.source for cell in notebook.cells if cell.source.startswith(f"## {HEADING}"))
    asked = [text.strip() for block in texts for text in QUESTION.split(block)[1:]]
    return {re.search(r" (\d\d\.\w+)\.\*\*", text)[1].replace(".", "_"): text for text in asked}


def shown_letter(notebook: NotebookNode, question: str, option: str) -> str:
    """Return the letter under which a notebook shows an option."""
    text = questions_in(notebook)[question]
    return re.search(rf"^- \*\*(\w)\*\* · {re.escape(option)}$", text, re.MULTILINE)[1]


def answered(text: str, answers: dict[str, str]) -> str:
    """Return a cell of answers with these, given as letters or, with "=", as code."""
    for name, given in answers.items():
        code = given if "=" in given else f'{name} = "{given}"'
        text = re.sub(rf"^{name} = None.*$", lambda _, code=code: code, text, flags=re.MULTILINE)
    return text


def older_form(notebook: NotebookNode) -> NotebookNode:
    """Return a release with cells of its own for each question, as older releases have them."""
    cells: list[NotebookNode] = []
    texts = questions_in(notebook)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.source.startswith(f"## {HEADING}"):
            cells.append(new_markdown_cell(cell.source.split("\n\n**Question ")[0]))
            imports = "from proflab.lesson import choice, expect"
            cells.append(_marked(new_code_cell(imports), "concept_imports", locked=True))
        elif name.startswith("concept"):
            for answer in open_answers(cell.source):
                text = new_markdown_cell(texts[answer.removeprefix("concept_")])
                form = f'{answer} = None  # "A", "B", "C" or "D"'
                test = f'expect("an answer, A to D", choice({answer}) in "ABCD", True)'
                graded = {"grade": True, "locked": True, "points": 0}
                cells += [
                    _marked(text, f"{answer}_text", locked=True),
                    _marked(new_code_cell(form), answer, solution=True),
                    _marked(new_code_cell(test), f"test_{answer}", **graded),
                ]
        elif not name.startswith("test_concept"):
            cells.append(cell)
    return NotebookNode(notebook, cells=cells)


def _marked(cell: NotebookNode, name: str, **flags: object) -> NotebookNode:
    cell.metadata["nbgrader"] = NotebookNode(nbgrader_marks(name, **flags))
    return cell


def hand_in(course: Course, student: str, notebook: NotebookNode | None = None, **answers: str):
    """Hand the release in, solved, with answers given as letters or, with "=", as code."""
    notebook = solved(course, notebook or released(course), **answers)
    path = course.root / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def solved(course: Course, notebook: NotebookNode, **answers: str) -> NotebookNode:
    """Return the notebook with these answers, all other exercises solved."""
    source = nbformat.read(course.source(LESSON), as_version=4)
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        name = marks.get("grade_id", "")
        if name.startswith("concept"):
            cell.source = answered(cell.source, answers)
        elif name in answers:
            cell.source = answers[name]
        elif marks.get("solution") and not marks.get("grade"):
            cell.source = cell_of(source, name).source
    return notebook
