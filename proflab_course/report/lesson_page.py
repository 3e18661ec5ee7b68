"""Make one self-contained page about a class and a lesson, from the gradebook.

`summarise` computes the figures, the template draws them. The page for instructors names students,
hidden cases and misconceptions; `--public` leaves out names and hidden cases, to be shown in class.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from proflab_course.course.answer_cells import is_answer_cell
from proflab_course.course.dates import Dates
from proflab_course.course.exercises import exercise_of
from proflab_course.course.features import Panel, Results, panels
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.release_stamp import track_of
from proflab_course.course.settings import read_settings
from proflab_course.course.words import few, shortened
from proflab_course.grading.answer_key import Key, read_key
from proflab_course.grading.grade_notebook import CaseResult
from proflab_course.grading.pages.board import (
    Board,
    aliases_in,
    boards,
    names_shown,
    shown_cost,
)
from proflab_course.grading.pages.inert import readable
from proflab_course.grading.pages.templates import template_loader
from proflab_course.grading.races import plans_of, races_of, solution_costs
from proflab_course.grading.records.opened import graded_book
from proflab_course.report.class_guesses import Prediction, predictions
from proflab_course.report.failed_cases import causes_once
from proflab_course.report.minutes import minutes_taken, quartiles

_BINS = 10  # of the histogram
_MOST_TEXT = 2_000
# In a larger class than this, each student's line is brief.
_LARGE = 100
_BRIEF_CASES, _BRIEF_TEXT, _BRIEF_SENTENCE, _FEW_NAMES = 3, 60, 110, 40
_CLEAN = ("graded", "metadata recovered", "renamed")
# Outcomes whose points a person should check; outcomes in neither list wait for a decision.
_TO_CHECK = ("tampered", "timed out", "out of memory", "process died")
_TO_KNOW = (*_CLEAN, "older release")


@dataclass
class Exercise:
    """One exercise's figures for the class; points and passes over all of its test cells.

    attempted: the hand-ins in which it is written and could be graded.
    """

    name: str
    points: float = 0.0
    cells: list[str] = field(default_factory=list)
    passed: int = 0
    attempted: int = 0

    @property
    def rate(self) -> float:
        """Share of the hand-ins with it that passed all of its cells."""
        return self.passed / self.attempted if self.attempted else 0.0


@dataclass
class StudentLine:
    """One submission's line."""

    name: str
    score: float
    manual: float
    penalty: float
    status: str
    sentence: str
    needs_manual: bool
    marks: dict[str, bool | None]
    failed: list[CaseResult]

    def first_failed(self, brief: bool) -> list[CaseResult]:
        """Return the failed cases that the page lists; brief: one for each test cell, and few."""
        if not brief:
            return self.failed
        firsts = {case.cell: case for case in reversed(self.failed)}
        ordered = [case for case in self.failed if firsts[case.cell] is case]
        return ordered[:_BRIEF_CASES]

    @property
    def is_unusual(self) -> bool:
        """Return True if a person should know the outcome, or the sentence with it.

        Clean outcomes other than "graded" always have a sentence, so it does not count there.
        """
        return self.status not in _CLEAN or (self.status == "graded" and bool(self.sentence))

    @property
    def urgency(self) -> int:
        """Return 0 if there are no points until a person decides, 1 to check, 2 to know."""
        return 2 if self.status in _TO_KNOW else 1 if self.status in _TO_CHECK else 0


@dataclass
class RaceBoard:
    """One race's part of the page: the board, its unit and full marks, and names beside places."""

    board: Board
    unit: str
    full: float
    names: dict[str, str] | None

    @property
    def title(self) -> str:
        """Return the exercise and the size."""
        return f"{self.board.name[0].removeprefix('test_')}, {self.board.name[1]}"

    @property
    def told(self) -> str:
        """Return the class beside the lesson's own solution."""
        board, count = self.board, len(self.board.costs)
        found = f"{board.full} of {count} right programs earn full marks ({shown_cost(self.full)})."
        if board.solution is None:
            return found
        found += f" The course's solution costs {shown_cost(board.solution)}"
        if not board.better:
            return f"{found}, and nobody is below it."
        what = "1 program is" if board.better == 1 else f"{board.better} programs are"
        return f"{found}; {what} below it, so that it can be bettered."

    @property
    def shares(self) -> str:
        """Return the shares in words, for those who do not see the picture."""
        told = (f"{100 * share:.0f} %: {count}" for share, count in self.board.strip)
        return "how many are how far: " + ", ".join(told)


@dataclass
class Misconception:
    """A diagnosed mistake and who shares it."""

    exercise: str
    sentence: str
    students: list[str]


