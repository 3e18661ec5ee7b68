"""Choose the questions of a student's sheet, and run each of them once more before it is asked.

A sheet takes questions of the kinds in PATTERN, from three exercises at least: first those that
lost points, then those worth more points. No input is asked about twice, at most one key is an
error, and of code that is not the student's own there are few lines. A question whose keys do not
come out again, each option in a process of its own, is dropped and the next candidate is taken.
What own functions cannot fill is filled with rows: a race's (`race_rows.py`), concept questions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from proflab_classroom.questions.asked import asked_concepts
from proflab_classroom.viva.changes import Change, changes
from proflab_classroom.viva.definitions import without_docstrings
from proflab_classroom.viva.execute import Notebook, Run, Sandbox
from proflab_classroom.viva.inputs import Input
from proflab_classroom.viva.known_wrong import Known
from proflab_classroom.viva.questions import (
    Draws,
    Kind,
    SheetQuestion,
    are_alike,
    change_questions,
    tell_questions,
    value_questions,
)
from proflab_classroom.viva.seen import Outcome, is_readable
from proflab_course.course.layout import Course

PATTERN: tuple[Kind, ...] = ("value", "tell", "change", "tell")
QUESTIONS, LEAST_EXERCISES = 4, 3
MOST_LINES = 44  # of a function that the sheet prints
MOST_NEW_LINES = 25  # of code on a sheet that is not the student's own
ASKED: dict[Kind, str] = {
    "value": "what a call returns",
    "tell": "which input tells another program apart",
    "change": "which change it was",
}
_MOST_CHANGES, _CHANGE_INPUTS = 30, 3  # of a function, and inputs at which each is tried
_ROUNDS = 6  # of verifying and taking the next candidate
_AHEAD = 2  # exercises whose lines are changed at once; of the next, when they are needed
# An input, the function's own outcome, and that of each change that was tried.
Tried = tuple[Input, Outcome, list[tuple[Change, Outcome | None]]]


@dataclass(frozen=True)
class Function:
    """Hold a student's function as the sheet prints it: its lines, without docstring, numbered.

    cut: the number of further lines that are not printed; numbers: line of the cell → number.
    """

    name: str
    lines: tuple[str, ...]
    numbers: Mapping[int, int]
    cut: int = 0


@dataclass
class Sheet:
    """Hold a student's sheet, with the functions that it prints, in the order of the lesson."""

    student: str
    lesson: str
    questions: list[SheetQuestion] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    lost: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    failed: bool = False  # the grader itself failed at this sheet

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits of what the sheet asks; the same sheet has the same."""
        asked = [[q.kind, q.name, q.stem, q.text, q.options, q.key] for q in self.questions]
        shown = [[f.name, f.lines] for f in self.functions]
        text = json.dumps([asked, shown])
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def printed(name: str, code: str) -> Function:
    """Return a cell's code as the sheet prints it."""
    try:
        kept = without_docstrings(code).splitlines()
    except (SyntaxError, ValueError, RecursionError):
        kept = [line for line in code.splitlines() if line.strip()]
    numbers: dict[int, int] = {}
    place = 0
    for number, line in enumerate(code.splitlines(), 1):
        if place < len(kept) and line == kept[place]:
            place += 1
            if place <= MOST_LINES:
                numbers[number] = place
    return Function(name, tuple(kept[:MOST_LINES]), numbers, max(0, len(kept) - MOST_LINES))


