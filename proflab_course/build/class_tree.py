"""A tree for a class: the lessons of a track, up to lesson N, and nothing else.

It holds what a student works with and what Binder needs:

- release/ with the track's lessons up to N (each with its pictures and built.py);
- proflab/, the package that the notebooks import (the whole: it holds no exercise's solution),
  and proflab_course/, for `proflab check` and `proflab assemble`;
- pyproject.toml, LICENSE, binder/, docs/students.md where the course has them, and README.md.

There is no modules/, source/, tests/, submitted/ or gradebook in it. The README is docs/students.md
where there is one, else the course's own; above it stands what the track is. Lines of these pages
that rest on what the tree does not have are left out (`course/passages.py`).
"""

from __future__ import annotations

import datetime
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import proflab
import proflab_course
from proflab_course.assemble.command import MADE_BY, is_upto, lesson_number, render
from proflab_course.assemble.fill import GIVEN
from proflab_course.assemble.gather import gather
from proflab_course.build.facts import Facts
from proflab_course.build.leaks import leaks
from proflab_course.build.make import Depth, make, workplace
from proflab_course.build.prepare import prepare
from proflab_course.build.redrawn import program_notes, refuse_other_orders
from proflab_course.course import passages
from proflab_course.course.dates import Dates, Extension
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import COLAB_SETUP
from proflab_course.course.sections import sections
from proflab_course.course.words import amount, few
from proflab_course.tracks.read import Track

_COPIED = ("pyproject.toml", "LICENSE", "binder", "docs/students.md")
_GIVEN_TITLE = f"""\
The course's own code of what this class is not asked to write.

`proflab assemble --standalone` takes it for a profiler that runs. {MADE_BY}.\
"""
README = ("docs/students.md", "README.md")  # the first that there is becomes the tree's README.md
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".ipynb_checkpoints")


def class_tree(
    course: Course,
    through: str | None,
    output: Path,
    audit: Depth = "full",
    track: str | None = None,
    notes: list[str] | None = None,
    seed: int | None = None,
) -> list[str]:
    """Make the tree in `output`, which must be new or empty; returns the lessons in it.

    through: the number of its last lesson; None: all. track: by name; None: the course's own.
    notes: gets sentences for the author of a track. seed: that of source/, if it was drawn.

    Raises CourseError where options stand in another order than in source/.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise CourseError(f"{output} is not empty: give -o a new folder, nothing is overwritten")
    _refuse_unknown(course, through)
    facts = prepare(course, seed=seed, track=track)
    names = [name for name in facts.wanted if through is None or is_upto(name, through)]
    if not names:
        raise CourseError(f"--through {through}: the track begins with {facts.wanted[0]}")
    refuse_other_orders(facts, names)
    facts.wanted = names
    output = output.resolve()
    output.parent.mkdir(parents=True, exist_ok=True)
    with workplace(output.parent) as work:
        if failed := make(facts, work, audit):
            raise CourseError("\n".join(failed.values()))
        tree = work / "tree"
        tree.mkdir()
        (work / "release").rename(tree / "release")
        facts.notes += program_notes(course, names, tree / "release")
        if facts.track is not None and _is_cut(facts):
            _write_given(facts.track, facts, tree / "release")
        _copy_course_files(course.root, tree)
        write_pages(facts, names, tree)
        if output.exists():
            output.rmdir()
        tree.rename(output)
    if notes is not None:
        notes += facts.notes
    return names


def _is_cut(facts: Facts) -> bool:
    """Return True if the track gives code that the course's own lessons have students write."""
    return any(taken.title for taken in facts.taken.values())


def _write_given(track: Track, facts: Facts, release: Path) -> None:
    """Write the course's own code of what the track does not have students write.

    `proflab assemble --standalone` makes a profiler that runs of it and of what they wrote.
    """
    written = {name for names in track.exercises.values() for name in names}
    asked = {
        cell.where
        for lesson in facts.whole
        for cell in lesson.named("exercise")
        if cell.name in written
    }
    code = gather(facts.whole)
    code.statements = [s for s in code.statements if s.is_import or s.where not in asked]
    (release / GIVEN).write_text(render(code, _GIVEN_TITLE), encoding="utf-8")
    others = {c.name for lesson in facts.whole for c in lesson.named("exercise")} - written
    first = facts.whole[0]
    told = leaks(release, first, facts.whole, "release", others, only=GIVEN)
    if told:
        raise CourseError("\n".join(told))


