"""Print README's table of lessons with its last two columns as the lessons have them.

    python docs/lesson_table.py

Minutes are the sum of a lesson's headings as students get them, in the default track and with its
concept questions; needed are the lessons whose functions it imports.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from proflab_course.build.prepare import prepare
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Lesson, read_module
from proflab_course.course.sections import sections

ROOT = Path(__file__).parents[1]
_TABLE = re.compile(r"^\| lesson \|.*\n(?:\|.*\n)+", re.MULTILINE)
_JOINED = "\N{NO-BREAK SPACE}"
_HEAD = ["| lesson | what the student builds | time | needs |", "|---|---|--:|---|"]


def columns(course: Course) -> dict[str, tuple[str, str]]:
    """Return for each lesson its time, as `6 h 05`, and the numbers of the lessons it needs."""
    found, owner = {}, {}
    lessons = {name: read_module(course.module(name), name) for name in course.lessons()}
    taken = prepare(course, public=True).taken
    for name, lesson in lessons.items():
        needs = sorted({owner[used] for used in _imported(lesson) if used in owner})
        if name in taken:
            minutes = sum(section.minutes or 0 for section in sections(taken[name].lesson))
            found[name] = (
                f"{minutes // 60}{_JOINED}h{_JOINED}{minutes % 60:02}",
                ", ".join(needs) or "–",
            )
        owner |= {cell.name: name[:2] for cell in lessons[name].named("exercise")}
    return found


def _imported(lesson: Lesson) -> set[str]:
    """Return the names that a lesson imports from built.py."""
    nodes = (n for cell in lesson.cells for s in cell.statements() for n in ast.walk(s))
    imports = (n for n in nodes if isinstance(n, ast.ImportFrom) and n.module == "built")
    return {alias.name for node in imports for alias in node.names}


def table(course: Course, readme: str) -> str:
    """Return the table of lessons in `readme`, with these columns behind the first two."""
    rows, found = [], columns(course)
    for line in _TABLE.search(readme)[0].splitlines()[2:]:
        name = next(name for name in found if f"/{name}/" in line)
        title, built = [part.strip() for part in line.strip("|").split(" | ")[:2]]
        rows.append(f"| {title} | {built.rstrip('|').strip()} | {' | '.join(found[name])} |")
    return "\n".join([*_HEAD, *rows]) + "\n"


if __name__ == "__main__":
    print(table(Course(ROOT), (ROOT / "README.md").read_text(encoding="utf-8")), end="")
