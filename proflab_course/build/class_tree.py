"""A tree for a class that is at lesson N, with nothing later in it.

It holds what a student works with and what Binder needs:

- release/ with the lessons up to N (each with its pictures and built.py);
- proflab/, the package that the notebooks import (the whole: it holds no exercise's solution);
- pyproject.toml, LICENSE, binder/, docs/students.md where the course has them, and README.md.

There is no modules/, source/, tests/, submitted/ or gradebook in it. The README is docs/students.md
where there is one, else the course's own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import proflab
import proflab_course
from proflab_course.assemble.command import is_upto
from proflab_course.build.make import Audit, Plan, make, workplace
from proflab_course.course.layout import Course, CourseError

_COPIED = ("pyproject.toml", "LICENSE", "binder", "docs/students.md")
README = ("docs/students.md", "README.md")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".ipynb_checkpoints")


def class_tree(course: Course, through: str, output: Path, audit: Audit = "full") -> list[str]:
    """Make the tree in `output`, which must be new or empty; returns the lessons in it."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise CourseError(f"{output} is not empty: give -o a new folder, nothing is overwritten")
    names = [name for name in course.lessons() if is_upto(name, through)]
    if not names:
        raise CourseError(f"modules/ holds no lesson up to {through}")
    output = output.resolve()
    output.parent.mkdir(parents=True, exist_ok=True)
    with workplace(output.parent) as work:
        if failed := make(Plan.read(course, names), work, audit):
            raise CourseError("\n".join(failed.values()))
        tree = work / "tree"
        tree.mkdir()
        (work / "release").rename(tree / "release")
        _copy_course_files(course.root, tree)
        if output.exists():
            output.rmdir()
        tree.rename(output)
    return names


def _copy_course_files(root: Path, tree: Path) -> None:
    for name in _COPIED:
        _copy(root / name, tree / name)
    for package in (proflab, proflab_course):
        folder = Path(package.__file__).parent
        _copy(folder, tree / folder.name)
    readme = next((root / name for name in README if (root / name).exists()), None)
    if readme:
        _copy(readme, tree / "README.md")


def _copy(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, target, ignore=_LEFT_OUT)
    elif path.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
