"""Let a student ask about a verdict from the feedback page, and show what was answered.

The page has no script and sends nothing: it offers a table, as a file inside the page, with a line
for each exercise. `proflab regrade` reads the tables that come back.
"""

from __future__ import annotations

from urllib.parse import quote

from jinja2 import Environment, PackageLoader

from proflab_classroom.marking.request_log import Log
from proflab_course.course.csv_table import csv_text
from proflab_course.course.features import Said, StudentPage
from proflab_course.course.settings import read_settings
from proflab_course.grading.pages.inert import readable

WHERE = "Hand the file in where you hand in your notebooks, or send it to your instructor."
_BESIDE = ' <a class="ask" href="#ask">ask about it</a>'


def ask(page: StudentPage) -> Said:
    """Return what was asked and answered, and, if the course takes questions, the table for more.

    A mistake in the course's settings raises CourseError; without them, questions are taken.
    """
    chosen = read_settings(page.root).regrade
    theirs = Log(page.root).of_student(page.student, page.lesson)
    above = _html("asked", asked=theirs) if theirs else ""
    if chosen is False:
        return Said(above)
    rows = [(page.student, page.lesson, name, "") for name in page.lines]
    # requests.py reads these columns, also of pages that students saved long ago.
    text = csv_text([("student", "lesson", "exercise", "question"), *rows])
    table = f"data:text/csv;charset=utf-8,{quote(text)}"
    where = WHERE if chosen is True else chosen
    file = f"questions-{page.lesson}.csv"
    return Said(above, _html("ask", table=table, file=file, where=where), _BESIDE)


def _html(template: str, **values: object) -> str:
    made = Environment(loader=PackageLoader("proflab_classroom.marking"), autoescape=True)
    made.filters["readable"] = readable
    return made.get_template(f"{template}.html.j2").render(values)
