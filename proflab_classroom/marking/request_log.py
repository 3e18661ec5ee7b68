"""Keep requests and answers in regrades/log.jsonl, to which lines are only added."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proflab_course.course.journal import Journal

FOLDER = "regrades"
FILE = "log.jsonl"


@dataclass
class Request:
    """Hold a student's question about a verdict, to whom it went, and the answers in order.

    given: the exercise as the table calls it; the log does not have it.
    """

    id: str
    student: str
    lesson: str
    exercise: str
    question: str
    at: str = ""
    to: str = ""
    given: str = ""
    answers: list[tuple[str, str]] = field(default_factory=list)  # (answer, by whom)

    @property
    def answer(self) -> str:
        """Return the last answer; "" if there is none."""
        return self.answers[-1][0] if self.answers else ""

    def answer_by(self, name: str) -> str:
        """Return the last answer of one assistant; "" if there is none."""
        return next((answer for answer, by in reversed(self.answers) if by == name), "")

    def is_again(self, other: Request) -> bool:
        """Return True for a question of the log, asked when its exercise was still in the lesson.

        Another track or release has made it one about the lesson.
        """
        # "essay" is short for "essay_parameters", and "rate" is not for "rates".
        mine, theirs = ((r.student, r.lesson, r.question.split()) for r in (self, other))
        return (
            mine == theirs
            and bool(self.given)
            and f"{other.exercise}_".startswith(f"{self.given}_")
        )

    @property
    def state(self) -> str:
        """Return "answered", "with NAME" or "open"."""
        return "answered" if self.answers else f"with {self.to}" if self.to else "open"


def request_id(student: str, lesson: str, exercise: str, question: str) -> str:
    """Return the request's id: the same question, asked again, is the same request."""
    # The log and assistants' tables have such ids: made otherwise, an old question would come anew.
    asked = json.dumps([student, lesson, exercise, " ".join(question.split())])
    digest = hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()
    return f"q{digest[:10]}"  # a letter first, so that no spreadsheet takes it for a number


class Log(Journal):
    """Read and extend the log of a course."""

    def __init__(self, root: Path) -> None:
        super().__init__(root / FOLDER / FILE, "proflab regrade")

    def requests(self) -> dict[str, Request]:
        """Return what the log says of each request, by id, in the order in which they came."""
        found: dict[str, Request] = {}
        for event in self.events():
            _apply(event, found)
        return found

    def of_student(self, student: str, lesson: str) -> list[Request]:
        """Return a student's requests about a lesson."""
        every = self.requests().values()
        return [each for each in every if (each.student, each.lesson) == (student, lesson)]


def _apply(event: dict[str, Any], found: dict[str, Request]) -> None:
    kind, name = event.get("event"), str(event.get("id"))
    text = {key: str(value) for key, value in event.items()}
    request = found.get(name)
    if kind == "asked" and request is None:
        who, lesson, exercise = (text.get(key, "") for key in ("student", "lesson", "exercise"))
        question, at = text.get("question", ""), text.get("at", "")
        found[name] = Request(name, who, lesson, exercise, question, at)
    elif kind == "shared" and request is not None:
        request.to = text.get("to", "")
    elif kind == "answered" and request is not None:
        request.answers.append((text.get("answer", ""), text.get("by", "")))
