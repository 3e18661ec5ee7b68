"""Choose from the known wrong solutions of a lesson, and keep what they return.

They stand beside their lesson, in modules/NN_slug/wrong/ (proflab_course/course/wrong.py explains
the form). They are executed in the sandbox, in the solved lesson, once for a lesson: the outcomes
stay in .cache/viva/ under a digest of all that they depend on.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from proflab.checks.values import dumps, loads
from proflab.lesson.names import bound_names, used_names
from proflab.lesson.statements import KNOWN
from proflab_classroom.viva.definitions import without_docstrings
from proflab_classroom.viva.execute import Notebook, Run, Sandbox
from proflab_classroom.viva.inputs import Input
from proflab_classroom.viva.seen import Outcome
from proflab_course.course.files import replace_file
from proflab_course.course.layout import Course
from proflab_course.course.wrong import (
    FOLDER,
    SUBSTANCE,
    KnownSolution,
    KnownSolutions,
    read_known_solutions,
)

MOST = 14  # of an exercise
MOST_LINES = 18  # of a mutant that is printed
CACHE = ".cache/viva"
# Raise it when the same code can have other outcomes than before, as under other limits.
_VERSION = "2"


@dataclass(frozen=True)
class Mutant:
    """Hold a known wrong solution: its sentence, its whole code, and what a reader needs of it.

    sentence: what is told of it. shown: the code with the helpers that it uses, without docstrings.
    """

    sentence: str
    code: str
    shown: str

    @property
    def wraps(self) -> bool:
        """Return True if it calls the function that it replaces, which is less to think about."""
        # In the code of wrong/, `right` and `right_NAME` are the lesson's own functions.
        return "right" in self.shown

    @property
    def is_readable(self) -> bool:
        """Return True if it is short enough to be printed."""
        lines = self.shown.splitlines()
        return len(lines) <= MOST_LINES and max(map(len, lines), default=0) <= 100


def read_mutants(
    course: Course, lesson: str, exercises: Collection[str], names: Set[str]
) -> dict[str, list[Mutant]]:
    """Return the mutants of each exercise, those first that can be printed and stand alone.

    names: what the lesson binds; a mutant that needs another name, of a function that the class's
    track has not, is left out.

    Raises CourseError if the course has none of this lesson.
    """
    known = _beside(course, lesson)
    found: dict[str, list[Mutant]] = {}
    for exercise in exercises:
        # What else is wrong with form says nothing about what the function computes.
        made = (_mutant(e, known.helpers) for e in known.wrong(exercise) if e.kind in SUBSTANCE)
        fit = [each for each in made if _runs_with(each.code, names)]
        found[exercise] = sorted(fit, key=lambda v: (not v.is_readable, v.wraps))[:MOST]
    return {exercise: mutants for exercise, mutants in found.items() if known.of.get(exercise)}


def _beside(course: Course, lesson: str) -> KnownSolutions:
    """Return what lies beside the lesson, in this course or in the clone that is installed."""
    clone = Course(Path(__file__).parents[2])
    there = [c for c in (course, clone) if (c.module(lesson).parent / FOLDER).is_dir()]
    return read_known_solutions((*there, course)[0], lesson)


def _mutant(entry: KnownSolution, helpers: str) -> Mutant:
    parts = [*_needed_helpers(entry.code, helpers), entry.code]
    shown = "\n".join(without_docstrings(part) for part in parts)
    return Mutant(entry.diagnosis, "\n\n".join(parts), shown)


def _needed_helpers(code: str, helpers: str) -> list[str]:
    """Return the helpers that a solution needs: others may name what the class's track has not."""
    texts, needed = _texts(helpers), used_names(ast.parse(code).body)
    kept: list[ast.stmt] = []
    while more := [n for n in texts if n not in kept and bound_names([n]) & needed]:
        kept += more
        needed |= used_names(more)
    return [text for node, text in texts.items() if node in kept]


@lru_cache(maxsize=4)  # all mutants of a lesson have the same helpers
def _texts(code: str) -> dict[ast.stmt, str]:
    """Return the text of each statement."""
    return {node: ast.get_source_segment(code, node) or "" for node in ast.parse(code).body}


def _runs_with(code: str, names: Set[str]) -> bool:
    """Return True if code uses no name but these, its own and Python's."""
    nodes = ast.parse(code).body
    return used_names(nodes) <= bound_names(nodes) | names | KNOWN


# ── what they return ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Known:
    """Hold what the lesson's own solution and its mutants return, input by input.

    right: the solution's outcomes; wrong: for each mutant its outcomes. An outcome is None where
    there is none that can be relied on.
    """

    inputs: list[Input]
    right: list[Outcome | None]
    mutants: list[Mutant]
    wrong: list[list[Outcome | None]]

    @property
    def is_silent(self) -> bool:
        """Return True if no mutant returns anything though the solution does: they do not run."""
        return bool(self.inputs and self.mutants) and not any(map(any, self.wrong))


def known_outcomes(
    course: Course,
    sandbox: Sandbox,
    solved: Notebook,
    inputs: Sequence[Input],
    mutants: Sequence[Mutant],
) -> Known:
    """Return what solution and mutants return for those inputs that the solution can take."""
    digest = hashlib.sha256(
        json.dumps(
            [_VERSION, solved.cells, [i.text for i in inputs], [v.code for v in mutants]]
        ).encode()
    ).hexdigest()[:32]
    path = course.root / CACHE / f"{digest}.json"
    kept = _read(path, len(inputs), len(mutants) + 1)
    table = kept or _executed(sandbox, solved, inputs, mutants)
    fit = [n for n, one in enumerate(inputs) if _takes(table[0][n], one)]
    rows = [[row[n] for n in fit] for row in table]
    known = Known([inputs[n] for n in fit], rows[0], list(mutants), rows[1:])
    if kept is None and fit and not known.is_silent:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps([[_packed(o) for o in row] for row in table]).encode())
    return known


def _executed(
    sandbox: Sandbox, solved: Notebook, inputs: Sequence[Input], mutants: Sequence[Mutant]
) -> list[list[Outcome | None]]:
    right = sandbox.stable(solved, [Run(one) for one in inputs])
    fit = [n for n, one in enumerate(inputs) if _takes(right[n], one)]
    runs = [Run(inputs[n], mutant.code) for mutant in mutants for n in fit]
    found = iter(sandbox.stable(solved, runs) if runs else ())
    table = [right]
    for _ in mutants:
        row: list[Outcome | None] = [None] * len(inputs)
        for n in fit:
            row[n] = next(found)
        table.append(row)
    return table


def _takes(outcome: Outcome | None, one: Input) -> bool:
    """Return True if the solution does with an input what it is there for."""
    return outcome is not None and bool(outcome.raised) == one.error


def _packed(outcome: Outcome | None) -> list[str] | None:
    return None if outcome is None else [dumps(outcome.value).decode(), outcome.raised]


def _read(path: Path, columns: int, rows: int) -> list[list[Outcome | None]] | None:
    """Return the outcomes in a file; None if there is none, or it is no such file."""
    try:
        table = [
            [None if o is None else Outcome(loads(o[0].encode()), o[1]) for o in row]
            for row in json.loads(path.read_bytes())
        ]
    except (OSError, ValueError, TypeError, LookupError):
        return None
    return table if len(table) == rows and all(len(row) == columns for row in table) else None
