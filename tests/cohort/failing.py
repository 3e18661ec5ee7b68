"""Which cases each entry fails: a table a lesson, modules/NN_slug/wrong/failing.json.

    python -m tests.cohort.failing 02      # judge the entries of lesson 02 anew, write its table
    python -m tests.cohort.failing         # those of all lessons: some minutes

`make test` judges entries that between them fail every case that any entry fails; `make test-all`
judges all. All of these go many at a time, and judge alone what is new, or fails other cases than
the table says.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from cohort.run import ROOT, judge, judge_many, known, lessons, solved
from proflab_course.build.in_process import Case
from proflab_course.course.layout import Course
from proflab_course.course.wrong import FAILING, FOLDER, KnownSolution

Failing = frozenset[str]  # "TEST CELL: LABEL" of each case that fails


def path_of(lesson: str) -> Path:
    """Return the file with the table of `lesson_NN`."""
    return Course(ROOT).module(solved(lesson).name).parent / FOLDER / FAILING


@cache
def table(lesson: str) -> dict[str, dict[str, Failing]]:
    """Return which cases each entry of `lesson_NN` fails: exercise → sentence → cases."""
    path = path_of(lesson)
    read = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        exercise: {
            sentence: frozenset(of["cases"][place] for place in _places(told))
            for sentence, told in of["fails"].items()
        }
        for exercise, of in read.items()
    }


def quick(lesson: str, exercise: str) -> list[KnownSolution]:
    """Return entries that fail between them each case that any fails, and a right one.

    Each time next the one that fails most of the rest, the first of those that fail as many; where
    the table has no row of an entry yet, it is among them.
    """
    rows, entries = table(lesson).get(exercise, {}), known(lesson).of[exercise]
    found = [entry for entry in entries if entry.sentence not in rows]
    listed = [entry for entry in entries if entry.sentence in rows]
    found += [entry for entry in listed if entry.is_right][:1]
    rest = frozenset[str]().union(*(rows[entry.sentence] for entry in listed))
    while rest:
        found.append(max(listed, key=lambda entry: len(rows[entry.sentence] & rest)))
        rest -= rows[found[-1].sentence]
    return found


def judged(lesson: str, exercise: str, some: Sequence[KnownSolution]) -> dict[str, list[Case]]:
    """Return the cases that each entry fails: sentence → cases.

    Many are judged together, and those again alone that fail other cases than the table says.
    """
    expected, found = table(lesson).get(exercise, {}), {}
    many = judge_many(solved(lesson), exercise, [entry.code for entry in some])
    for entry, cases in zip(some, many, strict=True):
        if failing(cases) != expected.get(entry.sentence):
            cases = judge(solved(lesson), exercise, entry.code)
        found[entry.sentence] = [case for case in cases if not case.passed]
    return found


def failing(cases: Iterable[Case]) -> Failing:
    """Return the names of the cases that fail."""
    return frozenset(f"{case.cell}: {case.label}" for case in cases if not case.passed)


def visible(lesson: str, exercise: str) -> set[str]:
    """Return the names of an exercise's visible cases; a set-up that raises is seen, too."""
    cells = solved(lesson).tests[exercise]
    hidden = {f"{c.name}: {answer.label}" for c in cells for out, answer in c.answers if out}
    shown = {f"{c.name}: {answer.label}" for c in cells for out, answer in c.answers if not out}
    return (shown - hidden) | {f"{cell.name}: set-up" for cell in cells}


def case_names(lesson: str, exercise: str) -> Failing:
    """Return the names of an exercise's cases, and of what may fail before them."""
    cells = solved(lesson).tests[exercise]
    cases = {f"{cell.name}: {answer.label}" for cell in cells for _, answer in cell.answers}
    return frozenset(cases | {f"{cell.name}: set-up" for cell in cells})


def renew(lesson: str) -> None:
    """Judge the entries of `lesson_NN`, and write its table."""
    made = {}
    for exercise, of in known(lesson).of.items():
        rows = {
            sentence: failing(cases) for sentence, cases in judged(lesson, exercise, of).items()
        }
        stands = table(lesson).get(exercise, {})
        # Where it is chance which cases fail, no new row is of more worth than the one that stands,
        # as long as the lesson has its cases.
        there = case_names(lesson, exercise)
        for entry in of:
            stood = stands.get(entry.sentence)
            if entry.chance and stood and stood <= there:
                rows[entry.sentence] = stood
        made[exercise] = packed(rows, lesson, exercise)
    path_of(lesson).write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")


def packed(rows: dict[str, Failing], lesson: str, exercise: str) -> dict[str, object]:
    """Return an exercise's rows as the file has them: cases by their places, "0-3 7"."""
    cells = solved(lesson).tests[exercise]
    cases = [f"{cell.name}: {answer.label}" for cell in cells for _, answer in cell.answers]
    order = dict.fromkeys([*cases, *sorted({name for row in rows.values() for name in row})])
    used = [name for name in order if any(name in row for row in rows.values())]
    places = {name: place for place, name in enumerate(used)}
    fails = {
        sentence: _ranges(sorted(places[name] for name in row)) for sentence, row in rows.items()
    }
    return {"cases": used, "fails": fails}


def _ranges(places: list[int]) -> str:
    """Return numbers as text.

    >>> _ranges([0, 1, 2, 7])
    '0-2 7'
    """
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][1] == place - 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return " ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in runs)


def _places(told: str) -> list[int]:
    """Return the numbers of a text.

    >>> _places("0-2 7")
    [0, 1, 2, 7]
    """
    ends = [run.partition("-")[::2] for run in told.split()]
    return [place for a, b in ends for place in range(int(a), int(b or a) + 1)]


def main(numbers: list[str]) -> None:
    """Renew the tables of these lessons, or of all, and count what is in them."""
    for lesson in [f"lesson_{number}" for number in numbers] or lessons():
        renew(lesson)
        table.cache_clear()
        some = sum(len(quick(lesson, exercise)) for exercise in known(lesson).of)
        every = sum(map(len, known(lesson).of.values()))
        print(f"{lesson}: {some} of {every} entries fail all cases that any fails", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
