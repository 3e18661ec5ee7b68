"""Measure what grading a class's capstones takes, and see whether points are always the same.

    python benchmarks/bench_capstone.py             # 40 hand-ins, with two jobs and with one
    python benchmarks/bench_capstone.py --quick     # 8 of them
    python benchmarks/bench_capstone.py --own       # each student has a program of their own

The hand-ins are those of the cohort, from the given program to all faults mended. CPU is that of
the command and its children, whatever else the machine does; seconds are of a busy machine, too.
Points of all gradings, also of one hand-in many times, have to be the same.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
from record import recording

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "helpers")]

from cohort.run import entries, known  # noqa: E402

LESSON = "13_faster"
BIN = Path(sys.executable).parent


def main() -> None:
    """Build, grade with two jobs and one, then one hand-in again and again; print a table."""
    count = 8 if "--quick" in sys.argv else 40
    with tempfile.TemporaryDirectory(prefix="proflab-") as place:
        course = make_course(Path(place))
        students = [f"student_{number:02}" for number in range(count)]
        roster = course / "roster.csv"
        roster.write_text("id,first_name\n" + "".join(f"{s},{s}\n" for s in students))
        own = ["--per-student", str(roster), "--seed", "1"] if "--own" in sys.argv else []
        timed(f"build{' for each student' * bool(own)}", course, "build", "13", *own)
        for number, student in enumerate(students):
            hand_in(course, student, number)
        both = []
        for jobs in ("2", "1"):
            what = f"grade {count} hand-ins, --jobs {jobs}"
            timed(what, course, "grade", "13", "--jobs", jobs, "--regrade")
            both.append(points(course))
        print(f"same points with one job and with two: {both[0] == both[1]}")
        same = [f"same_{number:02}" for number in range(5 if "--quick" in sys.argv else 20)]
        for student in same:
            hand_in(course, student, 4)
        proflab(course, "grade", "13", *(f"--student={student}" for student in same))
        found = points(course)
        print(f"one hand-in, {len(same)} times: {sorted({found[s] for s in same})} points")


def make_course(place: Path) -> Path:
    """Copy what a build needs."""
    course = place / "course"
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "modules", course / "modules", ignore=left_out)
    for name in ("pyproject.toml", "jupyter_config.py", "nbgrader_config.py"):
        shutil.copy(ROOT / name, course)
    return course


def hand_in(course: Path, student: str, number: int) -> None:
    """Write one hand-in, made from an entry of the cohort."""
    folder = course / "submitted" / student / LESSON
    folder.mkdir(parents=True)
    notebook = nbformat.read(course / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
    programs = list(mixed())
    program = programs[number % len(programs)]
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "faster":
            cell.source = f"{known('lesson_13').helpers}\n\n{program}\n# {number}"
    (folder / f"{LESSON}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def mixed() -> Iterator[str]:
    """Yield right programs, slow and fast ones in turn, and at last one that is wrong."""
    wrong = known("lesson_13").wrong("faster")
    fast = list(entries("lesson_13", "ALTERNATES")["faster"].values())
    for number, each in enumerate(each for each in wrong if each.kind == "slow"):
        yield from (each.code, fast[number % len(fast)])
    yield entries("lesson_13", "MUTANTS")["faster"]["attention looks ahead"]


def timed(what: str, course: Path, *words: str) -> None:
    """Run a command, and print its seconds and its CPU seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    proflab(course, *words)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{what:<38} {seconds:6.1f} s {cpu:6.1f} s of CPU", flush=True)


def proflab(course: Path, *words: str) -> str:
    """Return what a command prints; end where it fails."""
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [BIN / "proflab", *words], cwd=course, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"proflab {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def points(course: Path) -> dict[str, str]:
    """Return each student's points, as `nbgrader export` has them."""
    subprocess.run(
        [BIN / "nbgrader", "export", "--to", "grades.csv"],
        cwd=course, check=True, capture_output=True,
    )  # fmt: skip
    with (course / "grades.csv").open(encoding="utf-8") as file:
        return {row["student_id"]: row["raw_score"] for row in csv.DictReader(file)}


if __name__ == "__main__":
    with recording(__file__, "Grading capstones"):
        main()
