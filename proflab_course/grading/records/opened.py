"""Open the gradebook for those who read it, whether or not anything was graded yet.

nbgrader, on which the gradebook rests, takes seconds to import: a command that comes without a
gradebook does not wait for it. Grading, which makes one, opens it itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from proflab_course.course.layout import Course, CourseError

if TYPE_CHECKING:
    from proflab_course.grading.records.gradebook import Book


@contextmanager
def opened_book(course: Course) -> Iterator[Book | None]:
    """Give the course's gradebook within; None where there is none yet."""
    if not course.gradebook.exists():
        yield None
        return
    from proflab_course.grading.records.gradebook import Book

    with Book(course.gradebook) as book:
        yield book


@contextmanager
def graded_book(course: Course, lesson: str = "LESSON") -> Iterator[Book]:
    """Give the course's gradebook within; raise CourseError where nothing was graded yet."""
    with opened_book(course) as book:
        if book is None:
            raise CourseError(f"nothing is graded yet: run `proflab grade {lesson}` first")
        yield book
