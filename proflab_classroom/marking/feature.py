"""Offer the marking by people to the commands: of essays, and of questions about verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from proflab_course.course.features import Command, Feature, Panel, Results, Said, StudentPage


class HandMarking(Feature):
    """The marking of essays, and students' questions about verdicts with their answers."""

    commands = {
        "essays": Command(
            "proflab_classroom.marking.essays_command",
            "share the marking of essays, and bring it together",
        ),
        "regrade": Command(
            "proflab_classroom.marking.regrade_command",
            "answer students' questions about verdicts",
        ),
    }

    def panel(self, results: Results) -> Panel | None:
        """Return how many questions about verdicts wait for an answer."""
        from proflab_classroom.marking.request_log import Log

        asked = Log(results.course.root).requests().values()
        count = sum(r.lesson == results.lesson and not r.answers for r in asked)
        if not count:
            return None
        what = "question about a verdict waits" if count == 1 else "questions about verdicts wait"
        command = f"proflab regrade list {results.lesson[:2]} --open"
        return Panel(waits=f"{count} {what} for an answer", command=command)

    def feedback(self, page: StudentPage) -> Said | None:
        """Return what a student has asked, and a table for more."""
        from proflab_classroom.marking.ask import ask

        return ask(page)

    def scheme(self, root: Path, lesson: str, cell: Any) -> str | None:
        """Return the mark scheme of a lesson's essay."""
        from proflab_classroom.marking.scheme import scheme_above

        return scheme_above(root, lesson, cell)
