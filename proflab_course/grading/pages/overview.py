"""Order a page of feedback: a table of what to correct at the top, passed sections folded.

Below the table is, for each race, the student's place on the class's board (board.py).

`Overview` is a preprocessor for nbgrader's `generate_feedback`. It runs after `HideHidden`, so
the table contains only what a student may see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from sqlalchemy import inspect

from proflab.checks.expect import RACES
from proflab_course.cases.case import GrammarError
from proflab_course.cases.race import Costed
from proflab_course.cases.reader import split
from proflab_course.course.answer_cells import is_answer_cell
from proflab_course.course.dates import Dates
from proflab_course.course.exercises import exercise_of
from proflab_course.course.features import Said, StudentPage, said
from proflab_course.course.layout import Course, CourseError, root_of
from proflab_course.course.settings import read_settings
from proflab_course.course.words import shortened
from proflab_course.grading.answer_key import kind_of, meta
from proflab_course.grading.broken_cells import shown_error
from proflab_course.grading.pages.board import Name, boards, names_shown
from proflab_course.grading.pages.inert import readable
from proflab_course.grading.records.deadline import Deadline
from proflab_course.grading.records.queries import (
    TABLES,
    read_aliases,
    read_handed,
    read_raced,
)
from proflab_course.grading.submissions.read_notebook import MAX_CELLS

HIDDEN_HEAD = "Cases on other input, not shown:"
# As output_cells.py writes it. It names no case, so it is not what to mend first.
_COUNT_OF_HIDDEN = re.compile(r"❌ \d+ cases? on other input failed")
# IPython's name of a cell, in tracebacks.
_FILE = re.compile(r"<ipython-input-(\d{1,6})-[0-9a-f]{1,40}>")
# Links of course/address.py below a title; from a page of feedback they open an empty lesson.
_OPENERS = ("](https://mybinder.org/", "](https://colab.research.google.com/")
_WAY = "% of the way"  # in the line of a race
_MOST_TEXT = 200
ANSWERS = "concept questions"
ANSWER = "proflab_answer"  # what feedback.py counts in a test cell of concept questions


@dataclass
class Line:
    """One line of the table: an exercise with all of its test cells, or an essay.

    state: "yes", "no", or "none" without anything to count yet; anchor: the cell to look at.
    """

    name: str
    anchor: str
    score: float = 0.0
    points: float = 0.0
    state: str = "yes"
    mend: str = ""

    @property
    def shown(self) -> str:
        """Return the points as the table shows them."""
        if not self.points:
            return "–"
        return f"{'–' if self.state == 'none' else f'{round(self.score, 2):g}'} of {self.points:g}"


class Overview(NbGraderPreprocessor):
    """Make the table of a page, and fold the sections that need no correction."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Return the notebook, cut at its headings; the table is in resources["proflab"]."""
        _name_cells(nb.cells)
        nb.cells = [part for cell in nb.cells[:MAX_CELLS] for part in _cut_at_headings(cell)]
        lines = _gather_lines(nb.cells, self._unread(resources))
        if answers := [cell for cell in nb.cells if ANSWER in cell.metadata]:
            lines.append(_answers_line(answers, self._concept_points(resources)))
        for cell in nb.cells:
            if kind_of(cell) == "test" and not _points(cell) and _is_unwritten(cell):
                cell.outputs = []
        waiting = sum(line.points for line in lines if line.state == "none")
        opens, closes = _fold(nb.cells)
        found: dict[str, Any] = {
            "lines": lines,
            "waiting": waiting,
            "opens": opens,
            "closes": closes,
        }
        if due := self._due(resources):
            found["due"] = due
        found["board"] = self._board(resources, _races(nb.cells))
        found["said"] = self._said(resources, lines)
        resources["proflab"] = found
        return nb, resources

    def _due(self, resources: dict) -> str:
        """Return what the page says of the due date, by which the hand-in was graded."""
        if (where := resources.get("nbgrader")) is None:  # a page that nbgrader does not make
            return ""
        lesson, student = where["assignment"], where["student"]
        try:
            dates = Dates.read(Course(root_of(where["db_url"])))
        except CourseError as error:
            self.log.warning("Pages show due dates in UTC: %s", error)
            dates = Dates()
        graded = replace(dates, due={}, extensions=None)  # as the gradebook has them
        with Gradebook(where["db_url"]) as book, book.engine.connect() as connection:
            due, known = read_handed(connection, lesson)
        at, more = known.get(student, (None, None))
        extensions = {} if more is None else {student: more}
        return Deadline.of(graded, lesson, due, {student: at}, extensions).told_to(student)

    def _said(self, resources: dict, lines: list[Line]) -> list[Said]:
        """Return what features put on the page; nothing where the settings are mistaken."""
        if not lines:
            return []
        where = resources["nbgrader"]
        names = [line.name for line in lines if line.name != ANSWERS]
        try:
            root = root_of(where["db_url"])
            return said(StudentPage(root, where["assignment"], where["student"], names))
        except CourseError as error:
            self.log.warning("Nothing of features stands on pages of feedback: %s", error)
            return []

    def _concept_points(self, resources: dict) -> bool:
        """Return whether right answers to concept questions are points in this course."""
        try:
            settings = read_settings(root_of(resources["nbgrader"]["db_url"]))
        except CourseError:
            return False
        return settings.concept_points == 1

    def _unread(self, resources: dict) -> set[str]:
        """Return the cells that need a mark by hand."""
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as book:
            names = where["notebook"], where["assignment"], where["student"]
            grades = book.find_submission_notebook(*names).grades
            return {g.name for g in grades if g.auto_score is None and g.manual_score is None}

    def _board(self, resources: dict, races: dict[Name, str]) -> list[tuple[str, str, str]]:
        """Return, for each race with a cost, exercise, unit, and costs around the student's."""
        if not races:
            return []
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as book:
            if not set(TABLES) <= set(inspect(book.engine).get_table_names()):
                return []  # all graded by nbgrader itself, or by an older release
            try:
                choice = read_settings(root_of(where["db_url"])).board
            except CourseError as error:
                self.log.error("No board on the page of %s: %s", where["student"], error)
                return []
            with book.engine.connect() as connection:
                raced = read_raced(connection, where["assignment"], {cell for cell, _ in races})
                aliases = read_aliases(connection, where["assignment"])
            people = {s.id: f"{s.first_name or ''} {s.last_name or ''}" for s in book.students}
        if (names := names_shown(choice, aliases, people)) is None:
            return []
        lines = {n: b.around(where["student"], names) for n, b in boards(raced).items()}
        return [
            (f"{cell.removeprefix('test_')}, {label}", unit, readable(lines[cell, label]))
            for (cell, label), unit in races.items()
            if lines.get((cell, label))
        ]


