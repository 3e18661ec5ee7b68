"""The rules that a lesson must meet before release; a mistake is one sentence with file and cell.

Checked here is what can be read off a lesson's cells. That a release shows no secret is looked
for in `leaks`; that notebooks run and score as they should is tried in `trial`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from proflab.lesson.names import bound_names, used_names
from proflab.lesson.statements import BUILT, is_stub
from proflab_course.assemble.gather import gather
from proflab_course.build.audit_demos import demos_mistakes, guess_mistakes, shared_guesses
from proflab_course.build.evidence import evidence_mistakes
from proflab_course.build.stamp import LAST_CELL
from proflab_course.cases.case import GrammarError
from proflab_course.cases.reader import split_cell
from proflab_course.course.exercises import exercise_of
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import (
    COLAB_SETUP,
    HIDDEN,
    MARK_SCHEME,
    SOLUTION,
    Cell,
    Lesson,
    Role,
    demos_imports,
    regions,
)
from proflab_course.course.wrong import FOLDER as WRONG
from proflab_course.course.wrong import known_solutions

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

_PLACES: dict[tuple[str, str], tuple[Role, ...]] = {
    SOLUTION: ("exercise", "answer", "manual"),
    HIDDEN: ("test", "answer test"),
    MARK_SCHEME: ("manual",),
}
_PICTURE = re.compile(r"!\[[^]]*\]\(\s*<?([^)\s>]+)|<img[^>]*?\ssrc=[\"']([^\"']+)")


def form_mistakes(lesson: Lesson, facts: Facts) -> Iterator[str]:
    """Yield a sentence for each mistake that can be read off a lesson of the track."""
    built = facts.built(lesson.name).names
    yield from lesson_mistakes(lesson, facts.place(lesson.name), built)


def unclear_wrong(lesson: Lesson, facts: Facts) -> Iterator[str]:
    """Yield a sentence if the lesson's known wrong solutions are not as they have to be."""
    folder = facts.place(lesson.name) / WRONG
    if not folder.is_dir():
        return
    exercises = facts.as_written(lesson.name).named("exercise")
    try:
        known_solutions(folder, {cell.name: cell.source for cell in exercises})
    except CourseError as error:
        yield str(error)


def defined_again(lesson: Lesson, facts: Facts) -> Iterator[str]:
    """Yield a sentence for each name that a lesson and one before it define for built.py."""
    yield from gather([*facts.before(lesson.name), lesson]).notes


def lost_in_release(lesson: Lesson, facts: Facts) -> Iterator[str]:
    """Yield a sentence for what students get of a lesson and lacks something."""
    yield from release_mistakes(lesson, facts.released[lesson.name])


def lesson_mistakes(lesson: Lesson, folder: Path, built: Iterable[str] = ()) -> list[str]:
    """Return a lesson's mistakes; `folder` holds its pictures, `built` is what built.py offers."""
    mistakes = [*_metadata(lesson), *delimiter_mistakes(lesson)]
    if mistakes:  # what follows reads cells that these rules hold for
        return mistakes
    mistakes += [*_python(lesson), *grammar_mistakes(lesson), *_exercise_names(lesson)]
    mistakes += [*_test_names(lesson), *_points(lesson), *_demos(lesson)]
    mistakes += _pictures(lesson, folder)
    if not any(_python(lesson)) and not any(grammar_mistakes(lesson)):
        mistakes += evidence_mistakes(lesson)
    if not any(_python(lesson)):
        mistakes += [*_borrowed_names(lesson), *_built_imports(lesson, set(built))]
        mistakes += [*demos_mistakes(lesson, folder), *guess_mistakes(lesson)]
    return mistakes


def course_mistakes(lessons: Iterable[Lesson]) -> list[str]:
    """Return a line for each name that two cells of the course share, Colab's cell included."""
    first: dict[str, Cell] = {}
    lessons = list(lessons)
    mistakes = list(shared_guesses(lessons))
    for lesson in lessons:
        own: dict[str, Cell] = {}
        for cell in (cell for cell in lesson.cells if cell.name):
            other = own.get(cell.name)
            # Exercises of all lessons share a namespace in built.py and an assembled profiler.
            if not other and cell.role in ("exercise", "test", "manual"):
                other = first.get(cell.name)
            if other:
                problem = f"the grade_id {cell.name} is taken by another cell"
                mistakes.append(f"{cell.where}: {problem} ({other.where.split(',')[0]})")
            own[cell.name] = cell
        first |= own
    return mistakes