def _refuse_unknown(course: Course, through: str | None) -> None:
    """Raise CourseError for a number that no lesson has."""
    if through is None:
        return
    upto = [name for name in course.lessons() if is_upto(name, through)]
    if not upto or int(upto[-1][:2]) != lesson_number(through):
        there = f": its last one is {course.lessons()[-1]}" if course.lessons() else ""
        raise CourseError(f"--through {through}: modules/ holds no lesson {through}{there}")


def write_pages(facts: Facts, names: list[str], tree: Path) -> None:
    """Make the pages of a tree that has these lessons: what its track is, and what it allows."""
    for page in README:
        _made_for(facts, names, tree / page)
    if facts.policy:
        facts.policy.write(tree)
        for page in README:
            _put_below_title(tree / page, facts.policy.paragraph)
    if facts.track is not None and _is_cut(facts):
        _put_above(tree / "README.md", track_page(facts.track, facts, names))


def _made_for(facts: Facts, names: list[str], page: Path) -> None:
    """Leave out of a page what rests on lessons or links that a tree does not have.

    Raises CourseError for a line that rests on anything else.
    """
    if not page.exists():
        return
    text = page.read_text(encoding="utf-8")
    there = {f"lesson {name[:2]}" for name in names}
    lessons = [taken.lesson for taken in facts.taken.values()]
    if any(cell.name == COLAB_SETUP for lesson in lessons for cell in lesson.cells):
        there.add("links")
    if not any(taken.title for taken in facts.taken.values()):
        there.add("whole")
    for name in passages.names(text):
        if name not in ("links", "whole") and not re.fullmatch(r"lesson \d\d", name):
            what = "lines of this page rest on `links`, `whole` or `lesson 07`"
            raise CourseError(f"{page.name}: {what}, and not on {name!r}")
    page.write_text(passages.resolve(text, there.__contains__) + "\n", encoding="utf-8")


def track_page(track: Track, facts: Facts, names: list[str]) -> str:
    """Return what a class's README says of its track: sentence, time, and a table of lessons."""
    rows = []
    for name in names:
        lesson = facts.taken[name].lesson
        title = lesson.cells[0].source.splitlines()[0].removeprefix("# ")
        minutes = sum(section.minutes or 0 for section in sections(lesson))
        exercises = [f"`{cell.name}`" for cell in lesson.named("exercise")]
        link = f"release/{name}/{name}.ipynb"
        rows.append(f"| [{title}]({link}) | {', '.join(exercises)} | {minutes} min |")
    table = ["| lesson | what you write | about (estimated) |", "|---|---|--:|", *rows]
    head = (
        f"# {track.title}: {amount(track.hours, 'hour')}\n\n{track.text} What is not in the table"
    )
    head += " is given, as code that you may read."
    if facts.tracks is not None and track.name != facts.tracks.use:
        head += " No links open these lessons, for they would open the course's own, longer ones."
    return "\n\n".join([head, "\n".join(table)]) + "\n"


def _put_above(path: Path, text: str) -> None:
    """Put a page above what a file holds, with a heading of the second level between them."""
    below = path.read_text(encoding="utf-8") if path.exists() else ""
    below = re.sub(r"^(#+ )", r"#\1", below, flags=re.MULTILINE)
    path.write_text(f"{text}\n{below}".rstrip() + "\n", encoding="utf-8")


def _put_below_title(path: Path, paragraph: str) -> None:
    """Put a paragraph below the first line of a page, if there is the page."""
    if path.exists():
        title, _, rest = path.read_text(encoding="utf-8").partition("\n")
        path.write_text(f"{title}\n\n{paragraph}\n{rest}", encoding="utf-8")


def extension_notes(course: Course, names: list[str]) -> Iterator[str]:
    """Yield a sentence for each lesson that somebody may still hand in, with its solutions out.

    Out are the solutions of all lessons before the last one, which stand in its built.py.
    """
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    dates = Dates.read(course)
    for name in names[:-1]:
        out = f"{name}: built.py of {names[-1]} has its solutions, and"
        due, extended = dates.due.get(name), dates.extensions_of(name) or {}
        if due and due > now:
            yield f"{out} it is due only on {dates.shown(due)}"
        ends = {student: _end(extra, due) for student, extra in sorted(extended.items())}
        if later := [student for student, end in ends.items() if end and end > now]:
            yield f"{out} an extension gives more time to {few(later)}"


def _end(extension: Extension, due: datetime.datetime | None) -> datetime.datetime | None:
    """Return when an extension ends; None if that is not known without a due date."""
    if isinstance(extension, datetime.datetime):
        return extension
    return due + extension if due else None


def _copy_course_files(root: Path, tree: Path) -> None:
    for name in _COPIED:
        _copy(root / name, tree / name)
    for package in (proflab, proflab_course):
        folder = Path(package.__path__[0])
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
