"""A lesson as its lesson.json describes it: exercises, their sections, and which cell is which.

The build writes lesson.json beside the notebook. A running notebook does not know its own file, so
it is by their text that cells are told apart. What may not enter: anything that students may not
see.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

FILE = "lesson.json"
ANSWERS = "answers"  # to concept questions, in the file
CONCEPT_TEST = "test_concept_"  # how the name of a concept question's test cell begins


@dataclass(frozen=True)
class Exercise:
    """An exercise: the section that it is in, that section's minutes, and its tests' points."""

    name: str
    section: str = ""
    minutes: int | None = None
    tests: Mapping[str, float] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Return where it is, as a sentence has it: "section 3", "Reflect"; "" if not known."""
        return place_of(self.section)

    @property
    def points(self) -> float:
        """Return what all its test cells earn."""
        return sum(self.tests.values())


@dataclass(frozen=True)
class LessonCell:
    """A locked cell of code: its grade_id, its kind, and the exercises that it needs.

    kind: "test", "demo", "given" or "setup".
    """

    name: str
    kind: str
    needs: tuple[str, ...] = ()

    @property
    def rests_on_exercises(self) -> bool:
        """Return True if what goes wrong in it may be due to an exercise, so that others go on."""
        return self.kind in ("test", "demo") or (self.kind == "given" and bool(self.needs))


@dataclass(frozen=True)
class Outline:
    """A lesson's exercises by name, its locked cells by the digest of their text.

    essay: the points that are given by hand, and the section in which that is.
    track: the title of a track other than the published one; given: the exercises whose code the
    lesson gives; more: how many exercises the published lesson has more, those given included.
    milestone: what can be done when all passes, as a sentence, and an expression that does it.
    lock: whether a demo cell waits for its reader's guess.
    questions: the names of the answers to concept questions.
    answers: for those who learn alone, the right letter of each and why; none in a class's release.
    """

    lesson: str
    exercises: Mapping[str, Exercise]
    cells: Mapping[str, LessonCell]
    essay: tuple[float, str] = (0, "")
    track: str = ""
    given: tuple[str, ...] = ()
    more: int = 0
    milestone: tuple[str, str] = ("", "")
    lock: bool = False
    questions: tuple[str, ...] = ()
    answers: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Outline | None:
        """Return the outline in a folder; None where there is none that can be read."""
        try:
            data = json.loads((folder / FILE).read_text(encoding="utf-8"))
            exercises = [Exercise(**entry) for entry in data["exercises"]]
            cells = {
                digest: LessonCell(name, kind, tuple(needs))
                for digest, (name, kind, needs) in data["cells"].items()
            }
            named = {exercise.name: exercise for exercise in exercises}
            track = data.get("track", {})
            if track:
                track = {**track, "given": tuple(track["given"])}
            reached = tuple(data.get("milestone", ("", "")))
            essay = tuple(data["essay"])
            lock = data.get("lock") is True
            lesson = str(data["lesson"])
            told = {name: (letter, why) for name, (letter, why) in data.get(ANSWERS, {}).items()}
            options = {"milestone": reached, "lock": lock, "answers": told, **track}
            asked = tuple(data.get("questions", ()))
            return cls(lesson, named, cells, essay, questions=asked, **options)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def text(self) -> str:
        """Return the file's text, the same for the same lesson."""
        exercises = [asdict(exercise) for exercise in self.exercises.values()]
        cells = {key: [c.name, c.kind, c.needs] for key, c in self.cells.items()}
        entries: dict[str, object] = {"lesson": self.lesson, "essay": self.essay}
        if self.milestone[0]:
            entries["milestone"] = self.milestone
        if self.lock:
            entries["lock"] = True
        if self.questions:
            entries["questions"] = self.questions
        if self.answers:
            entries[ANSWERS] = self.answers
        if self.track or self.given:
            entries["track"] = {"track": self.track, "given": self.given, "more": self.more}
        lines = [f"{_json(key)}: {_json(value)}" for key, value in entries.items()]
        lines.append('"exercises": [\n' + ",\n".join(map(_json, exercises)) + "\n]")
        rows = (f"{_json(key)}: {_json(value)}" for key, value in cells.items())
        lines.append('"cells": {\n' + ",\n".join(rows) + "\n}")
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def cell(self, text: str) -> LessonCell | None:
        """Return the locked cell that has this text; None where it is the student's own."""
        return self.cells.get(digest(text))

    def given_before(self, cell: LessonCell) -> list[str]:
        """Return the digests of the given cells that stand before a cell of the lesson."""
        given = []
        for key, each in self.cells.items():
            if each is cell:
                break
            given += [key] if each.kind == "given" else []
        return given

    def exercise(self, function: str) -> Exercise | None:
        """Return the exercise that a function belongs to, by the function's qualified name.

        What is defined inside of an exercise belongs to it: "mean.<locals>.add", "Timer.start".
        """
        outer = function.split(".<locals>", 1)[0]
        for name in (outer.replace(".", "_"), outer.split(".", 1)[0], outer.rsplit(".", 1)[-1]):
            if name in self.exercises:
                return self.exercises[name]
        return None


def place_of(section: str) -> str:
    """Return a section as a sentence names it, by its number or by its title.

    >>> place_of("3"), place_of("Reflect"), place_of("")
    ('section 3', 'Reflect', '')
    """
    return f"section {section}" if section[:1].isdigit() else section


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def digest(text: str) -> str:
    """Return a short digest of a cell's text."""
    # Every released lesson.json has such digests: made otherwise, they would fit no cell.
    return hashlib.sha256(squeezed(text).encode("utf-8", "replace")).hexdigest()[:16]


def squeezed(text: str) -> str:
    """Return a cell's text without trailing blanks and blank ends, which editors change."""
    return "\n".join(map(str.rstrip, text.strip().splitlines()))
