"""Relate a lesson's objectives to what serves them: exercises, cases, questions, essay items.

The objectives are the list below "You will be able to" in a lesson's first cell. Which exercises,
demo cells and essay items serve each of them stands in tracks.toml, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from proflab_course.cases.case import GrammarError
from proflab_course.cases.reader import split_cell
from proflab_course.course.exercises import exercise_of
from proflab_course.course.notebook import Cell, Lesson
from proflab_course.course.prose import paragraphs
from proflab_course.course.rubric import rubric_of
from proflab_course.course.sections import sections
from proflab_course.tracks.read import PUBLIC
from proflab_course.tracks.taken import Taken, TrackFacts
from proflab_course.tracks.times import LessonTimes

GOALS = "**You will be able to**"
LEAST_CASES = 3
_ITEM = re.compile(r"^[-*] +", re.MULTILINE)


@dataclass
class Objective:
    """Hold an objective with what serves it in a lesson, or in a lesson as a track has it.

    exercises: their points, by name; visible, hidden: how many cases they have; read: exercises
    whose code is given, in a section that students read; questions: the ids of concept questions;
    items: the numbers of the essay's items, of a point each.
    """

    text: str
    exercises: dict[str, float] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)
    visible: int = 0
    hidden: int = 0
    questions: list[str] = field(default_factory=list)
    items: list[int] = field(default_factory=list)

    @property
    def points(self) -> float:
        """Return the points of its exercises, which the grader gives."""
        return sum(self.exercises.values())

    @property
    def cases(self) -> int:
        """Return the number of its cases, visible and hidden."""
        return self.visible + self.hidden

    @property
    def is_taught(self) -> bool:
        """Return True if students write, read or are asked something for it."""
        return bool(self.exercises or self.read or self.questions or self.items)


def stated_objectives(text: str) -> list[str]:
    """Return the objectives that a lesson's first cell lists; none where it lists none.

    >>> stated_objectives("# 01\\n\\n**You will be able to**\\n\\n- count;\\n- measure.")
    ['count', 'measure']
    """
    parts = paragraphs(text)
    if GOALS not in parts[:-1]:
        return []
    listed = _ITEM.split(parts[parts.index(GOALS) + 1])[1:]
    return [" ".join(each.split()).rstrip(";.,") for each in listed]


def objectives(
    lesson: Lesson,
    times: LessonTimes,
    questions: Mapping[str, str] | None = None,
    taken: Taken | None = None,
) -> list[Objective]:
    """Return a lesson's objectives with what serves them.

    lesson: the whole one, of which `unserved_objectives` says nothing; a lesson that states no
    objectives has none. questions: what is asked, ids with the exercise or demo that decides each.
    taken: the lesson as a track has it; None: all of it.
    """
    if not times.objectives:
        return []
    there = taken.lesson if taken else lesson
    stated = stated_objectives(there.cells[0].source)
    found = [
        Objective(_as_stated(text, times, stated))
        for text in stated_objectives(lesson.cells[0].source)
    ]
    home = _home(lesson, times, found)
    written = {cell.name for cell in there.named("exercise")}
    names, cells = [], {cell.name for cell in there.cells}
    for section in sections(lesson):
        for cell in (each for each in section.cells if each.role == "exercise"):
            names.append(cell.name)
            if (objective := home.get(cell.name)) and cell.name in written:
                objective.exercises[cell.name] = 0.0
            elif objective and taken and cell.name in cells and section.name not in taken.gone:
                objective.read.append(cell.name)
    for cell in there.named("test"):
        name = exercise_of(cell.name, names)
        if (objective := home.get(name)) is None:
            continue
        objective.exercises[name] += cell.points
        visible, hidden = _count_cases(cell)
        objective.visible += visible
        objective.hidden += hidden
    for question, after in (questions or {}).items():
        if objective := _decides(after, lesson, home):
            objective.questions.append(question)
    if there.named("manual"):
        for number, objective in home.items():
            if isinstance(number, int):
                objective.items.append(number)
    return found


def _as_stated(text: str, times: LessonTimes, stated: Iterable[str]) -> str:
    """Return an objective of the whole lesson as a track's first cell has it, if it does.

    Both begin with the words that tracks.toml has for it.
    """
    words = next((each for each in times.objectives if text.startswith(each)), text)
    return next((each for each in stated if each.startswith(words)), text)


def _count_cases(cell: Cell) -> tuple[int, int]:
    hidden = [is_hidden for is_hidden, _ in split_cell(cell).answers]
    return len(hidden) - sum(hidden), sum(hidden)


def _home(lesson: Lesson, times: LessonTimes, found: list[Objective]) -> dict[str | int, Objective]:
    """Return the objective that each exercise, demo cell and item of the essay serves."""
    home: dict[str | int, Objective] = {}
    for words, served in times.objectives.items():
        for objective in (each for each in found if each.text.startswith(words)):
            home |= dict.fromkeys(served, objective)
    return home


def _decides(after: str, lesson: Lesson, home: Mapping[str | int, Objective]) -> Objective | None:
    """Return the objective of a cell, or of the last cell above it that serves one."""
    last = None
    for cell in lesson.cells:
        last = home.get(cell.name, last)
        if cell.name == after:
            return last
    return None


# ── the audit ────────────────────────────────────────────────────────────────────────────────


def unserved_objectives(taken: Lesson, facts: TrackFacts) -> Iterator[str]:
    """Yield a sentence for each objective of the whole lesson that too little serves.

    Exercises that serve none are told, too. A lesson without objectives has none of these mistakes,
    nor has one of a class's own whose table in tracks.toml does not name any.
    """
    lesson = facts.as_written(taken.name)
    times = facts.tracks.times[lesson.name] if facts.tracks else None
    stated = stated_objectives(lesson.cells[0].source) if lesson.cells else []
    if times is None or not (times.objectives or (stated and times.limited)):
        return
    table = f"{PUBLIC}, [lesson.{lesson.name}.objectives]"
    mistakes = [
        *_unknown_words(stated, times, table, lesson.name),
        *_unknown_names(lesson, times, table),
    ]
    yield from mistakes
    if mistakes:
        return
    try:
        found = objectives(lesson, times)
    except GrammarError:
        return  # told by the audit of test cells
    for each in found:
        if not each.exercises:
            yield f"{table}: no exercise of {lesson.name} serves {each.text!r}; name one"
        elif each.cases < LEAST_CASES:
            told = f"{each.cases} of {LEAST_CASES} cases try {each.text!r}"
            yield f"{lesson.place}: {told}; add cases to test_{[*each.exercises][0]}"


def _unknown_words(stated: list[str], times: LessonTimes, table: str, name: str) -> Iterator[str]:
    for words in times.objectives:
        if sum(text.startswith(words) for text in stated) != 1:
            told = f"{words!r} begins no objective of {name}, or several"
            yield f"{table}: {told}; take the first words of one line below {GOALS}"
    for text in stated:
        if sum(text.startswith(words) for words in times.objectives) != 1:
            yield f"{table}: it does not say which exercises of {name} serve {text!r}"


def _unknown_names(lesson: Lesson, times: LessonTimes, table: str) -> Iterator[str]:
    served = [each for names in times.objectives.values() for each in names]
    exercises = [cell.name for cell in lesson.named("exercise")]
    known = {*exercises, *(cell.name for cell in lesson.named("demo"))}
    for name in (each for each in served if isinstance(each, str) and each not in known):
        yield f"{table}: {lesson.name} has no exercise or demo cell {name}"
    for name in (each for each in exercises if each not in served):
        yield f"{table}: the exercise {name} of {lesson.name} serves no objective; add it to one"
    items = {each for each in served if isinstance(each, int)}
    count = essay_items(lesson)
    if items and items != set(range(1, count + 1)):
        has = f"items 1 to {count}" if count else "no items of one point"
        wrong = ", ".join(map(str, sorted(items ^ set(range(1, count + 1)))))
        told = f"the essay of {lesson.name} has {has}, and each serves one objective"
        yield f"{table}: {told} (look at {wrong})"


def essay_items(lesson: Lesson) -> int:
    """Return how many items of one point the essay's mark scheme has; 0 for any other scheme."""
    rubric = rubric_of(lesson.name, (cell.node for cell in lesson.cells))
    return len(rubric.items) if rubric else 0


# ── a class's first cell ─────────────────────────────────────────────────────────────────────


def keep_promises(lesson: Lesson, facts: TrackFacts) -> Lesson:
    """Take out of a lesson's first cell the objectives for which its track has nothing left."""
    times = facts.tracks.times[lesson.name] if facts.tracks else None
    if times is None or not times.objectives:
        return lesson
    cell, whole = lesson.cells[0], facts.as_written(lesson.name)
    stated = stated_objectives(cell.source)
    found = objectives(whole, times, taken=facts.taken[lesson.name])
    kept = [each.text for each in found if each.is_taught and each.text in stated]
    if kept and kept != stated:
        parts = paragraphs(cell.source)
        parts[parts.index(GOALS) + 1] = ";\n".join(f"- {text}" for text in kept) + "."
        cell.node.source = "\n\n".join(parts)
    return lesson
