"""Turn solved notebooks into one importable file: a student's own profiler.

From a folder of lessons (release, source, submitted/NAME or modules) it takes each exercise's
code in course order, with the code that this needs. The build makes each lesson's built.py in the
same way. If the notebooks are your own, it also stores the functions that pass their visible checks
in mine.py beside them.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from proflab.lesson.statements import DEFINITIONS
from proflab_course.assemble.fill import course_code, filled, lacks, whose
from proflab_course.assemble.gather import Collection, gather, without_files
from proflab_course.assemble.own import store_own
from proflab_course.assemble.package import PROFILER, files_beside
from proflab_course.course.files import replace_file
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import Lesson, read_module, read_notebook

MADE_BY = "Made by `proflab assemble`"
_COMMAND_LINE = """

def main():
    \"\"\"Run the command line of this profiler, and return its exit status.\"\"\"
    from proflab.standalone import main as run

    return run(globals(), {unwritten!r})


if __name__ == "__main__":
    raise SystemExit(main())
"""
_LESSON_IN_NAME = re.compile(r"\d\d_[a-z][a-z0-9_]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab assemble`."""
    parser.add_argument(
        "folder", type=Path, help="the folder of the lessons: release, submitted/NAME, …"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file to write")
    parser.add_argument(
        "--standalone",
        action="store_true",
        help="include the engine, so that the file needs only numpy",
    )
    parser.add_argument(
        "--package",
        action="store_true",
        help="as --standalone; -o is then the folder to make, which pip installs",
    )
    parser.add_argument(
        "--own",
        action="store_true",
        help="with one of these: leave out the course's own functions in place of unwritten ones",
    )
    parser.add_argument("--through", metavar="N", help="take only the lessons up to N")


def run(arguments: argparse.Namespace) -> int:
    """Write the file; print what it contains and which exercises are unwritten."""
    output, beside = _begin(arguments)
    lessons = read_folder(arguments.folder, arguments.through)
    collection = gather(lessons, _known_exercises(lessons))
    modules = _modules_of(lessons)
    _leave_out(collection, modules)
    whole, told = collection, ""
    if _alone(arguments) and not arguments.own:
        course = [
            statement
            for statement in without_files(course_code(arguments.folder), modules)
            if not arguments.through or is_upto(statement.lesson or "00", arguments.through)
        ]
        if lacks(collection, lessons, course):
            whole, told = filled(collection, lessons, course), whose(collection)
            collection.notes = whole.notes
    title = f"A profiler built in {', '.join(lesson.name for lesson in lessons)}."
    text = _with_command_line(whole, [title, told])
    if _alone(arguments):
        from proflab_course.assemble.bundle import with_engine

        text = with_engine(text)
    if arguments.package:
        output.parent.mkdir(exist_ok=True)
    for path, content in {output: text, **beside}.items():
        replace_file(path, content.encode())
    lines = [summary(collection, output), *([f"  {told}"] if told else [])]
    print("\n".join([*lines, *store_own(lessons)]))
    return 0


def _alone(arguments: argparse.Namespace) -> bool:
    return arguments.standalone or arguments.package


def _with_command_line(whole: Collection, about: list[str]) -> str:
    """Return the file's text, which says about itself what is not empty, with its command."""
    if "main" in whole.names:
        raise CourseError("main is the name of the profiler's own command: give yours another")
    text = render(whole, "\n\n".join(filter(None, [*about, f"{MADE_BY}: edit the notebooks."])))
    return text + _COMMAND_LINE.format(unwritten=whole.unwritten_lessons())


def _begin(arguments: argparse.Namespace) -> tuple[Path, dict[Path, str]]:
    """Return the file to write and, by their paths, the texts beside it.

    Raises CourseError if one of them is there and no earlier run has written it.
    """
    output, beside = arguments.output, dict[Path, str]()
    if arguments.package:
        if output.is_file() or not output.parent.is_dir():
            raise CourseError(f"{output} cannot be made: give -o a folder, inside one that exists")
        beside = {output / name: text for name, text in files_beside().items()}
        output /= PROFILER
        if not output.parent.exists():
            return output, beside
    for path in (output, *beside):
        _refuse_foreign(path)
    return output, beside


def _modules_of(lessons: list[Lesson]) -> set[str]:
    """Return the names of the modules that lie beside these lessons, or beside the course's."""
    folders = {Path(lesson.place).parent for lesson in lessons}
    with contextlib.suppress(CourseError):
        course = Course.find()
        folders |= {course.module(name).parent for name in course.lessons()}
    found = {path.stem for folder in folders for path in folder.glob("*.py")}
    return found - sys.stdlib_module_names - {"numpy", "proflab"}


def _leave_out(collection: Collection, modules: set[str]) -> None:
    """Take what needs one of these modules out of a collection, and note its exercises."""
    kept = without_files(collection.statements, modules)
    there = {name for s in kept for name in s.binds}
    gone = {name for s in collection.statements if not s.is_import for name in s.binds} - there
    collection.statements = kept
    for name in [name for name in collection.exercises if name in gone]:
        lesson = collection.exercises.pop(name)
        collection.notes.append(f"{name} stays in {lesson}: it needs a file that lies there")
    collection.unwritten = [name for name in collection.unwritten if name in collection.exercises]


def _refuse_foreign(output: Path) -> None:
    """Raise CourseError if a file would be overwritten that no earlier run has written."""
    if output.is_dir():
        raise CourseError(f"{output} is a folder: give -o the file to write")
    if not output.parent.is_dir():
        raise CourseError(f"the folder {output.parent} for -o does not exist: make it first")
    if output.is_file() and MADE_BY not in output.read_text(encoding="utf-8", errors="replace"):
        raise CourseError(f"{output} was not made by `proflab assemble`: give -o another name")


def summary(collection: Collection, output: Path) -> str:
    """Return a summary of the file, with the exercises that are still to be written."""
    total = len(collection.exercises)
    lines = [f"{output}: {total - len(collection.unwritten)} of {total} exercises"]
    by_lesson: dict[str, list[str]] = {}
    for name, lesson in collection.unwritten_lessons().items():
        by_lesson.setdefault(lesson, []).append(name)
    lines += [
        f"  not yet written in {lesson}: {', '.join(names)}" for lesson, names in by_lesson.items()
    ]
    lines += [f"  note: {note}" for note in collection.notes]
    return "\n".join(lines)


# ── finding the lessons ──────────────────────────────────────────────────────────────────────


def read_folder(folder: Path, through: str | None = None) -> list[Lesson]:
    """Read the lessons in a folder, in course order."""
    if not folder.is_dir():
        raise CourseError(f"{folder} is not a folder: give the one that holds your lessons")
    files = find_lessons(folder)
    if not files:
        raise CourseError(f"{folder} holds no lesson (such as 01_parameters/01_parameters.ipynb)")
    kept = {name: path for name, path in files.items() if not through or is_upto(name, through)}
    if not kept:
        raise CourseError(f"{folder} holds no lesson up to {through}")
    readers = {".py": read_module, ".ipynb": read_notebook}
    return [readers[path.suffix](path, name) for name, path in kept.items()]


def lesson_number(through: str) -> int:
    """Return what --through names: a number (1, 01) or a lesson's name; CourseError if neither."""
    number = re.match(r"\d+", through)
    if not number:
        raise CourseError(f"--through takes a lesson's number, not {through!r}")
    return int(number[0])


def is_upto(lesson: str, through: str) -> bool:
    """Return True if a lesson is not later than the one that --through names."""
    return int(lesson[:2]) <= lesson_number(through)


def find_lessons(folder: Path) -> dict[str, Path]:
    """Return lesson → its file; folders of lessons and loose notebooks alike, in course order."""
    found: dict[str, Path] = {}
    for pattern in ("*/*.ipynb", "*/*.py", "*.ipynb"):
        for path in sorted(folder.glob(pattern)):
            match = _LESSON_IN_NAME.search(path.stem)
            if not match or (path.suffix == ".py" and path.stem != path.parent.name):
                continue
            if path.parent != folder and not _LESSON_IN_NAME.fullmatch(path.parent.name):
                continue
            name = match[0] if path.parent == folder else path.parent.name
            found[name] = _preferred(found.get(name), path, name)
    return dict(sorted(found.items()))


def _preferred(first: Path | None, second: Path, name: str) -> Path:
    """Return the one of two files of a lesson that has exactly its name."""
    if first is None or first.stem == name:
        return first or second
    if second.stem == name:
        return second
    raise CourseError(f"{first} and {second} are both lesson {name}: keep one of them")


def _known_exercises(lessons: Iterable[Lesson]) -> dict[str, list[str]]:
    """Return each lesson's exercises by the course around the working directory, if any."""
    try:
        course = Course.find()
    except CourseError:
        return {}
    known = {}
    for lesson in lessons:
        paths = (course.source(lesson.name), course.release(lesson.name))
        for path in (path for path in paths if path.exists()):
            known[lesson.name] = [c.name for c in read_notebook(path, "").named("exercise")]
            break
    return known


# ── writing the file ─────────────────────────────────────────────────────────────────────────


def render(collection: Collection, docstring: str) -> str:
    """Return the file's text: docstring, imports, then each lesson's code."""
    imports = [s.node for s in collection.statements if s.is_import]
    blocks = [f'"""{docstring}\n"""', _render_imports(imports)]
    lesson, written = "", set()
    for statement in collection.statements:
        if statement.is_import or statement.text in written:
            continue
        written.add(statement.text)
        if statement.lesson != lesson:
            lesson = statement.lesson
            blocks.append(f"\n# ── {lesson} " + "─" * (90 - len(lesson)))
        gap = "\n" if isinstance(statement.node, DEFINITIONS) else ""
        blocks.append(gap + statement.text)
    blocks.insert(2, _render_all(collection.names))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _render_all(names: list[str]) -> str:
    lines = "".join(f'    "{name}",\n' for name in names)
    return f"__all__ = [\n{lines}]" if names else "__all__ = []"


def _render_imports(nodes: Iterable[ast.stmt]) -> str:
    plain: set[str] = set()
    members: dict[str, set[str]] = {}
    for node in nodes:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        alias = node.names[0]
        text = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
        if isinstance(node, ast.Import):
            plain.add(f"import {text}")
        else:
            members.setdefault("." * node.level + (node.module or ""), set()).add(text)
    future = members.pop("__future__", None)
    lines = [_render_from("__future__", future)] if future else []
    lines += sorted(plain)
    lines += [_render_from(module, members[module]) for module in sorted(members)]
    return "\n".join(lines)


def _render_from(module: str, names: set[str]) -> str:
    line = f"from {module} import {', '.join(sorted(names))}"
    if len(line) <= 100:
        return line
    wrapped = textwrap.fill(", ".join(sorted(names)), 96)
    return f"from {module} import (\n{textwrap.indent(wrapped, '    ')},\n)"
