"""Writes results into nbgrader's gradebook: one transaction a submission, nothing lost.

The rows are nbgrader's own, so that formgrader, feedback, late penalties and export go on working.
A table of ours in the same file, written in the same transaction, keeps each submission's status,
sentence, fingerprint and verdicts; a submission whose fingerprint is there need not be graded anew.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbgrader.preprocessors
from nbformat.v4 import new_notebook
from nbgrader.api import (
    Assignment,
    BaseCell,
    Grade,
    Gradebook,
    GradeCell,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import Column, MetaData, String, Table, Text, bindparam, func, select
from traitlets.config import Config

from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import Key
from proflab_course.grading.grade_notebook import CaseResult, Graded
from proflab_course.grading.records.clear_errors import clear_errors
from proflab_course.grading.records.first_rows import FirstRows, Marks, ensure_student
from proflab_course.grading.records.lateness import Extension, as_timedelta
from proflab_course.grading.records.new_gradebook import make_tables
from proflab_course.grading.records.queries import Standing, read_scores, read_standings
from proflab_course.grading.submissions.read_guesses import Guess
from proflab_course.grading.submissions.timestamp import UNKNOWN, Handed

BUSY_SECONDS = 60

OUTCOMES = Table(
    "proflab_outcome",
    MetaData(),
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("status", String(32), nullable=False),
    Column("sentence", Text, nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("cases", Text, nullable=False),
    Column("graded_at", String(32), nullable=False),
)
# Apart from the outcomes, so that gradebooks made before there were guesses go on working.
GUESSES = Table(
    "proflab_guesses",
    MetaData(),
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("guesses", Text, nullable=False),
)
# Made once: SQLAlchemy takes longer to put together a statement than SQLite to execute it.
_REPLACE_OUTCOME, _REPLACE_GUESSES = (
    table.insert().prefix_with("OR REPLACE") for table in (OUTCOMES, GUESSES)
)
_DELETE_GUESSES = GUESSES.delete().where(
    (GUESSES.c.student == bindparam("student")) & (GUESSES.c.assignment == bindparam("assignment"))
)


@dataclass(frozen=True)
class Outcome:
    """One submission's row in our tables; `cases` and `guesses` are kept as JSON."""

    student: str
    assignment: str
    status: str
    sentence: str
    fingerprint: str
    cases: list[CaseResult] = field(default_factory=list)
    graded_at: str = ""
    guesses: list[Guess] = field(default_factory=list)


