"""The share of a cohort's mutants that fail a visible case: `python -m tests.cohort.visible 02`.

With `--alike` it lists the mutants that fail the same cases with the same reasons as another one:
where both sentences tell of one mistake, one of the two is enough.

A student whose visible cases all pass should be able to trust that, so of the wrong solutions of
each exercise at least `GOAL` have to fail one, and of each lesson `LESSON_GOAL`. Those that write
the visible answers in can only be caught by a hidden case; a mutant whose sentence ends with
`ASIDE` is one of them and not counted.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from cohort.run import complete, entries, failures, judge, lessons, solved

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
    counted = entries(lesson, "MUTANTS")[exercise]
    counted = {sentence: code for sentence, code in counted.items() if not sentence.endswith(ASIDE)}
    for sentence, code in counted.items():
        failed = failures(solved(lesson), exercise, complete(exercise, code, solution))
        if all(case.hidden for case in failed):
            unseen.append(sentence)
        if not failed:
            survivors.append(sentence)
    return Share(exercise, len(counted), tuple(unseen), tuple(survivors))


def alike(lesson: str, exercise: str) -> list[list[str]]:
    """Return the sentences of mutants that no case tells apart, in groups of two and more."""
    solution, groups = solved(lesson).solutions[exercise], {}
    for sentence, code in entries(lesson, "MUTANTS")[exercise].items():
        cases = judge(solved(lesson), exercise, complete(exercise, code, solution))
        outcome = tuple((case.cell, case.label, case.passed, case.reason) for case in cases)
        groups.setdefault(outcome, []).append(sentence)
    return [group for group in groups.values() if len(group) > 1]


def main(words: list[str]) -> None:
    """Print the shares of these lessons, or of all; below the goal, what is not seen."""
    numbers = [word for word in words if word != "--alike"]
    for lesson in [f"lesson_{number}" for number in numbers] or lessons():
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
