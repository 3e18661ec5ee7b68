"""Open the gradebook for those who read it, whether or not anything was graded yet.

nbgrader, on which the gradebook rests, takes seconds to import: a command that comes without a
gradebook does not wait for it. Commands that need one (`grading/`, `report/`) open it themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from proflab_course.course.layout import Course

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