# ── the table ───────────────────────────────────────────────────────────────────────────────


def _gather_lines(cells: list[NotebookNode], unread: set[str]) -> list[Line]:
    """Return the lines of the table, in the order of the notebook."""
    solutions = [meta(cell).get("grade_id", "") for cell in cells if kind_of(cell) == "solution"]
    errors = _errors_of_exercises(cells)
    lines: dict[str, Line] = {}
    for cell in cells:
        marks = meta(cell)
        name = str(marks.get("grade_id", ""))
        if kind_of(cell) == "manual":
            lines[name] = _essay_line(cell, name, name in unread)
            marks |= {"shown": lines[name].name, "waits": name in unread}
        elif is_answer_cell(name) and kind_of(cell) == "test":
            marks |= {"shown": ANSWERS, "concept": True}
        elif kind_of(cell) == "test":
            exercise = exercise_of(name, solutions)
            line = lines.setdefault(exercise, Line(exercise, name))
            _add_test(line, cell, name, errors.get(exercise, ""))
            marks |= {"shown": exercise}
    return list(lines.values())


def _answers_line(found: list[NotebookNode], points: bool) -> Line:
    """Return the line on the concept questions: none is to be mended.

    points: whether right ones are points, so that their number is said. Notebooks of older
    releases have a cell for each question.
    """
    what = "right" if points else "answered"
    count, asked = (sum(cell.metadata[ANSWER][key] for cell in found) for key in (what, "asked"))
    said = f"{count} of {asked} {'concept points' if points else 'answered'}"
    return Line(ANSWERS, str(meta(found[0])["grade_id"]), state="none", mend=said)