@dataclass
class Summary:
    """All figures of the page.

    panels: what features put on the page. due: sentences on due date and lateness.
    """

    lesson: str
    public: bool
    max_score: float
    students: list[StudentLine]
    exercises: list[Exercise]
    misconceptions: list[Misconception]
    absent: list[str]
    bins: list[int] = field(default_factory=list)
    median: float = 0.0
    mean: float = 0.0
    statuses: dict[str, int] = field(default_factory=dict)
    predictions: list[Prediction] = field(default_factory=list)
    points_by_hand: float = 0.0
    people: dict[str, str] = field(default_factory=dict)
    track: str = ""
    minutes: list[float] = field(default_factory=list)
    races: list[RaceBoard] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    due: list[str] = field(default_factory=list)

    def above(self, heading: str) -> list[Panel]:
        """Return the panels whose sections stand above a heading of the page."""
        return [panel for panel in self.panels if panel.section and panel.above == heading]

    @property
    def waiting(self) -> list[Panel]:
        """Return the panels of features in which something waits for a person."""
        return [panel for panel in self.panels if panel.waits]

    @property
    def time(self) -> str:
        """Return the median of the minutes that students wrote down, and their middle half."""
        if not self.minutes:
            return ""
        low, middle, high = quartiles(self.minutes)
        return f"{middle:.0f} min (half of them from {low:.0f} to {high:.0f})"

    def who(self, student: str) -> str:
        """Return a student's name and id; the id alone if no name is known or wanted."""
        return full_label(student, self.people)

    @property
    def large(self) -> bool:
        """Return True for a class whose page must be brief to be readable."""
        return len(self.students) > _LARGE

    @property
    def unusual(self) -> list[StudentLine]:
        """Unusual submissions, the most urgent first, then those that lost most points."""
        found = (s for s in self.students if s.is_unusual)
        return sorted(found, key=lambda s: (s.urgency, s.score, s.name))

    @property
    def to_decide(self) -> list[StudentLine]:
        """Submissions that have no points until a person decides."""
        return [s for s in self.unusual if s.urgency == 0]

    @property
    def unmarked(self) -> list[StudentLine]:
        """Submissions with an answer that needs a mark by hand."""
        return [s for s in self.students if s.needs_manual]

    @property
    def to_look_at(self) -> list[StudentLine]:
        """Submissions that a person has to look at."""
        return [s for s in self.students if s.is_unusual or s.needs_manual]


def read_summary(course: Course, lesson: str, public: bool = False, ids: bool = False) -> Summary:
    """Return the figures of `lesson` from the gradebook; raise CourseError if it is not graded.

    public: without names, ids and hidden cases; ids: without names.
    """
    from proflab_course.grading.records.deadline import read_deadline

    key = read_key(course.source(lesson))
    with graded_book(course, lesson) as book:
        outcomes, scores = book.outcomes(lesson), book.scores(lesson)
        people = book.people()
        deadline = read_deadline(book, lesson, Dates.read(course))
    if not outcomes:
        raise CourseError(f"lesson {lesson} is not graded yet: run `proflab grade {lesson}` first")
    summary = summarise(key, outcomes, scores, list(people), public)
    summary.due = [*deadline.told, *deadline.outdated]
    if public:
        summary.due = deadline.told[:1] if deadline.due else []
    summary.people = {} if public or ids else people
    choice = read_settings(course.root).board
    aliases = aliases_in({student: each.guesses for student, each in outcomes.items()})
    everybody = {student: summary.who(student) for student in outcomes}
    names = names_shown(choice, aliases, people) if public else everybody
    summary.races = _raced(key, outcomes, names)
    summary.panels = panels(Results(course, lesson, public))
    return summary


def _raced(key: Key, outcomes: dict, names: dict[str, str] | None) -> list[RaceBoard]:
    """Return the boards of the races for which there are costs."""
    found = boards({s: each.cases for s, each in outcomes.items()}, solution_costs(key))
    return [
        RaceBoard(found[name], race.unit, race.full, names)
        for name, race in (races_of(key) | plans_of(key)).items()
        if name in found
    ]


def summarise(key: Key, outcomes: dict, scores: dict, known: list[str], public: bool) -> Summary:
    """Gather the figures."""
    exercises = _make_exercises(key)
    students = []
    mistakes: dict[tuple[str, str], list[str]] = defaultdict(list)
    order = sorted(outcomes)
    if public:  # alphabetical order would reveal whose a line is, also among equal points
        shown_of = {n: str((scores[n], each.status, each.cases)) for n, each in outcomes.items()}
        order.sort(key=lambda n: (-scores[n]["auto"], shown_of[n]))
    for number, name in enumerate(order, start=1):
        outcome = outcomes[name]
        outcome = replace(outcome, cases=[c for c in outcome.cases if not is_answer_cell(c.cell)])
        shown = f"submission {number}" if public else name
        student = _make_student(shown, outcome, scores[name], exercises, public)
        students.append(student)
        for exercise, sentence in _diagnosed_mistakes(outcome.cases, exercises, public):
            mistakes[exercise, sentence].append(shown)
    points = [s.score for s in students]
    shared = sorted(mistakes.items(), key=lambda item: (-len(item[1]), item[0]))
    return Summary(
        key.name,
        public,
        key.max_score,
        students,
        exercises,
        [Misconception(*where, names) for where, names in shared],
        [] if public else sorted(set(known) - set(outcomes)),
        histogram(points, key.max_score),
        statistics.median(points),
        statistics.mean(points),
        dict(Counter(s.status for s in students).most_common()),
        predictions(key, [outcome.guesses for outcome in outcomes.values()]),
        key.points_by_hand,
        track=track_of(key.metadata),
        minutes=minutes_taken(outcome.guesses for outcome in outcomes.values()),
    )


