"""Make a page about what was guessed in a lecture, to be shown there: no names enter it.

The answers are those that the tables say, else those in the outputs of the instructor's notebook,
else the median of those that the class's graded hand-ins show.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proflab.lesson.first_guess import as_meant
from proflab_classroom.questions.guesses import asked_guesses
from proflab_classroom.questions.pages import GuessQuestion
from proflab_classroom.questions.votes import Vote, read_votes
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_notebook
from proflab_course.grading.records.opened import opened_book
from proflab_course.grading.submissions.read_guesses import Guess, read_guesses
from proflab_course.report.class_guesses import Prediction, written_in
from proflab_course.report.lesson_page import environment

_MOST_BYTES = 64 * 1024**2  # of an executed notebook, with its outputs
_MOST_TICKS = 120  # on an axis, where more would be a band


@dataclass
class Voted:
    """Hold a question with its votes; unread: those that are no number where one is asked for."""

    question: GuessQuestion
    prediction: Prediction
    unread: int = 0
    right: str = ""

    @property
    def ticks(self) -> list[float]:
        """Return where single guesses lie on the axis, in percent; evenly spaced ones of many."""
        ratios = sorted(self.prediction.ratios)
        step = max(1, -(-len(ratios) // _MOST_TICKS))
        return self.prediction.on_axis(ratios[::step])


@dataclass
class Lecture:
    """All of the page."""

    lesson: str
    voted: list[Voted] = field(default_factory=list)

    @property
    def unanswered(self) -> int:
        """Return the number of questions with votes whose answer is not known."""
        return sum(not each.right for each in self.voted)


def read_lecture(
    course: Course, lesson: str, tables: Sequence[Path], answers: Path | None = None
) -> Lecture:
    """Return the votes in `tables` beside the answers; `answers`: a notebook that was run.

    Raises CourseError for a table or a notebook that cannot be read.
    """
    source = course.source(lesson)
    questions = {question.name: question for question in asked_guesses(source)}
    votes = read_votes(tables, questions.keys())
    if not votes:
        raise CourseError(f"{tables[0]} holds no guess: fill in the column guess")
    predictions = _predicted(source)
    shown = _shown_answers(answers or source)
    known = [*shown, *_answers_of_class(course, lesson)]
    lecture = Lecture(lesson)
    for name, question in questions.items():
        theirs = [vote for vote in votes if vote.question == name]
        if theirs and name in predictions:
            lecture.voted.append(_counted(question, predictions[name], theirs, known))
    return lecture


def _predicted(notebook: Path) -> dict[str, Prediction]:
    """Return the predictions of a lesson by the names of their guesses."""
    cells = read_notebook(notebook, notebook.stem).cells
    code = [cell.source for cell in cells if cell.node.cell_type == "code"]
    written = [
        each for source in code if "guesses.compare" in source for each in written_in(source)
    ]
    return {each.guess: each for each in written if each.guess}


def _counted(
    question: GuessQuestion, prediction: Prediction, votes: list[Vote], known: list[Guess]
) -> Voted:
    """Return a question with its votes counted."""
    voted = Voted(question, prediction)
    written = next((vote.answer for vote in votes if vote.answer), "")
    fitting = [guess for guess in known if prediction.fits(guess)]
    unit = fitting[0].unit if fitting else ""
    answer = as_meant(written or None, unit)
    if answer is None and fitting:
        answer = _middle([guess.answer for guess in fitting])
    for vote in votes:
        value = as_meant(vote.guess, unit or "%")  # "50 %" is a number also where no unit is known
        if isinstance(value, str) and not isinstance(answer, str) and answer is not None:
            voted.unread += vote.count
            continue
        for _ in range(vote.count):
            if answer is None:
                prediction.add_unanswered(value)
            else:
                prediction.add(Guess(prediction.name, value, answer, unit, question.name))
    if answer is not None:
        voted.right = answer if isinstance(answer, str) else prediction.answer
    return voted


def _middle(answers: list[float | str]) -> float | str:
    numbers = [each for each in answers if not isinstance(each, str)]
    return statistics.median(numbers) if numbers else answers[0]


def _shown_answers(notebook: Path) -> list[Guess]:
    """Return the answers in a notebook's outputs."""
    try:
        if notebook.stat().st_size > _MOST_BYTES:
            raise CourseError(f"{notebook} is larger than {_MOST_BYTES // 1024**2} MB")
        found = json.loads(notebook.read_text(encoding="utf-8"))
        cells = found["cells"]
    except OSError as error:
        raise CourseError(f"{notebook} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise CourseError(f"{notebook} is not a notebook") from None
    return _answered(read_guesses(cells if isinstance(cells, list) else []))


def _answers_of_class(course: Course, lesson: str) -> list[Guess]:
    """Return the answers that graded hand-ins of this lesson show."""
    with opened_book(course) as book:
        outcomes = book.outcomes(lesson) if book else {}
    return _answered(guess for outcome in outcomes.values() for guess in outcome.guesses)


def _answered(guesses: Iterable[Guess]) -> list[Guess]:
    return [guess for guess in guesses if guess.answer != ""]


def render_lecture(lecture: Lecture) -> str:
    """Return the page as HTML that needs no other file."""
    template = environment("proflab_classroom.questions").get_template("votes.html.j2")
    return template.render(s=lecture)
