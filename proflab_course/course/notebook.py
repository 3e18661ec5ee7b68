"""Read a lesson's text or notebook as cells, each with its role, and write it reproducibly.

Checks belong into build/audit.py, and writing of folders into build/.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any, Literal

import nbformat
from nbformat import NotebookNode

from proflab.lesson.statements import parsed
from proflab_course.course import passages
from proflab_course.course.answer_cells import is_answer_cell
from proflab_course.course.exercises import exercise_of
from proflab_course.course.layout import CourseError
from proflab_course.course.prose import join_sentences

Role = Literal[
    "exercise",
    "test",
    "answer",
    "answer test",
    "manual",
    "demo",
    "setup",
    "milestone",
    "given",
    "free",
    "text",
]

# nbgrader's ClearSolutions, ClearHiddenTests and ClearMarkScheme, which make the release, look for
# lines that hold these words; the course asks for exactly these lines.
SOLUTION = ("### BEGIN SOLUTION", "### END SOLUTION")
HIDDEN = ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
MARK_SCHEME = ("=== BEGIN MARK SCHEME ===", "=== END MARK SCHEME ===")

# A grade_id in released notebooks: one that is handed in is matched by it.
COLAB_SETUP = "colab_setup"
DEMOS = "demos"  # the module beside a lesson that only its demo cells may import
GUESS_TAG = "guess"
GIVEN_TAG = "given"  # of a locked cell with the code of an exercise that a track leaves out
# The first line of such a cell, and of every other that a track has kept for its definitions. The
# build writes it (tracks/apply.py); grading/given_code.py looks for it in hand-ins of any age.
GIVEN_LINE = re.compile(r"^# Given: lesson \d\d, ", re.MULTILINE)
# Colab reads the last two: whether a lesson needs a GPU, and settings of its page.
_NOTEBOOK_METADATA = ("kernelspec", "accelerator", "colab")
# jupytext's metadata about blank lines in the text.
_LAYOUT_OF_TEXT = ("lines_to_next_cell", "lines_to_end_of_cell_marker")
# nbformat allows a cell's id these characters, and 64 of them at most.
_FORBIDDEN_IN_ID = re.compile(r"[^A-Za-z0-9_-]")


# A build asks for a cell's statements often, and changes none of them.
read_statements = functools.lru_cache(maxsize=4096)(parsed)


@dataclass(frozen=True)
class Cell:
    """One cell of a lesson. `where` names it in messages: file and cell; `place` is the file."""

    # A build asks a hundred thousand times; NotebookNode's attributes take longer than its items.
    node: NotebookNode
    where: str
    place: str = ""

    @property
    def source(self) -> str:
        """The cell's text."""
        return self.node["source"]

    @property
    def nbgrader(self) -> dict:
        """nbgrader's metadata; empty where there is none."""
        return self.node["metadata"].get("nbgrader", {})

    @property
    def name(self) -> str:
        """The grade_id; empty where there is none."""
        return str(self.nbgrader.get("grade_id", ""))

    @property
    def tags(self) -> list[str]:
        """The cell's tags."""
        return list(self.node["metadata"].get("tags", []))

    @property
    def points(self) -> float:
        """The points of a graded cell, 0 for another; CourseError if they are no number."""
        points = self.nbgrader.get("points", 0)
        try:
            return float(points)
        except (TypeError, ValueError):
            raise CourseError(f"{self.where}: its points are a number, not {points!r}") from None

    @property
    def role(self) -> Role:
        """Return the cell's purpose; "given" is locked code, "free" code is the student's.

        "answer" and "answer test" belong to a concept question, which is no exercise.
        """
        marks = self.nbgrader
        grade, solution = marks.get("grade"), marks.get("solution")
        if grade and solution:
            return "manual"
        if self.node["cell_type"] != "code":
            return "text"
        if grade or solution:
            if is_answer_cell(self.name):
                return "answer test" if grade else "answer"
            return "test" if grade else "exercise"
        tags = self.tags
        for tag in ("demo", "setup", "milestone"):
            if tag in tags:
                return tag
        return "given" if marks.get("locked") else "free"

    @property
    def code(self) -> str:
        """A code cell's Python, with IPython's magics turned into calls; empty for text."""
        if self.node["cell_type"] != "code":
            return ""
        # IPython takes long to import, and few cells have magics.
        if re.search(r"^[ \t]*+[%!?]|\?[ \t]*+$|=[ \t]*+[%!]", self.source, re.MULTILINE):
            from IPython.core.inputtransformer2 import TransformerManager

            return TransformerManager().transform_cell(self.source)
        return self.source

    def statements(self) -> list[ast.stmt]:
        """Return the top-level statements of a code cell; CourseError if it is not Python."""
        try:
            return list(read_statements(self.code))
        except SyntaxError as error:
            where = f"{self.where}, line {error.lineno}" if error.lineno else self.where
            raise CourseError(f"{where}: {error.msg}") from None


