"""Say where you are in a lesson: each exercise, the points so far, what to do next.

It runs the notebook as saved, without its demo cells, and shows the table that the lesson's last
cell shows. Only visible cases count here; what it says is no grade.
"""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from proflab_course.assemble.command import find_lessons
from proflab_course.assemble.gather import gather
from proflab_course.check.execute import progress_of
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Lesson, read_notebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab check`."""
    parser.add_argument(
        "lesson",
        nargs="?",
        metavar="LESSON",
        help="its number, its name or its notebook; every lesson that you have begun, if not given",
    )
    parser.add_argument(
        "--fail-under",
        type=float,
        metavar="POINTS",
        help="exit with 1 if a lesson has fewer points by the visible checks, for use in CI",
    )
    parser.add_argument(
        "--policy",
        nargs="?",
        const="",
        metavar="NAME",
        help="print what your course asks of AI assistants, or ProfLab's policy of this name",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the table of each lesson; 0 whatever it says, but for --fail-under."""
    if arguments.policy is not None:
        print(_policy(arguments.policy, arguments.lesson), end="")
        return 0
    chosen = find_notebooks(arguments.lesson)
    too_few = False
    for path in chosen:
        lesson = read_notebook(path, path.parent.name, str(path))
        if arguments.lesson is None and len(chosen) > 1 and _is_untouched(lesson):
            print(f"{path}: nothing is written yet\n")
            continue
        progress = progress_of(lesson)
        print(f"{path}\n\n{progress.text()}\n", flush=True)
        points = sum(row.earned for row in progress.rows)
        if arguments.fail_under is not None and points < arguments.fail_under:
            print(f"{points:g} points are fewer than {arguments.fail_under:g}\n", flush=True)
            too_few = True
    return 1 if too_few else 0


def _policy(name: str, given: str | None) -> str:
    """Return a policy's page for assistants: the one of this name, else what the course wrote.

    Raises CourseError if there is no such policy, or no page beside the lessons.
    """
    from proflab_course.build.policy import FILES, policies

    there = policies()
    if name in there:
        return there[name].agents
    choices = ", ".join(there)
    if name:
        raise CourseError(f"there is no policy {name!r}: choose one of {choices}")
    with contextlib.suppress(CourseError):
        folders = [Path(), *(path.parent for path in find_notebooks(given)), Path("..")]
        for folder in folders:
            if (folder / FILES[0]).is_file():
                return (folder / FILES[0]).read_text(encoding="utf-8", errors="replace")
    problem = f"your course has no page {FILES[0]} on AI assistants: ask who teaches it"
    raise CourseError(f"{problem}, or see one of ProfLab's, --policy {choices.replace(', ', '|')}")


def find_notebooks(given: str | None) -> list[Path]:
    """Return the notebooks that are meant, by a path or from the folders around."""
    if given and given.endswith(".ipynb"):
        if not Path(given).is_file():
            raise CourseError(f"there is no notebook {given}")
        return [Path(given)]
    here = Path(given) if given and Path(given).is_dir() else Path()
    found = _around(here)
    if not found:
        problem = f"no lesson is in {here.resolve()}, nor in its folder release/"
        raise CourseError(f"{problem}: go to the folder of the course")
    resolved = here.resolve().name
    wanted = resolved if resolved in found else given if here == Path() else None
    if wanted is None:
        return list(found.values())
    number = int(wanted) if wanted.isdecimal() else None
    meant = [p for name, p in found.items() if name == wanted or int(name[:2]) == number]
    if not meant:
        raise CourseError(f"there is no lesson {wanted!r} (there is {', '.join(found)})")
    return meant


def _around(folder: Path) -> dict[str, Path]:
    """Return lesson → notebook, of the folder's release/, of the folder, or of that around it."""
    for place in (folder / "release", folder, folder / ".."):
        found = find_lessons(place) if place.is_dir() else {}
        notebooks = {name: path for name, path in found.items() if path.suffix == ".ipynb"}
        if notebooks:
            return notebooks
    return {}


def _is_untouched(lesson: Lesson) -> bool:
    found = gather([lesson])
    return found.exercises.keys() <= set(found.unwritten)