def _make_exercises(key: Key) -> list[Exercise]:
    names = [c.grade_id for c in key.cells if c.is_exercise]
    exercises: dict[str, Exercise] = {}
    for cell in key.cells:
        if cell.kind == "test" and not cell.is_concept:
            name = exercise_of(cell.grade_id, names)
            exercise = exercises.setdefault(name, Exercise(name))
            exercise.points += cell.points
            exercise.cells.append(cell.grade_id)
    return list(exercises.values())


def _make_student(
    name: str, outcome, score: dict, exercises: list[Exercise], public: bool
) -> StudentLine:
    """Return one submission's line; count its marks into the exercises."""
    by_cell: dict[str, list[CaseResult]] = defaultdict(list)
    for case in outcome.cases:
        by_cell[case.cell].append(case)
    marks: dict[str, bool | None] = {}
    for exercise in exercises:
        cases = [case for cell in exercise.cells for case in by_cell.get(cell, [])]
        failing = [case for case in cases if not case.passed]
        # A case such as "the model is unchanged" passes with an unwritten exercise.
        unwritten = all(map(_is_unwritten, failing)) if failing else not cases
        marks[exercise.name] = None if unwritten else not failing
        exercise.attempted += not unwritten
        exercise.passed += bool(marks[exercise.name])
    failed = [
        case
        for case in outcome.cases
        if not case.passed and not _is_unwritten(case) and not (public and case.hidden)
    ]
    return StudentLine(
        name,
        score["auto"],
        score["manual"],
        score["penalty"],
        outcome.status,
        "" if public else outcome.sentence,
        bool(score["needs_manual"]),
        marks,
        causes_once(failed),
    )


def _is_unwritten(case: CaseResult) -> bool:
    """Return True if a case failed because its exercise is still the stub."""
    return not case.passed and "NotImplementedError" in case.reason


def _diagnosed_mistakes(
    cases: list[CaseResult], exercises: list[Exercise], public: bool
) -> list[tuple[str, str]]:
    """Return the (exercise, misconception) pairs diagnosed in failed cases, each once."""
    home = {cell: exercise.name for exercise in exercises for cell in exercise.cells}
    found = [
        (home.get(case.cell, case.cell), case.diagnosis)
        for case in cases
        if case.diagnosis and not case.passed and not (public and case.hidden)
    ]
    return list(dict.fromkeys(found))


def histogram(points: list[float], most: float) -> list[int]:
    """Count the scores in each of _BINS equal parts from 0 to `most`; full marks in the last."""
    counts = [0] * _BINS
    for value in points:
        counts[min(_BINS - 1, int(value / most * _BINS)) if most else 0] += 1
    return counts


def render(summary: Summary) -> str:
    """Return the page as HTML that needs no other file."""
    return environment().get_template("report.html.j2").render(s=summary, clean=_CLEAN)


def environment(package: str = "proflab_course.report") -> Environment:
    """Return the templates' environment, which escapes, cleans and cuts all values.

    package: where a feature has templates of its own, which may include those of the report.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), template_loader("proflab_course.report")]),
        autoescape=True,
        trim_blocks=True,
        finalize=shown,
    )
    made.filters |= {
        "person": lambda student, page: page.who(student),
        "names": lambda names: few(names, _FEW_NAMES),
        "case_text": case_text,
        "cost": shown_cost,
        "sentence": partial(case_text, most=_BRIEF_SENTENCE),
    }
    return made


def full_label(student: str, people: Mapping[str, str]) -> str:
    """Return a student's name and id; people: the names that are known, by id."""
    name = people.get(student, "")
    return f"{name} ({student})" if name else student


def case_text(text: str, brief: bool, most: int = _BRIEF_TEXT) -> str:
    """Return a label, a reason or a sentence as the page shows it; most: characters if brief."""
    return shortened(text, most) if brief else text


def shown(value: object) -> object:
    """Return the value readable and not too long; the template then escapes it."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    text = readable(value)
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]} … (cut)"