def release_mistakes(lesson: Lesson, release: Lesson) -> list[str]:
    """Return what a lesson's release lacks: cells, and names that its stubs leave undefined."""
    released = {cell.name: cell for cell in release.cells if cell.name}
    mistakes = []
    for cell in lesson.named("exercise", "test", "answer", "answer test", "manual", "given"):
        if cell.name not in released:
            mistakes.append(f"{cell.where} is missing from the release")
        elif cell.role == "exercise":
            mistakes += _lost_names(cell, released[cell.name])
            mistakes += _given_lines(cell, released[cell.name])
    return mistakes


def _lost_names(cell: Cell, stub: Cell) -> Iterator[str]:
    try:
        left = _offered(stub.statements())
    except CourseError as error:
        reason = str(error).rsplit(": ", 1)[-1]
        yield f"{cell.where}: without its solution, the stub is not valid Python ({reason})"
        return
    for name in sorted(_offered(cell.statements()) - left):
        yield f"{cell.where}: the stub leaves {name} undefined; put the solution inside it"


def _given_lines(cell: Cell, stub: Cell) -> Iterator[str]:
    """Yield what an exercise's cell gives: a student who writes the whole cell anew loses it."""
    try:
        nodes = stub.statements()
    except CourseError:
        return
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[ast.get_docstring(node) is not None :]
            given = body[:1] if is_stub(node) and not isinstance(body[0], ast.Raise) else []
        else:
            given = [] if isinstance(node, (ast.ClassDef, ast.Raise)) else [node]
        for each in given:
            line = ast.unparse(each).splitlines()[0]
            yield f"{cell.where}: put `{line}` into a locked cell of its own, for it is given"


