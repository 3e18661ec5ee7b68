"""The cohort: wrong and unusual solutions of each lesson, and how many wrong ones a student sees.

    python benchmarks/bench_cohort.py        # all lessons
    python benchmarks/bench_cohort.py 01 02  # some lessons

Every wrong solution fails a case (`pytest tests/cohort`). "visible" is the share that fails a case
that students can run themselves; wrong solutions that write the visible answers in are left out of
it, since only a hidden case can catch them. What fails which case is read off the tables beside the
lessons; no solution is run.
"""

from __future__ import annotations

import sys
from pathlib import Path

from record import recording

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]

from cohort.attacks import ATTACKS  # noqa: E402
from cohort.attacks.files import FILE_ATTACKS  # noqa: E402
from cohort.run import entries, lessons, solved  # noqa: E402
from cohort.visible import share  # noqa: E402


def visible(lesson: str) -> float:
    """Return the share of a lesson's wrong solutions that fail a visible case."""
    shares = [share(lesson, exercise) for exercise in solved(lesson).solutions]
    counted = sum(each.counted for each in shares)
    return 1 - sum(len(each.unseen) for each in shares) / counted


def count(lesson: str, kind: str) -> int:
    """Return how many wrong (MUTANTS) or unusual (ALTERNATES) solutions a lesson has."""
    return sum(len(each) for each in entries(lesson, kind).values())


def main(numbers: list[str]) -> None:
    """Print a row for each lesson, and the sums."""
    wanted = [f"lesson_{number}" for number in numbers] or lessons()
    print(f"{'':<12}{'exercises':>10}{'wrong':>8}{'unusual':>9}{'visible':>9}")
    wrong = unusual = 0
    for lesson in wanted:
        mutants, alternates = count(lesson, "MUTANTS"), count(lesson, "ALTERNATES")
        wrong, unusual = wrong + mutants, unusual + alternates
        told = f"{visible(lesson):.0%}"
        exercises = len(entries(lesson, "MUTANTS"))
        print(f"{lesson:<12}{exercises:>10}{mutants:>8}{alternates:>9}{told:>9}", flush=True)
    print(f"{'together':<12}{'':>10}{wrong:>8}{unusual:>9}")
    print(f"attacks on the grader: {len(ATTACKS) + len(FILE_ATTACKS)}")


if __name__ == "__main__":
    with recording(__file__, "Cohort: solutions that test the tests"):
        main(sys.argv[1:])
