"""Build the inventory: for each half a folder with a notebook of each form, and who takes which.

Nothing in the notebooks knows a right answer. Both forms have the same marked cells, so that the
grader takes either for the half's notebook, and finds by the names of the answers which one it is.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from proflab.lesson import outline
from proflab_classroom.inventory.items import (
    FORMS,
    HALVES,
    InventoryItem,
    form_for,
    of_form,
    read_inventory,
)
from proflab_course.build.make import workplace
from proflab_course.collect.roster import Roster, is_student_id
from proflab_course.course.csv_table import csv_text
from proflab_course.course.files import replace_file
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import Lesson, nbgrader_marks, notebook_text, set_cell_ids
from proflab_course.course.release_stamp import STAMP, make_stamp
from proflab_course.course.sections import lesson_outline
from proflab_course.grading.answer_key import released_from

LIST = "private/inventory.csv"

_TITLE = """\
# {number} · What do you expect? ({half} the course, form {form})

Twelve short questions about the speed and the memory of programs, about two minutes each.
They earn no points and enter no mark; what you do not know, you may guess or leave open.
Work alone, without a search and without an AI assistant: the answers are to show what the course
changes, and answers of others hide it.

Put the letter of your answer in place of `None`, such as `"B"`, and say how sure you are:
1 is a guess, 4 is sure. Run each cell, save the notebook in the end, and hand it in.
"""
_CONSENT = """\
## May your answers help others?

May your answers, without your name, be used to improve this course? Write `True` or `False`;
`None` counts as no, and either answer changes nothing for you.
"""
_CHECK = """\
## Is anything open?

The next cell lists the questions without a letter from A to D, or without a number from 1 to 4. It
does not know which answers are right.
"""
# The same text in both forms, so that either is the half's test cell: it names no question.
_TEST = """\
asked = {n: v for n, v in globals().items() if n.startswith(("answer_", "sure_"))}
given = {n: str(v).strip().upper() for n, v in asked.items()}
still_open = sorted(n for n in given if given[n] not in list("ABCD" if n[0] == "a" else "1234"))
expect("still open", still_open, [])
"""


def build_inventory(course: Course) -> list[str]:
    """Make source/ and release/ of both halves; returns the notebooks for students."""
    items, made = read_inventory(course), []
    with workplace(course.root) as work:
        for lesson in HALVES:
            for form in FORMS:
                notebook = form_notebook(items, lesson, form)
                if form == FORMS[0]:  # the grader's own: it marks both forms
                    _write(work / "source" / lesson / f"{lesson}.ipynb", notebook)
                place = Path("release", lesson, f"form_{form}", f"{lesson}.ipynb")
                released = released_from(notebook)
                _write(work / place, released)
                told = lesson_outline(Lesson(lesson, str(place), notebook), released).text()
                (work / place).with_name(outline.FILE).write_text(told, encoding="utf-8")
                made.append(str(place))
            for step in ("source", "release"):
                shutil.rmtree(course.root / step / lesson, ignore_errors=True)
                (course.root / step).mkdir(exist_ok=True)
                (work / step / lesson).rename(course.root / step / lesson)
    return made


def form_notebook(items: list[InventoryItem], lesson: str, form: int) -> NotebookNode:
    """Return the notebook of a half and a form, as the instructor has it."""
    half = HALVES[lesson]
    title = _TITLE.format(number=lesson[:2], half=half, form=form)
    cells = [
        _text(title),
        _marked("from proflab.lesson import expect", "imports", grade=False),
        _text(_CONSENT),
        nbformat.v4.new_code_cell("consent = None  # True or False"),
    ]
    for number, item in enumerate(of_form(items, form), start=1):
        options = [f"- **{seen}** · {item.options[letter]}" for seen, letter in item.shown.items()]
        cells.append(_text("\n".join([f"## Question {number}\n", f"{item.stem}\n", *options])))
        answer = f'answer_{item.id} = None  # "A", "B", "C" or "D"'
        sure = f"sure_{item.id} = None  # how sure? 1 guess, 2, 3, 4 sure"
        cells.append(nbformat.v4.new_code_cell(f"{answer}\n{sure}"))
    cells += [_text(_CHECK), _marked(_TEST.strip(), "test_inventory", grade=True)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": kernel, "language_info": {"name": "python"}}
    )
    set_cell_ids(notebook)
    notebook.metadata[STAMP] = make_stamp(lesson, released_from(notebook).cells)
    return notebook


def write_list(course: Course, roster: Path) -> tuple[Path, int]:
    """Write for each student of a class list the form before and the form after the course.

    Returns the file and how many students it has. Raises CourseError for an id that no folder of a
    hand-in could have.
    """
    students = Roster.read(roster).students
    if strange := [each.id for each in students if not is_student_id(each.id)]:
        raise CourseError(f"{roster}: {strange[0]!r} cannot be a student's id")
    rows: list[list[object]] = [["id", "name", *HALVES.values()]]
    for student in students:
        forms = [form_for(course.root, student.id, half) for half in HALVES.values()]
        rows.append([student.id, student.called, *forms])
    path = course.root / LIST
    path.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(path, csv_text(rows, line_end="\n").encode())
    return path, len(students)


def _text(source: str) -> NotebookNode:
    cell = nbformat.v4.new_markdown_cell(source.strip())
    cell.metadata = nbformat.from_dict({"deletable": False, "editable": False})
    return cell


def _marked(source: str, name: str, grade: bool) -> NotebookNode:
    """Return a locked cell of code, a test cell of 0 points where `grade`."""
    points = {"points": 0} if grade else {}
    marks = nbgrader_marks(name, grade=grade, locked=True, **points)
    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": marks})


def _write(path: Path, notebook: NotebookNode) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebook_text(notebook), encoding="utf-8")
