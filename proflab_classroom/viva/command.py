"""`proflab viva`: a sheet of questions for five minutes on each hand-in, and a key for each.

For every student of a lesson it writes STUDENT.html and STUDENT.key.html into viva/LESSON/, and
index.csv. Code of students runs in the grader's sandbox alone; a hand-in that misbehaves there has
fewer questions, and no other is concerned.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from proflab.lesson.names import bound_names
from proflab_classroom.items.quizzes import as_gift, as_qti
from proflab_classroom.viva.execute import Notebook, Sandbox, handed_in, solved_notebook
from proflab_classroom.viva.inputs import exercises, find_inputs, with_draws
from proflab_classroom.viva.known_wrong import Known, known_outcomes, read_mutants
from proflab_classroom.viva.marks import keep_marks, kept_marks, read_marks, told
from proflab_classroom.viva.pages import render
from proflab_classroom.viva.questions import Draws, SheetQuestion, tell_questions
from proflab_classroom.viva.race_rows import race_rows
from proflab_classroom.viva.sheet import (
    QUESTIONS,
    Candidates,
    Sheet,
    choose,
    missing_kinds,
    printed,
    rows,
)
from proflab_course.course.csv_table import csv_text
from proflab_course.course.exercises import exercise_of
from proflab_course.course.files import replace_file
from proflab_course.course.jobs import default_jobs
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.secret import course_secret
from proflab_course.grading.answer_key import Key, read_key
from proflab_course.grading.command import positive
from proflab_course.grading.grader_errors import GraderFailed, cause_of, log_error
from proflab_course.grading.match_cells import Aligned
from proflab_course.grading.own_numbers.program import own_program
from proflab_course.grading.plan import Isolation, Submission
from proflab_course.grading.races import NotTraced
from proflab_course.grading.reader import Reader
from proflab_course.grading.records.opened import opened_book
from proflab_course.grading.run.student_files import beside_support, gather_files
from proflab_course.grading.submissions.find import find_work, odd_names

_POOL_OF_EACH = 3  # questions of an exercise in a pool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab viva`."""
    parser.add_argument("lesson", help="the lesson: 05_profiler, 05 or 5")
    parser.add_argument(
        "--student", action="append", metavar="S", help="only this student; may be repeated"
    )
    parser.add_argument("--seed", default="1", help="another seed gives other sheets (default: 1)")
    parser.add_argument(
        "--questions", type=positive, default=QUESTIONS, metavar="N", help="of a sheet (default: 4)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where LESSON/ is made (default: viva/)"
    )
    parser.add_argument(
        "--after-deadline", action="store_true", help="ask about inputs of hidden cases, too"
    )
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="hand-ins at a time (default: one a core)"
    )
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run students' code with your own rights, if you trust its authors",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--gift", action="store_true", help="write a pool for Moodle instead")
    what.add_argument("--qti", action="store_true", help="write a pool for Canvas instead")
    what.add_argument(
        "--marks", type=Path, metavar="FILE", help="read marks (student, q1, q2, …) instead"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write sheets, or a pool, or read marks; return 1 if the grader failed at a sheet, else 0.

    Raises CourseError.
    """
    course = Course.find()
    name = course.lesson(arguments.lesson, "source")
    if arguments.marks:
        return _read_marks(course, name, arguments.marks)
    folder = (arguments.output or course.root / "viva") / name
    isolation: Isolation = "none" if arguments.no_sandbox else "auto"
    jobs = arguments.jobs or default_jobs()
    lesson = Lesson(course, read_key(course.source(name)), arguments.after_deadline)
    lesson.mutants  # noqa: B018  (before a sandbox starts: there may be none)
    try:
        with Sandbox(isolation, jobs) as sandbox:
            if arguments.gift or arguments.qti:
                return _write_pool(lesson, sandbox, folder, arguments)
            sheets = list(make_sheets(lesson, sandbox, arguments, jobs))
    except GraderFailed as error:  # at the lesson's own solutions
        raise CourseError(f"{name}: {error}; that is no student's fault: run it again") from None
    return _write(lesson, sheets, folder, arguments)


def _read_marks(course: Course, lesson: str, path: Path) -> int:
    known = {folder.name for folder in (course.root / "submitted").glob("*/")}
    # Those with marks are known, too: a student may have left since.
    known |= {*_people(course), *kept_marks(course, lesson)}
    marks = read_marks(path, known)
    together = keep_marks(course, lesson, marks)
    print(f"{lesson}: marks of {len(marks)} students read, {together} are kept")
    print(told(marks))
    return 0


def _people(course: Course) -> dict[str, str]:
    with opened_book(course) as book:
        return book.people() if book else {}


@dataclass
class Lesson:
    """Hold a lesson as viva needs it: its key, inputs, mutants, and what these return."""

    course: Course
    key: Key
    hidden: bool = False

    @property
    def support(self) -> Path:
        """Return the folder with what lies beside the notebook."""
        return self.course.source(self.key.name).parent

    @cached_property
    def points(self) -> dict[str, float]:
        """Return the exercises in order, with the points of each."""
        return exercises(self.key)

    @cached_property
    def secret(self) -> bytes:
        """Return the course's secret."""
        return course_secret(self.course.root)

    @cached_property
    def solutions(self) -> dict[str, str]:
        """Return the lesson's own code of each exercise."""
        pairs = zip(self.key.cells, self.key.solved, strict=True)
        return {cell.grade_id: text for cell, text in pairs if cell.is_exercise}

    @cached_property
    def mutants(self) -> dict:
        """Return the known wrong solutions."""
        names = {name for text in self.solved.cells for name in _bound_in(text)}
        return read_mutants(self.course, self.key.name, self.solutions, names)

    @cached_property
    def solved(self) -> Notebook:
        """Return the lesson with its own solutions."""
        return solved_notebook(self.key, Submission("the lesson", None, self.support))

    def known(self, sandbox: Sandbox, exercise: str) -> Known:
        """Return what solution and mutants return, from the cache or the sandbox."""
        found = find_inputs(self.key, exercise, self.hidden)
        inputs = with_draws(found, self.secret, "viva", self.key.name, exercise)
        mutants = self.mutants.get(exercise, [])
        return known_outcomes(self.course, sandbox, self.solved, inputs, mutants)

    def all_known(self, sandbox: Sandbox) -> dict[str, Known]:
        """Return the same for all exercises; print a note on mutants that do not run."""
        found = {name: self.known(sandbox, name) for name in self.points}
        for name, known in found.items():
            if known.is_silent:
                what = f"none of its {len(known.mutants)} known wrong solutions returns anything"
                print(f"note: {name}: {what}, so no question rests on them")
        return found


def _bound_in(cell: str) -> set[str]:
    try:
        return bound_names(ast.parse(cell).body)
    except SyntaxError:  # a magic command
        return set()


def make_sheets(
    lesson: Lesson, sandbox: Sandbox, arguments: argparse.Namespace, jobs: int
) -> Iterator[Sheet]:
    """Yield the sheet of each hand-in, in order of the students' names."""
    course = lesson.course
    lost = _lost_points(course, lesson.key)
    known = lesson.all_known(sandbox)
    with closing(Reader(lesson.key, course.root / "source")) as reader:
        reader.start()
        works = find_work(course, reader, arguments.student)

        def make(work) -> Sheet:
            # With other words, the same seed would not give the sheet that was handed out.
            draws = Draws(
                lesson.secret, ("viva", str(arguments.seed), work.student, lesson.key.name)
            )
            sheet = Sheet(work.student, lesson.key.name, lost=lost.get(work.student, {}))
            try:
                handin, aligned = reader.handin(work.folder)
                if aligned is None:
                    sheet.problem = handin.sentence or handin.outcome
                    return sheet
                submission = Submission(work.student, handin.folder or work.folder, lesson.support)
                if handin.files is not None:
                    files = beside_support(lesson.support, handin.files)
                    submission = Submission(work.student, files=files)
                key = lesson.key
                if own := own_program(course.root, key.name, work.student):
                    files = gather_files(submission) | dict(own.files)
                    submission, key = Submission(work.student, files=files), own.key(key)
                    key.derived["viva"] = None  # the lesson's own program solves the class's
                notebook = handed_in(aligned, submission)
                cells = own_cells(aligned, lesson)
                about_race = partial(race_rows, aligned, key, sandbox.runner, submission)
                number = arguments.questions
                fill(sheet, lesson, sandbox, notebook, cells, known, draws, number, about_race)
            except CourseError:  # a mistake of the course's, which all sheets would have
                raise
            except Exception as error:  # no hand-in may stop the others
                log_error(course, lesson.key.name, work.student, error)
                sheet.problem = f"it cannot be asked about ({cause_of(error)}): run this again"
                sheet.failed = True
            return sheet

        with ThreadPoolExecutor(jobs, thread_name_prefix="proflab-viva") as pool:
            yield from pool.map(make, works)


def own_cells(aligned: Aligned, lesson: Lesson) -> dict[str, str]:
    """Return the student's own code of each exercise that is written."""
    found = {}
    for slot in aligned.slots:
        if slot.key is not None and slot.key.grade_id in lesson.points and slot.earns:
            if slot.cell.source.strip() != slot.key.released.source.strip():
                found[slot.key.grade_id] = slot.cell.source
    return found


def fill(
    sheet: Sheet,
    lesson: Lesson,
    sandbox: Sandbox,
    notebook: Notebook,
    cells: Mapping[str, str],
    known: Mapping[str, Known],
    draws: Draws,
    number: int = QUESTIONS,
    own_rows: Callable[[], Sequence[SheetQuestion]] = tuple,
) -> None:
    """Choose a sheet's questions, and the functions that it prints."""
    candidates = Candidates(sandbox, notebook, cells, known, draws)
    candidates.run_own()
    untraced: list[str] = []

    def other_questions() -> list[SheetQuestion]:
        own: Sequence[SheetQuestion] = ()
        try:
            own = own_rows()
        except NotTraced:
            untraced.append(
                f"No question about the race could be made, for {lesson.key.name} was built "
                f"without being executed: run `proflab build {lesson.key.name}`."
            )
        return rows(lesson.course, lesson.key.name, draws, own)

    sheet.questions = choose(candidates, lesson.points, sheet.lost, number, other_questions)
    asked = {q.name for q in sheet.questions if q.about_own_code}
    sheet.functions = [printed(name, code) for name, code in cells.items() if name in asked]
    own = sum(q.about_own_code for q in sheet.questions)
    some = f"Only {own}" if own else "None"
    few = f"{some} of {number} questions could be made from this hand-in."
    told = [few if own < number else "", missing_kinds(sheet.questions, number), *untraced]
    sheet.problem = " ".join(filter(None, told))


def _lost_points(course: Course, key: Key) -> dict[str, dict[str, float]]:
    """Return for each graded student the points lost in each exercise that lost some."""
    names = exercises(key)
    found: dict[str, dict[str, float]] = {}
    with opened_book(course) as book:
        outcomes = book.outcomes(key.name) if book else {}
    for student, outcome in outcomes.items():
        failed = {case.cell for case in outcome.cases if not case.passed}
        lost = found.setdefault(student, {})
        for cell in key.cells:
            if cell.points and cell.grade_id in failed:  # whole, also with partial credit
                name = exercise_of(cell.grade_id, names)
                if name in names:
                    lost[name] = lost.get(name, 0.0) + cell.points
    return found


# ── what is written ──────────────────────────────────────────────────────────────────────────


def _write(lesson: Lesson, sheets: list[Sheet], folder: Path, arguments: argparse.Namespace) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    people = _people(lesson.course)
    for sheet in sheets:
        name = people.get(sheet.student, "")
        who = f"{name} ({sheet.student})" if name else sheet.student
        for ending, key in (("html", False), ("key.html", True)):
            page = render(sheet, who, key)
            replace_file(folder / f"{sheet.student}.{ending}", page.encode("utf-8", "replace"))
    replace_file(folder / "index.csv", _index(sheets).encode())
    short = [s for s in sheets if sum(q.about_own_code for q in s.questions) < arguments.questions]
    print(
        f"{folder}: {len(sheets)} sheets, {len(sheets) - len(short)} of them about own code alone"
    )
    for sheet in filter(lambda sheet: sheet.problem, sheets):
        print(f"  {sheet.student}: {sheet.problem}")
    odd = odd_names(lesson.course)
    for sentence in odd:
        print(f"note: {sentence}")
    print(f"Next: proflab viva {lesson.key.name} --marks FILE, with columns student, q1, q2, …")
    return int(any(sheet.failed for sheet in sheets) or bool(odd))


def _index(sheets: list[Sheet]) -> str:
    rows = [["student", "exercises", "kinds", "digest"]]
    for sheet in sheets:
        names = " ".join(q.name for q in sheet.questions)
        kinds = " ".join(q.kind for q in sheet.questions)
        rows.append([sheet.student, names, kinds, sheet.digest])
    return csv_text(rows)


def pool_questions(lesson: Lesson, sandbox: Sandbox, seed: str) -> list[SheetQuestion]:
    """Return verified questions of kind "tell" about the lesson's own solutions."""
    draws = Draws(lesson.secret, ("viva", seed, "the pool", lesson.key.name))
    known = lesson.all_known(sandbox)
    checker = Candidates(sandbox, lesson.solved, lesson.solutions, known, draws)
    found: list[SheetQuestion] = []
    for name, about in known.items():
        made = tell_questions(name, about, about.right, draws.at(name), "a right one")
        fit = sorted(made, key=lambda q: q.error)[: 2 * _POOL_OF_EACH]  # some will not hold
        holds = checker.verified(fit) if fit else []
        found += [q for q, fine in zip(fit, holds, strict=True) if fine][:_POOL_OF_EACH]
    return found


def _write_pool(
    lesson: Lesson, sandbox: Sandbox, folder: Path, arguments: argparse.Namespace
) -> int:
    questions = pool_questions(lesson, sandbox, str(arguments.seed))
    name = lesson.key.name
    if not questions:
        what = f"no question could be made about the solutions of {name}, so no pool was written"
        raise CourseError(f"{what}: `proflab questions {name[:2]}` has its concept questions")
    data = as_gift(name, questions).encode() if arguments.gift else as_qti(name, questions)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (f"{name}.gift.txt" if arguments.gift else f"{name}.qti.zip")
    replace_file(target, data)
    print(f"{target}: {len(questions)} questions; the keys are in it, so it is for instructors")
    return 0