@dataclass
class Candidates:
    """Hold what may be asked of one hand-in, by exercise, and what has been found wrong."""

    sandbox: Sandbox
    notebook: Notebook
    cells: Mapping[str, str]
    known: Mapping[str, Known]
    draws: Draws
    own: dict[str, list[Outcome | None]] = field(default_factory=dict)
    tried: dict[str, list[Tried]] = field(default_factory=dict)
    _made: dict[tuple[str, Kind], list[SheetQuestion]] = field(default_factory=dict)

    def run_own(self) -> None:
        """Execute the student's functions at all inputs."""
        places = [(name, one) for name in self.cells for one in self.known[name].inputs]
        found = iter(self.sandbox.stable(self.notebook, [Run(one) for _, one in places]))
        for name in self.cells:
            self.own[name] = [next(found) for _ in self.known[name].inputs]

    @property
    def working(self) -> list[str]:
        """Return the exercises that return something, in the lesson's order."""
        return [
            name
            for name, outcomes in self.own.items()
            if any(o is not None and not o.raised for o in outcomes)
        ]

    def change_lines(self, exercises: Iterable[str]) -> None:
        """Execute changes of these functions, each at a few of the inputs."""
        fresh = {name: list(self._to_try(name)) for name in exercises if name not in self.tried}
        every = [each for tries in fresh.values() for each in tries]
        runs = [Run(one, change.code) for one, _, made in every for change in made]
        outcomes = self.sandbox.run(self.notebook, runs, turn=1) if runs else []
        found = dict(zip(runs, outcomes, strict=True))
        for name, tries in fresh.items():
            self.tried[name] = [
                (one, mine, [(change, found[Run(one, change.code)]) for change in made])
                for one, mine, made in tries
            ]

    def _to_try(self, name: str) -> Iterator[tuple[Input, Outcome, list[Change]]]:
        """Yield a few inputs, each with the function's outcome and the changes to try there."""
        draws, made = self.draws.at(name), changes(self.cells[name])
        chosen = sorted(draws.mixed(range(len(made)), "changes")[:_MOST_CHANGES])
        fit = [
            (one, mine)
            for one, mine in zip(self.known[name].inputs, self.own[name], strict=True)
            if mine is not None and not mine.raised and is_readable(mine)
        ]
        mixed = draws.mixed(range(len(fit)), "change inputs")
        for place in sorted(mixed, key=lambda n: not fit[n][0].is_small)[:_CHANGE_INPUTS]:
            yield *fit[place], [made[n] for n in chosen]

    def of(self, exercise: str, kind: Kind) -> list[SheetQuestion]:
        """Return the candidates of an exercise and a kind, in the order in which they are taken."""
        if (exercise, kind) not in self._made:
            draws, known, own = self.draws.at(exercise), self.known[exercise], self.own[exercise]
            if kind == "value":
                changed = partial(self._changed, exercise)
                made: Iterator[SheetQuestion] = value_questions(
                    exercise, known, own, draws, changed
                )
            elif kind == "tell":
                made = tell_questions(exercise, known, own, draws)
            else:
                self.change_lines([exercise])
                number = printed(exercise, self.cells[exercise]).numbers.get
                made = change_questions(exercise, self.tried[exercise], draws, number)
            fit = [q for q in made if not are_alike(q.options)]
            self._made[exercise, kind] = sorted(fit, key=lambda q: q.error)
        return self._made[exercise, kind]

    def _changed(self, exercise: str, one: Input) -> list[tuple[Outcome, str]]:
        """Return what the function gives for an input with one line changed, and that line."""
        self.change_lines([exercise])
        return [
            (outcome, f"with `{change.after}`")
            for each, _, outcomes in self.tried[exercise]
            for change, outcome in outcomes
            if each == one and outcome is not None
        ]

    def drop(self, question: SheetQuestion) -> None:
        """Never offer a question again."""
        self._made[question.name, question.kind].remove(question)

    def verified(self, questions: Sequence[SheetQuestion]) -> list[bool]:
        """Run each question once more, each of its calls in a process of its own."""
        runs = list(dict.fromkeys(run for q in questions for run in q.runs))
        outcomes = self.sandbox.run(self.notebook, runs, turn=1, apart=True)
        found = dict(zip(runs, outcomes, strict=True))
        return [q.holds([found[run] for run in q.runs]) for q in questions]


