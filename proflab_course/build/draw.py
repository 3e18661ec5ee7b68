"""Draw what is another one for each class: hidden cases, a lesson's files, shapes of its races.

How hidden cases vary is in `grading/own_numbers/cases.py`; `by_student.py` draws files and races
for each student.

A lesson's folder may hold `draw.py`, which the build runs and copies nowhere. Nor does it copy
files `draw_*.py`, which draw.py may run (`runpy.run_path`, by their place beside its `__file__`).
Its function `drawn(number, shuffled, student)` returns the files to write beside the notebook, as
text by name, by a hidden race's label the shapes of its inputs, by a race's label the floor that it
says, and by an exercise's name the body that solves it, where the lesson's own does not solve what
is drawn. number(low, high, *words) and shuffled(items, *words) are decided by the course's secret,
the seed where there is one, and the words. What full marks cost follows from the solution.
"""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proflab_course.build.trial import execute, solved_run
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import SOLUTION, Cell, Lesson, replace_regions
from proflab_course.course.secret import draw, shuffled
from proflab_course.grading.own_numbers.cases import count_varying, vary_cases

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

FILE = "draw.py"
# build/make.py leaves both out of source/ and release/.
BESIDE = "draw_*.py"  # what draw.py runs, and students see no more than that file
# Full marks, by the cost of the class's solution; a student's may cost 1.035 times it.
_ABOVE = 1.045
# Is about the class's numbers; for a student's own nobody knows the best cost.
_BEST = re.compile(r"best=[\d._]+,\s*")


@dataclass(frozen=True)
class Drawn:
    """Hold what is drawn: files by name, by a race's label the shape of each input, and solutions.

    solutions: by the exercise's name the body of its function. floors: by a race's label the cost
    that no program goes below, for races that say `floor=`
    """

    files: Mapping[str, str]
    shapes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    solutions: Mapping[str, str] = field(default_factory=dict)
    floors: Mapping[str, float] = field(default_factory=dict)


def drawn(folder: Path, secret: bytes, student: str = "") -> Drawn:
    """Return what a lesson's draw.py draws. Raises CourseError where it fails.

    student: whose files they are; empty for those of the class.
    """
    lesson = folder.name
    number = lambda low, high, *words: draw(secret, lesson, *words, low=low, high=high)  # noqa: E731
    mixed = lambda items, *words: shuffled(secret, lesson, *words, items=items)  # noqa: E731
    try:
        found = runpy.run_path(str(folder / FILE))["drawn"](number, mixed, student)
        parts = ("files", "shapes", "solutions", "floors")
        return Drawn(*(dict(found.get(part, {})) for part in parts))
    except Exception as error:
        where = f"modules/{lesson}/{FILE}"
        raise CourseError(f"{where} draws nothing: {type(error).__name__}: {error}") from None


def draw_program(lesson: Lesson, facts: Facts) -> Lesson:
    """Draw a class's files, and the shapes of its hidden races, of a lesson that has a draw.py.

    Raises CourseError where the solution does not win a race that is drawn.
    """
    folder, target = facts.place(lesson.name), facts.source(lesson.name)
    if facts.secret is None or not (folder / FILE).exists():
        return lesson
    found = drawn(folder, facts.secret)
    write(found, target)
    put_solutions(lesson, found)
    shapes = found.shapes.items()
    changed = sum(_reshape(cell, *each) for cell in lesson.named("test") for each in shapes)
    for cell in lesson.named("test"):
        for label, floor in found.floors.items():
            set_floor(lesson, cell, label, floor)
    set_full_marks(lesson, target)
    facts.notes.append(f"{lesson.name}: its program and {changed} of its cases drawn")
    return lesson


def write(found: Drawn, target: Path) -> None:
    """Write the drawn files into a folder."""
    for name, text in found.files.items():
        (target / name).write_text(text, encoding="utf-8")


def put_solutions(lesson: Lesson, found: Drawn) -> None:
    """Put the drawn bodies in the place of the lesson's own solutions."""
    for cell in lesson.named("exercise"):
        if body := found.solutions.get(cell.name):
            begin, end = SOLUTION
            lines = (begin, *body.rstrip("\n").split("\n"), end)
            cell.node.source = replace_regions(cell.source, SOLUTION, lines)