def _essay_line(cell: NotebookNode, name: str, unread: bool) -> Line:
    shown = "essay" if name.startswith("essay") else name
    line = Line(shown, name, _score(cell), _points(cell))
    if unread:
        line.state, line.mend = "none", "not yet marked"
    elif line.score < line.points:
        line.state = "no"
        line.mend = "see the comment below it" if meta(cell).get("comment") else ""
    return line


def _errors_of_exercises(cells: list[NotebookNode]) -> dict[str, str]:
    """Return the error with which an exercise's own cell ended, by the exercise's name."""
    found = {}
    for cell in cells:
        errors = [o for o in cell.get("outputs", []) if o.output_type == "error"]
        if errors and kind_of(cell) == "solution":
            found[str(meta(cell).get("grade_id", ""))] = shown_error(errors[0])
    return found


def _add_test(line: Line, cell: NotebookNode, name: str, error: str) -> None:
    """Count a test cell into its exercise's line; error: with which the exercise's cell ended."""
    line.score += _score(cell)
    line.points += _points(cell)
    failed = _score(cell) < _points(cell) or (not _points(cell) and _failures(cell))
    if not failed or line.state != "yes":
        return
    line.anchor = line.name if error else name
    if error:
        line.state, line.mend = "no", shortened(readable(f"the cell itself: {error}"), _MOST_TEXT)
    elif not _is_unwritten(cell):
        line.state, line.mend = "no", _first_to_mend(cell)
    elif _points(cell):
        line.state, line.mend = "no", "not written"
    else:
        line.state, line.mend = "none", "optional, not written"


def _first_to_mend(cell: NotebookNode) -> str:
    """Return the first failure, as the cell's outputs describe it."""
    visible = [line for line in _failures(cell) if not _COUNT_OF_HIDDEN.match(line)]
    if visible:
        found = visible[0].removeprefix("❌ ")
    else:
        hidden = (line.strip() for text in _streams(cell) for line in _below_hidden_head(text))
        failed = next((line for line in hidden if line.startswith("❌ ")), "")
        raced = [line for text in _streams(cell) for line in text.splitlines() if _WAY in line]
        found = f"on other input: {failed.removeprefix('❌ ')}" if failed else "see below"
        found = raced[0].removeprefix("✅ ") if raced and not failed else found
    return shortened(readable(found), _MOST_TEXT)


def _failures(cell: NotebookNode) -> list[str]:
    """Return the first line of each failure; with partial credit they are printed."""
    errors = [o.get("evalue", "") for o in cell.get("outputs", []) if o.output_type == "error"]
    firsts = [str(error).partition("\n")[0] for error in errors]
    printed = [
        line
        for text in _streams(cell)
        if HIDDEN_HEAD not in text
        for line in text.splitlines()
        if line.startswith("❌ ")
    ]
    return [*firsts, *printed]


def _is_unwritten(cell: NotebookNode) -> bool:
    """Return True if a test cell failed because its exercise is still the stub."""
    return any("NotImplementedError" in line for line in _failures(cell))


def _streams(cell: NotebookNode) -> Iterator[str]:
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            yield output.text if isinstance(output.text, str) else "".join(output.text)


def _below_hidden_head(text: str) -> list[str]:
    return text.partition(HIDDEN_HEAD)[2].splitlines()


def _score(cell: NotebookNode) -> float:
    return float(meta(cell).get("score") or 0.0)