def _offered(nodes: list[ast.stmt]) -> set[str]:
    """Top-level names, and Class.method for what a class defines."""
    methods = {
        f"{node.name}.{inner.name}"
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for inner in node.body
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    return bound_names(nodes) | methods


# ── one rule each ────────────────────────────────────────────────────────────────────────────


def _metadata(lesson: Lesson) -> Iterator[str]:
    from nbgrader.nbgraderformat import MetadataValidator

    validator = MetadataValidator()
    for cell in lesson.cells:
        if not cell.nbgrader:
            continue
        try:
            validator.validate_cell(cell.node)
        except Exception as error:
            reason = getattr(error, "message", None) or str(error)
            yield f"{cell.where}: nbgrader's metadata is not valid: {reason.splitlines()[0]}"
            continue
        locked = cell.nbgrader.get("locked", False)
        if cell.nbgrader.get("task"):  # grading knows none: its points would stand in no total
            yield f"{cell.where}: no total counts nbgrader's tasks: set grade and solution instead"
        if cell.role == "test" and not locked:
            yield f"{cell.where}: a test cell must be locked"
        if cell.role in ("exercise", "manual") and locked:
            yield f"{cell.where}: a cell that the student fills in must not be locked"


def delimiter_mistakes(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each wrong mark of a solution, of hidden tests or of a mark scheme."""
    if not any(c.nbgrader for c in lesson.cells if c.name not in (COLAB_SETUP, LAST_CELL)):
        example = '`# %% nbgrader={"grade_id": "…", …}`'
        yield f"{lesson.place}: no cell has nbgrader's metadata in its header, {example}"
        return
    for cell in lesson.cells:
        try:
            found = {pair: regions(cell.source, pair) for pair in _PLACES}
        except ValueError as error:
            yield f"{cell.where}: {error}"
            continue
        for pair, roles in _PLACES.items():
            if found[pair] and cell.role not in roles:
                yield f"{cell.where}: {pair[0]} has no place in a cell that is not {_kind(roles)}"
        if cell.role == "exercise" and not any("\n".join(r).strip() for r in found[SOLUTION]):
            yield f"{cell.where}: a solution cell needs {SOLUTION[0]}, the solution, {SOLUTION[1]}"
        if cell.role == "manual" and found[SOLUTION] and found[MARK_SCHEME]:
            yield f"{cell.where}: leave out {SOLUTION[0]}: nbgrader clears the whole cell"


def _kind(roles: tuple[Role, ...]) -> str:
    words = {"exercise": "a solution cell", "test": "a test cell", "manual": "graded by hand"}
    return words[roles[0]]


def _python(lesson: Lesson) -> Iterator[str]:
    for cell in lesson.cells:
        try:
            cell.statements()
        except CourseError as error:
            yield str(error)


def grammar_mistakes(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each test cell that cannot be split."""
    for cell in lesson.named("test"):
        try:
            split_cell(cell)
        except GrammarError as error:
            yield str(error)


def _exercise_names(lesson: Lesson) -> Iterator[str]:
    tests = lesson.tests
    for cell in lesson.named("exercise"):
        try:
            offered = _offered(cell.statements())
        except CourseError:
            continue
        # Timer_start may stand in a cell that defines the class Timer with its method start.
        if cell.name not in {name.replace(".", "_") for name in offered}:
            found = ", ".join(sorted(n for n in offered if "." not in n)) or "nothing"
            yield f"{cell.where}: the cell defines {found}, but its grade_id is {cell.name}"
        if not tests[cell.name]:
            yield f"{cell.where}: no test cell test_{cell.name} checks this exercise"


def _test_names(lesson: Lesson) -> Iterator[str]:
    written: set[str] = set()
    expected: dict[str, int] = {}
    for cell in lesson.cells:
        if cell.role == "exercise":
            written.add(cell.name)
        if cell.role != "test":
            continue
        exercise = exercise_of(cell.name, written)
        if not cell.name.startswith("test_") or exercise not in written:
            yield f"{cell.where}: a test cell is named test_ and the exercise above that it checks"
            continue
        number = expected.get(exercise, 0) + 1
        expected[exercise] = number
        name = f"test_{exercise}" if number == 1 else f"test_{exercise}_{number}"
        if cell.name != name:
            yield f"{cell.where}: this is test cell {number} of {exercise}, so name it {name}"


def _points(lesson: Lesson) -> Iterator[str]:
    if not any(cell.points for cell in lesson.named("test")):
        yield f"{lesson.place}: no test cell has points; give them to at least one"


def _demos(lesson: Lesson) -> Iterator[str]:
    for cell in lesson.named("demo"):
        if not cell.nbgrader.get("locked") or not cell.name:
            yield f"{cell.where}: a demo cell must be locked and have a grade_id"


def _borrowed_names(lesson: Lesson) -> Iterator[str]:
    """Yield cells that use what a test or demo cell defines, which the grader may not have run."""
    lent: dict[str, Cell] = {}
    for cell in lesson.cells:
        nodes = cell.statements()
        own = bound_names(nodes)
        for name in sorted((used_names(nodes) - own) & lent.keys()):
            problem = f"a {lent[name].role} cell, may define nothing for a later cell"
            yield f"{cell.where}: {name} comes from {lent[name].name}, which, as {problem}"
        if cell.role in ("test", "demo"):
            lent |= dict.fromkeys(own - bound_names(demos_imports(nodes)), cell)
        else:
            lent = {name: lender for name, lender in lent.items() if name not in own}


def _built_imports(lesson: Lesson, built: set[str]) -> Iterator[str]:
    for cell in lesson.cells:
        for node in (n for s in cell.statements() for n in ast.walk(s)):
            if isinstance(node, ast.Import) and any(a.name == BUILT for a in node.names):
                yield f"{cell.where}: write `from {BUILT} import …`, not `import {BUILT}`"
            if isinstance(node, ast.ImportFrom) and node.module == BUILT:
                for name in sorted({alias.name for alias in node.names} - built):
                    yield f"{cell.where}: no earlier lesson builds {name}, so {BUILT} lacks it"


def _pictures(lesson: Lesson, folder: Path) -> Iterator[str]:
    for cell in lesson.cells:
        if cell.node.cell_type != "markdown":
            continue
        for match in _PICTURE.finditer(cell.source):
            target = match[1] or match[2]
            outside = re.match(r"[a-z]+:", target)
            if not outside and not (folder / unquote(target)).is_file():
                yield f"{cell.where}: the picture {target} is not in {folder.name}/"