class Book:
    """The gradebook, open for one grading."""

    def __init__(self, path: Path, config: Config | None = None) -> None:
        self.path = path
        # nbgrader calls alembic by name, which an environment that is not activated does not find.
        programs, path_list = str(Path(sys.executable).parent), os.environ["PATH"]
        if programs not in path_list.split(os.pathsep):
            os.environ["PATH"] = f"{programs}{os.pathsep}{path_list}"
        course_id = (config or Config()).CourseDirectory.get("course_id", "")
        with clear_errors(path):
            if not path.exists() or path.stat().st_size == 0:
                _create_gradebook(path, course_id)
            self.gradebook = _open_gradebook(path, course_id)
        self.penalties = nbgrader.preprocessors.AssignLatePenalties(config=config or Config())
        self.penalties.init_plugin()
        self.names: dict[str, str] = {}
        self.first = FirstRows()
        self.extensions: dict[str, Extension] | None = None  # None: those in the gradebook stay

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: Any) -> None:
        self.gradebook.close()

    @contextmanager
    def transaction(self) -> Iterator[Gradebook]:
        """Yield nbgrader's Gradebook; its commits wait for the end of the block: all or nothing."""
        session = self.gradebook.db
        commit = session().commit
        session.commit = session.flush
        with clear_errors(self.path):
            try:
                # At once: what is read here stays true, and who waits for the lock holds none.
                session().connection().exec_driver_sql("BEGIN IMMEDIATE")
                with session().no_autoflush:  # half-built rows are flushed by nbgrader's commits
                    yield self.gradebook
                commit()
            except BaseException:
                session.rollback()
                raise
            finally:
                del session.commit
                session.remove()  # the next submission starts with an empty session

    def register(self, key: Key) -> None:
        """Make the lesson's assignment and cells known, as `nbgrader generate_assignment` does."""
        with self.transaction() as book:
            book.update_or_create_assignment(key.name)
            saver = nbgrader.preprocessors.SaveCells()
            saver.new_grade_cells, saver.new_solution_cells = {}, {}
            saver.new_task_cells, saver.new_source_cells = {}, {}
            saver.gradebook, saver.notebook_id, saver.assignment_id = book, key.name, key.name
            for index, cell in enumerate(key.cells):
                saver.preprocess_cell(cell.master, {}, index)
            try:
                saver._create_notebook(new_notebook(metadata=key.metadata))
            except RuntimeError:
                raise CourseError(
                    f"lesson {key.name} has gained or lost graded cells since the submissions in "
                    f"{self.path.name} were graded; keep the old lesson for this class, or remove "
                    f"the assignment with `nbgrader db assignment remove {key.name} --force`"
                ) from None

    def outcomes(self, assignment: str, student: str | None = None) -> dict[str, Outcome]:
        """Return the outcome of every student, or of one, who has one for this assignment."""
        query = select(OUTCOMES).where(OUTCOMES.c.assignment == assignment)
        if student is not None:
            query = query.where(OUTCOMES.c.student == student)
        with clear_errors(self.path), self.gradebook.engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
            guesses = dict(
                connection.execute(
                    select(GUESSES.c.student, GUESSES.c.guesses).where(
                        GUESSES.c.assignment == assignment
                    )
                ).all()
            )
        return {row["student"]: _read_row(dict(row), guesses) for row in rows}

    def outcome(self, assignment: str, student: str) -> Outcome | None:
        """Return one student's outcome for this assignment; None if there is none."""
        return self.outcomes(assignment, student).get(student)

    def standings(self, assignment: str) -> dict[str, Standing]:
        """Return what is known of each graded hand-in, without its cases."""
        with clear_errors(self.path), self.gradebook.engine.connect() as connection:
            return read_standings(connection, OUTCOMES, assignment)

    def write(
        self,
        key: Key,
        outcome: Outcome,
        graded: Graded | None,
        handed: Handed = UNKNOWN,
    ) -> None:
        """Write one submission's grades, comments, penalty and outcome in one transaction."""
        with self.transaction() as book:
            ensure_student(book, outcome.student)
            # A time that was known once, and is no longer, is not the time.
            late = {"timestamp": handed.at} if handed.at or handed.problem else {}
            marks = _marks_of(key, graded)
            usual = outcome.student not in (self.extensions or {})
            if not usual or not self.first.insert(
                book, key.name, outcome.student, handed.at, marks
            ):
                submission = book.update_or_create_submission(key.name, outcome.student, **late)
                notebook = next(n for n in submission.notebooks if n.name == key.name)
                self._write_grades(notebook, marks)
                self._write_penalty(book, submission, notebook)
            self._write_outcome(book, outcome)

    def write_outcome(self, outcome: Outcome) -> None:
        """Write one submission's outcome alone: its grades, comments and penalty stay."""
        with self.transaction() as book:
            self._write_outcome(book, outcome)

    def _write_outcome(self, book: Gradebook, outcome: Outcome) -> None:
        row = vars(outcome) | {
            "cases": json.dumps([vars(case) for case in outcome.cases], ensure_ascii=False),
            "graded_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }
        guesses = json.dumps([vars(guess) for guess in row.pop("guesses")], ensure_ascii=False)
        book.db.execute(_REPLACE_OUTCOME, row)
        place = {"student": outcome.student, "assignment": outcome.assignment}
        if outcome.guesses:
            book.db.execute(_REPLACE_GUESSES, place | {"guesses": guesses})
        else:
            book.db.execute(_DELETE_GUESSES, place)

    def _write_grades(self, notebook: Any, marks: Marks) -> None:
        names = self._cell_names(notebook)
        for grade in notebook.grades:
            grade.auto_score = marks.grade(names[grade.cell_id])["auto_score"]
            # As nbgrader does: a person's earlier mark is kept, and shown for another look.
            grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        for comment in notebook.comments:
            comment.auto_comment = marks.comment(names[comment.cell_id])["auto_comment"]

    def _cell_names(self, notebook: Any) -> dict[str, str]:
        """Return the names of a lesson's cells by their ids: nbgrader would ask for each alone."""
        rows = (*notebook.grades, *notebook.comments)
        if not all(row.cell_id in self.names for row in rows):
            here = BaseCell.notebook_id == notebook.notebook_id
            found = self.gradebook.db.execute(select(BaseCell.id, BaseCell.name).where(here))
            self.names |= dict(found.all())
        return self.names

    def _write_penalty(self, book: Gradebook, submission: Any, notebook: Any) -> None:
        notebook.late_submission_penalty = None
        if self.extensions is not None:
            given = self.extensions.get(submission.student.id)
            submission.extension = as_timedelta(given, submission.assignment.duedate)
        book.db.flush()
        late = submission.total_seconds_late
        if late > 0:
            book.db.refresh(notebook, ["score"])  # the database adds up what was just written
            plugin = self.penalties.plugin_inst
            penalty = plugin.late_submission_penalty(submission.student.id, notebook.score, late)
            if penalty is not None:
                penalty = self.penalties._check_late_penalty(notebook, penalty)
                notebook.late_submission_penalty = penalty

    def update_penalties(self, key: Key, students: list[str]) -> None:
        """Compute the penalties of hand-ins that are not graded anew: due dates may have moved.

        So may marks given by hand, extensions, and the configuration.
        """
        wanted = self._late_or_penalised(key.name) & set(students)
        if not wanted:
            return
        with self.transaction() as book:
            for student in sorted(wanted):
                submission = book.find_submission(key.name, student)
                notebook = next(n for n in submission.notebooks if n.name == key.name)
                self._write_penalty(book, submission, notebook)

    def _late_or_penalised(self, assignment: str) -> set[str]:
        """Return the students whose penalty is not sure to be none."""
        timed = Assignment.duedate.is_not(None) & SubmittedAssignment.timestamp.is_not(None)
        penalised = SubmittedNotebook.late_submission_penalty.is_not(None)
        rows = (
            select(SubmittedAssignment.student_id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .where(Assignment.name == assignment, timed | penalised)
        )
        with clear_errors(self.path), self.gradebook.engine.connect() as connection:
            return set(connection.execute(rows).scalars())

    def late_penalties(self, assignment: str) -> dict[str, float]:
        """Return what is taken off for lateness, for each student of whom it is."""
        rows = (
            select(
                SubmittedAssignment.student_id, func.sum(SubmittedNotebook.late_submission_penalty)
            )
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .where(Assignment.name == assignment)
            .group_by(SubmittedAssignment.student_id)
        )
        with clear_errors(self.path), self.gradebook.engine.connect() as connection:
            return {student: float(off) for student, off in connection.execute(rows) if off}

    def people(self) -> dict[str, str]:
        """Return the names of all students that the gradebook knows by their ids, "" if unknown."""
        with clear_errors(self.path):
            return {
                student.id: " ".join(filter(None, (student.first_name, student.last_name)))
                for student in self.gradebook.students
            }

    def auto_scores(self, assignment: str) -> dict[str, float]:
        """Return each student's points for code, in one query, however large the class."""
        rows = (
            select(SubmittedAssignment.student_id, func.sum(Grade.score))
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
            .join(GradeCell, GradeCell.id == Grade.cell_id)
            .where(Assignment.name == assignment, GradeCell.cell_type == "code")
            .group_by(SubmittedAssignment.student_id)
        )
        with clear_errors(self.path), self.gradebook.engine.connect() as connection:
            return {student: float(score) for student, score in connection.execute(rows)}

    def scores(self, assignment: str) -> dict[str, dict[str, Any]]:
        """Return each student's points; `needs_manual`: to be looked at; `unread`: no mark yet."""
        with clear_errors(self.path), self.gradebook.engine.connect() as connection:
            return read_scores(connection, assignment)


def _marks_of(key: Key, graded: Graded | None) -> Marks:
    """Return what each cell of the lesson gets."""
    scores = graded.scores if graded else {}
    manual = {cell.grade_id for cell in key.cells if cell.kind == "manual"}
    unanswered = set(graded.unanswered) if graded else manual

    def grade(name: str) -> dict[str, Any]:
        score = None if name in manual - unanswered else scores.get(name, 0.0)
        return {"auto_score": score, "needs_manual_grade": score is None}

    def comment(name: str) -> dict[str, Any]:
        return {"auto_comment": "No response." if name in manual & unanswered else None}

    return Marks(grade, comment)


def _open_gradebook(path: Path, course_id: str) -> Gradebook:
    """Open the database at `path`, with our table in it."""
    gradebook = Gradebook(f"sqlite:///{path}?timeout={BUSY_SECONDS}", course_id)
    for table in (OUTCOMES, GUESSES):
        table.create(gradebook.engine, checkfirst=True)
    return gradebook


def _create_gradebook(path: Path, course_id: str) -> None:
    """Make an empty gradebook under another name: nbgrader takes several steps, of which none or
    all must have been taken.
    """
    part = path.with_name(path.name + ".part")
    for left in path.parent.glob(part.name + "*"):
        left.unlink()
    make_tables(part)
    _open_gradebook(part, course_id).close()
    os.replace(part, path)


def _read_row(row: dict, guesses: dict[str, str]) -> Outcome:
    """Return a row of our table as an Outcome, with the guesses of its student."""
    cases = [CaseResult(**case) for case in json.loads(row["cases"])]
    made = [Guess(**guess) for guess in json.loads(guesses.get(row["student"], "[]"))]
    return Outcome(**row | {"cases": cases, "guesses": made})


def total_points(scores: dict[str, float], essay: bool = True) -> float:
    """Return a student's points with the penalty for lateness taken off, never below 0."""
    points = scores["auto"] + (scores["manual"] if essay else 0.0)
    return max(0.0, points - scores["penalty"])