def _points(cell: NotebookNode) -> float:
    return float(meta(cell).get("points") or 0.0)


def _races(cells: list[NotebookNode]) -> dict[Name, str]:
    """Return the unit of cost of each race that the page shows."""
    found: dict[Name, str] = {}
    for cell in cells:
        if kind_of(cell) == "test" and any(call in cell.source for call in RACES):
            name = str(meta(cell).get("grade_id", ""))
            with suppress(GrammarError):
                for _, answer in split(cell.source, name).answers:
                    if isinstance(answer.held, Costed):
                        found[name, answer.label] = answer.held.unit
    return found


# ── sections ────────────────────────────────────────────────────────────────────────────────


def _cut_at_headings(cell: NotebookNode) -> Iterable[NotebookNode]:
    """Split a text cell into one cell for each section that begins in it; drop links to Binder."""
    if cell.cell_type != "markdown" or meta(cell):
        return [cell]
    parts: list[list[str]] = [[]]
    fenced = False
    for line in cell.source.split("\n"):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        if line.startswith("## ") and not fenced and any(map(str.strip, parts[-1])):
            parts.append([])
        if not (line.lstrip().startswith("[") and any(place in line for place in _OPENERS)):
            parts[-1].append(line)
    attached = cell.get("attachments")
    extra: dict[str, Any] = {"attachments": attached} if attached else {}
    return [new_markdown_cell("\n".join(lines), metadata=cell.metadata, **extra) for lines in parts]


def _fold(cells: list[NotebookNode]) -> tuple[dict[int, str], set[int]]:
    """Return where folded sections begin, with their titles, and where they end.

    The cells before the first section are one section, too.
    """
    starts = [n for n, cell in enumerate(cells) if n and _title(cell, "## ")]
    opens: dict[int, str] = {}
    closes: set[int] = set()
    if not starts:
        return opens, closes
    for start, end in zip([0, *starts], [*starts, len(cells)], strict=True):
        if not any(_needs_a_look(cell) for cell in cells[start:end]):
            passed = any(kind_of(cell) == "test" for cell in cells[start:end])
            title = _title(cells[start], "## ") or _title(cells[start], "# ") or "Beginning"
            opens[start] = f"{title}{': passed ✓' if passed else ''}"
            closes.add(end - 1)
    return opens, closes


def _title(cell: NotebookNode, mark: str) -> str:
    """Return the heading at the beginning of a cell; empty if there is none."""
    begins = cell.cell_type == "markdown" and not meta(cell)
    first = cell.source.lstrip().partition("\n")[0] if begins else ""
    return readable(first[len(mark) :].strip())[:_MOST_TEXT] if first.startswith(mark) else ""


def _needs_a_look(cell: NotebookNode) -> bool:
    """Return True for a cell that stays open: it failed, or a person marked it."""
    kind = kind_of(cell)
    failed = any(output.output_type == "error" for output in cell.get("outputs", []))
    lost = kind == "test" and _score(cell) < _points(cell)
    return (
        failed
        or lost
        or kind == "manual"
        or ANSWER in cell.metadata
        or bool(meta(cell).get("comment"))
    )


# ── names of cells ──────────────────────────────────────────────────────────────────────────


def _name_cells(cells: list[NotebookNode]) -> None:
    """Replace cell numbers in tracebacks by those on the page.

    IPython's numbers count the cells that the worker executes, without test cells.
    """
    executed = [c for c in cells if c.cell_type == "code" and c.get("execution_count")]
    counted = [c.execution_count for c in executed if kind_of(c) != "test"]

    def name(found: re.Match) -> str:
        place = int(found[1]) - 1
        return f"cell [{counted[place]}]" if 0 <= place < len(counted) else "a cell"

    for cell in executed:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.traceback = [_FILE.sub(name, str(line)) for line in output.traceback]
            elif output.output_type == "stream":
                text = output.text if isinstance(output.text, str) else "".join(output.text)
                output.text = _FILE.sub(name, text)
