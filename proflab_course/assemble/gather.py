"""Gather the statements of a student's own profiler from the lessons' notebooks.

These are the definitions in exercises' cells and in given (locked) cells, and the imports,
constants and helpers that they need; never test cells, demo cells, or statements that only print.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from proflab.lesson.names import bound_names, used_names
from proflab.lesson.statements import DEFINITIONS, IMPORTS, KNOWN, is_stub, written_statements
from proflab_course.cases.reader import KINDS
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Cell, Lesson

NOWHERE = "is used but defined nowhere"  # fill.py takes the name from before it


@dataclass(frozen=True)
class Statement:
    """A top-level statement that may go into the file. `where` names its cell in messages."""

    lesson: str
    where: str
    node: ast.stmt
    text: str
    required: bool

    @cached_property
    def binds(self) -> set[str]:
        """The names that it defines."""
        return bound_names([self.node])

    @cached_property
    def uses(self) -> set[str]:
        """The names that it needs from elsewhere."""
        return used_names([self.node]) - KNOWN

    @property
    def is_import(self) -> bool:
        """Return True if it belongs at the file's top."""
        return isinstance(self.node, IMPORTS)


@dataclass
class Collection:
    """Collected code: statements in course order, and notes for the user."""

    statements: list[Statement] = field(default_factory=list)
    exercises: dict[str, str] = field(default_factory=dict)
    unwritten: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    given: list[Statement] = field(default_factory=list)  # in given cells, not needed so far

    def unwritten_lessons(self) -> dict[str, str]:
        """Return the exercises that are still to be written, each with its lesson."""
        return {name: self.exercises[name] for name in self.unwritten}

    @property
    def names(self) -> list[str]:
        """Return the names that the file offers, imports apart, in order."""
        found = [n for s in self.statements if not s.is_import for n in sorted(s.binds)]
        return [name for name in dict.fromkeys(found) if not name.startswith("_")]


def gather(lessons: Iterable[Lesson], known: Mapping[str, list[str]] | None = None) -> Collection:
    """Collect from lessons in course order.

    known: each lesson's exercises, for notebooks that have lost their metadata.
    """
    result = Collection()
    for lesson in lessons:
        _gather_lesson(lesson, (known or {}).get(lesson.name, []), result)
    _note_clashes(result)
    return result


def _gather_lesson(lesson: Lesson, known: list[str], result: Collection) -> None:
    candidates: list[Statement] = []
    given: list[Statement] = []
    exercises = [cell.name for cell in lesson.named("exercise") if _is_name(cell.name)]
    exercises += [name for name in known if name not in exercises]
    for cell in lesson.cells:
        statements = _cell_statements(cell, lesson.name, not exercises, result)
        candidates += statements
        given += [s for s in statements if cell.role == "given" and not s.required]
    if not exercises:
        required = [s.node for s in candidates if s.required]
        exercises = [node.name for node in required if isinstance(node, DEFINITIONS)]
    _require_exercises(candidates, exercises)
    candidates = _needed(candidates, result)
    for name in exercises:
        result.exercises[name] = lesson.name
        _note_unwritten(name, candidates, result)
    result.statements += candidates
    result.given += given


def _cell_statements(
    cell: Cell, lesson: str, metadata_lost: bool, result: Collection
) -> list[Statement]:
    if cell.role not in ("exercise", "given", "free"):
        return []
    try:
        nodes = cell.statements()
    except CourseError as error:
        if cell.role != "exercise":
            return []
        result.notes.append(str(error))
        if not _is_name(cell.name):
            return []
        text = f"# The cell {cell.name} cannot be parsed as Python.\n"
        text += f"def {cell.name}(*args, **kwargs):\n    raise NotImplementedError()"
        return [Statement(lesson, cell.where, ast.parse(text).body[0], text, True)]
    wanted = cell.role != "free" or (metadata_lost and not {*KINDS} & used_names(nodes))
    return [
        Statement(lesson, cell.where, node, text, wanted and _is_definition(node))
        for node, text in written_statements(cell.code.splitlines(), nodes)
    ]


