"""Offer the viva to the commands: its own, a column of marks, and a sentence on a lesson's page."""

from __future__ import annotations

from collections.abc import Sequence

from proflab_course.course.features import Column, Command, Feature, Panel, Results
from proflab_course.course.layout import Course, CourseError

_SUMMARY = "write the points of the questions about own functions (proflab viva --marks)"


class Viva(Feature):
    """The questions about students' own functions, and their marks."""

    commands = {
        "viva": Command(
            "proflab_classroom.viva.command", "write questions about students' own functions"
        )
    }

    def columns(self) -> Sequence[Column]:
        """Return the column of marks."""
        return [Column("viva", "marks of the viva", "viva", _SUMMARY, _points)]

    def panel(self, results: Results) -> Panel | None:
        """Return how many students have shown that they know their functions, and who."""
        from markupsafe import Markup

        from proflab_classroom.viva.marks import kept_marks, told
        from proflab_course.grading.pages.inert import readable

        marks = kept_marks(results.course, results.lesson)
        if not marks:
            return None
        sentence = readable(told(marks, named=not results.public))
        section = Markup("<h2>About their own functions</h2>\n<p>{}.</p>").format(sentence)
        beside = {name: f"viva {mark.points} of {mark.asked}" for name, mark in marks.items()}
        return Panel(section, above="Predictions", beside=beside)


def _points(course: Course, lesson: str, percent: bool) -> dict[str, float]:
    """Return the points of each student who was asked about own functions."""
    from proflab_classroom.viva.marks import kept_marks

    marks = kept_marks(course, lesson)
    if not marks:
        problem = f"there are no marks of a viva of {lesson}"
        raise CourseError(f"{problem}: run `proflab viva {lesson} --marks FILE`")
    return {
        student: round(100 * mark.points / mark.asked, 2) if percent else float(mark.points)
        for student, mark in marks.items()
    }
