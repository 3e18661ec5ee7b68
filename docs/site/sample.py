"""A graded class to click through: what instructor and students see, as commands wrote it.

The sample class of the repository is graded anew for each site, in a folder of its own; nothing is
written for this page. Its hand-ins are the repository's own, so they need no sandbox.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from proflab_course.cli import main
from proflab_course.course.layout import Course, CourseError

FOLDER = "sample"
# Of lesson 01: the hand-ins whose feedback is shown, each with what it is an example of.
STUDENTS = {
    "forgets_biases": "a misconception that runs through several exercises",
    "other_megabyte": "a megabyte of 10⁶ bytes, and more",
    "half_done": "the first four exercises alone",
    "syntax_error": "one cell that is no Python",
}
# What is done to the class, in this order; the last two make pages for the next lecture.
_COMMANDS = (
    "proflab grade {lesson} --no-sandbox",
    "nbgrader generate_feedback {lesson} --CourseDirectory.student_id_exclude={others}",
    "proflab report {lesson}",
    "proflab report {lesson} --public",
    "proflab report",
    "proflab questions {lesson}",
    "proflab questions {lesson} --guesses",
)
_PAGES = {
    "the report of the lesson": "reports/{lesson}.html",
    "the same for students, without names": "reports/{lesson}.public.html",
    "the page about the term": "reports/term.html",
    "concept questions for a lecture": "reports/{number}.html",
    "guesses for students' phones": "reports/{number}-guesses.html",
}
_PAGE = """\
# A class, graded

Sixteen hand-ins of the first lesson, as `proflab grade` found them: complete ones, misconceptions,
files that no notebook should be. No account is needed, and nothing here was touched up: the site's
build graded the [sample class](../submitted) and put down what the commands wrote.

What the command says of each hand-in:

```text
{said}
```

| for the instructor | made by |
|---|---|
{pages}

| for a student, as feedback | |
|---|---|
{feedback}

[Your first evening](first-evening.md) does the same on your own computer.
"""


def write_sample(course: Course, target: Path) -> str:
    """Grade the sample class, put its pages into `target`, and return the page that leads to them.

    Raises CourseError with what a command said that failed.
    """
    lesson = course.lessons()[0]
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        _copy(course, lesson, root)
        handed_in = (folder.name for folder in (root / "submitted").iterdir() if folder.is_dir())
        names = {"lesson": lesson, "others": ",".join(sorted({*handed_in} - STUDENTS.keys()))}
        said = [_run(command.format(**names), root) for command in _COMMANDS]
        pages = {
            name: path.format(lesson=lesson, number=lesson[:2]) for name, path in _PAGES.items()
        }
        feedback = {name: f"feedback/{name}/{lesson}/{lesson}.html" for name in STUDENTS}
        for path in (*pages.values(), *feedback.values()):
            copy = target / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / path, copy)
    made = (command.format(lesson=lesson[:2]) for command in _COMMANDS[2:])
    return _PAGE.format(
        said=said[0],
        pages="\n".join(
            f"| {_link(name, path)} | `{command}` |"
            for (name, path), command in zip(pages.items(), made, strict=True)
        ),
        feedback="\n".join(f"| {_link(n, path)} | {STUDENTS[n]} |" for n, path in feedback.items()),
    )


def _link(name: str, path: str) -> str:
    return f'<a href="../{FOLDER}/{path}">{name}</a>'


def _copy(course: Course, lesson: str, root: Path) -> None:
    """Copy what the commands read: configuration, this lesson, and the hand-ins of the class."""
    for name in ("jupyter_config.py", "nbgrader_config.py", "pyproject.toml"):
        shutil.copy(course.root / name, root)
    for room in ("modules", "source", "release"):
        shutil.copytree(course.root / room / lesson, root / room / lesson)
    shutil.copytree(course.root / "submitted", root / "submitted")


def _run(command: str, root: Path) -> str:
    """Run a command in the class's folder and return what it printed."""
    first, *words = command.split()
    if first == "proflab":
        status, said, complaint = _called(words, root)
    else:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [str(Path(sys.executable).with_name(first)), *words],
            cwd=root,
            env=os.environ | {"PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        status, said, complaint = done.returncode, done.stdout, done.stderr
    if status:
        raise CourseError(f"the sample class: {command}: {said}{complaint}")
    return said.strip()


def _called(words: list[str], root: Path) -> tuple[int, str, str]:
    """Run `proflab` in this process, which has imported most of it: as subprocess.run would."""
    said, complaint = io.StringIO(), io.StringIO()
    with contextlib.chdir(root), contextlib.redirect_stdout(said):
        with contextlib.redirect_stderr(complaint):
            status = main(words)
    return status, said.getvalue(), complaint.getvalue()