@dataclass(frozen=True)
class Lesson:
    """A lesson's cells. `place` is the file as messages name it."""

    name: str
    place: str
    notebook: NotebookNode

    @property
    def cells(self) -> list[Cell]:
        """The cells in order, each with its place for messages."""
        return [
            Cell(node, f"{self.place}, {_cell_title(node, number)}", self.place)
            for number, node in enumerate(self.notebook.cells, start=1)
        ]

    def named(self, *roles: Role) -> list[Cell]:
        """Return the cells of these roles, in order."""
        return [cell for cell in self.cells if cell.role in roles]

    @property
    def tests(self) -> dict[str, list[Cell]]:
        """Return the test cells of each exercise, all in order."""
        found: dict[str, list[Cell]] = {cell.name: [] for cell in self.named("exercise")}
        for cell in self.named("test"):
            if (exercise := exercise_of(cell.name, found)) in found:
                found[exercise].append(cell)
        return found


def _cell_title(node: NotebookNode, number: int) -> str:
    name = node["metadata"].get("nbgrader", {}).get("grade_id")
    if name:
        return f"cell {name}"
    first = (node["source"].strip()[:99].splitlines() or ["empty"])[0].strip()
    return f"cell {number} ({first[:40]!r})"


def read_module(path: Path, lesson: str, place: str = "") -> Lesson:
    """Read a lesson's text (jupytext percent format, with its header) as cells with stable ids.

    Text cells are those of the whole lesson; one whose lines say what they rest on keeps its text
    with that in its metadata, under `passages.KEY`, for `tracks/apply.py`.
    """
    place = place or str(path)
    text, notebook = read_percent(path, place)
    if not re.match(r"# ---\n(#.*\n)*?# jupyter:", text):
        raise CourseError(f"{place} does not begin with a jupytext header: its metadata is lost")
    kept = {key: notebook.metadata[key] for key in _NOTEBOOK_METADATA if key in notebook.metadata}
    if "kernelspec" not in kept:
        raise CourseError(f"{place} names no kernelspec in its header, so Jupyter cannot run it")
    kept["kernelspec"].setdefault("language", "python")
    notebook.metadata = nbformat.from_dict({**kept, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        for key in _LAYOUT_OF_TEXT:
            cell.metadata.pop(key, None)
        if cell.cell_type == "markdown":
            if passages.is_marked(cell.source):
                cell.metadata[passages.KEY] = cell.source
            cell.source = join_sentences(passages.in_whole(cell.source))
    set_cell_ids(notebook)
    return Lesson(lesson, place, notebook)


def read_percent(path: Path, place: str) -> tuple[str, NotebookNode]:
    """Return a text in jupytext's percent format, and its cells; CourseError if it is another."""
    try:
        text = path.read_text(encoding="utf-8")
        return text, copy.deepcopy(_parsed(text))
    except OSError as error:
        raise CourseError(f"{place} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CourseError(f"{place} is not in UTF-8: save it as a text in UTF-8") from None
    except Exception as error:  # of jupytext, or of the YAML in its header
        reason = " ".join(str(error).split())
        raise CourseError(f"{place} is not in jupytext's percent format: {reason}") from None


@functools.lru_cache(maxsize=32)
def _parsed(text: str) -> NotebookNode:
    """Return what jupytext reads, kept: a build and the tests read each text many times."""
    import jupytext

    return jupytext.reads(text, fmt="py:percent")


def read_notebook(path: Path, lesson: str, place: str = "") -> Lesson:
    """Read a notebook file as cells; CourseError if it is not a notebook."""
    place = place or str(path)
    try:
        notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except OSError as error:
        raise CourseError(f"{place} cannot be read: {error.strerror}") from None
    except Exception:  # nbformat has no one error for what is no notebook
        notebook = None
    if notebook is None or not all(map(_is_cell, notebook.cells)):
        raise CourseError(f"{place} is not a notebook: open it in Jupyter and save it")
    return Lesson(lesson, place, notebook)


def read_source(path: Path) -> NotebookNode:
    """Return an instructor's notebook of source/; CourseError if it cannot be used."""
    try:
        # As nbformat.read does, without compiling its schema: it only logs what it finds.
        return nbformat.convert(nbformat.reader.reads(path.read_text("utf-8")), 4)
    except FileNotFoundError:
        raise CourseError(f"{path} does not exist: run `proflab build` first") from None
    except Exception as error:  # nbformat has no one error for what is no notebook
        raise CourseError(f"{path} is not a notebook ({error}): run `proflab build`") from None


def _is_cell(cell: NotebookNode) -> bool:
    """Return True if the fields of a cell that are read have the types that Jupyter writes."""
    metadata, outputs = cell.get("metadata"), cell.get("outputs", [])
    texts = cell.get("source"), cell.get("cell_type")
    if not all(isinstance(text, str) for text in texts) or not isinstance(metadata, dict):
        return False
    data = [output.get("data", {}) for output in outputs if isinstance(output, dict)]
    return (
        isinstance(metadata.get("nbgrader", {}), dict)
        and isinstance(metadata.get("tags", []), list)
        and isinstance(cell.get("execution_count"), (int, type(None)))
        and isinstance(outputs, list)
        and len(data) == len(outputs)
        and all(isinstance(each, dict) for each in data)
    )


def notebook_text(notebook: NotebookNode) -> str:
    """Return the notebook's file, the same bytes for the same cells."""
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def nbgrader_marks(name: str, **flags: Any) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell; flags: those of grade, locked, solution that hold."""
    known = {"grade": False, "locked": False, "solution": False, "task": False}
    # nbgrader refuses cells of an older and of a newer schema.
    return {"grade_id": name, "schema_version": 3, **known, **flags}


def demos_imports(nodes: Iterable[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the statements that import demos.py: one demo cell may do so for those below it."""
    for node in nodes:
        if isinstance(node, ast.Import) and any(alias.name == DEMOS for alias in node.names):
            yield node
        elif isinstance(node, ast.ImportFrom) and node.module == DEMOS:
            yield node


def set_cell_ids(notebook: NotebookNode) -> None:
    """Give every cell a reproducible id: its grade_id, else one derived from its text.

    Equal texts are told apart by their order, so that a new cell changes no other cell's id.
    """
    # Cells have ids from 4.5 on.
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        wanted = _wanted_id(cell)
        seen[wanted] += 1
        cell["id"] = wanted if seen[wanted] == 1 else f"{wanted}-{seen[wanted]}"


def _wanted_id(cell: NotebookNode) -> str:
    name = str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
    valid = _FORBIDDEN_IN_ID.sub("-", name)
    if valid and valid == name and len(name) <= 58:  # leaves room for "-2" if a name occurs twice
        return name
    digest = hashlib.sha256(f"{cell.cell_type}\n{name or cell.source}".encode()).hexdigest()
    return f"{valid[:40]}-{digest[:8]}" if valid else f"{cell.cell_type}-{digest[:12]}"


def regions(source: str, delimiters: tuple[str, str]) -> list[list[str]]:
    """Return the lines of each region between two delimiters; ValueError if unbalanced."""
    return [list(lines.values()) for lines in numbered_regions(source, delimiters)]


def numbered_regions(source: str, delimiters: tuple[str, str]) -> list[dict[int, str]]:
    """Return the lines of each region by their numbers, from 1; ValueError if unbalanced."""
    begin, end = delimiters
    found: list[dict[int, str]] = []
    inside = False
    for number, line in enumerate(source.splitlines(), start=1):
        marks = [mark for mark in delimiters if mark.strip("#= ") in line]
        if marks and line.strip() not in delimiters:
            raise ValueError(f"line {number} must be `{marks[0]}` and nothing else")
        if line.strip() == begin:
            if inside:
                raise ValueError(f"line {number}: {begin} inside another")
            found.append({})
            inside = True
        elif line.strip() == end:
            if not inside:
                raise ValueError(f"line {number}: {end} without {begin}")
            inside = False
        elif inside:
            found[-1][number] = line
    if inside:
        raise ValueError(f"{begin} without {end}")
    return found


def replace_regions(source: str, delimiters: tuple[str, str], instead: Iterable[str]) -> str:
    """Return the source with each region between two delimiters replaced by these lines.

    They are indented as the region is, whose delimiters go with it.
    """
    begin, end = map(re.escape, delimiters)
    region = rf"^([ \t]*){begin}.*?^[ \t]*{end}[^\n]*\n?"
    text = "".join(f"{line}\n" for line in instead)
    return re.sub(
        region, lambda found: indent(text, found[1]), source, flags=re.DOTALL | re.MULTILINE
    )
