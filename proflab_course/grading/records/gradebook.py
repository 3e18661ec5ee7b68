"""Write results into nbgrader's gradebook, in one transaction for each submission.

The rows are nbgrader's own, so that formgrader, feedback, late penalties and export go on working.
More tables in the same file, written in the same transaction, hold each submission's status,
sentence, fingerprint, verdicts, guesses and variant. `resume.py` uses the fingerprint.
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
from nbgrader.api import (
    Assignment,
    BaseCell,
    Grade,
    Gradebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    select,
)
from traitlets import TraitError
from traitlets.config import Config

from proflab_course.course.dates import Extension
from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import Key
from proflab_course.grading.answers import ESSAY
from proflab_course.grading.grade_notebook import CaseResult, Graded
from proflab_course.grading.records.changed_cells import FORMER
from proflab_course.grading.records.clear_errors import clear_errors
from proflab_course.grading.records.lateness import as_timedelta
from proflab_course.grading.records.new_gradebook import make_tables
from proflab_course.grading.records.queries import (
    EssayMark,
    Standing,
    read_essays,
    read_scores,
    read_standings,
    submissions,
)
from proflab_course.grading.records.register import register
from proflab_course.grading.records.removed import TRIGGER, follow_removals
from proflab_course.grading.submissions.read_guesses import Guess
from proflab_course.grading.submissions.timestamp import UNKNOWN, Handed

BUSY_SECONDS = 60  # for which SQLite waits where formgrader is writing

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
# A table of its own, because older gradebooks have the other table without this column.
GUESSES = Table(
    "proflab_guesses",
    MetaData(),
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("guesses", Text, nullable=False),
)
VARIANTS = Table(
    "proflab_variants",
    MetaData(),
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("digest", String(64), nullable=False),
)
# Marks and comments given by hand that were replaced, also by formgrader, which writes
# without us: the database itself keeps them.
REPLACED = Table(
    "proflab_replaced",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("what", String(16), nullable=False),  # "mark" or "comment"
    Column("row", String(32), nullable=False),  # of nbgrader's table grade or comment
    Column("value", Text, nullable=False),
    Column("at", String(32), nullable=False),
)
_KEEP_REPLACED = [
    f"""CREATE TRIGGER IF NOT EXISTS proflab_replaced_{what} AFTER UPDATE OF {column} ON {table}
    WHEN OLD.{column} IS NOT NULL AND OLD.{column} IS NOT NEW.{column}
    BEGIN INSERT INTO proflab_replaced (what, row, value, at)
    VALUES ('{what}', OLD.id, OLD.{column}, strftime('%Y-%m-%dT%H:%M:%SZ', 'now')); END"""
    for what, table, column in (
        ("mark", "grade", "manual_score"),
        ("comment", "comment", "manual_comment"),
    )
]
# Made once, because SQLAlchemy takes longer to build a statement than SQLite to execute it.
_REPLACE_OUTCOME, _REPLACE_GUESSES, _REPLACE_VARIANT = (
    table.insert().prefix_with("OR REPLACE") for table in (OUTCOMES, GUESSES, VARIANTS)
)
_DELETE_GUESSES, _DELETE_VARIANT, _READ_GUESSES = (
    statement.where(
        (table.c.student == bindparam("student")) & (table.c.assignment == bindparam("assignment"))
    )
    for table, statement in (
        (GUESSES, GUESSES.delete()),
        (VARIANTS, VARIANTS.delete()),
        (GUESSES, select(GUESSES.c.guesses)),
    )
)


@dataclass(frozen=True)
class Outcome:
    """One submission's row in ProfLab's tables; `cases` and `guesses` are stored as JSON.

    variant: the digests of the secret and of the cells that its own numbers were drawn for
    """

    student: str
    assignment: str
    status: str
    sentence: str
    fingerprint: str
    cases: list[CaseResult] = field(default_factory=list)
    graded_at: str = ""
    guesses: list[Guess] = field(default_factory=list)
    variant: str = ""


class Book:
    """The gradebook, open for one grading."""

    def __init__(self, path: Path, config: Config | None = None) -> None:
        self.path = path
        # nbgrader calls alembic by name, which an environment that is not activated does not find.
        programs, path_list = str(Path(sys.executable).parent), os.environ["PATH"]
        if programs not in path_list.split(os.pathsep):
            os.environ["PATH"] = f"{programs}{os.pathsep}{path_list}"
        course_id = (config or Config()).CourseDirectory.get("course_id", "")
        try:
            self.penalties = nbgrader.preprocessors.AssignLatePenalties(config=config or Config())
            self.penalties.init_plugin()
        except TraitError as error:
            raise CourseError(f"jupyter_config.py: {error}") from None
        with clear_errors(path):
            if not path.exists() or path.stat().st_size == 0:
                _create_gradebook(path, course_id)
            self.gradebook = _open_gradebook(path, course_id)
        self.names: dict[str, str] = {}  # of cells, by nbgrader's ids
        self.extensions: dict[str, Extension] | None = None  # None: keep those in the gradebook

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: Any) -> None:
        self.gradebook.close()

    @contextmanager
    def transaction(self) -> Iterator[Gradebook]:
        """Yield nbgrader's Gradebook; commit at the end of the block, roll back on an error."""
        session = self.gradebook.db
        commit = session().commit
        # nbgrader's methods commit what they write; here nothing may be seen before all is there.
        session.commit = session.flush
        with clear_errors(self.path):
            try:
                # Take the write lock before reading, so that nothing read can change and no
                # upgrade of a lock can deadlock.
                session().connection().exec_driver_sql("BEGIN IMMEDIATE")
                with session().no_autoflush:  # nbgrader's commits flush complete rows
                    yield self.gradebook
                commit()
            except BaseException:
                session.rollback()
                raise
            finally:
                del session.commit
                session.remove()  # the next submission starts with an empty session

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for queries; raise CourseError if the gradebook cannot be read."""
        with clear_errors(self.path), self.gradebook.engine.connect() as connection:
            yield connection

    def register(self, key: Key) -> str:
        """Enter the lesson's assignment and cells, as `nbgrader generate_assignment` does.

        Returns a sentence on the cells that the lesson has gained and lost since it was graded.
        """
        with self.transaction() as book:
            return register(book, key)

    def outcomes(self, assignment: str, student: str | None = None) -> dict[str, Outcome]:
        """Return the outcomes for this assignment by student: of all, or of `student` alone."""
        query = select(OUTCOMES).where(OUTCOMES.c.assignment == assignment)
        if student is not None:
            query = query.where(OUTCOMES.c.student == student)
        with self.reading() as connection:
            rows = connection.execute(query).mappings().all()
            guesses = dict(
                connection.execute(
                    select(GUESSES.c.student, GUESSES.c.guesses).where(
                        GUESSES.c.assignment == assignment
                    )
                ).all()
            )
        variants = self.variants(assignment)
        return {row["student"]: _read_row(dict(row), guesses, variants) for row in rows}

    def variants(self, assignment: str) -> dict[str, str]:
        """Return the digests of each student's variant, of those who have one."""
        query = select(VARIANTS.c.student, VARIANTS.c.digest)
        with self.reading() as connection:
            rows = connection.execute(query.where(VARIANTS.c.assignment == assignment))
            return dict(rows.all())

    def outcome(self, assignment: str, student: str) -> Outcome | None:
        """Return one student's outcome for this assignment; None if there is none."""
        return self.outcomes(assignment, student).get(student)

    def standings(self, assignment: str) -> dict[str, Standing]:
        """Return the standing of each graded hand-in: its outcome without its cases."""
        with self.reading() as connection:
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
            book.update_or_create_student(outcome.student)
            # If a re-submission has no valid time, clear the old one.
            late = {"timestamp": handed.at} if handed.at or handed.problem else {}
            submission = book.update_or_create_submission(key.name, outcome.student, **late)
            notebook = next(n for n in submission.notebooks if n.name == key.name)
            marked = any(grade.manual_score is not None for grade in notebook.grades)
            same = self._same_essays(book, outcome) if marked else set()
            self._write_grades(notebook, key, graded, same)
            self._write_penalty(book, submission, notebook)
            self._write_outcome(book, outcome)

    def write_outcome(self, outcome: Outcome) -> None:
        """Write one submission's outcome and keep its grades, comments and penalty."""
        with self.transaction() as book:
            self._write_outcome(book, outcome)

    def _write_outcome(self, book: Gradebook, outcome: Outcome) -> None:
        row = vars(outcome) | {
            "cases": json.dumps([vars(case) for case in outcome.cases], ensure_ascii=False),
            "graded_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }
        guesses = json.dumps([vars(guess) for guess in row.pop("guesses")], ensure_ascii=False)
        row.pop("variant")
        book.db.execute(_REPLACE_OUTCOME, row)
        place = {"student": outcome.student, "assignment": outcome.assignment}
        if outcome.variant:
            book.db.execute(_REPLACE_VARIANT, place | {"digest": outcome.variant})
        else:
            book.db.execute(_DELETE_VARIANT, place)
        if outcome.guesses:
            book.db.execute(_REPLACE_GUESSES, place | {"guesses": guesses})
        else:
            book.db.execute(_DELETE_GUESSES, place)

    def _same_essays(self, book: Gradebook, outcome: Outcome) -> set[str]:
        """Return the cells whose essay is the one that was graded before."""
        place = {"student": outcome.student, "assignment": outcome.assignment}
        earlier = json.loads(book.db.scalar(_READ_GUESSES, place) or "[]")
        known = {(each.get("name"), each["answer"]) for each in earlier if each["what"] == ESSAY}
        mine = ((each.name, each.answer) for each in outcome.guesses if each.what == ESSAY)
        return {str(name) for name, digest in mine if (name, digest) in known}

    def _write_grades(self, notebook: Any, key: Key, graded: Graded | None, same: set[str]) -> None:
        names, scores = self._cell_names(notebook), graded.scores if graded else {}
        manual = key.by_hand
        unanswered = set(graded.unanswered) if graded else manual
        by_hand = (manual - unanswered) | (set(graded.below_floor) if graded else set())
        for grade in notebook.grades:
            name = names[grade.cell_id]
            grade.auto_score = None if name in by_hand else scores.get(name, 0.0)
            # As in nbgrader: keep a mark given by hand, and ask the instructor to check it; but not
            # where it is the mark of this very essay.
            given = grade.manual_score is not None
            if not (given and name in same):
                grade.needs_manual_grade = given or grade.auto_score is None
        for comment in notebook.comments:
            name = names[comment.cell_id]
            comment.auto_comment = "No response." if name in manual & unanswered else None

    def _cell_names(self, notebook: Any) -> dict[str, str]:
        """Return the names of a lesson's cells by their ids, in one query instead of one each."""
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
            book.db.refresh(notebook, ["score"])  # the database sums the grades just written
            plugin = self.penalties.plugin_inst
            penalty = plugin.late_submission_penalty(submission.student.id, notebook.score, late)
            if penalty is not None:
                penalty = self.penalties._check_late_penalty(notebook, penalty)
                notebook.late_submission_penalty = penalty

    def update_penalties(self, key: Key, students: list[str]) -> None:
        """Compute the penalties of hand-ins that are not graded again.

        Due dates, extensions, marks given by hand or the configuration may have changed.
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
        """Return the students who have a penalty or may get one."""
        timed = Assignment.duedate.is_not(None) & SubmittedAssignment.timestamp.is_not(None)
        penalised = SubmittedNotebook.late_submission_penalty.is_not(None)
        rows = submissions(assignment, SubmittedAssignment.student_id).where(timed | penalised)
        with self.reading() as connection:
            return set(connection.execute(rows).scalars())

    def essays(self, assignment: str, cell: str) -> dict[str, EssayMark]:
        """Return the mark by hand and the comment of each hand-in with an answer in a cell."""
        with self.reading() as connection:
            return read_essays(connection, assignment, cell)

    def mark_essay(self, assignment: str, cell: str, student: str, mark: float, text: str) -> None:
        """Write a mark by hand and its comment; those that they replace stay in REPLACED."""
        with self.transaction() as book:
            grade = book.find_grade(cell, assignment, assignment, student)
            grade.manual_score, grade.needs_manual_grade = mark, False
            comment = book.find_comment(cell, assignment, assignment, student)
            comment.manual_comment = text or None

    def replaced(self, assignment: str, cell: str) -> dict[str, list[tuple[str, str]]]:
        """Return the marks by hand that were replaced, with their times, by student."""
        columns = SubmittedAssignment.student_id, REPLACED.c.value, REPLACED.c.at
        rows = (
            submissions(assignment, *columns)
            .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
            .join(BaseCell, BaseCell.id == Grade.cell_id)
            .join(REPLACED, REPLACED.c.row == Grade.id)
            .where(BaseCell.name == cell, REPLACED.c.what == "mark")
            .order_by(REPLACED.c.id)
        )
        found: dict[str, list[tuple[str, str]]] = {}
        with self.reading() as connection:
            for student, value, at in connection.execute(rows):
                found.setdefault(student, []).append((f"{float(value):g}", at))
        return found

    def people(self) -> dict[str, str]:
        """Return the name of each student in the gradebook by id, "" if it has none."""
        with clear_errors(self.path):
            return {
                student.id: " ".join(filter(None, (student.first_name, student.last_name)))
                for student in self.gradebook.students
            }

    def scores(self, assignment: str) -> dict[str, dict[str, Any]]:
        """Return each student's points, and what lateness takes off.

        auto, manual: for code and by hand; penalty; score: the first two together. needs_manual:
        wants a person; unread: has no mark yet; again: has that of an earlier essay.
        """
        with self.reading() as connection:
            return read_scores(connection, assignment)


def _open_gradebook(path: Path, course_id: str) -> Gradebook:
    """Open the database at `path` and add ProfLab's tables."""
    gradebook = Gradebook(f"sqlite:///{path}?timeout={BUSY_SECONDS}", course_id)
    for table in (OUTCOMES, GUESSES, VARIANTS, FORMER, REPLACED):
        table.create(gradebook.engine, checkfirst=True)
    with gradebook.engine.begin() as connection:
        known = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        names = {name for (name,) in known}
        if len({name for name in names if name.startswith("proflab_replaced_")}) < 2:
            for statement in _KEEP_REPLACED:
                connection.exec_driver_sql(statement)
        if TRIGGER not in names:
            follow_removals(connection, (OUTCOMES, GUESSES, VARIANTS, FORMER))
    return gradebook


def _create_gradebook(path: Path, course_id: str) -> None:
    """Make an empty gradebook under another name and rename it into place.

    nbgrader takes several steps; a killed one leaves a file that the next call removes.
    """
    part = path.with_name(path.name + ".part")
    for left in path.parent.glob(part.name + "*"):
        left.unlink()
    make_tables(part)
    _open_gradebook(part, course_id).close()
    os.replace(part, path)


def _read_row(row: dict, guesses: dict[str, str], variants: dict[str, str]) -> Outcome:
    """Return a row of the outcomes as an Outcome, with the guesses and variant of its student."""
    # Older gradebooks' rows lack what these classes have gained: a new field needs a default, and
    # none may be renamed.
    cases = [CaseResult(**case) for case in json.loads(row["cases"])]
    made = [Guess(**guess) for guess in json.loads(guesses.get(row["student"], "[]"))]
    variant = variants.get(row["student"], "")
    return Outcome(**row | {"cases": cases, "guesses": made, "variant": variant})
