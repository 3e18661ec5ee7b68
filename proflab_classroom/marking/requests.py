"""Read students' requests: their tables, an archive of these, or the export of a form.

A table has columns lesson, exercise and question, as the feedback page offers it; that of a whole
class also has a column student. In a student's own folder or attempt, the folder says who asks, and
what the column says is not believed. A question is never dropped in silence: what cannot be taken
is returned with a reason, and what names no exercise is taken as one about the lesson.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from proflab_classroom.marking.request_log import Request, request_id
from proflab_course.collect.attempts import Attempt
from proflab_course.collect.entries import Entry, Source
from proflab_course.collect.platforms import sort_entries
from proflab_course.collect.roster import Roster, is_student_id, student_without_roster
from proflab_course.course.csv_table import read_csv
from proflab_course.course.exercises import exercise_of
from proflab_course.course.hand_table import HandTable
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_notebook
from proflab_course.grading.limited_process import Unreadable
from proflab_course.grading.pages.inert import readable
from proflab_course.grading.records.opened import opened_book

COLUMNS = ("student", "lesson", "exercise", "question")
WHOLE = "the lesson"  # in place of an exercise
_MOST_CLASS = 16 * 1024**2  # bytes of a class's table
_MOST_OWN = 1024**2  # bytes of a student's table
_MOST_OF_ONE = 50  # questions of a student about a lesson
_MOST_QUESTION = 4_000  # characters; the rest is cut
# What students hand in for a table: refused by name, so that somebody reads it.
_NO_TABLE = (".xlsx", ".xls", ".ods", ".numbers", ".docx", ".odt", ".pdf", ".txt", ".md", ".rtf")


@dataclass
class Found:
    """Requests, and what was not taken: where it stands, with the reason."""

    requests: list[Request] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


class Requests:
    """Reads tables of a course's students."""

    def __init__(self, course: Course, roster: Path | None = None) -> None:
        self.course = course
        self.roster = Roster.read(roster) if roster else None
        self.found = Found()
        self._exercises: dict[str, dict[str, str]] = {}
        self._known: set[str] | None = None

    def of_submitted(self) -> None:
        """Add the requests in all tables that lie in submitted/STUDENT/LESSON/."""
        for path in sorted((self.course.root / "submitted").glob("*/*/*.csv")):
            self._own(path, path.parents[1].name, str(path.relative_to(self.course.root)))

    def of(self, source: Path) -> None:
        """Add the requests in a class's table, or in an archive or a folder of a platform."""
        if source.is_file() and source.suffix.lower() in (".csv", ".tsv", ".txt"):
            if not self._table(source, str(source), None):
                raise CourseError(f"{source} lacks columns {', '.join(COLUMNS)}")
            return
        with closing(Source(source)) as packed:
            self._packed(packed)

    def _packed(self, source: Source) -> None:
        """Add the requests in an archive or a folder of a platform."""
        if not any(e.path.lower().endswith((".csv", *_NO_TABLE)) for e in source.entries):
            problem = f"{source.path} holds no CSV"
            raise CourseError(f"{problem}: students hand in the table of their feedback")
        packed = sort_entries(source.entries, "questions", source=source.path)
        earlier = {path: why for path, why in packed.passed_over.items() if path.endswith(".csv")}
        self.found.refused |= source.refused | packed.left_out | earlier
        for attempt in packed.attempts:
            student, reason = self._student(attempt, packed.platform)
            for path, entry in sorted(attempt.files.items()):
                where = f"{attempt.label}: {path}"
                if path.lower().endswith(_NO_TABLE):
                    self.found.refused[where] = "is no CSV: read it, and type it into one"
                elif path.lower().endswith(".csv") and not student:
                    self.found.refused[where] = reason
                elif path.lower().endswith(".csv"):
                    self._entry(entry, student, where)

    def _student(self, attempt: Attempt, platform: str) -> tuple[str, str]:
        """Return the id of an attempt's student; or "", with the reason."""
        if self.roster is None:
            student = student_without_roster(attempt, platform).id
            odd = f"{student!r} cannot be a student's id: give the class list with --roster"
            return (student, "") if is_student_id(student) else ("", odd)
        matched, reason = self.roster.match(attempt, platform)
        several = "a group asks together: its members are to ask one by one"
        return (matched[0].id, "") if len(matched) == 1 else ("", reason or several)

    def _entry(self, entry: Entry, student: str, where: str) -> None:
        """Read a file of an archive."""
        try:
            data = entry.read(_MOST_OWN) if entry.size <= _MOST_OWN else b""
        except Unreadable as error:
            self.found.refused[where] = f"cannot be read ({error.reason})"
            return
        if not 0 < len(data) <= _MOST_OWN:
            self.found.refused[where] = "is empty" if not entry.size else "is too large for a table"
            return
        with tempfile.NamedTemporaryFile(suffix=".csv") as copy:
            copy.write(data)
            copy.flush()
            self._own(Path(copy.name), student, where)

    def _own(self, path: Path, student: str, where: str) -> None:
        """Read a student's own table; another CSV in a hand-in is none of ours."""
        if path.is_symlink() or not path.is_file():  # a link may lead to a file of somebody else's
            return
        if path.stat().st_size > _MOST_OWN:
            self.found.refused[where] = "is too large for a table of questions"
            return
        try:
            self._table(path, where, student)
        except CourseError as error:
            # The name of the temporary copy that `_entry` makes tells nobody anything.
            self.found.refused[where] = str(error).replace(str(path), "it")

    def _table(self, path: Path, where: str, owner: str | None) -> bool:
        """Read a table; return False if it has not the columns. owner: None for a class's."""
        table = HandTable(where, read_csv(path, _MOST_CLASS))
        if not set(COLUMNS[1:] if owner else COLUMNS) <= set(table.header):
            return False
        for row in table.rows(refused=self.found.refused):
            cells = {name: _clean(cell) for name, cell in row.cells.items()}
            if cells.get("question"):
                self._row(cells, owner or cells.get("student", ""), row.where)
        return True

    def _row(self, cells: dict[str, str], student: str, where: str) -> None:
        question = cells["question"]
        if len(question) > _MOST_QUESTION:
            question = f"{question[:_MOST_QUESTION]} … (cut)"
        if student not in self._students():
            self.found.refused[where] = f"no student is known as {student[:60]!r}"
            return
        try:
            lesson = self.course.lesson(cells.get("lesson", ""), "source")
        except CourseError:
            self.found.refused[where] = f"there is no lesson {cells.get('lesson', '')[:60]!r}"
            return
        exercise = self._exercise(lesson, cells.get("exercise", ""))
        name = request_id(student, lesson, exercise, question)
        theirs = [r for r in self.found.requests if (r.student, r.lesson) == (student, lesson)]
        if name in {request.id for request in theirs}:
            return
        if len(theirs) >= _MOST_OF_ONE:
            self.found.refused[where] = f"{student} asks more than {_MOST_OF_ONE} questions"
            return
        given = cells.get("exercise", "") if exercise == WHOLE else ""
        request = Request(name, student, lesson, exercise, question, given=given)
        self.found.requests.append(request)

    def _exercise(self, lesson: str, given: str) -> str:
        """Return the exercise that is meant; `WHOLE` if none is."""
        if lesson not in self._exercises:
            self._exercises[lesson] = dict(_names_of_exercises(self.course.source(lesson)))
        names = self._exercises[lesson]
        return names.get(given) or names.get(exercise_of(given, names)) or WHOLE

    def _students(self) -> set[str]:
        """Return the ids of students with a folder, or in the gradebook."""
        if self._known is None:
            folder = self.course.root / "submitted"
            self._known = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
            with opened_book(self.course) as book:
                self._known |= set(book.people() if book else ())
        return self._known


def _names_of_exercises(notebook: Path) -> Iterator[tuple[str, str]]:
    """Yield what a student may call an exercise or an essay, with its grade_id."""
    for cell in read_notebook(notebook, notebook.stem).cells:
        marks = cell.nbgrader
        if marks.get("solution"):
            name = str(marks.get("grade_id"))
            yield name, name
            if marks.get("grade"):
                yield name.partition("_")[0], name  # "essay"


def _clean(cell: str) -> str:
    """Return a cell's text without control characters."""
    return readable(cell).replace("\x1b", "\ufffd")
