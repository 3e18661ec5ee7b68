"""Measure what an AI assistant scores that gets a lesson's release and nothing else.

    make ai-baseline AGENT="some-assistant --yes --prompt"
    python benchmarks/ai_baseline.py "some-assistant --prompt" --name "some-assistant 1.2" 02 05

The command is run in a folder that holds what students get, with the task as its last argument and
the rights of whoever runs this. The notebook that it leaves there is graded as a student's is. Each
lesson is tried three times (--times); each try is a row of docs/ai-baseline.csv. The essay's points
are left empty: a person marks the essay, by the lesson's scheme, and writes them in.
"""

from __future__ import annotations

import argparse
import csv
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tqdm import tqdm

from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_notebook
from proflab_course.course.release_stamp import read_stamp
from proflab_course.grading.records.gradebook import Book

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "ai-baseline.csv"
COLUMNS = ("release", "assistant", "date", "lesson", "points", "essay", "minutes")
TASK = (
    "Complete the lesson in {name}.ipynb, in this folder: write every exercise (the cells with "
    "`raise NotImplementedError()`), answer the essay in text, and leave the test cells as they "
    "are. Use nothing of the course outside this folder but `import proflab`. Save it in place."
)


def try_once(course: Course, lesson: str, command: str, work: Path) -> tuple[float, float]:
    """Let the assistant do a lesson; return the points for code of what it leaves, and minutes.

    work: an empty folder. Raises CourseError if the command fails.
    """
    folder = work / "student" / lesson
    shutil.copytree(course.release(lesson).parent, folder)
    began = time.monotonic()
    done = subprocess.run([*shlex.split(command), TASK.format(name=lesson)], cwd=folder)
    minutes = (time.monotonic() - began) / 60
    if done.returncode:
        raise CourseError(f"`{command}` ended with {done.returncode} in lesson {lesson}")
    return grade(course, lesson, folder / f"{lesson}.ipynb", work / "course"), minutes


def grade(course: Course, lesson: str, notebook: Path, place: Path) -> float:
    """Return a notebook's points for code, by the grader, in a copy of the course at `place`."""
    own = shutil.ignore_patterns("recorded.json", "__pycache__")
    shutil.copytree(course.source(lesson).parent, place / "source" / lesson, ignore=own)
    for name in ("jupyter_config.py", "nbgrader_config.py"):
        shutil.copyfile(course.root / name, place / name)
    handed_in = place / "submitted" / "assistant" / lesson / f"{lesson}.ipynb"
    handed_in.parent.mkdir(parents=True)
    shutil.copyfile(notebook, handed_in)
    command = [sys.executable, "-m", "proflab_course.cli", "grade", lesson]
    subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL)
    with Book(Course(place).gradebook) as book:
        return book.scores(lesson)["assistant"]["auto"]


def add_row(table: Path, row: dict[str, object]) -> None:
    """Add a row to the table, which is made if it is not there."""
    new = not table.exists()
    with table.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def main(words: list[str] | None = None) -> int:
    """Try the lessons that are named, or all; return 2 where the command fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", help="starts the assistant; the task is added to it")
    parser.add_argument("lessons", nargs="*", help="default: all")
    parser.add_argument("--name", help="of the assistant, with its version; default: the command")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--course", type=Path, default=ROOT, help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, default=TABLE, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    course = Course(given.course)
    try:
        lessons = [course.lesson(each, "release") for each in given.lessons]
        tries = [name for name in lessons or course.lessons("release") for _ in range(given.times)]
        for lesson in tqdm(tries, unit="try", disable=None):
            released = read_notebook(course.release(lesson), lesson).notebook
            with tempfile.TemporaryDirectory(prefix="proflab-ai-") as place:
                points, minutes = try_once(course, lesson, given.command, Path(place))
            row = {
                "release": read_stamp(released.metadata)["release"][:12],
                "assistant": given.name or given.command,
                "date": datetime.now(UTC).date().isoformat(),
                "lesson": lesson,
                "points": f"{points:g}",
                "minutes": f"{minutes:.1f}",
            }
            add_row(given.table, row)
            print(f"{lesson}: {points:g} points for code in {minutes:.1f} minutes", flush=True)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