def set_full_marks(lesson: Lesson, folder: Path) -> None:
    """Put what full marks cost into each race, by what the lesson's solution costs there.

    A demo cell that says the same `full=` as a race is changed with it. What is the best cost for
    the program as it is drawn is not known: no race says one, and no demo cell.
    """
    [run] = execute([solved_run(lesson, folder)], 1)
    run.conclude()
    demos = [c.node for c in lesson.cells if "demo" in c.node.metadata.get("tags", [])]
    for cell in lesson.named("test"):
        for label in _races(cell):
            call = _races(cell)[label]
            result = run.raced.get((cell.name, label), {})
            if "ms" not in result or result["wrong"]:
                told = result.get("refused") or result.get("wrong") or "it gave no tape"
                raise CourseError(f"{cell.where}, {label!r}: as drawn, the solution fails: {told}")
            [old] = [_text(cell, k) for k in call.keywords if k.arg == "full"]
            new = f"full={_ABOVE * result['ms']:.4g}"
            case = _text(cell, call)
            cell.node.source = cell.source.replace(case, _BEST.sub("", case.replace(old, new)))
            for node in demos:
                if old in node.source:
                    node.source = _BEST.sub("", node.source.replace(old, new))


def set_floor(lesson: Lesson, cell: Cell, label: str, floor: float) -> None:
    """Put a floor into the race of a cell that has this label, if it has one.

    Other cells that say the same `floor=`, those of a log and of pictures, are changed with it.
    Raises CourseError for a race that says none.
    """
    if (call := _races(cell).get(label)) is None:
        return
    old = next((_text(cell, k) for k in call.keywords if k.arg == "floor"), "")
    if not old:
        raise CourseError(f"{cell.where}, {label!r}: a floor is drawn: the race says floor=, too")
    new, case = f"floor={floor:.4g}", _text(cell, call)
    cell.node.source = cell.source.replace(case, case.replace(old, new))
    for other in lesson.cells:
        if other.node is not cell.node:
            other.node.source = other.source.replace(old, new)


def _reshape(cell: Cell, label: str, shapes: Mapping[str, Any]) -> bool:
    """Give a race's inputs other shapes; return True if the cell has that race."""
    if (call := _races(cell).get(label)) is None:
        return False
    case = changed = _text(cell, call)
    for keyword in call.args[1].keywords:  # type: ignore[attr-defined]  # traced(…)
        if keyword.arg in shapes:
            changed = changed.replace(_text(cell, keyword), f"{keyword.arg}={shapes[keyword.arg]}")
    cell.node.source = cell.source.replace(case, changed)
    return True


def _races(cell: Cell) -> dict[str, ast.Call]:
    """Return the cell's calls of expect_faster by their labels."""
    values = [getattr(statement, "value", None) for statement in cell.statements()]
    calls = [value for value in values if isinstance(value, ast.Call)]
    races = [call for call in calls if getattr(call.func, "id", "") == "expect_faster"]
    return {ast.literal_eval(call.args[0]): call for call in races}


def _text(cell: Cell, node: ast.AST) -> str:
    return ast.get_source_segment(cell.source, node) or ""


# ── hidden cases ─────────────────────────────────────────────────────────────────────────────


def draw_cases(lesson: Lesson, facts: Facts) -> Lesson:
    """Draw the lesson's hidden cases that may vary for the class, where a seed asks for it.

    Those of each student are drawn from the cases as they are written, when hand-ins are graded.
    """
    vary_cases(lesson, None if facts.own_numbers else facts.key, facts.source(lesson.name))
    return lesson


def count_drawn(lesson: Lesson, facts: Facts) -> Iterator[str]:
    """Yield how many of the lesson's hidden cases may vary, or have been drawn, where any do."""
    vary, values, others = count_varying(lesson)
    by_seed = facts.key is not None and not facts.own_numbers
    if not ((by_seed or facts.own_numbers) and values):
        return
    how = "drawn" if by_seed else "vary"
    told = f"{lesson.name}: {vary} of {values} hidden cases {how}"
    told += f", and {others} of errors, bounds or races stay" if others else ""
    if by_seed and not vary:
        told += f": write cases of your own into private/{lesson.name}.py"
    yield told
