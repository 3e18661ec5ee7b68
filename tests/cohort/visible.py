"""The share of a cohort's mutants that fail a visible case: `python -m tests.cohort.visible 02`.

A student whose visible cases all pass should be able to trust that, so of the wrong solutions of
each exercise at least `GOAL` have to fail one. Those that write the visible answers in can only be
caught by a hidden case; a mutant whose sentence ends with `ASIDE` is one of them and not counted.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from cohort.run import complete, entries, failures, lessons, solved

GOAL = 0.9
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


def main(numbers: list[str]) -> None:
    """Print the shares of these lessons, or of all; below the goal, what is not seen."""
    for lesson in [f"lesson_{number}" for number in numbers] or lessons():
        shares = [share(lesson, exercise) for exercise in solved(lesson).solutions]
        counted, unseen = sum(s.counted for s in shares), sum(len(s.unseen) for s in shares)
        print(f"{lesson}: {1 - unseen / counted:.0%} of {counted} mutants fail a visible case")
        for each in shares:
            print(f"  {each.exercise:<26}{each.visible:>5.0%} of {each.counted}")
            for sentence in each.unseen:
                print(f"      {'survives' if sentence in each.survivors else 'hidden'}: {sentence}")


if __name__ == "__main__":
    main(sys.argv[1:])