def choose(
    candidates: Candidates,
    points: Mapping[str, float],
    lost: Mapping[str, float],
    number: int = QUESTIONS,
    rows: Callable[[], Sequence[SheetQuestion]] = tuple,
) -> list[SheetQuestion]:
    """Return the questions of a sheet; rows: called only if own functions do not fill it."""
    order = in_order(candidates.working, points, lost, candidates.draws)
    most = max(2, -(-number // max(1, len(points))))  # on one exercise: a track may have one alone
    candidates.change_lines(order[:_AHEAD])
    chosen: list[SheetQuestion] = []
    good: set[int] = set()  # by identity: candidates may be equal
    for _ in range(_ROUNDS):
        chosen = _picked(candidates, order, number, most)
        fresh = [q for q in chosen if id(q) not in good]
        if not fresh:
            break
        verdicts = candidates.verified(fresh)
        for question, holds in zip(fresh, verdicts, strict=True):
            if holds:
                good.add(id(question))
            else:
                candidates.drop(question)
    chosen = [q for q in chosen if id(q) in good]
    if len(chosen) < number:
        chosen += rows()[: number - len(chosen)]
    return chosen


def missing_kinds(questions: Sequence[SheetQuestion], number: int) -> str:
    """Return a sentence on the kinds that a sheet should have and has not; "" if it has all."""
    wanted = {PATTERN[n % len(PATTERN)] for n in range(number)} - {q.kind for q in questions}
    told = [f"“{text}”" for kind, text in ASKED.items() if kind in wanted]
    return f"No question of the kind {' or '.join(told)} could be made." if told else ""


def in_order(
    names: Sequence[str], points: Mapping[str, float], lost: Mapping[str, float], draws: Draws
) -> list[str]:
    """Return exercises in the order in which a sheet takes them."""
    mixed = draws.mixed(names, "exercises")
    return sorted(mixed, key=lambda name: (lost.get(name, 0.0) <= 0, -points.get(name, 0.0)))


def _picked(
    candidates: Candidates, order: Sequence[str], number: int, most: int
) -> list[SheetQuestion]:
    """Return a sheet's questions, as the rules take them from what is left of the candidates."""
    wanted = [PATTERN[n % len(PATTERN)] for n in range(number)]
    slots: list[SheetQuestion | None] = [None] * number

    def take(slot: int, kinds: Sequence[Kind], names: Iterable[str]) -> None:
        taken = [q for q in slots if q is not None]
        shown = frozenset().union(*(q.inputs for q in taken))
        room = MOST_NEW_LINES - sum(q.new_lines for q in taken)
        for name in names:
            for kind in kinds:
                for question in candidates.of(name, kind):
                    twice_error = question.error and any(q.error for q in taken)
                    fits = question.new_lines <= room
                    if fits and not twice_error and not question.inputs & shown:
                        slots[slot] = question
                        return

    def empty() -> list[int]:
        return [n for n in range(number) if slots[n] is None]

    # The rarer kinds choose first, and a kind that is not on the sheet takes any exercise; then any
    # kind, of an exercise that is not on the sheet yet; then an exercise may come again.
    rarity: tuple[Kind, ...] = ("change", "tell", "value")
    for kind in rarity:
        for slot in [n for n in range(number) if wanted[n] == kind]:
            take(slot, [kind], _unused(order, slots))
    for kind in rarity:
        for slot in [n for n in empty() if wanted[n] == kind]:
            if kind not in {q.kind for q in slots if q is not None}:
                take(slot, [kind], _again(order, slots, most))
    for slot in empty():
        take(slot, [wanted[slot], *rarity], _unused(order, slots))
    if empty():
        possible = [name for name in order if any(candidates.of(name, kind) for kind in rarity)]
        used = {q.name for q in slots if q is not None}
        for slot in empty() if len(used) >= min(LEAST_EXERCISES, len(possible)) else ():
            take(slot, [wanted[slot], *rarity], _again(order, slots, most))
    return [q for q in slots if q is not None]


def _unused(order: Sequence[str], slots: Sequence[SheetQuestion | None]) -> list[str]:
    used = {q.name for q in slots if q is not None}
    return [name for name in order if name not in used]


def _again(order: Sequence[str], slots: Sequence[SheetQuestion | None], most: int) -> list[str]:
    """Return the exercises that may come once more, those on the sheet least often first."""
    used = [q.name for q in slots if q is not None]
    return sorted((name for name in order if used.count(name) < most), key=used.count)


# ── rows ─────────────────────────────────────────────────────────────────────────────────────


def rows(
    course: Course, lesson: str, draws: Draws, own: Sequence[SheetQuestion] = ()
) -> list[SheetQuestion]:
    """Return all rows for a student's sheet, in a drawn order; first own, about the student's race.

    A lesson without a concepts.toml has no concept questions.
    """
    concepts = [each.as_question() for each in asked_concepts(course, lesson)]
    asked = [
        SheetQuestion(q.name, q.stem, q.options, q.key, note=q.note, kind="row") for q in concepts
    ]
    return sorted(draws.mixed([*own, *asked], "rows"), key=lambda row: not row.about_own_code)
