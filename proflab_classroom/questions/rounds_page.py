"""Make a page about the votes on concept questions in a lecture: both rounds, and what was won.

Votes are counts by letter, so no name can enter the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proflab_classroom.items.figures import Figures, normalized_gain
from proflab_classroom.questions.concepts import Asked, asked_concepts
from proflab_classroom.questions.peer import advice
from proflab_classroom.questions.votes import ROUNDS, read_rounds
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.words import figure
from proflab_course.report.lesson_page import environment


@dataclass(frozen=True)
class VotedRounds:
    """Hold a question with its rounds, by number; counts are by the class's letters."""

    asked: Asked
    rounds: dict[int, Figures]

    @property
    def gain(self) -> str:
        """Return (p2 − p1) / (1 − p1) in words; "" for a single round."""
        if not set(ROUNDS) <= set(self.rounds):
            return ""
        before, after = (self.rounds[number].p or 0.0 for number in ROUNDS)
        gain = normalized_gain(before, after)
        if gain is None:
            return "all were right in the first round, so that nothing could be gained"
        return f"gain {figure(gain)}"

    @property
    def advice(self) -> str:
        """Return what to do after a first round without a second; "" otherwise."""
        if set(self.rounds) != {1}:
            return ""
        return advice(self.rounds[1].p or 0.0)


@dataclass(frozen=True)
class Votes:
    """Hold all of the page."""

    lesson: str
    voted: list[VotedRounds]


def read_rounds_page(course: Course, lesson: str, tables: Sequence[Path]) -> Votes:
    """Return what was voted on each question, in the lesson's order.

    Raises CourseError for a table that cannot be read, and for tables without a vote.
    """
    asked = asked_concepts(course, lesson)
    if not asked:
        raise CourseError(f"lesson {lesson} has no concept questions to vote on")
    rounds = read_rounds(tables, [each.id for each in asked])
    if not rounds:
        raise CourseError(f"{tables[0]} holds no vote: fill in the columns A, B, C and D")
    voted = [
        VotedRounds(
            each, {n: Figures(rounds[each.id][n], each.key) for n in sorted(rounds[each.id])}
        )
        for each in asked
        if each.id in rounds
    ]
    return Votes(lesson, voted)


def render_rounds(votes: Votes) -> str:
    """Return the page as HTML that needs no other file."""
    template = environment("proflab_classroom.questions").get_template("rounds.html.j2")
    return template.render(s=votes)
