"""Read the known wrong solutions of a lesson, and keep what they return.

They stand in tests/cohort/lesson_NN.py of the repository, and for lessons of one's own in
private/variants/NN.py, as dicts `MUTANTS`: exercise → sentence → code; `HELPERS` is code that all
of them may use. They are executed in the sandbox, in the solved lesson, once for a lesson: the
outcomes stay in .cache/viva/ under a digest of all that they depend on.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import json
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from proflab.checks.values import dumps, loads
from proflab.lesson.names import bound_names, used_names
from proflab.lesson.statements import KNOWN
from proflab_classroom.viva.entries import whole_code, without_docstrings
from proflab_classroom.viva.execute import Notebook, Run, Sandbox
from proflab_classroom.viva.inputs import Input
from proflab_classroom.viva.seen import Outcome
from proflab_course.course.files import replace_file
from proflab_course.course.layout import Course, CourseError

MOST = 14  # of an exercise
MOST_LINES = 18  # of a variant that is printed
CACHE = ".cache/viva"
_VERSION = "2"
# Sentences of entries whose fault is form: it says nothing about what the function computes.
_FORM = re.compile(
    r"\bfloats? for\b|\bfor (a|an) (int|float|list|tuple)\b|overflow|\b(16|32)[- ]bit|\brounded\b|"
    r"\bcut to\b|written in\b|looked up\b|\bby (their|its) id\b|\bid\(|\bother names\b|"
    r"kept by the first|"
    r"\bthe argument \w+ is changed|\bmore than \d+ are refused|\bprinted\b|\bassert\b|"
    r"\bis returned as\b|\bas (a )?(text|string)s?\b|\brefused\b|\bnot refused\b|\bpasses for\b|"
    r"\bcheck(ed|s)?\b|\braises?d?\b|\berror\b|\bValueError\b|\bTypeError\b|\bdtype of\b|"
    r"\bas float",
    re.I,
)


@dataclass(frozen=True)
class Variant:
    """Hold a known wrong solution: its sentence, its whole code, and what a reader needs of it.

    shown: the code with the helpers that it uses, without docstrings.
    """

    sentence: str
    code: str
    shown: str
    form: bool = False

    @property
    def wraps(self) -> bool:
        """Return True if it calls the function that it replaces, which is less to think about."""
        return "right" in self.shown

    @property
    def is_readable(self) -> bool:
        """Return True if it is short enough to be printed."""
        lines = self.shown.splitlines()
        return len(lines) <= MOST_LINES and max(map(len, lines), default=0) <= 100


def read_variants(
    course: Course, lesson: str, solutions: Mapping[str, str], names: Set[str]
) -> dict[str, list[Variant]]:
    """Return the variants of each exercise, those first that can be printed and stand alone.

    solutions: the code of the lesson's own solutions, whose signatures short entries have.
    names: what the lesson binds; a variant that needs another name, of a function that the class's
    track has not, is left out.

    Raises CourseError if the course has none of this lesson.
    """
    module = _module(course, lesson)
    helpers = textwrap.dedent(getattr(module, "HELPERS", "")).strip()
    marked = getattr(module, "FORM", ())
    found: dict[str, list[Variant]] = {}
    for exercise, entries in module.MUTANTS.items():
        if exercise in solutions:
            made = [
                _variant(exercise, sentence, code, solutions[exercise], helpers, marked)
                for sentence, code in entries.items()
            ]
            fit = [each for each in made if not each.form and _runs_with(each.code, names)]
            found[exercise] = sorted(fit, key=lambda v: (not v.is_readable, v.wraps))[:MOST]
    return found


def _module(course: Course, lesson: str) -> ModuleType:
    own = course.root / "private" / "variants" / f"{lesson[:2]}.py"
    if own.exists():
        spec = importlib.util.spec_from_file_location(f"_variants_{lesson}", own)
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    for root in (course.root, Path(__file__).parents[2]):
        tests = root / "tests"
        if (tests / "cohort" / f"lesson_{lesson[:2]}.py").exists():
            if str(tests) not in sys.path:
                sys.path.append(str(tests))
            return importlib.import_module(f"cohort.lesson_{lesson[:2]}")
    raise CourseError(
        f"viva needs wrong solutions of {lesson}: run it in a clone of the repository, which has "
        f"tests/cohort, or write private/variants/{lesson[:2]}.py"
    )


def _variant(
    exercise: str, sentence: str, body: str, solution: str, helpers: str, marked: Any
) -> Variant:
    code = whole_code(exercise, body, solution)
    form = sentence in marked or bool(_FORM.search(sentence))
    parts = [*_needed_helpers(code, helpers), code]
    shown = "\n".join(without_docstrings(part) for part in parts)
    return Variant(sentence, "\n\n".join(parts), shown, form)


def _needed_helpers(code: str, helpers: str) -> list[str]:
    """Return the helpers that a solution needs: others may name what the class's track has not."""
    nodes, needed = ast.parse(helpers).body, used_names(ast.parse(code).body)
    kept: list[ast.stmt] = []
    while more := [n for n in nodes if n not in kept and bound_names([n]) & needed]:
        kept += more
        needed |= used_names(more)
    return [ast.get_source_segment(helpers, node) or "" for node in nodes if node in kept]


def _runs_with(code: str, names: Set[str]) -> bool:
    """Return True if code uses no name but these, its own and Python's."""
    nodes = ast.parse(code).body
    return used_names(nodes) <= bound_names(nodes) | names | KNOWN


# ── what they return ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Known:
    """Hold what the lesson's own solution and its variants return, input by input.

    right: the solution's outcomes; wrong: for each variant its outcomes. An outcome is None where
    there is none that can be relied on.
    """

    inputs: list[Input]
    right: list[Outcome | None]
    variants: list[Variant]
    wrong: list[list[Outcome | None]]

    @property
    def is_silent(self) -> bool:
        """Return True if no variant returns anything though the solution does: they do not run."""
        return bool(self.inputs and self.variants) and not any(map(any, self.wrong))


def known_outcomes(
    course: Course,
    sandbox: Sandbox,
    solved: Notebook,
    inputs: Sequence[Input],
    variants: Sequence[Variant],
) -> Known:
    """Return what solution and variants return for those inputs that the solution can take."""
    digest = hashlib.sha256(
        json.dumps(
            [_VERSION, solved.cells, [i.text for i in inputs], [v.code for v in variants]]
        ).encode()
    ).hexdigest()[:32]
    path = course.root / CACHE / f"{digest}.json"
    kept = _read(path, len(inputs), len(variants) + 1)
    table = kept or _executed(sandbox, solved, inputs, variants)
    fit = [n for n, one in enumerate(inputs) if _takes(table[0][n], one)]
    rows = [[row[n] for n in fit] for row in table]
    known = Known([inputs[n] for n in fit], rows[0], list(variants), rows[1:])
    if kept is None and fit and not known.is_silent:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps([[_packed(o) for o in row] for row in table]).encode())
    return known


def _executed(
    sandbox: Sandbox, solved: Notebook, inputs: Sequence[Input], variants: Sequence[Variant]
) -> list[list[Outcome | None]]:
    right = sandbox.stable(solved, [Run(one) for one in inputs])
    fit = [n for n, one in enumerate(inputs) if _takes(right[n], one)]
    runs = [Run(inputs[n], variant.code) for variant in variants for n in fit]
    found = iter(sandbox.stable(solved, runs) if runs else ())
    table = [right]
    for _ in variants:
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
