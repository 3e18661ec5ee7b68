"""Courses of one lesson with a class that has handed in, for the benchmarks of grading.

A hand-in is right (the lesson's solutions), half (the first half of the exercises solved) or wrong
(every function returns a value of the wrong form). Each text differs from all others.
"""

from __future__ import annotations

import atexit
import json
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

from proflab_course.build.make import make
from proflab_course.build.prepare import prepare
from proflab_course.course.concepts import is_concept_cell
from proflab_course.course.layout import Course

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("right", "half", "wrong")
_RETURN = re.compile(r"^( +)return (.+)$", re.M)


def make_class(
    place: Path, lesson: str, count: int, kinds: tuple[str, ...], demo: bool, stock: bool
) -> Course:
    """Make a course in `place` with `count` hand-ins of these kinds in turn.

    stock: for `nbgrader autograde` as it comes. Without demo, its hand-ins and its lesson have
    empty demo cells, which `proflab grade` skips by itself.
    """
    course = Course(place)
    place.mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", place)
    config = (ROOT / "jupyter_config.py").read_text(encoding="utf-8")
    if stock:
        config = (
            "c = get_config()\n"
            f"c.CourseDirectory.root = {str(place)!r}\n"
            'c.CourseDirectory.course_id = "proflab"\n'
        )
    (place / "jupyter_config.py").write_text(config, encoding="utf-8")
    built = _built(lesson)
    for folder in ("source", "release"):
        shutil.copytree(built.root / folder / lesson, place / folder / lesson)
    for number in range(count):
        notebook = handed_in(course, lesson, kinds[number % len(kinds)], number)
        if stock and not demo:
            empty_demos(notebook)
        folder = place / "submitted" / f"student_{number:04}" / lesson
        folder.mkdir(parents=True)
        (folder / f"{lesson}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    if stock and not demo:
        source = json.loads(course.source(lesson).read_text("utf-8"))
        empty_demos(source)
        course.source(lesson).write_text(json.dumps(source), encoding="utf-8")
    return course


def handed_in(course: Course, lesson: str, kind: str, number: int = 0) -> dict:
    """Return the notebook of a hand-in of this kind, with the student's number in each answer."""
    release = json.loads((course.root / "release" / lesson / f"{lesson}.ipynb").read_text("utf-8"))
    source = json.loads(course.source(lesson).read_text("utf-8"))
    solutions = {name: "".join(cell["source"]) for name, cell in _exercises(source)}
    names = list(solutions)
    answered = set(names[: len(names) // 2] if kind == "half" else names)
    for name, cell in _exercises(release):
        text = solutions[name] if name in answered else "".join(cell["source"])
        cell["source"] = f"{_wrong(text) if kind == 'wrong' else text}\n# student {number}"
    return release


def _wrong(solution: str) -> str:
    """Return a solution whose last `return` gives a tuple of the value."""
    *_, last = [None, *_RETURN.finditer(solution)]
    if last is None:
        return solution
    return f"{solution[: last.start()]}{last[1]}return (0, 0)\n{solution[last.start() :]}"


def _exercises(notebook: dict) -> list[tuple[str, dict]]:
    """Return the name and the cell of each exercise."""
    found = []
    for cell in notebook["cells"]:
        about = cell["metadata"].get("nbgrader", {})
        if about.get("solution") and not about.get("grade") and cell["cell_type"] == "code":
            if not is_concept_cell(about["grade_id"]):
                found.append((about["grade_id"], cell))
    return found


def empty_demos(notebook: dict) -> None:
    """Leave nothing to execute in cells that only show."""
    for cell in notebook["cells"]:
        if "demo" in cell["metadata"].get("tags", []):
            cell["source"] = ""


@cache
def _built(lesson: str) -> Course:
    """Return a course that has the lesson: this one, or one made for a lesson that it has not."""
    if Course(ROOT).source(lesson).exists():
        return Course(ROOT)
    place = Path(tempfile.mkdtemp(prefix="proflab-bench-"))
    atexit.register(shutil.rmtree, place)
    if failed := make(prepare(Course(ROOT), [lesson], track="all"), place):
        raise SystemExit(f"{lesson} cannot be built: {failed}")
    return Course(place)