def _is_name(text: str) -> bool:
    """Return True for the name of a function; a student's cell may have any text as its name."""
    return text.isidentifier() and not keyword.iskeyword(text)


def _is_definition(node: ast.stmt) -> bool:
    """Return True for a function, a class, a method put into a class, an import without names."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Attribute) for target in node.targets)
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" or node.names[0].name == "*"
    return isinstance(node, DEFINITIONS)


def _require_exercises(candidates: list[Statement], exercises: list[str]) -> None:
    """Take an exercise from another cell if its own cell lacks it or still has the stub."""
    for name in exercises:
        places = [i for i, s in enumerate(candidates) if _defines(s.node, name)]
        own = [i for i in places if candidates[i].required and not is_stub(candidates[i].node)]
        written = [i for i in places if not is_stub(candidates[i].node)]
        if own or not places:
            continue
        chosen = (written or places)[-1]
        for index in places:
            candidates[index] = replace(candidates[index], required=index == chosen)


def _defines(node: ast.stmt, name: str) -> bool:
    return isinstance(node, DEFINITIONS) and node.name == name


def _needed(candidates: list[Statement], result: Collection) -> list[Statement]:
    """Return the required statements and all that they need, in order.

    Code given by an earlier lesson, such as a table, may be needed only by a later one.
    """
    own = _bound_in(candidates)
    candidates = result.given + candidates
    chosen = {index for index, s in enumerate(candidates) if s.required}
    settled = {name for index in chosen for name in candidates[index].binds}
    wanted = {name for index in chosen for name in candidates[index].uses}
    # What the lesson binds itself, it means in its own sense, whatever an earlier one has.
    settled |= {name for s in result.statements for name in s.binds} - own
    while missing := wanted - settled:
        name = min(missing)
        settled.add(name)
        providers = [index for index, s in enumerate(candidates) if name in s.binds]
        if providers:
            chosen.add(providers[-1])
            settled |= candidates[providers[-1]].binds
            wanted |= candidates[providers[-1]].uses
        elif not any("*" in s.binds for s in (*result.statements, *candidates)):
            user = next(i for i in sorted(chosen) if name in candidates[i].uses)
            result.notes.append(f"{candidates[user].where}: {name} {NOWHERE}")
    return [s for index, s in enumerate(candidates) if index in chosen]


def _bound_in(statements: Iterable[Statement]) -> set[str]:
    return {name for s in statements for name in s.binds}


def _note_unwritten(name: str, statements: list[Statement], result: Collection) -> None:
    nodes = [s.node for s in statements if name in s.binds]
    class_name = next((n for n in sorted(_bound_in(statements)) if name.startswith(f"{n}_")), "")
    if (not nodes and not class_name) or any(is_stub(node) for node in nodes):
        result.unwritten.append(name)


def without_files(statements: list[Statement], beside: set[str]) -> list[Statement]:
    """Return the statements that need no module which lies beside a lesson: a file goes alone.

    beside: names of modules. What uses one goes, what uses that, and imports for these alone.
    """
    kept = [s for s in statements if _package(s.node) not in beside]
    while gone := _bound_in(statements) - _bound_in(kept):
        fewer = [s for s in kept if not s.uses & gone]
        if len(fewer) == len(kept):
            break
        kept = fewer
    used = [set[str]().union(*(s.uses for s in group)) for group in (statements, kept)]
    return [s for s in kept if not (s.is_import and s.binds <= used[0] - used[1])]


def _package(node: ast.stmt) -> str:
    """Return the package of which an import takes one name, "" for another statement."""
    if isinstance(node, ast.ImportFrom):
        return "" if node.level else (node.module or "").partition(".")[0]
    return node.names[0].name.partition(".")[0] if isinstance(node, ast.Import) else ""


def _note_clashes(result: Collection) -> None:
    """Note names that two lessons define differently: the file has only the last definition."""
    firsts: dict[str, Statement] = {}
    for statement in result.statements:
        for name in sorted(statement.binds - {"*", "annotations"}):
            first = firsts.setdefault(name, statement)
            if first.text != statement.text:
                place = f"in {first.where}; the last one counts"
                result.notes.append(f"{statement.where}: {name} has another meaning {place}")
