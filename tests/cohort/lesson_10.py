"""Lesson 10: what students, and those who publish GPU timings, get wrong.

The entries stand by topic in the files beside: kernels, times, documents; alternates.
"""

from cohort import lesson_10_documents, lesson_10_kernels, lesson_10_times
from cohort.lesson_10_alternates import ALTERNATES  # noqa: F401

PARTS = (lesson_10_kernels, lesson_10_times, lesson_10_documents)
HELPERS = "".join(part.HELPERS for part in PARTS)
MUTANTS = {name: entries for part in PARTS for name, entries in part.MUTANTS.items()}
