"""`proflab grade LESSON`: grades what was handed in, in parallel, and loses nothing.

A drop-in for `nbgrader autograde`: reads submitted/STUDENT/LESSON/, writes autograded/ and
nbgrader's gradebook. Students' code runs where the runner puts it; verdicts are reached, and files
and rows written, by this process alone. A submission is graded again only if it, the lesson or the
harness has changed.
"""

from __future__ import annotations

import argparse
import datetime
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

import proflab
from proflab.course.layout import Course, CourseError
from proflab.grading.execute import Graded, grade_notebook
from proflab.grading.handin import notebook_of, read_handin
from proflab.grading.key import Key, read_key
from proflab.grading.plan import Runner, Submission
from proflab.grading.sandbox import make_runner


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab grade`."""
    parser.add_argument("lesson", help="the lesson's name, such as 01_parameters")
    parser.add_argument("--student", action="append", metavar="S", help="only this student (again)")
    parser.add_argument("--jobs", type=positive, default=default_jobs(), metavar="N")
    parser.add_argument("--regrade", action="store_true", help="grade also what has not changed")
    parser.add_argument("--full", action="store_true", help="execute demo cells, too")
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run students' code with your own rights: only for your own notebooks",
    )


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def default_jobs() -> int:
    """One job a core."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(arguments: argparse.Namespace) -> int:
    """Grade the class, print a table of scores; 0 unless the input cannot be used."""
    course = Course.find()
    check_lesson(course, arguments.lesson)
    isolation = "none" if arguments.no_sandbox else "auto"
    with closing(make_runner(isolation, arguments.jobs)) as runner:
        rows = grade_class(
            course,
            arguments.lesson,
            runner,
            students=arguments.student,
            jobs=arguments.jobs,
            regrade=arguments.regrade,
            full=arguments.full,
        )
    print_table(rows)
    print(f"Next: proflab report {arguments.lesson}")
    return 0


@dataclass(frozen=True)
class Row:
    """One line of the table that `proflab grade` prints."""

    student: str
    score: float
    max_score: float
    status: str
    sentence: str
    fresh: bool


@dataclass(frozen=True)
class Work:
    """One submission to be graded."""

    student: str
    folder: Path
    fingerprint: str

    def notebook(self, lesson: str) -> Path:
        """The path where the notebook should be."""
        return self.folder / f"{lesson}.ipynb"


@dataclass(frozen=True)
class Done:
    """A graded submission: `graded` is None where there was no notebook to grade."""

    work: Work
    status: str
    sentence: str
    graded: Graded | None


def grade_class(
    course: Course,
    lesson: str,
    runner: Runner,
    students: list[str] | None = None,
    jobs: int = 1,
    regrade: bool = False,
    full: bool = False,
    progress: bool = True,
) -> list[Row]:
    """Grade the submissions of `lesson`; returns a row for each student, in order of their names.

    Raises CourseError when the lesson, a student or the gradebook cannot be used.
    """
    from traitlets.config.loader import PyFileConfigLoader

    from proflab.grading.gradebook import Book

    check_lesson(course, lesson)
    key = read_key(course.source(lesson))
    works = find_work(course, lesson, key, students, full)
    config = PyFileConfigLoader("jupyter_config.py", path=str(course.root)).load_config()
    with Book(course.gradebook, config) as book:
        book.register(key)
        known = book.outcomes(lesson)
        due = [w for w in works if regrade or needs_grading(course, lesson, w, known)]
        for done in progress_bar(graded_works(course, key, due, runner, jobs, full), due, progress):
            record(course, key, book, done)
        return make_rows(book, key, works, {w.student for w in due})


def check_lesson(course: Course, lesson: str) -> None:
    """Refuse a lesson that the course does not have."""
    lessons = course.lessons("source")
    if lesson not in lessons:
        there = ", ".join(lessons) or "none yet: run `proflab build`"
        raise CourseError(f"there is no lesson {lesson!r} in source/ (there is {there})")


def find_work(
    course: Course, lesson: str, key: Key, students: list[str] | None, full: bool
) -> list[Work]:
    """The submissions of a lesson: every student's folder that holds one, or those named."""
    submitted = course.root / "submitted"
    found = sorted(p.parent.name for p in submitted.glob(f"*/{lesson}") if p.is_dir())
    for name in students or []:
        if not (submitted / name).is_dir() or name in (".", "..") or "/" in name:
            raise CourseError(f"there is no folder submitted/{name}; there are {', '.join(found)}")
    support = folder_fingerprint(course.source(lesson).parent)
    base = [key.fingerprint, support, harness_fingerprint(), str(full)]
    works = []
    for student in students or found:
        folder = submitted / student / lesson
        text = "\n".join([*base, folder_fingerprint(folder)])
        works.append(Work(student, folder, hashlib.sha256(text.encode()).hexdigest()))
    return works


def folder_fingerprint(folder: Path) -> str:
    """A hash of the regular files in `folder` and of where its links point."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(str(path.relative_to(folder)).encode("utf-8", "surrogateescape") + b"\0")
        if path.is_symlink():
            digest.update(os.fsencode(os.readlink(path)))
        elif path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def harness_fingerprint() -> str:
    """A hash of the package: a change in engine or grader makes earlier grades stale."""
    root = Path(proflab.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def needs_grading(course: Course, lesson: str, work: Work, known: dict) -> bool:
    """Whether there is no result for exactly this submission, lesson and harness."""
    outcome = known.get(work.student)
    written = course.root / "autograded" / work.student / lesson / f"{lesson}.ipynb"
    return outcome is None or outcome.fingerprint != work.fingerprint or not written.exists()


def graded_works(
    course: Course, key: Key, works: list[Work], runner: Runner, jobs: int, full: bool
):
    """Yield a Done for each work as it is finished."""
    support = course.source(key.name).parent
    if not works:
        return
    with ThreadPoolExecutor(jobs) as pool:
        try:
            futures = [pool.submit(grade_one, key, support, w, runner, full) for w in works]
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def grade_one(key: Key, support: Path, work: Work, runner: Runner, full: bool) -> Done:
    """Read and grade one submission; never raises for what it contains."""
    handin = read_handin(work.notebook(key.name))
    if handin.notebook is None:
        return Done(work, handin.outcome, handin.sentence, None)
    submission = Submission(work.student, work.folder, support)
    graded = grade_notebook(handin.notebook, key, support, full, runner, submission)
    return Done(work, graded.status, graded.sentence, graded)


def record(course: Course, key: Key, book, done: Done) -> None:
    """Write the notebook, then the rows: what is in the gradebook is always on disk, too."""
    from proflab.grading.gradebook import Outcome

    work = done.work
    notebook = done.graded.notebook if done.graded else placeholder(key, done)
    try:
        write_autograded(course, key.name, work, notebook)
    except OSError as error:
        what = "the disk is full" if error.errno == errno.ENOSPC else str(error.strerror)
        raise CourseError(
            f"the graded notebook of {work.student} cannot be written to autograded/: {what}; "
            "make room and run it again, nothing is lost"
        ) from None
    cases = done.graded.cases if done.graded else []
    outcome = Outcome(work.student, key.name, done.status, done.sentence, work.fingerprint, cases)
    book.write(key, outcome, done.graded, read_timestamp(work.folder))


def placeholder(key: Key, done: Done) -> NotebookNode:
    """The graded notebook of a hand-in in which there was nothing to grade."""
    text = f"# {key.name}: {done.status}\n\nThis hand-in could not be graded: {done.sentence}."
    return notebook_of([new_markdown_cell(text)], {})


def write_autograded(course: Course, lesson: str, work: Work, notebook: NotebookNode) -> None:
    """Put the graded notebook and support files into autograded/, each whole or not at all."""
    place = course.root / "autograded" / work.student / lesson
    place.mkdir(parents=True, exist_ok=True)
    for part in place.glob(".*.part"):  # left by a grading that was killed
        part.unlink(missing_ok=True)
    source = course.source(lesson).parent
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.suffix != ".ipynb":
            target = place / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_file(target, path.read_bytes())
    stamp = work.folder / "timestamp.txt"
    if stamp.is_file() and not stamp.is_symlink():
        replace_file(place / "timestamp.txt", stamp.read_bytes()[:200])
    replace_file(place / f"{lesson}.ipynb", nbformat.writes(notebook).encode())


def replace_file(target: Path, data: bytes) -> None:
    """Write `data` beside `target`, sync it and rename it into place."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_timestamp(folder: Path) -> datetime.datetime | None:
    """When it was handed in: nbgrader's timestamp.txt, if there is a usable one."""
    from dateutil import parser
    from nbgrader.utils import parse_utc

    path = folder / "timestamp.txt"
    try:
        if path.is_symlink():
            return None
        text = path.read_text(errors="replace")[:200].strip()
        parser.parse(text)
        return parse_utc(text)
    except (OSError, ValueError, OverflowError):
        return None


def progress_bar(items: Iterable[Done], works: list[Work], show: bool) -> Iterator[Done]:
    """`items` with a bar that counts outcomes and tells the time left."""
    from collections import Counter

    from tqdm import tqdm

    counts: Counter[str] = Counter()
    with tqdm(total=len(works), unit="submission", disable=not show or not works) as bar:
        for done in items:
            yield done
            counts[done.status] += 1
            bar.set_postfix_str(", ".join(f"{n} {status}" for status, n in counts.items()))
            bar.update()


def make_rows(book, key: Key, works: list[Work], fresh: set[str]) -> list[Row]:
    """The table's rows from what the gradebook holds now."""
    outcomes, scores = book.outcomes(key.name), book.scores(key.name)
    return [
        Row(
            w.student,
            scores[w.student]["auto"],
            key.max_score,
            outcomes[w.student].status,
            outcomes[w.student].sentence,
            w.student in fresh,
        )
        for w in works
    ]


def print_table(rows: list[Row]) -> None:
    """Print scores and outcomes, one line a student."""
    if not rows:
        print("Nothing was handed in for this lesson: submitted/STUDENT/LESSON/ is where it goes.")
        return
    width = max(len(row.student) for row in rows)
    space = max(20, shutil.get_terminal_size((100, 20)).columns - width - 34)
    for row in rows:
        sentence = row.sentence if len(row.sentence) <= space else row.sentence[: space - 1] + "…"
        score = f"{row.score:5g} / {row.max_score:g}"
        print(f"{row.student:<{width}}  {score}  {row.status:<18}  {sentence}".rstrip())
    old = sum(not row.fresh for row in rows)
    if old:
        print(f"({old} of {len(rows)} were unchanged since they were graded; --regrade forces)")
