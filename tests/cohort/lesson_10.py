"""Lesson 10: what students, and those who publish GPU timings, get wrong.

The entries stand by topic in the files beside: lesson_10_kernels, …_times, …_crossover, …_roofs,
…_documents, kinds that many share in …_kinds; the right ones in lesson_10_alternates.
"""

from cohort import (
    lesson_10_crossover,
    lesson_10_documents,
    lesson_10_kernels,
    lesson_10_kinds,
    lesson_10_roofs,
    lesson_10_times,
)
from cohort.lesson_10_alternates import ALTERNATES  # noqa: F401

PARTS = (
    lesson_10_kernels, lesson_10_times, lesson_10_roofs, lesson_10_documents, lesson_10_crossover
)  # fmt: skip
HELPERS = "".join(part.HELPERS for part in (*PARTS, lesson_10_kinds))
MUTANTS = {
    name: entries | lesson_10_kinds.MUTANTS[name]
    for part in PARTS
    for name, entries in part.MUTANTS.items()
}
