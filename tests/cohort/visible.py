"""The share of a cohort's mutants that fail a visible case: `python -m tests.cohort.visible 02`.

With `--alike` it lists the mutants that fail the same cases with the same reasons as another one:
where both sentences tell of one mistake, one of the two is enough.

With `--least` it lists each exercise's visible cases in order of what each adds: how many mutants
fail it that fail none above it, and the share caught so far. Then those that nothing needs. Before
one of these goes, see that no sentence of the docstring loses its only visible case: where a
sentence has none left that a mutant fails, the cohort lacks that mutant. (Of a table's row with
several tuples of arguments, each tuple is a case.)

A student whose visible cases all pass should be able to trust that, so of the wrong solutions of
each exercise at least `GOAL` have to fail one, and of each lesson `LESSON_GOAL`. Those that write
the visible answers in can only be caught by a hidden case; a mutant whose sentence ends with
`ASIDE` is one of them and not counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from cohort.run import Solved, entries, failures, judge, lessons, solved
from proflab_classroom.viva.entries import whole_code
from proflab_course.build.in_process import Case

GOAL, LESSON_GOAL = 0.9, 0.97
ASIDE = "written in"


@dataclass(frozen=True)
class Share:
    """Of an exercise's mutants: how many count, and the sentences of those only hidden cases see.

    survivors: the sentences of those that fail no case at all.
    """

    exercise: str
    counted: int
    unseen: tuple[str, ...]
    survivors: tuple[str, ...]

    @property
    def visible(self) -> float:
        """The share that fails a visible case."""
        return 1 - len(self.unseen) / self.counted if self.counted else 1.0


@cache
def share(lesson: str, exercise: str) -> Share:
    """Judge the mutants of an exercise of `lesson_NN` by its visible cases."""
    solution, unseen, survivors = solved(lesson).solutions[exercise], [], []
    counted = counted_mutants(lesson, exercise)
    for sentence, code in counted.items():
        failed = failures(solved(lesson), exercise, whole_code(exercise, code, solution))
        if all(case.hidden for case in failed):
            unseen.append(sentence)
        if not failed:
            survivors.append(sentence)
    return Share(exercise, len(counted), tuple(unseen), tuple(survivors))


def counted_mutants(lesson: str, exercise: str) -> dict[str, str]:
    """Return the mutants that a visible case could catch: sentence → code."""
    mutants = entries(lesson, "MUTANTS")[exercise]
    return {sentence: code for sentence, code in mutants.items() if not sentence.endswith(ASIDE)}


@dataclass(frozen=True)
class Added:
    """A visible case (its test cell and label), and the mutants that no case above it catches."""

    case: tuple[str, str]
    mutants: tuple[str, ...]


def least(
    lesson: Solved,
    exercise: str,
    mutants: dict[str, str],
    judge: Callable[[Solved, str, str], list[Case]] = judge,
) -> list[Added]:
    """Return an exercise's visible cases, each time next the one that catches most of the rest.

    Of those that catch as many, the first in the test cells; those that add nothing come last.
    """
    caught: dict[tuple[str, str], dict[str, None]] = {
        (cell.name, answer.label): {}
        for cell in lesson.tests[exercise]
        for hidden, answer in cell.answers
        if not hidden
    }
    for sentence, code in mutants.items():
        for case in judge(lesson, exercise, whole_code(exercise, code, lesson.solutions[exercise])):
            if not (case.passed or case.hidden):
                # A set-up that raises is no case, yet it tells students as much.
                caught.setdefault((case.cell, case.label), {})[sentence] = None
    order, seen = [], set()
    while caught:
        best = max(caught, key=lambda case: len(caught[case].keys() - seen))
        new = tuple(sentence for sentence in caught.pop(best) if sentence not in seen)
        order.append(Added(best, new))
        seen.update(new)
    return order


def print_least(lesson: str, exercise: str) -> None:
    """Print an exercise's visible cases by what each adds."""
    mutants = counted_mutants(lesson, exercise)
    order, so_far = least(solved(lesson), exercise, mutants), 0
    needed = sum(bool(added.mutants) for added in order)
    print(f"{lesson} {exercise}: {needed} of {len(order)} visible cases, {len(mutants)} mutants")
    for place, added in enumerate(order):
        if place == needed:
            print("    needed by nothing:")
        so_far += len(added.mutants)
        figures = f"+{len(added.mutants):<3}{so_far / len(mutants):>5.0%}" if place < needed else ""
        only = f"  (only: {added.mutants[0]})" if len(added.mutants) == 1 else ""
        print(f"    {figures:<11}{': '.join(added.case)}{only}", flush=True)


def alike(lesson: str, exercise: str) -> list[list[str]]:
    """Return the sentences of mutants that no case tells apart, in groups of two and more."""
    solution, groups = solved(lesson).solutions[exercise], {}
    for sentence, code in entries(lesson, "MUTANTS")[exercise].items():
        cases = judge(solved(lesson), exercise, whole_code(exercise, code, solution))
        outcome = tuple((case.cell, case.label, case.passed, case.reason) for case in cases)
        groups.setdefault(outcome, []).append(sentence)
    return [group for group in groups.values() if len(group) > 1]


def main(words: list[str]) -> None:
    """Print the shares of these lessons, or of all; below the goal, what is not seen."""
    numbers = [word for word in words if word not in ("--alike", "--least")]
    for lesson in [f"lesson_{number}" for number in numbers] or lessons():
        if "--least" in words:
            for exercise in solved(lesson).solutions:
                print_least(lesson, exercise)
            continue
        if "--alike" in words:
            for exercise in solved(lesson).solutions:
                for group in alike(lesson, exercise):
                    print(f"{lesson} {exercise}", *group, sep="\n    ", flush=True)
            continue
        shares = [share(lesson, exercise) for exercise in solved(lesson).solutions]
        counted, unseen = sum(s.counted for s in shares), sum(len(s.unseen) for s in shares)
        print(f"{lesson}: {1 - unseen / counted:.0%} of {counted} mutants fail a visible case")
        for each in shares:
            print(f"  {each.exercise:<26}{each.visible:>5.0%} of {each.counted}")
            for sentence in each.unseen:
                print(f"      {'survives' if sentence in each.survivors else 'hidden'}: {sentence}")


if __name__ == "__main__":
    main(sys.argv[1:])
